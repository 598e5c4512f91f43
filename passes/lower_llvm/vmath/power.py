"""x ** y."""
from . import coefficients as C
from .core import BIAS, INF, NAN, TOP_BIT, bits, clamp, fast_two_sum, floating, function, gather, nearest, poly
from .explog import LN2, MIN_NORMAL, exp_of_sum, mantissa


@function("pow", "float")
def pow_f32(f, x, y):
    return with_edges(f, x, y, power_f32)


def power_f32(f, x, y, normal):
    """2^(y log2 x) for x > 0 in f64, rounded once."""
    k, m, _ = mantissa(f, x, normal)
    k, z, y = (f.conv("fpext", v, "double") for v in (k, m - 1.0, y))
    t = clamp(f, f.fma(z, poly(f, z, C.POW_LOG2), k) * y, -200.0, 200.0)
    n, u = nearest(f, t, 1.0, BIAS["double"])
    return f.conv("fptrunc", poly(f, t - n, C.POW_EXP2) * floating(f, u << 52), "float")


@function("pow", "double")
def pow_f64(f, x, y):
    return with_edges(f, x, y, power_f64)


def power_f64(f, x, y, normal):
    """exp(y log x) for x > 0, the logarithm in two doubles, good to 2^-66.

    x = 2^k m, j = 256/m rounded: r = m j/256 - 1 is exact, and log x = k ln2 - log(j/256) + log(1 + r)."""
    k, m, _ = mantissa(f, x, normal)
    j, u = nearest(f, poly(f, m, C.POW_INVERSE), 256.0)
    r = f.fma(m, j * (1 / 256), -1.0)
    at = (u & 0xFFF) - C.POW_FIRST                               # in the table for every m, so also for what NaN gives
    hi = gather(f, f.mod.table("vmath_pow_high", "double", C.POW_LOG_HIGH), at, "double")
    lo = gather(f, f.mod.table("vmath_pow_low", "double", C.POW_LOG_LOW), at, "double")
    a, e1 = fast_two_sum(f, f.fma(k, LN2["double"][0], hi), r)                           # the first operand is exact
    h = r * -0.5
    square = r * h
    b, e2 = fast_two_sum(f, a, square)
    rest = f.fma(k, LN2["double"][1], lo) + e1 + f.fma(r, h, -square) + e2
    rest = f.fma(r * r * r, poly(f, r, C.POW_LOG), rest)
    hi, lo = fast_two_sum(f, b, rest)
    t = hi * y
    low = f.fma(hi, y, -t) + lo * y
    return exp_of_sum(f, t, f.sel(f.cmp("olt", f.fabs(t), 1000.0), low, 0.0))


def with_edges(f, x, y, power):
    """power(x, y) with all the cases of C99; where every x is positive, normal and finite and every y finite, without asking."""
    least, inf = (bits(f, f.const(x.ty, v)) for v in (MIN_NORMAL[x.elem], INF))
    odd = f.cmp("uge", bits(f, x) - least, inf - least) | f.cmp("uge", f.fabs(y), INF)
    return f.if_(f.any(odd), lambda: [edges(f, x, y, power(f, f.fabs(x), y, False))], lambda: [power(f, x, y, True)])[0]


def edges(f, x, y, r):
    """r = |x|^y for ordinary x and y; the sign and all other cases."""
    e = x.elem
    a = f.fabs(x)
    inf_bits = bits(f, f.const(x.ty, INF))
    ends = floating(f, bits(f, a) ^ f.sel(f.cmp("olt", y, 0.0), inf_bits, 0))            # 0 and inf change places where y < 0
    r = f.sel(f.cmp("oeq", a, 0.0) | f.cmp("oeq", a, INF), ends, r)
    r = f.sel(f.cmp("oeq", a, 1.0), 1.0, r)
    half = y * 0.5
    broken = f.cmp("une", y, f.rint(y))
    odd = f.cmp("one", half, f.rint(half)) & ~broken
    r = floating(f, bits(f, r) ^ f.sel(odd, bits(f, x) & TOP_BIT[e], 0))
    r = f.sel(broken & f.cmp("olt", x, 0.0) & f.cmp("ogt", x, -INF) | f.cmp("uno", x, y), NAN, r)
    return f.sel(f.cmp("oeq", x, 1.0) | f.cmp("oeq", y, 0.0), 1.0, r)
