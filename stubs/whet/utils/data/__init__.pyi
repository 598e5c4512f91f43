# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable, ParamSpec, TypeVar
from whet.random import Generator
from whet.utils.data.sampler import BatchSampler as BatchSampler
from whet.utils.data.dataset import ChainDataset as ChainDataset
from whet.utils.data.dataset import ConcatDataset as ConcatDataset
from whet.utils.data.loader import DataLoader as DataLoader
from whet.utils.data.dataset import Dataset as Dataset
from whet.utils.data.sampler import DistributedSampler as DistributedSampler
from whet.utils.data.dataset import IterableDataset as IterableDataset
from whet.utils.data.sampler import RandomSampler as RandomSampler
from whet.utils.data.sampler import Sampler as Sampler
from whet.utils.data.sampler import SequentialSampler as SequentialSampler
from whet.utils.data.dataset import StackDataset as StackDataset
from whet.utils.data.dataset import Subset as Subset
from whet.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from whet.utils.data.dataset import TensorDataset as TensorDataset
from whet.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler

S = TypeVar("S")

default_collate_fn_map: dict[Any, Any]
def default_collate(batch: Any) -> Any: ...
def default_convert(data: Any) -> Any: """NumPy arrays (also inside of containers) as tensors; everything else as it is."""
def get_worker_info() -> Any: """The worker that runs this code; None where the loader is read."""
def random_split(dataset: Dataset[S], lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[S]]: """Split at random into parts of the given lengths, or of the given fractions that sum to 1."""
