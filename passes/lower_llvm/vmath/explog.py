"""Exponentials, logarithms and what is made of them."""
from . import coefficients as C
from .core import BIAS, INF, NAN, bits, clamp, floating, function, nearest, poly, power, two_sum

LOG2E = 1.4426950408889634
LN2 = {"float": (0.693145751953125, 1.42860682030941723e-06),             # n * the first is exact for |n| < 2^11
       "double": (0.693147180369123816490, 1.90821492927058770002e-10)}


def exp_parts(f, x, plus=0, tail=None):
    """x + tail = n ln2 + r: (q, u), q = e^r - 1, u with n + BIAS + plus in its low bits."""
    n, u = nearest(f, x, LOG2E, BIAS[x.elem] + plus)
    hi, lo = LN2[x.elem]
    cs = C.EXP_F32 if x.elem == "float" else C.EXP_F64
    a = f.fma(n, -hi, x)
    if tail is None:
        r = f.fma(n, -lo, a)
        return f.fma(r * r, poly(f, r, cs), r), u
    tail = f.fma(n, -lo, tail)
    r = a + tail
    return f.fma(r * r, poly(f, r, cs), (a - r) + tail) + r, u


EXP_RANGE = {"float": (-104.5, 89.0), "double": (-746.0, 710.0)}
# Below `edge` the result is close to the subnormals: it is computed 2^shift too large.
EXP_LOW = {"float": (-86.0, 64), "double": (-707.0, 128)}


@function("exp")
def exp(f, x):
    return exp_of_sum(f, x, None)


def exp_of_sum(f, x, tail):
    """e^(x + tail): 2^n (1 + q), as 2^(n-1) times 2 (1 + q), since 2^(n-1) is a float up to the largest result."""
    edge, shift = EXP_LOW[x.elem]
    q, u = exp_parts(f, clamp(f, x, *EXP_RANGE[x.elem]), -1, tail)
    low = f.cmp("olt", x, edge)
    p = q + 1.0
    r = (p + p) * power(f, f.sel(low, u + shift, u), x.elem)
    return f.sel(low, r * 2.0 ** -shift, r)


# ---- logarithms ----------------------------------------------------------------------------------------------------
MIN_NORMAL = {"float": 2.0 ** -126, "double": 2.0 ** -1022}
SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
RAISE = {"float": 24, "double": 54}                                      # makes a subnormal normal
LN2_F32 = 0.693147182464599609375


def mantissa(f, x, normal=False):
    """x > 0 is 2^k m with m in [sqrt 1/2, sqrt 2): (k, m, d), k as a float, d = k at the place of the exponent.

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
    else:                                         # 64-bit conversions and arithmetic shifts are slow before AVX-512
        b = f.lshr(t + (1024 << 52), 52)
        d = (b << 52) - (1024 << 52)
        k = floating(f, b | 0x4330000000000000) - (2.0 ** 52 + 1024)
    m = floating(f, u - d)
    return (k if normal else f.sel(tiny, k - float(RAISE[e]), k)), m, d


def log_sum(f, k, z, tail=None):
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
    return f.fma(k, hi, z - (half - f.fma(s, f.fma(w, poly(f, w, C.LOG_F64), half), low)))


def log_edges(f, x, r):
    """r where x is positive and finite, what a logarithm gives elsewhere."""
    r = f.sel(f.cmp("oeq", x, 0.0), -INF, r)
    r = f.sel(f.cmp("ult", x, 0.0), NAN, r)
    return f.sel(f.cmp("oeq", x, INF), INF, r)


@function("log")
def log(f, x):
    k, m, _ = mantissa(f, x)
    return log_edges(f, x, log_sum(f, k, m - 1.0))


# ---- around zero ---------------------------------------------------------------------------------------------------
@function("log1p")
def log1p(f, x):
    return f.copysign(log_edges(f, x + 1.0, log1p_core(f, x)), x)


def log1p_core(f, x):
    """log(1 + x) for x > -1: with u = 1 + x rounded, = 2^k m, and `lost` what the rounding lost: log m + k ln2 + lost / u."""
    u, lost = two_sum(f, x, f.const(x.ty, 1.0))
    k, m, d = mantissa(f, u, normal=True)
    z = m - 1.0
    one = {"float": 127 << 23, "double": 1023 << 52}[x.elem]
    tail = f.sel(f.cmp("olt", x, 2.0 ** 60), lost * floating(f, one - d), 0.0)          # 2^-k is a float only for moderate k
    return log_sum(f, k, z, f.fma(tail, -z, tail))


@function("expm1")
def expm1(f, x):
    """2^n (1 + q) - 1 = 2 ((2^(n-1) - 1/2) + 2^(n-1) q), the bracket's first part being exact where it matters."""
    e = x.elem
    q, u = exp_parts(f, clamp(f, x, {"float": -20.0, "double": -40.0}[e], EXP_RANGE[e][1]), -1)
    s = power(f, u, e)
    r = f.fma(s, q, s - 0.5)
    return f.copysign(r + r, x)


@function("tanh")
def tanh(f, x):
    """|x| < 0.55: a polynomial; above: 1 - 2 / (e^2|x| + 1), flat from 10 (f64: 20) on."""
    single = x.elem == "float"
    top = 10.0 if single else 20.0
    a = f.fabs(x)
    z = x * x
    small = f.fma(x * z, poly(f, z, C.TANH_F32 if single else C.TANH_F64), x)
    b = f.sel(f.cmp("ogt", a, top), top, a)
    n, u = nearest(f, b, 2 * LOG2E, BIAS[x.elem])
    if single:                                                           # n is small: one constant for ln2 is enough
        r = f.fma(n, -LN2_F32 / 2, b)
    else:
        hi, lo = LN2["double"]
        r = f.fma(n, -lo / 2, f.fma(n, -hi / 2, b))
    s = power(f, u, x.elem)
    big = 1.0 - 2.0 / f.fma(s, r * poly(f, r, C.EXP_TWICE_F32 if single else C.EXP_TWICE_F64), s + 1.0)
    return f.sel(f.cmp("olt", a, 0.55), small, f.copysign(big, x))


@function("sigmoid")
def sigmoid(f, x):
    """1 / (1 + 2^n (1 + q)) for -x = n ln2 + log(1 + q); the divisor is formed with one rounding."""
    e = x.elem
    edge, shift = EXP_LOW[e]
    q, u = exp_parts(f, clamp(f, -x, {"float": -32.0, "double": -64.0}[e], -EXP_RANGE[e][0]))
    low = f.cmp("olt", x, edge)
    s = power(f, f.sel(low, u - shift, u), e)
    r = 1.0 / f.fma(s, q, s + 1.0)
    return f.sel(low, r * 2.0 ** -shift, r)
