"""Recordings for all sizes: they serve calls of sizes that were never seen, without a run.

Two recordings with the same nodes and different sizes make a `Family`. It has the program planned
for all sizes that take the same way (see `program/sized_program.py`), and says which symbols a
call's sizes are. At the second recording's sizes the program is compared with the run, like any new
program. A call of other sizes needs no run: its recording is a copy of the first, with the family's
program and types. As for any recording, some later calls are made eagerly and compared."""
from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.ir import verify
from whet.ir.symbolic_size import Unsized
from whet.passes.compare_nodes import are_one_list

from ..effects.recipes import Runs, same_constant
from ..policy.second_look import SecondLook
from ..policy.timing import Trial, TrialsOfSizes
from ..program.shape_symbols import ShapeSymbols
from ..program.size_expressions import Sizes
from ..program.size_family import SizeFamily
from ..program.value_places import same_layout
from ..refusals.recording_errors import Refused
from ..values.tensor_sources import Outside
from .counted_misses import CountedMisses
from .recording import AmongSizes, CallCounts, Recording, TablesOfRecording
from .sized_calls import CallOfSizes, SizedCall

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.tensor_base import Base

    from ..program.program import Program
    from ..program.shape_symbols import Shapes
    from ..stand_ins.repeatable_call import Call
    from .sized_calls import AtThese, Run


class Family(SizeFamily[SizedCall, CallOfSizes]):
    """The recordings made like `first`, planned from its run and from the run `other` at other
    sizes. Raises Unsized."""

    def __init__(self, first: Recording, other: Run) -> None:
        self.first, self.other = first, other
        self.trials = TrialsOfSizes()
        self.may_widen = True            # Was one of more symbols not yet tried in vain?
        inputs, lengths = first.replay.inputs, first.sizes.lengths
        before, now = (
            [*(n for t in xs for n in t.shape), *(n for i in lengths for n in ys[i])]
            for xs, ys in ((inputs.types, first.sizes.shapes), (other.types, other.shapes))
        )
        if (
            len(before) != len(now)
            or (first.backward is None) != (other.backward is None)
            or not first.recorded.overlaps.moving_overlap_nothing
        ):
            raise Unsized("its recordings have other parts")
        self.sizes = Sizes(before, now)
        symbols = ShapeSymbols(self.sizes, first.sizes.shapes, other.shapes)
        if not symbols.are_all:
            raise Unsized("sizes that differ are not all those of arguments")
        if symbols.differ_unknown:
            raise Unsized("an argument of another size is not used")
        places = zip(first.program.outside, inputs.sources)
        known = first.world.tensors
        self.steady = {
            n: s.tensor
            for n, s in places
            if type(s) is Outside and known.get(id(s.tensor)) is s.tensor
        }
        # Sizes that are planned in vain are recorded by the call that asks, and asked for no more.
        super().__init__(symbols, [a for a, _ in self.sizes.pairs], attempts=math.inf)

    def plan(self, values: Sequence[int]) -> SizedCall:
        return SizedCall(self.first, self.other, self.sizes, values, self.steady)

    def as_function(self, plan: SizedCall) -> CallOfSizes:
        return CallOfSizes(plan, self.first, self.symbols)

    def is_narrower_than_of(self, shapes: Shapes) -> bool:
        """Would a family of these shapes have more symbols: all that this one has, and a size that
        is fixed here?"""
        known = self.symbols.dims
        if not self.may_widen or len(shapes) != len(known):
            return False
        pairs = [(i, a, b) for dims, x, y in zip(known, self.first.sizes.shapes, shapes)
                 for i, a, b in zip(dims, x, y)]
        return all(a != b for i, a, b in pairs if i >= 0) and any(
            a != b for i, a, b in pairs if i < 0)

    def at(self, shapes: Shapes, recorded: Sequence[Node] | None = None,
           may_plan: bool = True) -> AtThese | None:
        """What runs for arguments of these shapes; None if there is no plan for them, and none may
        be made. `recorded`: the nodes of a run with these shapes."""
        return self.made(shapes, lambda call, values: call.at(values, recorded), may_plan)

    def recording(self, leaves: Sequence[Base], may_plan: bool) -> Recording | None:
        """A recording for a call, made without a run; None if there is no plan for it, and none may
        be made."""
        shapes = [t._array.shape for t in leaves]
        made = self.at(shapes, may_plan=may_plan)
        if made is None:
            return None
        p = made.program
        r, replay, inputs = (
            copy.copy(self.first),
            copy.copy(self.first.replay),
            copy.copy(self.first.replay.inputs),
        )
        inputs.types = [p.arrays[n] for n in p.outside]
        replay.program, replay.inputs, r.replay = p, inputs, replay
        if not p.depends_on_counts:
            replay.backward = made.backward
        r.missed, r.trial, r.second_look = CountedMisses(), Trial(self.trials), SecondLook()
        if r.backward is not None:
            r.backward.trial = r.trial
        r.kind = r.key = None  # type: ignore[assignment]
        r.size, r.counts = 0, CallCounts()
        r.tables = TablesOfRecording(r.tables.moves_on)
        r.sizes = AmongSizes(shapes, r.sizes.lengths)
        r.slow, r.may_be_hasty, r.unseen = False, False, True
        r.doubtful = r.unproven = False      # The family's programs were compared with a run.
        return r


def may_begin(first: Recording | None, shapes: Shapes) -> bool:
    """Could a family be made from a recording and one of these shapes, and was that not yet tried?
    A family with more symbols counts too: two recordings may share a size by chance."""
    if first is None or first.sizes.is_alone:
        return False
    family = first.sizes.family
    return family is None or family.is_narrower_than_of(shapes)


def may_grow(first: Recording | None, other: Run) -> bool:
    """Could a family be made from a run whose programs are like those of a recording?"""
    return (first is not None and may_begin(first, other.shapes) and is_made_like(first, other)
            and not other.program.is_on_device and [*first.sizes.shapes] != [*other.shapes])


def is_made_like(first: Recording | None, other: Run) -> bool:
    """Are a run's programs those of a recording, for other sizes?"""
    return (first is not None and other.program.plan is first.program.plan
            and (other.backward is None or other.backward.is_known(first.backward)))


def has_backwards(first: Recording | None, other: Run) -> bool:
    """Do gradients flow out of the calls of a recording's family, and could a run belong to that
    family?"""
    return (first is not None and serves(first) and other.backward is not None
            and is_made_like(first, other))


def check(first: Recording, run: Run, compare: Callable[[AtThese], object]) -> None:
    """Compare the plan of a recording's family, at a run's sizes, with that run."""
    family = first.sizes.family
    made = None if family is None else family.at(run.shapes, may_plan=False)
    if made is not None:
        proved(first, made, compare)


def proved(first: Recording, made: AtThese, compare: Callable[[AtThese], object]) -> bool:
    """Does a recording's family do what a run did? If not, the family is given up, and each size is
    recorded."""
    try:
        compare(made)
    except Refused as e:
        if verify.CHECK:
            raise
        first.sizes.give_up_family(str(e))
        return False
    return True


def grow(first: Recording, other: Run, compare: Callable[[AtThese], object]) -> None:
    """Plan a family from a recording and a run with programs like it (see `may_grow`), if possible.
    `compare`: compares the plan with the run."""
    narrower = first.sizes.family
    first.sizes.give_up_family()
    try:
        if first.recorded.follows != other.follows:
            raise Unsized("sizes that Python has read went elsewhere")
        if not do_alike(first.replay.acts, other.acts):
            raise Unsized("what it prints, logs or warns of depends on sizes")
        family = Family(first, other)
        made = family.at(other.shapes)
        if made is None:
            raise Unsized("its programs are planned in other ways")
        if proved(first, made, compare):
            first.sizes.join_family(family)
    except Unsized as e:
        if narrower is None:
            first.sizes.give_up_family(str(e))
        else:
            narrower.may_widen = False
            first.sizes.join_family(narrower)


def do_alike(acts: Sequence[Call], others: Sequence[Call]) -> bool:
    """Do two runs with the same nodes act alike outside of Python's state? What the framework says
    in such calls may depend on sizes that are not followed."""
    runs = Runs(SameValues, SameValues)
    return len(acts) == len(others) and all(
        is_one_action(a.does, b.does) and runs.lists(a.recipes, b.recipes)
        and same_constant(tuple(a.kwargs.items()), tuple(b.kwargs.items()))
        for a, b in zip(acts, others))


def is_one_action(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
    """Are two functions one, or the same one with the same first arguments?"""
    if isinstance(a, functools.partial) and isinstance(b, functools.partial):
        return is_one_action(a.func, b.func) and same_constant(a.args, b.args)
    return a == b


class SameValues:
    """The values of runs with the same nodes: each is named by its number."""

    @staticmethod
    def name(n: int) -> int:
        return n


def serves(first: Recording) -> bool:
    """Can recordings be made from this one without a run?"""
    return first.sizes.family is not None


def program(first: Recording | None, nodes: Sequence[Node], recorded: Sequence[Node],
            outside: Sequence[int], values: Iterable[int],
            leaves: Sequence[Base], arrays: Mapping[int, Any]) -> Program | None:
    """The program of a run that was made like `first`, from its family; None if the family has
    none. `arrays`: those of the run, by value."""
    if (
        first is None
        or (family := first.sizes.family) is None
        or first.backward is not None
        or first.program.depends_on_counts
        or first.program.outside != outside
        or first.program.results != list(dict.fromkeys(values))
    ):
        return None
    if not are_one_list(first.program.recorded, nodes):
        return None
    made = family.at([t._array.shape for t in leaves], recorded)
    # A tensor from outside may be another one, of another type.
    if made is None or not all(same_layout(made.program.arrays[n], arrays[n])
                               for n in outside):
        return None
    return made.program
