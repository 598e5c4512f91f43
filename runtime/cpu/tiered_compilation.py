"""Tiered compilation: a kernel that a call waits for is compiled quickly first, and well later.

A recorded call asks for kernels while its caller waits for the result. Kernels with little work are
compiled "in haste": without optimisation, in a quarter of the time. The caller gets the address of
a trampoline, which is one jump to the kernel. When no new kernel has come for a while, or before
times are compared, each kernel is compiled well and its trampoline leads to the new code. Both
compute the same bits: generators write every operation and its order, and LLVM may change neither.

A background thread compiles well. It costs a busy process next to nothing: a module of several
kernels is written under Python's lock in a few milliseconds, and LLVM runs without the lock. Only a
fork waits for it. Kernels that were ordered, but that no call waits for, come first. On a machine
with one processor the thread takes a tenth of it.
"""
import atexit
import contextlib
import ctypes as C
import os
import struct
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from ..ir.symbolic_size import value
from . import mapped_code

# elements (of a product: multiply-adds by the dozen) that take too little time to wait for better
# code
LIGHT = 1 << 15
# seconds without a new kernel until those there are compiled well, and between two modules of them
QUIET, BREATH = 0.15, 0.02
# kernels that are compiled together: a caller that needs a new one waits that long
TOGETHER = 4
REST = 9                                 # times what it took, where there is one processor
PAGE = 4096

# native's lock; what compiles some kernels well; and what loads and keeps the code, with the lock
# held, and gives their addresses: set by native
lock = translate = keep = None
_local = threading.local()


class PutOff(NamedTuple):
    """A kernel that was compiled in haste, and is to be compiled well."""
    emit: Callable                       # `emit(module, symbol)` writes it into a module
    address: int                         # of its trampoline
    place: C.c_uint64                    # holds the address that it leads to


_pending: dict[str, PutOff] = {}         # by key
_ordered: dict[str, Callable] = {}       # key -> what writes it, of kernels that are ordered
_behind: dict[int, str] = {}             # address of a trampoline -> the key of what is behind it
_free: list[int] = []                    # trampolines that are free
_form = "usual"                          # of new kernels: see `form`


class _Background:
    """The compiling in the background."""

    def __init__(self):
        self.last = 0.0                  # when the last new kernel came
        self.is_over = False             # does the process end?
        self.begin()

    def begin(self):
        """No thread compiles in this process yet."""
        self.thread = None
        self.bell = threading.Event()            # something was ordered
        self.translating = threading.Lock()      # held while it is in LLVM


_background = _Background()


class recording:
    """Inside, this thread's light kernels may be compiled in haste; or none, unless `on`."""
    __slots__ = ("on", "before")

    def __init__(self, on=True):
        self.on = on and mapped_code.SUPPORTED

    def __enter__(self):
        # An interrupt may have left some `work` without its end.
        _local.light = False
        self.before, _local.on = getattr(_local, "on", False), self.on

    def __exit__(self, *exc):
        _local.on = self.before


class numbers:
    """Inside, what is computed of single numbers needs no kernels: see `runs_reference`."""
    __slots__ = ("before",)

    def __enter__(self):
        self.before, _local.numbers = getattr(_local, "numbers", False), True

    def __exit__(self, *exc):
        _local.numbers = self.before


class work:
    """Inside, the kernels asked for are for so many elements."""
    __slots__ = ("elements", "before")

    def __init__(self, elements):
        self.elements = elements

    def __enter__(self):
        self.before, _local.light = getattr(_local, "light", False), value(self.elements) <= LIGHT

    def __exit__(self, *exc):
        _local.light = self.before


def wanted():
    """Is a kernel that this thread asks for now one to be compiled in haste?"""
    if _form != "usual":
        return _form == "brief" and mapped_code.SUPPORTED
    return getattr(_local, "light", False) and getattr(_local, "on", False)


def runs_reference(elements):
    """May this thread run so few elements by NumPy, rather than compile a kernel for them? A run
    that is recorded computes Python numbers by ops, each of which is a kernel of its own."""
    return elements == 1 and _form == "usual" and getattr(_local, "numbers", False)


class form:
    """Inside, all kernels that are new are "brief" until `compile_well` is called, or all are
    "full", or it is as "usual": for tests."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        global _form
        self.before, _form = _form, self.name

    def __exit__(self, *exc):
        global _form
        _form = self.before


def trampoline(target):
    """A trampoline that leads to an address: its own, and the place that holds where it leads."""
    if not _free:
        at = mapped_code.reserve(2 * PAGE)  # jumps, and behind them the addresses that they go to
        # jmp *4090(%rip)
        jump = b"\xff\x25" + struct.pack("<i", PAGE - 6) + b"\xcc\xcc"
        C.memmove(at, jump * (PAGE // 8), PAGE)
        mapped_code.executable(at, PAGE)
        _free.extend(reversed(range(at, at + PAGE, 8)))
    address = _free.pop()
    place = C.c_uint64.from_address(address + PAGE)
    place.value = target
    return address, place


def put_off(key, emit, address, place):
    """Have the kernel behind a trampoline compiled well later; `emit(module, symbol)` writes it."""
    _pending[key], _behind[address] = PutOff(emit, address, place), key
    _background.last = time.monotonic()
    _wake()


def order(emits):
    """Have kernels compiled that are going to be asked for: key -> what writes it."""
    if _form == "usual":
        _ordered.update(emits)
        _background.bell.set()
        _wake()


def _wake():
    if _background.thread is None and not _background.is_over:
        _background.thread = t = threading.Thread(target=_when_quiet, name="whet-compile",
                                                  daemon=True)
        try:
            t.start()
        except BaseException as e:           # the next request starts another
            _background.thread = None
            # RuntimeError: the system has no thread left. Compiling waits for the next request.
            if not isinstance(e, RuntimeError):
                raise


def thread():
    """The thread that compiles in the background, by its number; None where there is none now."""
    t = _background.thread
    return None if t is None else t.ident


def _when_quiet():
    try:
        _work_off()
    except BaseException:
        _background.thread = None        # whoever asks next wakes another
        raise


def _work_off():
    pause = BREATH if _ordered else QUIET
    while True:
        _background.bell.wait(pause)
        _background.bell.clear()
        if not _ordered and (time.monotonic() < _background.last + QUIET or _form == "brief"):
            pause = max(QUIET, BREATH)
            continue
        start = time.thread_time()
        with translating():
            with lock():
                if not (_ordered or _pending) or _background.is_over:
                    _background.thread = None
                    return
                emits = _next_emits()
            try:
                entries = _translated(emits)
            except BaseException:
                for key in emits:            # not again and again
                    _pending.pop(key, None)
                raise
            with lock():
                for entry in entries:
                    _open(entry)
        rest = 0 if _processors() > 1 else REST * (time.thread_time() - start)
        pause = max(min(BREATH, QUIET), rest)


def _next_emits():
    """The kernels that are compiled next, by key: what came last is what is likely to be in use."""
    if _ordered:
        return {key: _ordered.pop(key) for key in list(_ordered)[-TOGETHER:]}
    return {key: _pending[key].emit for key in list(_pending)[-TOGETHER:]}


def translating():
    """The lock that the background holds while it is in LLVM, and the process may not fork."""
    return _background.translating


def _translated(emits):
    """The code of kernels, without those that have no compiled form: asking for one raises an
    error."""
    from ..passes.lower_llvm.scalar import Unsupported
    try:
        return [translate(emits)]
    except Unsupported:
        entries = []
        for key, emit in emits.items():
            with contextlib.suppress(Unsupported):
                entries.append(translate({key: emit}))
        return entries


def _open(entry):
    """Keep code, and have the trampolines of its kernels lead there."""
    for key, target in keep(entry).items():
        if key in _pending:
            one = _pending.pop(key)
            one.place.value = target
            _behind.pop(one.address, None)


def _processors():
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def among(keys):
    """Which of these keys of kernels wait to be compiled well."""
    if _pending:
        _wake()                          # a child of a fork has no thread yet
    return [k for k in keys if k in _pending]


def behind(address):
    """The key of the kernel at an address, if it is put off; or None."""
    return _behind.get(address)


def compile_well(keys=None):
    """Compile what was put off, or of that the kernels of some keys, well now."""
    if _pending:
        with lock():
            waiting = list(_pending) if keys is None else [k for k in keys if k in _pending]
            for i in range(0, len(waiting), TOGETHER):
                _open(translate({k: _pending[k].emit for k in waiting[i:i + TOGETHER]}))


def _forked():
    _background.begin()                  # what there is is the parent's


def _end_background():
    with translating(), lock():              # no thread is in LLVM when the process goes down
        _background.is_over = True


atexit.register(_end_background)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
