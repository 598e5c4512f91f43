"""Windows for signals: `hann_window` and its kin."""

import numpy as np

from ..dtypes import FLOAT
from . import docstrings
from .creation import check_options, float_dtype, literal, require
from .public_functions import compile_function
from .surface import function

_OPTIONS = ("dtype", "layout", "device", "requires_grad", "pin_memory")


def _window(name, example, formula, own=""):
    """Publish a window function: `formula(k, n, *own)` over the positions k of a window of n + 1
    points. `example`: a window of four points."""
    def window(n, periodic, parameters, dtype, layout, device, requires_grad, pin_memory):
        check_options(name, layout, device, pin_memory)
        d = float_dtype(dtype)
        if d.category != FLOAT:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {d}")
        if n < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
        if n <= 1:
            a = np.ones(n)
        else:
            a = formula(np.arange(n + bool(periodic), dtype=np.float64),
                        n - (not periodic),
                        *parameters)[:n]
        return require(literal(a.astype(d.np)), requires_grad, device)
    options = "dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False"
    names = "".join(p.split("=")[0].strip() + ", " for p in own.split(",") if p)
    call = compile_function(
        name,
        f"def {name}(window_length, periodic=True, {own + ', ' if own else ''}*, {options}):\n"
        f"    return window(window_length, periodic, ({names}), {', '.join(_OPTIONS)})",
        {"window": window})
    call.__doc__ = docstrings.with_example(
        f"The {name.split('_')[0].capitalize()} window; periodic unless asked otherwise.",
        f"whet.{name}(4)", f"tensor({example})")
    return function(method=False)(call)


def _kaiser(k, n, beta):
    return (np.i0(beta * np.sqrt(np.maximum(1 -
                                            ((2 * k - n) / n) ** 2, 0))) / np.i0(np.float64(beta)))


_window("hann_window", "[0.0000, 0.5000, 1.0000, 0.5000]",
        lambda k, n: 0.5 - 0.5 * np.cos(2 * np.pi * k / n))
_window("hamming_window", "[0.0800, 0.5400, 1.0000, 0.5400]",
        lambda k, n, alpha, beta: alpha - beta * np.cos(2 * np.pi * k / n),
        "alpha=0.54, beta=0.46")
_window("blackman_window", "[-1.3878e-17,  3.4000e-01,  1.0000e+00,  3.4000e-01]",
        lambda k, n: 0.42 - 0.5 * np.cos(2 * np.pi * k / n) + 0.08 * np.cos(4 * np.pi * k / n))
_window("bartlett_window", "[0.0000, 0.5000, 1.0000, 0.5000]",
        lambda k, n: 1 - np.abs(2 * k / n - 1))
_window("kaiser_window", "[5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01]", _kaiser, "beta=12.0")
