# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Iterable, SupportsIndex, overload

class Size(tuple[int, ...]):
    """A shape: a tuple of integers with `numel()`. Integers are also tensors of one such number."""
    def __init__(self, lengths: Iterable[Any] = ()) -> None: ...
    def numel(self) -> int: """The product of the sizes."""
    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
