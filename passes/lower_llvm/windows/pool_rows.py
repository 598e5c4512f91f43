"""Pools whose vectors hold neighbouring outputs of a row: for rows of pixels that lie side by side
and windows at equal distances.

A unit is a plane, a depth and some rows of outputs. An output's chain is the one of `pool`: its
taps in row-major order, sums from +0. Taps outside the row are masked; where no lane can have one,
four vectors go side by side without masks.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from ..builder import vec
from .window_tiles import Geometry, divmod_, table_at

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val

SIDE = 4  # vectors side by side
FIELDS = (
    "channels xn xc xd xh h w od oh ow step_d step_h step_w taps stride first left whole rows "
    "row_blocks z_at y_at").split()
FIELD = {name: i for i, name in enumerate(FIELDS)}


def emit(m: Module, symbol: str, elem: str, lanes: int, kind: str, stride: int, taps: int) -> None:
    """The kernel, args x, y, index, scratch (unused), geometry, divisors, as `pool` has them; units
    (plane, depth, block of rows).

    kind: one of `KINDS`. stride: that of the windows along a row if it is 1 or 2,
    else 0. taps: their columns if these are few, else 0. In the geometry `first` is the column of
    output 0's first tap, output `left` (a multiple of the lanes) the first that has no tap before
    the row, and `whole` the end of those that have none behind it.
    """
    f = m.kernel(symbol)
    args, begin, end, _ = f.args
    pointers = [f.load("ptr", f.at(args, i, "i64")) for i in range(6)]
    pool = RowPool(KINDS[kind](f, Geometry(f, args, 4, FIELD), elem, lanes, stride), pointers, taps)
    f.loop(begin, end, 1, pool.unit)


class Taps:
    """How a vector of taps is read, and how it goes into the chains of its outputs. A subclass is
    a kind of pool."""

    start: ClassVar[float]   # what a chain begins with; where there is no tap it changes no chain

    def __init__(self, f: Fn, g: Geometry, elem: str, lanes: int, stride: int) -> None:
        self.f, self.g, self.elem, self.lanes, self.stride = f, g, elem, lanes, stride
        self.vec, self.ints = vec(elem, lanes), vec("i32", lanes)
        self.both = 0, lanes - 1  # where the two vectors of a stride of 2 begin
        self.nothing = f.const(self.vec, self.start)
        self.step = f.const("i64", stride) if stride else g.stride

    def read(self, row: Val, column: Val, left: Val | None) -> Val:
        """The taps at `column` and every `step` of the row; of the first `left` outputs, if it
        is given: the rest are anything."""
        f, t, lanes = self.f, self.vec, self.lanes
        if self.stride == 1:
            p = f.at(row, column, self.elem)
            return f.load(t, p) if left is None else f.mload(t, p, f.lanes_below(left, lanes))
        if self.stride == 2:
            ps = [f.at(row, column + i, self.elem) for i in self.both]
            return self.every_second(
                [
                    f.load(t, p)
                    if left is None
                    else f.mload(t, p, f.lanes_below(left * 2 - 1 - i, lanes))
                    for i, p in zip(self.both, ps, strict=True)
                ]
            )
        return f.gather(
            t,
            self.places(row, self.columns_from(column)),
            None if left is None else f.lanes_below(left, lanes),
        )

    def below(self, columns: Val) -> Val:
        """Are columns in the row?"""
        f = self.f
        return f.cmp("ult", columns, f.splat(f.conv("trunc", self.g.w, "i32"), self.lanes))

    def inside(self, column: Val, left: Val) -> list[Val]:
        """Masks for a tap of the first `left` outputs: which lanes are inside the row and, with a
        stride of 2, in each of the two vectors."""
        lanes_ = self.below(self.columns_from(column, "i32")) & self.f.lanes_below(left, self.lanes)
        return [
            lanes_,
            *(
                [self.below(self.columns_from(column + i, "i32", 1)) for i in self.both]
                if self.stride == 2
                else []
            ),
        ]

    def read_inside(self, row: Val, column: Val, masks: Sequence[Val]) -> Val:
        """The taps inside the row. The others are replaced by a value that changes no chain (a sum
        that began at +0 is never -0)."""
        f, t = self.f, self.vec
        if self.stride == 2:
            return self.every_second(
                [
                    f.mload(t, f.at(row, column + i, self.elem), mask, other=self.nothing)
                    for i, mask in zip(self.both, masks[1:], strict=True)
                ]
            )
        if self.stride == 1:
            return f.mload(t, f.at(row, column, self.elem), masks[0], other=self.nothing)
        return f.sel(
            masks[0],
            f.gather(t, self.places(row, self.columns_from(column)), masks[0]),
            self.nothing,
        )

    def every_second(self, pair: Sequence[Val]) -> Val:
        """Every second element of two vectors, the second of which begins with the last element of
        the first."""
        first, second = pair
        return self.f.shuffle(
            first, second, [*range(0, self.lanes, 2), *range(self.lanes + 1, 2 * self.lanes, 2)]
        )

    def columns_from(self, column: Val, ints: str = "i64", step: int | None = None) -> Val:
        """`column` and every `step` from there."""
        f, lanes = self.f, self.lanes
        apart = self.step if step is None else f.const("i64", step)
        if ints == "i32":
            column, apart = f.conv("trunc", column, "i32"), f.conv("trunc", apart, "i32")
        return f.splat(column, lanes) + f.splat(apart, lanes) * f.iota(ints, lanes)

    def places(self, row: Val, columns: Val) -> Val:
        """The addresses of columns."""
        return self.f.v(
            vec("ptr", self.lanes),
            f"getelementptr {self.elem}, ptr {row.ref}, {columns.ty} {columns.ref}",
        )

    def begin(self) -> list[Val]:
        """The state of a chain before its first tap."""
        return [self.nothing]

    def number(self, z: Val, v: Val) -> Val | None:
        """The number of row v's first pixel in the plane, where the chains want to know it."""
        return None

    def joined(self, state: Sequence[Val], new: Val, column: Val, number: Val | None,
               inside: Val | None) -> list[Val]:
        """The state of a chain after one more tap. `inside` masks the lanes that have this tap."""
        raise NotImplementedError

    def row_divisor(self, pool: RowPool, oy: Val) -> Val | None:
        """The divisor that all outputs of a row share, in addition to each column's; None: there is
        none."""
        return None

    def store(self, row: Row, state: Sequence[Val], at: Val, mask: Val) -> None:
        """The outputs from column `at` of a row on, for the lanes of a mask."""
        f, pool = self.f, row.pool
        f.mstore(state[0], f.at(pool.y, row.to + at, self.elem), mask)


class Mean(Taps):
    """Sums, divided."""

    start = 0.0

    def joined(self, state: Sequence[Val], new: Val, column: Val, number: Val | None,
               inside: Val | None) -> list[Val]:
        return [state[0] + new]

    def row_divisor(self, pool: RowPool, oy: Val) -> Val | None:
        return pool.divisor(pool.oz) * pool.divisor(self.g.od + oy)

    def store(self, row: Row, state: Sequence[Val], at: Val, mask: Val) -> None:
        assert row.divisor is not None
        f, g = self.f, self.g
        column = f.at(row.pool.divisors, at + g.od + g.oh, "double")
        by = f.mload(vec("double", self.lanes), column, mask) * row.divisor
        by = f.conv("fptrunc", by, self.elem) if self.elem == "float" else by
        super().store(row, [state[0] / by], at, mask)


class Max(Taps):
    """The largest tap, or the last that is no number."""

    start = float("-inf")

    def joined(self, state: Sequence[Val], new: Val, column: Val, number: Val | None,
               inside: Val | None) -> list[Val]:
        f, best = self.f, state[0]
        larger, nan = f.cmp("ogt", new, best), f.cmp("uno", new, new)
        # the inner one is an instruction, maximum
        return [f.sel(nan, new, f.sel(larger, new, best))]


class MaxIndex(Taps):
    """The largest tap, or the last that is no number, and its place in the plane; -1 where a window
    has no taps."""

    start = float("-inf")

    def begin(self) -> list[Val]:
        return [*super().begin(), self.f.const(self.ints, -1)]

    def number(self, z: Val, v: Val) -> Val | None:
        return self.f.conv("trunc", (z * self.g.h + v) * self.g.w, "i32")

    def joined(self, state: Sequence[Val], new: Val, column: Val, number: Val | None,
               inside: Val | None) -> list[Val]:
        assert number is not None
        f, (best, pick) = self.f, state
        larger, nan = f.cmp("ogt", new, best), f.cmp("uno", new, new)
        better = larger | nan | f.cmp("slt", pick, 0)
        better = better if inside is None else better & inside
        best = f.sel(better, new, best)
        here = self.columns_from(column, "i32") + f.splat(number, self.lanes)
        return [best, f.sel(better, here, pick)]

    def store(self, row: Row, state: Sequence[Val], at: Val, mask: Val) -> None:
        super().store(row, state, at, mask)
        f = self.f
        f.mstore(f.conv("sext", state[1], "i64"), f.at(row.pool.index, row.to + at, "i64"), mask)


KINDS = {"max": Max, "max_index": MaxIndex, "mean": Mean}


class RowPool:
    """The arguments of a call, and its loops over rows and outputs."""

    def __init__(self, taps: Taps, pointers: Sequence[Val], count: int) -> None:
        self.taps, self.f, self.g, self.lanes, self.count = taps, taps.f, taps.g, taps.lanes, count
        self.x, self.y, self.index, _, _, self.divisors = pointers

    def entry(self, at: Val, size: Val, column: int, i: Val) -> Val:
        """An entry of an axis' tables."""
        return table_at(self.f, self.g.table, at + size * column + i)

    def divisor(self, i: Val) -> Val:
        """One of the divisors."""
        return self.f.load("double", self.f.at(self.divisors, i, "double"))

    def unit(self, u: Val) -> None:
        """A plane, a depth and a block of rows."""
        f, g = self.f, self.g
        rest, row_block = divmod_(f, u, g.row_blocks)
        self.plane, self.oz = divmod_(f, rest, g.od)
        image, c = divmod_(f, self.plane, g.channels)
        self.base = f.at(self.x, image * g.xn + c * g.xc, self.taps.elem)
        self.z0, self.z1 = (self.entry(g.z_at, g.od, i, self.oz) for i in (0, 1))
        oy0 = row_block * g.rows
        f.loop(oy0, f.imin(oy0 + g.rows, g.oh), 1, lambda oy: Row(self, oy).emit())


class Row:
    """A row of outputs."""

    def __init__(self, pool: RowPool, oy: Val) -> None:
        self.pool, self.taps, self.f, self.g, self.lanes = (
            pool,
            pool.taps,
            pool.f,
            pool.g,
            pool.lanes,
        )
        g = self.g
        self.y0, self.y1 = (pool.entry(g.y_at, g.oh, i, oy) for i in (0, 1))
        self.to = ((pool.plane * g.od + pool.oz) * g.oh + oy) * g.ow
        self.divisor = self.taps.row_divisor(pool, oy)

    def emit(self) -> None:
        """The outputs with taps before the row, groups of vectors without masks, then the rest."""
        f, g, lanes = self.f, self.g, self.lanes
        at = f.imin(g.left, g.ow)
        f.loop(0, at, lanes, self.edge)
        for side in (SIDE, 1):
            group = side * lanes
            to = at + f.udiv(f.imax(g.whole - at, 0), group) * group
            f.loop(at, to, group, lambda ox, side=side: self.outputs(ox, side))
            at = to
        all_inside = f.cmp("sge", g.whole, g.ow)

        def rest() -> None:  # a whole vector makes some of them again
            f.if_(
                all_inside & f.cmp("sge", g.ow - lanes, g.left),
                lambda: self.outputs(g.ow - lanes, 1),
                few,
            )

        def few() -> None:
            f.if_(
                all_inside,
                lambda: self.outputs(at, 1, g.ow - at),
                lambda: f.loop(at, g.ow, lanes, self.edge) and None,
            )

        f.if_(f.cmp("slt", at, g.ow), rest)

    def edge(self, ox: Val) -> None:
        """A vector of outputs whose taps may lie outside of the row."""
        self.outputs(ox, 1, edge=self.g.ow - ox)

    def outputs(self, ox: Val, side: int, left: Val | None = None, edge: Val | None = None) -> None:
        """`side` vectors of outputs from ox on, or the first `left` of one, or the first `edge`
        of one whose taps may not all be in the row."""
        f, pool = self.f, self.pool
        chains = Chains(self, ox, side, left, edge)
        state = f.loop(pool.z0, pool.z1, self.g.step_d, chains.depth, chains.start * side)
        chains.store(state)


class Chains:
    """The chains of some vectors of outputs, side by side."""

    def __init__(self, row: Row, ox: Val, side: int, left: Val | None,
                 edge: Val | None) -> None:
        self.row, self.pool, self.taps, self.f, self.g, self.lanes = (
            row,
            row.pool,
            row.taps,
            row.f,
            row.g,
            row.lanes,
        )
        self.ox, self.side, self.edge, self.left = ox, side, edge, left if edge is None else edge
        self.start = self.taps.begin()
        self.each, self.column = len(self.start), self.g.first + ox * self.taps.step
        self.masks = [] if edge is None else [
            self.taps.inside(self.column + self.g.step_w * k, edge) for k in range(self.pool.count)]

    def depth(self, z: Val, *state: Val) -> list[Val]:
        """The taps of one depth."""
        return self.f.loop(
            self.row.y0, self.row.y1, self.g.step_h, lambda v, *state: self.line(z, v, state), state
        )

    def line(self, z: Val, v: Val, state: Sequence[Val]) -> Sequence[Val]:
        """The taps of one row."""
        f, g = self.f, self.g
        source = f.at(self.pool.base, z * g.xd + v * g.xh, self.taps.elem)
        number = self.taps.number(z, v)
        if not self.pool.count:
            return f.loop(
                0,
                g.taps,
                1,
                lambda k, *state: self.tap(k, k * g.step_w, source, number, state),
                state,
            )
        for k in range(self.pool.count):
            state = self.tap(k, g.step_w * k, source, number, state)
        return state

    def tap(self, k: int | Val, shift: Val, source: Val, number: Val | None,
            state: Sequence[Val]) -> list[Val]:
        """One tap of all vectors."""
        after, each, taps = [], self.each, self.taps
        for s in range(self.side):
            at = self.column + shift + taps.step * (s * self.lanes)
            mine = state[s * each : s * each + each]
            if self.edge is None:
                new = taps.read(source, at, self.left)
                after += taps.joined(mine, new, at, number, None)
            else:
                masks = self.masks[k] if isinstance(k, int) else taps.inside(at, self.edge)
                new = taps.read_inside(source, at, masks)
                after += taps.joined(mine, new, at, number, masks[0])
        return after

    def store(self, state: Sequence[Val]) -> None:
        """The outputs leave."""
        f, lanes, each = self.f, self.lanes, self.each
        everywhere = (
            f.const(vec("i1", lanes), True)
            if self.left is None
            else f.lanes_below(self.left, lanes)
        )
        for s in range(self.side):
            mine = state[s * each : s * each + each]
            self.taps.store(self.row, mine, self.ox + s * lanes, everywhere)
