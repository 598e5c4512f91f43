"""Code that a recorded run did not come to, tried on the side.

It runs on the real operands, and is stopped before it does anything but compute.
"""
import sys
import warnings

from whet import dtypes
from whet.autograd import modes
from whet.cpu import pool

from ..guards.origin import ours
from ..guards.outside_state import world_of
from ..guards.visitors import Unwatchable
from ..report.reasons import Calls
from .purity import Watch, resume

# what code that is tried may call of ours: functions of these files, but of modules only their calls, and nothing of these names
HARMLESS = ("<whet>", "/ops/", "/tensor.py", "/tensor_base.py", "/nn/", "/autograd/modes.py")
OF_MODULES = frozenset("__call__ __getattr__ __getitem__ __iter__ __len__ __contains__ forward items keys values".split())
HARMFUL = frozenset("requires_grad_ detach_ retain_grad register_hook register_post_accumulate_grad_hook backward set_ share_memory_ "
                    "__setstate__".split())


class No(Exception):
    """What was noted cannot be a node."""


class Stop(BaseException):
    """Code that is tried was about to do more than compute."""


class unseen:
    """Inside, nobody records or watches."""

    def __enter__(self):
        self.profile, self.observers = sys.getprofile(), modes.state.observers
        sys.setprofile(None)
        modes.state.observers = ()
        modes.refresh()

    def __exit__(self, *exc):
        modes.state.observers = self.observers
        modes.refresh()
        resume(self.profile)


class Before:
    """What some functions reach, as it is before they run (`why`: why that cannot be said)."""

    def __init__(self, *objects):
        self.world, self.why = None, None
        try:
            self.world = world_of(objects[0], objects[1:])
        except Unwatchable as e:
            self.why = str(e)
        self.settings = modes.state.flags, dtypes.get_default_dtype(), pool._threads
        self.looks = [] if self.world is None else [(t, t._array, t._grad, t._rg, t._node) for t in self.world.tensors.values()]

    def compare(self):
        """Raise No where something is another now: the other branch, or another number of rounds, would not have done it."""
        if self.world is None:
            raise No(self.why)
        if any(t._array is not a or t._grad is not g or t._rg != rg or t._node is not node for t, a, g, rg, node in self.looks):
            raise No("it changes what a tensor is")
        if self.world.changes():
            raise No("it changes Python's state")
        if (modes.state.flags, dtypes.get_default_dtype(), pool._threads) != self.settings:
            raise No("it changes a setting")

    def restore(self):
        """Put all back, where it can be; what was another, in words."""
        found = []
        for t, a, g, rg, node in self.looks:
            if t._array is not a or t._grad is not g or t._rg != rg or t._node is not node:
                t._array, t._grad, t._rg, t._node = a, g, rg, node
                found.append("it changes what a tensor is")
        if self.world.restore():
            found.append("it changes Python's state")
        if (modes.state.flags, dtypes.get_default_dtype(), pool._threads) != self.settings:
            modes.set_flags(self.settings[0])
            dtypes.set_default_dtype(self.settings[1])
            pool.set_num_threads(self.settings[2])
            found.append("it changes a setting")
        return found


class Careful(Watch):
    """A watch that stops what it would refuse, before it happens."""

    def called(self, frame):
        code, by = frame.f_code, frame.f_back.f_code
        if ours(code) and (by in self.codes or by is run.__code__) and (
                code.co_name in HARMFUL or not any(x in code.co_filename for x in HARMLESS)
                or "/nn/" in code.co_filename and "self" in code.co_varnames[:1] and code.co_name not in OF_MODULES):
            self.refuse(Calls(code.co_name))
        super().called(frame)


def run(fn, operands):
    """Call it from a place that `Careful` knows."""
    return fn(*operands)


def attempt(rec, fn, operands):
    """What a function gives that eager does not come to, and the nodes of it. It runs on the real operands, and is stopped before it writes
    to what was there before, draws random numbers, starts a backward or calls what a recording may not call; Python's state is put back."""
    before, stopped = Before(fn, operands), []
    if before.world is None:
        raise No(before.why)

    def stop(reason):
        stopped.append(str(reason))
        raise Stop(reason)
    at = len(rec.nodes)
    around = rec.trying, rec.since           # (code that is tried may come to another cond)
    rec.trying, rec.since = stop, len(rec.arrays)
    try:
        with warnings.catch_warnings(record=True) as warned, Careful(before.world.codes, stop):
            warnings.simplefilter("always")
            out = run(fn, operands)
    except (Stop, Exception) as e:
        stopped.append(str(e))
    finally:
        rec.trying, rec.since = around
        nodes = rec.nodes[at:]
        del rec.nodes[at:]
    stopped += before.restore()
    if stopped or warned:
        raise No(stopped[0] if stopped else "it warns")
    return out, nodes
