"""Verifies a graph. Every pass must leave a valid one.

Values are made once, before they are used. Views are in their operand's memory. Every op is asked
again, on stand-ins of the operands' types, what it makes. Operands that are written to exist, and
so do the results. Each kind of node knows what may be wrong with it (`Node.problem`). A graph that
is wrong is shown, with the line that is.
"""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from .graph import Graph
from .text import input_line, return_line
from .values import Type

CHECK = os.environ.get("WHET_CHECK") in ("1", "2")      # verify every graph after each pass


class VerifyError(ValueError):
    """Raised for an invalid graph, with the text of the graph and a mark at the line. `node`: the
    index of the node, None for the graph as a whole."""

    def __init__(self, what: str, g: Graph, at: int | None) -> None:
        self.node = at
        super().__init__(f"{what}\n{_shown(g, at)}")


def verify(g: Graph) -> Graph:
    """The graph itself, if nothing is wrong with it; else a VerifyError.

    >>> import whet
    >>> from whet.ir.parse import parse
    >>> from whet.ir.verify import verify
    >>> g = parse('''graph "wrong":
    ...   %0 = input "argument 0" "x" : f32[3]
    ...   %1 = mul(%0, %2) : f32[3]
    ...   return %1''')
    >>> verify(g)
    Traceback (most recent call last):
    whet.ir.verify.VerifyError: %2 is used before it is made
      graph "wrong":
        %0 = input "argument 0" "x" : f32[3]
    >   %1 = mul(%0, %2) : f32[3]
        return %1
    """
    known: set[int] = set()
    for x in g.inputs:
        if x.value in known:
            raise VerifyError(f"%{x.value} is given twice", g, None)
        if x.value not in g.types:
            raise VerifyError(f"%{x.value} has no type", g, None)
        known.add(x.value)
    for i, n in enumerate(g.nodes):
        problem = n.problem(known, g.types, len(g.streams))
        if problem:
            raise VerifyError(problem, g, i)
    for v, _ in g.results:
        if v not in known:
            raise VerifyError(f"the result %{v} is never made", g, None)
    return g


def _shown(g: Graph, at: int | None) -> str:
    """The graph, with the line of node `at` marked."""
    types = _Lenient(g.types)
    out = [f'  graph "{g.name}":', *(f"    {input_line(x, types)}" for x in g.inputs)]
    for i, n in enumerate(g.nodes):
        shown = list(n.lines(types, "    "))
        out += [">" + shown[0][1:], *shown[1:]] if i == at else shown
    return "\n".join([*out, f"    {return_line([(v, '') for v, _ in g.results])}"])


class _Lenient(dict[int, Any]):
    """Types, with a stand-in for values that have none."""

    def __missing__(self, key: int) -> Type:
        return Type(np.dtype(np.uint8), ())
