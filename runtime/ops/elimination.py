"""Elimination with row swaps: `linalg.lu` and what belongs to it."""

from .. import return_types
from ..cpu import factorisations
from ..dtypes import int32
from ..ir.outline import Outline
from .batching import all_batched
from .host_family import LinAlgError, host, matrix
from .lapack import _h, _leaf, _solve, solve, solve_triangle, well_conditioned
from .registry import apply, ask, check_one_type
from .sample_inputs import Sample
from .surface import FUNCTIONS as F


# ---- the factors as ops --------------------------------------------------------------------------
def _lu_vjp(g, y, a):
    g, lu = g[0], y[0]
    m, n = a.shape[-2:]
    k = min(m, n)
    permutation, lower, upper = lu_parts(lu, y[1])
    lower, upper = lower[..., :k, :], upper[..., :k]
    gl, gu = g[..., :k, :k].tril(-1), g[..., :k, :k].triu()
    if n > k:                                       # the rest of U is L^-1 @ the rest of A
        right = _solve(_h(lower), g[..., k:])
        gl = gl - right @ _h(lu[..., k:])
    if m > k:                                       # the rest of L is the rest of A @ U^-1
        below = _h(_solve(upper, _h(g[..., k:, :])))
        gu = gu - _h(lu[..., k:, :]) @ below
    inner = (_h(lower) @ gl).tril(-1) + (gu @ _h(upper)).triu()
    inner = _h(_solve(upper, _h(_solve(_h(lower), inner))))
    if n > k:
        inner = F["cat"]([inner, right], -1)
    if m > k:
        inner = F["cat"]([inner, below], -2)
    return [permutation @ inner]


def lu_parts(packed, pivots):
    """P, L, U from packed factors and row swaps."""
    return apply(_parts.op, (packed, pivots), {})


def _parts_vjp(g, _y, packed, _pivots):
    """Each number of the packed factors is one of L or of U."""
    m, n = packed.shape[-2:]
    k, (_, lower, upper) = min(m, n), g
    found = None
    if lower is not None:
        found = F["constant_pad_nd"](lower.tril(-1), (0, n - k))
    if upper is not None:
        upper = F["constant_pad_nd"](upper.triu(), (0, 0, 0, m - k))
        found = upper if found is None else found + upper
    return [F["zeros_like"](packed) if found is None else found, None]


def _parts_outlined(packed, _pivots):
    *batch, m, n = packed.shape
    k = min(m, n)
    return tuple([Outline((*batch, *sizes), packed.dtype) for sizes in ((m, m), (m, k), (k, n))])


def _parts_samples(make):
    for sizes, swaps in (((2, 2), [2, 2]), ((3, 4), [3, 3, 3]), ((4, 2), [1, 4])):
        yield Sample(make(*sizes), F["tensor"](swaps, dtype=int32))


def _any_matrices(make):
    yield from well_conditioned(make)
    a = F["tensor"]([[3.0, 1.0, -1.0, 2.0], [1.0, 4.0, 0.5, -2.0], [-1.0, 0.5, 5.0, 1.0]],
                    dtype=make.dtype)
    for wide in (a, a.mT.clone()):
        yield Sample(_leaf(wide) if make.grad else wide)


_parts = host("lu_parts", factorisations.parts, samples=_parts_samples, vjp=_parts_vjp)
# matrices beside rows of swaps
_parts.op.batch_rule = lambda op, n, inputs, batched, attrs: apply(
    op, tuple(all_batched(n, inputs, batched)), attrs)
_lu = host("lu_factor", factorisations.lu, infer=lambda a: matrix("lu_factor", a),
           samples=_any_matrices, vjp=_lu_vjp)
_lu.op.is_repeatable = True
_parts.op.is_repeatable = _parts.op.any_sizes = True
_parts.op.outlined = _parts_outlined


# ---- what users call -----------------------------------------------------------------------------
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(L and U in one matrix, row swaps, the place of the first pivot that is zero) with A = P @
    L @ U.

    >>> import whet
    >>> LU, pivots, info = whet.linalg.lu_factor_ex(whet.eye(2))
    >>> info.item()
    0
    """
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    packed, pivots, info = _lu(A)
    if check_errors:
        ask(_nonzero_pivots, info)
    return return_types.linalg_lu_factor_ex((packed, pivots, info))


def _nonzero_pivots(info):
    if info.any():
        raise LinAlgError(
            f"linalg.lu_factor: U[{info.max()},{info.max()}] is zero and using it on lu_solve "
            "would result in a division by zero.")


def lu_factor(A, *, pivot=True):
    """(L and U in one matrix, row swaps) with A = P @ L @ U. A pivot that is zero is an error.

    >>> import whet
    >>> LU, pivots = whet.linalg.lu_factor(whet.tensor([[0., 1.], [2., 0.]]))
    >>> pivots
    tensor([2, 2], dtype=whet.int32)
    """
    return return_types.linalg_lu_factor(lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


def lu(A, *, pivot=True):
    """P, L, U with A = P @ L @ U.

    >>> import whet
    >>> p, l, u = whet.linalg.lu(whet.tensor([[1., 2.], [4., 4.]]))
    >>> p @ l @ u
    tensor([[1., 2.],
            [4., 4.]])
    """
    return return_types.linalg_lu(lu_unpack(*lu_factor_ex(A, pivot=pivot)[:2]))


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """P, L, U from what `lu_factor` gives.

    >>> import whet
    >>> LU, pivots = whet.linalg.lu_factor(whet.tensor([[0., 1.], [2., 0.]]))
    >>> P, L, U = whet.lu_unpack(LU, pivots)
    >>> P @ L @ U
    tensor([[0., 1.],
            [2., 0.]])
    """
    matrix("lu_unpack", LU_data)
    _check_pivots("lu_unpack", LU_data, LU_pivots, unpack_pivots)
    if not unpack_pivots:                          # they need not be any
        LU_pivots = F["ones"]((*LU_data.shape[:-2], min(LU_data.shape[-2:])), dtype=int32,
                              device=LU_data.device)
    p, lower, upper = lu_parts(LU_data, LU_pivots)
    if not unpack_pivots:
        p = LU_data.new_empty((0,))
    if not unpack_data:
        lower, upper = LU_data.new_empty((0,)), LU_data.new_empty((0,))
    return return_types.lu_unpack((p, lower, upper))


def _check_pivots(name, LU, pivots, wanted=True):
    if wanted and pivots.dtype is not int32:
        raise RuntimeError(
            f"{name}: pivots should be a contiguous Tensor of whet.int32, got {pivots.dtype}")
    if wanted and (pivots.ndim == 0 or LU.shape[:-2] != pivots.shape[:-1]):
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-2] and pivots.shape[:-1] to be the same, but got pivots "
            f"with shape {list(pivots.shape)} for LU of shape {list(LU.shape)}")


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with A @ X = B, given what `lu_factor` makes of A.

    >>> import whet
    >>> LU, pivots = whet.linalg.lu_factor(whet.tensor([[2., 0.], [0., 4.]]))
    >>> whet.linalg.lu_solve(LU, pivots, whet.ones(2, 1))
    tensor([[0.5000],
            [0.2500]])
    """
    matrix("lu_solve", LU)
    check_one_type("linalg.lu_solve", LU=LU, B=B)
    _check_pivots("linalg.lu_solve", LU, pivots)
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the "
                           "dimension of the matrix")
    if B.ndim < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    p, lower, upper = lu_unpack(LU, pivots)
    a = p @ lower @ upper if not left or adjoint else None
    if a is not None:
        return solve(a.mH if adjoint else a, B, left=left)
    return solve_triangle(upper,
                          solve_triangle(lower, p.mT @ B, upper=False, unit=True),
                          upper=True, unit=False)


def packed_lu(A, pivot=True, get_infos=False):
    """(factors, pivots) or (factors, pivots, infos): `whet.lu`.

    >>> import whet
    >>> factors, pivots = whet.lu(whet.tensor([[0., 2.], [1., 3.]]))
    >>> pivots.tolist()         # the rows were exchanged
    [2, 2]
    >>> factors
    tensor([[1., 3.],
            [0., 2.]])
    """
    r = lu_factor_ex(A, pivot=pivot)
    return tuple(r) if get_infos else tuple(r[:2])
