# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Callable, ParamSpec, TypeVar
from whet.random import Generator
from whet.utils.data.sampler import BatchSampler as BatchSampler
from whet.utils.data.dataset import ChainDataset as ChainDataset
from whet.utils.data.dataset import ConcatDataset as ConcatDataset
from whet.utils.data.datapipes.pipes import DFIterDataPipe as DFIterDataPipe
from whet.utils.data.datapipes.pipes import DataChunk as DataChunk
from whet.utils.data.loader import DataLoader as DataLoader
from whet.utils.data.dataset import Dataset as Dataset
from whet.utils.data.sampler import DistributedSampler as DistributedSampler
from whet.utils.data.datapipes.pipes import IterDataPipe as IterDataPipe
from whet.utils.data.dataset import IterableDataset as IterableDataset
from whet.utils.data.datapipes.pipes import MapDataPipe as MapDataPipe
from whet.utils.data.sampler import RandomSampler as RandomSampler
from whet.utils.data.sampler import Sampler as Sampler
from whet.utils.data.sampler import SequentialSampler as SequentialSampler
from whet.utils.data.dataset import StackDataset as StackDataset
from whet.utils.data.dataset import Subset as Subset
from whet.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from whet.utils.data.dataset import TensorDataset as TensorDataset
from whet.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from whet.utils.data.datapipes.validation import guaranteed_datapipes_determinism as guaranteed_datapipes_determinism

S = TypeVar("S")

default_collate_fn_map: dict[Any, Any]
def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]: """Check that a function is given datapipes where its annotations say so."""
def default_collate(batch: Any) -> Any: ...
def default_convert(data: Any) -> Any: """NumPy arrays (also inside of containers) as tensors; everything else as it is."""
def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[..., Any]: """Give datapipes a function of a name, which makes one of this class."""
def get_worker_info() -> Any: """The worker that runs this code; None where the loader is read."""
def non_deterministic(arg: Any) -> Any: ...
def random_split(dataset: Dataset[S], lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[S]]: """Split at random into parts of the given lengths, or of the given fractions that sum to 1."""
def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]: """Check what the `__iter__` of a datapipe gives against the type that its class states."""
def runtime_validation_disabled() -> AbstractContextManager[None]: """Inside, the types of items are not checked."""
