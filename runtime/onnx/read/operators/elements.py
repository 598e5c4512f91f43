"""Functions of single elements."""
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import whet

from .... import dtypes
from ....tensor import Tensor
from ..attributes import value_of
from ..definition import operator
from ..values import Value
from .arithmetic import of_known


def one(name: str, function: Callable[[Tensor], Tensor], known: Callable[[Any], Any] | None = None,
        result: dtypes.dtype | None = None) -> None:
    """Define an operator of one tensor that has had one meaning in all versions."""
    @operator(name, known=of_known(known, result) if known else None)
    def run(x: Tensor) -> Tensor:
        return function(x)


one("Abs", whet.abs, abs)
one("Neg", whet.neg, lambda x: -x)
one("Ceil", whet.ceil, lambda x: float(math.ceil(x)) if math.isfinite(x) else x)
one("Floor", whet.floor, lambda x: float(math.floor(x)) if math.isfinite(x) else x)
one("Round", whet.round)
one("Sign", whet.sign)
one("Reciprocal", whet.reciprocal)
one("Sqrt", whet.sqrt)
one("Exp", whet.exp)
one("Log", whet.log)
one("Erf", whet.erf)
one("IsNaN", whet.isnan)
one("Not", whet.logical_not, lambda x: not x, dtypes.bool_)
one("BitwiseNot", whet.bitwise_not)
for _name in ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
              "Acosh", "Atanh", "Sigmoid", "Relu"):
    one(_name, getattr(whet, _name.lower()))


@operator("Identity")
def identity(x: Value) -> Any:
    return x


@operator("IsInf")
def is_inf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    if detect_negative and detect_positive:
        return whet.isinf(x)
    if not detect_negative and not detect_positive:
        return whet.zeros_like(x, dtype=whet.bool)
    return whet.isposinf(x) if detect_positive else whet.isneginf(x)


@operator("Clip", since=11)
def clip(x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    if min is not None:
        x = whet.maximum(x, min)
    return x if max is None else whet.minimum(x, max)


@operator("Clip")
def clip_1(x: Tensor, *, min: float | None = None, max: float | None = None) -> Tensor:
    return x if min is None and max is None else whet.clamp(x, min, max)


@operator("Constant")
def constant(*, value: Value = None, value_int: int | None = None, value_float: float | None = None,
             value_string: str | None = None, value_ints: list[int] | None = None,
             value_floats: list[float] | None = None, value_strings: list[str] | None = None,
             sparse_value: Value = None) -> Any:
    for number, kind in ((value_int, np.int64), (value_float, np.float32), (value_ints, np.int64),
                         (value_floats, np.float32)):
        if number is not None:
            return value_of(np.array(number, kind))
    if value_string is not None:
        return np.array(value_string, dtype=object)
    if value_strings is not None:
        return np.array(value_strings, dtype=object)
    return value if value is not None else sparse_value
