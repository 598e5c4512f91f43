"""Results whose graph the recorded run has differentiated and freed: replays raise eager's errors,
and rebuild eager's nodes for code that looks at them."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from whet.autograd.inplace import edge_of
from whet.autograd.node import RELEASED, OutputOf, Shortcut
from whet.tensor import wrap

from ..refusals.recording_errors import Refused
from ..values.tensor_sources import Search, Source
from .eager_graph import History, inside, leaving


class FreedEnd:
    """The end of a freed graph: its op, and the `sources` of what the graph leads to, None for a
    leaf that the run made. It is root `root` of the freed `graph`, which it leaves over the edges
    `keys`."""

    def __init__(self, node: Any, start: int, source_of_edge: Callable[[Any], Source | None]):
        self.index: int | None = None
        of = node
        if type(node) is OutputOf:
            self.index, of = node.index, node.parent
        self.name, self.nout = of.op.name, of.nout
        self.sources = Search([source_of_edge(e) for _, _, e in leaving(inside([node], start))])
        self.graph: FreedGraph | None = None
        self.root: int | None = None
        self.keys: list[int] = []

    def same(self, other: FreedEnd) -> bool:
        """Is it the same end in another recording that does the same?"""
        return (self.name, self.index, self.root) == (other.name, other.index, other.root) \
            and self.sources.same(other.sources)


class FreedGraph:
    """Graphs that were used up and share nodes, with their `ends` and the results there. `history`:
    the nodes, None where hooks or a Function belong to them, `size`: how many edges lead out."""

    def __init__(self, rec: Any, ends: list[tuple[FreedEnd, Any]], start: int):
        roots = list(dict.fromkeys(t._node for _, t in ends))
        order = inside(roots, start)
        edges = leaving(order)
        self.size = len(edges)
        for end, t in ends:
            within = set(inside([t._node], start))
            end.graph, end.root = self, roots.index(t._node)
            end.keys = [k for k, (i, _, _) in enumerate(edges) if order[i] in within]
        self.history: History | None = None
        try:
            self.history = History(rec, roots, start)
            self.history.forget()
        except Refused:
            self.history = None


class _Gone:
    """The op of a graph that has been freed."""
    saves_output, nondiff_outputs = False, frozenset[int]()

    def __init__(self, name: str):
        self.name = name

    def backward(self, node: Any, g: Any) -> Any:
        """Raise what eager raises."""
        raise RuntimeError(RELEASED)


class _Used(Shortcut):
    """The node of a result whose graph was freed, until code looks at that graph."""
    __slots__ = ("end", "freed")

    def open(self) -> None:
        """Put eager's nodes in its place."""
        if self.end is not None:
            self.freed.open(self.end.graph)

    def stale(self) -> bool:
        """Must somebody who wants only some gradients look at the graph? There may be a way to
        these."""
        return self.end is not None


class FreedGraphs:
    """The graphs that one call has used up. `number`: the call's place among all nodes, `ends`:
    those of the results, with the latter's edges, weakly."""
    __slots__ = ("number", "ends")

    def __init__(self, number: int):
        self.number = number
        self.ends: list[tuple[FreedEnd, Callable[[], Any]]] = []

    def edge(self, end: FreedEnd, leaves: list[Any]) -> Any:
        """The edge of a result. `leaves`: what is found at the end's sources, None for a leaf
        that nothing else holds."""
        for other, of in self.ends:
            if other.graph is end.graph and other.root == end.root and (out := of()) is not None:
                return out
        edges = tuple([wrap(np.empty(0)) if x is None else edge_of(x) for x in leaves])
        node = _Used(_Gone(end.name), edges, {}, end.nout)
        node.seq, node.released, node.end, node.freed = self.number, True, end, self
        out = node if end.index is None else OutputOf(node, end.index)
        self.ends.append((end, weakref.ref(out)))
        return out

    def open(self, graph: FreedGraph) -> None:
        """Put eager's nodes in the place of a graph's ends."""
        h = graph.history
        if h is None:
            return
        exits: dict[int, Any] = {}
        edges: list[Any] = [None] * graph.size
        for end, of in self.ends:
            out = of()
            if end.graph is graph and end.root is not None and out is not None:
                node = out if end.index is None else out.parent
                exits[h.roots[end.root]], node.end = out, None
                for k, e in zip(end.keys, node.edges):
                    edges[k] = e
        h.make({}, edges, exits, self.number)
