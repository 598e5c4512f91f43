"""The memory layout of the allocator's state, and its size classes."""
from . import guarded_memory

SMALLEST = 1 if guarded_memory.SIDE else 1 << 16
MAPPED, HUGE_PAGE, MAX_DIMS = 4 << 20, 2 << 20, 64
LARGEST = 1 << 46
# Lists of unused blocks: one for each eighth of each power of two from SMALLEST on.
LISTS = 256
# A block may serve what needs less: this many lists are looked through for one, the last of them
# of blocks twice as large.
LARGER = 8
# What the process may hold before unused blocks go back: so much for each byte that was live at
# most, in quarters, and so many bytes beside.
QUARTERS, BESIDE = 5, 16 << 20
# Byte offsets in the heap's words: the heads of the lists, counters, and objects that the code
# needs.
LIVE, PEAK, CACHED, LIMIT, REUSED, FRESH = range(8 * LISTS, 8 * LISTS + 48, 8)
BLOCK_TYPE, SLOW = FRESH + 8, FRESH + 16
# how many blocks `without_memory` are open, on any thread: Python is asked meanwhile
ABSENT = SLOW + 8
# The bytes that the system has given, the most that were ever live, the list from which unused
# blocks go back next, and for each list a byte: was a block of it used since it was last asked?
HELD, MOST, HAND = ABSENT + 8, ABSENT + 16, ABSENT + 24
USED = HAND + 8
# What went back to the C library since it was last asked to give its unused memory to the system,
# which it is asked after so many bytes: by itself it may keep as much as 64 MiB.
FREED, TRIMMED_AFTER = USED + LISTS, 16 << 20
HEAP_BYTES = 4096
