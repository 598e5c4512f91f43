"""Control flow in an archive: each body of a `cond` or `while_loop` is a graph of its own, which
the node names by its number.

    %3 = cond(%2, %0, true=(0, (1,)), false=(1, (1,)))      graphs 0 and 1, of operand 1
    %4 = while_loop(%0, ask=(2, (0,)), body=(3, (0,)), ways=((True, 0),))

Numbers of bodies within bodies are larger, so that none is within itself.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from whet.ir.graph import Graph, Input, Node, OpNode
from whet.ir.values import Type
from whet.ops.registry import Op

from ..capture.control_nodes import Body, Cond, Control, NextValue, While
from ..program.program import Program
from . import checks
from .layouts import layouts


class Named(Op):
    """Stands for the op of such a node in a file, until `Linker` replaces it and checks the
    types."""

    family = "control"
    ours = True
    may_fail = True

    def __init__(self, name: str, bodies: Sequence[str]) -> None:
        super().__init__(name, register=False)
        self.bodies_of = tuple(bodies)

    def forward(self, *arrays: Any, **attrs: Any) -> Any:
        raise ValueError(f"{self.name} is not linked with its bodies")


NAMED = {
    "cond": Named("cond", ("true", "false")),
    "while_loop": Named("while_loop", ("ask", "body")),
}


# ---- writing -------------------------------------------------------------------------------------
def apart(g: Graph) -> tuple[Graph, list[Graph]]:
    """The graph with bodies named, and the bodies."""
    bodies: list[Graph] = []
    nodes = [without_bodies(n, bodies) for n in g.nodes]
    if not bodies:
        return g, bodies
    return Graph(nodes, g.types, g.inputs, g.results, g.name, g.streams), bodies


def without_bodies(n: Node, bodies: list[Graph]) -> Node:
    """A node that names its bodies by number. The bodies are added to the list."""
    if not isinstance(n.op, Control):
        return n
    attrs: dict[str, Any] = {}
    for name, b in n.op.bodies.items():
        number = len(bodies)
        bodies.append(Graph([], {}, [], []))
        inner = [without_bodies(m, bodies) for m in b.nodes]
        inputs = [Input(v, f"argument {i}", f"x{i}") for i, v in enumerate(b.inputs)]
        wanted = [(v, "") for v in b.results]
        bodies[number] = Graph.of(inner, b.program.arrays, inputs, wanted, name)
        attrs[name] = number, tuple(b.at)
    if isinstance(n.op, While):
        attrs["ways"] = tuple((bool(c.is_made), c.place) for c in n.op.following)
    return OpNode(NAMED[n.op.name], n.ins, attrs, n.outs, n.line)


# ---- reading -------------------------------------------------------------------------------------
class Read(Body):
    """A body from a file. Its program is made on first use, after the graph was checked. `written`:
    the graph as in the file; `g`: the same with the bodies of inner nodes."""

    def __init__(self, g: Graph, written: Graph, at: Sequence[int], most: int) -> None:
        self.graph, self.written, self.most = g, written, most
        self.nodes, self.results = g.nodes, [v for v, _ in g.results]
        self.inputs, self.at = [x.value for x in g.inputs], list(at)

    @functools.cached_property
    def program(self) -> Program:  # type: ignore[override]
        """The program."""
        checks.check_whole(self.written, self.most)
        return self.built(layouts(self.graph))

    @property
    def types(self) -> list[Type]:
        """What it gives."""
        return [self.graph.types[v] for v in self.results]


class Linker:
    """Replaces the names of bodies by the bodies. Each body belongs to one node. `ops`: the ops of
    all such nodes, inner ones first."""

    def __init__(self, bodies: Sequence[Graph], most: int) -> None:
        self.bodies, self.most, self.used = list(bodies), most, set[int]()
        self.ops: list[Control] = []

    def graph(self, g: Graph) -> Graph:
        """The graph with its bodies. Raises ValueError."""
        made = self.linked(g, -1)
        if len(self.used) < len(self.bodies):
            raise ValueError("there is a body that no node names")
        return made

    def linked(self, g: Graph, number: int) -> Graph:
        """A graph, which is body `number`, with the bodies of its nodes."""
        nodes = [self.node(n, g, number) for n in g.nodes]
        return Graph(nodes, g.types, g.inputs, g.results, g.name)

    def node(self, n: Node, g: Graph, number: int) -> Node:
        """A node with its bodies."""
        op = n.op
        if not isinstance(op, Named):
            return n
        expected = {*op.bodies_of, *(["ways"] if op.name == "while_loop" else [])}
        if n.attrs.keys() != expected:
            raise ValueError(f"{op.name} has other bodies than {', '.join(op.bodies_of)}")
        types = [g.types[x] for x in n.refs()]
        if len(types) < len(n.ins) or not types:
            raise ValueError(f"{op.name} is given something else than values")
        bodies = {k: self.body(n.attrs[k], types, number) for k in op.bodies_of}
        made = [g.types[o] for o in n.outs]
        linked: Control = (
            cond(bodies, types, made) if op.name == "cond"
            else while_loop(bodies, n.attrs["ways"], types, made))
        self.ops.append(linked)
        return OpNode(linked, n.ins, {}, n.outs, n.line)

    def body(self, named: Any, types: Sequence[Type], outer: int) -> Read:
        """The body that an attribute names."""
        if (
            type(named) is not tuple or len(named) != 2 or type(named[0]) is not int
            or not outer < named[0] < len(self.bodies) or named[0] in self.used
            or type(named[1]) is not tuple
            or not all(type(i) is int and 0 <= i < len(types) for i in named[1])
        ):
            raise ValueError(f"{named!r} names no body")
        number, places = named
        self.used.add(number)
        g = self.bodies[number]
        if [g.types[x.value] for x in g.inputs] != [types[i] for i in places]:
            raise ValueError(f"body {number} is given values of other types")
        checks.check(g, {})
        linked = self.linked(g, number)
        read = list(dict.fromkeys(int(x) for m in linked.nodes for x in m.refs()))
        inputs = [x.value for x in g.inputs]
        if [v for v in read if v in inputs] != inputs:
            raise ValueError(f"body {number} does not read what it is given in order")
        return Read(linked, g, places, self.most)


def cond(bodies: Mapping[str, Read], types: Sequence[Type], made: Sequence[Type]) -> Cond:
    """The op of a `cond`."""
    if types[0].size != 1 or any(b.types != list(made) for b in bodies.values()):
        raise ValueError("the branches of a cond do not give what the graph says")
    return Cond("cond", **bodies)


def while_loop(bodies: Mapping[str, Read], ways: Any, types: Sequence[Type],
               made: Sequence[Type]) -> While:
    """The op of a `while_loop`."""
    after, n = bodies["body"].types, len(made)
    fine = type(ways) is tuple and len(ways) == n and list(made) == list(types[:n]) and all(
        type(w) is tuple and len(w) == 2 and type(w[0]) is bool and type(w[1]) is int
        for w in ways)
    if not fine or any(
        not 0 <= i < (len(after) if new else n) or (after[i] if new else types[i]) != made[k]
        for k, (new, i) in enumerate(ways)
    ):
        raise ValueError("the rounds of a while_loop do not give what they are given")
    if [t.size for t in bodies["ask"].types] != [1]:
        raise ValueError("the question of a while_loop is not one value")
    return While("while_loop", [NextValue(*w) for w in ways], **bodies)
