"""Runs these functions over arrays; as a script, over every f32 there is against NumPy and SciPy in
f64 (about a minute each):

    python -m whet.passes.lower_llvm.vmath.check exp log tanh erf sin sigmoid
"""
from __future__ import annotations

import ctypes
import functools
import sys
import time
from typing import Any

import numpy as np

from ..builder import Module, vec
from .core import FUNCTIONS

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.lru_cache(None)
def compiled(name: Any, elem: Any, lanes: Any, inputs: Any) -> Any:
    """A kernel that applies the function to `inputs` arrays, `lanes` elements at a time (0: one
    scalar at a time)."""
    from whet.cpu import native
    m = Module()
    f = m.kernel("kernel")
    args, begin, end, _ = f.args
    ptrs = [f.load("ptr", f.at(args, i, "ptr")) for i in range(inputs + 1)]

    def body(i: Any) -> None:
        xs = [f.load(vec(elem, lanes), f.at(p, i, elem)) for p in ptrs[:-1]]
        f.store(FUNCTIONS[name](f, *xs), f.at(ptrs[-1], i, elem))
    f.loop(begin, end, max(1, lanes), body)
    return SIGNATURE(native.build(m.text(), ["kernel"])["kernel"])


def call(name: Any, *xs: Any, lanes: int = 16) -> Any:
    """The function over arrays of one type and size."""
    n = xs[0].size
    kernel = compiled(name, {"f": "float", "d": "double"}[xs[0].dtype.char], lanes, len(xs))
    xs = tuple([np.append(x, np.ones(-n % 16, x.dtype)) for x in xs])
    out = np.empty_like(xs[0])
    slots = (ctypes.c_int64 * (len(xs) + 1))(*(x.ctypes.data for x in (*xs, out)))
    kernel(ctypes.addressof(slots), 0, out.size, 0)
    return out[:n]


def ulps(y: Any, wanted: Any) -> Any:
    """Errors of y in units of the last place of the wanted values, which have more precision."""
    with np.errstate(all="ignore"):
        near = wanted.astype(y.dtype)
        error = (np.abs(y - wanted)
                 / np.spacing(np.minimum(np.abs(near),
                                         np.finfo(y.dtype).max)).astype(wanted.dtype))
    error = np.where((y == near) & ~np.isfinite(near) | np.isnan(y) & np.isnan(near), 0, error)
    return np.where(np.isnan(error), np.inf, error).astype(float)


def references() -> dict[str, Any]:
    """name: the function in NumPy or SciPy, or as the scalar language refers to it."""
    from scipy import special
    from whet.ir.scalar import PRIMITIVES
    names = {
        "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
        "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "pow": "power",
        "min": "minimum", "max": "maximum", "mod": "remainder", "floordiv": "floor_divide"}
    found = {n: getattr(np, names.get(n, n)) for n in FUNCTIONS if hasattr(np, names.get(n, n))}
    found |= {
        "sigmoid": lambda x: np.where(x > 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x))),
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "erf": special.erf,
        "erfc": special.erfc,
        "erfinv": lambda x: np.copysign(special.erfinv(x), x),
        "lgamma": lambda x: np.where(np.isneginf(x), np.inf, special.gammaln(x)),
        "digamma": special.digamma,
        "trigamma": lambda x: special.polygamma(1, x),
        "polygamma2": lambda x: special.polygamma(2, x), }
    # NumPy's loses its zeros
    return found | {n: PRIMITIVES[n][0] for n in FUNCTIONS if n not in found or n == "sinc"}


def sweep(name: Any, chunk: Any = 1 << 22) -> Any:
    """(the largest error in ulp, where, how many results are not the nearest float) over all
    2^32 arguments."""
    reference, worst, where, wrong = references()[name], 0, None, 0
    for start in range(0, 1 << 32, chunk):
        x = np.arange(start, start + chunk, dtype=np.uint32).view("f4")
        y = call(name, x)
        with np.errstate(all="ignore"):
            wanted = reference(x.astype("f8"))
            off = (y != wanted.astype("f4")) & ~(np.isnan(y) & np.isnan(wanted))
        if off.any():
            wrong += int(off.sum())
            error = ulps(y[off], wanted[off])
            i = error.argmax()
            if error[i] > worst:
                worst, where = error[i], x[off][i]
    return worst, where, wrong


def main() -> None:
    for name in sys.argv[1:] or ("exp", "log", "tanh", "erf", "sin", "sigmoid"):
        start = time.perf_counter()
        worst, where, wrong = sweep(name)
        took = time.perf_counter() - start
        print(
            f"{name:10} at most {worst:.4f} ulp, at {where!r}; {wrong / 2 ** 32:.2%} not the "
            f"nearest; {took:.0f} s",
            flush=True)


if __name__ == "__main__":
    main()
