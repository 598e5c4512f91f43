"""The backward of calls in which data decides sizes: one for each call's sizes."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..program.size_family import SizeFamily, join
from ..program.types_across_parts import WholeTypes
from ..refusals.reasons import Shapes as OtherShape
from ..refusals.replay_miss import Miss
from .sized_backward import BackwardOfSizes, SizedBackward

if TYPE_CHECKING:
    from ..program.numbers_from_sizes import NumbersOfNode
    from ..program.program_in_parts import ProgramInParts
    from ..program.shape_symbols import Shapes
    from .backward import Backward

KNOWN = 16                       # backwards for certain sizes that are kept


class BackwardPlan:
    """The planning of a backward for sizes like `values`, with types that are its own. `first` and
    `other`: the backwards of the two runs that `types` are of. Raises Unsized."""

    def __init__(self, first: Backward, other: Backward, types: WholeTypes,
                 values: Sequence[int]) -> None:
        self.types = types.at(values)
        self.backward = SizedBackward(first, other, self.types)

    def finish(self) -> None:
        for program in self.backward.programs.values():
            program.finish()

    def replan(self, values: Sequence[int]) -> bool:
        self.types.facts.rebind(values)
        return self.types.hold() and all(
            [p.finish_again() for p in self.backward.programs.values()])


class BackwardFamily(SizeFamily[BackwardPlan, BackwardOfSizes]):
    """The backward for any sizes that two runs differ in, of which `first` and `other` are the
    backwards, `like` and `program` the programs. Raises Unsized."""

    def __init__(self, first: Backward, other: Backward, like: ProgramInParts,
                 program: ProgramInParts, read_numbers: Mapping[int, NumbersOfNode] | None) -> None:
        self.first, self.other = first, other
        self.types = WholeTypes(like, program, read_numbers)
        super().__init__(self.types.symbols, self.types.values)

    def backward(self, shapes: Shapes, first: Backward) -> Backward | None:
        """The backward for these sizes, if it can be planned, made like `first`."""
        return self.made(shapes, lambda function, values: function.at(values, first))

    def plan(self, values: Sequence[int]) -> BackwardPlan:
        return BackwardPlan(self.first, self.other, self.types, values)

    def as_function(self, plan: BackwardPlan) -> BackwardOfSizes:
        return BackwardOfSizes(plan.backward)


class BackwardByCounts:
    """`first`: the backward of the run that the recording is of, `program`: its program,
    `read_numbers`: where numbers that Python has read came to ops. `like`: that of another
    recording, whose plans it shares."""

    def __init__(self, first: Backward, program: ProgramInParts,
                 read_numbers: Mapping[int, NumbersOfNode] | None,
                 like: BackwardByCounts | None = None) -> None:
        self.first, self.program, self.read_numbers = first, program, read_numbers
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
        """The backward from a plan, if there can be one."""
        for family in self.model.families:
            made = family.backward(shapes, self.first)
            if made is not None:
                return made
        return None

    def grow(self, other: Backward, program: ProgramInParts) -> None:
        """Plan for sizes like those of another run. Raises Unsized where that is impossible."""
        if self.planned(program.sizes_of_run) is not None:
            return
        model = self.model
        join(model.families, lambda: BackwardFamily(
            model.first, other, model.program, program, self.read_numbers))

    def distrust(self) -> None:
        """Give up the plans, as one gave other bits than a run."""
        self.model.families, self.known = [], {}
