"""Casts: every element type to every other, saturated where that is asked for."""
from typing import Any

import ml_dtypes
import numpy as np

from .... import dtypes
from ....tensor import Tensor
from ...element_types import ElementType
from ...errors import OnnxError
from ..definition import operator
from ..values import Array, Known, Value, as_array, each, from_array, type_of

WRAPPED = {"UINT4": (4, False), "INT4": (4, True), "UINT2": (2, False), "INT2": (2, True)}
EIGHT_BITS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")


def cast_to(value: Any, code: int, saturate: bool = True, round_mode: str = "up") -> Any:
    """The value in the element type of this number."""
    to = ElementType.of_code(code)
    if to.whet is not None and isinstance(value, Known):
        if to.whet in (dtypes.int32, dtypes.int64):
            return Known(each(whole, value.items),
                         to.whet)
        return Known(value.items, to.whet) if to.whet in (dtypes.float32, dtypes.float64) else \
            value.tensor().to(to.whet)
    if to.whet is not None and isinstance(value, Tensor):
        return value.to(to.whet)
    return from_array(converted(as_array(value), to, saturate, round_mode))


def whole(number: Any) -> Any:
    """The whole part of a number; an integer stays what it is."""
    return int(number) if isinstance(number, float | bool) else number


def converted(x: np.ndarray, to: ElementType, saturate: bool, round_mode: str) -> np.ndarray:
    """An array in another type, where whet does not have the one or the other."""
    if x.dtype == object:
        return from_texts(x, to)
    if to.name == "STRING":
        return as_texts(x)
    if to.name in WRAPPED:
        return wrapped(x, to)
    if to.name == "FLOAT8E8M0":
        return power_of_two(x.astype(np.float32), saturate, round_mode)
    wide = x.astype(np.float32) if x.dtype.itemsize <= 2 or x.dtype.kind == "V" else x
    if to.name in EIGHT_BITS and saturate:
        return saturated(wide, to)
    if to.name == "FLOAT4E2M1":
        return wide.astype(np.float32).astype(to.numpy)
    return wide.astype(to.numpy)


def saturated(x: np.ndarray, to: ElementType) -> np.ndarray:
    """The nearest 8-bit float: the largest finite one for what is beyond."""
    most = float(ml_dtypes.finfo(to.numpy).max)
    return np.clip(x.astype(np.float32), -most, most).astype(to.numpy)


def wrapped(x: np.ndarray, to: ElementType) -> np.ndarray:
    """A small integer: the lowest bits of the whole part."""
    bits, signed = WRAPPED[to.name]
    whole = np.trunc(x.astype(np.float64)).astype(np.int64) & (2**bits - 1)
    if signed:
        whole = np.where(whole >= 2**(bits - 1), whole - 2**bits, whole)
    return whole.astype(np.int8).astype(to.numpy)


def power_of_two(x: np.ndarray, saturate: bool, round_mode: str) -> np.ndarray:
    """The exponents of positive floats, rounded up, down or to the nearest."""
    bits = x.view(np.uint32)
    exponent = ((bits >> 23) & 0xff).astype(np.int64)
    fraction = bits & 0x7fffff
    if round_mode == "up":
        more = fraction > 0
    elif round_mode == "nearest":
        more = (fraction > 0x400000) | ((fraction == 0x400000) & (exponent >= 0))
    else:
        more = np.zeros_like(fraction, dtype=bool)
    exponent = exponent + (more & (exponent != 0xff))
    if saturate:
        exponent = np.where((exponent >= 0xff) & ~np.isnan(x), 0xfe, exponent)
    exponent = np.where(np.isnan(x), 0xff, np.minimum(exponent, 0xff))
    return exponent.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def as_texts(x: np.ndarray) -> np.ndarray:
    """Numbers as strings, in as many digits as tell them apart."""
    if x.dtype.itemsize <= 2 and x.dtype.kind not in "biu" and x.dtype != np.float16:
        x = x.astype(np.float32)
    return x.astype(np.str_).astype(object)


def from_texts(x: np.ndarray, to: ElementType) -> np.ndarray:
    """Strings as numbers."""
    if to.name == "STRING":
        return x
    kind = to.numpy if to.numpy.kind in "fiu" else np.dtype(np.float32)
    try:
        if kind.kind in "iu":
            numbers: list[float] = [int(float(t)) if "." in t or "e" in t.lower() else int(t)
                       for t in x.reshape(-1)]
        else:
            numbers = [float(t) for t in x.reshape(-1)]
        return np.array(numbers, kind).reshape(x.shape).astype(to.numpy)
    except ValueError as error:
        raise OnnxError(f"a string is no number: {error}") from error


@operator("Cast", since=6)
def cast(x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    return cast_to(x, to, bool(saturate), round_mode)


@operator("Cast")
def cast_1(x: Value, *, to: str) -> Any:
    found = [t for t in map(ElementType.of_code, range(1, 17)) if t.name == to]
    if not found:
        raise OnnxError(f"there is no element type {to!r}")
    return cast_to(x, found[0].code)


@operator("CastLike")
def cast_like(x: Value, target: Value, *, saturate: int = 1, round_mode: str = "up") -> Any:
    return cast_to(x, ElementType.of(type_of(target)).code, bool(saturate), round_mode)


@operator("BitCast")
def bit_cast(x: Array, *, to: int) -> Any:
    target = ElementType.of_code(to).numpy
    bits = _BITS.get(target.name, 8 * target.itemsize)
    if bits != _BITS.get(x.dtype.name, 8 * x.dtype.itemsize):
        raise OnnxError(f"{x.dtype} and {target} are not equally wide")
    return from_array(np.ascontiguousarray(x).view(target).reshape(x.shape))


_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
