"""NVIDIA's library of mathematical functions in Triton's interpreter, by NumPy's: kernels of users
call it (`triton.language.extra.libdevice`). What NumPy rounds otherwise differs in last bits."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _each(f: Callable[[float], float]) -> Callable[..., Any]:
    return np.vectorize(f, otypes=[np.float64])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in
       "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt floor ceil trunc rint "
       "fmod hypot isnan isinf copysign nextafter cbrt".split()},
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "fabs": np.abs, "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": _each(math.erf), "erfc": _each(math.erfc),
    "lgamma": _each(lambda x: math.lgamma(x) if x > 0 or x % 1 else math.inf),
    "fmin": np.fmin, "fmax": np.fmax, "exp10": lambda x: np.power(10.0, x),
    "isinfd": np.isinf, "isnand": np.isnan, "signbit": np.signbit, "signbitd": np.signbit}


def patch(put: Callable[[Any, str, Any], None], library: Any) -> None:
    """Give the names of the library their meaning on NVIDIA's devices, and the interpreter what
    these call."""
    from triton.language.core import is_builtin
    from triton.language.extra.cuda import libdevice
    from triton.runtime import interpreter as ti
    for name, f in list(vars(libdevice).items()):
        if is_builtin(f):
            bound = functools.partial(f, _semantic=ti.interpreter_semantic)
            put(libdevice, name, bound)
            if hasattr(library, name):
                put(library, name, bound)
    put(ti.InterpreterBuilder, "create_extern_elementwise", _computed)


def _computed(self: Any, library: str, path: str, symbol: str, arguments: Sequence[Any],
              kind: Any, is_pure: bool) -> Any:
    """What a function of the library gives. Its name ends in f where it takes float32."""
    from triton.runtime import interpreter as ti
    name = symbol.removeprefix("__nv_")
    function = FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("f"))
    if function is None:
        raise NotImplementedError(f"libdevice: {symbol} has no form on simulated devices")
    made = function(*[x.data for x in arguments])
    scalar = kind.scalar
    return ti.TensorHandle(np.asarray(made).astype(ti._get_np_dtype(scalar)), scalar)
