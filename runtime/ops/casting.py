"""Arrays in other types: the ops that convert, and copies in a given order of memory."""
import numpy as np

from .. import dtypes
from ..cpu import pointwise as kernels
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from ..ir import scalar as s
from ..tensor import preserve_format
from . import pointwise as p
from .creation import like_array
from .pointwise_family import PointwiseOp
from .samples import reals


def _cast_op(d):
    return PointwiseOp(f"to_{d.name}", lambda input: s.cast(input, d.short),
                       vjp=lambda g, y, x: [g], promote="none", kinds="bif", result=d.short,
                       samples=reals(-3 if d.is_signed else 0, 3, grad=False))


CASTS = {d: _cast_op(d) for d in dtypes.ALL.values() if d.kind in (INT, FLOAT)}
CASTS[dtypes.bool_] = p.to_bool


def cast_array(a, dtype):
    """An array's values in another type: towards zero for integers, real parts of complex
    numbers; order in memory kept."""
    if a.dtype == dtype.np:
        return a
    if a.dtype.kind != "c" and dtype.kind != COMPLEX:
        return CASTS[dtype].forward(a)
    if a.dtype.kind == "c" and dtype.kind != COMPLEX:
        if dtype.kind == BOOL:
            return a != 0
        return copy_array(a.real) if a.real.dtype == dtype.np else cast_array(a.real, dtype)
    out = like_array(a, dtype.np)
    with np.errstate(all="ignore"):
        out[...] = a
    return out


def copy_array(a, memory_format=preserve_format):
    """A copy; `preserve_format` keeps the order of its dimensions in memory."""
    out = like_array(a, a.dtype, memory_format)
    if a.flags.c_contiguous and out.flags.c_contiguous:
        out[...] = a
        return out
    return kernels.copy(out, a)
