"""Vector math: elementary and special functions as LLVM IR, at any vector width with the same bits.

    from whet.passes.lower_llvm import vmath
    y = vmath.FUNCTIONS["tanh"](f, x)

`f` is a `builder.Fn`, `x` a `builder.Val`: a scalar or a vector of float or double.

Only IEEE + - * / sqrt fma, rounding to integers, selects and integer operations are used. So the
number of lanes cannot change a bit, and nothing outside the module is called. NaN, infinities,
signed zeros and subnormals are as C99 says. Errors are below 2 units of the last place in f32 and
2.5 in f64 (but near the zeros of lgamma and digamma; erfcx, ndtri and trigamma 3, polygamma2 6);
`tests/kernels/test_vmath.py` has the bound of each function.

`fit` makes the coefficients, `check` compares with references over all of f32.
"""
from __future__ import annotations

# they register their functions
from . import activations, arith, explog, hyperbolic, normal, power, special, trig  # noqa: F401
from .core import FUNCTIONS

__all__ = ["FUNCTIONS"]
