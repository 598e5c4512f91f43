"""The fields of tensors: a native type where that can be, the same in plain Python elsewhere.

_array   the NumPy array: memory, shape, strides
_grad    `.grad`
_base    the tensor this is a view of, or None
_rg      bits: does it require a gradient, and what forbids a write to it (REQUIRES_GRAD,
         IN_INFERENCE, ...; `passes/lower_llvm/calls/op_layouts.py` says what each means)
_node    what made this tensor, None for a leaf
_cell    version counter shared by all views, None: never written, no views
_hist    the history count of the cell at which `_node` was valid
_extra   dict of rare things: hooks, retains_grad
"""
import itertools
from types import FunctionType
from typing import Any

import numpy as np

from . import declared_for_tracing
from .cpu import repeated_calls

declared_for_tracing.only_computes(globals())
# the bits of `_rg`, which machine code reads and sets as well
L = repeated_calls.L
REQUIRES_GRAD, IN_INFERENCE, OF_FUNCTION = L.REQUIRES_GRAD, L.IN_INFERENCE, L.OF_FUNCTION
VIEW_IN_NO_GRAD, ONE_OF_SEVERAL = L.VIEW_IN_NO_GRAD, L.ONE_OF_SEVERAL
VIEW_LIMITS = L.VIEW_LIMITS


class PyCell:
    """The version of a piece of memory (`v`), how often its recorded history was rewritten (`h`),
    and the last op that wrote.

    Not all writes count for `v`: those through `.data` do in another cell (`aside`, which may have
    one of its own), those of whom the memory was given to, or who gave it (NumPy...), nowhere
    (`shown`)."""
    __slots__ = ("v", "h", "writer", "shown", "aside")

    def __init__(self):
        self.v = self.h = self.shown = 0
        self.aside = None
        self.writer = None


class PyBase:
    """The tensor's fields in plain Python."""
    __slots__ = (("_array", "_node", "_grad", "_cell", "_base", "_hist", "_rg", "_extra",
                  "__weakref__", "__dict__"))
    _array: np.ndarray
    _node: Any
    _grad: Any
    _cell: PyCell | None
    _base: Any
    _hist: int
    _rg: int
    _extra: dict | None

    def __new__(cls, *args, **kwargs):
        t = object.__new__(cls)
        t._node = t._grad = t._cell = t._base = t._extra = None
        t._hist = t._rg = 0
        return t


_loaded = repeated_calls.load()
if _loaded:
    Base, Cell, NativeNode, _functions, addresses = _loaded
    native_apply, next_number, native_wrap = _functions["apply"], _functions[
        "next_number"], _functions["wrap"]
    set_native_flags, native_view_of = _functions["set_flags"], _functions["view_of"]
    native_write, native_call_key = _functions["write"], _functions["call_key"]
else:
    Base, Cell, NativeNode, addresses = PyBase, PyCell, None, {}
    native_apply = native_wrap = set_native_flags = native_view_of = native_write = None
    native_call_key = None
    next_number = itertools.count().__next__


def is_strided(x):
    """Is it a tensor with memory of its own? What is made of tensors passes for one, and is none
    (see `composite.py`)."""
    return issubclass(type(x), Base)


# an instance with empty fields, of any subclass
new = PyBase.__new__ if Base is PyBase else object.__new__


def _body(cls):
    """The attributes of a class and of those that it is made of, as if all were its own."""
    body = {k: v for c in reversed(cls.__mro__[:-1]) for k, v in vars(c).items()
            if k not in ("__dict__", "__weakref__", "__slots__", "__module__", "__annotations__")}
    for value in body.values():
        f = value.fget if isinstance(value, property) else value
        if isinstance(f, FunctionType):
            f.__qualname__ = f"{cls.__qualname__}.{f.__name__}"
    return body


def extend(cls):
    """The tensor class with the attributes of `cls`: the native type itself (a Python subclass of
    it would be tracked by the garbage collector), or a subclass of the Python fields."""
    global _tensor
    body = _body(cls)
    if Base is PyBase:
        names = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__}
        _tensor = type(cls.__name__, (Base,), {**body, **names})
        return _tensor
    for name, value in body.items():
        setattr(Base, name, value)
    Base.__module__ = cls.__module__
    return Base


_tensor = Base


def tensor_class():
    """The class of tensors, once there is one."""
    return _tensor


def count_writes_of(other: Any, t: Any) -> None:
    """Writes to another tensor count for this one, too, which shows its memory now."""
    mine, theirs = t._shared(), other._shared()
    chain = theirs
    while chain is not None:
        if chain is mine:                    # never in a circle
            mine.shown = 1
            return
        chain = chain.aside
    mine.aside = theirs


def py_wrap(array):
    """A leaf tensor over an array, without a copy. A NumPy scalar becomes an array."""
    t = new(_tensor)
    t._array = array if type(array) is np.ndarray else repeated_calls.as_memory(array)
    return t


wrap = native_wrap or py_wrap
