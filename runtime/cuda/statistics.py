"""What an allocator counts, under PyTorch's names."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .allocator import Block


class Count:
    """A counter: its current value, its peak, and the sums of all increases and decreases since the
    last reset."""
    __slots__ = ("current", "peak", "allocated", "kept")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.kept = 0

    @property
    def freed(self) -> int:
        """The sum of all decreases since the last reset."""
        return self.kept + self.allocated - self.current

    def add(self, n: int) -> None:
        """It goes up."""
        self.allocated += n
        now = self.current = self.current + n
        if now > self.peak:
            self.peak = now

    def take(self, n: int) -> None:
        """It goes down."""
        self.current -= n


class HostStatistics:
    """Bytes and numbers of pieces of pinned memory: all that there are, and those in use."""

    def __init__(self) -> None:
        self.counts = {name: Count() for name in (
            "allocations", "allocated_bytes", "active_requests", "active_bytes")}

    def _change(self, of: str, size: int, lost: bool) -> None:
        number, size_of = ((self.counts["allocations"], self.counts["allocated_bytes"])
                           if of == "all" else
                           (self.counts["active_requests"], self.counts["active_bytes"]))
        for count, n in ((number, 1), (size_of, size)):
            if lost:
                count.take(n)
            else:
                count.add(n)

    def allocated(self, size: int) -> None:
        """A piece came from the driver."""
        self._change("all", size, lost=False)

    def freed(self, size: int) -> None:
        """A piece went back."""
        self._change("all", size, lost=True)

    def lent(self, size: int) -> None:
        """A piece is in use."""
        self._change("active", size, lost=False)

    def returned(self, size: int) -> None:
        """A piece can be given out again."""
        self._change("active", size, lost=True)

    def reset_peak(self) -> None:
        """Let the peaks start again."""
        for count in self.counts.values():
            count.peak = count.current

    def reset_accumulated(self) -> None:
        """Forget the ups and downs so far."""
        for count in self.counts.values():
            count.allocated, count.kept = 0, count.current

    def named(self) -> dict[str, int]:
        """The statistics as `host_memory_stats` returns them."""
        return {f"{name}.{part}": getattr(count, part) for name, count in self.counts.items()
                for part in ("current", "peak", "allocated", "freed")}


class Statistics:
    """Bytes and numbers of blocks and segments."""

    def __init__(self) -> None:
        self.bytes, self.requested, self.blocks = Count(), Count(), Count()
        self.segments, self.segment_count = Count(), Count()
        self.retries = self.failures = 0

    def allocated(self, block: Block) -> None:
        """A block was given out."""
        self.bytes.add(block.size)
        self.requested.add(block.wanted)
        self.blocks.add(1)

    def freed(self, block: Block) -> None:
        """A block was taken back."""
        self.bytes.current -= block.size
        self.requested.current -= block.wanted
        self.blocks.current -= 1

    def reused(self, block: Block, wanted: int) -> None:
        """Count a released block that is given out again immediately, for this many bytes."""
        self.bytes.allocated += block.size
        self.blocks.allocated += 1
        self.requested.current -= block.wanted
        self.requested.add(wanted)

    def reserved(self, size: int) -> None:
        """A segment came from the driver."""
        self.segments.add(size)
        self.segment_count.add(1)

    def released(self, size: int) -> None:
        """A segment went back."""
        self.segments.take(size)
        self.segment_count.take(1)

    def reset_peak(self) -> None:
        """Let the peaks start again."""
        for count in self._counts().values():
            count.peak = count.current

    def reset_accumulated(self) -> None:
        """Forget the ups and downs so far."""
        for count in self._counts().values():
            count.allocated, count.kept = 0, count.current
        self.retries = self.failures = 0

    def _counts(self) -> dict[str, Count]:
        return {
            "allocated_bytes": self.bytes, "requested_bytes": self.requested,
            "allocation": self.blocks, "reserved_bytes": self.segments,
            "segment": self.segment_count}

    def named(self) -> dict[str, int]:
        """The statistics as `memory_stats` returns them."""
        out = {
            f"{name}.all.{part}": getattr(count, part) for name, count in self._counts().items()
            for part in ("current", "peak", "allocated", "freed")}
        return {**out, "num_alloc_retries": self.retries, "num_ooms": self.failures}
