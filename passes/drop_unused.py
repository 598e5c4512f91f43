"""Dead code elimination. Writes count as uses, and nodes that may fail stay.

    %0 = exp(a)                %1 = neg(a)
    %1 = neg(a)         ->     return %1
    return %1
"""
from __future__ import annotations

from whet.ir.nodes import OpNode
from whet.passes.listing import Listing


def drop_unused(g: Listing) -> Listing:
    """The list without operations whose results are not used."""
    kept, values = [], set(g.visible)
    for node in reversed(g.nodes):
        if not isinstance(node, OpNode) or node.op.may_fail or not values.isdisjoint(node.outs):
            kept.append(node)
            values.update(node.refs())
    return g.of(kept[::-1])
