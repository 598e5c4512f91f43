"""Sparse tensors that get another size, in place."""
from __future__ import annotations

from typing import Any

from ..ops.surface import FUNCTIONS as F
from ..size_arguments import checked_size
from .rules import rule
from .tensor import CooTensor, refusal


def _sizes(name: str, input: Any, size: Any, sparse_dim: int, dense_dim: int) -> tuple[int, ...]:
    if not isinstance(input, CooTensor):
        raise refusal(name, str(input.layout))
    if isinstance(size, int):
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not int")
    sizes = checked_size(tuple(size), name)
    if sparse_dim + dense_dim != len(sizes) or sparse_dim < 0 or dense_dim < 0:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(sizes)}, "
            f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    if input.requires_grad:
        raise RuntimeError(f"{name}: a leaf Variable that requires grad is being used in an "
                           "in-place operation.")
    return sizes


@rule("sparse_resize_")
def sparse_resize_(input: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give a tensor another size with the entries that it has; what its values get is zero.

    >>> import whet
    >>> s = whet.sparse_coo_tensor([[0, 1]], [1., 2.], (2,))
    >>> s.sparse_resize_((5,), 1, 0).to_dense()
    tensor([1., 2., 0., 0., 0.])
    """
    sizes = _sizes("sparse_resize_", input, size, sparse_dim, dense_dim)
    before = input._sizes
    if input._nnz():
        if (input.sparse_dim(), input.dense_dim()) != (sparse_dim, dense_dim):
            raise RuntimeError(
                f"changing the number of sparse dimensions (from {input.sparse_dim()} to "
                f"{sparse_dim}) or of dense ones (from {input.dense_dim()} to {dense_dim}) on a "
                "non-empty sparse tensor is not supported.")
        for kind, at in (("sparse", slice(0, sparse_dim)), ("dense", slice(sparse_dim, None))):
            if any(n < m for n, m in zip(sizes[at], before[at], strict=True)):
                raise RuntimeError(
                    f"shrinking the size of {kind} dimensions (from {list(before[at])} to "
                    f"{list(sizes[at])}) on a non-empty sparse tensor is not supported.")
        more = [n - m for n, m in zip(sizes[sparse_dim:], before[sparse_dim:], strict=True)]
        if any(more):
            around = [x for n in reversed(more) for x in (0, n)]
            input._held = F["constant_pad_nd"](input._held, around)
    else:
        _empty(input, sizes, sparse_dim)
    input._sizes = sizes
    return input


@rule("sparse_resize_and_clear_")
def sparse_resize_and_clear_(input: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give a tensor another size, and no entries.

    >>> import whet
    >>> s = whet.sparse_coo_tensor([[0, 1]], [1., 2.], (2,))
    >>> s.sparse_resize_and_clear_((3, 4), 2, 0).to_dense().count_nonzero()
    tensor(0)
    """
    sizes = _sizes("sparse_resize_and_clear_", input, size, sparse_dim, dense_dim)
    _empty(input, sizes, sparse_dim)
    input._sizes = sizes
    return input


def _empty(input: Any, sizes: tuple[int, ...], sparse_dim: int) -> None:
    """No entries of such sizes."""
    input._places = input._places.new_empty((sparse_dim, 0))
    input._held = input._held.new_empty((0, *sizes[sparse_dim:]))
