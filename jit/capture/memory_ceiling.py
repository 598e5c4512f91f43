"""Limits the memory of a recorded run and of its program's check to little more than the run alone
would take.

Memory that eager mode frees stays in the allocator, in blocks of certain sizes. A recorded run
needs blocks of other sizes too, for copies and fused operations. Without a limit more and more
unused blocks would accumulate."""
import math

from whet.cpu import allocator, memory, native
from whet.cpu.allocator_layout import CACHED, LIVE

# So much may be unused beside what was alive at most: one part in SLACK of it, and FLOOR bytes. To
# get those again costs less than a millisecond.
SLACK, FLOOR = 8, 1 << 21
# Copies of what a run writes to may take one part in COPIES of what it works on, and FEW bytes: a
# recorded call should take at most a fifth more than an eager one, and its program runs too.
COPIES, FEW = 16, 1 << 20
# memory in use counts as the least if it is larger by one part in 2**NEARLY at most
NEARLY = 6


class Ceiling:
    """The limit of the process's memory: what it held before, or little more than the peak of live
    bytes since then."""
    __slots__ = ("before", "cached", "live", "most", "start")

    def __init__(self) -> None:
        self.before = self.most = self.start = 0
        if native.enabled():
            self.live, self.cached = allocator.heap_word(LIVE), allocator.heap_word(CACHED)
            self.before, self.most = self.live.value + self.cached.value, self.live.value
            self.start = self.most
        else:
            self.live = self.cached = None

    def after_operation(self) -> None:
        """Release unused blocks if there are too many."""
        if self.live is None:
            return
        live = self.live.value
        if live > self.most:
            self.most = live
        elif live + self.cached.value > self.limit:
            memory.empty_cache()

    @property
    def limit(self) -> int:
        """The bytes that may be held."""
        return max(self.before, self.most + self.most // SLACK + FLOOR)

    @property
    def growth(self) -> int:
        """The peak of live bytes, less the bytes at first."""
        return self.most - self.start

    def make_room(self, size: int) -> None:
        """Release blocks for a program that needs `size` bytes, in blocks of other sizes than the
        run's."""
        if self.live is not None and self.live.value + self.cached.value + size > self.limit:
            memory.empty_cache()


class Lull:
    """The moment when a run has the least memory in use, before it writes to what is not copied.
    `at`: the number of nodes then; of equal moments the last."""
    __slots__ = ("at", "least", "is_over", "live")

    def __init__(self) -> None:
        self.at, self.least, self.is_over = 0, math.inf, False
        self.live = allocator.heap_word(LIVE) if native.enabled() else None

    def before_operation(self, nodes: int) -> None:
        """Compare the memory in use with the least so far; `nodes`: their number so far."""
        if self.live is not None and not self.is_over:
            live = self.live.value
            if live <= self.least + (live >> NEARLY):
                self.least, self.at = min(live, self.least), nodes

    def end(self) -> None:
        """Ignore all later moments."""
        self.is_over = True
