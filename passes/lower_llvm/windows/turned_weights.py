"""Convolutions whose weights were put into another order before: pixels are the rows of the
register tile, output channels its columns.

The order of each sum is that of `conv.forward`, and so are the bits. But a tile may have any number
of pixels, so none are wasted on small maps, and the weights are read as vectors, one after the
other. Weights are [group][vector of channels][step][channel]; steps are padded to whole vectors.
Totals of a unit are [panel of channels][pixel][channel]; they are turned into rows of pixels as
they are stored."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import at_once
from ..shuffles import planes_to_pixels, transpose
from .conv import OPERAND0, add_up, fetch, writer
from .window_tiles import KC, Geometry, Runs, blocks, divmod_

if TYPE_CHECKING:
    from ..builder import Module, Val
    from .conv import Epilogue
    from .window_tiles import Tile

ENDLESS = 1 << 40


def weights(m: Module, symbol: str, t: Tile) -> None:
    """The kernel over the vectors of channels of all groups, args w, u, rows, vectors, steps,
    padded steps, strides of rows and groups in w."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, _ = f.args
    w, u = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    rows, vectors, steps, padded, row_stride, group_stride = (f.load("i64", f.at(args, i, "i64")) for i in range(2, 8))

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

    A vector's worth of what lies at `later` is fetched meanwhile."""
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
    """The kernel over units (group, block of panels of channels, block of pixels); arguments as `conv.forward`, w as `weights` leaves it."""
    multiply = micro(m, symbol + "_micro", t)
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    x, w, y, scratch, _, *operands = (f.load("ptr", f.at(args, i, "i64")) for i in range(OPERAND0 + len(epilogue.operands)))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    a, totals, square = g.area(mine, "b_at"), g.area(mine, "y_at"), g.area(mine, "a_at")
    limit = g.max_panels * t.rows
    inside = Runs(f, g, g.area(mine, "in_at"), t, limit, t.rows, near)
    inside.list_taps(g.area(mine, "tap_at"))
    outside = Runs(f, g, g.area(mine, "out_at"), t, limit, ENDLESS, rows=False)
    kept = f.conv("zext", f.cmp("sgt", g.steps, KC), "i64")          # of one block, no sums are kept for another
    size, stream = (limit + t.lanes) * kept * t.panel, g.wk * t.lanes         # of a panel's totals; of a vector of channels

    def unit(u: Val) -> None:
        group, (panel0, panel1), (tile0, tile1) = blocks(f, g, u, by_rows=True)
        panels, xg = panel1 - panel0, f.at(x, group * g.xg, t.elem)
        inside.build(panel0, panel1, g.pixels)
        outside.walk(panel0 * t.rows, f.imin(panel1 * t.rows, g.pixels))

        def block(k0: Val) -> None:
            k1 = f.imin(k0 + KC, g.steps)
            steps, last = k1 - k0, f.cmp("sge", k1, g.steps)
            f.loop(0, panels, 1, lambda j: inside.fill(j, xg, k0, k1, f.at(a, j * steps * t.rows, t.elem)))

            def tile(i: Val) -> None:
                f.if_(last, lambda: ahead(i))
                wg, to, more = f.at(w, group * g.wg, t.elem), f.at(totals, (i - tile0) * size, t.elem), f.cmp("slt", i + 1, tile1)
                b = f.at(wg, i * t.vectors * stream + k0 * t.lanes, t.elem)
                later = f.at(wg, f.sel(more, i + 1, tile0) * t.vectors * stream + f.sel(more, k0, k1) * t.lanes, t.elem)
                f.loop(0, panels, 1, lambda j: f.call(
                    multiply, "void", f.at(a, j * steps * t.rows, t.elem), b, stream, f.at(to, j * (t.rows * t.panel), t.elem), steps,
                    f.cmp("eq", k0, 0), f.at(later, f.imin(j, t.vectors - 1) * stream, t.elem)))
                f.if_(last, lambda: f.loop(0, t.vectors, 1, lambda v: out(i * t.vectors + v, f.at(to, v * t.lanes, t.elem))) and None)
            f.loop(tile0, tile1, 1, tile)

        def ahead(i: Val) -> None:
            """Fetch what the epilogue reads by pixel."""
            pixels = [p for p, kind in zip(operands, epilogue.operands) if kind == "pixel"]

            def row(c: Val) -> None:
                at = group * g.yg + c * g.yo

                def fetch(e: Val) -> None:
                    for p in pixels:
                        f.prefetch(f.at(p, at + outside.get(outside.y, e), t.elem))
                outside.each(0, fetch)
            if pixels:
                f.loop(i * t.panel, f.imin((i + 1) * t.panel, g.rows), 1, row)

        def out(v: Val, src: Val) -> None:
            """Store the totals of a vector of channels."""
            first = v * t.lanes

            def run(e: Val) -> None:
                lanes, base = outside.get(outside.lanes, e), group * g.yg + first * g.yo + outside.get(outside.y, e)
                rows = [f.at(src, (outside.get(outside.slot, e) + i) * t.panel, t.elem) for i in range(t.lanes)]
                channels = transpose(f, [f.load(t.vec, p) for p in rows])

                def whole() -> None:
                    put, at = writer(f, t, epilogue, None, 1, g), base
                    for i, channel in enumerate(channels):
                        put(channel, epilogue.given(f, t.elem, operands, group * g.rows + first, i), y, at)
                        at = at + g.yo

                def some() -> None:
                    put = writer(f, t, epilogue, lanes, 1, g)
                    for i, channel in enumerate(channels):
                        f.store(channel, f.at(square, i * t.lanes, t.elem))

                    def row(i: Val) -> None:
                        given = epilogue.given(f, t.elem, operands, group * g.rows + first + i)
                        put(f.load(t.vec, f.at(square, i * t.lanes, t.elem)), given, y, base + i * g.yo)
                    f.loop(0, f.imin(g.rows - first, t.lanes), 1, row)
                f.if_(f.cmp("eq", lanes, (1 << t.lanes) - 1) & f.cmp("sge", g.rows - first, t.lanes), whole, some)
            outside.each(0, run)
        f.loop(0, g.steps, KC, block)
    f.loop(begin, end, 1, unit)
