"""Convolutions whose weights were put into another order before: pixels are the rows of the
register tile, output channels its columns.

The order of each sum is that of `conv.forward`, and so are the bits. But a tile may have any number
of pixels, so none are wasted on small maps, and the weights are read as vectors, one after the
other. Weights are [group][vector of channels][step][channel]; steps are padded to whole vectors.
Totals of a unit are [panel of channels][pixel][channel]; they are turned into rows of pixels as
they are stored."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shuffles import planes_to_pixels, transpose
from ..targets import at_once
from .conv import add_up, fetch
from .epilogue import writer
from .window_call import ForwardCall
from .window_tiles import KC, Runs, blocks, divmod_

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .epilogue import Epilogue
    from .window_tiles import Tile

ENDLESS = 1 << 40


def weights(m: Module, symbol: str, t: Tile) -> None:
    """The kernel over the vectors of channels of all groups, args w, u, rows, vectors, steps,
    padded steps, strides of rows and groups in w."""
    f = m.kernel(symbol)
    args, begin, end, _ = f.args
    w, u = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    rows, vectors, steps, padded, row_stride, group_stride = (
        f.load("i64", f.at(args, i, "i64")) for i in range(2, 8))

    def vector(i: Val) -> None:
        group, v = divmod_(f, i, vectors)
        src = f.at(w, group * group_stride, t.elem)
        lines = [f.at(src, f.imin(v * t.lanes + k, rows - 1) * row_stride, t.elem)
                 for k in range(t.lanes)]
        planes_to_pixels(f, t.vec, lines, f.const("i64", 0), steps,
                         f.at(u, i * padded * t.lanes, t.elem),
                         lambda p, k, mask: f.mload(t.vec, f.at(p, k, t.elem), mask))
    f.loop(begin, end, 1, vector)


def micro(m: Module, name: str, t: Tile) -> str:
    """name(a, b, apart, c, steps, first, later): c (+)= a b over a block of steps; a is
    [step][pixel], b vectors of [step][channel] `apart`.

    A vector's worth of what is at `later` is fetched meanwhile."""
    f = m.fn(name,
             [("ptr", "a"), ("ptr", "b"), ("i64", "apart"), ("ptr", "c"), ("i64", "steps"),
              ("i1", "first"), ("ptr", "later")], linkage="internal", attrs="noinline")
    a, b, apart, c, steps, first, later = f.args
    streams = [f.at(b, apart * v if v else 0, t.elem) for v in range(t.vectors)]
    at = [f.at(c, i * t.lanes, t.elem) for i in range(t.rows * t.vectors)]

    def step(k: Val, u: int, *acc: Val) -> list[Val]:
        line, out = f.at(f.at(a, k * t.rows, t.elem), u * t.rows, t.elem), []
        if u == 0:
            fetch(f, t, f.at(later, k * t.lanes, t.elem), together * t.lanes)
        bs = [f.load(t.vec, f.at(f.at(p, k * t.lanes, t.elem), u * t.lanes, t.elem))
              for p in streams]
        for i in range(t.rows):
            x = f.splat(f.load(t.elem, f.at(line, i, t.elem)), t.lanes)
            out += [f.fma(x, w, acc[i * t.vectors + v]) for v, w in enumerate(bs)]
        return out
    together = at_once(t.rows * t.vectors)
    acc = f.steps(steps, together, step, [f.const(t.vec, 0.0)] * (t.rows * t.vectors))
    add_up(f, t, acc, at, first)
    return name


def forward(m: Module, symbol: str, t: Tile, epilogue: Epilogue, near: int) -> None:
    """The kernel over units (group, block of panels of channels, block of pixels); arguments as
    `conv.forward`, w as `weights` leaves it."""
    multiply = micro(m, symbol + "_micro", t)
    convolution = Convolution(m.kernel(symbol), t, epilogue, near, multiply)
    convolution.each_unit(lambda u: Block(convolution, u).emit())


class Convolution(ForwardCall):
    """The arguments of a call, and its areas of scratch memory."""

    def __init__(self, f: Fn, t: Tile, epilogue: Epilogue, near: int, multiply: str) -> None:
        super().__init__(f, t, epilogue)
        self.multiply, g = multiply, self.g
        self.a, self.totals, self.square = self.area("b_at"), self.area("y_at"), self.area("a_at")
        limit = g.max_panels * t.rows
        self.inside = Runs(f, g, self.area("in_at"), t, limit, t.rows, near)
        self.inside.list_taps(self.area("tap_at"))
        self.outside = Runs(f, g, self.area("out_at"), t, limit, ENDLESS, rows=False)
        # of one block, no sums are kept for another
        kept = f.conv("zext", f.cmp("sgt", g.steps, KC), "i64")
        # of a panel's totals; of a vector of channels
        self.size, self.stream = (limit + t.lanes) * kept * t.panel, g.wk * t.lanes


class Block:
    """One unit: a block of output channels times a block of output pixels."""

    def __init__(self, convolution: Convolution, u: Val) -> None:
        self.c, self.f, self.t, self.g = convolution, convolution.f, convolution.t, convolution.g
        c, f, t, g = self.c, self.f, self.t, self.g
        self.group, (panel0, panel1), (self.tile0, self.tile1) = blocks(f, g, u, by_rows=True)
        self.panels, self.xg = panel1 - panel0, f.at(c.x, self.group * g.xg, t.elem)
        c.inside.build(panel0, panel1, g.pixels)
        c.outside.walk(panel0 * t.rows, f.imin(panel1 * t.rows, g.pixels))

    def emit(self) -> None:
        """All blocks of steps."""
        self.f.loop(0, self.g.steps, KC, self.steps)

    def steps(self, k0: Val) -> None:
        """One block of steps: its panels are filled, then each tile of channels meets all of
        them."""
        c, f, g = self.c, self.f, self.g
        k1 = f.imin(k0 + KC, g.steps)
        steps, last = k1 - k0, f.cmp("sge", k1, g.steps)
        f.loop(0, self.panels, 1,
               lambda j: c.inside.fill(j, self.xg, k0, k1, self.panel_at(j, steps)))
        f.loop(self.tile0, self.tile1, 1, lambda i: self.tile(i, k0, k1, steps, last))

    def panel_at(self, j: Val, steps: Val) -> Val:
        """The address of panel j of a block of `steps` steps."""
        return self.f.at(self.c.a, j * steps * self.t.rows, self.t.elem)

    def tile(self, i: Val, k0: Val, k1: Val, steps: Val, last: Val) -> None:
        """Steps k0..k1 of a tile of channels in all panels; after the last steps the totals are
        stored."""
        c, f, t, g = self.c, self.f, self.t, self.g
        f.if_(last, lambda: self.ahead(i))
        wg, to, more = (f.at(c.w, self.group * g.wg, t.elem),
                        f.at(c.totals, (i - self.tile0) * c.size, t.elem),
                        f.cmp("slt", i + 1, self.tile1))
        b = f.at(wg, i * t.vectors * c.stream + k0 * t.lanes, t.elem)
        later = f.at(wg, f.sel(more, i + 1, self.tile0) * t.vectors * c.stream
                     + f.sel(more, k0, k1) * t.lanes, t.elem)
        f.loop(0, self.panels, 1, lambda j: f.call(
            c.multiply, "void", self.panel_at(j, steps), b, c.stream,
            f.at(to, j * (t.rows * t.panel), t.elem), steps, f.cmp("eq", k0, 0),
            f.at(later, f.imin(j, t.vectors - 1) * c.stream, t.elem)))
        f.if_(last, lambda: f.loop(
            0, t.vectors, 1,
            lambda v: self.out(i * t.vectors + v, f.at(to, v * t.lanes, t.elem))) and None)

    def ahead(self, i: Val) -> None:
        """Prefetch the epilogue's operands by pixel."""
        c, f, t, g, outside = self.c, self.f, self.t, self.g, self.c.outside
        pixels = c.epilogue.by_pixel(c.operands)

        def row(channel: Val) -> None:
            at = self.group * g.yg + channel * g.yo

            def fetch(e: Val) -> None:
                for p in pixels:
                    f.prefetch(f.at(p, at + outside.get(outside.y, e), t.elem))
            outside.each(0, fetch)
        if pixels:
            f.loop(i * t.panel, f.imin((i + 1) * t.panel, g.rows), 1, row)

    def out(self, v: Val, src: Val) -> None:
        """Store the totals of a vector of channels."""
        first = v * self.t.lanes
        self.c.outside.each(0, lambda e: self.run(e, first, src))

    def run(self, e: Val, first: Val, src: Val) -> None:
        """One run of pixels: whole vectors of a whole vector of channels without masks."""
        f, t, g, outside = self.f, self.t, self.g, self.c.outside
        lanes, base = (outside.get(outside.lanes, e),
                       self.group * g.yg + first * g.yo + outside.get(outside.y, e))
        rows = [f.at(src, (outside.get(outside.slot, e) + i) * t.panel, t.elem)
                for i in range(t.lanes)]
        channels = transpose(f, [f.load(t.vec, p) for p in rows])
        f.if_(f.cmp("eq", lanes, (1 << t.lanes) - 1) & f.cmp("sge", g.rows - first, t.lanes),
              lambda: self.whole(channels, first, base),
              lambda: self.some(channels, first, base, lanes))

    def whole(self, channels: Sequence[Val], first: Val, base: Val) -> None:
        """A run that is a vector long, in channels that are all there."""
        c, f, t, g = self.c, self.f, self.t, self.g
        put, at = writer(f, t, c.epilogue, None, 1, g), base
        for i, channel in enumerate(channels):
            values = c.epilogue.values(f, t.elem, c.operands, self.group * g.rows + first, i)
            put(channel, values, c.y, at)
            at = at + g.yo

    def some(self, channels: Sequence[Val], first: Val, base: Val, lanes: Val) -> None:
        """A run of some lanes, in the channels that are there."""
        c, f, t, g = self.c, self.f, self.t, self.g
        put = writer(f, t, c.epilogue, lanes, 1, g)
        for i, channel in enumerate(channels):
            f.store(channel, f.at(c.square, i * t.lanes, t.elem))

        def row(i: Val) -> None:
            values = c.epilogue.values(f, t.elem, c.operands, self.group * g.rows + first + i)
            put(f.load(t.vec, f.at(c.square, i * t.lanes, t.elem)), values, c.y, base + i * g.yo)
        f.loop(0, f.imin(g.rows - first, t.lanes), 1, row)
