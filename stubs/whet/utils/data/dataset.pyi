# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable, Generic, Iterable, Iterator, ParamSpec, TypeVar
from whet.tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    def __getitem__(self, index: int) -> T_co: ...
    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]: ...

class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other."""
    datasets: Iterable[Dataset[T_co]]
    cumulative_sizes: Any
    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None: ...
    def __len__(self) -> int: ...

class IterableDataset(Dataset[T_co]):
    """A dataset that is a stream: a subclass gives `__iter__`."""
    def __iter__(self) -> Iterator[T_co]: ...

class StackDataset(Dataset[Any]):
    datasets: Any
    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None: ...
    def __len__(self) -> int: ...

class Subset(Dataset[T_co]):
    """Some of the items of a dataset."""
    dataset: Dataset[T_co]
    indices: Sequence[int]
    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None: ...
    def __len__(self) -> int: ...

class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors of equal first size. Whole batches are indexed at once."""
    tensors: Tensor
    def __init__(self, *tensors: Tensor) -> None: ...
    def __getitem__(self, index: int) -> tuple[Tensor, ...]: ...
    def __len__(self) -> int: ...

class ChainDataset(IterableDataset[T_co]):
    """Streams one after the other."""
    datasets: Iterable[IterableDataset[T_co]]
    def __init__(self, datasets: Iterable[IterableDataset[T_co]]) -> None: ...
    def __len__(self) -> int: ...
