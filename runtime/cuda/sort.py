"""Sorted rows on devices: stable, NaN behind every number, as on the CPU."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..dtypes import FLOAT, FROM_NUMPY
from ..ir import scalar as S
from .arrays import DeviceArray, empty
from .errors import NoForm
from .gathers import along, cast, lowered
from .launch import launch
from .pointwise import Expressions, compute, copied

I64, U64 = np.dtype(np.int64), np.dtype(np.uint64)
SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
LAST = (1 << 63) - 1                # the key of NaN
RUN = 64                            # as `lower_triton.order` has it


def keys_of(x: DeviceArray, descending: bool = False) -> DeviceArray:
    """Integers of 64 bits in the order of the elements; equal ones are equal."""
    if x.dtype.kind == "c":
        raise NoForm("complex numbers")
    if FROM_NUMPY[x.dtype].category == FLOAT:
        signed = SIGNED[x.itemsize]
        most = (1 << 8 * x.itemsize - 1) - 1
        a, bits = S.arg(0), S.arg(1)
        key = S.where(S.lt(bits, 0), S.bitwise_xor(bits, most), bits)
        key = S.cast(S.where(S.eq(a, 0), 0, key), "i64")
        key = S.where(S.isnan(a), LAST, key)
        operands = [x, x.view(signed)]
    else:
        operands = [x]
        if x.dtype == U64:
            key, operands = S.bitwise_xor(S.arg(0), -1 << 63), [x.view(I64)]
        else:
            key = S.cast(S.arg(0), "i64")
    if descending:
        key = S.bitwise_xor(key, -1)
    out = empty(x.index, x.shape, I64)
    if x.size:
        compute(Expressions("keys", (key,)), operands, x.index, [out])
    return out


def sort_keys(keys: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """(rows of keys in order, the position of each in its row); equal ones keep their order."""
    from ..passes.lower_triton import sorted_rows as lower
    rows, n = keys.shape
    index = keys.index
    made, positions = (empty(index, keys.shape, I64) for _ in range(2))
    if not keys.size:
        return made, positions
    launch(index, lowered("runs", lower.lower_runs),
           {"x": keys.geometry, "y": made.geometry, "order": positions.geometry},
           {"n": n, "rows": rows})
    width = RUN
    while width < n:
        joined, moved = (empty(index, keys.shape, I64) for _ in range(2))
        launch(index, lowered("merge", lower.lower_merge),
               {"x": made.geometry, "positions": positions.geometry, "y": joined.geometry,
                "order": moved.geometry},
               {"n": n, "rows": rows, "width": width, "steps": width.bit_length()})
        made, positions, width = joined, moved, 2 * width
    return made, positions


def search(keys: DeviceArray, values: DeviceArray, *, right: bool) -> DeviceArray:
    """The places at which values would be inserted into sorted rows of keys, before or behind equal
    ones. Both have the same number of rows."""
    from ..passes.lower_triton import sorted_rows as lower
    out = empty(keys.index, values.shape, I64)
    if out.size:
        n = keys.shape[1]
        launch(keys.index, lowered(("search", right), lambda: lower.lower_search(right)),
               {"x": keys.geometry, "values": values.geometry, "y": out.geometry},
               {"n": values.size, "each": values.shape[1], "length": n,
                "steps": n.bit_length() + 1})
    return out


# ---- along an axis -------------------------------------------------------------------------------
Picked = tuple[DeviceArray, DeviceArray]


def _along(x: DeviceArray, axis: int, run: Callable[[DeviceArray], Picked]) -> Picked:
    """`run` on contiguous rows, its (values, positions) put back in place."""
    if not x.ndim:
        values, positions = run(x.reshape(1, 1))
        return ((values.reshape(()), positions.reshape(())) if values.size == 1
                else (values[0], positions[0]))
    axis %= x.ndim
    order = [*(d for d in range(x.ndim) if d != axis), axis]
    moved = x.transpose(order)
    rest = moved.shape[:-1]
    rows = (moved if moved.flags.c_contiguous else copied(moved)).reshape(prod(rest), x.shape[axis])
    back = [int(d) for d in np.argsort(order)]
    made = [y.reshape(*rest, y.shape[1]).transpose(back) for y in run(rows)]
    values, positions = (y if y.flags.c_contiguous else copied(y) for y in made)
    return values, positions


class Sorted:
    """Rows in order."""

    def __init__(self, x: DeviceArray, descending: bool) -> None:
        self.x = x
        self.keys, self.order = sort_keys(keys_of(x, descending))

    def at(self, columns: Any) -> Picked:
        """(values, positions) of some columns: a slice, or an array of one for each row."""
        if isinstance(columns, slice):
            order = self.order[:, columns]
            order = order if order.flags.c_contiguous else copied(order)
        else:
            order = along("sort", self.order, columns, 1)
        return along("sort", self.x, order, 1), order


def sort(x: DeviceArray, dim: int, descending: bool) -> Picked:
    """All elements along an axis."""
    return _along(x, dim, lambda rows: Sorted(rows, descending).at(slice(None)))


def topk(x: DeviceArray, dim: int, k: int, largest: bool) -> Picked:
    """The first k of them."""
    return _along(x, dim, lambda rows: Sorted(rows, largest).at(slice(k)))


def kthvalue(x: DeviceArray, dim: int, k: int) -> Picked:
    """The k-th smallest (from 1)."""
    return _along(x, dim, lambda rows: Sorted(rows, descending=False).at(slice(k - 1, k)))


def median(x: DeviceArray, dim: int, ignore_nan: bool) -> Picked:
    """The lower of the two middle elements; NaN if a NaN counts."""
    return _along(x, dim, lambda rows: Sorted(rows, descending=False).at(_middle(rows, ignore_nan)))


def _middle(x: DeviceArray, ignore_nan: bool) -> Any:
    from ..cpu.reduce import reduction_program
    from . import rows
    n = x.shape[1]
    if FROM_NUMPY[x.dtype].category != FLOAT:
        return slice((n - 1) // 2, (n - 1) // 2 + 1)
    marks, = compute(Expressions("nan", (S.cast(S.isnan(S.arg(0)), "i64"),)), [x], x.index)
    count, = rows.run(reduction_program("sum", "i64"), [marks], (1,), x.index)
    at, = compute(Expressions("middle", (_middle_column(n, ignore_nan),)), [count], x.index)
    return at.reshape(-1, 1)


def _middle_column(n: int, ignore_nan: bool) -> S.Expr:
    """The column of the median in a sorted row of n, of how many NaNs there are, which come last:
    the first of them is it, unless they do not count."""
    nans = S.arg(0)
    if ignore_nan:
        return S.where(nans < n, S.floordiv(n - 1 - nans, 2), 0)
    return S.where(nans > 0, n - nans, (n - 1) // 2)


def mode(x: DeviceArray, dim: int) -> Picked:
    """The most frequent element (the least of several), and its last position."""
    return _along(x, dim, _mode)


def _mode(x: DeviceArray) -> Picked:
    """For each sorted element: how many are equal, and where the last of them stands."""
    from ..cpu.reduce import reduction_program
    from . import rows
    made = Sorted(x, descending=False)
    ends = search(made.keys, made.keys, right=True)
    starts = search(made.keys, made.keys, right=False)
    a, b = S.arg(0), S.arg(1)
    alike = [made.keys, ends, starts]
    is_nan = S.eq(a, LAST) if FROM_NUMPY[x.dtype].category == FLOAT else S.ne(a, a)
    length, = compute(Expressions("length", (S.where(is_nan, 1, b - S.arg(2)),)), alike, x.index)
    longest, = rows.run(reduction_program("argmax", "i64"), [length], (1,), x.index)
    longest = longest.reshape(-1, 1)
    found = [along("mode", y, longest, 1) for y in alike[:2]]
    last = S.where(is_nan, S.arg(2), b - 1)                 # a NaN is equal to nothing
    at, = compute(Expressions("last", (last,)), [*found, longest], x.index)
    return made.at(at)


def searchsorted(sequence: DeviceArray, values: DeviceArray, sorter: DeviceArray | None = None,
                 *, right: bool, out_int32: bool) -> DeviceArray:
    """Where values would go in sorted sequences: rows, or one for all values."""
    if type(values) is not DeviceArray or sequence.dtype != values.dtype:
        raise NoForm("numbers of several types")
    if sorter is not None:
        sequence = along("searchsorted", sequence, sorter, sequence.ndim - 1)
    n = sequence.shape[-1]
    rows = max(1, prod(sequence.shape[:-1]))
    s, v = (a if a.flags.c_contiguous else copied(a) for a in (sequence, values))
    keys, wanted = keys_of(s.reshape(rows, n)), keys_of(v.reshape(rows, v.size // rows))
    found = search(keys, wanted, right=right)
    return cast(found.reshape(values.shape), np.dtype(np.int32) if out_int32 else I64)
