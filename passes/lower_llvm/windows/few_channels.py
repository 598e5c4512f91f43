"""Convolutions of few channels: each tap's pixels are read in place, from planes of the padded
image.

Copying the pixels under every tap into panels, as `conv.forward` does, costs as much as the
products of a handful of output channels, and an image's pixel is copied once for each tap that
meets it. Here a work unit (group, image, plane and band of output rows, block of output channels)
copies the rows that it reads once, into planes [channel][plane of taps][row][phase][column]: with
a stride of two, a row's even columns are one phase and its odd ones the other (with four, those
with the same remainder), so that neighbouring outputs read neighbours under any tap. A tap is then
a distance from a vector of outputs to what it reads: a step of the micro kernel loads the distance
and, from there, its vectors. The order of each sum is that of `conv.forward`, and so are the bits.

A vector of outputs is in one row; a few of them, which need not be neighbours, make a register
tile's panel.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .. import targets
from ..targets import at_once
from .conv import LeftRows, add_up
from .epilogue import writer
from .window_call import ForwardCall
from .window_tiles import KC, divmod_, share

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .epilogue import Epilogue
    from .window_tiles import Tile

# After these comes the depth of each plane of taps, then the distances of all steps, then (for
# `Tile.listed`) the place of each in a row of the weights.
FIELDS = (
    "images od oh ow d h w sd sh left top xn xg xc xd xh yn yg yo yd yh yw wg wo rows steps "
    "channels planes tiles row_blocks band bands band_rows line vectors fill scratch in_at out_at "
    "y_at").split()
FIELD = {name: i for i, name in enumerate(FIELDS)}
TOGETHER = 4                   # panels that a tile of weights meets before the next one
STRIDES = 1, 2, 4, 8, 16       # along a row of x


def registers_for(rows: int) -> tuple[int, int]:
    """(rows, vectors) of the register tile for this many rows. With few rows there are many
    vectors, so that multiply-adds do not wait for operands."""
    registers = 32 if targets.current().name in ("avx512", "neon") else 16
    sizes = (12, 8, 6, 4, 3, 2, 1) if registers == 32 else (6, 4, 3, 2, 1)
    high = min((r for r in sizes if r <= rows), key=lambda r: -(-rows // r) * (r + 1))
    return high, 4 if 4 * high + 5 <= registers else 2


def micro(m: Module, name: str, t: Tile) -> str:
    """name(a, row, at, places, c, steps, first, *b): c (+)= a b over a block of steps. Step k of
    vector j of b is at b[j] + at[k]. Step k of a row of a is at k or, with `t.listed`, at
    places[k]."""
    f = m.fn(name, [("ptr", "a"), ("i64", "row"), ("ptr", "list"), ("ptr", "places"), ("ptr", "c"),
                    ("i64", "steps"),
                    ("i1", "first"), *[("ptr", f"pixels{j}") for j in range(t.vectors)]],
             linkage="internal", attrs="noinline")
    a, row, listed, places, c, steps, first, *b = f.args
    left = LeftRows(f, t, a, row, places)

    def step(k: Val, u: int, *acc: Val) -> list[Val]:
        away = f.load("i64", f.at(f.at(listed, k, "i64"), u, "i64"))
        return left.products(k, u, [f.load(t.vec, f.at(p, away, t.elem)) for p in b], acc)

    acc = f.steps(steps,
                  at_once(t.rows * t.vectors),
                  step, [f.const(t.vec, 0.0)] * (t.rows * t.vectors))
    add_up(f, t, acc, [f.at(c, i * t.lanes, t.elem) for i in range(t.rows * t.vectors)], first)
    return name


def forward(m: Module, symbol: str, t: Tile, epilogue: Epilogue, step: int, far: int) -> None:
    """The kernel over units (group, image, plane, band of rows, block of output channels);
    arguments as for `conv.forward`. `step` is the stride along a row of x, one of `STRIDES`; `far`
    is that of y (see `writer`)."""
    multiply = micro(m, symbol + "_micro", t)
    planes = Planes(m.kernel(symbol), t, epilogue, step, far, multiply)
    planes.each_unit(lambda u: Band(planes, u).emit())


class Image(ForwardCall):
    """The arguments of a call, and how an image comes into planes of a thread's scratch memory."""

    def __init__(self, f: Fn, t: Tile, epilogue: Epilogue, step: int, far: int) -> None:
        super().__init__(f, t, epilogue, FIELD)
        self.step, self.far, g = step, far, self.g
        self.depths = f.at(g.table, len(FIELDS), "i64")
        self.away = f.at(self.depths, g.planes, "i64")
        self.places = f.at(self.away, g.steps, "i64")
        self.planes = self.area("in_at")
        self.row_size = g.line * step

    def bring(self, src: Val, oz: Val, iy0: Val, rows: Val) -> None:
        """Copy the rows that plane oz of the outputs reads in all channels, so many of each plane
        under a tap, from row iy0 on; they may lie outside."""
        f, t, g = self.f, self.t, self.g

        def plane(k: Val, c: Val, z: Val) -> tuple[Val, Val]:
            iz = oz * g.sd + f.load("i64", f.at(self.depths, z, "i64"))
            at = f.at(src, c * g.xc + iz * g.xd, t.elem)
            to = f.at(self.planes, k * g.band_rows * self.row_size, t.elem)
            inside = f.cmp("ult", iz, g.d)
            f.loop(0, rows, 1, lambda r: self.row(f.at(at, (iy0 + r) * g.xh, t.elem),
                                                  inside & f.cmp("ult", iy0 + r, g.h),
                                                  f.at(to, r * self.row_size, t.elem)))
            wraps = f.cmp("eq", z + 1, g.planes)
            return c + f.conv("zext", wraps, "i64"), f.sel(wraps, 0, z + 1)
        f.loop(0, g.channels * g.planes, 1, plane, [f.const("i64", 0), f.const("i64", 0)])

    def row(self, src: Val, inside: Val, to: Val) -> None:
        """A row, or zeros in its place."""
        f, t, g = self.f, self.t, self.g
        zero, first = f.const(t.vec, 0.0), f.at(src, g.left, t.elem)

        def blank(n: Val) -> None:
            for i in range(self.step):
                f.store(zero, f.at(to, g.line * i + n * t.lanes, t.elem))
        f.if_(inside, lambda: f.loop(0, g.fill, 1, lambda n: self.line(first, to, n)),
              lambda: f.loop(0, g.fill, 1, blank))

    def line(self, src: Val, to: Val, n: Val) -> None:
        """Vector n of each phase of a row, from pointers to its first columns: src[left], to."""
        f, t, g, step = self.f, self.t, self.g, self.step
        ix, p, q = (g.left + n * (t.lanes * step), f.at(src, n * (t.lanes * step), t.elem),
                    f.at(to, n * t.lanes, t.elem))

        def put(load: Callable[[int], Val]) -> None:
            for i, v in enumerate(phases(f, [load(i) for i in range(step)], t.lanes)):
                f.store(v, f.at(q, g.line * i if i else 0, t.elem))

        def part(i: int) -> Val:
            first = ix + i * t.lanes
            inside = f.lanes_below(g.w - first, t.lanes) & ~f.lanes_below(0 - first, t.lanes)
            return f.mload(t.vec, f.at(p, i * t.lanes, t.elem), inside)
        whole = f.cmp("sge", ix, 0) & f.cmp("sle", ix + t.lanes * step, g.w)
        f.if_(whole, lambda: put(lambda i: f.load(t.vec, f.at(p, i * t.lanes, t.elem))),
              lambda: put(part))


def phases(f: Fn, vs: Sequence[Val], lanes: int) -> Sequence[Val]:
    """The elements of vectors that follow each other, in groups of the same remainder by the number
    of vectors, a power of two."""
    if len(vs) == 1:
        return vs
    even, odd = ([f.shuffle(a, b, range(i, 2 * lanes, 2)) for a, b in zip(vs[::2], vs[1::2])]
                 for i in (0, 1))
    return list(itertools.chain(*zip(phases(f, even, lanes), phases(f, odd, lanes))))


class Planes(Image):
    """The planes of a band, where vectors of outputs go by lists: `source`, `goal` and `lanes` say
    of each vector where its first tap is in the planes, where it goes in y, counted from the
    band's first row, and which lanes it has."""

    def __init__(self, f: Fn, t: Tile, epilogue: Epilogue, step: int, far: int,
                 multiply: str) -> None:
        super().__init__(f, t, epilogue, step, far)
        self.multiply, g = multiply, self.g
        self.sums = self.area("y_at")
        column = g.band * g.vectors + t.vectors
        self.source, self.goal, self.lanes = (
            f.at(self.area("out_at"), column * i, "i64") for i in range(3))

    def vectors_of(self, rows: Val) -> Val:
        """List the vectors of a band of this many rows; returns the number of panels. The last
        panel is filled up with vectors without lanes."""
        f, t, g = self.f, self.t, self.g

        def row(r: Val) -> None:
            def vector(v: Val) -> None:
                e, ox = r * g.vectors + v, v * t.lanes
                f.store(r * g.sh * self.row_size + ox, f.at(self.source, e, "i64"))
                f.store(r * g.yh + ox * g.yw, f.at(self.goal, e, "i64"))
                f.store((f.const("i64", 1) << f.imin(g.ow - ox, t.lanes)) - 1,
                        f.at(self.lanes, e, "i64"))
            f.loop(0, g.vectors, 1, vector)
        f.loop(0, rows, 1, row)
        count = rows * g.vectors
        for j in range(t.vectors - 1):
            for what in (self.source, self.goal, self.lanes):
                f.store(f.const("i64", 0), f.at(what, count + j, "i64"))
        return f.udiv(count + (t.vectors - 1), f.const("i64", t.vectors))


class Band:
    """One unit: a band of output rows of a plane of one image, for a block of output channels."""

    def __init__(self, planes: Planes, u: Val) -> None:
        self.p, self.f, self.t, self.g = planes, planes.f, planes.t, planes.g
        p, f, g = self.p, self.f, self.g
        rest, row_block = divmod_(f, u, g.row_blocks)
        rest, band = divmod_(f, rest, g.bands)
        self.tile0, self.tile1 = share(f, row_block, g.tiles,
                                       g.row_blocks), share(f, row_block + 1, g.tiles, g.row_blocks)
        rest, oz = divmod_(f, rest, g.od)
        self.group, n = divmod_(f, rest, g.images)
        oy0, oy1 = share(f, band, g.oh, g.bands), share(f, band + 1, g.oh, g.bands)
        self.panels = p.vectors_of(oy1 - oy0)
        self.begin(n, oz, oy0, oy1)

    def begin(self, n: Val, oz: Val, oy0: Val, oy1: Val) -> None:
        """The rows that the band reads come into the planes."""
        p, f, t, g = self.p, self.f, self.t, self.g
        p.bring(f.at(p.x, n * g.xn + self.group * g.xg, t.elem), oz, oy0 * g.sh + g.top,
                (oy1 - oy0 - 1) * g.sh + (g.band_rows - (g.band - 1) * g.sh))
        self.wg = f.at(p.w, self.group * g.wg, t.elem)
        self.base = n * g.yn + self.group * g.yg + oz * g.yd + oy0 * g.yh

    def emit(self) -> None:
        """Some panels at a time meet all tiles of weights."""
        self.f.loop(0, self.panels, TOGETHER, self.some)

    def some(self, j0: Val) -> None:
        """The panels from j0 on."""
        f = self.f
        j1 = f.imin(j0 + TOGETHER, self.panels)
        f.loop(self.tile0, self.tile1, 1, lambda i: self.tile(i, j0, j1))

    def tile(self, i: Val, j0: Val, j1: Val) -> None:
        """One tile of weights. The last one begins early and repeats rows of the one before."""
        f, t, g = self.f, self.t, self.g
        row0 = f.imin(i * t.rows, g.rows - t.rows)
        a, again = f.at(self.wg, row0 * g.wo, t.elem), i * t.rows - row0
        f.loop(j0, j1, 1, lambda j: self.panel(j, a, row0, again))

    def panel(self, j: Val, a: Val, row0: Val, again: Val) -> None:
        """A tile times a panel: all steps, then the epilogue, from row `again` of the tile on."""
        p, f, t, g = self.p, self.f, self.t, self.g
        at = [j * t.vectors + v for v in range(t.vectors)]
        b = [f.at(p.planes, f.load("i64", f.at(p.source, e, "i64")), t.elem) for e in at]
        to = [self.base + f.load("i64", f.at(p.goal, e, "i64")) for e in at]
        self.ahead(row0, to)

        def block(k0: Val) -> None:
            f.call(p.multiply, "void", a if t.listed else f.at(a, k0, t.elem), g.wo,
                   f.at(p.away, k0, "i64"), f.at(p.places, k0, "i64"), p.sums,
                   f.imin(g.steps - k0, KC), f.cmp("eq", k0, 0), *b)
        f.loop(0, f.imax(g.steps, 1), KC, block)
        puts = [
            writer(f, t, p.epilogue, f.load("i64", f.at(p.lanes, e, "i64")), p.far, g) for e in at]

        def out(r: Val, away: Val) -> Val:
            values = p.epilogue.values(f, t.elem, p.operands, self.group * g.rows + row0 + r)
            for v, put in enumerate(puts):
                put(f.load(t.vec, f.at(p.sums, r * t.panel + v * t.lanes, t.elem)), values, p.y,
                    to[v] + away)
            return away + g.yo
        f.loop(again, t.rows, 1, out, [(row0 + again) * g.yo])

    def ahead(self, row0: Val, to: Sequence[Val]) -> None:
        """Prefetch the epilogue's operands by pixel, and the results' places: every row is in
        another page."""
        p, f, t, g = self.p, self.f, self.t, self.g

        def row(r: Val, away: Val) -> Val:
            for q, write in (p.y, 1), *((q, 0) for q in p.epilogue.by_pixel(p.operands)):
                for at in to:
                    f.prefetch(f.at(q, at + away, t.elem), write)
            return away + g.yo
        f.loop(0, t.rows, 1, row, [row0 * g.yo])
