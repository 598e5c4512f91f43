"""The machine code that makes arrays in large memory, which it takes from the heap (see
`heap_code.py`)."""
import re

from whet.passes.lower_llvm.calls.python_layouts import DTYPE_FLAGS, DTYPE_SIZE, HEAD

from . import allocator_layout, heap_code

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
declare ptr @whet_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @whet_SetBaseObject(ptr, ptr)
declare i32 @whet_DescrConverter(ptr, ptr)
@PyType_Type = external global i8
declare i64 @llvm.umax.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.uadd.with.overflow.i64(i64, i64)
@no_memory = internal constant [37 x i8] c"empty: cannot allocate %zd bytes\\00\\00\\00\\00\\00"

HEAP

; A Block object of at least %size bytes; its fields: the address, the size that was asked for, and
; the one that it has. Null with an error set.
define ptr @block_new(i64 %size) nounwind {
  %box = alloca i64
  %p = call ptr @heap_take(i64 %size, ptr %box)
  %no = icmp eq ptr %p, null
  br i1 %no, label %fail, label %wrap
wrap:
  %o = call ptr @PyObject_Malloc(i64 BLOCK_BYTES)
  %no2 = icmp eq ptr %o, null
  br i1 %no2, label %undo, label %made
undo:
  %has = load i64, ptr %box
  call void @heap_give(ptr %p, i64 %size, i64 %has)
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
  %hasp = getelementptr i8, ptr %o, i64 HAS_AT
  %granted = load i64, ptr %box
  store ptr %p, ptr %datap
  store i64 %size, ptr %sizep
  store i64 %granted, ptr %hasp
  ret ptr %o
}

define void @block_dealloc(ptr %o) nounwind {
  %typep = getelementptr i8, ptr %o, i64 8
  %type = load ptr, ptr %typep
  %datap = getelementptr i8, ptr %o, i64 HEAD
  %sizep = getelementptr i8, ptr %o, i64 SIZE_AT
  %hasp = getelementptr i8, ptr %o, i64 HAS_AT
  %p = load ptr, ptr %datap
  %n = load i64, ptr %sizep
  %has = load i64, ptr %hasp
  call void @heap_give(ptr %p, i64 %n, i64 %has)
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


def source():
    """IR text of the allocator; it goes into one module with the launcher's, whose declarations
    it uses."""
    words = {**vars(allocator_layout), "HEAD": HEAD, "SIZE_AT": HEAD + 8, "HAS_AT": HEAD + 16,
             "BLOCK_BYTES": HEAD + 24, "DTYPE_FLAGS": DTYPE_FLAGS, "DTYPE_SIZE": DTYPE_SIZE,
             **heap_code.WORDS}
    text = _SOURCE.replace("HEAP", heap_code.source())
    return re.sub(r"\b[A-Z][A-Z_1]{3,}\b", lambda m: str(words[m[0]]), text)
