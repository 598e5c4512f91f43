"""Of what the sizes go that nodes are told beside their operands.

    %5 = index(%0, %3)                      goes by %0 and %3
    %6 = sum(%5)
    %9 = expand(%8, size=(11,))             in the gradient of %6: told a size of %5

A later part is given what has sizes that its nodes are told. So few of what a call brings and
counts are given, and a part is planned for their sizes alone.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .cut_at_counts import goes_by_other_sizes, needs

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, Type

    from ..capture.calls_behind_gradients import GradientsOf
    from .cut_at_counts import Told

UNKNOWN = -1                                 # no value has this number
ANY = -1                                     # a set of sources as bits: all of them


class SizeSources:
    """From which `sources` the sizes of each value come: those that a call brings, and those that
    it counts. A value's sizes are a function of those of all that it was computed of, and of those
    that its nodes were told. `gradients_of`: see `CallsBehindGradients`."""

    def __init__(self, nodes: Iterable[Node], arrays: Sequence[Array | Type],
                 sources: Iterable[int], told: Told, gradients_of: GradientsOf) -> None:
        self.bits = {n: 1 << i for i, n in enumerate(sources)}
        # as bits: of values, and of what the nodes that make them are told beside their operands
        self.known, self.told = dict(self.bits), dict[int, int]()
        for node in nodes:
            if not node.outs:
                continue
            found, first = self.of(needs(node, told)), node.outs[0]
            if goes_by_other_sizes(node, arrays, told):
                self.told[first] = self.of(gradients_of.get(first, (UNKNOWN,)))
                found |= self.told[first]
            for o in node.outs:
                self.known[o] = found | self.bits.get(o, 0)

    def of(self, values: Iterable[int]) -> int:
        """The sources of some values, as bits."""
        found = 0
        for x in values:
            found |= self.known.get(x, ANY)
        return found

    def told_to(self, nodes: Iterable[Node]) -> list[int]:
        """The sources of what nodes are told beside their operands."""
        found = 0
        for node in nodes:
            found |= self.told[node.outs[0]]
        return [n for n, bit in self.bits.items() if found & bit]
