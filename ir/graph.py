"""Graphs: what a recorded run did, as a list of nodes over numbered values.

A value is the memory that a tensor was in (`ir/values.py`). Nodes read values and make others, in
the order of the run. A node is an op, a write, a draw of random numbers, a guard or a question
(`ir/nodes.py`). Passes merge several nodes into one (`ir/groups.py`, `ir/loops.py`). `ir/text.py`
shows how a graph is written, a line a node, and `ir/parse.py` reads it back. A `cond` or
`while_loop` is an op whose `bodies` are programs, shown under it.
"""
from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .groups import Chain, Contract, Fused, Group, Many, Part, Parts, Picks, Rows
from .loops import Loop, Roll
from .nodes import SHOWN, Ask, Draw, Guard, Node, OpNode, Streams, Write
from .text import input_line, lines, return_line, text
from .value_text import Table
from .values import Array, Input, Ref, Type

__all__ = [
    "SHOWN", "Ask", "Chain", "Contract", "Draw", "Fused", "Graph", "Group", "Guard", "Input",
    "Loop", "Many", "Node", "OpNode", "Part", "Parts", "Picks", "Ref", "Roll", "Rows", "Type",
    "Write", "text", "touched", "walk"]

walk = Node.walk
touched = Node.named


class Graph:
    """A recorded run: the nodes in order, the types of all values, the inputs, and the results as
    (value, name).

    Nothing of the run is held but its constants: arrays among attributes, and the values that
    guards compare with. `streams` are the positions (seed, offset) of the random number generators
    at the start; a draw's `generator` is the number of one.

    >>> import whet
    >>> @whet.jit.trace
    ... def double(x):
    ...     return x * 2
    >>> _ = double(whet.ones(3))
    >>> [str(node) for node in double.recorded.nodes]
    ['%1 = mul(%0, 2)']
    """

    def __init__(self, nodes: Iterable[Node], types: dict[int, Type], inputs: Iterable[Input],
                 results: Iterable[Sequence[Any]], name: str = "",
                 streams: Iterable[Sequence[int]] = ()) -> None:
        self.nodes, self.types, self.inputs = list(nodes), dict(types), list(inputs)
        self.name = name
        self.results = [(v, name) for v, name in results]
        self.streams = [(seed, offset) for seed, offset in streams]

    @classmethod
    def of(cls, nodes: Iterable[Node], arrays: Any, inputs: Sequence[Input], results: Sequence[Any],
           name: str = "") -> Graph:
        """The graph of recorded nodes; `arrays` has the type of each value."""
        streams = Streams()
        made = [n.detached(streams) for n in nodes]
        used = {*(x.value for x in inputs), *(v for v, _ in results),
                *(v for n in made for v in n.values())}
        return cls(made, {v: Type.of(arrays[v]) for v in sorted(used)}, inputs, results, name,
                   streams.positions)

    def roots(self) -> dict[int, int]:
        """value -> the value that owns its memory: a view shares the memory of its operand."""
        root = {x.value: x.value for x in self.inputs}
        for n in self.nodes:
            for m in n.flat():
                for o in m.outs:
                    root[o] = root.get(m.ins[0], m.ins[0]) if m.is_view else o
            if type(n) is Roll:
                root.update((o, o) for o in n.outs)
        return root

    @property
    def constants(self) -> list[Array]:
        """The arrays among the attributes and guards, in order."""
        out: list[Array] = []

        def look(x: Any) -> None:
            if isinstance(x, np.ndarray):
                out.append(x)
            elif isinstance(x, tuple | list):
                for y in x:
                    look(y)
        for n in self.nodes:
            for m in (x for one in (n.loop.body if type(n) is Roll else [n]) for x in one.walk()):
                look([m.ins, list(m.attrs.values()), m.expected if type(m) is Guard else None])
        return out

    def facts(self) -> tuple[Any, ...]:
        """Everything that distinguishes this graph, in a form that can be compared: numbers by type
        and bits."""
        return ([n.facts() for n in self.nodes], self.types, self.inputs, self.results, self.name,
                self.streams)

    def __eq__(self, other: object) -> bool:
        return type(other) is Graph and self.facts() == other.facts()

    __hash__ = object.__hash__

    def text(self, table: Table | None = None) -> str:
        """The graph as text. Arrays of more than 64 elements are put into `table` and named by
        their places in it."""
        out = [f"graph {json.dumps(self.name)}:"]
        out += [
            f"  stream {i} = ({seed}, {offset})" for i, (seed, offset) in enumerate(self.streams)]
        out += ["  " + input_line(x, self.types) for x in self.inputs]
        out += lines(self.nodes, self.types, "  ", [] if table is None else table)
        return "\n".join([*out, "  " + return_line(self.results)])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return (
            f"<graph {self.name}: {len(self.nodes)} nodes, {len(self.inputs)} inputs, "
            f"{len(self.results)} results>")

    def _repr_html_(self) -> str:
        from .folded_drawing import picture
        return (f'<div style="overflow: auto; max-height: 40em">{picture(self).svg()}</div>'
                f"<p>{html.escape(repr(self))}</p>")
