"""Chains products: a product, row-wise ops on its result and another product run together, block of
rows by block of rows.

    %3 = matmul(%0, %1)
    %11 = rows(%3, axes=(2,)){amax; sub; exp; sum; div}
    %13 = matmul(%11, %12)
    ->
    %13 = chain(%0, %1, %12){matmul; amax; sub; exp; sum; div; matmul}

Of the values between the products, each thread holds a few rows, which stay in its cache. They are
never in memory as a whole. A row of a product depends on one row of its first operand only, and a
row of a row program on one row. So rows can be computed in any order: no bit changes.

Nothing else may read the values between, and nothing may write meanwhile to what the chain reads.
Chains pay off if these values would not fit into the cache. The second operands must not be much
larger than a cache, because every block of rows reads them.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any

from whet.ir.graph import Chain, Contract, Node, OpNode, Ref, Rows
from whet.ir.outline import Outline
from whet.passes.fuse_epilogues import contraction
from whet.passes.fuse_rows import alone
from whet.passes.listing import Arrays, Listing
from whet.passes.value_uses import Uses

LEAST = 1 << 25                  # bytes between the products: less is not far from the next one
MOST = 1 << 22                   # bytes of the matrices that a row meets


def chain_products(g: Listing) -> Listing:
    """The list with each chain at the place of its last node."""
    found = _Chains(g)
    out: list[Node | None] = list(g.nodes)
    for chain in found.chains():
        if _suits(chain, g.nodes, g.arrays):
            for k in chain:
                out[k] = None
            out[chain[-1]] = found.node(chain)
    return g.of([n for n in out if n is not None])


def between(g: Listing) -> list[list[int]]:
    """The values between the products of each chain that there would be if it were large enough."""
    return [[g.nodes[k].outs[0] for k in chain[:-1]] for chain in _Chains(g).chains()]


class _Chains:
    """The search for chains. `link`: the node of a chain that each node would be; `chain_of`: the
    place of a node -> the places of its chain."""

    def __init__(self, g: Listing) -> None:
        self.nodes, self.root, self.arrays, self.visible = g.nodes, g.root, g.arrays, g.visible
        self.uses = Uses(g.nodes, g.root, views=True)
        self.link: list[Node | None] = list(g.nodes)
        self.chain_of: dict[int, list[int]] = {}
        for j in range(len(g.nodes)):
            self.add(j)

    def add(self, j: int) -> None:
        """Let node j go on a chain, or begin one."""
        product = _product(self.nodes[j], self.arrays)
        x = self.from_rows(j) if product is None else product.ins[0]
        chain = self.ending_with(x)
        if chain is not None and self.goes_on(chain, x, j):
            chain.append(j)
            self.chain_of[j] = chain
        elif product is not None:
            self.chain_of[j] = [j]

    def from_rows(self, j: int) -> Any:
        """The value of a chain that node j computes with, row by row, or None. The
        node becomes a link."""
        x = next((r for r in self.nodes[j].refs()
                  if self.uses.maker.get(r) in self.chain_of and self.uses.users[r] == [j]), None)
        self.link[j] = None
        if x is None:
            return None
        self.link[j] = found = _rows(j, self.uses, self.arrays, self.visible)
        return x if found is not None and found.placed.shape == self.arrays[x].shape else None

    def ending_with(self, x: Any) -> list[int] | None:
        """The chain that a value is of."""
        is_made = type(x) is Ref and x in self.uses.maker
        return self.chain_of.get(self.uses.maker[x]) if is_made else None

    def goes_on(self, chain: Sequence[int], x: Ref, j: int) -> bool:
        """Does only node j read a chain's value, and can the chain be computed at its place?"""
        return (self.root[x] == x and x not in self.visible and self.uses.users[x] == [j]
                and all(self.uses.later(k, j) for k in chain))

    def chains(self) -> Iterator[list[int]]:
        """The chains, large or not, each ending with a product."""
        for chain in {id(c): c for c in self.chain_of.values()}.values():
            while _product(self.nodes[chain[-1]], self.arrays) is None:
                chain.pop()
            if len(chain) > 1:
                yield chain

    def node(self, chain: Sequence[int]) -> Chain:
        """The node of a chain."""
        members = [m for m in (self.link[k] for k in chain) if m is not None]
        made = {o for m in members for o in m.outs}
        ins = dict.fromkeys(x for m in members for x in m.refs() if x not in made)
        return Chain(tuple(ins), members[-1].outs, members[-1].line, members)


def wanted(nodes: Sequence[Node], between: Sequence[Sequence[int]],
           arrays: Arrays | Mapping[int, Outline]) -> bool:
    """Do the nodes after all passes contain a chain, or would they now, as the values `between`
    products have become large?"""
    return any(isinstance(n, Chain) for n in nodes) or any(
        sum(arrays[n].nbytes for n in values) >= LEAST for values in between)


def _product(node: Node, arrays: Arrays) -> OpNode | None:
    """The product that a node is, or that it has an epilogue to."""
    first = node.first if isinstance(node, Contract) else node
    if (
        not contraction(first, arrays)
        or first.op.name not in ("matmul", "linear")
        or type(first.ins[1]) is not Ref
    ):
        return None
    right = (
        arrays[node.outs[0]].flags.c_contiguous and min(arrays[x].ndim for x in first.ins[:2]) > 1
    )
    return first if right else None


def _rows(j: int, uses: Uses, arrays: Arrays, visible: Set[int]) -> Rows | None:
    """Node j as a "rows" node whose only result has an element for each that it reads; None if
    it is none."""
    one = uses.nodes[j]
    node = one if isinstance(one, Rows) else alone(j, uses, arrays, visible)
    if node is None or len(node.outs) != 1:
        return None
    shape, axes = node.placed.shape, node.placed.axes
    return (
        node
        if axes == (len(shape) - 1,)
        and arrays[node.outs[0]].shape == shape
        and arrays[node.outs[0]].flags.c_contiguous
        else None
    )


def _suits(chain: Sequence[int], nodes: Sequence[Node], arrays: Arrays) -> bool:
    between = sum(arrays[nodes[k].outs[0]].nbytes for k in chain[:-1])
    seconds = [
        arrays[p.ins[1]] for p in (_product(nodes[k], arrays) for k in chain) if p is not None
    ]
    return between >= LEAST and sum(prod(b.shape[-2:]) * b.itemsize for b in seconds) <= MOST
