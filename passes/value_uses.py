"""The uses of values, and whether a node may be moved behind later ones: what every pass that moves
nodes asks."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from whet.ir.graph import Node, OpNode, Ref, Write
from whet.ir.memory_spans import span
from whet.passes.listing import Arrays, Roots


class Uses:
    """How a list of nodes uses values: `users`: memory -> the indices of the nodes that read or
    write it; views read nothing, unless `views`. `writes`: memory -> those of the nodes that write
    to it. `maker`: value -> the index of the node that made it."""

    def __init__(self, nodes: Sequence[Node], root: Roots, views: bool = False) -> None:
        self.nodes, self.root = nodes, root
        self.maker: dict[int, int] = {}
        self.users: dict[int, list[int]] = {}
        self.writes: dict[int, list[int]] = {}
        for i, node in enumerate(nodes):
            for o in node.outs:
                self.maker[o] = i
            if is_view(node) and not views:
                continue
            for x in touched(node):
                self.users.setdefault(root[x], []).append(i)
            for x in written(node):
                self.writes.setdefault(root[x], []).append(i)

    def later(self, k: int, i: int) -> bool:
        """May node k be done at place i (after all that is there), as far as what it reads goes:
        is nothing of it written in between?"""
        return all(
            following(self.writes.get(self.root[x], ()), k) >= i for x in self.nodes[k].refs()
        )

    def needed(self, k: int, i: int, together: set[int]) -> bool:
        """Does a node before place i, other than those `together` (places), use what node k
        makes?"""
        return any(
            u < i and u not in together for o in self.nodes[k].outs for u in self.users.get(o, ())
        )


def following(places: Sequence[int], i: int) -> float:
    """The first of some places in order that is after place i."""
    k = bisect_right(places, i)
    return places[k] if k < len(places) else float("inf")


def memories(nodes: Sequence[Node], root: Roots, arrays: Arrays) -> dict[int, int]:
    """`root` with tensors from outside that overlap as one memory, so that a write to one of
    them is seen to write to the others."""
    made = {o for node in nodes for o in node.outs}
    outside = sorted((*span(arrays[r]), r) for r in {*root.values()} - made if arrays[r].size)
    one: dict[int, int] = {}
    end = first = 0
    for low, high, r in outside:
        if low < end:
            one[r] = first
        else:
            first = r
        end = max(end, high)
    return {v: one.get(r, r) for v, r in root.items()} if one else dict(root)


def is_view(node: Node) -> TypeGuard[OpNode]:
    """Does the op of this node return a view of its operand?"""
    return isinstance(node, OpNode) and node.op.is_view


def touched(node: Node) -> list[int]:
    """The values that a node reads or writes."""
    return [*node.refs(), *node.attrs.get("into", {}).values()]


def written(node: Node) -> Iterable[int]:
    """The values that a node writes in place."""
    return node.written() if isinstance(node, Write) else node.attrs.get("into", {}).values()


def copies_a_value(node: Node) -> TypeGuard[Write]:
    """Does a node copy a value, all of it, to a place?"""
    return (isinstance(node, Write) and node.op.name == "copy" and not node.attrs
            and type(node.ins[1]) is Ref)


def steady(node: Node) -> bool:
    """Does a node give the same kind of result whatever the data are, without asking Python?"""
    return node.steady
