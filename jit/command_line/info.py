"""`whet info` and `whet view`: what is in an archive."""

from __future__ import annotations

import argparse
import os

import whet
from whet.ir.values import Type


def info(given: argparse.Namespace) -> None:
    """Say what is in an archive."""
    model = whet.load(given.model)
    made = model.manifest
    print(
        f"{model.name}: {os.path.getsize(given.model):,} bytes, made by whet {made.get('whet')} "
        f"on {made.get('machine')}"
    )
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
    if given.graph:
        print(model.graph)


def view(given: argparse.Namespace) -> None:
    """Write the page of an archive."""
    print(whet.load(given.model).show(given.output))
