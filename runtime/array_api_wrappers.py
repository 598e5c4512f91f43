"""Makes whet's functions into those of the array API standard, for `array_api.py`: their names,
examples, signatures, and the types of operands."""
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


def _named_after(name, fn, ours):
    """Name a function of the standard, and give it the example of whet's function `ours`, which
    returns the same."""
    says = f"`{name}` of the array API standard. See `whet.{ours.__name__}`."
    return _named(name, fn, _of_variant(says, ours.__name__, f"array_api.{name}",
                                       ours.__doc__ or ""))


# ---- elements ------------------------------------------------------------------------------------
def _of_one_tensor(name, ours=None):
    """A function of one tensor, by whet's function of that name, or of the name `ours`."""
    call = _F[ours or name]

    def fn(x, /):
        return call(x)
    return _named_after(name, fn, call)


def _rounding(name):
    """A function that rounds floats and copies tensors of integers."""
    call = _F[name]

    def fn(x, /):
        return call(x) if x.dtype.category >= _FLOAT else x.clone()
    return _named_after(name, fn, call)


def _operands_of_one_type(x1, x2):
    """Two operands, one of which may be a number: it takes the other's type.

    Tensors without dimensions count as much as others, which they do not in PyTorch's rules.
    """
    if not isinstance(x1, _Tensor):
        return _number_as_tensor(x2, x1), x2
    if not isinstance(x2, _Tensor):
        return x1, _number_as_tensor(x1, x2)
    return (x1, x2) if bool(x1.ndim) == bool(x2.ndim) else _in_common_type(x1, x2)


def _in_common_type(*tensors):
    """The tensors, converted to their common type."""
    t = _functools.reduce(_promote, [x.dtype for x in tensors])
    return [x if x.dtype is t else x.to(t) for x in tensors]


def _number_as_tensor(x, number):
    """A number as a tensor without dimensions, of the type of the operand `x` beside it."""
    if not isinstance(number, int | _b.float | complex):
        raise TypeError(f"an operand must be a tensor or a number, not {number.__class__.__name__}")
    t = x.dtype
    kind = (_BOOL if isinstance(number, _b.bool) else _INT
            if isinstance(number, int) else _FLOAT if isinstance(number, _b.float) else _COMPLEX)
    if kind > t.category and not (kind == _COMPLEX and t.category == _FLOAT):
        raise TypeError(f"a {number.__class__.__name__} does not go with {t}")
    return _F["full"]((),
                      number,
                      dtype=t.to_complex() if kind == _COMPLEX and t.category == _FLOAT else t)


def _of_two_operands(name, ours=None):
    """A function of two operands, by whet's function of that name, or of the name `ours`."""
    call = _F[ours or name]

    def fn(x1, x2, /):
        return call(*_operands_of_one_type(x1, x2))
    return _named_after(name, fn, call)


def _floor_divide(x1, x2):
    """The quotient rounded down. PyTorch's `//` of an infinity is not a number, the standard's is
    the quotient."""
    r = _F["floor_divide"](x1, x2)
    if r.dtype.category != _FLOAT:
        return r
    return _F["where"]((abs(x1) == _math.inf) & r.isnan(), x1 / x2, r)
