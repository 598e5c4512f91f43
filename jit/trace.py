"""`jit.trace`: a function that records a real run of itself and afterwards replays it.

    key of the arguments -> recordings, each with what it read from outside (a World) and a Program

A call that no recording fits is an eager one, and is recorded. Whatever cannot be recorded runs eagerly, with one warning that says why.
"""
import collections
import copy
import functools
import gc
import math
import os
import sys
import threading
import types
import warnings
from contextlib import AbstractContextManager, nullcontext
from operator import is_

import numpy as np
from whet import dtypes
from whet.autograd import modes
from whet.autograd.node import OutputOf, edge_of, next_number
from whet.cpu import haste, memory, pool
from whet.ir.graph import Type
from whet.ir.spans import address, span
from whet.passes.pipeline import REWRITES
from whet.tensor_base import Base

from .capture.numpy_arrays import Array, real_of
from .capture.purity import Watch
from .capture.recorder import Late, Recorder, Refused, Wrong, escaped
from .capture.stand_ins import Outward, real
from .capture.varying_numbers import NUMBERS, Number, reclaim, settle, tensor_behind, tensor_of, varies
from .effects.python_state import CONTENTS, GROWING, SETTABLE, Swapped, found, several
from .effects.result_recipes import Results
from .gradient.backward import Backward, near
from .gradient.eager_graph import inside, leaves_of, saved_by
from .guards import native_entry, sizes, table_index
from .guards.native_entry import MISSED
from .guards.outside_state import ABSENT, TRACES, Unwatchable, World, ours
from .guards.signature import Exchanged, Given, Run, counted
from .policy import timing
from .policy.account import LOOKS, TIMED, Policy
from .program import builder
from .program.program import Miss
from .replay.recording import Recording
from .report import explain, page, summary, verbosity
from .report.reasons import Changes, Drifts, Keeps, Large, Memory, OfNumPy, OtherWays, Prints, PythonBackward, Rewrites
from .verify import recheck
from .verify.same_bits import laid, same_bits

UNFIT = 20                       # calls that a recording did not fit and none that it did: it is dropped
TRIES = 3                        # recordings of one key that may fail before it is given up
PASSING = 0.25                   # (those count less that fail for what is so at some calls only)
PATHS = 8                        # recordings of one key,
WORTH = 50                       # and calls of each, on average, that make others in the place of the first worth while
VERIFY = "sample", "first", "always", "off"      # see `trace`
SEEN = 4
ALIGNED = 64                     # bytes: where memory begins at multiples of these
UNUSED = 1 << 25                 # bytes of the allocator that may lie unused while a program is compared: so many cost a few ms to get again


VARIABLES = getattr(os.environ, "_data", None)           # (who sets one tells the system, too)


class _Kept:
    """Inside, Python looks for no garbage: what is made there stays."""
    __slots__ = ("collecting",)

    def __enter__(self):
        self.collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *exc):
        if self.collecting:
            gc.enable()


class _Roomy(AbstractContextManager):
    """Inside, a program is made: where there is too little memory for that, the call was an eager one."""
    __slots__ = ()

    def __exit__(self, kind, error, traceback):
        if kind is not None and issubclass(kind, MemoryError):
            raise Refused(Large(str(error) or "there is too little memory to make a program of it")) from None


class _Switch(threading.local):
    off = 0                      # how often tracing is turned off on this thread


_switch = _Switch()
_OFF = os.environ.get("WHET_JIT") == "0"


class TraceWarning(UserWarning):
    """A traced function runs eagerly, and why."""


class TraceError(RuntimeError):
    """The same with `strict=True`."""


class disable:
    """Inside, traced functions run eagerly: `with jit.disable():`."""

    def __enter__(self):
        _switch.off += 1
        native_entry.switch(1)

    def __exit__(self, *exc):
        _switch.off -= 1
        native_entry.switch(-1)


# ---- arguments and results as leaves -----------------------------------------------------------------------------------


def _is_module(fn):
    found = sys.modules.get("whet.nn.module")
    return found is not None and isinstance(fn, found.Module)


class Outcome:
    """What became of an attempt to record a call of a kind: a field of the ledger, the seconds that the function itself ran, whether there was a
    recording of other sizes to make this one like, and the recording."""
    __slots__ = ("kind", "what", "run", "like", "recording")

    def __init__(self, kind):
        self.kind, self.what, self.run, self.like, self.recording = kind, "refused", math.inf, False, None


class Traced(native_entry.Entry):
    """A function that is recorded and replayed. See `trace`. (Its other attributes are the function's own.)"""
    __slots__ = ("__dict__", "__weakref__", "_ready")    # _ready: tables of recordings, for machine code to try in this order
    _traces = TRACES

    def __init__(self, fn, strict=False, verify=VERIFY[0], rewrites=(), dynamic=None):
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.strict, self.verify, self.rewrites, self.dynamic = fn, strict, verify, tuple(rewrites), dynamic
        self._free = sizes.declared(dynamic, fn)      # dimensions that may differ
        self._models = {}                     # key without sizes -> recordings that others are made like
        self._watched = set()                 # keys of calls that went another way than the recording of other sizes
        self._alive = {}                      # key -> objects whose ids it holds
        self._policy = Policy()               # which calls are recorded, and what all of them took
        self._outcome = None                  # of the attempt to record that is going on
        self._table, self._tries, self._refused, self._dropped = {}, collections.Counter(), {}, collections.Counter()
        self._ready, self._armed = None, []   # the recordings that are replayed from tables, the latest first
        self._index = None                    # where machine code finds tables, if there are many
        self._laying = threading.RLock()      # held while these are changed
        self._loose, self._lines = set(), set()        # places, and lines with `item()`, whose numbers were seen to vary
        self._seen = []                       # the numbers among the arguments of the last kinds of calls
        self._solid = False                   # somebody would notice what stands for a NumPy array: they are known by identity
        self._exact = False                   # somebody would notice a Number: no number is taken as it comes
        self._varying, self._fixed = set(), set()      # arguments whose numbers vary; what Python computes with and must not vary
        self._drift = None                    # what a call did that its recording does not: nothing is replayed any more
        self._why, self._warned, self._lock = None, False, threading.Lock()

    # the trace of a module is one: it may be a part of another
    __class__ = property(lambda self: type(self.fn) if _is_module(self.fn) else Traced)

    def __getattr__(self, name):
        """What the function has (a traced module its parameters), so has its trace."""
        return getattr(self.__dict__["fn"], name)

    def __setattr__(self, name, value):
        own = self.__dict__
        if "_lock" in own and name not in own and name != "_ready":
            setattr(self.fn, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        delattr(self.fn, name)

    def __copy__(self):
        return Traced(self.fn, *self._settings())

    def __deepcopy__(self, memo):
        return Traced(copy.deepcopy(self.fn, memo), *self._settings())

    def _settings(self):
        """What `trace` was given beside the function."""
        return self.strict, self.verify, self.rewrites, self.dynamic

    def __reduce__(self):
        """By its name where that leads here, as functions are pickled; otherwise what it traces."""
        found = sys.modules.get(getattr(self.fn, "__module__", None))
        for name in getattr(self.fn, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        return self.fn.__qualname__ if found is self else (Traced, (self.fn, *self._settings()))

    def _call(self, args, kwargs):
        """A call that no table fits."""
        kwargs = kwargs or {}
        state = modes.state
        if state.flags & modes.SPECIAL or _switch.off or _OFF:
            return self.fn(*args, **kwargs)
        if self._drift is not None:
            if self.strict:
                raise TraceError(f"{self._name()} cannot be compiled: {self._drift.full()}")
            self._policy.count("refused")
            return self.fn(*args, **kwargs)
        policy, begun = self._policy, timing.clock()
        if policy.resting:
            return self._unasked(args, kwargs)
        try:
            key, given = self._key(args, kwargs)
            kind = policy.kind(key, given.others)
        except TypeError:                    # a key that cannot be hashed
            policy.count("refused")
            return self.fn(*args, **kwargs)
        out = self._by_recording(kind, key, args, kwargs, given, begun)
        if out is not MISSED:
            policy.pay(kind, timing.clock() - begun)
            return out
        why = self._against(kind, key, args, kwargs, given)
        if why is not None:
            start = timing.clock()
            out = self.fn(*args, **kwargs)
            now = timing.clock()
            policy.ran(kind, now - start, now - begun, why)
            if policy.resting:
                with self._laying:
                    self._lay_tables()
            if not policy.idle % LOOKS:
                self._doubt()
            return out
        try:
            if self._learn(key, args, kwargs):
                key, given = self._key(args, kwargs)
                kind = policy.kind(key, given.others)
            self._outcome = Outcome(kind)
            out = self._record(key, given, args, kwargs)
            made, self._outcome = self._outcome, None
            policy.recorded(kind, timing.clock() - begun, made.run, made.like, made.what)
            if made.recording is not None:
                self._take_in(made.recording)
            return out
        finally:
            self._lock.release()

    def _unasked(self, args, kwargs):
        """An eager call of which nobody asks what kind it is."""
        policy = self._policy
        if policy.bypass is not None:        # (machine code has made the others, up to this one)
            policy.bypassed()
            policy.bypass, policy.resting = None, 0
            with self._laying:
                self._lay_tables()
        policy.rested(1)
        self._doubt()
        return self.fn(*args, **kwargs)

    def _doubt(self):
        """Warn, once, if tracing has turned out not to pay."""
        reason = None if self._warned else self._policy.doubts()
        if reason is not None:
            self._warned = True
            warnings.warn(f"{self._name()} is no faster traced: {reason.full()}", TraceWarning, stacklevel=_depth())

    def _by_recording(self, kind, key, args, kwargs, given, begun):
        """The result by one of the recordings of calls like this one, or MISSED."""
        paths = self._table.get(key, ())
        for r in list(paths):
            if not r.slow or r.calls >= r.trial.at:
                out = self._trial(r, kind, key, args, kwargs, given, begun)
                if out is not MISSED:
                    r.entered += 1
                    return out
                self._policy.count("missed")
                r.misses += 1
                if r.misses >= UNFIT and not r.calls:
                    self._drop(r)            # what it was made for does not come again
        return MISSED

    def _against(self, kind, key, args, kwargs, given):
        """Why a call that no recording fits is eager, as a field of the ledger; None where it is to be recorded: then the lock is held."""
        paths = self._table.get(key, ())
        slow = next((r for r in paths if r.slow), None)
        if slow is not None:
            slow.counted += 1
            slow.entered += 1
            return "slower"
        if key in self._refused:
            return "refused"
        why = self._policy.against(kind, bool(paths), lambda: not paths and self._model(args, kwargs, given)[1] is not None, bool(self._free))
        if why is None and not self._lock.acquire(False):
            return "busy"
        return why

    def _take_in(self, r):
        """A recording is in use from now on; others may have to make room for it."""
        r.size = r.weigh()
        lasting = [m for rs in self._models.values() for m in rs]
        for other in self._policy.room(r.kind, r.size, [r, *lasting], made=True):
            self._drop(other)
            self._policy.count("evicted")
        self._policy.keep(r)
        self._tabled(r)

    def _drop(self, r):
        """A recording goes."""
        with self._laying:
            paths = self._table.get(r.key, [])
            paths[:] = [x for x in paths if x is not r]
            if not paths and r.key not in self._refused:
                for held in (self._table, self._alive, self._tries, self._dropped):
                    held.pop(r.key, None)
                self._watched.discard(r.key)
            self._models = {k: left for k, rs in self._models.items() if (left := [m for m in rs if m is not r])}
            self._policy.drop(r)
            self._armed = [x for x in self._armed if x is not r]
            if r.indexed is not None:
                self._index.drop(*r.indexed)
                r.indexed = None
            self._lay_tables()

    def _key(self, args, kwargs, given=None):
        """What tells calls apart, and what the call was given."""
        given = Given(arrays=not self._solid) if given is None else given
        flatten = given.flatten
        if self._varying:
            def one(place, x):
                if place in self._varying and varies(x):
                    given.numbers[place] = t = tensor_of(x)
                    given.leaves.append(t)
                    return type(x), t._array.dtype
                return flatten(x)
            key = tuple([one(i, x) for i, x in enumerate(args)]), tuple([(k, one(k, v)) for k, v in kwargs.items()])
        else:
            key = tuple([flatten(x) for x in args]), tuple([(k, flatten(v)) for k, v in kwargs.items()]) if kwargs else None
        return (*key, modes.state.flags, dtypes.get_default_dtype(), pool._threads), given

    def _trial(self, r, kind, key, args, kwargs, given, begun):
        """A call by a recording, or an eager one in its place: in rounds both are timed, and whichever is faster goes on; some are recorded
        again."""
        n, round_ = r.calls, r.trial
        if n and r.unsettled and self._policy.affords_kernels(haste.waiting(r.hasty)):
            r.settle()                       # (what is called a third time will be called more often)
        if n >= r.checks.at and not r.slow and not round_.running:
            return self._anew(r, key, args, kwargs, given)
        if n < round_.at or not round_.lock.acquire(False):              # (one thread at a time takes part in a round)
            return self._replay(r, args, kwargs, given)
        try:
            return self._timed(r, kind, n, args, kwargs, given, begun)
        finally:
            round_.lock.release()

    def _timed(self, r, kind, n, args, kwargs, given, begun):
        """A call of a round, which `begun` a while ago. `n`: how many calls of the recording there were before."""
        round_ = r.trial
        eager = round_.eager
        if eager:
            out, took = round_.call(self.fn, args, kwargs)
            r.counted += 1
            self._policy.timed(kind, took)
        else:
            tabled = r.ready is not None
            out, took = self._clocked(r, args, kwargs, given)
            if not tabled:                   # each such replay is asked for by Python
                took = timing.clock() - begun
            if out is MISSED:
                return out
        if not round_.turn and round_.wait(took, n):
            if n:
                r.checks.plan(n + 1, took)
            r.limit()
            self._arm(r, args)
        elif round_.note(eager, took, n + 1):
            r.slow = round_.slow
            if r.checks.at == math.inf:
                r.checks.cost += round_.seconds[1]
                r.checks.plan(n + 1, round_.seconds[0])
            r.limit()
            self._tabled(r)
            self._arm(r, args)
        return out

    def _anew(self, r, key, args, kwargs, given):
        """A call that a recording fits, made eagerly and recorded again: what is recorded must be the same."""
        if not self._lock.acquire(False):
            return self._replay(r, args, kwargs, given)
        start, before = timing.clock(), r.checks.made
        try:
            if not self._serves(r, given):
                return MISSED
            r.checks.made += 1
            r.counted += 1
            self._policy.count("checked")
            out = self._record(key, given, args, kwargs, r)
            r.checks.cost = timing.clock() - start
            return out
        finally:                             # (also where the call raises an error, which says nothing)
            if r.checks.made > before and not r.doubtful:
                r.checks.plan(r.calls, r.trial.seconds[0])
                r.limit()
            self._lock.release()

    @staticmethod
    def _serves(r, given):
        """Does a recording fit a call that was given this?"""
        if not r.lock.acquire(False):
            return False
        try:
            leaves = r.reach(given.leaves)
            if leaves is None or not r.fits(leaves, given.boxes):
                return False
            r.arrays_of(leaves)
            return True
        except Miss:
            return False
        finally:
            r.lock.release()

    def _replay(self, r, args, kwargs, given):
        """The result by a recording, or MISSED."""
        return self._clocked(r, args, kwargs, given)[0]

    def _clocked(self, r, args, kwargs, given):
        """The same, and the seconds that it took. Keeping the account is not among them: machine code keeps none."""
        start = timing.clock()
        if r.ready is not None:
            out = native_entry.enter(r.ready, args, kwargs)
            if out is not MISSED:
                took = timing.clock() - start
                self._policy.replayed(r.kind, took)
                if r.trial.at and r not in self._armed[:1]:
                    self._arm(r, args)
                return out, took
        if not r.lock.acquire(False):        # one call at a time works in a program's memory
            r.counted += 1
            return self.fn(*args, **kwargs), timing.clock() - start
        try:
            out = r.replay(given.leaves, given.boxes)
            renewed = out is not MISSED and r.prepare(args, kwargs, given)
        finally:
            r.lock.release()
        took = timing.clock() - start
        if out is not MISSED:
            r.counted += 1
            self._policy.replayed(r.kind, took)
            if renewed:
                self._tabled(r)
                if r.trial.at:
                    self._arm(r, args)
        return out, took

    def _arm(self, r, args):
        """Have machine code try this recording's table first; where all are slower than eager, let it call the function itself."""
        with self._laying:
            self._armed = [r, *(x for x in self._armed if x is not r)][:PATHS]
            self._lay_tables()
            if native_entry.enter is not None and args and isinstance(args[0], Base) and all(r.slow for r in self._policy.held):
                self._ready = r.bypass(self.fn, args[0])

    def _tabled(self, r):
        """A recording has a new table: from so many on machine code finds them by the arguments."""
        if native_entry.enter is None:
            return
        with self._laying:
            index, aside = self._index, {i for i in self._varying if type(i) is int}
            if index is None or index.aside != aside:
                index = self._index = table_index.Index(aside)
                for other in self._policy.held:
                    if other.indexed is not None:
                        index.put(*other.indexed)
            if r.indexed is not None:
                index.drop(*r.indexed)
            r.indexed = None
            if r.ready is not None and not r.slow:
                r.indexed = r.finger, r.ready
                index.put(*r.indexed)
            self._lay_tables()

    def _lay_tables(self):
        """Have machine code go through the tables that there are now."""
        if self._drift is not None:
            return
        if len(self._policy.held) > PATHS and self._index is not None:
            ready = self._index.ready
        else:
            ready = tuple([x for r in self._armed if r.ready is not None and not r.slow for x in r.ready])
        policy = self._policy
        if policy.resting and native_entry.enter is not None:
            if policy.bypass is None:
                policy.bypass = table_index.bypass_all(self.fn, policy.resting)
            ready = *ready, *policy.bypass
        self._ready = ready or None

    # ---- numbers that vary -------------------------------------------------------------------------------------------
    def _learn(self, key, args, kwargs):
        """Look in what this call differs from those that were recorded: numbers that do are taken as they come from now on. True if some
        of them are arguments."""
        if self._exact:
            return False
        for r in self._table.get(key) or self._policy.held[-1:]:         # a counter counts whatever kind of call comes
            if r.line is not None and r.line not in self._fixed:
                self._lines.add(r.line)
            self._loosen(r.world.changes())
        found = len(self._varying)
        if key not in self._table:
            named = [*enumerate(args), *kwargs.items()]
            for other in self._seen:
                if len(other) == len(named) and all(a == b for (a, _), (b, _) in zip(other, named)):
                    apart = [(k, x, y) for (k, x), (_, y) in zip(other, named) if type(y) in (int, float) and (type(x) is not type(y) or x != y)]
                    if all(type(x) is type(y) for _, x, y in apart):
                        self._varying.update(k for k, x, y in apart if k not in self._fixed)
            self._seen.append([(k, x if type(x) in (int, float) else None) for k, x in named])
            del self._seen[:-SEEN]
        return len(self._varying) > found

    def _loosen(self, changes):
        """Numbers and tensors that were exchanged, and lists that grew, may be any from now on."""
        if self._exact:
            return
        for kind, owner, name, before, now in changes:
            if name is None:
                if kind == "items" and type(owner) in GROWING and now is not None and len(now) > len(before) and all(map(is_, now, before)):
                    self._loose.add((id(owner), None))
            elif kind == "items" and type(owner) is collections.deque and len(owner) == owner.maxlen and (id(owner), None) not in self._fixed:
                self._loose.add((id(owner), None))           # (it is full: what is old falls out)
            elif type(before) is type(now) and (varies(now) or isinstance(now, Base | np.ndarray)) or several(before) and several(now) \
                    and [*map(type, before)] == [*map(type, now)]:
                self._loose.add((id(owner), name))
        self._loose -= self._fixed

    # ---- recording ---------------------------------------------------------------------------------------------------
    def _record(self, key, given, args, kwargs, known=None):
        """Run eagerly and write down what happens: a new recording, or something to compare with the `known` one."""
        leaves, others, numbers = given.leaves, given.others, given.numbers
        start, loose, lines = timing.clock(), *((frozenset(self._loose), frozenset(self._lines)) if known is None else known.told)
        kind, model = self._model(args, kwargs, given) if known is None else (None, None)
        paths = self._table.setdefault(key, [])
        self._alive.setdefault(key, others)   # the key may hold their ids
        if known is None and len(paths) >= PATHS and not self._make_place(key, paths):
            last = paths[0].missed.last
            self._give_up(key, OtherWays(len(paths), last and last.named(self.fn, key)))
            for r in list(paths):
                self._drop(r)
            self._table[key] = []
            return self.fn(*args, **kwargs)
        light = model is not None and model.leads and not (paths or numbers or key in self._watched) and sizes.unwatched(model, leaves, given.boxes)
        loose = model.told[0] if light else loose            # (that is what the model's world was searched with)
        try:
            world = model.world if light else World(self.fn, others, loose, grows=True, numpy=bool(given.arrays))
            if world.exact and not self._exact:
                self._exact, self._varying, self._loose, self._lines = True, set(), set(), set()
                loose = lines = frozenset()
                if numbers or known is not None:         # (its key is another now)
                    return self.fn(*args, **kwargs)
                world = World(self.fn, others, grows=True, numpy=bool(given.arrays))
            if world.solid and not self._solid:
                self._solid = True
                if given.arrays or known is not None:        # (its key is another now)
                    return self.fn(*args, **kwargs)
            if world.entangled(leaves):
                world = World(self.fn, others, grows=True, numpy=bool(given.arrays))
            if known is not None and [s.key for s in world.slots] != [s.key for s in known.world.slots]:
                return self.fn(*args, **kwargs)              # (what lies in some is of another kind now: tensors would have other places)
            slots = [s.fetch(world.tensors, leaves) for s in world.slots]
            leaves = [*leaves, *slots]
            more = [*leaves, *args, *kwargs.values()]
            apart = frozenset(given.arrays or ())
            whole = world.grown(more, apart) if world.begun else World(self.fn, [*others, *more], skipped=apart)
        except Unwatchable as e:
            self._give_up(key, e.reason.named(self.fn, key))
            return self.fn(*args, **kwargs)
        spent = timing.clock() - start
        outcome = self._outcome
        if known is None:
            outcome.what, outcome.like = "failed", model is not None
        run = Run(world, whole, leaves, given.boxes, next_number())
        rec = Recorder(run.tensors, lines, [a for a, *_ in whole.arrays], self._exact)
        if numbers:
            args = [Number(x, numbers[i], rec) if i in numbers else x for i, x in enumerate(args)]
            kwargs = {k: Number(x, numbers[k], rec) if k in numbers else x for k, x in kwargs.items()}
        rec.codes = whole.codes
        exchanged = Exchanged(functools.partial(rec.numpys.stand_in, given=True))
        run.tuples = exchanged.tuples
        if given.arrays:
            args, kwargs = [exchanged(x) for x in args], {k: exchanged(x) for k, x in kwargs.items()}
        watch = Watch(whole.codes, rec.refuse)
        outward = Outward(rec, watch, world, slots)
        swapped = Swapped(world, slots, outward)
        close = functools.partial(self._close, rec, watch, swapped, exchanged)
        undo = [functools.partial(swapped.settle, whole), functools.partial(self._take_back, rec, outward, rec.numpys)]
        try:
            try:
                swapped.enter(rec)
                modes.state.observers += (rec,)
                modes.refresh()
                begun = timing.clock()
                with nullcontext() if light else watch, haste.recording():
                    out = self.fn(*args, **kwargs)
            finally:
                close()
        except BaseException:
            args, kwargs, exchanged = numbers, None, None
            surely(close, *undo)
            raise
        try:
            try:
                if known is None:
                    outcome.run = timing.clock() - begun
                with _Kept(), _Roomy():
                    r = self._finish(run, rec, swapped, out, outward, known, model)
                if known is not None:
                    known.doubtful = False
                if light and not model.led(sizes.same_way(model, r.program)):
                    self._watched.add(key)
                elif known is None and self._regular(world, slots, numbers, rec):
                    r.told, r.checks = (loose, lines), recheck.Checks(self.verify, spent + recheck.NODE * len(rec.nodes))
                    if r.doubtful:
                        r.checks.at = 0
                    r.kind, r.key = outcome.kind, key
                    paths.insert(0, r)
                    self._why = None
                    r.shapes, r.sized = [t._array.shape for t in given.leaves], watch.told
                    if not light:
                        self._models[kind] = [r, *(m for m in self._models.get(kind, ()) if m.program.plan is not r.program.plan)][:sizes.MODELS]
                    r.prepare(args, kwargs, given)
                    resized = model is not None and r.program.plan is model.program.plan
                    r.trial.proven = resized and self._policy.timings >= TIMED
                    outcome.what, outcome.recording = "resized" if resized else "recorded", r
            except (Refused, Unwatchable) as e:
                if known is not None:
                    if known.doubtful:
                        self._drop(known)
                        self._failed(key, e)
                    elif run.alone() and recheck.parting(recheck.Steps.of(known), recheck.Steps(rec.nodes, rec.arrays)) is not recheck.OTHER_WAY:
                        self._distrust(known, e)
                elif light:
                    model.led(False)
                    self._watched.add(key)        # (the next call is recorded in full)
                elif type(e) is Late and not self._exact and e.line not in self._fixed | self._lines:
                    self._lines.add(e.line)       # (the next call is recorded so)
                else:
                    self._failed(key, e, rec.passing)
            swapped.settle(whole)
            if exchanged.tuples:
                out = exchanged.given_back(out)
            out, args, kwargs = real(settle(out) if rec.lent or rec.numpys.lent or swapped.lists else out), (), {}
            exchanged = None                 # (it has what stood for arrays)
            undo[1]()
        except BaseException:
            surely(*undo)
            raise
        return out

    @staticmethod
    def _take_back(rec, outward, numpys):
        """What is plain wherever the run left what stands for it."""
        for x in rec.lent:
            reclaim(x)
        outward.take_back()
        numpys.take_back()

    def _make_place(self, key, paths):
        """Drop one of the recordings for another, the first that was of no use or else the first; False where they are not worth that."""
        calls, idle = sum(r.calls for r in paths), [r for r in paths if not r.calls]
        if calls < WORTH * PATHS and not (calls and idle and self._dropped[key] < PATHS):
            return False
        dropped = self._dropped[key] + 1
        self._drop((idle or paths)[-1])
        self._dropped[key] = dropped
        return True

    def _failed(self, key, error, passing=False):
        """A run could not be recorded."""
        self._tries[key] += PASSING if passing else 1
        self._why = reason = error.reason.named(self.fn, key)
        if self.strict:
            raise TraceError(f"{self._name()} cannot be compiled: {reason.full()}")
        if self._tries[key] >= TRIES or type(error) is Wrong:
            self._give_up(key, reason)

    def _distrust(self, r, error):
        """A call that a recording fits did something else, or its program does: calls of any kind run eagerly from now on."""
        self._drift = error.reason if type(error) is Wrong else Drifts(
            f"call {r.calls} of a kind was made eagerly once more, and {error}, though nothing that its recording compares has changed. It goes by "
            "something that a trace cannot see (a counter in an extension, a file, a clock); earlier replays may have missed it")
        with self._laying:                   # (another thread may be about to lay tables)
            self._table, self._alive, self._models, self._ready, self._armed, self._index = {}, {}, {}, None, [], None
        for r in list(self._policy.held):
            self._policy.drop(r)
        if self.strict:
            raise TraceError(f"{self._name()} cannot be compiled: {self._drift.full()}")
        warnings.warn(f"{self._name()} runs eagerly: {self._drift.full()}", TraceWarning, stacklevel=_depth())

    @staticmethod
    def _close(rec, watch, swapped, exchanged):
        """The run is over. Done again where an interrupt ends it midway."""
        watch.withdraw()
        state = modes.state
        state.observers = tuple(o for o in state.observers if o is not rec)
        modes.refresh()
        swapped.leave()
        exchanged.end()

    def _regular(self, world, slots, numbers, rec):
        """Were numbers that vary only computed with? Those that Python went on from are taken as they are from now on."""
        bound = [place for place, t in numbers.items() if id(t) in rec.pinned]
        # (what came of a graph that is used up may be exchanged for another as long as the run only lays something in its place)
        bound += [(id(s.owner), s.name) for s, t in zip(world.slots, slots)
                  if id(t) in rec.pinned or not s.is_number and t is not None and (t._node is not None or t._base is not None)
                  and rec.values.number(t._array) is not None]
        self._fixed.update(bound)
        self._varying -= self._fixed
        self._loose -= self._fixed
        return not bound

    def _model(self, args, kwargs, given):
        """The key of a call without its sizes; and a recording that this one is like, but for sizes, or None."""
        kind, _ = self._key(args, kwargs, Given(sizes=False, arrays=not self._solid))
        for r in self._models.get(kind, ()):
            if sizes.fits(r, given.leaves) and (self._free is None or sizes.may_differ(self._free, r.shapes, args, kwargs, given.leaves)):
                return kind, r
        return kind, None

    def _finish(self, run, rec, swapped, out, outward, known, like):
        """The recording of a run; raises Refused where there is none, or where it differs from a `known` one. `like`: one that may be of the
        same nodes on other sizes, or None."""
        if rec.reason:
            raise Refused(rec.reason)
        rec.texts.settle()
        run.unchanged(rec)
        world, leaves = run.world, run.leaves
        place_of = _Places(run, rec.borrowed, rec.facts)
        edges: dict = {}
        for t in run.tensors:
            e = edge_of(t)
            if e is not None:
                edges.setdefault(id(e), place_of(t))
        results = Results(rec, place_of, lambda e: edges.get(id(e)), run.whole.seen, world.seen, run.boxes, run.first)
        results.leaves = [(t, ("argument", i)) for i, t in enumerate(leaves)]
        results.tuples = {i: results.boxes[id(was)] for i, (_, was) in run.tuples.items() if id(was) in results.boxes}
        grads = []
        for t, g in zip(run.tensors, run.grads):
            if t._grad is not g:
                grads.append((place_of(t), None if t._grad is None else results.tensor(t._grad)))
        left = self._left(run, results, swapped)
        spec = results.describe(out)
        if outward.overtaken():
            raise Refused(Prints("a tensor is printed, and written to afterwards"))
        outward.describe(results)
        results.join()
        problem = rec.numpys.problem(bool(results.alive))
        if problem is not None:
            raise Refused(OfNumPy(problem))
        back, values = None, [*results.values, *results.items]
        if results.alive and known is None:
            nodes = inside([t._node for t in results.alive], run.first)
            python = next((n.op.name for n in nodes if type(n) is not OutputOf and getattr(n.op, "python", False)), None)
            if python is not None:
                raise Refused(PythonBackward(f"its gradients flow through {python}, whose backward is Python of the user's"))
            try:
                back = Backward(rec, results.alive, results.values, run.first, results.place_of_edge, like and like.backward)
            except (Miss, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError) as e:
                raise Refused(PythonBackward(f"its backward cannot be recorded: {e}")) from None
            values += [n for n in back.saved if n not in rec.outside]
        kept = [*results.tensors, *(t._base for t in results.tensors if t._base is not None), *saved_by([t._node for t in results.alive], run.first)]
        kept = {id(t) for t in (*kept, *rec.hidden)}
        others = [ref for i, ref in rec.made.items() if i not in kept]
        loose = escaped(others, leaves_of([t._node for _, t in results.dead], run.first))
        if loose is not None:
            what = f"a tensor of shape {list(loose.shape)} that it made is still in use afterwards, but not returned"
            raise Refused(Keeps(what, rec.line_of(loose)))
        outside = list(rec.outside)
        draws, positions = rec.streams.moved(), rec.streams.key(rec.nodes)
        at = counted(rec.outside.values(), place_of)
        bumps = [(at[id(n.value)], n.value.writer) for n in rec.nodes if n.kind == "write" and id(n.value) in at] + run.unseen(rec, place_of)
        if known is not None:
            if self._sharing([*run.tensors, *rec.borrowed.values()], place_of) != known.shared:
                return                       # (other tensors are around one array, one value to the recorder: the steps read differently)
            return self._compare(known, rec, results, recheck.Account(
                rec.nodes, rec.arrays, outside, [place_of(t) for t in rec.outside.values()], spec, grads, left, bumps, positions))
        steady = {n: t for n, t in rec.outside.items() if place_of(t)[0] == "object" and world.tensors.get(id(t)) is t}
        nodes = rec.nodes if back is None or back.part is None else back.part.forward(rec.nodes)
        program = builder.build(nodes, rec.arrays, outside, values, steady, () if back is not None else self.rewrites, like and like.program,
                                rec.streams.ends())
        program.recorded = rec.nodes
        if back is not None:
            back.part = None
            program.notes = [f"{name} left it alone: gradients flow through its results" for name in self.rewrites]
        given = [(place_of(rec.outside[n]), rec.arrays[n]) for n in outside]
        if any(place is not None and place[0] == "grad" and rec.outside[n].requires_grad for n, (place, _) in zip(outside, given)):
            raise Refused(PythonBackward("it reads a gradient that has a gradient of its own"))
        before = {id(t): g for t, g in zip(run.tensors, run.grads)}
        world.let_go(leaves)
        if rec.settings:
            world.watch(rec.settings)
        r = Recording(world, program, [(t, before.get(id(t))) for t in world.tensors.values()], given, spec, grads, bumps, draws, left)
        r.positions, r.settings = positions, run.settings
        r.marks = [(place_of(t), t._rg) for t in run.marks]
        if any(place is None for place, _ in r.marks):
            raise Refused(Memory("it changes whether a gradient requires one"))
        flags = {id(t): look[1] for t, look in zip(run.tensors, run.looks)}
        r.flags = [flags.get(id(t), t._rg) for t in r.tensors]
        r.doubtful = any(left) and not run.alone()
        r.identity = [world.tensors.get(id(t)) for t in leaves]
        r.inputs = [world.inputs.get(id(t._array)) for t in leaves]
        r.without = [before[id(t)] is None for t in leaves]
        r.within = [world.seen.get(id(x)) for x in run.boxes]
        r.shared = self._sharing([*run.tensors, *rec.borrowed.values()], place_of)
        written = {program.origin[n.ins[0]] for n in rec.nodes if n.kind == "write"}
        r.written = [i for i, n in enumerate(outside) if n in written]
        r.writes = bool(r.written)           # (also those that bump no version)
        r.expect([a for _, a in given])
        r.given = [(place, Type.of(a)) for place, a in given]
        if memory.stats()["cached"] > UNUSED:
            memory.empty_cache()             # (a program's blocks have other sizes than those that the run has left)
        made = self._check(r, rec, program, draws, outside, {n: n for n in values})
        if back is not None:
            back.check(rec, made)
        r.backward = back
        r.boxed, r.acts, r.only_acts = results.boxed, rec.acts, not (r.writes or bumps or grads or any(left) or draws)
        if outward.watch.foreign and not r.only_acts:
            raise Refused(Prints("code of the user's runs where it prints, logs or warns, and could see what else the call does"))
        if back is not None:
            back.trial = r.trial
        saved = {} if back is None else {n: back.history.cells[n] for n in back.saved if n in back.history.cells and n not in rec.outside}
        r.cell_of, saved, r.cells = results.cells(rec.outside, place_of, saved)
        if back is not None:
            back.cells, back.history.cells = saved, None
        rec.originals.clear()
        return r

    def _compare(self, r, rec, results, now):
        """A run against the recording that it might have replayed, and that program against this run."""
        was = recheck.Account.of(r)
        found = recheck.difference(was, now)
        if found is recheck.OTHER_WAY:
            return
        if found is not None:
            raise Refused(f"it {found}")
        if r.lock.acquire(False):
            try:
                here, there = was.numbers(now), now.numbers(was)
                outside = [there[n] for n in r.program.outside]
                self._check(r, rec, r.program, rec.streams.moved(), outside, {here[n]: n for n in (*results.values, *results.items)})
            finally:
                r.lock.release()

    @staticmethod
    def _sharing(tensors, place_of):
        """Pairs of places of the tensors that are around one array (`x` and `x.detach()`)."""
        first, pairs = {}, []
        for t in tensors:
            other = first.setdefault(id(t._array), t)
            if other is not t:
                pairs.append((place_of(other), place_of(t)))
        pairs += place_of.twice
        if any(None in (*pair, *(place[1] for place in pair if place and place[0] == "grad")) for pair in pairs):
            raise Refused(Memory("a gradient and another tensor are one array"))
        return pairs

    def _left(self, run, results, swapped):
        """What the run changed in Python's state: (kind, owner, name, new value as a recipe), and what it appended to lists."""
        effects: list = []
        for grown, _ in swapped.lists:
            if grown.read:
                self._fixed.add((id(grown.real), None))
                self._loose -= self._fixed
                raise Refused(Changes(run.world, ("items", grown.real, None, None, None), "a list that it both reads and appends to"))
        known = {id(grown.real) for grown, _ in swapped.lists}
        changes = run.world.changes()
        slots = {(id(s.owner), s.name): t for s, t in zip(run.world.slots, run.leaves[len(run.leaves) - len(run.world.slots):])}
        here = {place: there for place, (_, there) in swapped.tuples.items()}
        full = {id(owner) for kind, owner, name, *_ in changes
                if kind in CONTENTS and (name is None or not isinstance(owner, dict | list) or owner is VARIABLES)}

        def laid(make, x):
            try:
                return make(x)
            except Refused as e:
                raise Refused(e.reason.left(run.world, (kind, owner, name, None, x))) from None
        for kind, owner, name, _, new in changes:
            place = id(owner), name
            if type(new) in NUMBERS and tensor_behind(new) is slots.get(place) or type(new) is tuple and new is here.get(place):
                continue                     # (the number, or the numbers, that were there)
            if type(new) is Array and place in slots and real_of(new) is slots[place]._array:
                continue
            if kind in CONTENTS and id(owner) in full:
                if id(owner) not in known and not isinstance(owner, tuple | frozenset | types.MappingProxyType):
                    known.add(id(owner))
                    effects.append((kind if owner is not VARIABLES else "environment", owner, None, laid(results.contents, owner)))
                    continue
            elif kind == "context" and new is not ABSENT:
                effects.append((kind, owner, name, laid(results.describe, new)))
                continue
            elif name is not None and kind in SETTABLE and owner is not VARIABLES:
                effects.append((kind, owner, name, laid(results.describe, new)))
                continue
            if id(owner) not in known:
                self._loosen(changes)
                raise Refused(Changes(run.world, (kind, owner, name, None, new)))
        known |= {(id(owner), name) for _, owner, name, _ in effects}
        for s in run.world.slots:            # (what is stored may be what was there this time)
            now = found((s.kind, s.owner, s.name)) if s.is_number or s.is_array else None
            if now is not None and type(now) is not Array and type(now) not in NUMBERS and now is not here.get((id(s.owner), s.name)) \
                    and (id(s.owner), s.name) not in known:              # (None: it was deleted)
                effects.append((s.kind, s.owner, s.name, results.describe(now)))
        known |= slots.keys() | {(id(owner), name) for _, owner, name, _ in effects}
        growths = [(grown.real, [results.describe(x) for x in grown.added]) for grown, _ in swapped.lists]      # (in the order of replays)
        filled, boxes = {}, {id(x): i for i, x in enumerate(run.boxes) if isinstance(x, list | dict)}
        for kind, owner, name, _, _ in run.whole.changes():
            if id(owner) in boxes and id(owner) not in run.world.seen and id(owner) not in filled:
                filled[id(owner)] = boxes[id(owner)], results.contents(owner)
            elif id(owner) not in known and (id(owner), name) not in known and id(owner) not in filled:
                raise Refused(Changes(run.whole, (kind, owner, name, None, None)))
        return effects, growths, list(filled.values())

    def _check(self, r, rec, program, generators, outside, values):
        """The program against a run, on copies of what that was given and wrote to. `values`: of the program -> of the run. Gives what the
        program made, by value; None where nothing is compared."""
        if self.verify == "off":
            return None
        if not rec.originals.copies.keys() >= {outside[i] for i in r.written}:
            raise Refused(Memory("it writes to a tensor from outside where the recorder does not look"))     # (a program must not do so again)
        after = [(g, g._seed, g._offset) for g in generators]
        for g in generators:
            g._seed, g._offset = rec.streams.starts[id(g)]
        try:
            spare = None if program.meaning is None else _copies(rec, outside, r.pattern)
            given = _copies(rec, outside, r.pattern, last=True)
            env = program(given)
            env = {n: env[n] for n in values}                # (the arena is let go of)
        except Miss:
            raise Refused(Drifts("a replay of the very same run goes another way")) from None
        finally:
            for g, seed, offset in after:
                g._seed, g._offset = seed, offset
        times = rec.depends_on_time()
        # (what is saved in place of what eager saved may be gone: the backward's program is compared on what this one made)
        want = {n: rec.values.array(m) for n, m in (*values.items(), *zip(program.outside, outside)) if m not in times}
        want = {n: a for n, a in want.items() if a is not None}
        if program.meaning is not None:      # (then the bits are those of what the rewrites made)
            said = program.said(dict(zip(program.outside, spare)))
            if not all(near(said[n], a) for n, a in want.items()):
                raise Refused(Rewrites(f"a rewrite moved a result by more than its rounding ({', '.join(self.rewrites)})"))
            want = {n: said[n] for n in want}
        wrong = {n for n in values if n in want and not same_bits(env[n], want[n])}
        changed = {n for n, m, a in zip(program.outside, outside, given) if n in want
                   and not (rec.originals.untouched(m) if a is want[n] else same_bits(a, want[n]))}
        if wrong or changed:
            from .verify.reproducer import report  # (seldom needed)
            raise Wrong(f"a replay {'gives other bits for a result' if wrong else 'writes other bits to a tensor from outside'}: "
                        + report(rec.nodes, rec.arrays, {n: rec.originals[n] for n in outside}, values.values()))
        return env

    def _give_up(self, key, reason):
        """Calls of this kind run eagerly from now on."""
        self._refused[key] = reason
        self._say(reason)

    def _say(self, reason):
        """Warn, once, that calls run eagerly."""
        if self.strict:
            raise TraceError(f"{self._name()} cannot be compiled: {reason.full()}")
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self._name()} runs eagerly: {reason.full()}", TraceWarning, stacklevel=_depth())

    def _name(self):
        code = getattr(self.fn, "__code__", None)
        place = f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else ""
        return getattr(self.fn, "__qualname__", type(self.fn).__name__).rpartition("<locals>.")[2] + place

    # ---- telling -----------------------------------------------------------------------------------------------------
    def explain(self, data=False, full=False):
        """What became of the calls, why, and what to do about it, in one screen; `full` adds graphs, guards and what was not fused of every
        recording; `data` gives all of it as a dict."""
        if data:
            return explain.facts(self)
        return summary.full(self) if full else summary.screen(self)

    def __repr__(self):
        return repr(self.fn) if _is_module(self.fn) else f"<traced {summary.state(self)}>"

    def show(self, path=None):
        """Write a page with the graph of the most called recording, as recorded and as it runs; gives the path, of a new file where none is
        given. One that ends in .svg or .png becomes the pictures alone."""
        return page.show(self, path)

    def _repr_html_(self):
        return page.page(self)

    @property
    def recorded(self):
        """The graph of the newest recording as it was recorded (see `whet.ir.graph`); None where there is none."""
        return next((explain.graphs(self, *x)[0] for x in explain.recordings(self)), None)

    @property
    def graph(self):
        """The graph of the newest recording as it runs, after all passes; None where there is none."""
        return next((explain.graphs(self, *x)[1] for x in explain.recordings(self)), None)


native_entry.begin(Traced, Traced._call)


def surely(*steps):
    """Take each step: one that an interrupt ends is taken once more, and what follows it is not left out. The interrupt goes on afterwards."""
    error = None
    for step in steps:
        for _ in range(2):
            try:
                step()
                break
            except BaseException as e:
                error = e
    if error is not None:
        raise error


def _depth():
    """How far up the stack the user's call is, for a warning of the caller."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and ours(frame.f_code):
        frame, depth = frame.f_back, depth + 1
    return depth


def _copies(rec, numbers, pattern, last=False):
    """What a run was given, as it was before and as it lay: what overlapped does so. What it did not write to is given as it is. `pattern`: pairs
    of places in `numbers` that overlap. `last`: nobody needs the recorder's own copies any more."""
    found: dict = {}                         # place -> the group of those that overlap
    for i, k, _ in pattern:
        group = found.setdefault(i, {i}) | found.setdefault(k, {k})
        found.update(dict.fromkeys(group, group))
    made: dict = {}
    for group in found.values():
        if made.keys().isdisjoint(group):
            spans = [span(rec.arrays[numbers[i]]) for i in group]
            low, high = min(at for at, _ in spans), max(at for _, at in spans)
            room = memory.empty(high - low + ALIGNED, np.uint8)
            for i in sorted(group, key=lambda i: numbers[i], reverse=True):      # (of one that was met later the copy may be of what others wrote)
                a = rec.arrays[numbers[i]]
                made[i] = np.ndarray(a.shape, a.dtype, room, address(a) - low + low % ALIGNED, a.strides)
                made[i][...] = rec.originals[numbers[i]]
    return [made[i] if i in made else rec.originals[n] if last or n not in rec.originals.copies else laid(rec.originals[n])
            for i, n in enumerate(numbers)]


class _Places:
    """Where a replay finds a tensor that was there before a run."""

    def __init__(self, run, borrowed, facts):
        self.argument, self.known = {id(t): i for i, t in enumerate(run.leaves)}, run.whole.tensors
        self.borrowed, self.facts = borrowed, facts
        self.owner = {id(g): t for t, g in zip(run.tensors, run.grads) if g is not None}
        self.twice, alone = [], set(map(id, run.whole.grads))            # gradients that are known by another name, too: pairs of places
        for t, g in zip(run.tensors, run.grads):
            if g is not None and (id(g) not in alone or self.owner[id(g)] is not t):
                other = ("argument", self.argument[id(g)]) if id(g) in self.argument else self(g) if id(g) in alone else ("object", g)
                self.twice.append((("grad", self(t)), other))

    def __call__(self, t):
        if id(t) in self.argument:
            return "argument", self.argument[id(t)]
        if id(t) in self.facts:
            what, of = self.facts[id(t)]
            return what, self(of)
        if id(t) in self.owner and id(t) in self.known:
            owner = self(self.owner[id(t)])
            return None if owner is None else ("grad", owner)
        return ("object", t) if id(t) in self.known or id(t) in self.borrowed else None


@functools.cache
def _telling():
    return verbosity.telling(Traced)


def trace(fn=None, example_inputs=None, *, strict=False, verify=VERIFY[0], rewrites=(), dynamic=None):
    """A function that records itself and replays the recording, with the results and effects of eager mode to the bit.

    >>> import whet
    >>> @whet.jit.trace
    ... def f(x):
    ...     return (x * 2 + 1).tanh()
    >>> f(whet.zeros(2)), f(whet.ones(2))
    (tensor([0.7616, 0.7616]), tensor([0.9951, 0.9951]))

    `strict=True` raises where the function cannot be compiled, in place of running it eagerly. `example_inputs` (a tensor or a tuple of
    arguments) are for a first call at once; they are not needed.

    `verify` says which calls are compared with eager ones. "first": a new program is run on copies of what the run that it was made from was
    given, and must give its bits. "sample" (the default) goes on: calls 16, 32, 64, ... of a recording, fewer where this would take more
    than a hundredth of the time, are made eagerly and recorded again, and must come to the same. "always": every call is; results are eager's,
    nothing is faster, and what a trace would miss is found at once. "off": none.

    `rewrites` names what may change bits, each within the bounds that its file in `passes/` states: "fold_batch_norm" (eval-mode batch norms
    go into the weights before them) and "reassociate" (products of matrices in the cheapest order, numbers in one). Calls through which
    gradients flow are left as they are; `explain()` says what was done.

    A call whose tensors have other sizes is made eagerly once, and its program is made like the one of the sizes before. `dynamic=False`
    records each size on its own; a dict from names of arguments to dimensions (`{"x": {0: whet.jit.Dim("batch", max=64)}}`) says which may
    differ: these are compiled at their first call however many there are, and others are recorded on their own.
    """
    if fn is None:
        return functools.partial(trace, strict=strict, verify=verify, rewrites=rewrites, dynamic=dynamic)
    if verify not in VERIFY:
        raise ValueError(f"trace(): verify is one of {', '.join(map(repr, VERIFY))}, not {verify!r}")
    unknown = [name for name in rewrites if name not in REWRITES]
    if type(rewrites) is str or unknown:
        raise ValueError(f"trace(): rewrites are a list of some of {', '.join(map(repr, REWRITES))}, not {rewrites!r}")
    if not callable(fn):
        raise TypeError(f"trace(): expected a function, got {type(fn).__name__}")
    traced = fn if isinstance(fn, Traced) else (Traced if not verbosity.LEVEL else _telling())(fn, strict, verify, rewrites, dynamic)
    if example_inputs is not None:
        traced(*example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,))
    return traced
