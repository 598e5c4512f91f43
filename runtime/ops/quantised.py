"""Quantisation: between real numbers and bytes, and products and convolutions of bytes.

A byte q stands for the real number (q - zero) * scale. Real numbers become bytes by x / scale,
rounded to the nearest integer, half to even, plus zero, held within the type's range.
"""

import functools
import math

from ..cpu import quantised as kernels
from ..cpu import quantised_weights as packing
from ..cpu import weight_only as few_bits
from ..dtypes import float32, int8, int32, uint8
from ..ir.scalar import cast, gt, lt, maximum, minimum, rint, where
from ..tensor import wrap
from .batching import looped
from .onnx import quantised as in_onnx
from .pointwise_family import PointwiseOp
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample, integers, reals
from .surface import function

SCALE, ZERO = reals(0.02, 0.5, grad=False), integers(-3, 3)
RANGES = {uint8: (0, 255), int8: (-128, 127)}


# ---- between real numbers and bytes --------------------------------------------------------------
def _number(input, scale, zero, low, high):
    return minimum(maximum(rint(input / scale) + zero, low), high)


def _to_bytes(dtype):
    low, high = RANGES[dtype]
    return PointwiseOp(
        f"quantize_{dtype.short}",
        lambda input, scale, zero: _number(input, scale, zero, low, high),
        result=dtype.short,
        kinds="f",
        samples=(reals(-3, 3, grad=False), SCALE, ZERO),
        differentiable=False,
        onnx=in_onnx.quantize(dtype.short),
    )


QUANTIZE = {t: _to_bytes(t) for t in RANGES}
dequantize_op = PointwiseOp(
    "dequantize",
    lambda input, scale, zero: (cast(input, "f32") - cast(zero, "f32")) * cast(scale, "f32"),
    promote="none",
    result="f32",
    samples=(integers(0, 100), SCALE, ZERO),
    differentiable=False,
    onnx=in_onnx.dequantize,
)
# the gradient passes where the number was within the range
fake_quantize_op = PointwiseOp(
    "fake_quantize",
    lambda input, scale, zero, low, high: (_number(input, scale, zero, low, high) - zero) * scale,
    vjp=lambda g, y, x, scale, zero, low, high: [
        _within(g, rint(x / scale) + zero, low, high),
        None,
        None,
        None,
        None,
    ],
    kinds="f",
    samples=(reals(-3, 3, grad=False), SCALE, ZERO, integers(-8, -8), integers(7, 7)),
)


def _within(g, q, low, high):
    """g where a number is not cut off at the range, else 0."""
    return where(lt(q, low), 0, where(gt(q, high), 0, g))


def _per(name, x, scale, zero, axis):
    """Scale and zero point as they broadcast with x."""
    if not is_tensor(x):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {x.__class__.__name__}")
    if axis is None:
        return scale, zero
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"{name}: there is no axis {axis} of {x.ndim}")
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    for v, what in ((scale, "scale"), (zero, "zero_point")):
        if is_tensor(v) and v.ndim and tuple(v.shape) != (x.shape[axis],):
            raise RuntimeError(
                f"{name}: {what} must have one element for each of {x.shape[axis]}, "
                f"got {tuple(v.shape)}"
            )
    return [v.reshape(shape) if is_tensor(v) and v.ndim else v for v in (scale, zero)]


def quantize_linear(input, scale, zero_point=0, axis=None, dtype=uint8):
    """Real numbers as bytes: input / scale, rounded half to even, plus the zero point, within the
    range of `dtype` (uint8 or int8). With `axis` scale and zero point go along that dimension.

    >>> import whet
    >>> from whet import quantize
    >>> quantize.quantize_linear(whet.tensor([-1.0, 0.25, 0.75, 9.0]), 0.5, 128)
    tensor([126, 128, 130, 146], dtype=whet.uint8)
    """
    if dtype not in QUANTIZE:
        raise TypeError(f"quantize_linear: dtype must be uint8 or int8, not {dtype}")
    scale, zero_point = _per("quantize_linear", input, scale, zero_point, axis)
    return apply(QUANTIZE[dtype], (input, scale, zero_point), {})


def dequantize_linear(input, scale, zero_point=0, axis=None):
    """The real numbers that bytes stand for: (input - zero_point) * scale, in float32.

    >>> import whet
    >>> from whet import quantize
    >>> quantize.dequantize_linear(whet.tensor([126, 128, 130], dtype=whet.uint8), 0.5, 128)
    tensor([-1.,  0.,  1.])
    """
    scale, zero_point = _per("dequantize_linear", input, scale, zero_point, axis)
    return apply(dequantize_op, (input, scale, zero_point), {})


@function(method=False)
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """The real numbers that are left when `input` goes through integers from quant_min to
    quant_max. The gradient passes as if nothing had been rounded, where nothing was cut off.

    >>> import whet
    >>> x = whet.tensor([0.26, 0.9, 7.0], requires_grad=True)
    >>> y = whet.fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 10)
    >>> y.sum().backward()
    >>> y, x.grad
    (tensor([0.5000, 1.0000, 5.0000], grad_fn=<FakeQuantizeBackward0>), tensor([1., 1., 0.]))
    """
    if quant_min > quant_max:
        raise RuntimeError(f"fake_quantize: quant_min {quant_min} is above quant_max {quant_max}")
    scale, zero_point = _per("fake_quantize", input, scale, zero_point, None)
    return apply(fake_quantize_op, (input, scale, zero_point, quant_min, quant_max), {})


@function(method=False)
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each place along
    `axis`.

    >>> import whet
    >>> x, scale = whet.tensor([[0.3], [0.3]]), whet.tensor([0.1, 0.25])
    >>> zero_point = whet.zeros(2, dtype=whet.int32)
    >>> whet.fake_quantize_per_channel_affine(x, scale, zero_point, 0, 0, 255)
    tensor([[0.3000],
            [0.2500]])
    """
    if quant_min > quant_max:
        raise RuntimeError(f"fake_quantize: quant_min {quant_min} is above quant_max {quant_max}")
    scale, zero_point = _per("fake_quantize", input, scale, zero_point, axis)
    return apply(fake_quantize_op, (input, scale, zero_point, quant_min, quant_max), {})


# ---- products of bytes ---------------------------------------------------------------------------
# `unit` is what one step of a layer's results stands for: files tell of it, and nothing computes
# with it.
def _linear(
    x,
    w,
    shift,
    scale,
    bias,
    residual=None,
    *,
    features,
    low,
    high,
    zero,
    residual_scale,
    unit=1.0,
):
    epilogue = kernels.Epilogue(low, high, zero, residual_scale)
    return kernels.linear(x, w, shift, scale, bias, residual, features, epilogue)


def _conv(
    x,
    w,
    shift,
    scale,
    bias,
    residual=None,
    *,
    features,
    taps,
    stride,
    padding,
    dilation,
    groups,
    blank,
    low,
    high,
    zero,
    residual_scale,
    unit=1.0,
):
    window = packing.Window(taps, stride, padding, dilation, groups, blank)
    return kernels.conv(
        x,
        w,
        shift,
        scale,
        bias,
        residual,
        features,
        window,
        kernels.Epilogue(low, high, zero, residual_scale),
    )


TO_BYTES = dict(low=-100.0, high=127.0, zero=128, residual_scale=0.25)
TO_FLOATS = dict(low=0.0, high=math.inf, zero=None, residual_scale=1.0)


def _bytes(make, *shape):
    return make(*shape, low=0, high=255, dtype=uint8)


def weights(make, pack, *shape):
    """Random weights, packed by `pack`, and the parameters of their features."""
    w = pack(make(*shape, low=-128, high=127, dtype=int8)._array)
    room = w.shape[0], w.shape[1] * 16
    return [
        wrap(w),
        make(*room, low=-5000, high=5000, dtype=int32),
        make(*room, low=0.001, high=0.01, dtype=float32, grad=False),
        make(*room, low=-30, high=30, dtype=float32, grad=False),
    ]


def _linear_samples(make):
    for shape, features in (((5,), 3), ((3, 64), 40), ((2, 7, 130), 33)):
        for epilogue in (TO_BYTES, TO_FLOATS):
            yield Sample(
                _bytes(make, *shape),
                *weights(make, packing.pack, 1, features, shape[-1]),
                None,
                features=features,
                **epilogue,
            )
            more = _bytes(make, *shape[:-1], features)
            yield Sample(
                _bytes(make, *shape),
                *weights(make, packing.pack, 1, features, shape[-1]),
                more,
                features=features,
                **epilogue,
            )


def _conv_samples(make):
    for shape, features, taps, stride, padding, dilation, groups in (
        ((1, 3, 9, 8), 5, (3, 3), (2, 1), (1, 1), (1, 1), 1),
        ((2, 64, 5, 5), 40, (1, 1), (1, 1), (0, 0), (1, 1), 1),
        ((1, 8, 7, 9), 12, (3, 2), (1, 1), (2, 1), (2, 2), 2),
        ((1, 5, 6, 6), 5, (3, 3), (1, 1), (1, 1), (1, 1), 5),
    ):
        window = packing.Window(taps, stride, padding, dilation, groups, 77)
        size = window.out_size(shape[2:])
        for epilogue, more in (
            (TO_BYTES, None),
            (TO_FLOATS, None),
            (TO_BYTES, _bytes(make, shape[0], features, *size)),
        ):
            pack = functools.partial(packing.pack_window, window=window)
            parameters = weights(make, pack, features, shape[1] // groups, *taps)
            yield Sample(
                _bytes(make, *shape), *parameters, more,
                features=features, **window._asdict(), **epilogue
            )


def _weight_only(x, w, scales, bias, *, features, bits, block):
    return few_bits.linear(x, w, scales, bias, features, bits, block)


def _weight_only_samples(make):
    calls = ((6,), 5, 8, 4), ((3, 40), 33, 4, 16), ((5, 64), 64, 8, 64)
    for shape, features, bits, block in calls:
        w, scales = few_bits.pack(make(features, shape[-1], dtype=float32)._array, bits, block)
        x = make(*shape, dtype=float32, grad=False)
        bias = make(scales.shape[1], dtype=float32, grad=False)
        at = dict(features=features, bits=bits, block=block)
        yield Sample(x, wrap(w), wrap(scales), bias, **at)


def _pack(w, **window):
    """Weights in the order of kernels: of a linear layer, or of a convolution with such a window.
    """
    at = packing.Window(**window) if window else None
    return packing.pack(w[None]) if at is None else packing.pack_window(w, at)


def _pack_samples(make):
    yield Sample(make(5, 70, low=-128, high=127, dtype=int8))
    window = packing.Window((3, 2), (1, 1), (0, 0), (1, 1), 2, 7)
    yield Sample(make(12, 4, 3, 2, low=-128, high=127, dtype=int8), **window._asdict())


class QuantisedOp(Op):
    """A product of bytes: launches of kernels that cannot fail for other data."""

    family, launches = "quantised", True

    @property
    def may_fail(self):
        """No byte is a wrong one."""
        return False


pack_op = Op("pack_weights", _pack, samples=_pack_samples, batch=looped,
             onnx=lambda b, w, **at: b.constant(_pack(in_onnx.known(b, w), **at)))
pack_op.total = True
linear_op = QuantisedOp(
    "quantised_linear", _linear, samples=_linear_samples, batch=looped, onnx=in_onnx.linear
)
conv_op = QuantisedOp(
    "quantised_conv", _conv, samples=_conv_samples, batch=looped, onnx=in_onnx.convolution
)
weight_only_op = QuantisedOp(
    "weight_only_linear",
    _weight_only,
    samples=_weight_only_samples,
    batch=looped,
    onnx=in_onnx.weight_only,
)
