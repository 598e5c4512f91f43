"""Our functions with the signatures of the array API standard: what `array_api.py` makes its
names with."""
import builtins as _b
import functools as _functools
import math as _math

from .dtypes import BOOL as _BOOL
from .dtypes import COMPLEX as _COMPLEX
from .dtypes import FLOAT as _FLOAT
from .dtypes import INT as _INT
from .dtypes import promote_types as _promote
from .ops.docstrings import of_variant as _of_variant
from .ops.surface import FUNCTIONS as _F
from .tensor import Tensor as _Tensor


def _named(name, fn, doc=None):
    fn.__name__ = fn.__qualname__ = name
    fn.__module__ = "whet.array_api"
    fn.__doc__ = doc or f"`{name}` of the array API standard."
    return fn


def _named_as(name, fn, ours):
    """A function of the standard that gives what one of ours gives, and so has its example."""
    says = f"`{name}` of the array API standard. See `whet.{ours.__name__}`."
    return _named(name, fn, _of_variant(says, ours.__name__, f"array_api.{name}",
                                       ours.__doc__ or ""))


# ---- elements ------------------------------------------------------------------------------------
def _one(name, ours=None):
    call = _F[ours or name]

    def fn(x, /):
        return call(x)
    return _named_as(name, fn, call)


def _whole(name):
    """A rounding, which leaves whole numbers as they are."""
    call = _F[name]

    def fn(x, /):
        return call(x) if x.dtype.category >= _FLOAT else x.clone()
    return _named_as(name, fn, call)


def _pair(x1, x2):
    """Two operands, one of which may be a number: it takes the other's type.

    Tensors without dimensions count as much as others, which they do not in PyTorch's rules.
    """
    if not isinstance(x1, _Tensor):
        return _like(x2, x1), x2
    if not isinstance(x2, _Tensor):
        return x1, _like(x1, x2)
    return (x1, x2) if bool(x1.ndim) == bool(x2.ndim) else _met(x1, x2)


def _met(*tensors):
    """Tensors in the type that all of them meet in."""
    t = _functools.reduce(_promote, [x.dtype for x in tensors])
    return [x if x.dtype is t else x.to(t) for x in tensors]


def _like(x, number):
    if not isinstance(number, int | _b.float | complex):
        raise TypeError(f"an operand must be a tensor or a number, not {type(number).__name__}")
    t = x.dtype
    kind = (_BOOL if isinstance(number, _b.bool) else _INT
            if isinstance(number, int) else _FLOAT if isinstance(number, _b.float) else _COMPLEX)
    if kind > t.category and not (kind == _COMPLEX and t.category == _FLOAT):
        raise TypeError(f"a {type(number).__name__} does not go with {t}")
    return _F["full"]((),
                      number,
                      dtype=t.to_complex() if kind == _COMPLEX and t.category == _FLOAT else t)


def _two(name, ours=None):
    call = _F[ours or name]

    def fn(x1, x2, /):
        return call(*_pair(x1, x2))
    return _named_as(name, fn, call)


def _floor_divide(x1, x2):
    """The quotient rounded down. PyTorch's `//` of an infinity is not a number, the standard's is
    the quotient."""
    r = _F["floor_divide"](x1, x2)
    if r.dtype.category != _FLOAT:
        return r
    return _F["where"]((abs(x1) == _math.inf) & r.isnan(), x1 / x2, r)
