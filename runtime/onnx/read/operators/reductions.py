"""Reductions over axes, which are attributes in older versions and inputs in newer ones."""
import math
from collections.abc import Callable

import numpy as np
import whet

from ....tensor import Tensor
from ..definition import operator
from ..values import Ints, Known

Reduce = Callable[[Tensor, list[int], bool], Tensor]


def total(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    return whet.sum(x, dims, keepdim=keep, dtype=x.dtype)


def mean(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    if x.dtype.is_floating_point:
        return whet.mean(x, dims, keepdim=keep)
    count = math.prod(x.shape[d] for d in dims)
    return whet.div(total(x, dims, keep), count, rounding_mode="trunc").to(x.dtype)


def product(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    for d in sorted((d % x.ndim for d in dims), reverse=True):
        x = whet.prod(x, d, keepdim=keep, dtype=x.dtype)
    return x


def least(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    if x.numel() == 0:
        highest = math.inf if x.dtype.is_floating_point else _limit(x).max
        return empty_result(x, dims, keep, highest)
    return whet.amin(x, dims, keepdim=keep) if x.dtype is not whet.bool else \
        whet.amin(x.to(whet.uint8), dims, keepdim=keep).to(whet.bool)


def most(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    if x.numel() == 0:
        lowest = -math.inf if x.dtype.is_floating_point else _limit(x).min
        return empty_result(x, dims, keep, lowest)
    return whet.amax(x, dims, keepdim=keep) if x.dtype is not whet.bool else \
        whet.amax(x.to(whet.uint8), dims, keepdim=keep).to(whet.bool)


def _limit(x: Tensor) -> whet.iinfo:
    return whet.iinfo(whet.uint8 if x.dtype is whet.bool else x.dtype)


def empty_result(x: Tensor, dims: list[int], keep: bool, value: float) -> Tensor:
    """What a reduction gives where there is nothing to reduce."""
    gone = {d % x.ndim for d in dims}
    shape = [1 if d in gone else n for d, n in enumerate(x.shape) if keep or d not in gone]
    return whet.full(shape, value, dtype=x.dtype)


def norm1(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    return total(whet.abs(x), dims, keep)


def norm2(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    wide = x if x.dtype.is_floating_point else x.to(whet.float64)
    return whet.sqrt(total(wide * wide, dims, keep)).to(x.dtype)


def sum_of_squares(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    return total(x * x, dims, keep)


def log_sum(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    wide = x if x.dtype.is_floating_point else x.to(whet.float64)
    return whet.log(total(wide, dims, keep)).to(x.dtype)


def log_sum_exp(x: Tensor, dims: list[int], keep: bool) -> Tensor:
    if x.numel() == 0:
        return empty_result(x, dims, keep, -math.inf)
    wide = x if x.dtype.is_floating_point else x.to(whet.float64)
    return whet.logsumexp(wide, dims, keepdim=keep).to(x.dtype)


def product_of_known(x: Known, axes: Known | None = None, *, keepdims: int = 1,
                     noop_with_empty_axes: int = 0) -> Known:
    """The product of the sizes in a shape."""
    over = range(x.items.ndim) if axes is None else (int(a) for a in axes.items.reshape(-1))
    where = tuple(over)
    made = x.items.prod(axis=where, keepdims=True)
    return Known(made if keepdims else np.squeeze(made, where), x.type)


def reduction(name: str, function: Reduce, inputs_since: int) -> None:
    """Define a reduction, whose axes are an input from a version on."""
    def run(x: Tensor, dims: list[int], keep: bool) -> Tensor:
        return function(x, dims, keep) if x.ndim else function(x.reshape(1), [0], False)

    known = product_of_known if name == "ReduceProd" else None

    @operator(name, since=inputs_since, known=known)
    def reduce(data: Tensor, axes: Ints | None = None, *, keepdims: int = 1,
               noop_with_empty_axes: int = 0) -> Tensor:
        if not axes and noop_with_empty_axes:
            return function(data.unsqueeze(0), [0], False)
        return run(data, axes or list(range(data.ndim)), bool(keepdims))

    @operator(name)
    def reduce_1(data: Tensor, *, axes: list[int] | None = None, keepdims: int = 1) -> Tensor:
        return run(data, axes or list(range(data.ndim)), bool(keepdims))


reduction("ReduceSum", total, 13)
for _name, _function in {"ReduceMean": mean, "ReduceProd": product, "ReduceMin": least,
                         "ReduceMax": most, "ReduceL1": norm1, "ReduceL2": norm2,
                         "ReduceSumSquare": sum_of_squares, "ReduceLogSum": log_sum,
                         "ReduceLogSumExp": log_sum_exp}.items():
    reduction(_name, _function, 18)


def place_of(name: str, function: Callable[..., Tensor]) -> None:
    """Define ArgMax or ArgMin."""
    @operator(name)
    def run(data: Tensor, *, axis: int = 0, keepdims: int = 1,
            select_last_index: int = 0) -> Tensor:
        if not select_last_index:
            return function(data, dim=axis, keepdim=bool(keepdims))
        found = function(whet.flip(data, (axis,)), dim=axis, keepdim=bool(keepdims))
        return data.shape[axis] - 1 - found


place_of("ArgMax", whet.argmax)
place_of("ArgMin", whet.argmin)


def running(name: str, function: Callable[..., Tensor], start: int) -> None:
    """Define CumSum or CumProd."""
    @operator(name)
    def run(x: Tensor, axis: Ints, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        dim = axis[0] % x.ndim
        if reverse:
            x = whet.flip(x, (dim,))
        if exclusive:
            first = whet.full_like(x.narrow(dim, 0, 1), start)
            x = whet.cat([first, x.narrow(dim, 0, x.shape[dim] - 1)], dim)
        found = function(x, dim, dtype=x.dtype)
        return whet.flip(found, (dim,)) if reverse else found


running("CumSum", whet.cumsum, 0)
running("CumProd", whet.cumprod, 1)
