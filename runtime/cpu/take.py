"""Gathering along one dimension on NumPy arrays, through kernels that check every index."""
import os
from math import prod

import numpy as np

from . import entries, memory, native

REFERENCE = os.environ.get("WHET_CPU") == "numpy"


def fits(a, index):
    """Can the kernels do it?"""
    return not REFERENCE and a.flags.c_contiguous and a.dtype.itemsize in (1, 2, 4, 8) and index.dtype == np.int64 and index.flags.c_contiguous


def along(a, index, axis, wrap=False):
    """(elements of `a` at the places `index` names along the axis, were all of them in range?)

    Both are row-major and agree in all other sizes. `wrap`: negative indices count from the end."""
    shape = index.shape
    outer, n, count, inner = prod(shape[:axis]), a.shape[axis], shape[axis], prod(shape[axis + 1:])
    out = memory.empty(shape, a.dtype)
    if not out.size:
        return out, True
    if not n:
        return out, False
    flat, size = inner == 1, a.dtype.itemsize

    def emit(module, symbol):
        from ..passes.lower_llvm import take
        take.emit(module, symbol, size, flat, wrap)
    return out, _run(native.kernel(f"take/{size}/{'flat' if flat else 'inner'}/{wrap}", emit), a, index, out, outer, n, count, inner,
                     max(1, 8192 // (inner * (count if outer >= 16 else outer))))


def rows(a, index, axis, wrap=False):
    """(the slices of `a` that a vector of indices names along the axis, were all of them in range?)"""
    outer, n, count = prod(a.shape[:axis]), a.shape[axis], index.shape[0]
    if a.size == n > 0:                      # slices of one element
        out, right = along(a.reshape(-1), index, 0, wrap)
        return out.reshape(*a.shape[:axis], count, *a.shape[axis + 1:]), right
    out = memory.empty((*a.shape[:axis], count, *a.shape[axis + 1:]), a.dtype)
    size = prod(a.shape[axis + 1:]) * a.dtype.itemsize
    if not count or not outer or not n:
        return out, bool(n) or not count

    def emit(module, symbol):
        from ..passes.lower_llvm import take, targets
        take.emit_rows(module, symbol, targets.current().lanes(1), wrap)
    return out, _run(native.kernel(f"take/rows/{wrap}", emit), a, index, out, outer, n, count, size,
                     max(1, 65536 // max(1, size * (count if outer >= 16 else outer))))


def _run(kernel, a, index, out, outer, n, count, inner, grain):
    bad = np.zeros(1, np.int64)
    entries.verdict(bad)
    by_outer = outer >= 16
    native.launch(kernel, outer if by_outer else count, grain, a, index, out, bad, outer, n, count, inner, int(by_outer))
    return not bad[0]
