"""Makes a recipe for each object that a run returned or left behind."""
from __future__ import annotations

import collections
import enum
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from whet.tensor import Tensor, wants_gradient
from whet.tensor_base import is_strided

from ..capture.state_before import StateBefore, places_of_counters
from ..gradient.eager_graph import inside, leaving, used_up
from ..gradient.freed_graphs import FreedEnd, FreedGraph
from ..refusals.reasons import Foreign, Returns
from ..refusals.recording_errors import Refused
from ..refusals.type_names import full_thing, thing
from ..stand_ins.numpy_stand_in import Array, real_of, tensor_of
from ..stand_ins.state_during_a_run import GROWING
from ..stand_ins.streams_and_functions import StandIn, real
from ..values.code_origin import users
from ..values.containers import elements, values
from ..values.immutable_types import CONSTANT, PLAIN
from ..values.instance_state import has_dict, own_dict
from ..values.tensor_facts import named, only_marks
from ..values.tensor_sources import BaseOf, MadeLeaf, Source, Sources
from ..values.varying_numbers import NUMBERS, tensor_behind, value_of
from ..values.varying_texts import Text
from . import object_recipes
from .object_recipes import MadeDict, MadeTuple, TensorKeyedDict
from .recipes import (
    ArrayArgument,
    Constant,
    ContainerArgument,
    DictOfArgument,
    FilledText,
    Found,
    MadeArray,
    Number,
    Recipe,
)
from .tensor_recipes import Freed, History, Leaf, LiveEnd, MadeTensor, MadeView, VersionCell


class Results:
    """The recipes of one run. `source_of`: the way to a tensor that was there before,
    `source_of_edge`: the same of what an edge of autograd leads to."""

    def __init__(self, rec: Any, run: StateBefore, source_of: Sources,
                 source_of_edge: Callable[[Any], Source | None], tuples: dict[int, Any]):
        self.rec, self.source_of, self.source_of_edge = rec, source_of, source_of_edge
        self.first, self.before, self.guarded = run.first, run.whole.seen, run.world.seen
        drawn = rec.stand_ins.draws.tensors()
        self.arguments = [(t, source_of.arguments[id(t)]) for t in (*run.leaves, *drawn)]
        self.boxes = {id(x): i for i, x in enumerate(run.boxes)}
        self.dicts = {id(own_dict(x)): i for i, x in enumerate(run.boxes)
                      if not isinstance(x, list | dict | tuple) and has_dict(x)}
        # The tuples in which the run found stand-ins: those that were given stand for them.
        self.exchanged = {
            i: self.boxes[id(was)] for i, (_, was) in tuples.items() if id(was) in self.boxes}
        # by the ids of lists and dicts whose parts are in slots: what is to be learned where one is
        # handed on
        self.of_slots: dict[int, Callable[[], None]] = {}
        self.returns_a_box = False
        self.known: dict[int, Recipe] = {}   # of objects that the run made, by id
        self.holders: list[Any] = []         # these objects, so that nothing else gets their ids
        self.tensors: list[Any] = []         # the tensors among them
        self.made: list[Any] = []            # the recipes of these tensors, in the same order
        self.numbers: list[int] = []         # values that become numbers or NumPy arrays
        self.alive: list[Any] = []           # results whose history is not used up
        self.freed: list[tuple[Freed, Any]] = []         # results whose history is used up

    @property
    def values(self) -> list[int]:
        """The values of the tensors."""
        return [recipe.value for recipe in self.made]

    def describe(self, x: Any) -> Recipe:
        """The recipe of an object."""
        if is_strided(x):
            return self.tensor(x)
        there = self.known.get(id(x))
        if there is not None:
            return there
        found = self.found(x)
        if found is not None:
            return found
        return (self.make(x, object_recipes.ANEW) or self.constant(x)
                or self.make(x, object_recipes.KINDS) or self.refuse(x))

    def argument(self, x: Any) -> Recipe:
        """The recipe of an argument of a call that acts outside of Python's state."""
        if isinstance(x, Text):
            return FilledText([
                p if type(p) is str else (self.describe(p[0]), p[1]) for p in x.pieces])
        return Constant(x) if isinstance(x, type) else self.describe(x)

    def found(self, x: Any) -> Recipe | None:
        """The recipe of what stands for something, or is found in a call's arguments."""
        t = type(x)
        if id(x) in self.of_slots:
            self.of_slots[id(x)]()
            raise Refused(Returns(f"{thing(t)} that was there before"))
        if issubclass(t, StandIn):
            return Constant(real(x))
        if t in NUMBERS:
            n = self.rec.value(tensor_behind(x))
            self.numbers.append(n)
            return Number(n)
        arrays = self.rec.stand_ins.arrays
        if t is Array or issubclass(t, (np.ndarray, np.floating)) and (
                id(x) in arrays.known or id(x) in arrays.around):
            return self.array(x)
        if t in GROWING.values():            # the list that it stands for
            return Constant(x.real)
        if id(x) in self.boxes or id(x) in self.exchanged:
            self.returns_a_box = True
            return ContainerArgument(self.boxes.get(id(x), self.exchanged.get(id(x), 0)))
        if t is dict and id(x) in self.dicts:
            self.returns_a_box = True
            return DictOfArgument(self.dicts[id(x)])
        return Constant(x) if id(x) in self.guarded else None

    def constant(self, x: Any) -> Recipe | None:
        """The recipe of an object that is the same at each call. Refuses an object that was there
        before the run and may be another one at the next call."""
        t = type(x)
        if t in PLAIN or t is tuple and not x or issubclass(t, (*CONSTANT, enum.Enum)):
            return Constant(x)
        if issubclass(t, (types.FunctionType, type)) and (id(x) in self.before or not users(x)):
            return Constant(x)
        if id(x) in self.before:
            raise Refused(Returns(f"{thing(type(x))} that was there before"))
        return None

    def was_there(self, x: Any) -> bool:
        """Did the object exist before the run, in a place where a replay finds it, too?"""
        return id(x) in self.before or id(x) in self.guarded

    def make(self, x: Any, kinds: tuple[type[object_recipes.Made], ...]) -> Recipe | None:
        """The recipe of a new object of one of these kinds; None where it is of none of them."""
        for kind in kinds:
            if kind.takes(x):
                recipe = self.known[id(x)] = kind()
                self.holders.append(x)
                recipe.describe(x, self)
                return recipe
        return None

    @staticmethod
    def refuse(x: Any) -> Recipe:
        """Refuse the run: no replay can make such an object."""
        raise Refused(Returns(full_thing(type(x))))

    def array(self, x: Any) -> Recipe:
        """A NumPy array, or one of its numbers: one that was there before, or one that
        NumPy made in the run."""
        numpys = self.rec.stand_ins.arrays
        x = numpys.known.get(id(x), x) if type(x) is not Array else x
        known, a = real_of(x), tensor_of(x)._array
        if id(known) in numpys.around:
            return Constant(known)
        source = next((source for t, source in self.arguments if t._array is known), None)
        if source is not None:
            return ArrayArgument(source)
        numpys.described.add(id(x))
        n = self.rec.value(tensor_of(x))
        self.numbers.append(n)
        recipe = self.known[id(x)] = MadeArray(n, known is a)
        self.holders.append(x)
        return recipe

    def contents(self, x: Any) -> Recipe:
        """The recipe of what a container that was there before holds now."""
        if isinstance(x, list | collections.deque):
            return self.several(elements(x))
        # Taking a number's hash has made it a guard.
        keys = [value_of(k) if type(k) in NUMBERS else k for k in elements(x)]
        if not all(type(k) in PLAIN or id(k) in self.guarded or is_strided(k) for k in keys):
            raise Refused(Returns(f"{thing(type(x))} of objects"))
        has_tensors = any(is_strided(k) for k in keys)
        if isinstance(x, set):
            return (self.several(sorted(keys, key=self.order)) if has_tensors else Constant(
                tuple(keys)))
        recipe = TensorKeyedDict() if has_tensors else MadeDict()
        recipe.fill(dict, keys, list(values(x)), self)
        return recipe

    def several(self, xs: Any) -> Recipe:
        """Objects as a tuple."""
        recipe = MadeTuple()
        recipe.describe(xs, self)
        return recipe

    def order(self, k: Any) -> Any:
        """The key by which elements of a set are sorted. It does not depend on where tensors are in
        memory."""
        if not is_strided(k):
            return 0, 0, repr(k)
        source = self.source_of(k)
        if source is None:
            return 1, self.rec.values.number(k._array) or 0, ""
        return 2, hash(source), type(source).__name__

    def tensor(self, x: Any) -> Recipe:
        """The recipe of a tensor."""
        if not is_strided(x):
            raise Refused(Returns("a sparse gradient"))
        there = self.known.get(id(x))
        if there is not None:
            if isinstance(there, MadeTensor):
                there.is_shared = True
            return there
        source = self.source_of(x)
        if self.rec.shows_an_array(x):
            raise Refused(Foreign.returned())
        if source is not None:
            return Found(source)
        if type(x) is not Tensor and not only_marks(type(x)):
            raise Refused(Returns(f"{full_thing(type(x))}, a kind of tensor"))
        n = self.rec.value(x)
        if x._extra or named(x):
            raise Refused(Returns(f"a tensor with {'hooks' if x._extra else 'attributes'}"))
        if x._grad is not None and not wants_gradient(x):
            raise Refused(Returns("a tensor with a gradient that requires none"))
        history = self.history(x) if wants_gradient(x) else None
        recipe: Recipe
        recipe = (MadeTensor(n, x._rg, history, type(x)) if x._base is None else MadeView(
            n, x._rg, history, self.base(x, n), type(x)))
        self.known[id(x)] = recipe
        self.tensors.append(x)
        self.made.append(recipe)
        return recipe

    def history(self, x: Any) -> History:
        """The recipe of a result's history: of the graph that its gradients flow into."""
        if x._node is None:
            return Leaf(None if x._grad is None else self.tensor(x._grad))
        if used_up(x, self.first):
            freed = Freed(FreedEnd(x._node, self.first, self.source_of_edge))
            self.freed.append((freed, x))
            return freed
        self.alive.append(x)
        return LiveEnd(len(self.alive) - 1)

    def leaves(self) -> None:
        """Describe leaves that the run made and that only the graph of the results holds. Called
        when everything else has been described."""
        for _, _, e in leaving(inside([t._node for t in self.alive], self.first)):
            if is_strided(e) and self.source_of_edge(e) is None:
                self.tensor(e)

    def source_of_border(self, e: Any) -> Source | None:
        """How a replay finds what an edge leads to that leaves the graph of the results."""
        source = self.source_of_edge(e)
        if source is not None or id(e) not in self.known:
            return source
        number = next(i for i, t in enumerate(self.tensors) if t is e)
        return MadeLeaf(number, self.known[id(e)])

    def base(self, x: Any, n: int) -> Recipe:
        """What a view of value `n` is a view of."""
        owner = self.rec.outside.get(self.rec.values.root(n))
        if (owner is not None and owner._base is x._base and self.source_of(x._base) is None
                and self.source_of(owner) is not None):
            return Found(BaseOf(self.source_of(owner)))
        return self.tensor(x._base)

    def join(self) -> None:
        """Join freed graphs that share nodes, because a hook in one of them sees gradients that
        come through another. Called when everything else has been described."""
        apart: list[Any] = []
        for one in self.freed:
            nodes, those = set(inside([one[1]._node], self.first)), [one]
            for other in [g for g in apart if not nodes.isdisjoint(g[0])]:
                apart.remove(other)
                nodes, those = nodes | other[0], other[1] + those
            apart.append((nodes, those))
        living = set(inside([t._node for t in self.alive], self.first))
        for nodes, those in apart:
            if nodes.isdisjoint(living):
                FreedGraph(self.rec, [(freed.end, t) for freed, t in those], self.first)
                continue
            for freed, t in those:
                freed.live = LiveEnd(len(self.alive))
                self.alive.append(t)

    def cells(self, saved: dict[int, Any]) -> dict[int, VersionCell]:
        """Give each result its version cell, where the cell is shared or counts from a version
        above 0. Gives the cells of values that were `saved` for a backward. A cell has the version
        that it has at the end of the run, or is that of a tensor from outside."""
        counted_outside = places_of_counters(self.rec.outside.values(), self.source_of)
        held = [(recipe, t._cell) for recipe, t in zip(self.made, self.tensors)
                if t._base is None and t._cell is not None]
        users = collections.Counter(id(c) for c in (*(c for _, c in held), *saved.values()))
        known: dict[int, VersionCell] = {}

        def cell(c: Any) -> VersionCell:
            return known.setdefault(id(c), VersionCell(c.v, c.writer, counted_outside.get(id(c))))
        for recipe, c in held:
            if c.v or id(c) in counted_outside or users[id(c)] > 1:
                recipe.cell = cell(c)
        return {n: cell(c) for n, c in saved.items()}
