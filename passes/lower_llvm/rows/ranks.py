"""Where the elements of a short row stand in its order: each is compared with each.

Nothing but a count depends on how a comparison turns out, so that no jump is foretold wrongly.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whet.passes.lower_llvm.builder import BITS, vec

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Val
    from whet.passes.lower_llvm.rows.order_keys import RowKeys

MOST = 8                         # vectors of keys that a row may have


class Ranks:
    """The ranks of one row after the other: `read` it, then look at `each`."""

    def __init__(self, f: Fn, keys: RowKeys) -> None:
        self.f, self.keys = f, keys
        self.memory = f.alloca(keys.elem, MOST * keys.lanes)
        # as signed numbers, keys are compared more quickly
        self.sign = -1 << BITS[keys.elem] - 1

    def fits(self, n: Val, vectors: int) -> Val:
        """Does a row of n elements fit into this many vectors?"""
        return self.f.cmp("sle", n, vectors * self.keys.lanes)

    def read(self, row: Val, n: Val) -> Val:
        """Keep a row's keys; returns the number of NaN."""
        f, elem = self.f, self.keys.elem
        return self.keys.each(
            row, n, lambda u, i: f.store(u ^ self.sign, f.at(self.memory, i, elem)))[2]

    def key(self, i: Val) -> Val:
        """The key of element i."""
        elem = self.keys.elem
        return self.f.load(elem, self.f.at(self.memory, i, elem)) ^ self.sign

    def each(self, n: Val, use: Callable[[Val, Val], None]) -> None:
        """Call `use(i, ranks)` with vectors of the n elements, the last of which may reach beyond
        them. A rank is the number of elements with lesser keys, or with an equal key and a smaller
        position."""
        f, W = self.f, self.keys.lanes
        f.loop(0, n, W, lambda i: use(i, self.ranks(i, n)))

    def place(self, n: Val, rank: Val) -> Val:
        """Where the element of a rank is."""
        f, W = self.f, self.keys.lanes

        def group(i: Val, at: Val) -> list[Val]:
            hits = f.cmp("eq", self.ranks(i, n), self._all(rank)) & f.lanes_below(n - i, W)
            hits = f.conv("zext", f.bitcast(hits, f"i{W}"), "i64")
            first = f.intr("cttz", hits, f.const("i1", 0))
            return [f.sel(f.cmp("ne", hits, 0), i + first, at)]
        return f.loop(0, n, W, group, [f.const("i64", 0)])[0]

    def ranks(self, i: Val, n: Val) -> Val:
        """The ranks of the vector from element i on."""
        f, W, elem = self.f, self.keys.lanes, self.keys.elem
        own = f.load(vec(elem, W), f.at(self.memory, i, elem))

        def key(j: Val) -> Val:
            return f.splat(f.load(elem, f.at(self.memory, j, elem)), W)

        def before(j: Val) -> Val:
            return f.cmp("sle", key(j), own)

        def beside(j: Val) -> Val:
            x, later = key(j), f.cmp("sgt", f.iota(elem, W), self._all(j - i))
            return f.cmp("slt", x, own) | (f.cmp("eq", x, own) & later)

        def behind(j: Val) -> Val:
            return f.cmp("slt", key(j), own)
        end, count = f.imin(i + W, n), f.const(own.ty, 0)
        for low, high, test in ((0, i, before), (i, end, beside), (end, n, behind)):
            count, = f.loop(
                low, high, 1,
                lambda j, count, test=test: [count + f.conv("zext", test(j), elem)], [count])
        return count

    def _all(self, x: Val) -> Val:
        """A number of 64 bits in all lanes of keys' type."""
        f, elem = self.f, self.keys.elem
        return f.splat(x if elem == "i64" else f.conv("trunc", x, elem), self.keys.lanes)
