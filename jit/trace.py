"""`jit.trace`: a function that records a real run of itself and afterwards replays it.

    key of the arguments -> recordings, each with what it read from outside (a World) and a Program

A call that no recording fits is an eager one, and is recorded. Whatever cannot be recorded runs eagerly, with one warning that says why.
"""
import collections
import copy
import functools
import os
import sys
import threading
import warnings
from operator import is_
from time import perf_counter

import numpy as np
from whet import dtypes
from whet.autograd import modes
from whet.autograd.node import OutputOf, edge_of, next_number
from whet.cpu import pool
from whet.ir.graph import Type
from whet.tensor_base import Base

from . import explain, ladder, quick, show
from .backward import Backward, same_bits
from .effects import SETTABLE, Swapped
from .given import Given, Run
from .history import inside, saved_by
from .numbers import Number, reclaim, settle, tensor_of, varies
from .program import Miss, Program
from .quick import MISSED
from .record import Recorder, Refused, Watch, escaped
from .recording import Recording
from .results import Results
from .world import Unwatchable, World, ours

TRIES = 3                        # recordings of one key that may fail before it is given up,
IDLE = 5                         # or be of no use
PATHS = 8                        # recordings of one key
TRIED = 20                       # calls after which it is known whether a replay is faster than an eager call
KEYS = 64                        # kinds of arguments that are kept,
FREE = 8                         # of which so many are recorded when first seen, the others at their second call
SEEN = 4


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
        quick.switch(1)

    def __exit__(self, *exc):
        _switch.off -= 1
        quick.switch(-1)


# ---- arguments and results as leaves -----------------------------------------------------------------------------------


def _is_module(fn):
    found = sys.modules.get("whet.nn.module")
    return found is not None and isinstance(fn, found.Module)


class Traced(quick.Entry):
    """A function that is recorded and replayed. See `trace`."""
    __slots__ = ("__dict__", "__weakref__", "_ready")    # _ready: tables of recordings, for machine code to try in this order
    _traces = True

    def __init__(self, fn, strict=False, verify="first"):
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.strict, self.verify = fn, strict, verify
        self.alive = {}                      # key -> objects whose ids it holds
        self.met = {}                        # keys of calls that were not recorded
        self.table, self.tries, self.refused = {}, collections.Counter(), {}
        self._ready, self.armed = None, []   # the recordings that are replayed from tables, the latest first
        self.loose, self.lines = set(), set()        # places, and lines with `item()`, whose numbers were seen to vary
        self.seen = []                       # the numbers among the arguments of the last kinds of calls
        self.varying, self.fixed = set(), set()      # arguments whose numbers vary; what Python computes with and must not vary
        self.why, self.warned, self.lock = None, False, threading.Lock()

    # the trace of a module is one: it may be a part of another
    __class__ = property(lambda self: type(self.fn) if _is_module(self.fn) else Traced)

    def __getattr__(self, name):
        """What the function has (a traced module its parameters), so has its trace."""
        return getattr(self.__dict__["fn"], name)

    def __setattr__(self, name, value):
        own = self.__dict__
        if "lock" in own and name not in own and name != "_ready" and _is_module(self.fn):
            setattr(self.fn, name, value)
        else:
            object.__setattr__(self, name, value)

    def __copy__(self):
        return Traced(self.fn, self.strict, self.verify)

    def __deepcopy__(self, memo):
        return Traced(copy.deepcopy(self.fn, memo), self.strict, self.verify)

    def __reduce__(self):
        """By its name where that leads here, as functions are pickled; otherwise what it traces."""
        found = sys.modules.get(getattr(self.fn, "__module__", None))
        for name in getattr(self.fn, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        return self.fn.__qualname__ if found is self else (Traced, (self.fn, self.strict, self.verify))

    def _call(self, args, kwargs):
        """A call that no table fits."""
        kwargs = kwargs or {}
        state = modes.state
        if state.flags & modes.SPECIAL or _switch.off or _OFF:
            return self.fn(*args, **kwargs)
        try:
            key, given = self.key(args, kwargs)
            paths = self.table.get(key)
        except TypeError:                    # a key that cannot be hashed
            return self.fn(*args, **kwargs)
        if paths is not None:
            for r in paths:
                if not r.slow:
                    out = self.trial(r, args, kwargs, given)
                    if out is not MISSED:
                        return out
            if any(r.slow for r in paths):
                return self.fn(*args, **kwargs)
        if key in self.refused or not self.lock.acquire(False):
            return self.fn(*args, **kwargs)
        try:
            if self.learn(key, args, kwargs):
                key, given = self.key(args, kwargs)
            return self.record(key, given, args, kwargs)
        finally:
            self.lock.release()

    def key(self, args, kwargs):
        """What tells calls apart, and what the call was given."""
        given = Given()
        flatten = given.flatten
        if self.varying:
            def one(place, x):
                if place in self.varying and varies(x):
                    given.numbers[place] = t = tensor_of(x)
                    given.leaves.append(t)
                    return type(x), t._array.dtype
                return flatten(x)
            key = tuple([one(i, x) for i, x in enumerate(args)]), tuple([(k, one(k, v)) for k, v in kwargs.items()])
        else:
            key = tuple([flatten(x) for x in args]), tuple([(k, flatten(v)) for k, v in kwargs.items()]) if kwargs else None
        return (*key, modes.state.flags, dtypes.get_default_dtype(), pool._threads), given

    def trial(self, r, args, kwargs, given):
        """A call by a recording. The first ones are timed, and a few are made eagerly: whichever is faster goes on."""
        n = r.tried
        if n >= TRIED:
            return self.replay(r, args, kwargs, given)
        eager, t = n >= TRIED - 4, perf_counter()
        if eager:
            out = self.fn(*args, **kwargs)
            r.counted += 1
        else:
            out = self.replay(r, args, kwargs, given)
            if out is MISSED:
                return out
        r.times[eager] = min(r.times[eager], perf_counter() - t)
        r.tried = n + 1
        if n + 1 == TRIED:
            r.slow = r.times[1] < 0.95 * r.times[0]
            self.arm(r, args)
        return out

    def replay(self, r, args, kwargs, given):
        """The result by a recording, or MISSED."""
        if r.ready is not None:
            out = quick.enter(r.ready, args, kwargs)
            if out is not MISSED:
                if r.tried >= TRIED and r not in self.armed[:1]:
                    self.arm(r, args)
                return out
        if not r.lock.acquire(False):        # one call at a time works in a program's memory
            return self.fn(*args, **kwargs)
        try:
            out = r.replay(given.leaves, given.boxes)
        finally:
            r.lock.release()
        if out is not MISSED:
            r.counted += 1
            if r.prepare(args, kwargs, given, modes.state.flags) and r.tried >= TRIED:
                self.arm(r, args)
        return out

    def arm(self, r, args):
        """Have machine code try this recording's table first; where all are slower than eager, let it call the function itself."""
        self.armed = [r, *(x for x in self.armed if x is not r)][:PATHS]
        self._ready = tuple([x for r in self.armed if r.ready is not None and not r.slow for x in r.ready]) or None
        if quick.enter is not None and args and isinstance(args[0], Base) and all(r.slow for rs in self.table.values() for r in rs):
            self._ready = quick.bypass(self.fn, args[0])

    # ---- numbers that vary -------------------------------------------------------------------------------------------
    def learn(self, key, args, kwargs):
        """Look in what this call differs from those that were recorded: numbers that do are taken as they come from now on. True if some
        of them are arguments."""
        for r in self.table.get(key, ()):
            if r.line is not None and r.line not in self.fixed:
                self.lines.add(r.line)
            self.loosen(r.world.changes())
        found = len(self.varying)
        if key not in self.table:
            named = [*enumerate(args), *kwargs.items()]
            for other in self.seen:
                if len(other) == len(named) and all(a == b for (a, _), (b, _) in zip(other, named)):
                    apart = [(k, x, y) for (k, x), (_, y) in zip(other, named) if type(y) in (int, float) and (type(x) is not type(y) or x != y)]
                    if all(type(x) is type(y) for _, x, y in apart):
                        self.varying.update(k for k, x, y in apart if k not in self.fixed)
            self.seen.append([(k, x if type(x) in (int, float) else None) for k, x in named])
            del self.seen[:-SEEN]
        return len(self.varying) > found

    def loosen(self, changes):
        """Numbers and tensors that were exchanged, and lists that grew, may be any from now on."""
        for kind, owner, name, before, now in changes:
            if name is None:
                if kind == "items" and type(owner) is list and now is not None and len(now) > len(before) and all(map(is_, now, before)):
                    self.loose.add((id(owner), None))
            elif type(before) is type(now) and (varies(now) or isinstance(now, Base)):
                self.loose.add((id(owner), name))
        self.loose -= self.fixed

    # ---- recording ---------------------------------------------------------------------------------------------------
    def record(self, key, given, args, kwargs):
        """Run eagerly and write down what happens."""
        leaves, others, numbers = given.leaves, given.others, given.numbers
        if key not in self.table and len(self.table) >= FREE:
            if key not in self.met:          # it may never come again: sizes that only grow, say
                self.met[key] = True
                if len(self.met) > 4 * KEYS:
                    del self.met[next(iter(self.met))]
                return self.fn(*args, **kwargs)
            if len(self.table) >= KEYS:
                self.forget(min(list(self.table)[:KEYS // 2], key=lambda k: sum(r.calls for r in self.table[k])))
        paths = self.table.setdefault(key, [])
        self.alive.setdefault(key, others)   # the key may hold their ids
        if len(paths) >= PATHS or len(paths) >= IDLE and not any(r.calls for r in paths):
            self.give_up(key, f"it was recorded {len(paths)} times for arguments of this kind, and each time something that it read "
                              f"(a value of a tensor, a number from outside) was another: {paths[0].missed}")
            self.table[key] = []
            return self.fn(*args, **kwargs)
        try:
            world = World(self.fn, others, self.loose)
            if world.entangled(leaves):
                world = World(self.fn, others)
            slots = [s.fetch(world.tensors, leaves) for s in world.slots]
            leaves = [*leaves, *slots]
            whole = World(self.fn, [*others, *leaves, *args, *kwargs.values()])
        except Unwatchable as e:
            self.give_up(key, str(e))
            return self.fn(*args, **kwargs)
        run = Run(world, whole, leaves, given.boxes, next_number())
        rec = Recorder(run.tensors, self.lines, [a for a, *_ in whole.arrays])
        if numbers:
            args = [Number(x, numbers[i], rec) if i in numbers else x for i, x in enumerate(args)]
            kwargs = {k: Number(x, numbers[k], rec) if k in numbers else x for k, x in kwargs.items()}
        watch, swapped = Watch(whole.codes, rec.refuse), Swapped(world, slots)
        swapped.enter(rec)
        modes.state.observers += (rec,)
        modes.refresh()
        try:
            with watch:
                out = self.fn(*args, **kwargs)
        except BaseException:
            self.close(rec, swapped)
            swapped.settle(whole)
            args, kwargs = numbers, None
            reclaim(rec.lent)
            raise
        self.close(rec, swapped)
        try:
            r = self.finish(run, rec, swapped, out)
            if self.regular(world, slots, numbers, rec):
                paths.insert(0, r)
                self.why = None
                r.prepare(args, kwargs, given, run.settings[0])
        except (Refused, Unwatchable) as e:
            self.tries[key] += 1
            self.why = str(e)
            if self.strict:
                raise TraceError(f"{self.name()} cannot be compiled: {e}") from None
            if self.tries[key] >= TRIES:
                self.give_up(key, str(e))
        finally:
            swapped.settle(whole)
        out, args, kwargs = settle(out) if rec.lent else out, (), {}
        reclaim(rec.lent)
        return out

    @staticmethod
    def close(rec, swapped):
        """The run is over."""
        state = modes.state
        state.observers = tuple(o for o in state.observers if o is not rec)
        modes.refresh()
        swapped.leave()

    def regular(self, world, slots, numbers, rec):
        """Were numbers that vary only computed with? Those that Python went on from are taken as they are from now on."""
        bound = [place for place, t in numbers.items() if id(t) in rec.pinned]
        bound += [(id(s.owner), s.name) for s, t in zip(world.slots, slots) if id(t) in rec.pinned]
        self.fixed.update(bound)
        self.varying -= self.fixed
        self.loose -= self.fixed
        return not bound

    def finish(self, run, rec, swapped, out):
        """The recording of a run; raises Refused where there is none."""
        if rec.reason:
            raise Refused(rec.reason)
        run.unchanged(rec)
        world, leaves = run.world, run.leaves
        place_of = _Places(run, rec.borrowed)
        results = Results(rec, place_of, run.whole.seen, world.seen, run.boxes)
        grads = []
        for t, g in zip(run.tensors, run.grads):
            if t._grad is not g:
                grads.append((place_of(t), None if t._grad is None else results.tensor(t._grad)))
        left = self.left(run, results, swapped)
        spec = results.describe(out)
        back, values = None, [*results.values, *results.items]
        if results.alive:
            if any(getattr(n.op, "python", False) for n in inside([t._node for t in results.alive], run.first) if type(n) is not OutputOf):
                raise Refused("its gradients flow through a Function, whose backward is Python that may do anything")
            edges = {}
            for t in run.tensors:
                e = edge_of(t)
                if e is not None:
                    edges.setdefault(id(e), place_of(t))
            try:
                back = Backward(rec, results.alive, results.values, run.first, lambda e: edges.get(id(e)))
            except (Miss, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError) as e:
                raise Refused(f"its backward cannot be recorded: {e}") from None
            values += [n for n in back.saved if n not in rec.outside]
        kept = [*results.tensors, *(t._base for t in results.tensors if t._base is not None), *saved_by([t._node for t in results.alive], run.first)]
        kept = {id(t) for t in (*kept, *rec.hidden)}
        others = [t for t in rec.made if id(t) not in kept]
        rec.made.clear()
        loose = escaped(others)
        if loose is not None:
            raise Refused(f"a tensor of shape {list(loose.shape)} that it made is still in use afterwards, but not returned")
        outside = list(rec.outside)
        steady = {n: t for n, t in rec.outside.items() if place_of(t)[0] == "object" and world.tensors.get(id(t)) is t}
        program = Program(rec.nodes, rec.arrays, outside, values, steady)
        counted = {id(t._cell): t for t in rec.outside.values() if t._cell is not None}        # (`.data` has a counter of its own, aside)
        writes = [(n, counted.get(id(n.value)), rec.outside.get(program.origin[n.ins[0]])) for n in rec.nodes
                  if n.kind == "write" and (id(n.value) in counted or program.origin[n.ins[0]] in rec.outside)]
        bumps = [(place_of(t) if t is not None else ("data", place_of(of)), n.op.name + "_") for n, t, of in writes]
        given = [(place_of(rec.outside[n]), rec.arrays[n]) for n in outside]
        draws = {id(n.attrs["generator"]): n.attrs["generator"] for n in rec.nodes if n.kind == "draw"}
        before = {id(t): g for t, g in zip(run.tensors, run.grads)}
        world.let_go(leaves)
        r = Recording(world, program, [(t, before.get(id(t))) for t in world.tensors.values()], given, spec, grads, bumps, list(draws.values()),
                      left)
        r.identity = [world.tensors.get(id(t)) for t in leaves]
        r.without = [before[id(t)] is None for t in leaves]
        r.shared = self.sharing(run.tensors, place_of)
        written = {program.origin[n.ins[0]] for n in rec.nodes if n.kind == "write"}
        r.written = [i for i, n in enumerate(outside) if n in written]
        r.writes = bool(r.written)           # (also those that bump no version)
        r.expect([a for _, a in given])
        r.given = [(place, Type.of(a)) for place, a in given]
        self.check(r, rec, program, draws.values(), outside, values)
        r.backward = back
        r.boxed = results.boxed
        saved = {} if back is None else {n: back.history.cells[n] for n in back.saved if n not in rec.outside}
        r.cell_of, saved, r.cells = results.cells(rec.outside, place_of, saved)
        if back is not None:
            back.cells, back.history.cells = saved, None
        rec.before.clear()
        return r

    @staticmethod
    def sharing(tensors, place_of):
        """Pairs of places of the tensors that are around one array (`x` and `x.detach()`)."""
        first, pairs = {}, []
        for t in tensors:
            other = first.setdefault(id(t._array), t)
            if other is not t:
                pairs.append((place_of(other), place_of(t)))
        if any(None in pair for pair in pairs):
            raise Refused("a gradient and another tensor are one array")
        return pairs

    def left(self, run, results, swapped):
        """What the run changed in Python's state: (kind, owner, name, new value as a recipe), and what it appended to lists."""
        effects, growths = [], []
        for grown, _ in swapped.lists:
            if grown.read:
                self.fixed.add((id(grown.real), None))
                self.loose -= self.fixed
                raise Refused("it reads a list that it appends to")
            growths.append((grown.real, [results.describe(x) for x in grown.added]))
        known = {id(real) for real, _ in growths}
        changes = run.world.changes()
        for kind, owner, name, _, new in changes:
            if name is None or kind not in SETTABLE or owner is getattr(os.environ, "_data", None):
                self.loosen(changes)
            if name is None or kind not in SETTABLE or owner is getattr(os.environ, "_data", None):
                raise Refused(f"it changes Python's state: {run.world.said(kind, owner)}")
            effects.append((kind, owner, name, results.describe(new)))
        known |= {(id(owner), name) for _, owner, name, _ in effects}
        filled, boxes = {}, {id(x): i for i, x in enumerate(run.boxes) if type(x) is not tuple}
        for kind, owner, name, _, _ in run.whole.changes():
            if id(owner) in boxes and id(owner) not in run.world.seen and id(owner) not in filled:
                filled[id(owner)] = boxes[id(owner)], results.contents(owner)
            elif id(owner) not in known and (id(owner), name) not in known and id(owner) not in filled:
                raise Refused(f"it changes Python's state: {run.whole.said(kind, owner)}")
        return effects, growths, list(filled.values())

    def check(self, r, rec, program, generators, outside, values):
        """The program against the run that was recorded, on copies of what that was given."""
        if self.verify == "off" or r.pattern:        # (copies of what overlaps would not overlap)
            return
        first = {}
        for n in rec.nodes:
            if n.kind == "draw":
                first.setdefault(id(n.attrs["generator"]), n.value)
        after = [(g, g._seed, g._offset) for g in generators]
        for g in generators:
            g._seed, g._offset = first[id(g)]
        try:
            given = [rec.before[n] if rec.before[n].strides == rec.arrays[n].strides else _laid(rec.before[n], rec.arrays[n]) for n in outside]
            env = program(given)
        except Miss:
            raise Refused("a replay of the very same run goes another way") from None
        finally:
            for g, seed, offset in after:
                g._seed, g._offset = seed, offset
        for n in values:
            if not same_bits(env[n], rec.arrays[n]):
                raise Refused("a replay gives other bits for a result: please report this")
        for n, a in zip(outside, given):
            if not same_bits(a, rec.arrays[n]):
                raise Refused("a replay writes other bits to a tensor from outside: please report this")

    def forget(self, key):
        """Make room for another kind of arguments."""
        for held in (self.table, self.alive, self.refused, self.tries):
            held.pop(key, None)
        self._ready, self.armed = None, []

    def give_up(self, key, reason):
        """Calls of this kind run eagerly from now on."""
        self.refused[key] = reason
        self.say(reason)

    def say(self, reason):
        """Warn, once, that calls run eagerly."""
        if self.strict:
            raise TraceError(f"{self.name()} cannot be compiled: {reason}")
        if not self.warned:
            self.warned = True
            warnings.warn(f"{self.name()} runs eagerly: {reason}", TraceWarning, stacklevel=_depth())

    def name(self):
        code = getattr(self.fn, "__code__", None)
        place = f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else ""
        return f"{getattr(self.fn, '__qualname__', type(self.fn).__name__)}{place}"

    # ---- telling -----------------------------------------------------------------------------------------------------
    def explain(self, data=False):
        """What was recorded, what was fused, what runs eagerly and why: as text, or as a dict."""
        return explain.facts(self) if data else explain.explain(self)

    def show(self, path=None):
        """Write a page with the newest recording's graph, as recorded and as it runs; gives the path (of a new file where none is given; one
        that ends in .svg becomes the pictures alone)."""
        return show.show(self, path)

    def _repr_html_(self):
        return show.page(self)

    @property
    def recorded(self):
        """The graph of the newest recording as it was recorded (see `whet.ir.graph`); None where there is none."""
        return next((explain.graphs(self, *x)[0] for x in explain.recordings(self)), None)

    @property
    def graph(self):
        """The graph of the newest recording as it runs, after all passes; None where there is none."""
        return next((explain.graphs(self, *x)[1] for x in explain.recordings(self)), None)


quick.begin(Traced, Traced._call)


def _depth():
    """How far up the stack the user's call is, for a warning of the caller."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and ours(frame.f_code):
        frame, depth = frame.f_back, depth + 1
    return depth


def _laid(copy, like):
    from .program import template
    out = template(like)
    np.copyto(out, copy)
    return out


class _Places:
    """Where a replay finds a tensor that was there before a run."""

    def __init__(self, run, borrowed):
        self.argument, self.known, self.borrowed = {id(t): i for i, t in enumerate(run.leaves)}, run.whole.tensors, borrowed
        self.owner = {id(g): t for t, g in zip(run.tensors, run.grads) if g is not None}

    def __call__(self, t):
        if id(t) in self.argument:
            return "argument", self.argument[id(t)]
        if id(t) in self.owner and id(t) in self.known:
            owner = self(self.owner[id(t)])
            return None if owner is None else ("grad", owner)
        return ("object", t) if id(t) in self.known or id(t) in self.borrowed else None


@functools.cache
def _telling():
    return ladder.telling(Traced)


def trace(fn=None, example_inputs=None, *, strict=False, verify="first"):
    """A function that records itself and replays the recording, with the results and effects of eager mode to the bit.

    >>> import whet
    >>> @whet.jit.trace
    ... def f(x):
    ...     return (x * 2 + 1).tanh()
    >>> f(whet.zeros(2)), f(whet.ones(2))
    (tensor([0.7616, 0.7616]), tensor([0.9951, 0.9951]))

    `strict=True` raises where the function cannot be compiled, in place of running it eagerly. `example_inputs` (a tensor or a tuple of
    arguments) are for a first call at once; they are not needed. `verify="off"` leaves out the comparison of a new program with the run
    that it was made from.
    """
    if fn is None:
        return functools.partial(trace, strict=strict, verify=verify)
    if verify not in ("first", "off"):
        raise ValueError(f'trace(): verify is "first" or "off", not {verify!r}')
    if not callable(fn):
        raise TypeError(f"trace(): expected a function, got {type(fn).__name__}")
    traced = fn if isinstance(fn, Traced) else (Traced if not ladder.LEVEL else _telling())(fn, strict, verify)
    if example_inputs is not None:
        traced(*example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,))
    return traced
