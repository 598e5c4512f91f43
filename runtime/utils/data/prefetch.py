"""One epoch whose batches workers make ahead of the reader."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from .fetch import EndOfStream
from .worker import Answer, Request


class Workers(Protocol):
    """Threads or processes that answer requests."""
    count: int

    def ask(self, worker: int, request: Request) -> None: ...

    def take(self, timeout: float | None) -> Answer | None: ...


class Prefetched:
    """The batches of one epoch, at most `ahead` requests for each worker under way.

    `requests` is what the sampler gives, from batch `first` on. With `in_order=False` batches come
    as they are ready. When the epoch is over the workers go to `done`, if there is one.
    """

    def __init__(self, workers: Workers, requests: Iterator[Any], epoch: int, seed: int,
                 first: int, ahead: int, timeout: float, in_order: bool,
                 done: Callable[[Workers], None] | None) -> None:
        self.workers, self.requests = workers, requests
        self.epoch, self.seed = epoch, seed
        self.timeout, self.in_order, self.done = timeout, in_order, done
        # the workers that still have something to give (a stream may be over in one of them)
        self.open = list(range(workers.count))
        self.next_number, self.turn = first, 0
        # the number of a batch that was asked for and not handed out -> who makes it
        self.maker: dict[int, int] = {}
        self.arrived: dict[int, Answer] = {}
        for _ in range(max(1, ahead) * workers.count):
            self._ask()

    def __iter__(self) -> Iterator[Any]:
        return self

    def _ask(self) -> None:
        """Ask the next worker for the next batch."""
        if not self.open:
            return
        try:
            what = next(self.requests)
        except StopIteration:
            return
        worker = self.open[self.turn % len(self.open)]
        self.turn += 1
        self.maker[self.next_number] = worker
        self.workers.ask(worker, Request(self.epoch, self.seed, self.next_number, what))
        self.next_number += 1

    def __next__(self) -> Any:
        while self.maker:
            answer = self._take()
            worker = self.maker.pop(answer.number)
            if isinstance(answer.error, EndOfStream):
                if worker in self.open:
                    self.open.remove(worker)
                continue
            self._ask()
            if answer.error is not None:
                self.maker.clear()
                raise answer.error
            return answer.batch
        if self.done is not None:
            self.done(self.workers)
            self.done = None
        raise StopIteration

    def _take(self) -> Answer:
        """The answer that is handed out next."""
        end = time.monotonic() + self.timeout if self.timeout else None
        while True:
            number = next(iter(self.maker if self.in_order else self.arrived), None)
            if number in self.arrived:
                return self.arrived.pop(number)
            left = None if end is None else max(0.0, end - time.monotonic())
            answer = self.workers.take(left)
            if answer is None:
                raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
            # persistent workers may still answer what a reader of an epoch before did not wait for
            if answer.epoch == self.epoch and answer.number in self.maker:
                self.arrived[answer.number] = answer
