"""What a tensor is, apart from its elements and its history: shape, type, device, layout.

`Tensor` has these properties and methods: see `tensor.py`.
"""
import math
import operator
from typing import Any

import numpy as np

from . import declared_for_tracing, devices, size_arguments
from .autograd import modes
from .dtypes import COMPLEX, FROM_NUMPY
from .ir.memory_spans import address
from .layouts import channels_last, channels_last_3d, contiguous_format, strided
from .size import Size, of_lengths

declared_for_tracing.only_computes(globals())


def owner(a):
    """The array at the bottom of a chain of views."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def _past_new_dimensions(shape, steps):
    """The steps of an array, where those along dimensions of size one that NumPy put in, which are
    zero, lead past all that lies further inwards."""
    found, past = list(steps), 1
    for d in range(len(shape) - 1, -1, -1):
        if shape[d] == 1 and not found[d]:
            found[d] = past
        past = shape[d] * found[d]
    return tuple(found)


class TensorProperties:
    """Properties and methods of `Tensor` that tell what it is."""
    __slots__ = ()
    _array: Any                          # the fields of `tensor_base.Base`
    _shared: Any

    @property
    def shape(self):
        """The sizes.

        >>> import whet
        >>> whet.ones(2, 3).shape
        whet.Size([2, 3])
        """
        followed = size_arguments.followers and modes.followed_sizes(self)
        return followed or of_lengths(Size, self._array.shape)

    def size(self, dim=None):
        """The sizes, or the size of one dimension.

        >>> import whet
        >>> whet.ones(2, 3).size(), whet.ones(2, 3).size(-1)
        (whet.Size([2, 3]), 3)
        """
        if dim is None:
            followed = size_arguments.followers and modes.followed_sizes(self)
            return followed or of_lengths(Size, self._array.shape)
        n = self._array.ndim
        if not -max(n, 1) <= dim < max(n, 1) or n == 0:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(n, 1)}, "
                f"{max(n, 1) - 1}], but got {dim})")
        return (size_arguments.followers and modes.followed_sizes(self) or self._array.shape)[dim]

    @property
    def dtype(self):
        """The element type.

        >>> import whet
        >>> whet.tensor([1, 2]).dtype, whet.tensor([1.5]).dtype
        (whet.int64, whet.float32)
        """
        return FROM_NUMPY[self._array.dtype]

    @property
    def device(self):
        """Where the memory is.

        >>> import whet
        >>> whet.ones(2).device
        device(type='cpu')
        """
        return devices.of(self._array)

    @property
    @declared_for_tracing.goes_by_no_size
    def ndim(self):
        """The number of dimensions.

        >>> import whet
        >>> whet.ones(2, 3).ndim
        2
        """
        return self._array.ndim

    @declared_for_tracing.goes_by_no_size
    def dim(self):
        """The number of dimensions.

        >>> import whet
        >>> whet.ones(2, 3).dim()
        2
        """
        return self._array.ndim

    ndimension = dim

    def numel(self):
        """The number of elements.

        >>> import whet
        >>> whet.ones(2, 3).numel()
        6
        """
        followed = size_arguments.followers and modes.followed_sizes(self)
        return followed.numel() if followed else self._array.size

    nelement = numel

    def stride(self, dim=None):
        """Steps in memory, in elements.

        >>> import whet
        >>> whet.ones(2, 3).stride(), whet.ones(2, 3).T.stride(0)
        ((3, 1), 1)
        """
        a = self._array
        s = tuple(b // a.itemsize for b in a.strides)
        if not a.size and not any(s):        # so NumPy makes what has no elements
            s = tuple(math.prod(n or 1 for n in a.shape[d + 1:]) for d in range(a.ndim))
        if 0 in s:
            s = _past_new_dimensions(a.shape, s)
        if dim is None:
            return s
        if not -a.ndim <= dim < a.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(a.ndim, 1)}, "
                f"{max(a.ndim, 1) - 1}], but got {dim})")
        return s[dim]

    def storage_offset(self):
        """Elements between the start of the storage and the first element.

        >>> import whet
        >>> whet.arange(6)[2:].storage_offset()
        2
        """
        if modes.state.observers:
            seen = modes.state.observers[-1].asked(self, "place in memory")
            if seen is not None:
                return seen
        if devices.is_elsewhere(self._array):
            return (self._array.address - self._array.start) // self._array.itemsize
        root = owner(self._array)
        return (address(self._array) - address(root)) // self._array.itemsize

    def data_ptr(self):
        """The address of the first element.

        >>> import whet
        >>> x = whet.ones(2, 3)
        >>> x[1].data_ptr() - x.data_ptr()
        12
        """
        if modes.state.observers:
            seen = modes.state.observers[-1].asked(self, "address")
            if seen is not None:
                return seen
        self._shared().shown = 1
        if devices.is_elsewhere(self._array):
            return self._array.pointer if self._array.size else 0
        return address(self._array) if self._array.size else 0

    const_data_ptr = data_ptr

    @declared_for_tracing.goes_by_no_size
    def element_size(self):
        """Bytes of an element.

        >>> import whet
        >>> whet.ones(3, dtype=whet.float64).element_size()
        8
        """
        return self._array.itemsize

    @property
    @declared_for_tracing.goes_by_no_size
    def itemsize(self):
        """Bytes of an element.

        >>> import whet
        >>> whet.ones(3).itemsize
        4
        """
        return self._array.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements.

        >>> import whet
        >>> whet.ones(3).nbytes
        12
        """
        return self._array.size * self._array.itemsize

    def is_contiguous(self, memory_format=None):
        """Is the memory in row-major order without gaps?

        >>> import whet
        >>> whet.ones(2, 3).is_contiguous(), whet.ones(2, 3).T.is_contiguous()
        (True, False)
        """
        a = self._array
        if memory_format is None or memory_format is contiguous_format:
            return a.flags.c_contiguous
        if memory_format is channels_last:
            return a.ndim == 4 and a.transpose(0, 2, 3, 1).flags.c_contiguous
        if memory_format is channels_last_3d:
            return a.ndim == 5 and a.transpose(0, 2, 3, 4, 1).flags.c_contiguous
        raise RuntimeError(f"is_contiguous: memory_format {memory_format} is not supported")

    @declared_for_tracing.goes_by_no_size
    def is_floating_point(self):
        """Is the element type a floating point type?

        >>> import whet
        >>> whet.ones(1).is_floating_point(), whet.tensor(1).is_floating_point()
        (True, False)
        """
        return self.dtype.is_floating_point

    @declared_for_tracing.goes_by_no_size
    def is_complex(self):
        """Is the element type complex?

        >>> import whet
        >>> whet.tensor([1j]).is_complex()
        True
        """
        return self.dtype.category == COMPLEX

    @declared_for_tracing.goes_by_no_size
    def is_signed(self):
        """Can elements be negative?

        >>> import whet
        >>> whet.ones(1, dtype=whet.int8).is_signed()
        True
        """
        return self.dtype.is_signed

    @declared_for_tracing.goes_by_no_size
    def is_conj(self):
        """Is it conjugated, or negated, only when its elements are read? Never here.

        >>> import whet
        >>> whet.tensor([1j]).conj().is_conj()
        False
        """
        return False

    is_neg = is_conj

    is_sparse, is_sparse_csr, is_quantized, is_mps, is_nested, is_xpu = [False] * 6
    is_ipu, is_maia, is_mkldnn, is_mtia, is_vulkan, is_xla = [False] * 6

    @property
    @declared_for_tracing.goes_by_no_size
    def is_cuda(self):
        """Is the memory on a CUDA device?

        >>> import whet
        >>> whet.ones(1).is_cuda
        False
        """
        return devices.of(self._array).type == "cuda"

    @property
    @declared_for_tracing.goes_by_no_size
    def is_meta(self):
        """Is there no memory? Such a tensor has all but elements.

        >>> import whet
        >>> whet.empty(2, device="meta").is_meta
        True
        """
        return devices.of(self._array).type == "meta"

    @property
    @declared_for_tracing.goes_by_no_size
    def is_cpu(self):
        """Is the memory the CPU's?

        >>> import whet
        >>> whet.ones(1).is_cpu
        True
        """
        return not devices.is_elsewhere(self._array)

    @property
    def layout(self):
        """How elements lie in memory: by strides, in tensors of this class.

        >>> import whet
        >>> whet.ones(2).layout
        whet.strided
        """
        return strided

    @declared_for_tracing.goes_by_no_size
    def get_device(self):
        """The number of the device; -1 where devices of its type have none.

        >>> import whet
        >>> whet.ones(1).get_device()
        -1
        """
        index = devices.of(self._array).index
        return -1 if index is None else index

    @declared_for_tracing.goes_by_no_size
    def is_pinned(self, device=None):
        """Is it in memory of the host that devices copy from and to by themselves?

        >>> import whet
        >>> whet.ones(1).is_pinned()
        False
        """
        return devices.beyond is not None and devices.beyond.is_pinned(self._array)

    @declared_for_tracing.acts
    def record_stream(self, stream):
        """Say that work of another stream uses the memory, which is not reused before that."""
        if not self.is_cuda:
            raise RuntimeError("record_stream: the tensor is not on a CUDA device")
        modes.beyond("it says which stream uses the memory of a tensor")
        held = self._array.held
        held.allocator.record_stream(held.block, stream.cuda_stream)

    @property
    def name(self):
        """The name of the tensor: it has none."""
        return None

    def __len__(self):
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        followed = size_arguments.followers and modes.followed_sizes(self)
        return operator.index((followed or self._array.shape)[0])
