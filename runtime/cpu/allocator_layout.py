"""The memory layout of the allocator's state, and its size classes."""
from . import guarded_memory

SMALLEST = 1 if guarded_memory.SIDE else 1 << 16
MAPPED, HUGE_PAGE, MAX_DIMS = 4 << 20, 2 << 20, 64
LARGEST = 1 << 46
# Lists of unused blocks: one for each eighth of each power of two from SMALLEST on.
LISTS = 256
# Byte offsets in the heap's words: the heads of the lists, counters, and objects that the code
# needs.
LIVE, PEAK, CACHED, LIMIT, REUSED, FRESH = range(8 * LISTS, 8 * LISTS + 48, 8)
BLOCK_TYPE, SLOW = FRESH + 8, FRESH + 16
# how many blocks `without_memory` are open, on any thread: Python is asked meanwhile
ABSENT = SLOW + 8
HEAP_BYTES = 4096
