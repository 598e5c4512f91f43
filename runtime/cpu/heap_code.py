"""The machine code of the heap: large blocks of memory in lists by size, which are kept when they
are no longer needed. `allocator_code.py` makes arrays of them."""
import sys

from . import guarded_memory
from .allocator_layout import HUGE_PAGE, LISTS

_BLOCKS = """
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare void @whet_trim(i64)
declare i64 @llvm.ctlz.i64(i64, i1)

; A block of at least %size bytes: from its list, from one of larger blocks, or new; null if there
; is none to be had. %granted gets the size that the block has.
define ptr @heap_take(i64 %size, ptr %granted) nounwind {
entry:
  %absurd = icmp ugt i64 %size, LARGEST
  br i1 %absurd, label %none, label %look
none:
  ret ptr null
look:
  %c = call {i64, i64} @size_class(i64 %size)
  %own = extractvalue {i64, i64} %c, 0
  %rounded = extractvalue {i64, i64} %c, 1
  %last = add i64 %own, LARGER
  %cachedp = getelementptr i8, ptr @whet_heap, i64 CACHED
  %heldp = getelementptr i8, ptr @whet_heap, i64 HELD
  %livep = getelementptr i8, ptr @whet_heap, i64 LIVE
  %mostp = getelementptr i8, ptr @whet_heap, i64 MOST
  %live = load i64, ptr %livep
  %live1 = add i64 %live, %rounded
  br label %search
search:
  %i = phi i64 [%own, %look], [%i1, %larger]
  %list = getelementptr ptr, ptr @whet_heap, i64 %i
  %head = load ptr, ptr %list
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %larger, label %reuse
larger:
  %i1 = add i64 %i, 1
  %over = icmp ugt i64 %i1, %last
  br i1 %over, label %new, label %search
reuse:
  %rest = load ptr, ptr %head
  store ptr %rest, ptr %list
  %whole = call i64 @class_bytes(i64 %i)
  %exact = icmp eq i64 %i, %own
  %bytes = select i1 %exact, i64 %rounded, i64 %whole
  %cached = load i64, ptr %cachedp
  %less = sub i64 %cached, %bytes
  store i64 %less, ptr %cachedp
  %usedp = getelementptr i8, ptr @whet_heap, i64 USED
  %mark = getelementptr i8, ptr %usedp, i64 %i
  store i8 1, ptr %mark
  call void @count(i64 REUSED)
  br label %have
new:
  ; too much would be held: what lies unused goes back first
  %most = load i64, ptr %mostp
  %need = call i64 @llvm.umax.i64(i64 %most, i64 %live1)
  %quarter = lshr i64 %need, 2
  %part = mul i64 %quarter, QUARTERS
  %bound = add i64 %part, BESIDE
  %held = load i64, ptr %heldp
  %held1 = add i64 %held, %rounded
  %excess = sub i64 %held1, %bound
  call void @give_back(i64 %excess)
  %first = call ptr @obtain(i64 %rounded)
  %refused = icmp eq ptr %first, null
  br i1 %refused, label %shrink, label %got
; the system may have room once all that lies here unused has gone back
shrink:
  call void @heap_empty()
  %second = call ptr @obtain(i64 %rounded)
  %hopeless = icmp eq ptr %second, null
  br i1 %hopeless, label %none, label %got
got:
  %made = phi ptr [%first, %new], [%second, %shrink]
  %held2 = load i64, ptr %heldp
  %held3 = add i64 %held2, %rounded
  store i64 %held3, ptr %heldp
  call void @count(i64 FRESH)
  br label %have
have:
  %block = phi ptr [%head, %reuse], [%made, %got]
  %has = phi i64 [%bytes, %reuse], [%rounded, %got]
  store i64 %has, ptr %granted
  store i64 %live1, ptr %livep
  call void @raise(i64 PEAK, i64 %live1)
  call void @raise(i64 MOST, i64 %live1)
  ret ptr %block
}

; One more of what a word counts.
define internal void @count(i64 %which) nounwind alwaysinline {
  %p = getelementptr i8, ptr @whet_heap, i64 %which
  %n = load i64, ptr %p
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %p
  ret void
}

; A word is at least %least.
define internal void @raise(i64 %which, i64 %least) nounwind alwaysinline {
  %p = getelementptr i8, ptr @whet_heap, i64 %which
  %n = load i64, ptr %p
  %n1 = call i64 @llvm.umax.i64(i64 %n, i64 %least)
  store i64 %n1, ptr %p
  ret void
}

; The size of the blocks of a list: 1xxx shifted, to which size_class rounds up.
define internal i64 @class_bytes(i64 %i) nounwind alwaysinline {
  %eighth = and i64 %i, 7
  %top = add i64 %eighth, 9
  %power = lshr i64 %i, 3
  %shift = add i64 %power, 12
  %size = shl i64 %top, %shift
  ret i64 %size
}

; Take a block of %granted bytes back that was asked for with %size.
define void @heap_give(ptr %block, i64 %size, i64 %granted) nounwind {
  %a = call {i64, i64} @size_class(i64 %size)
  %counted = extractvalue {i64, i64} %a, 1
  %livep = getelementptr i8, ptr @whet_heap, i64 LIVE
  %live = load i64, ptr %livep
  %live1 = sub i64 %live, %counted
  store i64 %live1, ptr %livep
  %cachedp = getelementptr i8, ptr @whet_heap, i64 CACHED
  %cached = load i64, ptr %cachedp
  %more = add i64 %cached, %granted
  %limitp = getelementptr i8, ptr @whet_heap, i64 LIMIT
  %limit = load i64, ptr %limitp
  %over = icmp ugt i64 %more, %limit
  br i1 %over, label %return, label %keep
return:
  call void @let_go(ptr %block, i64 %granted)
  ret void
keep:
  store i64 %more, ptr %cachedp
  %c = call {i64, i64} @size_class(i64 %granted)
  %i = extractvalue {i64, i64} %c, 0
  %list = getelementptr ptr, ptr @whet_heap, i64 %i
  %head = load ptr, ptr %list
  store ptr %head, ptr %block
  store ptr %block, ptr %list
  ret void
}

; A block goes back to the system.
define internal void @let_go(ptr %block, i64 %size) nounwind {
  %heldp = getelementptr i8, ptr @whet_heap, i64 HELD
  %held = load i64, ptr %heldp
  %less = sub i64 %held, %size
  store i64 %less, ptr %heldp
  call void @release(ptr %block, i64 %size)
  ret void
}

; At least %much bytes of unused blocks go back, as far as there are as many. The hand goes round
; the lists, and passes by those that were used since it came last.
define internal void @give_back(i64 %much) nounwind noinline {
entry:
  %handp = getelementptr i8, ptr @whet_heap, i64 HAND
  %cachedp = getelementptr i8, ptr @whet_heap, i64 CACHED
  %usedp = getelementptr i8, ptr @whet_heap, i64 USED
  %freedp = getelementptr i8, ptr @whet_heap, i64 FREED
  %start = load i64, ptr %handp
  %last = add i64 %start, TWICE_LISTS
  br label %lists
lists:
  %at = phi i64 [%start, %entry], [%at1, %next]
  %left = phi i64 [%much, %entry], [%left2, %next]
  %enough = icmp sle i64 %left, 0
  %round = icmp uge i64 %at, %last
  %stop = or i1 %enough, %round
  br i1 %stop, label %done, label %list
list:
  %i = and i64 %at, LAST_LIST
  %mark = getelementptr i8, ptr %usedp, i64 %i
  %used = load i8, ptr %mark
  store i8 0, ptr %mark
  %spare = icmp ne i8 %used, 0
  br i1 %spare, label %next, label %some
some:
  %p = getelementptr ptr, ptr @whet_heap, i64 %i
  %size = call i64 @class_bytes(i64 %i)
  br label %block
block:
  %left1 = phi i64 [%left, %some], [%less, %one]
  %b = load ptr, ptr %p
  %none = icmp eq ptr %b, null
  %fine = icmp sle i64 %left1, 0
  %out = or i1 %none, %fine
  br i1 %out, label %next, label %one
one:
  %rest = load ptr, ptr %b
  store ptr %rest, ptr %p
  %cached = load i64, ptr %cachedp
  %cached1 = sub i64 %cached, %size
  store i64 %cached1, ptr %cachedp
  call void @let_go(ptr %b, i64 %size)
  %small = icmp ult i64 %size, MAPPED
  %to_library = select i1 %small, i64 %size, i64 0
  %freed = load i64, ptr %freedp
  %freed1 = add i64 %freed, %to_library
  store i64 %freed1, ptr %freedp
  %less = sub i64 %left1, %size
  br label %block
next:
  %left2 = phi i64 [%left, %list], [%left1, %block]
  %at1 = add i64 %at, 1
  br label %lists
done:
  %where = and i64 %at, LAST_LIST
  store i64 %where, ptr %handp
  %all = load i64, ptr %freedp
  %much_freed = icmp uge i64 %all, TRIMMED_AFTER
  br i1 %much_freed, label %trim, label %end
trim:
  store i64 0, ptr %freedp
  call void @whet_trim(i64 0)
  ret void
end:
  ret void
}

; Return all unused blocks to the system.
define void @heap_empty() nounwind {
entry:
  %cachedp = getelementptr i8, ptr @whet_heap, i64 CACHED
  store i64 0, ptr %cachedp
  br label %lists
lists:
  %i = phi i64 [0, %entry], [%i1, %next]
  %list = getelementptr ptr, ptr @whet_heap, i64 %i
  %size = call i64 @class_bytes(i64 %i)
  %head = load ptr, ptr %list
  store ptr null, ptr %list
  br label %blocks
blocks:
  %b = phi ptr [%head, %lists], [%rest, %some]
  %end = icmp eq ptr %b, null
  br i1 %end, label %next, label %some
some:
  %rest = load ptr, ptr %b
  call void @let_go(ptr %b, i64 %size)
  br label %blocks
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, LISTS
  br i1 %more, label %lists, label %done
done:
  ret void
}
"""

_CLASSES = """
; The number of the list for a size, and the size of its blocks: size - 1 as 1xxx..., x counting the
; eighths of a power of two.
define internal {i64, i64} @size_class(i64 %size) nounwind {
  %n = call i64 @llvm.umax.i64(i64 %size, i64 SMALLEST)
  %s = sub i64 %n, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %s, i1 true)
  %shift = sub i64 60, %zeros
  %top = lshr i64 %s, %shift
  %next = add i64 %top, 1
  %rounded = shl i64 %next, %shift
  %power = sub i64 %shift, 12
  %p8 = shl i64 %power, 3
  %eighth = and i64 %top, 7
  %index = add i64 %p8, %eighth
  %r0 = insertvalue {i64, i64} poison, i64 %index, 0
  %r1 = insertvalue {i64, i64} %r0, i64 %rounded, 1
  ret {i64, i64} %r1
}
"""

_MAPPED = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)

; Memory from the system. What is mapped starts at a huge page: one too many is mapped, and the ends
; are given back.
define internal ptr @obtain(i64 %size) nounwind noinline {
  %large = icmp uge i64 %size, MAPPED
  br i1 %large, label %map, label %heap
heap:
  %p = call ptr @aligned_alloc(i64 64, i64 %size)
  ret ptr %p
map:
  %whole = add i64 %size, HUGE_PAGE
  %m = call ptr @mmap(ptr null, i64 %whole, i32 3, i32 34, i32 -1, i64 0)
  %a = ptrtoint ptr %m to i64
  %failed = icmp eq i64 %a, -1
  br i1 %failed, label %none, label %trim
none:
  ret ptr null
trim:
  %up = add i64 %a, HUGE_LESS_1
  %start = and i64 %up, MINUS_HUGE
  %before = sub i64 %start, %a
  %q = inttoptr i64 %start to ptr
  %some = icmp ne i64 %before, 0
  br i1 %some, label %head, label %tail
head:
  %u0 = call i32 @munmap(ptr %m, i64 %before)
  br label %tail
tail:
  %after = sub i64 HUGE_PAGE, %before
  %end = getelementptr i8, ptr %q, i64 %size
  %u1 = call i32 @munmap(ptr %end, i64 %after)
  %u2 = call i32 @madvise(ptr %q, i64 %size, i32 14)
  ret ptr %q
}

define internal void @release(ptr %p, i64 %size) nounwind {
  %large = icmp uge i64 %size, MAPPED
  br i1 %large, label %map, label %heap
heap:
  call void @free(ptr %p)
  ret void
map:
  %u = call i32 @munmap(ptr %p, i64 %size)
  ret void
}
"""

_PLAIN = """
define internal ptr @obtain(i64 %size) nounwind {
  %p = call ptr @aligned_alloc(i64 64, i64 %size)
  ret ptr %p
}

define internal void @release(ptr %p, i64 %size) nounwind {
  call void @free(ptr %p)
  ret void
}
"""

# what the text names
WORDS = {"HUGE_LESS_1": HUGE_PAGE - 1, "MINUS_HUGE": -HUGE_PAGE, "LAST_LIST": LISTS - 1,
         "TWICE_LISTS": 2 * LISTS, **guarded_memory.WORDS}


def source():
    """IR text of the heap, with words for its numbers."""
    if guarded_memory.SIDE:
        return _BLOCKS + guarded_memory.SYSTEM
    return _BLOCKS + _CLASSES + (_MAPPED if sys.platform == "linux" else _PLAIN)
