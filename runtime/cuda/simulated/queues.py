"""Streams and events of simulated devices: work is queued, and runs when somebody waits for it, in
an order that a seed chooses among those that streams and events allow."""
from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..driver import CudaError


@dataclass
class Mark:
    """One recording of an event."""
    passed: bool = False
    time: float = 0.0


@dataclass
class Work:
    """One thing to do in a stream, once a mark is passed (None: at once)."""
    run: Callable[[], None]
    after: Mark | None = None


@dataclass
class Queue:
    """A stream: what it has to do, and for which device."""
    device: int
    work: deque[Work] = field(default_factory=deque)

    def ready(self) -> bool:
        """Can its next work run now?"""
        return bool(self.work) and (self.work[0].after is None or self.work[0].after.passed)


class Queues:
    """All streams and events. An error of a device's work stays: the device does no more work, and
    each later wait for it raises the error."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.streams: dict[int, Queue] = {}
        self.events: dict[int, Mark] = {}
        self.failed: dict[int, str] = {}
        self.clock, self.next = 0.0, 1

    def handle(self) -> int:
        """A number that names something new."""
        self.next += 1
        return self.next

    def stream(self, number: int) -> Queue:
        """The stream of a number."""
        if number not in self.streams:
            raise CudaError(f"invalid resource handle: there is no stream {number}")
        return self.streams[number]

    def event(self, number: int) -> Mark:
        """The latest mark of an event."""
        if number not in self.events:
            raise CudaError(f"invalid resource handle: there is no event {number}")
        return self.events[number]

    def add(self, stream: int, run: Callable[[], None], after: Mark | None = None) -> None:
        """Queue work; an error of earlier work of this device is raised instead."""
        queue = self.stream(stream)
        self.raise_failure(queue.device)
        queue.work.append(Work(run, after))

    def record(self, event: int, stream: int) -> None:
        """Put a new mark of an event into a stream."""
        self.event(event)
        mark = self.events[event] = Mark()

        def passed() -> None:
            mark.passed, mark.time = True, self.clock
        self.add(stream, passed)

    def step(self) -> None:
        """Do one piece of work, of any stream that can go on."""
        ready = [q for q in self.streams.values() if q.ready()]
        if not ready:
            raise CudaError("deadlock: all streams wait for marks that were never set")
        queue = self.chance.choice(ready)
        work = queue.work.popleft()
        self.clock += 1.0
        if queue.device in self.failed and work.run.__name__ != "passed":
            return
        try:
            work.run()
        except Exception as error:
            self.failed[queue.device] = f"{type(error).__name__}: {error}"

    def some(self) -> None:
        """Time goes by: some work is done, or none."""
        for _ in range(self.chance.randrange(3)):
            if any(q.ready() for q in self.streams.values()):
                self.step()

    def until(self, done: Callable[[], bool], device: int) -> None:
        """Let work be done until something is true."""
        while not done():
            self.step()
        self.raise_failure(device)

    def raise_failure(self, device: int) -> None:
        """Raise the error that a device's work ended with, if it did."""
        if device in self.failed:
            raise CudaError(
                f"CUDA error on cuda:{device}, in work that was given to it before this call: "
                f"{self.failed[device]}. The device does no more work in this process.")
