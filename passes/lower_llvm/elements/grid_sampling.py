"""Weighted sums of a few elements at given places of planes, and their two transposes.

Planes x[n, c, :] of S elements, places k_t[n, p] and weights w_t[n, p] for each of T taps:

    sums      out[n, c, p] = sum over t of w_t[n, p] * x[n, c, k_t[n, p]]
    products  out_t[n, p]  = sum over c of g[n, c, p] * x[n, c, k_t[n, p]]
    spread    out[n, c, s] = sum over p, t with k_t[n, p] = s of w_t[n, p] * g[n, c, p]

For a place that is not in 0 ... S - 1 nothing is read and nothing added, whatever its weight. Each
sum is one chain of fused multiply-adds from +0: over t, over c, over p and in it t.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import targets
from ..builder import BYTES, Fn, Module, Val, vec

BLOCK = 512             # places that a unit of `sums` and `products` does


class Taps:
    """The function of a kernel and its words: the array that is read, the taps' places, their
    weights or results, the result; the sizes C, S, P."""

    def __init__(self, module: Module, symbol: str, elem: str, taps: int, weights: int,
                 sources: int) -> None:
        self.f: Fn = module.kernel(symbol)
        self.elem, self.lanes = elem, targets.current().lanes(BYTES[elem])
        self.ty = vec(elem, self.lanes)
        f, args = self.f, self.f.args[0]
        pointers = [f.load("ptr", f.at(args, k, "i64"), 8)
                    for k in range(sources + taps + weights)]
        self.sources, rest = pointers[:sources], pointers[sources:]
        self.places, self.weights = rest[:taps], rest[taps:]
        at = sources + taps + weights
        self.channels, self.size, self.count = (
            f.load("i64", f.at(args, at + k, "i64"), 8) for k in range(3))
        self.args_after = at + 3

    def planes(self, x: Val) -> Callable[[Val, Val], Val]:
        """The plane of an image and a channel of x, whose steps are the last two arguments."""
        f = self.f
        image, channel = (f.load("i64", f.at(f.args[0], self.args_after + k, "i64"), 8)
                          for k in range(2))
        return lambda n, c: f.at(x, n * image + c * channel, self.elem)

    def picked(self, plane: Val, place: Val, inside: Val) -> Val:
        """The elements of a plane at these places; zero for places that do not exist."""
        f = self.f
        addresses = f.v(vec("ptr", self.lanes),
                        f"getelementptr {self.elem}, ptr {plane.ref}, {place.ty} {place.ref}")
        return f.gather(self.ty, addresses, inside)

    def tap(self, t: int, at: Val, mask: Val) -> tuple[Val, Val]:
        """(places of a tap, which of them there are)"""
        f = self.f
        place = f.mload(vec("i32", self.lanes), f.at(self.places[t], at, "i32"), mask)
        most = f.splat(f.conv("trunc", self.size, "i32"), self.lanes)
        return place, f.binary("and", f.cmp("ult", place, most), mask)

    def each_block(self, body: Callable[[Val, Val, Val], None]) -> None:
        """body(n, first, end) for each block of places that a call does."""
        f = self.f
        blocks = f.sdiv(self.count + (BLOCK - 1), BLOCK)

        def unit(u: Val) -> None:
            n, b = f.sdiv(u, blocks), f.srem(u, blocks)
            start = b * BLOCK
            body(n, start, f.imin(start + BLOCK, self.count))
        f.loop(f.args[1], f.args[2], 1, unit)


def sums(module: Module, symbol: str, elem: str, taps: int, weighted: bool) -> None:
    """Arguments: x, out, places, weights (none where not `weighted`), C, S, P, and the elements of
    x from one n to the next and from one c to the next. A unit is a block of places of one n."""
    k = Taps(module, symbol, elem, taps, taps if weighted else 0, 2)
    f, (x, out) = k.f, k.sources
    plane_of = k.planes(x)

    def block(n: Val, begin: Val, end: Val) -> None:
        def channel(c: Val) -> None:
            row = n * k.channels + c
            plane, target = plane_of(n, c), f.at(out, row * k.count, elem)

            def vector(p: Val) -> None:
                mask, total = f.lanes_below(end - p, k.lanes), f.const(k.ty, 0)
                for t in range(taps):
                    at = n * k.count + p
                    place, inside = k.tap(t, at, mask)
                    got = k.picked(plane, place, inside)
                    more = f.fma(got, f.mload(k.ty, f.at(k.weights[t], at, elem), mask),
                                 total) if weighted else total + got
                    total = f.sel(inside, more, total)
                f.put(mask, (total, f.at(target, p, elem)))
            f.loop(begin, end, k.lanes, vector)
        f.loop(0, k.channels, 1, channel)
    k.each_block(block)


def products(module: Module, symbol: str, elem: str, taps: int) -> None:
    """Arguments: x, g, places, the result of each tap, C, S, P, and the elements of x from one n to
    the next and from one c to the next. A unit is a block of places of one n."""
    k = Taps(module, symbol, elem, taps, taps, 2)
    f, (x, g) = k.f, k.sources
    plane_of = k.planes(x)

    def block(n: Val, begin: Val, end: Val) -> None:
        def vector(p: Val) -> None:
            mask, at = f.lanes_below(end - p, k.lanes), n * k.count + p
            found = [k.tap(t, at, mask) for t in range(taps)]

            def channel(c: Val, *totals: Val) -> Sequence[Val]:
                plane = plane_of(n, c)
                slope = f.mload(k.ty, f.at(g, (n * k.channels + c) * k.count + p, elem), mask)
                return [f.fma(k.picked(plane, *where), slope, total)
                        for where, total in zip(found, totals, strict=True)]
            made = f.loop(0, k.channels, 1, channel, [f.const(k.ty, 0)] * taps)
            f.put(mask, *[(y, f.at(to, at, elem)) for y, to in zip(made, k.weights, strict=True)])
        f.loop(begin, end, k.lanes, vector)
    k.each_block(block)


def spread(module: Module, symbol: str, elem: str, taps: int, weighted: bool) -> None:
    """Arguments: g, out, places, weights (none where not `weighted`), C, S, P. A unit is a
    plane."""
    k = Taps(module, symbol, elem, taps, taps if weighted else 0, 2)
    f, (g, out) = k.f, k.sources

    def plane(row: Val) -> None:
        target, source = f.at(out, row * k.size, elem), f.at(g, row * k.count, elem)
        first = f.sdiv(row, k.channels) * k.count
        zero = f.as_val(0.0, elem)
        whole = f.binary("and", k.size, -k.lanes)
        f.loop(0, whole, k.lanes, lambda s: f.store(f.const(k.ty, 0), f.at(target, s, elem)))
        f.loop(whole, k.size, 1, lambda s: f.store(zero, f.at(target, s, elem)))

        def point(p: Val) -> None:
            slope = f.load(elem, f.at(source, p, elem))
            for t in range(taps):
                place = f.conv("sext", f.load("i32", f.at(k.places[t], first + p, "i32")), "i64")
                weight = f.load(elem, f.at(k.weights[t], first + p, elem)) if weighted else None
                f.if_(f.cmp("ult", place, k.size), lambda place=place, weight=weight: _add(
                    f, f.at(target, place, elem), slope, weight))
        f.loop(0, k.count, 1, point)
    f.loop(f.args[1], f.args[2], 1, plane)


def _add(f: Fn, place: Val, slope: Val, weight: Val | None) -> None:
    old = f.load(slope.ty, place)
    f.store(old + slope if weight is None else f.fma(slope, weight, old), place)
