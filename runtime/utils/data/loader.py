"""DataLoader: batches of a dataset, in order, made here or ahead of time by workers."""
import copy
import itertools
from collections.abc import MutableMapping

import whet

from .collate import default_collate, default_convert
from .datapipes.pipes import IterDataPipe, with_shuffling
from .dataset import IterableDataset
from .fetch import EndOfStream, Source
from .prefetch import Prefetched
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, new_seed
from .thread_workers import ThreadWorkers
from .worker import Job

# the context of workers that are threads
THREADS = "thread"
# what a loader is made of, and what was made from it: another value would be noticed by half of it
SET_ONCE = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                      "persistent_workers"))


def multiprocessing_named(chosen):
    """The `multiprocessing` context that a loader's argument means."""
    import multiprocessing
    if chosen is None or isinstance(chosen, str):
        return multiprocessing.get_context(chosen)
    if not isinstance(chosen, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={chosen}")
    return chosen


class _EndlessSampler(Sampler):
    """Gives as many indices as a stream may want; the stream ignores what they are."""

    def __iter__(self):
        return itertools.repeat(None)


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers,
                   multiprocessing_context):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let "
            "num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if multiprocessing_context is not None and num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers "
            f"> 0), but got num_workers={num_workers}")


def _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last):
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                "sampler, and drop_last")
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with "
            "drop_last")


def pinned(batch):
    """A batch in pinned memory, which devices copy from by themselves: its tensors, and what has a
    `pin_memory` of its own.

    >>> from whet.utils.data.loader import pinned
    >>> pinned({"n": 3, "words": ["a", "b"]})
    {'n': 3, 'words': ['a', 'b']}
    """
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(pinned, batch))
    if isinstance(batch, list | tuple):
        return type(batch)(map(pinned, batch))
    if isinstance(batch, MutableMapping):
        made = copy.copy(batch)
        made.update({k: pinned(v) for k, v in batch.items()})
        return made
    return batch


class DataLoader:
    """Iterates over a dataset in batches.

    >>> import whet
    >>> from whet.utils.data import DataLoader, TensorDataset
    >>> loader = DataLoader(TensorDataset(whet.arange(5)), batch_size=2)
    >>> [batch.tolist() for batch, in loader]
    [[0, 1], [2, 3], [4]]

    With `num_workers` > 0 that many processes make batches ahead of the reader, at most
    `prefetch_factor` each; batches come in order all the same (unless `in_order=False`). They are
    started as `multiprocessing_context` says ("fork", "spawn", "forkserver" or a context); with
    "thread" they are threads, which share the dataset and the random generators. Tensors come
    through shared memory. The random numbers of a batch depend on the loader's seed and the batch
    alone, so they are the same for any number of worker processes; a `worker_init_fn` is called
    after the seeds were set, and from then on nothing sets them.

    `state_dict` says where an epoch is, and `load_state_dict` goes on from there.
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="",
                 in_order=True):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers,
                       multiprocessing_context)
        self.dataset, self.num_workers = dataset, num_workers
        self.timeout, self.generator = timeout, generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.in_order = in_order
        self.worker_init_fn, self.persistent_workers = worker_init_fn, persistent_workers
        self.multiprocessing_context = multiprocessing_context
        if multiprocessing_context is not None and multiprocessing_context != THREADS:
            multiprocessing_named(multiprocessing_context)
        if isinstance(dataset, IterDataPipe) and shuffle is not None:
            dataset, shuffle = with_shuffling(dataset, shuffle), None
            self.dataset = dataset
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            for name, value in (("shuffle", shuffle), ("sampler", sampler),
                                ("batch_sampler", batch_sampler)):
                if value:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, "
                        f"but got {name}={value}")
        _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            if self._is_stream:
                sampler = _EndlessSampler()
            else:
                sampler = (RandomSampler(dataset, generator=generator)
                           if shuffle else SequentialSampler(dataset))
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = (collate_fn
                           or (default_convert if batch_sampler is None else default_collate))
        # workers that no epoch uses at the moment
        self._idle = None
        self._epochs = 0
        # where the generator was when the epoch began, and how many of its batches were handed out
        self._began, self._handed = None, 0
        self._resumed = None

    def __class_getitem__(cls, item):
        return cls

    def __setattr__(self, name, value):
        if name in SET_ONCE and "_resumed" in self.__dict__:    # the last that __init__ sets
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    def __len__(self):
        if self._is_stream:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.batch_sampler if self._auto_collation else self.sampler)

    def __iter__(self):
        generator = self.generator or whet.default_generator
        resumed, self._resumed = self._resumed, None
        now = generator.get_state()
        if resumed is not None:
            generator.set_state(resumed["generator"])
        self._began, self._handed = generator.get_state(), 0
        seed = new_seed(self.generator)
        skipped = 0 if resumed is None else resumed["batches"]
        if resumed is None and not self.num_workers and self._whole_batches():
            return self._counted(self._tensor_batches(), 0)
        requests, skip_made = self._requests(), skipped
        if resumed is not None:
            # what the order is drawn from is drawn now, with the generator where it was
            first = list(itertools.islice(requests, 1))
            if self.generator is None:
                generator.set_state(now)
            requests = itertools.chain(first, requests)
            if not self._is_stream:
                requests, skip_made = itertools.islice(requests, skipped, None), 0
                self._handed = skipped
        if self.num_workers:
            batches = self._prefetched(requests, seed, self._handed)
        else:
            batches = self._batches(requests)
        return self._counted(batches, skip_made)

    def _counted(self, batches, skipped):
        """The batches, but for the first; each that is handed out is counted."""
        for i, batch in enumerate(batches):
            self._handed += 1
            if i >= skipped:
                yield pinned(batch) if self.pin_memory and whet.cuda.is_available() else batch

    def state_dict(self):
        """Where this epoch is: for `load_state_dict` of a loader of the same data and options.

        >>> from whet.utils.data import DataLoader
        >>> loader = DataLoader(range(6), batch_size=2)
        >>> batches = iter(loader)
        >>> next(batches).tolist()
        [0, 1]
        >>> other = DataLoader(range(6), batch_size=2)
        >>> other.load_state_dict(loader.state_dict())
        >>> [batch.tolist() for batch in other]
        [[2, 3], [4, 5]]
        """
        began = self._began
        if began is None:
            began = (self.generator or whet.default_generator).get_state()
        return {"generator": began, "batches": self._handed}

    def load_state_dict(self, state_dict):
        """Go on in the midst of the epoch that `state_dict` was taken of: the next epoch begun here
        has its order, without the batches that were handed out."""
        self._resumed = dict(state_dict)

    def check_worker_number_rationality(self):
        """Any number of workers is fine."""

    # ---- made by workers -------------------------------------------------------------------------
    def _prefetched(self, requests, seed, first):
        workers, self._idle = self._idle, None
        if workers is None:
            threads = self.multiprocessing_context == THREADS
            job = Job(self._source(), self.num_workers, seed, self.worker_init_fn,
                      own_generators=not threads)
            workers = ThreadWorkers(job) if threads else self._processes(job)
        self._epochs += 1
        return Prefetched(workers, requests, self._epochs, seed, first, self.prefetch_factor,
                          self.timeout, self.in_order,
                          self._keep if self.persistent_workers else None)

    def _processes(self, job):
        # Loading `multiprocessing` takes longer than importing a part of whet may.
        from .process_workers import ProcessWorkers
        return ProcessWorkers(job, multiprocessing_named(self.multiprocessing_context))

    def _keep(self, workers):
        self._idle = workers

    # ---- made here -------------------------------------------------------------------------------
    def _requests(self):
        """What each batch is made of."""
        return iter(self.batch_sampler if self._auto_collation else self.sampler)

    def _source(self):
        return Source(self.dataset, self.collate_fn, self._is_stream, self._auto_collation,
                      self.drop_last)

    def _batches(self, requests):
        fetch = self._source().fetcher()
        for request in requests:
            try:
                batch = fetch(request)
            except EndOfStream:
                return
            yield batch

    def _whole_batches(self):
        """Is the order known as tensors of indices, too?"""
        return (self._source().indexed and type(self.batch_sampler) is BatchSampler
                and type(self.batch_sampler.sampler) in (RandomSampler, SequentialSampler))

    def _tensor_batches(self):
        """The batches of a TensorDataset, without a Python object for each row."""
        sampler, size, drop = (self.batch_sampler.sampler, self.batch_sampler.batch_size,
                               self.batch_sampler.drop_last)
        if type(sampler) is SequentialSampler:
            n = len(sampler.data_source)
            for start in range(0, n - size + 1 if drop else n, size):
                yield [t[start:start + size].clone() for t in self.dataset.tensors]
            return
        rest = None
        for piece in sampler.permutations():
            indices = piece if rest is None else whet.cat([rest, piece])
            whole = indices.shape[0] // size * size
            for start in range(0, whole, size):
                yield self.dataset.batch(indices[start:start + size])
            rest = indices[whole:] if whole < indices.shape[0] else None
        if rest is not None and not drop:
            yield self.dataset.batch(rest)
