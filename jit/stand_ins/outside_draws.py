"""Random numbers from generators that are not ours: Python's `random`, and NumPy's.

A draw in a recorded run is recorded with its arguments, and its result is an input of the
recording. A replay first makes the same draws, in order. If it misses, the generators are put back
to where they were."""
from __future__ import annotations

import copy
import functools
import random
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.graph import Type
from whet.ir.value_keys import value_key
from whet.tensor import Size, wrap
from whet.tensor_base import Base

from ..refusals.reasons import Draws
from ..refusals.recording_errors import Refused
from ..refusals.replay_miss import Miss
from ..values.array_facts import takes
from ..values.immutable_types import PLAIN, equal
from ..values.varying_numbers import (
    DTYPES,
    NUMBERS,
    Number,
    tensor_behind,
    tensor_of,
    value_of,
    varies,
)
from .numpy_stand_in import Array, real_of
from .streams_and_functions import StandIn, called_plainly, held_by

if TYPE_CHECKING:
    from ..capture.recorder import Recorder
    from ..values.tensor_sources import Source

# what Python may go on from, where a generator chose it
COMPARED = str, bytes, bool


def is_generator(t: type) -> bool:
    """Is this the type of a generator of Python's or NumPy's?"""
    if t is random.Random:
        return True
    loaded = sys.modules.get("numpy.random")
    return loaded is not None and (t is loaded.Generator or t is loaded.RandomState)


def draws(x: Any) -> bool:
    """Is this a bound method of such a generator?"""
    return type(x) in (types.MethodType, types.BuiltinFunctionType) \
        and is_generator(type(x.__self__))


class Drawer(StandIn):
    """A stand-in for a generator."""
    __slots__ = ()

    def _attribute(self, real: Any, outward: Any, name: str, found: Any) -> Any:
        if draws(found) and not name.startswith("_"):
            return functools.partial(outward.drawn, found)
        outward.rec.refuse(Draws(f"it asks for `{name}` of a {type(real).__name__}"))
        return found

    def _afterwards(self, found: Any) -> Any:
        outward = held_by(self)[1]
        return (lambda *args, **kwargs: outward.given(called_plainly(found, args, kwargs)[0])) \
            if draws(found) else found


class OutsideDraw:
    """One draw. `tensor` holds, or stands for, what the recorded run drew. It is None for a text,
    say, which Python continues from: a replay must draw the same. `numbers`: which arguments are
    numbers that vary, with the tensors that stand for them, later with their sources."""
    __slots__ = ("method", "args", "kwargs", "numbers", "drew", "tensor", "kind")

    def __init__(self, method: Any, args: Sequence[Any], kwargs: Mapping[str, Any],
                 numbers: Mapping[int | str, Any], drew: Any, tensor: Base | None) -> None:
        self.method, self.args, self.kwargs, self.numbers = method, args, kwargs, numbers
        self.drew, self.tensor = drew if tensor is None else None, tensor
        self.kind = _kind(drew)

    @property
    def may_miss(self) -> bool:
        """May a replay's draw be of another kind, or one that Python does not go on from?"""
        return (bool(self.numbers) or self.tensor is None
                or self.kind is list and [type(x) for x in self.args[:1]] != [range])

    @property
    def generator(self) -> Any:
        """The generator that is drawn from."""
        return self.method.__self__

    def locate(self, source_of: Callable[[Base], Source | None]) -> None:
        """Find out where replays find the numbers that vary."""
        self.numbers = {at: source_of(t) for at, t in self.numbers.items()}

    def drawn(self, leaves: list[Any]) -> Base | None:
        """The result of the same call now; raises Miss if its type differs, or if NumPy or Python
        refuses a number. `leaves` are those of the call, and what was drawn before."""
        args, kwargs = self.args, self.kwargs
        if self.numbers:
            now = {at: source.find(leaves)._array.item() for at, source in self.numbers.items()}
            args = [now.get(i, x) for i, x in enumerate(args)]
            kwargs = {k: now.get(k, x) for k, x in kwargs.items()}
        try:
            y = self.method(*args, **kwargs)
        except Exception:
            raise Miss from None             # eager raises it in its turn
        if self.tensor is None:
            if not equal(y, self.drew):
                raise Miss
            return None
        t = _as_tensor(y)
        if t is None or Type.of(t._array) != Type.of(self.tensor._array) \
                or self.kind is not _kind(y):
            raise Miss
        return t

    def key(self) -> tuple[Any, ...]:
        """What equal draws have in common."""
        args = [None if i in self.numbers else x for i, x in enumerate(self.args)]
        kwargs = [(k, None if k in self.numbers else x) for k, x in self.kwargs.items()]
        return (id(self.generator), self.method.__name__, value_key(tuple(args)),
                value_key(tuple(kwargs)), tuple(self.numbers))


class OutsideDraws:
    """The draws of one run."""

    def __init__(self) -> None:
        self.made: list[OutsideDraw] = []

    def draw(self, rec: Recorder, method: Any, args: Sequence[Any],
             kwargs: Mapping[str, Any]) -> Any:
        """Call a method of a generator, and record the draw."""
        rec.stop_tried_code("it draws random numbers")
        if method.__name__ == "shuffle" and [type(x) for x in args] == [Array] and not kwargs \
                and type(method.__self__) is not random.Random:
            real = real_of(args[0])
            if real.ndim and real.flags.writeable:       # others are errors, which NumPy raises
                return self.shuffle(rec, method, args[0])
        args = [_as_tuple(x) for x in args]
        kwargs = {k: _as_tuple(x) for k, x in kwargs.items()}
        numbers = _from_outside(rec, dict([*enumerate(args), *kwargs.items()]))
        args = [value_of(x) if i in numbers else x for i, x in enumerate(args)]
        kwargs = {k: value_of(x) if k in numbers else x for k, x in kwargs.items()}
        y, args, kwargs = called_plainly(method, args, kwargs)
        if rec.outward is not None:
            rec.outward.watch.random_is_noted()
        t = _as_tensor(y)
        stands = t is None or not rec.code.notices_numbers and (
            rec.lists(t) if type(y) is list else varies(y) or rec.stand_ins.arrays.can_stand)
        if not stands or t is None and type(y) not in COMPARED \
                or not all(map(_is_constant, [*args, *kwargs.values()])):
            rec.refuse(Draws(f"it calls {type(method.__self__).__name__}.{method.__name__}"))
            return y
        self.made.append(OutsideDraw(method, *copy.deepcopy((args, kwargs)), numbers, y, t))
        if t is None:
            return y
        rec.reachable.add(t)
        if varies(y):
            return Number(y, t, rec)
        if type(y) is list:
            return rec.listed(t)
        return rec.stand_ins.arrays.new_stand_in(y, t) if isinstance(y, np.generic) \
            else rec.stand_ins.arrays.stand_in(y, has_tensor=True)

    def shuffle(self, rec: Recorder, method: Any, x: Any) -> None:
        """NumPy's `shuffle` of an array, recorded as a draw of an order and a write of the array in
        this order. Both come from the same numbers."""
        g, real = method.__self__, real_of(x)
        before, shuffled = state_of(g), real.copy()
        method(shuffled)
        after = state_of(g)
        put_back([(g, before)])
        assert rec.outward is not None
        x[...] = x[self.draw(rec, g.permutation, (rec.outward.length(x),), {})]
        if real.tobytes() != shuffled.tobytes() or repr(state_of(g)) != repr(after):
            rec.refuse(Draws(f"it calls {type(g).__name__}.shuffle"))
            real[...] = shuffled
            put_back([(g, after)])

    def tensors(self) -> list[Base]:
        """The tensors that stand for what was drawn."""
        return [d.tensor for d in self.made if d.tensor is not None]

    def locate(self, source_of: Callable[[Base], Source | None]) -> None:
        """Find out where replays find the numbers that vary, which were arguments of draws."""
        for d in self.made:
            d.locate(source_of)
            if None in d.numbers.values():
                raise Refused(Draws(f"it calls {d.method.__name__} with a number of the run's"))

    def key(self) -> list[Any]:
        """What runs with equal draws have in common."""
        return [d.key() for d in self.made]


def draw_again(made: Sequence[OutsideDraw],
               leaves: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Repeat the draws. Returns the leaves of the call with what was drawn behind them, and where
    the generators were before."""
    before = [(g, state_of(g)) for g in {id(d.generator): d.generator for d in made}.values()]
    tensors = [*leaves]
    try:
        for d in made:
            if (t := d.drawn(tensors)) is not None:
                tensors.append(t)
        return tensors, before
    except BaseException:
        put_back(before)
        raise


def drawn(made: Sequence[OutsideDraw], leaves: Sequence[Any]) -> list[Any]:
    """Repeat draws that do not miss. Returns the leaves of the call with what was drawn behind
    them."""
    tensors = [*leaves]
    for d in made:
        tensors.append(d.drawn(tensors))
    return tensors


def state_of(g: Any) -> Any:
    """The state of a generator."""
    if type(g) is random.Random:
        return g.getstate()
    return g.bit_generator.state if hasattr(g, "bit_generator") else g.get_state(legacy=False)


def put_back(before: Sequence[tuple[Any, Any]]) -> None:
    """Restore the states of generators."""
    for g, state in before:
        if type(g) is random.Random:
            g.setstate(state)
        elif hasattr(g, "bit_generator"):
            g.bit_generator.state = state
        else:
            g.set_state(state)


def _from_outside(rec: Recorder, given: Mapping[Any, Any]) -> dict[int | str, Base]:
    """Which arguments are numbers that vary and that a replay knows before it runs: those of the
    call, and those that were drawn. Numbers that the run computed it knows too late."""
    numbers = {at: tensor_behind(x) for at, x in given.items()
               if type(x) in NUMBERS and type(value_of(x)) is not bool}
    return {at: t for at, t in numbers.items() if rec.reachable.before(t) is not None}


def _kind(y: Any) -> type | None:
    """As what Python gets the result of a draw: a number, a list of them, or (None) an array."""
    return float if varies(y) else list if type(y) is list else None


def _as_tensor(y: Any) -> Base | None:
    """A tensor that wraps, or stands for, the result of a draw, or None."""
    if varies(y):
        return tensor_of(y)
    if type(y) is list and len({type(x) for x in y}) == 1 and all(map(varies, y)):
        return wrap(np.array(y, DTYPES[type(y[0])]))
    if type(y) is np.ndarray and takes(y) or isinstance(y, np.number | np.bool_):
        return wrap(np.asarray(y))
    return None


def _as_tuple(x: Any) -> Any:
    """An argument; a tensor's shape as a tuple."""
    return tuple(x) if type(x) is Size else x


def _is_constant(x: Any) -> bool:
    if type(x) in (list, tuple):
        return all(map(_is_constant, x))
    if type(x) is np.ndarray:                # its numbers are a guard, or the same each time
        return takes(x)
    return type(x) in PLAIN or type(x) in (range, type, np.dtype)
