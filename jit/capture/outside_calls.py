"""Calls that act outside of Python's state (`print`, writing to streams, warnings, logging,
caches), clocks, and functions of numbers.

During a recorded run stand-ins are where the function finds these: in modules, attributes and
cells. A stand-in does what is asked and records it. A replay repeats the calls in the same order,
after everything that can still miss. Their texts may consist of constants, of numbers that vary,
and of tensors without history."""
from __future__ import annotations

import functools
import io
import logging
import math
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import declared_for_tracing
from whet.autograd import modes
from whet.ops.python_calls import clock
from whet.tensor import Tensor
from whet.tensor_base import Base, is_strided

from ..refusals.reasons import Caches, Calls, Inspects, Prints
from ..refusals.type_names import thing
from ..stand_ins import scipy_functions
from ..stand_ins.caches import Cache
from ..stand_ins.numpy_functions import KINDS, MAKERS
from ..stand_ins.numpy_stand_in import Array, tensor_of
from ..stand_ins.outside_draws import Drawer, draws, is_generator
from ..stand_ins.repeatable_call import (
    CONVERSIONS,
    NUMERALS,
    Call,
    argument_as_text,
    formats_alike,
    repeatable_argument,
)
from ..stand_ins.repeated_output import (
    frame_above,
    handlers_of,
    is_pythons_own,
    line_at,
    log_at,
    shows_warnings_plainly,
    warn_at,
)
from ..stand_ins.replace_stand_ins import reclaim
from ..stand_ins.replaced_objects import ASKED, MATH, MODULE, OUTWARD, TIMES
from ..stand_ins.streams_and_functions import (
    Function,
    Logger,
    StandIn,
    Stream,
    Type,
    called_plainly,
    real,
)
from ..values.code_origin import is_compiled_function, ours
from ..values.varying_numbers import NUMBERS, Number, guarded_value, through, value_of
from ..values.varying_texts import Text
from . import plain_calls

if TYPE_CHECKING:
    from ..effects.describe_results import Results
    from ..guards.outside_state import World
    from .purity import Watch
    from .recorder import Recorder

EQUAL = tuple, types.MethodType              # what is the same to a recording where it is equal
PRINT = print                                # during a run that name leads to a stand-in


class Outward:
    """The recorded calls of one run, and their stand-ins."""

    def __init__(self, rec: Recorder, watch: Watch, world: World, slots: Sequence[Base]) -> None:
        self.rec, self.watch, self.busy = rec, watch, False
        # id of an object -> what the run finds in its place
        self.stand_ins: dict[int, Any] = {}
        # stand-ins that the run may have left somewhere, and what they stand for
        self.left: list[tuple[Callable[[], Any], Any]] = []
        self.known = world.seen              # objects that are guarded, by id
        self.moving = frozenset(map(id, world.grads))        # those of them that are soon others
        self.slots = frozenset(map(id, slots))               # tensors that may be others
        # met: what could have a stand-in, and has none
        self.streams, self.met = (sys.stdout, sys.stderr), world.stand_ins.elsewhere
        rec.outward = self
        # a context in which Python's state has no stand-ins; none when the run is over, nor inside
        self.plainly: Callable[[], AbstractContextManager[None]] | None = None

    def stand_in(self, x: Any) -> Any:
        """The stand-in that a run finds in place of an object."""
        made = self.stand_ins.get(id(x))
        if made is None:
            self.stand_ins[id(x)] = made = self.make(x)
        return made

    def make(self, x: Any) -> Any:
        if type(x) is np.ndarray:
            return self.rec.stand_ins.arrays.stand_in(x)
        if isinstance(x, KINDS) and x in MAKERS:
            return Function(x, self, functools.partial(self.rec.stand_ins.arrays.make, x))
        if (path := scipy_functions.path_of(x)) is not None:
            return Function(x, self, functools.partial(self.computed, path, x))
        if isinstance(x, functools.partial):
            return functools.partial(self.stand_in(x.func), *x.args, **x.keywords)
        if isinstance(x, OUTWARD):
            return (Stream if isinstance(x, io.IOBase) else
                    Logger if isinstance(x, logging.Logger) else Cache)(x, self)
        if is_generator(type(x)):
            return Drawer(x, self)
        if draws(x):
            return Function(x, self, functools.partial(self.drawn, x))
        if x in MATH:
            return Function(x, self, functools.partial(through, x, MATH[x]))
        # A replay must get the same answer, not have the same number.
        if x in ASKED:
            return Function(x, self, lambda v: bool(ASKED[x](v)) if type(v) in NUMBERS else x(v))
        if x in TIMES:
            return Function(x, self, lambda: self.time(x))
        if is_compiled_function(type(x)):
            return Function(x, self, functools.partial(self.unseen, x))
        if x is logging.getLogger:
            return Function(x, self, lambda *name: self.stand_in(x(*name)))
        if type(x) is types.FunctionType and x in MODULE:
            return Function(x, self, functools.partial(self.log, logging.root, MODULE[x]))
        if x is float or x is int:
            return Function(x, self, functools.partial(self.number, x))
        if x is type:
            return Type(x, self)
        if x is min or x is max:
            return Function(x, self, functools.partial(self.extreme, x))
        does: dict[Any, Callable[..., Any]] = {
            warnings.warn: self.warn, len: self.length, id: self.identity, print: self.print}
        if x in does:
            return Function(x, self, does[x])
        return plain_calls.stand_in(self, x) or Function(
            x, self, functools.partial(self.written, x))

    # ---- what stand-ins do -----------------------------------------------------------------------
    def live(self) -> bool:
        """Is the run going on, in this thread, and is this not inside another such call?"""
        return not self.busy and self.rec in modes.state.observers

    def time(self, x: Callable[[], float]) -> Number:
        """Read a clock."""
        self.rec.stop_tried_code("it looks at a clock")
        with modes.no_grad():
            t = clock(name=x.__name__)
        return Number(t._array.item(), t, self.rec, 0)

    def drawn(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Draw from a generator that is not ours."""
        return self.given(self.rec.stand_ins.draws.draw(self.rec, method, args, kwargs))

    def unseen(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a compiled function, which could do anything."""
        self.rec.refuse(Calls(f"{function.__module__}.{function.__name__}"))
        return self.given(called_plainly(function, args, kwargs)[0])

    def given(self, made: Any) -> Any:
        """What the run gets for what a function made: a generator may be passed arrays."""
        if type(made) is list:
            made[:] = map(self.given, made)
        return self.stand_in(made) if is_generator(type(made)) and self.plainly else made

    def computed(self, path: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a SciPy function."""
        return scipy_functions.call(self.rec, self.watch, path, function, args, kwargs)

    @staticmethod
    def number(kind: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """float() or int(). Applied to a tensor or to a number that varies, the result varies
        too."""
        x: Any = args[0] if len(args) == 1 and not kwargs else None
        if (type(x) is Array and tensor_of(x)._array.size == 1
                and tensor_of(x)._array.dtype.kind in "fiu"):
            x = x.item()
        if type(x) is Tensor and x._array.size == 1 and x._array.dtype.kind in "fiu":
            x = x.item()
        if type(x) not in NUMBERS or type(value_of(x)) is bool:
            return kind(*args, **kwargs) if x is None else kind(x)
        if type(value_of(x)) is kind:
            return x
        return x * 1.0 if kind is float else through(math.trunc, "trunc", x)

    def extreme(self, python: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """min() or max(). Of whole numbers it is a number that varies, if sizes are such ones."""
        if (self.rec.variation.extremes and len(args) > 1 and not kwargs
                and {type(value_of(x) if type(x) in NUMBERS else x) for x in args} == {int}):
            return through(python, python.__name__, *args)
        return python(*args, **kwargs)

    def length(self, x: Any) -> Any:
        """len(). Applied to a tensor, the result is one of its sizes."""
        if type(x) is Array or is_strided(x):
            sizes = modes.followed_sizes(tensor_of(x) if type(x) is Array else x, for_user=True)
            if sizes:
                return sizes[0]
            may_be_other = True
        else:
            method = getattr(type(x), "__len__", None)
            may_be_other = (type(method) is types.FunctionType and ours(method)
                            and method.__code__ not in declared_for_tracing.SIZELESS)
        if may_be_other and (frame := self.rec.user()) is not None:
            self.watch.note_read(frame, is_guarded=False)
        return len(x)

    def do(self, does: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
           ready: Callable[[], bool] | None = None, calm: Callable[[], bool] | None = None,
           now: Callable[..., Any] | None = None) -> Any:
        """Make a call and record it. `now`: the function to call now, if that is another one."""
        rec, watch = self.rec, self.watch
        rec.stop_tried_code("it acts outside of Python's state")
        if ((does is not PRINT or kwargs.get("file") is None)
                and (sys.stdout, sys.stderr) != self.streams):
            rec.refuse(Prints("it prints, logs or warns to a stream that it has put there itself"))
        rec.acts.append(Call(does, args, kwargs, len(rec.nodes), ready, calm))
        state = modes.state
        before, self.busy, watch.aside = state.observers, True, True
        state.observers = tuple(o for o in before if o is not rec)
        modes.refresh()
        try:
            return (now or does)(*[_value(x) for x in args],
                                 **{k: _value(x) for k, x in kwargs.items()})
        except BaseException:
            state.observers = before
            rec.refuse(Prints("what it writes or prints raised an error"))
            raise
        finally:
            if rec.reason is None:
                state.observers = before
            self.busy, watch.aside = False, False
            modes.refresh()

    def texts(self, args: Sequence[Any], *, result_is_used: bool = False) -> Sequence[Any]:
        """The arguments, with Texts in place of strings into which Numbers were formatted."""
        frame = self.rec.user()
        texts = self.rec.stand_ins.texts
        return args if frame is None else texts.arguments(frame, args, result_is_used)

    def print(self, *args: Any, **kwargs: Any) -> None:
        """print()"""
        file = kwargs.get("file")
        if isinstance(file, Stream):
            file = kwargs["file"] = object.__getattribute__(file, "_real")
        if file is None and sys.stdout is not self.streams[0]:           # redirected inside
            if issubclass(type(sys.stdout), Stream):
                file = kwargs["file"] = real(sys.stdout)
            elif type(sys.stdout) is io.StringIO and id(sys.stdout) not in self.met:
                self.do(PRINT, [argument_as_text(x) for x in self.texts(args)],
                        {**kwargs, "file": sys.stdout})
                # The run made it, and whoever reads it is refused: this leaves nothing behind.
                self.rec.acts = self.rec.acts[:-1]
                return
        if (file is not None and not isinstance(file, io.IOBase)
                or not kwargs.keys() <= {"sep", "end", "file", "flush"}):
            self.rec.refuse(Prints("it prints to an object of its own"))
            PRINT(*args, **kwargs)
            return
        self.do(PRINT, [argument_as_text(x) for x in self.texts(args)],
                kwargs, lambda: not getattr(file or sys.stdout, "closed", False),
                lambda: is_pythons_own(file or sys.stdout))

    def written(self, method: Any, *args: Any) -> Any:
        """Record a call of a stream's method that writes."""
        stream = method.__self__
        writes_lines = method.__name__ == "writelines"
        pieces = [
            guarded_value(x) if type(x) in NUMBERS else tuple(x) if writes_lines else x
            for x in self.texts(args, result_is_used=True)]
        return self.do(method, pieces, {}, lambda: not stream.closed,
                       lambda: is_pythons_own(stream))

    def warn(self, message: Warning | str, category: type[Warning] | None = None,
             stacklevel: int = 1, source: object = None) -> None:
        """warnings.warn()"""
        category = type(message) if isinstance(message, Warning) else category or UserWarning
        if source is not None or type(message) is not str:
            self.rec.refuse(Prints("it warns of an object of its own"))
        frame: FrameType | None = sys._getframe(2)
        left = max(stacklevel, 1) - 1
        while left and frame is not None and not ours(frame):
            frame, left = frame.f_back, left - 1
        # the line is not the function's own: it is another at each call
        outside = frame is None or ours(frame)
        here, filters = (line_at(frame_above(frame, left) if outside else frame),
                         list(warnings.filters))
        self.do(functools.partial(warn_at, None if outside else here, left),
                [*self.texts([message]), category], {}, lambda: warnings.filters == filters,
                shows_warnings_plainly, functools.partial(warn_at, here, 0))

    def repeat(self, message: str, category: type[Warning], frame: FrameType) -> None:
        """Record a warning of ours for the line at which a frame is."""
        filters = list(warnings.filters)
        self.do(functools.partial(warn_at, line_at(frame), 0), [message, category], {},
                lambda: warnings.filters == filters, shows_warnings_plainly)

    def log(self, logger: logging.Logger, level: int, msg: object, *args: Any,
            **kwargs: Any) -> None:
        """A method of a logger."""
        if kwargs:
            self.rec.refuse(Prints("it logs with settings of its own"))
            logger.log(level, msg, *args, **kwargs)
            return
        frame = sys._getframe(2)
        where = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        ways = [way for way in CONVERSIONS(msg) if way != "%"] if type(msg) is str else []
        plain_places = (type(msg) is str and len(ways) == len(args) and "*" not in msg
                        and "%(" not in msg if args else repeatable_argument(msg) is msg)
        if not plain_places or not all(map(formats_alike, args, ways)):
            if not self.asked(logger.isEnabledFor, level):
                return
            self.rec.refuse(Prints("it logs an object of its own, or by a text with places of "
                                   "another kind than %s or %d"))
            log_at(logger, level, where, msg, *args)
            return
        text, *values = self.texts([msg, *args])
        shown = [
            repeatable_argument(text),
            *(x.detach() if is_strided(x) and way in NUMERALS else repeatable_argument(x)
              for x, way in zip(values, ways))]
        self.do(functools.partial(log_at, logger, level, where), shown, {}, None,
                lambda: all(map(is_pythons_own, handlers_of(logger))))

    def identity(self, x: object) -> int:
        """id(). It is the same at each call only for objects that are compared by identity."""
        i = id(guarded_value(x) if type(x) in NUMBERS else x)
        if i in self.slots:                  # recorded once more, with this alone
            self.rec.guarded.numbers.add(i)
        elif i not in self.known or i in self.moving or isinstance(x, EQUAL):
            self.rec.refuse(Inspects(
                f"it asks for the `id` of {thing(type(x))}, which may be another at each call"))
        return i

    def asked(self, question: Callable[..., Any], *args: Any) -> Any:
        """Make an answer a guard, because Python continues from it."""
        answer = question(*args)
        self.do(_nothing, [], {}, lambda: question(*args) == answer)
        return answer

    # ---- afterwards ------------------------------------------------------------------------------
    def describe(self, results: Results) -> None:
        """Describe the calls' arguments as recipes."""
        for c in self.rec.acts:
            c.recipes, c.args = [results.argument(x) for x in c.args], ()

    def overtaken(self) -> bool:
        """Is a tensor written to after it was printed?"""
        return any(is_strided(x) and self.changes(x, c.after)
                   for c in self.rec.acts for x in c.args)

    def changes(self, t: Base, after: int) -> bool:
        rec = self.rec

        def root(n: int) -> int | str:
            n = rec.values.root(n)
            return "outside" if n in rec.outside else n
        return any(root(x) == root(rec.value(t)) for n in rec.nodes[after:] for x in n.written())

    def fill(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function whose cache keeps the result: nothing that it reads may be a stand-in.
        Afterwards those for calls are in their places again, as what called this function has
        Numbers still."""
        plainly, self.plainly = self.plainly, None
        if plainly is None:
            return function(*args, **kwargs)
        self.rec.passing = True
        self.rec.refuse(Caches(f"it fills the cache of {function.__qualname__}"))
        try:
            with plainly():
                return function(*args, **kwargs)
        finally:
            self.plainly = plainly if self.rec.outward is self else None

    def take_back(self) -> None:
        """Put the real objects wherever the run left stand-ins."""
        self.rec.outward, self.plainly = None, None
        self.left += [(weakref.ref(x), object.__getattribute__(x, "_real"))
                      for x in self.stand_ins.values() if isinstance(x, StandIn)]
        self.stand_ins.clear()
        reclaim(self.left)


def _nothing() -> None:
    pass


def _value(x: Any) -> Any:
    return value_of(x) if type(x) in NUMBERS else x.text if type(x) is Text else x
