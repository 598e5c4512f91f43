"""The `linalg` extension of the array API standard."""
from . import linalg as _linalg
from .array_api_object import keeps_arrays
from .array_api_products import matmul, matrix_transpose, tensordot, vecdot
from .array_api_wrappers import _in_common_type, _named
from .dtypes import INT, int64, uint64
from .ops.surface import FUNCTIONS


class linalg:                                       # noqa: N801
    """The standard's `linalg`."""
    __module__ = "whet.array_api"


def _extends(fn):
    setattr(linalg, fn.__name__, staticmethod(keeps_arrays(_named(fn.__name__, fn, fn.__doc__))))


@_extends
def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of three elements."""
    return _linalg.cross(*FUNCTIONS["broadcast_tensors"](*_in_common_type(x1, x2)), dim=axis)


@_extends
def diagonal(x, /, *, offset=0):
    """The diagonals of matrices."""
    return x.diagonal(offset, -2, -1)


@_extends
def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of matrices."""
    if dtype is None and x.dtype.category == INT:
        dtype = int64 if x.dtype.is_signed else uint64
    return FUNCTIONS["sum"](x.diagonal(offset, -2, -1), -1, dtype=dtype or x.dtype)


@_extends
def outer(x1, x2, /):
    """The products of all pairs of two vectors' elements."""
    return FUNCTIONS["outer"](*_in_common_type(x1, x2))


@_extends
def cholesky(x, /, *, upper=False):
    """The triangular factor of positive definite matrices."""
    return _linalg.cholesky(x, upper=upper)


@_extends
def qr(x, /, *, mode="reduced"):
    """Q and R."""
    return _linalg.qr(x, mode)


@_extends
def svd(x, /, *, full_matrices=True):
    """U, S, Vh."""
    return _linalg.svd(x, full_matrices)


@_extends
def solve(x1, x2, /):
    """The solutions of linear equations; `x2` is one vector only where it has one dimension."""
    x1, x2 = _in_common_type(x1, x2)
    columns = x2.unsqueeze(-1) if x2.ndim == 1 else x2
    batch = FUNCTIONS["broadcast_shapes"](x1.shape[:-2], columns.shape[:-2])
    r = _linalg.solve(*[x.expand(*batch, *x.shape[-2:]) for x in (x1, columns)])
    return r.squeeze(-1) if x2.ndim == 1 else r


@_extends
def matrix_power(x, n, /):
    """Matrices multiplied with themselves."""
    return _linalg.matrix_power(x, n)


@_extends
def pinv(x, /, *, rtol=None):
    """The pseudo-inverse."""
    return _linalg.pinv(x, rtol=rtol)


@_extends
def matrix_rank(x, /, *, rtol=None):
    """The number of singular values that count."""
    return _linalg.matrix_rank(x, rtol=rtol)


@_extends
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of each matrix."""
    return _linalg.matrix_norm(x, ord, keepdim=keepdims)


@_extends
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """A norm of vectors along axes."""
    if axis == ():                               # each element is a vector
        return _linalg.vector_norm(x.unsqueeze(-1), ord, -1)
    return _linalg.vector_norm(x, ord, axis, keepdims)


def _of_matrices(name):
    call = getattr(_linalg, name)

    def fn(x, /):
        return call(x)
    return _named(name, fn)


for _n in "det eigh eigvalsh inv slogdet svdvals".split():
    _extends(_of_matrices(_n))
for _fn in (matmul, tensordot, vecdot, matrix_transpose):
    _extends(_fn)
