"""Running sums, products and extrema on devices, in the CPU's order."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..cpu.reduce import accumulator
from ..cpu.scan import out_type
from ..dtypes import FROM_NUMPY
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import copied

I64 = np.dtype(np.int64)
KINDS = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min",
         "logcumsumexp": "logsumexp"}

_sources: dict[Any, Any] = {}


def of_op(name: str, x: DeviceArray, dim: int) -> DeviceArray | tuple[DeviceArray, ...]:
    """What a scan gives along a dimension."""
    kind = KINDS[name]
    out = x.dtype if kind in ("max", "min", "logsumexp") else out_type(x.dtype)
    made = run(kind, x, dim, out)
    return tuple(made) if kind in ("max", "min") else made[0]


def run(kind: str, x: DeviceArray, dim: int, out: np.dtype) -> list[DeviceArray]:
    """A scan, and the positions of extrema."""
    from ..passes.lower_triton import scans as lower
    if x.dtype.kind == "c" or x.ndim == 0 or x.shape[dim] >= 1 << 31:
        raise NoForm(x.dtype.name)
    names = FROM_NUMPY[x.dtype].short, FROM_NUMPY[out].short
    acc = names[0] if kind in ("max", "min") else accumulator(names[1])
    types = [out, I64] if kind in ("max", "min") else [out]
    results = [empty(x.index, x.shape, t) for t in types]
    if x.size:
        key = kind, *names
        if key not in _sources:
            _sources[key] = lower.lower(kind, names[0], acc, names[1])
        flat = x if x.flags.c_contiguous else copied(x)
        n = x.shape[dim]
        arrays = {"x": flat.geometry, **{f"y{k}": y.geometry for k, y in enumerate(results)}}
        launch(x.index, _sources[key], arrays,
               {"n": n, "lines": x.size // n, "columns": prod(x.shape[dim % x.ndim + 1:])})
    return results
