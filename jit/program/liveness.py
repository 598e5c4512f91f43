"""The first stage of building: the root of each value, and dead code.

A value's *root* is the value whose memory it is in. A view has the root of its operand."""

from collections.abc import Iterable, Sequence
from typing import Any

from whet.ir.graph import Node, OpNode, Ref, Write


class Roots:
    """The roots of values. `moving` are the roots whose address differs between calls: inputs,
    results, and what Python makes. `position` is the index of each."""

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
        """Is a value in memory whose address differs between calls?"""
        return self.root[n] in self.position

    def set_free(self, n: int) -> None:
        """Make a value a root that moves."""
        self.root[n] = n
        self.position[n] = len(self.moving)
        self.moving.append(n)


def seen_nodes(nodes: Sequence[Node], root: Any, outside: Iterable[int],
               results: Iterable[int]) -> list[Node]:
    """The live nodes, in order: those with a result that is needed or with a visible effect."""
    kept, roots, values = [], {root[n] for n in results} | set(outside), set(results)
    for node in reversed(nodes):
        if isinstance(node, Write):
            wanted = any(root[x] in roots for x in node.written()) or node.op.may_fail
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
    """The roots that die after each node, by the node's position."""
    last: dict[int, int] = {}
    for i, node in enumerate(nodes):
        for x in (*node.refs(), *node.outs, *node.attrs.get("into", {}).values()):
            last[root[x]] = i
    dying: dict[int, list[int]] = {}
    for r, i in last.items():
        dying.setdefault(i, []).append(r)
    return dying
