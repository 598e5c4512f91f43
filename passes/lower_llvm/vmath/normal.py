"""The normal distribution function Phi, and what is made of it."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import coefficients as C
from .core import BIAS, INF, NAN, fast_two_sum, function, nearest, poly, power
from .explog import LN2, LOG2E
from .special import erf_near_zero, erfc_of_magnitude

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations

ROOT_HALF = 0.7071067811865476


def half_square(f: Operations, a: Val) -> tuple[Val, Val]:
    """-a^2 / 2 in two parts."""
    b = a * -0.5
    h = a * b
    return h, f.fma(a, b, -h)


# ---- f32 -----------------------------------------------------------------------------------------
FAR, LAST, SHIFT = 3.5, 14.5, 64


def tail_f32(f: Operations, a: Val, times_a: bool, far: bool) -> tuple[Val, Val]:
    """(t, u): Phi(-a), or a Phi(-a), is t 2^n, u having n + BIAS in its low bits; for 0 <= a < FAR,
    or with `far` up to LAST.

    2 Phi(-a) = e^(-a^2 / 2) / (1 + a + a p(a)), the exponential being 2^(n + 1) (1 + q). The
    divisor may be rough, and its chain of operations short: its reciprocal is also 1 - (1 + p) a /
    divisor, and p is small enough for this to say what the quotient lost. From FAR on 2 Phi(-a) =
    e^(-a^2 / 2) p(1 / a^2) / a."""
    square = a * a
    n, u = nearest(f, square, -0.5 * LOG2E, BIAS["float"] - 1)
    hi, lo = LN2["float"]
    twice = f.fma(n, 2 * hi, square) + f.fma(n, 2 * lo, f.fma(a, a, -square))
    q = f.fma(twice * twice, poly(f, twice,
                                  [c * (-0.5) ** (i + 2) for i, c in enumerate(C.EXP_F32)]),
              twice * -0.5)
    first, odd, even = C.NORMAL_NEAR[0], C.NORMAL_NEAR[1::2], C.NORMAL_NEAR[2::2]
    slope = f.fma(a, poly(f, square, even), poly(f, square, odd))
    p = f.fma(a, slope, first)
    divisor = f.fma(square, slope, f.fma(a, 1 + first, 1.0))
    if times_a:
        t = a / divisor
        inverse = f.fma(-t, p, 1.0 - t)
        lost = f.fma(a, inverse, -t)
    else:
        t = inverse = 1.0 / divisor
        rest, more = fast_two_sum(f, f.const(a.ty, 1.0), -t)
        lost = f.fma(t * a, -p, f.fma(-t, a, rest) + more)
    t = t + f.fma(t, q, lost * f.fma(inverse, q, inverse))
    if far:
        inverse = 1.0 / a
        z = inverse * inverse
        p, lost = fast_two_sum(f, f.const(a.ty, C.NORMAL_FAR[0]), z * poly(f, z, C.NORMAL_FAR[1:]))
        if times_a:
            p = p + f.fma(p, q, lost)
        else:
            y = p * inverse
            p = y + f.fma(y, q, (f.fma(-y, a, p) + lost) * f.fma(inverse, q, inverse))
        t = f.sel(f.cmp("olt", a, FAR), t, p)
    return t, u


def by_tail_f32(f: Operations, x: Val, times_a: bool, of_tail: Callable[..., Any],
                edges: Callable[..., Any] = lambda r: r) -> Val:
    """of_tail(t, s), t s being what `tail_f32` says and s a power of two; and what `edges` makes of
    it. Where all lanes are below FAR, which is nearly always, without the care for what is
    beyond."""
    a = f.fabs(x)

    def plain() -> list[Val]:
        t, u = tail_f32(f, a, times_a, far=False)
        return [of_tail(t, power(f, u, "float"))]

    def careful() -> list[Val]:
        t, u = tail_f32(f, f.sel(f.cmp("ogt", a, LAST), LAST, a), times_a, far=True)
        return [edges(of_tail(t * power(f, u + SHIFT, "float"), f.const(x.ty, 2.0 ** -SHIFT)))]
    return f.if_(f.any(f.cmp("uge", a, FAR)), careful, plain)[0]


@function("ndtr", "float")
def ndtr_f32(f: Operations, x: Val) -> Val:
    return by_tail_f32(f, x, times_a=False,
                       of_tail=lambda t, s: f.sel(f.cmp("ogt", x, 0.0), f.fma(-t, s, 1.0), t * s))


@function("gelu", "float")
def gelu_f32(f: Operations, x: Val) -> Val:
    """x Phi(x) = max(x, 0) - |x| Phi(-|x|); as the product, not a number at -inf."""
    zero = f.const(x.ty, -0.0)
    return by_tail_f32(
        f, x, times_a=True,
        of_tail=lambda t, s: f.fma(-t, s, f.sel(f.cmp("ogt", zero, x), zero, x)),
        edges=lambda r: f.sel(f.cmp("oeq", x, -INF), NAN, r))


# ---- f64 -----------------------------------------------------------------------------------------
def tail_f64(f: Operations, a: Val, times: Val | None = None) -> Val:
    """Phi(-a), or `times` as much, for 1/2 <= a / sqrt 2."""
    b = f.sel(f.cmp("ogt", a, 39.0), 39.0, a)
    return erfc_of_magnitude(f, b * ROOT_HALF, exponent=half_square(f, b),
                             times=0.5 if times is None else b * 0.5)


@function("ndtr", "double")
def ndtr_f64(f: Operations, x: Val) -> Val:
    a = f.fabs(x)
    t = tail_f64(f, a)
    near = f.fma(erf_near_zero(f, x * ROOT_HALF), 0.5, 0.5)
    return f.sel(f.cmp("olt", a, 0.75), near, f.sel(f.cmp("ogt", x, 0.0), 1.0 - t, t))


@function("gelu", "double")
def gelu_f64(f: Operations, x: Val) -> Val:
    a = f.fabs(x)
    t = tail_f64(f, a, a)
    near = x * f.fma(erf_near_zero(f, x * ROOT_HALF), 0.5, 0.5)
    r = f.sel(f.cmp("olt", a, 0.75), near, f.sel(f.cmp("ogt", x, 0.0), x, -0.0) - t)
    return f.sel(f.cmp("oeq", x, -INF), NAN, r)
