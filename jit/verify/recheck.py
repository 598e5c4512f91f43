"""A call that is recorded again: does the function still do what its recording does, though nothing that is compared has changed?

What guards cannot see (a counter in an extension, a file's contents, state behind an object that nobody can walk) is found so: calls
16, 32, 64, ... of a recording are made eagerly and recorded as if for the first time, with eager's results and effects, and the two
recordings are compared: operations, their operands and numbers, results, and what is left in Python's state. Then the program in use is
run on copies of what the call was given, and must give its bits. Calls of which the comparison would cost more than a hundredth of all
calls so far are passed over, so short functions are recorded again less often than long ones.
"""
import math
import re

from whet.ir.graph import Graph, exact
from whet.ir.text import lines
from whet.tensor_base import Base

from ..effects.result_recipes import Dead
from ..guards.immutable_types import CONSTANT, PLAIN
from ..guards.spots import Spot

EARLIEST = 16                    # the first call of a recording that is recorded again
BUDGET = 0.01                    # of the time that the calls take
TIMING, SHORTEST = 2e-7, 1e-7    # seconds that timing adds to a call; a call takes so long at least
NODE = 1e-4                      # seconds that recording and comparing an operation takes, about (until it was done once)


OTHER_WAY = object()
_NUMBER = re.compile(r"%(\d+)")


class Checks:
    """When a recording is compared with a new one. `at`: after so many calls this is next done, `cost`: the seconds that it takes, `made`: how
    often it was done."""
    __slots__ = ("verify", "at", "cost", "made")

    def __init__(self, verify, cost):
        self.verify, self.cost, self.made = verify, cost, 0
        self.at = 0 if verify == "always" else math.inf

    def plan(self, calls, seconds):
        """Choose the next call after so many: a power of two, far enough that all comparisons together keep to the budget. `seconds`: those of
        a call."""
        if self.verify == "sample":
            enough = (self.made + 1) * self.cost / (BUDGET * max(seconds - TIMING, SHORTEST))
            self.at = (1 << (max(EARLIEST, calls + 2, math.ceil(enough)) - 1).bit_length()) - 1
        elif self.verify != "always":
            self.at = math.inf


class Steps:
    """What a run computed: `nodes` over `arrays` (or types). Two runs that do the same may have other numbers for their values, which get a name
    each in the order of their appearance."""

    def __init__(self, nodes, arrays):
        self.names, self.steps, g = {}, [], Graph.of(nodes, arrays, [], [])  # (text, large constants, kind, line) of each node
        for n in g.nodes:
            table: list = []
            for x in n.refs():
                self.name(int(x))
            said = "\n".join(s.partition("  # ")[0].rstrip() for s in lines([n], g.types, table=table))
            self.steps.append((_NUMBER.sub(lambda m: f"%{self.name(int(m[1]))}", said), exact(table), n.kind, n.line))

    @classmethod
    def of(cls, r):
        """Those of a recording."""
        return cls(r.program.recorded, r.program.arrays)

    def name(self, n):
        """The name of a value."""
        return self.names.setdefault(n, len(self.names))

    def numbers(self, other):
        """The number here of each value there."""
        mine = {name: n for n, name in self.names.items()}
        return {n: mine[name] for n, name in other.names.items() if name in mine}


class Account(Steps):
    """All that a run did: the values from `outside` and their places, and what a `Recording` says of its result, of what it left, of the writes
    that it counted and of the random generators that it drew from."""

    def __init__(self, nodes, arrays, outside, places, results, grads, left, bumps, draws):
        super().__init__(nodes, arrays)
        self.places = sorted(zip(map(self.name, outside), places))
        self.results, self.grads, self.left, self.bumps, self.draws = results, grads, left, bumps, draws

    @classmethod
    def of(cls, r):
        p, places = r.program, [place for place, _ in r.given]
        return cls(p.recorded, p.arrays, p.outside, places, r.results, r.grads, r.left, r.bumps, r.positions)


def parting(was, now):
    """Where a run first computed something else than the one before, in words; None where it did not as far as both go, OTHER_WAY where a value
    that Python saw was another, as a replay finds out too."""
    for a, b in zip(was.steps, now.steps):
        if a[:2] != b[:2]:
            part = " == " if a[2] in ("guard", "ask") else " : " if a[2] == "op" else None       # (an op's result may be as long as values say)
            if part and a[2] == b[2] and a[0] != b[0] and a[0].partition(part)[0] == b[0].partition(part)[0]:
                return OTHER_WAY
            return f"did {_short(b)}, not {_short(a)}" if a[0] != b[0] else f"had another constant in {_short(b)}"
    return None


def difference(was, now):
    """What a run did otherwise than the one before, in words, or None; OTHER_WAY as above."""
    found = parting(was, now)
    if found is not None:
        return found
    a, b = was.steps, now.steps
    if len(a) != len(b):
        more = max(a, b, key=len)[min(len(a), len(b))]
        return f"{'no longer did' if len(a) > len(b) else 'also did'} {_short(more)}"

    def alike(a, b):
        """Are two recipes (see `Results`) the same?"""
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        if isinstance(a, Base):              # (the function makes new ones around a NumPy array)
            return _around_one(a._array, b._array)
        if type(a) is tuple and len(a) == len(b) == 2 and a[0] == b[0] == "item":
            return was.name(a[1]) == now.name(b[1])
        if type(a) is tuple and len(a) == len(b) == 2 and a[0] == b[0] == "value":
            (k, n, *rest), (l, m, *others) = a[1], b[1]
            return k == l and was.name(n) == now.name(m) and alike(rest, others)
        if type(a) in (tuple, list):
            return len(a) == len(b) and all(map(alike, a, b))
        if type(a) is Dead:
            return a.same(b) and alike(a.places, b.places)
        return (type(a) in (*PLAIN, set, frozenset) or isinstance(a, CONSTANT)) and exact(a) == exact(b)

    def by_place(a, b):
        """Are effects on Python's state the same, in whatever order?"""
        a, b = ({(type(x), id(x.owner), exact(x.name)) if isinstance(x, Spot) else id(x): spec for x, spec in effects} for effects in (a, b))
        return a.keys() == b.keys() and all(alike(x, b[k]) for k, x in a.items())
    if not alike(was.places, now.places):
        return "read other tensors"
    if was.draws != now.draws:
        return "drew from another random number generator"
    if not alike(was.results, now.results):
        return "gave a result that is made up otherwise"
    if not alike(was.grads, now.grads):
        return "left other gradients"
    if not alike(was.bumps, now.bumps):
        return "wrote to other tensors"
    same = by_place(was.left[0], now.left[0]) and by_place(was.left[1], now.left[1]) and alike(was.left[2], now.left[2])
    return None if same else "left something else in Python's state"


def _around_one(a, b):
    """Are two arrays one, or parts of one that lie alike?"""
    return a is b or a.base is not None and a.base is b.base and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides \
        and a.__array_interface__["data"] == b.__array_interface__["data"]


def _short(step):
    """A step as one line."""
    text, _, _, line = step
    return f"`{text.splitlines()[0].strip()}`" + (f" ({line})" if line else "")
