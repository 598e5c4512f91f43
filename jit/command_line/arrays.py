"""Arrays of files for a model's inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from whet.ir.values import DType


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


def typed(a: Any, dtype: DType) -> Any:
    """An array of a file, of the type that an input has: files hold 16-bit floats that NumPy has
    no name for as bytes."""
    is_bytes = a.dtype.kind == "V" and a.dtype.itemsize == dtype.itemsize
    return a.view(dtype) if is_bytes else a
