"""Tensors from Python's numbers and lists, from other libraries' arrays, from buffers and files."""
import builtins
import collections
import math
import numbers

import numpy as np

from .. import devices, dtypes, function_protocol
from ..autograd import modes
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from ..layouts import contiguous_format
from ..tensor import Size, Tensor, shown, wrap
from .creation import (
    cast_number,
    check_options,
    check_real,
    empty,
    float_dtype,
    full_op,
    literal,
    owned,
    placed,
    require,
)
from .dlpack import import_dlpack
from .registry import apply, apply_without_operands, is_tensor
from .surface import FUNCTIONS, function, method


@method()
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None,
               pin_memory=False):
    """As `whet.tensor`, in the type of this tensor.

    >>> import whet
    >>> whet.ones(2, dtype=whet.float64).new_tensor([3, 4])
    tensor([3., 4.], dtype=whet.float64)
    """
    check_options("new_tensor", layout, device, pin_memory)
    return tensor(data, dtype=self.dtype if dtype is None else dtype,
                  device=self.device if device is None else device,
                  requires_grad=requires_grad)


@method()
def new(self, *args, device=None):
    """A tensor of this type from sizes or data (see `whet.Tensor`)."""
    return legacy_tensor(*args, device=device, dtype=self.dtype)


# ---- from data -----------------------------------------------------------------------------------
_NUMBERS = {bool, int, builtins.float, builtins.complex}


def _is_sequence(x):
    if isinstance(x, list | tuple):
        return True
    return (hasattr(x, "__len__") and hasattr(x, "__getitem__")
            and not isinstance(x, str | bytes | dict | np.generic)
            and not function_protocol.has_own(x))


def _leaf_dtype(x):
    t = type(x)
    if t in _NUMBERS:
        return dtypes.of_number(x)
    if isinstance(x, np.generic):
        return dtypes.from_numpy(x.dtype)
    if is_tensor(x):
        return x.dtype
    if isinstance(x, np.ndarray):
        return dtypes.from_numpy(x.dtype)
    if isinstance(x, numbers.Number):
        return dtypes.of_number(x)
    if hasattr(t, "__index__"):
        return dtypes.int64
    if hasattr(t, "__float__"):
        return dtypes.get_default_dtype()
    raise (TypeError(f"new(): invalid data type '{t.__name__}'") if issubclass(t, str) else
           RuntimeError(f"Could not infer dtype of {t.__name__}"))


class _Scan:
    """One look at nested data: its shape, the common dtype of its leaves, and the data with
    tensors replaced by arrays."""

    def __init__(self, data):
        self.dtype, self.shape, self.foreign = None, None, False
        self.types = set()
        self._shape(data)
        self._walk(data, 0)
        for t in self.types:
            self._join(_leaf_dtype(t()))

    def _join(self, d):
        self.dtype = d if self.dtype is None else dtypes.promote_types(self.dtype, d)

    def _shape(self, data):
        shape = []
        while _is_sequence(data) and not (is_tensor(data) or isinstance(data, np.ndarray)):
            shape.append(len(data))
            if len(shape) > 128:
                raise ValueError(f"too many dimensions '{data.__class__.__name__}'")
            if not shape[-1]:
                break
            data = data[0]
        if is_tensor(data):
            shape += _shape_of(data, shape)
        elif isinstance(data, np.ndarray):
            shape += data.shape
        elif isinstance(data, str | bytes) and shape:
            raise ValueError(f"too many dimensions '{data.__class__.__name__}'")
        self.shape = tuple(shape)

    def _walk(self, x, depth):
        if is_tensor(x) or isinstance(x, np.ndarray):
            self.foreign = True
            shape = _shape_of(x, depth) if is_tensor(x) else x.shape
            if shape != self.shape[depth:]:
                if x.ndim and depth < len(self.shape):
                    raise self._ragged(depth, x.shape[0])
                raise TypeError("not a sequence") if not x.ndim else ValueError(
                    f"too many dimensions '{x.__class__.__name__}'")
            self._join(_leaf_dtype(x))
        elif _is_sequence(x):
            if depth == len(self.shape):
                raise TypeError(
                    f"'{x.__class__.__name__}' object cannot be interpreted as a number: the "
                    "nested sequences have different depths")
            if len(x) != self.shape[depth]:
                raise self._ragged(depth, len(x))
            kinds = set(map(type, x))
            if kinds <= _NUMBERS:
                if x and depth != len(self.shape) - 1:
                    raise TypeError("not a sequence")
                self.types |= kinds
            else:
                for y in x:
                    self._walk(y, depth + 1)
        else:
            if depth != len(self.shape):
                raise TypeError("not a sequence")
            self.foreign |= isinstance(x, np.generic) or type(x) not in _NUMBERS
            self._join(_leaf_dtype(x))

    def _ragged(self, depth, got):
        return ValueError(
            f"expected sequence of length {self.shape[depth]} at dim {depth} (got {got})")


def _shape_of(tensor, inside):
    """The shape of a tensor in nested data: inside of a sequence, one of a single element is that
    number."""
    shape = tensor._array.shape
    return () if inside and tensor._array.size == 1 else shape


def _plain(x, inside=False):
    """Nested data with tensors and NumPy values replaced by Python numbers and lists."""
    if is_tensor(x):
        return x.item() if inside and x._array.size == 1 else x.tolist()
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist() if x.dtype.kind in "biufc" else x.astype(np.float64).tolist()
    if _is_sequence(x):
        return [_plain(y, True) for y in x]
    return (x if isinstance(x, numbers.Number) else
            x.__index__() if hasattr(x, "__index__") else builtins.float(x))


def memory_of(x):
    """A NumPy array, where a trace has something stand for it."""
    return x.__whet_array__() if modes.state.observers and hasattr(x, "__whet_array__") else x


def another(array):
    """The memory of a user's array as another array: that of the user may be given other sizes, or
    be locked, and the tensor stays as it is."""
    return array.view(np.ndarray)


def _is_followed(x):
    """Does something stand for a NumPy array, or for one of its numbers?"""
    return hasattr(x, "__whet_array__")


def _followed(data, dtype):
    """The memory of an array that a trace follows, as a tensor of some type; None for other
    data."""
    if not (modes.state.observers and _is_followed(data)):
        return None
    t = shown(wrap(data.__whet_array__()))
    return t if dtype is None or dtype is t.dtype else t.to(dtype)


def array_of(data, dtype=None):
    """(array, is new): Python data, a NumPy array or a tensor as an array of `dtype`, or of the
    type that the data suggest."""
    if is_tensor(data):
        a = data._array
        return (a, False) if dtype is None or a.dtype == dtype.np else (convert(a, dtype), True)
    if isinstance(data, np.ndarray):
        a = data if type(data) is np.ndarray else np.asarray(data)
        own = dtypes.from_numpy(a.dtype)
        if a.dtype != own.np:                      # the other byte order
            a = a.astype(own.np)
            return (a if dtype in (None, own) else convert(a, dtype)), True
        return (a, False) if dtype in (None, own) else (convert(a, dtype), True)
    t = type(data)
    if (t is list or t is tuple) and data:
        kinds = set(map(type, data))
        if kinds <= _NUMBERS:
            own = dtypes.of_number(data[0])
            for k in kinds:
                own = dtypes.promote_types(own, dtypes.of_number(k()))
            return _list_array(data, own, dtype or own, (len(data),)), True
    if t in _NUMBERS or not _is_sequence(data):
        if isinstance(data, str | bytes):
            raise TypeError(f"new(): invalid data type '{t.__name__}'")
        if hasattr(data, "__dlpack__"):
            return array_of(import_dlpack(data), dtype)
        if (hasattr(data, "__array_interface__")
                or not isinstance(data, numbers.Number) and hasattr(data, "__array__")):
            return array_of(np.asarray(data), dtype)
        own = _leaf_dtype(data)
        value = data if isinstance(data, numbers.Number) else _plain(data)
        check_real(own, dtype or own)
        return _number_array(value, dtype or own), True
    if hasattr(data, "__array_interface__"):
        return array_of(np.asarray(data), dtype)
    scan = _Scan(data)
    own = scan.dtype or dtypes.get_default_dtype()
    d = dtype or own
    if math.prod(scan.shape) == 0:
        return np.empty(scan.shape, d.np), True
    values = _plain(data) if scan.foreign or not isinstance(data, list | tuple) else data
    return _list_array(values, own, d, scan.shape), True


def _number_array(value, dtype):
    if isinstance(value, np.generic):
        return convert(np.asarray(value), dtype)
    if (dtype.category == INT and isinstance(value, int) and not -(1 << 63) <= value < 1 <<
        (64 if dtype.name == "uint64" else 63)):
        raise ValueError("Overflow when unpacking long long")
    if dtype.category in (FLOAT, COMPLEX):
        if dtype.itemsize >= 4 and type(value) is builtins.float and -3e38 < value < 3e38:
            return np.array(value, dtype.np)
        with np.errstate(over="ignore"):
            return convert(np.asarray(value,
                                      np.complex128 if isinstance(value, builtins.complex)
                                      else np.float64), dtype)
    return cast_number(value, dtype)


def _list_array(values, own, dtype, shape):
    """Nested lists of numbers as an array."""
    check_real(own, dtype)
    if dtype.category == INT and own.category <= INT:
        try:
            a = np.array(values, np.int64)
        except OverflowError:
            if dtype.name != "uint64":
                raise ValueError("Overflow when unpacking long long") from None
            return np.array(values, np.uint64).reshape(shape)
        if dtype.itemsize < 8:
            bits = 8 * dtype.itemsize
            low = -(1 << bits - 1) if dtype.is_signed else -(1 << bits) + 1
            if a.min() < low or a.max() >= 1 << (bits - dtype.is_signed):
                raise RuntimeError(
                    f"value cannot be converted to type {dtype.name} without overflow")
        return a.astype(dtype.np, copy=False).reshape(shape)
    if dtype.category == BOOL:
        found = np.array(values, np.complex128 if own.category == COMPLEX else None)
        return found.astype(bool).reshape(shape)
    if dtype.itemsize >= 4 and dtype.category in (FLOAT, COMPLEX) and own.category < COMPLEX:
        with np.errstate(over="ignore"):
            return np.array(values, dtype.np).reshape(shape)
    wide = np.complex128 if own.category == COMPLEX else np.float64
    a = np.array(values, wide).reshape(shape)
    if dtype.category == INT:
        bits = 8 * dtype.itemsize
        limit = 2.0 ** (bits - dtype.is_signed)
        if not ((a < limit) & (a > -limit - 1)).all():
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return convert(a, dtype)


def convert(a, dtype):
    """An array in another type, as `Tensor.to` converts."""
    from .casting import cast_array
    return cast_array(a, dtype)


def number(value, dtype):
    """A Python number as a tensor of no dimension; raises where the type cannot hold it."""
    if hasattr(value, "__whet_tensor__"):    # a number that varies
        return apply_without_operands(full_op, {"size": (), "value": value, "dtype": dtype})
    return literal(cast_number(value, dtype))


def _of_varying(data, dtype):
    """Data with numbers that vary, or with tensors of one number, as a tensor made of them; None
    where there are none, or where that would not be what `array_of` gives."""
    leaves, shape = _leaves(data), ()
    if _is_followed(data) or not any(
            hasattr(x, "__whet_tensor__") or is_tensor(x) or _is_followed(x) for x in leaves):
        return None
    if leaves[0] is data:
        own = _leaf_dtype(data)
    else:
        scan = _Scan(data)
        own, shape = scan.dtype, scan.shape
    made = []
    for x in leaves:
        if is_tensor(x):
            if x._array.ndim or x.dtype is dtypes.bfloat16 or not (
                    x.dtype.category == FLOAT or x.dtype is dtypes.int64):
                return None
            made.append(x.detach())
        elif _is_followed(x):
            if not isinstance(x, np.generic):
                return None
            made.append(shown(wrap(x.__whet_array__())))
        elif hasattr(x, "__whet_tensor__") and (stands := x.__whet_tensor__()) is not None:
            made.append(stands)
        elif type(x) in (int, builtins.float) and abs(x) < 1 << 40:
            made.append(literal(np.asarray(x)))
        else:
            return None
    dtype = dtype or own
    if dtype.category == FLOAT and dtype.itemsize >= 4:
        # Python's whole numbers become float64 first.
        made = [(x.to(dtypes.float64) if x.dtype.category == INT else x).to(dtype) for x in made]
    elif dtype is not dtypes.int64 or any(x.dtype is not dtype for x in made):
        return None
    if not shape:
        return made[0].clone()
    t = FUNCTIONS["stack"](made)
    return t if len(shape) == 1 else t.reshape(shape).clone()        # no view of anything


_FEW = 256                                   # numbers that are worth a tensor each
_SEQUENCES = (list, tuple, collections.deque)


def _leaves(data):
    """What is in nested sequences, in order; nothing where that is too much."""
    if type(data) not in _SEQUENCES:
        return [data]
    found = []
    for x in data:
        found += _leaves(x)
        if len(found) > _FEW:
            return []
    return found


@function(method=False)
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor from numbers, nested lists, arrays or other tensors. The data are copied.

    >>> import whet
    >>> whet.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> whet.tensor(0.5, dtype=whet.float64)
    tensor(0.5000, dtype=whet.float64)
    """
    check_options("tensor", None, device, pin_memory)
    if is_tensor(data):
        modes.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than whet.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2)
        t = data.detach().clone()
        t = t if dtype is None else t.to(dtypes.as_dtype(dtype))
        return require(t if device is None else t.to(device), requires_grad, t.device)
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if modes.state.observers:
        t = _of_varying(data, dtype)
        if (t is None and (t := _followed(data, dtype)) is not None
                and t._array is data.__whet_array__()):
            t = t.clone(memory_format=contiguous_format)
        if t is not None:
            return require(t, requires_grad, device)
    a, new = array_of(data, dtype)
    t = literal(owned(a, new))
    return require(t, requires_grad, device) if requires_grad or devices.beyond is not None else t


@function(method=False)
def as_tensor(data, dtype=None, device=None):
    """The data as a tensor, sharing memory where possible and keeping history.

    >>> import numpy as np, whet
    >>> a = np.zeros(2)
    >>> whet.as_tensor(a)[0] = 1.0
    >>> float(a[0])
    1.0
    """
    check_options("as_tensor", None, device)
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if is_tensor(data):
        data = data if device is None else data.to(device)
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    t = _followed(data, dtype)
    if t is None and modes.state.observers:
        t = _of_varying(data, dtype)
    if t is None:
        a, new = array_of(data, dtype)
        t = literal(a) if new else shown(wrap(another(a)))
    return t if devices.beyond is None else placed(t, device)


@function(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """The object as a tensor; `copy` forces a new one (True), forbids it (False) or leaves it
    open (None).

    >>> import whet
    >>> whet.asarray([1, 2.5])
    tensor([1.0000, 2.5000])
    """
    check_options("asarray", None, device)
    dtype = dtypes.as_dtype(dtype)
    if isinstance(obj, bytes | bytearray | memoryview):
        d = dtype or dtypes.get_default_dtype()
        obj = frombuffer(obj, dtype=d)
    if (t := _followed(obj, dtype)) is not None:
        if copy is False and t._array is not obj.__whet_array__():
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return require(
            t.clone(memory_format=contiguous_format)
            if copy and t._array is obj.__whet_array__() else t,
            requires_grad, device)
    if is_tensor(obj):
        moved = obj if device is None else obj.to(device)
        if copy is False and moved is not obj:
            raise ValueError("can't alias tensor with different dtype or device")
        obj = moved
        t = obj if dtype is None or obj.dtype is dtype else obj.to(dtype)
        if copy is False and t is not obj:
            raise ValueError("can't alias tensor with different dtype or device")
        if copy and t is obj:
            t = t.clone()
        if not requires_grad:
            return t.detach() if t.requires_grad and not obj.requires_grad else t
        t = t.detach() if t.requires_grad and t._node is not None else t
        return t.requires_grad_()
    a, new = array_of(obj, dtype)
    if copy is False and new:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return require(literal(owned(a, new)) if new or copy else shown(wrap(another(a))),
                   requires_grad, device)


@function(method=False)
def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array: each sees the other's writes.

    >>> import whet
    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> x = whet.from_numpy(a)
    >>> a[0] = 5
    >>> x
    tensor([5., 0.], dtype=whet.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {ndarray.__class__.__name__})")
    array = memory_of(ndarray)
    d = dtypes.from_numpy(array.dtype)
    if array.dtype != d.np:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported.")
    # What a trace follows is known by its array.
    return shown(wrap(another(array) if array is ndarray else array))


@function(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor over the memory of an object with a buffer.

    >>> import whet
    >>> whet.frombuffer(bytearray([1, 2, 3]), dtype=whet.uint8)
    tensor([1, 2, 3], dtype=whet.uint8)
    """
    d, buffer = dtypes.as_dtype(dtype), memory_of(buffer)
    try:
        size = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError(f"frombuffer: {type(buffer)} has no buffer protocol") from None
    if size == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer "
                         f"length ({size} bytes) minus 1")
    if count == 0 or count < -1:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if count > 0 and offset + count * d.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {d.itemsize} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({size} bytes)")
    if count < 0 and (size - offset) % d.itemsize:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) "
                         f"must be a multiple of element size ({d.itemsize})")
    n = count if count > 0 else (size - offset) // d.itemsize
    a = np.frombuffer(buffer, np.uint8, n * d.itemsize, offset).view(d.np)
    return require(shown(wrap(a)), requires_grad)


@function(method=False)
def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None,
              pin_memory=False):
    """A tensor over a file's bytes; with `shared=True` writes go to the file, which is made or
    enlarged as needed.

    >>> import os
    >>> import tempfile
    >>> import whet
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> _ = open(path, "wb").write(bytes([1, 2, 3]))
    >>> whet.from_file(path, size=3, dtype=whet.uint8)
    tensor([1, 2, 3], dtype=whet.uint8)
    """
    check_options("from_file", layout, device, pin_memory)
    import os
    d = float_dtype(dtype)
    if shared:
        with open(filename, "ab") as f:
            missing = size * d.itemsize - f.tell()
            if missing > 0:
                f.truncate(size * d.itemsize)
    elif os.path.getsize(filename) < size * d.itemsize:
        raise RuntimeError(
            f"from_file: {filename} has {os.path.getsize(filename)} bytes, but "
            f"{size * d.itemsize} are wanted")
    if size == 0:
        return require(wrap(np.empty(0, d.np)), False, device)
    a = np.memmap(filename, np.uint8, "r+" if shared else "c", 0, size * d.itemsize)
    return require(shown(wrap(a.view(np.ndarray).view(d.np))), False, device)


def scalar_tensor(x, dtype=None):
    """A 0-d tensor from a Python number."""
    return apply(
        full_op, (), {
            "size": (), "value": x,
            "dtype": dtypes.of_number(x) if dtype is None else dtypes.as_dtype(dtype)})


def _scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False,
                   requires_grad=False):
    """A 0-d tensor from a Python number, in the default type where none is given.

    >>> import whet
    >>> whet.scalar_tensor(2)
    tensor(2.)
    """
    check_options("scalar_tensor", layout, device, pin_memory)
    t = scalar_tensor(s, dtypes.get_default_dtype() if dtype is None else dtype)
    return require(t, requires_grad, device)


FUNCTIONS["scalar_tensor"] = _scalar_tensor


def legacy_tensor(*args, device=None, dtype=None, data=None, requires_grad=False):
    """`Tensor(...)`: sizes give uninitialised memory, data become the default floating point
    type. A tensor shares its memory and its history with what is made of it, and has its own type.

    >>> import whet
    >>> whet.Tensor([1, 2]), whet.Tensor(whet.tensor([1, 2]))
    (tensor([1., 2.]), tensor([1, 2]))
    """
    if data is not None:
        args = (data,)
    d = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
    check_options("new", None, device)
    if not args:
        return require(wrap(np.empty(0, d.np)), False, device)
    x = args[0]
    if len(args) == 1 and type(x) is not Size:
        if is_tensor(x):
            recorded = modes.state.flags & modes.GRAD and x.requires_grad
            return x.view_as(x) if recorded else x.detach()
        if isinstance(x, np.ndarray | list | tuple) or _is_sequence(x):
            return tensor(x, dtype=d, device=device)
        if not hasattr(type(x), "__index__") or isinstance(x, bool):
            raise TypeError(f"new(): data must be a sequence (got {x.__class__.__name__})")
    return empty(*args, dtype=d, device=device)


Tensor._from_arguments = staticmethod(legacy_tensor)
