"""Where values would go in sorted sequences."""
import numpy as np

from ..dtypes import FROM_NUMPY, promote_types
from . import memory, native, places
from .row_kernels import NAMES
from .rows import REFERENCE
from .sort import row_kernel

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
        return places.filled(out, 0) if out.size else out
    kernel = row_kernel("search", "emit", NAMES[common], f"i{8 * dtype.itemsize}", right,
                        sequence.ndim == 1, sorter is not None)
    order = [] if sorter is None else [places.converted(sorter, places.I64)]
    each = values.size if sequence.ndim == 1 else values.shape[-1]
    native.launch(kernel, values.size, GRAIN, places.converted(sequence, common),
                  places.converted(values, common), out, n, each, *order)
    return out


def _reference(sequence, values, sorter, right, dtype):
    if sequence.dtype.itemsize == 2 and sequence.dtype.kind == "V":
        sequence, values = sequence.astype(np.float32), values.astype(np.float32)
    side, out = "right" if right else "left", np.empty(values.shape, dtype)
    if sequence.ndim == 1:
        out[...] = np.searchsorted(sequence, values, side, sorter)
        return out
    for i in np.ndindex(*sequence.shape[:-1]):
        order = None if sorter is None else sorter[i]
        out[i] = np.searchsorted(sequence[i], values[i], side, order)
    return out
