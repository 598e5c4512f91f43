"""Pools: a vector holds one pixel of several planes (an image's channel), so windows of any shape
and stride cost the same. Rows of pixels side by side under even windows have `pool_rows`, and the
same bits.

A unit is a vector of planes times a block of outputs. It brings the input, a chunk of rows after
another, into scratch as [pixel][plane], continues every output's chain over the window's taps in
that chunk, and at last turns the outputs back into planes. Taps are taken in row-major order, sums
start from +0: the order of a loop over the window.

Windows are described by tables: along each axis, the first tap of output i, its end, and the
distance of taps. So plain, dilated and adaptive pools are one kernel; and the gradient of an
average is a sum over the windows of the outputs that an input is in.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..builder import vec
from ..shuffles import planes_to_pixels, transpose
from .conv import lanes_for
from .window_tiles import Geometry, divmod_, load_row, table_at

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .window_tiles import Tile

    Change = Callable[[Sequence[Val], Val, Val], list[Val]]

CHUNK = 4096  # pixels of an input chunk and of an output block, at most (a row of pixels at least)
FIELDS = (
    "planes channels xn xc xd xh xw d h w od oh ow step_d step_h step_w rows cols row_blocks "
    "col_blocks chunk_rows chunk_cols scratch planes_at in_at out_at index_at z_table y_table "
    "x_table"
).split()
FIELD = {name: i for i, name in enumerate(FIELDS)}


def emit(m: Module, symbol: str, t: Tile, kind: str, near: int) -> None:
    """The kernel of a kind of `KINDS`, args x, y, index, scratch, geometry, divisors; units (vector
    of planes, depth, block of rows, block of columns).

    Divisors are f64, per axis. z_table, y_table, x_table in the geometry say where an axis' tables
    begin: first taps, ends, then the bounds without clipping.
    """
    f = m.kernel(symbol)
    pool = KINDS[kind](f, t, near)
    f.loop(f.args[1], f.args[2], 1, lambda u: Unit(pool, u).emit())


class Accumulator(NamedTuple):
    """What a chain carries from tap to tap: for each output of the block a vector of `elem` in an
    area of scratch memory, which is `start` before the first tap."""
    area: Val
    elem: str
    start: float


class Pool:
    """Pools as sums of taps: the arguments of a call, its areas of scratch memory, and the code
    that all units share. A subclass is a kind of pool."""

    start: ClassVar[float] = 0.0

    def __init__(self, f: Fn, t: Tile, near: int) -> None:
        self.f, self.t, self.near = f, t, near
        args, _, _, worker = f.args
        self.x, self.y, self.index, scratch, _, self.divisors = (
            f.load("ptr", f.at(args, i, "i64")) for i in range(6)
        )
        self.g = g = Geometry(f, args, 4, FIELD)
        mine = f.bytes_at(scratch, worker * g.scratch)
        self.planes_at, self.block, self.outs, self.picks = (
            g.area(mine, name) for name in ("planes_at", "in_at", "out_at", "index_at")
        )
        self.n = t.lanes
        self.accumulators = [Accumulator(self.outs, t.elem, self.start)]
        image = g.oh * g.ow
        self.size = g.od * image

    def entry(self, at: Val, axis_size: Val, column: int, i: Val) -> Val:
        """An entry of an axis' tables."""
        return table_at(self.f, self.g.table, at + axis_size * column + i)

    def divisor(self, i: Val) -> Val:
        """One of the divisors."""
        return self.f.load("double", self.f.at(self.divisors, i, "double"))

    def rounded(self, by: Val) -> Val:
        """A divisor in the type of the elements."""
        return self.f.conv("fptrunc", by, self.t.elem) if self.t.elem == "float" else by

    def bring(self, z: Val, y0: Val, y1: Val, x0: Val, x1: Val) -> None:
        """Rows y0..y1, columns x0..x1 of the planes at depth z into `block`."""
        self.f.loop(y0, y1, 1, lambda v: self.line(z, v, y0, x0, x1))

    def line(self, z: Val, v: Val, y0: Val, x0: Val, x1: Val) -> None:
        """Row v of them."""
        f, t, g, n = self.f, self.t, self.g, self.n
        rows = []
        for i in range(n):
            at = f.load("i64", f.at(self.planes_at, i, "i64"))
            rows.append(f.at(self.x, at + z * g.xd + v * g.xh, t.elem))
        change = self.change(z, v)
        planes_to_pixels(
            f,
            t.vec,
            rows,
            x0,
            x1,
            f.at(self.block, (v - y0) * (x1 - x0) * n, t.elem),
            lambda p, c, mask: load_row(f, t, p, c, mask, self.near, g),
            change,
        )

    def change(self, z: Val, v: Val) -> Change | None:
        """What becomes of the pixels of row v at depth z before they are taps; None: nothing."""
        return None

    def number(self, z: Val, v: Val) -> Val | None:
        """The number of row v's first pixel in the plane, where the chains want to know it."""
        return None

    def joined(self, state: Sequence[Val], new: Val, number: Val | None, c: Val) -> list[Val]:
        """A chain's state after one more tap: the pixel in column c of the row that begins at
        `number`."""
        return [state[0] + new]

    def end(self, unit: Unit) -> None:
        """The outputs of a unit, all of whose taps were taken, leave."""
        unit.back(
            self.outs,
            self.t.elem,
            lambda v, at, mask: self.f.put(mask, (v, self.f.at(self.y, at, self.t.elem))),
        )

    def first_tap(self, lo: Val, start: Val, step: Val) -> Val:
        """The first of lo, lo + step, ... that is not below start."""
        f = self.f
        return lo + f.udiv(f.imax(start - lo, 0) + step - 1, step) * step


class Max(Pool):
    """The largest tap, or the last that is no number."""

    start = float("-inf")

    def joined(self, state: Sequence[Val], new: Val, number: Val | None, c: Val) -> list[Val]:
        return [self.f.sel(self.is_better(new, state[0]), new, state[0])]

    def is_better(self, new: Val, best: Val) -> Val:
        """Does a tap take the place of the best before it?"""
        return self.f.cmp("ogt", new, best) | self.f.cmp("uno", new, new)


class MaxIndex(Max):
    """The largest tap, or the last that is no number, and its place in the plane; -1 where a window
    has no taps."""

    def __init__(self, f: Fn, t: Tile, near: int) -> None:
        super().__init__(f, t, near)
        self.accumulators.append(Accumulator(self.picks, "i32", -1))

    def number(self, z: Val, v: Val) -> Val | None:
        return self.f.conv("trunc", (z * self.g.h + v) * self.g.w, "i32")

    def joined(self, state: Sequence[Val], new: Val, number: Val | None, c: Val) -> list[Val]:
        assert number is not None
        f, (best, pick) = self.f, state
        better = self.is_better(new, best) | f.cmp("slt", pick, 0)
        here = f.splat(number + f.conv("trunc", c, "i32"), self.n)
        return [f.sel(better, new, best), f.sel(better, here, pick)]

    def end(self, unit: Unit) -> None:
        super().end(unit)
        f = self.f
        unit.back(
            self.picks,
            "i32",
            lambda v, at, mask: f.put(
                mask, (f.conv("sext", v, "i64"), f.at(self.index, at, "i64"))
            ),
        )


class Mean(Pool):
    """Sums, divided."""

    def end(self, unit: Unit) -> None:
        self.f.loop(unit.oy0, unit.oy1, 1, unit.divide)
        super().end(unit)


class Spread(Pool):
    """Sums of divided gradients: the gradient of a mean."""

    def change(self, z: Val, v: Val) -> Change | None:
        f, g, n = self.f, self.g, self.n
        across = self.divisor(z) * self.divisor(v + g.d)

        def divided(pixels: Sequence[Val], c: Val, mask: Val) -> list[Val]:
            along = f.mload(vec("double", n), f.at(self.divisors, c + g.d + g.h, "double"), mask)
            by = self.rounded(along * across)
            return [p / by for p in pixels]

        return divided


KINDS = {"max": Max, "max_index": MaxIndex, "mean": Mean, "spread": Spread}


class Unit:
    """One unit of work: a vector of planes and a block of their outputs."""

    def __init__(self, pool: Pool, u: Val) -> None:
        self.pool, self.f, self.t, self.g, self.n = pool, pool.f, pool.t, pool.g, pool.n
        f, g = self.f, self.g
        rest, col_block = divmod_(f, u, g.col_blocks)
        rest, row_block = divmod_(f, rest, g.row_blocks)
        planes, self.oz = divmod_(f, rest, g.od)
        self.plane0 = planes * self.n
        for i in range(self.n):
            image, c = divmod_(f, f.imin(self.plane0 + i, g.planes - 1), g.channels)
            f.store(image * g.xn + c * g.xc, f.at(pool.planes_at, i, "i64"))
        self.oy0, self.ox0 = row_block * g.rows, col_block * g.cols
        self.oy1, self.ox1 = f.imin(self.oy0 + g.rows, g.oh), f.imin(self.ox0 + g.cols, g.ow)
        self.count = (self.oy1 - self.oy0) * (self.ox1 - self.ox0)

    def emit(self) -> None:
        """The outputs begin, go on through all chunks of the input, and leave."""
        self.f.loop(0, self.count, 1, self.clear)
        self.chunks()
        self.pool.end(self)

    def clear(self, i: Val) -> None:
        """What an output is before its first tap."""
        f, n = self.f, self.n
        for a in self.pool.accumulators:
            f.store(f.const(vec(a.elem, n), a.start), f.at(a.area, i * n, a.elem))

    def chunks(self) -> None:
        """The part of the input that the block touches, chunk by chunk."""
        f, g, entry = self.f, self.g, self.pool.entry
        y0, y1 = self.clipped(g.y_table, g.oh, self.oy0, self.oy1, g.h)
        x0, x1 = self.clipped(g.x_table, g.ow, self.ox0, self.ox1, g.w)

        def depth(z: Val) -> None:
            def rows(v: Val) -> None:
                v1 = f.imin(v + g.chunk_rows, y1)
                first = f.udiv(x0, g.chunk_cols) * g.chunk_cols
                f.loop(
                    first,
                    x1,
                    g.chunk_cols,
                    lambda c: Chunk(
                        self, z, v, v1, f.imax(c, x0), f.imin(c + g.chunk_cols, x1)
                    ).emit(),
                )

            f.loop(y0, y1, g.chunk_rows, rows)

        f.loop(
            entry(g.z_table, g.od, 0, self.oz), entry(g.z_table, g.od, 1, self.oz), g.step_d, depth
        )

    def clipped(self, at: Val, size: Val, first: Val, last: Val, limit: Val) -> tuple[Val, Val]:
        """The part of the axis that outputs first..last - 1 may touch."""
        f, entry = self.f, self.pool.entry
        low = f.imin(f.imax(entry(at, size, 2, first), 0), limit)
        return low, f.imax(low, f.imin(entry(at, size, 3, last - 1), limit))

    def divide(self, oy: Val) -> None:
        """Sums to means, in a row of outputs."""
        f, g, pool = self.f, self.g, self.pool
        across = pool.divisor(self.oz) * pool.divisor(g.od + oy)

        def one(ox: Val) -> None:
            p = f.at(
                pool.outs,
                ((oy - self.oy0) * (self.ox1 - self.ox0) + (ox - self.ox0)) * self.n,
                self.t.elem,
            )
            by = across * pool.divisor(g.od + g.oh + ox)
            by = pool.rounded(by)
            f.store(f.load(self.t.vec, p) / f.splat(by, self.n), p)

        f.loop(self.ox0, self.ox1, 1, one)

    def back(self, src: Val, elem: str, put: Callable[[Val, Val, Val], None]) -> None:
        """Turn [output][plane] into planes. A block of several rows has whole rows, so its
        outputs follow each other."""
        f, g, n = self.f, self.g, self.n
        at = (self.oz * g.oh + self.oy0) * g.ow + self.ox0

        def outputs(i: Val) -> None:
            mask = f.lanes_below(self.count - i, n)
            rows = [f.load(vec(elem, n), f.at(src, (i + k) * n, elem)) for k in range(n)]
            for k, row in enumerate(transpose(f, rows)):
                f.if_(
                    f.cmp("slt", self.plane0 + k, g.planes),
                    lambda: put(row, (self.plane0 + k) * self.pool.size + at + i, mask),
                )

        f.loop(0, self.count, n, outputs)


class Chunk:
    """One chunk of the input: rows y0..y1, columns x0..x1 at depth z."""

    def __init__(self, unit: Unit, z: Val, y0: Val, y1: Val, x0: Val, x1: Val) -> None:
        self.unit, self.pool, self.f, self.t, self.g = unit, unit.pool, unit.f, unit.t, unit.g
        self.z, self.y0, self.y1, self.x0, self.x1 = z, y0, y1, x0, x1

    def emit(self) -> None:
        """It is brought in, and all outputs go on."""
        self.pool.bring(self.z, self.y0, self.y1, self.x0, self.x1)
        self.width = self.x1 - self.x0
        self.f.loop(self.unit.oy0, self.unit.oy1, 1, self.row)

    def row(self, oy: Val) -> None:
        """The outputs of a row whose windows have rows in the chunk."""
        f, g, unit = self.f, self.g, self.unit
        self.oy = oy
        lo, hi = (
            f.imax(self.pool.entry(g.y_table, g.oh, 0, oy), 0),
            self.pool.entry(g.y_table, g.oh, 1, oy),
        )
        self.first, self.last = self.pool.first_tap(lo, self.y0, g.step_h), f.imin(hi, self.y1)
        f.if_(
            f.cmp("slt", self.first, self.last),
            lambda: (
                f.loop(
                    f.imax(
                        unit.ox0,
                        table_at(
                            f, g.table, g.x_table + g.ow * 4 + f.udiv(self.x0, g.chunk_cols) * 2
                        ),
                    ),
                    f.imin(
                        unit.ox1,
                        table_at(
                            f, g.table, g.x_table + g.ow * 4 + f.udiv(self.x0, g.chunk_cols) * 2 + 1
                        ),
                    ),
                    1,
                    self.out,
                )
                and None
            ),
        )

    def out(self, ox: Val) -> None:
        """One output's chain over the taps that are here."""
        f, g, unit, pool, n = self.f, self.g, self.unit, self.pool, self.unit.n
        at = (self.oy - unit.oy0) * (unit.ox1 - unit.ox0) + (ox - unit.ox0)
        places = [f.at(a.area, at * n, a.elem) for a in pool.accumulators]
        lo, hi = pool.entry(g.x_table, g.ow, 0, ox), pool.entry(g.x_table, g.ow, 1, ox)
        left, right = pool.first_tap(lo, self.x0, g.step_w), f.imin(hi, self.x1)
        held = [f.load(vec(a.elem, n), p) for a, p in zip(pool.accumulators, places, strict=True)]
        held = f.loop(
            self.first, self.last, g.step_h, lambda v, *acc: self.taps(v, left, right, acc), held
        )
        for after, p in zip(held, places, strict=True):
            f.store(after, p)

    def taps(self, v: Val, left: Val, right: Val, acc: Sequence[Val]) -> list[Val]:
        """The taps of one row."""
        f, g, t, pool, n = self.f, self.g, self.t, self.pool, self.unit.n
        src = f.at(pool.block, ((v - self.y0) * self.width - self.x0) * n, t.elem)
        number = pool.number(self.z, v)

        def tap(c: Val, *state: Val) -> list[Val]:
            return pool.joined(state, f.load(t.vec, f.at(src, c * n, t.elem)), number, c)

        return f.loop(left, right, g.step_w, tap, acc)


def max_grad(m: Module, symbol: str, elem: str) -> None:
    """The kernel over planes, args gy, index, gx, outputs, inputs: each output's gradient to its
    index, in order. An index outside the plane (a window without taps has -1) gives nothing."""
    f = m.kernel(symbol)
    args, begin, end, _ = f.args
    n = lanes_for(elem)
    gy, index, gx = (f.load("ptr", f.at(args, i, "i64")) for i in range(3))
    outputs, inputs = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4))

    def plane(p: Val) -> None:
        g, at, to = (
            f.at(gy, p * outputs, elem),
            f.at(index, p * outputs, "i64"),
            f.at(gx, p * inputs, elem),
        )
        f.loop(
            0,
            inputs,
            n,
            lambda i: f.put(
                f.lanes_below(inputs - i, n), (f.const(vec(elem, n), 0.0), f.at(to, i, elem))
            ),
        )

        def add(i: Val) -> None:
            where = f.load("i64", f.at(at, i, "i64"))
            q = f.at(to, where, elem)
            f.if_(
                f.cmp("ult", where, inputs),
                lambda: f.store(f.load(elem, q) + f.load(elem, f.at(g, i, elem)), q),
            )

        f.loop(0, outputs, 1, add)

    f.loop(begin, end, 1, plane)
