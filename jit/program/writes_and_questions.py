"""Orders the writes to outside memory and the steps that may miss.

A replay that misses must not have changed anything. So steps that may miss come before the writes
that they do not depend on. What has to be written earlier is saved, to be put back."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from whet.ir.graph import Ask, Guard, Node, OpNode, Write
from whet.passes.value_uses import is_view, memories

from ..refusals.reasons import WritesFirst
from ..refusals.recording_errors import Refused

LITTLE = 1 << 10  # elements of a value that moves rather than that anything is copied
LARGEST_COPY = 1 << 22  # bytes that are copied at each call, for a replay that may miss late


class Order(NamedTuple):
    """What holds in this order of nodes. `may_miss`: can a replay miss at all? `written`: the
    outside values that are written to. `undone`: those that are written to before the replay may
    miss. `early`: the memory of what is made before the last step that may miss. `last`: that
    step."""

    may_miss: bool
    written: set[int]
    undone: list[int]
    early: set[int]
    last: Node | None


def ordered(nodes: Sequence[Node], root: Any, outside: Iterable[int],
            arrays: Sequence[Any]) -> tuple[Sequence[Node], Order]:
    """The nodes in such an order, and what holds in it. Only nodes that compute numbers move, and
    questions, if that is enough; else small values move too. Large values are best made next to
    their neighbours."""
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
    """Move each node that may miss to right behind its operands, if one of the `inputs` would
    otherwise be written in between. Operands move too if they have at most `most` elements.
    Questions about numbers that are inputs come first: they tell the ways of a function apart.
    `memory`: which values share memory, see `memories`."""
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
    """Does a node only read its operands and change nothing? This is uncertain for Python code of
    the user's, and for a program inside a node."""
    if isinstance(node, Guard | Ask):
        return True
    return (isinstance(node, OpNode) and node.op.pure and not node.op.random
            and not getattr(node.op, "python", False) and not hasattr(node.op, "bodies"))


def may_miss(node: Node) -> bool:
    """May a replay miss at this node?"""
    return isinstance(node, Guard | Ask) or (
        isinstance(node, OpNode | Write) and node.op.may_fail)


def order_of(nodes: Iterable[Node], root: Any, inputs: set[int]) -> Order:
    """What holds for nodes in this order. `inputs` are the values from outside."""
    last: Node | None = None
    undone: list[int] = []
    written: dict[int, bool] = {}
    made: set[int] = set()
    early: set[int] = set()
    for node in nodes:
        made.update(root[o] for o in node.outs)
        if may_miss(node):
            last, undone, early = node, list(written), made.copy()
        if isinstance(node, Write):
            written.update((root[x], True) for x in node.written() if root[x] in inputs)
    return Order(last is not None, set(written), undone, early, last)
