"""What the array API standard says of types: kinds, limits, and which type operands meet in."""
import dataclasses

from . import dtypes
from .array_api_wrappers import _number_as_tensor
from .dtypes import BOOL, COMPLEX, FLOAT, INT, as_dtype, bool_, promote_types
from .ops.surface import FUNCTIONS
from .tensor import Tensor


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements in another type; a copy unless that is the type they have and `copy=False`."""
    dtype = as_dtype(dtype)
    if x.dtype.category == COMPLEX and dtype.category < COMPLEX and dtype is not bool_:
        raise TypeError(f"complex numbers do not become {dtype}: take their real part")
    return x.to(dtype) if dtype is not x.dtype or not copy else x.clone()


_kinds = {
    "bool": lambda t: t.category == BOOL,
    "signed integer": lambda t: t.category == INT and t.is_signed,
    "unsigned integer": lambda t: t.category == INT and not t.is_signed,
    "integral": lambda t: t.category == INT,
    "real floating": lambda t: t.category == FLOAT,
    "complex floating": lambda t: t.category == COMPLEX,
    "numeric": lambda t: t.category > BOOL}


def isdtype(dtype, kind):
    """Is a type of a kind ("integral", "real floating", ...), another type, or any of several?

    >>> import whet
    >>> whet.isdtype(whet.int8, ("bool", "integral"))
    True
    """
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _kinds:
            raise ValueError(f"isdtype: a kind is one of {', '.join(_kinds)}, not {kind!r}")
        return _kinds[kind](dtype)
    return dtype is as_dtype(kind)


def can_cast(from_, to, /):
    """Do a type (or a tensor's) and another meet in the other?

    Types of different kinds meet in none in the standard, but for real and complex floats.
    """
    from_ = from_.dtype if isinstance(from_, Tensor) else from_
    if from_.category != to.category and min(from_.category, to.category) < FLOAT:
        return False
    try:
        return promote_types(from_, to) is to
    except RuntimeError:
        return False


def result_type(*arrays_and_dtypes):
    """The type that operands meet in; numbers follow the kind of the others."""
    found, numbers = [], []
    for x in arrays_and_dtypes:
        if isinstance(x, Tensor | dtypes.dtype):
            found.append(x if isinstance(x, dtypes.dtype) else x.dtype)
        else:
            numbers.append(x)
    if not found:
        raise ValueError("result_type: at least one tensor or type is needed")
    t = found[0]
    for other in found[1:]:
        t = promote_types(t, other)
    for x in numbers:
        t = _number_as_tensor(FUNCTIONS["empty"](0, dtype=t), x).dtype
    return t


@dataclasses.dataclass(frozen=True)
class IntegerLimits:
    """What `iinfo` gives."""
    bits: int
    max: int
    min: int
    dtype: dtypes.dtype


@dataclasses.dataclass(frozen=True)
class RealLimits:
    """What `finfo` gives."""
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtypes.dtype


def iinfo(type, /):
    """The limits of an integer type, or of a tensor's.

    >>> import whet
    >>> whet.array_api.iinfo(whet.int8).min
    -128
    """
    limits = dtypes.iinfo(_type_of(type))
    return IntegerLimits(limits.bits, limits.max, limits.min, _type_of(type))


def finfo(type, /):
    """The limits of a real floating type, or of a tensor's; of a complex one, those of its parts.

    >>> import whet
    >>> whet.array_api.finfo(whet.complex64).dtype
    whet.float32
    """
    real = _type_of(type).to_real()
    limits = dtypes.finfo(real)
    return RealLimits(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, real)


def _type_of(x):
    return x.dtype if isinstance(x, Tensor) else x
