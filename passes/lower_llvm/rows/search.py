"""Where values belong in sorted sequences.

Each search halves what is left until one element is, whatever it meets. A few values are looked for
at a time, step by step together, so that their accesses to memory do not wait for each other.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.passes.lower_llvm.builder import BYTES, vec
from whet.passes.lower_llvm.rows.lanes import SIZE
from whet.passes.lower_llvm.rows.order_keys import key_of
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
    """Slots: sequences (rows, n), values, where each belongs, n (at least 1), how many values look
    into each sequence, and if `has_order` positions (rows, n) that put the sequences in order; a
    unit of work is a value. `shared`: there is one sequence. Results are of the type `out`."""

    def __init__(self, f: Fn, dtype: str, out: str, right: bool, shared: bool,
                 has_order: bool) -> None:
        self.f, self.dtype, self.out, self.shared = f, dtype, out, shared
        self.comes_before = "ule" if right else "ult"
        args = f.args[0]
        self.sequences, self.values, self.goal = (
            f.load("ptr", f.at(args, i, "i64")) for i in range(3))
        self.n, self.each = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4))
        self.order = f.load("ptr", f.at(args, 5, "i64")) if has_order else None

    def group(self, first: Val) -> None:
        """Look for some values from the first on. Behind the last, that one is looked for again."""
        f, ty = self.f, vec("i64", TOGETHER)
        wanted = f.intr("smin", f.splat(first, TOGETHER) + f.iota("i64", TOGETHER),
                        f.splat(f.args[2] - 1, TOGETHER))
        keys, begins = keys_at(f, self.dtype, self.values, wanted), self.begins(wanted)

        def step(left: Val, low: Val) -> list[Val]:
            half = f.lshr(left, 1)
            # Not chosen but masked: what was foretold wrongly half of the time would cost most.
            gone = f.conv("sext", self.before(begins, low + (half - 1), keys), "i64")
            return [left - half, low + (gone & half)]
        _, low = f.while_(lambda left, _: f.cmp("sgt", left, 1), step, [self.n, f.const(ty, 0)])
        low = low + f.conv("zext", self.before(begins, low, keys), "i64")
        for j in range(TOGETHER):
            to = f.bytes_at(self.goal, f.extract(wanted, j) * BYTES[self.out])
            f.store(f.conv("trunc", f.extract(low, j), self.out), to)

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


def emit(mod: Module, symbol: str, dtype: str, out: str, right: bool, shared: bool,
         has_order: bool) -> None:
    """Where values belong in sequences."""
    f = mod.kernel(symbol)
    _, begin, end, _ = f.args
    f.loop(begin, end, TOGETHER, Search(f, dtype, out, right, shared, has_order).group)
