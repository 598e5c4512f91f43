"""Names of linear algebra at the top level and as methods: those of `whet.linalg`, and older
ones."""

from .. import linalg, return_types
from ..dtypes import COMPLEX
from . import low_rank
from .elimination import lu_unpack, packed_lu
from .lapack import _h, _inv, cholesky, det, qr, slogdet, svd, svdvals
from .out_arguments import with_out
from .out_types import OutType
from .surface import FUNCTIONS as F
from .surface import METHODS, function
from .vector_norm import vector_norm


def _inverse(input):
    """The inverse of a square matrix, or of each of a batch.

    >>> import whet
    >>> whet.inverse(whet.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inv(input)


def _logdet(input):
    """The logarithm of the determinant; NaN where it is negative.

    >>> import whet
    >>> whet.logdet(whet.tensor([[2., 0.], [0., 4.]]))
    tensor(2.0794)
    """
    sign, value = slogdet(input)
    return (value + sign.log()
            if sign.dtype.category == COMPLEX else F["where"](sign < 0, float("nan"), value))


def _lu_solve(b, LU_data, LU_pivots):
    """Solve A @ X = b, given the factors of A as `lu` packs them.

    >>> import whet
    >>> LU, pivots = whet.linalg.lu_factor(whet.tensor([[2., 0.], [0., 4.]]))
    >>> whet.lu_solve(whet.ones(2, 1), LU, pivots)
    tensor([[0.5000],
            [0.2500]])
    """
    return linalg.lu_solve(LU_data, LU_pivots, b)


def _pinverse(input, rcond=1e-15):
    """The Moore-Penrose inverse.

    >>> import whet
    >>> whet.pinverse(whet.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return linalg.pinv(input, rcond=rcond)


def _cholesky_of_old(input, upper=False):
    """The Cholesky factor of a positive definite matrix.

    >>> import whet
    >>> whet.cholesky(whet.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return cholesky(input, upper=upper)


def _qr_of_old(input, some=True):
    """Q and R with A = Q @ R.

    >>> import whet
    >>> Q, R = whet.qr(whet.eye(2))
    >>> R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return return_types.qr(qr(input, "reduced" if some else "complete"))


def _slogdet_of_old(input):
    """Sign and logarithm of the determinant.

    >>> import whet
    >>> whet.slogdet(whet.tensor([[2., 0.], [0., 4.]])).sign
    tensor(1.)
    """
    return return_types.slogdet(slogdet(input))


# whose `out=` may have another type than the result
_OUT_TYPES = dict.fromkeys(
    ("cholesky", "cholesky_solve", "cholesky_inverse", "matrix_power", "geqrf", "lu"),
    OutType.CASTS)


def publish():
    """Put them there."""
    named = {
        "inverse": _inverse, "pinverse": _pinverse, "logdet": _logdet, "lu_solve": _lu_solve,
        "cholesky": _cholesky_of_old, "qr": _qr_of_old, "svd": _torch_svd,
        "slogdet": _slogdet_of_old}
    for name, fn in named.items():
        fn.__name__ = fn.__qualname__ = name
    named |= {
        "det": det, "matrix_exp": linalg.matrix_exp,
        "cholesky_solve": linalg.cholesky_solve, "cholesky_inverse": linalg.cholesky_inverse,
        "triangular_solve": linalg.triangular_solve, "matrix_power": linalg.matrix_power}
    for name, fn in named.items():
        METHODS[name] = fn
        F[name] = (fn if name in ("det", "slogdet", "logdet", "pinverse",
                                  "matrix_exp") else
                   with_out(fn, name, types=_OUT_TYPES.get(name, OutType.RESULT)))
    for name in ("geqrf", "ormqr"):
        METHODS[name], F[name] = getattr(linalg, name), with_out(
            getattr(linalg, name), types=_OUT_TYPES.get(name, OutType.RESULT))
    F["orgqr"] = METHODS["orgqr"] = linalg.householder_product
    METHODS["lu"], F["lu"] = packed_lu, with_out(packed_lu, "lu", types=_OUT_TYPES["lu"])
    F["lu_unpack"], F["pca_lowrank"], F["svd_lowrank"] = with_out(
        lu_unpack), low_rank.pca_lowrank, low_rank.svd_lowrank


def _torch_svd(input, some=True, compute_uv=True):
    """U, S, V (not its transpose), as the older function gives them.

    >>> import whet
    >>> whet.svd(whet.tensor([[0., 2.], [3., 0.]])).S
    tensor([3., 2.])
    """
    if not compute_uv:
        s = svdvals(input)
        *batch, m, n = input.shape
        u, v = (F["zeros"](*batch, k, k, dtype=input.dtype, device=input.device) for k in (m, n))
        return return_types.svd((u, s, v))
    u, s, vh = svd(input, full_matrices=not some)
    return return_types.svd((u, s, _h(vh)))


@function(out=True)
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of a tensor: `p` a number, "fro" or "nuc".

    >>> import whet
    >>> whet.norm(whet.tensor([[3., 0.], [0., 4.]]))
    tensor(5.)
    """
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "nuc":
        if dim is None and input.ndim != 2:
            raise RuntimeError(
                f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(range(input.ndim))}")
        pair = (-2, -1) if dim is None else (dim,) if isinstance(dim, int) else dim
        return linalg.matrix_norm(input, "nuc", pair, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)
