# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from builtins import bool as _bool, int as _int
from collections.abc import Sequence
from typing import Any, Self
from whet.devices import device as _device
from whet.dtypes import dtype as _dtype, dtype
from whet.tensor import Tensor
from whet.types import Device, Scalar

class TypedStorage:
    dtype: _dtype | None
    device: _device
    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: _dtype | None = None, device: Device | None = None) -> None: ...
    def bfloat16(self) -> TypedStorage: """The elements as bfloat16, in other memory."""
    def bool(self) -> TypedStorage: """Which elements are not zero, in other memory."""
    def byte(self) -> TypedStorage: """The elements as uint8, in other memory."""
    def char(self) -> TypedStorage: """The elements as int8, in other memory."""
    def clone(self) -> Self: """The same elements in other memory."""
    def complex_double(self) -> TypedStorage: """The elements as complex128, in other memory."""
    def complex_float(self) -> TypedStorage: """The elements as complex64, in other memory."""
    def copy_(self, source: Tensor) -> Self: """Take the elements of another storage, converted."""
    def cpu(self) -> Self: """This storage, or a copy on the CPU of one on a device."""
    def data_ptr(self) -> _int: """The address of the first byte."""
    def double(self) -> TypedStorage: """The elements as float64, in other memory."""
    def element_size(self) -> _int: """Bytes of an element."""
    def fill_(self, value: Scalar) -> Self: """Let all elements be this one."""
    def float(self) -> TypedStorage: """The elements as float32, in other memory."""
    @classmethod
    def from_buffer(cls, buffer: Any, *, dtype: _dtype | None = None, byte_order: str = 'native') -> Self: """New memory with a copy of a buffer's bytes, as elements of a type."""
    def half(self) -> TypedStorage: """The elements as float16, in other memory."""
    def int(self) -> TypedStorage: """The elements as int32, in other memory."""
    @property
    def is_cuda(self) -> _bool: """Is the memory on a CUDA device?"""
    def is_pinned(self, device: Device = 'cuda') -> _bool: """Is the memory locked, so that a device can read it by itself?"""
    def is_shared(self) -> _bool: """Is the memory one that processes share?"""
    @property
    def is_sparse(self) -> _bool: """False: the memory of sparse tensors is that of their parts."""
    def long(self) -> TypedStorage: """The elements as int64, in other memory."""
    def nbytes(self) -> _int: """The number of bytes."""
    def short(self) -> TypedStorage: """The elements as int16, in other memory."""
    def size(self) -> _int: """The number of elements."""
    def tolist(self) -> Any: """The elements as a list."""
    def type(self, dtype: _dtype | None = None) -> Any: ...
    def untyped(self) -> UntypedStorage: """The same memory as bytes."""

class UntypedStorage:
    """The memory under a tensor and its views, as bytes; or new memory of a number of bytes, or of these."""
    device: Device | None
    def __init__(self, size_or_data: _int | Sequence[_int] = 0, *, device: Device | None = None) -> None: ...
    def bfloat16(self) -> TypedStorage: """The elements as bfloat16, in other memory."""
    def bool(self) -> TypedStorage: """Which elements are not zero, in other memory."""
    def byte(self) -> TypedStorage: """The elements as uint8, in other memory."""
    def bytes(self) -> Any: """The bytes as an array that shares the memory."""
    def byteswap(self, dtype: dtype) -> None: """Turn around the bytes of each element of this type, in place."""
    def char(self) -> TypedStorage: """The elements as int8, in other memory."""
    def clone(self) -> Self: """The same elements in other memory."""
    def complex_double(self) -> TypedStorage: """The elements as complex128, in other memory."""
    def complex_float(self) -> TypedStorage: """The elements as complex64, in other memory."""
    def copy_(self, source: Tensor) -> Self: """Take the elements of another storage, converted."""
    def cpu(self) -> Self: """This storage, or a copy on the CPU of one on a device."""
    def data_ptr(self) -> _int: """The address of the first byte; 0 where there are none."""
    def double(self) -> TypedStorage: """The elements as float64, in other memory."""
    def element_size(self) -> _int: """Bytes of an element."""
    def fill_(self, value: Scalar) -> Self: """Let all elements be this one."""
    def float(self) -> TypedStorage: """The elements as float32, in other memory."""
    @classmethod
    def from_buffer(cls, buffer: Any, *, byte_order: str = 'native', dtype: dtype = ...) -> Self: """New memory with a copy of a buffer's bytes, which are elements of a type in an order."""
    @classmethod
    def from_file(cls, filename: str, shared: _bool = False, nbytes: _int = 0) -> Self: """The bytes of a file, as `whet.from_file` has them."""
    def half(self) -> TypedStorage: """The elements as float16, in other memory."""
    def int(self) -> TypedStorage: """The elements as int32, in other memory."""
    @property
    def is_cuda(self) -> _bool: """Is the memory on a CUDA device?"""
    def is_pinned(self, device: Device = 'cuda') -> _bool: """Is the memory locked, so that a device can read it by itself?"""
    def is_shared(self) -> _bool: """Is the memory one that processes share?"""
    @property
    def is_sparse(self) -> _bool: """False: the memory of sparse tensors is that of their parts."""
    def long(self) -> TypedStorage: """The elements as int64, in other memory."""
    def nbytes(self) -> _int: """The number of bytes."""
    def short(self) -> TypedStorage: """The elements as int16, in other memory."""
    def size(self) -> _int: """The number of bytes."""
    def tolist(self) -> Any: """The bytes as a list of ints."""
    def untyped(self) -> UntypedStorage: """This storage, which is one of bytes already."""
