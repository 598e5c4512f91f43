"""All programs of a call at symbolic sizes: that of the call, and those of its backward if
gradients flow out of it."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whet.cpu import ordered_kernels

from ..gradient.sized_backward import BackwardOfSizes, SizedBackward
from ..program.programs_of_sizes import ForwardOfSizes
from ..program.size_expressions import SizeExpressions
from ..program.sized_program import SizedProgram

if TYPE_CHECKING:
    from whet.ir.graph import Node, Type
    from whet.tensor_base import Base

    from ..gradient.backward import Backward
    from ..program.numbers_from_sizes import NumbersOfNode
    from ..program.program import Program
    from ..program.shape_symbols import ShapeSymbols
    from ..program.size_expressions import Sizes
    from ..stand_ins.repeatable_call import Call
    from .recording import Recording


class Run(NamedTuple):
    """A run at other sizes than a recording: its programs, the `types` of its inputs, the `shapes`
    of its arguments, where sizes that Python has read came to ops, and the calls that acted outside
    of Python's state."""

    program: Program
    backward: Backward | None
    types: Sequence[Type]
    shapes: Sequence[tuple[int, ...]]
    follows: Mapping[int, NumbersOfNode] | None
    acts: Sequence[Call]


class SizedCall:
    """Plans, for sizes like `values`, what the recording `first` does. `other`: a run of other
    sizes; `sizes` are the sizes in which the two differ. Raises Unsized."""

    def __init__(self, first: Recording, other: Run, sizes: Sizes, values: Sequence[int],
                 steady: Mapping[int, Base]) -> None:
        expressions = SizeExpressions(sizes, values)
        self.facts = expressions.facts
        self.forward = SizedProgram(
            first.program.leading, other.program.leading, expressions, steady,
            first.recorded.follows)
        self.backward = None
        self.programs = [self.forward]
        if (first.backward is not None and other.backward is not None
                and not first.program.depends_on_counts):   # else there are plans of its own
            self.backward = SizedBackward(first.backward, other.backward, self.forward)
            self.programs += self.backward.programs.values()

    def finish(self) -> None:
        """Plan the launches. All missing kernels are ordered together."""
        lacking = False
        for p in self.programs:
            try:
                p.finish()
            except ordered_kernels.NotYet:
                lacking = True
        if lacking:
            raise ordered_kernels.NotYet

    def replan(self, values: Sequence[int]) -> bool:
        """Plan for sizes like these as well; False if types already differ."""
        self.facts.rebind(values)
        return all([p.finish_again() for p in self.programs])


class AtThese(NamedTuple):
    """What a call of certain sizes runs."""

    program: Program
    backward: Backward | None


class CallOfSizes:
    """The result of a `SizedCall`, as one function of sizes. `symbols`: the arguments' sizes that
    are symbols."""

    def __init__(self, call: SizedCall, first: Recording, symbols: ShapeSymbols) -> None:
        # What is asked of sizes is asked of all programs together.
        self.backward = None if call.backward is None else BackwardOfSizes(call.backward)
        self.program, self.whole = ForwardOfSizes(call.forward, first, symbols), first.program

    def at(self, values: Sequence[int], recorded: Sequence[Node] | None = None) -> AtThese | None:
        """What runs at these sizes; None if that would be something else. `recorded`: the nodes of
        a run, if there was one."""
        leading = self.program.program(values, recorded)
        if leading is None:
            return None
        program = self.whole.led_by(leading)
        if self.backward is None:
            return AtThese(program, None)
        backward = self.backward.at(values)
        return None if backward is None else AtThese(program, backward)
