"""The inputs and results of a graph, as users see them: without strides, as a call may lay them
out as it likes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whet.ir.graph import Graph
from whet.ir.values import Type

from .dims import Dims
from .signature import Value


def inputs(g: Graph, dims: Dims | None = None) -> list[Value]:
    """The inputs that are no constants."""
    out = []
    for i, x in enumerate(x for x in g.inputs if x.place != "constant"):
        t = g.types[x.value]
        axes = {} if dims is None else dims.places.get(i, {})
        sizes = [
            dims.names[axes[k]] if dims is not None and k in axes else str(n)
            for k, n in enumerate(t.shape)
        ]
        out.append(Value(x.name, Type(t.dtype, t.shape), sizes))
    return out


def results(g: Graph, sizes: Sequence[Any]) -> list[Value]:
    """The results; `sizes` are texts of their sizes, or None."""
    found = [(name, g.types[v]) for v, name in g.results]
    return [
        Value(name, Type(t.dtype, t.shape), s) for (name, t), s in zip(found, sizes, strict=True)
    ]
