"""Angles beyond the reach of `vmath.trig.reduce` (Payne and Hanek), for whole blocks:
`vmath.trig.far_function` in 64-bit words."""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.passes.lower_llvm.vmath import coefficients as C
from whet.passes.lower_llvm.vmath.core import INF, TOP_BIT, bits, fast_two_sum, floating, two_prod
from whet.passes.lower_llvm.vmath.trig import LIMIT, PI_2

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val

    from .builder import Code

WORDS = {"float": 3, "double": 17}          # how far into the table the largest exponent begins


def _two_over_pi(f: Code, word: Val, shift: Val, words: int) -> list[Val]:
    """Three words of 2/pi, from bit `shift` of word number `word` on, which is below `words`."""
    ws = []
    for i in range(4):
        w: Val = f.const("i64", C.TWO_OVER_PI_WORDS[i])
        for k in range(1, words):
            w = f.sel(f.cmp("eq", word, k), C.TWO_OVER_PI_WORDS[k + i], w)
        ws.append(w)
    return [
        (p << shift) | f.lshr(f.lshr(q, 1), 63 - shift) for p, q in zip(ws, ws[1:], strict=False)]


def _without_zeros(f: Code, high: Val, low: Val) -> tuple[Val, Val, Val]:
    """Two words moved left until a one is in front; by how many places, up to 126."""
    zeros: Val = f.const("i64", 0)
    for step in (32, 16, 8, 4, 2, 1, 32, 16, 8, 4, 2, 1):
        empty = f.cmp("eq", f.lshr(high, 64 - step), 0)
        high = f.sel(empty, (high << step) | f.lshr(low, 64 - step), high)
        low = f.sel(empty, low << step, low)
        zeros = f.sel(empty, zeros + step, zeros)
    return high, low, zeros


def reduce_far(f: Code, x: Val, r: Val, lo: Val, u: Val) -> list[Val]:
    """(r, lo, u) as they are, but for elements beyond LIMIT: |x| = M 2^e; a window of 2/pi times
    M is |x| 2/pi mod 4."""
    elem = x.ty
    a = f.fabs(x)
    far = f.cmp("ogt", a, LIMIT[elem]) & f.cmp("olt", a, INF)
    b = bits(f, f.conv("fpext", x, "double"))
    e = (f.lshr(b, 52) & 0x7FF) - 1075
    m = b & ((1 << 52) - 1) | 1 << 52
    start = e + 62
    word, shift = start >> 6, start & 63
    window = _two_over_pi(f, word, shift, WORDS[elem])
    low = m * window[1]
    more = f.high_product(m, window[2])
    low = low + more
    high = (m * window[0] + f.high_product(m, window[1])
            + f.conv("zext", f.cmp("ult", low, more), "i64"))
    q = f.lshr(high + (1 << 61), 62)
    high = high - (q << 62)
    negative = f.cmp("slt", high, 0)
    high = f.sel(negative, ~high + f.conv("zext", f.cmp("eq", low, 0), "i64"), high)
    low = f.sel(negative, 0 - low, low)
    high, low, zeros = _without_zeros(f, high, low)
    upper, lower = f.lshr(high, 11), ((high << 42) | f.lshr(low, 22)) & ((1 << 53) - 1)
    scale = floating(f, (1023 - 51 - zeros) << 52)
    hi, rest = (f.conv("sitofp", upper, "double") * scale, f.conv("sitofp", lower, "double") *
                (scale * 2.0 ** -53))
    c1, c2, _ = PI_2["double"]
    r64, e1 = two_prod(f, hi, f.const("double", c1))
    r64, lo64 = fast_two_sum(f, r64, f.fma(hi, c2, f.fma(rest, c1, e1)))
    sign = b & TOP_BIT["double"]
    flip = f.sel(negative, sign ^ TOP_BIT["double"], sign)
    r64, lo64 = (floating(f, bits(f, v) ^ flip) for v in (r64, lo64))
    n = f.sel(f.cmp("slt", b, 0), 0 - q, q)
    if elem == "float":
        r32 = f.conv("fptrunc", r64, "float")
        r64, lo64, n = (r32,
                        f.conv("fptrunc", (r64 - f.conv("fpext", r32, "double")) + lo64,
                               "float"), f.conv("trunc", n, "i32"))
    return [f.sel(far, r64, r), f.sel(far, lo64, lo), f.sel(far, n, u)]
