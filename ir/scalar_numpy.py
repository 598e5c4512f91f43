"""The primitives of `ir/scalar.py` in NumPy: the reference with which every target is compared.

Where a formula would lose digits it is computed in float64, or from a series."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any                   # an array, or a NumPy scalar


def each(f: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one Python float as a NumPy function (the reference where NumPy has none)."""
    g = np.frompyfunc(f, 1, 1)

    def run(a: Array) -> Array:
        a = np.asarray(a)
        wide = a.astype(np.float64, copy=False)
        return g(wide).astype(np.float64).astype(a.dtype) if a.ndim else a.dtype.type(f(float(a)))
    return run


def wide(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A NumPy function of one operand, computed in float64."""
    def run(a: Array) -> Array:
        a = np.asarray(a)
        return np.asarray(f(a.astype(np.float64, copy=False)), a.dtype)
    return run


def logistic_times(a: Array, t: Array) -> Array:
    """a / (1 + e^-t)"""
    e = np.exp(-np.abs(t))
    return a * np.where(t < 0, e, 1.0) / (1 + e)


def logit(a: Array) -> Array:
    """Near a half, where the logarithm vanishes, from the distance to it, which is exact."""
    return np.where(np.abs(a - 0.5) < 0.25, np.log1p((a + a - 1) / (1 - a)), np.log(a / (1 - a)))


def silu(a: Array) -> Array:
    return logistic_times(a, a)


def gelu_tanh(a: Array) -> Array:
    return logistic_times(a, math.sqrt(8 / math.pi) * a * (1 + 0.044715 * a * a))


def mish(a: Array) -> Array:
    m = np.exp(-np.abs(a))
    return a * np.where(a < 0, m * (2 + m) / (2 + m * (2 + m)), (1 + 2 * m) / (1 + 2 * m * (1 + m)))


def tanhshrink(a: Array) -> Array:
    z = a * a
    series = a * z * (1 / 3
                      - z
                      * (2 / 15
                         - z
                         * (17 / 315
                            - z * (62 / 2835 - z * (1382 / 155925 - z * 21844 / 6081075)))))
    return np.where(np.abs(a) < 0.1, series, a - np.tanh(a))


def erfcx(a: Array) -> Array:
    z = 1 / np.maximum(a, 25) ** 2
    far = 1 - z * (1 / 2 - z * (3 / 4 - z * (15 / 8 - z * (105 / 16 - z * 945 / 32))))
    return np.where(a > 25, far / math.sqrt(math.pi) / a, np.exp(a * a) * each(math.erfc)(a))


def ndtr(a: Array) -> Array:
    return 0.5 * each(math.erfc)(a * -math.sqrt(0.5))


def ndtri(a: Array) -> Array:
    """Through erfinv in the middle; Newton's steps on the logarithm in the tails; the reference
    only."""
    with np.errstate(all="ignore"):
        low = np.minimum(a, 1 - a)
        l = np.log(np.minimum(low, 0.1))
        r = -2 * l - math.log(2 * math.pi)
        x = -np.sqrt(np.maximum(r - np.log(np.maximum(r, 1)), 0.5))
        for _ in range(4):
            v = np.log(erfcx(x * -math.sqrt(0.5)) * 0.5) - 0.5 * x * x
            x = x - (v - l) * np.exp(v + 0.5 * x * x + 0.5 * math.log(2 * math.pi))
        x = np.where(low == 0, -np.inf, np.where(a > 0.5, -x, x))
        r = np.where(low > 0.1, math.sqrt(2) * erfinv(2 * a - 1), np.where(a == 1, np.inf, x))
        return np.where((a >= 0) & (a <= 1), r, np.nan)


def sinc(a: Array) -> Array:
    n = np.rint(a)
    s = np.sin(math.pi * (a - n)) * np.where(np.remainder(n, 2) == 1, -1, 1)
    return np.where(a == 0, 1, s / (math.pi * a))


def lgamma(v: float) -> float:
    if v != v or v == -math.inf:
        return math.inf if v == v else v
    if v <= 0 and v == math.floor(v):
        return math.inf
    try:
        return math.lgamma(v)
    except OverflowError:
        return math.inf


def sign(a: Array) -> Array:
    return np.sign(a)


def truncdiv(a: Array, b: Array) -> Array:
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        q = np.floor_divide(a, b)
        return q + ((q < 0) & (q * b != a)).astype(q.dtype)
    return np.trunc(np.true_divide(a, b))


def from_parts(real: Array, imag: Array) -> Array:
    """Complex numbers; what no product of i gives to the bit."""
    real, imag = np.broadcast_arrays(real, imag)
    made = np.empty(real.shape, np.result_type(real, np.complex64))
    made.real, made.imag = real, imag
    return made


def fma(a: Array, b: Array, c: Array) -> Array:
    """In the next wider type: once more rounded than the fused operation, which is seldom seen."""
    t = np.result_type(a, b, c)
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.float64): np.longdouble}.get(t, t)
    a, b, c = (np.asarray(x, wide) for x in (a, b, c))
    return (a * b + c).astype(t)


def sigmoid(a: Array) -> Array:
    a = np.asarray(a)
    if a.dtype.kind == "c":
        return 1 / (1 + np.exp(-a))
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1 / (1 + e), e / (1 + e)).astype(a.dtype)


def pow(a: Array, b: Array) -> Array:
    a, b = np.asarray(a), np.asarray(b)
    # PyTorch: a negative power of an integer truncates towards zero
    if a.dtype.kind in "iu" and b.dtype.kind == "i":
        neg = b < 0
        r = np.power(a, np.where(neg, 0, b).astype(b.dtype))
        odd = (b & 1).astype(bool)
        low = np.where(a == 1,
                       1,
                       np.where(a == -1 if a.dtype.kind == "i" else False, np.where(odd, -1, 1), 0))
        return np.where(neg, low, r).astype(np.result_type(a, b))
    return np.power(a, b)


def erfinv(a: Array) -> Array:
    """Newton steps on erf from a rational start; the reference only."""
    a64 = np.asarray(a, np.float64)
    w = -np.log1p(-a64 * a64)
    c = 2 / (math.pi * 0.147) + np.log1p(-a64 * a64) / 2
    x = np.copysign(np.sqrt(np.sqrt(c * c + w / 0.147) - c), a64)
    erf, erfc = each(math.erf), each(math.erfc)
    with np.errstate(all="ignore"):
        for _ in range(4):
            err = np.where(np.abs(a64) < 0.5, erf(x) - a64,
                           np.sign(a64) * ((1 - np.abs(a64)) - erfc(np.abs(x))))
            step = err / (2 / math.sqrt(math.pi) * np.exp(-x * x))
            x = np.where(np.isfinite(step), x - step / (1 + x * step), x)
    x = np.where(
        np.abs(a64) == 1,
        np.copysign(np.inf, a64),
        np.where(np.abs(a64) > 1, np.nan, np.where(a64 == 0, a64, x)))
    return x.astype(np.asarray(a).dtype)


def shifted_series(x: Array, shift: Callable[[Array], Array], series: Callable[[Array], Array],
                   reflect: Callable[[Array, Array], Array]) -> Array:
    """Evaluate at x + n, n bringing x to at least 10, with the recurrence undone; reflection
    below zero."""
    a = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        low = a < 0.5
        z = np.where(low, 1 - a, a)
        acc = np.zeros_like(z)
        for _ in range(10):
            small = z < 10
            acc = acc + np.where(small, shift(z), 0)
            z = np.where(small, z + 1, z)
        r = series(z) + acc
        r = np.where(low, reflect(a, r), r)
    return r.astype(np.asarray(x).dtype)


def digamma(x: Array) -> Array:
    def series(z: Array) -> Array:
        w = 1 / (z * z)
        tail = 1 / 240 - w * (1 / 132 - w * (691 / 32760 - w / 12))
        return np.log(z) - 0.5 / z - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * tail)))
    r = shifted_series(x, lambda z: -1 / z, series, lambda a, r: r - math.pi / np.tan(math.pi * a))
    a = np.asarray(x)
    return np.where(a == 0,
                    np.copysign(np.inf, -a),
                    np.where((a < 0) & (a == np.floor(a)), np.nan, r)).astype(a.dtype)


def trigamma(x: Array) -> Array:
    def series(z: Array) -> Array:
        w = 1 / (z * z)
        tail = 1 / 30 - w * (5 / 66 - w * (691 / 2730 - w * 7 / 6))
        return 1 / z + 0.5 * w + w / z * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * tail)))

    r = shifted_series(x, lambda z: 1 / (z * z),
                       series, lambda a, r: (math.pi / np.sin(math.pi * a)) ** 2 - r)
    a = np.asarray(x)
    return np.where((a <= 0) & (a == np.floor(a)) & np.isfinite(a), np.inf, r).astype(a.dtype)


def polygamma2(x: Array) -> Array:
    def series(z: Array) -> Array:
        w = 1 / (z * z)
        return (-w - w / z - w * w *
                (0.5 - w * (1 / 6 - w * (1 / 6 - w * (3 / 10 - w * (5 / 6 - w * 691 / 210))))))
    return shifted_series(
        x, lambda z: -2 / z ** 3,
        series, lambda a, r: r - 2 * math.pi ** 3 * np.cos(math.pi * a) / np.sin(math.pi * a) ** 3)
