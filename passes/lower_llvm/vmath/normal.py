"""The normal distribution function Phi, functions of it, and erfc of f32, which is Phi at another
scale."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
SHIFT = 64


class Bell(NamedTuple):
    """The area under a bell curve beyond a >= 0: e^(-rate a^2) / (1 + a + a p(a)), times 2^power;
    from `start` on e^(-rate a^2) q(1 / a^2) / a, and nothing from `last` on. `near` and `far` are
    the coefficients of p and q."""
    rate: float
    power: int
    start: float
    last: float
    near: Sequence[float]
    far: Sequence[float]


NORMAL = Bell(0.5, -1, 3.5, 14.5, C.NORMAL_NEAR, C.NORMAL_FAR)
ERROR = Bell(1.0, 0, 2.5, 10.25, C.ERFC_NEAR_F32, C.ERFC_FAR_F32)


def tail_f32(f: Operations, bell: Bell, a: Val, times_a: bool, far: bool) -> tuple[Val, Val]:
    """(t, u): the area beyond a, or a times it, is t 2^n, u having n + BIAS in its low bits; for
    0 <= a < bell.start, or with `far` up to bell.last.

    The exponential is 2^(n - power) (1 + q). The divisor may be rough, and its chain of operations
    short: its reciprocal is also 1 - (1 + p) a / divisor, and p is small enough for this to say
    what the quotient lost."""
    rate = bell.rate
    square = a * a
    n, u = nearest(f, square, -rate * LOG2E, BIAS["float"] + bell.power)
    hi, lo = LN2["float"]
    # by how much the square is beyond its part that is a power of two
    more = f.fma(n, hi / rate, square) + f.fma(n, lo / rate, f.fma(a, a, -square))
    q = f.fma(more * more, poly(f, more,
                                [c * (-rate) ** (i + 2) for i, c in enumerate(C.EXP_F32)]),
              more * -rate)
    first, odd, even = bell.near[0], bell.near[1::2], bell.near[2::2]
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
        p, lost = fast_two_sum(f, f.const(a.ty, bell.far[0]), z * poly(f, z, bell.far[1:]))
        if times_a:
            p = p + f.fma(p, q, lost)
        else:
            y = p * inverse
            p = y + f.fma(y, q, (f.fma(-y, a, p) + lost) * f.fma(inverse, q, inverse))
        t = f.sel(f.cmp("olt", a, bell.start), t, p)
    return t, u


def by_tail_f32(f: Operations, bell: Bell, x: Val, times_a: bool, of_tail: Callable[..., Any],
                edges: Callable[..., Any] = lambda r: r) -> Val:
    """of_tail(t, s), t s being what `tail_f32` says and s a power of two; and what `edges` makes of
    it. Where all lanes are below bell.start, which is nearly always, without the care for what is
    beyond."""
    a = f.fabs(x)

    def plain() -> list[Val]:
        t, u = tail_f32(f, bell, a, times_a, far=False)
        return [of_tail(t, power(f, u, "float"))]

    def careful() -> list[Val]:
        b = f.sel(f.cmp("ogt", a, bell.last), bell.last, a)
        t, u = tail_f32(f, bell, b, times_a, far=True)
        # of zero nothing underflows
        t = f.sel(f.cmp("oge", a, bell.last), 0.0, t)
        return [edges(of_tail(t * power(f, u + SHIFT, "float"), f.const(x.ty, 2.0 ** -SHIFT)))]
    return f.if_(f.any(f.cmp("uge", a, bell.start)), careful, plain)[0]


def area_f32(f: Operations, bell: Bell, x: Val, below: Val, whole: float) -> Val:
    """The area beyond |x|, or what it leaves of the `whole` where x is `below` the middle."""
    return by_tail_f32(f, bell, x, times_a=False,
                       of_tail=lambda t, s: f.sel(below, f.fma(-t, s, whole), t * s))


@function("erfc", "float")
def erfc_f32(f: Operations, x: Val) -> Val:
    return area_f32(f, ERROR, x, f.cmp("olt", x, 0.0), 2.0)


@function("ndtr", "float")
def ndtr_f32(f: Operations, x: Val) -> Val:
    return area_f32(f, NORMAL, x, f.cmp("ogt", x, 0.0), 1.0)


@function("gelu", "float")
def gelu_f32(f: Operations, x: Val) -> Val:
    """x Phi(x) = max(x, 0) - |x| Phi(-|x|); as the product, not a number at -inf."""
    zero = f.const(x.ty, -0.0)
    return by_tail_f32(
        f, NORMAL, x, times_a=True,
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
