"""Every pointwise op: one statement each.

`f(...)` defines the op, the function `whet.NAME(..., *, out=None)`, the method and the in-place
method.
"""
import math

import numpy as np

from ..ir import scalar as s
from ..ir.scalar import (
    absolute,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cast,
    ceil,
    copysign,
    cos,
    cosh,
    digamma,
    eq,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    floor,
    ge,
    gt,
    isnan,
    le,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    lt,
    maximum,
    minimum,
    ne,
    rint,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
    where,
)
from .pointwise_family import PointwiseOp
from .sample_inputs import booleans, integers, reals
from .surface import pointwise_function as f

R = reals(-3, 3)
POSITIVE, UNIT = reals(0.2, 4), reals(-0.9, 0.9)
# an operand that users give as a number: no gradient flows to it
NUMBER = reals(0.5, 4, grad=False)
PAIR = (R, R)
AWAY = reals(-3, 3, avoid=(0,))            # a kink or a pole at zero


def _float(name, fn, samples, **kw):
    """A function of the reals: integers become floats first."""
    return f(name, fn, promote="float", samples=samples, **kw)


def _test(name, fn, samples, **kw):
    """A function whose results are booleans."""
    return f(name, fn, result="bool", samples=samples, **kw)


# ---- arithmetic ----
add_op = PointwiseOp("add", lambda input, other: input + other, samples=PAIR)
sub_op = PointwiseOp("sub", lambda input, other: input - other, samples=PAIR)
add_scaled = PointwiseOp("add_scaled", lambda input, other, alpha: input + alpha * other,
                         keep=(2,), samples=(R, R, NUMBER))
mul = f("mul", lambda input, other: input * other, alias=["multiply"], samples=PAIR)
div_op = PointwiseOp("div", lambda input, other: input / other, promote="float", samples=(R, AWAY),
                     vjp=lambda g, y, a, b: [g / b, -(g * (a / b / b))])
div_floor = PointwiseOp("div_floor", lambda input, other: s.floordiv(input, other),
                        samples=(R, AWAY), differentiable=True, kinds="bif",
                        vjp=lambda g, y, a, b: [None, None])
div_trunc = PointwiseOp("div_trunc", lambda input, other: s.truncdiv(input, other),
                        samples=(R, AWAY), differentiable=True, kinds="bif",
                        vjp=lambda g, y, a, b: [None, None])
remainder_op = PointwiseOp("remainder", lambda input, other: s.mod(input, other), kinds="bif",
                           samples=(reals(5.1, 6.9), reals(3.1, 4.9)),
                           vjp=lambda g, y, a, b: [g, -(g * floor(a / b))])
fmod_op = PointwiseOp("fmod", lambda input, other: s.fmod(input, other), kinds="bif",
                      samples=(reals(5.1, 6.9), reals(3.1, 4.9)),
                      vjp=lambda g, y, a, b: [g, -(g * trunc(a / b))])
neg = f("neg", lambda input: -input, alias=["negative"], samples=R, kinds="ifc")
positive = f("positive", lambda input: input * 1, samples=R, kinds="ifc", inplace=False,
             vjp=lambda g, y, x: [g])


def _sign(x):
    return where(isnan(x), 0, sign(x))


def _unit(x):
    """x / |x|, 0 at 0: the sign of a complex number."""
    return where(eq(x, 0), 0, x / absolute(x))


abs = f("abs", lambda input: absolute(input), alias=["absolute"], samples=AWAY, result="real",
        kinds="ifc", vjp=lambda g, y, x: [g * _sign(x)], complex_vjp=lambda g, y, x: [g * _unit(x)])
sign_op = PointwiseOp("sign", _sign, samples=AWAY, kinds="if", vjp=lambda g, y, x: [None])
sgn_complex = PointwiseOp(
    "sgn", _unit, samples=AWAY, vjp=lambda g, y, x: [None],
    complex_vjp=lambda g, y, x: [where(eq(x, 0), 0, (g - y * y * s.conj(g)) / (2 * absolute(x)))])
sqrt_ = _float("sqrt", lambda input: sqrt(input), POSITIVE, vjp=lambda g, y, x: [g / (2 * y)])
rsqrt_ = _float("rsqrt", lambda input: rsqrt(input), POSITIVE,
                vjp=lambda g, y, x: [-0.5 * g * (y * y * y)])
square_ = f("square", lambda input: square(input), samples=R, promote="int",
            vjp=lambda g, y, x: [g * (2 * x)])
reciprocal = _float("reciprocal", lambda input: 1 / input, AWAY,
                    vjp=lambda g, y, x: [-(g * (y * y))])
pow_op = PointwiseOp("pow", lambda input, exponent: s.pow(input, exponent), samples=(POSITIVE, R))


def _times_itself(x, n):
    """x to the power of n > 0, by as few products as squares allow."""
    half = _times_itself(x, n // 2) if n > 1 else None
    return x if half is None else half * half * x if n % 2 else half * half


def _whole_power(n):
    """The op x ** n. Only x * x * x is exact enough without more digits, which also have room
    for what would overflow on the way."""
    power = lambda x, k: _times_itself(x, k) if k > 0 else 1 / _times_itself(x, -k)
    return PointwiseOp(f"pow_{n}".replace("-", "minus_"), lambda input: power(input, n),
                       promote="float", kinds="bifc", samples=AWAY, wide=n != 3,
                       vjp=lambda g, y, x: [g * (n * power(x, n - 1))])


WHOLE_POWERS = {n: _whole_power(n) for n in (-6, -4, -3, -2, 3, 4, 5, 6, 7, 8, 10, 12)}
# x ** 0 is 1, whatever x is; the input says of which type
zeroth_power = PointwiseOp("pow_0",
                           lambda input: where(eq(input, input) | isnan(input), 1, input),
                           samples=R, kinds="if", vjp=lambda g, y, x: [None])
float_power_op = PointwiseOp("float_power", lambda input, exponent: s.pow(input, exponent),
                             promote="float", samples=(POSITIVE, R))
hypot = f("hypot", lambda input, other: s.hypot(input, other), kinds="f", samples=(AWAY, AWAY))
addcmul = f("addcmul",
            lambda input, tensor1, tensor2, *, value=1: input + value * tensor1 * tensor2,
            keep=(3,), samples=(R, R, R, NUMBER))
addcdiv = f("addcdiv", lambda input, tensor1, tensor2, *, value=1: input + value *
            (tensor1 / tensor2), samples=(R, R, AWAY, NUMBER), keep=(3,), promote="float")
lerp = f(
    "lerp", lambda input, end, weight: where(lt(absolute(weight), 0.5), input + weight *
                                             (end - input), end - (end - input) * (1 - weight)),
    samples=(R, R, UNIT), kinds="fc", one_type=True,
    vjp=lambda g, y, a, b, w: [g * (1 - w), g * w, g * (b - a)])
gcd = f("gcd", lambda input, other: s.gcd(input, other), kinds="i",
        samples=(integers(-30, 30), integers(-30, 30)), differentiable=False)
lcm = f(
    "lcm", lambda input, other: where(
        eq(s.gcd(input, other), 0), 0,
        absolute(
            s.truncdiv(input, where(eq(s.gcd(input, other), 0), 1, s.gcd(input, other))) * other)),
    kinds="i", samples=(integers(-30, 30), integers(-30, 30)), differentiable=False)

# ---- rounding ----
floor_ = f("floor", lambda input: floor(input), samples=R, kinds="if", vjp=lambda g, y, x: [None])
ceil_ = f("ceil", lambda input: ceil(input), samples=R, kinds="if", vjp=lambda g, y, x: [None])
trunc_ = f("trunc", lambda input: trunc(input), alias=["fix"], samples=R, kinds="if",
           vjp=lambda g, y, x: [None])
round_op = PointwiseOp("round", lambda input: rint(input), samples=R, kinds="if",
                       vjp=lambda g, y, x: [None])
frac = f("frac", lambda input: input - trunc(input), samples=R, kinds="f", vjp=lambda g, y, x: [g])

# ---- extrema ----


def _unless(lost, a, b, g):
    """What an extremum sends to one side: nothing where it lost, half at a tie. A NaN never
    loses."""
    return where(lost, 0, where(eq(a, b), g * 0.5, g))


maximum_ = f("maximum", lambda input, other: maximum(input, other), kinds="bif", inplace=False,
             samples=PAIR, vjp=lambda g, y, a, b: [
                 _unless(lt(a, b), a, b, g), _unless(lt(b, a), a, b, g)])
minimum_ = f("minimum", lambda input, other: minimum(input, other), kinds="bif", inplace=False,
             samples=PAIR, vjp=lambda g, y, a, b: [
                 _unless(gt(a, b), a, b, g), _unless(gt(b, a), a, b, g)])
fmax = f("fmax", lambda input, other: s.fmax(input, other), kinds="bif", inplace=False,
         samples=PAIR, vjp=lambda g, y, a, b: [
             where(ge(a, b) | isnan(b), g, 0), where(ge(a, b) | isnan(b), 0, g)])
fmin = f("fmin", lambda input, other: s.fmin(input, other), kinds="bif", inplace=False,
         samples=PAIR, vjp=lambda g, y, a, b: [
             where(le(a, b) | isnan(b), g, 0), where(le(a, b) | isnan(b), 0, g)])
clamp_op = PointwiseOp(
    "clamp", lambda input, min, max: minimum(maximum(input, min), max), kinds="if",
    samples=(R, reals(-2, -1), reals(1, 2)), vjp=lambda g, y, x, lo, hi: [
        where(ge(x, lo) & le(x, hi), g, 0),
        where(lt(x, lo) & lt(lo, hi), g, 0),
        where(gt(x, hi) | gt(lo, hi), g, 0)])
clamp_min_op = PointwiseOp(
    "clamp_min", lambda input, min: maximum(input, min), kinds="bif", samples=(R, UNIT),
    vjp=lambda g, y, x, lo: [where(ge(x, lo), g, 0), where(lt(x, lo), g, 0)])
clamp_max_op = PointwiseOp(
    "clamp_max", lambda input, max: minimum(input, max), kinds="bif", samples=(R, UNIT),
    vjp=lambda g, y, x, hi: [where(le(x, hi), g, 0), where(gt(x, hi), g, 0)])

# ---- exponentials and logarithms ----
exp_ = _float("exp", lambda input: exp(input), R)
exp2_ = _float("exp2", lambda input: exp2(input), R, complex=lambda input: exp(input * math.log(2)))
expm1_ = _float("expm1", lambda input: expm1(input), R)
cbrt = _float("cbrt", lambda input: s.cbrt(input), AWAY, kinds="bif")
log_ = _float("log", lambda input: log(input), POSITIVE, vjp=lambda g, y, x: [g / x])
log2_ = _float("log2", lambda input: log2(input), POSITIVE,
               vjp=lambda g, y, x: [g / (x * math.log(2))])
log10_ = _float("log10", lambda input: log10(input), POSITIVE,
                vjp=lambda g, y, x: [g / (x * math.log(10))])
log1p_ = _float("log1p", lambda input: log1p(input), reals(-0.8, 3),
                vjp=lambda g, y, x: [g / (x + 1)])


def _logaddexp(a, b, exp, scale=1.0):
    m = maximum(a, b)
    d = minimum(a, b) - m
    return where(isnan(d) & eq(a, b), a, m + log1p(exp(d)) * scale)     # equal infinities


logaddexp = f("logaddexp", lambda input, other: _logaddexp(input, other, exp), kinds="fc",
              inplace=False, samples=PAIR, wide=True,
              vjp=lambda g, y, a, b: [g * sigmoid(a - b), g * sigmoid(b - a)])
logaddexp2 = f(
    "logaddexp2", lambda input, other: _logaddexp(input, other, exp2, 1 / math.log(2)), kinds="f",
    inplace=False, samples=PAIR, wide=True,
    vjp=lambda g, y, a, b: [g * sigmoid((a - b) * math.log(2)), g * sigmoid((b - a) * math.log(2))])
xlogy = _float(
    "xlogy",
    lambda input, other: where(isnan(other), other, where(eq(input, 0), 0, input * log(other))),
    (R, POSITIVE), kinds="bif", wide=True,
    vjp=lambda g, y, x, z: [where(eq(x, 0) & le(z, 0), 0, g * log(z)), g * (x / z)])
logit_op = PointwiseOp(
    "logit", lambda input: s.logit(input), promote="float", kinds="bif", samples=reals(0.1, 0.9),
    vjp=lambda g, y, x: [where(lt(x, 0) | gt(x, 1), math.nan, g / (x * (1 - x)))])
logit_of_limited = PointwiseOp(
    "logit_of_limited", lambda input, eps: s.logit(minimum(maximum(input, eps), 1 - eps)),
    promote="float", kinds="bif", samples=(reals(0.05, 0.95,
                                                 avoid=(0.2, 0.8)), reals(0.2, 0.2)), keep=(),
    vjp=lambda g, y, x, eps: [where(lt(x, eps) | gt(x, 1 - eps), 0, g / (x * (1 - x))), None])

# ---- trigonometry ----
sin_ = _float("sin", lambda input: sin(input), R)
cos_ = _float("cos", lambda input: cos(input), R)
tan_ = _float("tan", lambda input: tan(input), reals(-1, 1))
asin_ = _float("asin", lambda input: asin(input), UNIT, alias=["arcsin"])
acos_ = _float("acos", lambda input: acos(input), UNIT, alias=["arccos"])
atan_ = _float("atan", lambda input: atan(input), R, alias=["arctan"],
               vjp=lambda g, y, x: [g / (x * x + 1)])
atan2 = _float(
    "atan2", lambda input, other: s.atan2(input, other), (AWAY, AWAY), alias=["arctan2"],
    kinds="bif", vjp=lambda g, y, a, b: [
        where(eq(a * a + b * b, 0), 0, g * (b / (a * a + b * b))),
        where(eq(a * a + b * b, 0), 0, -(g * (a / (a * a + b * b))))])
sinh_ = _float("sinh", lambda input: sinh(input), R)
cosh_ = _float("cosh", lambda input: cosh(input), R)
tanh_ = _float("tanh", lambda input: tanh(input), R)
asinh_ = _float("asinh", lambda input: asinh(input), R, alias=["arcsinh"])
acosh_ = _float("acosh", lambda input: acosh(input), reals(1.2, 4), alias=["arccosh"],
                complex_vjp=lambda g, y, x: [g * s.conj(rsqrt(x - 1) * rsqrt(x + 1))])
atanh_ = _float("atanh", lambda input: atanh(input), UNIT, alias=["arctanh"],
                vjp=lambda g, y, x: [g / (1 - x * x)])
sinc = _float(
    "sinc", lambda input: s.sinc(input), AWAY,
    complex=lambda input: where(eq(input, 0), 1,
                                sin(input * math.pi) / (input * math.pi)),
    complex_vjp=lambda g, y, x: [s.conj(where(eq(x, 0), 0, (cos(x * math.pi) - y) / x)) * g])
deg2rad = _float("deg2rad", lambda input: input * (math.pi / 180), R, kinds="bif")
rad2deg = _float("rad2deg", lambda input: input * (180 / math.pi), R, kinds="bif")

# ---- special functions ----
erf_ = _float("erf", lambda input: erf(input), R, kinds="bif")
erfc_ = _float("erfc", lambda input: erfc(input), R, kinds="bif")
erfinv_ = _float("erfinv", lambda input: erfinv(input), UNIT, kinds="bif")
lgamma_ = _float("lgamma", lambda input: lgamma(input), POSITIVE, kinds="bif")
digamma_ = _float("digamma", lambda input: digamma(input), POSITIVE, kinds="bif")
sigmoid_ = _float("sigmoid", lambda input: sigmoid(input), R)
heaviside = f("heaviside",
              lambda input, values: where(eq(input, 0), values, where(gt(input, 0), 1, 0)),
              kinds="bif", inplace=True, differentiable=False, samples=PAIR, one_type=True)
nan_to_num_op = PointwiseOp(
    "nan_to_num", lambda input, nan, posinf, neginf: where(
        isnan(input), nan, where(s.isinf(input), where(gt(input, 0), posinf, neginf), input)),
    kinds="f", samples=(R, R, R, R),
    vjp=lambda g, y, x, a, b, c: [where(s.isfinite(x), g, 0), None, None, None])

# ---- comparisons and tests ----
eq_ = _test("eq", lambda input, other: eq(input, other), PAIR)
ne_ = _test("ne", lambda input, other: ne(input, other), PAIR, alias=["not_equal"])
lt_ = _test("lt", lambda input, other: lt(input, other), PAIR, alias=["less"], kinds="bif")
le_ = _test("le", lambda input, other: le(input, other), PAIR, alias=["less_equal"], kinds="bif")
gt_ = _test("gt", lambda input, other: gt(input, other), PAIR, alias=["greater"], kinds="bif")
ge_ = _test("ge", lambda input, other: ge(input, other), PAIR, alias=["greater_equal"], kinds="bif")
isnan_ = _test("isnan", lambda input: isnan(input), R, inplace=False)
isinf_ = _test("isinf", lambda input: s.isinf(input), R, inplace=False)
isfinite_ = _test("isfinite", lambda input: s.isfinite(input), R, inplace=False)
isposinf = _test("isposinf", lambda input: s.isinf(input) & gt(input, 0), R, inplace=False,
                 kinds="bif")
isneginf = _test("isneginf", lambda input: s.isinf(input) & lt(input, 0), R, inplace=False,
                 kinds="bif")
signbit = _test("signbit", lambda input: s.signbit(input), R, inplace=False, kinds="bif")
logical_not = _test("logical_not", lambda input: eq(input, 0), R)
logical_and = _test("logical_and", lambda input, other: ne(input, 0) & ne(other, 0), PAIR)
logical_or = _test("logical_or", lambda input, other: ne(input, 0) | ne(other, 0), PAIR)
logical_xor = _test("logical_xor", lambda input, other: ne(ne(input, 0), ne(other, 0)), PAIR)

# ---- bits ----
_INTS = (integers(-100, 100), integers(-100, 100))
bitwise_and = f("bitwise_and", lambda input, other: input & other, kinds="bi", differentiable=False,
                samples=_INTS)
bitwise_or = f("bitwise_or", lambda input, other: input | other, kinds="bi", differentiable=False,
               samples=_INTS)
bitwise_xor = f("bitwise_xor", lambda input, other: input ^ other, kinds="bi", differentiable=False,
                samples=_INTS)
bitwise_not = f("bitwise_not", lambda input: ~input, kinds="bi", differentiable=False,
                samples=integers(-100, 100))
_SHIFTS = (integers(-100, 100), integers(0, 6))
bitwise_left_shift = f("bitwise_left_shift", lambda input, other: s.shl(input, other), kinds="i",
                       differentiable=False, samples=_SHIFTS)
bitwise_right_shift = f("bitwise_right_shift", lambda input, other: s.shr(input, other), kinds="i",
                        differentiable=False, samples=_SHIFTS)

# ---- picking and copying signs ----
where_op = PointwiseOp(
    "where", lambda condition, input, other: where(condition, input, other), keep=(0,),
    kinds="bifc8", samples=(booleans, R, R),
    vjp=lambda g, y, c, a, b: [None, where(c, g, 0), where(c, 0, g)])
copysign_ = _float(
    "copysign", lambda input, other: copysign(input, other), (AWAY, AWAY), kinds="bif",
    vjp=lambda g, y, a, b: [where(eq(a, 0), 0, where(eq(s.signbit(a), s.signbit(b)), g, -g)), None])
nextafter = f("nextafter", lambda input, other: s.nextafter(input, other), kinds="f",
              samples=PAIR, vjp=lambda g, y, a, b: [where(eq(a, b), 0, g), None])


def _ldexp(x, n):
    """In three steps, so that no power of two overflows where the result does not."""
    part = trunc(n / 3)
    power = exp2(part)
    return where(eq(x, 0), x, x * power * power * exp2(n - part - part))


ldexp_op = PointwiseOp("ldexp", lambda input, other: _ldexp(input, other), promote="float",
                       wide=True, samples=(R, integers(-3, 3)),
                       complex=lambda input, other: input * exp(other * math.log(2)))

# ---- activations (whet.nn.functional) ----
relu = f("relu", lambda input: where(gt(input, 0) | isnan(input), input, 0), samples=AWAY,
         kinds="if", vjp=lambda g, y, x: [where(le(x, 0), 0, g)], at_result=True, onnx="Relu")
leaky_relu = f("leaky_relu", lambda input,
               negative_slope=0.01: where(gt(input, 0), input, input * negative_slope),
               samples=(AWAY, UNIT), kinds="f", method=False, onnx=lambda b, x,
               slope: b.with_numbers("LeakyRelu", x, alpha=slope))
prelu_op = PointwiseOp("prelu", lambda input, weight: where(gt(input, 0), input, input * weight),
                       kinds="f", samples=(AWAY, R), onnx=lambda b, x, weight: b.slopes(x, weight))


def _below(x):
    """The smaller of x and zero, flat at zero itself, as it is for PyTorch's second derivatives."""
    return where(lt(x, 0), x, 0)


elu_op = PointwiseOp("elu", lambda input, alpha,
                     scale: where(gt(input, 0), input * scale,
                                  alpha * scale * expm1(minimum(input, 0))), onnx=lambda b, x,
                                  alpha,
                                  scale: scale == 1 and b.with_numbers("Elu", x, alpha=alpha),
                     kinds="f", samples=(AWAY, POSITIVE, POSITIVE),
                     vjp=lambda g, y, x, a,
                     c: [where(le(x, 0), g * (a * c * exp(_below(x))), g * c),
                                                where(le(x, 0), g * (c * expm1(_below(x))), 0),
                                                where(le(x, 0), g * (a * expm1(_below(x))),
                                                      g * x)])
SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _times(x, c):
    """x c, where c has more digits than the type of x: rounded once."""
    high = np.float32(c)
    # Of one sign with the rest: x may be infinite.
    high = float(np.nextafter(high, np.float32(0)) if np.abs(high) > np.abs(c) else high)
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
         complex=lambda input: input * sigmoid(input))
mish = f("mish", lambda input: s.mish(input), kinds="f", samples=R, method=False, onnx="Mish")
softplus_op = PointwiseOp("softplus", lambda input, beta,
                          threshold: where(gt(input * beta, threshold), input,
                                           s.softplus(input * beta) / beta), kinds="f",
                                           samples=(R, NUMBER, reals(19, 21, grad=False)),
                          vjp=lambda g, y, x, b,
                          t: [where(gt(x * b, t), g, g * sigmoid(x * b)), None, None])
logsigmoid = f("logsigmoid", lambda input: 0 - s.softplus(-input), kinds="f", samples=R,
               method=False, inplace=False, vjp=lambda g, y, x: [g * sigmoid(-x)])
relu6 = f("relu6", lambda input: minimum(maximum(input, 0), 6), samples=AWAY, kinds="if",
          method=False, vjp=lambda g, y, x: [where(le(x, 0) | ge(x, 6), 0, g)])
hardtanh = f("hardtanh", lambda input, min_val=-1.0,
             max_val=1.0: minimum(maximum(input, min_val), max_val), kinds="if", keep=(1, 2),
             samples=(reals(-3, 3, avoid=(-1, 1)), reals(-1, -1), reals(1, 1)), method=False,
             vjp=lambda g, y, x, lo, hi: [where(le(x, lo) | ge(x, hi), 0, g), None, None])
hardsigmoid = f("hardsigmoid", lambda input: minimum(maximum(input + 3, 0), 6) / 6, kinds="f",
                samples=reals(-2.9, 2.9), method=False,
                onnx=lambda b, x: b.with_numbers("HardSigmoid", x, alpha=1 / 6, beta=0.5),
                vjp=lambda g, y, x: [where(gt(x, -3) & lt(x, 3), g / 6, 0)])


def _hardswish(x):
    """x (x + 3) / 6 between -3 and 3, the sum with what it lost."""
    up = x + 3
    middle = s.fma(x, up, x * (x - (up - 3))) / 6
    return where(ge(x, 3), x, where(le(x, -3), x * 0, middle))


hardswish = f("hardswish", lambda input: _hardswish(input), kinds="f", samples=reals(-2.9, 2.9),
              method=False, onnx="HardSwish",
              vjp=lambda g, y, x: [where(le(x, -3), 0, where(ge(x, 3), g, g * (x / 3 + 0.5)))])
hardshrink = f("hardshrink",
               lambda input, lambd=0.5: where(ge(input, -lambd) & le(input, lambd), 0, input),
               kinds="f", samples=(reals(-3, 3, avoid=(-0.5, 0.5)), reals(0.5, 0.5)), inplace=False,
               vjp=lambda g, y, x, k: [where(ge(x, -k) & le(x, k), 0, g), None])
softshrink = f(
    "softshrink", lambda input, lambd=0.5: where(
        gt(input, lambd), input - lambd,
        where(lt(input, -lambd), input + lambd, where(isnan(input), input, 0))), kinds="f",
    samples=(reals(-3, 3, avoid=(-0.5, 0.5)), reals(0.5, 0.5)), method=False, inplace=False,
    vjp=lambda g, y, x, k: [where(ge(x, -k) & le(x, k), 0, g), None])
softsign = _float(
    "softsign", lambda input: input / (1 + absolute(input)), samples=AWAY, method=False,
    inplace=False, onnx="Softsign",
    complex_vjp=lambda g, y, x: s.differentiate(x / (1 + absolute(x)), g, [0], complex=True))
tanhshrink = _float("tanhshrink", lambda input: s.tanhshrink(input), samples=R, method=False,
                    inplace=False, complex=lambda input: input - tanh(input))
threshold_op = PointwiseOp(
    "threshold", lambda input, threshold, value: where(le(input, threshold), value, input),
    kinds="if", samples=(AWAY, reals(0, 0), NUMBER),
    vjp=lambda g, y, x, t, v: [where(le(x, t), 0, g), None, None])

# ---- complex numbers ----
conj_op = PointwiseOp("conj_physical", lambda input: s.conj(input), samples=R,
                      complex_vjp=lambda g, y, x: [s.conj(g)])
to_bool = PointwiseOp("to_bool", lambda input: cast(input, "bool"), result="bool", samples=R)
