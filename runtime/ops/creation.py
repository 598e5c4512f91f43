"""New tensors: from Python data, from other libraries' arrays, from a rule."""
import builtins
import math
import numbers

import numpy as np

from .. import devices, dtypes, indexing
from ..autograd import modes
from ..cpu import guard, memory
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from ..ir.spans import address
from ..tensor import Size, Tensor, channels_last, channels_last_3d, contiguous_format, preserve_format, shown, strided, wrap
from .registry import Op, apply, beside, is_tensor
from .samples import Sample
from .surface import FUNCTIONS, function, method


# ---- memory ----------------------------------------------------------------------------------------------------------
def empty_array(shape, dtype):
    """An uninitialised row-major array; large ones come from blocks that are kept for reuse."""
    return memory.empty(shape, dtype)


def new_array(shape, dtype, memory_format=None):
    """An uninitialised array."""
    if memory_format is None or memory_format is contiguous_format:
        return empty_array(shape, dtype)
    if memory_format is channels_last or memory_format is channels_last_3d:
        n = 4 if memory_format is channels_last else 5
        if len(shape) != n:
            raise RuntimeError(f"required rank {n} tensor to use {memory_format!r} format")
        return empty_array((shape[0], *shape[2:], shape[1]), dtype).transpose(0, n - 1, *builtins.range(1, n - 1))
    raise RuntimeError(f"memory format {memory_format!r} is not supported here")


def copied(array):
    """A copy of a dense array, as it lies in memory (NumPy gives dimensions of size 1 strides of its own)."""
    c = array.copy(order="K")
    return c if c.strides == array.strides else np.lib.stride_tricks.as_strided(c, strides=array.strides)


def owned(array, new):
    """A row-major copy of an array, or the array itself if it is new; what is large lies where vectors like it to begin."""
    if array.nbytes < memory.SMALLEST:
        return array if new else array.copy()
    if new and address(array) % 64 == 0 and guard.SIDE is None:
        return array
    copy = empty_array(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def like_array(a, dtype, memory_format=preserve_format):
    """An uninitialised array of the shape of `a`; `preserve_format` keeps the order of its dimensions in memory."""
    if memory_format is not preserve_format and memory_format is not None:
        return new_array(a.shape, dtype, memory_format)
    if a.ndim < 2 or a.flags.c_contiguous:
        return empty_array(a.shape, dtype)
    order = sorted(builtins.range(a.ndim), key=lambda d: (-abs(a.strides[d]), d))
    if any(a.strides[d] == 0 and a.shape[d] > 1 for d in order):
        return empty_array(a.shape, dtype)
    return empty_array([a.shape[d] for d in order], dtype).transpose(np.argsort(order))


FORMATS = {"contiguous": contiguous_format, "preserve": preserve_format, "channels_last": channels_last, "channels_last_3d": channels_last_3d}


def as_format(memory_format):
    """A memory format from its name or itself."""
    if isinstance(memory_format, str):
        if memory_format not in FORMATS:
            raise ValueError(f"memory_format is one of {', '.join(FORMATS)}, not {memory_format!r}")
        return FORMATS[memory_format]
    return memory_format


# ---- options that every constructor takes ----------------------------------------------------------------------------
def check_options(op, layout, device, pin_memory=False):
    if device is not None:
        devices.as_device(device)
    if layout is not None and layout is not strided:
        raise RuntimeError(f"{op}: layout {layout!r} is not supported, only whet.strided is")
    if pin_memory:
        raise RuntimeError("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available "
                           "on this system.")


def require(t, requires_grad):
    if requires_grad:
        if t.dtype.kind < FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t._rg |= 1
    return t


def finish(t, op, out, requires_grad):
    """The result of a constructor: itself, or written to `out`."""
    if out is not None:
        from .surface import give_out
        return give_out(op, t, out, warn=False)             # a constructor says what shape it wants
    return require(t, requires_grad) if requires_grad else t


def float_dtype(dtype):
    return dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)


# ---- one value everywhere --------------------------------------------------------------------------------------------
def cast_number(value, dtype, op="full"):
    """A Python number as a 0-d array of the dtype; raises where the type cannot hold it."""
    if is_tensor(value):
        value = value.item()
    k = dtype.kind
    if k == BOOL:
        return np.asarray(bool(value))
    if isinstance(value, builtins.complex) and k != COMPLEX:
        if value.imag != 0:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        value = value.real
    if k == INT:
        if isinstance(value, builtins.float) and not math.isfinite(value):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        v = int(value)
        bits = 8 * dtype.itemsize
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.is_signed else (-(1 << bits) + 1, (1 << bits) - 1)
        if not low <= v <= high:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        return np.asarray(v if dtype.is_signed else v & high, dtype.np)
    a = np.asarray(value, np.complex128 if k == COMPLEX else np.float64)
    if abs(value) < 65504:                                   # the largest float16: overflows in no type, and needs no `errstate`
        return a.astype(dtype.np)
    with np.errstate(over="ignore"):
        a = a.astype(dtype.np)
    if k == FLOAT and dtype.itemsize < 8 and np.isinf(a) and not math.isinf(value):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return a


def _full(size, value, dtype, memory_format=None):
    a = new_array(size, dtype.np, memory_format)
    a.fill(value)
    return a


def _zeros(size, dtype, memory_format=None):
    if memory_format is None and math.prod(size) * dtype.itemsize < memory.SMALLEST:
        return np.zeros(size, dtype.np)
    return _full(size, dtype.np.type(0), dtype, memory_format)


def _new_samples(make):
    yield Sample(size=(2, 3), dtype=dtypes.float32)
    yield Sample(size=(), dtype=dtypes.int64)
    yield Sample(size=(0, 4), dtype=dtypes.bool_)


zeros_op = Op("zeros", _zeros, samples=_new_samples)
empty_op = Op("empty", lambda size, dtype, memory_format=None: new_array(size, dtype.np, memory_format),
              samples=lambda make: [Sample(size=(0, 4), dtype=dtypes.float32)])
full_op = Op("full", lambda size, value, dtype, memory_format=None: _full(size, cast_number(value, dtype), dtype, memory_format),
             samples=lambda make: [Sample(size=(2, 3), value=1.5, dtype=dtypes.float32),
                                   Sample(size=(0,), value=True, dtype=dtypes.bool_)])
constant_op = Op("constant", copied, samples=lambda make: [Sample(array=np.arange(6.0).reshape(2, 3))])


for _op in (zeros_op, empty_op, full_op, constant_op):
    _op.total = True


def _size_of(args, size, op):
    if size is not None:
        if args:
            raise TypeError(f"{op}() got both positional sizes and the keyword 'size'")
        args = (size,)
    return indexing.checked_size(indexing.sizes(args, op), op)


@function(method=False)
def zeros(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of zeros.

    >>> import whet
    >>> whet.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    check_options("zeros", layout, device, pin_memory)
    if out is not None and dtype is None:
        dtype = out.dtype
    t = apply(zeros_op, (), {"size": _size_of(shape, size, "zeros"), "dtype": float_dtype(dtype)})
    return finish(t, "zeros", out, requires_grad)


@function(method=False)
def ones(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of ones.

    >>> import whet
    >>> whet.ones(2)
    tensor([1., 1.])
    """
    check_options("ones", layout, device, pin_memory)
    if out is not None and dtype is None:
        dtype = out.dtype
    t = apply(full_op, (), {"size": _size_of(shape, size, "ones"), "value": 1, "dtype": float_dtype(dtype)})
    return finish(t, "ones", out, requires_grad)


@function(method=False)
def empty(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=contiguous_format):
    """A tensor whose elements are whatever the memory holds."""
    check_options("empty", layout, device, pin_memory)
    size = _size_of(shape, size, "empty")
    if out is not None:
        return out.resize_(size)
    memory_format = as_format(memory_format)
    attrs = {"size": size, "dtype": float_dtype(dtype)}
    if memory_format is not contiguous_format:
        attrs["memory_format"] = memory_format
    return finish(apply(empty_op, (), attrs), "empty", None, requires_grad)


@function(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with one value everywhere, in the value's own type where none is given.

    >>> import whet
    >>> whet.full((2,), 7)
    tensor([7, 7])
    """
    check_options("full", layout, device, pin_memory)
    if is_tensor(fill_value):
        dtype = fill_value.dtype if dtype is None else dtype
        fill_value = fill_value.item()
    if out is not None and dtype is None:
        dtype = out.dtype
    dtype = dtypes.of_number(fill_value) if dtype is None else dtypes.as_dtype(dtype)
    size = indexing.checked_size(indexing.sizes((size,), "full"), "full")
    return finish(apply(full_op, (), {"size": size, "value": fill_value, "dtype": dtype}), "full", out, requires_grad)


def _like(input, op, value, dtype, layout, device, requires_grad, memory_format):
    if not is_tensor(input):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    check_options(op, layout, device)
    dtype = input.dtype if dtype is None else dtypes.as_dtype(dtype)
    a, attrs = input._array, {"size": input._array.shape, "dtype": dtype}
    memory_format = as_format(memory_format)
    kind = zeros_op if value == 0 and value is not None and type(value) is int else empty_op if value is None else full_op
    if kind is full_op:
        attrs["value"] = value
    if memory_format is preserve_format:
        if not a.flags.c_contiguous:
            array = like_array(a, dtype.np)
            if value is not None:
                array.fill(cast_number(value, dtype))
            elif modes.state.observers:      # (a run that is recorded twice has the same constants)
                array.fill(0)
            return require(beside(input, literal(array)), requires_grad)
    elif memory_format is not contiguous_format:
        attrs["memory_format"] = memory_format
    return require(beside(input, apply(kind, (), attrs)), requires_grad)


@function(method=False)
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
    """Zeros in the shape and type of `input`."""
    return _like(input, "zeros_like", 0, dtype, layout, device, requires_grad, memory_format)


@function(method=False)
def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
    """Ones in the shape and type of `input`."""
    return _like(input, "ones_like", 1, dtype, layout, device, requires_grad, memory_format)


@function(method=False)
def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
    """Uninitialised memory in the shape and type of `input`."""
    return _like(input, "empty_like", None, dtype, layout, device, requires_grad, memory_format)


@function(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=preserve_format):
    """One value everywhere, in the shape and type of `input`."""
    if is_tensor(fill_value):
        fill_value = fill_value.item()
    return _like(input, "full_like", fill_value, dtype, layout, device, requires_grad, memory_format)


def _new_method(name, fill):
    def new(self, *shape, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        check_options(name, layout, device, pin_memory)
        attrs = {"size": _size_of(shape, size, name), "dtype": self.dtype if dtype is None else dtypes.as_dtype(dtype)}
        if fill == 1:
            attrs["value"] = 1
        made = apply((empty_op, zeros_op, full_op)[0 if fill is None else 1 + fill], (), attrs)
        return require(beside(self, made), requires_grad)
    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"As `whet.{name[4:]}`, in the type of this tensor."
    return method()(new)


_new_method("new_zeros", 0)
_new_method("new_ones", 1)
_new_method("new_empty", None)


@method()
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """As `whet.full`, in the type of this tensor."""
    made = full(size, fill_value, dtype=self.dtype if dtype is None else dtype, device=device, layout=layout, pin_memory=pin_memory)
    return require(beside(self, made), requires_grad)


@method()
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """As `whet.tensor`, in the type of this tensor."""
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


@method()
def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """As `whet.empty_strided`, in the type of this tensor."""
    made = empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, device=device, layout=layout, pin_memory=pin_memory)
    return require(beside(self, made), requires_grad)


@method()
def new(self, *args, device=None):
    """A tensor of this type from sizes or data (see `whet.Tensor`)."""
    return legacy_tensor(*args, device=device, dtype=self.dtype)


@function(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Uninitialised memory with the given strides (in elements)."""
    check_options("empty_strided", layout, device, pin_memory)
    size = indexing.checked_size(indexing.sizes((size,), "empty_strided"), "empty_strided")
    stride = indexing.sizes((stride,), "empty_strided")
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(size)}, {list(stride)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    n = 1 + sum((s - 1) * k for s, k in zip(size, stride)) if math.prod(size) else 0
    indexing.checked_size((n,), "empty_strided")
    flat = empty_array((n,), float_dtype(dtype).np)
    return require(wrap(indexing.strided(flat, size, stride)), requires_grad)


@function(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Uninitialised memory that is dense when its dimensions are taken in the order `physical_layout` (outermost first)."""
    check_options("empty_permuted", layout, device, pin_memory)
    size, order = indexing.checked_size(indexing.sizes((size,), "empty_permuted"), "empty_permuted"), tuple(physical_layout)
    if len(order) != len(size):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{len(size)} is not equal to len(physical_layout) = {len(order)}")
    if sorted(order) != list(builtins.range(len(size))):
        raise RuntimeError(f"Dimension out of range or duplicate dim in physical_layout: {list(order)}")
    a = empty_array([size[d] for d in order], float_dtype(dtype).np).transpose(np.argsort(order)) if size else \
        empty_array((), float_dtype(dtype).np)
    return require(wrap(a), requires_grad)


# ---- from data -------------------------------------------------------------------------------------------------------
_NUMBERS = {bool, int, builtins.float, builtins.complex}


def _is_sequence(x):
    if isinstance(x, list | tuple):
        return True
    return hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, str | bytes | dict)


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
    raise RuntimeError(f"Could not infer dtype of {t.__name__}")


class _Scan:
    """One look at nested data: its shape, the common dtype of its leaves, and the data with tensors replaced by arrays."""

    def __init__(self, data):
        self.dtype, self.shape, self.foreign = None, None, False
        self.types = set()
        self._shape(data)
        self._walk(data, 0)
        for t in self.types:
            self._join(dtypes.of_number(t()))

    def _join(self, d):
        self.dtype = d if self.dtype is None else dtypes.promote_types(self.dtype, d)

    def _shape(self, data):
        shape = []
        while _is_sequence(data) and not (is_tensor(data) or isinstance(data, np.ndarray)):
            shape.append(len(data))
            if len(shape) > 128:
                raise ValueError(f"too many dimensions '{type(data).__name__}'")
            if not shape[-1]:
                break
            data = data[0]
        if is_tensor(data):
            shape += data._array.shape
        elif isinstance(data, np.ndarray):
            shape += data.shape
        elif isinstance(data, str | bytes) and shape:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        self.shape = tuple(shape)

    def _walk(self, x, depth):
        if is_tensor(x) or isinstance(x, np.ndarray):
            self.foreign = True
            if x.shape != self.shape[depth:]:
                if x.ndim and depth < len(self.shape):
                    raise self._ragged(depth, x.shape[0])
                raise TypeError("not a sequence") if not x.ndim else ValueError(f"too many dimensions '{type(x).__name__}'")
            self._join(_leaf_dtype(x))
        elif _is_sequence(x):
            if depth == len(self.shape):
                raise TypeError(f"'{type(x).__name__}' object cannot be interpreted as a number: the nested sequences have "
                                "different depths")
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
        return ValueError(f"expected sequence of length {self.shape[depth]} at dim {depth} (got {got})")


def _plain(x):
    """Nested data with tensors and NumPy values replaced by Python numbers and lists."""
    if is_tensor(x):
        return x.tolist()
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist() if x.dtype.kind in "biufc" else x.astype(np.float64).tolist()
    if _is_sequence(x):
        return [_plain(y) for y in x]
    return x if isinstance(x, numbers.Number) else x.__index__() if hasattr(x, "__index__") else builtins.float(x)


def memory_of(x):
    """An array of NumPy's, where a trace has something stand for it."""
    return x.__whet_array__() if modes.state.observers and hasattr(x, "__whet_array__") else x


def _followed(data, dtype):
    """The memory of an array that a trace follows, as a tensor of some type; None for other data."""
    if not (modes.state.observers and hasattr(data, "__whet_array__")):
        return None
    t = shown(wrap(data.__whet_array__()))
    return t if dtype is None or dtype is t.dtype else t.to(dtype)


def array_of(data, dtype=None):
    """(array, is new): Python data, a NumPy array or a tensor as an array of `dtype`, or of the type that the data suggest."""
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
            from .interop import import_dlpack
            return array_of(import_dlpack(data), dtype)
        if hasattr(data, "__array_interface__") or not isinstance(data, numbers.Number) and hasattr(data, "__array__"):
            return array_of(np.asarray(data), dtype)
        own = _leaf_dtype(data)
        value = data if isinstance(data, numbers.Number) else _plain(data)
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
    if dtype.kind == INT and isinstance(value, int) and not -(1 << 63) <= value < 1 << (64 if dtype.name == "uint64" else 63):
        raise ValueError("Overflow when unpacking long long")
    if dtype.kind in (FLOAT, COMPLEX):
        with np.errstate(over="ignore"):
            return convert(np.asarray(value, np.complex128 if isinstance(value, builtins.complex) else np.float64), dtype)
    return cast_number(value, dtype)


def _list_array(values, own, dtype, shape):
    """Nested lists of numbers as an array."""
    if own.kind == COMPLEX and dtype.kind != COMPLEX:
        raise TypeError(f"must be real number, not complex: the data are complex and cannot become {dtype}")
    if dtype.kind == INT and own.kind <= INT:
        try:
            a = np.array(values, np.int64)
        except OverflowError:
            if dtype.name != "uint64":
                raise ValueError("Overflow when unpacking long long") from None
            a = np.array(values, np.uint64)
            return a.reshape(shape)
        if dtype.itemsize < 8:
            bits = 8 * dtype.itemsize
            low = -(1 << bits - 1) if dtype.is_signed else -(1 << bits) + 1
            if a.min() < low or a.max() >= 1 << (bits - dtype.is_signed):
                raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        return a.astype(dtype.np, copy=False).reshape(shape)
    if dtype.kind == BOOL:
        return np.array(values, np.complex128 if own.kind == COMPLEX else None).astype(bool).reshape(shape)
    if dtype.itemsize >= 4 and dtype.kind != INT and own.kind < COMPLEX:
        with np.errstate(over="ignore"):
            return np.array(values, dtype.np).reshape(shape)
    wide = np.complex128 if own.kind == COMPLEX else np.float64
    a = np.array(values, wide).reshape(shape)
    if dtype.kind == INT:
        bits = 8 * dtype.itemsize
        limit = 2.0 ** (bits - dtype.is_signed)
        if not ((a < limit) & (a > -limit - 1)).all():
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return convert(a, dtype)


def convert(a, dtype):
    """An array in another type, as `Tensor.to` converts."""
    from .convert import cast_array
    return cast_array(a, dtype)


def literal(array):
    """A tensor over a new array, known to a trace as a constant."""
    if modes.state.observers:
        return apply(constant_op, (), {"array": array})
    t = wrap(array)
    if modes.state.flags & modes.INFERENCE:
        t._rg = 2
    return t


def number(value, dtype):
    """A Python number as a tensor of no dimension; raises where the type cannot hold it."""
    if hasattr(value, "__whet_tensor__"):    # (a number that varies)
        return apply(full_op, (), {"size": (), "value": value, "dtype": dtype})
    return literal(cast_number(value, dtype))


def _of_varying(data, dtype):
    """Data with numbers that vary, or with tensors of one number, as a tensor made of them; None where there are none, or where that would
    not be what `array_of` gives."""
    leaves, shape = [], ()
    if hasattr(data, "__whet_tensor__"):
        leaves = [data]
    elif type(data) in (list, tuple) and len(data) <= _FEW and all(type(x) not in (list, tuple) for x in data):
        leaves, shape = data, (len(data),)
    if not any(hasattr(x, "__whet_tensor__") or is_tensor(x) for x in leaves):
        return None
    made = []
    for x in leaves:
        if is_tensor(x):
            if x._array.ndim or x.dtype.kind != FLOAT or x.dtype is dtypes.bfloat16:
                return None
            made.append(x.detach())
        elif hasattr(x, "__whet_tensor__") and (stands := x.__whet_tensor__()) is not None:
            made.append(stands)
        elif type(x) in (int, builtins.float) and abs(x) < 1 << 40:
            made.append(literal(np.asarray(x)))
        else:
            return None
    own = _Scan(data).dtype if shape else dtypes.of_number(data)
    dtype = dtype or own
    if dtype.kind == FLOAT and dtype.itemsize >= 4:
        made = [x.to(dtype) for x in made]
    elif dtype is not dtypes.int64 or any(x.dtype is not dtype for x in made):
        return None
    return FUNCTIONS["stack"](made) if shape else made[0].clone()


_FEW = 64                                    # numbers that are worth a tensor each


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
        modes.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than whet.tensor(sourceTensor).", UserWarning,
                      stacklevel=2)
        t = data.detach().clone()
        return require(t if dtype is None else t.to(dtypes.as_dtype(dtype)), requires_grad)
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if modes.state.observers:
        t = _of_varying(data, dtype)
        if t is None and (t := _followed(data, dtype)) is not None and t._array is data.__whet_array__():
            t = t.clone(memory_format=contiguous_format)
        if t is not None:
            return require(t, requires_grad)
    a, new = array_of(data, dtype)
    t = literal(owned(a, new))
    return require(t, True) if requires_grad else t


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
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    t = _followed(data, dtype)
    if t is not None:
        return t
    a, new = array_of(data, dtype)
    return literal(a) if new else shown(wrap(a))


@function(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """The object as a tensor; `copy` forces a new one (True), forbids it (False) or leaves it open (None)."""
    check_options("asarray", None, device)
    dtype = dtypes.as_dtype(dtype)
    if isinstance(obj, bytes | bytearray | memoryview):
        d = dtype or dtypes.get_default_dtype()
        obj = frombuffer(obj, dtype=d)
    if (t := _followed(obj, dtype)) is not None:
        if copy is False and t._array is not obj.__whet_array__():
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return require(t.clone(memory_format=contiguous_format) if copy and t._array is obj.__whet_array__() else t, requires_grad)
    if is_tensor(obj):
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
    return require(literal(owned(a, new)) if new or copy else shown(wrap(a)), requires_grad)


@function(method=False)
def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array: each sees the other's writes."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    ndarray = memory_of(ndarray)
    d = dtypes.from_numpy(ndarray.dtype)
    if ndarray.dtype != d.np:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                         "currently not supported.")
    return shown(wrap(ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray)))


@function(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor over the memory of an object with a buffer."""
    d, buffer = dtypes.as_dtype(dtype), memory_of(buffer)
    size = memoryview(buffer).nbytes
    if size == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count == 0 or count < -1:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if count > 0 and offset + count * d.itemsize > size:
        raise ValueError(f"requested buffer length ({count} * {d.itemsize} bytes) after offset ({offset} bytes) must not be "
                         f"greater than actual buffer length ({size} bytes)")
    if count < 0 and (size - offset) % d.itemsize:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
                         f"({d.itemsize})")
    n = count if count > 0 else (size - offset) // d.itemsize
    a = np.frombuffer(buffer, np.uint8, n * d.itemsize, offset).view(d.np)
    return require(shown(wrap(a)), requires_grad)


@function(method=False)
def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False):
    """A tensor over a file's bytes; with `shared=True` writes go to the file, which is made or enlarged as needed."""
    check_options("from_file", layout, device, pin_memory)
    import os
    d = float_dtype(dtype)
    if shared:
        with open(filename, "ab") as f:
            missing = size * d.itemsize - f.tell()
            if missing > 0:
                f.truncate(size * d.itemsize)
    elif os.path.getsize(filename) < size * d.itemsize:
        raise RuntimeError(f"from_file: {filename} has {os.path.getsize(filename)} bytes, but {size * d.itemsize} are wanted")
    if size == 0:
        return wrap(np.empty(0, d.np))
    return shown(wrap(np.memmap(filename, np.uint8, "r+" if shared else "c", 0, size * d.itemsize).view(np.ndarray).view(d.np)))


def scalar_tensor(x, dtype=None):
    """A 0-d tensor from a Python number."""
    return apply(full_op, (), {"size": (), "value": x, "dtype": dtypes.of_number(x) if dtype is None else dtypes.as_dtype(dtype)})


FUNCTIONS["scalar_tensor"] = lambda s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False: scalar_tensor(
    s, dtypes.get_default_dtype() if dtype is None else dtype).requires_grad_(requires_grad)


def legacy_tensor(*args, device=None, dtype=None, data=None, requires_grad=False):
    """`Tensor(...)`: sizes give uninitialised memory, data become the default floating point type."""
    if data is not None:
        args = (data,)
    d = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
    check_options("new", None, device)
    if not args:
        return wrap(np.empty(0, d.np))
    x = args[0]
    if len(args) == 1 and type(x) is not Size:
        if is_tensor(x):
            if x.dtype is not d and dtype is None and type(x) is Tensor:
                raise TypeError(f"expected {d} (got {x.dtype})")
            return x.detach()
        if isinstance(x, np.ndarray | list | tuple) or _is_sequence(x):
            return tensor(x, dtype=d)
        if not hasattr(type(x), "__index__") or isinstance(x, bool):
            raise TypeError(f"new(): data must be a sequence (got {type(x).__name__})")
    return empty(*args, dtype=d)


from . import sequences  # noqa: E402, F401  (more of the family)
