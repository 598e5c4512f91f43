"""`whet export` and `whet quantize`: models become archives, ONNX files and libraries."""

from __future__ import annotations

import argparse
from typing import Any

import whet

from . import sources
from .arrays import in_order, typed


def export(options: argparse.Namespace) -> None:
    """Write a source as an archive, an ONNX file or a library."""
    model = sources.exported(options.source, options.inputs, options.dynamic, options.rewrite)
    print(model)
    sources.write(model, options.output)


def quantize(options: argparse.Namespace) -> None:
    """Write a model whose layers compute with bytes, and say what that does to each."""
    from whet.jit import quantize as q

    model = sources.opened(options.model)
    if options.calls:
        made = q.static(
            model,
            [call(model, file) for file in options.calls],
            calibrate=options.calibrate,
            symmetric=options.symmetric,
            per_channel=not options.per_tensor,
            leave=options.leave,
        )
    else:
        made = q.convert(model, *map(whet.from_numpy, model.samples.inputs), leave=options.leave)
    if not made.report.layers:
        raise ValueError("no layer became one of bytes: give typical calls")
    print(made.report)
    sources.write(made, options.output)


def call(model: Any, file: str) -> tuple[Any, ...]:
    """The arguments of a call, of a file."""
    arrays = in_order([v.name for v in model.inputs], [file])
    tensors = [whet.from_numpy(typed(a, v.type.dtype)) for v, a in zip(model.inputs, arrays)]
    return tuple(model.signature.positional(tensors))
