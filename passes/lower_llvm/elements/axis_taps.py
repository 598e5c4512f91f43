"""Weighted sums of a few slices along one dimension, all row-major:

    out[o, p, i] = sum over groups t of (sum over slots s of w[t, s, p] * x[o, k[t, s, p], i])

A slot without a place (-1) adds nothing. Products are rounded before they are added. A group's sum
is taken slot by slot, from +0 or, where each group has one slot with a place everywhere, from that;
sums of groups are added one after the other.

Arguments: x, out, places (i32) and weights as [t, s, p], the sizes O, N (of x), P and I, and how
many slots a group has.
"""
from __future__ import annotations

from collections.abc import Callable

from .. import targets
from ..builder import BYTES, Fn, Module, Val, vec


class Sums:
    """The function of a kernel and its words. `groups`: the number of groups. `weighted`: are there
    weights, or are all of them 1? `from_zero`: do the groups' sums begin at zero?"""

    def __init__(self, module: Module, symbol: str, elem: str, groups: int, weighted: bool,
                 from_zero: bool) -> None:
        self.f: Fn = module.kernel(symbol)
        self.elem, self.groups = elem, groups
        self.weighted, self.from_zero = weighted, from_zero
        self.lanes = targets.current().lanes(BYTES[elem])
        self.ty = vec(elem, self.lanes)
        f, args = self.f, self.f.args[0]
        self.x, self.out, self.places, self.weights = (
            f.load("ptr", f.at(args, k, "i64"), 8) for k in range(4))
        self.outer, self.size, self.count, self.inner, self.slots = (
            f.load("i64", f.at(args, k, "i64"), 8) for k in range(4, 9))

    def total(self, more: Callable[[Val | None, Val], Val]) -> Val:
        """The sum over all slots: `more(sum, slot)` adds a slot to the sum of its group so far,
        which is None at first."""
        total = self.part(more, 0)
        for t in range(1, self.groups):
            total = total + self.part(more, t)
        return total

    def part(self, more: Callable[[Val | None, Val], Val], group: int) -> Val:
        """The sum of a group."""
        first = self.slots * group
        if not self.from_zero:
            return more(None, first)
        part, = self.f.loop(first, first + self.slots, 1, lambda s, sum_: [more(sum_, s)],
                            [self.f.const(self.ty, 0)])
        return part

    def weighed(self, x: Val, weight: Val | None) -> Val:
        return x if weight is None else x * weight


def across(module: Module, symbol: str, elem: str, groups: int, weighted: bool,
           from_zero: bool) -> None:
    """Whole slices. A unit is an (o, p)."""
    k = Sums(module, symbol, elem, groups, weighted, from_zero)
    f = k.f

    def slice_(unit: Val) -> None:
        o, p = f.sdiv(unit, k.count), f.srem(unit, k.count)
        planes, target = f.at(k.x, o * k.size * k.inner, elem), f.at(k.out, unit * k.inner, elem)

        def vector(i: Val) -> None:
            mask = f.lanes_below(k.inner - i, k.lanes)

            def more(sum_: Val | None, slot: Val) -> Val:
                at = slot * k.count + p
                place = f.conv("sext", f.load("i32", f.at(k.places, at, "i32")), "i64")
                weight = (f.splat(f.load(elem, f.at(k.weights, at, elem)), k.lanes)
                          if weighted else None)

                def term() -> Val:
                    row = f.at(planes, place * k.inner + i, elem)
                    return k.weighed(f.mload(k.ty, row, mask), weight)
                if sum_ is None:
                    return term()
                return f.if_(f.cmp("sge", place, 0), lambda: [sum_ + term()], lambda: [sum_])[0]
            f.put(mask, (k.total(more), f.at(target, i, elem)))
        f.loop(0, k.inner, k.lanes, vector)
    f.loop(f.args[1], f.args[2], 1, slice_)


def along(module: Module, symbol: str, elem: str, groups: int, weighted: bool,
          from_zero: bool) -> None:
    """Single elements, I being one. A unit is an o."""
    k = Sums(module, symbol, elem, groups, weighted, from_zero)
    f = k.f

    def row(o: Val) -> None:
        source, target = f.at(k.x, o * k.size, elem), f.at(k.out, o * k.count, elem)

        def vector(p: Val) -> None:
            mask = f.lanes_below(k.count - p, k.lanes)

            def more(sum_: Val | None, slot: Val) -> Val:
                at = slot * k.count + p
                place = f.mload(vec("i32", k.lanes), f.at(k.places, at, "i32"), mask)
                inside = f.binary("and", f.cmp("sge", place, 0), mask)
                addresses = f.v(vec("ptr", k.lanes),
                                f"getelementptr {elem}, ptr {source.ref}, {place.ty} {place.ref}")
                term = k.weighed(f.gather(k.ty, addresses, inside), f.mload(
                    k.ty, f.at(k.weights, at, elem), mask) if weighted else None)
                return term if sum_ is None else f.sel(inside, sum_ + term, sum_)
            f.put(mask, (k.total(more), f.at(target, p, elem)))
        f.loop(0, k.count, k.lanes, vector)
    f.loop(f.args[1], f.args[2], 1, row)
