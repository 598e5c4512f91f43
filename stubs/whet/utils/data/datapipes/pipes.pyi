# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterator, ParamSpec, TypeVar
from whet.utils.data.dataset import Dataset, IterableDataset

T_co = TypeVar("T_co", covariant=True)


class DataChunk(list[Any]):
    """The items of a batch."""
    def __init__(self, items: Any) -> None: ...
    def as_str(self, indent: str = '') -> str: """How it is written, behind some text."""
    def raw_iterator(self) -> Iterator[Any]: """Its items, whatever a subclass makes of them."""

class MapDataPipe(Dataset[T_co]):
    """A datapipe with indices: a subclass gives `__getitem__` and `__len__`."""
    @classmethod
    def register_datapipe_as_function(cls, function_name: str, function: Callable[..., Any]) -> None: """Give all datapipes of the kind a function of a name."""
    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None: """Give all datapipes of the kind a function of a name."""
    def __getattr__(self, name: str) -> Callable[..., Any]: ...

class IterDataPipe(IterableDataset[T_co]):
    """A datapipe that is a stream: a subclass gives `__iter__`."""
    @classmethod
    def register_datapipe_as_function(cls, function_name: str, function: Callable[..., Any]) -> None: """Give all datapipes of the kind a function of a name."""
    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None: """Give all datapipes of the kind a function of a name."""
    def __getattr__(self, name: str) -> Callable[..., Any]: ...

class DFIterDataPipe(IterDataPipe[Any]):
    """A stream of data frames."""
