"""The log of calls that machine code makes while a profiler listens: its memory, and how Python
reads it (`passes/lower_llvm/calls/op_log.py` writes it)."""
import ctypes as C
import sys
import threading
import time
from types import CodeType

import numpy as np

from ..cpu import repeated_calls
from .stacks import is_users

L = repeated_calls.L
# what `time.perf_counter_ns` reads: on a Mac it leaves out what the machine sleeps
CLOCK = getattr(time, "CLOCK_UPTIME_RAW", getattr(time, "CLOCK_MONOTONIC", 0))
# words of memory that are taken at a time, for ten thousands of entries: the system gives pages
# as they are written to
CHUNK = 1 << 20


class NativeLog:
    """Entries of one profiler. `detailed`: operands and results are noted, too; `frames` notes
    where the user's code is, if that is more than the innermost line."""

    def __init__(self, detailed, frames):
        self.things = {}         # objects by their addresses
        self.answers = []        # what Python was asked for
        self.frames, self.chunks, self.lock = frames, [], threading.RLock()
        self.table = np.zeros(2 * L.LOG_SLOTS, np.int64)
        self.words = (C.c_int64 * len(L.LOG))()
        self.address = C.addressof(self.words)
        # machine code borrows these
        self.called = dict(more=self.more, seen=self.seen)
        if frames.all:
            self.called["where"] = self.where
        if detailed:
            self.called["describe"] = self.describe
        for name, function in self.called.items():
            self.words[L.LOG[name] // 8] = id(function)
        self.words[L.LOG["table"] // 8] = self.table.ctypes.data
        self.words[L.LOG["left"] // 8] = L.LOG_SLOTS // 2
        self.more()

    # ---- what machine code calls: each returns a number ------------------------------------------
    def more(self, _=None):
        """Memory for more entries. The end of one that is full is a 0."""
        with self.lock:
            chunk = np.zeros(CHUNK, np.int64)
            self.chunks.append(chunk)
            begin = chunk.ctypes.data
            # at once: no other thread may find the beginning of one chunk and the end of another
            ends = np.array([begin, begin + chunk.nbytes], np.int64)
            memoryview(self.words).cast("B")[:16] = ends.tobytes()
        return 0

    def seen(self, thing):
        """Keep an object. Is it user code?"""
        self.things[id(thing)] = thing
        return int(type(thing) is CodeType and is_users(thing))

    def where(self, _):
        """The number of what is noted of the frames."""
        return self.number_of(self.frames.everything(sys._getframe(1)))

    def describe(self, array):
        """The number of a description of an array."""
        return self.number_of((array.shape, array.dtype))

    def number_of(self, what):
        """The number under which something is found again."""
        with self.lock:
            self.answers.append(what)
            return len(self.answers) - 1

    # ---- reading ---------------------------------------------------------------------------------
    def take(self):
        """The fields of all entries so far, one after the other, as `Listener` has them. They are
        not in the log any more."""
        with self.lock:
            full, self.chunks = self.chunks, []
            self.more()
        fields: list = []
        for chunk in full:
            words = memoryview(chunk)
            at = 0
            while at < CHUNK and words[at]:
                end = at + words[at] // 8
                fields += self.event(words[at:end].tolist())
                at = end
        return fields

    def event(self, entry):
        """The fields of an entry."""
        _, op, writer, start, end, thread, code, place, nin, nout = entry[:len(L.E)]
        what = self.things.get(writer or op)
        if what is None:                     # it began while another profiler listened
            return ()
        if self.frames.all:
            code, place = self.answers[place]
        else:
            code, place = (self.things[code], place) if code else (None, None)
        detail = None
        if "describe" in self.called:
            detail = self.detail(self.things[op], entry[len(L.E):], nin, nout)
        return "op", what, start, end, thread, code, place, detail

    def detail(self, op, words, nin, nout):
        """What an op was given and made, as `Listener.detail` says it."""
        size = L.LOG_ARRAY // 8
        found = [self.array(words[i * size:(i + 1) * size]) for i in range(nin + nout)]
        made = found[nin:]
        bytes_made = 0 if op.is_view else sum(
            int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype in made)
        return found[:nin], made, bytes_made

    def array(self, words):
        """(shape, dtype) of an array; the type of anything else."""
        thing, nd, *sizes = words
        if nd == L.ELSEWHERE:
            return self.answers[thing]
        kept = self.things[thing]
        return kept if nd == L.NO_ARRAY else (tuple(sizes[:nd]), kept)
