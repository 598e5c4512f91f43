"""An exported function as a page: its graph as it is and as it runs."""

from __future__ import annotations

import html
import os
import tempfile
from typing import Any

from whet.ir import cost, drawing
from whet.ir.drawing import amount
from whet.ir.folded_drawing import Folded
from whet.ir.graph import Graph

from ..report.page import details, document, figures, framed, views_of


def page(e: Any, inside: bool) -> str:
    """HTML without the outer elements of a document; `inside`: of another page, of a certain
    height."""
    program = e.compiled.program
    runs = Graph(
        program.nodes, dict(enumerate(program.arrays)), e.graph.inputs, e.graph.results, e.name
    )
    colours = drawing.kernels(runs)
    python = {id(n) for n in program.called}
    notes = {i: "in Python" for i, n in enumerate(program.nodes) if id(n) in python}
    graphs = [
        views_of(Folded(runs, colours, notes, frozenset())),
        views_of(Folded(e.graph, colours, {}, frozenset())),
    ]
    flops = sum(cost.operations(n, e.graph.types) for n in e.graph.nodes)
    facts = [
        (f"{len(e.graph.nodes)} → {len(runs.nodes)}", "nodes, exported → run"),
        (program.launches, "kernel launches"),
        (amount(e.nbytes), "constants"),
        (amount(flops, "flop"), "computed"),
        (amount(sum(program.footprint().values())), "held at most"),
    ]
    more = details("What must be so of a call", [repr(p) for p in e.preconditions])
    more += details("What was rewritten", e.rewrites)
    return str(
        framed(
            html.escape(e.name), figures(facts), ("As it runs", "As exported"), graphs, more, inside
        )
    )


def show(e: Any, path: str | os.PathLike[str] | None) -> str:
    """Write the page; gives the path."""
    if path is None:
        handle, path = tempfile.mkstemp(prefix=f"whet-{e.name.strip('<>')}-", suffix=".html")
        os.close(handle)
    path = os.fspath(path)
    if not path.lower().endswith((".html", ".htm")):
        raise ValueError(f"show(): a path ends in .html or .htm, not {path!r}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(document(e.name, page(e, inside=False)))
    return path
