"""Distinct values and counts on devices. Their number depends on the data: it is waited for."""
from __future__ import annotations

import numpy as np

from ..cpu.reduce import reduction_program
from ..dtypes import FROM_NUMPY
from ..ir import scalar as S
from . import rows, scans, scatters, sort
from .arrays import DeviceArray, empty
from .errors import NoForm
from .gathers import I64, along, cast
from .pointwise import Expressions, compute, copied, fill

Unique = tuple[DeviceArray, DeviceArray, DeviceArray]


def unique(a: DeviceArray, *, inverse: bool, counts: bool, dim: int | None,
           consecutive: bool) -> Unique:
    """(each value once, which of them each element is, how many of each there are)"""
    if dim is not None or not a.size:
        raise NoForm("slices")
    flat = (a if a.flags.c_contiguous else copied(a)).reshape(-1)
    index, n = a.index, a.size
    ordered, places = flat, None
    if not consecutive:
        places = sort.sort_keys(sort.keys_of(flat.reshape(1, -1)))[1].reshape(-1)
        ordered = along("unique", flat, places, 0)
    new = empty(index, (n,), np.dtype(np.bool_))
    fill(new, True)
    if n > 1:
        compute(Expressions("differs", (S.ne(S.arg(0), S.arg(1)),)), [ordered[1:], ordered[:-1]],
                index, [new[1:]])
    ranks = scans.run("sum", new, 0, I64)[0]
    first = scatters.compressed(new, ranks, int(ranks[-1:].item()))
    which, = compute(Expressions("which", (S.arg(0) - 1,)), [ranks], index)
    back = which
    if places is not None:
        back = empty(index, (n,), I64)
        scatters.put(back, places, which)
    ends = empty(index, first.shape, I64)
    fill(ends, n)
    if first.size > 1:
        ends[:-1] = first[1:]
    number, = compute(Expressions("count", (S.arg(0) - S.arg(1),)), [ends, first], index)
    return along("unique", ordered, first, 0), back.reshape(a.shape), number


def bincount(a: DeviceArray, weights: DeviceArray | None = None, *,
             minlength: int) -> DeviceArray:
    """How often, or with how much weight, each number 0, 1, ... occurs."""
    from ..ops.indexed_elements import Named, Written
    size = minlength
    if a.size:
        program = reduction_program("max", FROM_NUMPY[a.dtype].short)
        size = max(size, int(rows.run(program, [a], (0,), a.index)[0].item()) + 1)
    kind = I64 if weights is None else np.dtype(
        np.float32 if weights.dtype == np.float32 else np.float64)
    out = empty(a.index, (size,), kind)
    fill(out, 0)
    if a.size:
        values = np.ones((), kind) if weights is None else cast(weights, kind)
        scatters.write("bincount", out,
                       Written(Named((cast(a, I64),), (0,), each=True), values, "sum"))
    return out
