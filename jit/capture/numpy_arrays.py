"""NumPy arrays in a run that is recorded.

Arrays that a function is given, or finds outside, are inputs as tensors are: a replay reads their
current contents. Python's and NumPy's functions would read arrays without any observer noticing, so
the run finds an `Array` in place of each. What NumPy computes from these is recorded as a node
(`ops/numpy_calls.py`), and the result is an `Array` too. Whet's own ops take the memory behind
them. Anything else that reads their numbers makes these a guard."""
from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.autograd import modes
from whet.ir.graph import Guard, Ref, Write
from whet.ops.numpy_calls import ArgumentText, Unsaid, find, numpy_call, raising
from whet.ops.registry import REGISTRY, apply, is_tensor
from whet.tensor import wrap
from whet.tensor_base import Base

from ..refusals.reasons import OfNumPy
from ..stand_ins.numpy_functions import (
    ADDRESSES,
    ARANGE,
    BLANK,
    INPLACE,
    OF_SEQUENCES,
    UNSET,
    WRITES,
    WRITTEN,
    reflected,
    shuffles,
)
from ..stand_ins.numpy_stand_in import (
    Array,
    Provenance,
    provenance_of,
    real_of,
    stand_for,
    tensor_of,
    unwrapped,
)
from ..stand_ins.numpy_warnings import warning_here
from ..stand_ins.replace_stand_ins import reclaim
from ..values.array_facts import (
    can_be_noted,
    flat,
    is_a_window,
    is_all,
    like,
    ordinary,
    overlap,
    several,
    takes,
)
from ..values.varying_numbers import NUMBERS, guarded_values, tensor_behind
from . import numpy_as_ops
from .arrays_beside_tensors import call_beside_tensors
from .user_lines import where
from .views_of_arrays import is_locked, shown_part

if TYPE_CHECKING:
    from whet.ir.values import Array as NumPyArray

    from .recorder import Recorder

Call: TypeAlias = tuple[dict[str, Any], tuple[Base, ...]]        # attributes of a node, operands

COMPARED = 1 << 16               # bytes of an array that a replay compares


class Arrays:
    """The arrays of one run."""

    def __init__(self, rec: Recorder) -> None:
        self.rec: Recorder = rec
        self.known: dict[int, Array] = {}                # id of an array -> what stands for it
        self.stand_ins: list[weakref.ref[Array]] = []    # all of those
        # values that NumPy's calls made, and those that are copies where NumPy shows memory
        self.roots: set[int] = set()
        self.snapshots: set[int] = set()
        # arrays that others got, with what they held
        self.handed: list[tuple[Any, bytes]] = []
        # id of an array that was found outside -> a tensor around it
        self.around: dict[int, Base] = {}
        self.described: set[int] = set()     # ids of what results and effects were made of
        self.wrote = False
        self.settings_are_guarded = False    # how NumPy takes errors in numbers
        self.can_stand = True                # for arrays, unless the world is solid

    def stand_in(self, real: NumPyArray, has_tensor: bool = False) -> Array:
        """The stand-in for an array that was there before. `has_tensor`: the array is an argument,
        or was drawn, so a tensor wraps it."""
        made = self.known.get(id(real))
        if not has_tensor and id(real) not in self.around:
            t = self.around[id(real)] = wrap(real)
            self.rec.reachable.borrow(real, t)
        if made is None:
            made = self.known[id(real)] = self.new_stand_in(real, wrap(real))
            provenance_of(made).was_there_before = True
        return made

    def given_number(self, real: Any, tensor: Base) -> Array:
        """The stand-in for a NumPy number among the arguments; `tensor` holds it."""
        made = self.known.get(id(real))
        if made is None:
            made = self.known[id(real)] = self.new_stand_in(real, tensor)
            provenance_of(made).was_there_before = True
        return made

    def stand_in_slot(self, real: Any, tensor: Base) -> Array:
        """The stand-in for the contents of a slot; `tensor` wraps or holds it. Slots that hold one
        number have a stand-in each, because they may hold different ones at the next call."""
        if type(real) is np.ndarray:
            return self.stand_in(real, has_tensor=True)
        made = self.new_stand_in(real, tensor)
        provenance_of(made).was_there_before = True
        return made

    def new_stand_in(self, real: Any, tensor: Base, snapshot: bool = False) -> Array:
        """A stand-in for an array or for a NumPy number; `tensor` wraps the same memory."""
        x = stand_for(real, tensor, self.rec, Provenance(snapshot))
        self.rec.stand_ins.numbers.tensors.append(tensor)
        self.stand_ins.append(weakref.ref(x))
        return x

    def root(self, x: Array) -> int:
        """The value whose memory a stand-in shows."""
        n = self.rec.value(tensor_of(x))
        return self.rec.values.root(n)

    def pin(self, x: Array) -> None:
        """Make an array's numbers a guard, because Python continues from them."""
        real, rec = real_of(x), self.rec
        if real.nbytes > COMPARED:
            rec.refuse(OfNumPy(f"it goes on from {real.size} numbers of a NumPy array"))
            return
        n = rec.value(tensor_of(x))
        rec.nodes.append(Guard(Ref(n), tensor_of(x)._array.copy(), where()))

    def hand(self, x: Array) -> None:
        """Pass the real array to code that does not take stand-ins. Its contents must stay the
        same."""
        self.pin(x)
        self.handed.append((real_of(x), real_of(x).tobytes()))

    def untouched(self) -> bool:
        """Do the arrays that were handed out have the contents they had?"""
        return all(a.tobytes() == was for a, was in self.handed)

    def of(self, t: Base) -> Array:
        """`t.numpy()`: a stand-in for the array."""
        with modes.no_grad():
            # a view of all of it, whatever its sizes
            part = apply(REGISTRY["permute"], (t.detach(),), dict(dims=tuple(range(t.ndim))))
        return self.new_stand_in(part._array, wrap(part._array))

    def note_settings(self) -> None:
        """Make it a guard how NumPy takes errors in numbers. In a function that names NumPy, or is
        given arrays, it is one anyway."""
        if not self.settings_are_guarded:
            self.settings_are_guarded = True
            self.rec.read(lambda: tuple(np.geterr().values()))

    def problem(self, differentiable: bool) -> str | None:
        """What the run did that a replay does not, in words. Called when everything that the run
        returns or leaves behind has been described. `differentiable`: do gradients flow through
        results?"""
        if not self.untouched():
            return "it writes to a NumPy array past all operations"
        if self.wrote and differentiable:
            return "it writes to a NumPy array, and gives results through which gradients flow"
        for x in [x for r in self.stand_ins if (x := r()) is not None]:
            if id(x) in self.described and provenance_of(x).is_a_snapshot:
                return ("it gives back an array that shows another one's memory in a place that "
                        "depends on numbers")
            if id(x) in self.described and is_locked(x):
                return "it gives back an array to which NumPy lets nobody write"
            if id(x) not in self.described and not provenance_of(x).was_there_before:
                return "a NumPy array that it made is still in use afterwards, but not returned"
        return None

    def take_back(self) -> None:
        """Put the real arrays wherever the run left stand-ins."""
        self.known.clear()
        reclaim([(r, real_of(x)) for r in self.stand_ins if (x := r()) is not None])
        if hasattr(self, "rec"):             # the run is over
            del self.rec.stand_ins.arrays, self.rec

    # ---- calls -----------------------------------------------------------------------------------
    def operand(self, x: Any) -> tuple[str, Base] | None:
        """The value of an operand, for `ArgumentText`."""
        t = type(x)
        if t is Array:
            return "scalar" if isinstance(real_of(x), np.generic) else "array", tensor_of(x)
        if t in NUMBERS:
            return "number", tensor_behind(x)
        # Made by the run, from what is the same each time.
        if t is np.ndarray and takes(x):
            from whet.ops.creation import literal
            return "array", literal(x)
        return None

    def as_node(self, name: str, function: Callable[..., Any], args: tuple[Any, ...],
             kwargs: Mapping[str, Any]) -> Call | None:
        """A NumPy call in the form that a node has; None if it has no text form."""
        try:
            if find(name) is not function:
                return None
            text = ArgumentText(self.operand)
            with modes.no_grad():
                attrs = dict(function=name, args=tuple([text(x) for x in args]),
                             kwargs=tuple([(k, text(x)) for k, x in kwargs.items()]),
                             errors=raising())
            return attrs, tuple(text.tensors)
        except (Unsaid, AttributeError):
            return None

    def call(self, name: str, function: Callable[..., Any], args: tuple[Any, ...],
             kwargs: Mapping[str, Any], asks_tensors: bool = False) -> Any:
        """Run a NumPy function and record it. `asks_tensors`: does NumPy ask tensors among the
        arguments what the function is for them?"""
        function = UNSET.get(function, function)
        args, kwargs = ordinary(args), ordinary(kwargs)
        plain_args, plain_kwargs = unwrapped(args), unwrapped(kwargs)
        operands = (*flat(args), *flat(tuple(kwargs.values())))
        if any(map(is_tensor, operands)) or function in ADDRESSES:
            return call_beside_tensors(self, name, function, args, kwargs, asks_tensors)
        out = kwargs.get("out")
        out = out[0] if type(out) is tuple and len(out) == 1 else out
        if out is not None:
            return self.change(name, function, out, args, kwargs, plain_args, plain_kwargs)
        is_inplace = name.startswith("operator.i") and name[10:] in INPLACE
        if is_inplace and isinstance(plain_args[0], np.generic):
            return self.call(name := "operator." + reflected(name[10:]), find(name), args, kwargs)
        if name in WRITES or is_inplace or name == "operator.setitem":
            target = args[0] if args else next((kwargs[k] for k in WRITTEN if k in kwargs), None)
            return self.change(name, function, target, args, kwargs, plain_args, plain_kwargs)
        return self.call_without_writes(name, function, args, kwargs, operands)

    def call_without_writes(self, name: str, function: Callable[..., Any], args: tuple[Any, ...],
                            kwargs: Mapping[str, Any], operands: tuple[Any, ...]) -> Any:
        """Run a NumPy function that leaves its operands as they are, and record it: by ops, as a
        node, or with guards on the operands. If it changes an operand the run is not recorded."""
        call = self.as_node(name, function, args, kwargs)
        looked_at = call[1] if call and not name.startswith("operator") else [
            tensor_of(x) for x in operands if type(x) is Array and call is None]
        before = [(a, a.tobytes()) for t in looked_at if (a := t._array).nbytes <= COMPARED]
        made = warning_here(self.rec, function, unwrapped(args), unwrapped(kwargs))
        if self.rec.reason:
            return made
        if any(a.tobytes() != was for a, was in before):
            self.rec.refuse(OfNumPy(f"it changes a NumPy array by {name}"))
            return made
        itself = next((x for x in operands if type(x) is Array and made is real_of(x)), None)
        if itself is not None and call is not None:
            return itself
        if call is None or not all(map(can_be_noted, several(made))):
            if made is None:
                self.rec.refuse(OfNumPy(f"it calls {name}"))
            self.pin_all(args, kwargs)
            return made
        out = numpy_as_ops.by_ops(name, args, kwargs, made)
        if out is None:
            return self.noted(made, *call)
        if self.rec.reason:
            return made
        if name in numpy_as_ops.INEXACT:
            self.note_settings()
        self.roots.add(self.rec.value(out))
        return self.new_stand_in(made if isinstance(made, np.generic) else out._array, out)

    def noted(self, made: Any, attrs: dict[str, Any], tensors: tuple[Base, ...]) -> Any:
        """What the run gets for a function's result: a view of an operand's memory, or the results
        of a node."""
        shown = [self.shown(y, tensors) for y in several(made)]
        if all(x is not None for x in shown):
            return like(made, shown)
        arrays = [y for y in several(made) if type(y) is np.ndarray]
        snapshot = [t for t in tensors if any(overlap(y, t._array) for y in arrays)]
        self.note_settings()
        with modes.no_grad():
            results = apply(numpy_call, tensors, attrs)
        if self.rec.reason:
            return made
        for t in snapshot:                   # a copy, where NumPy shows memory
            self.snapshots.add(self.rec.values.root(self.rec.value(t)))
        out = []
        results = results if type(results) is tuple else (results,)
        for y, t in zip(several(made), results, strict=True):
            real = y if isinstance(y, np.generic) else t._array
            out.append(self.new_stand_in(real, t, bool(snapshot)))
            self.roots.add(self.rec.value(t))
        return like(made, out)

    def shown(self, y: Any, tensors: tuple[Base, ...]) -> Array | None:
        """The stand-in for what may be a part of an operand's memory, as `shown_part` finds it."""
        part = shown_part(y, tensors)
        return None if part is None else self.new_stand_in(*part)

    def pin_all(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Make everything that an unrecorded call read a guard."""
        for x in (*flat(args), *flat(tuple(kwargs.values()))):
            if type(x) is Array:
                self.pin(x)
            else:
                guarded_values(x)

    def change(self, name: str, function: Callable[..., Any], target: Any, args: tuple[Any, ...],
               kwargs: Mapping[str, Any], plain_args: tuple[Any, ...],
               plain_kwargs: Mapping[str, Any]) -> Any:
        """Run a NumPy function that changes an array, and record it."""
        if type(target) is not Array or (
                name == "operator.setitem" and not isinstance(real_of(target), np.ndarray)):
            self.pin_all(args, kwargs)
            return function(*plain_args, **plain_kwargs)
        if name == "operator.setitem" and not is_all(args[1]) and is_a_window(args[1]):
            part = self.call("operator.getitem", operator.getitem, (target, args[1]), {})
            if type(part) is Array and isinstance(real_of(part), np.ndarray):
                return self.change(name, function, part, (part, ..., args[2]), {},
                                   (real_of(part), ..., plain_args[2]), {})
        self.rec.stop_tried_code("it writes to a NumPy array")
        refusal, call = self.why_not_changed(target), None
        if refusal is None and real_of(target).flags.writeable:
            call = self.as_node(name, function, args, kwargs)
            if call is None:
                refusal = f"it changes a NumPy array by {name}"
        if refusal is not None:
            self.rec.refuse(OfNumPy(refusal))
        made = None if call is None else self.new_numbers(target, call)
        if made is None:                     # NumPy raises, or says what it has to say, at the line
            result = (function(*plain_args, **plain_kwargs) if call is None else
                      warning_here(self.rec, function, plain_args, plain_kwargs))
            return target if result is real_of(target) else result
        self.write(target, made)
        return None if name == "operator.setitem" or name in WRITES else target

    def why_not_changed(self, target: Array) -> str | None:
        """Why a change of an array cannot be recorded; None if it can."""
        root, provenance = self.root(target), provenance_of(target)
        if provenance.is_a_snapshot or self.frozen(root, real_of(target)):
            return "it writes to a NumPy array of which others have seen the memory"
        if (root not in self.roots and not provenance.was_there_before
                and root not in self.before()):
            return "it writes to a tensor's memory through NumPy"
        return None

    def new_numbers(self, target: Array, call: Call) -> Base | None:
        """What a call would write into an array; None if NumPy raises or warns."""
        attrs, tensors = call
        self.note_settings()
        with modes.no_grad():
            try:
                writes = [t is tensor_of(target) for t in tensors].index(True)
                made: Base = apply(numpy_call, tensors, {**attrs, "writes": writes})
            except FloatingPointError:
                return None
        return made

    def write(self, target: Array, made: Base) -> None:
        """Write new numbers into an array, recorded as a write."""
        rec = self.rec
        if rec.reason is None:
            n, m = rec.value(tensor_of(target)), rec.value(made)
            rec.nodes.append(Write(REGISTRY["copy"], (Ref(n), Ref(m)), {}, where(), (), False))
        rec.originals.write(real_of(target))
        np.copyto(real_of(target), made._array)
        self.wrote = True

    def frozen(self, root: int, real: NumPyArray) -> bool:
        """Must an array stay unchanged, because others have seen its memory?"""
        return root in self.snapshots or any(overlap(real, a) for a, _ in self.handed)

    def before(self) -> set[int]:
        """The roots of the arrays that were there before."""
        number = self.rec.values.number
        return {n for x in self.known.values() if (n := number(real_of(x))) is not None}

    def make(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Handle a call, by the user's code, of a function that makes arrays."""
        if not self.can_stand or sys._getframe(2).f_code not in self.rec.code.codes:
            return function(*args, **kwargs)
        values = [*flat(ordinary(args)), *flat(tuple(kwargs.values()))]
        if any(map(is_tensor, values)):
            if (len(args) != 1 or not is_tensor(args[0]) or function in BLANK
                    or function in OF_SEQUENCES):
                return function(*args, **kwargs)
            args = args[0].numpy(),
            values = list(args)
        is_blank = function in BLANK or function is ARANGE and shuffles(self.rec.code.codes)
        if not (is_blank or any(type(x) is Array or type(x) in NUMBERS for x in values)):
            return function(*args, **kwargs)
        function = BLANK.get(function, function)
        return self.call(function.__name__, function, args, kwargs)
