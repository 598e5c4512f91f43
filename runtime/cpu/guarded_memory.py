"""Buffers beside pages that may not be touched: an access outside of one is a signal, where it
happens.

With `WHET_GUARD=end` (or 1) every buffer from `memory.empty` ends where such a page begins, with
`WHET_GUARD=begin` it begins where one ends; so does every piece of a program's arena. A dead
buffer's pages are given back at once, so that a late access is a signal, too. A new buffer is full
of one byte, which differs between the two sides (`POISON`). So whatever is computed from memory
that was never written shows where results of both sides are compared.
"""
import ctypes as C
import mmap
import os
import sys

import numpy as np

PAGE, HUGE = mmap.PAGESIZE, 1 << 46
# All ones are NaN as a float and -1 as an integer. The other byte gives large integers.
POISON = {"end": 0xFF, "begin": 0x7E}
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22                   # as Linux has them


def _side():
    asked = os.environ.get("WHET_GUARD", "0")
    if asked in ("0", ""):
        return None
    if sys.platform != "linux" or asked not in ("1", "end", "begin"):
        raise ValueError(f"WHET_GUARD={asked}: it may be 0, end (or 1) or begin, on Linux")
    return "begin" if asked == "begin" else "end"


# where the page that may not be touched is: at the "end", at the "begin", or nowhere
SIDE = _side()


def pages(size):
    """So many bytes in whole pages."""
    return -(-size // PAGE) * PAGE


class Fenced:
    """Some bytes between two pages that may not be touched, next to the one at the given side."""

    def __init__(self, size, side):
        libc = C.CDLL(None, use_errno=True)
        libc.mmap.restype, libc.mmap.argtypes = (C.c_void_p,
                                                 [C.c_void_p, C.c_size_t, C.c_int, C.c_int, C.c_int,
                                                  C.c_long])
        libc.munmap.argtypes, libc.mprotect.argtypes = ([C.c_void_p, C.c_size_t],
                                                        [C.c_void_p, C.c_size_t, C.c_int])
        room = pages(size)
        self.free, self.whole = libc.munmap, room + 2 * PAGE
        self.start = (libc.mmap(None, self.whole, 0, _PRIVATE_ANONYMOUS, -1, 0)
                      if size < HUGE else C.c_void_p(-1).value)
        if self.start == C.c_void_p(-1).value:
            self.start = None
            raise MemoryError(f"cannot map {size} bytes")
        libc.mprotect(self.start + PAGE, room, _READ_WRITE)
        at = self.start + PAGE + (room - size if side == "end" else 0)
        C.memset(at, POISON[side], size)
        self.__array_interface__ = {
            "data": (at, False), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(self):
        if self.start is not None:
            self.free(self.start, self.whole)


def fenced(size, side="end"):
    """An array of so many bytes that ends where a page begins that may not be touched, or begins
    after one.

    >>> from whet.cpu.guarded_memory import PAGE, fenced
    >>> a = fenced(6)
    >>> a.nbytes, (a.ctypes.data + 6) % PAGE
    (6, 0)
    """
    return np.asarray(Fenced(size, side))


# The same for machine code: what `memory.py` gets blocks from, and what a program's arena is
# divided by.
SYSTEM = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @mprotect(ptr, i64, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; No two sizes are one class: what is given back is not kept.
define internal {i64, i64} @size_class(i64 %size) nounwind {
  %r0 = insertvalue {i64, i64} poison, i64 0, 0
  %r1 = insertvalue {i64, i64} %r0, i64 %size, 1
  ret {i64, i64} %r1
}

define internal ptr @obtain(i64 %size) nounwind noinline {
  %up = add i64 %size, PAGE_LESS_1
  %room = and i64 %up, MINUS_PAGE
  %whole = add i64 %room, TWO_PAGES
  %m = call ptr @mmap(ptr null, i64 %whole, i32 0, i32 34, i32 -1, i64 0)
  %a = ptrtoint ptr %m to i64
  %failed = icmp eq i64 %a, -1
  br i1 %failed, label %none, label %open
none:
  ret ptr null
open:
  %first = getelementptr i8, ptr %m, i64 PAGE_SIZE
  %o = call i32 @mprotect(ptr %first, i64 %room, i32 3)
  %slack = sub i64 %room, %size
  %before = select i1 AT_END, i64 %slack, i64 0
  %p = getelementptr i8, ptr %first, i64 %before
  call void @llvm.memset.p0.i64(ptr %p, i8 POISON, i64 %size, i1 false)
  ret ptr %p
}

define internal void @release(ptr %p, i64 %size) nounwind {
  %up = add i64 %size, PAGE_LESS_1
  %room = and i64 %up, MINUS_PAGE
  %whole = add i64 %room, TWO_PAGES
  %a = ptrtoint ptr %p to i64
  %page = and i64 %a, MINUS_PAGE
  %start = sub i64 %page, PAGE_SIZE
  %m = inttoptr i64 %start to ptr
  %u = call i32 @munmap(ptr %m, i64 %whole)
  ret void
}
"""
WORDS = {
    "PAGE_SIZE": PAGE, "PAGE_LESS_1": PAGE - 1, "MINUS_PAGE": -PAGE, "TWO_PAGES": 2 * PAGE,
    "AT_END": str(SIDE == "end").lower(), "POISON": POISON.get(SIDE, 0)}


def forbid(m, symbol):
    """Emit the kernel whose arguments are pages that may not be touched from now on: their number,
    then their addresses."""
    f = m.kernel(symbol)
    m.declare("mprotect", "i32", ["ptr", "i64", "i32"])
    f.loop(
        0, f.load("i64", f.args[0]), 1, lambda i: f.
        raw(f"call i32 @mprotect(ptr {f.load('ptr', f.at(f.args[0], i + 1, 'i64')).ref}, i64 "
            f"{PAGE}, i32 0)"))
