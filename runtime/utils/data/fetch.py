"""From what a sampler asks for to a batch: the part of a loader that its workers have, too."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import whet

from .collate import default_collate
from .dataset import TensorDataset


class EndOfStream(Exception):
    """A stream is over. Not StopIteration, which means something else inside of a generator."""


@dataclass(frozen=True)
class Source:
    """Where batches come from. `is_stream`: the dataset is read from its beginning and not by
    index; `batched`: samples are collated, and not handed out one by one."""
    dataset: Any
    collate: Callable[[Any], Any]
    is_stream: bool
    batched: bool
    drop_last: bool

    def fetcher(self) -> Callable[[Any], Any]:
        """A function from a request to a batch, for one epoch; it raises EndOfStream when a stream
        is over."""
        dataset, collate = self.dataset, self.collate
        if self.is_stream:
            return _StreamFetcher(self)
        if not self.batched:
            return lambda i: collate(dataset[i])
        if self.indexed:
            return lambda indices: dataset.batch(whet.tensor(indices, dtype=whet.int64))
        if callable(getattr(dataset, "__getitems__", None)):
            return lambda indices: collate(dataset.__getitems__(indices))
        return lambda indices: collate([dataset[i] for i in indices])

    @property
    def indexed(self) -> bool:
        """Can a batch be indexed at once instead of collated from samples?"""
        return (type(self.dataset) is TensorDataset and self.collate is default_collate
                and self.batched)


class _StreamFetcher:
    """Batches from one pass over a stream."""

    def __init__(self, source: Source) -> None:
        self.it, self.source = iter(source.dataset), source

    def __call__(self, request: Any) -> Any:
        source = self.source
        if not source.batched:
            try:
                return source.collate(next(self.it))
            except StopIteration:
                raise EndOfStream from None
        rows = list(itertools.islice(self.it, len(request)))
        if not rows or (len(rows) < len(request) and source.drop_last):
            raise EndOfStream
        return source.collate(rows)
