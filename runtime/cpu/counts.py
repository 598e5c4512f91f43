"""How often numbers occur, how many elements lie in intervals, and runs of equal elements."""
import numpy as np

from . import memory, native, places, sort
from .row_kernels import NAMES
from .rows import contiguous
from .sort import row_kernel
from .taped_launches import partial, table, verdict

ONE_UNIT = 1, 1                    # in the order of the elements, by one thread


def numbers(x, size, weights=None):
    """How often each number below `size` occurs in a vector, or with how much weight. What is out
    of range does not count."""
    dtype = places.I64
    if weights is not None:
        dtype = np.dtype(np.float32 if weights.dtype == np.float32 else np.float64)
    sums = memory.empty((size,), dtype)
    return add_numbers(places.filled(sums, 0) if size else sums, x, weights)


def add_numbers(sums, x, weights=None):
    """The same, added to what is there."""
    each = int(weights is not None)
    if weights is None:
        weights = table(np.ones(1, sums.dtype))
    kernel = row_kernel("counting", "emit_numbers", NAMES[x.dtype], NAMES[sums.dtype])
    native.launch(kernel, *ONE_UNIT, contiguous(x), sums, x.size, sums.size,
                  places.converted(weights, sums.dtype), each)
    return sums


def in_intervals(x, bins, low, high):
    """How many elements are in each of `bins` equal intervals from low to high, or if both are 0
    from the least element to the greatest; None where those are not finite."""
    out = memory.empty((bins,), x.dtype)
    counts = partial(memory.empty((bins + 1,), places.I64))
    wrong = np.zeros(1, np.int64)
    verdict(wrong)
    native.launch(row_kernel("counting", "emit_intervals", NAMES[x.dtype]), *ONE_UNIT,
                  contiguous(x), out, x.size, bins, low, high, counts,
                  int(low == high == 0 and x.size > 0), wrong)
    return None if wrong[0] else out


def runs(x, consecutive):
    """(an element of each run of equal ones, for each element which run it is in, how long each
    is) of elements in order, or `consecutive` ones."""
    flat, order = contiguous(x).reshape(-1), ()
    if not consecutive:
        flat, *order = sort.sort(flat)
    values, lengths = memory.empty(flat.shape, x.dtype), memory.empty(flat.shape, places.I64)
    which, number = memory.empty(x.shape, places.I64), np.zeros(1, np.int64)
    kernel = row_kernel("counting", "emit_runs", NAMES[x.dtype], not consecutive)
    native.launch(kernel, *ONE_UNIT, flat, flat.size, values, which, lengths, number, *order)
    return values[:number[0]].copy(), which, lengths[:number[0]].copy()
