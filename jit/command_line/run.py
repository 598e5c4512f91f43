"""`whet run` and `whet verify`: a model on arrays from files, and on its own sample."""

from __future__ import annotations

import argparse
import os

import numpy as np

from .arrays import in_order, typed
from .sources import opened


def run(options: argparse.Namespace) -> None:
    """Run a model on the arrays of files."""
    model = opened(options.model)
    arrays = in_order([v.name for v in model.inputs], options.inputs)
    arrays = [typed(a, v.type.dtype) for v, a in zip(model.inputs, arrays)]
    for v, a in zip(model.inputs, arrays):
        fixed = zip(v.sizes, a.shape) if a.ndim == len(v.sizes) else [("0", 1)]
        differs = any(n.isdecimal() and int(n) != m for n, m in fixed)
        if a.dtype != v.type.dtype or differs:
            raise ValueError(
                f"input `{v.name}` is {v.type_text}, but the file has {a.dtype}{list(a.shape)}"
            )
    made = dict(
        zip([v.name for v in model.results], model.run([np.ascontiguousarray(a) for a in arrays]))
    )
    if options.output is None:
        for name, a in made.items():
            print(f"{name}:\n{a}")
        return
    ending = os.path.splitext(options.output)[1]
    if ending == ".npz":
        np.savez(options.output, **made)
    elif ending == ".npy" and len(made) == 1:
        np.save(options.output, *made.values())
    else:
        raise ValueError(
            f"the output is an .npz, or an .npy for one result, not {options.output!r} for "
            f"{len(made)}"
        )


def verify(options: argparse.Namespace) -> None:
    """Run the sample of an archive."""
    model = opened(options.model)
    model.verify()
    print(f"{model.name}: the sample gives the same bits, {len(model.results)} results")
