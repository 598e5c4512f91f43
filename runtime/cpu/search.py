"""Where values would go in sorted sequences, and which of them are there."""
from typing import Literal

import numpy as np

from ..dtypes import FROM_NUMPY, promote_types
from . import indexed, memory, native
from .reference_only import REFERENCE
from .row_kernels import BF16, NAMES
from .sort import row_kernel, sort
from .taped_launches import partial

GRAIN = 256                       # so many values are worth a thread


def searchsorted(sequence, values, sorter=None, *, right, out_int32):
    """Where values would go in sequences along the last axis; both of rows, or one 1-d sequence for
    all values. `sorter`: the positions that put the sequences in order."""
    common = promote_types(FROM_NUMPY[sequence.dtype], FROM_NUMPY[values.dtype]).np
    dtype = np.dtype(np.int32 if out_int32 else np.int64)
    n = sequence.shape[-1]
    if REFERENCE:
        return _reference(sequence.astype(common), values.astype(common), sorter, right, dtype)
    out = memory.empty(values.shape, dtype)
    if not n:
        return indexed.filled(out, 0) if out.size else out
    kernel = row_kernel("search", "emit_places", NAMES[common], f"i{8 * dtype.itemsize}", right,
                        sequence.ndim == 1, sorter is not None)
    order = [] if sorter is None else [indexed.converted(sorter, indexed.I64)]
    each = values.size if sequence.ndim == 1 else values.shape[-1]
    native.launch(kernel, values.size, GRAIN, indexed.converted(sequence, common),
                  indexed.converted(values, common), out, n, each, *order)
    return out


def isin(elements, tests, invert):
    """For each element: is it among the test elements? Or if `invert`: is it not?"""
    common = np.result_type(*map(_comparable, (elements, tests)))
    exact = all(np.can_cast(a.dtype, common) for a in (elements, tests) if a.dtype.kind in "iu")
    if not exact or not indexed.suit(elements, tests):
        return np.isin(elements.astype(_comparable(elements), copy=False),
                       tests.astype(_comparable(tests), copy=False), invert=invert)
    out = memory.empty(elements.shape, np.dtype(bool))
    rows, _ = map(partial, sort(indexed.converted(tests, common).reshape(-1)))
    native.launch(row_kernel("search", "emit_members", NAMES[common], invert), elements.size, GRAIN,
                  rows, indexed.converted(elements, common), out, rows.size, elements.size)
    return out


def _comparable(a):
    """The type to compare elements in."""
    return np.dtype(np.float32) if a.dtype == BF16 else a.dtype


def _reference(sequence, values, sorter, right, dtype):
    sequence, values = (a.astype(_comparable(a), copy=False) for a in (sequence, values))
    side: Literal["right", "left"] = "right" if right else "left"
    out = np.empty(values.shape, dtype)
    if sequence.ndim == 1:
        out[...] = np.searchsorted(sequence, values, side, sorter)
        return out
    for i in np.ndindex(*sequence.shape[:-1]):
        order = None if sorter is None else sorter[i]
        out[i] = np.searchsorted(sequence[i], values[i], side, order)
    return out
