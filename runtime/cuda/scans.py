"""Running sums, products and extrema on devices, in the CPU's order."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..cpu.scan import I64, KINDS
from ..dtypes import FROM_NUMPY
from . import device_state as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import copied
from .rows import MEMORY

KIND_OF_OP = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min",
              "logcumsumexp": "logsumexp"}

# a line of fewer elements is not shared; nor are lines where a multiprocessor has more than so many
SHORT, LINES = 64, 1024

_sources: dict[Any, tuple[Any, ...]] = {}


def of_op(name: str, x: DeviceArray, dim: int) -> DeviceArray | tuple[DeviceArray, ...]:
    """What a scan gives along a dimension."""
    kind = KIND_OF_OP[name]
    made = run(kind, x, dim, KINDS[kind].out_type(x.dtype))
    return tuple(made) if len(made) > 1 else made[0]


def run(kind: str, x: DeviceArray, dim: int, out: np.dtype) -> list[DeviceArray]:
    """A scan, and the positions of extrema."""
    if x.dtype.kind == "c" or x.ndim == 0 or x.shape[dim] >= 1 << 31:
        raise NoForm(x.dtype.name)
    names = FROM_NUMPY[x.dtype].short, FROM_NUMPY[out].short
    acc = KINDS[kind].accumulator(*names)
    results = [empty(x.index, x.shape, out)]
    if KINDS[kind].has_positions:
        results.append(empty(x.index, x.shape, I64))
    if x.size:
        flat, n = x if x.flags.c_contiguous else copied(x), x.shape[dim]
        arrays = {"x": flat, **{f"y{k}": y for k, y in enumerate(results)}}
        numbers = {"n": n, "lines": x.size // n, "columns": prod(x.shape[dim % x.ndim + 1:])}
        units = m.machine().properties(x.index).multi_processor_count
        shared = n >= SHORT and numbers["lines"] < LINES * units
        for source in _kernels(shared, kind, names[0], acc, names[1]):
            make_room(source, arrays, numbers, x.index)
            launch(x.index, source, {name: arrays[name].geometry for name, t in source.parameters
                                     if t[0] == "*"}, numbers)
    return results


def make_room(source: Any, arrays: dict[str, DeviceArray], numbers: dict[str, int],
              index: int) -> None:
    """Memory for states of groups and blocks."""
    from ..passes.lower_triton.long_scans import BLOCK, GROUP
    for name, kind in source.parameters:
        if kind[0] == "*" and name not in arrays:
            each = GROUP if name[0] in "tc" else BLOCK
            arrays[name] = empty(index, (numbers["lines"] * -(-numbers["n"] // each),),
                                 MEMORY[kind])


def _kernels(shared: bool, *what: str) -> tuple[Any, ...]:
    """The kernels of a scan: one, or several where lines are shared by many programs."""
    from ..passes.lower_triton import long_scans, scans
    key = shared, *what
    if key not in _sources:
        _sources[key] = (long_scans.lower(*what) if shared else
                         (scans.lower(*what),))
    return _sources[key]
