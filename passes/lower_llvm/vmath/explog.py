"""Exponentials, logarithms and functions of these."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import coefficients as C
from .core import (
    BIAS,
    INF,
    NAN,
    bits,
    clamp,
    fast_two_sum,
    fitted,
    floating,
    function,
    nearest,
    poly,
    power,
    two_prod,
    two_sum,
)

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations

LOG2E = 1.4426950408889634
# n * the first is exact for |n| < 2^11
LN2 = {"float": (0.693145751953125, 1.42860682030941723e-06),
       "double": (0.693147180369123816490, 1.90821492927058770002e-10)}


def exp_parts(f: Operations, x: Val, plus: int = 0) -> tuple[Val, Val]:
    """x = n ln2 + r: (q, u), q = e^r - 1, u with n + BIAS + plus in its low bits."""
    n, u = nearest(f, x, LOG2E, BIAS[x.elem] + plus)
    hi, lo = LN2[x.elem]
    r = f.fma(n, -lo, f.fma(n, -hi, x))
    return f.fma(r * r, exp_poly(f, r), r), u


def exp_poly(f: Operations, r: Val) -> Val:
    """(e^r - 1 - r) / r^2 for |r| <= ln2 / 2."""
    return fitted(f, r, "EXP", 2)


def exp_parts_of_sum(f: Operations, x: Val, tail: Val | None,
                     plus: int = 0) -> tuple[Val, Val, Val]:
    """For x + tail, and without loss: (r, c, u), r + c = e^(x + tail - n ln2) - 1."""
    n, u = nearest(f, x, LOG2E, BIAS[x.elem] + plus)
    hi, lo = LN2[x.elem]
    a = f.fma(n, -hi, x)
    tail = n * -lo if tail is None else f.fma(n, -lo, tail)
    r = a + tail
    return r, f.fma(r * r, exp_poly(f, r), (a - r) + tail), u


# Below `edge` the result is close to the subnormals: it is computed 2^shift too large.
EXP_LOW = {"float": (-86.0, 64), "double": (-707.0, 128)}
# The lower end is the n at which that power of two, n - 1 + shift, has the bits of zero: e^-inf is
# then no slow underflow.
LEAST_POWER = {"float": -126 - 64, "double": -1022 - 128}
EXP_RANGE = {"float": (-131.7, 89.0), "double": (-797.12, 710.0)}


def unless_far(f: Operations, x: Val, plain: Callable[..., Any],
               careful: Callable[..., Any]) -> Val:
    """plain() where every |x| is below the edges of EXP_LOW, which is nearly always: careful()
    is right everywhere, but longer."""
    far = f.cmp("uge", f.fabs(x), -EXP_LOW[x.elem][0])
    return f.if_(f.any(far), lambda: [careful()], lambda: [plain()])[0]


@function("exp")
def exp(f: Operations, x: Val) -> Val:
    def plain() -> Val:
        q, u = exp_parts(f, x)
        return (q + 1.0) * power(f, u, x.elem)

    def careful() -> Val:
        q, u = exp_parts(f, clamp(f, x, *EXP_RANGE[x.elem]), -1)
        return exp_scale(f, q + 1.0, u, f.cmp("olt", x, EXP_LOW[x.elem][0]))
    return unless_far(f, x, plain, careful)


def exp_of_sum(f: Operations, x: Val, tail: Val) -> Val:
    """e^(x + tail)"""
    r, c, u = exp_parts_of_sum(f, clamp(f, x, *EXP_RANGE[x.elem]), tail, -1)
    return exp_scale(f, (c + r) + 1.0, u, f.cmp("olt", x, EXP_LOW[x.elem][0]))


def lowered(f: Operations, r: Val, low: Val, shift: int) -> Val:
    """r times 2^-shift where it is `low`, else r. Where nothing would be left it is zero
    beforehand: a product that underflows is made by microcode, which takes a hundred cycles."""
    # half of the least subnormal, which is rounded to zero
    nothing = 2.0 ** (shift - {"float": 150, "double": 1075}[r.elem])
    scaled = f.sel(f.cmp("ole", f.fabs(r), nothing), f.copysign(0.0, r), r) * 2.0 ** -shift
    return f.sel(low, scaled, r)


def exp_scale(f: Operations, p: Val, u: Val, low: Val) -> Val:
    """2^n p, u holding n - 1: as 2^(n-1) times 2 p, since 2^(n-1) is a float up to the largest
    result. low: may be subnormal."""
    shift = EXP_LOW[p.elem][1]
    r = (p + p) * power(f, f.sel(low, u + shift, u), p.elem)
    return lowered(f, r, low, shift)


@function("exp2")
def exp2(f: Operations, x: Val) -> Val:
    hi, edge = (129.0, -124.0) if x.elem == "float" else (1025.0, -1020.0)
    b = clamp(f, x, float(LEAST_POWER[x.elem]), hi)
    n, u = nearest(f, b, 1.0, BIAS[x.elem] - 1)
    r = b - n
    return exp_scale(f, f.fma(r, fitted(f, r, "EXP2", 2), 1.0), u, f.cmp("olt", x, edge))


# ---- logarithms ----------------------------------------------------------------------------------
MIN_NORMAL = {"float": 2.0 ** -126, "double": 2.0 ** -1022}
SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
RAISE = {"float": 24, "double": 54}                                      # makes a subnormal normal
LN2_F32 = 0.693147182464599609375


def mantissa(f: Operations, x: Val, normal: bool = False) -> tuple[Val, Val, Val]:
    """x > 0 is 2^k m with m in [sqrt 1/2, sqrt 2): (k, m, d), k as a float, d = k at the place of
    the exponent.

    `normal`: x is never subnormal."""
    e = x.elem
    if not normal:
        tiny = f.cmp("olt", x, MIN_NORMAL[e])
        x = f.sel(tiny, x * 2.0 ** RAISE[e], x)
    u = bits(f, x)
    t = u - SQRT_HALF_BITS[e]
    if e == "float":
        k = t >> 23
        d = k << 23
        k = f.conv("sitofp", k, "float")
    else:
        # 64-bit conversions and arithmetic shifts are slow before AVX-512
        b = f.lshr(t + (1024 << 52), 52)
        d = (b << 52) - (1024 << 52)
        k = floating(f, b | 0x4330000000000000) - (2.0 ** 52 + 1024)
    m = floating(f, u - d)
    return (k if normal else f.sel(tiny, k - float(RAISE[e]), k)), m, d


def log_sum(f: Operations, k: Val, z: Val, tail: Val | None = None) -> Val:
    """k ln2 + log(1 + z) + tail, for z in sqrt 1/2 - 1 .. sqrt 2 - 1 and a small tail."""
    if z.elem == "float":
        p = poly(f, z, C.LOG_F32)
        r = f.fma(z * z, p, z) if tail is None else f.fma(z * z, p, tail) + z
        return f.fma(k, LN2_F32, r)
    hi, lo = LN2["double"]
    s = z / (z + 2.0)
    w = s * s
    half = z * z * 0.5
    low = k * lo if tail is None else f.fma(k, lo, tail)
    return f.fma(k, hi, z - (half - f.fma(s, f.fma(w, poly(f, w, C.LOG_F64, 2), half), low)))


def log_edges(f: Operations, x: Val, r: Val) -> Val:
    """r if x is positive and finite; else the value of the logarithm there."""
    r = f.sel(f.cmp("oeq", x, 0.0), -INF, r)
    r = f.sel(f.cmp("ult", x, 0.0), NAN, r)
    return f.sel(f.cmp("oeq", x, INF), INF, r)


def logarithm(f: Operations, x: Val, of_parts: Callable[..., Any]) -> Val:
    """of_parts(k, m - 1) for x = 2^k m, and the edges. Where all lanes are ordinary, which is
    nearly always, the care for subnormal, negative and infinite numbers, a quarter of the work, is
    branched around."""
    least, inf = (bits(f, f.const(x.ty, v)) for v in (MIN_NORMAL[x.elem], INF))

    def plain() -> list[Val]:
        k, m, _ = mantissa(f, x, normal=True)
        return [of_parts(k, m - 1.0)]

    def careful() -> list[Val]:
        k, m, _ = mantissa(f, x)
        return [log_edges(f, x, of_parts(k, m - 1.0))]
    return f.if_(f.any(f.cmp("uge", bits(f, x) - least, inf - least)), careful, plain)[0]


@function("log")
def log(f: Operations, x: Val) -> Val:
    return logarithm(f, x, lambda k, z: log_sum(f, k, z))


@function("log2", "float")
def log2_f32(f: Operations, x: Val) -> Val:
    return logarithm(f, x, lambda k, z: k + f.fma(z, C.LOG2_SLOPE, z * poly(f, z, C.LOG2_F32)))


@function("log10", "float")
def log10_f32(f: Operations, x: Val) -> Val:
    hi, lo = LOG10_2["float"]
    return logarithm(
        f,
        x, lambda k, z: f.fma(k, hi,
                              f.fma(k, lo, f.fma(z, C.LOG10_SLOPE, z * poly(f, z, C.LOG10_F32)))))


LOG10_2 = {"float": (0.30078125, 2.487456639811952e-04),
           "double": (0.3010299956640665, -8.532344317057107e-14)}
PER_LN = {"log2": (1.4426950408889634, 2.0355273740931033e-17),
          "log10": (0.4342944819032518, 1.098319650216765e-17)}


def log_in_base(f: Operations, k: Val, z: Val, base: str, whole: tuple[float, float]) -> Val:
    """f64: k whole[0] + (k whole[1] + log(1 + z) / log(base)), log(1 + z) in two doubles."""
    s = z / (z + 2.0)
    w = s * s
    half = z * z * 0.5
    hi, lo = fast_two_sum(f, z, -half)
    lo = f.fma(s, f.fma(w, poly(f, w, C.LOG_F64, 2), half), lo)
    c, d = PER_LN[base]
    p, e = two_prod(f, hi, f.const(z.ty, c))
    rest = f.fma(lo, c, f.fma(hi, d, f.fma(k, whole[1], e) if whole[1] else e))
    t, e = fast_two_sum(f, k * whole[0], p)
    return t + (e + rest)


@function("log2", "double")
def log2_f64(f: Operations, x: Val) -> Val:
    return logarithm(f, x, lambda k, z: log_in_base(f, k, z, "log2", (1.0, 0.0)))


@function("log10", "double")
def log10_f64(f: Operations, x: Val) -> Val:
    return logarithm(f, x, lambda k, z: log_in_base(f, k, z, "log10", LOG10_2["double"]))


# ---- around zero ---------------------------------------------------------------------------------
@function("log1p")
def log1p(f: Operations, x: Val) -> Val:
    """log of the sum 1 + x; as in `logarithm`, the edges are branched around."""
    u, lost = two_sum(f, x, f.const(x.ty, 1.0))
    least, most = (bits(f, f.const(x.ty, v)) for v in (MIN_NORMAL[x.elem], 2.0 ** 60))
    r, = f.if_(f.any(f.cmp("uge",
                           bits(f, u) - least,
                           most - least)), lambda: [log_edges(f, u, log_of_sum(f, u, lost))],
               lambda: [log_of_sum(f, u, lost, large=False)])
    return f.copysign(r, x)


def log_of_sum(f: Operations, u: Val, lost: Val, more: Val | None = None,
               large: bool = True) -> Val:
    """log(u + lost) + more ln2, for a normal u >= 2^-54 and |lost| <= ulp(u), or anything small
    where u = 1.

    u = 2^k m: log m + k ln2 + lost / u. `large`: u may be beyond 2^60, where 2^-k need not be a
    float and `lost` does not count."""
    k, m, d = mantissa(f, u, normal=True)
    z = m - 1.0
    tail = lost * floating(f, bits(f, f.const(u.ty, 1.0)) - d)
    if large:
        tail = f.sel(f.cmp("olt", u, 2.0 ** 60), tail, 0.0)
    return log_sum(f, k if more is None else k + more, z, f.fma(tail, -z, tail))


@function("expm1")
def expm1(f: Operations, x: Val) -> Val:
    """2^n (1 + r + c) - 1 as 2 ((2^(n-1) - 1/2) + 2^(n-1) r + 2^(n-1) c): the bracket is exact
    where it matters, and the larger."""
    e = x.elem
    r, c, u = exp_parts_of_sum(f, clamp(f, x, {"float": -20.0, "double": -40.0}[e],
                                        EXP_RANGE[e][1]), None, -1)
    s = power(f, u, e)
    y, lost = fast_two_sum(f, s - 0.5, s * r)
    y = y + f.fma(s, c, lost)
    # whose half may have lost a bit
    return f.sel(f.cmp("olt", f.fabs(x), 2.0 ** -54), x, f.copysign(y + y, x))


@function("logit")
def logit(f: Operations, x: Val) -> Val:
    """log(q + lost), q = x / (1 - x) and what the quotient and the difference lost; x is raised
    so that q is no subnormal."""
    low = f.cmp("olt", x, 2.0 ** -64)
    raised = f.sel(low, x * 2.0 ** 64, x)
    d = 1.0 - x
    inverse = 1.0 / d
    q = raised * inverse
    lost = f.fma(-q, (1.0 - d) - x, f.fma(-q, d, raised)) * inverse
    more = f.sel(low, f.const(x.ty, -64.0), 0.0)
    r = log_of_sum(f, q, f.sel(low, 0.0, lost), more, large=False)
    r = f.sel(f.cmp("oeq", x, 0.0), -INF, f.sel(f.cmp("oeq", x, 1.0), INF, r))
    return f.sel(f.cmp("oge", x, 0.0) & f.cmp("ole", x, 1.0), r, NAN)


@function("sigmoid")
def sigmoid(f: Operations, x: Val) -> Val:
    """1 / (1 + 2^n (1 + q)) for -x = n ln2 + log(1 + q)."""
    edge, shift = EXP_LOW[x.elem]

    def plain() -> Val:
        q, u = exp_parts(f, -x)
        return over_one_more(f, 1.0, q, power(f, u, x.elem))

    def careful() -> Val:
        q, u = exp_parts(f,
                         clamp(f, -x, *{"float": (-32.0, 104.5), "double": (-64.0, 746.0)}[x.elem]))
        low = f.cmp("olt", x, edge)
        r = over_one_more(f, 1.0, q, power(f, f.sel(low, u - shift, u), x.elem))
        return lowered(f, r, low, shift)
    return unless_far(f, x, plain, careful)


def over_one_more(f: Operations, top: float | Val, q: Val, s: Val) -> Val:
    """top / (1 + s (1 + q)), the divisor formed with one rounding: s q is exact, and 1 + s is
    made good."""
    whole = s + 1.0
    return top / (f.fma(s, q, 1.0 - (whole - s)) + whole)


# Where x e^x is nothing, but e^x times 2^-shift of EXP_LOW still has a float.
VANISHES = {"float": -110.0, "double": -753.0}


@function("silu")
def silu(f: Operations, x: Val) -> Val:
    """x / (1 + e^-x); as C has it, not a number at -inf."""
    edge, shift = EXP_LOW[x.elem]
    least = VANISHES[x.elem]

    def plain() -> Val:
        q, u = exp_parts(f, -x)
        return over_one_more(f, x, q, power(f, u, x.elem))

    def careful() -> Val:
        q, u = exp_parts(f, clamp(f, -x, {"float": -32.0, "double": -64.0}[x.elem], -least))
        low = f.cmp("olt", x, edge)
        r = over_one_more(f, f.sel(f.cmp("olt", x, least), least, x), q,
                          power(f, f.sel(low, u - shift, u), x.elem))
        return f.sel(f.cmp("oeq", x, -INF), NAN, lowered(f, r, low, shift))
    return unless_far(f, x, plain, careful)


@function("softplus")
def softplus(f: Operations, x: Val) -> Val:
    """max(x, 0) + log(1 + m), m = e^-|x| with what its rounding lost; far below zero it is e^x."""
    edge = -EXP_LOW[x.elem][0]

    def near(a: Val) -> Val:
        q, u = exp_parts(f, -a)
        s = power(f, u, x.elem)
        m = f.fma(s, q, s)
        whole = m + 1.0
        lost = (m - (whole - 1.0)) + f.fma(s, q, s - m)
        return f.sel(f.cmp("ogt", x, 0.0), x, 0.0) + log_of_sum(f, whole, lost, large=False)

    def careful() -> Val:
        a = f.fabs(x)
        far = f.sel(f.cmp("olt", x, 0.0), exp(f, x), x)
        # lanes that are far away take part as zero, of which nothing underflows
        return f.sel(f.cmp("olt", a, edge), near(f.sel(f.cmp("olt", a, edge), a, 0.0)), far)
    return unless_far(f, x, lambda: near(f.fabs(x)), careful)
