"""What storages of bytes and of elements can be asked and turned into: other types of elements,
another order of bytes, memory that processes share."""
import sys

import numpy as np

from .. import dtypes
from ..tensor import wrap


class StorageConversions:
    """The part of a storage that goes by its elements alone, whatever these are."""

    def _elements(self):
        """The elements as an array that shares the memory."""
        raise NotImplementedError

    def _converted(self, dtype):
        """The elements in a storage of elements of this type."""
        t = wrap(self._elements())
        return (t.clone() if t.dtype is dtype else t.to(dtype)).storage()

    def double(self):
        """The elements as float64, in other memory."""
        return self._converted(dtypes.float64)

    def float(self):
        """The elements as float32, in other memory."""
        return self._converted(dtypes.float32)

    def half(self):
        """The elements as float16, in other memory."""
        return self._converted(dtypes.float16)

    def bfloat16(self):
        """The elements as bfloat16, in other memory."""
        return self._converted(dtypes.bfloat16)

    def long(self):
        """The elements as int64, in other memory."""
        return self._converted(dtypes.int64)

    def int(self):
        """The elements as int32, in other memory."""
        return self._converted(dtypes.int32)

    def short(self):
        """The elements as int16, in other memory."""
        return self._converted(dtypes.int16)

    def char(self):
        """The elements as int8, in other memory."""
        return self._converted(dtypes.int8)

    def byte(self):
        """The elements as uint8, in other memory."""
        return self._converted(dtypes.uint8)

    def bool(self):
        """Which elements are not zero, in other memory."""
        return self._converted(dtypes.bool_)

    def complex_double(self):
        """The elements as complex128, in other memory."""
        return self._converted(dtypes.complex128)

    def complex_float(self):
        """The elements as complex64, in other memory."""
        return self._converted(dtypes.complex64)

    @property
    def is_sparse(self):
        """False: the memory of sparse tensors is that of their parts."""
        return False

    def is_shared(self):
        """Is the memory one that processes share?"""
        return wrap(self._elements()).is_shared()

    def is_pinned(self, device="cuda"):
        """Is the memory locked, so that a device can read it by itself?"""
        return wrap(self._elements()).is_pinned()


def in_byte_order(buffer, dtype, byte_order):
    """A copy of a buffer's bytes as an array of elements, whose bytes came in this order."""
    if byte_order not in ("native", "little", "big"):
        raise ValueError(f"from_buffer: byte_order must be 'native', 'little' or 'big', but got "
                         f"{byte_order!r}")
    a = np.frombuffer(buffer, np.uint8)
    if a.size % dtype.itemsize:
        raise ValueError(f"from_buffer: a buffer of {a.size} bytes is not a whole number of "
                         f"elements of {dtype.itemsize} bytes")
    a = a.copy()
    if byte_order not in ("native", sys.byteorder):
        swap_bytes(a, dtype)
    return a


def swap_bytes(a, dtype):
    """Turn around the bytes of each element of an array of bytes; of each part of a complex."""
    width = dtype.itemsize // (2 if dtype.is_complex else 1)
    a.reshape(-1, width)[...] = a.reshape(-1, width)[:, ::-1].copy()
