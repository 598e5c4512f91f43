"""Where values belong in sorted sequences, and whether they are there.

Each search halves what is left until one element is, whatever it meets. A few values are looked for
at a time, step by step together, so that their accesses to memory do not wait for each other.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import SIZE
from whet.passes.lower_llvm.rows.order_keys import joins, key_of
from whet.passes.lower_llvm.scalar import MEMORY, widen

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

TOGETHER = 8                     # values that are looked for at a time


def keys_at(f: Fn, dtype: str, p: Val, places: Val) -> Val:
    """The keys of elements at some places."""
    raw = MEMORY[dtype]
    x = f.const(vec(raw, TOGETHER), 0)
    for j in range(TOGETHER):
        x = f.insert(x, f.load(raw, f.bytes_at(p, f.extract(places, j) * SIZE[dtype])), j)
    return key_of(f, dtype, widen(f, x, dtype))


class Search:
    """Slots: sequences (rows, n), values, a result for each value, n (at least 1), how many values
    look into each sequence, and if `has_order` positions (rows, n) that put the sequences in order;
    a unit of work is a value. `shared`: there is one sequence."""

    def __init__(self, f: Fn, dtype: str, right: bool, shared: bool, has_order: bool) -> None:
        self.f, self.dtype, self.shared = f, dtype, shared
        self.comes_before = "ule" if right else "ult"
        args = f.args[0]
        self.sequences, self.values, self.goal = (
            f.load("ptr", f.at(args, i, "i64")) for i in range(3))
        self.n, self.each = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4))
        self.order = f.load("ptr", f.at(args, 5, "i64")) if has_order else None

    def each_group(self, result: Callable[[Val, Val, Val], Val]) -> None:
        """For some values at a time: `result(keys, begins, places)` returns the vector to store,
        given where each value's sequence begins, and the value's place in it."""
        f = self.f
        _, begin, end, _ = f.args

        def group(first: Val) -> None:
            # Behind the last value, that one is looked for again.
            wanted = f.intr("smin", f.splat(first, TOGETHER) + f.iota("i64", TOGETHER),
                            f.splat(end - 1, TOGETHER))
            keys, begins = keys_at(f, self.dtype, self.values, wanted), self.begins(wanted)
            made = result(keys, begins, self.places(keys, begins))
            for j in range(TOGETHER):
                to = f.at(self.goal, f.extract(wanted, j), made.elem)
                f.store(f.extract(made, j), to)
        f.loop(begin, end, TOGETHER, group)

    def places(self, keys: Val, begins: Val) -> Val:
        """How many elements of each sequence come before each value."""
        f, ty = self.f, vec("i64", TOGETHER)

        def step(left: Val, low: Val) -> list[Val]:
            half = f.lshr(left, 1)
            # Not chosen but masked: what was foretold wrongly half of the time would cost most.
            gone = f.conv("sext", self.before(begins, low + (half - 1), keys), "i64")
            return [left - half, low + (gone & half)]
        _, low = f.while_(lambda left, _: f.cmp("sgt", left, 1), step, [self.n, f.const(ty, 0)])
        return low + f.conv("zext", self.before(begins, low, keys), "i64")

    def begins(self, wanted: Val) -> Val:
        """Where the sequences begin that values look into."""
        f = self.f
        made = f.const(wanted.ty, 0)
        if not self.shared:
            for j in range(TOGETHER):
                made = f.insert(made, f.udiv(f.extract(wanted, j), self.each) * self.n, j)
        return made

    def before(self, begins: Val, i: Val, keys: Val) -> Val:
        """Do elements i of the sequences come before the values?"""
        f = self.f
        if self.order is not None:
            at = begins + i
            for j in range(TOGETHER):
                place = f.load("i64", f.at(self.order, f.extract(at, j), "i64"))
                i = f.insert(i, f.intr("umin", place, self.n - 1), j)
        return f.cmp(self.comes_before, keys_at(f, self.dtype, self.sequences, begins + i), keys)


def emit_places(mod: Module, symbol: str, dtype: str, out: str, right: bool, shared: bool,
                has_order: bool) -> None:
    """Where values belong in sequences, as integers of the type `out`."""
    f = mod.kernel(symbol)
    search = Search(f, dtype, right, shared, has_order)
    search.each_group(lambda keys, begins, places: f.conv("trunc", places, out))


def emit_members(mod: Module, symbol: str, dtype: str, invert: bool) -> None:
    """Are values in a sequence, or if `invert` are they not? NaN is in none."""
    f = mod.kernel(symbol)
    search = Search(f, dtype, right=False, shared=True, has_order=False)

    def is_member(keys: Val, begins: Val, places: Val) -> Val:
        there = f.intr("smin", places, search.n - 1)
        found = joins(f, dtype, keys, keys_at(f, dtype, search.sequences, there))
        return f.conv("zext", ~found if invert else found, "i8")
    search.each_group(is_member)
