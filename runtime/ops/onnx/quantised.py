"""What quantised ops are in ONNX. `b` writes nodes (`onnx/write/builder.py`).

Products of bytes become `MatMulInteger` and `ConvInteger`, whose sums are exact, and the float
operations that follow: so other programs round as whet does.
"""

import numpy as np

from ...cpu import quantised_weights as packing
from ...cpu import weight_only as few_bits
from . import quantised_pairs


def _one(b, x, dtype):
    """A scale or a zero point in the operator's form: (value, axis); None where it goes along
    several axes."""
    if not hasattr(x, "dtype"):
        return b.constant(np.asarray(x, dtype)), 0
    if x.array is None or sum(n != 1 for n in x.array.shape) > 1:
        return None
    long = [i for i, n in enumerate(x.array.shape) if n != 1]
    value = b.constant(x.array.reshape(-1 if long else ()).astype(dtype))
    return value, long[0] - x.array.ndim if long else 0


def _with_scale(b, operator, x, scale, zero, dtype):
    """`QuantizeLinear` or `DequantizeLinear`; nothing where scale and zero have no such form."""
    scale, zero = _one(b, scale, "f4"), _one(b, zero, dtype)
    if scale is None or zero is None or x.shape is None:
        return None
    (scale, axis), (zero, other) = scale, zero
    if scale.shape != zero.shape or axis != other:
        scale, zero = (
            b.constant(np.broadcast_to(v.array, (max(scale.array.size, zero.array.size),)).copy())
            for v in (scale, zero)
        )
        axis = axis or other
    return operator(x, scale, zero, axis=axis % max(x.ndim, 1))


def quantize(short):
    """The form of `quantize_u8` and `quantize_i8`."""

    def form(b, x, scale, zero):
        return _with_scale(b, b.QuantizeLinear, x, scale, zero, {"u8": "u1", "i8": "i1"}[short])

    return form


def dequantize(b, x, scale, zero):
    """The op `dequantize`."""
    if x.dtype not in ("u8", "i8"):
        return None
    return _with_scale(b, b.DequantizeLinear, x, scale, zero, {"u8": "u1", "i8": "i1"}[x.dtype])


def known(b, w):
    """The array of packed weights."""
    if w.array is None:
        b.refuse("weights in the order of kernels that are made at each call")
    return w.array


def _of_features(b, p, features):
    """The parameters of features, without what kernels read beyond them."""
    if p.array is not None:
        return b.constant(packing.of_features(p.array, features))
    return b.Reshape(b.slice(p, 1, 0, features // p.shape[0]), b.ints((-1,)))


def _are_known(*values):
    return all(v.array is not None for v in values)


def linear(b, x, w, shift, scale, bias, residual=None, *, features, unit=1.0, **epilogue):
    """The op `quantised_linear`."""
    (weights,) = packing.unpacked(known(b, w), features, x.shape[-1])
    parameters = [_of_features(b, p, features) for p in (shift, scale, bias)]
    if b.pairs and _are_known(*parameters):
        arrays = [p.array for p in parameters]
        return quantised_pairs.linear(b, x, weights, arrays, residual, unit=unit, **epilogue)
    total = b.MatMulInteger(x, b.constant(np.ascontiguousarray(weights.T)))
    return _epilogue(b, total, parameters, residual, **epilogue)


def convolution(b, x, w, shift, scale, bias, residual=None, *, features, low, high, zero,
                residual_scale, unit=1.0, **at):  # fmt: skip
    """The op `quantised_conv`."""
    (channels,), window = b.static(*x.shape[1:2]), packing.Window(**at)
    weights = packing.unpacked_window(known(b, w), window, channels, features)
    weights = np.ascontiguousarray(weights.transpose(0, 3, 1, 2))
    parameters = [_of_features(b, p, features) for p in (shift, scale, bias)]
    epilogue = dict(low=low, high=high, zero=zero, residual_scale=residual_scale)
    if b.pairs and _are_known(*parameters):
        arrays = [p.array for p in parameters]
        return quantised_pairs.convolution(
            b, x, weights, arrays, residual, window, unit=unit, **epilogue)
    total = b.ConvInteger(
        x,
        b.constant(weights),
        b.constant(np.uint8(window.blank)),
        strides=list(window.stride),
        pads=[*window.padding, *window.padding],
        dilations=list(window.dilation),
        group=window.groups,
        kernel_shape=list(window.taps),
    )
    shift, *more = [b.Reshape(p, b.ints((-1, 1, 1))) for p in parameters]
    blank = window.blank * weights.astype("i4").sum((1, 2, 3)).reshape(-1, 1, 1)
    shift = b.Add(shift, b.constant(blank.astype("i4")))
    return _epilogue(b, total, [shift, *more], residual, **epilogue)


def weight_only(b, x, w, scales, bias, *, features, bits, block):
    """The op `weight_only_linear`: a product with the real numbers that the weights stand for."""
    w, scales, bias = (known(b, v) for v in (w, scales, bias))
    real = few_bits.unpacked(w, scales, features, bits, block)
    return b.Add(b.MatMul(x, b.constant(real.T.copy())), b.constant(bias[:features]))


def _epilogue(b, total, parameters, residual, *, low, high, zero, residual_scale):
    """What follows sums, as `passes/lower_llvm/quantised/epilogue.py` states it."""
    shift, scale, bias = parameters
    v = b.Add(b.Mul(b.cast(b.Add(total, shift), "f32"), scale), bias)
    if residual is not None:
        v = b.Add(v, b.Mul(b.cast(residual, "f32"), np.float32(residual_scale).item()))
    limits = [b.constant(np.float32(x)) if abs(x) < np.inf else None for x in (low, high)]
    v = b.Clip(v, *limits) if limits != [None, None] else v
    return (
        v
        if zero is None
        else b.QuantizeLinear(v, b.constant(np.float32(1)), b.constant(np.uint8(zero)))
    )
