"""Layers and products: of each row with weights, and of parts with each other."""
from __future__ import annotations

from typing import Any

from ..ops.surface import FUNCTIONS as F
from .padding import padded, unpadded
from .rules import family, rule
from .tensor import NestedTensor, is_nested, refusal


def _behind_the_ragged(name: str, x: NestedTensor, count: int, what: str) -> None:
    """Raise where the last dimensions are not all behind the ragged one."""
    if count > x.ndim - 1 - x._ragged:
        raise RuntimeError(f"{name}: {what} must be behind the ragged dimension of the input, "
                           f"which has the shape {tuple(x.shape)}")


@family("linear")
def linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """A linear layer for each row."""
    if not is_nested(input) or is_nested(weight) or is_nested(bias):
        raise refusal("linear", "weights must be dense")
    if input._ragged == input.ndim - 1:
        raise ValueError("linear: the last dimension of the input is the ragged one, but must be "
                         f"that of the features: {tuple(input.shape)}")
    return input._with(func(input._held, weight, bias))


@family("layer_norm", "rms_norm")
def norm(func: Any, input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    """Normalised along trailing dimensions."""
    if not is_nested(input) or any(map(is_nested, (*args, *kwargs.values()))):
        raise refusal(func.__name__, "weights must be dense")
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    _behind_the_ragged(func.__name__, input, count, "the normalized dimensions")
    return input._with(func(input._held, normalized_shape, *args, **kwargs))


@family("embedding", "one_hot")
def embedding(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Rows of a dense table at nested indices."""
    found = [x for x in (*args, *kwargs.values()) if is_nested(x)]
    if len(found) > 1 or found[0].dtype.is_floating_point:
        raise refusal(func.__name__, "only the indices can be nested")

    def held(x: Any) -> Any:
        return x._held if is_nested(x) else x
    values = func(*map(held, args), **{k: held(x) for k, x in kwargs.items()})
    return found[0]._with(values)


@family("embedding_bag")
def embedding_bag(func: Any, input: Any, weight: Any, offsets: Any = None, *args: Any,
                  **kwargs: Any) -> Any:
    """The sum, mean or maximum of rows of a table, part by part."""
    if not is_nested(input) or is_nested(weight) or offsets is not None or input.ndim != 2 \
            or input._lengths is not None:
        raise refusal("embedding_bag", "only indices of shape (B, j) without gaps can be nested")
    args = tuple([x._held if is_nested(x) else x for x in args])
    kwargs = {k: x._held if is_nested(x) else x for k, x in kwargs.items()}
    return func(input._held, weight, input._offsets[:-1], *args, **kwargs)


# ---- products of matrices ------------------------------------------------------------------------
def _impossible(a: Any, b: Any) -> RuntimeError:
    return RuntimeError(f"matmul(): not supported between inputs of shapes {tuple(a.shape)} and "
                        f"{tuple(b.shape)}")


@rule("matmul", "bmm", "__matmul__")
def matmul(input: Any, other: Any) -> Any:
    """The product of matrices: of rows with a dense matrix, of each part with the matrix that a
    dense batch has for it, or of parts along the ragged dimension, which gives a dense batch.

    >>> import whet
    >>> nt = whet.nested.nested_tensor([whet.ones(2, 3), whet.ones(4, 3)])
    >>> (nt @ whet.ones(3, 5)).values().shape, (nt.mT @ nt).shape
    (whet.Size([6, 5]), whet.Size([2, 3, 3]))
    """
    if is_nested(input):
        return _of_two(input, other) if is_nested(other) else _times_dense(input, other)
    n, ragged = other.ndim, other._ragged
    if input.ndim < 2 or n < 3 or ragged == n - 2:
        raise _impossible(input, other)
    if ragged == n - 1 and input.ndim in (2, n):         # columns of parts
        if input.ndim == 2:
            return other._with(F["matmul"](input, other._held))
        return unpadded(F["matmul"](input, padded(other, 0)), other)
    if input.ndim == 2:                                   # (B, j, D, E): a matrix for each row
        return other._with(F["matmul"](input, other._held))
    raise _impossible(input, other)


@rule("__rmatmul__")
def _rmatmul(self: Any, other: Any) -> Any:
    return matmul(other, self)


def _times_dense(a: NestedTensor, b: Any) -> Any:
    n, ragged = a.ndim, a._ragged
    if ragged == n - 1 or b.ndim < 2:
        raise _impossible(a, b)
    if b.ndim == 2 and n > 2:
        return a._with(F["matmul"](a._held, b))
    if b.ndim != n or n < 3 or b.shape[ragged] != 1 and ragged < n - 2:
        raise _impossible(a, b)
    return unpadded(F["matmul"](padded(a, 0), b), a)


def _of_two(a: NestedTensor, b: NestedTensor) -> Any:
    n = a.ndim
    same = a._offsets is b._offsets and a._lengths is b._lengths and n == b.ndim and n >= 3
    if same and a._ragged == n - 1 and b._ragged == n - 2:
        return F["matmul"](padded(a, 0), padded(b, 0))    # over the ragged dimension
    if same and a._ragged == b._ragged < n - 2:
        return a._with(F["matmul"](a._held, b._held))     # a matrix for each row
    raise _impossible(a, b)
