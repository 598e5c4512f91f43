"""Pools on devices: windows are described by tables, as on the CPU."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..cpu import pooling, window_geometry
from ..dtypes import FROM_NUMPY
from ..ir import scalar as S
from .arrays import DeviceArray, empty
from .convolutions import computed, row_major
from .gathers import cast, lowered
from .launch import launch
from .pointwise import Expressions, compute, fill, is_wide
from .transfers import to_device

I64 = np.dtype(np.int64)


def run(x: DeviceArray, windows: Sequence[Any], kind: str,
        divisors: Sequence[np.ndarray] | None = None,
        index: DeviceArray | None = None) -> list[DeviceArray]:
    """A pool over windows (first, end, distance of taps) along each axis; divisors along each;
    the places that a pool's outputs were taken from."""
    from ..passes.lower_triton import windows as lower
    wide = computed(x)
    shape = (*x.shape[:2], *(len(w[0]) for w in windows))
    results = [empty(x.index, shape, wide.dtype)]
    if kind == "max_index":
        results.append(empty(x.index, shape, I64))
    if prod(shape):
        axes = pooling.three_axes(x.shape[2:], windows)
        arrays: dict[str, Any] = {"x": wide, "y": results[0]}
        if kind == "max_index":
            arrays["index"] = results[1]
        if index is not None:
            arrays["index"] = row_major(index)
        bounds = pooling.bounds_of(axes)
        sizes = [len(b[1]) for b in bounds]
        numbers = {"n": prod(shape), "n1": sizes[0], "n2": sizes[1], "n3": sizes[2]}
        numbers |= dict(zip(("depth", "height", "width"), (n for n, _ in axes), strict=True))
        for a, (low, high, _, _), (_, (_, _, step)) in zip("zyx", bounds, axes, strict=True):
            arrays[f"low_{a}"], arrays[f"high_{a}"] = (
                to_device(np.ascontiguousarray(t, np.int64), x.index) for t in (low, high))
            numbers[f"step_{a}"] = int(step)
            numbers[f"most_{a}"] = max(0, int((-(-(high - low) // step)).max(initial=0)))
        if divisors is not None:
            for a, by in zip("zyx", [*[np.ones(1)] * (3 - len(divisors)), *divisors], strict=True):
                arrays[f"by_{a}"] = to_device(np.asarray(by, np.float64), x.index)
        dtype = FROM_NUMPY[wide.dtype].short
        far = is_wide([wide.geometry, results[0].geometry])
        source = lowered(("pool", kind, dtype, far), lambda: lower.lower_pool(kind, dtype, far))
        launch(x.index, source, {k: a.geometry for k, a in arrays.items()}, numbers)
    return [cast(results[0], x.dtype), *results[1:]]


# ---- what ops ask for ----------------------------------------------------------------------------
def plain(x: DeviceArray, kernel: Any, stride: Any, padding: Any, dilation: Any,
          ceil_mode: bool) -> list[Any]:
    """The windows of a plain pool."""
    out = window_geometry.out_sizes(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    return along_axes(x.shape[2:], out, kernel, stride, padding, dilation)


def along_axes(*axes: Sequence[int]) -> list[Any]:
    """The windows along each axis, from the sizes of input and output, kernels, strides, paddings
    and dilations."""
    return [pooling._windows(*a) for a in zip(*axes, strict=True)]


def max_pool(x: DeviceArray, **at: Any) -> tuple[DeviceArray, ...]:
    """The largest element of each window, and its index."""
    return tuple(run(x, plain(x, **at), "max_index"))


def max_pool_values(x: DeviceArray, **at: Any) -> DeviceArray:
    """The largest of each window."""
    return run(x, plain(x, **at), "max")[0]


def adaptive(sizes: Sequence[int], output_size: Sequence[int]) -> list[Any]:
    """Windows that cover an image evenly."""
    return [pooling._adaptive(*a) for a in zip(sizes, output_size, strict=True)]


def adaptive_max_pool(x: DeviceArray, *, output_size: Sequence[int]) -> tuple[DeviceArray, ...]:
    """The largest element of each of the windows that cover the image evenly, and its index."""
    return tuple(run(x, adaptive(x.shape[2:], output_size), "max_index"))


def adaptive_max_pool_values(x: DeviceArray, *, output_size: Sequence[int]) -> DeviceArray:
    """The largest of windows that cover the image evenly."""
    return run(x, adaptive(x.shape[2:], output_size), "max")[0]


def avg_pool(x: DeviceArray, *, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
             count_include_pad: bool, divisor_override: int | None) -> DeviceArray:
    """The mean of each window."""
    windows = plain(x, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    out = [len(w[0]) for w in windows]
    by = window_geometry.pool_divisors(
        x.shape[2:], out, kernel, stride, padding, count_include_pad, divisor_override)
    return run(x, windows, "mean", by)[0]


def avg_pool_grad(g: DeviceArray, *, x_shape: Sequence[int], kernel: Any, stride: Any, padding: Any,
                  ceil_mode: bool, count_include_pad: bool,
                  divisor_override: int | None) -> DeviceArray:
    """For each input the divided gradients of its windows, in order."""
    axes = list(zip(x_shape[2:], g.shape[2:], kernel, stride, padding, strict=True))
    by = window_geometry.pool_divisors(
        x_shape[2:], g.shape[2:], kernel, stride, padding, count_include_pad, divisor_override)
    return run(g, [pooling._covering(pooling._windows(*a), a[0]) for a in axes], "spread", by)[0]


def adaptive_avg_pool(x: DeviceArray, *, output_size: Sequence[int]) -> DeviceArray:
    """The mean of windows that cover the image evenly."""
    windows = adaptive(x.shape[2:], output_size)
    return run(x, windows, "mean", [hi - lo for lo, hi, _ in windows])[0]


def adaptive_avg_pool_grad(g: DeviceArray, *, x_shape: Sequence[int]) -> DeviceArray:
    """The gradient of `adaptive_avg_pool`."""
    windows = adaptive(x_shape[2:], g.shape[2:])
    covering = [pooling._covering(w, n) for w, n in zip(windows, x_shape[2:], strict=True)]
    return run(g, covering, "spread", [hi - lo for lo, hi, _ in windows])[0]


def max_pool_grad(g: DeviceArray, index: DeviceArray, *, x_shape: Sequence[int],
                  **at: Any) -> DeviceArray:
    """For each input the gradients of the windows that took it, in order."""
    sizes = x_shape[2:]
    windows = (adaptive(sizes, g.shape[2:]) if "output_size" in at else
               along_axes(sizes, g.shape[2:], at["kernel"], at["stride"], at["padding"],
                          at["dilation"]))
    covering = [pooling._covering(w, n) for w, n in zip(windows, sizes, strict=True)]
    return run(g, covering, "taken", index=index)[0]


def max_unpool(x: DeviceArray, index: DeviceArray, *, output_size: Sequence[int],
               **window: object) -> DeviceArray:
    """Each element at its index of the flattened output plane, zeros elsewhere; the last stays."""
    from ..ops.indexed_elements import Named, Written
    from . import scatters
    planes, count = prod(x.shape[:2]), prod(x.shape[2:])
    out = empty(x.index, (planes, prod(output_size)), x.dtype)
    fill(out, 0)
    at = row_major(index).reshape(planes, count)
    scatters.write("max_unpool", out,
                   Written(Named((at,), (1,), each=True, error=RuntimeError),
                           row_major(x).reshape(planes, count)))
    return out.reshape(*x.shape[:2], *output_size)


# ---- blocks --------------------------------------------------------------------------------------
def unfold_windows(x: DeviceArray, **at: Any) -> DeviceArray:
    """The windows as columns, with zeros for taps outside of the image."""
    from . import moves
    sizes = window_geometry.out_sizes(
        x.shape[2:], at["kernel"], at["stride"], at["padding"], at["dilation"])
    shape = x.shape[0], x.shape[1] * prod(at["kernel"]), prod(sizes)
    out = empty(x.index, shape, x.dtype)
    moves.apply(out, window_geometry.unfold_moves(out.geometry, x.geometry, **at), (x,))
    return out


def fold_windows(columns: DeviceArray, *, output_size: Sequence[int], kernel: Any,
                 dilation: Any, padding: Any, stride: Any) -> DeviceArray:
    """Add every column's elements to the places that they were taken from, one tap after the
    other."""
    wide = computed(columns)
    sizes = window_geometry.out_sizes(output_size, kernel, stride, padding, dilation)
    planes = columns.shape[0], columns.shape[1] // prod(kernel)
    out = empty(columns.index, (*planes, *output_size), wide.dtype)
    fill(out, 0)
    parts = wide.reshape(*planes, *kernel, *sizes)
    added = Expressions("add", (S.arg(0) + S.arg(1),))
    for t, o, i in window_geometry.taps(output_size, sizes, kernel, stride, padding, dilation):
        to = out[(..., *i)]
        if to.size:
            compute(added, [to, parts[(slice(None), slice(None), *t, *o)]], out.index, [to])
    return cast(out, columns.dtype)
