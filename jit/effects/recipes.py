"""How a replay comes by what a run returned or left behind: one class for each kind of thing.

`describe_results.py` makes a recipe for each object, `replay/` builds the objects anew at each call. What is one object is one recipe
wherever it is met, and is built once. A container's recipe exists before those of its parts do, because a container may hold itself.
"""
from __future__ import annotations

import collections
import dataclasses
import types
from typing import TYPE_CHECKING, Any

from whet.autograd.node import next_number
from whet.ir.graph import exact
from whet.tensor import Size

from ..capture.containers import elements, kind_of, values
from ..capture.refused import Refused
from ..capture.tensor_sources import InPython, Source
from ..capture.varying_numbers import NUMBERS
from ..gradient.freed_graphs import FreedGraphs
from ..guards.immutable_types import CONSTANT, PLAIN
from ..guards.instances import attributes
from ..guards.origin import HEAP
from ..report.reasons import Returns

if TYPE_CHECKING:
    from .describe_results import Results


class Making:
    """What one replay makes its results of. `env`: the program's arrays by value, `leaves` and `boxes`: the tensors and the containers
    that the call was given, `ends`: of the call's graph, one for each result through which gradients flow."""
    __slots__ = ("env", "leaves", "boxes", "made", "cells", "ends", "number", "freed")

    def __init__(self, env: Any, leaves: Any, boxes: Any):
        self.env, self.leaves, self.boxes = env, leaves, boxes
        self.made: dict[Any, Any] = {}       # a recipe -> what was built by it; a version cell of the recording -> that of this call
        self.number = None                   # the place among all nodes of the node that stands for the call
        self.freed: FreedGraphs | None = None

    def freed_graphs(self) -> FreedGraphs:
        """The graphs that this call has used up."""
        if self.freed is None:
            self.freed = FreedGraphs(self.number or next_number())
        return self.freed


class Runs:
    """Two runs of one function that are compared: `was` and `now` name the values of theirs (see `recheck.Steps`)."""

    def __init__(self, was: Any, now: Any):
        self.was, self.now = was, now
        self.there: dict[Recipe, Recipe] = {}
        self.here: dict[Recipe, Recipe] = {}

    def values(self, a: int, b: int) -> bool:
        """Is a value of one run that of the other?"""
        return bool(self.was.name(a) == self.now.name(b))

    def recipes(self, a: Recipe | None, b: Recipe | None) -> bool:
        """Do two recipes make the same? What is one object in one run is one in the other."""
        if a is None or b is None:
            return a is b
        if a in self.there or b in self.here:
            return self.there.get(a) is b and self.here.get(b) is a
        if type(a) is not type(b):
            return False
        self.there[a], self.here[b] = b, a
        return a.same(b, self)

    def lists(self, a: Any, b: Any) -> bool:
        """The same of recipes in a row."""
        return len(a) == len(b) and all(map(self.recipes, a, b))


def same_constant(a: Any, b: Any) -> bool:
    """Are two objects one, or equal and of a kind that nobody can tell apart?"""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(same_constant, a, b))
    return (type(a) in (*PLAIN, set, frozenset) or isinstance(a, CONSTANT)) and bool(exact(a) == exact(b))


class Recipe:
    """How a replay comes by one object."""
    __slots__ = ()

    def build(self, making: Making) -> Any:
        """The object in a replay."""
        raise NotImplementedError

    def emit(self, steps: Any) -> None:
        """Add the steps by which machine code builds it; `InPython` where there are none."""
        raise InPython

    def same(self, other: Any, runs: Runs) -> bool:
        """Does a recipe of the same class make the same in a run that was recorded again?"""
        raise NotImplementedError

    def parts(self) -> list[Recipe]:
        """The recipes that it is made of."""
        return []


# ---- what was there, and numbers -------------------------------------------------------------------------------------
class Constant(Recipe):
    """An object that is the same at each call."""
    __slots__ = ("object",)

    def __init__(self, x: Any):
        self.object = x

    def build(self, making: Making) -> Any:
        return self.object

    def emit(self, steps: Any) -> None:
        steps.constant(self.object)

    def same(self, other: Constant, runs: Runs) -> bool:
        return same_constant(self.object, other.object)


class Found(Recipe):
    """A tensor that was there before the run."""
    __slots__ = ("source",)

    def __init__(self, source: Source):
        self.source = source

    def build(self, making: Making) -> Any:
        return self.source.find(making.leaves)

    def emit(self, steps: Any) -> None:
        self.source.emit(steps)

    def same(self, other: Found, runs: Runs) -> bool:
        return self.source.same(other.source)


class GivenBox(Recipe):
    """A container among the arguments."""
    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def build(self, making: Making) -> Any:
        return making.boxes[self.index]

    def same(self, other: GivenBox, runs: Runs) -> bool:
        return other.index == self.index


class Number(Recipe):
    """A number of Python's that a tensor held."""
    __slots__ = ("value",)

    def __init__(self, value: int):
        self.value = value

    def build(self, making: Making) -> Any:
        return making.env[self.value].item()

    def emit(self, steps: Any) -> None:
        steps.number(self.value)

    def same(self, other: Number, runs: Runs) -> bool:
        return runs.values(self.value, other.value)


class MadeArray(Recipe):
    """A NumPy array that NumPy made in the run, or one of NumPy's numbers."""
    __slots__ = ("value", "is_array")

    def __init__(self, value: int, is_array: bool):
        self.value, self.is_array = value, is_array

    def build(self, making: Making) -> Any:
        a = making.env[self.value]
        return a if self.is_array else a[()]

    def same(self, other: MadeArray, runs: Runs) -> bool:
        return other.is_array == self.is_array and runs.values(self.value, other.value)


class GivenArray(Recipe):
    """A NumPy array among the arguments."""
    __slots__ = ("source",)

    def __init__(self, source: Source):
        self.source = source

    def build(self, making: Making) -> Any:
        return self.source.find(making.leaves)._array

    def same(self, other: GivenArray, runs: Runs) -> bool:
        return self.source.same(other.source)


class FilledText(Recipe):
    """A text into which others were written. `pieces`: texts, and pairs of a recipe and its format."""
    __slots__ = ("pieces",)

    def __init__(self, pieces: list[Any]):
        self.pieces = pieces

    def build(self, making: Making) -> Any:
        return "".join([p if type(p) is str else format(p[0].build(making), p[1]) for p in self.pieces])

    def same(self, other: FilledText, runs: Runs) -> bool:
        def alike(p: Any, q: Any) -> bool:
            if type(p) is str or type(q) is str:
                return bool(p == q)
            return same_constant(p[1], q[1]) and runs.recipes(p[0], q[0])
        return len(self.pieces) == len(other.pieces) and all(map(alike, self.pieces, other.pieces))

    def parts(self) -> list[Recipe]:
        return [p[0] for p in self.pieces if type(p) is not str]


# ---- what the run made -----------------------------------------------------------------------------------------------
class Made(Recipe):
    """An object that each call makes anew, with its parts."""
    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: list[Recipe] = []

    @staticmethod
    def takes(x: Any) -> bool:
        """Is this the recipe for such an object?"""
        raise NotImplementedError

    def describe(self, x: Any, results: Results) -> None:
        """Note what an object is made of."""
        self.held = [results.describe(y) for y in x]

    def build(self, making: Making) -> Any:
        x = making.made.get(self)
        return self.make(making) if x is None else x

    def make(self, making: Making) -> Any:
        """A new object, noted before its parts are made if it can be changed."""
        raise NotImplementedError

    def same(self, other: Any, runs: Runs) -> bool:
        return runs.lists(self.held, other.held)

    def parts(self) -> list[Recipe]:
        return self.held


class MadeSlice(Made):
    """A slice with numbers that vary."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is slice

    def describe(self, x: Any, results: Results) -> None:
        super().describe((x.start, x.stop, x.step), results)

    def make(self, making: Making) -> Any:
        x = making.made[self] = slice(*[y.build(making) for y in self.held])
        return x


class MadeTuple(Made):
    """A tuple."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is tuple

    def make(self, making: Making) -> Any:
        x = tuple([y.build(making) for y in self.held])
        # A list in it that holds it has built it already.
        return making.made.setdefault(self, x)

    def emit(self, steps: Any) -> None:
        steps.once(self)
        for y in self.held:
            y.emit(steps)
        steps.tuple(len(self.held))


class MadeList(Made):
    """A list."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is list

    def make(self, making: Making) -> Any:
        x: list[Any] = []
        making.made[self] = x
        x += [y.build(making) for y in self.held]
        return x

    def emit(self, steps: Any) -> None:
        steps.once(self)
        for y in self.held:
            y.emit(steps)
        steps.list(len(self.held))


class MadeRecord(Made):
    """A tuple with a class: a named tuple, a shape, or several results of one of our functions. `named`: its attributes beside the
    fields."""
    __slots__ = ("type", "named")

    @staticmethod
    def takes(x: Any) -> bool:
        return isinstance(x, tuple) and (hasattr(type(x), "_fields") or type(x).__module__.startswith("whet"))

    def describe(self, x: Any, results: Results) -> None:
        self.type = type(x)
        super().describe(x, results)
        more = getattr(x, "__dict__", {}) if hasattr(x, "_fields") else {}
        self.named = [(name, results.describe(y)) for name, y in more.items()]

    def make(self, making: Making) -> Any:
        fields = [y.build(making) for y in self.held]
        x = self.type._make(fields) if hasattr(self.type, "_make") else self.type(fields)
        x = making.made.setdefault(self, x)
        if self.named:
            x.__dict__.update([(name, y.build(making)) for name, y in self.named])
        return x

    def same(self, other: MadeRecord, runs: Runs) -> bool:
        return self.type is other.type and runs.lists(self.held, other.held) and _same_entries(self.named, other.named, runs)

    def parts(self) -> list[Recipe]:
        return [*self.held, *(y for _, y in self.named)]


class MadeShape(MadeRecord):
    """A shape with numbers that vary."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is Size and any(type(n) in NUMBERS for n in x)


class MadeDict(Made):
    """A dict, by its type."""
    __slots__ = ("type", "keys")

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) in (dict, collections.OrderedDict) and all(type(k) in PLAIN for k in x)

    def describe(self, x: Any, results: Results) -> None:
        self.fill(type(x), list(x), list(x.values()), results)

    def fill(self, kind: type, keys: list[Any], held: list[Any], results: Results) -> None:
        """Note the entries of a dict of this type."""
        self.type, self.keys = kind, keys
        self.held = [results.describe(y) for y in held]

    def make(self, making: Making) -> Any:
        x = making.made[self] = self.type()
        x.update(zip(self.keys, [y.build(making) for y in self.held]))
        return x

    def emit(self, steps: Any) -> None:
        if self.type is not dict:
            raise InPython
        steps.once(self)
        at = steps.keys(self.keys)
        for y in self.held:
            y.emit(steps)
        steps.dict(len(self.keys), at)

    def same(self, other: MadeDict, runs: Runs) -> bool:
        return self.type is other.type and same_constant(self.keys, other.keys) and runs.lists(self.held, other.held)


class TensorKeyedDict(Made):
    """What a dict with tensors as keys holds."""
    __slots__ = ("keys",)

    def fill(self, kind: type, keys: list[Any], held: list[Any], results: Results) -> None:
        """Note the entries, each key with its value."""
        pairs = [(results.describe(k), results.describe(y)) for k, y in zip(keys, held)]
        self.keys, self.held = [k for k, _ in pairs], [y for _, y in pairs]

    def make(self, making: Making) -> Any:
        return {k.build(making): y.build(making) for k, y in zip(self.keys, self.held)}

    def same(self, other: TensorKeyedDict, runs: Runs) -> bool:
        return runs.lists(self.keys, other.keys) and runs.lists(self.held, other.held)

    def parts(self) -> list[Recipe]:
        return [*self.keys, *self.held]


class MadeSet(Made):
    """A set of constants, which has them in the order that it had."""
    __slots__ = ("type", "order")

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) in (set, frozenset) and all(type(k) in PLAIN for k in x)

    def describe(self, x: Any, results: Results) -> None:
        self.type, self.order = type(x), elements(x)
        if elements(self.type(self.order)) != self.order:
            # What was taken from it left holes.
            raise Refused(Returns("a set, of which the order could be another"))

    def make(self, making: Making) -> Any:
        x = making.made[self] = self.type(self.order)
        return x

    def same(self, other: MadeSet, runs: Runs) -> bool:
        return self.type is other.type and same_constant(self.order, other.order)


class MadeDataclass(Made):
    """An instance of a dataclass, made without its `__init__`. `entries`: what it holds as a dict, if it is a kind of one."""
    __slots__ = ("type", "own", "fields", "entries")

    @staticmethod
    def takes(x: Any) -> bool:
        if not dataclasses.is_dataclass(x) or isinstance(x, type):
            return False
        own = kind_of(x) if isinstance(x, dict) else object
        return all(b is object or b.__flags__ & HEAP or b in (own, dict) for b in type(x).__mro__) \
            and all(type(k) in PLAIN for k in (elements(x) if isinstance(x, dict) else ()))

    def describe(self, x: Any, results: Results) -> None:
        held = list(zip(elements(x), values(x))) if isinstance(x, dict) else []
        self.type, self.own = type(x), kind_of(x) if isinstance(x, dict) else object
        self.fields = [(name, results.describe(y)) for name, y in attributes(x)]
        self.entries = [(k, results.describe(y)) for k, y in held]

    def make(self, making: Making) -> Any:
        own: Any = self.own
        x = making.made[self] = own.__new__(self.type)
        for name, y in self.fields:
            object.__setattr__(x, name, y.build(making))
        for k, y in self.entries:
            own.__setitem__(x, k, y.build(making))
        return x

    def same(self, other: MadeDataclass, runs: Runs) -> bool:
        return self.type is other.type and self.own is other.own and _same_entries(self.fields, other.fields, runs) \
            and _same_entries(self.entries, other.entries, runs)

    def parts(self) -> list[Recipe]:
        return [y for _, y in (*self.fields, *self.entries)]


class MadeCell(Made):
    """A variable that functions share."""
    __slots__ = ()

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is types.CellType

    def describe(self, x: Any, results: Results) -> None:
        self.held = [] if x == types.CellType() else [results.describe(x.cell_contents)]

    def make(self, making: Making) -> Any:
        x = making.made[self] = types.CellType()
        self.fill(x, making)
        return x

    def fill(self, x: Any, making: Making) -> None:
        """Give the variable its value."""
        for y in self.held:
            x.cell_contents = y.build(making)


class MadeFunction(Made):
    """A function that the run made: each call makes its own, with its own variables."""
    __slots__ = ("code", "names", "said")

    @staticmethod
    def takes(x: Any) -> bool:
        return type(x) is types.FunctionType

    def describe(self, x: Any, results: Results) -> None:
        self.code, self.names = x.__code__, x.__globals__
        super().describe(x.__closure__ or (), results)
        said = ("__dict__", "__annotations__", "__kwdefaults__", "__defaults__", "__name__", "__qualname__", "__module__", "__doc__")
        self.said = [(name, results.describe(getattr(x, name))) for name in said]

    def make(self, making: Making) -> Any:
        # A variable may hold the function: those that are new get their values afterwards.
        new = [c for c in self.held if isinstance(c, MadeCell) and c not in making.made]
        making.made.update((c, types.CellType()) for c in new)
        closure = tuple([c.build(making) for c in self.held])
        x = making.made[self] = types.FunctionType(self.code, self.names, closure=closure or None)
        for c in new:
            c.fill(making.made[c], making)
        for name, y in self.said:
            setattr(x, name, y.build(making))
        return x

    def same(self, other: MadeFunction, runs: Runs) -> bool:
        return same_constant(self.code, other.code) and self.names is other.names and runs.lists(self.held, other.held) \
            and _same_entries(self.said, other.said, runs)

    def parts(self) -> list[Recipe]:
        return [*self.held, *(y for _, y in self.said)]


def _same_entries(a: Any, b: Any, runs: Runs) -> bool:
    """Are pairs of a name and a recipe the same?"""
    return len(a) == len(b) and all(same_constant(j, k) and runs.recipes(x, y) for (j, x), (k, y) in zip(a, b))


# What immutable things are made anew for the sake of numbers in them, though they might have been there before.
ANEW: tuple[type[Made], ...] = MadeSlice, MadeShape
KINDS: tuple[type[Made], ...] = (MadeTuple, MadeList, MadeRecord, MadeDict, MadeSet, MadeDataclass, MadeFunction, MadeCell)
