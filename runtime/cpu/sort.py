"""Sorting and order statistics on NumPy arrays: sort, topk, kthvalue, median, mode, searchsorted,
unique.

NaN is greater than everything; equal elements keep their order, also when sorting down, so
positions are always well defined. NumPy sorts; its elements are packed with their positions
(`passes.lower_llvm.sort`) where both fit in 64 bits.
"""
import math

import numpy as np
from whet.cpu import memory, native
from whet.cpu.reduce import reduce
from whet.cpu.row_kernels import NAMES, SUPPORTED
from whet.cpu.rows import REFERENCE, contiguous

_PACKED = SUPPORTED - {"i64", "u64", "f64"}
FEW, SHORT = 128, 1 << 14          # one in so many, of so few: they are found without packing all
TINY = 256                         # so few elements are sorted before their keys are made
_U64, _I64 = np.dtype(np.uint64), np.dtype(np.int64)
_kernels: dict = {}


def sort(x, axis=-1, descending=False, stable=False):
    """(values, positions as i64) along an axis. Always stable."""
    return _along(x, axis, _sort_rows, descending)


def argsort(x, axis=-1, descending=False, stable=False):
    """The positions that sort an array along an axis."""
    return sort(x, axis, descending)[1]


def topk(x, k, axis=-1, largest=True, sorted=True):
    """The k largest (or smallest) along an axis in order, with their positions; of equal ones
    the first."""
    return _along(x, axis, _first, k, largest)


def kthvalue(x, k, axis=-1):
    """The k-th smallest (from 1) along an axis and its position: (values, positions) with the
    axis at size 1."""
    return _along(x, axis, _nth, k - 1)


def median(x, axis=-1, ignore_nan=False):
    """The lower of the middle elements along an axis and its position, the axis at size 1; a NaN
    if there is one and it counts."""
    return _along(x, axis, _median, ignore_nan)


def mode(x, axis=-1):
    """The most frequent element along an axis (the least of several) and its last position, the
    axis at size 1."""
    return _along(x, axis, _mode)


def searchsorted(sequence, values, right=False):
    """Where values would go in sequences sorted along the last axis; both of rows, or one 1-d
    sequence for all values."""
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side)).astype(np.int64, copy=False)
    out = np.empty(values.shape, np.int64)
    for i in np.ndindex(*sequence.shape[:-1]):
        out[i] = np.searchsorted(sequence[i], values[i], side)
    return out


def unique(x):
    """Of all elements: (each once, in order; for each element which; how many of each). NaNs are
    all different."""
    flat = x.reshape(-1)
    values, positions = _sort_rows(flat[None], False)
    return _runs(values[0], positions[0], x.shape)


def unique_consecutive(x):
    """As `unique`, joining only equal neighbours."""
    return _runs(x.reshape(-1), None, x.shape)


def _runs(values, positions, shape):
    first = np.ones(values.shape, bool)
    first[1:] = values[1:] != values[:-1]
    starts = np.flatnonzero(first)
    which = np.cumsum(first) - 1
    if positions is not None:
        inverse = np.empty_like(which)
        inverse[positions] = which
        which = inverse
    return (values[starts], which.astype(np.int64, copy=False).reshape(shape),
            np.diff(starts, append=values.size).astype(np.int64))


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
    back = np.argsort(order)
    moved = contiguous(x.transpose(order)).reshape(count, n)
    return tuple(
        contiguous(y.reshape(*rest, y.shape[1]).transpose(back)) for y in run(moved, *choices))


def _packs(x):
    return not REFERENCE and NAMES[x.dtype] in _PACKED and x.shape[1] <= 1 << 32


def _kernel(kind, dtype, descending):
    found = _kernels.get((kind, dtype, descending))
    if found is None:
        name = NAMES[dtype]

        def emit(module, symbol):
            from whet.passes.lower_llvm.rows import sort as lowered
            getattr(lowered, f"emit_{kind}")(module, symbol, name, descending)
        found = _kernels[kind, dtype,
                         descending] = native.kernel(f"sort/{kind}/{name}{'/down' * descending}",
                                                     emit)
    return found


def _pack(x, descending):
    """Rows as packed numbers."""
    rows, n = x.shape
    out = memory.empty(x.shape, _U64)
    native.launch(_kernel("pack", x.dtype, descending), rows, _grain(n), x, out, n, n * x.itemsize)
    return out


def _unpack(packed, x, descending):
    """(values, positions) of packed numbers made from x."""
    rows, k = packed.shape
    values, positions = memory.empty(packed.shape, x.dtype), memory.empty(packed.shape, _I64)
    native.launch(_kernel("unpack", x.dtype, descending), rows, _grain(k), packed, x, values,
                  positions, k, packed.strides[0], x.shape[1] * x.itemsize)
    return values, positions


def _grain(n):
    return max(1, (1 << 14) // max(1, n))


def _order(x, descending):
    """The stable order of rows of any type."""
    if REFERENCE or x.size <= TINY:
        wide = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
        if descending:
            return np.ascontiguousarray(x.shape[1] - 1
                                        - np.argsort(wide[:, ::-1], 1, kind="stable")[:, ::-1])
        return np.argsort(wide, 1, kind="stable")
    n = x.shape[1]
    keys, packed = memory.empty(x.shape, _U64), memory.empty(x.shape, _U64)
    native.launch(_kernel("keys", x.dtype, descending), x.size, 1 << 14, x, keys)
    least = int(reduce("min", keys))
    room, width = (n - 1).bit_length(), (int(reduce("max", keys)) - least).bit_length()
    native.launch(native.kernel("sort/squeeze", _squeeze), x.shape[0], _grain(n), keys, packed, n,
                  least - (least >> 63 << 64), 64 - width if width else 0, room)
    packed.sort(1)
    order = (packed & np.uint64((1 << room) - 1)).view(np.int64)
    return order if width + room <= 64 else _repaired(order, packed >> np.uint64(room), keys)


def _squeeze(module, symbol):
    from whet.passes.lower_llvm.rows.sort import emit_squeeze
    emit_squeeze(module, symbol)


def _repaired(order, found, keys):
    """The order, given that it is right but among those with equal `found`, of whose keys only
    the upper bits were looked at."""
    equal = found[:, 1:] == found[:, :-1]
    if not equal.any():
        return order
    first, shared = np.ones(order.shape, bool), np.zeros(order.shape, bool)
    first[:, 1:] = ~equal
    shared[:, 1:] |= equal
    shared[:, :-1] |= equal
    if 4 * np.count_nonzero(shared) > shared.size:
        return np.argsort(keys, 1, kind="stable")
    run = np.cumsum(first.reshape(-1))[shared.reshape(-1)]
    places = order[shared]
    order[shared] = places[np.lexsort((places, keys[np.nonzero(shared)[0], places], run))]
    return order


def _sort_rows(x, descending):
    if _packs(x):
        packed = _pack(x, descending)
        packed.sort(1)
        return _unpack(packed, x, descending)
    order = _order(x, descending)
    return np.take_along_axis(x, order, 1), order


def _first(x, k, descending):
    n = x.shape[1]
    if not _packs(x):
        order = np.ascontiguousarray(_order(x, descending)[:, :k])
        return np.take_along_axis(x, order, 1), order
    if 0 < k * FEW <= n <= SHORT:
        best = memory.empty((x.shape[0], k), _U64)
        native.launch(_kernel("first", x.dtype, descending), x.shape[0], _grain(n), x, best, n,
                      n * x.itemsize, k)
        return _unpack(best, x, descending)
    packed = _pack(x, descending)
    if k < n // 2 and n > 64:
        packed.partition(max(k - 1, 0), 1)
    else:
        packed.sort(1)
    best = np.ascontiguousarray(packed[:, :k])
    best.sort(1)
    return _unpack(best, x, descending)


def _nth(x, k):
    """Element k (from 0) of each sorted row; k may be an array of one per row."""
    if np.ndim(k) or not _packs(x):
        values, order = _sort_rows(x, False)
        at = np.broadcast_to(np.reshape(k, (-1, 1)), (x.shape[0], 1))
        return np.take_along_axis(values, at, 1), np.take_along_axis(order, at, 1)
    packed = _pack(x, False)
    packed.partition(k, 1)
    return _unpack(np.ascontiguousarray(packed[:, k:k + 1]), x, False)


def _median(x, ignore_nan):
    n = x.shape[1]
    if x.dtype.kind not in "fV":
        return _nth(x, (n - 1) // 2)
    nan = np.isnan(x)
    if ignore_nan:
        real = n - nan.sum(1)
        return _nth(x, (n - 1) // 2 if not nan.any() else np.maximum(real - 1, 0) // 2)
    values, at = _nth(x, (n - 1) // 2)
    bad = nan.any(1)
    if bad.any():
        first = nan[bad].argmax(1)[:, None]
        at[bad], values[bad] = first, np.take_along_axis(x[bad], first, 1)
    return values, at


def _mode(x):
    values, order = _sort_rows(x, False)
    n = x.shape[1]
    edge = np.ones((x.shape[0], n + 1), bool)
    edge[:, 1:-1] = values[:, 1:] != values[:, :-1]
    place = np.where(edge[:, :-1], np.arange(n), 0)
    start = np.maximum.accumulate(place, 1)           # where each element's run began
    length = np.where(edge[:, 1:], np.arange(n) - start + 1, 0)
    last = length.argmax(1)[:, None]
    return np.take_along_axis(values, last, 1), np.take_along_axis(order, last, 1)
