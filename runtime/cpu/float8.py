"""Arrays of floats of one byte, from and to others.

A byte is looked up in a table of the 256 values that a type has. The way back goes by float32, as
in PyTorch: to the nearest, ties to even; what is beyond the largest is that in `float8_e4m3fn`,
infinite in `float8_e5m2`, and no number elsewhere. `float8_e8m0fnu` holds powers of two without a
sign, of which zero is the least.
"""
import functools

import numpy as np
from whet import dtypes

_LARGEST = np.float32(448)                # of float8_e4m3fn
_SMALLEST_NORMAL = np.float32(2.0 ** -126)


@functools.cache
def _values(np_dtype):
    """The float32 of each byte."""
    return np.arange(256, dtype=np.uint8).view(np_dtype).astype(np.float32)


def widened(a, out):
    """Write an array's values as float32, which is exact."""
    dtypes.check_converted(dtypes.FROM_NUMPY[a.dtype])
    np.take(_values(a.dtype), a.view(np.uint8), out=out, mode="clip")
    return out


def narrowed(a, out):
    """Write an array of float32 in one of these types."""
    d = dtypes.FROM_NUMPY[out.dtype]
    dtypes.check_converted(d)
    if d is dtypes.float8_e4m3fn:
        a = np.clip(a, -_LARGEST, _LARGEST)
    elif d is dtypes.float8_e8m0fnu:
        a = np.abs(a)
    with np.errstate(all="ignore"):
        out[...] = a.astype(d.np)
    if d is dtypes.float8_e8m0fnu:
        out.view(np.uint8)[a < _SMALLEST_NORMAL] = 0
    elif d in (dtypes.float8_e4m3fn, dtypes.float8_e5m2):
        out.view(np.uint8)[np.isnan(a)] |= 0x7F
    return out


def copy(dst, src, convert):
    """Write `src`, broadcast, into `dst`, where one of them has one of these types. `convert` does
    it where none has."""
    if dtypes.FROM_NUMPY[src.dtype].category == dtypes.STORED:
        src = widened(src, np.empty(src.shape, np.float32))
    if dtypes.FROM_NUMPY[dst.dtype].category != dtypes.STORED:
        convert(dst, src)
        return
    if src.dtype != np.float32:
        src = convert(np.empty(src.shape, np.float32), src)
    narrowed(np.broadcast_to(src, dst.shape), dst)
