"""Sorting and order statistics of NumPy arrays: sort, topk, kthvalue, median, mode, searchsorted,
runs of equal elements.

NaN is greater than everything; equal elements keep their order, also when sorting down, so
positions are always well defined. Each is one launch of a kernel for contiguous rows, so that
programs that run where NumPy is not do the same.
"""
import math

import numpy as np
from whet.cpu import memory, native, thread_pool
from whet.cpu.reference_only import REFERENCE
from whet.cpu.row_kernels import NAMES
from whet.cpu.rows import contiguous
from whet.ir.symbolic_size import at_most
from whet.passes.lower_llvm.calls import distribute_units

from . import reference_sort
from .taped_launches import partial

LINE = 64                          # pieces of scratch memory begin at multiples of so many bytes
GRAIN = 1 << 13                    # so many elements are worth a thread
PACKABLE = 1 << 32                 # positions below fit into one word with keys of 32 bits
_I64 = np.dtype(np.int64)
_kernels: dict = {}


def sort(x, axis=-1, descending=False):
    """(values, positions as i64) along an axis. Always stable."""
    return _along(x, axis, _sort_rows, descending)


def topk(x, k, axis=-1, largest=True):
    """The k largest (or smallest) along an axis in order, with their positions; of equal ones
    the first."""
    return _along(x, axis, _first, k, largest)


def kthvalue(x, k, axis=-1):
    """The k-th smallest (from 1) along an axis and its position: (values, positions) with the
    axis at size 1."""
    return _along(x, axis, _selected, "nth", k - 1)


def median(x, axis=-1, ignore_nan=False):
    """The lower of the middle elements along an axis and its position, the axis at size 1; a NaN
    if there is one and it counts."""
    return _along(x, axis, _selected, "nanmedian" if ignore_nan else "median", 0)


def median_value(x, axis=-1, ignore_nan=False):
    """The lower of the middle elements along an axis, the axis at size 1; a NaN if there is one and
    it counts."""
    value, position = median(x, axis, ignore_nan)
    partial(position)
    return value


def order(keys):
    """The places of a vector's elements in ascending order; of equal ones the first one first."""
    values, positions = sort(keys)
    partial(values)
    return positions


def mode(x, axis=-1):
    """The most frequent element along an axis (the least of several) and its last position, the
    axis at size 1."""
    return _along(x, axis, _mode)


# ---- along an axis -------------------------------------------------------------------------------
def _along(x, axis, run, *choices):
    """`run` on contiguous rows (k, n), its (values, positions) put back in place."""
    nd = x.ndim
    if nd == 1 and x.flags.c_contiguous:
        values, positions = run(x[None], *choices)
        return values[0], positions[0]
    if nd == 0:
        values, positions = run(x.reshape(1, 1), *choices)
        return ((values.reshape(()), positions.reshape(())) if values.size == 1 else
                (values[0], positions[0]))
    axis %= nd
    n = x.shape[axis]
    rest = x.shape[:axis] + x.shape[axis + 1:]
    count = math.prod(rest)
    if axis == nd - 1 and x.flags.c_contiguous:
        return tuple(y.reshape(*rest, y.shape[1]) for y in run(x.reshape(count, n), *choices))
    order = [*range(axis), *range(axis + 1, nd), axis]
    back = np.argsort(order).tolist()
    moved = contiguous(x.transpose(order)).reshape(count, n)
    return tuple(_moved_back(y.reshape(*rest, y.shape[1]), back) for y in run(moved, *choices))


def _moved_back(y, axes):
    turned = y.transpose(axes)
    return turned if turned.flags.c_contiguous else contiguous(partial(y).transpose(axes))


def _results(rows, k, dtype):
    return memory.empty((rows, k), dtype), memory.empty((rows, k), _I64)


def launch(kernel, x, results, k, room, more=()):
    """Launch a kernel of rows whose threads need `room` bytes each; it gets `more` arguments at the
    end."""
    rows, n = x.shape
    threads = at_most(thread_pool.get_num_threads(), rows)
    spare = partial(memory.empty((room * threads,), np.dtype(np.uint8)))
    grain = distribute_units.word(max(1, GRAIN // max(n, 1)), threads)
    native.launch(kernel, rows, grain, x, *results, n, k, spare, room, *more)


def row_kernel(module, emitter, *facts):
    """A kernel of a module of `passes.lower_llvm.rows`."""
    key = module, emitter, *facts
    if key not in _kernels:
        def emit(mod, symbol):
            import importlib
            lowered = importlib.import_module(f"whet.passes.lower_llvm.rows.{module}")
            getattr(lowered, emitter)(mod, symbol, *facts)
        _kernels[key] = native.kernel("/".join(map(str, (module, emitter[5:], *facts))), emit)
    return _kernels[key]


def _lines(size):
    """So many bytes and up to where the next piece of scratch memory may begin."""
    return -(-size // LINE) * LINE


def order_room(x, k, packed):
    """The bytes of scratch memory for the first k of a row in order."""
    items = _lines((k + 1) * (8 if packed else 16))
    return 2 * items + (0 if k == x.shape[1] else _lines(x.shape[1] * key_size(x.dtype)))


def key_size(dtype):
    """The bytes of the key of an element."""
    return 8 if dtype.itemsize == 8 else 4


def packs(x):
    return x.dtype.itemsize < 8 and x.shape[1] <= PACKABLE


def _sort_rows(x, descending):
    return _first(x, x.shape[1], descending)


def _first(x, k, descending):
    results = _results(x.shape[0], k, x.dtype)
    if REFERENCE:
        return reference_sort.first(x, k, descending)
    if x.size and k:
        packed = packs(x)
        launch(row_kernel("sort", "emit_first", NAMES[x.dtype], packed, descending), x, results, k,
                order_room(x, k, packed))
    return results


def _selected(x, which, k):
    if REFERENCE:
        return reference_sort.selected(x, which, k)
    results = _results(x.shape[0], 1, x.dtype)
    if x.size:
        launch(row_kernel("select", "emit_kth", NAMES[x.dtype], which), x, results, k,
                _lines(x.shape[1] * key_size(x.dtype)))
    return results


def _mode(x):
    if REFERENCE:
        return reference_sort.mode(x)
    results, n = _results(x.shape[0], 1, x.dtype), x.shape[1]
    if x.size:
        packed = packs(x)
        launch(row_kernel("sort", "emit_mode", NAMES[x.dtype], packed), x, results, n,
                order_room(x, n, packed))
    return results
