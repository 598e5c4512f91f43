"""Elimination with row swaps: `linalg.lu` and what belongs to it."""

from .. import return_types
from ..dtypes import int32
from .host_family import LinAlgError, matrix
from .lapack import _lu, lu_parts, solve, solve_triangle
from .registry import ask, check_one_type
from .surface import FUNCTIONS as F


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(L and U in one matrix, row swaps, the place of the first pivot that is zero) with A = P @
    L @ U."""
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
    """(L and U in one matrix, row swaps) with A = P @ L @ U. A pivot that is zero is an error."""
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
    """P, L, U from what `lu_factor` gives."""
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
    if wanted and LU.shape[:-2] != pivots.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-2] and pivots.shape[:-1] to be the same, but got pivots "
            f"with shape {list(pivots.shape)} for LU of shape {list(LU.shape)}")


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with A @ X = B, given what `lu_factor` makes of A."""
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
    """(factors, pivots) or (factors, pivots, infos): `whet.lu`."""
    r = lu_factor_ex(A, pivot=pivot)
    return tuple(r) if get_infos else tuple(r[:2])
