"""Turns in-place pointwise ops on values that a kernel has just made into ops that make a new
value.

    %2 = convolution(%0, %1, ...)                   %5 = convolution(%0, %1, ...)
    write add(%2, %3)                    ->         %6 = add(%5, %3)
    write relu(%2)                                  %2 = relu(%6)

So they can be fused with what comes before and after, which no write can. The value that is seen at
the end keeps its number; those it had before get new ones.

The value must be memory of its own, without views, and made by a kernel that can take in pointwise
operations. The operation's result must have its type.
"""
from __future__ import annotations

from typing import TypeGuard

from whet.ir.graph import Node, OpNode, Ref, Write
from whet.passes.listing import Arrays, Listing

from .fuse_epilogues import contraction
from .fuse_pointwise import fusible


def in_place_to_new(g: Listing) -> Listing:
    """The list without such writes. It has new values."""
    out, root, arrays = list(g.nodes), dict(g.root), list(g.arrays)
    # value -> the position of the node that made it last
    maker = {o: i for i, node in enumerate(out) for o in node.outs}
    viewed = {base for value, base in root.items() if value != base}
    for i, write in enumerate(out):
        if not _is_pointwise_write(write):
            continue
        y = write.ins[0]
        k = maker.get(y)
        if k is None or y in viewed or root[y] != y or out[k].outs != [y]:
            continue
        made = write.as_value(int(y))
        if not _can_be_fused(out[k], made, arrays):
            continue
        earlier = len(arrays)                # the value before this write
        arrays.append(arrays[y])
        root[earlier] = earlier
        out[i] = made
        for at in range(k, i + 1):
            out[at] = _renamed(out[at], y, earlier, makes=at < i)
        maker[earlier], maker[y] = k, i
    return Listing(out, root, arrays, g.visible)


def _is_pointwise_write(node: Node) -> TypeGuard[Write]:
    """Does a node write what a pointwise op gives for each element?"""
    return (isinstance(node, Write) and node.op.family == "pointwise" and not node.attrs
            and node.op.result is None)


def _can_be_fused(before: Node, made: OpNode, arrays: Arrays) -> bool:
    """Can a kernel that made a value take in this op, whose result has the type of the value?"""
    if not (fusible(made, arrays) and (fusible(before, arrays) or contraction(before, arrays))):
        return False
    _, _, result = made.op.plan([arrays[x] if type(x) is Ref else x for x in made.ins])
    return bool(result.np == arrays[made.outs[0]].dtype)


def _renamed(node: Node, old: Ref, new: int, makes: bool) -> Node:
    """The node with another number for a value that it reads, or, with `makes`, that it makes."""
    if not any(x == old for x in node.refs()) and not (makes and old in node.outs):
        return node
    ins = tuple([Ref(new) if type(x) is Ref and x == old else x for x in node.ins])
    if makes and old in node.outs and isinstance(node, OpNode):
        return node.to(ins, [new if o == old else o for o in node.outs])
    return node.of(ins)
