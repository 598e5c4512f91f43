"""The formulas of activations (`whet.nn.functional`): one statement each, as in `pointwise.py`.

Their functional forms, with `inplace`, are in `activation.py`.
"""
import numpy as np

from ..ir import scalar as s
from ..ir.scalar import (
    absolute,
    exp,
    expm1,
    ge,
    gt,
    isnan,
    le,
    lt,
    maximum,
    minimum,
    sigmoid,
    tanh,
    where,
)
from .out_types import OutType
from .pointwise import AWAY, NUMBER, POSITIVE, UNIT, R
from .pointwise_family import PointwiseOp
from .sample_inputs import reals
from .surface import pointwise_function as f

relu = f("relu", lambda input: where(gt(input, 0) | isnan(input), input, 0), samples=AWAY,
         kinds="if", vjp=lambda g, y, x: [where(le(x, 0), 0, g)], at_result=True, onnx="Relu",
         doc="max(input, 0), elementwise.", example="[-1., 2.] -> [0., 2.]")
leaky_relu = f(
    "leaky_relu",
    lambda input, negative_slope=0.01: where(gt(input, 0), input, input * negative_slope),
    samples=(AWAY, UNIT), kinds="f", method=False,
    onnx=lambda b, x, slope: b.with_numbers("LeakyRelu", x, alpha=slope),
    doc="input where positive, negative_slope * input elsewhere.",
    example="[-1., 2.], 0.1 -> [-0.1000, 2.0000]")
prelu_op = PointwiseOp("prelu", lambda input, weight: where(gt(input, 0), input, input * weight),
                       kinds="f", samples=(AWAY, R), onnx=lambda b, x, weight: b.slopes(x, weight))


def _below(x):
    """The smaller of x and zero, flat at zero itself, as it is for PyTorch's second derivatives."""
    return where(lt(x, 0), x, 0)


elu_op = PointwiseOp(
    "elu",
    lambda input, alpha, scale: where(
        gt(input, 0), input * scale, alpha * scale * expm1(minimum(input, 0))),
    kinds="f", samples=(AWAY, POSITIVE, POSITIVE),
    onnx=lambda b, x, alpha, scale: scale == 1 and b.with_numbers("Elu", x, alpha=alpha),
    vjp=lambda g, y, x, a, c: [
        where(le(x, 0), g * (a * c * exp(_below(x))), g * c),
        where(le(x, 0), g * (c * expm1(_below(x))), 0),
        where(le(x, 0), g * (a * expm1(_below(x))), g * x)])
# alpha and scale of `selu`, with more digits than float32 has
SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _times(x, c):
    """x c, where c has more digits than the type of x: rounded once."""
    nearest = np.float32(c)
    # Of one sign with the rest: x may be infinite.
    high = float(np.nextafter(nearest, np.float32(0)) if np.abs(nearest) > np.abs(c) else nearest)
    return s.fma(x, high, x * (c - high))


selu_op = PointwiseOp(
    "selu", lambda input: where(gt(input, 0), _times(input, SELU[1]),
                                _times(expm1(minimum(input, 0)), SELU[0] * SELU[1])), kinds="f",
    samples=AWAY, onnx="Selu", vjp=lambda g, y, x: [
        where(le(x, 0), g * (SELU[0] * SELU[1] * exp(_below(x))), g * SELU[1])])
celu_op = PointwiseOp(
    "celu",
    lambda input, alpha: where(gt(input, 0), input, alpha * expm1(minimum(input, 0) / alpha)),
    kinds="f", onnx=lambda b, x, alpha: b.with_numbers("Celu", x, alpha=alpha),
    samples=(AWAY, POSITIVE), vjp=lambda g, y, x, a: [
        where(le(x, 0), g * exp(_below(x) / a), g),
        where(le(x, 0), g *
              (expm1(_below(x) / a) - _below(x) / a * exp(_below(x) / a)), 0)])
gelu_erf = PointwiseOp("gelu", lambda input: s.gelu(input), kinds="f", samples=R, onnx="Gelu")
gelu_tanh = PointwiseOp("gelu_tanh", lambda input: s.gelu_tanh(input), kinds="f", samples=R,
                        onnx=lambda b, x: b.with_numbers("Gelu", x, approximate="tanh"))
silu = f("silu", lambda input: s.silu(input), kinds="fc", samples=R, method=False,
         complex=lambda input: input * sigmoid(input), doc="input * sigmoid(input), elementwise.",
         example="[0., 2.] -> [0.0000, 1.7616]")
mish = f("mish", lambda input: s.mish(input), kinds="f", samples=R, method=False, onnx="Mish",
         doc="input * tanh(softplus(input)), elementwise.", example="[0., 2.] -> [0.0000, 1.9440]")
softplus_op = PointwiseOp(
    "softplus",
    lambda input, beta, threshold: where(
        gt(input * beta, threshold), input, s.softplus(input * beta) / beta),
    kinds="f", samples=(R, NUMBER, reals(19, 21, grad=False)),
    vjp=lambda g, y, x, b, t: [where(gt(x * b, t), g, g * sigmoid(x * b)), None, None])
logsigmoid = f("logsigmoid", lambda input: 0 - s.softplus(-input), kinds="f", samples=R,
               method=False, inplace=False, vjp=lambda g, y, x: [g * sigmoid(-x)],
               doc="log(sigmoid(input)), without underflow.",
               example="[0., -100.] -> [ -0.6931, -100.0000]")
relu6 = f("relu6", lambda input: minimum(maximum(input, 0), 6), samples=AWAY, kinds="if",
          method=False, vjp=lambda g, y, x: [where(le(x, 0) | ge(x, 6), 0, g)],
          doc="input limited to [0, 6].", example="[-1., 3., 8.] -> [0., 3., 6.]")
hardtanh = f(
    "hardtanh",
    lambda input, min_val=-1.0, max_val=1.0: minimum(maximum(input, min_val), max_val),
    kinds="if", keep=(1, 2), method=False,
    samples=(reals(-3, 3, avoid=(-1, 1)), reals(-1, -1), reals(1, 1)),
    vjp=lambda g, y, x, lo, hi: [where(le(x, lo) | ge(x, hi), 0, g), None, None],
    doc="input limited to [min_val, max_val].",
    example="[-2., 0.5, 2.] -> [-1.0000, 0.5000, 1.0000]")
hardsigmoid = f("hardsigmoid", lambda input: minimum(maximum(input + 3, 0), 6) / 6, kinds="f",
                samples=reals(-2.9, 2.9), method=False,
                onnx=lambda b, x: b.with_numbers("HardSigmoid", x, alpha=1 / 6, beta=0.5),
                vjp=lambda g, y, x: [where(gt(x, -3) & lt(x, 3), g / 6, 0)],
                doc="(input + 3) / 6 limited to [0, 1].",
                example="[-4., 0., 1.] -> [0.0000, 0.5000, 0.6667]")


def _hardswish(x):
    """x (x + 3) / 6 between -3 and 3, the sum with what it lost."""
    up = x + 3
    middle = s.fma(x, up, x * (x - (up - 3))) / 6
    return where(ge(x, 3), x, where(le(x, -3), x * 0, middle))


hardswish = f("hardswish", lambda input: _hardswish(input), kinds="f", samples=reals(-2.9, 2.9),
              method=False, onnx="HardSwish",
              vjp=lambda g, y, x: [where(le(x, -3), 0, where(ge(x, 3), g, g * (x / 3 + 0.5)))],
              doc="input * hardsigmoid(input), elementwise.",
              example="[-4., 3., 1.] -> [-0.0000, 3.0000, 0.6667]")
hardshrink = f("hardshrink",
               lambda input, lambd=0.5: where(ge(input, -lambd) & le(input, lambd), 0, input),
               kinds="f", keep=(1,), inplace=False,
               samples=(reals(-3, 3, avoid=(-0.5, 0.5)), reals(0.5, 0.5, grad=False)),
               out_type=OutType.RESULT,
               vjp=lambda g, y, x, k: [where(ge(x, -k) & le(x, k), 0, g), None],
               doc="input, 0 where |input| <= lambd.", example="[-2., 0.25, 1.] -> [-2., 0., 1.]")
softshrink = f(
    "softshrink", lambda input, lambd=0.5: where(
        gt(input, lambd), input - lambd,
        where(lt(input, -lambd), input + lambd, where(isnan(input), input, 0))), kinds="f",
    samples=(reals(-3, 3, avoid=(-0.5, 0.5)), reals(0.5, 0.5, grad=False)), keep=(1,),
    method=False, inplace=False,
    out_type=OutType.RESULT, vjp=lambda g, y, x, k: [where(ge(x, -k) & le(x, k), 0, g), None],
    doc="input nearer to zero by lambd, 0 where |input| <= lambd.",
    example="[-2., 0.25, 1.] -> [-1.5000, 0.0000, 0.5000]")
softsign = f(
    "softsign", lambda input: input / (1 + absolute(input)), promote="float", samples=AWAY,
    method=False, inplace=False, onnx="Softsign",
    complex_vjp=lambda g, y, x: s.differentiate(x / (1 + absolute(x)), g, [0], complex=True),
    doc="input / (1 + |input|), elementwise.", example="[-1., 3.] -> [-0.5000, 0.7500]")
tanhshrink = f("tanhshrink", lambda input: s.tanhshrink(input), promote="float", samples=R,
               method=False, inplace=False, complex=lambda input: input - tanh(input),
               doc="input - tanh(input), elementwise.", example="[0., 2.] -> [0.0000, 1.0360]")
threshold_op = PointwiseOp(
    "threshold", lambda input, threshold, value: where(le(input, threshold), value, input),
    kinds="if", samples=(AWAY, reals(0, 0), NUMBER),
    vjp=lambda g, y, x, t, v: [where(le(x, t), 0, g), None, None])
