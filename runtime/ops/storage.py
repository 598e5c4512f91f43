"""The memory behind a tensor: storages, resizing, sharing."""
import numpy as np

from .. import devices, size_arguments, strided_memory
from ..autograd import modes
from ..cpu import shared_memory
from ..device_arrays import geometry
from ..dtypes import FROM_NUMPY, get_default_dtype, uint8
from ..ir.memory_spans import address, span
from ..ir.outline import Outline
from ..layouts import channels_last, channels_last_3d, contiguous_format, preserve_format
from ..tensor import shown, wrap
from ..tensor_properties import owner
from .convert import resize_each
from .creation import as_format, format_order, new_array
from .onnx import shapes as in_onnx
from .registry import Op, is_tensor
from .sample_inputs import Sample
from .storage_conversions import StorageConversions, in_byte_order, swap_bytes
from .surface import FUNCTIONS, method


class Storage(StorageConversions):
    """What storages of bytes and of elements have in common."""
    device: devices.device

    @classmethod
    def _of(cls, array):
        self = object.__new__(cls)
        self._see(array)
        return self

    def _see(self, array):
        """Be the storage of an array."""
        raise NotImplementedError

    def data_ptr(self):
        """The address of the first byte."""
        raise NotImplementedError

    @property
    def is_cuda(self):
        """Is the memory on a CUDA device?"""
        return self.device.type == "cuda"

    def element_size(self):
        """Bytes of an element."""
        return 1

    def _elements(self):
        """The elements as an array that shares the memory."""
        raise NotImplementedError

    def fill_(self, value):
        """Let all elements be this one."""
        self._elements()[...] = value
        return self

    def copy_(self, source):
        """Take the elements of another storage, converted."""
        wrap(self._elements()).copy_(wrap(source._elements()))
        return self

    def clone(self):
        """The same elements in other memory."""
        return type(self)._of(wrap(self._elements()).clone()._array)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        made = memo.setdefault("storages", {})
        if self.data_ptr() not in made:
            made[self.data_ptr()] = self.clone()
        return made[self.data_ptr()]

    def cpu(self):
        """This storage, or a copy on the CPU of one on a device."""
        if self.device.type == "cpu":
            return self
        return type(self)._of(wrap(self._elements()).cpu()._array)


class UntypedStorage(Storage):
    """The memory under a tensor and its views, as bytes; or new memory of a number of bytes, or of
    these.

    >>> import whet
    >>> whet.UntypedStorage([1, 2, 255]).tolist()
    [1, 2, 255]
    """

    def __init__(self, size_or_data=0, *, device=None):
        self._see(_new_memory("UntypedStorage", size_or_data, uint8, device))

    def _see(self, array):
        self.device = devices.of(array)
        if devices.is_elsewhere(array):
            self._root, (self._low, self._high) = array, array.storage
            return
        root = owner(array)
        self._root = root
        self._low, self._high = span(root) if root.size else (0, 0)

    def untyped(self):
        """This storage, which is one of bytes already."""
        return self

    def data_ptr(self):
        """The address of the first byte; 0 where there are none."""
        return 0 if self.device.type == "meta" else self._low

    def nbytes(self):
        """The number of bytes."""
        return self._high - self._low

    size = __len__ = nbytes

    def bytes(self):
        """The bytes as an array that shares the memory."""
        n = self.nbytes()
        if devices.is_elsewhere(self._root):
            if self.device.type == "meta":
                self._root.refuse("the bytes of a storage")
            return self._seen_as(uint8)
        if not n:
            return np.empty(0, np.uint8)
        return strided_memory.strided(
            self._root.reshape(-1)[:1].view(np.uint8) if self._root.flags.c_contiguous else
            np.lib.stride_tricks.as_strided(self._root.view(np.dtype(f"V{self._root.itemsize}")),
                                            (1,)).view(np.uint8), (n,), (1,))

    _elements = bytes

    def _seen_as(self, dtype):
        """The memory of a device as elements of a type."""
        n = self.nbytes() // dtype.itemsize
        return self._root.view_as(geometry(self._low, (n,), dtype.np))

    def __getitem__(self, i):
        if not isinstance(i, slice):
            return int(self.bytes()[i])
        if i.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {i.step}, but only a step of 1 is "
                               "supported")
        part = UntypedStorage._of(self.bytes()[i])
        part._root = self.bytes()[i]                  # what it owns is these bytes, not all
        part._low, part._high = span(part._root) if part._root.size else (0, 0)
        return part

    @classmethod
    def from_buffer(cls, buffer, *, byte_order="native", dtype=uint8):
        """New memory with a copy of a buffer's bytes, which are elements of a type in an order."""
        return cls._of(_handed_out(wrap(in_byte_order(buffer, dtype, byte_order)))._array)

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The bytes of a file, as `whet.from_file` has them."""
        return cls._of(FUNCTIONS["from_file"](filename, shared, nbytes, dtype=uint8)._array)

    def byteswap(self, dtype):
        """Turn around the bytes of each element of this type, in place."""
        swap_bytes(self.bytes(), dtype)

    def __setitem__(self, i, value):
        self.bytes()[i] = value

    def tolist(self):
        """The bytes as a list of ints."""
        return self.bytes().tolist()

    def __eq__(self, other):
        return (isinstance(other, UntypedStorage)
                and (self._low, self._high) == (other._low, other._high))

    def __hash__(self):
        return hash((self._low, self._high))

    def __repr__(self):
        return (f"{_listed(self)}\n[whet.storage.UntypedStorage(device={self.device}) of size "
                f"{self.nbytes()}]")


class TypedStorage(Storage):
    """The memory under a tensor and its views, as elements; or new memory of a number of elements,
    or of these, or that of a storage of bytes.

    >>> import whet
    >>> s = whet.TypedStorage([1, 2], dtype=whet.int16)
    >>> s.tolist(), s.nbytes()
    ([1, 2], 4)
    """

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        dtype = get_default_dtype() if dtype is None else dtype
        if len(args) > 1 or args and wrap_storage is not None:
            raise RuntimeError(
                f"{type(self).__name__}: received an invalid combination of arguments. Expected "
                "one of: no arguments, (int size), (Sequence data), (*, UntypedStorage "
                "wrap_storage)")
        if wrap_storage is None:
            self._see(_new_memory("TypedStorage", args[0] if args else 0, dtype, device))
        elif not isinstance(wrap_storage, UntypedStorage):
            raise TypeError("TypedStorage: argument 'wrap_storage' must be UntypedStorage, but got "
                            f"{type(wrap_storage).__name__}")
        else:
            self._untyped, self.dtype, self.device = wrap_storage, dtype, wrap_storage.device

    def _see(self, array):
        self._untyped, self.dtype = UntypedStorage._of(array), FROM_NUMPY[array.dtype]
        self.device = self._untyped.device

    def element_size(self):
        """Bytes of an element."""
        return self.dtype.itemsize

    def type(self, dtype=None):
        """The name of the kind of storage, or the elements in a storage of another kind:
        `s.type(whet.LongStorage)`."""
        if dtype is None:
            module = "whet" if self.device.type == "cpu" else f"whet.{self.device.type}"
            return f"{module}.{self.dtype.letter}Storage"
        return dtype(len(self)).copy_(self)

    def untyped(self):
        """The same memory as bytes."""
        return self._untyped

    def _elements(self):
        if devices.is_elsewhere(self._untyped._root):
            return self._untyped._seen_as(self.dtype)
        width = self.dtype.itemsize
        return self._untyped.bytes()[:len(self) * width].view(self.dtype.np)

    def size(self):
        """The number of elements."""
        return self._untyped.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self):
        """The number of bytes."""
        return self._untyped.nbytes()

    def data_ptr(self):
        """The address of the first byte."""
        return self._untyped.data_ptr()

    def tolist(self):
        """The elements as a list."""
        return wrap(self._elements()).tolist()

    def __getitem__(self, i):
        if isinstance(i, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return wrap(self._elements())[i].item()

    @classmethod
    def from_buffer(cls, buffer, *, dtype=None, byte_order="native"):
        """New memory with a copy of a buffer's bytes, as elements of a type."""
        dtype = get_default_dtype() if dtype is None else dtype
        return cls(wrap_storage=UntypedStorage.from_buffer(
            buffer, byte_order=byte_order, dtype=dtype), dtype=dtype)

    def __setitem__(self, i, value):
        self._elements()[i] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        return (f"{_listed(self)}\n[whet.storage.TypedStorage(dtype={self.dtype}, "
                f"device={self.device}) of size {self.size()}]")


def _listed(storage):
    """What a storage holds, one element a line, as PyTorch prints it."""
    if storage.device.type == "meta":
        return "..."
    return " " + "\n ".join(map(str, storage.tolist()))


def _new_memory(name, x, dtype, device):
    """An array of a number of elements, not filled, or of the elements of a sequence."""
    if is_tensor(x) or not isinstance(x, int) and not hasattr(x, "__len__"):
        raise TypeError(f"{name}: argument 'data' must be a size or a sequence, but got "
                        f"{type(x).__name__}")
    make = "empty" if isinstance(x, int) else "tensor"
    return _handed_out(FUNCTIONS[make](x, dtype=dtype, device=device))._array


@method()
def untyped_storage(self):
    """The memory under this tensor, as bytes.

    >>> import whet
    >>> whet.ones(3).untyped_storage().nbytes()
    12
    """
    return UntypedStorage._of(_handed_out(self)._array)


@method()
def storage(self):
    """The memory under this tensor, as elements."""
    return TypedStorage._of(_handed_out(self)._array)


def _handed_out(t):
    """The tensor, whose memory other code may read and write from now on."""
    if modes.state.observers:
        modes.state.observers[-1].handed_out(t)
    return shown(t)


def _refuse_resize(t, op):
    if t.requires_grad:
        raise RuntimeError(f"{op}: cannot resize variables that require grad")


@method()
def resize_(self, *sizes, memory_format=contiguous_format):
    """Give this tensor another shape: in its memory if that is large enough, else in new memory.
    Values stay in memory order.

    >>> import whet
    >>> whet.ones(2, 3).resize_(2).shape
    whet.Size([2])
    """
    _refuse_resize(self, "resize_")
    shape = size_arguments.checked_size(size_arguments.sizes(sizes, "resize_"), "resize_")
    memory_format = as_format(memory_format)
    if memory_format is not contiguous_format:
        order = format_order(memory_format, len(shape))
        self.resize_([shape[d] for d in order])
        return self.as_strided_(shape, _strides_in_order(shape, order))
    a = self._array
    if shape == a.shape:
        return self
    n = int(np.prod(shape, dtype=np.int64))
    if modes.state.observers:
        return modes.state.observers[-1].inplace(_resize_op, self, (), {"size": shape})
    self._array = _resized(a, shape, n)
    self._bump("resize_")
    return self


def _strides_in_order(shape, order):
    """The strides of a dense tensor whose dimensions lie in an order, the outermost first."""
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d], step = step, step * max(shape[d], 1)
    return strides


def _resized(a, shape, n):
    if devices.is_elsewhere(a):
        return _resized_elsewhere(a, shape, n)
    if not n:
        return np.empty(shape, a.dtype)
    room = UntypedStorage._of(a)
    left = (room._high - address(a)) // a.itemsize if a.size else 0
    if n <= left:
        return strided_memory.strided(a, shape, strided_memory.dense_strides(shape))
    new = new_array((n,), a.dtype)
    if left:
        new[:left] = strided_memory.strided(a, (left,), (1,))
    return new.reshape(shape)


def _resized_elsewhere(a, shape, n):
    left = (a.storage[1] - a.address) // a.itemsize if a.size else 0
    if n <= left:
        return a.view_as(geometry(a.address, shape, a.dtype))
    new = devices.beyond.filled(a.index, (n,), a.dtype, None)
    if left:
        new[:left] = a.view_as(geometry(a.address, (left,), a.dtype))
    return new.reshape(shape)


def _refilled(a, size):
    out = np.zeros(size, a.dtype)
    n = min(a.size, out.size)
    out.reshape(-1)[:n] = a.reshape(-1)[:n]
    return out


_resize_op = Op(
    "resize", _refilled, batch=resize_each,
    samples=lambda make: [Sample(make(2, 3), size=(3, 2)),
                          Sample(make(2, 3), size=(2,))], onnx=in_onnx.resized)
_resize_op.outlined = lambda a, size: Outline(size, a.dtype)


@method()
def resize_as_(self, other, *, memory_format=None):
    """`resize_` to the shape of another tensor.

    >>> import whet
    >>> whet.ones(2, 3).resize_as_(whet.ones(2)).shape
    whet.Size([2])
    """
    if memory_format is None:
        memory_format = contiguous_format
    elif as_format(memory_format) is preserve_format:
        memory_format = next((f for f in (channels_last, channels_last_3d)
                              if not other.is_contiguous() and other.is_contiguous(f)),
                             contiguous_format)
    return resize_(self, other._array.shape, memory_format=memory_format)


@method()
def resize(self, *sizes):
    """The tensor viewed in another shape of the same number of elements."""
    return self.view(size_arguments.sizes(sizes, "resize"))


@method()
def resize_as(self, other):
    """The tensor viewed in the shape of another."""
    return self.view(other._array.shape)


@method()
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Let this tensor use the memory (and shape) of another, or a storage.

    >>> import whet
    >>> x = whet.empty(0)
    >>> x.set_(whet.tensor([1., 2.]))
    tensor([1., 2.])
    """
    if modes.is_grad_enabled():
        _refuse_resize(self, "set_")
    if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
        raise RuntimeError(f"Expected a Storage of type {self.dtype.letter} or an UntypedStorage, "
                           f"but got type {source.dtype.letter} for argument 1 'storage'")
    if isinstance(source, UntypedStorage | TypedStorage):
        source = _all_of(source, self._array.dtype)
    if source is None:
        a = self._array
        self._array, self._cell = (
            devices.beyond.filled(a.index, (0,), a.dtype, None) if devices.is_elsewhere(a)
            else np.empty(0, a.dtype)), None
        return self
    if not is_tensor(source):
        raise TypeError(
            "set_(): argument 'source' must be a Tensor or a storage, not "
            f"{source.__class__.__name__}")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    a = source._array
    if size is not None:
        size = tuple(size)
        part = strided_memory.strided(
            devices.places(a), size,
            tuple(stride) if stride is not None else strided_memory.dense_strides(size),
            storage_offset - source.storage_offset())
        a = a.view_as(part) if devices.is_elsewhere(a) else part
    self._array, self._cell, self._base = a, source._shared(), None
    return self


def _all_of(storage, dtype):
    """The memory of a storage as a tensor of this type."""
    if devices.is_elsewhere(storage.untyped()._root):
        return wrap(storage.untyped()._seen_as(FROM_NUMPY[dtype]))
    a = storage.untyped().bytes()
    return wrap(a[:a.size // dtype.itemsize * dtype.itemsize].view(dtype))


@method()
def is_set_to(self, tensor):
    """Are both the same elements of the same memory: its beginning, size, steps and type?

    >>> import whet
    >>> x = whet.zeros(2, 3)
    >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.t()), x.is_set_to(x.clone())
    (True, False, False)
    """
    if not is_tensor(tensor):
        raise TypeError("is_set_to(): argument 'tensor' (position 1) must be Tensor, not "
                        f"{tensor.__class__.__name__}")
    seen = [(x.dtype, x.device, x.shape, x.stride(), x.data_ptr()) for x in (self, tensor)]
    if seen[0] != seen[1]:
        return False
    return bool(seen[0][-1]) or self._shared() is tensor._shared()


@method()
def share_memory_(self):
    """Move the tensor to memory that other processes can share: forked ones have it, and it can be
    sent through `whet.multiprocessing`.

    >>> import whet
    >>> whet.ones(3).share_memory_().is_shared()
    True
    """
    if devices.is_elsewhere(self._array):
        raise RuntimeError("share_memory_: only memory of the CPU can be shared with processes")
    if self._array.size and not is_shared(self):
        self._array = shared_memory.shared_copy(self._array)
        shown(self)
    return self


@method()
def is_shared(self):
    """Is the memory one that processes share? See `share_memory_`.

    >>> import whet
    >>> whet.ones(2).is_shared()
    False
    """
    return shared_memory.mapping_of(self._array) is not None
