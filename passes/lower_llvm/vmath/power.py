"""x ** y."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import coefficients as C
from .core import (
    BIAS,
    INF,
    NAN,
    TOP_BIT,
    bits,
    clamp,
    fast_two_sum,
    floating,
    function,
    nearest,
    poly,
    two_prod,
)
from .explog import LN2, MIN_NORMAL, exp_of_sum, mantissa
from .hyperbolic import THIRD

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations


@function("pow", "float")
def pow_f32(f: Operations, x: Val, y: Val) -> Val:
    return with_edges(f, x, y, power_f32)


def power_f32(f: Operations, x: Val, y: Val, normal: bool) -> Val:
    """2^(y log2 x) for x > 0 in f64, rounded once."""
    k, m, _ = mantissa(f, x, normal)
    k, z, y = (f.conv("fpext", v, "double") for v in (k, m - 1.0, y))
    t = clamp(f, f.fma(z, poly(f, z, C.POW_LOG2, 2), k) * y, -200.0, 200.0)
    n, u = nearest(f, t, 1.0, BIAS["double"])
    return f.conv("fptrunc", poly(f, t - n, C.POW_EXP2) * floating(f, u << 52), "float")


@function("pow", "double")
def pow_f64(f: Operations, x: Val, y: Val) -> Val:
    return with_edges(f, x, y, power_f64)


def power_f64(f: Operations, x: Val, y: Val, normal: bool) -> Val:
    """exp(y log x) for x > 0, the logarithm in two doubles."""
    hi, lo = long_log(f, x, normal)
    t = hi * y
    low = f.fma(hi, y, -t) + lo * y
    return exp_of_sum(f, t, f.sel(f.cmp("olt", f.fabs(t), 1000.0), low, 0.0))


def long_log(f: Operations, x: Val, normal: bool) -> tuple[Val, Val]:
    """log x in two doubles, good to 2^-65: with x = 2^k m and s = (m - 1) / (m + 1), k ln2 + 2s +
    2s (s^2/3 + s^4 p(s^2)).

    Only the last term is formed in one double."""
    k, m, _ = mantissa(f, x, normal)
    d, d_lost = fast_two_sum(f, f.const(x.ty, 1.0), m)
    inverse = 1.0 / d
    s = (m - 1.0) * inverse
    s_lost = f.fma(-s, d_lost, f.fma(-s, d, m - 1.0)) * inverse
    s2, s2_lost = s + s, s_lost + s_lost
    w, w_lost = two_prod(f, s, s)
    w_lost = f.fma(s2, s_lost, w_lost)
    third = THIRD["double"]
    p, p_lost = two_prod(f, w, f.const(x.ty, third[0]))
    p_lost = f.fma(w_lost, third[0], f.fma(w, third[1], p_lost))
    t, t_lost = fast_two_sum(f, p, w * w * poly(f, w, C.POW_LOG, 2))
    t_lost = t_lost + p_lost
    c, c_lost = two_prod(f, s2, t)
    c_lost = f.fma(s2, t_lost, f.fma(s2_lost, t, c_lost))
    log_m, lost = fast_two_sum(f, s2, c)
    lost = f.fma(k, LN2["double"][1], lost + (s2_lost + c_lost))
    # the product is exact, and zero or the larger one
    hi, more = fast_two_sum(f, k * LN2["double"][0], log_m)
    return fast_two_sum(f, hi, more + lost)


def with_edges(f: Operations, x: Val, y: Val, power: Callable[..., Any]) -> Val:
    """power(x, y) with all the cases of C99; where every x is positive, normal and finite and
    every y finite, without asking."""
    least, inf = (bits(f, f.const(x.ty, v)) for v in (MIN_NORMAL[x.elem], INF))
    odd = f.cmp("uge", bits(f, x) - least, inf - least) | f.cmp("uge", f.fabs(y), INF)
    return f.if_(f.any(odd), lambda: [edges(f, x, y, power(f, f.fabs(x), y, False))],
                 lambda: [power(f, x, y, True)])[0]


def edges(f: Operations, x: Val, y: Val, r: Val) -> Val:
    """r = |x|^y for ordinary x and y; the sign and all other cases."""
    e = x.elem
    a = f.fabs(x)
    inf_bits = bits(f, f.const(x.ty, INF))
    # 0 and inf change places where y < 0
    ends = floating(f, bits(f, a) ^ f.sel(f.cmp("olt", y, 0.0), inf_bits, 0))
    r = f.sel(f.cmp("oeq", a, 0.0) | f.cmp("oeq", a, INF), ends, r)
    r = f.sel(f.cmp("oeq", a, 1.0), 1.0, r)
    half = y * 0.5
    broken = f.cmp("une", y, f.rint(y))
    odd = f.cmp("one", half, f.rint(half)) & ~broken
    r = floating(f, bits(f, r) ^ f.sel(odd, bits(f, x) & TOP_BIT[e], 0))
    r = f.sel(broken & f.cmp("olt", x, 0.0) & f.cmp("ogt", x, -INF) | f.cmp("uno", x, y), NAN, r)
    return f.sel(f.cmp("oeq", x, 1.0) | f.cmp("oeq", y, 0.0), 1.0, r)
