"""The primitives of `ir/scalar.py`: for each its NumPy reference, and its derivative with respect
to each argument.

A derivative is a function of (y, *arguments) that gives expressions, or None where it is zero
everywhere."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from . import scalar_numpy as ref
from .expressions import (
    COMPARE,
    Expr,
    Scalar,
    absolute,
    const,
    cos,
    cosh,
    digamma,
    eq,
    erfcx,
    exp,
    floor,
    fma,
    ge,
    gelu_tanh,
    gt,
    isnan,
    le,
    log,
    lt,
    maximum,
    minimum,
    ndtr,
    polygamma2,
    pow,
    rint,
    rsqrt,
    sigmoid,
    sign,
    signbit,
    sin,
    sinc,
    sinh,
    square,
    tanh,
    trigamma,
    trunc,
    where,
)

Rule: TypeAlias = "Callable[..., tuple[Scalar, ...]] | None"
Reference: TypeAlias = Callable[..., Any]


def _share(mine: Expr, a: Expr, b: Expr) -> Expr:
    """The part of the gradient an extremum sends to one side: all, none, or half at a tie."""
    return where(mine, 1, where(eq(a, b), 0.5, 0))


def _pick(c: Expr) -> Expr:
    return where(c, 1, 0)


def _exp_of_square(x: Expr, c: float) -> Expr:
    """exp(c x^2), c < 0 a power of two; the square with what its rounding lost."""
    a = minimum(absolute(x), 40)
    square = a * a
    e = exp(c * square)
    return fma(e, c * fma(a, a, -square), e)


def bell(x: Expr) -> Expr:
    """The density of the normal distribution."""
    return _exp_of_square(x, -0.5) * (1 / math.sqrt(2 * math.pi))


def _mish_slope(x: Expr) -> Expr:
    """N / D + x s (1 - (N / D)^2), s the sigmoid; N, D and m as `vmath` has them, 1 - (N / D)^2
    = (D - N) (D + N) / D^2."""
    below = lt(x, 0)
    m = exp(where(below, x, -x))     # -|x|, whose own slope at zero is that of the branch
    n = where(below, m * (m + 2), 1 + 2 * m)
    d = where(below, n + 2, n + 2 * m * m)
    return (n + x * (4 * where(below, m, m * m) * (m + 1) / d)) / d


def _least(x: Expr) -> Expr:
    """-|x|, with the slope at zero that it has below."""
    return where(gt(x, 0), -x, x)


def _slope_of_logistic_times(x: Expr, least: Expr, slope: Scalar) -> Expr:
    """The slope of x s(t), s the sigmoid: s + x s (1 - s) t'. `least` is s(-|t|), from which both s
    and 1 - s are got without loss; made of `_least(x)`, it has a slope at zero, too."""
    up = gt(x, 0)
    s, other = where(up, 1 - least, least), where(up, least, 1 - least)
    return s + s * (x * other * slope)


def _silu_slope(x: Expr) -> Expr:
    return _slope_of_logistic_times(x, sigmoid(_least(x)), 1)


def _gelu_tanh_slope(x: Expr) -> Expr:
    """The slope of gelu_tanh(x), as x times the sigmoid gelu_tanh(x) / x."""
    x = minimum(maximum(x, -30), 30)
    a, c = _least(x), math.sqrt(8 / math.pi)
    z = eq(a, 0)                                         # there by the first terms of its series
    near, apart = 0.5 + a * (c / 4 + (0.044715 * c / 4 - c ** 3 / 48) * (a * a)), where(z, 1, a)
    return _slope_of_logistic_times(x, where(z, near, gelu_tanh(apart) / apart),
                                    c + 3 * 0.044715 * c * (a * a))


def series(x: Expr, *cs: float) -> Expr:
    """cs[0] + cs[1] x + ..., by Horner's rule."""
    y = const(cs[-1])
    for c in cs[-2::-1]:
        y = y * x + c
    return y


def _sinc_slope(x: Expr) -> Expr:
    """(cos(pi x) - sinc(x)) / x, which cancels near zero: there from its power series."""
    near = lt(absolute(x), 0.5)
    n = rint(x)
    c = cos((x - n) * math.pi)
    c = where(eq(floor(n * 0.5) * 2, n), c, -c)
    terms = [
        (-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, 13)]
    a = where(near, x, 0)
    return where(near, a * series(a * a, *terms), (c - sinc(x)) / where(near, 1, x))


def _erfcx_slope(x: Expr) -> Expr:
    """2 x erfcx(x) - 2 / sqrt(pi), which cancels for large x: there from its series in 1 / x^2."""
    far = gt(x, 10)
    z = 1 / square(where(far, x, 10))
    terms, t = [], 1.0
    for k in range(16):
        terms.append(t)
        t *= -(2 * k + 3) / 2
    return where(far,
                 z * series(z, *terms) * (-1 / math.sqrt(math.pi)),
                 2 * x * erfcx(x) - 2 / math.sqrt(math.pi))


def _polygamma3(x: Expr) -> Expr:
    """The slope of `polygamma2`: nine terms of its sum and Stirling's series of the others. Below
    zero from above one, by reflection."""
    below = lt(x, 0)
    z: Expr = where(below, 1 - x, x)
    total: Expr = const(0.0)
    for _ in range(9):
        w = 1 / square(z)
        total, z = total + 6 * w * w, z + 1
    w = 1 / square(z)
    total = total + (2 / z + w * (3 + series(w, 2, -1, 4 / 3, -3, 10, -691 / 15) / z)) * w
    turn = where(below, x - rint(x), 0.5) * math.pi
    poles = (1 + 2 * square(cos(turn))) / square(square(sin(turn)))
    return where(below, 2 * math.pi ** 4 * poles - total, total)


zero = None
PRIMITIVES: dict[str, tuple[Reference, Rule]] = {
    "add": (np.add, lambda y, a, b: (1, 1)),
    "sub": (np.subtract, lambda y, a, b: (1, -1)),
    "mul": (np.multiply, lambda y, a, b: (b, a)),
    "div": (np.true_divide, lambda y, a, b: (1 / b, -y / b)),
    "floordiv": (np.floor_divide, zero),
    "truncdiv": (ref.truncdiv, zero),
    "mod": (np.remainder, lambda y, a, b: (1, -floor(a / b))),
    "fmod": (np.fmod, lambda y, a, b: (1, -trunc(a / b))),
    "neg": (np.negative, lambda y, a: (-1,)),
    "abs": (np.abs, lambda y, a: (sign(a),)),
    "sign": (ref.sign, zero),
    "floor": (np.floor, zero),
    "ceil": (np.ceil, zero),
    "trunc": (np.trunc, zero),
    "rint": (np.rint, zero),
    "sqrt": (np.sqrt, lambda y, a: (0.5 / y,)),
    "rsqrt": (lambda a: 1 / np.sqrt(a), lambda y, a: (-0.5 * (y / a),)),
    "cbrt": (np.cbrt, lambda y, a: (1 / (3 * (y * y)),)),
    "fma": (ref.fma, lambda y, a, b, c: (b, a, 1)),
    "min": (np.minimum, lambda y, a, b: (_share(a < b, a, b), _share(b < a, a, b))),
    "max": (np.maximum, lambda y, a, b: (_share(a > b, a, b), _share(b > a, a, b))),
    "fmin": (np.fmin, lambda y, a, b: (_pick(le(a, b) | isnan(b)), _pick(~(le(a, b) | isnan(b))))),
    "fmax": (np.fmax, lambda y, a, b: (_pick(ge(a, b) | isnan(b)), _pick(~(ge(a, b) | isnan(b))))),
    "lt": (np.less, zero),
    "le": (np.less_equal, zero),
    "gt": (np.greater, zero),
    "ge": (np.greater_equal, zero),
    "eq": (np.equal, zero),
    "ne": (np.not_equal, zero),
    "isnan": (np.isnan, zero),
    "isinf": (np.isinf, zero),
    "isfinite": (np.isfinite, zero),
    "signbit": (np.signbit, zero),
    "and": (np.bitwise_and, zero),
    "or": (np.bitwise_or, zero),
    "xor": (np.bitwise_xor, zero),
    "not": (np.bitwise_not, zero),
    "shl": (np.left_shift, zero),
    "shr": (np.right_shift, zero),
    "gcd": (np.gcd, zero),
    "copysign": (np.copysign, lambda y, a, b:
                 (where(eq(a, 0), 0, where(eq(signbit(a), signbit(b)), 1, -1)), 0)),
    "nextafter": (np.nextafter, lambda y, a, b: (1, 0)),
    "hypot": (np.hypot, lambda y, a, b: (a / y, b / y)),
    "exp": (np.exp, lambda y, a: (y,)),
    "exp2": (np.exp2, lambda y, a: (y * math.log(2),)),
    "expm1": (np.expm1, lambda y, a: (y + 1,)),
    "log": (np.log, lambda y, a: (1 / a,)),
    "log2": (np.log2, lambda y, a: (1 / (a * math.log(2)),)),
    "log10": (np.log10, lambda y, a: (1 / (a * math.log(10)),)),
    "log1p": (np.log1p, lambda y, a: (1 / (a + 1),)),
    "sin": (np.sin, lambda y, a: (cos(a),)),
    "cos": (np.cos, lambda y, a: (-sin(a),)),
    "tan": (np.tan, lambda y, a: (1 + y * y,)),
    "asin": (np.arcsin, lambda y, a: (rsqrt(1 - a * a),)),
    "acos": (np.arccos, lambda y, a: (-rsqrt(1 - a * a),)),
    "atan": (np.arctan, lambda y, a: (1 / (a * a + 1),)),
    "atan2": (np.arctan2, lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b))),
    "sinh": (np.sinh, lambda y, a: (cosh(a),)),
    "cosh": (np.cosh, lambda y, a: (sinh(a),)),
    "tanh": (np.tanh, lambda y, a: (1 - y * y,)),
    "asinh": (np.arcsinh, lambda y, a: (rsqrt(a * a + 1),)),
    "acosh": (np.arccosh, lambda y, a: (rsqrt(a * a - 1),)),
    "atanh": (np.arctanh, lambda y, a: (1 / (1 - a * a),)),
    "sigmoid": (ref.sigmoid, lambda y, a: (y * (1 - y),)),
    "logit": (ref.wide(ref.logit), lambda y, a: (1 / (a * (1 - a)),)),
    "softplus": (ref.wide(lambda a: np.logaddexp(0, a)), lambda y, a: (sigmoid(a),)),
    "silu": (ref.wide(ref.silu), lambda y, a: (_silu_slope(a),)),
    "mish": (ref.wide(ref.mish), lambda y, a: (_mish_slope(a),)),
    "gelu": (ref.wide(lambda a: a * ref.ndtr(a)), lambda y, a: (ndtr(a) + a * bell(a),)),
    "gelu_tanh": (ref.wide(ref.gelu_tanh), lambda y, a: (_gelu_tanh_slope(a),)),
    "tanhshrink": (ref.wide(ref.tanhshrink), lambda y, a: (square(tanh(a)),)),
    "pow": (ref.pow, lambda y, a, b:
            (where(eq(b, 0), 0, b * pow(a, b - 1)), where(eq(a, 0) & ge(b, 0), 0, y * log(a)))),
    "erf": (ref.each(math.erf), lambda y, a: (2 / math.sqrt(math.pi) * _exp_of_square(a, -1),)),
    "erfc": (ref.each(math.erfc), lambda y, a: (-2 / math.sqrt(math.pi) * _exp_of_square(a, -1),)),
    "erfcx": (ref.wide(ref.erfcx), lambda y, a: (_erfcx_slope(a),)),
    "ndtr": (ref.wide(ref.ndtr), lambda y, a: (bell(a),)),
    "ndtri": (ref.wide(ref.ndtri), lambda y, a: (math.sqrt(2 * math.pi) * exp(0.5 * (y * y)),)),
    "sinc": (ref.wide(ref.sinc), lambda y, a: (_sinc_slope(a),)),
    "erfinv": (ref.erfinv, lambda y, a: (math.sqrt(math.pi) / 2 * exp(y * y),)),
    "lgamma": (ref.each(ref.lgamma), lambda y, a: (digamma(a),)),
    "digamma": (ref.digamma, lambda y, a: (trigamma(a),)),
    "trigamma": (ref.trigamma, lambda y, a: (polygamma2(a),)),
    "polygamma2": (ref.polygamma2, lambda y, a: (_polygamma3(a),)),
    "conj": (np.conjugate, lambda y, a: (1,)),
    # of the gradients `scalar.differentiate` knows
    "from_parts": (ref.from_parts, None), "real_part": (np.real, None),
    "imag_part": (np.imag, None)}

# What IEEE 754 says to the bit on floats, so that every target gives what the reference gives. Not
# the extrema: of two zeros NumPy gives either.
FIXED_BY_IEEE = frozenset((
    "add", "sub", "mul", "div", "neg", "abs", "sign", "floor", "ceil", "trunc", "rint", "sqrt",
    "copysign", "arg", "const", "select", *COMPARE))
