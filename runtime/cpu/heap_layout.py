"""Where the allocator keeps what, and the sizes that it goes by."""
from . import guard

SMALLEST = 1 if guard.SIDE else 1 << 16
MAPPED, HUGE_PAGE, MAX_DIMS = 4 << 20, 2 << 20, 64
LARGEST = 1 << 46
# Byte offsets in the heap's words: the heads of the lists, counters, and objects that the code
# needs.
LIVE, PEAK, CACHED, LIMIT, REUSED, FRESH = range(1024, 1072, 8)
BLOCK_TYPE, SLOW = 1072, 1080
HEAP_BYTES = 4096
