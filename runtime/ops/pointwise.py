"""Every pointwise op: one statement each.

`f(...)` defines the op, the function `whet.NAME(..., *, out=None)`, the method and the in-place
method.
"""
import math

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
from .out_types import OutType
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
mul = f("mul", lambda input, other: input * other, alias=["multiply"], samples=PAIR,
        doc="input * other, elementwise.", example="[1., 2.], [3., 4.] -> [3., 8.]")
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
neg = f("neg", lambda input: -input, alias=["negative"], samples=R, kinds="ifc",
        doc="The elements with the opposite sign.", example="[1., -2.] -> [-1., 2.]")
same_op = PointwiseOp("positive", lambda input: input * 1, samples=R, kinds="ifc",
                      vjp=lambda g, y, x: [g])


def _sign(x):
    return where(isnan(x), 0, sign(x))


def _unit(x):
    """x / |x|, 0 at 0: the sign of a complex number."""
    return where(eq(x, 0), 0, x / absolute(x))


abs = f("abs", lambda input: absolute(input), alias=["absolute"], samples=AWAY, result="real",
        kinds="ifc", vjp=lambda g, y, x: [g * _sign(x)], complex_vjp=lambda g, y, x: [g * _unit(x)],
        doc="The absolute value of each element; of complex numbers, their modulus.",
        example="[-1., 2.] -> [1., 2.]")
sign_op = PointwiseOp("sign", _sign, samples=AWAY, kinds="if", vjp=lambda g, y, x: [None])
sgn_complex = PointwiseOp(
    "sgn", _unit, samples=AWAY, vjp=lambda g, y, x: [None],
    complex_vjp=lambda g, y, x: [where(eq(x, 0), 0, (g - y * y * s.conj(g)) / (2 * absolute(x)))])
sqrt_ = _float("sqrt", lambda input: sqrt(input), POSITIVE, vjp=lambda g, y, x: [g / (2 * y)],
               doc="The square root of each element; NaN below zero.",
               example="[4., 9.] -> [2., 3.]")
rsqrt_ = _float("rsqrt", lambda input: rsqrt(input), POSITIVE,
                vjp=lambda g, y, x: [-0.5 * g * (y * y * y)], doc="1 / sqrt(input), elementwise.",
                example="[4., 16.] -> [0.5000, 0.2500]")
square_ = f("square", lambda input: square(input), samples=R, promote="int",
            vjp=lambda g, y, x: [g * (2 * x)], doc="input * input, elementwise.",
            example="[2., -3.] -> [4., 9.]")
reciprocal = _float("reciprocal", lambda input: 1 / input, AWAY,
                    vjp=lambda g, y, x: [-(g * (y * y))], doc="1 / input, elementwise.",
                    example="[2., 4.] -> [0.5000, 0.2500]")
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
# Powers that are roots and inverses keep x and not their result, which programs write to:
# `deg.pow_(-0.5).masked_fill_(isolated, 0)`.
INVERSE_POWERS = {
    -1: PointwiseOp("pow_minus_1", lambda input: 1 / input, kinds="f", samples=AWAY,
                    vjp=lambda g, y, x: [-(g / x / x)]),
    -0.5: PointwiseOp("pow_minus_half", lambda input: rsqrt(input), kinds="f", samples=POSITIVE,
                      vjp=lambda g, y, x: [-0.5 * g * (rsqrt(x) / x)])}
half_power = PointwiseOp("pow_half", lambda input: sqrt(input), kinds="f", samples=POSITIVE,
                         vjp=lambda g, y, x: [g / (2 * sqrt(x))])
# x ** 0 is 1, whatever x is; the input says of which type
zeroth_power = PointwiseOp("pow_0",
                           lambda input: where(eq(input, input) | isnan(input), 1, input),
                           samples=R, kinds="if", vjp=lambda g, y, x: [None])
float_power_op = PointwiseOp("float_power", lambda input, exponent: s.pow(input, exponent),
                             promote="float", samples=(POSITIVE, R))
hypot = f("hypot", lambda input, other: s.hypot(input, other), kinds="f", samples=(AWAY, AWAY),
          doc="sqrt(input ** 2 + other ** 2), without overflow on the way.",
          example="[3., 5.], [4., 12.] -> [ 5., 13.]")
addcmul = f("addcmul",
            lambda input, tensor1, tensor2, *, value=1: input + value * tensor1 * tensor2,
            keep=(3,), samples=(R, R, R, NUMBER),
            doc="input + value * tensor1 * tensor2, elementwise.",
            example="[1., 1.], [2., 3.], [4., 5.] -> [ 9., 16.]")
addcdiv = f("addcdiv", lambda input, tensor1, tensor2, *, value=1: input + value *
            (tensor1 / tensor2), samples=(R, R, AWAY, NUMBER), keep=(3,), promote="float",
            doc="input + value * (tensor1 / tensor2), elementwise.",
            example="[1., 1.], [6., 8.], [3., 2.] -> [3., 5.]")
lerp = f(
    "lerp", lambda input, end, weight: where(lt(absolute(weight), 0.5), input + weight *
                                             (end - input), end - (end - input) * (1 - weight)),
    samples=(R, R, UNIT), kinds="fc", one_type=True,
    vjp=lambda g, y, a, b, w: [g * (1 - w), g * w, g * (b - a)],
    doc="Linear interpolation: input + weight * (end - input).",
    example="[0., 10.], [10., 20.], 0.5 -> [ 5., 15.]")
gcd = f("gcd", lambda input, other: s.gcd(input, other), kinds="i",
        samples=(integers(-30, 30), integers(-30, 30)), differentiable=False,
        doc="The greatest common divisor of whole numbers.", example="[12, 9], [8, 6] -> [4, 3]")
lcm = f(
    "lcm", lambda input, other: where(
        eq(s.gcd(input, other), 0), 0,
        absolute(
            s.truncdiv(input, where(eq(s.gcd(input, other), 0), 1, s.gcd(input, other))) * other)),
    kinds="i", samples=(integers(-30, 30), integers(-30, 30)), differentiable=False,
    doc="The least common multiple of whole numbers.", example="[4, 6], [6, 9] -> [12, 18]")

# ---- rounding ----
floor_ = f("floor", lambda input: floor(input), samples=R, kinds="if", vjp=lambda g, y, x: [None],
           doc="The greatest whole number that is not greater, elementwise.",
           example="[1.5, -1.5] -> [ 1., -2.]")
ceil_ = f("ceil", lambda input: ceil(input), samples=R, kinds="if", vjp=lambda g, y, x: [None],
          doc="The least whole number that is not less, elementwise.",
          example="[1.5, -1.5] -> [ 2., -1.]")
trunc_ = f("trunc", lambda input: trunc(input), alias=["fix"], samples=R, kinds="if",
           vjp=lambda g, y, x: [None], doc="The whole part of each element: rounded towards zero.",
           example="[1.5, -1.5] -> [ 1., -1.]")
round_op = PointwiseOp("round", lambda input: rint(input), samples=R, kinds="if",
                       vjp=lambda g, y, x: [None])
frac = f("frac", lambda input: input - trunc(input), samples=R, kinds="f", vjp=lambda g, y, x: [g],
         doc="The fractional part of each element, with its sign.",
         example="[1.5, -1.25] -> [ 0.5000, -0.2500]")

# ---- extrema ----


def _unless(lost, a, b, g):
    """What an extremum sends to one side: nothing where it lost, half at a tie. A NaN never
    loses."""
    return where(lost, 0, where(eq(a, b), g * 0.5, g))


maximum_ = f("maximum", lambda input, other: maximum(input, other), kinds="bif", inplace=False,
             samples=PAIR, vjp=lambda g, y, a, b: [
                 _unless(lt(a, b), a, b, g), _unless(lt(b, a), a, b, g)],
             doc="The greater of two elements; NaN if either is.",
             example="[1., 5.], [3., 2.] -> [3., 5.]")
minimum_ = f("minimum", lambda input, other: minimum(input, other), kinds="bif", inplace=False,
             samples=PAIR, vjp=lambda g, y, a, b: [
                 _unless(gt(a, b), a, b, g), _unless(gt(b, a), a, b, g)],
             doc="The lesser of two elements; NaN if either is.",
             example="[1., 5.], [3., 2.] -> [1., 2.]")
fmax = f("fmax", lambda input, other: s.fmax(input, other), kinds="bif", inplace=False,
         samples=PAIR, vjp=lambda g, y, a, b: [
             where(ge(a, b) | isnan(b), g, 0), where(ge(a, b) | isnan(b), 0, g)],
         doc="The greater of two elements; a number rather than NaN.",
         example="[1., nan], [3., 2.] -> [3., 2.]")
fmin = f("fmin", lambda input, other: s.fmin(input, other), kinds="bif", inplace=False,
         samples=PAIR, vjp=lambda g, y, a, b: [
             where(le(a, b) | isnan(b), g, 0), where(le(a, b) | isnan(b), 0, g)],
         doc="The lesser of two elements; a number rather than NaN.",
         example="[1., nan], [3., 2.] -> [1., 2.]")
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
exp_ = _float("exp", lambda input: exp(input), R, doc="e to the power of each element.",
              example="[0., 1.] -> [1.0000, 2.7183]")
exp2_ = _float("exp2", lambda input: exp2(input), R, complex=lambda input: exp(input * math.log(2)),
               doc="2 to the power of each element.", example="[1., 3.] -> [2., 8.]")
expm1_ = _float("expm1", lambda input: expm1(input), R, doc="exp(input) - 1, exact near zero, too.",
                example="[0., 1.] -> [0.0000, 1.7183]")
cbrt = _float("cbrt", lambda input: s.cbrt(input), AWAY, kinds="bif",
              doc="The cube root of each element.", example="[8., -27.] -> [ 2., -3.]")
log_ = _float("log", lambda input: log(input), POSITIVE, vjp=lambda g, y, x: [g / x],
              doc="The natural logarithm of each element.", example="[1., 10.] -> [0.0000, 2.3026]")
log2_ = _float("log2", lambda input: log2(input), POSITIVE,
               vjp=lambda g, y, x: [g / (x * math.log(2))], doc="The logarithm to base 2.",
               example="[1., 8.] -> [0., 3.]")
log10_ = _float("log10", lambda input: log10(input), POSITIVE,
                vjp=lambda g, y, x: [g / (x * math.log(10))], doc="The logarithm to base 10.",
                example="[1., 100.] -> [0., 2.]")
log1p_ = _float("log1p", lambda input: log1p(input), reals(-0.8, 3),
                vjp=lambda g, y, x: [g / (x + 1)], doc="log(1 + input), exact near zero, too.",
                example="[0., 1.] -> [0.0000, 0.6931]")


def _logaddexp(a, b, exp, scale=1.0):
    m = maximum(a, b)
    d = minimum(a, b) - m
    return where(isnan(d) & eq(a, b), a, m + log1p(exp(d)) * scale)     # equal infinities


logaddexp = f("logaddexp", lambda input, other: _logaddexp(input, other, exp), kinds="fc",
              inplace=False, samples=PAIR, wide=True,
              vjp=lambda g, y, a, b: [g * sigmoid(a - b), g * sigmoid(b - a)],
              doc="log(exp(input) + exp(other)), without overflow.",
              example="[0., 100.], [0., 1.] -> [ 0.6931, 100.0000]")
logaddexp2 = f(
    "logaddexp2", lambda input, other: _logaddexp(input, other, exp2, 1 / math.log(2)), kinds="f",
    inplace=False, samples=PAIR, wide=True,
    vjp=lambda g, y, a, b: [g * sigmoid((a - b) * math.log(2)), g * sigmoid((b - a) * math.log(2))],
    doc="log2(2 ** input + 2 ** other), without overflow.",
    example="[0., 3.], [0., 3.] -> [1., 4.]")
xlogy = _float(
    "xlogy",
    lambda input, other: where(isnan(other), other, where(eq(input, 0), 0, input * log(other))),
    (R, POSITIVE), kinds="bif", wide=True,
    vjp=lambda g, y, x, z: [where(eq(x, 0) & le(z, 0), 0, g * log(z)), g * (x / z)],
    doc="input * log(other), 0 where input is 0.", example="[0., 2.], [0., 1.] -> [0., 0.]")
logit_op = PointwiseOp(
    "logit", lambda input: s.logit(input), promote="float", kinds="bif", samples=reals(0.1, 0.9),
    vjp=lambda g, y, x: [where(lt(x, 0) | gt(x, 1), math.nan, g / (x * (1 - x)))])
logit_of_limited = PointwiseOp(
    "logit_of_limited", lambda input, eps: s.logit(minimum(maximum(input, eps), 1 - eps)),
    promote="float", kinds="bif", samples=(reals(0.05, 0.95,
                                                 avoid=(0.2, 0.8)), reals(0.2, 0.2)), keep=(),
    vjp=lambda g, y, x, eps: [where(lt(x, eps) | gt(x, 1 - eps), 0, g / (x * (1 - x))), None])

# ---- trigonometry ----
sin_ = _float("sin", lambda input: sin(input), R, doc="The sine of each element, in radians.",
              example="[0., 1.] -> [0.0000, 0.8415]")
cos_ = _float("cos", lambda input: cos(input), R, doc="The cosine of each element, in radians.",
              example="[0., 1.] -> [1.0000, 0.5403]")
tan_ = _float("tan", lambda input: tan(input), reals(-1, 1),
              doc="The tangent of each element, in radians.",
              example="[0., 1.] -> [0.0000, 1.5574]")
asin_ = _float("asin", lambda input: asin(input), UNIT, alias=["arcsin"],
               doc="The inverse sine, between -pi / 2 and pi / 2.",
               example="[0., 1.] -> [0.0000, 1.5708]")
acos_ = _float("acos", lambda input: acos(input), UNIT, alias=["arccos"],
               doc="The inverse cosine, between 0 and pi.", example="[1., 0.] -> [0.0000, 1.5708]")
atan_ = _float("atan", lambda input: atan(input), R, alias=["arctan"],
               vjp=lambda g, y, x: [g / (x * x + 1)],
               doc="The inverse tangent, between -pi / 2 and pi / 2.",
               example="[0., 1.] -> [0.0000, 0.7854]")
atan2 = _float(
    "atan2", lambda input, other: s.atan2(input, other), (AWAY, AWAY), alias=["arctan2"],
    kinds="bif", vjp=lambda g, y, a, b: [
        where(eq(a * a + b * b, 0), 0, g * (b / (a * a + b * b))),
        where(eq(a * a + b * b, 0), 0, -(g * (a / (a * a + b * b))))],
    doc="The angle of the point (other, input) in the plane, between -pi and pi.",
    example="[1., -1.], [1., 1.] -> [ 0.7854, -0.7854]")
sinh_ = _float("sinh", lambda input: sinh(input), R, doc="The hyperbolic sine of each element.",
               example="[0., 1.] -> [0.0000, 1.1752]")
cosh_ = _float("cosh", lambda input: cosh(input), R, doc="The hyperbolic cosine of each element.",
               example="[0., 1.] -> [1.0000, 1.5431]")
tanh_ = _float("tanh", lambda input: tanh(input), R, doc="The hyperbolic tangent of each element.",
               example="[0., 1.] -> [0.0000, 0.7616]")
asinh_ = _float("asinh", lambda input: asinh(input), R, alias=["arcsinh"],
                doc="The inverse hyperbolic sine.", example="[0., 1.] -> [0.0000, 0.8814]")
acosh_ = _float("acosh", lambda input: acosh(input), reals(1.2, 4), alias=["arccosh"],
                complex_vjp=lambda g, y, x: [g * s.conj(rsqrt(x - 1) * rsqrt(x + 1))],
                doc="The inverse hyperbolic cosine; NaN below 1.",
                example="[1., 2.] -> [0.0000, 1.3170]")
atanh_ = _float("atanh", lambda input: atanh(input), UNIT, alias=["arctanh"],
                vjp=lambda g, y, x: [g / (1 - x * x)],
                doc="The inverse hyperbolic tangent; NaN outside of [-1, 1].",
                example="[0., 0.5] -> [0.0000, 0.5493]")
sinc = _float(
    "sinc", lambda input: s.sinc(input), AWAY,
    complex=lambda input: where(eq(input, 0), 1,
                                sin(input * math.pi) / (input * math.pi)),
    complex_vjp=lambda g, y, x: [s.conj(where(eq(x, 0), 0, (cos(x * math.pi) - y) / x)) * g],
    doc="sin(pi * input) / (pi * input), 1 at 0.", example="[0., 0.5] -> [1.0000, 0.6366]")
deg2rad = _float("deg2rad", lambda input: input * (math.pi / 180), R, kinds="bif",
                 doc="Degrees as radians.", example="[90., 180.] -> [1.5708, 3.1416]")
rad2deg = _float("rad2deg", lambda input: input * (180 / math.pi), R, kinds="bif",
                 doc="Radians as degrees.", example="[0., 1.] -> [ 0.0000, 57.2958]")

# ---- special functions ----
erf_ = _float("erf", lambda input: erf(input), R, kinds="bif",
              doc="The error function of each element.", example="[0., 1.] -> [0.0000, 0.8427]")
erfc_ = _float("erfc", lambda input: erfc(input), R, kinds="bif",
               doc="1 - erf(input), exact also where it is small.",
               example="[0., 1.] -> [1.0000, 0.1573]")
erfinv_ = _float("erfinv", lambda input: erfinv(input), UNIT, kinds="bif",
                 doc="The inverse of `erf`, for elements between -1 and 1.",
                 example="[0., 0.5] -> [0.0000, 0.4769]")
lgamma_ = _float("lgamma", lambda input: lgamma(input), POSITIVE, kinds="bif",
                 doc="log(|gamma(input)|), elementwise.", example="[3., 4.] -> [0.6931, 1.7918]")
digamma_ = _float("digamma", lambda input: digamma(input), POSITIVE, kinds="bif",
                  doc="The derivative of `lgamma`.", example="[1., 2.] -> [-0.5772, 0.4228]")
sigmoid_ = _float("sigmoid", lambda input: sigmoid(input), R,
                  doc="1 / (1 + exp(-input)), elementwise.", example="[0., 2.] -> [0.5000, 0.8808]")
heaviside = f("heaviside",
              lambda input, values: where(eq(input, 0), values, where(gt(input, 0), 1, 0)),
              kinds="bif", inplace=True, differentiable=False, samples=PAIR, one_type=True,
              doc="0 below zero, 1 above, `values` at zero.",
              example="[-2., 0., 3.], [0.5] -> [0.0000, 0.5000, 1.0000]")
nan_to_num_op = PointwiseOp(
    "nan_to_num", lambda input, nan, posinf, neginf: where(
        isnan(input), nan, where(s.isinf(input), where(gt(input, 0), posinf, neginf), input)),
    kinds="f", samples=(R, R, R, R),
    vjp=lambda g, y, x, a, b, c: [where(s.isfinite(x), g, 0), None, None, None])

# ---- comparisons and tests ----
eq_ = _test("eq", lambda input, other: eq(input, other), PAIR, doc="Are two elements equal?",
            example="[1., 2.], [1., 3.] -> [ True, False]")
ne_ = _test("ne", lambda input, other: ne(input, other), PAIR, alias=["not_equal"],
            doc="Do two elements differ?", example="[1., 2.], [1., 3.] -> [False, True]")
lt_ = _test("lt", lambda input, other: lt(input, other), PAIR, alias=["less"], kinds="bif",
            doc="input < other, elementwise.", example="[1., 2.], 2 -> [ True, False]")
le_ = _test("le", lambda input, other: le(input, other), PAIR, alias=["less_equal"], kinds="bif",
            doc="input <= other, elementwise.", example="[1., 3.], 2 -> [ True, False]")
gt_ = _test("gt", lambda input, other: gt(input, other), PAIR, alias=["greater"], kinds="bif",
            doc="input > other, elementwise.", example="[1., 3.], 2 -> [False, True]")
ge_ = _test("ge", lambda input, other: ge(input, other), PAIR, alias=["greater_equal"], kinds="bif",
            doc="input >= other, elementwise.", example="[1., 3.], 2 -> [False, True]")
isnan_ = _test("isnan", lambda input: isnan(input), R, inplace=False, doc="Is an element NaN?",
               example="[1., nan] -> [False, True]")
isinf_ = _test("isinf", lambda input: s.isinf(input), R, inplace=False,
               doc="Is an element infinite, of either sign?", example="[1., -inf] -> [False, True]")
isfinite_ = _test("isfinite", lambda input: s.isfinite(input), R, inplace=False,
                  doc="Is an element neither infinite nor NaN?",
                  example="[1., inf, nan] -> [ True, False, False]")
isposinf = _test("isposinf", lambda input: s.isinf(input) & gt(input, 0), R, inplace=False,
                 kinds="bif", out_type=OutType.RESULT, doc="Is an element plus infinity?",
                 example="[inf, -inf] -> [ True, False]")
isneginf = _test("isneginf", lambda input: s.isinf(input) & lt(input, 0), R, inplace=False,
                 kinds="bif", out_type=OutType.RESULT, doc="Is an element minus infinity?",
                 example="[inf, -inf] -> [False, True]")
signbit = _test("signbit", lambda input: s.signbit(input), R, inplace=False, kinds="bif",
                out_type=OutType.RESULT, doc="Is the sign bit set? It is set in -0., too.",
                example="[1., -0.] -> [False, True]")
logical_not = _test("logical_not", lambda input: eq(input, 0), R,
                    doc="True where the element is zero.", example="[0., 2.] -> [ True, False]")
logical_and = _test("logical_and", lambda input, other: ne(input, 0) & ne(other, 0), PAIR,
                    doc="True where both elements are not zero.",
                    example="[0., 2.], [1., 3.] -> [False, True]")
logical_or = _test("logical_or", lambda input, other: ne(input, 0) | ne(other, 0), PAIR,
                   doc="True where at least one element is not zero.",
                   example="[0., 2.], [0., 3.] -> [False, True]")
logical_xor = _test("logical_xor", lambda input, other: ne(ne(input, 0), ne(other, 0)), PAIR,
                    doc="True where exactly one of the elements is not zero.",
                    example="[0., 2.], [1., 3.] -> [ True, False]")

# ---- bits ----
_INTS = (integers(-100, 100), integers(-100, 100))
bitwise_and = f("bitwise_and", lambda input, other: input & other, kinds="bi", differentiable=False,
                samples=_INTS, doc="The bits that both have; of booleans, `and`.",
                example="[6, 5], [3, 4] -> [2, 4]")
bitwise_or = f("bitwise_or", lambda input, other: input | other, kinds="bi", differentiable=False,
               samples=_INTS, doc="The bits that at least one has; of booleans, `or`.",
               example="[6, 5], [3, 4] -> [7, 5]")
bitwise_xor = f("bitwise_xor", lambda input, other: input ^ other, kinds="bi", differentiable=False,
                samples=_INTS, doc="The bits that exactly one has; of booleans, `!=`.",
                example="[6, 5], [3, 4] -> [5, 1]")
bitwise_not = f("bitwise_not", lambda input: ~input, kinds="bi", differentiable=False,
                samples=integers(-100, 100), doc="All bits flipped; of booleans, `not`.",
                example="[0, 5] -> [-1, -6]")
_SHIFTS = (integers(-100, 100), integers(0, 6))
bitwise_left_shift = f("bitwise_left_shift", lambda input, other: s.shl(input, other), kinds="i",
                       differentiable=False, samples=_SHIFTS,
                       doc="The bits moved up by `other` places.",
                       example="[1, 3], [4, 1] -> [16, 6]")
bitwise_right_shift = f("bitwise_right_shift", lambda input, other: s.shr(input, other), kinds="i",
                        differentiable=False, samples=_SHIFTS,
                        doc="The bits moved down by `other` places; the sign stays.",
                        example="[16, -8], [2, 1] -> [ 4, -4]")

# ---- picking and copying signs ----
where_op = PointwiseOp(
    "where", lambda condition, input, other: where(condition, input, other), keep=(0,),
    out_type=OutType.RESULT,
    kinds="bifc8", samples=(booleans, R, R),
    vjp=lambda g, y, c, a, b: [None, where(c, g, 0), where(c, 0, g)])
copysign_ = _float(
    "copysign", lambda input, other: copysign(input, other), (AWAY, AWAY), kinds="bif",
    vjp=lambda g, y, a, b: [where(eq(a, 0), 0, where(eq(s.signbit(a), s.signbit(b)), g, -g)), None],
    doc="The magnitude of input with the sign of other.",
    example="[1., -2.], [-3., 4.] -> [-1., 2.]")
nextafter = f("nextafter", lambda input, other: s.nextafter(input, other), kinds="f",
              samples=PAIR, vjp=lambda g, y, a, b: [where(eq(a, b), 0, g), None],
              doc="The number that follows input in the direction of other.",
              example="[1.], [inf] -> [1.0000]")


def _ldexp(x, n):
    """In three steps, so that no power of two overflows where the result does not."""
    part = trunc(n / 3)
    power = exp2(part)
    return where(eq(x, 0), x, x * power * power * exp2(n - part - part))


ldexp_op = PointwiseOp("ldexp", lambda input, other: _ldexp(input, other), promote="float",
                       wide=True, samples=(R, integers(-3, 3)),
                       complex=lambda input, other: input * exp(other * math.log(2)))

# ---- complex numbers ----
conj_op = PointwiseOp("conj_physical", lambda input: s.conj(input), samples=R,
                      complex_vjp=lambda g, y, x: [s.conj(g)])
to_bool = PointwiseOp("to_bool", lambda input: cast(input, "bool"), result="bool", samples=R)
