"""The rows of a table that launch a program, build its results and lay them into Python's state, in machine code alone."""
import ctypes as C

import numpy as np
from whet.cpu import entries

from ..program.native_runner import machine
from .native_entry import L
from .table_rows import No

AS = {} if L is None else {np.dtype(np.float64): L.AS_FLOAT, np.dtype(np.int64): L.AS_INT}       # numbers that the state gets


def simple(r):
    """Is a replay nothing but one list of launches, and views?"""
    return not (r.writes or r.bumps or r.grads or r.backward or r.acts or r.marks or r.program.draws) and r.program.launches_and_views is not None


def left_by(r):
    """What a replay makes for Python's state, as recipes: for its places, then for the lists that grow."""
    return [*(spec for _, spec in r.effects), *(spec for _, grown in r.growths for spec in grown)]


class Steps:
    """The steps that build results and what is laid into Python's state. (A class, not closures: those would hold the recording in a circle.)"""

    def __init__(self, t, r, leaves, fresh, where):
        self.t, self.arrays, self.leaves, self.fresh, self.where = t, r.program.arrays, leaves, fresh, where
        self.shown, self.build, self.made, self.hidden, self.sources = r.program.shown, [], {}, [], []
        self.free, self.views = set(fresh.values()), len(fresh)          # arrays that are in no tensor; how many tensors there may be

    def add(self, spec):
        """One more recipe."""
        (kind, what), t, leaves, fresh, made, build = spec, self.t, self.leaves, self.fresh, self.made, self.build
        if kind == "value":
            k, number, dead, base, rg = what
            if k in made:
                build.extend([L.ONCE_MORE, made[k], 0])
                return
            if dead is not None:
                raise LookupError
            if base is None and not rg and number in fresh:
                made[k] = self.take(number)
                build.extend([L.NEW, made[k], 0])
            else:
                self.view(k, number, base, rg)
        elif kind == "item" and what in fresh and self.arrays[what].dtype in AS:
            build.extend([AS[self.arrays[what].dtype], self.take(what), 0])
        elif kind == "item" and self.where.get(what, ("",))[0] == "argument" and leaves.number[self.where[what][1]]:
            build.extend([L.ARGUMENT, leaves.order.index(self.where[what][1]), 0])
        elif kind == "again":
            build.extend([L.ONCE_MORE, made[what], 0])
        elif kind == "const":
            build.extend([L.CONST, t.id(what), 0])
        elif kind == "place" and what[0] == "argument" and not leaves.number[what[1]]:
            build.extend([L.ARGUMENT, leaves.order.index(what[1]), 0])
        elif kind == "place" and what[0] == "object":
            build.extend([L.CONST, t.id(what[1]), 0])
        elif kind in (list, tuple):
            what = what[1] if kind is list else what
            for x in what:
                self.add(x)
            build.extend([L.PAIR if kind is tuple else L.SERIES, len(what), 0])
        elif kind is dict:
            _, what = what
            at = len(t["keys"])
            t["keys"].extend(t.id(k) for k, _ in what)
            for _, x in what:
                self.add(x)
            build.extend([L.TABLE, len(what), at])
        else:
            raise LookupError

    def take(self, number):
        """Which of the fresh arrays a value is, that no other tensor has."""
        self.free.remove(self.fresh[number])
        return self.fresh[number]

    def array(self, n):
        """Where the array of a value is found that was not made by the call's Python, as a pair."""
        if n in self.fresh:
            return L.FRESH, self.fresh[n]
        kind, what = self.where[n]
        if kind == "argument":
            number = L.FLOAT_LEAF if self.arrays[n].dtype == np.float64 else L.INT_LEAF
            return number if self.leaves.number[what] else L.LEAF, self.leaves.order.index(what)
        if kind == "object":
            return L.OBJECT, self.t.id(what)
        raise LookupError

    def view(self, k, number, base, rg):
        """A tensor that is a view, of a tensor that may be seen through it alone."""
        root, offset, a = self.shown[number]
        of = L.NEW, 0                        # none
        if base is not None:
            if base[0] == "value" and base[1][0] not in self.made:
                self.add(base)
                self.build[-3] = {L.NEW: L.HIDDEN, L.VIEW: L.HIDDEN_VIEW}[self.build[-3]]
                self.hidden.append(self.made[base[1][0]])
            at = len(self.build)
            self.add(("again", base[1][0]) if base[0] == "value" else base)
            of = self.build[at:at + 2]
            del self.build[at:]
        source = self.array(root)
        if a.ndim > L.MAX_DIMS or source[0] in (L.FLOAT_LEAF, L.INT_LEAF):
            raise LookupError
        if source[0] != L.FRESH:
            if source not in self.sources:
                self.sources.append(source)
            source = L.SEEN, self.sources.index(source)
        self.made[k] = self.views
        self.views += 1
        self.build.extend([L.VIEW, self.made[k], len(self.t["views"])])
        rest = [0] * (L.MAX_DIMS - a.ndim)
        self.t["views"].extend([*source, *of, rg, self.t.id(a.dtype), a.ndim, offset, *a.shape, *rest, *a.strides, *rest])

    def done(self):
        """Let go of what the results hold alone, or nothing does."""
        for i in self.hidden:
            self.build.extend([L.DROP, i, 0])
        for i in sorted(self.free):
            self.build.extend([L.DROP_ARRAY, i, 0])


def launch(t, r, leaves):
    """The header's words for a recording that is one list of launches; None for others."""
    p = r.program
    if not simple(r) or r.cells:
        return None
    fresh = {}
    for number in p.fresh:
        a = p.arrays[number]
        if not a.contiguous or a.ndim > L.MAX_DIMS:
            return None
        fresh[number] = len(fresh)
        rest = [0] * (L.MAX_DIMS - a.ndim)
        t["fresh"].extend([t.id(a.dtype), a.ndim, int(entries.row_major(a)), *a.shape, *rest, *a.strides, *rest])
    moving = []
    long, words, length, passed = p.launches_and_views
    where = {n: place for n, (place, _) in zip(p.outside, r.given)}
    try:
        steps = Steps(t, r, leaves, fresh, where)
        for spec in (*left_by(r), r.results):
            steps.add(spec)
        steps.done()
        rows = [spot.write_row(t) for spot, _ in r.effects]
        if any(type(real) is not list for real, _ in r.growths):
            raise LookupError
        rows += [(L.END, t.id(real), 0) for real, grown in r.growths for _ in grown]
        for n in passed[:-1] if p.arena else passed:         # (the last is the arena)
            moving += steps.array(n)
    except (LookupError, No):
        t.forget("keys", "views", "fresh")
        return None
    if max(steps.views, len(steps.sources)) > L.MAX_FRESH or len(moving) // 2 > L.MAX_MOVING or len(steps.build) // 3 > L.MAX_OBJECTS:
        t.forget("keys", "views", "fresh")
        return None
    t["build"].extend(steps.build)
    t["moving"].extend(moving)
    t["sources"].extend(w for source in steps.sources for w in source)
    t["left"].extend(w for row in rows for w in row)
    return dict(kind=L.LAUNCH, busy=r.lock.at, fresh=len(fresh), moving=len(moving) // 2, build=len(steps.build) // 3, left=len(rows),
                sources=len(steps.sources), program=machine()[0], list=words, length=length, away=int(long), arena=p.arena,
                stopped=C.addressof(p.stopped) if p.checks else 0)
