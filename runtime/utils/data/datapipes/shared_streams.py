"""Several datapipes that one feeds: copies of it, or shares."""
import copy as _copy
from collections import deque

from .pipes import IterDataPipe, functional_datapipe


class _Source:
    """A datapipe that several read, each at its own pace. What some have not read yet waits."""

    def __init__(self, datapipe, count, buffer_size, name):
        self.datapipe, self.count, self.buffer_size, self.name = datapipe, count, buffer_size, name
        self.items = None
        self.began: set = set()
        self.waiting: list[deque] = [deque() for _ in range(count)]

    def begin(self, reader):
        """A reader begins. Where it did so in this run, the run begins again for all."""
        if self.items is None or reader in self.began:
            self.items, self.began = iter(self.datapipe), set()
            self.waiting = [deque() for _ in range(self.count)]
        self.began.add(reader)
        return self.items

    def put(self, reader, item):
        """An item waits for a reader."""
        self.waiting[reader].append(item)
        if 0 <= self.buffer_size < sum(map(len, self.waiting)):
            raise BufferError(f"{self.name} buffer overflow, buffer size {self.buffer_size} is "
                              "insufficient.")

    def __getstate__(self):
        return {**vars(self), "items": None, "began": set(),
                "waiting": [deque() for _ in range(self.count)]}


class _Reader(IterDataPipe):
    """One of the datapipes that a source feeds. `spread` puts an item where it belongs, and tells
    how many items each reader gets."""

    def __init__(self, source, which, spread):
        self.source, self.which, self.spread = source, which, spread

    def __iter__(self):
        source = self.source
        run = source.begin(self.which)
        while True:
            if source.items is not run:
                raise RuntimeError("This iterator has been invalidated because another iterator "
                                   f"has been created from one of the outputs of {source.name}")
            if source.waiting[self.which]:
                yield source.waiting[self.which].popleft()
                continue
            try:
                item = next(run)
            except StopIteration:
                return
            self.spread(source, item, self.which)

    def __len__(self):
        return self.spread.length(self.source)


class _Copies:
    """Each reader gets each item."""
    COPIES = {None: lambda item: item, "shallow": _copy.copy, "deep": _copy.deepcopy}

    def __init__(self, how):
        if how not in self.COPIES:
            raise ValueError(f"Unknown copy method `{how}`, choose one of None, `shallow`, `deep`")
        self.how = how

    def __call__(self, source, item, reader):
        # For the reader that asks first: what is put for it is taken at once.
        for which in (reader, *(i for i in range(source.count) if i != reader)):
            source.put(which, self.COPIES[self.how](item))

    def length(self, source):
        return len(source.datapipe)


class _Shares:
    """A function says which reader gets an item."""

    def __init__(self, classifier_fn, drop_none):
        self.classifier_fn, self.drop_none = classifier_fn, drop_none

    def __call__(self, source, item, reader):
        which = self.classifier_fn(item)
        if which is None and self.drop_none:
            return
        if which is None or not 0 <= which < source.count:
            raise ValueError("Output of the classification fn should be between 0 and "
                             f"{source.count - 1}. {which} is returned.")
        source.put(which, item)

    def length(self, source):
        raise TypeError(f"how many items a datapipe of `{source.name}` has is known at its end")


def _readers(source, spread):
    if source.count < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {source.count} is found")
    return [_Reader(source, i, spread) for i in range(source.count)]


@functional_datapipe("fork")
class Forker(IterDataPipe):
    """Several datapipes with all items of one: `fork(2)` gives a list of two. At most `buffer_size`
    items wait for those that are behind, any number with -1."""

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        if num_instances == 1:
            return datapipe
        source = _Source(datapipe, num_instances, buffer_size, cls.__name__)
        return _readers(source, _Copies(copy))


@functional_datapipe("demux")
class Demultiplexer(IterDataPipe):
    """Several datapipes with the items of one, each of which goes where `classifier_fn` says."""

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        source = _Source(datapipe, num_instances, buffer_size, cls.__name__)
        return _readers(source, _Shares(classifier_fn, drop_none))
