"""Two runs of one example, node by node: the run that became the graph, and one in which the sizes
that Python reads were followed.

The followed run has further nodes: what Python computed from sizes, and its decisions by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whet.ir.graph import Guard, Node, Ref
from whet.ops.casting import CASTS

from .recording import Recorded
from .sized_graph import Path


class RunsDiffer(Exception):
    """Two runs of the example differ in more than what is computed from sizes."""


class NumberUse(NamedTuple):
    """Where an op got a number that Python computed from sizes. `node`: of the graph; `path`: the
    operand or attribute; `value`: the number, as a value of the followed run."""
    node: Node
    path: Path
    value: int


class PairedRuns:
    """`guards`: decisions of Python by sizes. `uses`: numbers computed from sizes. `graph_value`:
    a value of the followed run -> the same value of the graph. `measured`: the graph's nodes that
    lead to tensors whose sizes Python read, in order. Raises RunsDiffer."""

    def __init__(self, graph_run: Recorded, followed_run: Recorded) -> None:
        assert followed_run.followed is not None
        self.graph_run, self.followed_run = graph_run, followed_run
        self.at, from_sizes = followed_run.followed.at, followed_run.followed.values
        self.makers = {o: n for n in followed_run.nodes for o in n.outs}
        self.guards: list[Guard] = []
        common = list[Node]()
        for n in followed_run.nodes:
            if isinstance(n, Guard) and from_sizes.issuperset(n.refs()):
                self.guards.append(n)
            elif not n.outs or not from_sizes.issuperset(n.outs):
                common.append(n)
        self.graph_value = self.paired_values(common)
        self.uses = [NumberUse(a, path, n) for a, b in zip(graph_run.nodes, common)
                     for path, n in self.numbers_in(b, from_sizes)]
        self.measured = self.measured_nodes()

    def paired_values(self, common: list[Node]) -> dict[int, int]:
        """The graph's values, by those of the followed run. `common`: the nodes of the followed run
        that the graph should have, too."""
        a, b = self.graph_run, self.followed_run
        if len(a.nodes) != len(common) or len(a.inputs) != len(b.inputs):
            raise RunsDiffer
        in_graph = {id(t): n for n, t in a.outside.items()}
        found = dict(zip(b.inputs, a.inputs))
        found |= {n: in_graph[id(t)] for n, t in b.outside.items() if id(t) in in_graph}
        for x, y in zip(a.nodes, common):
            same = type(x) is type(y) and (x.op is y.op or both_keep_elements(x, y))
            if not same or len(x.ins) != len(y.ins) or len(x.outs) != len(y.outs):
                raise RunsDiffer
            found.update(zip(y.outs, x.outs))
        return found

    def numbers_in(self, n: Node, from_sizes: set[int]) -> Iterator[tuple[Path, int]]:
        """The attributes and operands of a node that Python computed from sizes."""
        if n.outs:
            yield from self.at.get(n.outs[0], {}).items()
        for k, x in enumerate(n.ins):
            if type(x) is Ref and x in from_sizes:
                yield (k,), self.before_casts(int(x))

    def before_casts(self, n: int) -> int:
        """The number before the op cast it to the dtype of its operands."""
        node = self.makers[n]
        while node.op in CASTS.values() and type(node.ins[0]) is Ref:
            n = int(node.ins[0])
            node = self.makers[n]
        return n

    def measured_nodes(self) -> list[Node]:
        """The graph's nodes that lead to tensors whose sizes Python read, in order."""
        measured = [self.graph_value.get(int(n.attrs["of"]), -1) for n in self.followed_run.nodes
                    if n.op is not None and n.op.name == "size_of"]
        if -1 in measured:
            raise RunsDiffer
        wanted, found = set(measured), list[Node]()
        for n in reversed(self.graph_run.nodes):
            if wanted.intersection(n.outs):
                found.append(n)
                wanted.update(int(x) for x in n.refs())
        return found[::-1]


def both_keep_elements(a: Node, b: Node) -> bool:
    """Do the results of both nodes consist of all elements of their operand? Sizes decide whether
    such a node is a view or a copy."""
    return a.op is not None and b.op is not None and a.op.keeps_elements and b.op.keeps_elements
