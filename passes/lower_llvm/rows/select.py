"""The k-th of a row's elements in order, without sorting the row.

The row's keys go to memory of their own. Their range is divided into as many intervals as a few
bits tell apart, and it is counted how many keys lie in each; those in the interval of the k-th
stay. This goes on until all that are left are equal. Among equal elements positions decide: the
row is searched for the one that is meant.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.passes.lower_llvm.builder import BYTES, vec
from whet.passes.lower_llvm.rows.lanes import SIZE
from whet.passes.lower_llvm.rows.order_keys import RowKeys, bit_length
from whet.passes.lower_llvm.rows.ranks import Ranks

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

BITS_AT_ONCE = 8                 # counts of so many intervals stay in the nearest memory
LEAST_BITS = 4                   # few keys are worth few intervals, and no less than these
COUNTS = 1 << BITS_AT_ONCE
SHORT = 4                        # vectors of keys that are compared each with each more quickly


def digit_bits(f: Fn, n: Val) -> Val:
    """How many bits of n keys to look at in one go."""
    return f.imin(f.imax(bit_length(f, n), LEAST_BITS), BITS_AT_ONCE)


def clear(f: Fn, counts: Val, bits: Val) -> None:
    """Clear the counts for this many bits."""
    zero = f.const(vec("i64", 1 << LEAST_BITS), 0)
    f.loop(0, f.binary("shl", f.const("i64", 1), bits), 1 << LEAST_BITS,
           lambda i: f.store(zero, f.at(counts, i, "i64")))


def count(f: Fn, counts: Val, digit: Val) -> None:
    """One more."""
    p = f.at(counts, digit, "i64")
    f.store(f.load("i64", p) + 1, p)


class Selection:
    """Finds the k-th of keys."""

    def __init__(self, f: Fn, elem: str) -> None:
        self.f, self.elem = f, elem
        self.counts = f.alloca("i64", COUNTS)

    def find(self, keys: Val, n: Val, k: Val, low: Val, high: Val) -> tuple[Val, Val]:
        """(the k-th of n keys in order, how many equal ones stand before it there), from 0. All
        keys lie from low to high; they are overwritten."""
        f = self.f
        _, left, low, _ = f.while_(lambda _n, _k, low, high: f.cmp("ne", low, high),
                                   lambda *state: self.closer(keys, *state), [n, k, low, high])
        return low, left

    def closer(self, keys: Val, n: Val, k: Val, low: Val, high: Val) -> list[Val]:
        """The search for the k-th key, among fewer keys: (how many, which of them, their range)."""
        f = self.f
        bits = digit_bits(f, n)
        down = f.imax(bit_length(f, f.conv("zext", high - low, "i64")) - bits, 0)

        def key(i: Val) -> Val:
            return f.load(self.elem, f.at(keys, i, self.elem))

        def digit(u: Val) -> Val:
            return f.lshr(f.conv("zext", u - low, "i64"), down)
        clear(f, self.counts, bits)
        f.loop(0, n, 1, lambda i: count(f, self.counts, digit(key(i))))

        def here(d: Val) -> Val:
            return f.load("i64", f.at(self.counts, d, "i64"))
        chosen, k = f.while_(lambda d, k: f.cmp("sge", k, here(d)),
                             lambda d, k: [d + 1, k - here(d)], [f.const("i64", 0), k])

        def keep(i: Val, kept: Val, least: Val, most: Val) -> list[Val]:
            u = key(i)
            stays = f.cmp("eq", digit(u), chosen)
            f.store(u, f.at(keys, kept, self.elem))
            return [kept + f.conv("zext", stays, "i64"),
                    f.intr("umin", least, f.sel(stays, u, -1)),
                    f.intr("umax", most, f.sel(stays, u, 0))]
        kept, low, high = f.loop(0, n, 1, keep, [f.const("i64", 0), f.const(self.elem, -1),
                                                 f.const(self.elem, 0)])
        return [kept, k, low, high]


def position(f: Fn, keys: RowKeys, row: Val, n: Val, key: Val, before: Val) -> Val:
    """The position of the element with this key that has this many equal ones before it."""
    W = keys.lanes
    last = (n & -W) - W

    def whole_vectors() -> list[Val]:
        seen: list[Val] = []

        def goes_on(i: Val, left: Val) -> Val:
            equal = f.cmp("eq", keys.at(row, f.imin(i, last), W), f.splat(key, W))
            seen[:] = [f.conv("zext", f.intr("ctpop", f.bitcast(equal, f"i{W}")), "i64")]
            return f.cmp("sle", i, last) & f.cmp("sge", left, seen[0])
        return f.while_(goes_on, lambda i, left: [i + W, left - seen[0]], start)
    start = [f.const("i64", 0), before]
    i, left = f.if_(f.cmp("sge", last, 0), whole_vectors, lambda: start)

    def other(i: Val, left: Val) -> Val:
        return f.cmp("ne", keys.at(row, i), key) | f.cmp("sgt", left, 0)

    def step(i: Val, left: Val) -> list[Val]:
        return [i + 1, left - f.conv("zext", f.cmp("eq", keys.at(row, i), key), "i64")]
    return f.while_(other, step, [i, left])[0]


def column(f: Fn, which: str, k: Val, n: Val, nans: Val) -> Val:
    """Which of a row's elements in order is asked for."""
    if which == "nth":
        return k
    if which == "nanmedian":
        return f.sel(f.cmp("slt", nans, n), f.lshr(f.imax(n - 1 - nans, 0), 1), 0)
    return f.sel(f.cmp("sgt", nans, 0), n - nans, f.lshr(n - 1, 1))


def copy_element(f: Fn, dtype: str, source: Val, i: Val, goal: Val, j: Val) -> None:
    """goal[j] = source[i], whatever the bits."""
    raw = f"i{8 * SIZE[dtype]}"
    f.store(f.load(raw, f.at(source, i, raw)), f.at(goal, j, raw))


def emit_kth(mod: Module, symbol: str, dtype: str, which: str) -> None:
    """Slots: x (rows, n), values and positions (one for each row), n, k, scratch memory, the bytes
    of it that a thread has (n keys); a unit of work is a row. `which`: "nth" (of k, from 0), or
    "median", which is the first NaN where there is one, or "nanmedian"."""
    f = mod.kernel(symbol)
    args, begin, end, worker = f.args
    x, values, positions = (f.load("ptr", f.at(args, i, "i64")) for i in range(3))
    n, k = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4))
    room = f.load("i64", f.at(args, 6, "i64"))
    mine = f.within(f.bytes_at(f.load("ptr", f.at(args, 5, "i64")), worker * room), room)
    keys = RowKeys(f, dtype)
    selection, ranks = Selection(f, keys.elem), Ranks(f, keys)

    def searched(row: Val) -> list[Val]:
        low, high, nans = keys.each(row, n, lambda u, i: f.store(
            u, f.bytes_at(mine, i * BYTES[keys.elem])))
        wanted = column(f, which, k, n, nans)
        return [position(f, keys, row, n, *selection.find(mine, n, wanted, low, high))]

    def compared(row: Val) -> list[Val]:
        wanted = column(f, which, k, n, ranks.read(row, n))
        return [ranks.place(n, wanted)]

    def one(r: Val) -> None:
        row = f.bytes_at(x, r * n * SIZE[dtype])
        at, = f.if_(ranks.fits(n, SHORT), lambda: compared(row), lambda: searched(row))
        copy_element(f, dtype, row, at, values, r)
        f.store(at, f.at(positions, r, "i64"))
    f.loop(begin, end, 1, one)
