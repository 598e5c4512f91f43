"""The gradient of a convolution's weights.

gw[o, k] = sum over pixels of gy[o, pixel] * x[k, pixel]: a contraction over all the images' pixels,
in blocks of KC. The rows of the register tile are steps k of the convolution, its columns output
channels, so only gy is transposed, not every tap of x."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..shuffles import transpose
from .conv import micro
from .window_call import Call
from .window_tiles import KC, Runs, blocks

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .window_tiles import Tile


def weight_grad(m: Module, symbol: str, t: Tile, near: int) -> None:
    """The kernel over units (group, block of output channels, block of rows), args gy, x, gw,
    scratch, geometry. `near`: the distance of x under neighbouring pixels (see `reader`)."""
    multiply = micro(m, symbol + "_micro", t)
    gradient = WeightGradient(m.kernel(symbol), t, near, multiply)
    gradient.each_unit(lambda u: Block(gradient, u).emit())


class WeightGradient(Call):
    """The arguments of a call, and its areas of scratch memory."""

    def __init__(self, f: Fn, t: Tile, near: int, multiply: Callable[..., None]) -> None:
        super().__init__(f, t)
        self.multiply, g = multiply, self.g
        self.gy, self.x, self.gw, _ = self.pointers
        self.a, self.b, self.totals = (self.area(name) for name in ("a_at", "b_at", "y_at"))
        limit = f.const("i64", KC)
        self.inside = Runs(f, g, self.area("in_at"), t, limit, KC, near)
        self.outside = Runs(f, g, self.area("out_at"), t, limit, KC, rows=False)
        # a run may write a vector past the last pixel
        self.row_stride, self.panel_size = KC + 16, (KC + t.lanes) * t.panel


class Block:
    """One unit: a block of the convolution's steps times a block of output channels."""

    def __init__(self, gradient: WeightGradient, u: Val) -> None:
        self.c, self.f, self.t, self.g = gradient, gradient.f, gradient.t, gradient.g
        c, f, t, g = self.c, self.f, self.t, self.g
        group, (self.panel0, self.panel1), (self.tile0, self.tile1) = blocks(f, g, u)
        self.xg, self.yg, self.wg = (f.at(c.x, group * g.xg, t.elem),
                                     f.at(c.gy, group * g.yg, t.elem),
                                     f.at(c.gw, group * g.wg, t.elem))
        self.count = f.imax(f.udiv(g.pixels + (KC - 1), KC), 1)
        # of one block of pixels, no sums are kept for another
        self.kept = f.conv("zext", f.cmp("sgt", self.count, 1), "i64")

    def emit(self) -> None:
        """All blocks of pixels."""
        self.f.loop(0, self.count, 1, self.pixels)

    def row_of(self, i: Val) -> Val:
        """Where tile i begins: the last one begins early and repeats rows of the one before."""
        return self.f.imin(i * self.t.rows, self.g.rows - self.t.rows)

    def tile_at(self, j: Val, i: Val) -> Val:
        """The totals of panel j and tile i."""
        t, g = self.t, self.g
        number = (i - self.tile0) * g.max_panels + (j - self.panel0)
        return self.f.at(self.c.totals, number * self.kept * (t.rows * t.panel), t.elem)

    def panel_at(self, j: Val) -> Val:
        """Where panel j of gy's channels begins, in elements."""
        return (j - self.panel0) * self.c.panel_size

    def pixels(self, n: Val) -> None:
        """Block n of pixels: gy's channels become panels, then each tile meets all of them."""
        c, f, t, g = self.c, self.f, self.t, self.g
        steps = f.imin(g.pixels - n * KC, KC)
        c.inside.build(n, n + 1, g.pixels)
        c.outside.build(n, n + 1, g.pixels)
        f.loop(self.panel0, self.panel1, 1,
               lambda j: f.loop(0, t.vectors, 1, lambda v: self.columns(j, v)))
        f.loop(self.tile0, self.tile1, 1, lambda i: self.tile(i, n, steps))

    def columns(self, j: Val, v: Val) -> None:
        """Turn vector v of panel j's output channels into [pixel][channel]."""
        f, t, g, outside = self.f, self.t, self.g, self.c.outside
        first, out = (j * t.panel + v * t.lanes,
                      f.at(self.c.b, self.panel_at(j) + v * t.lanes, t.elem))
        rows = [f.at(self.yg, f.imin(first + i, g.outs - 1) * g.yo, t.elem)
                for i in range(t.lanes)]

        def run(e: Val) -> None:
            p, mask = outside.get(outside.y, e), outside.own(e)
            to = f.at(out, outside.get(outside.slot, e) * t.panel, t.elem)
            values = [f.mload(t.vec, f.at(row, p, t.elem), mask) for row in rows]
            for i, pixel in enumerate(transpose(f, values)):
                f.store(pixel, f.at(to, i * t.panel, t.elem))
        outside.each(0, run)

    def tile(self, i: Val, n: Val, steps: Val) -> None:
        """The values of x under a tile's steps, then their products with all panels."""
        c, f, t = self.c, self.f, self.t
        first = self.row_of(i)
        f.loop(0, t.rows, 1, lambda r: c.inside.fill_row(self.xg, first + r,
                                                         f.at(c.a, r * c.row_stride, t.elem)))
        f.loop(self.panel0, self.panel1, 1, lambda j: self.panel(i, j, n, steps))

    def panel(self, i: Val, j: Val, n: Val, steps: Val) -> None:
        """Tile i times panel j; after the last block of pixels the totals are stored."""
        c, f, t, g = self.c, self.f, self.t, self.g
        c.multiply(f, g.outs - j * t.panel, c.a, f.const("i64", c.row_stride), c.a,
                   f.at(c.b, self.panel_at(j), t.elem), self.tile_at(j, i), steps,
                   f.cmp("eq", n, 0))
        f.if_(f.cmp("eq", n, self.count - 1),
              lambda: f.loop(0, t.vectors, 1, lambda v: self.out(i, j, v)) and None)

    def out(self, i: Val, j: Val, v: Val) -> None:
        """Transpose vector v of a tile's totals to rows of gw, a square at a time."""
        f, t, g = self.f, self.t, self.g
        src, first = f.at(self.tile_at(j, i), v * t.lanes, t.elem), j * t.panel + v * t.lanes
        for r in range(0, t.rows, t.lanes):
            n = min(t.lanes, t.rows - r)
            square = [f.load(t.vec, f.at(src, (r + k) * t.panel, t.elem)) for k in range(n)]
            square += [f.const(t.vec, 0.0)] * (t.lanes - n)
            mask = f.lanes_below(n, t.lanes)
            for k, channel in enumerate(transpose(f, square)):
                f.if_(f.cmp("slt", first + k, g.outs), lambda: f.mstore(
                    channel,
                    f.at(self.wg, (first + k) * g.wo + self.row_of(i) + r, t.elem), mask))
