"""Results whose graph the recorded run has differentiated and freed: the errors that eager raises, and eager's nodes for who looks."""
import weakref

import numpy as np
from whet.autograd.node import RELEASED, OutputOf, Shortcut, edge_of
from whet.tensor import wrap


class _Gone:
    """The op of a graph that has been freed."""
    saves_output, nondiff_outputs = False, frozenset()

    def __init__(self, name):
        self.name = name

    def backward(self, node, g):
        """Raise what eager raises."""
        raise RuntimeError(RELEASED)


class _Used(Shortcut):
    """The node of a result whose graph has been differentiated and freed, until somebody looks at that graph (`dead`, a `results.Dead`)."""
    __slots__ = ("dead", "pit")

    def open(self):
        if self.dead is not None:
            self.pit.open(self.dead.graph)

    def stale(self):
        return self.dead is not None         # (for some inputs alone there may be a way)


class Pit:
    """The graphs that a call has used up. `ends`: those of the results, with the latter's edges, weakly."""
    __slots__ = ("number", "ends")

    def __init__(self, number):
        self.number, self.ends = number, []

    def edge(self, dead, leaves):
        """The edge of a result. `leaves`: what stands at the places (None: a leaf that nobody else knows)."""
        for d, of in self.ends:
            if d.graph is dead.graph and d.root == dead.root and (out := of()) is not None:
                return out
        node = _Used(_Gone(dead.name), tuple([wrap(np.empty(0)) if x is None else edge_of(x) for x in leaves]), {}, dead.nout)
        node.seq, node.released, node.dead, node.pit = self.number, True, dead, self
        out = node if dead.index is None else OutputOf(node, dead.index)
        self.ends.append((dead, weakref.ref(out)))
        return out

    def open(self, graph):
        """Put eager's nodes in the place of a graph's ends."""
        h, exits, edges = graph.history, {}, [None] * graph.size
        if h is None:
            return
        for dead, of in self.ends:
            out = of()
            if dead.graph is graph and out is not None:
                node = out if dead.index is None else out.parent
                exits[h.roots[dead.root]], node.dead = out, None
                for k, e in zip(dead.keys, node.edges):
                    edges[k] = e
        h.make({}, edges, exits, self.number)


def used_up(a, dead, leaves, pit):
    """A tensor whose graph, which led to some tensors, has been differentiated and freed."""
    t = wrap(a)
    t._rg |= 1
    t._node = pit.edge(dead, leaves)
    return t
