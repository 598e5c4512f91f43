"""Convolutions of one input channel per group. Nothing is packed: each tap is a load and a
multiply-add.

With many channels a vector holds one pixel of several channels, for windows of any stride and maps
of any width: `Band` turns rows of the image that way, padding written out. With few channels a
vector holds neighbouring pixels (`forward_few`). The order is that of `conv.forward`,
so the bits are too.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..shuffles import planes_to_pixels, transpose
from .epilogue import writer
from .window_call import ForwardCall
from .window_tiles import Runs, divmod_, load_row, reader, share, table

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .epilogue import Epilogue
    from .window_tiles import Geometry, Tile

HELD = 25                      # weights of a channel that stay in registers
PIXELS = 4                     # outputs whose chains run side by side


class Band:
    """Rows of x under some rows of outputs as [depth][row][column][channel], zeros outside the
    image.

    band_cols is the width with padding, `left` the leftmost tap, `top` and `bottom` the first and
    last row of taps; `steps` channels of the output share one of x. Neighbours in a row of x lie
    side by side if `near` is 1.
    """

    def __init__(self, f: Fn, g: Geometry, t: Tile, memory: Val, x: Val, taps: int,
                 near: int) -> None:
        self.f, self.g, self.t, self.memory, self.x, self.near = f, g, t, memory, x, near
        n = t.lanes
        self.size = g.band_rows * g.band_cols * n
        self.tap_at = []                     # from a window's first pixel, in elements
        for k in range(taps):
            r, q = divmod_(f, f.const("i64", k), g.coltaps)
            depth, across = f.udiv(r, g.rows), table(f, g.table, q + g.rowtaps * 2) - g.left
            self.tap_at.append(depth * self.size + (
                (table(f, g.table, r + g.rowtaps) - g.top) * g.band_cols + across) * n)

    def bring(self, image: Val, oz: Val, oy0: Val, oy1: Val, planes: Sequence[Val]) -> None:
        """What outputs oy0..oy1 of depth oz read; `planes` are the offsets of the channels in x."""
        f, g = self.f, self.g
        y0 = oy0 * g.sh + g.top
        rows = (oy1 - 1) * g.sh + g.bottom + 1 - y0

        def depth(k: Val) -> None:
            z = oz * g.sd + table(f, g.table, k * g.rows)
            f.loop(0, rows, 1,
                   lambda i: self._row(image, z, y0 + i,
                                       k * self.size + i * g.band_cols * self.t.lanes, planes))
        f.loop(0, f.udiv(g.rowtaps, g.rows), 1, depth)

    def _row(self, image: Val, z: Val, v: Val, at: Val, planes: Sequence[Val]) -> None:
        f, g, t, n = self.f, self.g, self.t, self.t.lanes
        to = f.at(self.memory, at, t.elem)
        inside = f.cmp("ult", v, g.h) & f.cmp("ult", z, g.d)
        low = f.imax(0, 0 - g.left)
        high = f.sel(inside, f.imax(low, f.imin(g.band_cols, g.w - g.left)), low)
        base = image * g.xn + z * g.xd + v * g.xh

        def zeros(c: Val) -> None:
            f.store(f.const(t.vec, 0.0), f.at(to, c * n, t.elem))

        def copy() -> None:
            planes_to_pixels(f, t.vec, [f.at(self.x, at + base, t.elem) for at in planes],
                             low + g.left, high + g.left, f.at(to, low * n, t.elem),
                             lambda p, c, mask: load_row(f, t, p, c, mask, self.near, g))
        f.loop(0, f.imin(low, g.band_cols), 1, zeros)
        f.if_(inside, copy)
        f.loop(high, g.band_cols, 1, zeros)

    def row(self, oy: Val, oy0: Val) -> Val:
        """Where the windows of output row oy begin, in a band brought for oy0.."""
        return self.f.at(self.memory, (oy - oy0) * self.g.sh * self.g.band_cols * self.t.lanes,
                         self.t.elem)


class Weights:
    """The weights of an output's taps as vectors: in registers, if there are enough."""

    def __init__(self, taps: int, load: Callable[[int], Val]) -> None:
        self.load = load
        self.held = [load(k) for k in range(taps)] if taps <= HELD else None

    def __getitem__(self, k: int) -> Val:
        return self.held[k] if self.held else self.load(k)


def forward(m: Module, symbol: str, t: Tile, taps: int, epilogue: Epilogue, near: int,
            far: int) -> None:
    """The kernel over units (image, depth, band of rows, vector of channels), for a number of
    taps; arguments as `conv.forward`."""
    rows = Rows(m.kernel(symbol), t, taps, epilogue, near, far)
    rows.each_unit(lambda u: RowsOfChannels(rows, u).emit())


class Rows(ForwardCall):
    """The arguments of a call of `forward`, and its areas of scratch memory: `line` has a row of
    sums, `weights` the weights of a vector of channels."""

    def __init__(self, f: Fn, t: Tile, taps: int, epilogue: Epilogue, near: int,
                 far: int) -> None:
        super().__init__(f, t, epilogue)
        self.taps, self.far = taps, far
        self.line, self.weights = self.area("out_at"), self.area("y_at")
        self.band = Band(f, self.g, t, self.area("in_at"), self.x, taps, near)


class RowsOfChannels:
    """One unit: a band of output rows of one image, in a vector of channels."""

    def __init__(self, rows: Rows, u: Val) -> None:
        self.c, self.f, self.t, self.g, self.n = rows, rows.f, rows.t, rows.g, rows.t.lanes
        f, g = self.f, self.g
        rest, block = divmod_(f, u, g.panels)
        rest, band = divmod_(f, rest, g.row_blocks)
        self.image, self.oz = divmod_(f, rest, f.udiv(g.image, g.oh * g.ow))
        self.first = block * self.n
        self.channels = [f.imin(self.first + i, g.outs - 1) for i in range(self.n)]
        self.oy0 = band * g.max_tiles
        self.oy1 = f.imin(self.oy0 + g.max_tiles, g.oh)

    def emit(self) -> None:
        """The image's rows and the weights are turned; then row after row."""
        c, f, t, g = self.c, self.f, self.t, self.g
        c.band.bring(self.image, self.oz, self.oy0, self.oy1,
                     [f.udiv(o, g.steps) * g.xg for o in self.channels])
        self.turn_weights()
        weights = Weights(c.taps, lambda k: f.load(t.vec, f.at(c.weights, k * self.n, t.elem)))
        f.loop(self.oy0, self.oy1, 1, lambda oy: self.row(oy, weights))

    def turn_weights(self) -> None:
        """The weights of the channels as [tap][channel]."""
        c, f, t, g, n = self.c, self.f, self.t, self.g, self.n
        if not t.listed:
            planes_to_pixels(f, t.vec, [f.at(c.w, o * c.taps, t.elem) for o in self.channels],
                             f.const("i64", 0), f.const("i64", c.taps), c.weights,
                             lambda p, k, mask: f.mload(t.vec, f.at(p, k, t.elem), mask))
            return
        for i, o in enumerate(self.channels):
            group, inner = divmod_(f, o, g.steps)
            src = f.at(c.w, group * g.wg + inner * g.wo, t.elem)
            for k in range(c.taps):
                at = table(f, g.table, g.rowtaps * 2 + g.coltaps + k)
                f.store(f.load(t.elem, f.at(src, at, t.elem)),
                        f.at(c.weights, k * n + i, t.elem))

    def row(self, oy: Val, weights: Weights) -> None:
        """The sums of a row, `PIXELS` at a time; then they are stored, a vector of pixels of each
        channel at a time."""
        f, g = self.f, self.g
        src = self.c.band.row(oy, self.oy0)
        f.loop(0, g.ow, PIXELS, lambda ox: self.pixels(src, ox, weights))
        base = self.image * g.yn + self.oz * g.yd + oy * g.yh
        f.loop(0, g.ow, self.n, lambda ox: self.out(ox, base))

    def pixels(self, src: Val, ox: Val, weights: Weights) -> None:
        """The sums of a few pixels."""
        c, f, t, g, n = self.c, self.f, self.t, self.g, self.n
        at, sums = f.at(src, ox * g.sw * n, t.elem), [f.const(t.vec, 0.0)] * PIXELS
        starts = [f.at(at, g.sw * (i * n) if i else 0, t.elem) for i in range(PIXELS)]
        for k in range(c.taps):
            v = weights[k]
            sums = [
                f.fma(v, f.load(t.vec, f.at(p, c.band.tap_at[k], t.elem)), a)
                for p, a in zip(starts, sums)]
        for i, a in enumerate(sums):
            f.store(a, f.at(c.line, (ox + i) * n, t.elem))

    def out(self, ox: Val, base: Val) -> None:
        """Store a vector of pixels in each channel."""
        c, f, t, g, n = self.c, self.f, self.t, self.g, self.n
        put = writer(f, t, c.epilogue, (f.const("i64", 1) << f.imin(g.ow - ox, n)) - 1, c.far, g)
        lines = [f.load(t.vec, f.at(c.line, (ox + i) * n, t.elem)) for i in range(n)]
        for i, v in enumerate(transpose(f, lines)):
            def store(v: Val = v, o: Val = self.first + i) -> None:
                values = c.epilogue.values(f, t.elem, c.operands, o)
                put(v, values, c.y, base + o * g.yo + ox * g.yw)
            f.if_(f.cmp("slt", self.first + i, g.outs), store)


def forward_few(m: Module, symbol: str, t: Tile, taps: int, epilogue: Epilogue, near: int,
                far: int) -> None:
    """A depthwise convolution over units (block of pixels, block of channels), with a vector of
    neighbouring pixels."""
    neighbours = Neighbours(m.kernel(symbol), t, taps, epilogue, near, far)
    neighbours.each_unit(neighbours.unit)


class Neighbours(ForwardCall):
    """The arguments of a call of `forward_few`, and its areas of scratch memory: `masks` has the
    lanes of each run that lie inside the image under each tap."""

    def __init__(self, f: Fn, t: Tile, taps: int, epilogue: Epilogue, near: int,
                 far: int) -> None:
        super().__init__(f, t, epilogue)
        self.taps, self.near, self.far, g = taps, near, far, self.g
        limit = g.max_panels * t.panel
        self.runs = Runs(f, g, self.area("in_at"), t, limit, t.panel, near)
        self.masks = self.area("list_at")
        self.places = [divmod_(f, f.const("i64", k), g.coltaps) for k in range(taps)]
        self.tap_at = [self.runs.tap_at(r, q) for r, q in self.places]
        self.weight_at = [
            table(f, g.table, g.rowtaps * 2 + g.coltaps + k) if t.listed else k
            for k in range(taps)]

    def unit(self, u: Val) -> None:
        """A block of pixels in a block of channels."""
        f, g, runs = self.f, self.g, self.runs
        pixel_block, channel_block = divmod_(f, u, g.row_blocks)
        panel0, panel1 = share(f, pixel_block, g.panels,
                               g.pixel_blocks), share(f, pixel_block + 1, g.panels, g.pixel_blocks)
        first, last = share(f, channel_block, g.outs,
                            g.row_blocks), share(f, channel_block + 1, g.outs, g.row_blocks)
        runs.build(panel0, panel1, g.pixels)
        count = runs.get(runs.first, panel1 - panel0)
        f.loop(0, count, 1, self.note_masks)
        f.loop(first, last, 1, lambda o: self.channel(o, count))

    def note_masks(self, e: Val) -> None:
        """The lanes of run e under each tap, which all channels have."""
        f = self.f
        for k, (r, q) in enumerate(self.places):
            f.store(self.runs.inside(e, r, q), f.at(self.masks, e * self.taps + k, "i32"))

    def channel(self, o: Val, count: Val) -> None:
        """All the runs in output channel o."""
        f, t, g = self.f, self.t, self.g
        group, row = divmod_(f, o, g.rows)
        xo, wo = (f.at(self.x, group * g.xg, t.elem),
                  f.at(self.w, group * g.wg + row * g.wo, t.elem))
        values = [
            v if v.ty == "ptr" else f.splat(v, t.lanes)
            for v in self.epilogue.values(f, t.elem, self.operands, o)]
        base = o * g.yo
        weights = Weights(self.taps, lambda k: f.splat(
            f.load(t.elem, f.at(wo, self.weight_at[k], t.elem)), t.lanes))
        f.loop(0, count, 1, lambda e: self.run(e, xo, weights, values, base))

    def run(self, e: Val, xo: Val, weights: Weights, values: Sequence[Val], base: Val) -> None:
        """Compute the sums of a run, tap after tap, and store them."""
        f, t, g, runs = self.f, self.t, self.g, self.runs
        p, acc = f.at(xo, runs.get(runs.x, e), t.elem), f.const(t.vec, 0.0)
        for k in range(self.taps):
            bits = f.load("i32", f.at(self.masks, e * self.taps + k, "i32"))
            acc = f.fma(weights[k], reader(f, t, self.near, bits, g)(
                f.at(p, self.tap_at[k], t.elem)), acc)
        put = writer(f, t, self.epilogue, runs.get(runs.lanes, e), self.far, g)
        put(acc, values, self.y, base + runs.get(runs.y, e))
