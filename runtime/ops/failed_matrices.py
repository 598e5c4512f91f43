"""What a matrix lacks that LAPACK or a kernel refused, in the words of the error: which matrix of
several it is, and where it failed. Only called for an error."""
import numpy as np

from ..cpu import factorisations


def which(info):
    """(the words for the first matrix that failed, where it failed) from numbers that are 0 where
    a matrix did not; None where none did."""
    failed = np.flatnonzero(info)
    if not len(failed):
        return None
    return f"(Batch element {failed[0]}): " if info.ndim else "", np.ravel(info)[failed[0]]


def no_inverse(a):
    """Why there is no inverse."""
    found = which(factorisations.lu(a)[2])
    return found and (f"{found[0]}The diagonal element {found[1]} is zero, the inversion could not "
                      "be completed because the input matrix is singular.")


def no_solution(a, _b):
    """Why equations have no solution."""
    found = which(factorisations.lu(a)[2])
    return found and (f"{found[0]}The solver failed because the input matrix is singular.")


def leading_minors(a):
    """The order of the first leading minor of each matrix that is not positive (0 if all are)."""
    flat = ((a + np.conj(np.swapaxes(a, -1, -2))) / 2).reshape(-1, *a.shape[-2:])
    return np.array([_leading_minor(x) for x in flat], np.int32).reshape(a.shape[:-2])


def _leading_minor(a):
    def positive(n):
        try:
            return bool(np.isfinite(np.linalg.cholesky(a[:n, :n])).all())
        except np.linalg.LinAlgError:
            return False
    low, high = 0, len(a)
    if positive(high):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if positive(middle) else (low, middle)
    return high


def not_positive(minors):
    """Why there is no Cholesky factor, by the numbers of `leading_minors`."""
    found = which(minors)
    return found and (
        f"{found[0]}The factorization could not be completed because the input is not "
        f"positive-definite (the leading minor of order {found[1]} is not positive-definite).")


def not_finite(a, **_):
    """Why an iteration has not come to an end."""
    return None if np.isfinite(a).all() else (
        "The algorithm failed to converge because the input matrix contained non-finite values.")
