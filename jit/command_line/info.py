"""`whet info` and `whet view`: what is in an archive."""

from __future__ import annotations

import argparse
import os

from whet.ir.values import Type

from .sources import opened


def info(options: argparse.Namespace) -> None:
    """Say what is in an archive."""
    model = opened(options.model)
    made = getattr(model, "manifest", None)
    maker = f", made by whet {made.get('whet')} on {made.get('machine')}" if made else ""
    print(f"{model.name}: {os.path.getsize(options.model):,} bytes{maker}")
    for title, lines in (
        ("inputs", list(map(repr, model.inputs))),
        ("results", list(map(repr, model.results))),
        (
            "weights",
            [
                f"{k}: {Type.of(t._array)}, {t._array.nbytes:,} bytes"
                for k, t in model.constants.items()
            ],
        ),
        ("rewrites", model.rewrites),
        ("preconditions", list(map(repr, model.preconditions))),
    ):
        print(f"{title}: {'' if lines else 'none'}")
        for line in lines:
            print(f"  {line}")
    print(f"graph: {len(model.graph.nodes)} nodes, {model.nbytes:,} bytes of weights")
    if options.graph:
        print(model.graph)


def view(options: argparse.Namespace) -> None:
    """Write the page of an archive."""
    print(opened(options.model).show(options.output))
