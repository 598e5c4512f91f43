"""Other types, other places, copies; tensors to Python and back."""
from math import prod

import numpy as np

from .. import devices, dtypes
from ..autograd import engine, modes
from ..autograd import inplace as ip
from ..autograd.engine import cast_gradient
from ..cpu import pointwise as kernels
from ..cpu import recorded_call
from ..dtypes import BOOL, COMPLEX, FLOAT, STORED
from ..ir.outline import like_first
from ..layouts import contiguous_format, preserve_format
from ..tensor import Tensor, shown, wrap
from ..tensor_base import IN_INFERENCE, REQUIRES_GRAD, is_strided
from . import docstrings, float8
from .argument_guards import check_flag
from .arithmetic import NO_ATTRS
from .batching import aligned, folded, native, repeated
from .casting import CASTS, copy_array
from .creation import as_format, like_array, order_in_memory
from .from_data import as_tensor, scalar_tensor
from .onnx import gather_and_scatter as in_onnx
from .pointwise_family import PointwiseOp, inplace
from .registry import OURS, Op, apply, is_tensor
from .sample_inputs import Sample, reals
from .surface import FUNCTIONS, METHODS, function, method

# ---- conversion of types -------------------------------------------------------------------------


clone_op = PointwiseOp("clone", lambda input: input, vjp=lambda g, y, x: [g], promote="none",
                       kinds="bifc8", samples=reals(-3, 3))


def _copy_each_to_format(op, n, inputs, batched, attrs):
    wanted = attrs["memory_format"]
    if type(wanted) is tuple:
        return native(op, n, inputs, batched, {"memory_format": (0, *[d + 1 for d in wanted])})
    rule = native if wanted is contiguous_format else folded()
    return rule(op, n, inputs, batched, attrs)


copy_to_format_op = Op(
    "clone_format", copy_array, lambda g, _y, _x, memory_format: [g],
    onnx=lambda b, x, memory_format: x, samples=lambda make: [
        Sample(make(2, 3), memory_format=contiguous_format),
        Sample(make(2, 3, 2, 2), memory_format=as_format("channels_last")),
        Sample(make(2, 3, 2), memory_format=(2, 0, 1))],
    batch=_copy_each_to_format, linear=(0,))
copy_to_format_op.on_device = lambda arrays, attrs, index: devices.beyond.with_strides(
    arrays[0], like_array(arrays[0], arrays[0].dtype, attrs["memory_format"]).strides)
copy_to_format_op.outlined = copy_to_format_op.allocate = (
    lambda x, memory_format: like_array(x, x.dtype, memory_format))
copy_to_format_op.onnx_complex = lambda b, x, memory_format: x
copy_to_format_op.any_sizes = True
copy_to_format_op.moves = lambda out, x, memory_format: [(out, x)]
copy_to_format_op.total = copy_to_format_op.keeps_sizes = True


def cast(t, dtype):
    """The tensor in another type; itself if it has that type."""
    if t.dtype is dtype:
        return t
    if STORED in (t.dtype.category, dtype.category):
        return _cast_stored(t, dtype)
    return apply(CASTS[dtype], (t,), NO_ATTRS)


def _cast_stored(t, dtype):
    """From or to a float of one byte, by way of float32."""
    dtypes.check_converted(t.dtype, dtype)
    if t.dtype.category == STORED:
        t = apply(float8.to_float32, (t,), NO_ATTRS)
    if dtype.category == STORED:
        return apply(float8.to_float8, (cast(t, dtypes.float32),), {"dtype": dtype})
    return cast(t, dtype)


@function()
def clone(input, *, memory_format=preserve_format):
    """A copy with the same history.

    >>> import whet
    >>> x = whet.tensor([1., 2.])
    >>> y = x.clone()
    >>> y[0] = 9.
    >>> x
    tensor([1., 2.])
    """
    if memory_format is preserve_format:
        return apply(clone_op, (input,), NO_ATTRS)
    memory_format = as_format(memory_format)
    if memory_format is preserve_format:
        return apply(clone_op, (input,), NO_ATTRS)
    return apply(copy_to_format_op, (input,), {"memory_format": memory_format})


def lies_as(a, b):
    """Does array `a` lie in memory as `b` of its shape does, or row by row where elements of `b`
    lie apart or on one another?"""
    order = None if b.flags.c_contiguous else _dense_order(b)
    return (a if order is None else a.transpose(order)).flags.c_contiguous


def _dense_order(a):
    """The dimensions of an array, the outermost in memory first; None where it lies row by row, or
    has gaps."""
    order = order_in_memory(a)
    return order if order is None or a.transpose(order).flags.c_contiguous else None


def copy_laid_as(t, other):
    """A copy of a tensor that lies in memory as `lies_as` says, with the same history."""
    if not (is_strided(t) and is_strided(other)) or lies_as(t._array, other._array):
        return t.clone()
    order = _dense_order(other._array)
    return apply(copy_to_format_op, (t,), {
        "memory_format": contiguous_format if order is None else order})


engine.later.lies_as, engine.later.copy_laid_as = lies_as, copy_laid_as


@method()
def contiguous(self, memory_format=contiguous_format):
    """The same values without gaps, row-major (or in another format); itself if they are.

    >>> import whet
    >>> whet.ones(2, 3).T.contiguous().stride()
    (2, 1)
    """
    memory_format = as_format(memory_format)
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if self.is_contiguous(memory_format):
        return self
    return apply(copy_to_format_op, (self,), {"memory_format": memory_format})


class _MoveToDevice(Op):
    """The elements in the memory of another device."""
    family = "transfer"
    crosses_devices = True

    def on_device(self, arrays, attrs, index):
        """From a device, to another one or the host."""
        return self.forward(*arrays, **attrs)


move_op = _MoveToDevice(
    "to_device", lambda a, source, target, non_blocking: devices.beyond.transfer(
        a, target, non_blocking),
    lambda g, _y, _x, source, target, non_blocking: [moved_to(g, source, False)], linear=(0,),
    batch=native, register=False)
OURS.add(move_op)


def moved_to(t, device, non_blocking):
    """A tensor on a device; itself where it is there."""
    if device == t.device and device.type == t.device.type:
        return t
    return apply(move_op, (t,), {
        "source": t.device, "target": device, "non_blocking": bool(non_blocking)})


def _target(args, dtype, device):
    """(dtype, device, what follows) of the positional arguments of `to`."""
    first = args[0]
    if type(first) is dtypes.dtype:
        dtype, *rest = args
    elif is_tensor(first):
        dtype, device, (_, *rest) = first.dtype, first.device, args
    elif first is None or isinstance(first, str | devices.device | int):
        device, *rest = args
        if rest and not isinstance(rest[0], bool):
            dtype, *rest = rest
    else:
        try:
            dtype, rest = dtypes.as_dtype(first), [*args[1:]]
        except TypeError:
            raise TypeError("to() received an invalid combination of arguments - got "
                            f"({', '.join(x.__class__.__name__ for x in args)})") \
                from None
    if len(rest) > 2:
        raise TypeError(
            f"to() takes at most {len(args) - len(rest) + 2} positional arguments, got "
            f"{len(args)}")
    for what, v in zip(("non_blocking", "copy"), rest):
        check_flag("to", what, v)
    return dtype, device, rest


@method()
def module_load(self, other, assign=False):
    """What a module's parameter becomes when `other` is loaded into it and parameters are swapped
    (`whet.__future__`): itself with the values of `other`, or with `assign` that."""
    return other.detach() if assign else self.copy_(other).detach()


@method()
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False,
       memory_format=preserve_format):
    """The tensor in another type, on another device or as another tensor has it: `to(dtype)`,
    `to(device)`, `to(other)`.

    >>> import whet
    >>> whet.tensor([1.7, -1.7]).to(whet.int32)
    tensor([ 1, -1], dtype=whet.int32)
    """
    if (len(args) == 1 and type(args[0]) is dtypes.dtype and not copy and device is None
            and memory_format is preserve_format):
        if self.dtype.category != COMPLEX:
            return cast(self, args[0])
    if args:
        dtype, device, rest = _target(args, dtype, device)
        if rest:
            non_blocking = bool(rest[0])
        if len(rest) == 2:
            copy = rest[1]
    if device is not None:
        moved = moved_to(self, devices.as_device(device), non_blocking)
        if moved is not self:
            self, copy = moved, False
    dtype = self.dtype if dtype is None else dtypes.as_dtype(dtype)
    memory_format = as_format(memory_format)
    wanted = memory_format in (preserve_format, None) or self.is_contiguous(memory_format)
    if self.dtype is dtype:
        return (self if wanted and not copy else clone(
            self, memory_format=memory_format or preserve_format))
    if self.dtype.category == COMPLEX and dtype.category < COMPLEX and dtype.category != BOOL:
        modes.warn("Casting complex values to real discards the imaginary part",
                   UserWarning,
                   stacklevel=2)
    r = cast(self, dtype)
    return r if wanted else clone(r, memory_format=memory_format)


@method()
def to_device(self, device, /, *, stream=None):
    """The tensor on another device, as the array API standard has it.

    >>> import whet
    >>> whet.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError("to_device: the CPU has no streams")
    return self.to(device)


def _type(self, dtype=None, non_blocking=False):
    """The name of the tensor's type; with an argument, the tensor in that type."""
    if dtype is None:
        return f"whet.{'cuda.' if self.is_cuda else ''}{self.dtype.letter}Tensor"
    device = getattr(dtype, "device_type", None) if isinstance(dtype, type) else None
    if isinstance(dtype, str):
        module, _, name = dtype.rpartition(".")
        by_letter = {f"{d.letter}Tensor": d for d in dtypes.NAMED.values()}
        if name not in by_letter and name not in dtypes.NAMED:
            raise ValueError(f"invalid type: '{dtype}'")
        if name in by_letter:
            device = "cuda" if module.endswith("cuda") else "cpu"
        dtype = by_letter.get(name) or dtypes.NAMED[name]
    if dtype is Tensor:
        dtype = dtypes.get_default_dtype()
    # a type (whet.LongTensor) has a dtype
    dtype = dtypes.as_dtype(getattr(dtype, "dtype", dtype))
    if device is None or self.device.type == device:
        return to(self, dtype)
    return to(self, device, dtype, non_blocking)


METHODS["type"] = _type


def _named(name, dtype):
    def convert(self, memory_format=preserve_format):
        return (cast(self, dtype)
                if memory_format is preserve_format and self.dtype.category != COMPLEX
                else to(self, dtype, memory_format=memory_format))
    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = docstrings.with_example(
        f"The tensor as {dtype.name}.", f"whet.tensor([1, 0]).{name}().dtype", dtype)
    METHODS[name] = convert


for _name, _dtype in (("float", dtypes.float32), ("double", dtypes.float64),
                      ("half", dtypes.float16), ("bfloat16", dtypes.bfloat16),
                      ("int", dtypes.int32), ("long", dtypes.int64), ("short", dtypes.int16),
                      ("char", dtypes.int8), ("byte", dtypes.uint8), ("bool", dtypes.bool_),
                      ("cfloat", dtypes.complex64), ("cdouble", dtypes.complex128)):
    _named(_name, _dtype)


@method()
def type_as(self, other):
    """The tensor in the type of another.

    >>> import whet
    >>> whet.tensor([1, 2]).type_as(whet.tensor([0.5]))
    tensor([1., 2.])
    """
    return to(self, other.dtype)


@method()
def cpu(self, memory_format=preserve_format):
    """The tensor in the CPU's memory: itself, if it is there.

    >>> import whet
    >>> whet.ones(2).cpu().device
    device(type='cpu')
    """
    return to(self, devices.CPU, memory_format=memory_format)


@method()
def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
    """The tensor on a CUDA device: the current one, where none is named."""
    return to(self, devices.device("cuda") if device is None else devices.device(device),
              non_blocking=non_blocking, memory_format=memory_format)


@method()
def pin_memory(self, device=None):
    """The tensor in memory of the host that CUDA devices copy from and to by themselves."""
    if not self.is_cpu:
        raise RuntimeError("cannot pin a tensor that is on a device: only dense CPU tensors can be "
                           "pinned")
    devices.as_device("cuda")
    return self if self.is_pinned() else wrap(devices.beyond.pinned_copy(self._array))


@method()
def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself: all tensors are dense.

    >>> import whet
    >>> whet.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return self if dtype is None else to(self, dtype)


# ---- without history -----------------------------------------------------------------------------
detach_op = Op("detach", lambda a: a, samples=lambda make: [Sample(make(2, 3))], batch=native,
               onnx=lambda b, x: x)
detach_op.any_sizes = detach_op.total = True
detach_op.on_device = lambda arrays, attrs, index: arrays[0]


@function()
def detach(input):
    """The same memory without history. Writes are seen by both, and by version checks.

    >>> import whet
    >>> x = whet.ones(2, requires_grad=True)
    >>> (x * 2).detach().requires_grad
    False
    """
    flags = modes.state.flags
    if flags & modes.SPECIAL or not is_tensor(input):
        t = apply(detach_op, (input,), {})
    else:
        t = wrap(input._array)
        t._rg = IN_INFERENCE if flags & modes.INFERENCE else 0
    t._cell = input._shared()
    return t


@method()
def numpy(self, *, force=False):
    """The tensor's memory as a NumPy array.

    >>> import whet
    >>> whet.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    if self.requires_grad and not force and modes.is_grad_enabled():
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if modes.state.observers:
        array = modes.state.observers[-1].exposed(self)
        if array is not None:
            return array
    if devices.is_elsewhere(self._array):
        if not force:
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use "
                            "Tensor.cpu() to copy the tensor to host memory first.")
        return self._array.to_host()
    return shown(self)._array.view()


# ---- copying into --------------------------------------------------------------------------------
class _CopyOp(Op):
    """self = other, broadcast and converted."""
    crosses_devices = True
    outlined = staticmethod(like_first)

    def on_device(self, arrays, attrs, index):
        """Into new memory beside the first one."""
        a, src = arrays
        return self.write(devices.beyond.filled(index, a.shape, a.dtype, None), src)

    def write_on_device(self, arrays, attrs):
        """From any device to any other."""
        self.write(*arrays)
        return True

    def forward(self, a, src):
        return self.write(np.empty(a.shape, a.dtype), src)

    @staticmethod
    def write(a, src):
        """The in-place form: into `a` itself."""
        if devices.is_elsewhere(a) or devices.is_elsewhere(src):
            devices.beyond.copy_into(a, src)
            return a
        if src.dtype.kind == "c" and a.dtype.kind != "c":
            src = src != 0 if a.dtype.kind == "b" else src.real
        if src.dtype == a.dtype:
            return kernels.copy(a, src)
        with np.errstate(all="ignore"):
            return kernels.copy(a, src)


def _copy_each(op, n, inputs, batched, attrs):
    a, source = inputs
    if not batched[0]:
        a = repeated(a, n)
    return apply(op, (a, aligned(source, a._array.ndim - 1) if batched[1] else source), attrs)


def _copy_vjp(g, _y, _x, _src, needs):
    gx = FUNCTIONS["zeros"](_x.shape, dtype=_x.dtype, device=g.device) if needs[0] else None
    if not needs[1]:
        return [gx, None]
    if tuple(_src.shape) != tuple(g.shape):
        g = g.sum_to_size(_src.shape)
    return [gx, cast_gradient(g, _src)]


copy_op = _CopyOp(
    "copy", None, _copy_vjp, samples=lambda make: [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 3), make(3)),
        Sample(make(2, 3), make()),
        Sample(make(0, 3), make(3))], batch=_copy_each, onnx=in_onnx.copied_into)
copy_op.onnx_complex = in_onnx.copied_into_complex
copy_op.any_sizes = True
copy_op.total = True
copy_op.writes = recorded_call.Writes(kernels.copy_of_few)


def _to_tensor(x, like):
    if is_tensor(x):
        return x
    return (scalar_tensor(x, like.dtype) if isinstance(x, bool | int | float | complex)
            else as_tensor(x))


@method()
def copy_(self, src, non_blocking=False):
    """Write the values of `src`, broadcast and converted, into this tensor.

    >>> import whet
    >>> whet.zeros(2, 2).copy_(whet.tensor([1., 2.]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    src = _to_tensor(src, self)
    if src is self:
        ip.check_writable(self, "copy_")
        return self
    a, b = self._array.shape, src._array.shape
    if (a == b and ip.writes_at_once(self)
            and not (src.requires_grad and modes.state.flags & modes.GRAD)):
        ip.check_writable(self, "copy_")
        copy_op.write(self._array, src._array)
        self._bump("copy_")
        return self
    if a != b and (len(b) > len(a) or any(n != m and n != 1 for n, m in zip(b[::-1], a[::-1]))):
        raise RuntimeError(
            f"copy_: output with shape {list(a)} doesn't match the broadcast shape of source "
            f"{list(b)}"
            if len(b) > len(a) else
            f"The size of tensor a ({_clash(a, b)[0]}) must match the size of tensor b "
            f"({_clash(a, b)[1]}) at non-singleton dimension {_clash(a, b)[2]}: copy_ of "
            f"{list(b)} into {list(a)}")
    if self.dtype.category < FLOAT and src._rg & REQUIRES_GRAD:
        src = src.detach()
    return inplace(copy_op, self, (src,))


def _clash(a, b):
    for i in range(1, len(b) + 1):
        if b[-i] not in (1, a[-i]):
            return a[-i], b[-i], len(a) - i


def resize_each(op, n, inputs, batched, attrs):
    from .pad import pad_to
    x, = inputs
    want = prod(attrs["size"])
    rows = x.reshape((n, prod(x._array.shape[1:])))
    rows = rows.narrow(1, 0, want) if want < rows._array.shape[1] else pad_to(rows, (n, want))
    return rows.reshape((n, *attrs["size"]))


@method()
def apply_(self, callable):
    """Replace every element by what a Python function makes of it. Slow.

    >>> import whet
    >>> whet.tensor([1., 2.]).apply_(lambda v: v + 10)
    tensor([11., 12.])
    """
    if self.requires_grad:
        raise RuntimeError(
            "Can't call apply_() on Variable that requires grad. Use var.detach().apply_(...)")
    modes.beyond("apply_ calls a Python function for each element")
    flat = [callable(x) for x in self.detach().reshape(-1).tolist()]
    return self.copy_(wrap(np.array(flat).astype(self._array.dtype).reshape(self._array.shape)))


def _map_beside(name, self, others, callable):
    """Replace every element by what `callable` gives for it and those of the others in its
    place."""
    if any(x.requires_grad for x in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use "
                           f"var.detach().{name}(...)")
    modes.beyond(f"{name} calls a Python function for each element")
    beside = [x.expand(self._array.shape).reshape(-1).tolist() for x in others]
    flat = [callable(*xs) for xs in zip(self.reshape(-1).tolist(), *beside)]
    return self.copy_(wrap(np.array(flat).astype(self._array.dtype).reshape(self._array.shape)))


@method()
def map_(self, tensor, callable):
    """Replace every element by `callable(element, other element)`. Slow.

    >>> import whet
    >>> whet.tensor([1., 2.]).map_(whet.tensor([3., 4.]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    return _map_beside("map_", self, (tensor,), callable)


@method()
def map2_(self, x, y, callable):
    """Replace every element by `callable(element, that of x, that of y)`. Slow.

    >>> import whet
    >>> x = whet.tensor([1., 2.])
    >>> x.map2_(whet.tensor([3., 4.]), x, lambda a, b, c: a * b + c)
    tensor([ 4., 10.])
    """
    return _map_beside("map2_", self, (x, y), callable)


@method()
def dim_order(self, ambiguity_check=False):
    """The dimensions from the outermost in memory to the innermost.

    >>> import whet
    >>> whet.ones(2, 3).T.dim_order()
    (1, 0)
    """
    a = self._array
    return tuple(sorted(range(a.ndim), key=lambda d: (-abs(a.strides[d]), d)))


FUNCTIONS["can_cast"] = dtypes.can_cast
FUNCTIONS["promote_types"] = dtypes.promote_types
