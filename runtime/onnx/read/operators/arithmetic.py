"""Arithmetic, comparisons and logic of two or more tensors."""
import math
import operator as python
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import whet

from .... import dtypes
from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Known, Value, as_array, as_tensor, each


def aligned(a: Tensor, b: Tensor, broadcast: int, axis: int | None) -> Tensor:
    """The second operand, whose sizes begin at a dimension of the first: what versions before 7
    of the operators have in place of broadcasting."""
    if axis is None or not broadcast:
        return b
    after = a.ndim - (axis % a.ndim) - b.ndim
    return b.reshape(*b.shape, *[1] * after)


def of_known(function: Callable[..., Any],
             result: dtypes.dtype | None = None) -> Callable[..., Known]:
    """A function of numbers that are known when a model is read, element by element."""
    def run(*values: Known, **settings: Any) -> Known:
        return Known(each(function, *(v.items for v in values)), result or values[0].type)
    return run


def are_texts(value: Any) -> bool:
    """Is it an array of strings?"""
    return isinstance(value, np.ndarray) and value.dtype == np.object_


def two(name: str, function: Callable[..., Tensor], known: Callable[..., Any] | None = None,
        result: dtypes.dtype | None = None) -> None:
    """Define an operator of two tensors, in both forms that it has had."""
    exact = of_known(known, result) if known else None

    @operator(name, since=7, known=exact)
    def run(a: Tensor, b: Tensor) -> Tensor:
        return function(a, b)

    @operator(name)
    def run_1(a: Tensor, b: Tensor, *, broadcast: int = 0, axis: int | None = None) -> Tensor:
        return function(a, aligned(a, b, broadcast, axis))


def divide(a: Tensor, b: Tensor) -> Tensor:
    """a / b, towards zero for integers."""
    if a.dtype.is_floating_point or a.dtype.is_complex:
        return whet.div(a, b)
    return whet.div(a, b, rounding_mode="trunc")


def divide_numbers(a: Any, b: Any) -> Any:
    """a / b of Python numbers, towards zero for integers."""
    if isinstance(a, float):
        return a / b if b else math.copysign(math.inf, a) if a else math.nan
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def power(a: Tensor, b: Tensor) -> Tensor:
    """a to the b, in the type of a."""
    if a.dtype is b.dtype:
        return whet.pow(a, b)
    if a.dtype.is_floating_point:
        return whet.pow(a, b.to(a.dtype))
    wide = whet.promote_types(a.dtype, b.dtype)
    return whet.pow(a.to(wide), b.to(wide)).to(a.dtype)


two("Add", whet.add, python.add)
two("Sub", whet.sub, python.sub)
two("Mul", whet.mul, python.mul)
two("Div", divide, divide_numbers)
two("Pow", power)
two("Equal", whet.eq, python.eq, dtypes.bool_)
two("Greater", whet.gt, python.gt, dtypes.bool_)
two("Less", whet.lt, python.lt, dtypes.bool_)
two("GreaterOrEqual", whet.ge, python.ge, dtypes.bool_)
two("LessOrEqual", whet.le, python.le, dtypes.bool_)
two("And", whet.logical_and, python.and_)
two("Or", whet.logical_or, python.or_)
two("Xor", whet.logical_xor, python.xor)
two("BitwiseAnd", whet.bitwise_and)
two("BitwiseOr", whet.bitwise_or)
two("BitwiseXor", whet.bitwise_xor)


@operator("Equal", since=19, known=of_known(python.eq, dtypes.bool_))
def equal(a: Value, b: Value) -> Any:
    """Strings are compared as well."""
    if are_texts(a):
        return whet.from_numpy((as_array(a) == as_array(b)).astype(bool))
    return whet.eq(as_tensor(a), as_tensor(b))


@operator("PRelu", since=7)
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    return whet.where(x < 0, x * slope, x)


@operator("PRelu")
def prelu_1(x: Tensor, slope: Tensor) -> Tensor:
    if slope.numel() > 1 and slope.ndim == 1:
        slope = slope.reshape(-1, *[1] * (x.ndim - 2))
    return whet.where(x < 0, x * slope, x)


@operator("Mod")
def mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    return whet.fmod(a, b) if fmod else whet.remainder(a, b)


@operator("BitShift")
def bit_shift(x: Tensor, y: Tensor, *, direction: str) -> Tensor:
    if direction not in ("LEFT", "RIGHT"):
        raise OnnxError(f"direction {direction!r} is neither LEFT nor RIGHT")
    return whet.bitwise_left_shift(x, y) if direction == "LEFT" else whet.bitwise_right_shift(x, y)


def many(name: str, function: Callable[..., Tensor],
         known: Callable[..., Any] | None = None) -> None:
    """Define an operator that folds any number of tensors."""
    exact = of_known(known) if known else None

    @operator(name, known=exact)
    def run(*data: Tensor) -> Tensor:
        if not data:
            raise OnnxError(f"{name} needs at least one input")
        return reduce(function, data)


many("Max", whet.maximum, max)
many("Min", whet.minimum, min)
many("Sum", whet.add)


@operator("Mean")
def mean(*data: Tensor) -> Tensor:
    total: Tensor = reduce(whet.add, data)
    return whet.div(total, len(data))


@operator("Where", known=of_known(lambda c, a, b: a if c else b))
def where(condition: Tensor, x: Value, y: Value) -> Any:
    if are_texts(x):
        return np.where(as_array(condition), as_array(x), as_array(y))
    return whet.where(condition, as_tensor(x), as_tensor(y))
