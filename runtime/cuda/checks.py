"""Data that kernels refuse: an index that is out of range, say. A launch notes what it met in two
words of its own, and whoever waits for the device next gets the error that eager code would have
raised at the call."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..ir.spans import address

if TYPE_CHECKING:
    from .driver import Driver

SLOTS = 1 << 10                     # launches that may be under way before somebody waits for them
LEAST, MOST = -(1 << 63), (1 << 63) - 1


class Promise(NamedTuple):
    """A launch that notes bad indices in a slot. `error(high, low)` is what they raise."""
    slot: int
    stream: int
    name: str
    error: Callable[[int, int], Exception]


class Checks:
    """The words of a device, and the launches that may have written there."""

    def __init__(self, driver: Driver, device: int) -> None:
        self.driver, self.device = driver, device
        self.start, self.words = 0, 2 * SLOTS
        self.open: list[Promise] = []
        self.next = 0

    def promise(self, stream: int, name: str, error: Callable[[int, int], Exception]) -> int:
        """The number of the first of two words for a launch in a stream."""
        if not self.start:
            self.start = self.driver.allocate(self.device, SLOTS * 16)
            self.reset(0, SLOTS, stream)
        if len(self.open) == SLOTS:
            self.driver.synchronize(self.device)
            self.settle()
        taken = {p.slot for p in self.open}
        while self.next in taken:
            self.next = (self.next + 1) % SLOTS
        self.open.append(Promise(self.next, stream, name, error))
        return 2 * self.open[-1].slot

    def reset(self, slot: int, count: int, stream: int) -> None:
        """Words as nobody has written to them."""
        clean = np.array([LEAST, MOST] * count, np.int64)
        self.driver.copy_and_wait(self.start + 16 * slot, address(clean), clean.nbytes, stream)

    def settle(self, stream: int | None = None) -> None:
        """A stream (None: every one) was waited for: raise the first error, if there is one."""
        if not self.open:
            return
        done = [p for p in self.open if stream is None or p.stream == stream]
        if not done:
            return
        found = np.empty((SLOTS, 2), np.int64)
        self.driver.copy_and_wait(address(found), self.start, found.nbytes, done[0].stream)
        self.open = [p for p in self.open if p not in done]
        for p in done:
            high, low = found[p.slot].tolist()
            if high != LEAST or low != MOST:
                for other in done:
                    self.reset(other.slot, 1, p.stream)
                made = p.error(high, low)
                raise type(made)(f"{made.args[0]} (by `{p.name}`, which cuda:{self.device} was "
                                 "given before this call)")
