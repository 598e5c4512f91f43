# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Generic, Iterable, Iterator, ParamSpec, TypeVar
from whet.random import Generator
from whet.utils.data.dataset import Dataset

T_co = TypeVar("T_co", covariant=True)


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches."""
    dataset: Dataset[T_co]
    num_workers: int
    timeout: float
    generator: Generator | None
    prefetch_factor: int | None
    pin_memory: bool
    pin_memory_device: str
    in_order: bool
    worker_init_fn: Callable[[int], Any] | None
    persistent_workers: bool
    multiprocessing_context: Any
    batch_size: int | None
    drop_last: bool
    sampler: Iterable[Any] | None
    batch_sampler: Iterable[Any] | None
    collate_fn: Callable[[list[Any]], Any] | None
    def __init__(self, dataset: Dataset[T_co], batch_size: int | None = 1, shuffle: bool | None = None, sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None, num_workers: int = 0, collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], Any] | None = None, multiprocessing_context: Any = None, generator: Generator | None = None, *, prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = '', in_order: bool = True) -> None: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    def state_dict(self) -> dict[str, Any]: """Where this epoch is: for `load_state_dict` of a loader of the same data and options."""
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
