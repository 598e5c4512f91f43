"""Turns in-place pointwise ops on values that a kernel has just made into ops that make a new
value.

    %2 = convolution(%0, %1, ...)                   %5 = convolution(%0, %1, ...)
    write add(%2, %3)                    ->         %6 = add(%5, %3)
    write relu(%2)                                  %2 = relu(%6)

So they can be fused with what comes before and after, which no write can. The value that is seen at
the end keeps its number; those it had before get new ones. Only where the value is memory of its
own, made by a kernel that takes in pointwise operations, without views, and where the operation's
result has its type.
"""
from __future__ import annotations

from whet.ir.graph import Node, OpNode, Ref, Write
from whet.passes.listing import Listing

from .fuse_epilogues import contraction
from .fuse_pointwise import fusible


def in_place_to_new(g: Listing) -> Listing:
    """The list without such writes. It has new values."""
    nodes, root, arrays = g.nodes, dict(g.root), list(g.arrays)
    maker, views = {}, {r for n, r in root.items() if n != r}
    for i, node in enumerate(nodes):
        for o in node.outs:
            maker[o] = i
    out = list(nodes)
    for i, node in enumerate(nodes):
        if (
            not isinstance(node, Write)
            or node.op.family != "pointwise"
            or node.attrs
            or node.op.result is not None
        ):
            continue
        y = node.ins[0]
        k = maker.get(y)
        if k is None or y in views or root[y] != y or out[k].outs != [y]:
            continue
        now, before = out[i], out[k]         # operands may have been renamed
        assert isinstance(now, Write)
        made = now.as_value(int(y))
        if not (fusible(made, arrays) and (fusible(before, arrays) or contraction(before, arrays))):
            continue
        if (
            made.op.plan([arrays[x] if type(x) is Ref else x for x in made.ins])[2].np
            != arrays[y].dtype
        ):
            continue
        earlier = len(arrays)
        arrays.append(arrays[y])
        root[earlier] = earlier
        out[i] = made
        for at in range(k, i + 1):
            out[at] = _renamed(out[at], y, earlier, at < i)
        maker[earlier], maker[y] = k, i
    return Listing(out, root, arrays, g.visible)


def _renamed(node: Node, old: Ref, new: int, outs: bool) -> Node:
    """The node with another number for a value that it reads, or (with `outs`) makes."""
    if not any(x == old for x in node.refs()) and not (outs and old in node.outs):
        return node
    ins = tuple([Ref(new) if type(x) is Ref and x == old else x for x in node.ins])
    if outs and old in node.outs and isinstance(node, OpNode):
        return node.to(ins, [new if o == old else o for o in node.outs])
    return node.of(ins)
