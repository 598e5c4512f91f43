"""Fits the polynomials of this package and writes `coefficients.py`:  python -m
whet.passes.lower_llvm.vmath.fit

Run by hand when a polynomial changes (needs mpmath); nothing here runs when the package is
imported. A new polynomial that the package already reads is made by running this file by its path.

A polynomial is a weighted least-squares fit at Chebyshev nodes (close to the minimax one), with
coefficients rounded one by one, lowest first, to the type they are used in; each rounding is made
good by the coefficients that are still free.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import mpmath as mp

mp.mp.prec = 300


# a number of mpmath, which has no types, or Python's
Real: TypeAlias = Any
Function: TypeAlias = Callable[[Real], Real]
Rounding: TypeAlias = Callable[[Real], float]
# name, function, lo, hi, degree, rounding, weight
Polynomial: TypeAlias = tuple[str, Function, Real, Real, int, Rounding, Function | None]


def single(v: Real) -> float:
    return float(struct.unpack("f", struct.pack("f", float(v)))[0])


def fit(f: Function, lo: Real, hi: Real, degree: int, rounded: Rounding = float,
        weight: Function | None = None) -> tuple[list[float], float]:
    """(coefficients in rising powers, log2 of the error). `weight`: the factor of the polynomial's
    error in the result."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    n = 6 * (degree + 1)
    mid, half = (lo + hi) / 2, (hi - lo) / 2
    xs = [mid + half * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    ws = [mp.mpf(weight(x)) if weight else mp.mpf(1) for x in xs]
    rest = [mp.mpf(f(x)) for x in xs]
    done: list[float] = []

    def keep(c: float) -> None:
        k = len(done)
        done.append(c)
        for i, x in enumerate(xs):
            rest[i] -= mp.mpf(c) * x ** k

    while len(done) <= degree:
        k, m = len(done), degree + 1 - len(done)
        rows = [[w * x ** (k + j) / half ** (k + j) for j in range(m)]
                for w, x in zip(ws, xs, strict=True)]
        normal = mp.matrix(m, m)
        right = mp.matrix(m, 1)
        for i in range(m):
            for j in range(i, m):
                normal[i, j] = normal[j, i] = mp.fsum(r[i] * r[j] for r in rows)
            right[i] = mp.fsum(r[i] * w * y for r, w, y in zip(rows, ws, rest, strict=True))
        keep(rounded(mp.lu_solve(normal, right)[0] / half ** k))
    worst = max(abs(r * w) for r, w in zip(rest, ws, strict=True))
    return done, float(mp.log(worst, 2)) if worst else -mp.inf


LN2 = mp.log(2)
HALF_LN2 = LN2 / 2 * mp.mpf("1.001")
SQRT_HALF = mp.sqrt(mp.mpf(1) / 2)
# m - 1 for a mantissa m in [sqrt 1/2, sqrt 2)
M_LO, M_HI = SQRT_HALF - 1, 2 * SQRT_HALF - 1
QUARTER_PI = mp.pi / 4 * mp.mpf("1.005")
TINY = mp.mpf(10) ** -40


def exp_tail(x: Real) -> Real:
    """(e^x - 1 - x) / x^2"""
    return (mp.expm1(x) - x) / x ** 2


DIGAMMA_ROOT = mp.findroot(mp.digamma, 1.4616)
# the least 1/y^2 at which the gamma functions are sampled
FAR = mp.mpf(10) ** -16


def of_inverse_square(f: Function) -> Function:
    return lambda z: f(1 / mp.sqrt(z))


def erfinv(a: Real, w: Real) -> Real:
    """For w = -log(1 - a^2), by Newton's method on log(erfc(x)), which is concave."""
    target = -w - mp.log(1 + a)
    x = mp.mpf(0)
    for _ in range(200):
        c = mp.erfc(x)
        step = (mp.log(c) - target) * c * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
        x += step
        if abs(step) < mp.mpf(10) ** -50 * abs(x):
            break
    return x


def inverse(w: Real) -> Real:
    """erfinv(x) / x for w = -log(1 - x^2)"""
    a = mp.sqrt(1 - mp.exp(-w))
    return erfinv(a, w) / a


def mills(a: Real) -> Real:
    """e^(a^2 / 2) Phi(-a)"""
    return mp.exp(a * a / 2) * mp.erfc(a / mp.sqrt(2)) / 2


def normal_divisor(a: Real) -> Real:
    """p of 1 / (1 + a + a p(a)) = 2 mills(a)"""
    return (1 / (2 * mills(a)) - 1) / a - 1


def erfcx(a: Real) -> Real:
    """e^(a^2) erfc(a)"""
    return mp.exp(a * a) * mp.erfc(a)


def erfc_divisor(a: Real) -> Real:
    """p of 1 / (1 + a + a p(a)) = erfcx(a)"""
    return (1 / erfcx(a) - 1) / a - 1


# where `normal.tail_f32` changes its formula
NORMAL_FAR, ERFC_FAR = mp.mpf("3.5"), mp.mpf("2.5")


def two_atanh(z: Real) -> Real:
    """(2 atanh(s) - 2s) / s^3, z = s^2"""
    return (mp.log((1 + mp.sqrt(z)) / (1 - mp.sqrt(z))) / mp.sqrt(z) - 2) / z


def of_powers() -> Iterator[Polynomial]:
    """Exponentials, logarithms and functions of these."""
    r2 = lambda r: r * r / mp.exp(r)
    yield "exp_f32", exp_tail, -HALF_LN2, HALF_LN2, 4, single, r2
    yield "exp_f64", exp_tail, -HALF_LN2, HALF_LN2, 9, float, r2
    exp2 = lambda r: (mp.mpf(2) ** r - 1) / r                            # 2^r = 1 + r p(r)
    yield "exp2_f32", exp2, -.5005, .5005, 5, single, lambda r: r
    yield "exp2_f64", exp2, -.5005, .5005, 10, float, lambda r: r
    # log_b(1 + f) = f * slope + f p(f)
    for base in 2, 10:
        slope = single(1 / mp.log(base))
        yield f"log{base}_f32", lambda f: mp.log1p(f) / mp.log(
            base) / f - slope, M_LO, M_HI, 9, single, None
    yield "log_f32", lambda f: (mp.log1p(f) - f
                                ) / f ** 2, M_LO, M_HI, 8, single, lambda f: f * f / mp.log1p(f)
    # f64 log: with s = f / (2 + f), log1p(f) = 2s + s^3 * p(s^2)
    smax = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
    yield "log_f64", two_atanh, TINY, smax, 6, float, lambda z: z
    # (e^2r - 1) / 2 = r + r^2 p(r)
    half_expm1 = lambda r: (mp.expm1(2 * r) / 2 - r) / r ** 2
    yield "exp_twice_f32", lambda r: mp.expm1(
        2 * r) / r, -HALF_LN2 / 2, HALF_LN2 / 2, 5, single, lambda r: r
    yield "tanh_f32", half_expm1, -HALF_LN2 / 2, HALF_LN2 / 2, 5, single, lambda r: r
    yield "exp_twice_f64", lambda r: mp.expm1(
        2 * r) / r, -HALF_LN2 / 2, HALF_LN2 / 2, 11, float, lambda r: r
    yield "tanh_f64", half_expm1, -HALF_LN2 / 2, HALF_LN2 / 2, 10, float, lambda r: r
    # tanhshrink(x) = x^3 (1/3 + z p(z)), z = x^2
    shrink: Function = lambda z: (1 - mp.tanh(mp.sqrt(z)) / mp.sqrt(z)) / z
    rest = lambda z: (shrink(z) - mp.mpf(1) / 3) / z
    yield "tanhshrink_f32", rest, TINY, mp.mpf("1.0001"), 6, single, lambda z: z / shrink(z)
    yield "tanhshrink_f64", rest, TINY, mp.mpf("1.0001"), 15, float, lambda z: z / shrink(z)
    sinh_tail = lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    yield "sinh_f32", sinh_tail, TINY, 1.001, 3, single, lambda z: z
    yield "sinh_f64", sinh_tail, TINY, 1.001, 7, float, lambda z: z
    # pow of f32 in f64: log2(1 + f) = f p(f), 2^r = p(r)
    yield "pow_log2", lambda f: mp.log1p(f) / LN2 / f, M_LO, M_HI, 11, float, None
    yield "pow_exp2", lambda r: mp.mpf(2) ** r, -.5001, .5001, 6, float, None
    # pow of f64: atanh(s) = s + s^3/3 + s^5 p(s^2)
    fifth = lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z ** 2
    yield "pow_log", fifth, mp.mpf(10) ** -15, smax, 6, float, None
    yield "cbrt", lambda m: 1 / mp.cbrt(m), SQRT_HALF, 2 * SQRT_HALF, 5, float, lambda m: mp.cbrt(m)


def of_angles() -> Iterator[Polynomial]:
    """Trigonometric functions and their inverses, and the error function of f32."""
    # erf: x + x p(x^2) up to 1.1, 1 - p(x - 2.5)^4 up to 3.93, where it rounds to 1
    yield "erf_small_f32", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(
        z) - 1, TINY, 1.1 ** 2, 6, single, None
    root: Function = lambda t: mp.erfc(t + 2.5) ** (mp.mpf(1) / 4)
    yield "erf_large_f32", root, -1.4, 1.43, 8, single, lambda t: 4 * root(t) ** 3
    # sin(r) = r + r^3 p(r^2), cos(r) = 1 - r^2/2 + r^4 p(r^2)
    zmax = QUARTER_PI ** 2
    sin_tail = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    cos_tail = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2
    yield "sin_f32", sin_tail, TINY, zmax, 2, single, lambda z: z
    yield "cos_f32", cos_tail, TINY, zmax, 2, single, lambda z: z * z
    yield "sin_f64", sin_tail, TINY, zmax, 5, float, lambda z: z
    yield "cos_f64", cos_tail, TINY, zmax, 5, float, lambda z: z * z
    tan_tail = lambda z: (mp.tan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    asin_tail = lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    atan_tail = lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    yield "tan_f32", tan_tail, TINY, zmax, 6, single, lambda z: z
    yield "tan_f64", tan_tail, TINY, zmax, 13, float, lambda z: z
    yield "asin_f32", asin_tail, TINY, .25, 4, single, lambda z: z
    yield "asin_f64", asin_tail, TINY, .25, 12, float, lambda z: z
    yield "atan_f32", atan_tail, TINY, 1, 8, single, lambda z: z
    yield "atan_f64", atan_tail, TINY, 1, 19, float, lambda z: z


def of_distributions() -> Iterator[Polynomial]:
    """The error function of f64, the normal distribution function and the gamma family."""
    # the error function of f64
    yield "erf_small_f64", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(
        z) - 1, TINY, .9 ** 2, 11, float, None
    scaled_at: Function = lambda a: mp.exp(a * a) * mp.erfc(a) * (a + 2)
    scaled: Function = lambda q: scaled_at(2 * (1 + q) / (1 - q))
    yield "erfc", scaled, -mp.mpf(3) / 5, mp.mpf(26) / 30, 22, float, lambda q: 1 / scaled(q)
    yield "erfinv_middle", lambda t: inverse(t + 3), mp.mpf(
        "-2.9999"), 3, 24, float, lambda t: 1 / inverse(t + 3)
    yield "erfinv_tail", lambda t: inverse((t + 3.25) ** 2), mp.sqrt(6) - 3.25, .75, 20, float, None
    yield "erfinv_far", lambda t: inverse((t + 5) ** 2), -1, 1.03, 18, float, None
    # beside ERFINV_HIGH_F32 and ERFINV_TAIL_HIGH_F32
    yield "erfinv_middle_f32", lambda t: inverse(t + 3) - single(inverse(3)), mp.mpf(
        "-2.9999"), 3.02, 11, single, lambda t: 1 / inverse(t + 3)
    yield "erfinv_tail_f32", lambda t: inverse((t + 3.25) ** 2) - single(
        inverse(mp.mpf(3.25) ** 2)), mp.sqrt(6) - 3.25, .76, 10, single, lambda t: 1 / inverse(
            (t + 3.25) ** 2)
    # p of ndtri, which has arguments near 0, goes on from where that of erfinv ends
    yield "ndtri_far", lambda t: inverse((t + 9) ** 2), -3.01, 3.01, 18, float, lambda t: 1 / (
        t + 9)
    yield "ndtri_farthest", lambda t: inverse(
        (t + 19.5) ** 2), -7.6, 7.9, 19, float, lambda t: 1 / (t + 19.5)
    # the normal distribution function of f32: see `normal.tail_f32`
    yield "normal_near", normal_divisor, TINY, NORMAL_FAR, 8, single, lambda a: 2 * a * mills(a)
    yield "normal_far", lambda z: 2 * mills(1 / mp.sqrt(z)) / mp.sqrt(z), mp.mpf(
        "14.6") ** -2, NORMAL_FAR ** -2, 6, single, None
    # and erfc of f32
    yield "erfc_near_f32", erfc_divisor, TINY, ERFC_FAR, 8, single, lambda a: a * erfcx(a)
    yield "erfc_far_f32", lambda z: erfcx(1 / mp.sqrt(z)) / mp.sqrt(z), mp.mpf(
        "10.3") ** -2, ERFC_FAR ** -2, 6, single, None
    # the gamma family
    yield "sin_pi", lambda z: (mp.sin(mp.pi * mp.sqrt(z)) /
                               (mp.pi * mp.sqrt(z)) - 1) / z, TINY, .25, 8, float, lambda z: z
    yield "lgamma_two", lambda t: mp.loggamma(2 + t) / t, -.75, .5, 21, float, None
    yield "lgamma_log", two_atanh, TINY, mp.mpf(1) / 9, 10, float, lambda z: z
    stirling = lambda y: (mp.loggamma(y) - (y - .5) *
                          (mp.log(y) - 1) - mp.log(2 * mp.pi) / 2 + mp.mpf(1) / 2) * y
    yield "lgamma_stirling", of_inverse_square(stirling), FAR, mp.mpf(1) / 36, 7, float, None
    yield "digamma", lambda t: mp.digamma(t + 1.5) / (t + 1.5
                                                      - DIGAMMA_ROOT), -.5, .5, 20, float, None
    digamma_tail = lambda y: (mp.log(y) - .5 / y - mp.digamma(y)) * y ** 2
    yield "digamma_tail", of_inverse_square(digamma_tail), FAR, mp.mpf(1) / 36, 7, float, None
    trigamma_tail = lambda y: (mp.psi(1, y) - 1 / y - .5 / y ** 2) * y ** 3
    yield "trigamma_tail", of_inverse_square(trigamma_tail), FAR, mp.mpf(1) / 36, 8, float, None
    polygamma2_tail = lambda y: (-mp.psi(2, y) - 1 / y ** 2 - 1 / y ** 3) * y ** 4
    yield "polygamma2_tail", of_inverse_square(polygamma2_tail), FAR, mp.mpf(1) / 36, 9, float, None


def polynomials() -> Iterator[Polynomial]:
    """What is fitted."""
    yield from of_powers()
    yield from of_angles()
    yield from of_distributions()


def emit_module(polys: Iterable[tuple[str, list[float], float]]) -> str:
    out = ['"""Polynomial coefficients in rising powers, written by `fit.py`."""',
           "from __future__ import annotations", ""]
    for name, cs, err in polys:
        line, lines = "", []
        for c in cs:
            if len(line) + len(repr(c)) > 95:
                lines.append(line.rstrip())
                line = ""
            line += repr(c) + ", "
        lines.append(line.rstrip())
        out.append(f"{name.upper()} = (    # error 2^{err:.1f}")
        out += ["    " + x for x in lines]
        out.append(")")
    root = float(DIGAMMA_ROOT - 1)
    out += [
        f"DIGAMMA_ROOT = ({root!r}, {float(DIGAMMA_ROOT - 1 - root)!r})    # less 1"]
    out += [f"LGAMMA_CONSTANT = {float(mp.log(2 * mp.pi) / 2 - mp.mpf(1) / 2)!r}"]
    out += [f"ERFINV_HIGH_F32 = {single(inverse(mp.mpf(3)))!r}"]
    out += [f"ERFINV_TAIL_HIGH_F32 = {single(inverse(mp.mpf(3.25) ** 2))!r}"]
    out += [f"LOG{b}_SLOPE = {single(1 / mp.log(b))!r}" for b in (2, 10)]
    out += ["# The bits of 2/pi in words of 64, after a word of zeros.", "TWO_OVER_PI_WORDS = ("]
    with mp.workprec(1400):
        digits = int(mp.floor(mp.mpf(2) ** 1280 * 2 / mp.pi))
    words = [0] + [digits >> 64 * (19 - i) & (1 << 64) - 1 for i in range(20)]
    out += (
        ["    " + ", ".join(hex(w) for w in words[i:i + 4]) + ","
         for i in range(0, len(words), 4)] + [")"])
    return "\n".join(out) + "\n"


def main() -> None:
    rows = []
    for name, f, lo, hi, degree, rounded, weight in polynomials():
        cs, err = fit(f, lo, hi, degree, rounded, weight)
        print(f"{name:16} degree {degree:2} error 2^{err:.1f}", flush=True)
        rows.append((name, cs, err))
    Path(__file__).with_name("coefficients.py").write_text(emit_module(rows))


if __name__ == "__main__":
    main()
