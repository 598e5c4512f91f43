# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any

class TypedStorage:
    """The memory under a tensor and its views, as elements."""
    dtype: Any
    def __init__(self, array: Any) -> None: ...
    def data_ptr(self) -> int: """The address of the first byte."""
    def nbytes(self) -> int: """The number of bytes."""
    def size(self) -> int: """The number of elements."""
    def tolist(self) -> Any: """The elements as a list."""
    def untyped(self) -> UntypedStorage: """The same memory as bytes."""

class UntypedStorage:
    """The memory under a tensor and its views, as bytes."""
    device: Any
    def __init__(self, array: Any) -> None: ...
    def bytes(self) -> Any: """The bytes as an array that shares the memory."""
    def data_ptr(self) -> int: """The address of the first byte; 0 where there are none."""
    def nbytes(self) -> int: """The number of bytes."""
    def size(self) -> int: """The number of bytes."""
    def tolist(self) -> Any: """The bytes as a list of ints."""
    def untyped(self) -> UntypedStorage: """This storage, which is one of bytes already."""
