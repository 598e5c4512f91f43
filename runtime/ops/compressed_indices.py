"""Rows of the entries of a sparse matrix, and the places where rows begin: each of the other, under
PyTorch's names, by which libraries for graphs call them."""
from ..dtypes import int32, int64
from .surface import FUNCTIONS as F


def _convert_indices_from_coo_to_csr(input, size, *, out_int32=False):
    """Where each of `size` rows begins, and the last one ends, of the rows of entries in order.

    >>> import whet
    >>> whet._convert_indices_from_coo_to_csr(whet.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    rows = F["arange"](size + 1, device=input.device, dtype=input.dtype)
    return F["searchsorted"](input.contiguous(), rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False,
                                     transpose=False):
    """The row and the column of each entry, as two rows; the column first with `transpose`.

    >>> import whet
    >>> whet._convert_indices_from_csr_to_coo(whet.tensor([0, 2, 2, 3]), whet.tensor([1, 2, 0]))
    tensor([[0, 0, 2],
            [1, 2, 0]])
    """
    rows = F["searchsorted"](crow_indices.contiguous(), F["arange"](
        col_indices.shape[-1], device=col_indices.device, dtype=crow_indices.dtype),
        right=True) - 1
    both = (col_indices, rows) if transpose else (rows, col_indices)
    return F["stack"]([x.to(int32 if out_int32 else int64) for x in both])
