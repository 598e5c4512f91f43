"""The stand-in for a NumPy array during a recorded run: it behaves like one, and tells
`numpy_arrays.py` how it is used."""
from __future__ import annotations

import ctypes as C
import functools
import math
import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.autograd import modes
from whet.cpu import native
from whet.cpu.object_layouts import field
from whet.ops.registry import is_tensor
from whet.passes.lower_llvm.calls import buffer_of_stand_in
from whet.passes.lower_llvm.calls.python_layouts import TYPE_BUFFER
from whet.tensor_base import Base

from ..refusals.reasons import OfNumPy
from ..values.code_origin import origin_of, ours
from ..values.varying_numbers import NUMBERS, hide_slots
from .replace_stand_ins import HOLDS, REAL_OF

if TYPE_CHECKING:
    from ..capture.numpy_arrays import Arrays
    from ..capture.recorder import Recorder

GEOMETRY = frozenset(("shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes"))
VIEWS = frozenset(("T", "mT", "real"))       # attributes that show the same memory
BEYOND = frozenset(("resize", "setflags", "setfield", "byteswap", "tofile", "dump", "flags",
                    "ctypes", "data", "base", "__dlpack__", "__array_interface__",
                    "__array_struct__"))


def unwrapped(x: Any) -> Any:
    """An argument with NumPy's arrays and Python's numbers in place of stand-ins. This does not
    make them guards."""
    t = type(x)
    if t is Array:
        return real_of(x)
    if t in NUMBERS:
        return REAL_OF[t](x)
    if t in (tuple, list):
        return t([unwrapped(y) for y in x])
    if t is slice:
        return slice(*map(unwrapped, (x.start, x.stop, x.step)))
    return {k: unwrapped(y) for k, y in x.items()} if t is dict else x


def scalars_as_numbers(x: Any) -> Any:
    """An operand or an attribute with Python's numbers in place of NumPy's, as eager mode takes
    them. If there are none, it is returned itself."""
    if type(x) is Array:
        return x.item() if isinstance(real_of(x), np.generic) else x
    if type(x) in (tuple, list) and any(type(y) in (Array, tuple, list) for y in x):
        return type(x)([scalars_as_numbers(y) for y in x])
    return x


def _places(kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What a ufunc is to write its results to."""
    out = kwargs.get("out", ())
    return out if type(out) is tuple else (out,)


class Provenance:
    """Where an array of a run comes from."""
    __slots__ = ("was_there_before", "is_a_snapshot")

    def __init__(self, is_a_snapshot: bool = False) -> None:
        self.was_there_before = False
        # a copy, where NumPy shows the memory of another array
        self.is_a_snapshot = is_a_snapshot


real_of: Callable[[Any], Any]        # what an Array holds, defined below it


class Array:
    """A stand-in for a NumPy array, or for one of its numbers."""
    __slots__ = ("real", "tensor", "recorder", "provenance", "__weakref__")
    __class__ = property(lambda self: type(real_of(self)))

    def __whet_array__(self) -> Any:
        """The memory, for whet's own ops."""
        return tensor_of(self)._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if live(self):
            arrays_of(self).hand(self)
        real = real_of(self)
        return np.asarray(real, dtype) if copy is None else np.array(real, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = getattr(ufunc, method)
        if not live(self):
            return function(*unwrapped(inputs), **unwrapped(kwargs))
        return arrays_of(self).call(
            ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}",
            ufunc if method == "__call__" else function, inputs, kwargs,
            any(map(is_tensor, (*inputs, *_places(kwargs)))))

    def __array_function__(self, function: Any, types_: Iterable[type], args: tuple[Any, ...],
                           kwargs: dict[str, Any]) -> Any:
        if not live(self):
            return function(*unwrapped(args), **unwrapped(kwargs))
        module = (getattr(function, "__module__", None)
                  or "numpy").removeprefix("numpy").lstrip(".")
        return arrays_of(self).call(f"{module}.{function.__name__}".lstrip("."), function, args,
                                    kwargs, any(issubclass(t, Base) for t in types_))

    def __getattr__(self, name: str) -> Any:
        real = real_of(self)
        if name in ("__array_interface__", "__array_struct__") and not (
                gives_memory(real) and is_asked_by_others(sys._getframe(1), name)):
            raise AttributeError(name)       # NumPy is to ask for `__array__`
        found = getattr(real, name)
        if name == "shape" and (sizes := sizes_for_user(self, sys._getframe(1))):
            return tuple(sizes)
        if name in GEOMETRY or not live(self):
            return found
        arrays = arrays_of(self)
        if name in VIEWS and type(found) is np.ndarray:
            if found is real:
                return self
            part = arrays.shown(found, (tensor_of(self),))
            if part is not None:
                return part
        if name in BEYOND:
            arrays.rec.refuse(OfNumPy(f"it asks for `{name}` of a NumPy array"))
            return found
        if name in ("item", "tolist"):
            return functools.partial(_item if name == "item" else _listed, self)
        if isinstance(found, types.BuiltinFunctionType):
            return functools.partial(_method, self, name)
        arrays.hand(self)                    # it may lead to the memory, as `flat` does
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if live(self):
            arrays_of(self).rec.refuse(OfNumPy(f"it sets `{name}` of a NumPy array"))
        setattr(real_of(self), name, unwrapped(value))

    def __len__(self) -> int:
        return len(real_of(self))

    def __iter__(self) -> Iterator[Any]:
        if not live(self):
            return iter(real_of(self))
        iter(real_of(self))                  # what has no elements says so
        array: Any = self                    # its operators are added below
        return iter([array[i] for i in range(len(self))])

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy("K")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return guarded_array(self).__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(_shown(self))

    def __str__(self) -> str:
        return str(_shown(self))

    def __format__(self, spec: str) -> str:
        return format(_shown(self), spec)


(real_of, tensor_of, recorder_of, provenance_of), _set = hide_slots(
    Array, "real", "tensor", "recorder", "provenance")
Array.__name__ = Array.__qualname__ = "ndarray"


def stand_for(real: Any, tensor: Base, recorder: Recorder, provenance: Provenance) -> Array:
    """A stand-in for an array or for a NumPy number; `tensor` wraps the same memory."""
    x = object.__new__(Array)
    stands_as_memory()
    held = {"real": real, "tensor": tensor, "recorder": recorder, "provenance": provenance}
    for name, value in held.items():
        _set[name](x, value)
    return x


@functools.cache
def stands_as_memory() -> bool:
    """Does an Array give its memory to C functions, as a NumPy array does? This needs machine code;
    without it no array has a stand-in."""
    if not native.enabled():
        return False
    native.export("whet_array_behind", id(_memory))
    at = native.image("jit/buffer", buffer_of_stand_in.source, ["get_buffer"])["get_buffer"]
    C.c_void_p.from_address(field(Array, TYPE_BUFFER)).value = at
    return True


def gives_memory(real: Any) -> bool:
    """Can C functions read it as memory? An array of dates cannot be: the buffer protocol has no
    name for them."""
    try:
        memoryview(real)
    except (BufferError, ValueError):
        return False
    return True


def is_asked_by_others(frame: types.FrameType, name: str = "") -> bool:
    """Is the memory requested by code that names it, or by C code other than NumPy's own? NumPy
    itself must not get it: it asks for `__array__` next and receives the array itself, whereas from
    memory it would make another."""
    origin = origin_of(frame.f_globals)
    return origin is None or not origin.is_of_a_library or name in frame.f_code.co_names


def live(x: Array) -> bool:
    """Is its recording still going on, in this thread?"""
    return recorder_of(x) in modes.state.observers


def sizes_for_user(x: Array, frame: types.FrameType) -> Any:
    """What the user's code in this frame gets for the sizes of an array, if sizes are followed;
    else None."""
    if ours(frame) or not live(x):
        return None
    return modes.followed_sizes(tensor_of(x), for_user=True)


def arrays_of(x: Array) -> Arrays:
    """The `Arrays` of the run to which it belongs."""
    arrays: Arrays = recorder_of(x).stand_ins.arrays
    return arrays


def guarded_array(x: Array) -> Any:
    """The array itself, for Python to continue from: its numbers become a guard."""
    if live(x):
        arrays_of(x).hand(x)
    return real_of(x)


def _memory(x: Array) -> Any:
    """The array itself, for a C function to read."""
    if is_asked_by_others(sys._getframe(1)):
        return guarded_array(x)
    raise BufferError("NumPy is to ask for `__array__`")


def _guarded_or_other(x: Any) -> Any:
    """What Python continues from, which may also be something other than an array."""
    return guarded_array(x) if type(x) is Array else x


def _shown(x: Array) -> Any:
    """An array to be shown as text. Its numbers and NumPy's print options become guards."""
    if live(x):
        arrays_of(x).rec.read(lambda: repr(np.get_printoptions()))
    return guarded_array(x)


def _item(x: Array, *args: Any) -> Any:
    """item()"""
    if live(x) and not args and tensor_of(x)._array.size == 1:
        number = recorder_of(x).item(tensor_of(x))
        return real_of(x).item() if number is None else number
    if live(x):
        arrays_of(x).pin(x)
    return real_of(x).item(*args)


def _listed(x: Array) -> Any:
    """tolist()"""
    real = real_of(x)
    if isinstance(real, np.generic) or not real.ndim:
        return _item(x)
    numbers = recorder_of(x).listed(tensor_of(x)) if live(x) else None
    return real.tolist() if numbers is None else numbers


def _method(x: Array, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method of an array, or of a NumPy number."""
    real = real_of(x)
    if not live(x):
        return getattr(real, name)(*unwrapped(args), **unwrapped(kwargs))
    kind = type(real).__name__
    return arrays_of(x).call(f"{kind}.{name}", getattr(type(real), name), (x, *args), kwargs)


def _is_number_beside_tensor(x: Array, others: tuple[Any, ...]) -> bool:
    return isinstance(real_of(x), np.generic) and any(map(is_tensor, others))


def _operator(name: str, python: Any, reflected: bool = False, numeric: bool = True) -> None:
    def method(self: Array, *others: Any) -> Any:
        args = (*others, self) if reflected else (self, *others)
        if not live(self):
            return python(*unwrapped(args))
        if numeric and _is_number_beside_tensor(self, others):
            return NotImplemented            # the tensor is asked, and notes where it comes from
        return arrays_of(self).call(f"operator.{python.__name__}", python, args, {})
    setattr(Array, name, method)


for _name in (("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift",
               "rshift", "and", "or", "xor")):
    _python = getattr(operator, _name + "_" if _name in ("and", "or") else _name)
    _operator(f"__{_name}__", _python)
    _operator(f"__r{_name}__", _python, True)
    _operator(f"__i{_name}__", getattr(operator, f"i{_name}"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    _operator(f"__{_name}__", getattr(operator, _name))
for _name in ("getitem", "setitem", "delitem", "contains"):
    _operator(f"__{_name}__", getattr(operator, _name), numeric=False)


def _handing(name: str, python: Callable[[Any], Any]) -> None:
    setattr(Array, name, lambda self: python(guarded_array(self)))


_BECOMES: dict[str, Callable[[Any], Any]] = dict(
    bool=bool, int=int, float=float, complex=complex, index=operator.index, hash=hash,
    trunc=math.trunc, floor=math.floor, ceil=math.ceil)
for _name, _python in _BECOMES.items():
    _handing(f"__{_name}__", _python)
_with_others: dict[str, Callable[..., Any]] = dict(
    round=round, divmod=divmod, rdivmod=lambda x, other: divmod(other, x))
for _name, _python in _with_others.items():
    setattr(Array, f"__{_name}__", lambda self, *others, _python=_python: _python(
        guarded_array(self), *map(_guarded_or_other, others)))
REAL_OF[Array] = real_of
HOLDS.add(Array)
