"""Products of the array API standard, which its `linalg` has too."""
from .array_api_wrappers import _in_common_type
from .dtypes import BOOL, COMPLEX, int64
from .ops.surface import FUNCTIONS


def matmul(x1, x2, /):
    """The matrix product."""
    return FUNCTIONS["matmul"](*_in_common_type(x1, x2))


def tensordot(x1, x2, /, *, axes=2):
    """Products summed over axes of both."""
    x1, x2 = _in_common_type(x1, x2)
    return FUNCTIONS["tensordot"](x1, x2,
                                  axes if isinstance(axes, int) else [list(a) for a in axes])


def vecdot(x1, x2, /, *, axis=-1):
    """The inner product of vectors along an axis, the first conjugated."""
    x1, x2 = _in_common_type(x1, x2)
    x1 = x1.conj() if x1.dtype.category == COMPLEX else x1
    dtype = x1.dtype if x1.dtype.category > BOOL else int64
    return FUNCTIONS["sum"](x1 * x2, axis, dtype=dtype)


def matrix_transpose(x, /):
    """The last two dimensions exchanged."""
    if x.ndim < 2:
        raise ValueError("matrix_transpose: at least two dimensions are needed")
    return x.mT
