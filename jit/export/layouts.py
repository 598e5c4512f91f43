"""The memory layouts of a graph's values: an array for each, in no memory, views where their
operand's is."""

from __future__ import annotations

from typing import Any

import numpy as np
from whet.ir.graph import Graph, OpNode
from whet.ir.memory_spans import span
from whet.ir.values import Type

from ..program.value_layouts import Addresses


def layouts(g: Graph) -> list[Any]:
    """The arrays of a graph's values, by number. Raises ValueError where a view has another layout
    than the graph says."""
    addresses = Addresses()
    size = 1 + max((*g.types, -1))
    arrays: list[Any] = [None] * size
    for x in g.inputs:
        arrays[x.value] = addresses.like(g.types[x.value])
    roots = g.roots()
    for n in g.nodes:
        if isinstance(n, OpNode) and n.is_view and arrays[n.ins[0]] is not None:
            made = n.op.forward(arrays[n.ins[0]], *n.ins[1:], **n.attrs)
            for o, a in zip(n.outs, made if type(made) is tuple else (made,), strict=True):
                if not inside(a, arrays[roots[n.ins[0]]]):
                    raise ValueError(f"%{o} reaches out of the memory that it is a view of")
                if Type.of(a) != g.types[o] and a.size:
                    raise ValueError(
                        f"%{o} has another layout in its operand than stated: {Type.of(a)}, "
                        f"not {g.types[o]}"
                    )
                arrays[o] = a if a.size else addresses.like(g.types[o])
        else:
            for o in n.outs:
                arrays[o] = addresses.like(g.types[o])
    nothing = np.empty(0, np.uint8)
    return [nothing if a is None else a for a in arrays]


def inside(a: Any, root: Any) -> bool:
    """Is an array in the memory of another?"""
    (low, high), (first, end) = span(a), span(root)
    return not a.size or first <= low and high <= end
