"""A recording: one way through a traced function, when it fits, and what a replay does."""
import functools
import types
from operator import attrgetter, is_

import numpy as np
from whet.autograd.node import next_number
from whet.cpu import heap
from whet.ir.graph import Type
from whet.ir.spans import address, span
from whet.ops.registry import view_of
from whet.tensor import wrap

from ..capture.varying_numbers import FACTS, tensor_of
from ..effects.result_recipes import Dead
from ..gradient.freed_graphs import Pit
from ..guards import native_entry, native_table, table_index
from ..guards.native_entry import MISSED
from ..guards.places import Change
from ..policy.timing import Trial
from ..program.program import Miss
from ..report.reasons import Changed, Misses, Reason, Replaced

_array, _flags, _grad, _extra = map(attrgetter, ("_array", "_rg", "_grad", "_extra"))
_refreshed = attrgetter("requires_grad")     # (asking brings a view up to date with its base)


STRAYED = 2                      # calls of other sizes that go another way: more are recorded in full at once, if few go its way
BASE, NODE = 1 << 14, 1 << 10    # bytes of a recording, and of one of its operations, about


class Recording:
    """One way through the function: when it fits, and what to do."""

    def __init__(self, world, program, tensors, given, results, grads, bumps, draws, left):
        self.world, self.program, self.given, self.results = world, program, given, results
        self.grads, self.bumps, self.draws = grads, bumps, draws
        # what is laid where in Python's state, what is appended to lists, and what containers among the arguments hold afterwards
        self.left = self.effects, self.growths, self.filled = left
        self.settings = None                 # that calls begin with: what gradients are for, the default type, threads (they are in the key)
        self.marks = ()                      # (place, flags) of leaves that require a gradient afterwards, or no longer do
        self.positions = None                # of the random numbers that it draws, and where it leaves generators
        self.tensors = [t for t, _ in tensors]             # reached from outside
        self.arrays, self.flags = [t._array for t in self.tensors], [t._rg for t in self.tensors]
        self.bare, self.extras = [g is None for _, g in tensors], [t._extra for t in self.tensors]
        self.lock, self.missed = native_entry.latch(), Misses()
        self.counted = self.renewed = self.misses = 0    # calls that Python counted, for which the table was made anew, that it did not fit
        self.ready = self.passed = None      # see quick.table, quick.bypass
        self.followed = self.strayed = 0     # calls of other sizes that went its way, or another
        self.unsettled = True                # may some of its kernels have been compiled in haste?
        self.entered = 0                     # calls that are in the policy's account
        self.kind = self.key = None          # of calls that it is for: the policy's, and in the table of recordings
        self.size, self.finger, self.indexed = 0, 0, None    # bytes that it takes; see quick.Index: what it is found by, and what is there
        self.trial, self.slow = Trial(), False       # is an eager call shorter than a replay?
        self.doubtful = False                # could another thread have done what this does? Then it is recorded once more before it is used
        self.told = self.checks = None       # what the recorder was told; when it is compared with a new recording (see recheck.py)
        self.writes, self.backward = False, None
        self.acts, self.only_acts = (), True # what is done outside of Python's state (see outside_calls.py); is that all that a call does?
        self.inputs = []                     # of the leaves, which are around NumPy arrays that the function reaches from outside, too
        self.views = [t for t in self.tensors if t._base is not None]
        self.shapes, self.sized = (), None   # of the tensors among the arguments; where the user's code was told a size (see sizes.py)
        self.within = []                     # the containers among the arguments that the function reaches from outside, too; None for others
        self.shared = []                     # places of tensors around one array: to the recorder one value

    @property
    def calls(self):
        """How often it was replayed, or eager in its place."""
        return self.counted + sum(table_index.calls(x) for x in (self.ready, self.passed) if x is not None)

    def prepare(self, args, kwargs, given):
        """Make the table for calls like this one, which fits; not each time where it keeps changing."""
        n = self.renewed = self.renewed + 1
        if n & n - 1:
            return False
        if self.ready is not None:
            self.counted += table_index.calls(self.ready)
            self.ready = None
        self.ready = native_table.table(self, args, kwargs, given)
        self.finger = table_index.fingerprint(args, kwargs, given.numbers)
        self.limit()
        return True

    @property
    def leads(self):
        """Do calls of other sizes mostly go its way?"""
        return self.strayed < STRAYED or self.followed > self.strayed

    def led(self, followed):
        """A call of other sizes went its way, or did not; the answer is given back."""
        self.followed, self.strayed = self.followed + followed, self.strayed + (not followed)
        return followed

    def programs(self):
        """What it runs, its backward included."""
        return [self.program, *(way.program for way in (self.backward.ways.values() if self.backward is not None else ()))]

    @property
    def hasty(self):
        """The keys of kernels that may be compiled in haste so far."""
        return {key for p in self.programs() for key in p.hasty}

    def settle(self):
        """Have the kernels of its programs compiled well."""
        self.unsettled = False
        for p in self.programs():
            p.settle()

    def weigh(self):
        """The bytes that it takes, about."""
        return BASE + sum(NODE * (len(p.recorded) + len(p.nodes)) + sum(a.nbytes for a in p.keep if type(a) is np.ndarray) for p in self.programs())

    def limit(self):
        """Machine code makes the calls until the next one that is timed or recorded again."""
        for table, at in (self.ready, min(self.trial.at, self.checks.at)), (self.passed, self.trial.at):
            if table is not None:
                table_index.limit(table, at - self.calls + table_index.calls(table))

    def bypass(self, fn, first):
        """A table for calls like this one that are eager, as that is faster."""
        if self.passed is not None:
            self.counted += table_index.calls(self.passed)
        self.passed = table_index.bypass(fn, first)
        self.limit()
        return self.passed

    def reach(self, leaves):
        """The tensors with those of the slots; None where one of these is of another kind."""
        for s in self.world.slots:
            t = s.fetch(self.world.tensors, leaves)
            if t is None:
                self.missed.add(Changed(self.world, Change(*s.cells[0]), "is of another kind"))
                return None
            leaves = [*leaves, t]
        return leaves

    def fits(self, leaves, boxes=()):
        """Is everything that the function read outside of its arguments as it was?"""
        known, inputs = self.world.tensors, self.world.inputs
        if inputs and not all(map(is_, [inputs.get(id(t._array)) for t in leaves], self.inputs)):
            return False
        if boxes and not all(map(is_, map(self.world.seen.get, map(id, boxes)), self.within)):
            return False
        for t, same in zip(leaves, self.identity):
            if known.get(id(t)) is not same:
                return False
        ts = self.tensors
        for t in self.views:
            _refreshed(t)
        if ts:
            if list(map(_flags, ts)) != self.flags or [g is None for g in map(_grad, ts)] != self.bare \
                    or not all(map(is_, map(_extra, ts), self.extras)):
                return False
            if not all(map(is_, map(_array, ts), self.arrays)):
                if not all(a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype for a, b in zip(map(_array, ts), self.arrays)):
                    return False
                self.arrays = list(map(_array, ts))
                self.program.forget()
        for place, other in self.shared:
            t, u = self.at(place, leaves), self.at(other, leaves)
            if t is None or u is None or t._array is not u._array:
                return False
        return self.world.difference() is None

    def unlike(self):
        """In what a tensor from outside, or an argument, is not as it was."""
        for t, a, flags, bare, extra in zip(self.tensors, self.arrays, self.flags, self.bare, self.extras):
            if t._array is not a and (t._array.shape, t._array.dtype) != (a.shape, a.dtype):
                return Replaced(t, f"is {Type.of(t._array)}, not {Type.of(a)}", self.world)
            if t._rg != flags:
                return Replaced(t, "no longer asks for gradients as it did", self.world)
            if (t._grad is None) != bare:
                return Replaced(t, "has no gradient, as it had" if t._grad is None else "has a gradient, as it had not", self.world)
            if t._extra is not extra:
                return Replaced(t, "has other hooks", self.world)
        return Reason("an argument is a tensor that the function reaches from outside, too, or no longer is one")

    def replay(self, leaves, boxes=()):
        """The result of a call with these tensors and containers, or MISSED."""
        leaves = self.reach(leaves)
        if leaves is None:
            return MISSED
        try:
            if self.fits(leaves, boxes):
                return self.run(leaves, boxes)
            self.missed.add(self.world.difference() or self.unlike())
        except Miss as e:
            self.missed.add(e.reason if e.reason.what else "a tensor has another layout, or overlaps with another one otherwise")
        return MISSED

    def at(self, place, leaves):
        """The tensor at a place."""
        kind, what = place
        if kind == "argument":
            return leaves[what]
        if kind == "grad":
            return self.at(what, leaves)._grad
        if kind in FACTS:
            return tensor_of(FACTS[kind](self.at(what, leaves)))
        if kind == "data":
            return self.at(what, leaves).data
        return self.at(what, leaves)._base if kind == "base" else what

    def arrays_of(self, leaves):
        """What the program is given; raises Miss where it is laid out otherwise than when it was recorded."""
        given = []
        for place, array in self.given:
            t = self.at(place, leaves)
            a = None if t is None else t._array
            if a is None or a.shape != array.shape or a.strides != array.strides or a.dtype != array.dtype or place[0] == "grad" and t._rg:
                raise Miss
            given.append(a)
        if self.writes and not self.apart(given):
            raise Miss
        return given

    def run(self, leaves, boxes=()):
        """Replay; raises Miss where a value is another."""
        given = self.arrays_of(leaves)
        for c in self.acts:
            if not c.ready() or not (self.only_acts or c.calm()):
                raise Miss("what the function prints, logs or warns would go another way")
        before = [(g, g._seed, g._offset) for g in self.draws] if self.program.may_miss else ()
        try:
            env = self.program(given)
        except Miss:
            for g, seed, offset in before:
                g._seed, g._offset = seed, offset
            raise
        for place, writer in self.bumps:
            self.at(place, leaves)._bump(writer)
        for place, flags in self.marks:
            self.at(place, leaves)._rg = flags
        made = {"boxes": boxes, "cells": {}}
        b = self.backward
        if b is not None:
            outside = {n: self.at(place, leaves) for n, (place, _) in zip(self.program.outside, self.given)}
            tie = functools.partial(self.tie, made["cells"], leaves)
            node = b.node(env, [self.at(place, leaves) for place in b.places], outside, tie)
            made["exits"], made["number"] = b.exits(node), node.seq
        grads = [(self.at(place, leaves), None if spec is None else self.make(spec, env, leaves, made)) for place, spec in self.grads]
        left = [self.make(spec, env, leaves, made) for _, spec in self.effects]
        added = [[self.make(spec, env, leaves, made) for spec in specs] for _, specs in self.growths]
        filled = [self.make(spec, env, leaves, made) for _, spec in self.filled]
        out = self.make(self.results, env, leaves, made)
        acted = [[self.make(spec, env, leaves, made) for spec in c.specs] for c in self.acts]
        for t, g in grads:                   # (until here those that were there before are)
            t._grad = g
        for (spot, _), value in zip(self.effects, left):
            spot.put(value)
        for (real, _), values in zip(self.growths, added):
            real += values
        for (i, _), values in zip(self.filled, filled):
            boxes[i].clear()
            boxes[i].extend(values) if type(boxes[i]) is list else boxes[i].update(values)
        for c, args in zip(self.acts, acted):
            c.does(*args, **c.kwargs)
        return out

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
        self.loose = [(i, i in self.written) for i in range(len(given)) if i not in set(fixed)]
        self.memory = {_memory(given[i]) for i in self.written if i in set(fixed)}
        self.around = {_memory(a) for _, a in self.fixed}
        self.moving_overlap_nothing = None not in self.around and not any({i, k} - set(fixed) for i, k, _ in self.pattern)

    def apart(self, given):
        """Do the arrays overlap just as they did? Those that are the very same objects do; the others are mostly alone in their memory."""
        if self.moving_overlap_nothing and all(given[i] is a for i, a in self.fixed):
            seen = set(self.memory)
            for i, changes in self.loose:
                m = _memory(given[i])
                if m is None or m in seen or changes and m in self.around:
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
            if type(dead) is Dead and dead.exit is not None:
                dead = dead.exit
            if dead == "leaf":
                t._rg |= 1
            elif type(dead) is int:
                t._rg |= 1
                t._node = made["exits"][self.backward.exit[dead]]
            elif dead is not None:
                t._rg |= 1
                pit = made["pit"] = made.get("pit") or Pit(made.get("number") or next_number())
                t._node = pit.edge(dead, [None if place is None else self.at(place, leaves) for place in dead.places])
            made[k] = t
            return t
        if kind == "again":
            return made[what]
        if kind == "const":
            return what
        if kind == "place":
            return self.at(what, leaves)
        if kind is tuple:
            x = made[id(what)] = tuple([self.make(x, env, leaves, made) for x in what])
            return x
        if kind == "same":
            return made[id(what)]
        if kind == "item":
            return env[what].item()
        if kind == "array":                  # of NumPy's, or one of its numbers
            what, plain = what
            a = self.at(what, leaves)._array if type(what) is tuple else env[what]
            return a if plain else a[()]
        if kind == "box":
            return made["boxes"][what]
        if kind is list:
            k, what = what
            x = made[k] = []                 # (it may hold itself)
            x += [self.make(y, env, leaves, made) for y in what]
            return x
        if kind == "slice":
            x = made[id(what)] = slice(*[self.make(x, env, leaves, made) for x in what])
            return x
        if kind == "set":
            k, t, what = what
            x = made[k] = t(what)
            return x
        if kind == "fields":
            t, fields = what
            got = [self.make(x, env, leaves, made) for x in fields]
            x = made[id(what)] = t._make(got) if hasattr(t, "_make") else t(got)
            return x
        if kind == "text":
            return "".join([x if type(x) is str else format(self.make(x[0], env, leaves, made), x[1]) for x in what])
        if kind == "named":
            t, fields, held = what
            x = made[id(what)] = t._make([self.make(y, env, leaves, made) for y in fields])
            x.__dict__.update([(k, self.make(v, env, leaves, made)) for k, v in held])
            return x
        if kind == "entries":
            return {self.make(k, env, leaves, made): self.make(v, env, leaves, made) for k, v in what}
        if kind == "cell":
            k, what = what
            x = made[k] = types.CellType()
            for y in what:
                x.cell_contents = self.make(y, env, leaves, made)
            return x
        if kind == "function":
            k, code, names, cells, held = what
            own = {c[0]: c[1] for kind, c in cells if kind == "cell"}        # variables of its own, of which one may be itself
            made.update((c, types.CellType()) for c in own)
            closure = [made[c[0]] if kind == "cell" else self.make((kind, c), env, leaves, made) for kind, c in cells]
            x = made[k] = types.FunctionType(code, names, closure=tuple(closure) or None)
            for c, contents in own.items():
                for y in contents:
                    made[c].cell_contents = self.make(y, env, leaves, made)
            for name, y in held:
                setattr(x, name, self.make(y, env, leaves, made))
            return x
        if kind == "object":
            k, t, own, fields, entries = what
            x = made[k] = own.__new__(t)
            for k, v in fields:
                object.__setattr__(x, k, self.make(v, env, leaves, made))
            for k, v in entries:
                own.__setitem__(x, k, self.make(v, env, leaves, made))
            return x
        k, what = what
        x = made[k] = kind()
        x.update([(k, self.make(v, env, leaves, made)) for k, v in what])
        return x


def _memory(a):
    """What an array's memory belongs to, by its id; None where something else may lead to the same memory (another library, say)."""
    while type(a) is np.ndarray and a.base is not None:
        a = a.base
    return id(a) if type(a) is np.ndarray and a.flags.owndata or type(a) is heap.Block else None


def _overlaps(arrays, written):
    """Which of the written arrays share memory with which of all, and how far apart they begin."""
    spans = sorted([(*span(a), i) for i, a in enumerate(arrays) if a.size])
    written, found, open_ = set(written), [], []
    for low, high, i in spans:
        open_ = [(end, k) for end, k in open_ if end > low]
        for _, k in open_:
            found += [(a, b, address(arrays[b]) - address(arrays[a])) for a, b in ((i, k), (k, i)) if a in written]
        open_.append((high, i))
    return tuple(sorted(found))
