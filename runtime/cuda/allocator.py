"""The caching allocator of a device: freed memory is reused, in the order of streams.

Memory comes from the driver in segments. A segment belongs to a stream and is cut into blocks. A
block whose tensor died can be reused at once on its own stream: work of the old owner is queued
before work of the new one. `record_stream` names other streams that use a block. Then the block is
reused after events on these streams. Sizes are PyTorch's.

Freed blocks serve requests of the same size first. Before more is asked of the driver, adjacent
free blocks are merged.
"""
from __future__ import annotations

import bisect
import contextlib
import gc
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from . import statistics
from .driver import CudaError, Driver, OutOfMemoryError

ROUND = 512                         # sizes of blocks are multiples of this
SMALL = 1 << 20                     # the largest block that is cut from a small segment
SMALL_SEGMENT = 2 << 20             # the size of a small segment
LARGE_SEGMENT = 20 << 20            # what blocks below half of it are cut from
LARGE_ROUND = 2 << 20               # larger ones have segments of their own, multiples of this
# what freed memory is written over with, where that is asked: large numbers of all types, where new
# memory holds -1 and NaN
FREED = 0x7E


class Block:
    """Part of a segment. `wanted` are the bytes that were asked for, `what` describes them in the
    error when memory runs out."""
    __slots__ = ("address", "size", "stream", "small", "before", "after", "free", "wanted", "users",
                 "what")

    def __init__(self, address: int, size: int, stream: int, small: bool) -> None:
        self.address, self.size, self.stream, self.small = address, size, stream, small
        self.before: Block | None = None
        self.after: Block | None = None
        self.free, self.wanted, self.what = True, 0, ""
        self.users: set[int] = set()

    def __lt__(self, other: Block) -> bool:
        return (self.size, self.address) < (other.size, other.address)


class Waiting(NamedTuple):
    """A block that was let go of while other streams may still use it."""
    block: Block
    events: list[int]


class BlockReference:
    """Somebody's hold on a block: the memory is let go of with the last reference to it."""
    __slots__ = ("allocator", "block", "__weakref__")

    def __init__(self, allocator: Allocator, block: Block) -> None:
        self.allocator, self.block = allocator, block

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():
            self.allocator.let_go(self.block)


class Allocator:
    """The memory of one device."""

    def __init__(self, driver: Driver, device: int) -> None:
        self.driver, self.device = driver, device
        self.lock = threading.Lock()
        self.dropped: deque[Block] = deque()       # let go of, but not yet looked at
        self.waiting: deque[Waiting] = deque()
        # let go of lately, by stream and size
        self.ready: dict[tuple[int, int], list[Block]] = {}
        self.unused: dict[tuple[int, bool], list[Block]] = {}     # by stream and kind, by size
        self.live: dict[int, Block] = {}
        self.segments: dict[int, Block] = {}       # the first block of each, by its address
        self.statistics = statistics.Statistics()
        self.fraction = 1.0                        # of the device's memory, at most

    # ---- giving out ----
    def allocate(self, size: int, stream: int, what: str = "") -> BlockReference:
        """Memory for `size` bytes that work of a stream may use."""
        rounded = -(-size // ROUND) * ROUND or ROUND
        with self.lock:
            if self.dropped:
                block = self._dropped_last(rounded, stream)
                if block is not None:
                    self.statistics.reused(block, size)
                    block.wanted, block.what = size, what
                    return BlockReference(self, block)
                self._look_at_dropped()
            if self.waiting:
                self._look_at_waiting()
            ready = self.ready.get((stream, rounded))
            block = (ready.pop() if ready else
                     self._take(rounded, stream) or self._take_after_collecting(rounded, stream))
            block.free, block.wanted, block.what = False, size, what
            self.live[block.address] = block
            self.statistics.allocated(block)
        return BlockReference(self, block)

    def _dropped_last(self, size: int, stream: int) -> Block | None:
        """The block that was let go of last, where it is just what is asked for, as it often is in
        a row of ops."""
        block = self.dropped.pop()
        if block.size == size and block.stream == stream and not block.users:
            if self.driver.poisons:
                self._poison(block)
            return block
        self.dropped.append(block)
        return None

    def _take(self, size: int, stream: int, at_least: bool = False) -> Block | None:
        """A block of at least this size, cut to it; None where the device has no memory left.
        `at_least`: ask for no more of the driver than is needed."""
        small = size <= SMALL
        found = self._fitting(size, stream, small)
        if found is None and self.ready:
            self._join_ready()
            found = self._fitting(size, stream, small)
        if found is None:
            segment = size if at_least else segment_size(size)
            if self._is_beyond_fraction(segment):
                return None
            try:
                address = self.driver.allocate(self.device, segment)
            except OutOfMemoryError:
                return None
            found = self.segments[address] = Block(address, segment, stream, small)
            self.statistics.reserved(segment)
        if found.size - size >= (ROUND if small else SMALL + 1):
            self._cut(found, size)
        return found

    def _is_beyond_fraction(self, segment: int) -> bool:
        """Would a segment more be more than this process may have?"""
        if self.fraction >= 1:
            return False
        total = self.driver.memory_info(self.device)[1]
        return self.statistics.segments.current + segment > self.fraction * total

    def _fitting(self, size: int, stream: int, small: bool) -> Block | None:
        blocks = self.unused.get((stream, small), [])
        at = bisect.bisect_left(blocks, size, key=lambda b: b.size)
        return blocks.pop(at) if at < len(blocks) else None

    def _cut(self, block: Block, size: int) -> None:
        """Make the rest of a block a free one."""
        rest = Block(block.address + size, block.size - size, block.stream, block.small)
        rest.before, rest.after, block.after, block.size = block, block.after, rest, size
        if rest.after is not None:
            rest.after.before = rest
        self._put(rest)

    def _put(self, block: Block) -> None:
        block.free = True
        bisect.insort(self.unused.setdefault((block.stream, block.small), []), block)

    def _take_after_collecting(self, size: int, stream: int) -> Block:
        """A block after all was tried to find memory."""
        self.statistics.retries += 1
        self.lock.release()                    # what is collected is let go of
        try:
            gc.collect()
        finally:
            self.lock.acquire()
        self._release()
        block = self._take(size, stream) or self._take(size, stream, at_least=True)
        if block is None:
            self.statistics.failures += 1
            raise OutOfMemoryError(self._report(size))
        return block

    def _report(self, size: int) -> str:
        """Who has the memory."""
        free, total = self.driver.memory_info(self.device)
        s = self.statistics
        largest = sorted(self.live.values(), key=lambda b: -b.wanted)[:5]
        lines = [f"  {readable(b.wanted)}  {b.what or 'no tensor'}" for b in largest]
        if self.fraction < 1:
            lines.insert(0, f"  {self.fraction:.0%} of the memory is what this process may have")
        return "\n".join([
            f"CUDA out of memory. Tried to allocate {readable(size)}. cuda:{self.device} has "
            f"{readable(total)}, of which {readable(free)} are free. whet uses "
            f"{readable(s.bytes.current)} for tensors and keeps "
            f"{readable(s.segments.current - s.bytes.current)} for reuse.", *(
                ["The largest tensors that are alive:", *lines] if lines else [])])

    # ---- taking back ----
    def let_go(self, block: Block) -> None:
        """Free a block. May be called anywhere, inside of this class, too: the block is put on a
        list, which is processed by the next request for memory. If other streams used the block,
        it is processed now, to record their events."""
        self.dropped.append(block)
        if block.users and self.lock.acquire(blocking=False):
            try:
                # the next call that waits for the device raises this error
                with contextlib.suppress(CudaError):
                    self._look_at_dropped()
            finally:
                self.lock.release()

    def _look_at_dropped(self) -> None:
        while self.dropped:
            block = self.dropped.popleft()
            del self.live[block.address]
            self.statistics.freed(block)
            if block.users:
                self.waiting.append(Waiting(block, [self._mark(s) for s in block.users]))
                block.users = set()
            else:
                self._make_ready(block)

    def _mark(self, stream: int) -> int:
        event = self.driver.create_event(self.device, timing=False)
        self.driver.record(event, stream)
        return event

    def _look_at_waiting(self) -> None:
        """Take back blocks that other streams are done with."""
        for _ in range(len(self.waiting)):
            block, events = self.waiting.popleft()
            if all(self.driver.event_done(e) for e in events):
                for e in events:
                    self.driver.destroy_event(e)
                self._make_ready(block)
            else:
                self.waiting.append(Waiting(block, events))

    def _make_ready(self, block: Block) -> None:
        """A block may be given out again."""
        if self.driver.poisons:
            self._poison(block)
        self.ready.setdefault((block.stream, block.size), []).append(block)

    def _poison(self, block: Block) -> None:
        """Overwrite a freed block. An error is raised by the next call that waits for the
        device."""
        with contextlib.suppress(CudaError):
            self.driver.fill(block.address, FREED, block.size, block.stream)

    def _join_ready(self) -> None:
        """Blocks that were let go of become one with their free neighbours."""
        for blocks in self.ready.values():
            for block in blocks:
                self._join(block)
        self.ready.clear()

    def _join(self, block: Block) -> None:
        """A block may be cut and given out again: alone, or with its neighbours."""
        for other in (block.before, block.after):
            if other is not None and other.free:
                self._unput(other)
                first, second = (other, block) if other is block.before else (block, other)
                first.size += second.size
                first.after = second.after
                if first.after is not None:
                    first.after.before = first
                block = first
        self._put(block)

    def _unput(self, block: Block) -> None:
        blocks = self.unused[block.stream, block.small]
        del blocks[bisect.bisect_left(blocks, block)]

    def record_stream(self, block: Block, stream: int) -> None:
        """Work of another stream uses a block: it is given out again after that."""
        with self.lock:
            if stream != block.stream:
                block.users.add(stream)

    def empty_cache(self) -> None:
        """Give unused segments back to the driver."""
        with self.lock:
            self._release()

    def _release(self) -> None:
        self._look_at_dropped()
        for _, events in self.waiting:
            for e in events:
                self.driver.synchronize_event(e)
        self._look_at_waiting()
        self._join_ready()
        for address, block in list(self.segments.items()):
            if block.free and block.after is None:
                self._unput(block)
                del self.segments[address]
                self.statistics.released(block.size)
                self.driver.free(self.device, address)

    def settle(self) -> statistics.Statistics:
        """The statistics, with all pending releases counted."""
        with self.lock:
            self._look_at_dropped()
        return self.statistics


def segment_size(size: int) -> int:
    """How much to ask of the driver for a block of this size."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < LARGE_SEGMENT // 2:
        return LARGE_SEGMENT
    return -(-size // LARGE_ROUND) * LARGE_ROUND


def readable(size: float) -> str:
    """Bytes for people.

    >>> from whet.cuda.allocator import readable
    >>> readable(3 << 19)
    '1.50 MiB'
    """
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"
