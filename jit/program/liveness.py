"""The first stage: whose memory each value lies in, and which nodes somebody sees.

A value has a *root*: the memory that it lies in. A view lies in its operand's.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from whet.ir.graph import Node, OpNode, Ref, Write


class Roots:
    """The roots of values. `moving` are the roots whose address comes with a call: what is given,
    results, and what Python makes; `position` tells which of them one is."""

    def __init__(self, nodes: Iterable[Node], outside: Sequence[int],
                 results: Iterable[int]) -> None:
        self.root = {n: n for n in outside}
        for node in nodes:
            for out in node.outs:
                view = isinstance(node, OpNode) and node.op.is_view
                self.root[out] = self.root[node.ins[0]] if view else out
        self.recorded = dict(self.root)  # building gives some views a root of their own
        self.moving = list(dict.fromkeys([*outside, *(self.root[n] for n in results)]))
        self.position = {r: i for i, r in enumerate(self.moving)}
        inputs = set(outside)
        self.fresh = [r for r in self.moving if r not in inputs]  # a call makes memory for these

    def __getitem__(self, n: int) -> int:
        return self.root[n]

    def moves(self, n: int) -> bool:
        """Does a value lie in memory that a call brings?"""
        return self.root[n] in self.position

    def set_free(self, n: int) -> None:
        """From now on a value is a root that moves."""
        self.root[n] = n
        self.position[n] = len(self.moving)
        self.moving.append(n)


def seen_nodes(nodes: Sequence[Node], root: Any, outside: Iterable[int],
               results: Iterable[int]) -> list[Node]:
    """The nodes whose doing somebody sees, in order."""
    kept, roots, values = [], {root[n] for n in results} | set(outside), set(results)
    for node in reversed(nodes):
        if isinstance(node, Write):
            wanted = root[node.ins[0]] in roots or node.op.may_fail
        elif isinstance(node, OpNode):
            wanted = any(o in values for o in node.outs) or node.op.may_fail
        else:
            wanted = True
        if wanted:
            kept.append(node)
            values.update(x for x in node.ins if type(x) is Ref)
            roots.update(root[x] for x in node.ins if type(x) is Ref)
    return kept[::-1]


def last_uses(nodes: Iterable[Node], root: Any) -> dict[int, list[int]]:
    """The roots that are needed no more after each node: node's place -> roots."""
    last: dict[int, int] = {}
    for i, node in enumerate(nodes):
        for x in (*node.refs(), *node.outs, *node.attrs.get("into", {}).values()):
            last[root[x]] = i
    dying: dict[int, list[int]] = {}
    for r, i in last.items():
        dying.setdefault(i, []).append(r)
    return dying
