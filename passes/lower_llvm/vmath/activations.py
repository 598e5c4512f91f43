"""Activations whose parts, rounded one by one, would be worse than the whole."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .core import INF, NAN, clamp, fast_two_sum, function, power
from .explog import (
    EXP_LOW,
    VANISHES,
    exp_parts,
    exp_parts_of_sum,
    lowered,
    over_one_more,
    unless_far,
)

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.operations import Operations


@function("mish")
def mish(f: Operations, x: Val) -> Val:
    """x tanh(log(1 + e^x)). With m = e^-|x| it is x N / D: N = 1 + 2m and D = N + 2m^2 above zero,
    N = 2m + m^2 and D = N + 2 below. As C has the product, not a number at -inf."""
    edge, shift = EXP_LOW[x.elem]
    least = VANISHES[x.elem]
    negative = f.cmp("olt", x, 0.0)

    def whole(x: Val, q: Val, s: Val) -> Val:
        m = f.fma(s, q, s)
        lost = f.fma(s, q, s - m) * 2.0
        twice, square = m + m, m * m
        n, n_lost = fast_two_sum(f, f.sel(negative, twice, 1.0), f.sel(negative, square, twice))
        n_lost = n_lost + lost
        d, d_lost = fast_two_sum(f, f.sel(negative, f.const(x.ty, 2.0), n),
                                 f.sel(negative, n, square + square))
        d_lost = d_lost + n_lost
        inverse = 1.0 / d
        y = n * inverse
        return f.copysign(
            f.fma(x, y, x * ((f.fma(-y, d, n) + f.fma(-y, d_lost, n_lost)) * inverse)), x)

    def plain() -> Val:
        q, u = exp_parts(f, -f.fabs(x))
        return whole(x, q, power(f, u, x.elem))

    def careful() -> Val:
        far = f.cmp("ogt", f.fabs(x), -edge)
        q, u = exp_parts(f, clamp(f, -f.fabs(x), least, 0.0))
        b = f.sel(f.cmp("olt", x, least), least, x)
        r = whole(b, q, power(f, f.sel(far, u + shift, u), x.elem))
        r = f.sel(negative, lowered(f, r, far, shift), f.sel(far, b, r))
        return f.sel(f.cmp("oeq", x, -INF), NAN, r)
    return unless_far(f, x, plain, careful)


# 2 sqrt(2 / pi) in two parts, so that a sum with the first loses nothing of it; that times 0.044715
# as well as two numbers can.
SLOPE = {
    "float": (1.5957679748535156, 1.1467521972008399e-06),
    "double": (1.595769121605727, 3.675065195634423e-15)}
CUBIC = {
    "float": (0.07135481387376785, 2.3988324659995897e-09),
    "double": (0.07135481627260025, -6.175149918155315e-19)}
# From the first on with care; from there on nothing is left; from there on nothing is lacking.
GELU_RANGE = {"float": (9.0, -10.9, 6.0), "double": (20.0, -21.6, 8.0)}


@function("gelu_tanh")
def gelu_tanh(f: Operations, x: Val) -> Val:
    """x (1 + tanh(y)) / 2 = x / (1 + e^-2y), 2y = x (SLOPE + CUBIC x^2) in two parts; as C has
    the product, not a number at -inf."""
    edge, least, most = GELU_RANGE[x.elem]
    shift = EXP_LOW[x.elem][1]

    def parts(x: Val) -> tuple[Val, Val]:
        z = x * x
        c, c_low = CUBIC[x.elem]
        w = z * c
        below = f.fma(z, c, -w) + f.fma(f.fma(x, x, -z), c, f.fma(z, c_low, SLOPE[x.elem][1]))
        whole = w + SLOPE[x.elem][0]
        lost = (w - (whole - SLOPE[x.elem][0])) + below
        y = x * whole
        near, below_it, u = exp_parts_of_sum(f, -y, -f.fma(x, lost, f.fma(x, whole, -y)))
        return near + below_it, u

    def plain() -> list[Val]:
        q, u = parts(x)
        return [over_one_more(f, x, q, power(f, u, x.elem))]

    def careful() -> list[Val]:
        q, u = parts(clamp(f, x, least, most))
        low = f.cmp("olt", x, -edge)
        r = over_one_more(f, f.sel(f.cmp("olt", x, least), least, x), q,
                          power(f, f.sel(low, u - shift, u), x.elem))
        return [f.sel(f.cmp("oeq", x, -INF), NAN, lowered(f, r, low, shift))]
    return f.if_(f.any(f.cmp("uge", f.fabs(x), edge)), careful, plain)[0]
