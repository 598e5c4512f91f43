"""`jit.trace`: a function that records a real run of itself and afterwards replays it.

    key of the arguments -> recordings, each with what it read from outside (a World) and a Program

A call that no recording fits is an eager one, and is recorded. Whatever cannot be recorded runs eagerly, with one warning that says why.
"""
import collections
import dataclasses
import functools
import math
import os
import sys
import threading
import types
import warnings
from operator import attrgetter, is_
from time import perf_counter

import numpy as np
from whet import devices, dtypes, random
from whet.autograd import modes
from whet.autograd.node import OutputOf, edge_of, next_number
from whet.cpu import pool
from whet.ir.graph import text
from whet.ops.registry import view_of
from whet.tensor import Size, Tensor, wrap
from whet.tensor_base import Base

from . import quick
from .backward import Backward, same_bits
from .history import saved_by
from .program import Miss, Program
from .quick import MISSED, gone
from .record import Recorder, Refused, Watch, escaped
from .world import PLAIN, Unwatchable, World, ours

_array, _flags, _grad, _extra = map(attrgetter, ("_array", "_rg", "_grad", "_extra"))
TRIES = 3                        # recordings of one key that may fail before it is given up
PATHS = 8                        # recordings of one key
TRIED = 20                       # calls after which it is known whether a replay is faster than an eager call
KEYS = 32                        # kinds of arguments


class _Switch(threading.local):
    off = False                  # is tracing turned off on this thread?


_switch = _Switch()
_OFF = os.environ.get("WHET_JIT") == "0"


class TraceWarning(UserWarning):
    """A traced function runs eagerly, and why."""


class TraceError(RuntimeError):
    """The same with `strict=True`."""


class disable:
    """Inside, traced functions run eagerly: `with jit.disable():`."""

    def __enter__(self):
        self._before = _switch.off
        _switch.off = True

    def __exit__(self, *exc):
        _switch.off = self._before


# ---- arguments and results as leaves -----------------------------------------------------------------------------------
def flatten(x, leaves, others):
    """A hashable description of an argument. Tensors go to `leaves`, objects that are known by identity only to `others`."""
    t = type(x)
    if isinstance(x, Base):
        for i, y in enumerate(leaves):
            if y is x:
                return i
        a = x._array
        leaves.append(x)
        return (t, a.dtype, a.shape, a.strides, x._rg, x._grad is None, x._node is None, x._base is None, a.flags.num, bool(x._extra))
    if t in PLAIN:
        return t, repr(x) if t in (float, complex) else x
    if t in (list, tuple):
        return t, tuple([flatten(y, leaves, others) for y in x])
    if t in (dict, collections.OrderedDict):
        return t, tuple([(flatten(k, leaves, others), flatten(v, leaves, others)) for k, v in x.items()])
    if isinstance(x, tuple) and (hasattr(t, "_fields") or t is Size):
        return t, tuple([flatten(y, leaves, others) for y in x])
    if t is slice:
        return t, tuple([flatten(y, leaves, others) for y in (x.start, x.stop, x.step)])
    if t is range:
        return t, x.start, x.stop, x.step
    if isinstance(x, np.generic):
        return t, x.dtype, x.tobytes()
    if dataclasses.is_dataclass(x) and not isinstance(x, type) and t.__hash__ is None:
        others.append(t)
        return t, tuple([(k, flatten(v, leaves, others)) for k, v in vars(x).items()])
    others.append(x)
    return t, id(x)


class Dead:
    """The history of a result that has been differentiated and freed: its op, and the leaves that it led to."""

    def __init__(self, node, place_of):
        self.op = (node.parent if type(node) is OutputOf else node).op
        self.name, self.places, seen, stack = self.op.name, [], set(), [node]
        while stack:
            for e in stack.pop().edges:
                if e is not None and id(e) not in seen:
                    seen.add(id(e))
                    if not isinstance(e, Base):
                        stack.append(e)
                    elif place_of(e) is not None:
                        self.places.append(place_of(e))


class _Results:
    """What a run returned, as a recipe: the tensors in it by value number or by where they came from."""

    def __init__(self, rec, place_of, before):
        self.rec, self.place_of, self.before = rec, place_of, before
        self.values, self.index, self.tensors = [], {}, []
        self.alive = []                      # results through which gradients flow to tensors from outside

    def describe(self, x):
        t = type(x)
        if isinstance(x, Base):
            return self.tensor(x)
        if t in PLAIN or isinstance(x, dtypes.dtype | devices.device | types.FunctionType | type | np.dtype):
            return "const", x
        if id(x) in self.before:
            raise Refused(f"it returns a {t.__name__} that was there before")
        if t in (list, tuple):
            return t, [self.describe(y) for y in x]
        if isinstance(x, tuple):
            if t.__name__ == "Size":
                return "const", x
            if hasattr(t, "_fields"):
                return "fields", (t, [self.describe(y) for y in x])
        if t in (dict, collections.OrderedDict) and all(type(k) in PLAIN for k in x):
            return t, [(k, self.describe(v)) for k, v in x.items()]
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            return "object", (t, [(k, self.describe(v)) for k, v in vars(x).items()])
        if t.__module__.startswith("whet") and isinstance(x, tuple):
            return "fields", (t, [self.describe(y) for y in x])
        raise Refused(f"it returns a {t.__qualname__}")

    def tensor(self, x):
        if id(x) in self.index:
            return "again", self.index[id(x)]
        place = self.place_of(x)
        if place is not None:
            return "place", place
        if type(x) is not Tensor:
            raise Refused(f"it returns a {type(x).__name__}")
        n = self.rec.value(x)
        if x._extra:
            raise Refused("it returns a tensor with hooks")
        dead = None
        if x.requires_grad:
            if x._node is None:
                dead = "leaf"
            elif _alive(x._node):
                dead = len(self.alive)       # which of the node's outputs it is
                self.alive.append(x)
            else:
                dead = Dead(x._node, self.place_of)
        base = None
        if x._base is not None:
            owner = self.rec.outside.get(self.rec.memory.get(n, n))
            of = owner is not None and owner._base is x._base and self.place_of(x._base) is None and self.place_of(owner)
            base = ("place", ("base", of)) if of else self.tensor(x._base)
        self.index[id(x)] = len(self.tensors)
        self.tensors.append(x)
        self.values.append(n)
        return "value", (len(self.tensors) - 1, n, dead, base, x._rg)

    def cells(self, outside, place_of, saved):
        """The cells that count versions, by number: {result: cell}, {saved value: cell} (where `saved` are the latter themselves), and of each
        its version at the end, or the place of the tensor from outside that it belongs to. A result that is alone with its cell has none."""
        known = {id(t._cell): place_of(t) for t in outside.values() if t._cell is not None}
        held = {k: t._cell for k, t in enumerate(self.tensors) if t._base is None and t._cell is not None}
        users = collections.Counter(map(id, (*held.values(), *saved.values())))
        held = {k: c for k, c in held.items() if c.v or id(c) in known or users[id(c)] > 1}
        every = {id(c): known.get(id(c), c.v) for c in (*held.values(), *saved.values())}
        return {k: id(c) for k, c in held.items()}, {n: id(c) for n, c in saved.items()}, every


def _alive(node):
    """Can a gradient still flow from this node to a leaf?"""
    stack, seen = [node], set()
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if getattr(n, "released", False):
            continue
        for e in n.edges:
            if isinstance(e, Base):
                return True
            if e is not None:
                stack.append(e)
    return False


class Recording:
    """One way through the function: when it fits, and what to do."""

    def __init__(self, world, program, tensors, given, results, grads, bumps, draws):
        self.world, self.program, self.given, self.results = world, program, given, results
        self.grads, self.bumps, self.draws = grads, bumps, draws
        self.tensors = [t for t, _ in tensors]             # reached from outside
        self.arrays, self.flags = [t._array for t in self.tensors], [t._rg for t in self.tensors]
        self.bare = [g is None for _, g in tensors]
        self.lock, self.calls, self.missed = threading.Lock(), 0, None
        self.times, self.slow = [math.inf, math.inf], False        # seconds of a replay and of an eager call; is the latter shorter?
        self.writes, self.backward = bool(bumps), None

    def fits(self, leaves):
        """Is everything that the function read outside of its arguments as it was?"""
        known = self.world.tensors
        for t, same in zip(leaves, self.identity):
            if known.get(id(t)) is not same:
                return False
        ts = self.tensors
        if ts:
            if list(map(_flags, ts)) != self.flags or [g is None for g in map(_grad, ts)] != self.bare or any(map(_extra, ts)):
                return False
            if not all(map(is_, map(_array, ts), self.arrays)):
                if not all(a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype for a, b in zip(map(_array, ts), self.arrays)):
                    return False
                self.arrays = list(map(_array, ts))
        return self.world.difference() is None

    def replay(self, leaves):
        """The result of a call with these tensors, or MISSED."""
        try:
            if self.fits(leaves):
                return self.run(leaves)
            self.missed = self.world.difference() or "a tensor from outside was replaced"
        except Miss as e:
            self.missed = str(e) or "a tensor from outside has another layout"
        return MISSED

    def at(self, place, leaves):
        """The tensor at a place."""
        kind, what = place
        if kind == "argument":
            return leaves[what]
        if kind == "grad":
            return self.at(what, leaves)._grad
        return self.at(what, leaves)._base if kind == "base" else what

    def run(self, leaves):
        """Replay; raises Miss where a value is another."""
        given = []
        for place, array in self.given:
            t = self.at(place, leaves)
            a = None if t is None else t._array
            if a is None or a.shape != array.shape or a.strides != array.strides or a.dtype != array.dtype:
                raise Miss
            given.append(a)
        if self.writes and not self.apart(given):
            raise Miss
        before = [(g, g._seed, g._offset) for g in self.draws] if self.program.may_miss else ()
        try:
            env = self.program(given)
        except Miss:
            for g, seed, offset in before:
                g._seed, g._offset = seed, offset
            raise
        for place, writer in self.bumps:
            self.at(place, leaves)._bump(writer)
        made = {"cells": {}}
        b = self.backward
        if b is not None:
            outside = {n: self.at(place, leaves) for n, (place, _) in zip(self.program.outside, self.given)}
            tie = functools.partial(self.tie, made["cells"], leaves)
            made["exits"] = b.exits(b.node(env, [self.at(place, leaves) for place in b.places], outside, tie))
        for place, spec in self.grads:
            self.at(place, leaves)._grad = None if spec is None else self.make(spec, env, leaves, made)
        return self.make(self.results, env, leaves, made)

    def tie(self, cells, leaves, t, number):
        """Give a tensor a version cell; `cells` are those of this call so far."""
        cell = cells.get(number)
        if cell is None:
            version = self.cells[number]
            cell = cells[number] = t._shared() if type(version) is int else self.at(version, leaves)._shared()
            if type(version) is int:
                cell.v = version
        t._cell = cell

    def expect(self, given):
        """Note which of the arrays that are written overlap with which of all."""
        self.pattern = _overlaps(given, self.written)
        fixed = [i for i, (place, _) in enumerate(self.given) if place[0] == "object"]
        self.fixed = [(i, given[i]) for i in fixed]
        self.loose = [i for i in range(len(given)) if i not in set(fixed)]
        self.memory = {_memory(given[i]) for i in self.written if i in set(fixed)}
        self.alone = not any({i, k} - set(fixed) for i, k in self.pattern)

    def apart(self, given):
        """Do the arrays overlap just as they did? Those that are the very same objects do; the others are mostly alone in their memory."""
        if self.alone and all(given[i] is a for i, a in self.fixed):
            seen = set(self.memory)
            for i in self.loose:
                m = _memory(given[i])
                if m in seen:
                    break
                seen.add(m)
            else:
                return True
        return _overlaps(given, self.written) == self.pattern

    def make(self, spec, env, leaves, made):
        kind, what = spec
        if kind == "value":
            k, n, dead, base, rg = what
            if k in made:
                return made[k]
            a = env[n]
            if base is None:
                t = wrap(a)
                t._rg = rg & ~1
                if k in self.cell_of:
                    self.tie(made["cells"], leaves, t, self.cell_of[k])
            else:
                t = view_of(self.make(base, env, leaves, made), a)
                t._rg = rg & ~1
            if dead == "leaf":
                t._rg |= 1
            elif type(dead) is int:
                t._rg |= 1
                t._node = made["exits"][self.backward.exit[dead]]
            elif dead is not None:
                t._rg |= 1
                t._node = gone(dead.op, [self.at(place, leaves) for place in dead.places])
            made[k] = t
            return t
        if kind == "again":
            return made[what]
        if kind == "const":
            return what
        if kind == "place":
            return self.at(what, leaves)
        if kind in (list, tuple):
            return kind([self.make(x, env, leaves, made) for x in what])
        if kind == "fields":
            t, fields = what
            got = [self.make(x, env, leaves, made) for x in fields]
            return t._make(got) if hasattr(t, "_make") else t(got)
        if kind == "object":
            t, fields = what
            x = object.__new__(t)
            for k, v in fields:
                object.__setattr__(x, k, self.make(v, env, leaves, made))
            return x
        return kind((k, self.make(v, env, leaves, made)) for k, v in what)


def _memory(a):
    """What owns an array's memory."""
    while True:
        b = a.obj if type(a) is memoryview else getattr(a, "base", None)
        if b is None:
            return id(a)
        a = b


def _overlaps(arrays, written):
    """Which of the written arrays share memory with which of all."""
    return tuple([(i, k) for i in written for k, b in enumerate(arrays) if k != i and np.may_share_memory(arrays[i], b)])


class Traced:
    """A function that is recorded and replayed. See `trace`."""
    _traces = True

    def __init__(self, fn, strict=False, verify="first"):
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.strict, self.verify = fn, strict, verify
        self.alive = {}                      # key -> objects whose ids it holds
        self.table, self.tries, self.refused = {}, collections.Counter(), {}
        self.slow = None                     # first argument's type and size for which eager is faster
        self.quick = None                    # (a function, a lock, the recording): the short way of the newest recording that has one
        self.why, self.warned, self.lock = None, False, threading.Lock()
        self.bound = None

    def __get__(self, owner, cls=None):
        if owner is None:
            return self
        return functools.partial(self, owner)

    def __call__(self, /, *args, **kwargs):
        slow = self.slow
        if slow is not None and args and not kwargs and type(args[0]) in (Tensor, slow[0]) and args[0]._array.size == slow[1]:
            return self.fn(*args)
        short = self.quick
        if short is not None and not kwargs and not _switch.off:
            call, lock, r = short
            if r.calls < TRIED:
                out = self.trial(r, args, kwargs, lambda: call(args))
            elif lock.acquire(False):        # one call at a time works in a program's memory
                try:
                    out = call(args)
                finally:
                    lock.release()
                r.calls += 1
            else:
                out = MISSED
            if out is not MISSED:
                return out
        state = modes.state
        if state.flags & modes.SPECIAL or _switch.off or _OFF:
            return self.fn(*args, **kwargs)
        leaves, others = [], []
        try:
            key = (tuple([flatten(x, leaves, others) for x in args]), flatten(kwargs, leaves, others) if kwargs else None,
                   state.flags, dtypes.get_default_dtype(), pool._threads)
            paths = self.table.get(key)
        except TypeError:                    # a key that cannot be hashed
            return self.fn(*args, **kwargs)
        if paths is not None:
            for r in paths:
                if not r.slow:
                    out = self.trial(r, args, kwargs, lambda: r.replay(leaves))
                    if out is not MISSED:
                        return out
            if any(r.slow for r in paths):
                return self.fn(*args, **kwargs)
        if key in self.refused or not self.lock.acquire(False):
            return self.fn(*args, **kwargs)
        try:
            return self.record(key, leaves, others, args, kwargs)
        finally:
            self.lock.release()

    def trial(self, r, args, kwargs, replay):
        """A call by a recording. The first ones are timed, and a few are made eagerly: whichever is faster goes on."""
        n, t = r.calls, perf_counter()
        eager = TRIED - 4 <= n < TRIED
        if eager:
            out = self.fn(*args, **kwargs)
        elif not r.lock.acquire(False):
            return MISSED
        else:
            try:
                out = replay()
            finally:
                r.lock.release()
            if out is MISSED:
                return out
        if n < TRIED:
            r.times[eager] = min(r.times[eager], perf_counter() - t)
        r.calls = n + 1
        if n + 1 == TRIED and r.times[1] < 0.95 * r.times[0]:
            r.slow = True
            if self.quick is not None and self.quick[2] is r:
                self.quick = None
            if args and isinstance(args[0], Base) and not kwargs and all(x.slow for rs in self.table.values() for x in rs):
                self.slow = type(args[0]), args[0]._array.size
        return out

    # ---- recording ---------------------------------------------------------------------------------------------------
    def record(self, key, leaves, others, args, kwargs):
        """Run eagerly and write down what happens."""
        if key not in self.table and len(self.table) >= KEYS:
            self.say(f"it is called with more than {KEYS} kinds of arguments (numbers among them count as kinds)")
            return self.fn(*args, **kwargs)
        paths = self.table.setdefault(key, [])
        self.alive.setdefault(key, others)   # the key may hold their ids
        if len(paths) >= PATHS or len(paths) >= TRIES and not any(r.calls for r in paths):
            self.give_up(key, f"it was recorded {len(paths)} times for arguments of this kind, and each time something that it read "
                              f"(a value of a tensor, a number from outside) was another: {paths[0].missed}")
            self.table[key] = []
            return self.fn(*args, **kwargs)
        try:
            world = World(self.fn, others)
            whole = World(self.fn, [*others, *leaves, *args, *kwargs.values()])
        except Unwatchable as e:
            self.give_up(key, str(e))
            return self.fn(*args, **kwargs)
        state = modes.state
        tensors = list(whole.tensors.values())
        grads = {id(t): t._grad for t in tensors}
        looks = {id(t): (id(t._array), t._rg, id(t._node), id(t._base), bool(t._extra)) for t in tensors}
        settings = state.flags, dtypes.get_default_dtype(), pool._threads
        generator = random.default_generator
        start = generator._seed, generator._offset
        rec, first = Recorder(tensors), next_number()
        watch = Watch(whole.codes, rec.refuse)
        state.observers += (rec,)
        modes.refresh()
        try:
            with watch:
                out = self.fn(*args, **kwargs)
        finally:
            state.observers = tuple(o for o in state.observers if o is not rec)
            modes.refresh()
        try:
            self.finish(first, args, kwargs, key, rec, world, whole, leaves, tensors, grads, looks, settings, start, out, paths)
        except (Refused, Unwatchable) as e:
            self.tries[key] += 1
            self.why = str(e)
            if self.strict:
                raise TraceError(f"{self.name()} cannot be compiled: {e}") from None
            if self.tries[key] >= TRIES:
                self.give_up(key, str(e))
        return out

    def finish(self, first, args, kwargs, key, rec, world, whole, leaves, tensors, grads, looks, settings, start, out, paths):
        """Make a recording of a run, or say why not."""
        if rec.reason:
            raise Refused(rec.reason)
        if (modes.state.flags, dtypes.get_default_dtype(), pool._threads) != settings:
            raise Refused("it changes a setting")
        changed = whole.difference()
        if changed:
            raise Refused(f"it changes Python's state: {changed}")
        for t in tensors:
            if looks[id(t)] != (id(t._array), t._rg, id(t._node), id(t._base), bool(t._extra)):
                raise Refused("it changes what a tensor from outside is (its memory, history, hooks or requires_grad)")
        drawn = sum(n.op.blocks(n.attrs["shape"]) for n in rec.nodes if n.kind == "draw" and n.attrs["generator"] is random.default_generator)
        if (random.default_generator._seed, random.default_generator._offset - drawn) != start:
            raise Refused("it moves the random number generator")
        argument = {id(t): i for i, t in enumerate(leaves)}
        grad_of = {id(grads[id(t)]): t for t in tensors if grads[id(t)] is not None}

        def place_of(t):
            if id(t) in argument:
                return "argument", argument[id(t)]
            if id(t) in grad_of and id(t) in whole.tensors and not any(t is x for x in world.tensors.values() if x is not t):
                owner = place_of(grad_of[id(t)])
                return None if owner is None else ("grad", owner)
            return ("object", t) if id(t) in whole.tensors else None
        results = _Results(rec, place_of, whole.seen)
        effects = []
        for t in tensors:
            if t._grad is not grads[id(t)]:
                effects.append((place_of(t), None if t._grad is None else results.tensor(t._grad)))
        spec = results.describe(out)
        back, values = None, list(results.values)
        if results.alive:
            edges = {}
            for t in tensors:
                e = edge_of(t)
                if e is not None:
                    edges.setdefault(id(e), place_of(t))
            try:
                back = Backward(rec, results.alive, results.values, first, lambda e: edges.get(id(e)))
            except (Miss, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError) as e:
                raise Refused(f"its backward cannot be recorded: {e}") from None
            values += [n for n in back.saved if n not in rec.outside]
        kept = [*results.tensors, *(t._base for t in results.tensors if t._base is not None), *saved_by([t._node for t in results.alive], first)]
        kept = {id(t) for t in kept}
        others = [t for t in rec.made if id(t) not in kept]
        rec.made.clear()
        loose = escaped(others)
        if loose is not None:
            raise Refused(f"a tensor of shape {list(loose.shape)} that it made is still in use afterwards, but not returned")
        outside = list(rec.outside)
        program = Program(rec.nodes, rec.arrays, outside, values)
        counted = {id(t._cell): t for t in rec.outside.values() if t._cell is not None}        # (`.data` has a counter of its own)
        bumps = [(place_of(counted[id(n.value)]), n.op.name + "_") for n in rec.nodes if n.kind == "write" and id(n.value) in counted]
        given = [(place_of(rec.outside[n]), rec.arrays[n]) for n in outside]
        draws = {id(n.attrs["generator"]): n.attrs["generator"] for n in rec.nodes if n.kind == "draw"}
        r = Recording(world, program, [(t, grads.get(id(t))) for t in world.tensors.values()], given, spec, effects, bumps,
                      list(draws.values()))
        r.identity = [world.tensors.get(id(t)) for t in leaves]
        written = {program.origin[n.ins[0]] for n in rec.nodes if n.kind == "write"}
        r.written = [i for i, n in enumerate(outside) if n in written]
        r.expect([a for _, a in given])
        self.check(r, rec, program, draws.values(), outside, values)
        r.backward = back
        saved = {} if back is None else {n: back.history.cells[n] for n in back.saved if n not in rec.outside}
        r.cell_of, saved, r.cells = results.cells(rec.outside, place_of, saved)
        if back is not None:
            back.cells, back.history.cells = saved, None
        rec.before.clear()
        paths.insert(0, r)
        self.why = None
        short = quick.make(r, leaves, args, kwargs, settings[0])
        if short is not None:
            self.quick = short, r.lock, r

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
        paths = [{"calls": r.calls, "nodes": len(r.program.recorded), "after": len(r.program.nodes), "launches": r.program.launches,
                  "python": [str(n) for n in r.program.called], "guards": len(r.world.places), "tensors": len(r.tensors),
                  "slower": r.slow, "microseconds": [round(t * 1e6, 2) for t in r.times],
                  "writes": len(r.bumps), "graph": text(r.program.nodes, r.program.arrays)} for rs in self.table.values() for r in rs]
        facts = {"name": self.name(), "paths": paths, "refused": next(iter(self.refused.values()), None), "kinds": len(self.table)}
        if data:
            return facts
        out = [f"{facts['name']}: {len(paths)} recording(s)" + (f"; runs eagerly: {facts['refused']}" if facts["refused"] else "")]
        for p in paths:
            out.append(f"  {p['nodes']} primitives -> {p['after']} nodes, {p['launches']} kernel launches, {len(p['python'])} Python steps; "
                       f"{p['guards']} places and {p['tensors']} tensors guarded; replayed {p['calls']} time(s)"
                       + ("; eager is faster, and is what runs: " if p["slower"] else "; ")
                       + f"{p['microseconds'][0]} us replayed, {p['microseconds'][1]} us eager")
            out += ["    " + line for line in p["graph"].splitlines()]
        return "\n".join(out)

    @property
    def graph(self):
        """The text of the newest recording's graph."""
        for rs in self.table.values():
            for r in rs:
                return text(r.program.nodes, r.program.arrays)
        return ""


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
    traced = fn if isinstance(fn, Traced) else Traced(fn, strict, verify)
    if example_inputs is not None:
        traced(*example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,))
    return traced
