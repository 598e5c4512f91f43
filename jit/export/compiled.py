"""A graph as a program that is called with arrays."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from whet.ir.graph import Graph
from whet.tensor import Tensor

from ..program import builder
from ..program.program import Program
from ..values.same_bits import template
from .layouts import layouts


class Compiled:
    """The program of a graph whose `constants` have their values. Calls come one at a time."""

    def __init__(self, g: Graph, constants: Mapping[str, Tensor]) -> None:
        self.graph, self.lock = g, threading.Lock()
        own = [x for x in g.inputs if x.place == "constant"]
        self.inputs = [x.value for x in g.inputs if x.place != "constant"]
        self.types = [g.types[v] for v in self.inputs]
        self.held = [constants[x.name]._array for x in own]
        self.values = [v for v, _ in g.results]
        outside = [*self.inputs, *(x.value for x in own)]
        steady = {x.value: constants[x.name] for x in own}
        self.program: Program = builder.build(
            g.nodes, layouts(g), outside, self.values, builder.Options(steady=steady)
        )
        self.shared = self.are_shared(outside)

    def are_shared(self, outside: Sequence[int]) -> list[bool]:
        """Which results are in the memory of an input, of a constant or of an earlier result."""
        roots, seen, out = self.graph.roots(), set(outside), []
        for v in self.values:
            r = roots.get(v, v)
            out.append(r in seen)
            seen.add(r)
        return out

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for inputs of the graph's types, each in memory of its own."""
        laid = [
            a if a.strides == t.strides and a.flags.aligned else lying(a, t)
            for a, t in zip(arrays, self.types)
        ]
        with self.lock:
            env = self.program([*laid, *self.held])
            made = [env[v] for v in self.values]
            return [a.copy() if shared else a for a, shared in zip(made, self.shared)]


def lying(a: Any, t: Any) -> Any:
    """An array laid out as the graph has it."""
    if not a.size:
        return a
    out = template(t)
    np.copyto(out, a)
    return out
