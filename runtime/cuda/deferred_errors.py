"""Data that kernels refuse: an index that is out of range, say. A launch notes what it met in two
words of its own, and whoever waits for the device next gets the error that eager code would have
raised at the call."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..device_arrays import geometry
from ..ir.memory_spans import address

if TYPE_CHECKING:
    from .driver import Driver

SLOTS = 1 << 10                     # launches that may be under way before the host waits for them
LEAST, MOST = -(1 << 63), (1 << 63) - 1


class Promise(NamedTuple):
    """A launch that records bad indices in a slot. `error(high, low)` returns the exception for the
    recorded numbers."""
    slot: int
    stream: int
    name: str
    error: Callable[[int, int], Exception]


class Checks:
    """The words of a device, and the launches that may have written there."""

    def __init__(self, driver: Driver, device: int) -> None:
        self.driver, self.device, self.start = driver, device, 0
        self.open: list[Promise] = []
        self.free = deque(range(SLOTS))

    def words(self, stream: int) -> np.ndarray:
        """The address of the words, which are unwritten at first."""
        if not self.start:
            start = self.driver.allocate(self.device, SLOTS * 16)
            self._clean(start, SLOTS, stream)
            self.start = start
        return geometry(self.start, (2 * SLOTS,), np.dtype(np.int64))

    def promise(self, stream: int, name: str, error: Callable[[int, int], Exception]) -> int:
        """The number of the first of two words for a launch in a stream."""
        self.reserve(1)
        made = Promise(self.free.popleft(), stream, name, error)
        self.open.append(made)
        return 2 * made.slot

    def reserve(self, count: int) -> None:
        """Let there be words for so many launches: those that are given out next are not looked at
        before all of these are under way."""
        if len(self.free) < count:
            self.driver.synchronize(self.device)
            self.settle()

    def reset(self, slot: int, count: int, stream: int) -> None:
        """Words as they are when nothing was noted."""
        self._clean(self.start + 16 * slot, count, stream)

    def _clean(self, start: int, count: int, stream: int) -> None:
        clean = np.array([LEAST, MOST] * count, np.int64)
        self.driver.copy_and_wait(start, address(clean), clean.nbytes, stream)

    def settle(self, stream: int | None = None) -> None:
        """A stream (None: every one) was waited for: raise the first error, if there is one."""
        if not self.open:
            return
        done = [p for p in self.open if stream is None or p.stream == stream]
        if not done:
            return
        found = np.empty((SLOTS, 2), np.int64)
        self.driver.copy_and_wait(address(found), self.start, found.nbytes, done[0].stream)
        self.open = [p for p in self.open if stream is not None and p.stream != stream]
        self.free.extend(p.slot for p in done)
        for p in done:
            high, low = found[p.slot].tolist()
            if high != LEAST or low != MOST:
                for other in done:
                    self.reset(other.slot, 1, p.stream)
                made = p.error(high, low)
                late = type(made)(f"{made.args[0]} (by `{p.name}`, which cuda:{self.device} was "
                                  "given before this call)")
                late.is_of_earlier_work = True     # type: ignore[attr-defined]
                raise late
