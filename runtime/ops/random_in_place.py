"""Draws that fill a tensor."""
import math

from .. import dtypes
from .random import _float_draw, _integers, draw
from .registry import is_tensor
from .surface import FUNCTIONS, METHODS, declare, keyword, method


def _no_others(name, named):
    """(`from` is no name that Python's functions can have)"""
    for other in named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{other}'")


@method()
def uniform_(self, a=0, b=1, *, generator=None, **named):
    """Fill with uniform numbers in [from, to)."""
    a, b = named.pop("from", a), named.pop("to", b)
    _no_others("uniform_", named)
    if a > b:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}")
    x = _float_draw("uniform", self.shape, generator, self.dtype, self.device)
    return self.copy_(x * (b - a) + a if (a, b) != (0, 1) else x)


@method()
def normal_(self, mean=0, std=1, *, generator=None):
    """Fill with normal numbers."""
    if std < 0:
        raise RuntimeError(f"normal_ expects std >= 0.0, but found std {std}")
    x = _float_draw("normal", self.shape, generator, self.dtype, self.device)
    return self.copy_(x * std + mean if (mean, std) != (0, 1) else x)


@method()
def random_(self, low=None, high=None, *, generator=None, **named):
    """Fill with whole numbers in [from, to): by default all that the type can hold."""
    low, high = named.pop("from", low), named.pop("to", high)
    _no_others("random_", named)
    if high is None and low is not None:
        low, high = 0, low
    if high is None:
        low, d = 0, self.dtype
        high = 2 if d.kind == 0 else dtypes.iinfo(d).max + (
            1 if d.itemsize < 8 else 0) if d.kind == 1 else 1 << min({
                "f16": 11, "bf16": 8, "f32": 24}.get(d.short, 53), 53)
    return self.copy_(
        _integers(low, high, self.shape, generator,
                  self.dtype if self.dtype.kind < dtypes.FLOAT else dtypes.int64, self.device))


@method()
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with ones with probability p, zeros otherwise."""
    if not is_tensor(p) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return self.copy_(draw("uniform32", self.shape, generator, self.device) < p)


def _transform(name, fn, check=None):
    """An in-place draw: fn(u) of numbers u in (0, 1]."""
    def fill(self, *args, generator=None, **kwargs):
        if self.dtype.kind < dtypes.FLOAT and name != "geometric_":
            raise RuntimeError(
                f"{name} is a draw from a continuous distribution: dtype must be a floating point "
                f"but you specified {self.dtype}")
        if check:
            check(*args, **kwargs)
        u = (1 - _float_draw("uniform", self.shape, generator,
                             dtypes.float64 if self.dtype is dtypes.float64 else dtypes.float32,
                             self.device))
        return self.copy_(fn(u, *args, **kwargs))
    fill.__name__ = fill.__qualname__ = name
    fill.__doc__ = f"Fill with draws from the {name.rstrip('_').replace('_', '-')} distribution."
    METHODS[name] = declare(
        fill, fn, lambda own: [own[0].replace(name="self"), *own[1:], keyword("generator")])


def _check_positive(what):
    def check(*args, **kwargs):
        v = args[0] if args else next(iter(kwargs.values()), 1)
        if v <= 0:
            raise RuntimeError(f"{what} must be positive, got {v}")
    return check


_transform("exponential_", lambda u, lambd=1: u.log() / -lambd,
           _check_positive("exponential_: lambd"))
_transform(
    "geometric_", lambda u, p: (u.log() / math.log1p(-p)).ceil().clamp_min(1)
    if p < 1 else FUNCTIONS["ones_like"](u),
    _check_positive("geometric_: p"))
_transform("cauchy_", lambda u, median=0, sigma=1: median + sigma * (math.pi * (u - 0.5)).tan(),
           lambda median=0, sigma=1: _check_positive("cauchy_: sigma")(sigma))


@method()
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill with exp of normal numbers."""
    _check_positive("log_normal_: std")(std)
    x = _float_draw("normal", self.shape, generator, self.dtype, self.device)
    return self.copy_((x * std + mean).exp())
