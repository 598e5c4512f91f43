"""Hyperbolic functions and their inverses, the latter as log(u + lost) of a sum whose rounding
error is kept."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .core import BIAS, INF, NAN, fast_two_sum, fitted, function, nearest, power, two_sum
from .explog import LN2, LN2_F32, LOG2E, exp_parts, log_of_sum

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations


@function("tanh")
def tanh(f: Operations, x: Val) -> Val:
    """y = h / (h + 1), h = (e^2|x| - 1) / 2 = (2^n - 1) / 2 + 2^n (r + r^2 p(r)), which near zero
    loses nothing.

    Near zero it is h - h y, which the rounding of the quotient and of its divisor touches
    little."""
    a = f.fabs(x)
    r, s = twice_parts(f, a)
    h = f.fma(s, f.fma(r * r, fitted(f, r, "TANH", 2), r), f.fma(s, 0.5, -0.5))
    y = h / (h + 1.0)
    return f.copysign(f.sel(f.cmp("olt", a, 0.35), f.fma(-h, y, h), y), x)


def twice_parts(f: Operations, a: Val) -> tuple[Val, Val]:
    """(r, 2^n): 2a = n ln2 + 2r, for a >= 0; flat from 10 (f64: 20) on, where tanh(a) is 1."""
    top = 10.0 if a.elem == "float" else 20.0
    b = f.sel(f.cmp("ogt", a, top), top, a)
    n, u = nearest(f, b, 2 * LOG2E, BIAS[a.elem])
    # n is small: one constant for ln2 is enough
    if a.elem == "float":
        r = f.fma(n, -LN2_F32 / 2, b)
    else:
        hi, lo = LN2["double"]
        r = f.fma(n, -lo / 2, f.fma(n, -hi / 2, b))
    return r, power(f, u, a.elem)


def short_of_one(f: Operations, a: Val) -> Val:
    """1 - tanh(a) = 2 / (e^2a + 1) for a >= 0."""
    r, s = twice_parts(f, a)
    return 2.0 / f.fma(s, r * fitted(f, r, "EXP_TWICE", 2), s + 1.0)


THIRD = {
    "float": (0.3333333432674408, -9.934107481068821e-09),
    "double": (0.3333333333333333, 1.850371707708594e-17)}


@function("tanhshrink")
def tanhshrink(f: Operations, x: Val) -> Val:
    """x - tanh(x). |x| < 1: x^3 (1/3 + p(x^2)); above, |x| - 1 is exact until its rounding is
    all that counts."""
    a = f.fabs(x)
    z = x * x
    hi, lo = THIRD[x.elem]
    rest = f.fma(z, z * fitted(f, z, "TANHSHRINK", 2) + lo, f.fma(x, x, -z) * hi)
    y = f.fma(z, hi, rest)
    small = f.fma(x, y, x * (f.fma(z, hi, -y) + rest))
    return f.sel(f.cmp("olt", a, 1.0), small, f.copysign((a - 1.0) + short_of_one(f, a), x))


def half_exp(f: Operations, a: Val) -> Val:
    """e^a / 2 for a >= 0, without overflow before the quotient does."""
    top = 90.0 if a.elem == "float" else 711.0
    q, u = exp_parts(f, f.sel(f.cmp("ogt", a, top), top, a), -2)
    p = q + 1.0
    return (p + p) * power(f, u, a.elem)


@function("cosh")
def cosh(f: Operations, x: Val) -> Val:
    e = half_exp(f, f.fabs(x))
    return e + 0.25 / e


@function("sinh")
def sinh(f: Operations, x: Val) -> Val:
    """|x| < 1: a polynomial; above: (e^|x| - e^-|x|) / 2."""
    a = f.fabs(x)
    z = x * x
    small = f.fma(x * z, fitted(f, z, "SINH", 2), x)
    e = half_exp(f, a)
    return f.sel(f.cmp("olt", a, 1.0), small, f.copysign(e - 0.25 / e, x))


# from here on sqrt(x^2 +- 1) is x
LARGE = {"float": 2.0 ** 15, "double": 2.0 ** 30}


@function("asinh")
def asinh(f: Operations, x: Val) -> Val:
    """sign(x) log(1 + a + w), w = sqrt(a^2 + 1) - 1."""
    a = f.fabs(x)
    large = f.cmp("ogt", a, LARGE[x.elem])
    b = f.sel(large, 1.0, a)
    square = b * b
    w = square / (f.sqrt(square + 1.0) + 1.0)
    u, e1 = two_sum(f, f.const(x.ty, 1.0), b)
    u, e2 = fast_two_sum(f, u, w)
    r = log_of_sum(f, f.sel(large, a, u), f.sel(large, 0.0, e1 + e2),
                   f.sel(large, f.const(x.ty, 1.0), 0.0))
    return f.copysign(f.sel(f.cmp("olt", a, INF), r, a), x)


@function("acosh")
def acosh(f: Operations, x: Val) -> Val:
    """log(x + sqrt(t^2 + 2t)), t = x - 1."""
    large = f.cmp("ogt", x, LARGE[x.elem])
    b = f.sel(large, 1.0, x)
    t = b - 1.0
    u, lost = fast_two_sum(f, b, f.sqrt(f.fma(t, t, t + t)))
    r = log_of_sum(f, f.sel(large, x, u), f.sel(large, 0.0, lost),
                   f.sel(large, f.const(x.ty, 1.0), 0.0))
    return f.sel(f.cmp("ult", x, 1.0), NAN, f.sel(f.cmp("olt", x, INF), r, x))


@function("atanh")
def atanh(f: Operations, x: Val) -> Val:
    """sign(x) log(1 + t) / 2, t = 2a / (1 - a), with what the quotient lost."""
    a = f.fabs(x)
    d = 1.0 - a
    e = (1.0 - d) - a
    inverse = 1.0 / d
    b = a + a
    t = b * inverse
    lost = f.fma(-t, e, f.fma(-t, d, b)) * inverse
    u, e1 = two_sum(f, f.const(x.ty, 1.0), t)
    r = log_of_sum(f, u, e1 + lost) * 0.5
    r = f.sel(f.cmp("oeq", a, 1.0), INF, r)
    return f.sel(f.cmp("ugt", a, 1.0), NAN, f.copysign(r, x))
