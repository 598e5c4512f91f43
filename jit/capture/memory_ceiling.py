"""How much memory a recorded run and the check of its program may take: little more than the run
alone.

Memory that eager has let go of stays in the allocator, in blocks of certain sizes. A recorded run
needs other sizes beside eager's, for copies and for operations that are fused otherwise: so more
and more would lie there unused.
"""
import math

from whet.cpu import allocator, memory, native
from whet.cpu.allocator_layout import CACHED, LIVE

# So much may lie unused beside what was alive at most: one part in SLACK of it, and FLOOR bytes. To
# get those again costs less than a millisecond.
SLACK, FLOOR = 8, 1 << 21
# Copies of what a run writes to may take so much of what the run works on, and so many bytes: a
# recorded call is to take at most a fifth more than an eager one, and its program runs beside them.
COPIES, FEW = 16, 1 << 20
# bits: what is alive counts as the least if it is so much more
NEARLY = 6


class Ceiling:
    """What the process may hold: as much as it did, or little more than was alive at most since
    then."""
    __slots__ = ("before", "cached", "live", "most", "start")

    def __init__(self) -> None:
        self.before = self.most = self.start = 0
        if native.enabled():
            self.live, self.cached = allocator.heap_word(LIVE), allocator.heap_word(CACHED)
            self.before, self.most = self.live.value + self.cached.value, self.live.value
            self.start = self.most
        else:
            self.live = self.cached = None

    def look(self) -> None:
        """An operation is done: give back what lies unused, if that has become too much."""
        if self.live is None:
            return
        live = self.live.value
        if live > self.most:
            self.most = live
        elif live + self.cached.value > self.height:
            memory.empty_cache()

    @property
    def height(self) -> int:
        """The bytes that may be held."""
        return max(self.before, self.most + self.most // SLACK + FLOOR)

    @property
    def growth(self) -> int:
        """The bytes that were alive at most beside those that were at first."""
        return self.most - self.start

    def make_room(self, size: int) -> None:
        """A program that needs so many bytes is about to run, whose blocks have other sizes than
        the run's."""
        if self.live is not None and self.live.value + self.cached.value + size > self.height:
            memory.empty_cache()


class Lull:
    """When a run has least in memory: `at`, so many nodes there are then; the last of such moments
    until the run is about to write what is not copied."""
    __slots__ = ("at", "least", "is_over", "live")

    def __init__(self) -> None:
        self.at, self.least, self.is_over = 0, math.inf, False
        self.live = allocator.heap_word(LIVE) if native.enabled() else None

    def look(self, nodes: int) -> None:
        """An operation is about to run; there are so many nodes."""
        if self.live is not None and not self.is_over:
            live = self.live.value
            if live <= self.least + (live >> NEARLY):
                self.least, self.at = min(live, self.least), nodes

    def end(self) -> None:
        """What comes now does not count."""
        self.is_over = True
