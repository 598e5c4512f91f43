"""The machine code of `launch`, and the text of the whole runtime: the pool, the allocator and
the launcher."""
import re

from whet.passes.lower_llvm.calls import distribute_units as launching
from whet.passes.lower_llvm.calls.launch_list import MOST as MAX_ARGS
from whet.passes.lower_llvm.calls.python_layouts import HEAD

from . import allocator, thread_pool
from .object_layouts import int_layout

# How an int says that it is not negative and has at most two digits, and how many they are.
_INT_DIGITS = {
    "size": """  %n = add i64 %word, 0
  %short = icmp ult i64 %n, 3""",
    "tag": """  %n = lshr i64 %word, 3
  %few = icmp ult i64 %n, 3
  %sign = and i64 %word, 2
  %plus = icmp eq i64 %sign, 0
  %short = and i1 %few, %plus""",
    "unknown": """  %n = add i64 0, 0
  %short = icmp ne i64 0, 0"""}


_LAUNCH = """
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@_Py_NoneStruct = external global i8
@_Py_TrueStruct = external global i8
@PyExc_TypeError = external global ptr
@PyExc_ValueError = external global ptr
@PyExc_OverflowError = external global ptr
@whet_ndarray = external global i8
@whet_tape = external global ptr
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyErr_Format(ptr, ptr, ...)
declare void @PyErr_SetString(ptr, ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i32 @PyIndex_Check(ptr)
declare ptr @PyNumber_Index(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

MESSAGES

; An int as i64; 2^63..2^64-1 as the same bits. The second result is 0 after an error.
define internal {i64, i1} @integer(ptr %o) nounwind {
  %over = alloca i32
  %v = call i64 @PyLong_AsLongLongAndOverflow(ptr %o, ptr %over)
  %f = load i32, ptr %over
  %fits = icmp eq i32 %f, 0
  br i1 %fits, label %done, label %far
far:
  %high = icmp sgt i32 %f, 0
  br i1 %high, label %unsigned, label %small
small:
  %e1 = load ptr, ptr @PyExc_OverflowError
  call void @PyErr_SetString(ptr %e1, ptr @low)
  br label %fail
unsigned:
  %u = call i64 @PyLong_AsUnsignedLongLong(ptr %o)
  %maybe = icmp eq i64 %u, -1
  br i1 %maybe, label %ask, label %done
ask:
  %e = call ptr @PyErr_Occurred()
  %clean = icmp eq ptr %e, null
  br i1 %clean, label %done, label %fail
fail:
  ret {i64, i1} {i64 0, i1 false}
done:
  %x = phi i64 [%v, %0], [%u, %unsigned], [%u, %ask]
  %r0 = insertvalue {i64, i1} poison, i64 %x, 0
  %r1 = insertvalue {i64, i1} %r0, i1 true, 1
  ret {i64, i1} %r1
}

; An argument that is none of the four exact types: subclasses, and what has __index__.
define internal {i64, i1} @other(ptr %o, i64 %position) nounwind noinline {
  %tp = getelementptr i8, ptr %o, i64 8
  %t = load ptr, ptr %tp
  %operand = icmp uge i64 %position, 3
  br i1 %operand, label %first, label %last
first:
  %a = call i32 @PyType_IsSubtype(ptr %t, ptr @whet_ndarray)
  %array = icmp ne i32 %a, 0
  br i1 %array, label %data, label %next
data:
  %dp = getelementptr i8, ptr %o, i64 HEAD
  %d = load i64, ptr %dp
  br label %done
next:
  %b = call i32 @PyType_IsSubtype(ptr %t, ptr @PyFloat_Type)
  %float = icmp ne i32 %b, 0
  br i1 %float, label %number, label %last
number:
  %x = call double @PyFloat_AsDouble(ptr %o)
  %xb = bitcast double %x to i64
  br label %done
last:
  %c = call i32 @PyIndex_Check(ptr %o)
  %index = icmp ne i32 %c, 0
  br i1 %index, label %convert, label %wrong
convert:
  %n = call ptr @PyNumber_Index(ptr %o)
  %bad = icmp eq ptr %n, null
  br i1 %bad, label %fail, label %int
int:
  %r = call {i64, i1} @integer(ptr %n)
  call void @Py_DecRef(ptr %n)
  ret {i64, i1} %r
wrong:
  %e = load ptr, ptr @PyExc_TypeError
  %shown = add i64 %position, 1
  %text = select i1 %operand, ptr @odd, ptr @head
  %z = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %e, ptr %text, i64 %shown, ptr %t)
  br label %fail
fail:
  ret {i64, i1} {i64 0, i1 false}
done:
  %v = phi i64 [%d, %data], [%xb, %number]
  %r0 = insertvalue {i64, i1} poison, i64 %v, 0
  %r1 = insertvalue {i64, i1} %r0, i1 true, 1
  ret {i64, i1} %r1
}

; Copies its arguments to the first of them, whose length is the second: shows that a launch passes
; them well.
define void @proof(ptr %args, i64 %begin, i64 %end, i64 %worker) nounwind {
entry:
  %out = load ptr, ptr %args
  %np = getelementptr i64, ptr %args, i64 1
  %n = load i64, ptr %np
  br label %l
l:
  %i = phi i64 [0, %entry], [%i1, %l]
  %p = getelementptr i64, ptr %args, i64 %i
  %q = getelementptr i64, ptr %out, i64 %i
  %v = load i64, ptr %p
  store i64 %v, ptr %q
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %l, label %d
d:
  ret void
}

; launch(addr, total, grain, *args)
define ptr @launch(ptr %self, ptr %argv, i64 %count) nounwind {
entry:
  %slots = alloca [MAX_SLOTS x i64], align 16
  %tape = load ptr, ptr @whet_tape
  %off = icmp eq ptr %tape, null
  br i1 %off, label %begin, label %tell
tell:                                        ; launches are being recorded
  %heard = call ptr @PyObject_Vectorcall(ptr %tape, ptr %argv, i64 %count, ptr null)
  %deaf = icmp eq ptr %heard, null
  br i1 %deaf, label %fail, label %told
told:
  call void @Py_DecRef(ptr %heard)
  %enough = icmp eq ptr %heard, @_Py_TrueStruct
  br i1 %enough, label %done, label %begin
begin:
  %c0 = icmp sgt i64 %count, 2
  %c1 = icmp sle i64 %count, MAX_SLOTS
  %fine = and i1 %c0, %c1
  br i1 %fine, label %loop, label %amount
amount:
  %e0 = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %e0, ptr @few)
  ret ptr null
loop:
  %i = phi i64 [0, %begin], [%i1, %next]
  %op = getelementptr ptr, ptr %argv, i64 %i
  %o = load ptr, ptr %op
  %sp = getelementptr i64, ptr %slots, i64 %i
  %tp = getelementptr i8, ptr %o, i64 8
  %t = load ptr, ptr %tp
  %is_int = icmp eq ptr %t, @PyLong_Type
  br i1 %is_int, label %int, label %not_int
; below 2^60: up to two digits of 30 bits, read in place
int:
  %np = getelementptr i8, ptr %o, i64 HEAD
  %word = load i64, ptr %np
INT_DIGITS
  br i1 %short, label %digits, label %long_int
digits:
  %d0p = getelementptr i8, ptr %o, i64 DIGITS
  %d032 = load i32, ptr %d0p
  %d0 = zext i32 %d032 to i64
  %two = icmp eq i64 %n, 2
  br i1 %two, label %two_digits, label %one_digit
one_digit:
  %v1 = mul i64 %d0, %n
  br label %next
two_digits:
  %d1p = getelementptr i8, ptr %d0p, i64 4
  %d132 = load i32, ptr %d1p
  %d1 = zext i32 %d132 to i64
  %d1s = shl i64 %d1, 30
  %v2 = or i64 %d0, %d1s
  br label %next
long_int:
  %r = call {i64, i1} @integer(ptr %o)
  br label %converted
not_int:
  %head = icmp ult i64 %i, 3
  br i1 %head, label %rare, label %operand
operand:
  %is_array = icmp eq ptr %t, @whet_ndarray
  %is_float = icmp eq ptr %t, @PyFloat_Type
  %field = or i1 %is_array, %is_float
  br i1 %field, label %first_field, label %not_field
; an ndarray's data pointer, a float's value: both come first
first_field:
  %fp = getelementptr i8, ptr %o, i64 HEAD
  %f = load i64, ptr %fp
  br label %next
not_field:
  %is_none = icmp eq ptr %o, @_Py_NoneStruct
  br i1 %is_none, label %next, label %rare
rare:
  %ro = call {i64, i1} @other(ptr %o, i64 %i)
  br label %converted
converted:
  %rr = phi {i64, i1} [%r, %long_int], [%ro, %rare]
  %ok = extractvalue {i64, i1} %rr, 1
  %rv = extractvalue {i64, i1} %rr, 0
  br i1 %ok, label %next, label %fail
next:
  %v = phi i64 [%f, %first_field], [0, %not_field], [%v1, %one_digit], [%v2, %two_digits],
      [%rv, %converted]
  store i64 %v, ptr %sp
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %count
  br i1 %more, label %loop, label %ready
fail:
  ret ptr null
ready:
  %kernel = load ptr, ptr %slots
  %totalp = getelementptr i8, ptr %slots, i64 8
  %total = load i64, ptr %totalp
  %grainp = getelementptr i8, ptr %slots, i64 16
  %launch_word = load i64, ptr %grainp
  %grain = and i64 %launch_word, GRAIN_MASK
  %args = getelementptr i8, ptr %slots, i64 24
  %nothing = icmp eq ptr %kernel, null
  br i1 %nothing, label %no_kernel, label %size
no_kernel:
  %e1 = load ptr, ptr @PyExc_ValueError
  call void @PyErr_SetString(ptr %e1, ptr @null)
  ret ptr null
size:
  %fifth = sdiv i64 %total, 5
  %long = icmp sge i64 %fifth, %grain
  %some = icmp sgt i64 %total, 0
  %release = and i1 %long, %some
  br i1 %release, label %outside, label %inside
inside:
  call void @pool_run(ptr %kernel, ptr %args, i64 %total, i64 %launch_word)
  br label %done
outside:
  %thread = call ptr @PyEval_SaveThread()
  call void @pool_run(ptr %kernel, ptr %args, i64 %total, i64 %launch_word)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}
"""


ERROR_MESSAGES = {
    "few": f"launch takes a kernel, total, grain and at most {MAX_ARGS} arguments",
    "null": "launch: the kernel's address is 0",
    "low": "launch: an int is below -2**63",
    "odd": "launch: argument {number} must be an ndarray, an int, a float or None, not {kind}",
    "head": "launch: argument {number} must be an int, not {kind}"}


def runtime_text():
    texts = {name: text.format(number="%zd", kind="%R") for name, text in ERROR_MESSAGES.items()}
    messages = "\n".join(f'@{name} = internal constant [{len(text) + 1} x i8] c"{text}\\00"'
                         for name, text in texts.items())
    words = {
        "MESSAGES": messages, "GRAIN_MASK": str(launching.grain(-1)),
        "MAX_SLOTS": str(MAX_ARGS + 3), "HEAD": str(HEAD), "DIGITS": str(HEAD + 8),
        "INT_DIGITS": _INT_DIGITS[int_layout()]}
    text = (thread_pool.source() + allocator.source()
            + re.sub(rf"\b({'|'.join(words)})\b", lambda m: words[m[0]], _LAUNCH))
    declared = dict.fromkeys(re.findall(r"^declare .*$", text, re.M))            # each once
    return "\n".join([*declared, re.sub(r"^declare .*$", "", text, flags=re.M)])
