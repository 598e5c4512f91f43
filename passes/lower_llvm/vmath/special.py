"""The error function and its inverse, the gamma family."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import coefficients as C
from .core import INF, NAN, clamp, function, poly, through_double, two_sum
from .explog import LN2_F32, exp_of_sum, exp_parts_of_sum, exp_scale, log, log_sum, mantissa

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations


# ---- the error function --------------------------------------------------------------------------
@function("erf", "float")
def erf_f32(f: Operations, x: Val) -> Val:
    """|x| < 1.1: x + x p(x^2); above: 1 - p(|x|)^4 (the root of erfc needs few terms), flat from
    3.93 on."""
    a = f.fabs(x)
    small = f.fma(x, poly(f, x * x, C.ERF_SMALL_F32), x)
    b = f.sel(f.cmp("ogt", a, 3.93), 3.93, a)
    p = poly(f, b - 2.5, C.ERF_LARGE_F32)
    p = p * p
    big = f.copysign(f.fma(-p, p, 1.0), x)
    return f.sel(f.cmp("olt", a, 1.1), small, big)


def erfcx_of_magnitude(f: Operations, a: Val, chains: int = 1) -> tuple[Val, Val]:
    """e^(a^2) erfc(a) for 1/2 <= a <= 28, in two parts: p(q) / (a + 2), q = (a - 2) / (a + 2)."""
    d, lost = two_sum(f, a, f.const(a.ty, 2.0))
    inverse = 1.0 / d
    p = poly(f, (a - 2.0) * inverse, C.ERFC, chains)
    v = p * inverse
    return v, (f.fma(-v, d, p) - v * lost) * inverse


def square_in_two(f: Operations, a: Val) -> tuple[Val, Val]:
    square = a * a
    return square, f.fma(a, a, -square)


def erfc_of_magnitude(f: Operations, a: Val, chains: int = 1,
                      exponent: tuple[Val, Val] | None = None,
                      times: float | Val | None = None) -> Val:
    """erfc(a) for 1/2 <= a <= 28, as a product rounded once; or `times` as much. `exponent`:
    -a^2 in two parts, if known better."""
    v, tail = erfcx_of_magnitude(f, a, chains)
    if exponent is None:
        square, lost = square_in_two(f, a)
        exponent = -square, -lost
    r, c, u = exp_parts_of_sum(f, *exponent, plus=-1)
    y = v + f.fma(v, r + c, tail)
    return exp_scale(f, y if times is None else y * times, u, f.cmp("ogt", a, 26.0))


def erf_near_zero(f: Operations, x: Val) -> Val:
    """erf(x) for |x| < 0.9."""
    return f.fma(x, poly(f, x * x, C.ERF_SMALL_F64, 2), x)


@function("erf", "double")
def erf_f64(f: Operations, x: Val) -> Val:
    """|x| < 0.9: x + x p(x^2); above: 1 - erfc(|x|), flat from 6 on."""
    a = f.fabs(x)
    small = erf_near_zero(f, x)
    big = 1.0 - erfc_of_magnitude(f, f.sel(f.cmp("ogt", a, 6.0), 6.0, a), 4)
    return f.sel(f.cmp("olt", a, 0.9), small, f.copysign(big, x))


@function("erfc", "double")
def erfc(f: Operations, x: Val) -> Val:
    """|x| < 1/2: 1 - erf(x)."""
    a = f.fabs(x)
    small = 1.0 - erf_near_zero(f, x)
    r = erfc_of_magnitude(f, f.sel(f.cmp("ogt", a, 28.0), 28.0, a))
    return f.sel(f.cmp("olt", a, 0.5), small, f.sel(f.cmp("olt", x, 0.0), 2.0 - r, r))


# 1 / (a sqrt pi) times this in 1 / a^2 is e^(a^2) erfc(a) for large a.
ERFCX_FAR = 1.0, -1 / 2, 3 / 4, -15 / 8, 105 / 16, -945 / 32, 10395 / 64, -135135 / 128


@function("erfcx", "double")
def erfcx(f: Operations, x: Val) -> Val:
    """e^(x^2) erfc(x)"""
    a = f.fabs(x)
    far = f.cmp("ogt", a, 28.0)
    v, tail = erfcx_of_magnitude(f, f.sel(far, 28.0, a))
    inverse = 1.0 / a
    r = f.sel(far, inverse * (0.5641895835477563 * poly(f, inverse * inverse, ERFCX_FAR)), v + tail)
    growth = exp_of_sum(f, *square_in_two(f, clamp(f, x, -40.0, 1.0)))
    r = f.sel(f.cmp("olt", x, 0.0), (growth + growth) - r, r)
    return f.sel(f.cmp("olt", a, 0.5), growth * (1.0 - erf_near_zero(f, x)), r)


through_double("erfcx")


def erfinv_edges(f: Operations, x: Val, r: Val) -> Val:
    """The inverse r of x, but infinite at -1 and 1, and nan beyond."""
    a = f.fabs(x)
    r = f.sel(f.cmp("oeq", a, 1.0), f.copysign(INF, x), r)
    return f.sel(f.cmp("ugt", a, 1.0), NAN, r)


def scaled_in_two(f: Operations, x: Val, t: Val, lost: Val, high: float,
                  coefficients: Sequence[float]) -> Val:
    """x times the polynomial, to whose first coefficient `high` is added. Its last two sums and
    the product keep what they lose; `lost`: what t lost."""
    low, slope = coefficients[:2]
    top, r = f.const(x.ty, high), poly(f, t, coefficients[2:])
    q = f.fma(t, r, slope)
    p = f.fma(t, q, top)
    rest = f.fma(lost, q, f.fma(t, f.fma(t, r, slope - q), low))
    return f.fma(x, p, x * (f.fma(t, q, top - p) + rest))


@function("erfinv", "float")
def erfinv_f32(f: Operations, x: Val) -> Val:
    """x p(w), w = -log(1 - x^2). Up to w = 6 (|x| = 0.9988) p is a polynomial in w - 3; beyond,
    one in sqrt(w) - 3.25. Of both arguments is kept what their roundings lost."""
    k, m, _ = mantissa(f, f.fma(-x, x, 1.0), normal=True)
    z = m - 1.0
    w = -log_sum(f, k, z)
    more = -(f.fma(k, LN2_F32, w) + log_sum(f, f.const(x.ty, 0.0), z))
    t = w - 3.0
    near = scaled_in_two(f, x, t, (w - (t + 3.0)) + more, C.ERFINV_HIGH_F32, C.ERFINV_MIDDLE_F32)
    outside = f.cmp("ogt", w, 6.0)

    def tail() -> list[Val]:
        s = f.sqrt(w)
        lost = (f.fma(-s, s, w) + more) * (0.5 / s)
        far = scaled_in_two(f, x, s - 3.25, lost, C.ERFINV_TAIL_HIGH_F32, C.ERFINV_TAIL_F32)
        return [f.sel(outside, far, near)]
    r, = f.if_(f.any(outside), tail, lambda: [near])
    return erfinv_edges(f, x, r)


class Tail(NamedTuple):
    """The polynomial of erfinv(x) / x in sqrt(w) - `middle`, from w = `start` on."""
    start: float
    middle: float
    coefficients: Sequence[float]


TAILS = Tail(6.0, 3.25, C.ERFINV_TAIL), Tail(16.0, 5.0, C.ERFINV_FAR)
# of arguments that are nearer to 1 than a number of type double can be
FAR_TAILS = Tail(36.0, 9.0, C.NDTRI_FAR), Tail(144.0, 19.5, C.NDTRI_FARTHEST)


def erfinv_over_x(f: Operations, w: Val, tails: Sequence[Tail]) -> Val:
    """erfinv(x) / x for w = -log(1 - x^2): a polynomial in w - 3 up to where the first tail
    starts."""
    near = poly(f, w - 3.0, C.ERFINV_MIDDLE)
    outside = f.cmp("ogt", w, tails[0].start)

    def outer() -> list[Val]:
        s = f.sqrt(w)
        r = near
        for tail in tails:
            r = f.sel(f.cmp("ogt", w, tail.start), poly(f, s - tail.middle, tail.coefficients), r)
        return [r]
    return f.if_(f.any(outside), outer, lambda: [near])[0]


@function("erfinv", "double")
def erfinv_f64(f: Operations, x: Val) -> Val:
    a = f.fabs(x)
    w = -log(f, (1.0 - a) * (a + 1.0))
    return erfinv_edges(f, x, erfinv_over_x(f, w, TAILS) * x)


@function("ndtri", "double")
def ndtri(f: Operations, p: Val) -> Val:
    """sqrt(2) erfinv(2 p - 1), whose w is -log(4 p (1 - p)): it loses nothing where p is small."""
    w = -log(f, (p + p) * ((1.0 - p) * 2.0))

    scaled, = f.if_(f.any(f.cmp("ogt", w, FAR_TAILS[0].start)),
                    lambda: [erfinv_over_x(f, w, (*TAILS, *FAR_TAILS))],
                    lambda: [erfinv_over_x(f, w, TAILS)])
    r = f.fma(p, 2.0, -1.0) * 1.4142135623730951 * scaled
    r = f.sel(f.cmp("oeq", p, 0.0), -INF, f.sel(f.cmp("oeq", p, 1.0), INF, r))
    return f.sel(f.cmp("uge", p, 0.0) & f.cmp("ole", p, 1.0), r, NAN)


through_double("ndtri")


# ---- the gamma family ----------------------------------------------------------------------------
# Each works on y = |x| and turns the result for negative x by its reflection formula. Polynomials
# in 1/y^2 serve from 6 on.
PI = 3.141592653589793


def sine_tail(f: Operations, d: Val) -> Val:
    """sin(pi d) / pi - d for |d| <= 1/2."""
    z = d * d
    return d * z * poly(f, z, C.SIN_PI)


def sine(f: Operations, d: Val) -> Val:
    """sin(pi d) / pi"""
    return d + sine_tail(f, d)


def turn(f: Operations, y: Val) -> Val:
    """The distance from y to the nearest integer, of either sign; exact."""
    return y - f.rint(y)


def sine_and_cosine(f: Operations, y: Val) -> tuple[Val, Val]:
    """Sine and cosine of pi y up to a common sign, both divided by pi."""
    d = turn(f, y)
    return sine(f, d), sine(f, 0.5 - f.fabs(d))


@function("sinc", "double")
def sinc(f: Operations, x: Val) -> Val:
    """sin(pi x) / (pi x), where pi cancels: 1 at 0."""
    n = f.rint(x)
    half = n * 0.5
    s = sine(f, x - n)
    r = f.sel(f.cmp("one", half, f.rint(half)), -s, s) / x
    return f.sel(f.cmp("oeq", x, 0.0), 1.0, r)


@function("lgamma", "double")
def lgamma(f: Operations, x: Val) -> Val:
    """log|gamma|. Up to 1/2 from the argument raised by 2, up to 6 from the argument lowered
    into 1.5 .. 2.5."""
    y = f.fabs(x)
    low, near_one, high = f.cmp("olt", y, 0.5), f.cmp("olt", y, 1.25), f.cmp("oge", y, 6.0)
    w, product = y, f.const(x.ty, 1.0)
    for _ in range(4):
        above = f.cmp("oge", w, 2.5)
        w = f.sel(above, w - 1.0, w)
        product = f.sel(above, product * w, product)
    v = f.sel(low, x, y)
    argument = f.sel(high, y, f.sel(low, f.fabs(v) * (v + 1.0), product))
    logarithm = log(f, argument)
    # around 2: lgamma(2 + t) = t p(t); around 1 less log(1 + t) = t - (t^2/2 - s (t^2/2 + R)), its
    # t joined to the polynomial
    t = f.sel(low, x, f.sel(near_one, y - 1.0, w - 2.0))
    p = poly(f, t, C.LGAMMA_TWO)
    around_two = f.fma(t, p, f.sel(low, -logarithm, logarithm))
    s = t / (t + 2.0)
    z = s * s
    half = t * t * 0.5
    around_one = f.fma(t, p - 1.0, half - s * f.fma(z, poly(f, z, C.LGAMMA_LOG, 2), half))
    small = f.sel(near_one & ~low, around_one, around_two)
    inverse = 1.0 / y
    large = f.fma(y - 0.5,
                  logarithm - 1.0,
                  f.fma(inverse, poly(f, inverse * inverse, C.LGAMMA_STIRLING), C.LGAMMA_CONSTANT))
    r = f.sel(high, large, small)
    reflected = f.cmp("ole", x, -0.5)

    def reflect() -> list[Val]:
        s = f.fabs(sine(f, turn(f, y)))
        return [f.sel(reflected, f.sel(f.cmp("oeq", s, 0.0), INF, -log(f, s * y) - r), r)]
    r, = f.if_(f.any(reflected), reflect, lambda: [r])
    return f.sel(f.cmp("oeq", y, INF), INF, r)


@function("digamma", "double")
def digamma(f: Operations, x: Val) -> Val:
    """y < 2: (y - root) p; up to 6: lowered into 1 .. 2, the sum of reciprocals as one quotient
    n / d."""
    y = f.fabs(x)
    small, high, negative = f.cmp("olt", y, 1.0), f.cmp("oge", y, 6.0), f.cmp("olt", x, 0.0)
    w = y
    n, d = f.const(x.ty, 0.0), f.const(x.ty, 1.0)
    for _ in range(4):
        above = f.cmp("oge", w, 2.0)
        w = f.sel(above, w - 1.0, w)
        n, d = f.sel(above, f.fma(n, w, d), n), f.sel(above, d * w, d)
    # below 1: digamma(1 + y), less 1/y for positive x; for negative x reflection wants digamma(1 +
    # y) too
    n = f.sel(small, f.sel(negative, f.const(x.ty, 0.0), -1.0), n)
    d = f.sel(small, y, d)
    n = f.sel(~small & negative, n * y + d, n)
    d = f.sel(~small & negative, d * y, d)
    t = f.sel(small, y, w - 1.0)
    root = (t - C.DIGAMMA_ROOT[0]) - C.DIGAMMA_ROOT[1]
    near = f.fma(root, poly(f, t - 0.5, C.DIGAMMA), n / d)
    inverse = 1.0 / y
    z = inverse * inverse
    far = (
        log(f, y)
        - f.fma(z, poly(f, z, C.DIGAMMA_TAIL), inverse * f.sel(negative, f.const(x.ty, -0.5), 0.5)))
    r = f.sel(high, far, near)

    def reflect() -> list[Val]:
        s, c = sine_and_cosine(f, y)
        return [f.sel(negative, f.sel(f.cmp("oeq", s, 0.0), NAN, r + PI * c / s), r)]
    r, = f.if_(f.any(negative), reflect, lambda: [r])
    return f.sel(f.cmp("oeq", x, 0.0), f.copysign(INF, -x), r)


def raised(f: Operations, x: Val, term: Callable[..., Any], tail: Callable[..., Any]) -> Val:
    """term(y) + term(y + 1) + ... up to 6, and tail(w) from there on, w >= 6; the smallest first.
    For negative x the first term is left out: its reflection wants the function of 1 + y."""
    y, negative = f.fabs(x), f.cmp("olt", x, 0.0)
    w, terms = y, []
    for i in range(7):
        below = f.cmp("olt", w, 6.0)
        terms.append(f.sel(below if i else below & ~negative, term(w), 0.0))
        w = f.sel(below if i else below | negative, w + 1.0, w)
    total: Val = tail(w)
    for t in reversed(terms):
        total = total + t
    return total


def where_negative(f: Operations, x: Val, r: Val, reflected: Callable[[], Val]) -> Val:
    """r, and the reflected function where x is negative, which is computed only if it is
    somewhere."""
    negative = f.cmp("olt", x, 0.0)
    found, = f.if_(f.any(negative), lambda: [f.sel(negative, reflected(), r)], lambda: [r])
    return found


@function("trigamma", "double")
def trigamma(f: Operations, x: Val) -> Val:
    def tail(w: Val) -> Val:
        v = 1.0 / w
        z = v * v
        return f.fma(z * v, poly(f, z, C.TRIGAMMA_TAIL), f.fma(z, 0.5, v))
    r = raised(f, x, lambda w: 1.0 / (w * w), tail)

    def reflected() -> Val:
        d = turn(f, x)
        c = sine_tail(f, d)
        square = f.fma(d, d, c * (d + d + c))
        return 1.0 / square - r
    return where_negative(f, x, r, reflected)


@function("polygamma2", "double")
def polygamma2(f: Operations, x: Val) -> Val:
    """The second derivative of digamma."""
    def tail(w: Val) -> Val:
        v = 1.0 / w
        z = v * v
        return f.fma(z * z, poly(f, z, C.POLYGAMMA2_TAIL), f.fma(z, v, z))
    r = -raised(f, x, lambda w: 2.0 / (w * w * w), tail)

    def reflected() -> Val:
        s, c = sine_and_cosine(f, f.fabs(x))
        return f.sel(f.cmp("oeq", s, 0.0), -INF, f.fma(c / (s * s * s), 2 * PI, r))
    return f.sel(f.cmp("oeq", x, 0.0), -INF, where_negative(f, x, r, reflected))


for _name in ("sinc", "lgamma", "digamma", "trigamma", "polygamma2"):
    through_double(_name)
