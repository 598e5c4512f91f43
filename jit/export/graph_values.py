"""The inputs and results of a graph, as users see them."""

from __future__ import annotations

from whet.ir.graph import Graph
from whet.ir.values import Type

from .signature import Value


def values(g: Graph, given: bool) -> list[Value]:
    """The inputs that are no constants, or the results of a graph, without strides: a call may lay
    them out as it likes."""
    if given:
        found = [(x.name, x.value) for x in g.inputs if x.place != "constant"]
    else:
        found = [(name, v) for v, name in g.results]
    types = [g.types[v] for _, v in found]
    return [Value(name, Type(t.dtype, t.shape)) for (name, _), t in zip(found, types)]
