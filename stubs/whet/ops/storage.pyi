# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Self
from whet.devices import device as _device
from whet.dtypes import dtype as _dtype
from whet.tensor import Tensor
from whet.types import Device, Scalar

class TypedStorage:
    dtype: _dtype | None
    device: _device
    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: _dtype | None = None, device: Device | None = None) -> None: ...
    def clone(self) -> Self: """The same elements in other memory."""
    def copy_(self, source: Tensor) -> Self: """Take the elements of another storage, converted."""
    def data_ptr(self) -> int: """The address of the first byte."""
    def element_size(self) -> int: """Bytes of an element."""
    def fill_(self, value: Scalar) -> Self: """Let all elements be this one."""
    @property
    def is_cuda(self) -> bool: """Is the memory on a CUDA device?"""
    def nbytes(self) -> int: """The number of bytes."""
    def size(self) -> int: """The number of elements."""
    def tolist(self) -> Any: """The elements as a list."""
    def type(self, dtype: _dtype | None = None) -> Any: ...
    def untyped(self) -> UntypedStorage: """The same memory as bytes."""

class UntypedStorage:
    """The memory under a tensor and its views, as bytes; or new memory of a number of bytes, or of these."""
    device: Device | None
    def __init__(self, size_or_data: int | Sequence[int] = 0, *, device: Device | None = None) -> None: ...
    def bytes(self) -> Any: """The bytes as an array that shares the memory."""
    def clone(self) -> Self: """The same elements in other memory."""
    def copy_(self, source: Tensor) -> Self: """Take the elements of another storage, converted."""
    def data_ptr(self) -> int: """The address of the first byte; 0 where there are none."""
    def element_size(self) -> int: """Bytes of an element."""
    def fill_(self, value: Scalar) -> Self: """Let all elements be this one."""
    @property
    def is_cuda(self) -> bool: """Is the memory on a CUDA device?"""
    def nbytes(self) -> int: """The number of bytes."""
    def size(self) -> int: """The number of bytes."""
    def tolist(self) -> Any: """The bytes as a list of ints."""
    def untyped(self) -> UntypedStorage: """This storage, which is one of bytes already."""
