"""Drops nodes whose result exists already: views with the layout of their operand, and operations
that return their operand.

    %1 = transpose(%0)
    %2 = transpose(%1)
    %3 = mul(%2, 1.0)    ->     %4 = exp(%0)
    %4 = exp(%3)

A view is replaced by the tensor, or the earlier view of it, with the same address, sizes and
strides. x * 1, x / 1 and x - 0 are x to the bit (x + 0 is not: -0 + 0 is 0). From there on, neither
such a result nor x may be written to.
"""
from __future__ import annotations

from typing import Any

from whet.ir import scalar as S
from whet.ir.graph import Node, OpNode, Ref
from whet.ir.values import Array
from whet.passes.fuse_pointwise import fusible
from whet.passes.listing import Arrays, Listing
from whet.passes.value_uses import Uses, following, is_view

# (operation, which operand): the number that changes nothing
NEUTRAL = {("mul", 0): 1, ("mul", 1): 1, ("div", 1): 1, ("sub", 1): 0}


def drop_identities(g: Listing) -> Listing:
    """The list without such nodes."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    uses = Uses(nodes, root)
    out: list[Node] = []
    new: dict[int, int] = {}
    # (what it is a view of, *its layout) -> the first there
    places: dict[tuple[Any, ...], int] = {}
    base: dict[int, int] = {}                # view -> what it is a view of
    viewed = {root[node.ins[0]] for node in nodes if is_view(node)}
    for i, node in enumerate(nodes):
        node = node.renamed(new)
        if is_view(node):
            for o in node.outs:
                b = base[o] = base.get(node.ins[0], node.ins[0])
                first = places.setdefault((b, *place_and_layout(arrays[b])), b)
                first = places.setdefault((b, *place_and_layout(arrays[o])), o)
                if (
                    first != o
                    and o not in visible
                    and arrays[first].flags.writeable == arrays[o].flags.writeable
                ):
                    new[o] = first
            if all(o in new for o in node.outs):
                continue
        elif fusible(node, arrays):
            x, (o,) = same_as(node, arrays), node.outs
            if x is not None and o not in visible and o not in viewed and not uses.writes.get(o) \
                    and following(uses.writes.get(root[x], ()), i) == float("inf"):
                new[o] = int(x)
                continue
        out.append(node)
    return g.of(out)


def place_and_layout(a: Array) -> tuple[int, tuple[int, ...], tuple[int, ...], str]:
    """The address, shape, strides and type of an array."""
    return a.__array_interface__["data"][0], a.shape, a.strides, a.dtype.str


def same_as(node: OpNode, arrays: Arrays) -> Ref | None:
    """The operand that a pointwise node returns unchanged; None where it computes something."""
    refs, (o,) = node.refs(), node.outs
    if (
        len(refs) != 1
        or arrays[refs[0]].shape != arrays[o].shape
        or arrays[refs[0]].strides != arrays[o].strides
        or arrays[refs[0]].dtype != arrays[o].dtype
        or arrays[o].dtype.kind not in "fiu"
    ):
        return None
    kernel, _, _ = node.op.plan([arrays[x] if type(x) is Ref else x for x in node.ins])
    e = kernel.roots[0]
    for k, a in enumerate(e.args if len(e.args) == 2 else ()):
        if (
            a.op == "arg"
            and type(x := node.ins[a.value]) is not Ref
            and NEUTRAL.get((e.op, k)) == x
            and str(x)[0] != "-"
            and e.args[1 - k] is S.arg(node.ins.index(refs[0]))
        ):
            return refs[0]
    return None
