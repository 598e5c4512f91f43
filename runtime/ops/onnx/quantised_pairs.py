"""Layers of bytes in ONNX as other tools write them: an operator of real numbers between
`DequantizeLinear` and `QuantizeLinear`, which accelerators make one operator of bytes of. `b`
writes nodes (`onnx/write/builder.py`).

A layer states only products of its scales. What a byte of an operand stands for is known where it
was made, and what one of its own results stands for is `unit`.
"""

import math

import numpy as np

LARGEST = (1 << 31) - 1
TINY = np.finfo(np.float32).tiny


def scheme_of(b, x):
    """(scale, zero point) of what made some bytes: views and pools leave them as they were."""
    made = b.maker(x)
    while made:
        op, operands, attrs = made
        if op.name == "quantize_u8":
            return (*map(_number, operands[1:]),)
        if "unit" in attrs:
            return attrs["unit"], attrs["zero"]
        made = b.maker(operands[0])
    return None, None


def _number(x):
    """A scale or zero point as a number; None where it is none."""
    array = getattr(x, "array", x)
    return float(array) if array is not None and np.size(array) == 1 else None


def dequantized(b, x, scale, zero, axis=0):
    """What bytes stand for; scales that are all one are one number."""
    scale = np.asarray(scale, "f4")
    if scale.ndim and (scale == scale[:1]).all():
        scale = scale[0]
    points = b.constant(np.full(scale.shape, zero, _type_of(x)))
    at = {"axis": axis} if scale.ndim else {}
    return b.DequantizeLinear(x, b.constant(scale), points, **at)


def _type_of(x):
    return {"u8": "u1", "i8": "i1", "i32": "i4"}[x.dtype]


class Layer:
    """Known numbers of a layer, and the constants of real numbers that they stand for."""

    def __init__(self, b, x, weights, parameters, unit):
        """`weights` have the features in front; `parameters` (shift, scale, bias) go along them."""
        shift, scale, bias = parameters
        self.b, self.unit = b, unit
        self.scale, self.zero = scheme_of(b, x)
        sums = weights.reshape(len(weights), -1).astype("i8").sum(1)
        if self.scale is None or self.zero is None:
            self.scale, self.zero = 1.0, _zero_of(sums, shift)
        wide = scale.astype("f8") * unit / self.scale
        sign = np.where(wide < 0, -1, 1)
        if (sign < 0).any() and weights.min() == -128:
            b.refuse("a weight of -128 in a row whose scale is negative")
        self.weights = weights * sign.reshape(-1, *[1] * (weights.ndim - 1)).astype("i1")
        self.scales = np.maximum(np.abs(wide), TINY).astype("f4")
        rest = (shift + self.zero * sums) * scale.astype("f8")
        self.bias = (bias.astype("f8") + rest) * unit

    def real(self, x):
        """The operand."""
        return dequantized(self.b, x, self.scale, int(self.zero))

    def weight(self, axis=0):
        """The weights, with the features along an axis: the first, or the second of a matrix."""
        numbers = self.weights if axis == 0 else np.ascontiguousarray(self.weights.T)
        return dequantized(self.b, self.b.constant(numbers, "weight"), self.scales, 0, axis)

    def added(self, residual, factor):
        """What is added to the layer, or nothing. Its zero point is in the bias."""
        if residual is None:
            return None
        scale, zero = factor * self.unit, scheme_of(self.b, residual)[1]
        zero = 0 if zero is None else int(zero)
        self.bias = self.bias + zero * scale
        return dequantized(self.b, residual, scale, zero)

    def biases(self):
        """The bias, as integers where they have room."""
        steps = self.bias / (self.scale * self.scales.astype("f8"))
        if not np.abs(steps).max(initial=0) <= LARGEST:
            return self.b.constant(self.bias.astype("f4"), "bias")
        numbers = self.b.constant(np.rint(steps).astype("i4"), "bias")
        return dequantized(self.b, numbers, np.float32(self.scale) * self.scales, 0)

    def finished(self, v, added, *, low, high, zero):
        """What follows the product."""
        b = self.b
        v = v if added is None else b.Add(v, added)
        if zero is None or low > -zero or high < 255 - zero:
            limits = [
                b.constant(np.float32(x * self.unit)) if math.isfinite(x) else None
                for x in (low, high)
            ]
            v = b.Clip(v, *limits) if limits != [None, None] else v
        if zero is None:
            return v
        return b.QuantizeLinear(v, b.constant(np.float32(self.unit)), b.constant(np.uint8(zero)))


def _zero_of(sums, shift):
    """The zero point that a layer's shift says: it is the sum of a row's weights times that."""
    at = np.flatnonzero(sums)
    return int(-shift[at[0]] // sums[at[0]]) if at.size else 0


def linear(b, x, weights, parameters, residual, *, residual_scale, unit, **epilogue):
    """The op `quantised_linear`."""
    layer = Layer(b, x, weights, parameters, unit)
    added = layer.added(residual, residual_scale)
    if x.ndim == 2:
        v = b.Gemm(layer.real(x), layer.weight(), layer.biases(), transB=1)
    else:
        v = b.Add(b.MatMul(layer.real(x), layer.weight(1)), layer.biases())
    return layer.finished(v, added, **epilogue)


def convolution(b, x, weights, parameters, residual, window, *, residual_scale, unit, **epilogue):
    """The op `quantised_conv`."""
    layer = Layer(b, x, weights, parameters, unit)
    added = layer.added(residual, residual_scale)
    at = dict(strides=list(window.stride), pads=[*window.padding] * 2, group=window.groups,
              dilations=list(window.dilation), kernel_shape=list(window.taps))  # fmt: skip
    v = b.Conv(layer.real(x), layer.weight(), layer.biases(), **at)
    return layer.finished(v, added, **epilogue)
