"""The backward of calls in which data decides sizes: one for the sizes that each call came to."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.ir.symbolic_size import Unsized

from ..program.misses import Miss
from ..program.planned_ranges import PlannedRanges
from ..program.whole_types import TypesAt, WholeTypes
from ..report.reasons import Shapes as OtherShape
from .sized_backward import BackwardOfSizes, SizedBackward

if TYPE_CHECKING:
    from ..program.program_in_parts import ProgramInParts
    from ..program.shape_symbols import Shapes
    from ..program.told_numbers import Told
    from .backward import Backward

KNOWN = 16                       # backwards for certain sizes that are kept
FAMILIES = 8                     # one for sizes that differ in other places


class BackwardFamily:
    """The backward for any sizes that two runs differ in, of which `first` and `other` are the
    backwards, `like` and `program` the programs. Raises Unsized."""

    def __init__(self, first: Backward, other: Backward, like: ProgramInParts,
                 program: ProgramInParts, told: Mapping[int, Told] | None) -> None:
        self.first, self.other = first, other
        self.types = WholeTypes(like, program, told)
        self.symbols = self.types.symbols
        self.plans: list[tuple[TypesAt, SizedBackward]] = []
        self.ranges = PlannedRanges(self.of_sizes)
        self.ranges.add(self.types.values)

    def backward(self, shapes: Shapes, first: Backward) -> Backward | None:
        """The backward for these sizes, if it can be planned, made like `first`."""
        values = self.symbols.values(shapes)
        return None if values is None else self.ranges.at(values, lambda s: s.at(values, first))

    def of_sizes(self, values: Sequence[int]) -> BackwardOfSizes:
        """Plans for sizes like these: those for others planned again, where that can be."""
        for types, plan in self.plans:
            types.facts.rebind(values)
            if types.hold() and all([p.finish_again() for p in plan.programs.values()]):
                return BackwardOfSizes(plan)
        types = self.types.at(values)
        plan = SizedBackward(self.first, self.other, types)
        self.plans.append((types, plan))
        for p in plan.programs.values():
            p.finish()
        return BackwardOfSizes(plan)


class BackwardByCounts:
    """`first`: the backward of the run that the recording is of, `program`: its program, `told`:
    where numbers that Python was told came to ops. `like`: that of another recording, whose plans
    it shares."""

    def __init__(self, first: Backward, program: ProgramInParts,
                 told: Mapping[int, Told] | None, like: BackwardByCounts | None = None) -> None:
        self.first, self.program, self.told = first, program, told
        self.model: BackwardByCounts = self if like is None else like.model
        self.families: list[BackwardFamily] = []
        self.known: dict[Any, Backward] = {tuple(program.sizes_of_run): first}

    def at(self, shapes: Shapes) -> Backward:
        """The backward for these sizes, of what a call is given and of what is counted; raises Miss
        where there is none."""
        key = tuple(shapes)
        found = self.known.pop(key, None) or self.planned(shapes)
        if found is None:
            raise Miss(OtherShape("data decides a size, and its gradients have no plan for it"))
        self.known[key] = found
        while len(self.known) > KNOWN:
            self.known.pop(next(iter(self.known)), None)
        found.trial = self.first.trial
        return found

    def planned(self, shapes: Shapes) -> Backward | None:
        """The backward by a plan, if there can be one."""
        for family in self.model.families:
            made = family.backward(shapes, self.first)
            if made is not None:
                return made
        return None

    def grow(self, other: Backward, program: ProgramInParts) -> None:
        """Plan for sizes like those of another run. Raises Unsized where that cannot be."""
        if self.planned(program.sizes_of_run) is not None:
            return
        model = self.model
        if len(model.families) >= FAMILIES:
            raise Unsized("its sizes differ in many ways already")
        model.families.append(
            BackwardFamily(model.first, other, model.program, program, self.told))

    def distrust(self) -> None:
        """What was planned gives other bits than a run."""
        self.model.families, self.known = [], {}
