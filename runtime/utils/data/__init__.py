"""Datasets, samplers and loaders: `whet.utils.data`."""
import sys as _sys

from . import _utils as _utils
from .collate import default_collate, default_collate_fn_map, default_convert
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .loader import DataLoader
from .sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker_info import WorkerInfo, get_worker_info

# PyTorch's place
_sys.modules[f"{__name__}.distributed"] = _sys.modules[f"{__name__}.sampler"]

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
    "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_collate_fn_map", "default_convert", "get_worker_info", "random_split"]
