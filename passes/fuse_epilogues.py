"""Epilogues: what is done to each element of a contraction (a convolution or a product) is done as
the element is stored.

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


def epilogues(g: Listing) -> Listing:
    """The list with contractions that take in the pointwise node that alone reads them. (`into`
    must not be there yet: see `write_through`.)"""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    epochs, epoch = [], 0
    users: dict[int, set[int]] = {}
    maker: dict[int, int] = {}
    for i, node in enumerate(nodes):
        for x in node.refs():
            users.setdefault(root[x], set()).add(i)
        epochs.append(epoch)
        epoch += isinstance(node, (Write, Guard, Ask))
        for o in node.outs:
            maker[o] = i
    out: list[Node | None] = list(nodes)
    for i, node in enumerate(nodes):
        if not (
            isinstance(node, Fused)
            and len(node.outs) == 1
            and arrays[node.outs[0]].flags.c_contiguous
            or fusible(node, arrays)
        ):
            continue
        y = node.outs[0]
        ready = [
            x
            for x in node.refs()
            if root[x] == x
            and users[x] == {i}
            and x not in visible
            and x in maker
            and contraction(out[maker[x]], arrays)
            and epochs[maker[x]] == epochs[i]
            and arrays[x].shape == arrays[y].shape
        ]
        if not ready:
            continue
        # of two, the later one has the other's result to read
        x = max(ready, key=maker.__getitem__)
        first = out[maker[x]]
        then = (
            kernel([node], nodes, users, arrays, visible | {y})
            if isinstance(node, OpNode)
            else node
        )
        assert isinstance(first, OpNode) and isinstance(then, Fused)
        out[maker[x]], out[i] = None, joined(first, then)
    return g.of([n for n in out if n is not None])


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
