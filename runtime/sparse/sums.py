"""Sums, norms and softmax of sparse tensors."""
from __future__ import annotations

import math
from typing import Any

from ..ops.surface import FUNCTIONS as F
from .rules import rule
from .tensor import CooTensor, flat_places, refusal


@rule("sum")
def sum(input: Any, dim: Any = None, keepdim: bool = False,  # noqa: A001
        *, dtype: Any = None) -> Any:
    """The sum of all elements, or along dimensions: sparse where a sparse dimension is left."""
    held = input._held if dtype is None else input._held.to(dtype)
    if dim is None or isinstance(dim, tuple | list) and not dim:
        return held.sum()
    coo, n = input._with(held)._as_coo(), input.sparse_dim()
    gone = {input._dim(d) for d in ([dim] if isinstance(dim, int) else dim)}
    inner = [d - n + 1 for d in sorted(gone) if d >= n]
    held = coo._held.sum(inner, keepdim=keepdim) if inner else coo._held
    if not any(d < n for d in gone):
        sizes = (*coo._sizes[:n], *held.shape[1:])
        return CooTensor(coo._places, held, sizes, coo._is_coalesced)
    if all(d in gone for d in range(n)):
        total = held.sum(0)
        return total.reshape(*[1] * n, *total.shape) if keepdim else total
    kept = [d for d in range(n) if keepdim or d not in gone]
    none = F["zeros"](coo._nnz(), dtype=coo._places.dtype)
    places = F["stack"]([none if d in gone else coo._places[d] for d in kept])
    sizes = (*[1 if d in gone else coo._sizes[d] for d in kept], *held.shape[1:])
    return CooTensor(places, held, sizes).coalesce()


@rule("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Any:
    """The norm of all elements."""
    if dim is not None or keepdim:
        raise refusal("norm", f"{input.layout} along dimensions")
    held = input.coalesce()._held if isinstance(input, CooTensor) else input._held
    return F["norm"](held.reshape(-1), 2 if p == "fro" else p, dtype=dtype)


@rule("any")
def any_(input: Any) -> Any:
    """Is any element not zero?"""
    coo = input._as_coo().coalesce()
    return (coo._held != 0).any()


# ---- softmax over the entries --------------------------------------------------------------------
def _groups(coo: CooTensor, d: int) -> tuple[Any, int]:
    """For each entry the number of those that it is compared with, and how many numbers there
    are."""
    n = coo.sparse_dim()
    others = [k for k in range(n) if k != d]
    sizes = tuple(coo._sizes[k] for k in others)
    count = math.prod(sizes)
    flat = flat_places(F["stack"]([coo._places[k] for k in others]), sizes) if others \
        else F["zeros"](coo._nnz(), dtype=coo._places.dtype)
    if count <= 4 * coo._nnz() + 1024:
        return flat, count
    found, which = F["unique"](flat, return_inverse=True)
    return which, found.shape[0]


def _softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    coo = input._as_coo().coalesce()
    held, d, n = coo._held, input._dim(dim), coo.sparse_dim()
    if dtype is not None:
        held = held.to(dtype)
    if not held.is_floating_point():
        raise NotImplementedError(f"softmax not implemented for '{held.dtype.letter}'")
    if d >= n:
        found = F["log_softmax" if log else "softmax"](held, d - n + 1)
        return input._back(coo._with(found))
    which, count = _groups(coo, d)
    shape = (count, *held.shape[1:])
    index = which.reshape(-1, *[1] * (held.ndim - 1)).expand(held.shape)
    largest = F["full"](shape, -math.inf, dtype=held.dtype)
    largest = largest.scatter_reduce(0, index, held.detach(), "amax").index_select(0, which)
    moved = held - F["where"](largest == -math.inf, 0.0, largest)
    powers = moved.exp()
    total = F["zeros"](shape, dtype=held.dtype).index_add(0, which, powers).index_select(0, which)
    return input._back(coo._with(moved - total.log() if log else powers / total))


@rule("softmax")
def softmax(input: Any, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Softmax along a dimension over the entries there are: others count as minus infinity.

    >>> import whet
    >>> s = whet.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0., 0., 5.], (2, 3))
    >>> whet.sparse.softmax(s, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000],
            [0.0000, 1.0000, 0.0000]])
    """
    return _softmax(input, dim, dtype, log=False)


@rule("log_softmax")
def log_softmax(input: Any, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`.

    >>> import whet
    >>> x = whet.tensor([[1., 1.], [0., 2.]]).to_sparse()
    >>> whet.sparse.log_softmax(x, dim=1).values()
    tensor([-0.6931, -0.6931,  0.0000])
    """
    return _softmax(input, dim, dtype, log=True)
