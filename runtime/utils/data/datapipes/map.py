"""Datapipes with indices."""
import bisect
import itertools

from .combining import InBatches, OfOne, OneAfterTheOther, SideBySide, copied
from .pipes import MapDataPipe, functional_datapipe
from .shuffling import Shuffling

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe):
    """A sequence or a dictionary as a datapipe; it is copied where that is possible."""

    def __init__(self, sequence, deepcopy=True):
        self.sequence = copied(sequence, deepcopy)

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(OfOne, MapDataPipe):
    """A function of each item."""

    def __init__(self, datapipe, fn=lambda item: item):
        super().__init__(datapipe)
        self.fn = fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])


@functional_datapipe("concat")
class Concater(OneAfterTheOther, MapDataPipe):
    """One datapipe after the other."""
    takes = MapDataPipe

    def __getitem__(self, index):
        ends = list(itertools.accumulate(map(len, self.datapipes)))
        at = bisect.bisect_right(ends, index)
        if at == len(ends):
            raise IndexError(f"Index {index} is out of range.")
        return self.datapipes[at][index - (ends[at - 1] if at else 0)]


@functional_datapipe("zip")
class Zipper(SideBySide, MapDataPipe):
    """Tuples of the items of several datapipes, as long as all have one."""
    takes = MapDataPipe

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError(f"Index {index} is out of range.")
        return tuple([datapipe[index] for datapipe in self.datapipes])


@functional_datapipe("batch")
class Batcher(InBatches, MapDataPipe):
    """Lists of `batch_size` items."""

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(start, end)])


class Shuffler(OfOne, Shuffling):
    """The items in an order that a seed gives: a stream, which has no indices itself."""

    def __init__(self, datapipe, *, indices=None):
        Shuffling.__init__(self)
        OfOne.__init__(self, datapipe)
        self.indices = list(range(len(datapipe))) if indices is None else list(indices)

    def in_order(self):
        """The items in the order of their indices."""
        return (self.datapipe[index] for index in self.indices)

    def shuffled(self, draws):
        """The items in the order that the indices are shuffled to."""
        order = list(self.indices)
        draws.shuffle(order)
        return (self.datapipe[index] for index in order)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)
