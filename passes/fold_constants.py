"""Constant folding: nodes that depend on constants alone are evaluated now, by eager's own kernels.

    %1 = constant(array=1.0)
    %2 = div(%1, 2048)           ->     %2 = constant(array=0.00048828125)

A guard on what depends on constants alone holds at each call, and is left out.

What the recorded run computed is no guide: it may have been written to since, by a write
that was dropped from the list because nothing read it.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TypeAlias

import numpy as np
from whet.ir.graph import Guard, Node, OpNode, Ref, Type
from whet.ir.values import Array
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.merge_repeats import LONG
from whet.passes.value_uses import Uses, is_view

# what tells the size of each value
Typed: TypeAlias = Arrays | Sequence[Type] | Mapping[int, Type]
# type, sizes, strides, bytes
Content: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...], bytes]
MOST = 1 << 16                   # elements that are kept


class Constants:
    """What nodes that depend on constants alone compute. `known`: value -> the node that makes
    it, `short`: those that are compared."""

    def __init__(self) -> None:
        self.known: dict[int, OpNode] = {}
        self.values: dict[int, Array] = {}
        self.short: set[int] = set()

    def __getitem__(self, x: int) -> Array:
        """A value as an array."""
        if x not in self.values:
            node = self.known[x]
            made = node.op.forward(
                *[self[r] if type(r) is Ref else r for r in node.ins], **node.attrs
            )
            self.values.update(
                zip(node.outs, map(np.asarray, made if type(made) is tuple else (made,)))
            )
        return self.values[x]

    def still(self, new: Constants) -> bool:
        """Are these the constants of the same list on other sizes, and such equal there as are
        equal here? One of them may stand for both."""
        if self.known.keys() != new.known.keys():
            return False
        pairs: dict[Content, Content] = {}
        return all(
            pairs.setdefault(content(self[o]), content(new[o])) == content(new[o])
            for o in self.short
        )


def content(a: Array) -> Content:
    """An array to the bit, as a key."""
    return a.dtype.str, a.shape, a.strides, a.tobytes()


def constants(nodes: Sequence[Node], root: Roots, arrays: Typed, visible: Set[int],
              most: float = MOST) -> Constants:
    """The constants of a list that nothing writes to, and that are not visible outside. `most`:
    elements."""
    uses, found = Uses(nodes, root), Constants()
    read: set[int] = set()                   # by what stays
    for node in nodes:
        if (
            isinstance(node, OpNode)
            and not node.op.random
            and all(x in found.known for x in node.refs())
            and not any(
                uses.writes.get(root[o]) or root[o] in visible or arrays[o].size > most
                for o in node.outs
            )
        ):
            found.known.update(dict.fromkeys(node.outs, node))
            if node.op.pure and not is_view(node):
                found.short.update(o for o in node.outs if arrays[o].size <= LONG)
            has_strides = any(len(arrays[o].shape) > 1 for o in node.outs)
            if has_strides or is_view(node) or not node.op.pure:
                read.update(node.refs())     # It may stay as it is.
        elif not isinstance(node, Guard):
            read.update(node.refs())
    found.short &= read
    return found


def holds(guard: Guard, found: Constants) -> bool:
    """Is what a guard looks at a constant that is as it was?"""
    x = guard.refs()[0]
    return x in found.known and content(found[x]) == content(guard.expected)


def fold_constants(g: Listing) -> Listing:
    """The list with them."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    from whet.ops.registry import REGISTRY
    found = constants(nodes, root, arrays, visible)
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Guard) and holds(node, found):
            continue
        if (
            node.outs
            and node.outs[0] in found.known
            and node.refs()
            and found.known[node.outs[0]].op.pure
            and not is_view(node)
            and all(found[o].strides == arrays[o].strides for o in node.outs)
        ):
            for o in node.outs:
                out.append(
                    OpNode(REGISTRY["constant"], (), {"array": found[o]}, [o], node.line, node)
                )
        else:
            out.append(node)
    # Others that are not read any more are gone, before one of them stands for an equal one.
    read = {int(x) for n in out for x in n.refs()}
    return g.of([
        n for n in out
        if not n.outs or n.outs[0] not in found.known or read.intersection(n.outs)])
