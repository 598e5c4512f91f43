"""Machine code that launches a kernel: the driver is called from Python in a tenth of a
microsecond.

A launch that is prepared lies in words of its own: FUNCTION and so on, then where the value of each
parameter that varies goes. `launch(words, stream, *values)` writes the values and calls the driver,
with Python's lock held, so that threads do not meet there.
"""
from __future__ import annotations

import ctypes as C
import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cpu import native

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Programs

FUNCTION, X, Y, Z, THREADS, SHARED, CONTEXT, PARAMETERS, ACTIVATE, LAUNCH, HEAD = range(11)
# how to read the bits of a float, as `struct` formats; the bits of an integer are the integer
FLOATS = {"fp32": ("<f", "<I"), "fp64": ("<d", "<Q")}

TEXT = f"""
declare i64 @PyLong_AsUnsignedLongLongMask(ptr)
declare ptr @PyLong_FromLong(i64)

define i64 @argument(ptr %args, i64 %i) {{
  %at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %at
  %value = call i64 @PyLong_AsUnsignedLongLongMask(ptr %object)
  ret i64 %value
}}

define ptr @word(ptr %words, i64 %i) {{
  %at = getelementptr ptr, ptr %words, i64 %i
  %value = load ptr, ptr %at
  ret ptr %value
}}

define i32 @number(ptr %words, i64 %i) {{
  %value = call ptr @word(ptr %words, i64 %i)
  %whole = ptrtoint ptr %value to i64
  %cut = trunc i64 %whole to i32
  ret i32 %cut
}}

define i32 @start(ptr %words, ptr %stream) {{
  %function = call ptr @word(ptr %words, i64 {FUNCTION})
  %x = call i32 @number(ptr %words, i64 {X})
  %y = call i32 @number(ptr %words, i64 {Y})
  %z = call i32 @number(ptr %words, i64 {Z})
  %threads = call i32 @number(ptr %words, i64 {THREADS})
  %shared = call i32 @number(ptr %words, i64 {SHARED})
  %parameters = call ptr @word(ptr %words, i64 {PARAMETERS})
  %launch = call ptr @word(ptr %words, i64 {LAUNCH})
  %status = call i32 %launch(ptr %function, i32 %x, i32 %y, i32 %z, i32 %threads, i32 1,
    i32 1, i32 %shared, ptr %stream, ptr %parameters, ptr null)
  ret i32 %status
}}

define void @activate(ptr %words) {{
  %context = call ptr @word(ptr %words, i64 {CONTEXT})
  %activate = call ptr @word(ptr %words, i64 {ACTIVATE})
  %active = call i32 %activate(ptr %context)
  ret void
}}

define ptr @launch(ptr %self, ptr %args, i64 %count) {{
start:
  %first = call i64 @argument(ptr %args, i64 0)
  %words = inttoptr i64 %first to ptr
  %second = call i64 @argument(ptr %args, i64 1)
  %stream = inttoptr i64 %second to ptr
  br label %next
next:
  %i = phi i64 [ 2, %start ], [ %more, %write ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %write, label %go
write:
  %value = call i64 @argument(ptr %args, i64 %i)
  %k = add i64 %i, {HEAD - 2}
  %to = call ptr @word(ptr %words, i64 %k)
  store i64 %value, ptr %to
  %more = add i64 %i, 1
  br label %next
go:
  call void @activate(ptr %words)
  %status = call i32 @start(ptr %words, ptr %stream)
  %wide = sext i32 %status to i64
  %made = call ptr @PyLong_FromLong(i64 %wide)
  ret ptr %made
}}

define ptr @launch_all(ptr %self, ptr %args, i64 %count) {{
start:
  %first = call i64 @argument(ptr %args, i64 0)
  %table = inttoptr i64 %first to ptr
  %second = call i64 @argument(ptr %args, i64 1)
  %stream = inttoptr i64 %second to ptr
  %values = alloca i64, i64 %count
  br label %next
next:
  %i = phi i64 [ 2, %start ], [ %more, %read ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %read, label %ready
read:
  %value = call i64 @argument(ptr %args, i64 %i)
  %k = sub i64 %i, 2
  %to = getelementptr i64, ptr %values, i64 %k
  store i64 %value, ptr %to
  %more = add i64 %i, 1
  br label %next
ready:
  %one = load ptr, ptr %table
  call void @activate(ptr %one)
  br label %launches
launches:
  %at = phi ptr [ %table, %ready ], [ %end, %go ]
  %words = load ptr, ptr %at
  %is_end = icmp eq ptr %words, null
  br i1 %is_end, label %done, label %parameters
parameters:
  %count_at = getelementptr i64, ptr %at, i64 1
  %n = load i64, ptr %count_at
  %pairs = getelementptr i64, ptr %at, i64 2
  br label %parameter
parameter:
  %j = phi i64 [ 0, %parameters ], [ %j_next, %write ]
  %some = icmp ult i64 %j, %n
  br i1 %some, label %write, label %go
write:
  %twice = shl i64 %j, 1
  %which_at = getelementptr i64, ptr %pairs, i64 %twice
  %which = load i64, ptr %which_at
  %added_at = getelementptr i64, ptr %which_at, i64 1
  %added = load i64, ptr %added_at
  %told_at = getelementptr i64, ptr %values, i64 %which
  %told = load i64, ptr %told_at
  %sum = add i64 %told, %added
  %seat = add i64 %j, {HEAD}
  %place = call ptr @word(ptr %words, i64 %seat)
  store i64 %sum, ptr %place
  %j_next = add i64 %j, 1
  br label %parameter
go:
  %past = shl i64 %n, 1
  %end = getelementptr i64, ptr %pairs, i64 %past
  %status = call i32 @start(ptr %words, ptr %stream)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %launches, label %bad
bad:
  %wide = sext i32 %status to i64
  br label %done
done:
  %result = phi i64 [ 0, %launches ], [ %wide, %bad ]
  %made = call ptr @PyLong_FromLong(i64 %result)
  ret ptr %made
}}
"""


class Prepared:
    """The words of a launch. `kernel` is what the driver, of library `cuda`, loaded, in a context;
    the parameters `varying` vary, the others are `fixed`."""

    def __init__(self, cuda: Any, kernel: Any, context: int, programs: Programs,
                 fixed: Mapping[str, float], varying: Sequence[str]) -> None:
        kinds = dict(kernel.parameters)
        values = [bits(kinds[name], fixed[name]) if name in fixed else 0 for name in kinds]
        # the values, and those of two parameters that the compiler adds: memory that is not needed
        self.values = np.array([*values, 0, 0], np.uint64)
        start = self.values.ctypes.data
        places = {name: start + 8 * k for k, name in enumerate(kinds)}
        self.pointers = np.array(range(start, start + self.values.nbytes, 8), np.uint64)
        head: list[Any] = [0] * HEAD
        head[FUNCTION], head[CONTEXT] = kernel.function, context
        head[X], head[Y], head[Z] = programs if isinstance(programs, tuple) else (programs, 1, 1)
        head[THREADS], head[SHARED] = kernel.threads, kernel.shared
        head[PARAMETERS] = self.pointers.ctypes.data
        head[ACTIVATE], head[LAUNCH] = (C.cast(f, C.c_void_p).value for f in (
            cuda.cuCtxSetCurrent, cuda.cuLaunchKernel))
        self.words = np.array([*head, *(places[name] for name in varying)], np.uint64)
        self.address = self.words.ctypes.data
        self.floats = [(k, kinds[name]) for k, name in enumerate(varying) if kinds[name] in FLOATS]

    def by_bits(self, values: Sequence[float]) -> list[Any]:
        """Values of the parameters that vary, those that are not whole by their bits."""
        words = list(values)
        for k, kind in self.floats:
            words[k] = bits(kind, words[k])
        return words


def bits(kind: str, value: float) -> int:
    """A parameter as a whole number."""
    if kind in FLOATS:
        packed, read = FLOATS[kind]
        whole: int = struct.unpack(read, struct.pack(packed, value))[0]
        return whole
    return int(value) % (1 << 64)


class LaunchWords:
    """The words of launches that are made one after the other by one call of machine code.
    `varying`: of each parameter that a call tells, which of its words it is, and what is added."""

    def __init__(self, prepared: Sequence[Prepared],
                 varying: Sequence[Sequence[tuple[int, int]]]) -> None:
        self.prepared = list(prepared)
        words: list[int] = []
        for one, pairs in zip(prepared, varying, strict=True):
            words += [one.address, len(pairs), *(w for pair in pairs for w in pair)]
        self.words = np.array([*words, 0], np.int64)
        self.address = self.words.ctypes.data


@functools.lru_cache(None)
def all_launcher() -> Callable[..., int] | None:
    """`launch_all(words, stream, *values)` for the words of a sequence; None where machine code
    cannot be called."""
    if not native.enabled():
        return None
    made: Callable[..., int] = native.function(
        native.image("cuda/launch", lambda: TEXT, ["launch", "launch_all"])["launch_all"],
        "launch_all")
    return made


@functools.lru_cache(None)
def launcher() -> Callable[..., int]:
    """`launch(words, stream, *values)`, which gives the driver's status."""
    if not native.enabled():
        return _by_ctypes
    made: Callable[..., int] = native.function(
        native.image("cuda/launch", lambda: TEXT, ["launch", "launch_all"])["launch"], "launch")
    return made


def _by_ctypes(address: int, stream: int, *values: int) -> int:
    """Launch a kernel where machine code cannot be called; Python's lock is held meanwhile."""
    word, number = C.c_uint64, C.c_uint
    words = (word * (HEAD + len(values))).from_address(address)
    for k, value in enumerate(values):
        word.from_address(words[HEAD + k]).value = value
    C.PYFUNCTYPE(C.c_int, word)(words[ACTIVATE])(words[CONTEXT])
    launch = C.PYFUNCTYPE(C.c_int, word, *[number] * 7, word, word, word)(words[LAUNCH])
    status: int = launch(words[FUNCTION], words[X], words[Y], words[Z], words[THREADS], 1, 1,
                         words[SHARED], stream, words[PARAMETERS], 0)
    return status
