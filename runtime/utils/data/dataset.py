"""Datasets: things with `[i]` and `len`, or things that can only be iterated."""
import bisect
import itertools
import math

import whet

from ...autograd.modes import warn


class Dataset:
    """A map-style dataset: a subclass gives `__getitem__` and (for most samplers) `__len__`;
    `__getitems__(indices)`, if there, fetches a whole batch.

    >>> import whet
    >>> class Squares(whet.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return whet.tensor(i * i)
    >>> [batch.tolist() for batch in whet.utils.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4, 9]]
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])

    def __class_getitem__(cls, item):
        return cls


class IterableDataset(Dataset):
    """A dataset that is a stream: a subclass gives `__iter__`. With workers every one of them
    iterates over the whole of it, unless it asks `get_worker_info()` for its share.

    >>> import whet
    >>> class Lines(whet.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         yield from (1, 2, 3)
    >>> [batch.tolist() for batch in whet.utils.data.DataLoader(Lines(), batch_size=2)]
    [[1, 2], [3]]
    """

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors of equal first size. Whole batches are indexed at once.

    >>> import whet
    >>> data = whet.utils.data.TensorDataset(whet.tensor([1., 2.]), whet.tensor([0, 1]))
    >>> len(data), data[1]
    (2, (tensor(2.), tensor(1)))
    """

    def __init__(self, *tensors):
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]

    def batch(self, indices):
        """The rows of an int64 tensor of indices, already collated."""
        return [t.index_select(0, indices) for t in self.tensors]


class StackDataset(Dataset):
    """Datasets of equal length side by side: an item is a tuple of theirs (or a dict, if they
    were given by name).

    >>> import whet
    >>> data = whet.utils.data.StackDataset(image=["a.png", "b.png"], label=[0, 1])
    >>> data[1]
    {'image': 'b.png', 'label': 1}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length, = lengths

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices):
        def fetch(d):
            items = (d.__getitems__(indices) if callable(getattr(d, "__getitems__", None)) else [
                d[i] for i in indices])
            if len(items) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got "
                    f"{len(items)}")
            return items
        if isinstance(self.datasets, dict):
            columns = {k: fetch(d) for k, d in self.datasets.items()}
            return [{k: c[i] for k, c in columns.items()} for i in range(len(indices))]
        return list(zip(*map(fetch, self.datasets)))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Datasets one after the other.

    >>> import whet
    >>> both = whet.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2]
    (3, 3)
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        k = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[k][index - (self.cumulative_sizes[k - 1] if k else 0)]


class ChainDataset(IterableDataset):
    """Streams one after the other.

    >>> import whet
    >>> class Count(whet.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(whet.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def __iter__(self):
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from d

    def __len__(self):
        total = 0
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            total += len(d)
        return total


class Subset(Dataset):
    """Some of the items of a dataset.

    >>> import whet
    >>> list(whet.utils.data.Subset(["a", "b", "c"], [2, 0]))
    ['c', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        there = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(there)
        return [self.dataset[i] for i in there]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Split at random into parts of the given lengths, or of the given fractions that sum to 1.

    >>> import whet
    >>> train, test = whet.utils.data.random_split(range(10), [0.8, 0.2])
    >>> len(train), len(test)
    (8, 2)
    """
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9:
        if any(not 0 <= f <= 1 for f in lengths):
            bad = next(i for i, f in enumerate(lengths) if not 0 <= f <= 1)
            raise ValueError(f"Fraction at index {bad} is not between 0 and 1")
        lengths = [math.floor(len(dataset) * f) for f in lengths]
        for i in range(len(dataset) - sum(lengths)):        # what rounding left over goes round
            lengths[i % len(lengths)] += 1
        for i, n in enumerate(lengths):
            if n == 0:
                warn(f"Length of split at index {i} is 0. This might result in an empty dataset.",
                     stacklevel=2)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = whet.randperm(sum(lengths), generator=generator).tolist()
    return [
        Subset(dataset, order[end - n:end])
        for n, end in zip(lengths, itertools.accumulate(lengths))]
