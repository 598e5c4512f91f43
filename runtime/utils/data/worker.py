"""What a worker of a loader does, whether it is a thread or a process."""
from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import whet

from .fetch import EndOfStream, Source
from .worker_info import WorkerInfo, set_generator, set_worker_info


class Request(NamedTuple):
    """Batch `number` of an epoch, made of what the sampler gave. `seed`: the epoch's."""
    epoch: int
    seed: int
    number: int
    what: Any


class Answer(NamedTuple):
    """What a worker made of a request: a batch, or the error that kept it from making one."""
    epoch: int
    number: int
    batch: Any
    error: BaseException | None = None


@dataclass
class Job:
    """What all workers of a loader are given at their start. `seed`: that of the first epoch;
    `own_generators`: this worker has random generators of its own (it is a process)."""
    source: Source
    workers: int
    seed: int
    init: Callable[[int], Any] | None
    own_generators: bool

    def info(self, worker: int) -> WorkerInfo:
        return WorkerInfo(worker, self.workers, (self.seed + worker) % 2**63, self.source.dataset)


def seed_everything(seed: int) -> None:
    """Seed whet's, Python's and NumPy's default generators."""
    whet.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


class Worker:
    """Answers requests, one after the other.

    The random numbers of a batch are a function of the epoch's seed and the number of the batch, so
    that they are the same for any number of worker processes. A thread has a generator of its own
    for that (`thread_safe_generator`): the default ones are everybody's. Where the user has a
    function that is called at a worker's start, generators are seeded before it and then left
    alone, because it may have seeded them itself.
    """

    def __init__(self, job: Job, i: int) -> None:
        self.job, self.info = job, job.info(i)
        self.epoch = -1
        self.fetch: Callable[[Any], Any] | None = None
        self.problem: BaseException | None = None
        set_worker_info(self.info)
        if job.own_generators:
            seed_everything(self.info.seed)
        else:
            set_generator(whet.Generator().manual_seed(self.info.seed))
        if job.init is not None:
            try:
                job.init(i)
            except Exception as e:
                self.problem = e

    def answer(self, request: Request) -> Answer:
        """The batch; what goes wrong is an answer, too."""
        try:
            if self.problem is not None:
                raise self.problem
            return Answer(request.epoch, request.number, self._batch(request))
        except EndOfStream as e:
            return Answer(request.epoch, request.number, None, e)
        except BaseException as e:
            e.add_note(f"Caught in DataLoader worker {self.info.id}, which made the batch of "
                       f"{shortened(request.what)}.")
            return Answer(request.epoch, request.number, None, e)

    def _batch(self, request: Request) -> Any:
        if request.epoch != self.epoch or self.fetch is None:
            # here, so that a stream can ask which worker it is
            self.fetch, self.epoch = self.job.source.fetcher(), request.epoch
        if self.job.init is None and not self.job.source.is_stream:
            mixed = np.random.SeedSequence((request.seed, request.number))
            seed = int(mixed.generate_state(1, np.uint64)[0]) >> 1
            if self.job.own_generators:
                seed_everything(seed)
            else:
                set_generator(whet.Generator().manual_seed(seed))
        return self.fetch(request.what)


def shortened(what: Any) -> str:
    """What a sampler asked for, in one line."""
    if not isinstance(what, list):
        return f"sample {what!r}"
    few = ", ".join(map(repr, what[:8]))
    return f"samples [{few}{', ...' if len(what) > 8 else ''}]"


def traceback_of(e: BaseException) -> str:
    """The traceback as text, for where the exception itself cannot bring it along."""
    return "".join(traceback.format_exception(e))
