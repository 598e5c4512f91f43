"""Convolutions of one input channel per group. Nothing is packed: each tap is a load and a
multiply-add.

With many channels a vector holds one pixel of several channels, for windows of any stride and maps
of any width: `Band` turns rows of the image that way, padding written out. With few channels a
vector holds neighbouring pixels (`forward_few`). The orders are those of `conv.forward` and
`conv.weight_grad`, so the bits are too.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shuffles import planes_to_pixels, transpose
from .conv import OPERAND0, writer
from .window_tiles import KC, Geometry, Runs, divmod_, load_row, reader, share, table

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .conv import Epilogue
    from .window_tiles import Tile

HELD = 25                      # weights of a channel that stay in registers
HELD_SUMS = 14                 # sums of a weight gradient that do
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


def forward(m: Module, symbol: str, t: Tile, taps: int, epilogue: Epilogue, near: int,
            far: int) -> None:
    """The kernel over units (image, depth, band of rows, vector of channels), for a number of
    taps; arguments as `conv.forward`."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    x, w, y, scratch, _, *operands = (f.load("ptr", f.at(args, i, "i64"))
                                      for i in range(OPERAND0 + len(epilogue.operands)))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    line, weights = g.area(mine, "out_at"), g.area(mine, "y_at")
    band = Band(f, g, t, g.area(mine, "in_at"), x, taps, near)
    n = t.lanes

    def unit(u: Val) -> None:
        rest, block = divmod_(f, u, g.panels)
        rest, rows = divmod_(f, rest, g.row_blocks)
        image, oz = divmod_(f, rest, f.udiv(g.image, g.oh * g.ow))
        first = block * n
        channels = [f.imin(first + i, g.outs - 1) for i in range(n)]
        oy0 = rows * g.max_tiles
        oy1 = f.imin(oy0 + g.max_tiles, g.oh)
        band.bring(image, oz, oy0, oy1, [f.udiv(c, g.steps) * g.xg for c in channels])
        if t.listed:
            for i, c in enumerate(channels):
                group, inner = divmod_(f, c, g.steps)
                src = f.at(w, group * g.wg + inner * g.wo, t.elem)
                for k in range(taps):
                    at = table(f, g.table, g.rowtaps * 2 + g.coltaps + k)
                    f.store(f.load(t.elem, f.at(src, at, t.elem)), f.at(weights, k * n + i, t.elem))
        else:
            planes_to_pixels(f, t.vec, [f.at(w, c * taps, t.elem) for c in channels],
                             f.const("i64", 0), f.const("i64", taps), weights,
                             lambda p, k, mask: f.mload(t.vec, f.at(p, k, t.elem), mask))

        def weight(k: int) -> Val:
            return f.load(t.vec, f.at(weights, k * n, t.elem))
        held = [weight(k) for k in range(taps)] if taps <= HELD else None

        def row(oy: Val) -> None:
            src = band.row(oy, oy0)

            def pixels(ox: Val) -> None:
                at, sums = f.at(src, ox * g.sw * n, t.elem), [f.const(t.vec, 0.0)] * PIXELS
                starts = [f.at(at, g.sw * (i * n) if i else 0, t.elem) for i in range(PIXELS)]
                for k in range(taps):
                    v = held[k] if held else weight(k)
                    sums = [
                        f.fma(v, f.load(t.vec, f.at(p, band.tap_at[k], t.elem)), a)
                        for p, a in zip(starts, sums)]
                for i, a in enumerate(sums):
                    f.store(a, f.at(line, (ox + i) * n, t.elem))
            f.loop(0, g.ow, PIXELS, pixels)
            base = image * g.yn + oz * g.yd + oy * g.yh

            def out(ox: Val) -> None:
                put = writer(f, t, epilogue, (f.const("i64", 1) << f.imin(g.ow - ox, n)) - 1, far,
                             g)
                lines = [f.load(t.vec, f.at(line, (ox + i) * n, t.elem)) for i in range(n)]
                for i, v in enumerate(transpose(f, lines)):
                    def store(v: Val = v, c: Val = first + i) -> None:
                        given = epilogue.given(f, t.elem, operands, c)
                        put(v, given, y, base + c * g.yo + ox * g.yw)
                    f.if_(f.cmp("slt", first + i, g.outs), store)
            f.loop(0, g.ow, n, out)
        f.loop(oy0, oy1, 1, row)
    f.loop(begin, end, 1, unit)


def forward_few(m: Module, symbol: str, t: Tile, taps: int, epilogue: Epilogue, near: int,
                far: int) -> None:
    """The same over units (block of pixels, block of channels), with a vector of neighbouring
    pixels."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    x, w, y, scratch, _, *operands = (f.load("ptr", f.at(args, i, "i64"))
                                      for i in range(OPERAND0 + len(epilogue.operands)))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    limit = g.max_panels * t.panel
    runs = Runs(f, g, g.area(mine, "in_at"), t, limit, t.panel, near)
    masks = g.area(mine, "list_at")
    places = [divmod_(f, f.const("i64", k), g.coltaps) for k in range(taps)]
    tap_at = [runs.tap_at(r, q) for r, q in places]
    weight_at = [
        table(f, g.table, g.rowtaps * 2 + g.coltaps + k) if t.listed else k for k in range(taps)]

    def unit(u: Val) -> None:
        pixel_block, channel_block = divmod_(f, u, g.row_blocks)
        panel0, panel1 = share(f, pixel_block, g.panels,
                               g.pixel_blocks), share(f, pixel_block + 1, g.panels, g.pixel_blocks)
        first, last = share(f, channel_block, g.outs,
                            g.row_blocks), share(f, channel_block + 1, g.outs, g.row_blocks)
        runs.build(panel0, panel1, g.pixels)
        count = runs.get(runs.first, panel1 - panel0)

        def note(e: Val) -> None:
            for k, (r, q) in enumerate(places):
                f.store(runs.inside(e, r, q), f.at(masks, e * taps + k, "i32"))
        f.loop(0, count, 1, note)

        def channel(o: Val) -> None:
            group, row = divmod_(f, o, g.rows)
            xo, wo = f.at(x, group * g.xg, t.elem), f.at(w, group * g.wg + row * g.wo, t.elem)
            given = [
                v if v.ty == "ptr" else f.splat(v, t.lanes)
                for v in epilogue.given(f, t.elem, operands, o)]
            base = o * g.yo

            def weight(k: int) -> Val:
                return f.splat(f.load(t.elem, f.at(wo, weight_at[k], t.elem)), t.lanes)
            held = [weight(k) for k in range(taps)] if taps <= HELD else None

            def run(e: Val) -> None:
                p, acc = f.at(xo, runs.get(runs.x, e), t.elem), f.const(t.vec, 0.0)
                for k in range(taps):
                    bits = f.load("i32", f.at(masks, e * taps + k, "i32"))
                    acc = (f.fma(held[k] if held else weight(k),
                                 reader(f, t, near, bits, g)(f.at(p, tap_at[k], t.elem)), acc))
                (writer(f, t, epilogue, runs.get(runs.lanes, e), far,
                        g)(acc, given, y, base + runs.get(runs.y, e)))
            f.loop(0, count, 1, run)
        f.loop(first, last, 1, channel)
    f.loop(begin, end, 1, unit)


def weight_grad(m: Module, symbol: str, t: Tile, taps: int, near: int) -> None:
    """The kernel over vectors of output channels, args gy, x, gw, scratch, geometry."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    gy, x, gw, scratch = (f.load("ptr", f.at(args, i, "i64")) for i in range(4))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    band, line, sums, totals = (g.area(mine, name) for name in ("in_at", "out_at", "y_at", "b_at"))
    moved = Band(f, g, t, band, x, taps, near)
    n, tap_at = t.lanes, moved.tap_at
    parts = -(-taps // HELD_SUMS)
    cuts = [taps * i // parts for i in range(parts + 1)]

    def unit(u: Val) -> None:
        first = u * n
        channels = [f.imin(first + i, g.outs - 1) for i in range(n)]
        x_at = [f.udiv(c, g.steps) * g.xg for c in channels]
        for k in range(taps):
            f.store(f.const(t.vec, 0.0), f.at(sums, k * n, t.elem))

        def output_row(image: Val, oz: Val, oy: Val, oy0: Val) -> None:
            pixel0 = (oz * g.oh + oy) * g.ow
            base = image * g.yn + pixel0
            planes_to_pixels(f, t.vec, [f.at(gy, base + c * g.yo, t.elem) for c in channels],
                             f.const("i64", 0), g.ow, line,
                             lambda p, c, mask: f.mload(t.vec, f.at(p, c, t.elem), mask))
            src = moved.row(oy, oy0)
            start = image * g.image + pixel0

            def part(p: Val) -> Val:
                """Pixels up to the end of the row or of the block of KC, whichever comes first."""
                block, inside = divmod_(f, start + p, f.const("i64", KC))
                stop = f.imin(g.ow, p + (KC - inside))
                for low, high in zip(cuts, cuts[1:]):
                    def pixel(i: Val, *acc: Val) -> list[Val]:
                        v, at = (f.load(t.vec, f.at(line, i * n, t.elem)),
                                 f.at(src, i * g.sw * n, t.elem))
                        return [
                            f.fma(f.load(t.vec, f.at(at, tap_at[k], t.elem)), v, a)
                            for k, a in zip(range(low, high), acc)]
                    places = [f.at(sums, k * n, t.elem) for k in range(low, high)]
                    for q, a in zip(places,
                                    f.loop(p, stop, 1, pixel, [f.load(t.vec, q) for q in places])):
                        f.store(a, q)
                last = f.cmp("eq", start + stop, g.pixels) | f.cmp("eq", inside + (stop - p), KC)

                def flush() -> None:
                    for k in range(taps):
                        q, a = f.at(totals, k * n, t.elem), f.load(t.vec, f.at(sums, k * n, t.elem))
                        f.store(f.sel(f.cmp("eq", block, 0), a, f.load(t.vec, q) + a), q)
                        f.store(f.const(t.vec, 0.0), f.at(sums, k * n, t.elem))
                f.if_(last, flush)
                return stop
            f.while_(lambda p: f.cmp("slt", p, g.ow), lambda p: [part(p)], [f.const("i64", 0)])

        def bands(image: Val, oz: Val) -> None:
            def some(oy0: Val) -> None:
                oy1 = f.imin(oy0 + g.max_tiles, g.oh)
                moved.bring(image, oz, oy0, oy1, x_at)
                f.loop(oy0, oy1, 1, lambda oy: output_row(image, oz, oy, oy0))
            f.loop(0, g.oh, g.max_tiles, some)
        images, out_depth = f.udiv(g.pixels, g.image), f.udiv(g.image, g.oh * g.ow)
        f.loop(0, images, 1, lambda image: f.loop(0, out_depth, 1, lambda oz: bands(image, oz)))

        def put(i: Val) -> None:
            for k in range(taps):
                f.store(f.load(t.elem, f.at(totals, k * n + i, t.elem)),
                        f.at(gw, (first + i) * taps + k, t.elem))
        f.loop(0, f.imin(g.outs - first, n), 1, put)
    f.loop(begin, end, 1, unit)
