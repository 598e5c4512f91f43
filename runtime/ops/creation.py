"""New tensors: filled by a rule, like another, or empty; the options that all of them take."""
import builtins
import math

import numpy as np

from .. import devices, dtypes, size_arguments, strided_memory
from ..autograd import engine, modes
from ..cpu import allocator, float8, guarded_memory, memory
from ..dtypes import BOOL, COMPLEX, FLOAT, INT, STORED
from ..ir.memory_spans import address
from ..layouts import channels_last, channels_last_3d, contiguous_format, preserve_format, strided
from ..tensor import wrap
from ..tensor_base import IN_INFERENCE, REQUIRES_GRAD
from .argument_errors import checked_input
from .onnx import shapes as in_onnx
from .out_arguments import give_out, type_to_make
from .registry import Op, apply, apply_without_operands, beside, is_tensor
from .sample_inputs import Sample
from .surface import function, method


# ---- memory --------------------------------------------------------------------------------------
def empty_array(shape, dtype):
    """An uninitialised row-major array; large ones come from blocks that are kept for reuse."""
    return memory.empty(shape, dtype)


def new_array(shape, dtype, memory_format=None):
    """An uninitialised array. `memory_format` may be an order of dimensions, the outermost in
    memory first."""
    if type(memory_format) is tuple:
        return empty_array([shape[d] for d in memory_format], dtype).transpose(
            np.argsort(memory_format).tolist())
    if memory_format is None or memory_format is contiguous_format:
        return empty_array(shape, dtype)
    return new_array(shape, dtype, format_order(memory_format, len(shape)))


def format_order(memory_format, ndim):
    """The dimensions of a tensor in the order in which one of its formats puts them in memory, the
    outermost first."""
    if memory_format is channels_last or memory_format is channels_last_3d:
        n = 4 if memory_format is channels_last else 5
        if ndim != n:
            raise RuntimeError(f"required rank {n} tensor to use {memory_format!r} format")
        return (0, *builtins.range(2, n), 1)
    raise RuntimeError(f"memory format {memory_format!r} is not supported here")


def copied(array):
    """A copy of an array, as it lies in memory, without gaps between elements."""
    if devices.is_elsewhere(array):
        return devices.beyond.with_strides(array, array.strides)
    c = array.copy(order="K")
    # NumPy gives dimensions of size 1 strides of its own.
    is_dense = not c.size or all(
        n == 1 or s == t for n, s, t in zip(c.shape, c.strides, array.strides))
    return c if c.strides == array.strides or not is_dense else np.lib.stride_tricks.as_strided(
        c, strides=array.strides)


def owned(array, new):
    """A row-major copy of an array, or the array itself if it is new; what is large lies where
    vectors like it to begin."""
    if array.nbytes < memory.SMALLEST:
        return array if new else array.copy()
    if new and address(array) % 64 == 0 and guarded_memory.SIDE is None:
        return array
    copy = empty_array(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def like_array(a, dtype, memory_format=preserve_format):
    """An uninitialised array of the shape of `a`; `preserve_format` keeps the order of its
    dimensions in memory."""
    if memory_format is not preserve_format and memory_format is not None:
        return new_array(a.shape, dtype, memory_format)
    return new_array(a.shape, dtype, order_in_memory(a))


def order_in_memory(a):
    """The dimensions of an array, the outermost in memory first; None where it lies row by row, or
    elements lie on one another."""
    rows = tuple(builtins.range(a.ndim))
    if a.ndim < 2 or a.flags.c_contiguous:
        return None
    order = tuple(sorted(rows, key=lambda d: (-abs(a.strides[d]), d)))
    if order == rows or any(a.strides[d] == 0 and a.shape[d] > 1 for d in order):
        return None
    return order


FORMATS = {
    "contiguous": contiguous_format,
    "preserve": preserve_format,
    "channels_last": channels_last,
    "channels_last_3d": channels_last_3d}


def as_format(memory_format):
    """A memory format from its name or itself."""
    if isinstance(memory_format, str):
        if memory_format not in FORMATS:
            raise ValueError(f"memory_format is one of {', '.join(FORMATS)}, not {memory_format!r}")
        return FORMATS[memory_format]
    return memory_format


# ---- options that every constructor takes --------------------------------------------------------
def check_options(op, layout, device, pin_memory=False):
    if device is not None:
        devices.as_device(device)
    if layout is not None and layout is not strided:
        raise RuntimeError(f"{op}: layout {layout!r} is not supported, only whet.strided is")
    if pin_memory:
        raise RuntimeError(
            f"{op}: pin_memory=True is not supported; `.pin_memory()` makes a copy that is pinned")


def placed(t, device):
    """A new tensor on the device that was asked for, which it was made on, or else on the CPU."""
    d = devices.as_device(device)
    return t if d is devices.CPU or d is t.device else t.to(d)


def require(t, requires_grad, device=None):
    if devices.beyond is not None:
        t = placed(t, device)
    if requires_grad:
        if not t.dtype.has_gradients:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients")
        t._rg |= REQUIRES_GRAD
    return t


def finish(t, op, out, requires_grad, device=None):
    """The result of a constructor: itself, or written to `out`."""
    if devices.beyond is not None:
        t = placed(t, out.device if out is not None else device)
    if out is not None:
        return give_out(op, t, out, warn=False)             # a constructor says what shape it wants
    return require(t, requires_grad) if requires_grad else t


def float_dtype(dtype):
    return dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)


def check_real(own, dtype):
    """Raise TypeError where data of a complex type are to become numbers of another kind."""
    if own.category == COMPLEX and dtype.category not in (COMPLEX, BOOL):
        raise TypeError(
            f"must be real number, not complex: the data are complex and cannot become {dtype}")


# ---- one value everywhere ------------------------------------------------------------------------
def cast_number(value, dtype, op="full"):
    """A Python number as a 0-d array of the dtype; raises where the type cannot hold it."""
    if is_tensor(value):
        value = value.item()
    k = dtype.category
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
        low, high = ((-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.is_signed else
                     (-(1 << bits) + 1, (1 << bits) - 1))
        if not low <= v <= high:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        return np.asarray(v if dtype.is_signed else v & high, dtype.np)
    a = np.asarray(value, np.complex128 if k == COMPLEX else np.float64)
    if k == STORED:
        if dtype in dtypes.PACKED_TYPES and not value:
            return np.zeros((), dtype.np)
        dtypes.check_converted(dtype)
        if dtypes.finfo(dtype).max < abs(value) < math.inf:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        return float8.narrowed(a.astype(np.float32), np.empty((), dtype.np))
    # the largest float16: overflows in no type, and needs no `errstate`
    if abs(value) < 65504:
        return a.astype(dtype.np)
    with np.errstate(over="ignore"):
        a = a.astype(dtype.np)
    if k == FLOAT and dtype.itemsize < 8 and np.isinf(a) and not math.isinf(value):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return a


def _fits_at_sight(value, dtype):
    """Is it a number that each type of fractions from four bytes on holds, at a first look?"""
    return (type(value) in (int, builtins.float) and dtype.category == FLOAT and dtype.itemsize > 2
            and -65504 < value < 65504)


def _full(size, value, dtype, memory_format=None):
    a = new_array(size, dtype.np, memory_format)
    a.fill(value)
    return a


def _zeros(size, dtype, memory_format=None):
    if memory_format is None and math.prod(size) * dtype.itemsize < memory.SMALLEST:
        return np.zeros(size, dtype.np)
    a = new_array(size, dtype.np, memory_format)
    memory.clear(a)
    return a


def _new_samples(make):
    yield Sample(size=(2, 3), dtype=dtypes.float32)
    yield Sample(size=(), dtype=dtypes.int64)
    yield Sample(size=(0, 4), dtype=dtypes.bool_)


zeros_op = Op("zeros", _zeros, samples=_new_samples,
              onnx=lambda b, size, dtype, memory_format=None: in_onnx.filled(b, size, 0, dtype))
empty_op = Op("empty",
              lambda size, dtype, memory_format=None: new_array(size, dtype.np, memory_format),
              samples=lambda make: [Sample(size=(0, 4), dtype=dtypes.float32)],
              onnx=lambda b, size, dtype, memory_format=None: in_onnx.filled(b, size, 0, dtype))
full_op = Op(
    "full", lambda size, value, dtype, memory_format=None: _full(
        size, value if _fits_at_sight(value, dtype) else cast_number(value, dtype), dtype,
        memory_format), samples=lambda make: [
            Sample(size=(2, 3), value=1.5, dtype=dtypes.float32),
            Sample(size=(0,), value=True, dtype=dtypes.bool_)],
    onnx=lambda b, size, value, dtype, memory_format=None: in_onnx.filled(b, size, value, dtype))
constant_op = Op("constant", copied,
                 samples=lambda make: [Sample(array=np.arange(6.0).reshape(2, 3))],
                 onnx=lambda b, array: b.constant(np.ascontiguousarray(array).reshape(array.shape)))
zeros_op.fills, full_op.fills = lambda **_: 0, lambda value, **_: value
empty_op.is_unset = True
zeros_op.any_sizes = empty_op.any_sizes = full_op.any_sizes = constant_op.any_sizes = True


for _op in (zeros_op, empty_op, full_op, constant_op):
    _op.total = True


def made_of_numbers(op, attrs, device, out=None):
    """A tensor by an op without operands: on `meta`, or on the CPU, and to be moved from there."""
    if devices.beyond is not None:
        d = devices.as_device(device) if out is None else out.device
        if d.type == "meta":
            return wrap(devices.beyond.made(op, attrs))
    return apply_without_operands(op, attrs)


def _made(op, attrs, device):
    """A tensor by one of the ops above, where it was asked for."""
    if devices.beyond is not None:
        d = devices.as_device(device)
        if d is not devices.CPU:
            if modes.state.observers:        # a graph says what is made, and where it goes
                return placed(apply(op, (), attrs), d)
            return _made_elsewhere(op, d, **attrs)
    return apply_without_operands(op, attrs)


def _made_elsewhere(op, device, size, dtype, value=0, memory_format=None):
    """A tensor by one of the ops above, on another device than the CPU, where the host has no
    memory for it."""
    strides = None
    if memory_format is not None and memory_format is not contiguous_format:
        with allocator.without_memory():
            strides = new_array(size, dtype.np, memory_format).strides
    if op is empty_op:
        value = None
    elif op is full_op:
        value = cast_number(value, dtype)
    return wrap(devices.beyond.filled(device.index, size, dtype.np, value, strides))


def _size_of(args, size, op):
    if size is not None:
        if args:
            raise TypeError(f"{op}() got both positional sizes and the keyword 'size'")
        args = (size,)
    return size_arguments.checked_size(size_arguments.sizes(args, op), op)


@function(method=False)
def zeros(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False):
    """A tensor of zeros.

    >>> import whet
    >>> whet.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    check_options("zeros", layout, device, pin_memory)
    dtype = type_to_make(dtype, out)
    attrs = {"size": _size_of(shape, size, "zeros"), "dtype": float_dtype(dtype)}
    return finish(_made(zeros_op, attrs, device), "zeros", out, requires_grad, device)


@function(method=False)
def ones(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False):
    """A tensor of ones.

    >>> import whet
    >>> whet.ones(2)
    tensor([1., 1.])
    """
    check_options("ones", layout, device, pin_memory)
    dtype = type_to_make(dtype, out)
    attrs = {"size": _size_of(shape, size, "ones"), "value": 1, "dtype": float_dtype(dtype)}
    return finish(_made(full_op, attrs, device), "ones", out, requires_grad, device)


@function(method=False)
def empty(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False, memory_format=contiguous_format):
    """A tensor whose elements are whatever the memory holds.

    >>> import whet
    >>> whet.empty(2, 3).shape
    whet.Size([2, 3])
    """
    check_options("empty", layout, device, pin_memory)
    size = _size_of(shape, size, "empty")
    dtype = type_to_make(dtype, out)
    if out is not None:
        return out.resize_(size)
    memory_format = as_format(memory_format)
    attrs = {"size": size, "dtype": float_dtype(dtype)}
    if memory_format is not contiguous_format:
        attrs["memory_format"] = memory_format
    return finish(_made(empty_op, attrs, device), "empty", None, requires_grad, device)


@function(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False):
    """A tensor with one value everywhere, in the value's own type where none is given.

    >>> import whet
    >>> whet.full((2,), 7)
    tensor([7, 7])
    """
    check_options("full", layout, device, pin_memory)
    if is_tensor(fill_value):
        dtype = fill_value.dtype if dtype is None else dtype
        fill_value = fill_value.item()
    dtype = type_to_make(dtype, out)
    dtype = dtypes.of_number(fill_value) if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(fill_value, int) and type(fill_value) not in (int, bool):
        fill_value = size_arguments.whole(fill_value)  # of sizes, perhaps, which a trace follows
    size = size_arguments.checked_size(size_arguments.sizes((size,), "full"), "full")
    attrs = {"size": size, "value": fill_value, "dtype": dtype}
    return finish(_made(full_op, attrs, device), "full", out, requires_grad, device)


def _filled_like(input, op, value, dtype, layout, device, requires_grad, memory_format, pin_memory):
    checked_input(op, input)
    check_options(op, layout, device, pin_memory)
    dtype = input.dtype if dtype is None else dtypes.as_dtype(dtype)
    a, attrs = input._array, {"size": input._array.shape, "dtype": dtype}
    memory_format = as_format(memory_format)
    kind = (zeros_op if value == 0 and value is not None and type(value) is int else
            empty_op if value is None else full_op)
    if kind is full_op:
        attrs["value"] = value
    if memory_format is preserve_format:
        order = order_in_memory(a)
        if order is not None:
            attrs["memory_format"] = order
    elif memory_format is not contiguous_format:
        attrs["memory_format"] = memory_format
    device = input.device if device is None else device
    return require(beside(input, _made(kind, attrs, device)), requires_grad, device)


@function(method=False)
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False,
               memory_format=preserve_format, pin_memory=False):
    """Zeros in the shape and type of `input`.

    >>> import whet
    >>> whet.zeros_like(whet.tensor([3., 4.]))
    tensor([0., 0.])
    """
    return _filled_like(input, "zeros_like", 0, dtype, layout, device, requires_grad,
                        memory_format, pin_memory)


@function(method=False)
def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False,
              memory_format=preserve_format, pin_memory=False):
    """Ones in the shape and type of `input`.

    >>> import whet
    >>> whet.ones_like(whet.tensor([3, 4]))
    tensor([1, 1])
    """
    return _filled_like(input, "ones_like", 1, dtype, layout, device, requires_grad, memory_format,
                        pin_memory)


@function(method=False)
def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False,
               memory_format=preserve_format, pin_memory=False):
    """Uninitialised memory in the shape and type of `input`.

    >>> import whet
    >>> whet.empty_like(whet.ones(2, 3)).shape
    whet.Size([2, 3])
    """
    return _filled_like(input, "empty_like", None, dtype, layout, device, requires_grad,
                        memory_format, pin_memory)


@function(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False,
              memory_format=preserve_format, pin_memory=False):
    """One value everywhere, in the shape and type of `input`.

    >>> import whet
    >>> whet.full_like(whet.ones(2), 7.)
    tensor([7., 7.])
    """
    if fill_value is None:
        raise TypeError("full_like(): argument 'fill_value' (position 2) must be Number, not "
                        "NoneType")
    if is_tensor(fill_value):
        fill_value = fill_value.item()
    return _filled_like(input, "full_like", fill_value, dtype, layout, device, requires_grad,
                        memory_format, pin_memory)


def _new_method(name, fill):

    def new(self, *shape, size=None, dtype=None, device=None, requires_grad=False, layout=None,
            pin_memory=False):
        if not shape and size is None:
            raise TypeError(f"{name}() missing 1 required positional argument: 'size'")
        check_options(name, layout, device, pin_memory)
        attrs = {
            "size": _size_of(shape, size, name),
            "dtype": self.dtype if dtype is None else dtypes.as_dtype(dtype)}
        if fill == 1:
            attrs["value"] = 1
        device = self.device if device is None else device
        made = _made((empty_op, zeros_op, full_op)[0 if fill is None else 1 + fill], attrs, device)
        return require(beside(self, made), requires_grad, device)
    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"As `whet.{name[4:]}`, in the type of this tensor."
    return method()(new)


_new_method("new_zeros", 0)
_new_method("new_ones", 1)
_new_method("new_empty", None)


@method()
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None,
             pin_memory=False):
    """As `whet.full`, in the type of this tensor.

    >>> import whet
    >>> whet.ones(2, dtype=whet.float64).new_full((3,), 2)
    tensor([2., 2., 2.], dtype=whet.float64)
    """
    made = full(size, fill_value, dtype=self.dtype if dtype is None else dtype,
                device=self.device if device is None else device, layout=layout,
                pin_memory=pin_memory)
    return require(beside(self, made), requires_grad, made.device)


@method()
def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False,
                      layout=None, pin_memory=False):
    """As `whet.empty_strided`, in the type of this tensor."""
    made = empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype,
                         device=self.device if device is None else device, layout=layout,
                         pin_memory=pin_memory)
    return require(beside(self, made), requires_grad, made.device)


@function(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False,
                  pin_memory=False):
    """Uninitialised memory with the given strides (in elements).

    >>> import whet
    >>> whet.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    check_options("empty_strided", layout, device, pin_memory)
    size = size_arguments.sizes((size,), "empty_strided")
    size_arguments.checked_size(size, "empty_strided")
    stride = size_arguments.sizes((stride,), "empty_strided")
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(size)}, {list(stride)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}")
    n = 1 + sum((s - 1) * k for s, k in zip(size, stride)) if math.prod(size) else 0
    size_arguments.checked_size((n,), "empty_strided")
    flat = empty_array((n,), float_dtype(dtype).np)
    return require(wrap(strided_memory.strided(flat, size, stride)), requires_grad, device)


@function(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None,
                   requires_grad=False, pin_memory=False):
    """Uninitialised memory that is dense when its dimensions are taken in the order
    `physical_layout` (outermost first).

    >>> import whet
    >>> whet.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    check_options("empty_permuted", layout, device, pin_memory)
    size, order = (size_arguments.checked_size(size_arguments.sizes((size,), "empty_permuted"),
                                         "empty_permuted"), tuple(physical_layout))
    if len(order) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}")
    if sorted(order) != list(builtins.range(len(size))):
        raise RuntimeError(
            f"Dimension out of range or duplicate dim in physical_layout: {list(order)}")
    a = empty_array([size[d] for d in order], float_dtype(dtype).np)
    if size:
        a = a.transpose(np.argsort(order))
    return require(wrap(a), requires_grad, device)


def literal(array):
    """A tensor over a new array, known to a trace as a constant."""
    if modes.state.observers:
        return apply(constant_op, (), {"array": array})
    t = wrap(array)
    if modes.state.flags & modes.INFERENCE:
        t._rg = IN_INFERENCE
    return t


engine.later.literal, engine.later.zeros_like = literal, zeros_like
