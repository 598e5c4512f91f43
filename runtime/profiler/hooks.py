"""Listening to what runs, and leaving no trace of it.

Machine code writes the calls that it makes to a log of its own (`native_log.py`), as long as the
mode LISTENED is set for the native entries of every thread. `Listener.start` sets it. Other calls
(those without a recipe, those that a trace records, launches of optimizers) are timed where Python
makes them: the functions that make them are replaced by functions that read the clock. So nothing
is checked while no profiler runs.
"""
import threading
import time
from typing import Any

from .. import profiler_listeners, tensor_base
from ..autograd import modes
from ..cpu import native, repeated_calls
from ..ops import changes_in_place, pointwise_family, registry
from .native_log import CLOCK, NativeLog
from .stacks import Frames

clock = time.perf_counter_ns
thread = threading.get_ident


class _Busy(threading.local):
    """Is an op being timed on this thread, whose parts belong to it? Are launches parts of a
    recording?"""
    op = launches = False


# called if the native entries decline a call; machine code holds a reference to it
_now = repeated_calls.first


def _declined(op, inputs, attrs):
    return _now(op, inputs, attrs)


def _declines(function):
    """Let `function` be called where the native entries decline a call, in the place of `first`;
    returns what undoes it."""
    global _now
    _now = function
    repeated_calls.declined(_declined)

    def undo():
        global _now
        repeated_calls.declined(repeated_calls.first)
        _now = repeated_calls.first
    return undo


class Exchanged:
    """Functions of modules that others stand in for, until `undo`."""

    def __init__(self, owner, name, other):
        self.owner, self.name, self.before = owner, name, getattr(owner, name)
        setattr(owner, name, other)

    def __call__(self):
        setattr(self.owner, self.name, self.before)


class Listener:
    """Notes what runs, on all threads. `log` gets eight fields for each event: kind, name or op,
    start, end, thread, where (two: see `Frames`), detail. They lie in it one after the other: a
    tuple each would be one more thing for the garbage collector to look through."""

    def __init__(self, detailed=False, stack=False, modules=False, kernels=True):
        self.detailed, self.kernels = detailed, kernels
        self.frames = Frames(stack, modules)
        self.log: list = []
        self.busy, self.undo = _Busy(), []
        self.native: Any = None
        if tensor_base.native_apply is not None:
            self.native = NativeLog(detailed, self.frames)

    # ---- beginning and ending --------------------------------------------------------------------
    def start(self):
        """Listen from now on."""
        profiler_listeners.begin(self)
        self.undo += [
            Exchanged(registry, "execute", self.timed_execute(registry.execute)),
            Exchanged(pointwise_family, "inplace_now",
                      self.timed_write(pointwise_family.inplace_now)),
            Exchanged(changes_in_place, "reshape_now",
                      self.timed_write(changes_in_place.reshape_now)),
            Exchanged(native, "launch", self.timed_launch(native.launch))]
        if self.native is not None:
            self.undo += [_declines(self.timed_first(repeated_calls.first)), self.noted_natively()]

    def stop(self):
        """Leave everything as it was."""
        while self.undo:
            self.undo.pop()()
        profiler_listeners.end()
        self.gather()

    def gather(self):
        """Put into `log` what machine code has noted by now."""
        if self.native is not None:
            self.log += self.native.take()

    def noted_natively(self):
        """Let machine code note its calls, on every thread."""
        native_flags, busy = tensor_base.set_native_flags, self.busy
        repeated_calls.log_to(self.native.address, CLOCK)

        def set_native_flags(flags):
            return native_flags(flags if busy.op else flags | modes.LISTENED)
        exchanged = Exchanged(modes, "set_native_flags", set_native_flags)
        modes.set_flags(modes.state.flags)

        def undo():
            exchanged()
            modes.set_flags(modes.state.flags)
            repeated_calls.log_to(0, 0)
        return undo

    # ---- ops -------------------------------------------------------------------------------------
    def timed(self, call, *args):
        """(What a call of an op gives, when it began, when it ended). What it calls itself is a
        part of it, and not noted."""
        busy, state = self.busy, modes.state
        busy.op = True
        try:
            modes.set_native_flags(state.flags)
            start = clock()
            out = call(*args)
            return out, start, clock()
        finally:
            busy.op = False
            modes.set_native_flags(state.flags)

    def timed_first(self, first):
        """A call that the native entries have declined."""
        state, busy, special = modes.state, self.busy, modes.SPECIAL

        def timed(op, inputs, attrs):
            if busy.op or state.flags & special:
                return first(op, inputs, attrs)
            out, start, end = self.timed(first, op, inputs, attrs)
            self.note(op, start, end, inputs, out)
            return out
        return timed

    def timed_execute(self, execute):
        """An op that Python runs, because a trace or a mode sees it."""
        busy = self.busy

        def timed(op, inputs, attrs):
            if busy.op:
                return execute(op, inputs, attrs)
            out, start, end = self.timed(execute, op, inputs, attrs)
            self.note(op, start, end, inputs, out)
            return out
        return timed

    def timed_write(self, write):
        """An op in place."""
        busy = self.busy

        def timed(op, t, *args):
            if busy.op:
                return write(op, t, *args)
            out, start, end = self.timed(write, op, t, *args)
            inputs = (t, *args[0]) if args and type(args[0]) is tuple else (t,)
            self.note(op, start, end, inputs, None, op.name + "_")
            return out
        return timed

    def timed_launch(self, launch):
        """A kernel that runs for no op: of an optimizer's step, say."""
        busy, log, frames = self.busy, self.log, self.frames

        def timed(address, *args):
            if busy.op or busy.launches:
                return launch(address, *args)
            start = clock()
            launch(address, *args)
            end = clock()
            log.extend(("kernel", address, start, end, thread(), *frames.user(), None))
        return timed

    def note(self, op, start, end, inputs, out, name=None):
        """One op ran. Tensors are not kept: what they hold would live longer."""
        detail = self.detail(op, inputs, out) if self.detailed else None
        code, at = self.frames.user()
        self.log.extend(("op", name or op, start, end, thread(), code, at, detail))

    def detail(self, op, inputs, out):
        """(shape and type of the operands, or the class of a number; the same of the results; the
        bytes that were made for these)."""
        made = [t._array for t in (out if type(out) is tuple else (out,)) if hasattr(t, "_array")]
        arrays = [getattr(x, "_array", x) for x in inputs]
        return ([(a.shape, a.dtype) if hasattr(a, "shape") else type(a) for a in arrays],
                [(a.shape, a.dtype) for a in made],
                0 if op.is_view else sum(a.nbytes for a in made))

    # ---- for other rooms -------------------------------------------------------------------------
    def span(self, what, name, start, end, line=None):
        """Something else took from `start` to `end`, on this thread."""
        code, at = (line, None) if line else self.frames.user()
        self.log.extend((what, name, start, end, thread(), code, at, None))

    def as_without(self, call, *args):
        """`call(*args)` with the native entries as they are while no profiler runs."""
        if tensor_base.native_apply is None:
            return call(*args)
        flags = modes.state.flags
        tensor_base.set_native_flags(flags)
        try:
            return call(*args)
        finally:
            modes.set_flags(modes.state.flags)


def kernel_name(address):
    """The name of a kernel: what it is the machine code of, without its layout and types."""
    key = native.by_address().get(address)
    return f"kernel {address:#x}" if key is None else key.partition(":")[0]
