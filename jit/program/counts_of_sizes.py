"""Finds out which counts the sizes of values depend on, for each dimension.

    %3 = nonzero(%1)                        counted: n rows
    %4 = index(%0, %3)                      f32[n, 4]
    %5 = matmul(%4, %2)                     f32[n, 8]
    %6 = sum(%5)                            f32[]: depends on n, and what it makes does not

A run shows sizes, of which two may be equal by chance: that n is 4 does not make each dimension of
4 elements one that data decides. Where that is not plain, the op is run on outlines.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias

from whet.ir.graph import OpNode, Ref
from whet.ir.outline import Outline
from whet.ir.symbolic_size import LEAST, Facts, SymbolicSize, Unsized, text
from whet.ops.pointwise_family import PointwiseOp

from .dry_runs import dry

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, Type

Counts: TypeAlias = "frozenset[int]"     # values whose sizes data decides
NONE: Counts = frozenset()


class CountsOfSizes:
    """The counts that each dimension of a value depends on, as above. `numbers`: the values
    computed from sizes alone. `needs` gives the values that a node depends on."""

    def __init__(self, arrays: Sequence[Array | Type], counted: Set[int], numbers: Set[int],
                 needs: Callable[[Node], Sequence[int]]) -> None:
        self.arrays, self.counted, self.needs = arrays, counted, needs
        self.numbers = numbers
        self.dims: dict[int, list[Counts]] = {}
        self.of_number: dict[int, Counts] = {}
        # what is counted, by what is done to count it: masks are asked once for each use
        self.same: dict[object, Sequence[int]] = {}

    def of(self, n: int) -> list[Counts]:
        """The counts of each dimension of a value."""
        return self.dims.get(n) or [NONE] * len(self.arrays[n].shape)

    def of_all(self, n: int) -> Counts:
        """The counts of a value's dimensions, or of the sizes that it is computed from."""
        return NONE.union(self.of_number.get(n, NONE), *self.of(n))

    def add(self, node: Node) -> Counts:
        """Add a node and return the counts that it depends on. Nodes have to come in their
        order."""
        needs = self.needs(node)
        found = NONE.union(*map(self.of_all, needs))
        if node.outs and not self.counted.isdisjoint(node.outs):
            self.count(node)
        elif node.outs and self.numbers >= set(node.outs):
            self.of_number.update(dict.fromkeys(node.outs, found))
        elif found:
            self.dims.update(self.made(node, needs, found))
            found = found.union(*map(self.of_all, node.outs))
        return found

    def count(self, node: Node) -> None:
        """Note what a node counts."""
        read = node.refs()
        of = self.arrays[read[0]].shape if read else ()
        key = node.op, node.ins, repr(node.attrs)
        first = self.same.setdefault(key, node.outs)
        self.dims.update(
            (o, counted_dims(one, self.arrays[o].shape, of))
            for o, one in zip(node.outs, first, strict=True))

    def made(self, node: Node, needs: Sequence[int],
             found: Counts) -> dict[int, list[Counts]]:
        """The counts of the dimensions of a node's results. The node itself depends on the counts
        `found`."""
        if has_sizes_as_attributes(node):
            return {o: self.as_told(node, o, needs) for o in node.outs}
        read = [int(x) for x in node.refs()]
        if not any(map(self.of_all, read)):
            return {o: [found] * len(self.arrays[o].shape) for o in node.outs}
        if isinstance(node, OpNode) and not isinstance(node.op, PointwiseOp) \
                and any(self.is_ambiguous(o, read) for o in node.outs):
            inferred = self.inferred(node)
            if inferred is not None:
                return inferred
        return {o: [self.of_dim(d, n, read) for d, n in enumerate(self.arrays[o].shape)]
                for o in node.outs}

    def sizes(self, values: Sequence[int]) -> list[tuple[int, int, Counts]]:
        """Each dimension of some values: its position, its size and its counts."""
        return [(d, n, c) for x in values
                for d, (n, c) in enumerate(zip(self.arrays[x].shape, self.of(x), strict=True))]

    def is_ambiguous(self, o: int, read: Sequence[int]) -> bool:
        """Do several operand dimensions have the size of a result's dimension, so that its counts
        are unclear?"""
        sizes = self.sizes(read)
        return any(len({c for _, m, c in sizes if m == n}) > 1 for n in self.arrays[o].shape)

    def of_dim(self, d: int, size: int, read: Sequence[int]) -> Counts:
        """The counts of dimension `d` of a result with this size: those of the operands' dimension
        with the same size, if there is one."""
        sizes = self.sizes(read)
        alike = [(place, c) for place, n, c in sizes if n == size]
        at_its_place = next((c for place, c in alike if place == d and c), NONE)
        if at_its_place or size == 1 or any(not c for _, c in alike):
            return at_its_place
        return alike[0][1] if alike else NONE.union(*(c for _, _, c in sizes))

    def as_told(self, node: Node, o: int, needs: Sequence[int]) -> list[Counts]:
        """The counts of a result whose sizes are attributes of the node: those of the operand with
        such a size at that place. A view that keeps all elements matches sizes at any place, and
        depends on all counts of its operand."""
        sizes = self.sizes(needs)
        keeps = node.op is not None and node.op.keeps_elements
        out: list[Counts] = []
        for d, size in enumerate(self.arrays[o].shape):
            here = [c for place, n, c in sizes if n == size and place == d]
            found = NONE.union(*here) if all(here) else NONE
            if keeps and not here:
                found = next((c for _, n, c in sizes if n == size != 1), NONE)
            out.append(found)
        left = NONE.union(*(self.of_number.get(x, NONE) for x in needs))
        if keeps:
            left = left.union(*(c for _, _, c in sizes)).difference(*out)
        known = {n for _, n, _ in sizes}
        return [c or (left if n != 1 and n not in known else NONE)
                for c, n in zip(out, self.arrays[o].shape, strict=True)]

    def inferred(self, node: OpNode) -> dict[int, list[Counts]] | None:
        """The counts of an op's results, found by running it on outlines whose counted sizes are
        symbols; None if the op's code cannot run on these."""
        found = dict.fromkeys((n, c) for _, n, c in self.sizes([*map(int, node.refs())]) if c)
        if not all(n >= LEAST for n, _ in found):
            return None
        facts = Facts([n for n, _ in found])
        symbols = dict(zip(found, facts.symbols, strict=True))
        ins = [self.outline(int(x), symbols) if type(x) is Ref else x for x in node.ins]
        makes = node.op.makes or node.op.outlined or node.op.forward
        try:
            made = dry(lambda: makes(*ins, **node.attrs))
        except Unsized:
            return None
        counts = [c for _, c in found]
        return {o: [counts_in(n, counts) for n in a.shape] for o, a in
                zip(node.outs, made if type(made) is tuple else (made,), strict=True)}

    def outline(self, x: int, symbols: dict[tuple[int, Counts], SymbolicSize]) -> Outline:
        """A value as an outline, with symbols for its counted sizes."""
        a = self.arrays[x]
        return Outline([symbols.get((n, c), n) for n, c in zip(a.shape, self.of(x), strict=True)],
                       a.dtype)


def counts_in(n: int | SymbolicSize, counts: Sequence[Counts]) -> Counts:
    """The counts whose symbols occur in a size."""
    return NONE.union(*(counts[int(k)] for k in re.findall(r"\bs(\d+)\b", text(n))))


def counted_dims(n: int, shape: tuple[int, ...], of: tuple[int, ...]) -> list[Counts]:
    """The counts of each dimension of what is counted itself. They belong to dimensions that the
    operand does not have. A dimension as long as the operand has dimensions is none of these:
    `nonzero` gives each place as so many numbers."""
    is_counted = [d == 0 and len(shape) != len(of) or of[d:d + 1] != (size,) and size != len(of)
                  for d, size in enumerate(shape)]
    if not any(is_counted):
        is_counted = [True] * len(shape)
    return [frozenset((n,)) if it else NONE for it in is_counted]


def has_sizes_as_attributes(node: Node) -> bool:
    """Does a node have the sizes of its results as attributes?"""
    return (node.op is not None and not node.op.keeps_elements
            and not node.op.size_attrs.isdisjoint(node.attrs))
