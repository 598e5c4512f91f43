"""How a replay obtains what a run returned or left behind: one class for each kind of thing.

`describe_results.py` makes a recipe for each object, `replay/` builds new objects at each
call. What is one object is one recipe wherever it is met, and is built once.
"""
from __future__ import annotations

from typing import Any

from whet.autograd.node import next_number
from whet.ir.value_keys import value_key

from ..gradient.freed_graphs import FreedGraphs
from ..values.immutable_types import CONSTANT, PLAIN
from ..values.instance_state import own_dict
from ..values.tensor_sources import InPython, Source


class Making:
    """What one replay makes its results of. `env`: the program's arrays by value. `leaves` and
    `boxes`: the tensors and the containers that the call was given. `ends`: the last nodes of the
    call's graph, one for each result through which gradients flow."""
    __slots__ = ("env", "leaves", "boxes", "made", "ends", "number", "freed")
    ends: list[Any]

    def __init__(self, env: Any, leaves: Any, boxes: Any):
        self.env, self.leaves, self.boxes = env, leaves, boxes
        # a recipe -> what was built by it; a version cell of the recording -> that of this call
        self.made: dict[Any, Any] = {}
        # the place among all nodes of the node that stands for the call
        self.number: Any = None
        self.freed: FreedGraphs | None = None

    def freed_graphs(self) -> FreedGraphs:
        """The graphs that this call has used up."""
        if self.freed is None:
            self.freed = FreedGraphs(self.number or next_number())
        return self.freed


class Runs:
    """Two runs of one function that are compared: `was` and `now` name the values of theirs (see
    `recheck.Steps`)."""

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
        """Do recipes in a row make the same, each what the other one in its place makes?"""
        return len(a) == len(b) and all(map(self.recipes, a, b))


def same_constant(a: Any, b: Any) -> bool:
    """Are two objects one, or equal and of a kind that no code can distinguish?"""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(same_constant, a, b))
    return ((type(a) in (*PLAIN, set, frozenset) or isinstance(a, CONSTANT))
            and bool(value_key(a) == value_key(b)))


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


# ---- what was there, and numbers -----------------------------------------------------------------
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


class ContainerArgument(Recipe):
    """A container among the arguments."""
    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def build(self, making: Making) -> Any:
        return making.boxes[self.index]

    def same(self, other: ContainerArgument, runs: Runs) -> bool:
        return other.index == self.index


class DictOfArgument(ContainerArgument):
    """The dict of the attributes of an object among the arguments."""
    __slots__ = ()

    def build(self, making: Making) -> Any:
        return own_dict(making.boxes[self.index])


class Number(Recipe):
    """A Python number that a tensor held."""
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
        x = making.made.get(self)
        if x is None:
            a = making.env[self.value]
            x = making.made[self] = a if self.is_array else a[()]
        return x

    def emit(self, steps: Any) -> None:
        steps.numpy(self)

    def same(self, other: MadeArray, runs: Runs) -> bool:
        return other.is_array == self.is_array and runs.values(self.value, other.value)


class ArrayArgument(Recipe):
    """A NumPy array among the arguments."""
    __slots__ = ("source",)

    def __init__(self, source: Source):
        self.source = source

    def build(self, making: Making) -> Any:
        return self.source.find(making.leaves)._array

    def emit(self, steps: Any) -> None:
        steps.array_as_given(self.source)

    def same(self, other: ArrayArgument, runs: Runs) -> bool:
        return self.source.same(other.source)


class FilledText(Recipe):
    """A text into which others were written. `pieces`: texts, and pairs of a recipe and its
    format."""
    __slots__ = ("pieces",)

    def __init__(self, pieces: list[Any]):
        self.pieces = pieces

    def build(self, making: Making) -> Any:
        return "".join([
            p if type(p) is str else format(p[0].build(making), p[1]) for p in self.pieces])

    def same(self, other: FilledText, runs: Runs) -> bool:
        def alike(p: Any, q: Any) -> bool:
            if type(p) is str or type(q) is str:
                return bool(p == q)
            return same_constant(p[1], q[1]) and runs.recipes(p[0], q[0])
        return len(self.pieces) == len(other.pieces) and all(map(alike, self.pieces, other.pieces))

    def parts(self) -> list[Recipe]:
        return [p[0] for p in self.pieces if type(p) is not str]
