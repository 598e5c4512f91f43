"""Types whose instances cannot change, and when two of them are the same number or text."""
import builtins
import collections
import struct
import types
from typing import Any

import numpy as np
from whet import devices, dtypes
from whet.composite import Composite
from whet.layouts import layout
from whet.tensor import Size
from whet.tensor_base import is_strided

PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented))
CONSTANT = (np.dtype, dtypes.dtype, devices.device, layout, slice, range, np.generic, Size,
            types.MethodDescriptorType, types.WrapperDescriptorType,
            types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
            np.ufunc, types.GenericAlias, types.UnionType, types.CodeType, type(np.sum),
            type(vars(collections.namedtuple("Pair", "first"))["first"]),
            # those that end a program, if `site` was loaded: a run that calls one is none
            *{type(vars(builtins)[name]) for name in ("exit", "quit") if name in vars(builtins)})

_met: dict[Any, Any] = {}


def one(x: Any) -> Any:
    """One object for all that are equal."""
    return _met.setdefault(x, x)


def text_of_bits(x: float | complex) -> str:
    """A float or complex number as text, to be compared: another one for other bits."""
    return repr(x) if x == x else f"{x!r} ({struct.pack('<2d', x.real, x.imag).hex()})"


class Itself:
    """Stands for an object that equals none but itself, among what is compared."""
    __slots__ = ("object",)

    def __init__(self, object: Any) -> None:
        self.object = object

    def __hash__(self) -> int:
        return id(self.object)

    def __eq__(self, other: object) -> bool:
        return type(other) is Itself and other.object is self.object

    def __repr__(self) -> str:
        return repr(self.object)


def number_key(x: Any) -> Any:
    """A number as something that equals what stands for the same one. A NaN is no other NaN: what
    looks for one in a list or a dict finds that very object."""
    if x != x:
        return Itself(x)
    return text_of_bits(x) if type(x) in (float, complex) else x.tobytes()


def equal(a: Any, b: Any) -> bool:
    """Are two objects the same number or text? Numbers are compared to the bit, and a NaN is the
    same as itself alone."""
    if type(a) is not type(b):
        return False
    if type(a) in (float, complex):
        return bool(number_key(a) == number_key(b))
    if type(a) in PLAIN:
        return bool(a == b)
    if type(a) is tuple:
        return len(a) == len(b) and all(x is y or equal(x, y) for x, y in zip(a, b))
    return type(a) is types.MethodType and a.__func__ is b.__func__ and a.__self__ is b.__self__


def same_key(a: Any, b: Any) -> bool:
    """Are two keys of dicts the same? Tensors are the same by identity only."""
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) in (*PLAIN, tuple):
        return equal(a, b)
    return not (is_strided(a) or issubclass(type(a), Composite)) and bool(a == b)
