"""An exported function becomes an archive."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
from whet.autograd.modes import beyond
from whet.ir.parse import parse
from whet.ir.values import Array

from . import checks, tensor_file
from .archive_format import (
    BODY,
    COUNTED,
    EXTRA,
    FIRST,
    FORMAT,
    FORMULAS,
    GRAPH,
    MANIFEST,
    SAMPLES,
    SIGNATURE,
    SIZED,
    WEIGHTS,
)
from .control_graphs import NAMED, apart
from .errors import ExportError
from .question_facts import said_facts
from .sizes_text import has_counts, has_formulas, has_fractions, said_sizes
from .tree_text import said_signature
from .zip_file import write


def save(e: Any, path: Any, extra_files: Mapping[str, str | bytes]) -> None:
    """Write an archive to a path or a binary file."""
    beyond("it saves something")
    g, bodies = apart(e.graph)
    if bodies and e.sized is not None:
        raise ExportError(f"{e.name} cannot be saved: control flow with sizes that differ")
    try:
        checks.check(g, {k: t._array for k, t in e.constants.items()})
        for b in bodies:
            checks.check(b, {})
    except checks.Unsound as why:
        raise ExportError(f"{e.name} cannot be saved: {why}") from None
    table: list[Array] = []
    text, *others = (x.text(table) for x in (g, *bodies))
    weights = {k: t._array for k, t in e.constants.items()}
    weights |= {f"@{i}": a for i, a in enumerate(table)}
    try:
        for said_, wanted in zip((text, *others), (g, *bodies)):
            if parse(said_, table, NAMED) != wanted:
                raise ValueError("its text reads as another graph")
    except ValueError as why:
        raise ExportError(f"{e.name} cannot be saved: {why}") from None
    samples = {f"input.{v.name}": a for v, a in zip(e.inputs, e.samples.inputs)}
    samples |= {f"result.{v.name}": a for v, a in zip(e.results, e.samples.results)}
    write(
        path,
        {
            MANIFEST: [as_json(manifest(e, bool(bodies)))],
            GRAPH: [text.encode()],
            **{BODY.format(i): [b.encode()] for i, b in enumerate(others)},
            SIGNATURE: [as_json(said_signature(e.signature))],
            SAMPLES: tensor_file.parts(samples),
            WEIGHTS: tensor_file.parts(weights),
            **{EXTRA + name: [text.encode() if isinstance(text, str) else text]
               for name, text in extra_files.items()},
        },
    )


def manifest(e: Any, has_bodies: bool) -> dict[str, Any]:
    """What the file is, and what made it. Its format is the oldest that has all that is in it."""
    from whet.passes.lower_llvm.targets import current

    sizes = {} if e.sized is None else {"sizes": said_sizes(e.sized, e.inputs, e.results)}
    formulas = e.sized is not None and has_formulas(e.sized)
    fractions = e.sized is not None and has_fractions(e.sized)
    counts = e.sized is not None and has_counts(e.sized)
    return {
        "format": FORMAT if fractions else FORMULAS if formulas else COUNTED if counts
        else SIZED if sizes or has_bodies else FIRST,
        **sizes,
        "name": e.name,
        "rewrites": e.rewrites,
        "facts": said_facts(e.graph),
        "whet": importlib.metadata.version("whet"),
        "numpy": np.__version__,
        "machine": f"{platform.machine()} {current().name}",
    }


def as_json(x: Any) -> bytes:
    """Plain data as JSON."""
    return json.dumps(x, indent=1).encode()
