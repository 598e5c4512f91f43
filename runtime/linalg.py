"""Linear algebra: factorisations, solutions, norms of matrices (`whet.linalg`)."""
import math

from .ops.contract import matmul
from .ops.host import LinAlgError, cholesky, det, eigh, eigvalsh, inv, matrix, qr, slogdet, solve, svd, svdvals
from .ops.host import square as _square
from .ops.reduce import vector_norm
from .ops.surface import FUNCTIONS as _F
from .ops.surface import guarded as _guarded

__all__ = ["LinAlgError", "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "vecdot", "vector_norm"]


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of each matrix: "fro", "nuc", inf, -inf, 1, -1, 2, -2."""
    matrix("matrix_norm", A)
    if dtype is not None:
        A = A.to(dtype=dtype)
    rows, cols = (d % A.ndim for d in dim)
    if rows == cols:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord == "fro":
        return vector_norm(A, 2, (rows, cols), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(A.movedim((rows, cols), (-2, -1)))
        r = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
        for d in sorted((rows, cols)) if keepdim else ():
            r = r.unsqueeze(d)
        return r
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, rest = (rows, cols) if abs(ord) == 1 else (cols, rows)
    sums = A.abs().sum(summed, keepdim=True)
    r = sums.amax(rest, keepdim=True) if ord > 0 else sums.amin(rest, keepdim=True)
    if keepdim:
        return r
    return r.squeeze(max(rows, cols)).squeeze(min(rows, cols))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm over one dimension (or all), a matrix norm over two."""
    if dim is None and ord is not None and A.ndim == 2 or dim is not None and not isinstance(dim, int) and len(dim) == 2 and ord is not None:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: ord={ord!r} needs a matrix, got {tuple(A.shape)} over dim={dim}")
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def matrix_power(A, n):
    """A @ A @ ... n times; of the inverse where n is negative."""
    _square("matrix_power")(A)
    if n == 0:
        return _F["eye"](A.shape[-1], dtype=A.dtype).expand(A.shape).clone()
    base, k, result = (A if n > 0 else inv(A)), abs(n), None
    while k:
        if k & 1:
            result = base if result is None else result @ base
        k >>= 1
        base = base @ base if k else base
    return result


def pinv(A, rcond=None, hermitian=False):
    """The Moore-Penrose inverse."""
    u, s, vh = svd(A, full_matrices=False)
    from .dtypes import finfo
    tol = (max(A.shape[-2:]) * finfo(A.dtype).eps if rcond is None else rcond) * s.detach().amax(-1, keepdim=True)
    keep = s.detach() > tol
    scaled = _F["where"](keep, 1.0 / _F["where"](keep, s, 1.0), 0.0)
    return (vh.mH * scaled.unsqueeze(-2)) @ u.mH


def matrix_rank(A, *, atol=None, rtol=None, hermitian=False):
    """The number of singular values that count."""
    s = svdvals(A.detach())
    from .dtypes import finfo
    rtol = (0.0 if atol is not None else max(A.shape[-2:]) * finfo(A.dtype).eps) if rtol is None else rtol
    return (s > _F["maximum"](s.amax(-1, keepdim=True) * rtol, _F["full_like"](s[..., :1], atol or 0.0))).sum(-1)


def multi_dot(tensors):
    """The product of several matrices."""
    r = tensors[0]
    for m in tensors[1:]:
        r = r @ m
    return r


def vecdot(x, y, *, dim=-1):
    """The inner product of vectors along `dim`, the first conjugated."""
    return (x.conj() * y).sum(dim)


def cross(input, other, *, dim=-1):
    """The cross product of vectors of three elements along `dim`."""
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}")
    a1, a2, a3 = input.unbind(dim)
    b1, b2, b3 = other.unbind(dim)
    return _F["stack"]([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], dim)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


globals().update(_guarded(globals()))
