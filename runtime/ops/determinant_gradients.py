"""Gradients of determinants, and of their logarithms, where the matrix has no inverse."""
import math

from .number_questions import has_zero
from .ranges import arange
from .registry import ask
from .surface import FUNCTIONS as F

# a matrix of n rows has n * n minors: with more rows than this they take too much memory
MOST_ROWS = 32


def cofactors(a):
    """The derivative of the determinant of each matrix by its elements: what is left without an
    element's row and column, with its sign. Being determinants again, it has derivatives of any
    order."""
    n = a.shape[-1]
    every, each = arange(n, device=a.device).unsqueeze(-1), arange(n - 1, device=a.device)
    rest = each + (each >= every).to(each.dtype)         # row i: all numbers but i
    minors = F["det"](a[..., rest[:, None, :, None], rest[None, :, None, :]])
    return minors * (1 - 2 * ((every + every.mT) % 2)).to(minors.dtype)


def inverse_or_infinite(inv, a, sign):
    """The inverses of matrices of which the determinants' signs are given: infinite where there is
    none, which is how the logarithm of a determinant grows there."""
    if not ask(has_zero, sign):
        return inv(a)
    singular = (sign == 0).unsqueeze(-1).unsqueeze(-1)
    return F["where"](singular, math.inf, inv(
        F["where"](singular, F["eye"](a.shape[-1], dtype=a.dtype, device=a.device), a)))
