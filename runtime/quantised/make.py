"""Tensors of quantised types, made of real numbers."""
from __future__ import annotations

import math
from typing import Any

from ..dtypes import QUANTISED, float32, float64, int64, quantised_dtype
from ..ops.argument_errors import checked_input
from ..ops.registry import is_tensor
from ..ops.surface import FUNCTIONS as F
from .tensor import QuantizedTensor, refusal

RANGES = {of: (-(1 << of.itemsize * 8 - 1), (1 << of.itemsize * 8 - 1) - 1) if of.is_signed
          else (0, (1 << of.itemsize * 8) - 1) for of in QUANTISED}
SMALLEST_SCALE = 6.1e-5                  # PyTorch's, of scales that are found in data


def integers(x: Any, scale: Any, zero: Any, of: Any) -> Any:
    """The integers of a type that stand for real numbers: x / scale, rounded half to even, plus
    zero, cut at the type's range. NaN is the greatest, as PyTorch has it."""
    low, high = RANGES[of]
    wide = float64 if of.itemsize > 1 else float32
    inverse = ((1 / scale.to(float32)) if is_tensor(scale)
               else (1 / float(F["tensor"](scale, dtype=float32)) if scale else math.inf))
    found = (x * inverse).round().to(wide) + zero
    return F["nan_to_num"](found.clamp(low, high), nan=high).to(of)


def _checked(name: str, input: Any, dtype: Any) -> Any:
    """The type of the integers of a quantised type, for real numbers that can be of it."""
    checked_input(name, input)
    if isinstance(input, QuantizedTensor):
        raise refusal(name)
    if input.dtype is not float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {input.dtype.letter}")
    if not isinstance(dtype, quantised_dtype):
        said = getattr(dtype, "letter", dtype)
        raise RuntimeError(f"ScalarType {said} is not supported in new_qtensor.")
    return dtype.integers


def _in_range(name: str, zero: int, of: Any) -> None:
    low, high = RANGES[of]
    if zero > high:
        raise RuntimeError(f"{name} zero_point {zero} is above upper bound.")
    if zero < low:
        raise RuntimeError(f"{name} zero_point {zero} is below lower bound.")


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """See `whet.quantize_per_tensor`."""
    if isinstance(input, list | tuple):
        return tuple([quantize_per_tensor(x, scale[i], zero_point[i], dtype)
                      for i, x in enumerate(input)])
    of = _checked("quantize_per_tensor", input, dtype)
    scale = float(scale)
    zero = int(zero_point)
    _in_range("quantize_tensor_per_tensor_affine", zero, of)
    return QuantizedTensor(integers(input.detach(), scale, zero, of), scale, zero)


def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any) -> Any:
    """See `whet.quantize_per_channel`."""
    of = _checked("quantize_per_channel", input, dtype)
    if not -input.dim() <= axis < input.dim() or axis < 0:
        raise RuntimeError("Channel axis out of range in per channel affine quantization. Got: "
                           f"{axis} Expected: [0, {input.dim()})")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if scales.dim() != 1 or scales.numel() != input.shape[axis]:
        raise RuntimeError("length of scales must equal to channel, expected "
                           f"{input.shape[axis]} got, {scales.numel()}")
    if zero_points.is_floating_point():
        raise NotImplementedError("quantize_per_channel: zero points are whole numbers")
    for zero in (zero_points.min(), zero_points.max()):
        _in_range("quantize_tensor_per_channel_affine", int(zero), of)
    result = QuantizedTensor(None, scales.to(float64), zero_points.to(int64), axis)
    shape = [1] * input.dim()
    shape[axis] = -1
    result._held = integers(input.detach(), scales.reshape(shape), zero_points.reshape(shape), of)
    return result


def quantize_per_tensor_dynamic(input: Any, dtype: Any, reduce_range: bool) -> Any:
    """See `whet.quantize_per_tensor_dynamic`."""
    of = _checked("quantize_per_tensor_dynamic", input, dtype)
    if of.itemsize > 1:
        raise RuntimeError(f"dtype {dtype.letter} not supported")
    low, high = RANGES[of]
    if reduce_range:
        low, high = low // 2, high // 2
    least, most = (float(input.min()), float(input.max())) if input.numel() else (0.0, 0.0)
    scale, zero = scheme_of(min(least, 0.0), max(most, 0.0), low, high)
    return QuantizedTensor(integers(input.detach(), scale, zero, of), scale, zero)


def scheme_of(least: float, most: float, low: int, high: int) -> tuple[float, int]:
    """The scale and the zero point with which integers low..high stand for numbers least..most,
    zero among them."""
    scale = (most - least) / (high - low)
    if scale == 0 or math.isinf(1 / scale):
        scale = 0.1
    if scale < SMALLEST_SCALE:
        if least == 0:
            most = SMALLEST_SCALE * (high - low)
        elif most == 0:
            least = -SMALLEST_SCALE * (high - low)
        else:
            least, most = least * SMALLEST_SCALE / scale, most * SMALLEST_SCALE / scale
        scale = SMALLEST_SCALE
    by_least, by_most = low - least / scale, high - most / scale
    nearer = (by_least if abs(low) + abs(least / scale) < abs(high) + abs(most / scale)
              else by_most)
    return scale, int(min(max(round(nearer), low), high))


def restored(fields: dict[str, Any]) -> QuantizedTensor:
    """A tensor of what a file has of it, which is looked at before."""
    held, scale, zero, axis = (fields[k] for k in ("_held", "_scale", "_zero", "_axis"))
    if not is_tensor(held) or held.dtype not in QUANTISED:
        raise ValueError("a quantised tensor holds integers of another type")
    if axis is None:
        if type(scale) is not float or type(zero) is not int:
            raise ValueError("the scale of a quantised tensor is no number")
        _in_range("quantised tensor:", zero, held.dtype)
    else:
        is_axis = type(axis) is int and 0 <= axis < held.dim()
        if not is_axis or any(not is_tensor(x) or tuple(x.shape) != (held.shape[axis],)
                              for x in (scale, zero)):
            raise ValueError("the scales of a quantised tensor do not fit its axis")
    return QuantizedTensor(held, scale, zero, axis)
