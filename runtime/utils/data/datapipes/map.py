"""Datapipes with indices."""
import bisect
import copy
import itertools
import random

from ..worker_info import get_worker_info
from .pipes import DataChunk, MapDataPipe, functional_datapipe

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe):
    """A sequence or a dictionary as a datapipe; it is copied where that is possible."""

    def __init__(self, sequence, deepcopy=True):
        self.sequence = _copied(sequence, deepcopy)

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


def _copied(data, deepcopy):
    """Data that others may go on to write to, of which generators and files cannot be copied."""
    if not deepcopy:
        return data
    try:
        return copy.deepcopy(data)
    except TypeError:
        return data


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """A function of each item."""

    def __init__(self, datapipe, fn=lambda item: item):
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])

    def __len__(self):
        return len(self.datapipe)


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """One datapipe after the other."""

    def __init__(self, *datapipes):
        self.datapipes = _datapipes(datapipes, MapDataPipe, "Concat")

    def __getitem__(self, index):
        ends = list(itertools.accumulate(map(len, self.datapipes)))
        at = bisect.bisect_right(ends, index)
        if at == len(ends):
            raise IndexError(f"Index {index} is out of range.")
        return self.datapipes[at][index - (ends[at - 1] if at else 0)]

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """Tuples of the items of several datapipes, as long as all have one."""

    def __init__(self, *datapipes):
        self.datapipes = _datapipes(datapipes, MapDataPipe, "Zip")

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError(f"Index {index} is out of range.")
        return tuple([datapipe[index] for datapipe in self.datapipes])

    def __len__(self):
        return min(map(len, self.datapipes))


def _datapipes(found, kind, name):
    """Datapipes of a kind, at least one."""
    if not found:
        raise ValueError(f"Expected at least one DataPipe to `{name}`, but got nothing.")
    if not all(isinstance(datapipe, kind) for datapipe in found):
        raise TypeError(f"All inputs are required to be `{kind.__name__}` for `{name}`.")
    return found


@functional_datapipe("batch")
class Batcher(MapDataPipe):
    """Lists of `batch_size` items."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(start, end)])

    def __len__(self):
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


@functional_datapipe("shuffle")
class Shuffler(MapDataPipe):
    """The items in an order that a seed gives: a stream, as PyTorch's is."""

    def __init__(self, datapipe, *, indices=None):
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else list(indices)
        self._enabled, self._seed, self._times = True, None, 0

    def set_shuffle(self, shuffle=True):
        """Whether it shuffles."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The order of the next iteration."""
        self._seed = seed
        return self

    def __iter__(self):
        order = list(self.indices)
        if self._enabled:
            random.Random(drawn_seed(self._seed, self._times)).shuffle(order)
            self._seed, self._times = None, self._times + 1
        return (self.datapipe[i] for i in order)

    def __len__(self):
        return len(self.datapipe)


def drawn_seed(seed, times):
    """A seed that was set, or one that the current generator draws. The workers of a loader have
    the same one, as each takes its share of one order. It is another one where they go through
    the data again, the `times`-th time."""
    if seed is not None:
        return seed
    info = get_worker_info()
    if info is not None:
        return info.seed - info.id + times
    import whet
    return int(whet.empty((), dtype=whet.int64).random_().item())
