"""Circular functions and their inverses."""
from __future__ import annotations

from ..builder import Fn, Module, Val, vec
from ..operations import Operations
from . import coefficients as C
from .core import (
    INF,
    NAN,
    TOP_BIT,
    bits,
    fast_two_sum,
    fitted,
    floating,
    function,
    nearest,
    two_prod,
)

TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts, for x - n pi/2 by three fma: the first difference is exact.
PI_2 = {"float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
        "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)}
LIMIT = {"float": 1e5, "double": 2.0 ** 27}                # the largest |x| they are good for
# an |r| so small may have lost digits of the second part
CANCELS = {"float": 0.01, "double": 1e-7}


def reduce(f: Operations, x: Val) -> list[Val]:
    """x = n pi/2 + r + lo: (r, lo, u), u with n in its low bits. NaN for what is not finite."""
    c1, c2, c3 = PI_2[x.elem]
    n, u = nearest(f, x, TWO_OVER_PI)
    a = f.fma(n, -c1, x)
    r = f.fma(n, -c2, a)
    # exact where r is close to a
    lost = f.sel(f.cmp("ogt", f.fabs(r), CANCELS[x.elem]), f.fma(n, -c2, a - r), 0.0)
    lo = f.fma(n, -c3, lost)
    far = f.cmp("ogt", f.fabs(x), LIMIT[x.elem])

    def beyond() -> list[Val]:
        # a target may have a way of its own
        own = f.reduce_far(x, r, lo, u)
        if own is not None:
            return own
        assert isinstance(f, Fn)
        return reduce_far(f, x, r, lo, u)
    return f.if_(f.any(far), beyond, lambda: [r, lo, u])


def reduce_far(f: Fn, x: Val, r: Val, lo: Val, u: Val) -> list[Val]:
    """What `reduce` gives, where some lanes are beyond LIMIT: these one by one."""
    lanes, n = x.lanes, max(1, x.lanes)
    doubles, words = vec("double", lanes), vec("i64", lanes)
    r64, lo64, u64 = (f.conv("fpext", r, "double"), f.conv("fpext", lo, "double"),
                      f.conv("sext", u, "i64"))
    at = [f.alloca(e, n) for e in ("double", "double", "double", "i64")]
    for v, p in zip((f.conv("fpext", x, "double"), r64, lo64, u64), at, strict=True):
        f.store(v, p)

    def lane(i: Val) -> None:
        v = f.load("double", f.at(at[0], i, "double"))
        a = f.fabs(v)
        f.if_(
            f.cmp("ogt", a, LIMIT[x.elem]) & f.cmp("olt", a, INF),
            lambda: f.call(far_function(f.mod), "void", v, *(f.at(p, i, "double") for p in at[1:])))
    f.loop(0, n, 1, lane)
    r64, lo64, u64 = f.load(doubles, at[1]), f.load(doubles, at[2]), f.load(words, at[3])
    if x.elem == "double":
        return [r64, lo64, u64]
    r = f.conv("fptrunc", r64, "float")
    return [r, f.conv("fptrunc", (r64 - f.conv("fpext", r, "double")) + lo64, "float"),
            f.conv("trunc", u64, "i32")]


def far_function(mod: Module) -> str:
    """void vmath_reduce_far(double x, ptr r, ptr lo, ptr n) for finite |x| >= 2^10 (Payne, Hanek).

    |x| = M 2^e. W is a window of 192 bits of 2/pi such that M W / 2^190 = |x| 2/pi mod 4; 128 bits
    of the product are enough."""
    name = "vmath_reduce_far"
    if name in {f.name for f in mod.fns}:
        return name
    f = mod.fn(name, [("double", "x"), ("ptr", "r"), ("ptr", "lo"), ("ptr", "n")],
               linkage="internal")
    mod.fns.remove(f)
    mod.fns.insert(0, f)
    x, r_at, lo_at, n_at = f.args
    table = mod.table("vmath_two_over_pi", "i64", C.TWO_OVER_PI_WORDS)
    b = bits(f, x)
    e = (f.lshr(b, 52) & 0x7FF) - 1075
    m = b & ((1 << 52) - 1) | 1 << 52
    # the window starts at bit e - 2 after the point; the table starts 64 bits before the point
    start = e + 62
    word, shift = start >> 6, start & 63
    ws = [f.load("i64", f.at(table, word + i, "i64")) for i in range(4)]
    wide = [
        f.conv("zext", f.intr("fshl", a, c, shift), "i128")
        for a, c in zip(ws, ws[1:], strict=False)]
    m = f.conv("zext", m, "i128")
    t = (m * wide[0] << 64) + m * wide[1] + f.lshr(m * wide[2], 64)
    q = f.lshr(t + (1 << 125), 126)
    t = t - (q << 126)
    # t / 2^126 quarter turns, |t| <= 2^125: two doubles, normalised so that both are full
    negative = f.cmp("slt", t, 0)
    t = f.sel(negative, 0 - t, t)
    f.mod.declare("llvm.ctlz.i128", "i128", ["i128", "i1"])
    zeros = f.v("i128", f"call i128 @llvm.ctlz.i128(i128 {t.ref}, i1 false)")
    t = t << zeros
    upper = f.conv("trunc", f.lshr(t, 75), "i64")
    lower = f.conv("trunc", f.lshr(t, 22) & ((1 << 53) - 1), "i64")
    zeros = f.conv("trunc", zeros, "i64")
    scale = floating(f, (1023 - 51 - zeros) << 52)               # upper counts 2^(75 - zeros - 126)
    hi = f.conv("sitofp", upper, "double") * scale
    lo = f.conv("sitofp", lower, "double") * (scale * 2.0 ** -53)
    c1, c2, _ = PI_2["double"]
    r, e1 = two_prod(f, hi, f.const("double", c1))
    r, lo = fast_two_sum(f, r, f.fma(hi, c2, f.fma(lo, c1, e1)))
    q = f.conv("trunc", q, "i64")
    sign = b & TOP_BIT["double"]
    flip = f.sel(negative, sign ^ TOP_BIT["double"], sign)
    f.store(floating(f, bits(f, r) ^ flip), r_at)
    f.store(floating(f, bits(f, lo) ^ flip), lo_at)
    f.store(f.sel(f.cmp("slt", b, 0), 0 - q, q), n_at)
    return name


def sin_poly(f: Operations, r: Val, lo: Val, z: Val) -> Val:
    return f.fma(r * z, fitted(f, z, "SIN"), lo) + r


def cos_poly(f: Operations, z: Val) -> Val:
    return f.fma(z, f.fma(z, fitted(f, z, "COS"), -0.5), 1.0)


def sincos(f: Operations, x: Val, ahead: int) -> Val:
    """sin of x + ahead quarter turns."""
    r, lo, u = reduce(f, x)
    z = r * r
    u = u + ahead
    v = f.sel(f.cmp("ne", u & 1, 0), cos_poly(f, z), sin_poly(f, r, lo, z))
    return floating(f, bits(f, v) ^ ((u & 2) << (30 if x.elem == "float" else 62)))


@function("sin")
def sin(f: Operations, x: Val) -> Val:
    return f.sel(f.cmp("oeq", x, 0.0), x, sincos(f, x, 0))


@function("cos")
def cos(f: Operations, x: Val) -> Val:
    return sincos(f, x, 1)


@function("tan")
def tan(f: Operations, x: Val) -> Val:
    """tan(r) = r + r^3 p(r^2), or -1 / tan(r) in the odd quadrants, with what the sum and the
    quotient lost."""
    r, lo, u = reduce(f, x)
    z = r * r
    t, e = fast_two_sum(f, r, f.fma(r * z, fitted(f, z, "TAN", 4), f.fma(lo, z, lo)))
    w = 1.0 / t
    w = f.fma(w, f.fma(-w, t, 1.0) - w * e, w)
    t = f.sel(f.cmp("ne", u & 1, 0), -w, t)
    return f.sel(f.cmp("oeq", x, 0.0), x, t)


# ---- inverses ------------------------------------------------------------------------------------
PI = {
    "float": (3.1415927410125732, -8.742277657347586e-08),
    "double": (3.141592653589793, 1.2246467991473532e-16)}


def arc(f: Operations, x: Val) -> tuple[Val, Val, Val]:
    """(high, s, t): where |x| > 1/2 (high), s = sqrt((1 - |x|) / 2), whose arcsine is half of
    arccos |x|; elsewhere s = x. t = arcsin(s) - s."""
    a = f.fabs(x)
    high = f.cmp("ogt", a, 0.5)
    z = f.sel(high, f.fma(a, -0.5, 0.5), x * x)
    s = f.sel(high, f.sqrt(z), x)
    return high, s, s * z * fitted(f, z, "ASIN", 2)


@function("asin")
def asin(f: Operations, x: Val) -> Val:
    high, s, t = arc(f, x)
    hi, lo = PI[x.elem]
    d, e = fast_two_sum(f, f.const(x.ty, hi / 2), s * -2.0)
    r = d - (f.fma(t, 2.0, -lo / 2) - e)
    return f.sel(high, f.copysign(r, x), s + t)


@function("acos")
def acos(f: Operations, x: Val) -> Val:
    high, s, t = arc(f, x)
    hi, lo = PI[x.elem]
    twice = (s + t) + (s + t)
    outer = f.sel(f.cmp("olt", x, 0.0), hi - (twice - lo), twice)
    return f.sel(high, outer, hi / 2 - (s + (t - lo / 2)))


def arctangent_tail(f: Operations, t: Val) -> Val:
    """arctan(t) - t for 0 <= t <= 1."""
    z = t * t
    return t * z * fitted(f, z, "ATAN", 4)


@function("atan")
def atan(f: Operations, x: Val) -> Val:
    """Above 1: pi/2 - atan(1 / x)."""
    hi, lo = PI[x.elem]
    a = f.fabs(x)
    high = f.cmp("ogt", a, 1.0)
    t = f.sel(high, 1.0 / a, a)
    c = arctangent_tail(f, t)
    return f.copysign(f.sel(high, (hi / 2 - t) - (c - lo / 2), t + c), x)


@function("atan2")
def atan2(f: Operations, y: Val, x: Val) -> Val:
    """The angle below pi/4 of the triangle, taken from 0, pi/2 or pi."""
    hi, lo = PI[x.elem]
    a, b = f.fabs(y), f.fabs(x)
    steep = f.cmp("ogt", a, b)
    least, most = f.sel(steep, b, a), f.sel(steep, a, b)
    t = least / f.sel(f.cmp("oeq", most, 0.0), 1.0, most)
    t = f.sel(f.cmp("oeq", least, INF), 1.0, t)
    c = arctangent_tail(f, t)
    left = f.cmp("slt", bits(f, x), 0)
    back = steep ^ left
    t, c = f.sel(back, -t, t), f.sel(back, -c, c)
    whole = f.sel(steep, f.const(x.ty, hi / 2), f.sel(left, f.const(x.ty, hi), 0.0))
    rest = f.sel(steep, f.const(x.ty, lo / 2), f.sel(left, f.const(x.ty, lo), 0.0))
    r = (whole + t) + (c + rest)
    return f.sel(f.cmp("uno", x, y), NAN, f.copysign(r, y))
