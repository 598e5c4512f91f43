"""What the functions of this package are written with: the registry, polynomials, powers of two,
clamps, error-free sums."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..builder import Val, vec
from ..operations import Operations
from . import coefficients

FUNCTIONS: dict[str, _Function] = {}
# adding it leaves an integer in the low bits of the mantissa
MAGIC = {"float": 1.5 * 2.0 ** 23, "double": 1.5 * 2.0 ** 52}
INT = {"float": "i32", "double": "i64"}
MANTISSA = {"float": 23, "double": 52}
BIAS = {"float": 127, "double": 1023}
TOP_BIT = {"float": -1 << 31, "double": -1 << 63}
INF, NAN = math.inf, math.nan


def function(name: str, elem: str | None = None) -> Callable[..., Any]:
    """Register `g(f, *vals)` as `name` for one element type, or for both."""
    def put(g: Callable[..., Any]) -> Callable[..., Any]:
        at = _by_type.setdefault(name, {})
        for e in (elem,) if elem else ("float", "double"):
            at[e] = g
        if name not in FUNCTIONS:
            FUNCTIONS[name] = _Function(name, at)
        return g
    return put


_by_type: dict[str, dict[str, Callable[..., Any]]] = {}


class _Function:
    """One function for all its element types; `supports("float")` says whether there is one."""
    __slots__ = ("name", "by_type")

    def __init__(self, name: str, by_type: dict[str, Callable[..., Any]]) -> None:
        self.name, self.by_type = name, by_type

    def supports(self, elem: str) -> bool:
        return elem in self.by_type

    def __call__(self, f: Operations, *vals: Val) -> Val:
        elem = next(v.elem for v in vals if isinstance(v, Val))
        lanes = max(v.lanes for v in vals if isinstance(v, Val))
        found: Val = self.by_type[elem](f, *(f.as_val(v, vec(elem, lanes)) for v in vals))
        return found


def through_double(name: str) -> None:
    """Register the f32 version of `name` as its f64 version, rounded once."""
    def narrow(f: Operations, *vals: Val) -> Val:
        return f.conv("fptrunc",
                      _by_type[name]["double"](f, *(f.conv("fpext", v, "double") for v in vals)),
                      "float")
    function(name, "float")(narrow)


def poly(f: Operations, x: Val, cs: Sequence[float], chains: int = 1) -> Val:
    """cs[0] + cs[1] x + ... by Horner's rule in fma; in 2 or 4 chains side by side where one
    would be the longest wait."""
    if chains > 1:
        square = x * x
        even, odd = poly(f, square, cs[0::2], chains // 2), poly(f, square, cs[1::2], chains // 2)
        return f.fma(odd, x, even)
    r = f.const(x.ty, cs[-1])
    for c in cs[-2::-1]:
        r = f.fma(r, x, c)
    return r


def fitted(f: Operations, x: Val, name: str, chains: int = 1) -> Val:
    """The polynomial `name`_F32 or `name`_F64 of `coefficients`; the f64 one, being longer, in
    `chains`."""
    if x.elem == "float":
        return poly(f, x, getattr(coefficients, name + "_F32"))
    return poly(f, x, getattr(coefficients, name + "_F64"), chains)


def bits(f: Operations, x: Val) -> Val:
    return f.conv("bitcast", x, INT[x.elem])


def floating(f: Operations, u: Val) -> Val:
    """The float whose bits are u."""
    return f.conv("bitcast", u, {"i32": "float", "i64": "double"}[u.elem])


def clamp(f: Operations, x: Val, lo: float, hi: float) -> Val:
    """NaN passes through."""
    x = f.sel(f.cmp("olt", x, lo), lo, x)
    return f.sel(f.cmp("ogt", x, hi), hi, x)


def nearest(f: Operations, x: Val, scale: float, plus: int = 0) -> tuple[Val, Val]:
    """(n, u): n = the integer nearest to x * scale; u is an integer with n + plus in its low bits
    (mod 2^22; f64 2^51), where n is within these."""
    magic = MAGIC[x.elem] + plus
    t = f.fma(x, scale, magic)
    return t - magic, bits(f, t)


def power(f: Operations, u: Val, elem: str) -> Val:
    """2^n, u holding n + BIAS in its low bits; the bits above do not matter."""
    return floating(f, u << MANTISSA[elem])


def two_sum(f: Operations, a: Val, b: Val) -> tuple[Val, Val]:
    """(s, e): s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(f: Operations, a: Val, b: Val) -> tuple[Val, Val]:
    """(s, e): s + e = a + b exactly, for |a| >= |b| (or a = 0)."""
    s = a + b
    return s, b - (s - a)


def two_prod(f: Operations, a: Val, b: Val) -> tuple[Val, Val]:
    """(p, e): p + e = a * b exactly."""
    p = a * b
    return p, f.fma(a, b, -p)
