"""Sorting, order statistics and searches by launches alone: what a program without NumPy does.

Elements become keys of 64 bits as in `sort.py`, with their positions where both fit. The results
are those of `sort.py` to the bit: they are elements and positions, and the order is the same.
"""
import numpy as np

from ..ir import scalar as s
from . import memory, native, scan, take
from .pointwise import Pointwise, move
from .reduce import reduce
from .rows import contiguous
from .sort import _along, _kernel, _packs
_U64=np.dtype(np.uint64)
from .taped_launches import partial, table

NARROW = 32                        # bits of a packed number that are the position


def lowered(key, emitter, *choices):
    """A kernel of `lower_llvm.rows.merge_sort`."""
    def emit(module, symbol):
        from ..passes.lower_llvm.rows import merge_sort
        getattr(merge_sort, emitter)(module, symbol, *choices)
    return native.kernel(key, emit)


class Sorted:
    """Rows in order: `at(columns)` gives (values, positions) of some of the columns."""

    def __init__(self, x, descending):
        self.x, self.descending = x, descending
        self.packs = _packs(x)
        self.keys = keys_of(x, descending)
        rows, n = x.shape
        pairs = [] if self.packs else [partial(memory.empty(x.shape, np.int64)) for _ in range(2)]
        kernel = lowered(f"sort/merge/{bool(pairs)}", "emit_sort", bool(pairs))
        spare = partial(memory.empty(x.shape, _U64))
        native.launch(kernel, rows, _grain(n), self.keys, spare, n, *pairs)
        self.order = pairs[0] if pairs else None

    def at(self, columns):
        """`columns` is a slice, or an array (rows, 1) of one column for each row."""
        def of(a):
            if isinstance(columns, slice):
                return a[:, columns]
            return partial(take.along(a, columns, 1)[0])
        if self.packs:
            made = _unpack(of(self.keys), self.x, self.descending)
        else:
            order = contiguous(of(self.order))
            made = take.along(self.x, order, 1)[0], copy(order) if order is self.order else order
        return tuple(map(partial, made))


def copy(a):
    """A copy of integers."""
    out = memory.empty(a.shape, a.dtype)
    Pointwise("copy", (s.arg(0),), 1)([a], [out])
    return out


def keys_of(x, descending=False):
    """Keys of rows, with positions where both fit."""
    if _packs(x):
        return partial(_pack(x, descending))
    keys = partial(memory.empty(x.shape, _U64))
    native.launch(_kernel("keys", x.dtype, descending), x.size, 1 << 14, x, keys)
    return keys


def sort(x, axis, descending):
    """As `sort.sort`."""
    return _along(x, axis, lambda rows: Sorted(rows, descending).at(slice(None)))


def topk(x, k, axis, largest):
    """As `sort.topk`."""
    return _along(x, axis, lambda rows: Sorted(rows, largest).at(slice(k)))


def kthvalue(x, k, axis):
    """As `sort.kthvalue`."""
    return _along(x, axis, lambda rows: Sorted(rows, False).at(slice(k - 1, k)))


def median(x, axis, ignore_nan):
    """As `sort.median`."""
    return _along(x, axis, lambda rows: Sorted(rows, False).at(middle(rows, ignore_nan)))


def mode(x, axis):
    """As `sort.mode`."""
    return _along(x, axis, _mode_of_rows)


def _mode_of_rows(x):
    """The last element of the longest run of each sorted row."""
    values, order = Sorted(x, False).at(slice(None))
    n = x.shape[1]
    first, last, earlier, later = (
        table(np.arange(*c)) for c in ((1,), (n - 1, n), (n - 1,), (1, n)))
    begun, length = (partial(memory.empty(x.shape, np.int64)) for _ in range(2))
    old, new, at, start = s.args(4)
    neighbours, differ = [values[:, :-1], values[:, 1:]], s.ne(old, new)
    move(begun[:, :1], np.broadcast_to(first, begun[:, :1].shape))
    Pointwise("run", (s.where(differ, at, 0),), 3)([*neighbours, later], [begun[:, 1:]])
    begun, _ = map(partial, scan.cummax(begun, 1))
    ended = s.where(differ, at - start + 1, 0)
    Pointwise("run", (ended,), 4)([*neighbours, earlier, begun[:, :-1]], [length[:, :-1]])
    Pointwise("run", (s.arg(0) - s.arg(1) + 1,), 2)([last, begun[:, -1:]], [length[:, -1:]])
    longest = partial(reduce("argmax", length, (1,), True))
    return tuple(partial(take.along(a, longest, 1)[0]) for a in (values, order))


def in_order(x):
    """The elements of a vector in order."""
    return Sorted(x[None], False).at(slice(None))[0].reshape(-1)


def middle(x, ignore_nan):
    """The column of each sorted row that is its median. NaNs come last: the first of them is it,
    unless they do not count."""
    n = x.shape[1]
    if x.dtype.kind not in "fV":
        return slice((n - 1) // 2, (n - 1) // 2 + 1)
    marks = partial(memory.empty(x.shape, np.int64))
    Pointwise("nan", (s.cast(s.isnan(s.arg(0)), "i64"),), 1)([x], [marks])
    count = partial(reduce("sum", marks, (1,), True))
    out = partial(memory.empty(count.shape, np.int64))
    Pointwise("middle", (middle_column(n, ignore_nan),), 1)([count], [out])
    return out


def middle_column(n, ignore_nan):
    """The column of the median in a sorted row of n, of how many NaNs there are."""
    nans = s.arg(0)
    if ignore_nan:
        return s.where(nans < n, s.floordiv(n - 1 - nans, 2), 0)
    return s.where(nans > 0, n - nans, (n - 1) // 2)


def searchsorted(sequence, values, right):
    """As `sort.searchsorted`, for numbers of one type."""
    if sequence.dtype != values.dtype:
        raise ValueError("searchsorted: numbers of several types")
    n, rows = sequence.shape[-1], max(1, sequence.size // max(1, sequence.shape[-1]))
    flat = contiguous(sequence).reshape(rows, n), contiguous(values).reshape(1, -1)
    if not all(map(_packs, flat)) and any(map(_packs, flat)):
        raise ValueError("searchsorted: more numbers than fit")
    out = memory.empty(values.shape, np.int64)
    kernel = lowered(f"sort/search/{bool(right)}", "emit_search", bool(right))
    native.launch(kernel, values.size, _grain(n.bit_length()), *map(keys_of, flat), out, n,
                  values.size // rows, NARROW if _packs(flat[0]) else 0)
    return out
