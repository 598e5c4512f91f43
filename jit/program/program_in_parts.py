"""A program in parts: the sizes of later parts are decided by data.

The first part is a program like any other: its last steps count (`nonzero`, `unique`). The next
part takes what they made as inputs, and is planned for any sizes of these. As for calls of other
sizes, two runs show which sizes differ, and `SizedProgram` makes a function of them. Parts are
programs of their own. What one makes and others need is a result of it.
"""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.graph import Type
from whet.ir.symbolic_size import Unsized
from whet.passes.compare_nodes import Likeness, are_one_list, likeness

from ..refusals.reasons import Shapes as OtherShape
from ..refusals.replay_miss import Miss
from . import resized_program
from .program import NOTHING_SPENT, Program
from .programs_of_sizes import AtSizes, ProgramOfSizes
from .resized_program import ResizedProgram
from .shape_symbols import ShapeSymbols
from .size_expressions import SizeExpressions, Sizes
from .size_family import SizeFamily, join
from .sized_program import NodesOfRun, SizedProgram
from .value_places import equivalent_layout

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.outline import Array
    from whet.tensor_base import Base

    from ..gradient.backward_by_counts import BackwardByCounts
    from .numbered_parts import NumberedPart
    from .numbers_from_sizes import NumbersOfNode
    from .shape_symbols import Shapes

WAYS = 8                         # to plan a part, one for what has to be planned otherwise
PROGRAMS = 128                   # programs of a part for certain sizes that are kept
RESIZED = 8                      # programs of a plan that Python makes until machine code does


class PartFamily(SizeFamily[SizedProgram, ProgramOfSizes]):
    """The plans of a part for all sizes in which two runs differ. `like`: the program of one run.
    `other`: what passes left of the other. Raises Unsized."""

    def __init__(self, like: Program, other: NodesOfRun, steady: Mapping[int, Base],
                 read_numbers: Mapping[int, NumbersOfNode] | None) -> None:
        self.like, self.other, self.steady, self.read_numbers = like, other, steady, read_numbers
        before = [like.arrays[n].shape for n in like.outside]
        now = [other.arrays[n].shape for n in other.outside]
        self.sizes = Sizes([n for s in before for n in s], [n for s in now for n in s])
        symbols = ShapeSymbols(self.sizes, before, now)
        values = symbols.values(now)
        if values is None:
            raise Unsized("a size is 0 or 1")
        super().__init__(symbols, values)

    def program(self, shapes: Shapes, of_run: Sequence[Node] | None = None) -> Program | None:
        """The program for these sizes, if it can be planned. `of_run`: the nodes of a run, if there
        was one."""
        return self.made(shapes, lambda plan, values: self.at(plan, values, of_run))

    def at(self, plan: ProgramOfSizes, values: Sequence[int],
           of_run: Sequence[Node] | None) -> AtSizes | None:
        """The program that a plan gives for these sizes. If it is asked often, machine code gets
        one program for all sizes."""
        made = plan.program(values, of_run)
        if made is not None:
            plan.asked += 1
            if plan.resized is not None:
                plan.resized.learn(values)
            elif plan.asked == RESIZED:
                plan.resized = resized_program.resized(made, self.symbols)
        return made

    def plan(self, values: Sequence[int]) -> SizedProgram:
        return SizedProgram(self.like, self.other, SizeExpressions(self.sizes, values), self.steady,
                            self.read_numbers)

    def as_function(self, plan: SizedProgram) -> ProgramOfSizes:
        return ProgramOfSizes(plan)


class Way:
    """One way to plan a part, and its families of sizes. `like`: the program of a run."""

    def __init__(self, like: Program) -> None:
        self.like = like
        self.families: list[PartFamily] = []

    def program(self, given: Sequence[Array | Type],
                of_run: Sequence[Node] | None = None) -> Program | None:
        """The program for these inputs, from an existing plan. `of_run`: the nodes of a run, which
        the program must have."""
        if fits(self.like, given) and (of_run is None or all(
                likeness(a, b) is Likeness.SAME
                for a, b in zip(self.like.recorded, of_run, strict=True))):
            return self.like
        shapes = [a.shape for a in given]
        for family in self.families:
            made = family.program(shapes, of_run)
            if made is not None and fits(made, given):
                return made
        return None

    def grow(self, other: NodesOfRun, steady: Mapping[int, Base],
             read_numbers: Mapping[int, NumbersOfNode] | None) -> None:
        """Plan for sizes like those of another run with the same nodes; `other` is what passes left
        of it. Raises Unsized if that is impossible."""
        if self.program([other.arrays[n] for n in other.outside]) is not None:
            return
        join(self.families, lambda: PartFamily(self.like, other, steady, read_numbers))


class LaterPart:
    """A part whose inputs have sizes that data decides. All programs with the same nodes share it,
    wherever these nodes occur, so its values are renumbered. `shapes`: the shapes of its inputs in
    a run."""

    def __init__(self, numbered: NumberedPart, shapes: Shapes) -> None:
        self.numbered, self.shapes = numbered, shapes
        self.ways: list[Way] = []            # the one that was used last comes first
        self.programs: dict[Any, Program] = {}
        self.resized: list[ResizedProgram] = []          # the last one that fitted comes first
        self.unsized = ""                    # why a way is one of certain sizes alone
        # What is there for its sizes alone, and was of others in a run that came to the same: by
        # its number, what is given in its place.
        self.unread: dict[int, Array] = {}

    def program(self, given: Sequence[Array], line: str) -> Program:
        """The program for these inputs; raises Miss if there is none. `line`: the user's line where
        the size was counted."""
        for k, program in enumerate(self.resized):
            if program.fits(given):
                if k:
                    self.resized.insert(0, self.resized.pop(k))
                return program
        key = tuple([(a.shape, a.strides) for a in given])
        found = self.programs.pop(key, None) or self.planned(given)
        if found is None:
            why = f", for which nothing is planned ({self.unsized})" if self.unsized else ""
            raise Miss(OtherShape(f"data decides a size, and it is another{why}", line))
        self.programs[key] = found
        while len(self.programs) > PROGRAMS:
            self.programs.pop(next(iter(self.programs)), None)
        return found

    def planned(self, given: Sequence[Array]) -> Program | None:
        """The program for these inputs, from an existing plan."""
        for k, way in enumerate(self.ways):
            made = way.program(given)
            if made is not None:
                if k:                        # another thread may look: there is always one
                    self.ways.insert(0, self.ways.pop(k))
                resized = made.of_sizes.resized if isinstance(made, AtSizes) else None
                if resized is not None and resized not in self.resized:
                    self.resized.insert(0, resized)
                return made
        return None

    def has_room_for(self, part: NumberedPart) -> bool:
        """Can it plan for a part that does the same?"""
        return len(self.ways) < WAYS and self.numbered.keeps_as(part)

    def learn(self, part: NumberedPart, shapes: Shapes) -> None:
        """Learn from a run with the same nodes and inputs of these shapes. Inputs that are given
        for their sizes alone are ignored from now on if their sizes differ but the nodes received
        the same. A plan for all sizes may do without that."""
        unread = [i for i in range(part.read_count, part.given_count)
                  if i not in self.unread and self.shapes[i] != shapes[i]]
        if unread and self.numbered.has_attributes_as(part) and not self.may_plan_for(part, shapes):
            self.unread.update((i, np.empty((0,) * len(self.shapes[i]))) for i in unread)
            self.ways, self.programs, self.resized = [], {}, []

    def may_plan_for(self, part: NumberedPart, shapes: Shapes) -> bool:
        """Is there a plan for inputs of these shapes, or can the first one be made with this
        run?"""
        families = [family for way in self.ways for family in way.families]
        if families:
            return any(family.program(shapes) is not None for family in families)
        return self.shapes[:part.read_count] != shapes[:part.read_count]

    def plan_like_run(self, nodes: Sequence[Node], given: Sequence[Array | Type],
             passed: Callable[[Program], NodesOfRun | None],
             build: Callable[[Program | None], Program],
             once_ready: Callable[[Callable[[], None]], None]) -> Program:
        """Plan for sizes like those of a run, in which the part had these nodes. Returns the run's
        program. `passed` returns what passes leave of the nodes if they decide as for another
        program; `build` builds a program like another; `once_ready` plans when the kernels are
        there."""
        for way in self.ways:
            made = way.program(given, nodes)
            if made is not None:
                return made
        like: Program | None = None
        for way in self.ways:
            of_run = passed(way.like)
            if of_run is not None:
                like = way.like
                try:
                    once_ready(functools.partial(
                        way.grow, of_run, self.numbered.steady, self.numbered.sizes.read_numbers))
                except Unsized as e:
                    self.unsized = str(e)
                    continue
                made = way.program(given, nodes)
                if made is not None:
                    return made
        made = build(like)
        self.ways.insert(0, Way(made))
        return made

    def close(self) -> None:
        """Drop all plans: one gave other bits than a run."""
        for way in self.ways:
            way.families = []
        self.programs, self.resized, self.unsized = {}, [], "a plan for other sizes gave other bits"


@dataclasses.dataclass(frozen=True)
class PlacedPart:
    """A part at its place in a program: its inputs (`given`), and the values that others need.
    Programs may share the part. `line`: the user's line where the size was counted."""
    shared: LaterPart
    given: list[int]
    results: list[int]
    line: str

    def take(self, env: list[Any]) -> None:
        """Run it."""
        part, given = self.shared, [env[n] for n in self.given]
        if part.unread:
            for i, a in part.unread.items():
                given[i] = a
        made = part.program(given, self.line)(given)
        for n, own in zip(self.results, part.numbered.results):
            env[n] = made[own]


def fits(program: Program, given: Sequence[Array | Type]) -> bool:
    """Do these inputs have the types that a program expects?"""
    return all(equivalent_layout(program.arrays[n], a)
               for n, a in zip(program.outside, given, strict=True))


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ProgramInParts(Program):
    """The program of all parts. `gone`: the values that die after each part. `backwards`: those of
    calls through which gradients flow. `recorded_program`: the program of a run, if this one is for
    other argument sizes. A part that depends on more than `most_counts` counts was split where
    possible."""
    first: Program
    later: list[PlacedPart]
    gone: list[list[int]]
    most_counts: int
    backwards: BackwardByCounts | None = None
    recorded_program: ProgramInParts | None = None

    depends_on_counts = True

    @property
    def leading(self) -> Program:
        return self.first

    def led_by(self, leading: Program) -> Program:
        arrays = [*leading.arrays, *self.arrays[len(leading.arrays):]]
        return dataclasses.replace(
            self, first=leading, arrays=arrays, recorded_program=self.model)

    @property
    def model(self) -> ProgramInParts:
        return self.recorded_program or self

    def does_as(self, other: Program) -> bool:
        if not isinstance(other, ProgramInParts) or len(self.later) != len(other.later):
            return False
        backward, model = ((None if p.backwards is None else p.backwards.model)
                           for p in (self, other))
        return (backward is model
                and all(a.shared is b.shared and a.given == b.given
                        for a, b in zip(self.later, other.later, strict=True))
                and are_one_list(self.first.recorded, other.first.recorded))

    def backward(self, of_run: Any, env: Sequence[Any]) -> Any:
        return of_run if self.backwards is None else self.backwards.at(self.sizes(env))

    def distrust(self) -> None:
        for placed in self.later:
            placed.shared.close()
        if self.backwards is not None:
            self.backwards.distrust()

    def take_steps(self, env: list[Any]) -> None:
        made = self.first([env[n] for n in self.first.outside])
        for n in self.first.results:
            env[n] = made[n]
        for placed, gone in zip(self.later, self.gone):
            for n in gone:
                env[n] = None
            if placed is self.later[-1] and self.backwards is not None:
                self.backwards.at(self.sizes(env))       # it may miss: nothing is done after this
            placed.take(env)

    def sizes(self, values: Sequence[Any]) -> list[tuple[int, ...]]:
        """The sizes of a call's inputs and of what it counts."""
        return [values[n].shape for n in (*self.outside, *sorted(self.counted))]

    @property
    def sizes_of_run(self) -> list[tuple[int, ...]]:
        """The sizes that the recorded run's inputs had, and those that it counted."""
        return self.sizes(self.arrays)

    def __call__(self, inputs: Sequence[Array],
                 spent: Mapping[int, Array] = NOTHING_SPENT) -> list[Any]:
        return Program.__call__(self, inputs)

    @property
    def parts(self) -> list[Program]:
        """The programs of the parts, each for the sizes of a run."""
        return [self.first, *(placed.shared.ways[0].like for placed in self.later)]

    def forget(self) -> None:
        for p in self.parts:
            p.forget()

    def footprint(self) -> dict[str, int]:
        found = [p.footprint() for p in self.parts]
        return {"inputs": self.inputs, "kept": sum(f["kept"] for f in found),
                "arena": max(f["arena"] for f in found), "made": sum(f["made"] for f in found)}
