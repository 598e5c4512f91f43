"""Grids and combinations of the elements of vectors."""
import builtins

import numpy as np

from .argument_guards import check_text
from .creation import empty, literal
from .structured_matrices import places_between
from .surface import FUNCTIONS, function


@function(method=False)
def meshgrid(*tensors, indexing=None):
    """Coordinates of a grid: one expanded view for each 1-d tensor.

    >>> import whet
    >>> x, y = whet.meshgrid(whet.tensor([1, 2]), whet.tensor([3, 4, 5]), indexing="ij")
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}".replace(
                    "torch.", ""))
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "ij", "xy"):
        check_text("meshgrid", "indexing", indexing)
        raise RuntimeError(
            f"meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.numel() for t in tensors)
    grids = [
        t.reshape((1,) * i + (-1,) + (1,) * (len(tensors) - 1 - i)).expand(shape)
        for i, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@function(method=False)
def cartesian_prod(*tensors):
    """Every combination of one element of each 1-d tensor, as rows.

    >>> import whet
    >>> whet.cartesian_prod(whet.tensor([1, 2]), whet.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return FUNCTIONS["stack"]([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@function(method=False)
def combinations(input, r=2, with_replacement=False):
    """All combinations of r elements of a 1-d tensor, as rows.

    >>> import whet
    >>> whet.combinations(whet.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return empty(0, dtype=input.dtype)
    return input[literal(_rising(input.numel(), r, repeated=with_replacement))]


def _rising(n, r, repeated):
    """All rows of r numbers below n that rise, or with `repeated` do not fall, in order."""
    columns: list[np.ndarray] = []
    first = np.zeros(1, np.int64)
    for _ in builtins.range(r):
        row, number = places_between(first, np.full(len(first), n))
        columns = [*(c[row] for c in columns), number]
        first = number if repeated else number + 1
    return np.stack(columns, 1)
