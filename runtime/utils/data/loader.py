"""DataLoader: batches of a dataset, in order, fetched here or ahead of time by worker threads."""
import itertools
import queue
import threading
import time
import weakref
from dataclasses import dataclass

import whet

from .collate import default_collate, default_convert
from .dataset import IterableDataset, TensorDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, new_seed

_local = threading.local()


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this is."""
    id: int
    num_workers: int
    seed: int
    dataset: object


def get_worker_info():
    """The worker that runs this code; None in the thread that uses the loader."""
    return getattr(_local, "info", None)


class _EndlessSampler(Sampler):
    """As many indices as a stream may want; it ignores them."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader:
    """Iterates over a dataset in batches.

    With `num_workers` > 0 that many threads fetch and collate ahead of the reader, at most
    `prefetch_factor` batches each; batches come in order all the same (unless `in_order=False`).
    Native kernels, NumPy and file reads leave the interpreter lock, so threads run side by side
    where it matters, and nothing has to be pickled. They share the dataset and the default random
    generator.
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="",
                 in_order=True):
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
        self.dataset, self.num_workers, self.timeout, self.generator = dataset, num_workers, timeout, generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.persistent_workers = worker_init_fn, persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            for name, given in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if given:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, "
                        f"but got {name}={given}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last")
        if sampler is None:
            if self._is_stream:
                sampler = _EndlessSampler()
            else:
                sampler = (RandomSampler(dataset, generator=generator)
                           if shuffle else SequentialSampler(dataset))
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler
        self.collate_fn = (collate_fn
                           or (default_convert if batch_sampler is None else default_collate))
        self._workers = None

    def __class_getitem__(cls, item):
        return cls

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
        if self.num_workers:
            if self.persistent_workers:
                if self._workers is None:
                    self._workers = _Workers(self)
                return _Prefetched(self, self._workers)
            return _Prefetched(self, _Workers(self))
        if self._whole_batches():
            return self._tensor_batches()
        return self._batches()

    def check_worker_number_rationality(self):
        """Any number of threads is fine."""

    # ---- fetched here ----------------------------------------------------------------------------
    def _requests(self):
        """What each batch is made of."""
        return iter(self.batch_sampler if self._auto_collation else self.sampler)

    def _batches(self):
        fetch = self._fetcher()
        for request in self._requests():
            try:
                yield fetch(request)
            except _End:
                return

    def _fetcher(self):
        """A function from a request to a batch; it raises _End when a stream is over."""
        if self._is_stream:
            return _StreamFetcher(self)
        dataset, collate = self.dataset, self.collate_fn
        if not self._auto_collation:
            return lambda i: collate(dataset[i])
        if self._fast():
            return lambda indices: dataset.batch(whet.tensor(indices, dtype=whet.int64))
        if callable(getattr(dataset, "__getitems__", None)):
            return lambda indices: collate(dataset.__getitems__(indices))
        return lambda indices: collate([dataset[i] for i in indices])

    def _fast(self):
        """Can batches be indexed instead of collated from rows?"""
        return (type(self.dataset) is TensorDataset and self.collate_fn is default_collate
                and self._auto_collation)

    def _whole_batches(self):
        """Is the order known as tensors of indices, too?"""
        return (self._fast() and type(self.batch_sampler) is BatchSampler
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


class _End(Exception):
    """A stream is over. (Not StopIteration, which means something else inside of a generator.)"""


class _StreamFetcher:
    """Batches from one pass over a stream."""

    def __init__(self, loader):
        self.it, self.loader = iter(loader.dataset), loader

    def __call__(self, request):
        loader = self.loader
        if not loader._auto_collation:
            try:
                return loader.collate_fn(next(self.it))
            except StopIteration:
                raise _End from None
        rows = list(itertools.islice(self.it, len(request)))
        if not rows or (len(rows) < len(request) and loader.drop_last):
            raise _End
        return loader.collate_fn(rows)


# ---- workers -------------------------------------------------------------------------------------
class _Workers:
    """Threads that run functions given to them one by one. They end when the last reader is
    gone."""

    def __init__(self, loader):
        self.inboxes = [queue.SimpleQueue() for _ in range(loader.num_workers)]
        seed = new_seed(loader.generator)
        self.infos = [
            WorkerInfo(i, loader.num_workers, seed + i, loader.dataset)
            for i in range(loader.num_workers)]
        for info, inbox in zip(self.infos, self.inboxes):
            threading.Thread(target=_work, args=(inbox, info, loader.worker_init_fn), daemon=True,
                             name=f"DataLoader worker {info.id}").start()
        weakref.finalize(self, _dismiss, self.inboxes)


def _dismiss(inboxes):
    for inbox in inboxes:
        inbox.put(None)


def _work(inbox, info, init):
    _local.info = info
    problem = None
    if init is not None:
        try:
            init(info.id)
        except Exception as e:
            problem = e
    while (task := inbox.get()) is not None:
        task(problem)
        # hold no batch while waiting for the next
        del task


class _Result:
    """A batch on its way: one worker puts it, one reader takes it."""
    __slots__ = ("value", "error", "ready", "worker", "announce")

    def __init__(self, worker, announce):
        self.value = self.error = None
        self.ready, self.worker, self.announce = False, worker, announce

    def run(self, fetch, request, problem):
        try:
            if problem is not None:
                raise problem
            self.value = fetch(request)
        except BaseException as e:
            self.error = e
        with self.announce:
            self.ready = True
            self.announce.notify_all()


class _Prefetched:
    """One epoch with workers."""

    def __init__(self, loader, workers):
        self.loader, self.workers = loader, workers
        self.requests = loader._requests()
        self.announce = threading.Condition()
        self.fetchers = [None] * loader.num_workers
        self.alive = [True] * loader.num_workers
        self.turn = 0
        # results asked for and not yet handed out, oldest first
        self.waiting = []
        for _ in range(max(1, loader.prefetch_factor) * loader.num_workers):
            self._ask()

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader)

    def _ask(self):
        """Ask the next worker for the next batch."""
        n = len(self.alive)
        worker = next((w % n for w in range(self.turn, self.turn + n) if self.alive[w % n]), None)
        if worker is None:
            return
        try:
            request = next(self.requests)
        except StopIteration:
            return
        self.turn = worker + 1
        result = _Result(worker, self.announce)
        self.waiting.append(result)
        fetchers, loader = self.fetchers, self.loader

        def task(problem):
            def fetch(request):
                if fetchers[worker] is None:
                    # here, so that a stream can ask which worker it is
                    fetchers[worker] = loader._fetcher()
                return fetchers[worker](request)
            result.run(fetch, request, problem)
        self.workers.inboxes[worker].put(task)

    def __next__(self):
        while self.waiting:
            result = self._take()
            if isinstance(result.error, _End):
                # this worker's share of the stream is over
                self.alive[result.worker] = False
                continue
            self._ask()
            if result.error is not None:
                self.waiting.clear()
                result.error.add_note(f"Caught in DataLoader worker {result.worker}.")
                raise result.error
            return result.value
        raise StopIteration

    def _take(self):
        """The next result: the oldest, or with `in_order=False` the oldest that is ready."""
        end = time.monotonic() + self.loader.timeout if self.loader.timeout else None
        with self.announce:
            while True:
                for i, result in enumerate(
                        self.waiting if not self.loader.in_order else self.waiting[:1]):
                    if result.ready:
                        del self.waiting[i]
                        return result
                if (not self.announce.wait(None if end is
                                           None else max(0.0, end - time.monotonic()))):
                    raise RuntimeError(f"DataLoader timed out after {self.loader.timeout} seconds")
