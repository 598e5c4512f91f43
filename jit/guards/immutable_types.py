"""Types whose instances nobody can change, and when two of them are the same number or text."""
import collections
import struct
import types
from typing import Any

import numpy as np
from whet import devices, dtypes
from whet.tensor import Size
from whet.tensor_base import Base

PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented))
CONSTANT = (np.dtype, dtypes.dtype, devices.device, slice, range, np.generic, Size,
            types.MethodDescriptorType, types.WrapperDescriptorType,
            types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
            np.ufunc, types.GenericAlias, types.UnionType, types.CodeType, type(np.sum),
            type(vars(collections.namedtuple("Pair", "first"))["first"]))

_met: dict[Any, Any] = {}


def one(x: Any) -> Any:
    """The same object for whatever is equal."""
    return _met.setdefault(x, x)


def exact(x: float | complex) -> str:
    """A float or complex number as text, to be compared: another one for other bits."""
    return repr(x) if x == x else f"{x!r} ({struct.pack('<2d', x.real, x.imag).hex()})"


def equal(a: Any, b: Any) -> bool:
    """Are two objects the same number or text? Numbers are compared to the bit."""
    if type(a) is not type(b):
        return False
    if type(a) in (float, complex):
        return exact(a) == exact(b)
    if type(a) in PLAIN:
        return bool(a == b)
    if type(a) is tuple:
        return len(a) == len(b) and all(x is y or equal(x, y) for x, y in zip(a, b))
    return type(a) is types.MethodType and a.__func__ is b.__func__ and a.__self__ is b.__self__


def same_key(a: Any, b: Any) -> bool:
    """Are two keys of dicts the same? Tensors are the same by identity only."""
    if a is b or type(a) is not type(b):
        return a is b
    return equal(a, b) if type(a) in (*PLAIN, tuple) else not isinstance(a, Base) and bool(a == b)
