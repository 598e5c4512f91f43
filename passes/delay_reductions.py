"""Moves reductions behind later pointwise nodes that do not depend on them, so that these fuse with
the pointwise nodes before.

    %1 = mul(%0, %5)                            %1 = mul(%0, %5)
    %2 = sum(%1, dim=(0,))                      %3 = mul(%0, %6)
    %3 = mul(%0, %6)                   ->       %2 = sum(%1, dim=(0,))
    %4 = add(%2, 1.0)                           %4 = add(%2, 1.0)

They wait for nothing else, so that what they read need not be kept for long.
"""
from __future__ import annotations

from whet.ir.graph import OpNode
from whet.passes.fuse_pointwise import mappable
from whet.passes.listing import Listing
from whet.passes.value_uses import is_view


def delay_reductions(g: Listing) -> Listing:
    """The list in that order."""
    nodes, arrays = g.nodes, g.arrays
    out, waiting = [], []       # nodes that wait, and what they make
    late: set[int] = set()
    for node in nodes:
        needs = not late.isdisjoint(node.refs())
        reduces = (
            isinstance(node, OpNode)
            and node.op.family == "reduce"
            and node.op.pure
            and not node.op.may_fail
        )
        if reduces and not needs or is_view(node) and needs:
            waiting.append(node)
            late.update(node.outs)
            continue
        if needs or not (is_view(node) or mappable(node, arrays)):
            out += waiting
            waiting, late = [], set()
        out.append(node)
    return g.of(out + waiting)
