"""Datapipes that are streams."""
import fnmatch
import itertools
import os

from ..collate import default_collate
from ..sampler import SequentialSampler
from ..worker_info import get_worker_info
from .combining import InBatches, OfOne, OneAfterTheOther, SideBySide, copied
from .pipes import DataChunk, IterDataPipe, functional_datapipe
from .shared_streams import Demultiplexer, Forker
from .shuffling import Shuffling

__all__ = [
    "Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter",
    "Forker", "Grouper", "IterableWrapper", "Mapper", "Multiplexer", "Sampler", "ShardingFilter",
    "Shuffler", "StreamReader", "UnBatcher", "Zipper"]


class IterableWrapper(IterDataPipe):
    """Anything that can be iterated, as a datapipe. It is copied where that is possible."""

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        yield from copied(self.iterable, self.deepcopy)

    def __len__(self):
        return len(self.iterable)


@functional_datapipe("map")
class Mapper(OfOne, IterDataPipe):
    """A function of each item, or of parts of it: `input_col` has their keys, and `output_col` the
    key of what is replaced, -1 for one more part."""

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        super().__init__(datapipe)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) != 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.fn, self.input_col, self.output_col = fn, input_col, output_col

    def _of(self, item):
        made = self.fn(*_parts(item, self.input_col))
        if self.input_col is None:
            return made
        is_tuple = isinstance(item, tuple)
        item = list(item) if is_tuple else item
        several = isinstance(self.input_col, list | tuple)
        at = self.output_col
        if at == -1:
            item.append(made)
        elif at is None and several:
            item[self.input_col[0]] = made
            for key in sorted(self.input_col[1:], reverse=True):
                del item[key]
        else:
            item[self.input_col if at is None else at] = made
        return tuple(item) if is_tuple else item

    def __iter__(self):
        return map(self._of, self.datapipe)


def _parts(item, keys):
    """The parts of an item that a function is given."""
    if keys is None:
        return (item,)
    return [item[key] for key in keys] if isinstance(keys, list | tuple) else (item[keys],)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The items of which a function is true."""

    def __init__(self, datapipe, filter_fn, input_col=None):
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self):
        for item in self.datapipe:
            if self.filter_fn(*_parts(item, self.input_col)):
                yield item


@functional_datapipe("collate")
class Collator(OfOne, IterDataPipe):
    """Tensors of batches, by `default_collate` or another function."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        super().__init__(datapipe)
        self.collate_fn = conversion if collate_fn is None else collate_fn

    def __iter__(self):
        return map(self.collate_fn, self.datapipe)


@functional_datapipe("batch")
class Batcher(InBatches, IterDataPipe):
    """Lists of `batch_size` items."""

    def __iter__(self):
        items = iter(self.datapipe)
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe):
    """The items of lists; of lists in lists, `unbatch_level` deep, or all with -1."""

    def __init__(self, datapipe, unbatch_level=1):
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def _flat(self, item, level):
        if level == 0 or level < 0 and not isinstance(item, list | DataChunk):
            yield item
            return
        if not isinstance(item, list | DataChunk):
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for x in item:
            yield from self._flat(x, level - 1)

    def __iter__(self):
        for item in self.datapipe:
            yield from self._flat(item, self.unbatch_level)


@functional_datapipe("groupby")
class Grouper(IterDataPipe):
    """Lists of items that a function gives one key. They come when they are full, when there are
    `buffer_size` items in all (the longest, where it has `guaranteed_group_size`), and at the
    end."""

    def __init__(self, datapipe, group_key_fn, *, keep_key=False, buffer_size=10000,
                 group_size=None, guaranteed_group_size=None, drop_remaining=False):
        if guaranteed_group_size is not None and not 0 < guaranteed_group_size <= (group_size or 0):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size, which must "
                                 "be set")
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size = buffer_size, group_size
        self.least = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining

    def _made(self, key, items):
        return (key, items) if self.keep_key else items

    def __iter__(self):
        groups: dict = {}
        count = 0
        for item in self.datapipe:
            key = self.group_key_fn(item)
            groups.setdefault(key, []).append(item)
            count += 1
            if len(groups[key]) == self.group_size:
                count -= self.group_size
                yield self._made(key, groups.pop(key))
            if count == self.buffer_size:
                key = max(groups, key=lambda k: len(groups[k]))
                items = groups.pop(key)
                if self.least is not None and len(items) < self.least and not self.drop_remaining:
                    raise RuntimeError(f"Failed to group items: {items}")
                count -= len(items)
                if self.least is None or len(items) >= self.least:
                    yield self._made(key, items)
        for key, items in groups.items():
            yield self._made(key, items)


@functional_datapipe("concat")
class Concater(OneAfterTheOther, IterDataPipe):
    """One datapipe after the other."""
    takes = IterDataPipe

    def __iter__(self):
        return itertools.chain.from_iterable(self.datapipes)


@functional_datapipe("zip")
class Zipper(SideBySide, IterDataPipe):
    """Tuples of the items of several datapipes, as long as all have one."""
    takes = IterDataPipe

    def __iter__(self):
        return zip(*self.datapipes)


@functional_datapipe("mux")
class Multiplexer(SideBySide, IterDataPipe):
    """An item of each datapipe in turn, until one has no more."""
    takes = IterDataPipe

    def __iter__(self):
        return itertools.chain.from_iterable(zip(*self.datapipes))

    def __len__(self):
        return super().__len__() * len(self.datapipes)


class Sampler(OfOne, IterDataPipe):
    """What a sampler gives of a datapipe."""

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        super().__init__(datapipe)
        self.sampler = sampler(datapipe, *(sampler_args or ()), **(sampler_kwargs or {}))

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        return len(self.sampler)


@functional_datapipe("shuffle")
class Shuffler(OfOne, Shuffling):
    """The items in an order that a seed gives: each is drawn from the `buffer_size` that come
    next. A loader's `shuffle=False` turns it off."""

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        Shuffling.__init__(self)
        OfOne.__init__(
            self, datapipe if unbatch_level == 0 else UnBatcher(datapipe, unbatch_level))
        self.buffer_size = buffer_size

    def in_order(self):
        """The items as they come."""
        return self.datapipe

    def shuffled(self, draws):
        """The items, each drawn from a buffer that the next one refills."""
        buffer: list = []
        for item in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(item)
                continue
            at = draws.randint(0, len(buffer) - 1)
            given, buffer[at] = buffer[at], item
            yield given
        while buffer:
            yield buffer.pop(draws.randint(0, len(buffer) - 1))


@functional_datapipe("sharding_filter")
class ShardingFilter(OfOne, IterDataPipe):
    """Every n-th item, where a loader has n workers: each gives its share. `apply_sharding` says
    who this is, if it is none of those."""

    def __init__(self, source_datapipe, sharding_group_filter=None):
        super().__init__(source_datapipe)
        self.sharding_group_filter, self._share = sharding_group_filter, (1, 0)

    def is_shardable(self):
        """It is."""
        return True

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=None):
        """Give every n-th item, from the i-th on."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than "
                             f"num_of_instances({num_of_instances})")
        if self.sharding_group_filter in (None, sharding_group):
            self._share = num_of_instances, instance_id

    def _shares(self):
        """(of how many, which) share this process gives."""
        count, which = self._share
        info = get_worker_info()
        if info is not None:
            count, which = count * info.num_workers, which * info.num_workers + info.id
        return count, which

    def __iter__(self):
        count, which = self._shares()
        return itertools.islice(self.datapipe, which, None, count)

    def __len__(self):
        count, which = self._shares()
        return len(range(which, len(self.datapipe), count))


# ---- files ---------------------------------------------------------------------------------------
@functional_datapipe("list_files")
class FileLister(IterDataPipe):
    """The paths of files in folders, in order, whose names fit one of the patterns."""

    def __init__(self, root=".", masks="", *, recursive=False, abspath=False,
                 non_deterministic=False, length=-1):
        self.datapipe = IterableWrapper([root] if isinstance(root, str) else root)
        self.masks = [masks] if isinstance(masks, str) else list(masks)
        self.recursive, self.abspath, self.length = recursive, abspath, length
        self.non_deterministic = non_deterministic

    def _fits(self, name):
        return not any(self.masks) or any(fnmatch.fnmatch(name, mask) for mask in self.masks)

    def _found(self, folder):
        for place, folders, names in os.walk(folder):
            if not self.non_deterministic:
                folders.sort()
                names.sort()
            yield from (os.path.join(place, name) for name in names if self._fits(name))
            if not self.recursive:
                return

    def __iter__(self):
        for folder in self.datapipe:
            yield from self._found(os.path.abspath(folder) if self.abspath else folder)

    def __len__(self):
        return self.length if self.length >= 0 else super().__len__()


@functional_datapipe("open_files")
class FileOpener(IterDataPipe):
    """(path, open file) of each path."""

    def __init__(self, datapipe, mode="r", encoding=None, length=-1):
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        self.datapipe, self.encoding, self.length = datapipe, encoding, length
        self.mode = mode if "r" in mode else "r" + mode

    def __iter__(self):
        for path in self.datapipe:
            yield path, open(path, self.mode, encoding=self.encoding)

    def __len__(self):
        return self.length if self.length >= 0 else len(self.datapipe)


@functional_datapipe("read_from_stream")
class StreamReader(IterDataPipe):
    """(path, content) of each open file, whole or in pieces of `chunk`."""

    def __init__(self, datapipe, chunk=None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self):
        for path, stream in self.datapipe:
            with stream:
                while piece := stream.read(-1 if self.chunk is None else self.chunk):
                    yield path, piece


