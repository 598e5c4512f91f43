"""Fuses epilogues: pointwise ops on the result of a contraction (a convolution or a product) are
applied to each element as it is stored.

    %3 = matmul(%0, %1)
    %5 = fused(%3, %4, %2){add; relu; mul}
    ->
    %5 = contract matmul(%0, %1, %4, %2){add; relu; mul}

The contraction's sums are complete and rounded before the expression sees them, so no bit changes;
they are never in memory. That is only right where nothing else reads them, and where the
contraction may as well be computed where the pointwise node stands: nothing is written in between.
`value` are the two nodes that the new one stands for, argument 0 of its expression (`roots`) is the
contraction, the others are the operands after the contraction's own.
"""
from __future__ import annotations

from typing import TypeGuard

from whet.ir import scalar as S
from whet.ir.graph import Ask, Contract, Fused, Guard, Node, OpNode, Ref, Write
from whet.passes.listing import Arrays, Listing

from .fuse_pointwise import fusible, kernel

CONTRACTIONS = frozenset(("convolution", "matmul", "linear"))


def fuse_epilogues(g: Listing) -> Listing:
    """The list with contractions that take in the pointwise node that alone reads them. `into`
    must not be there yet: see `write_through`."""
    nodes, arrays = g.nodes, g.arrays
    facts = _Facts(g)
    out: list[Node | None] = list(nodes)
    for i, node in enumerate(nodes):
        if not _is_pointwise(node, arrays):
            continue
        ready = [x for x in node.refs()
                 if facts.goes_to_alone(x, i) and contraction(out[facts.maker[x]], arrays)
                 and arrays[x].shape == arrays[node.outs[0]].shape]
        if not ready:
            continue
        # of two, the later one has the other's result to read
        at = facts.maker[max(ready, key=facts.maker.__getitem__)]
        first, then = out[at], node
        if isinstance(node, OpNode):
            then = kernel([node], nodes, facts.users, arrays, {*g.visible, node.outs[0]})
        assert isinstance(first, OpNode) and isinstance(then, Fused)
        out[at], out[i] = None, joined(first, then)
    return g.of([n for n in out if n is not None])


class _Facts:
    """Who makes and reads the values of a list. `epochs`: how many nodes that write or ask are
    before each."""

    def __init__(self, g: Listing) -> None:
        self.root, self.visible = g.root, g.visible
        self.users: dict[int, set[int]] = {}
        self.maker: dict[int, int] = {}
        self.epochs: list[int] = []
        epoch = 0
        for i, node in enumerate(g.nodes):
            for x in node.refs():
                self.users.setdefault(self.root[x], set()).add(i)
            self.epochs.append(epoch)
            epoch += isinstance(node, (Write, Guard, Ask))
            for o in node.outs:
                self.maker[o] = i

    def goes_to_alone(self, x: int, i: int) -> bool:
        """Is node i all that a value is made for, and may it as well be made there?"""
        return (self.root[x] == x and self.users[x] == {i} and x not in self.visible
                and x in self.maker and self.epochs[self.maker[x]] == self.epochs[i])


def _is_pointwise(node: Node, arrays: Arrays) -> bool:
    """Is this a pointwise kernel with one row-major result, or a node that could become one?"""
    if isinstance(node, Fused) and len(node.outs) == 1:
        return bool(arrays[node.outs[0]].flags.c_contiguous) or fusible(node, arrays)
    return fusible(node, arrays)


def joined(first: OpNode, node: Fused) -> Contract:
    """A contraction with the fused node that reads it."""
    at: list[int] = []
    rest: list[int] = []
    for k, r in enumerate(node.ins):         # a number may equal its result
        (at if type(r) is Ref and r == first.outs[0] else rest).append(k)
    root = S.substitute(
        node.exprs[0], {at[0]: S.arg(0), **{k: S.arg(i + 1) for i, k in enumerate(rest)}}
    )
    return Contract(
        (*first.ins, *[node.ins[k] for k in rest]), node.outs, node.line, first, node, (root,)
    )


def contraction(node: Node | None, arrays: Arrays) -> TypeGuard[OpNode]:
    """Is the node a contraction of floating point numbers?"""
    if not isinstance(node, OpNode) or node.op.name not in CONTRACTIONS:
        return False
    a = arrays[node.outs[0]]
    return bool(a.size) and a.flags.c_contiguous and a.dtype.kind in "fV"
