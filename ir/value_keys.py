"""Python values as keys: two keys are equal if the values are the same, in type and to the bit.

So 1 is not 1.0 nor True, 0.0 is not -0.0, and a NaN is the same as one of the same bits. What has a
type that is not named here is compared as it compares itself.
"""
from __future__ import annotations

import math
import struct
from types import FunctionType
from typing import Any

import numpy as np

from .values import Array, DType


class TooLarge(ValueError):
    """An array has more elements than are to be compared."""


def value_key(x: Any, largest: float = math.inf) -> tuple[Any, ...]:
    """The key of a value. Raises TooLarge for an array of more than `largest` elements.

    >>> from whet.ir.value_keys import value_key
    >>> value_key(1) == value_key(1.0), value_key([0.0]) == value_key([-0.0])
    (False, False)
    >>> value_key({"dim": (0, 1), "keep": True}) == value_key({"keep": True, "dim": (0, 1)})
    True
    """
    if isinstance(x, np.ndarray | np.generic):
        if x.size > largest:
            raise TooLarge(f"an array of {x.size} elements")
        return type(x), x.dtype, x.shape, x.strides, x.tobytes()
    if isinstance(x, tuple | list):
        return type(x), *[value_key(y, largest) for y in x]
    if isinstance(x, dict):
        return dict, *sorted([(k, value_key(y, largest)) for k, y in x.items()])
    if isinstance(x, slice):
        return slice, value_key((x.start, x.stop, x.step), largest)
    if isinstance(x, complex | float):
        return type(x), struct.pack("<2d", x.real, x.imag)
    if type(x) is FunctionType:
        return function_key(x, largest)
    return type(x), x


def function_key(fn: FunctionType, largest: float = math.inf) -> tuple[Any, ...]:
    """The key of a function. Many are made anew at each call: one is known by its code, the globals
    of that, and what it closes over."""
    closed_over = tuple([c.cell_contents for c in fn.__closure__ or ()])
    values = closed_over, fn.__defaults__, fn.__kwdefaults__
    return FunctionType, fn.__code__, id(fn.__globals__), value_key(values, largest)


def layout_key(a: Array) -> tuple[tuple[int, ...], tuple[int, ...], DType]:
    """The layout of an array as a key: shape, strides and dtype."""
    return a.shape, a.strides, a.dtype
