"""Keys with their positions in order.

They are dealt into as many piles as a few bits tell apart, by the lower of the bits that matter
first. Equal ones keep their order. The upper bits nearly always decide: of n keys about n times 64
piles are looked at, and what is left is done by inserting each key among those before it. Where
that takes too long, because many keys differ in lower bits alone, they are dealt by all bits.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.order_keys import bit_length
from whet.passes.lower_llvm.rows.select import COUNTS, clear, count, digit_bits

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Val

FINER = 6                        # 2**6 piles for each key leave little to insert
MOVES = 8                        # so many moves of each key cost what dealing by all bits does
FEW = 16                         # no order of so few keys takes more moves than that


class Items:
    """Keys with positions in memory: one word each where both fit, the key in the upper half, and
    otherwise two."""

    def __init__(self, f: Fn, packed: bool) -> None:
        self.f, self.packed = f, packed
        self.ty = "i64" if packed else "<2 x i64>"
        self.size = 8 if packed else 16
        self.positions = 32 if packed else 0          # bits of a word that are the position

    def load(self, p: Val, i: Val) -> Val:
        return self.f.load(self.ty, self.f.bytes_at(p, i * self.size))

    def store(self, item: Val, p: Val, i: Val) -> None:
        self.f.store(item, self.f.bytes_at(p, i * self.size))

    def word(self, item: Val) -> Val:
        """What items are sorted by."""
        return item if self.packed else self.f.extract(item, 0)

    def key(self, item: Val) -> Val:
        """The key, as a word."""
        return self.f.lshr(item, 32) if self.packed else self.f.extract(item, 0)

    def position(self, item: Val) -> Val:
        return item & 0xFFFFFFFF if self.packed else self.f.extract(item, 1)

    def ends(self, low: Val, high: Val) -> tuple[Val, Val]:
        """The least and the greatest word that keys from low to high can have."""
        low, high = (self.f.conv("zext", key, "i64") for key in (low, high))
        return (low << 32, (high << 32) | 0xFFFFFFFF) if self.packed else (low, high)

    def put(self, keys: Val, at: Val, p: Val, i: Val) -> None:
        """Store items i and so on: a vector of keys, or one, of positions from `at` on."""
        f, n = self.f, keys.lanes
        at = f.splat(at, n) + f.iota("i64", n) if n else at
        keys = f.conv("zext", keys, "i64")
        if self.packed:
            self.store((keys << 32) | at, p, i)
            return
        if n:
            both = f.shuffle(keys, at, [j + n * k for j in range(n) for k in range(2)])
        else:
            both = f.insert(f.insert(f.const(vec("i64", 2), 0), keys, 0), at, 1)
        self.store(both, p, i)


class RadixSort:
    """Sorts items. `sort(a, b, n, low, high)` sorts n of them at `a`, whose keys lie from low to
    high, using as much memory at `b`. It returns where they are then."""

    def __init__(self, f: Fn, items: Items) -> None:
        self.f, self.items = f, items
        self.counts = [f.alloca("i64", COUNTS) for _ in range(2)]

    def sort(self, a: Val, b: Val, n: Val, low: Val, high: Val) -> Val:
        f = self.f
        low, high = self.items.ends(low, high)
        width, bits = bit_length(f, high - low), digit_bits(f, n)
        whole = self._piles(width - self.items.positions, bits)
        quick = f.sel(f.cmp("sle", n, FEW), f.const("i64", 0),
                      f.imin(whole, self._piles(bit_length(f, n) + FINER, bits)))

        def deal(rounds: Val, _: Val, a: Val, b: Val) -> list[Val]:
            base = f.imax(width - rounds * bits, self.items.positions)
            a, b = self._dealt(a, b, n, low, base, bits, rounds)
            sorted_ = f.cmp("eq", rounds, whole) & f.cmp("sgt", n, FEW)
            left, = f.if_(sorted_, lambda: [f.const("i64", 1)], lambda: [self._inserted(a, n)])
            return [whole, left, a, b]
        start = [quick, f.const("i64", 0), a, b]
        return f.while_(lambda _r, left, *_: f.cmp("eq", left, 0), deal, start)[2]

    def _piles(self, width: Val, bits: Val) -> Val:
        """The number of rounds of this many bits that cover `width` bits."""
        return self.f.udiv(width + bits - 1, bits)

    def _dealt(self, a: Val, b: Val, n: Val, low: Val, base: Val, bits: Val,
               rounds: Val) -> tuple[Val, Val]:
        """Distribute the items at `a` in this many rounds, beginning at bit `base`, using free
        memory."""
        f, items = self.f, self.items
        mask = f.binary("shl", f.const("i64", 1), bits) - 1

        def digit(item: Val, shift: Val) -> Val:
            return f.lshr(items.word(item) - low, shift) & mask

        def first() -> list[Val]:
            clear(f, self.counts[0], bits)
            f.loop(0, n, 1, lambda i: count(f, self.counts[0], digit(items.load(a, i), base)))
            return []

        def round_(k: Val, a: Val, b: Val, counts: Val, later: Val) -> list[Val]:
            shift = base + k * bits
            following = f.imin(shift + bits, 63)
            clear(f, later, bits)
            self._begins(counts, mask)

            def one(i: Val) -> None:
                item = items.load(a, i)
                p = f.at(counts, digit(item, shift), "i64")
                to = f.load("i64", p)
                f.store(to + 1, p)
                items.store(item, b, to)
                count(f, later, digit(item, following))
            f.loop(0, n, 1, one)
            return [b, a, later, counts]
        f.if_(f.cmp("sgt", rounds, 0), first)
        a, b, *_ = f.loop(0, rounds, 1, round_, [a, b, *self.counts])
        return a, b

    def _begins(self, counts: Val, last: Val) -> None:
        """How many there are in each pile become where each pile begins."""
        f = self.f

        def one(d: Val, before: Val) -> list[Val]:
            p = f.at(counts, d, "i64")
            here = f.load("i64", p)
            f.store(before, p)
            return [before + here]
        f.loop(0, last + 1, 1, one, [f.const("i64", 0)])

    def _inserted(self, a: Val, n: Val) -> Val:
        """Insert each item among those before it; how many moves of those allowed are left. None
        may be left of few items, which are in order then all the same."""
        left, = self.f.loop(1, n, 1, lambda i, left: [self.insert(a, i, left)], [n * MOVES + 1])
        return left

    def insert(self, a: Val, i: Val, moves: Val) -> Val:
        """Insert item i among those before it, which are sorted; returns how many of the allowed
        moves are left."""
        f, items = self.f, self.items
        item = items.load(a, i)
        word = items.word(item)

        def goes_up(j: Val, left: Val) -> Val:
            before = items.word(items.load(a, f.imax(j - 1, 0)))
            return f.cmp("sgt", j, 0) & f.cmp("sgt", left, 0) & f.cmp("ugt", before, word)

        def up(j: Val, left: Val) -> list[Val]:
            items.store(items.load(a, j - 1), a, j)
            return [j - 1, left - 1]

        def move() -> list[Val]:
            j, left = f.while_(goes_up, up, [i, moves])
            items.store(item, a, j)
            return [left]
        before = items.word(items.load(a, i - 1))
        return f.if_(f.cmp("ugt", before, word), move, lambda: [moves])[0]
