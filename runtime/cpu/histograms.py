"""Counts of numbers, histograms over intervals, and runs of equal elements."""
import numpy as np

from . import indexed, memory, native, sort
from .row_kernels import NAMES
from .rows import contiguous
from .sort import row_kernel
from .taped_launches import partial, verdict

ONE_UNIT = 1, 1                    # in the order of the elements, by one thread


def numbers(x, size, weights=None):
    """Count each number below `size` in a vector, or sum its weights. Numbers out of range are
    ignored."""
    kind = (np.int64 if weights is None else np.float32 if weights.dtype == np.float32
            else np.float64)
    return add_numbers(memory.empty((size,), np.dtype(kind)), x, weights, from_zero=True)


def add_numbers(sums, x, weights, *, from_zero=False):
    """Add to `sums` how often each number below their count is in a vector, or the sums of its
    weights. `from_zero`: `sums` are taken as zero."""
    kernel = row_kernel("counting", "emit_numbers", NAMES[x.dtype], NAMES[sums.dtype],
                        weights is not None)
    more = [] if weights is None else [indexed.converted(weights, sums.dtype)]
    native.launch(kernel, *ONE_UNIT, contiguous(x), sums, x.size, sums.size, int(from_zero), *more)
    return sums


def in_intervals(x, bins, low, high):
    """How many elements are in each of `bins` equal intervals from low to high, or if both are 0
    from the least element to the greatest; None where those are not finite."""
    out = memory.empty((bins,), x.dtype)
    counts = partial(memory.empty((bins + 1,), indexed.I64))
    wrong = np.zeros(1, np.int64)
    verdict(wrong)
    native.launch(row_kernel("counting", "emit_intervals", NAMES[x.dtype]), *ONE_UNIT,
                  contiguous(x), out, x.size, bins, low, high, counts,
                  int(low == high == 0 and x.size > 0), wrong)
    return None if wrong[0] else out


def runs(x, consecutive, inverse=True, lengths=True):
    """(an element of each run of equal ones, the run of each element, the length of each run), for
    sorted elements, or for `consecutive` ones. Parts that are not wanted have no elements."""
    row, number = contiguous(x).reshape(1, -1), np.zeros(1, np.int64)
    n = row.size
    values = memory.empty((n,), x.dtype)
    which = memory.empty(x.shape if inverse else (0,), indexed.I64)
    counts = memory.empty((n if lengths else 0,), indexed.I64)
    found, name, wanted = (number, which, counts), NAMES[x.dtype], (inverse, lengths)
    if not n:
        return values, which, counts
    if consecutive:
        kernel = row_kernel("runs", "emit_neighbours", name, *wanted)
        native.launch(kernel, *ONE_UNIT, row, values, n, *found)
    else:
        packed = sort.packs(row)
        kernel = row_kernel("runs", "emit_distinct", name, packed, *wanted)
        sort.launch(kernel, row, (values, None), n, sort.order_room(row, n, packed), found)
    return _cut(values, number[0]), which, _cut(counts, number[0])


def _cut(a, n):
    """The first n elements, without the memory of the rest."""
    return a if n >= a.size else a[:n].copy()
