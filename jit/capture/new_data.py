"""Whether what a run computes is made of data that is new at each call.

A mask that is an argument, or made of one, decides how many rows `x[mask]` has: another number at
nearly each call, where the argument is another tensor each time. A mask of a graph's training nodes
is the same tensor at each call, and so is their number.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir.graph import Draw

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from .recorder import Recorder


def made_of(nodes: Sequence[Node], n: int) -> set[int]:
    """The values that a value is made of, itself among them."""
    makers = {o: node for node in nodes for o in node.outs}
    found, todo = {int(n)}, [int(n)]
    while todo:
        if (node := makers.get(todo.pop())) is not None:
            new = {int(x) for x in node.refs()} - found
            found |= new
            todo += new
    return found


def is_new_data(rec: Recorder, n: int) -> bool:
    """Is a value of a run made of arguments that were other tensors at the call before, or of
    random numbers?"""
    found = made_of(rec.nodes, n)
    return (any(id(rec.outside[x]) in rec.new_arguments for x in found if x in rec.outside)
            or any(isinstance(node, Draw) and not found.isdisjoint(node.outs)
                   for node in rec.nodes))
