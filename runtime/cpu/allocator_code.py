"""The machine code of the allocator of large memory."""
import re
import sys

from whet.passes.lower_llvm.calls.python_layouts import DTYPE_FLAGS, DTYPE_SIZE, HEAD

from . import allocator_layout, guarded_memory
from .allocator_layout import HUGE_PAGE

_SOURCE = """
@whet_heap = external global i8
@whet_dtype = external global i8
@PyTuple_Type = external global i8
@PyExc_MemoryError = external global ptr
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyLong_AsSsize_t(ptr)
declare void @PyErr_Clear()
declare ptr @PyObject_Malloc(i64)
declare void @PyObject_Free(ptr)
declare ptr @PyObject_Init(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyErr_NoMemory()
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare ptr @whet_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @whet_SetBaseObject(ptr, ptr)
declare i32 @whet_DescrConverter(ptr, ptr)
@PyType_Type = external global i8
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.uadd.with.overflow.i64(i64, i64)
@no_memory = internal constant [37 x i8] c"empty: cannot allocate %zd bytes\\00\\00\\00\\00\\00"

SYSTEM

; A block of at least %size bytes, from its list or new; null if there is none to be had.
define ptr @heap_take(i64 %size) nounwind {
entry:
  %absurd = icmp ugt i64 %size, LARGEST
  br i1 %absurd, label %none, label %look
none:
  ret ptr null
look:
  %c = call {ptr, i64} @size_class(i64 %size)
  %list = extractvalue {ptr, i64} %c, 0
  %rounded = extractvalue {ptr, i64} %c, 1
  %cachedp = getelementptr i8, ptr @whet_heap, i64 CACHED
  %freshp = getelementptr i8, ptr @whet_heap, i64 FRESH
  %reusedp = getelementptr i8, ptr @whet_heap, i64 REUSED
  %livep = getelementptr i8, ptr @whet_heap, i64 LIVE
  %peakp = getelementptr i8, ptr @whet_heap, i64 PEAK
  %head = load ptr, ptr %list
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %new, label %reuse
reuse:
  %rest = load ptr, ptr %head
  store ptr %rest, ptr %list
  %cached = load i64, ptr %cachedp
  %less = sub i64 %cached, %rounded
  store i64 %less, ptr %cachedp
  %reused = load i64, ptr %reusedp
  %reused1 = add i64 %reused, 1
  store i64 %reused1, ptr %reusedp
  br label %have
new:
  %first = call ptr @obtain(i64 %rounded)
  %refused = icmp eq ptr %first, null
  br i1 %refused, label %shrink, label %got
; the system may have room once what lies here unused has gone back
shrink:
  call void @heap_empty()
  %second = call ptr @obtain(i64 %rounded)
  %hopeless = icmp eq ptr %second, null
  br i1 %hopeless, label %none, label %got
got:
  %made = phi ptr [%first, %new], [%second, %shrink]
  %fresh = load i64, ptr %freshp
  %fresh1 = add i64 %fresh, 1
  store i64 %fresh1, ptr %freshp
  br label %have
have:
  %block = phi ptr [%head, %reuse], [%made, %got]
  %live = load i64, ptr %livep
  %live1 = add i64 %live, %rounded
  store i64 %live1, ptr %livep
  %peak = load i64, ptr %peakp
  %peak1 = call i64 @llvm.umax.i64(i64 %peak, i64 %live1)
  store i64 %peak1, ptr %peakp
  ret ptr %block
}

; Take a block back.
define void @heap_give(ptr %block, i64 %size) nounwind {
  %c = call {ptr, i64} @size_class(i64 %size)
  %list = extractvalue {ptr, i64} %c, 0
  %rounded = extractvalue {ptr, i64} %c, 1
  %livep = getelementptr i8, ptr @whet_heap, i64 LIVE
  %live = load i64, ptr %livep
  %live1 = sub i64 %live, %rounded
  store i64 %live1, ptr %livep
  %cachedp = getelementptr i8, ptr @whet_heap, i64 CACHED
  %cached = load i64, ptr %cachedp
  %more = add i64 %cached, %rounded
  %limitp = getelementptr i8, ptr @whet_heap, i64 LIMIT
  %limit = load i64, ptr %limitp
  %over = icmp ugt i64 %more, %limit
  br i1 %over, label %return, label %keep
return:
  call void @release(ptr %block, i64 %rounded)
  ret void
keep:
  store i64 %more, ptr %cachedp
  %head = load ptr, ptr %list
  store ptr %head, ptr %block
  store ptr %block, ptr %list
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
  ; 1xxx shifted: the size that size_class rounds up to
  %eighth = and i64 %i, 7
  %top = add i64 %eighth, 9
  %power = lshr i64 %i, 3
  %shift = add i64 %power, 12
  %size = shl i64 %top, %shift
  %head = load ptr, ptr %list
  store ptr null, ptr %list
  br label %blocks
blocks:
  %b = phi ptr [%head, %lists], [%rest, %some]
  %end = icmp eq ptr %b, null
  br i1 %end, label %next, label %some
some:
  %rest = load ptr, ptr %b
  call void @release(ptr %b, i64 %size)
  br label %blocks
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, LISTS
  br i1 %more, label %lists, label %done
done:
  ret void
}

; A Block object of at least %size bytes; its fields: the address, the size that was asked for. Null
; with an error set.
define ptr @block_new(i64 %size) nounwind {
  %p = call ptr @heap_take(i64 %size)
  %no = icmp eq ptr %p, null
  br i1 %no, label %fail, label %wrap
wrap:
  %o = call ptr @PyObject_Malloc(i64 BLOCK_BYTES)
  %no2 = icmp eq ptr %o, null
  br i1 %no2, label %undo, label %made
undo:
  call void @heap_give(ptr %p, i64 %size)
  br label %fail
fail:
  %e = load ptr, ptr @PyExc_MemoryError
  %z = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %e, ptr @no_memory, i64 %size)
  ret ptr null
made:
  %typep = getelementptr i8, ptr @whet_heap, i64 BLOCK_TYPE
  %type = load ptr, ptr %typep
  %o1 = call ptr @PyObject_Init(ptr %o, ptr %type)
  %datap = getelementptr i8, ptr %o, i64 HEAD
  %sizep = getelementptr i8, ptr %o, i64 SIZE_AT
  store ptr %p, ptr %datap
  store i64 %size, ptr %sizep
  ret ptr %o
}

define void @block_dealloc(ptr %o) nounwind {
  %typep = getelementptr i8, ptr %o, i64 8
  %type = load ptr, ptr %typep
  %datap = getelementptr i8, ptr %o, i64 HEAD
  %sizep = getelementptr i8, ptr %o, i64 SIZE_AT
  %p = load ptr, ptr %datap
  %n = load i64, ptr %sizep
  call void @heap_give(ptr %p, i64 %n)
  call void @PyObject_Free(ptr %o)
  call void @Py_DecRef(ptr %type)
  ret void
}

; A new array of these dimensions and strides (null: in C order). Null with an error set, or without
; one where this is not the place to make it: %odd then becomes 1.
define internal ptr @new_array(ptr %descr, i64 %nd, ptr %dims, ptr %strides, ptr %odd) nounwind {
entry:
  store i8 0, ptr %odd
  %flagsp = getelementptr i8, ptr %descr, i64 DTYPE_FLAGS
  %flags = load i64, ptr %flagsp
  %special = and i64 %flags, 9               ; holds references, or wants to be zeroed
  %plain = icmp eq i64 %special, 0
  %elsizep = getelementptr i8, ptr %descr, i64 DTYPE_SIZE
  %elsize = load i64, ptr %elsizep
  %sized = icmp sgt i64 %elsize, 0
  %usual = and i1 %plain, %sized
  br i1 %usual, label %dim, label %refuse
refuse:
  store i8 1, ptr %odd
  ret ptr null
dim:
  ; The bytes of the elements, and one more than the last byte that an element reaches.
  %i = phi i64 [0, %entry], [%i1, %next]
  %bytes = phi i64 [%elsize, %entry], [%bytes1, %next]
  %span = phi i64 [%elsize, %entry], [%span1, %next]
  %void = phi i1 [false, %entry], [%void1, %next]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %multiply, label %sized_up
multiply:
  %dp = getelementptr i64, ptr %dims, i64 %i
  %d = load i64, ptr %dp
  %zero = icmp eq i64 %d, 0
  %void1 = or i1 %void, %zero
  %d1 = call i64 @llvm.umax.i64(i64 %d, i64 1)
  %m = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %bytes, i64 %d1)
  %bytes1 = extractvalue {i64, i1} %m, 0
  %over0 = extractvalue {i64, i1} %m, 1
  %high = icmp slt i64 %bytes1, 0
  %over = or i1 %over0, %high
  br i1 %over, label %refuse, label %stride
stride:
  %given = icmp ne ptr %strides, null
  br i1 %given, label %reach, label %next
reach:
  %sp = getelementptr i64, ptr %strides, i64 %i
  %s = load i64, ptr %sp
  %last = sub i64 %d1, 1
  %w = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %s, i64 %last)
  %w0 = extractvalue {i64, i1} %w, 0
  %w1 = extractvalue {i64, i1} %w, 1
  %a = call {i64, i1} @llvm.uadd.with.overflow.i64(i64 %span, i64 %w0)
  %a0 = extractvalue {i64, i1} %a, 0
  %a1 = extractvalue {i64, i1} %a, 1
  %neg = icmp slt i64 %a0, 0
  %o1 = or i1 %w1, %a1
  %o2 = or i1 %o1, %neg
  br i1 %o2, label %refuse, label %next
next:
  %span1 = phi i64 [%span, %stride], [%a0, %reach]
  %i1 = add i64 %i, 1
  br label %dim
sized_up:
  %most = call i64 @llvm.umax.i64(i64 %bytes, i64 %span)
  %need = select i1 %void, i64 0, i64 %most
  call void @Py_IncRef(ptr %descr)
  %nd32 = trunc i64 %nd to i32
  %large = icmp uge i64 %need, SMALLEST
  %wide = icmp ugt i64 %need, %bytes         ; NumPy counts the elements, not the gaps between them
  %own = or i1 %large, %wide
  br i1 %own, label %block, label %small
small:
  %r0 = call ptr @whet_NewFromDescr(ptr @whet_ndarray, ptr %descr, i32 %nd32, ptr %dims,
      ptr %strides, ptr null, i32 0, ptr null)
  ret ptr %r0
block:
  %b = call ptr @block_new(i64 %need)
  %none = icmp eq ptr %b, null
  br i1 %none, label %drop, label %view
drop:
  call void @Py_DecRef(ptr %descr)
  ret ptr null
view:
  %datap = getelementptr i8, ptr %b, i64 HEAD
  %data = load ptr, ptr %datap
  %r = call ptr @whet_NewFromDescr(ptr @whet_ndarray, ptr %descr, i32 %nd32, ptr %dims,
      ptr %strides, ptr %data, i32 1281, ptr null)
  %bad = icmp eq ptr %r, null
  br i1 %bad, label %unwind, label %base
unwind:
  call void @Py_DecRef(ptr %b)
  ret ptr null
base:
  %f = call i32 @whet_SetBaseObject(ptr %r, ptr %b)
  %fine = icmp eq i32 %f, 0
  br i1 %fine, label %done, label %lose
lose:
  call void @Py_DecRef(ptr %r)
  ret ptr null
done:
  ret ptr %r
}

; The same for machine code, which may ask for anything: what is special is left to NumPy.
define ptr @array_new(ptr %descr, i64 %nd, ptr %dims, ptr %strides) nounwind {
  %odd = alloca i8
  %r = call ptr @new_array(ptr %descr, i64 %nd, ptr %dims, ptr %strides, ptr %odd)
  %flag = load i8, ptr %odd
  %special = icmp ne i8 %flag, 0
  br i1 %special, label %numpy, label %done
done:
  ret ptr %r
numpy:
  call void @Py_IncRef(ptr %descr)
  %nd32 = trunc i64 %nd to i32
  %a = call ptr @whet_NewFromDescr(ptr @whet_ndarray, ptr %descr, i32 %nd32, ptr %dims, ptr null,
      ptr null, i32 0, ptr null)
  ret ptr %a
}

; An exact non-negative int, or an exact tuple of them, into %out; how many there are, -1 if it is
; something else.
define internal i64 @sizes(ptr %o, ptr %out) nounwind {
entry:
  %tp = getelementptr i8, ptr %o, i64 8
  %t = load ptr, ptr %tp
  %tuple = icmp eq ptr %t, @PyTuple_Type
  br i1 %tuple, label %count, label %other
other:
  %single = icmp eq ptr %t, @PyLong_Type
  br i1 %single, label %one, label %no
one:
  %v0 = call i64 @PyLong_AsSsize_t(ptr %o)
  store i64 %v0, ptr %out
  %neg0 = icmp slt i64 %v0, 0
  br i1 %neg0, label %clear, label %first
first:
  ret i64 1
no:
  ret i64 -1
count:
  %n = call i64 @PyTuple_Size(ptr %o)
  %many = icmp ugt i64 %n, MAX_DIMS
  br i1 %many, label %no, label %item
item:
  %i = phi i64 [0, %count], [%i1, %store]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %read, label %done
read:
  %x = call ptr @PyTuple_GetItem(ptr %o, i64 %i)
  %xtp = getelementptr i8, ptr %x, i64 8
  %xt = load ptr, ptr %xtp
  %int = icmp eq ptr %xt, @PyLong_Type
  br i1 %int, label %value, label %no
value:
  %v = call i64 @PyLong_AsSsize_t(ptr %x)
  %neg = icmp slt i64 %v, 0
  br i1 %neg, label %clear, label %store
clear:
  call void @PyErr_Clear()
  br label %no
store:
  %op = getelementptr i64, ptr %out, i64 %i
  store i64 %v, ptr %op
  %i1 = add i64 %i, 1
  br label %item
done:
  ret i64 %n
}

; empty(shape, dtype, strides=None): what is spelled out in exact types is done here, the rest by
; the Python function.
define ptr @empty(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {
entry:
  %dims = alloca [MAX_DIMS x i64], align 16
  %steps = alloca [MAX_DIMS x i64], align 16
  %odd = alloca i8
  %converted = alloca ptr
  %positional = icmp eq ptr %names, null
  %c2 = icmp eq i64 %count, 2
  %c3 = icmp eq i64 %count, 3
  %c23 = or i1 %c2, %c3
  %usual = and i1 %positional, %c23
  br i1 %usual, label %there, label %slow
there:
  %absentp = getelementptr i8, ptr @whet_heap, i64 ABSENT
  %absent = load i64, ptr %absentp
  %memory = icmp eq i64 %absent, 0
  br i1 %memory, label %shape, label %slow
shape:
  %a0 = load ptr, ptr %args
  %nd = call i64 @sizes(ptr %a0, ptr %dims)
  %known = icmp sge i64 %nd, 0
  br i1 %known, label %dtype, label %slow
dtype:
  %a1p = getelementptr ptr, ptr %args, i64 1
  %a1 = load ptr, ptr %a1p
  %tp = getelementptr i8, ptr %a1, i64 8
  %t = load ptr, ptr %tp
  %d = call i32 @PyType_IsSubtype(ptr %t, ptr @whet_dtype)
  %isd = icmp ne i32 %d, 0
  br i1 %isd, label %own, label %class
own:
  call void @Py_IncRef(ptr %a1)
  br label %layout
class:                                       ; np.float32 and the like
  %isc = icmp eq ptr %t, @PyType_Type
  br i1 %isc, label %ask, label %slow
ask:
  %found = call i32 @whet_DescrConverter(ptr %a1, ptr %converted)
  %good = icmp ne i32 %found, 0
  br i1 %good, label %have, label %fail
fail:
  ret ptr null
have:
  %a1c = load ptr, ptr %converted
  br label %layout
layout:
  %descr = phi ptr [%a1, %own], [%a1c, %have]
  br i1 %c2, label %make, label %third
third:
  %a2p = getelementptr ptr, ptr %args, i64 2
  %a2 = load ptr, ptr %a2p
  %none = icmp eq ptr %a2, @_Py_NoneStruct
  br i1 %none, label %make, label %strides
strides:
  %ns = call i64 @sizes(ptr %a2, ptr %steps)
  %match = icmp eq i64 %ns, %nd
  br i1 %match, label %make, label %drop_slow
drop_slow:
  call void @Py_DecRef(ptr %descr)
  br label %slow
make:
  %s = phi ptr [null, %layout], [null, %third], [%steps, %strides]
  %r = call ptr @new_array(ptr %descr, i64 %nd, ptr %dims, ptr %s, ptr %odd)
  call void @Py_DecRef(ptr %descr)
  %flag = load i8, ptr %odd
  %refused = icmp ne i8 %flag, 0
  br i1 %refused, label %slow, label %done
done:
  ret ptr %r
slow:
  %fp = getelementptr i8, ptr @whet_heap, i64 SLOW
  %f = load ptr, ptr %fp
  %v = call ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %count, ptr %names)
  ret ptr %v
}
"""

_CLASSES = """
; The list for a size, and the size of its blocks: size - 1 as 1xxx..., x counting the eighths of a
; power of two.
define internal {ptr, i64} @size_class(i64 %size) nounwind {
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
  %list = getelementptr ptr, ptr @whet_heap, i64 %index
  %r0 = insertvalue {ptr, i64} poison, ptr %list, 0
  %r1 = insertvalue {ptr, i64} %r0, i64 %rounded, 1
  ret {ptr, i64} %r1
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


def source():
    """IR text of the allocator; it goes into one module with the launcher's, whose declarations
    it uses."""
    words = {**vars(allocator_layout), "HEAD": HEAD, "SIZE_AT": HEAD + 8, "BLOCK_BYTES": HEAD + 16,
             "DTYPE_FLAGS": DTYPE_FLAGS, "DTYPE_SIZE": DTYPE_SIZE, "HUGE_LESS_1": HUGE_PAGE - 1,
             "MINUS_HUGE": -HUGE_PAGE, **guarded_memory.WORDS}
    system = (guarded_memory.SYSTEM if guarded_memory.SIDE else _CLASSES +
              (_MAPPED if sys.platform == "linux" else _PLAIN))
    text = _SOURCE.replace("SYSTEM", system)
    return re.sub(r"\b[A-Z][A-Z_1]{3,}\b", lambda m: str(words[m[0]]), text)
