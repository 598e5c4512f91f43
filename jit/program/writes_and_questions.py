"""In which order a program writes to what is outside, and finds that a call turns out otherwise.

A replay that misses must have changed nothing. So what may miss comes before the writes that it
does not go by, and what is written before it all the same is kept, to be put back.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from whet.ir.graph import Ask, Guard, Node, OpNode, Write
from whet.passes.value_uses import is_view, memories

from ..capture.refused import Refused
from ..report.reasons import WritesFirst

LITTLE = 1 << 10  # elements of a value that moves rather than that anything is copied
LARGEST_COPY = 1 << 22  # bytes that are copied at each call, for a replay that may miss late


class Order(NamedTuple):
    """`may_miss`: can a replay find that a value is another? `written`: the values from outside
    that are written to; `undone`: those of them that are written to before that may happen.
    `early`: the memories of what is made before it may happen last; `last`: where that is."""

    may_miss: bool
    written: set[int]
    undone: list[int]
    early: set[int]
    last: Node | None


def ordered(nodes: Sequence[Node], root: Any, outside: Iterable[int],
            arrays: Sequence[Any]) -> tuple[Sequence[Node], Order]:
    """The nodes in such an order, and what is so of it. Only numbers move, and what asks, as long
    as that is enough, or else small values: larger ones are best made where their neighbours
    are."""
    inputs, memory = set(outside), memories(nodes, root, arrays)
    for most, copied in (1, 0), (LITTLE, 0), (1, LARGEST_COPY), (math.inf, LARGEST_COPY):
        moved = asked_early(nodes, memory, inputs, arrays, most)
        order = order_of(moved, root, inputs)
        if sum(arrays[n].nbytes for n in order.undone) <= copied:
            return moved, order
    what = "large tensors from outside are written before a call may turn out otherwise"
    raise Refused(WritesFirst(what, order.last.line if order.last else ""))


def asked_early(nodes: Sequence[Node], memory: Mapping[int, int], inputs: set[int],
                arrays: Sequence[Any], most: float) -> Sequence[Node]:
    """The nodes, with what may miss right behind what it goes by where one of the values `inputs`
    would be written between. What it goes by comes as early, where that has `most` elements.
    Questions about numbers that are given come first: they tell the ways of a function apart.
    `memory`: which values lie in one, see `memories`."""
    last = -1                                # the place of the last write to what is given
    at: dict[int, int] = {}                  # value -> the place that it is made at
    written: dict[int, int] = {}             # memory -> the place that it was written at last
    early: dict[int, int] = {}               # a node's place -> the one it may come right behind
    for i, node in enumerate(nodes):
        behind = max([max(at.get(x, -1), written.get(memory[x], -1)) for x in node.refs()],
                     default=-1)
        size = max([arrays[o].size for o in node.outs], default=1)
        is_light = size <= most or may_miss(node) or is_view(node)
        if may_move(node) and (behind < last and is_light or behind < 0 and size == 1):
            early[i] = behind
        at.update(dict.fromkeys(node.outs, early.get(i, i)))
        written.update((memory[x], i) for x in node.written())
        last = i if any(memory[x] in inputs for x in node.written()) else last
    asked: set[int] = set()                  # values
    for i in reversed([*early]):
        if may_miss(nodes[i]) or not asked.isdisjoint(nodes[i].outs):
            asked.update(nodes[i].refs())
        else:
            del early[i]
    order = sorted(range(len(nodes)), key=lambda i: (early.get(i, i), i in early))
    return [nodes[i] for i in order]


def may_move(node: Node) -> bool:
    """Is all that a node does a matter of its operands, and does it change nothing? Not so sure is
    what the user's Python does, or a program inside of the node."""
    if isinstance(node, Guard | Ask):
        return True
    return (isinstance(node, OpNode) and node.op.pure and not node.op.random
            and not getattr(node.op, "python", False) and not hasattr(node.op, "bodies"))


def may_miss(node: Node) -> bool:
    """Can a replay find at a node that a value is another?"""
    return isinstance(node, Guard | Ask) or (
        isinstance(node, OpNode | Write) and node.op.may_fail)


def order_of(nodes: Iterable[Node], root: Any, inputs: set[int]) -> Order:
    """What is so of nodes in this order; `inputs` are the values from outside."""
    last: Node | None = None
    undone: list[int] = []
    written: dict[int, bool] = {}
    made: set[int] = set()
    early: set[int] = set()
    for node in nodes:
        made.update(root[o] for o in node.outs)
        if may_miss(node):
            last, undone, early = node, list(written), made.copy()
        if isinstance(node, Write) and root[node.ins[0]] in inputs:
            written[root[node.ins[0]]] = True
    return Order(last is not None, set(written), undone, early, last)
