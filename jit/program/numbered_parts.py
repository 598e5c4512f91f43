"""The nodes of a part with numbers of their own: what it is given comes first, then what they make.

    %7 = matmul(%2, %5)                     %2 = matmul(%0, %1)
    %9 = relu(%7)                           %3 = relu(%2)

So two parts that do the same have the same nodes, wherever they stand in their lists.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whet.ir.graph import Draw, Node, Ref
from whet.passes.compare_nodes import are_one_list

from .size_expressions import equal

if TYPE_CHECKING:
    from whet.tensor_base import Base

    from .cut_at_counts import PartNodes
    from .needed_values import Needs
    from .told_numbers import Told


@dataclass(frozen=True)
class NumberedPart:
    """`of_whole`: which value of the whole list each value is. Those that the part is given come
    first, and before all those that its nodes read. The others are given for their sizes, which
    the nodes `told_sizes` may be told. `told`: where numbers that Python was told came to ops,
    `steady`: the tensors that are the same at each call."""
    nodes: list[Node]
    of_whole: list[int]
    read_count: int
    given_count: int
    told_sizes: list[Node]
    results: list[int]
    counted: set[int]
    told: Mapping[int, Told] | None
    steady: dict[int, Base]

    @classmethod
    def of(cls, part: PartNodes, needs: Needs, steady: Mapping[int, Base]) -> NumberedPart:
        """The nodes of a part; `needs` and `steady` are of the whole list."""
        is_given, told = set(part.given), needs.told
        given = dict.fromkeys(x for node in part.nodes for x in needs(node) if x in is_given)
        read_count = len(given)
        given.update(dict.fromkeys(part.given))
        of_whole = [*given, *(o for node in part.nodes for o in node.outs)]
        own = {n: i for i, n in enumerate(of_whole)}
        made = set(of_whole[len(given):])
        nodes = [node.numbered(own) for node in part.nodes]
        return cls(
            nodes, of_whole, read_count, len(part.given), [nodes[i] for i in part.told],
            sorted(own[n] for n in part.results), {own[n] for n in part.counted},
            told and {own[o]: {at: own[x] if type(x) is int else x for at, x in told[o].items()}
                      for o in told.keys() & made},
            {own[n]: t for n, t in steady.items() if n in own})

    def is_at(self, other: NumberedPart) -> bool:
        """Has another one the same nodes, but for attributes and numbers?"""
        return (self.given_count == other.given_count and self.read_count == other.read_count
                and self.results == other.results
                and self.told == other.told and are_one_list(self.nodes, other.nodes))

    def does_as(self, other: NumberedPart) -> bool:
        """Does another one do the same, for other sizes?"""
        return self.is_at(other) and all(
            same_but_for_sizes(a, b) for a, b in zip(self.nodes, other.nodes, strict=True))

    def is_told_as(self, other: NumberedPart) -> bool:
        """Were nodes of another one that may go by sizes of what they do not read told the
        same?"""
        return all(equal(x, b.attrs[k]) for a, b in zip(self.told_sizes, other.told_sizes,
                                                       strict=True) for k, x in a.attrs.items())

    def keeps_as(self, other: NumberedPart) -> bool:
        """Are the tensors that are the same at each call those of another one?"""
        return (self.steady.keys() == other.steady.keys()
                and all(t is other.steady[n] for n, t in self.steady.items()))


def same_but_for_sizes(a: Node, b: Node) -> bool:
    """Have two nodes that are alike the same numbers and attributes, but for sizes?"""
    if isinstance(a, Draw) or not all(
            type(x) is Ref or equal(x, y) for x, y in zip(a.ins, b.ins, strict=True)):
        return False
    return all(a.op is not None and k in a.op.size_attrs or equal(x, b.attrs[k])
               for k, x in a.attrs.items())


def those_met_again(parts: Sequence[NumberedPart]) -> list[bool]:
    """Which parts of a list do the same as another one of it?"""
    again = [False] * len(parts)
    for k, part in enumerate(parts):
        for i in range(k):
            if part.does_as(parts[i]):
                again[i] = again[k] = True
                break
    return again
