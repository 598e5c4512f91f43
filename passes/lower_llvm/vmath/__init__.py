"""Vector math: elementary and special functions as LLVM IR, at any vector width with the same bits.

    from whet.passes.lower_llvm import vmath
    y = vmath.FUNCTIONS["tanh"](f, x)            # f: builder.Fn, x: builder.Val, a scalar or a vector of float or double

Only IEEE + - * / sqrt fma, rounding to integers, selects and integer operations are used, so the number of lanes cannot change
a bit, and nothing outside the module is called. NaN, infinities, signed zeros and subnormals are as C99 says.
"""
from . import arith, explog, hyperbolic, power, special, trig  # noqa: F401  (they register their functions)
from .core import FUNCTIONS

__all__ = ["FUNCTIONS"]
