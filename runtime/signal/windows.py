"""Window functions: symmetric unless `sym=False` asks for one period of a periodic window."""
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..dtypes import float32, float64
from ..ops.argument_guards import check_flag
from ..ops.creation import check_options, float_dtype, literal, require, strided
from ..size_arguments import as_int

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall"]
OPTIONS = {"sym": True, "dtype": None, "layout": None, "device": None, "requires_grad": False}


def _window(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A window of M points by `formula(places, last, **parameters)`, where `last` is the place at
    which the window would end: that of its last point, or the next one of a periodic window."""
    name = formula.__name__
    own = list(inspect.signature(formula).parameters.values())[2:]

    @functools.wraps(formula)
    def window(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, **parameters: Any) -> Any:
        d, M = float_dtype(dtype), as_int(M, name, "M")
        check_flag(name, "requires_grad", requires_grad)
        if layout not in (None, strided):
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if d not in (float32, float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {d}")
        check_options(name, None, device)
        if sym and parameters.get("center") is not None:
            raise ValueError("Center must be None for symmetric windows")
        values = formula(np.arange(M, dtype=np.float64), M if not sym and M > 1 else M - 1,
                         **parameters)
        return require(literal(values.astype(d.np)), requires_grad)
    kinds = inspect.Parameter
    window.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        kinds("M", kinds.POSITIONAL_OR_KEYWORD), *own,
        *(kinds(n, kinds.KEYWORD_ONLY, default=v) for n, v in OPTIONS.items())])
    return window


def _cosines(k: Any, last: int, a: Any) -> Any:
    """Sum of cosines of 0, 1, 2, ... periods, of alternating signs."""
    if last < 1:
        return np.ones_like(k)
    return sum((-1) ** i * w * np.cos(2 * np.pi * i * k / last) for i, w in enumerate(a))


@_window
def exponential(k, last, *, center=None, tau=1.0):
    """exp(-|k - center| / tau).

    >>> import whet
    >>> whet.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    return np.exp(-np.abs(k - (max(last, 0) / 2 if center is None else center)) / tau)


@_window
def cosine(k, last):
    """Half a period of a sine.

    >>> import whet
    >>> whet.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return np.sin(np.pi * (k + 0.5) / (last + 1)) if len(k) else k


@_window
def gaussian(k, last, *, std=1.0):
    """The bell of a normal distribution.

    >>> import whet
    >>> whet.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return np.exp(-((k - last / 2) / std) ** 2 / 2)


@_window
def kaiser(k, last, *, beta=12.0):
    """The Kaiser window: narrow for a large `beta`.

    >>> import whet
    >>> whet.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if last < 1:
        return np.ones_like(k)
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / last - 1) ** 2, 0))) / np.i0(float(beta))


@_window
def hamming(k, last):
    """The Hamming window.

    >>> import whet
    >>> whet.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines(k, last, (0.54, 0.46))


@_window
def hann(k, last):
    """The Hann window.

    >>> import whet
    >>> whet.signal.windows.hann(4, sym=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _cosines(k, last, (0.5, 0.5))


@_window
def blackman(k, last):
    """The Blackman window.

    >>> import whet
    >>> whet.signal.windows.blackman(5)[2]
    tensor(1.)
    """
    return _cosines(k, last, (0.42, 0.5, 0.08))


@_window
def bartlett(k, last):
    """A triangle.

    >>> import whet
    >>> whet.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return 1 - np.abs(2 * k / last - 1) if last > 0 else np.ones_like(k)


@_window
def general_cosine(k, last, *, a):
    """A sum of cosines with the weights `a`, of alternating signs.

    >>> import whet
    >>> whet.signal.windows.general_cosine(3, a=[0.46, 0.23, 0.31])
    tensor([0.5400, 1.0000, 0.5400])
    """
    if last > 0 and not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if last > 0 and not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(k, last, a)


@_window
def general_hamming(k, last, *, alpha=0.54):
    """alpha - (1 - alpha) * cos of one period.

    >>> import whet
    >>> whet.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return _cosines(k, last, (alpha, 1 - alpha))


@_window
def nuttall(k, last):
    """Nuttall's minimum window of four terms.

    >>> import whet
    >>> whet.signal.windows.nuttall(5)[2]
    tensor(1.)
    """
    return _cosines(k, last, (0.3635819, 0.4891775, 0.1365995, 0.0106411))
