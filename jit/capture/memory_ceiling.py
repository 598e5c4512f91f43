"""How much memory a recorded run and the check of its program may take: little more than the run
alone.

Memory that eager has let go of stays in the allocator, in blocks of certain sizes. A recorded run
needs other sizes beside eager's, for copies and for operations that are fused otherwise: so more
and more would lie there unused.
"""
from whet.cpu import heap, memory, native
from whet.cpu.heap_layout import CACHED, LIVE

# a part of SLACK of what was alive at most may lie unused beside that,
SLACK = 8
# and so many bytes: to get them again costs less than a millisecond
FLOOR = 1 << 21


class Ceiling:
    """What the process may hold: as much as it did, or little more than was alive at most since
    then."""
    __slots__ = ("before", "cached", "live", "most")

    def __init__(self) -> None:
        self.before = self.most = 0
        if native.enabled():
            self.live, self.cached = heap._word(LIVE), heap._word(CACHED)
            self.before, self.most = self.live.value + self.cached.value, self.live.value
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

    def make_room(self, size: int) -> None:
        """A program that needs so many bytes is about to run, whose blocks have other sizes than
        the run's."""
        if self.live is not None and self.live.value + self.cached.value + size > self.height:
            memory.empty_cache()
