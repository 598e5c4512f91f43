"""Complex arrays as real ones, and products of complex matrices as products of these.

The numbers of a complex matrix are pairs in memory: it is a real one with twice the columns. A row
(a + i b, ...) times a column (c + i d, ...) is the real row (a, b, ...) times the two real columns
(c, -d, ...) and (d, c, ...), which the second matrix and i times it are, row by row:

    A @ B  =  A as pairs  @  [B; i B] as pairs,  read as complex numbers
"""
import numpy as np
from whet.ir import scalar

from . import memory, taped_launches
from .pointwise import Pointwise
from .rows import contiguous

_ROWS = Pointwise("rows of a product", (
    scalar.arg(0),
    scalar.from_parts(-scalar.imag_part(scalar.arg(0)), scalar.real_part(scalar.arg(0)))), 1)


def real_factors(a, b):
    """The real matrices whose product is, read as complex numbers, a (..., M, K) @ b (..., K,
    N)."""
    *batch, k, n = b.shape
    rows = taped_launches.partial(memory.empty((*batch, k, 2, n), b.dtype))
    if rows.size:
        _ROWS([b], [rows[..., 0, :], rows[..., 1, :]])
    a = contiguous(a) if a.shape[-1] > 1 and a.strides[-1] != a.itemsize else a
    return parts_in_rows(a), rows.view(b.real.dtype).reshape(*batch, 2 * k, 2 * n)


def pairs(a):
    """An array as a real one with a last dimension of both parts."""
    return a[..., None].view(a.real.dtype)


def parts_in_rows(a):
    """An array whose last dimension is dense as a real one of its parts."""
    real = a.real
    return np.lib.stride_tricks.as_strided(
        real, (*a.shape[:-1], 2 * a.shape[-1]), (*a.strides[:-1], real.itemsize), writeable=False)
