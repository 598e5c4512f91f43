"""Distances between rows, and sums of weighted differences, by kernels
(`passes/lower_llvm/products/distances.py`) or with NumPy."""
from functools import partial
from math import prod

import numpy as np
from whet.ir.symbolic_size import at_least
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.products import distances as kernels

from . import memory, native, thread_pool
from .conv_plan import scratch
from .reference_only import REFERENCE
from .rows import contiguous

ELEMENTS = {np.dtype("f4"): "float", np.dtype("f8"): "double"}
ROWS = 64               # rows for which columns are brought into order once
UNIT_STEPS = 1 << 17    # differences that are worth a thread of their own


def fits(x):
    """Is there a kernel for this type?"""
    return not REFERENCE and targets.has_fma() and x.dtype in ELEMENTS


def distances(x, y):
    """(..., m, n) of rows (..., m, k) and (..., n, k)."""
    if not fits(x) or not (x.size and y.size):
        with np.errstate(all="ignore"):
            return np.sqrt(((x[..., :, None, :] - y[..., None, :, :]) ** 2).sum(-1))
    out = memory.empty((*x.shape[:-1], y.shape[-2]), x.dtype)
    _launch(contiguous(x), contiguous(y), out, triangle=False)
    return out


def pairs(x):
    """The distance of each of n rows (..., n, k) from each later one, n (n - 1) / 2 of them."""
    n = x.shape[-2]
    if not fits(x) or not x.size or n < 2:
        i, j = np.triu_indices(n, 1)
        with np.errstate(all="ignore"):
            return np.sqrt(((x[..., i, :] - x[..., j, :]) ** 2).sum(-1))
    out = memory.empty((*x.shape[:-2], n * (n - 1) // 2), x.dtype)
    x = contiguous(x)
    _launch(x, x, out, triangle=True)
    return out


def _launch(x, y, out, triangle):
    *batch, m, k = x.shape
    n, elem = y.shape[-2], ELEMENTS[x.dtype]
    room = -(-k * kernels.width(elem) * x.itemsize // 64) * 64
    threads, count = thread_pool.get_num_threads(), prod(batch)
    kernel = native.kernel(f"differences/{'pairs' if triangle else 'distances'}/{elem}",
                           partial(kernels.distances, elem=elem, triangle=triangle))
    grain = at_least(UNIT_STEPS // (ROWS * n * k), 1)
    native.launch(kernel, count * -(-m // ROWS), distribute_units.word(grain, threads), x, y, out,
                  scratch(room * threads), m, n, k, ROWS, room)


def weighted(w, x, y):
    """(..., m, k): of each row of x the sum of w (..., m, n) times its differences from the rows
    of y."""
    if not fits(x) or not (x.size and y.size):
        with np.errstate(all="ignore"):
            return (w[..., None] * (x[..., :, None, :] - y[..., None, :, :])).sum(-2)
    *batch, m, k = x.shape
    elem, n, count = ELEMENTS[x.dtype], y.shape[-2], prod(batch)
    if len(batch) > 1 or any(s % w.itemsize for s in w.strides):
        w = contiguous(w)
    steps = [s // w.itemsize for s in w.strides[-3:]]
    steps = [m * n if len(batch) > 1 else 0, *steps][-3:]
    out = memory.empty(x.shape, x.dtype)
    high = kernels.tile_rows() // 2
    kernel = native.kernel(f"differences/weighted/{elem}", partial(kernels.weighted, elem=elem))
    native.launch(kernel, count * -(-m // high), at_least(UNIT_STEPS // (high * n * k), 1), w,
                  contiguous(x), contiguous(y), out, m, n, k, *steps)
    return out
