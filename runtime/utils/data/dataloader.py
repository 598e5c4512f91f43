"""PyTorch's name for the place of `DataLoader`."""
from .collate import default_collate, default_convert
from .loader import DataLoader
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker_info import get_worker_info

__all__ = [
    "BatchSampler", "DataLoader", "RandomSampler", "Sampler", "SequentialSampler",
    "default_collate", "default_convert", "get_worker_info"]


class _BaseDataLoaderIter:
    """The class of iterators of a loader in PyTorch, by which libraries ask. Here they are
    generators, and none is of it."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """The class of iterators of a loader without workers in PyTorch."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """The class of iterators of a loader with workers in PyTorch."""
