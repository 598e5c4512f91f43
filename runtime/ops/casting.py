"""Arrays in other types: the ops that convert, and copies in a given order of memory."""
from .. import dtypes
from ..cpu import pointwise as kernels
from ..dtypes import BOOL, STORED
from ..ir import scalar as s
from ..layouts import preserve_format
from . import float8
from . import pointwise as p
from .creation import like_array
from .pointwise_family import PointwiseOp
from .sample_inputs import reals

# types with the digits to compare gradients with differences
GRADIENTS = dtypes.float64, dtypes.complex128


def _cast_op(d):
    return PointwiseOp(f"to_{d.name}", lambda input: s.cast(input, d.short),
                       vjp=lambda g, y, x: [g], promote="none", result=d.short,
                       samples=reals(-3 if d.is_signed else 0, 3, grad=d in GRADIENTS))


CASTS = {d: _cast_op(d) for d in dtypes.ALL.values() if d.category != BOOL}
for _op in CASTS.values():
    _op.name_of_node = "ToCopyBackward0"
CASTS[dtypes.bool_] = p.to_bool


def cast_array(a, dtype):
    """An array's values in another type: towards zero for integers, real parts of complex
    numbers; order in memory kept."""
    if a.dtype == dtype.np:
        return a
    if dtypes.FROM_NUMPY[a.dtype].category == STORED:
        a = float8.widened(a)
    if dtype.category == STORED:
        return float8.narrowed(cast_array(a, dtypes.float32), dtype)
    return a if a.dtype == dtype.np else CASTS[dtype].forward(a)


def copy_array(a, memory_format=preserve_format):
    """A copy; `preserve_format` keeps the order of its dimensions in memory."""
    out = like_array(a, a.dtype, memory_format)
    if a.flags.c_contiguous and out.flags.c_contiguous:
        out[...] = a
        return out
    return kernels.copy(out, a)
