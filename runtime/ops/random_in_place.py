"""Draws that fill a tensor."""
import functools
import math

from .. import dtypes
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from .argument_guards import guard
from .random import bound_of_draw, check_real, draw, draw_floats, draw_integers
from .registry import is_tensor
from .surface import FUNCTIONS, method

REAL = BOOL, INT, FLOAT


def fills(*kinds, error=NotImplementedError, numbers=True):
    """Publish a method that fills tensors of some kinds of types. Its arguments, apart
    from the generator, are `numbers`."""
    def publish(fn):
        @functools.wraps(fn)
        def call(self, *args, **kwargs):
            if not is_tensor(self):
                raise TypeError(
                    f"{fn.__name__}() is a method of tensors, and does not apply to a "
                    f"'{self.__class__.__name__}' object")
            if self.dtype.category not in kinds:
                raise error(f"\"{fn.__name__}\" not implemented for '{self.dtype.letter}'")
            if numbers:
                names = fn.__code__.co_varnames[1:]
                for name, v in [*zip(names, args), *kwargs.items()]:
                    if name != "generator":
                        _check_number(fn.__name__, name, v)
            return fn(self, *args, **kwargs)
        return method()(guard(call))
    return publish


def _check_number(fn, name, v):
    """Raise TypeError for what is no real number, and no tensor that stands for one."""
    check_real(fn, name, v)
    if is_tensor(v) and (v.ndim or v.requires_grad or v.dtype.category == COMPLEX):
        raise TypeError(f"{fn}(): argument '{name}' must be float, not Tensor")


def _no_others(name, named):
    """(`from` is no name that Python's functions can have)"""
    for other in named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{other}'")


@fills(FLOAT, COMPLEX)
def uniform_(self, a=0, b=1, *, generator=None, **named):
    """Fill with uniform numbers in [from, to).

    >>> import whet
    >>> (whet.empty(5).uniform_(-1, 1) < 1).all()
    tensor(True)
    """
    a, b = named.pop("from", a), named.pop("to", b)
    _no_others("uniform_", named)
    if a > b:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}")
    if self.dtype.category == COMPLEX:           # real and imaginary parts are numbers like others
        FUNCTIONS["view_as_real"](self).uniform_(a, b, generator=generator)
        return self
    x = draw_floats("uniform", self.shape, generator, self.dtype, self.device)
    return self.copy_(x * (b - a) + a if (a, b) != (0, 1) else x)


@fills(FLOAT, COMPLEX)
def normal_(self, mean=0, std=1, *, generator=None):
    """Fill with normal numbers.

    >>> import whet
    >>> whet.empty(2, 3).normal_(0, 0.5).shape
    whet.Size([2, 3])
    """
    if std < 0:
        raise RuntimeError(f"normal_ expects std >= 0.0, but found std {std}")
    x = draw_floats("normal", self.shape, generator, self.dtype, self.device)
    return self.copy_(x * std + mean if (mean, std) != (0, 1) else x)


@fills(*REAL, numbers=False)
def random_(self, low=None, high=None, *, generator=None, **named):
    """Fill with whole numbers in [from, to): by default all that the type can hold.

    >>> import whet
    >>> (whet.empty(5).random_(3) < 3).all()
    tensor(True)
    """
    low, high = named.pop("from", low), named.pop("to", high)
    _no_others("random_", named)
    low, high = [None if v is None else bound_of_draw(v, "random_", what)
                 for what, v in (("from", low), ("to", high))]
    if high is None and low is not None:
        low, high = 0, low
    if high is None:
        low, d = 0, self.dtype
        high = 2 if d.category == BOOL else dtypes.iinfo(d).max + (
            1 if d.itemsize < 8 else 0) if d.category == INT else 1 << min({
                "f16": 11, "bf16": 8, "f32": 24}.get(d.short, 53), 53)
    return self.copy_(
        draw_integers(low, high, self.shape, generator,
                  self.dtype if self.dtype.category < dtypes.FLOAT else dtypes.int64, self.device))


@fills(*REAL, numbers=False)
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with ones with probability p, zeros otherwise.

    >>> import whet
    >>> whet.empty(2).bernoulli_(1.)
    tensor([1., 1.])
    """
    if not is_tensor(p) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return self.copy_(draw("uniform32", self.shape, generator, self.device) < p)


def _unit(x, generator):
    """Numbers in (0, 1] of which those that fill `x` are made."""
    wide = dtypes.float64 if x.dtype is dtypes.float64 else dtypes.float32
    return 1 - draw_floats("uniform", x.shape, generator, wide, x.device)


def _check_positive(what, v):
    if v <= 0:
        raise RuntimeError(f"{what} must be positive, got {v}")


@fills(FLOAT, error=RuntimeError)
def exponential_(self, lambd=1, *, generator=None):
    """Fill with draws from the exponential distribution.

    >>> import whet
    >>> (whet.empty(5).exponential_() >= 0).all()
    tensor(True)
    """
    _check_positive("exponential_: lambd", lambd)
    return self.copy_(_unit(self, generator).log() / -lambd)


@fills(INT, FLOAT)
def geometric_(self, p, *, generator=None):
    """Fill with draws from the geometric distribution: of how many trials is the first one a
    success?

    >>> import whet
    >>> (whet.empty(5).geometric_(0.5) >= 1).all()
    tensor(True)
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return self.copy_((_unit(self, generator).log() / math.log1p(-p)).ceil().clamp_min(1))


@fills(FLOAT, error=RuntimeError)
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fill with draws from the Cauchy distribution.

    >>> import whet
    >>> whet.empty(2).cauchy_().shape
    whet.Size([2])
    """
    _check_positive("cauchy_: sigma", sigma)
    return self.copy_(median + sigma * (math.pi * (_unit(self, generator) - 0.5)).tan())


@fills(FLOAT)
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill with exp of normal numbers.

    >>> import whet
    >>> (whet.empty(5).log_normal_() > 0).all()
    tensor(True)
    """
    _check_positive("log_normal_: std", std)
    x = draw_floats("normal", self.shape, generator, self.dtype, self.device)
    return self.copy_((x * std + mean).exp())
