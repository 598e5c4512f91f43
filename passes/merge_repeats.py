"""Common subexpression elimination: each expression is computed once.

    %2 = exp(%0)
    %3 = exp(%0)                %2 = exp(%0)
    %4 = add(%2, %3)     ->     %4 = add(%2, %2)

Two nodes are the same if their ops, operands and attributes are, and nothing writes to what they
read in between. The second is dropped if its result is only read, has the layout of the first, and
cannot be distinguished from it outside.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from whet.ir.graph import Node, OpNode
from whet.ir.op import Op
from whet.ir.value_keys import TooLarge, layout_key, value_key
from whet.passes.listing import Arrays, Listing
from whet.passes.value_uses import Uses, is_view

# op, operands, attributes
Meaning: TypeAlias = tuple[Op, tuple[Any, ...], tuple[Any, ...]]
LONG = 64                        # elements of an array among the attributes


def merge_repeats(g: Listing) -> Listing:
    """The list without nodes that were there before."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    uses, out = Uses(nodes, root), []
    seen: dict[Meaning, tuple[int, Node]] = {}  # what a node computes -> its place, and it
    new: dict[int, int] = {}
    viewed = {root[node.ins[0]] for node in nodes if is_view(node)}
    for i, node in enumerate(nodes):
        node = node.renamed(new)
        key = (
            meaning(node)
            if isinstance(node, OpNode)
            and not is_view(node)
            and node.op.pure
            and not node.op.random
            else None
        )
        if key is not None:
            before = seen.get(key)
            if (
                before is not None
                and uses.later(before[0], i)
                and have_one_layout(before[1], node, arrays)
                and not any(uses.writes.get(root[o]) for o in (*node.outs, *before[1].outs))
                and not any(o in visible or o in viewed for o in node.outs)
            ):
                new.update(zip(node.outs, before[1].outs, strict=True))
                continue
            seen[key] = i, node
        out.append(node)
    return g.of(out)


def meaning(node: OpNode, ins: Sequence[Any] | None = None) -> Meaning | None:
    """A key such that nodes with equal keys compute the same, from the node's operands or from
    `ins`; None if the node cannot be compared."""
    try:
        operands = value_key(node.ins if ins is None else ins, LONG)
        key = node.op, operands, value_key(dict(node.attrs), LONG)
        hash(key)
    except (TypeError, TooLarge):
        return None
    return key


def have_one_layout(a: Node, b: Node, arrays: Arrays) -> bool:
    """Do the results of two nodes have the same layout?"""
    return [layout_key(arrays[o]) for o in a.outs] == [layout_key(arrays[o]) for o in b.outs]
