"""Convolutions with 3x3 taps a plane and stride 1 by Winograd's F(2x2, 3x3): 16 products for 4
outputs where the direct way takes 36.

A tile of 2x2 outputs reads 4x4 inputs d. With V = B' d B, U = G w G' (formed in f64, rounded once)
and M = U V summed over the steps in the contraction's canonical order, the outputs are A' M A. A
step is a channel in one of the planes of taps (of which an image has one, a volume some), plane by
plane. The transforms work down the columns first, then along the rows, with the additions as
written in `transform_in` and `transform_out`. Errors are about twice those of the direct
convolution; an infinity or NaN spreads over its tile.

Tiles of all images follow each other in panels, as pixels do in `conv.forward`. A unit (group,
panels, output channels) brings its tiles' V into scratch for all steps, then goes through the
output channels a register tile at a time.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..builder import vec
from ..shuffles import transpose
from .conv import micro
from .epilogue import writer
from .window_call import ForwardCall
from .window_tiles import KC, Geometry, Runs, blocks, divmod_, lane_mask

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .epilogue import Epilogue
    from .window_tiles import Tile

PAD = 16                       # elements


def transform_in(d: Sequence[Val]) -> list[Val]:
    """One dimension of V."""
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def transform_out(m: Sequence[Val]) -> list[Val]:
    """One dimension of the outputs."""
    return [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]


def transform_weight(w: Sequence[Val]) -> list[Val]:
    """One dimension of U."""
    even, odd = (w[0] + w[2]) * 0.5, w[1] * 0.5
    return [w[0], even + odd, even - odd, w[2]]


class TileRuns(Runs):
    """Runs of tiles: neighbours in a row of tiles. A mask of columns covers the two vectors of
    pixels under a vector of tiles.

    Two more columns: the lanes of the two vectors of pixels in each of its two rows of outputs
    (band_rows x band_cols of them).
    """

    def __init__(self, f: Fn, g: Geometry, memory: Val, tile: Tile, limit: Val, panel: int) -> None:
        super().__init__(f, g, memory, tile, limit, panel)
        self.widths = [f.bytes_at(self.colmask, limit * (8 + 8 * i)) for i in range(2)]

    def _more(self, e: Val, oy: Val, ox: Val, count: Val) -> None:
        f, g = self.f, self.g
        bits = (f.const("i64", 1) << f.imin(count * 2, g.band_cols - ox * 2)) - 1
        f.store(bits, f.at(self.widths[0], e, "i64"))
        f.store(f.sel(f.cmp("slt", oy * 2 + 1, g.band_rows), bits, 0),
                f.at(self.widths[1], e, "i64"))

    def _column_bits(self, ix: Val, count: Val) -> tuple[Val, Val]:
        f, g = self.f, self.g
        return f.imax(0, f.imin(32, 0 - ix)), f.imax(0, f.imin(count * 2, g.w - ix))


def weights(m: Module, symbol: str, t: Tile, turned: bool) -> None:
    """The kernel over the rows of all tiles of w, args w, u, rows, tiles, channels, planes, then
    the strides of groups, rows and channels in w, the first plane's place and the next one's
    distance.

    U is [group][tile][16][row of the tile][step], a step's lines `PAD` longer than the steps: each
    tile's part is read as a whole, and 16 streams should not meet in one set of the cache.
    `turned`: the taps in reverse, for the gradient of the input.
    """
    f = m.kernel(symbol)
    args, begin, end, _ = f.args
    w, u = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    rows, tiles, channels, planes, group_stride, row_stride, channel_stride, first, apart = (
        f.load("i64", f.at(args, i, "i64")) for i in range(2, 11))
    n = t.lanes
    order = range(8, -1, -1) if turned else range(9)
    line = channels * planes + PAD

    def row(i: Val) -> None:
        rest, r = divmod_(f, i, f.const("i64", t.rows))
        group, tile = divmod_(f, rest, tiles)
        source = f.imin(tile * t.rows, rows - t.rows) + r
        src = f.at(w, group * group_stride + source * row_stride + first, t.elem)
        dst = f.at(u, (rest * (16 * t.rows) + r) * line, t.elem)
        f.loop(0, planes, 1, lambda z: plane(f.at(src, z * apart, t.elem),
                                             f.at(dst, z * channels, t.elem)))

    def plane(src: Val, dst: Val) -> None:
        def some(k: Val) -> None:
            mask = f.lanes_below(channels - k, n)
            lines = [f.at(src, f.imin(k + j, channels - 1) * channel_stride, t.elem)
                     for j in range(n)]
            taps = []
            for at in range(0, 9, n):
                width = f.lanes_below(9 - at, n)
                taps += transpose(f, [f.mload(t.vec, f.at(p, at, t.elem), width) for p in lines])
            taps = [
                f.v(vec("double", n), f"fpext {t.vec} {taps[j].ref} to {vec('double', n)}")
                for j in order]
            down = [transform_weight([taps[j], taps[3 + j], taps[6 + j]]) for j in range(3)]
            f.put(
                mask,
                *[(f.conv("fptrunc", v, t.elem),
                   f.at(dst, line * (t.rows * (4 * a + b)) + k, t.elem)) for a in range(4)
                  for b, v in enumerate(transform_weight([down[j][a] for j in range(3)]))])
        f.loop(0, channels, n, some)
    f.loop(begin, end, 1, row)


def forward(m: Module, symbol: str, t: Tile, epilogue: Epilogue) -> None:
    """The kernel over units (group, block of panels, block of output channels); arguments as
    `conv.forward`, w being U."""
    multiply = micro(m, symbol + "_micro", t, ahead=True)
    winograd = Winograd(m.kernel(symbol), t, epilogue, multiply)
    winograd.each_unit(lambda u: Unit(winograd, u).emit())


class Winograd(ForwardCall):
    """The arguments of a call, and its areas of scratch memory."""

    def __init__(self, f: Fn, t: Tile, epilogue: Epilogue,
                 multiply: Callable[..., None]) -> None:
        super().__init__(f, t, epilogue)
        self.multiply, g = multiply, self.g
        self.values, self.products = self.area("b_at"), self.area("y_at")
        self.runs = TileRuns(f, g, self.area("in_at"), t, g.max_panels * t.panel, t.panel)
        self.masks, self.word = self.area("a_at"), "i32" if t.elem == "float" else "i64"
        self.n, self.tile_size, self.line = t.lanes, t.rows * t.panel, g.steps + PAD
        # planes lie one step apart, so that 16 streams meet no set
        self.plane, self.panel_size = (g.steps + 1) * t.panel, (g.steps + 1) * t.panel * 16


class Unit:
    """One unit: the tiles of some panels, for a block of output channels."""

    def __init__(self, winograd: Winograd, number: Val) -> None:
        self.w, self.f, self.t, self.g = winograd, winograd.f, winograd.t, winograd.g
        self.runs = winograd.runs
        f, t, g = self.f, self.t, self.g
        self.group, (self.panel0, panel1), (self.tile0, self.tile1) = blocks(f, g, number)
        self.panels = panel1 - self.panel0
        self.xg, self.ug = f.at(winograd.x, self.group * g.xg,
                                t.elem), f.at(winograd.w, self.group * g.wg, t.elem)
        self.runs.build(self.panel0, panel1, g.pixels)

    def emit(self) -> None:
        """V of all panels; then the output channels, a register tile at a time."""
        self.f.loop(0, self.panels, 1, self.bring)
        self.f.loop(self.tile0, self.tile1, 1, self.rows)

    def bring(self, j: Val) -> None:
        """V of panel j. Step by step, so that a line of it is written while it is in the cache;
        a run stores whole vectors, of which the next one overwrites what is not its own."""
        w, f, t, g, runs = self.w, self.f, self.t, self.g, self.runs
        self.first, last = runs.get(runs.first, j), runs.get(runs.first, j + 1)

        def channel(_: Val, p: Val, to: Val) -> tuple[Val, Val]:
            f.loop(self.first, last, 1, lambda e: self.transform(e, p, to))
            return f.at(p, g.xc, t.elem), f.at(to, t.panel, t.elem)

        def plane(row: Val, to: Val) -> Val:
            f.loop(self.first, last, 1, lambda e: self.prepare(e, row))
            start = runs.tap_at(row, f.const("i64", 0))
            return f.loop(0, g.channels, 1, channel, [f.at(self.xg, start, t.elem), to])[1]

        f.loop(0, g.rowtaps, 4, plane, [f.at(w.values, j * w.panel_size, t.elem)])

    def mask_at(self, e: Val, i: int) -> Val:
        """The place of the mask of a vector of run e."""
        return self.f.at(self.w.masks, ((e - self.first) * 16 + i) * self.w.n, self.w.word)

    def prepare(self, e: Val, row: Val) -> None:
        """The masks of a run's vectors of pixels, which all channels have, in the plane whose
        first row of taps this is."""
        w, f, t, runs = self.w, self.f, self.t, self.runs
        for r in range(4):
            for q in range(2):
                bits = runs.inside(e, row + r, f.const("i64", q))
                for half in range(2):
                    lanes = f.conv("sext", lane_mask(f, t, f.lshr(bits, half * w.n)), w.word)
                    f.store(lanes, self.mask_at(e, 4 * r + 2 * q + half))

    def transform(self, e: Val, p: Val, to: Val) -> None:
        """V of a run in one channel."""
        w, f, t, g, runs, n = self.w, self.f, self.t, self.g, self.runs, self.w.n
        here, there, d = (f.at(p, runs.get(runs.x, e),
                               t.elem), f.at(to, runs.get(runs.slot, e), t.elem), [])
        for r in range(4):
            line = f.at(here, g.xh * r if r else 0, t.elem)
            vs = [
                f.mload(t.vec, f.at(line, i // 2 * 2 + i % 2 * n, t.elem),
                        f.cmp("slt", f.load(vec(w.word, n), self.mask_at(e, 4 * r + i)), 0))
                for i in range(4)]
            d.append([
                f.shuffle(vs[i], vs[i + 1], range(k, 2 * n, 2)) for i in (0, 2) for k in (0, 1)])
        down = [transform_in([d[r][q] for r in range(4)]) for q in range(4)]
        for a in range(4):
            for b, v in enumerate(transform_in([down[q][a] for q in range(4)])):
                f.store(v, f.at(there, w.plane * (4 * a + b), t.elem))

    def rows(self, i: Val) -> None:
        """A register tile of output channels: the products of all 16 frequencies, then the
        outputs."""
        f, t, g = self.f, self.t, self.g
        row0 = f.imin(i * t.rows, g.rows - t.rows)
        f.loop(0, 16, 1, lambda z: self.frequency(z, i))
        f.loop(0, self.panels, 1, lambda j: self.out(j, row0, i * t.rows - row0))

    def frequency(self, z: Val, i: Val) -> None:
        """The products of one frequency."""
        w, f, t, g = self.w, self.f, self.t, self.g
        a = f.at(self.ug, (i * 16 + z) * t.rows * w.line, t.elem)

        def block(k: Val) -> None:
            steps, first = f.imin(g.steps - k, KC), f.cmp("eq", k, 0)
            f.loop(
                0, self.panels, 1, lambda j: w.multiply(
                    f, g.pixels - (self.panel0 + j) * t.panel, f.at(a, k, t.elem), w.line, a,
                    f.at(w.values, j * w.panel_size + z * w.plane + k * t.panel, t.elem),
                    f.at(w.products, (j * 16 + z) * w.tile_size, t.elem), steps, first,
                    f.at(a, (w.line + k) * t.rows, t.elem)))
        f.loop(0, g.steps, KC, block)

    def out(self, j: Val, row0: Val, again: Val) -> None:
        """Turn the products of panel j into outputs, from row `again` of the tile on."""
        self.runs.each(j, lambda e: self.run(e, j, row0, again))

    def run(self, e: Val, j: Val, row0: Val, again: Val) -> None:
        """The outputs of one run."""
        w, f, t, g, runs, n = self.w, self.f, self.t, self.g, self.runs, self.w.n
        src = f.at(w.products, j * 16 * w.tile_size + runs.get(runs.slot, e), t.elem)
        lanes = [f.lshr(runs.get(width, e), half * n) for width in runs.widths for half in range(2)]
        puts = [writer(f, t, w.epilogue, bits, 1, g) for bits in lanes]

        def row(r: Val, to: Val) -> Val:
            values = w.epilogue.values(f, t.elem, w.operands, self.group * g.rows + row0 + r)
            p = f.at(src, r * t.panel, t.elem)
            m = [[f.load(t.vec, f.at(p, (4 * a + b) * w.tile_size, t.elem)) for b in range(4)]
                 for a in range(4)]
            down = [transform_out([m[a][b] for a in range(4)]) for b in range(4)]
            for a in range(2):
                left, right = transform_out([down[b][a] for b in range(4)])
                for half in range(2):
                    v = f.shuffle(left, right, [(half * n + k) // 2 + k % 2 * n for k in range(n)])
                    at = to + (g.band_cols * a if a else 0) + half * n
                    puts[2 * a + half](v, values, w.y, at)
            return to + g.yo

        f.loop(again, t.rows, 1, row,
               [self.group * g.yg + (row0 + again) * g.yo + runs.get(runs.y, e)])
