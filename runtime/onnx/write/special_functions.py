"""Functions that ONNX lacks, as scalar expressions of those that it has.

The gamma family is computed in f64 and gives all digits of f32. The relative errors of erfc, erfcx
and erfinv are below 1e-6.
"""

from __future__ import annotations

import math

from whet.ir.expressions import (
    Expr,
    absolute,
    atan,
    cast,
    const,
    cos,
    eq,
    exp,
    ge,
    gt,
    isinf,
    le,
    log,
    lt,
    maximum,
    minimum,
    rint,
    sign,
    signbit,
    sin,
    sqrt,
    tanh,
    where,
)
from whet.ir.primitives import series

SERIES = 18  # terms of erf's series, whose next one is below 1e-16 up to 1
RAISED = 8  # how far arguments of the gamma family are raised before their series
FAR = 100.0  # from here on they need not be


def expm1(x: Expr) -> Expr:
    """exp(x) - 1, near zero by way of tanh, which loses nothing there."""
    half = tanh(x * 0.5)
    return where(lt(absolute(x), 1), 2 * half / (1 - half), exp(x) - 1)


def log1p(x: Expr) -> Expr:
    """log(1 + x), with what the sum lost given back near zero."""
    u = 1 + x
    lost = u - 1
    near = where(eq(lost, 0), x, log(u) * x / where(eq(lost, 0), 1, lost))
    return where(lt(absolute(x), 0.5), near, log(u))


def hypot(x: Expr, y: Expr) -> Expr:
    """sqrt(x * x + y * y)"""
    big, small = maximum(absolute(x), absolute(y)), minimum(absolute(x), absolute(y))
    ratio = small / where(eq(big, 0), 1, big)
    return where(isinf(big), big, big * sqrt(1 + ratio * ratio))


def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of (x, y)."""
    both = isinf(x) & isinf(y)
    x, y = where(both, sign(x), x), where(both, sign(y), y)
    turn = where(signbit(y), -math.pi, math.pi)
    beside = atan(y / where(eq(x, 0), 1, x)) + where(lt(x, 0), turn, 0)
    upright = where(eq(y, 0), where(signbit(x), turn, y), turn * 0.5)
    return where(eq(x, 0), upright, beside)


def gelu_tanh(x: Expr) -> Expr:
    """x times the approximate normal distribution function."""
    return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def atan_f64(x: Expr) -> Expr:
    """atan of f64: that of f32, and one step of Newton's, which doubles its digits."""
    near = cast(atan(cast(minimum(maximum(x, -1e30), 1e30), "f32")), "f64")
    s, c = sin(near), cos(near)
    finite = where(isinf(x), 1, x)
    return where(isinf(x), sign(x) * (math.pi / 2), near + (finite * c - s) / (c + finite * s))


def asin_f64(x: Expr) -> Expr:
    """asin of f64."""
    return 2 * atan_f64(x / (1 + sqrt((1 - x) * (1 + x))))


def acos_f64(x: Expr) -> Expr:
    """acos of f64."""
    return 2 * atan_f64(sqrt(1 - x) / sqrt(1 + x))


def sinh(x: Expr) -> Expr:
    """(exp(x) - exp(-x)) / 2, near zero by way of expm1."""
    small = expm1(x)
    return where(lt(absolute(x), 1), 0.5 * (small + small / (small + 1)), 0.5 * (exp(x) - exp(-x)))


def asinh(x: Expr) -> Expr:
    """log(x + sqrt(x * x + 1))"""
    a = absolute(x)
    return where(signbit(x), -1, 1) * log1p(a + a * a / (1 + sqrt(a * a + 1)))


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x))"""
    return log1p(exp(-absolute(x))) + maximum(x, 0)


def erf_f64(x: Expr) -> Expr:
    """erf of f64: its series near zero, else by way of erfc, whose error is that of f32."""
    term, total = x, x
    for n in range(1, SERIES):
        term = term * (x * x) * (-1 / n)
        total = total + term * (1 / (2 * n + 1))
    far = sign(x) * (1 - erfc(absolute(x)))
    return where(lt(absolute(x), 1), total * (2 / math.sqrt(math.pi)), far)


def sinc(x: Expr) -> Expr:
    """sin(pi x) / (pi x)"""
    n = rint(x)
    s = sin((x - n) * math.pi) * where(eq(rint(n * 0.5) * 2, n), 1, -1)
    return where(eq(x, 0), 1, s / (where(eq(x, 0), 1, x) * math.pi))


ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)


def _scaled(a: Expr) -> Expr:
    """exp(a * a) * erfc(a) for a >= 0."""
    t = 1 / (1 + 0.5 * a)
    return t * exp(series(t, *ERFC))


def erfc(x: Expr) -> Expr:
    """1 - erf(x)"""
    a = absolute(x)
    tail = _scaled(a) * exp(-(a * a))
    return where(lt(x, 0), 2 - tail, tail)


def erfcx(x: Expr) -> Expr:
    """exp(x * x) * erfc(x)"""
    r = _scaled(absolute(x))
    return where(lt(x, 0), 2 * exp(x * x) - r, r)


ERFINV_MIDDLE = (
    1.50140941,
    0.246640727,
    -0.00417768164,
    -0.00125372503,
    0.00021858087,
    -4.39150654e-06,
    -3.5233877e-06,
    3.43273939e-07,
    2.81022636e-08,
)
ERFINV_TAIL = (
    2.83297682,
    1.00167406,
    0.00943887047,
    -0.0076224613,
    0.00573950773,
    -0.00367342844,
    0.00134934322,
    0.000100950558,
    -0.000200214257,
)


def erfinv(x: Expr) -> Expr:
    """The inverse of erf, by two polynomials in log(1 - x * x)."""
    w = -log((1 - x) * (1 + x))
    tail = series(sqrt(maximum(w, 5)) - 3, *ERFINV_TAIL)
    r = x * where(lt(w, 5), series(minimum(w, 5) - 2.5, *ERFINV_MIDDLE), tail)
    return where(eq(absolute(x), 1), x * math.inf, r)


def ndtri(p: Expr) -> Expr:
    """The inverse of the normal distribution function: through erfinv in the middle, by Newton's
    steps on the logarithm in the tails."""
    q = minimum(p, 1 - p)
    l = log(minimum(q, 0.1))
    r = -2 * l - math.log(2 * math.pi)
    x = -sqrt(maximum(r - log(maximum(r, 1)), 0.5))
    for _ in range(4):
        v = log(erfcx(x * -math.sqrt(0.5)) * 0.5) - 0.5 * x * x
        x = x - (v - l) * exp(v + 0.5 * (x * x) + 0.5 * math.log(2 * math.pi))
    tail = where(eq(q, 0), -math.inf, x)
    inner = where(gt(q, 0.1), math.sqrt(2) * erfinv(2 * p - 1), where(lt(p, 0.5), tail, -tail))
    return where(ge(q, 0), inner, math.nan)


def _raised(x: Expr) -> tuple[Expr, Expr]:
    """(is x so large that its series serves as it is?, x raised to where it does)"""
    far = ge(x, FAR)
    return far, where(far, x, x + RAISED)


def _product(x: Expr) -> Expr:
    made = x
    for i in range(1, RAISED):
        made = made * (x + i)
    return made


def _sum(x: Expr, power: int) -> Expr:
    total = const(0)
    for i in reversed(range(RAISED)):
        term = 1 / (x + i)
        value = term
        for _ in range(power - 1):
            value = value * term
        total = value if total.op == "const" else total + value
    return total


def _lgamma_above(x: Expr) -> Expr:
    far, y = _raised(x)
    z = 1 / (y * y)
    tail = series(z, 1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188) / y
    r = (y - 0.5) * log(y) - y + math.log(2 * math.pi) / 2 + tail
    r = where(far, r, r - log(_product(minimum(x, FAR))))
    return where(isinf(x), x, r)


def lgamma(x: Expr) -> Expr:
    """log|gamma(x)|, below 1/2 by reflection."""
    low = lt(x, 0.5)
    above = _lgamma_above(where(low, 1 - x, x))
    turned = math.log(math.pi) - log(absolute(_sine(x))) - above
    return where(low, turned, above)


def _sine(x: Expr) -> Expr:
    """sin(pi x) up to its sign"""
    return sin((x - rint(x)) * math.pi)


def _cotangent(x: Expr) -> Expr:
    d = (x - rint(x)) * math.pi
    return sin(d + math.pi / 2) / sin(d)


def _digamma_above(x: Expr) -> Expr:
    far, y = _raised(x)
    z = 1 / (y * y)
    r = log(y) - 0.5 / y - z * series(z, 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)
    return where(far, r, r - _sum(minimum(x, FAR), 1))


def digamma(x: Expr) -> Expr:
    """The derivative of lgamma."""
    low = lt(x, 0)
    above = _digamma_above(where(low, 1 - x, x))
    return where(low, above - math.pi * _cotangent(x), above)


def _trigamma_above(x: Expr) -> Expr:
    far, y = _raised(x)
    z = 1 / (y * y)
    r = 1 / y + z / 2 + z / y * series(z, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)
    return where(far, r, r + _sum(minimum(x, FAR), 2))


def trigamma(x: Expr) -> Expr:
    """The derivative of digamma."""
    low = le(x, 0)
    above = _trigamma_above(where(low, 1 - x, x))
    s = _sine(x)
    return where(low, math.pi**2 / (s * s) - above, above)


def polygamma2(x: Expr) -> Expr:
    """The derivative of trigamma."""
    low = le(x, 0)
    v = where(low, 1 - x, x)
    far, y = _raised(v)
    z = 1 / (y * y)
    r = -z - z / y - z * z * series(z, 0.5, -1 / 6, 1 / 6, -3 / 10, 5 / 6)
    above = where(far, r, r - 2 * _sum(minimum(v, FAR), 3))
    s = _sine(x)
    turned = above + 2 * math.pi**3 * _cotangent(x) / (s * s)
    return where(low, turned, above)
