"""Memory for large CPU arrays, kept when they die and handed out again: page faults cost more than
a large eager op's arithmetic.

Blocks of 64 KiB and more come in sizes of an eighth power of two, aligned to 64 bytes; those of 4
MiB and more are mapped on their own with huge pages asked for. A block belongs to a small object
that is its array's base; when the last view is gone the block goes to the list of its size, or back
to the system once `limit` bytes lie there. It serves what needs no less than half of it.

Programs whose sizes vary would come to hold blocks of all sizes. Before new memory is asked for,
what is held beyond five quarters of the most that was ever live goes back, first the sizes that
were not used for long. All of it runs under the GIL.
"""
import contextlib
import ctypes as C
import operator
import sys
from collections.abc import Callable

import numpy as np

from ..ir.outline import Outline
from ..ir.symbolic_size import SymbolicSize
from . import allocator, guarded_memory, native
from .allocator import heap_word
from .allocator_layout import CACHED, FRESH, LIMIT, LIVE, PEAK, REUSED, SMALLEST

__all__ = ["empty_cache", "reset_peak", "set_limit", "stats"]    # what is for users
MUCH = 1 << 27                   # bytes: what takes longer to fill than new memory takes to come
empty: Callable[..., np.ndarray]         # made at first use, by __getattr__


def scratch(size, found=None):
    """Memory for `size` bytes, aligned to 64 bytes: `found`, if that is large enough, or new.
    Under a guard it ends where they do."""
    if type(size) is SymbolicSize:
        return Outline((size,), np.uint8)
    if found is not None and (
            found.size >= size if guarded_memory.SIDE is None else size <= found.size < size + 64):
        return found
    if guarded_memory.SIDE or size >= SMALLEST and native.enabled():
        return sys.modules[__name__].empty((-(-max(size, 1) // 64) * 64,), np.uint8)
    block = np.empty(size + 64, np.uint8)
    at = -block.__array_interface__["data"][0] % 64
    return block[at:at + max(size, 1)]


# Bytes from which the view takes less time than the elements' longer way. NumPy writes elements one
# by one, and bytes as the processor does it best: 400 KB of float32 in 19 and 10 us.
CLEARED_AS_BYTES = 1 << 12


def clear(a):
    """Write zeros over an array."""
    if a.nbytes >= CLEARED_AS_BYTES and a.flags.c_contiguous:
        a = a.reshape(-1).view(np.uint8)
    a.fill(0)


def __getattr__(name):
    if name != "empty":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = allocator.machine_empty if native.enabled() else allocator._empty
    globals()["empty"] = made
    return made


def stats():
    """The bytes in large blocks: live, at the peak, and kept for reuse. Also the limit of those
    kept, and how many blocks were reused and how many are new. All are zero if the allocator is
    off.

    >>> import whet
    >>> sorted(whet.memory.stats())
    ['cached', 'fresh', 'limit', 'live', 'peak', 'reused']
    """
    names = {
        "live": LIVE, "peak": PEAK, "cached": CACHED, "limit": LIMIT, "reused": REUSED,
        "fresh": FRESH}
    return {name: heap_word(offset).value if native.enabled() else 0
            for name, offset in names.items()}


def taken(size):
    """The bytes that an array of `size` bytes occupies: large ones get blocks of certain sizes."""
    if size < SMALLEST or guarded_memory.SIDE:
        return size
    shift = (size - 1).bit_length() - 4
    return ((size - 1 >> shift) + 1) << shift


def reset_peak():
    """Restart the peak from the current live bytes.

    >>> import whet
    >>> whet.memory.reset_peak()
    >>> s = whet.memory.stats()
    >>> s["peak"] == s["live"]
    True
    """
    if native.enabled():
        heap_word(PEAK).value = heap_word(LIVE).value


def growth(call):
    """The most bytes in large blocks that `call()` adds to the live ones. The peak is not
    affected."""
    if not native.enabled():
        call()
        return 0
    live, before = heap_word(LIVE).value, heap_word(PEAK).value
    heap_word(PEAK).value = live
    try:
        call()
        return heap_word(PEAK).value - live
    finally:
        heap_word(PEAK).value = max(before, heap_word(PEAK).value)


def empty_cache():
    """Give all blocks that are kept for reuse back to the system.

    >>> import whet
    >>> whet.memory.empty_cache()
    >>> whet.memory.stats()["cached"]
    0
    """
    if native.enabled():
        C.PYFUNCTYPE(None)(native.symbol("heap_empty"))()
        allocator.trim_of_library()(C.c_size_t(0))


@contextlib.contextmanager
def once(size):
    """A context in which so many bytes are needed once. If they are many, blocks of other sizes are
    meanwhile not kept for reuse, nor are this context's own blocks afterwards."""
    much = size >= MUCH
    if much:
        empty_cache()
    try:
        yield
    finally:
        if much:
            empty_cache()


def set_limit(limit):
    """Keep at most this many bytes for reuse.

    >>> import whet
    >>> before = whet.memory.stats()["limit"]
    >>> whet.memory.set_limit(1 << 20)
    >>> whet.memory.set_limit(before)
    """
    limit = operator.index(limit)
    if limit < 0:
        raise ValueError(f"set_limit: expected at least 0 bytes, got {limit}")
    if stats()["cached"] > limit:
        empty_cache()
    if native.enabled() and guarded_memory.SIDE is None:
        heap_word(LIMIT).value = limit
