# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence, Sized
from typing import Any, Callable, Generic, Iterable, Iterator, ParamSpec, TypeVar
from whet.random import Generator
from whet.tensor import Tensor
from whet.utils.data.dataset import Dataset

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    def __iter__(self) -> Iterator[T_co]: ...

class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler."""
    sampler: Iterable[int]
    batch_size: int
    drop_last: bool
    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None: ...
    def __iter__(self) -> Iterator[list[int]]: ...
    def __len__(self) -> int: ...

class DistributedSampler(Sampler[int]):
    """This process's share of a dataset; call `set_epoch` before each epoch for a new order."""
    dataset: Dataset[Any]
    num_replicas: int | None
    rank: int | None
    epoch: Any
    shuffle: bool
    seed: int
    drop_last: bool
    total_size: Any
    num_samples: Any
    def __init__(self, dataset: Dataset[Any], num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None: ...
    def set_epoch(self, epoch: int) -> None: """Give this epoch an order of its own."""
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

class RandomSampler(Sampler[int]):
    """A random order, with or without replacement."""
    data_source: Sized
    replacement: bool
    generator: Generator | None
    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Generator | None = None) -> None: ...
    @property
    def num_samples(self) -> int: """How many indices an epoch has."""
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""
    data_source: Sized
    def __init__(self, data_source: Sized) -> None: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

class SubsetRandomSampler(Sampler[int]):
    """Given indices in a random order."""
    indices: Sequence[int]
    generator: Generator | None
    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

class WeightedRandomSampler(Sampler[int]):
    """Indices with given probabilities."""
    weights: Tensor | Sequence[float]
    num_samples: int
    replacement: bool
    generator: Generator | None
    def __init__(self, weights: Tensor | Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None) -> None: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...
