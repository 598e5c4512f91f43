"""Detects whether what a run computes depends on data that are new at each call.

A mask decides how many rows `x[mask]` has. If it is computed from an argument that is another
tensor each time, that number mostly differs between calls. The mask of a graph's training nodes is
the same tensor at each call, so their number is the same too."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir.graph import Draw

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from .recorder import Recorder


def made_of(nodes: Sequence[Node], n: int) -> set[int]:
    """All values on which a value depends, including itself."""
    makers = {o: node for node in nodes for o in node.outs}
    found, todo = {int(n)}, [int(n)]
    while todo:
        if (node := makers.get(todo.pop())) is not None:
            new = {int(x) for x in node.refs()} - found
            found |= new
            todo += new
    return found


def is_new_data(rec: Recorder, n: int) -> bool:
    """Does a value depend on arguments that were other tensors at the previous call, on numbers in
    Python's state that vary, or on random numbers?"""
    found = made_of(rec.nodes, n)
    return (any(id(rec.outside[x]) in rec.new_arguments for x in found if x in rec.outside)
            or any(isinstance(node, Draw) and not found.isdisjoint(node.outs)
                   for node in rec.nodes))
