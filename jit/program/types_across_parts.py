"""The types of all values of a program in parts, at symbolic sizes. Counted sizes are symbols, like
sizes of arguments.

Each part is planned by itself. But the backward of a call depends on sizes of values of all
parts."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whet.ir.symbolic_size import Unsized

from .liveness import Roots
from .shape_symbols import ShapeSymbols
from .size_expressions import SizeExpressions, Sizes
from .sized_types import SizedTypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.ir.graph import Node, Type

    from .numbers_from_sizes import NumbersOfNode
    from .program_in_parts import ProgramInParts


class WholeList:
    """The list of nodes from which a program in parts was made, before passes."""

    def __init__(self, program: ProgramInParts) -> None:
        self.recorded: Sequence[Node] = program.recorded
        self.nodes: Sequence[Node] = program.recorded
        self.arrays: Sequence[Type] = program.arrays
        self.outside, self.results = program.outside, program.results
        self.counted = program.counted


class TypesOfCounts(SizedTypes):
    """The types of a whole list, in which counted sizes are symbols."""

    def count(self, node: Node) -> None:
        """Make the counted sizes of a node's results symbols."""
        for o in node.outs:
            self.keep(o, self.input_type(self.like.arrays[o], self.other.arrays[o]))

    def is_compared(self, n: int) -> bool:
        return True


class WholeTypes:
    """Makes types from two runs. `like` and `other` are their programs, `read_numbers` is where
    numbers that Python has read came to ops. `values`: the symbols' values in the second run.
    Raises Unsized."""

    def __init__(self, like: ProgramInParts, other: ProgramInParts,
                 read_numbers: Mapping[int, NumbersOfNode] | None) -> None:
        self.like, self.other, self.read_numbers = WholeList(like), WholeList(other), read_numbers
        if len(like.recorded) != len(other.recorded):
            raise Unsized("another way was recorded")
        before, now = like.sizes_of_run, other.sizes_of_run
        self.sizes = Sizes([n for s in before for n in s], [n for s in now for n in s])
        self.symbols = ShapeSymbols(self.sizes, before, now)
        values = self.symbols.values(now)
        if values is None or not self.symbols.are_all:
            raise Unsized("a size is 0 or 1")
        self.values = values

    def at(self, values: Sequence[int]) -> TypesAt:
        """The types, planned with these values of the symbols."""
        return TypesAt(self, values)


class TypesAt:
    """The types from which a backward is planned: see `SizedBackward`."""

    def __init__(self, whole: WholeTypes, values: Sequence[int]) -> None:
        self.like, self.other = whole.like, whole.other
        self.sizes = SizeExpressions(whole.sizes, values)
        self.facts = self.sizes.facts
        like: Any = self.like
        other: Any = self.other
        roots = Roots(like.recorded, like.outside, like.results)
        self.types = TypesOfCounts(like, other, self.sizes, roots, whole.read_numbers, None)
        self.arrays = self.types.arrays
        self.facts.hold(self.sizes.read_numbers.asked)

    def hold(self) -> bool:
        """Do these types hold for the current values of the symbols too?"""
        return self.types.hold() and self.facts.hold(self.sizes.read_numbers.asked)
