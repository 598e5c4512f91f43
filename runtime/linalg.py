"""Linear algebra: factorisations, solutions, norms of matrices (`whet.linalg`)."""
import functools
import math

from . import dtypes
from . import return_types as _types
from .dtypes import COMPLEX, FLOAT, finfo
from .dtypes import int64 as _int64
from .layouts import contiguous_format as _contiguous_format
from .ops.argument_guards import check_flag as _check_flag
from .ops.argument_guards import guarded as _guarded
from .ops.contract import matmul
from .ops.dims import one as _one
from .ops.elimination import lu, lu_factor, lu_factor_ex, lu_solve
from .ops.failed_matrices import not_positive as _not_positive
from .ops.host_family import LinAlgError, matrix
from .ops.host_family import square as _square
from .ops.lapack import (
    _cholesky_ex,
    _h,
    cholesky,
    det,
    eig,
    eigh,
    eigvalsh,
    inv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from .ops.lapack import pinv as _pinv
from .ops.lapack import solve_triangle as _solve_triangle
from .ops.number_questions import has_zero as _has_zero
from .ops.out_arguments import with_out as _with_out
from .ops.out_types import OutType as _OutType
from .ops.question_kernels import asked_of_all as _asked_of_all
from .ops.reflections import geqrf, householder_product, ormqr  # noqa: F401
from .ops.registry import ask as _ask
from .ops.registry import check_one_type as _check_one_type
from .ops.registry import check_tensors as _check_tensors
from .ops.surface import FUNCTIONS as _F
from .ops.symmetric_elimination import (
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
)
from .ops.vector_norm import vector_norm
from .size_arguments import as_int as _as_int

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex",
    "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm"]


def _largest(x, dim):
    """The largest of numbers that are at least zero, of none zero."""
    return x.amax(dim, keepdim=True) if x.shape[dim] else x.sum(dim, keepdim=True)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of each matrix: "fro", "nuc", inf, -inf, 1, -1, 2, -2.

    >>> import whet
    >>> whet.linalg.matrix_norm(whet.tensor([[3., 0.], [0., 4.]]))
    tensor(5.)
    """
    matrix("matrix_norm", A)
    if ord is None:
        raise TypeError("matrix_norm(): argument 'ord' must be Number or str, not NoneType")
    if dtype is not None:
        A = A.to(dtype=dtype)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(dim)}")
    rows, cols = (_one(d, A.ndim, "matrix_norm") for d in dim)
    if rows == cols:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord == "fro":
        return vector_norm(A, 2, (rows, cols), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(A.movedim((rows, cols), (-2, -1)))
        r = s.sum(-1) if ord == "nuc" else _largest(s, -1).squeeze(-1) if ord == 2 else s.amin(-1)
        for d in sorted((rows, cols)) if keepdim else ():
            r = r.unsqueeze(d)
        return r
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, rest = (rows, cols) if abs(ord) == 1 else (cols, rows)
    sums = A.abs().sum(summed, keepdim=True)
    r = _largest(sums, rest) if ord > 0 else sums.amin(rest, keepdim=True)
    if keepdim:
        return r
    return r.squeeze(max(rows, cols)).squeeze(min(rows, cols))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm over one dimension (or all), a matrix norm over two.

    >>> import whet
    >>> whet.linalg.norm(whet.tensor([3., 4.]))
    tensor(5.)
    """
    if (dim is None and ord is not None and A.ndim == 2
            or dim is not None and not isinstance(dim, int) and len(dim) == 2 and ord is not None):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if dim is None and ord is not None and A.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D "
                           f"or 2D. Got {A.ndim}D.")
    if dim is not None and not isinstance(dim, int) and len(dim) > 2:
        raise RuntimeError("linalg.norm: If dim is specified, it must be of length 1 or 2. Got "
                           f"{list(dim)}")
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: ord={ord!r} needs a matrix, got {tuple(A.shape)} over dim={dim}")
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def matrix_power(A, n):
    """A @ A @ ... n times; of the inverse where n is negative.

    >>> import whet
    >>> whet.linalg.matrix_power(whet.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    _square("matrix_power")(A)
    if n == 0:
        return A.clone().copy_(_F["eye"](A.shape[-1], dtype=A.dtype))
    if n == 1:
        return A.clone(memory_format=_contiguous_format)
    base, k, result = (A if n > 0 else inv(A)), abs(n), None
    while k:
        if k & 1:
            result = base if result is None else result @ base
        k >>= 1
        base = base @ base if k else base
    return result


def _tolerances(A, atol, rtol):
    """What a singular value must exceed: a number or tensor of its own, and a part of the
    largest one (none where the first is given)."""
    for what, x in (("atol", atol), ("rtol", rtol)):
        if hasattr(x, "dtype") and x.dtype.category == dtypes.COMPLEX:
            raise RuntimeError(f"{what} tensor of complex type is not supported. Got {x.dtype}")
    if rtol is None:
        zero = atol is None or not hasattr(atol, "ndim") and atol == 0
        rtol = max(A.shape[-2:]) * finfo(A.dtype).eps if zero else 0.0
    return 0.0 if atol is None else atol, rtol


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The Moore-Penrose inverse: singular values up to the larger of `atol` and `rtol` (or `rcond`)
    times the largest count as zero.

    >>> import whet
    >>> whet.linalg.pinv(whet.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    matrix("pinv", A)
    if hermitian:
        _square("pinv")(A)
    if A.dtype.category < FLOAT:
        raise RuntimeError(
            "linalg.pinv: Expected a floating point or complex tensor as input. Got "
            f"{A.dtype.letter}")
    atol, rtol = _tolerances(A, atol, rcond if rtol is None else rtol)
    return _pinv(A, atol, rtol, hermitian=bool(hermitian))


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """The number of singular values that count: more than the larger of `atol` and `rtol` times
    the largest.

    >>> import whet
    >>> whet.linalg.matrix_rank(whet.tensor([[1., 2.], [2., 4.]]))
    tensor(1)
    """
    matrix("matrix_rank", A)
    A = A.detach()
    s = eigvalsh(A).abs() if hermitian else svdvals(A)
    if not A.shape[-1] or not A.shape[-2]:
        return _F["zeros"](A.shape[:-2], dtype=_int64, device=A.device)
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = (_F["as_tensor"](x, dtype=s.dtype, device=s.device).unsqueeze(-1)
                  for x in _tolerances(A, atol, rtol))
    return (s > _F["maximum"](s.amax(-1, keepdim=True) * rtol, atol)).sum(-1)


def multi_dot(tensors):
    """The product of several matrices; the first and the last may be vectors. They are multiplied
    from left to right, or from right to left where that makes vectors of all that comes between.

    >>> import whet
    >>> m = whet.tensor([[0.0, 2.0], [1.0, 0.0]])
    >>> whet.linalg.multi_dot([m, m, whet.tensor([1.0, 3.0])])
    tensor([2., 6.])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, m in enumerate(tensors):
        inside = 0 < i < len(tensors) - 1
        if m.ndim != 2 and (inside or m.ndim != 1):
            raise RuntimeError(
                f"multi_dot(): tensor {i} must be {'2D' if inside else '1D or 2D'} but got "
                f"{m.ndim}D")
    if tensors[0].ndim > tensors[-1].ndim:
        return functools.reduce(lambda r, m: m @ r, reversed(tensors))
    return functools.reduce(lambda r, m: r @ m, tensors)


def vecdot(x, y, *, dim=-1):
    """The inner product of vectors along `dim`, the first conjugated.

    >>> import whet
    >>> whet.linalg.vecdot(whet.tensor([[1., 2.], [3., 4.]]), whet.tensor([1., 1.]))
    tensor([3., 7.])
    """
    _check_tensors("vecdot", x=x, y=y)
    if x.dtype.category < FLOAT:
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. "
                           f"Got {x.dtype.letter}")
    _check_one_type("linalg.vecdot", x=x, y=y)
    return (x.conj() * y).sum(dim)


def cross(input, other, *, dim=-1):
    """The cross product of vectors of three elements along `dim`.

    >>> import whet
    >>> whet.linalg.cross(whet.tensor([1., 0., 0.]), whet.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and "
            f"{other.shape[dim]}")
    return _F["cross"](input, other, dim)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices.

    >>> import whet
    >>> whet.linalg.diagonal(whet.tensor([[1., 2.], [3., 4.]]))
    tensor([1., 4.])
    """
    return A.diagonal(offset, dim1, dim2)


# ---- eigenvalues, exponentials, conditions -------------------------------------------------------
def eigvals(A):
    """The eigenvalues of a square matrix, complex always.

    >>> import whet
    >>> whet.linalg.eigvals(whet.tensor([[2., 0.], [0., 3.]]))
    tensor([2.+0.j, 3.+0.j])
    """
    return eig(A).eigenvalues


@_asked_of_all
def _halvings(a):
    """How often the matrices are to be halved for a norm of at most 1/2."""
    import numpy as np
    if not a.size:
        return 0
    n = np.abs(a).sum(-2).max()
    if not np.isfinite(n):
        return 0
    return max(0, int(math.ceil(math.log2(n * 2)))) if n > 0 else 0


def matrix_exp(A):
    """The exponential of square matrices: a Taylor series of A / 2^k, squared k times.

    >>> import whet
    >>> whet.linalg.matrix_exp(whet.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _square("matrix_exp")(A)
    if A.dtype.category < FLOAT:
        raise RuntimeError(
            "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got "
            f"{A.dtype.letter}")
    wide = dtypes.complex128 if A.dtype.category == dtypes.COMPLEX else dtypes.float64
    if A.dtype is not wide:         # each squaring doubles the relative error
        return matrix_exp(A.to(wide)).to(A.dtype)
    k = _ask(_halvings, A)
    a = A / 2 ** k
    eye = _F["eye"](A.shape[-1], dtype=A.dtype, device=A.device)
    r = eye.expand(A.shape)
    for n in range(18, 0, -1):
        r = eye + a @ r / n
    for _ in range(k):
        r = r @ r
    return r


def cond(A, p=None):
    """The condition number: by how much a solution may amplify errors of its right side.

    >>> import whet
    >>> whet.linalg.cond(whet.tensor([[2., 0.], [0., 4.]]))
    tensor(2.)
    """
    matrix("cond", A)
    if 0 in A.shape[-2:]:
        return _F["zeros"](A.shape[:-2], dtype=A.dtype.to_real())
    if p is None or p in (2, -2):
        s = svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    inverse, info = inv_ex(A)
    return _F["where"](info != 0, math.inf, matrix_norm(A, p) * matrix_norm(inverse, p))


# ---- solutions -----------------------------------------------------------------------------------
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with A @ X = B (or X @ A = B), one triangle of A being read. It is of A's type.

    >>> import whet
    >>> whet.linalg.solve_triangular(whet.tensor([[2., 1.], [0., 4.]]), whet.ones(2, 1), upper=True)
    tensor([[0.3750],
            [0.2500]])
    """
    _square("solve_triangular")(A)
    B = B.to(A.dtype)
    if B.ndim < 2:
        raise RuntimeError(
            "linalg.solve_triangular: The input tensor B must have at least 2 dimensions, got "
            f"{tuple(B.shape)}")
    _check_flag("linalg.solve_triangular", "upper", upper)
    upper, unit = bool(upper), bool(unitriangular)
    if left:
        return _solve_triangle(A, B, upper=upper, unit=unit)
    return _solve_triangle(A.mT, B.mT, upper=not upper, unit=unit).mT


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(X with A @ X = b, a copy of A): the older form of `linalg.solve_triangular`.

    >>> import whet
    >>> A = whet.tensor([[2., 1.], [0., 1.]])
    >>> x, _ = whet.triangular_solve(whet.tensor([[4.], [2.]]), A)
    >>> x
    tensor([[1.],
            [2.]])
    """
    _check_one_type("triangular_solve", b=b, A=A)
    x = solve_triangular(A.mT, b, upper=not upper, unitriangular=unitriangular) if transpose else \
        solve_triangular(A, b, upper=upper, unitriangular=unitriangular)
    return _types.triangular_solve((x, A.expand(*x.shape[:-2], *A.shape[-2:]).clone()))


def cholesky_solve(B, L, upper=False):
    """X with A @ X = B, given the Cholesky factor of A.

    >>> import whet
    >>> L = whet.linalg.cholesky(whet.tensor([[2., 0.], [0., 4.]]))
    >>> whet.cholesky_solve(whet.ones(2, 1), L)
    tensor([[0.5000],
            [0.2500]])
    """
    _check_one_type("cholesky_solve", B=B, L=L)
    L = L.mH if upper else L
    return solve_triangular(L.mH, solve_triangular(L, B, upper=False), upper=True)


def cholesky_inverse(L, upper=False):
    """The inverse of a matrix, from its Cholesky factor.

    >>> import whet
    >>> L = whet.linalg.cholesky(whet.tensor([[2., 0.], [0., 4.]]))
    >>> whet.cholesky_inverse(L)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    _square("cholesky_inverse")(L)
    return cholesky_solve(_F["eye"](L.shape[-1], dtype=L.dtype).expand(L.shape), L, upper)


def lstsq(A, B, rcond=None, *, driver=None):
    """The X for which |A @ X - B| is least, and of those the least X.

    >>> import whet
    >>> a, b = whet.tensor([[1., 0.], [1., 1.], [1., 2.]]), whet.tensor([[1.], [3.], [5.]])
    >>> whet.linalg.lstsq(a, b).solution.flatten()
    tensor([1.0000, 2.0000])
    """
    matrix("lstsq", A)
    driver = driver.lower() if isinstance(driver, str) else driver
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
            f"{driver!r}")
    m, n = A.shape[-2:]
    if not A.ndim - 1 <= B.ndim <= A.ndim:
        raise RuntimeError(
            "linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            f"other.dim()) <= 1, got {A.ndim} and {B.ndim}")
    _check_one_type("linalg.lstsq", A=A, B=B)
    vector = B.ndim == A.ndim - 1
    b = B.unsqueeze(-1) if vector else B
    if b.ndim < 2 or b.shape[-2] != m:
        raise RuntimeError(
            f"linalg.lstsq: input.size(-2) should match other.size(-2), got {tuple(A.shape)} and "
            f"{tuple(B.shape)}")
    if driver is None and m >= n:
        x, rank = _least_squares(A, b, rcond)
    else:
        rank = matrix_rank(A, rtol=rcond) if driver != "gels" else _F["empty"](0, dtype=_int64)
        x = _by_factors(qr(A), b) if driver == "gels" and m >= n else pinv(A, rcond) @ b
    real = A.dtype.to_real() if A.dtype.category == COMPLEX else A.dtype
    left = (((A @ x - b).abs() ** 2).sum(-2) if _has_residuals(m, n, driver, rank)
            else A.new_empty((0,), dtype=real))
    s = svdvals(A.detach()) if driver in ("gelsd", "gelss") else A.new_empty((0,), dtype=real)
    return _types.linalg_lstsq((x.squeeze(-1) if vector else x, left, rank, s))


def _has_residuals(m, n, driver, rank):
    """Does LAPACK's driver tell what is left of the right sides? Those that find the ranks do so
    where no matrix lacks any."""
    return m > n and (driver == "gels"
                      or driver in ("gelsd", "gelss") and bool((rank == n).all()))


def _by_factors(factors, b):
    """The X for which |q @ r @ X - b| is least, of matrices whose columns are independent."""
    q, r = factors
    return solve_triangular(r, q.mH @ b, upper=True)


def _least_squares(A, b, rcond):
    """The X for which |A @ X - b| is least, of several the smallest, for any matrices with no more
    columns than rows; and the ranks of the matrices, which are those of their factors R."""
    q, r = qr(A)
    m, n = A.shape[-2:]
    if _are_surely_regular(r.detach(), _tolerances(A, None, rcond)[1]):
        return (_by_factors((q, r), b),
                _F["full"](A.shape[:-2], n, dtype=_int64, device=A.device))
    rank = matrix_rank(A, rtol=rcond)
    full = (rank == n).unsqueeze(-1).unsqueeze(-1)
    some = _F["eye"](m, n, dtype=A.dtype, device=A.device)  # in the place of what has no inverse
    return _F["where"](full, _by_factors(qr(_F["where"](full, A, some)), b),
                       pinv(A, rcond) @ b), rank


def _are_surely_regular(r, rtol):
    """Is the least singular value of each upper triangle more than `rtol` of the greatest? The
    product of its norm and that of its inverse is no less than their quotient."""
    inverse = solve_triangular(r, _F["eye"](r.shape[-1], dtype=r.dtype, device=r.device)
                               .expand(r.shape), upper=True)
    squares = [x.abs().square().sum((-2, -1)) for x in (r, inverse)]
    return not _ask(_has_zero, (squares[0] * squares[1] * (rtol * rtol) < 1).to(_int64))


def tensorinv(A, ind=2):
    """The inverse of a tensor as a map from its last dimensions to its first `ind`.

    >>> import whet
    >>> whet.linalg.tensorinv(whet.eye(4).reshape(2, 2, 2, 2)).shape
    whet.Size([2, 2, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError(
            f"linalg.tensorinv: Expected a strictly positive integer for 'ind', got {ind}")
    size = math.prod(A.shape[:ind])
    if size != math.prod(A.shape[ind:]):
        raise RuntimeError(
            "linalg.tensorinv: Expected input to satisfy the requirement prod(input.shape[ind:]) "
            f"== prod(input.shape[:ind]), but got {math.prod(A.shape[ind:])} != {size}")
    return inv(A.reshape(size, size)).reshape(*A.shape[ind:], *A.shape[:ind])


def tensorsolve(A, B, dims=None):
    """X with tensordot(A, X, X.ndim) = B.

    >>> import whet
    >>> whet.linalg.tensorsolve(whet.eye(4).reshape(2, 2, 4), whet.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim:]
    if math.prod(shape) != B.numel():
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement "
            "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(shape)} != {B.numel()}")
    return solve(A.reshape(B.numel(), math.prod(shape)), B.reshape(-1)).reshape(shape)


# ---- factorisations ------------------------------------------------------------------------------
def cholesky_ex(A, *, upper=False, check_errors=False):
    """(the Cholesky factor, the order of the first leading minor that is not positive: 0 where all
    are and there is a factor).

    >>> import whet
    >>> whet.linalg.cholesky_ex(whet.tensor([[4., 0.], [0., -1.]])).info
    tensor(2, dtype=whet.int32)
    """
    factor, info = _cholesky_ex(A)
    if check_errors:
        _ask(_positive_minors, info)
    return _types.linalg_cholesky_ex((_h(factor) if upper else factor, info))


def _positive_minors(info):
    if info.any():
        raise LinAlgError(f"linalg.cholesky_ex: {_not_positive(info)}")


def _any(info):
    return bool(info.any())


def _where_possible(name, A, check_errors, solution):
    """(`solution` of the matrices, the place of each one's first zero pivot): what has no
    solution is infinite."""
    if A.dtype.category < FLOAT:
        return solution(A), None
    _square(name)(A)
    info = lu_factor_ex(A.detach()).info
    if not _ask(_any, info):
        return solution(A), info
    if check_errors:
        raise LinAlgError(
            f"linalg.{name}: The diagonal element {int(info.max())} is zero, the matrix is singular"
        )
    singular = (info != 0).unsqueeze(-1).unsqueeze(-1)
    r = solution(_F["where"](singular, _F["eye"](A.shape[-1], dtype=A.dtype), A))
    return _F["where"](singular if r.ndim >= A.ndim else singular.squeeze(-1), math.inf, r), info


def inv_ex(A, *, check_errors=False):
    """(the inverse, 0): where there is none, the place of the first pivot that is zero.

    >>> import whet
    >>> whet.linalg.inv_ex(whet.tensor([[2., 0.], [0., 4.]])).info.item()
    0
    """
    return _types.linalg_inv_ex(_where_possible("inv", A, check_errors, inv))


def solve_ex(A, B, *, left=True, check_errors=False):
    """(the solution, 0): where there is none, the place of the first pivot that is zero.

    >>> import whet
    >>> whet.linalg.solve_ex(whet.tensor([[2., 0.], [0., 4.]]), whet.ones(2)).result
    tensor([0.5000, 0.2500])
    """
    return _types.linalg_solve_ex(
        _where_possible("solve", A, check_errors, lambda a: solve(a, B, left=left)))


def vander(x, N=None):
    """The powers 0 to N - 1 of each number, as rows.

    >>> import whet
    >>> whet.linalg.vander(whet.tensor([2., 3.]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    x = x if x.ndim else x.reshape(1)
    n = x.shape[-1] if N is None else _as_int(N, "linalg.vander", "N")
    if x.dtype.category == dtypes.BOOL:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, "
                           "but got Bool")
    if n <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {n}")
    return x.unsqueeze(-1) ** _F["arange"](n)


# whose `out=` may have another type than the result
_OUT_TYPES = dict.fromkeys(
    ("cond", "eig", "eigvals", "householder_product", "lstsq", "matrix_power", "matrix_rank",
     "pinv", "tensorinv", "tensorsolve"), _OutType.CASTS)
globals().update({
    n: _with_out(globals()[n], n, types=_OUT_TYPES.get(n, _OutType.RESULT)) for n in __all__
    if n not in ("LinAlgError", "diagonal", "matmul", "matrix_exp", "vector_norm", "vander")})
globals().update(_guarded(globals(), __name__))
