"""How often numbers occur, and how many elements lie in each of some equal intervals."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import SIZE, fold, load, store
from whet.passes.lower_llvm.rows.select import count
from whet.passes.lower_llvm.scalar import COMPUTE, convert

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

EXACT = 1 << 52                  # a double of so much and a whole number has that in its low bits


def emit_numbers(mod: Module, symbol: str, dtype: str, total: str, weighted: bool) -> None:
    """Slots: numbers of an integer type, sums (of the type `total`, as many as numbers to count),
    how many numbers there are, how many sums, whether those begin at zero or as they are, and if
    `weighted` weights of the sums' type, or else each is one; there is one unit of work. A number
    that is out of range is not counted."""
    f = mod.kernel(symbol)
    args = f.args[0]
    x, sums = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    n, size, from_zero = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3, 4))
    weights = f.load("ptr", f.at(args, 5, "i64")) if weighted else None
    zero, unit = (f.const(COMPUTE[total], x) for x in (0, 1))

    def clear() -> None:
        f.loop(0, size, 1, lambda i: store(f, total, zero, f.bytes_at(sums, i * SIZE[total])))

    def one(i: Val) -> None:
        number = convert(f, load(f, dtype, f.bytes_at(x, i * SIZE[dtype]), 0), dtype, "i64")
        own = unit if weights is None else load(
            f, total, f.bytes_at(weights, i * SIZE[total]), 0)

        def add() -> None:
            p = f.bytes_at(sums, number * SIZE[total])
            store(f, total, load(f, total, p, 0) + own, p)
        f.if_(f.cmp("ult", number, size), add)
    f.if_(f.cmp("ne", from_zero, 0), clear)
    f.loop(0, n, 1, one)


class Intervals:
    """Elements of a type, taken as doubles, a vector of them at a time."""

    def __init__(self, f: Fn, dtype: str, x: Val, n: Val) -> None:
        self.f, self.dtype, self.x, self.n = f, dtype, x, n
        self.lanes = targets.current().lanes(8)
        self.line = f.alloca("i64", self.lanes)

    def element(self, i: Val, lanes: int) -> Val:
        x = load(self.f, self.dtype, self.f.bytes_at(self.x, i * SIZE[self.dtype]), lanes)
        return convert(self.f, x, self.dtype, "f64")

    def ends(self) -> list[Val]:
        """(the least element, the greatest, something that is 0 where all are finite)"""
        f, whole = self.f, self.n & -self.lanes

        def join(f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
            return [f.sel(f.cmp("olt", a[0], b[0]), a[0], b[0]),
                    f.sel(f.cmp("ogt", a[1], b[1]), a[1], b[1]), a[2] + b[2]]

        def of(lanes: int) -> Callable[..., list[Val]]:
            def one(i: Val, *seen: Val) -> list[Val]:
                x = self.element(i, lanes)
                return join(f, seen, [x, x, x - x])
            return one
        nothing = [f.const(vec("double", self.lanes), x)
                   for x in (float("inf"), float("-inf"), 0.0)]
        seen = fold(f, join, [f.loop(0, whole, self.lanes, of(self.lanes), nothing)])
        return f.loop(whole, self.n, 1, of(0), seen)

    def count(self, counts: Val, low: Val, high: Val, bins: Val) -> None:
        """Count elements from low to high, and behind the intervals those outside."""
        f, W, whole = self.f, self.lanes, self.n & -self.lanes
        number = f.conv("sitofp", bins, "double")

        def place(x: Val) -> Val:
            inside = f.cmp("oge", x, low) & f.cmp("ole", x, high)
            k = f.intr("floor", (x - low) / f.splat(high - low, x.lanes) * number)
            k = f.sel(f.cmp("olt", k, number), k, number - 1.0)
            k = f.sel(inside, k, number)
            return f.bitcast(k + float(EXACT), vec("i64", x.lanes)) & (EXACT - 1)

        def group(i: Val) -> None:
            f.store(place(self.element(i, W)), self.line)
            for j in range(W):
                count(f, counts, f.load("i64", f.at(self.line, j, "i64")))
        f.loop(0, whole, W, group)
        f.loop(whole, self.n, 1, lambda i: count(f, counts, place(self.element(i, 0))))


def emit_intervals(mod: Module, symbol: str, dtype: str) -> None:
    """How many elements are in each of some equal intervals. Slots: x (n), counts of x's type, n,
    how many intervals there are, where the first begins, where the last ends, memory for one more
    count of i64 than intervals, whether they begin and end where the elements do, and a word that
    is set where those are not finite; there is one unit of work."""
    f = mod.kernel(symbol)
    args = f.args[0]
    x, out, counts, wrong = (f.load("ptr", f.at(args, i, "i64")) for i in (0, 1, 6, 8))
    n, bins, by_elements = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3, 7))
    ends = [f.load("double", f.at(args, i, "i64")) for i in (4, 5)]
    intervals = Intervals(f, dtype, x, n)
    low, high, odd = f.if_(f.cmp("ne", by_elements, 0), intervals.ends,
                           lambda: [*ends, f.const("double", 0.0)])
    same = f.cmp("oeq", low, high)
    low, high = f.sel(same, low - 1.0, low), f.sel(same, high + 1.0, high)

    def counted() -> None:
        f.loop(0, bins + 1, 1, lambda b: f.store(f.const("i64", 0), f.at(counts, b, "i64")))
        intervals.count(counts, low, high, bins)
        f.loop(0, bins, 1, lambda b: store(
            f, dtype, convert(f, f.load("i64", f.at(counts, b, "i64")), "i64", dtype),
            f.bytes_at(out, b * SIZE[dtype])))
    f.if_(f.cmp("oeq", odd, 0.0), counted, lambda: f.store(f.const("i64", 1), wrong))
