"""Builds a graph node by node and computes each node on a sample at once. So types and memory
layouts are exactly those that the ops produce."""

from __future__ import annotations

from typing import Any

import numpy as np
from whet.ir.graph import Graph, Input, OpNode, Ref
from whet.ops.registry import REGISTRY

from ..export.unused_names import unused

Array = Any


class GraphBuilder:
    """The nodes of a graph, the sample's array of each value, and its constants by name."""

    def __init__(self, name: str) -> None:
        self.name, self.nodes = name, list[Any]()
        self.arrays, self.inputs = dict[int, Array](), list[Input]()
        self.held: dict[str, Array] = {}
        self.asked: dict[str, list[tuple[Array, Ref]]] = {}  # constants by the name asked for

    def value(self, array: Array) -> Ref:
        """Add a value, which has this array in the sample."""
        made = Ref(len(self.arrays))
        self.arrays[made] = array
        return made

    def add_input(self, array: Array, place: str, name: str) -> Ref:
        """Add an input of the graph."""
        made = self.value(array)
        self.inputs.append(Input(int(made), place, name))
        return made

    def constant(self, array: Array, name: str) -> Ref:
        """Add a constant with this name, or a similar one if another constant has it. A layer that
        is called several times asks for the same constant again and gets the existing one."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        asked = self.asked.setdefault(name, [])
        for there, made in asked:
            same = (there.dtype, there.shape) == (array.dtype, array.shape)
            if same and there.tobytes() == array.tobytes():
                return made
        name = unused(name, self.held)
        self.held[name] = array
        asked.append((array, self.add_input(array, "constant", name)))
        return asked[-1][1]

    def op(self, op: Any, *ins: Any, line: str = "", **attrs: Any) -> Ref:
        """Add a node with one result."""
        op = REGISTRY[op] if isinstance(op, str) else op
        return self.node(OpNode(op, ins, attrs, [0], line), ins)[0]

    def node(self, n: Any, ins: tuple[Any, ...]) -> list[Ref]:
        """Add a copy of a node with other operands. A node without results (a write or a question)
        acts on the sample's arrays."""
        if not isinstance(n, OpNode):
            made = n.of(ins).by_itself()
            made.run(self.arrays, None, [])
            self.nodes.append(made)
            return []
        arrays = [self.arrays[x] if type(x) is Ref else x for x in ins]
        with np.errstate(all="ignore"):
            made = n.op.forward(*arrays, **n.attrs)
        outs = [self.value(np.asarray(a)) for a in (made if type(made) is tuple else (made,))]
        self.nodes.append(OpNode(n.op, ins, n.attrs, [int(o) for o in outs], n.line))
        return outs

    def graph(self, results: Any) -> Graph:
        """The graph that returns these results."""
        read, kept = {int(v) for v, _ in results}, list[Any]()
        for n in reversed(self.nodes):
            if not isinstance(n, OpNode) or not read.isdisjoint(n.outs):
                kept.append(n)
                read.update(int(x) for x in n.refs())
        inputs = [x for x in self.inputs if x.place != "constant" or int(x.value) in read]
        names = {x.name for x in inputs if x.place == "constant"}
        self.held = {k: a for k, a in self.held.items() if k in names}
        order = [x for x in inputs if x.place != "constant"]
        order += [x for x in inputs if x.place == "constant"]
        return Graph.of(kept[::-1], self.arrays, order, results, self.name)
