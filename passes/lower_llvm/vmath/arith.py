"""Extrema, remainders, roots and neighbours."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import coefficients as C
from .core import BIAS, INF, NAN, TOP_BIT, bits, floating, function, nearest, poly, power, two_prod
from .explog import mantissa

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations


# ---- extrema: `min` and `max` give NaN where either is NaN, `fmin` and `fmax` only where both are
def is_bound(f: Operations, b: Val) -> bool:
    """Is it a constant that is neither NaN nor a zero? Then `b` beside NaN is never chosen, and no
    zeros of other signs meet: one instruction does."""
    x = f.number_of(b)
    return x is not None and x != 0 and x == x


@function("min")
def minimum(f: Operations, a: Val, b: Val) -> Val:
    if is_bound(f, b):
        return f.sel(f.cmp("olt", b, a), b, a)
    return f.sel(f.cmp("uno", a, a), a, f.sel(f.cmp("olt", a, b), a, b))


@function("max")
def maximum(f: Operations, a: Val, b: Val) -> Val:
    if is_bound(f, b):
        return f.sel(f.cmp("ogt", b, a), b, a)
    return f.sel(f.cmp("uno", a, a), a, f.sel(f.cmp("ogt", a, b), a, b))


@function("fmin")
def fmin(f: Operations, a: Val, b: Val) -> Val:
    return f.sel(f.cmp("uno", b, b), a, f.sel(f.cmp("olt", a, b), a, b))


@function("fmax")
def fmax(f: Operations, a: Val, b: Val) -> Val:
    return f.sel(f.cmp("uno", b, b), a, f.sel(f.cmp("ogt", a, b), a, b))


@function("copysign")
def copysign(f: Operations, a: Any, b: Any) -> Any:
    return f.copysign(a, b)


# ---- remainders ----------------------------------------------------------------------------------
def reduce_by(f: Operations, r: Val, d: Val) -> Val:
    """r minus a multiple of d, smaller by 2^50 or below |d|. Exact: n is r/d rounded, and such a
    remainder is a float."""
    n = f.rint(r / d)
    return f.sel(f.cmp("oge", f.fabs(r), d), f.fma(-n, d, r), r)


def remainder_far(f: Operations, r: Val, d: Val, single: bool) -> list[Val]:
    """r mod d for any quotient. f64 goes by the multiples 2^1400 d, 2^700 d and d, so that no
    quotient overflows."""
    low, middle = f.cmp("olt", d, 2.0 ** -400), f.cmp("olt", d, 2.0 ** 300)
    raised = d * 2.0 ** 700
    steps = ([d] if single else [
        f.sel(low, raised * 2.0 ** 700, f.sel(middle, raised, d)),
        f.sel(middle, raised, d), d])
    for step in steps:
        r, = f.loop(0, 6 if single else 15, 1, lambda _, r: reduce_by(f, r, step), [r])
    return [r]


def fmod_in_double(f: Operations, x: Val, y: Val, single: bool) -> Val:
    """The remainder with the sign of x, exact for every quotient; `single`: both are f32 values,
    a quotient is below 2^278."""
    d = f.fabs(y)
    q = x / d
    near = f.cmp("olt", f.fabs(q), 2.0 ** 52) & f.cmp("oge", f.fabs(x), d)
    r = f.sel(near, f.fma(-f.rint(q), d, x), x)
    far = f.cmp("oge", f.fabs(q), 2.0 ** 52) & f.cmp("olt", f.fabs(x), INF) & f.cmp("ogt", d, 0.0)
    r, = f.if_(f.any(far), lambda: remainder_far(f, r, d, single), lambda: [r])
    wrong = f.cmp("slt", bits(f, r) ^ bits(f, x), 0) & f.cmp("one", r, 0.0)
    r = f.copysign(f.sel(wrong, d - f.fabs(r), r), x)
    bad = f.cmp("oeq", y, 0.0) | f.cmp("oeq", f.fabs(x), INF) | f.cmp("uno", x, y)
    return f.sel(bad, NAN, r)


@function("fmod")
def fmod(f: Operations, x: Val, y: Val) -> Val:
    if x.elem == "double":
        return fmod_in_double(f, x, y, single=False)
    return f.conv(
        "fptrunc",
        fmod_in_double(f, f.conv("fpext", x, "double"), f.conv("fpext", y, "double"), single=True),
        "float")


def opposite(f: Operations, r: Val, y: Val) -> Val:
    """r is not zero and has the other sign than y."""
    return f.cmp("slt", bits(f, r) ^ bits(f, y), 0) & f.cmp("one", r, 0.0)


@function("mod")
def mod(f: Operations, x: Val, y: Val) -> Val:
    """Python's remainder: the sign of y."""
    r = fmod(f, x, y)
    return f.sel(f.cmp("oeq", r, 0.0), f.copysign(r, y), f.sel(opposite(f, r, y), r + y, r))


@function("floordiv")
def floordiv(f: Operations, x: Val, y: Val) -> Val:
    """The integer that goes with `mod`, as NumPy forms it."""
    r = fmod(f, x, y)
    q = (x - r) / y
    q = f.sel(opposite(f, r, y), q - 1.0, q)
    n = f.intr("floor", q)
    n = f.sel(f.cmp("ogt", q - n, 0.5), n + 1.0, n)
    n = f.sel(f.cmp("oeq", q, 0.0), f.copysign(0.0, x / y), n)
    return f.sel(f.cmp("oeq", y, 0.0), x / y, n)


# ---- roots ---------------------------------------------------------------------------------------
@function("rsqrt")
def rsqrt(f: Operations, x: Val) -> Val:
    return 1.0 / f.sqrt(x)


@function("cbrt")
def cbrt(f: Operations, x: Val) -> Val:
    """|x| = 2^(3n + i) m. z = (2^i m)^(-1/3) by a polynomial and one step of second order (f64:
    fourth), y = 2^i m z^2, and a Newton step."""
    e = x.elem
    k, m, _ = mantissa(f, f.fabs(x))
    n, u = nearest(f, k, 1 / 3, BIAS[e])
    i = f.fma(n, -3.0, k)
    up, down = f.cmp("ogt", i, 0.5), f.cmp("olt", i, -0.5)
    a = m * f.sel(up, 2.0, f.sel(down, f.const(x.ty, 0.5), 1.0))
    z = (poly(f, m, C.CBRT)
         * f.sel(up, 2.0 ** (-1 / 3), f.sel(down, f.const(x.ty, 2.0 ** (1 / 3)), 1.0)))
    h = f.fma(-a, z * z * z, 1.0)
    z = f.fma(z * h,
              f.const(x.ty, 1 / 3) if e == "float" else f.fma(h, f.fma(h, 14 / 81, 2 / 9), 1 / 3),
              z)
    w = z * z
    y = a * w
    p, lost = two_prod(f, y, y)
    y = f.fma(f.fma(y, lost, f.fma(y, p, -a)), w * (-1 / 3), y)
    r = f.copysign(y * power(f, u, e), x)
    return f.sel(f.cmp("one", x, 0.0) & f.cmp("olt", f.fabs(x), INF), r, x + x)


@function("hypot", "double")
def hypot(f: Operations, x: Val, y: Val) -> Val:
    x, y = f.fabs(x), f.fabs(y)
    swap = f.cmp("olt", x, y)
    a, b = f.sel(swap, y, x), f.sel(swap, x, y)
    high, low = f.cmp("ogt", a, 2.0 ** 500), f.cmp("olt", a, 2.0 ** -450)
    scale = f.sel(high, 2.0 ** -600, f.sel(low, f.const(x.ty, 2.0 ** 600), 1.0))
    back = f.sel(high, 2.0 ** 600, f.sel(low, f.const(x.ty, 2.0 ** -600), 1.0))
    a, b = a * scale, b * scale
    r = f.sqrt(f.fma(a, a, b * b)) * back
    return f.sel(f.cmp("oeq", x, INF) | f.cmp("oeq", y, INF), INF, r)


@function("hypot", "float")
def hypot_f32(f: Operations, x: Val, y: Val) -> Val:
    """In f64, where no square of an f32 overflows or vanishes."""
    a, b = f.conv("fpext", x, "double"), f.conv("fpext", y, "double")
    r = f.conv("fptrunc", f.sqrt(f.fma(a, a, b * b)), "float")
    return f.sel(f.cmp("oeq", f.fabs(x), INF) | f.cmp("oeq", f.fabs(y), INF), INF, r)


# ---- neighbours ----------------------------------------------------------------------------------
@function("nextafter")
def nextafter(f: Operations, x: Val, y: Val) -> Val:
    """Floats of one sign are ordered like their bits."""
    u = bits(f, x)
    away = f.cmp("ogt", f.fabs(y), f.fabs(x)) & f.cmp("sge", u ^ bits(f, y), 0)
    step = floating(f, f.sel(away, u + 1, u - 1))
    least = floating(f, (bits(f, y) & TOP_BIT[x.elem]) | 1)
    r = f.sel(f.cmp("oeq", x, 0.0), least, step)
    return f.sel(f.cmp("oeq", x, y), y, f.sel(f.cmp("uno", x, y), NAN, r))
