"""`whet run` and `whet verify`: a model on arrays from files, and on its own sample."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
import whet


def run(given: argparse.Namespace) -> None:
    """Run a model on the arrays of files."""
    model = whet.load(given.model)
    arrays = in_order([v.name for v in model.inputs], given.inputs)
    for v, a in zip(model.inputs, arrays):
        if a.dtype != v.type.dtype or a.shape != v.type.shape:
            raise ValueError(
                f"input `{v.name}` is {v.type}, but the file has {a.dtype}{list(a.shape)}"
            )
    made = dict(
        zip([v.name for v in model.results], model.run([np.ascontiguousarray(a) for a in arrays]))
    )
    if given.output is None:
        for name, a in made.items():
            print(f"{name}:\n{a}")
        return
    ending = os.path.splitext(given.output)[1]
    if ending == ".npz":
        np.savez(given.output, **made)
    elif ending == ".npy" and len(made) == 1:
        np.save(given.output, *made.values())
    else:
        raise ValueError(
            f"the output is an .npz, or an .npy for one result, not {given.output!r} for "
            f"{len(made)}"
        )


def in_order(names: list[str], files: list[str]) -> list[Any]:
    """The arrays of files in the order of the inputs' names."""
    found: dict[str, Any] = {}
    free = iter(names)
    for file in files:
        name, is_named, path = file.partition("=")
        path = path if is_named else file
        if path.endswith(".npz"):
            with np.load(path, allow_pickle=False) as z:
                found.update({k: z[k] for k in z.files})
            continue
        name = name if is_named else next(free, "")
        if not name:
            raise ValueError(f"{path}: the model has only {len(names)} inputs ({', '.join(names)})")
        found[name] = np.load(path, allow_pickle=False)
    missing, unknown = [k for k in names if k not in found], [k for k in found if k not in names]
    if missing or unknown:
        wrong = (
            f"input `{missing[0]}` is missing" if missing else f"there is no input `{unknown[0]}`"
        )
        raise ValueError(f"{wrong}; the model takes {', '.join(names)}")
    return [found[k] for k in names]


def verify(given: argparse.Namespace) -> None:
    """Run the sample of an archive."""
    model = whet.load(given.model)
    model.verify()
    print(f"{model.name}: the sample gives the same bits, {len(model.results)} results")
