"""The nodes of a part, with values renumbered: first the inputs, then what the nodes make.

    %7 = matmul(%2, %5)                     %2 = matmul(%0, %1)
    %9 = relu(%7)                           %3 = relu(%2)

So two parts that do the same have the same nodes, wherever they stand in their lists.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Draw, Node, Ref
from whet.passes.compare_nodes import are_one_list

from .needed_values import SizeSources
from .size_expressions import equal

if TYPE_CHECKING:
    from whet.ir.values import Array, Type
    from whet.tensor_base import Base

    from ..capture.followed_sizes import Place
    from .cut_at_counts import PartNodes
    from .needed_values import Needs


@dataclass(frozen=True)
class NumberedPart:
    """`of_whole`: which value of the whole list each value is. Those that the part is given come
    first, and before all those that its nodes read. The others are given for their sizes, which
    the nodes `by_unread_sizes` may depend on. `sizes`: where sizes among attributes come from.
    `steady`: the tensors that are the same at each call. `shapes`: those of the values in a run."""
    nodes: list[Node]
    of_whole: list[int]
    read_count: int
    given_count: int
    by_unread_sizes: list[Node]
    results: list[int]
    counted: set[int]
    sizes: SizeSources
    steady: dict[int, Base]
    shapes: list[tuple[int, ...]]

    @classmethod
    def of(cls, part: PartNodes, needs: Needs, steady: Mapping[int, Base],
           arrays: Sequence[Array | Type]) -> NumberedPart:
        """Renumber a part. `needs`, `steady` and `arrays` are of the whole list."""
        is_given, sizes = set(part.given), needs.sizes
        given = dict.fromkeys(x for node in part.nodes for x in needs(node) if x in is_given)
        read_count = len(given)
        given.update(dict.fromkeys(part.given))
        of_whole = [*given, *(o for node in part.nodes for o in node.outs)]
        own = {n: i for i, n in enumerate(of_whole)}
        made_here = {o for node in part.nodes for o in node.outs}
        made = set(of_whole[len(given):])
        nodes = [node.numbered(own) for node in part.nodes]
        read_numbers = sizes.read_numbers and {
            own[o]: {at: own[x] if type(x) is int else x for at, x in sizes.read_numbers[o].items()}
            for o in sizes.read_numbers.keys() & made}
        rests = {own[o]: sizes.rests[o] for o in sizes.rests.keys() & made_here}
        like = {own[o]: [own[x] for x in sizes.like.get(o, ())]
                for o in needs.gradients & made_here}
        return cls(
            nodes, of_whole, read_count, len(part.given), [nodes[i] for i in part.by_unread_sizes],
            sorted(own[n] for n in part.results), {own[n] for n in part.counted},
            SizeSources(read_numbers, rests, like),
            {own[n]: t for n, t in steady.items() if n in own},
            [arrays[n].shape for n in of_whole])

    def is_at(self, other: NumberedPart) -> bool:
        """Does another part have the same nodes, apart from attributes and numbers?"""
        return (self.given_count == other.given_count and self.read_count == other.read_count
                and self.results == other.results
                and self.sizes.read_numbers == other.sizes.read_numbers
                and are_one_list(self.nodes, other.nodes))

    def does_as(self, other: NumberedPart) -> bool:
        """Does another part do the same, for other sizes?"""
        return self.is_at(other) and all(
            self.is_one_at_all_sizes(a, b, other)
            for a, b in zip(self.nodes, other.nodes, strict=True))

    def is_one_at_all_sizes(self, a: Node, b: Node, other: NumberedPart) -> bool:
        """Do two nodes that are alike do the same, for other sizes? Each attribute that differs has
        to be a size, because the parts may belong to different ways through the function: `3` in
        one and `4` in the other."""
        if isinstance(a, Draw) or not all(
                type(x) is Ref or equal(x, y) for x, y in zip(a.ins, b.ins, strict=True)):
            return False
        return all(equal(x, b.attrs[k]) or a.op is not None and k in a.op.size_attrs
                   and self.are_sizes(a, k, x, b.attrs[k], other) for k, x in a.attrs.items())

    def are_sizes(self, node: Node, name: str, x: Any, y: Any, other: NumberedPart) -> bool:
        """Are an attribute and its counterpart, where they differ, known to be sizes? Three kinds
        are: numbers that Python has read, sizes that were given as -1, and sizes of values at the
        same place. The values are those that a gradient reads or its op had. They are also the base
        of a view, if none of its sizes was given as -1."""
        first = node.outs[0] if node.outs else -1
        read_numbers: Set[Place] = (self.sizes.read_numbers or {}).get(first, {}).keys()
        if type(x) is not tuple or type(y) is not tuple or len(x) != len(y):
            return (name,) in read_numbers
        rests, others = self.sizes.rests.get(first), other.sizes.rests.get(first)
        if rests and rests == others:
            read_numbers |= rests
        of: list[int] = []
        like = self.sizes.like
        if first in like or node.op is not None and node.op.keeps_elements and not (
                rests or others):
            of = [*map(int, node.refs()), *like.get(first, ())]
        return all(m == n or (name, d) in read_numbers
                   or any(self.shapes[v][d:d + 1] == (m,) and other.shapes[v][d:d + 1] == (n,)
                          for v in of)
                   for d, (m, n) in enumerate(zip(x, y, strict=True)))

    def has_attributes_as(self, other: NumberedPart) -> bool:
        """Were the nodes that may depend on sizes of unread values given equal attributes in
        another part?"""
        return all(equal(x, b.attrs[k]) for a, b in zip(
            self.by_unread_sizes, other.by_unread_sizes, strict=True) for k, x in a.attrs.items())

    def keeps_as(self, other: NumberedPart) -> bool:
        """Does another part have the same steady tensors?"""
        return (self.steady.keys() == other.steady.keys()
                and all(t is other.steady[n] for n, t in self.steady.items()))


def those_met_again(parts: Sequence[NumberedPart]) -> list[bool]:
    """For each part of a list: does another part of the list do the same?"""
    again = [False] * len(parts)
    for k, part in enumerate(parts):
        for i in range(k):
            if part.does_as(parts[i]):
                again[i] = again[k] = True
                break
    return again
