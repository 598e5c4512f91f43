"""Values put and combined at the places that indices name, on devices, in the CPU's order; the
places of masks."""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cpu.duplicate_indices import COMBINATIONS
from ..dtypes import FLOAT, FROM_NUMPY
from ..ir import scalar as S
from . import scans, sort
from .arrays import DeviceArray, empty
from .gathers import BITS, I64, Walk, are_known, cast, lowered
from .launch import launch
from .pointwise import Expressions, compute, copied, copy_into, fill, is_wide
from .transfers import to_device

if TYPE_CHECKING:
    from ..ops.indexed_elements import Named, Written


def knows(out: DeviceArray, written: Written) -> bool:
    """Are there kernels for such a write?"""
    return are_known(written.named) and out.dtype.kind != "c" and out.itemsize in BITS


def write(name: str, out: DeviceArray, written: Written) -> None:
    """Put or combine values at the places that indices name, in the order of the indices."""
    named = written.named
    if not out.size and not prod(named.axes(out.shape)[0]):
        return
    combines = written.kind != "put"
    if combines and FROM_NUMPY[out.dtype].category == FLOAT and out.itemsize == 2:
        work = cast(out, np.dtype(np.float32))
    else:
        work = out if out.flags.c_contiguous else copied(out)
    spots, inner, shape = places(name, work, named)
    if spots.size:
        values, each = values_for(written.values, work, shape)
        flat = work.reshape(-1)
        if combines:
            # Where each row of an array has its own values, these are put in order row by row.
            by_rows = named.each and named.dims == (len(shape) - 1,)
            row = shape[-1] if by_rows else spots.size
            Combined(flat, spots, inner, row).run(values, each, written)
        else:
            put(flat, spots, values, inner, each)
    if work is not out:
        copy_into(out, work)


def places(name: str, out: DeviceArray,
           named: Named) -> tuple[DeviceArray, int, tuple[int, ...]]:
    """(the places in a row-major array, in slices; the elements of a slice; the shape of what is
    named)"""
    from ..passes.lower_triton import indexed as lower
    units = [s // out.itemsize for s in out.strides]
    walk = Walk(named, out.shape, units)
    shape, inner = walk.shape, 1
    if not named.each and named.is_one_block:
        behind = out.ndim - 1 - named.dims[-1]
        inner = prod(out.shape[out.ndim - behind:]) or 1
        walk = Walk(named, out.shape, [u // inner for u in units])
        walk.without_last(behind)
    spots = empty(out.index, (prod(walk.shape) if prod(shape) else 0,), I64)
    if spots.size:
        wide = is_wide([out.geometry, spots.geometry, *(i.geometry for i in named.indices)])
        kind = walk.kind()
        source = lowered(("places", kind, wide), lambda: lower.lower_places(kind, wide))
        walk.launch(out.index, name, source, {"y": spots.geometry})
    return spots, inner, shape


def values_for(values: Any, out: DeviceArray,
               shape: tuple[int, ...]) -> tuple[DeviceArray, int]:
    """(values in the type of what they are written to, row by row; how many elements they are
    apart: 0 of one that goes everywhere)"""
    if type(values) is not DeviceArray:
        return to_device(np.asarray(values, out.dtype).reshape(1), out.index), 0
    if values.size == 1:
        return cast(values.reshape(1), out.dtype), 0
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    if values.ndim == len(shape) and values.shape != shape:         # scatter reads a part
        values = values[tuple([slice(0, n) if v > 1 else slice(None)
                               for n, v in zip(shape, values.shape, strict=True)])]
    made = empty(out.index, shape, out.dtype)
    copy_into(made, values)
    return made, 1


def put(out: DeviceArray, spots: DeviceArray, values: DeviceArray, inner: int = 1,
        each: int = 1) -> None:
    """Slices into their places; -1 is none. The last of several stays."""
    from ..passes.lower_triton import indexed as lower
    last = empty(out.index, (max(1, out.size // inner),), I64)
    fill(last, -1)
    arrays = {"spots": spots.geometry, "last": last.geometry}
    launch(out.index, lowered("claims", lower.lower_claims), arrays, {"n": spots.size})
    bits, size = BITS[out.itemsize], out.itemsize
    launch(out.index, lowered(("put", size), lambda: lower.lower_put(size)),
           {"x": values.view(bits).geometry, "y": out.view(bits).geometry, **arrays},
           {"n": spots.size * inner, "inner": inner, "each": each})


class Combined:
    """Values combined into the slices of a vector, each place's in the order of their numbers:
    those of each `row` of values are for places behind those of the row before."""

    def __init__(self, out: DeviceArray, spots: DeviceArray, inner: int, row: int) -> None:
        self.out, self.spots, self.inner, self.row = out, spots, inner, row
        keys, self.order = sort.sort_keys(spots.reshape(-1, row))
        self.keys = keys.reshape(-1)

    def run(self, values: DeviceArray, each: int, written: Written) -> None:
        """Combine as an op says."""
        kind, how = written.kind, COMBINATIONS[written.kind]
        if not written.include_self:
            first = np.asarray(how.start(self.out.dtype), self.out.dtype).reshape(1)
            put(self.out, self.spots, to_device(first, self.out.index), self.inner, 0)
        self.join(self.out, values, "sum" if how.divides else kind, self.inner, each)
        if how.divides:
            self.divide(int(written.include_self))

    def join(self, out: DeviceArray, values: DeviceArray, kind: str, inner: int, each: int) -> None:
        """Combine values into a vector's slices."""
        from ..passes.lower_triton import indexed as lower
        if out.dtype == np.bool_:
            out, values = out.view(np.uint8), values.view(np.uint8)
            kind = {"sum": "amax", "prod": "amin"}.get(kind, kind)
        dtype = FROM_NUMPY[out.dtype].short
        count = self.keys.size
        launch(out.index, lowered((kind, dtype), lambda: lower.lower_combine(kind, dtype)),
               {"x": values.geometry, "y": out.geometry, "keys": self.keys.geometry,
                "order": self.order.geometry},
               {"n": count * inner, "inner": inner, "each": each, "count": count,
                "row": self.row})

    def divide(self, more: int) -> None:
        """Sums become means: of what was added to each place, and `more`."""
        from ..cpu.indexed import mean_of
        index = self.out.index
        counts = empty(index, (self.out.size // self.inner,), I64)
        fill(counts, 0)
        self.join(counts, to_device(np.ones(1, I64), index), "sum", 1, 0)
        sums = self.out.reshape(-1, self.inner)
        root = mean_of(FROM_NUMPY[sums.dtype].short, sums.dtype.kind == "f", more)
        made, = compute(Expressions("mean", (root,)), [sums, counts.reshape(-1, 1)], index)
        copy_into(sums, made)


# ---- masks ---------------------------------------------------------------------------------------
def nonzero(a: DeviceArray) -> DeviceArray:
    """The coordinates of all elements that are not zero, as rows, after a wait for their number."""
    mask, ranks = ranks_of(a)
    count = int(ranks[-1:].item()) if a.size else 0
    return coordinates(compressed(mask, ranks, count), a.shape)


def ranks_of(a: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """(which elements are not zero, row by row; how many are up to each)"""
    mask, = compute(Expressions("nonzero", (S.ne(S.arg(0), 0),)), [a], a.index)
    mask = (mask if mask.flags.c_contiguous else copied(mask)).reshape(-1)
    return mask, scans.run("sum", mask, 0, I64)[0]


def compressed(mask: DeviceArray, ranks: DeviceArray, count: int) -> DeviceArray:
    """The numbers of the first `count` elements that a mask holds."""
    from ..passes.lower_triton import indexed as lower
    out = empty(mask.index, (count,), I64)
    if count:
        launch(mask.index, lowered("compress", lower.lower_compress),
               {"mask": mask.view(np.uint8).geometry, "ranks": ranks.geometry, "y": out.geometry},
               {"n": mask.size, "most": count})
    return out


def coordinates(flat: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
    """Numbers of elements as rows of coordinates."""
    out = empty(flat.index, (flat.size, len(shape)), I64)
    step = 1
    for d in reversed(range(len(shape))):
        x = S.floordiv(S.arg(0), step)
        if flat.size:
            compute(Expressions("coordinate", (S.mod(x, shape[d]) if d else x,)), [flat],
                    flat.index, [out[:, d]])
        step *= max(1, shape[d])
    return out
