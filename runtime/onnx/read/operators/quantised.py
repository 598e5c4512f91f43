"""Quantised tensors: to and from them, and products of them."""
from typing import Any

import numpy as np
import whet

from .... import dtypes
from ....ops.quantised import QUANTIZE, dequantize_op
from ....ops.registry import apply
from ....tensor import Tensor
from ...element_types import ElementType
from ...errors import OnnxError
from ..definition import operator
from ..values import (
    Known,
    KnownNumbers,
    Value,
    as_array,
    as_tensor,
    from_array,
    shape_of,
    type_of,
)
from . import byte_products
from .casts import EIGHT_BITS, WRAPPED, converted, saturated
from .convolutions import convolved

RANGES = {"UINT8": (0, 255), "INT8": (-128, 127), "UINT16": (0, 65535), "INT16": (-32768, 32767),
          "UINT4": (0, 15), "INT4": (-8, 7), "UINT2": (0, 3), "INT2": (-2, 1)}


def spread(value: Tensor, shape: tuple[int, ...], axis: int, block: int) -> Tensor:
    """A scale or a zero point, as it is for each element."""
    if value.numel() == 1 and not block:
        return value.reshape(())
    axis = axis % max(len(shape), 1)
    if not block:
        return value.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    found = whet.repeat_interleave(value, block, axis)
    if found.shape[axis] < shape[axis]:
        raise OnnxError(f"blocks of {block} do not cover {shape[axis]} along axis {axis}")
    return found.narrow(axis, 0, shape[axis])


def whole(value: Any) -> Tensor:
    """A zero point as integers that have room for sums."""
    if isinstance(value, np.ndarray):
        return whet.from_numpy(value.astype(np.int32))
    return as_tensor(value).to(whet.int32)


def parts(scale: Tensor, zero: Any, shape: tuple[int, ...], axis: int) -> list[Any]:
    """Scale and zero point as the ops of bytes take them."""
    return [spread(scale, shape, axis, 0),
            0 if zero is None else spread(as_tensor(zero), shape, axis, 0)]


def quantised(x: Tensor, scale: Tensor, zero: Any, axis: int, block: int, code: int,
              precision: int, saturate: bool) -> Any:
    """x / scale + zero, rounded, in the type of the zero point."""
    if zero is not None:
        own = ElementType.of(type_of(zero))
        if code and code != own.code:
            raise OnnxError(f"output_dtype {ElementType.of_code(code)} is not the zero point's, "
                            f"{own}")
        code = own.code
    to = ElementType.of_code(code or 2)
    shape = tuple(x.shape)
    if (to.whet in QUANTIZE and not block and not precision
            and x.dtype is whet.float32 and scale.dtype is whet.float32):
        return apply(QUANTIZE[to.whet], (x, *parts(scale, zero, shape, axis)), {})
    kind = ElementType.of_code(precision).whet if precision else \
        dtypes.promote_types(x.dtype, scale.dtype) if x.dtype.is_floating_point else scale.dtype
    ratio = x.to(kind) / spread(scale, shape, axis, block).to(kind)
    if to.name not in RANGES:
        wide = as_array(ratio.to(whet.float32))
        return from_array(saturated(wide, to) if to.name in EIGHT_BITS and saturate
                          else converted(wide, to, saturate, "up"))
    low, high = RANGES[to.name]
    number = whet.round(ratio.to(whet.float32) if kind is not whet.float64 else ratio)
    if zero is not None:
        number = number + spread(whole(zero), shape, axis, block)
    found = whet.clamp(number, low, high)
    if to.whet is not None:
        return found.to(to.whet)
    return as_array(found.to(whet.int32)).astype(np.int8).astype(to.numpy)


@operator("QuantizeLinear", since=10)
def quantize_linear(x: Tensor, scale: Value, zero: Value = None, *, axis: int = 1,
                    block_size: int = 0, output_dtype: int = 0, precision: int = 0,
                    saturate: int = 1) -> Any:
    return quantised(x, floating(scale), zero, axis, block_size, output_dtype, precision,
                     bool(saturate))


def floating(value: Any) -> Tensor:
    """A scale, which may be of a type that whet does not have."""
    if isinstance(value, np.ndarray):
        return whet.from_numpy(value.astype(np.float32))
    return as_tensor(value)


@operator("DequantizeLinear", since=10)
def dequantize_linear(x: Value, scale: Value, zero: Value = None, *, axis: int = 1,
                      block_size: int = 0, output_dtype: int = 0) -> Any:
    shape, factor = shape_of(x), floating(scale)
    plain = not block_size and output_dtype in (0, ElementType.of(np.dtype(np.float32)).code)
    if plain and factor.dtype is whet.float32 and type_of(x) in (np.uint8, np.int8):
        return apply(dequantize_op, (as_tensor(x), *parts(factor, zero, shape, axis)), {})
    if isinstance(x, np.ndarray) or type_of(x).kind not in "iu":
        number = whet.from_numpy(as_array(x).astype(np.float32))
        small = isinstance(x, np.ndarray) and ElementType.of(x.dtype).name in WRAPPED
        if zero is not None and small:
            number = number - spread(whole(zero), shape, axis, block_size).to(whet.float32)
    else:
        number = as_tensor(x).to(whet.int32)
        if zero is not None:
            number = number - spread(whole(zero), shape, axis, block_size)
        number = number.to(whet.float32)
    found = number * spread(factor, shape, axis, block_size).to(whet.float32)
    to = ElementType.of_code(output_dtype) if output_dtype else ElementType.of(type_of(scale))
    return found.to(to.whet) if to.whet is not None else \
        from_array(converted(as_array(found), to, True, "up"))


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    zero = whet.zeros((), dtype=x.dtype)
    low, high = whet.minimum(whet.amin(x), zero), whet.maximum(whet.amax(x), zero)
    scale = (high - low) / 255
    scale = whet.where(whet.eq(scale, 0), whet.ones_like(scale), scale)
    point = whet.clamp(whet.round(-low / scale), 0, 255).to(whet.uint8)
    number = whet.round(x / scale) + point.to(x.dtype)
    return whet.clamp(number, 0, 255).to(whet.uint8), scale, point


def shifted(x: Tensor, zero: Tensor | None, axis: int | None = None) -> Tensor:
    """Integers less their zero point, in a type in which sums of products are exact."""
    wide = x.to(whet.int32)
    if zero is None:
        return wide
    point = zero.to(whet.int32)
    if point.ndim == 1 and point.numel() > 1 and axis is not None:
        point = point.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    elif point.numel() == 1:
        point = point.reshape(())
    return wide - point


@operator("MatMulInteger")
def matmul_integer(a: Tensor, b: Tensor, a_zero: Tensor | None = None,
                   b_zero: KnownNumbers | None = None) -> Tensor:
    found = byte_products.matmul_integers(a, b, a_zero, b_zero)
    if found is not None:
        return found
    return whet.matmul(shifted(a, a_zero, -2), shifted(b, tensor_of(b_zero), -1))


@operator("ConvInteger")
def conv_integer(x: Tensor, w: Tensor, x_zero: Tensor | None = None,
                 w_zero: KnownNumbers | None = None, *, auto_pad: str = "NOTSET",
                 dilations: list[int] | None = None, group: int = 1,
                 kernel_shape: list[int] | None = None, pads: list[int] | None = None,
                 strides: list[int] | None = None) -> Tensor:
    image = byte_products.Image(auto_pad, dilations, group, pads, strides)
    found = byte_products.conv_integers(x, w, x_zero, w_zero, image)
    if found is not None:
        return found
    total = convolved(exact(shifted(x, x_zero)), exact(shifted(w, tensor_of(w_zero), 0)), None,
                      auto_pad=auto_pad, dilations=dilations, group=group, pads=pads,
                      strides=strides)
    return total.to(whet.int32)


def tensor_of(zero: Known | None) -> Tensor | None:
    """A zero point as a tensor."""
    return None if zero is None else zero.tensor()


def exact(x: Tensor) -> Tensor:
    """Integers as floats that hold them exactly, and their sums of products up to 2**53."""
    return x.to(whet.float64)


def requantised(total: Tensor, factor: Tensor, zero: Any) -> Any:
    """Sums of products in the type of a zero point."""
    low, high = RANGES[ElementType.of(type_of(zero)).name]
    number = whet.round(total * factor) + whole(zero).to(total.dtype).reshape(())
    return whet.clamp(number, low, high).to(as_tensor(zero).dtype)


def per(value: Tensor, rank: int, axis: int) -> Tensor:
    """A scale that goes along an axis."""
    if value.numel() == 1:
        return value.reshape(())
    return value.reshape([-1 if i == axis % rank else 1 for i in range(rank)]) \
        if value.ndim == 1 else value


@operator("QLinearMatMul", since=10)
def qlinear_matmul(a: Tensor, a_scale: Tensor, a_zero: KnownNumbers, b: Tensor, b_scale: Tensor,
                   b_zero: KnownNumbers, y_scale: Tensor, y_zero: KnownNumbers) -> Any:
    if byte_products.fits(a, b, a_zero, b_zero, y_scale, y_zero) and b.ndim == 2 \
            and a_scale.numel() == 1 and {b_scale.dtype, y_scale.dtype} == {whet.float32}:
        factor = a_scale.reshape(()) * b_scale.reshape(-1) / y_scale.reshape(())
        return byte_products.matmul_layer(a, a_zero, b, factor, y_zero)
    total = whet.matmul(shifted(a, a_zero.tensor(), -2), shifted(b, b_zero.tensor(), -1))
    factor = per(a_scale.to(whet.float32), a.ndim, -2) * \
        per(b_scale.to(whet.float32), b.ndim, -1) / y_scale.to(whet.float32)
    return requantised(total.to(whet.float32), factor, y_zero)


@operator("QLinearConv", since=10)
def qlinear_conv(x: Tensor, x_scale: Tensor, x_zero: KnownNumbers, w: Tensor, w_scale: Tensor,
                 w_zero: KnownNumbers, y_scale: Tensor, y_zero: KnownNumbers,
                 bias: Tensor | None = None, *,
                 auto_pad: str = "NOTSET", dilations: list[int] | None = None, group: int = 1,
                 kernel_shape: list[int] | None = None, pads: list[int] | None = None,
                 strides: list[int] | None = None) -> Any:
    if byte_products.fits(x, w, x_zero, w_zero, y_scale, y_zero):
        image = byte_products.Image(auto_pad, dilations, group, pads, strides)
        ratio = x_scale.reshape(()) * w_scale.reshape(-1) / y_scale.reshape(())
        found = byte_products.conv_layer(x, x_zero, w, bias, ratio, y_zero, image)
        if found is not None:
            return found
    wide_bias = None if bias is None else exact(bias)
    x_point, w_point = x_zero.tensor(), w_zero.tensor()
    total = convolved(exact(shifted(x, x_point)), exact(shifted(w, w_point, 0)), wide_bias,
                      auto_pad=auto_pad, dilations=dilations, group=group, pads=pads,
                      strides=strides)
    factor = per(x_scale, 1, 0) * per(w_scale, total.ndim, 1) / per(y_scale, 1, 0)
    return requantised(total.to(whet.float32), factor, y_zero)
