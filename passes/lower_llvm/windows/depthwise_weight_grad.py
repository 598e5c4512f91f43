"""The gradient of the weights of a convolution of one input channel per group.

A vector holds one pixel of several channels, as in `depthwise.forward`. The order of the sums over
pixels is that of `conv_weight_grad`, in blocks of KC, so the bits are too."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..shuffles import planes_to_pixels
from .depthwise import Band
from .window_call import Call
from .window_tiles import KC, divmod_

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val
    from .window_tiles import Tile

HELD_SUMS = 14                 # sums that stay in registers


def weight_grad(m: Module, symbol: str, t: Tile, taps: int, near: int) -> None:
    """The kernel over vectors of output channels, args gy, x, gw, scratch, geometry."""
    gradient = WeightGradient(m.kernel(symbol), t, taps, near)
    gradient.each_unit(lambda u: Channels(gradient, u).emit())


class WeightGradient(Call):
    """The arguments of a call, and its areas of scratch memory: `line` has a row of gy as
    [pixel][channel], `sums` the sums of a block of pixels, `totals` the sums of the blocks
    before."""

    def __init__(self, f: Fn, t: Tile, taps: int, near: int) -> None:
        super().__init__(f, t)
        self.taps = taps
        self.gy, x, self.gw, _ = self.pointers
        band, self.line, self.sums, self.totals = (
            self.area(name) for name in ("in_at", "out_at", "y_at", "b_at"))
        self.band = Band(f, self.g, t, band, x, taps, near)
        parts = -(-taps // HELD_SUMS)
        cuts = [taps * i // parts for i in range(parts + 1)]
        self.held = [range(low, high) for low, high in zip(cuts, cuts[1:])]


class Channels:
    """One unit: a vector of output channels."""

    def __init__(self, gradient: WeightGradient, u: Val) -> None:
        self.c, self.f, self.t, self.g = gradient, gradient.f, gradient.t, gradient.g
        self.n, f, g = self.t.lanes, self.f, self.g
        self.first = u * self.n
        self.channels = [f.imin(self.first + i, g.outs - 1) for i in range(self.n)]
        self.x_at = [f.udiv(c, g.steps) * g.xg for c in self.channels]

    def emit(self) -> None:
        """All pixels of all images, then the totals are stored."""
        c, f, t, g = self.c, self.f, self.t, self.g
        for k in range(c.taps):
            f.store(f.const(t.vec, 0.0), f.at(c.sums, k * self.n, t.elem))
        images, depths = f.udiv(g.pixels, g.image), f.udiv(g.image, g.oh * g.ow)
        f.loop(0, images, 1,
               lambda image: f.loop(0, depths, 1, lambda oz: self.bands(image, oz)))
        f.loop(0, f.imin(g.outs - self.first, self.n), 1, self.out)

    def bands(self, image: Val, oz: Val) -> None:
        """The rows of an image at one depth, a band at a time."""
        f, g, band = self.f, self.g, self.c.band

        def some(oy0: Val) -> None:
            oy1 = f.imin(oy0 + g.max_tiles, g.oh)
            band.bring(image, oz, oy0, oy1, self.x_at)
            f.loop(oy0, oy1, 1, lambda oy: self.row(image, oz, oy, oy0))
        f.loop(0, g.oh, g.max_tiles, some)

    def row(self, image: Val, oz: Val, oy: Val, oy0: Val) -> None:
        """Output row oy, in a band that begins with row oy0."""
        c, f, t, g = self.c, self.f, self.t, self.g
        pixel0 = (oz * g.oh + oy) * g.ow
        base = image * g.yn + pixel0
        planes_to_pixels(f, t.vec, [f.at(c.gy, base + o * g.yo, t.elem) for o in self.channels],
                         f.const("i64", 0), g.ow, c.line,
                         lambda p, k, mask: f.mload(t.vec, f.at(p, k, t.elem), mask))
        src = c.band.row(oy, oy0)
        start = image * g.image + pixel0
        f.while_(lambda p: f.cmp("slt", p, g.ow), lambda p: [self.part(p, src, start)],
                 [f.const("i64", 0)])

    def part(self, p: Val, src: Val, start: Val) -> Val:
        """Pixels from p up to the end of the row or of the block of KC, whichever comes first:
        the result. Pixel `start` is the row's first, counted over all images."""
        c, f, g = self.c, self.f, self.g
        block, inside = divmod_(f, start + p, f.const("i64", KC))
        stop = f.imin(g.ow, p + (KC - inside))
        for taps in c.held:
            self.add(taps, p, stop, src)
        last = f.cmp("eq", start + stop, g.pixels) | f.cmp("eq", inside + (stop - p), KC)
        f.if_(last, lambda: self.end_block(block))
        return stop

    def add(self, taps: range, p: Val, stop: Val, src: Val) -> None:
        """Add the products of pixels p..stop to the sums of some taps."""
        c, f, t, g, n = self.c, self.f, self.t, self.g, self.n

        def pixel(i: Val, *acc: Val) -> list[Val]:
            v, at = (f.load(t.vec, f.at(c.line, i * n, t.elem)),
                     f.at(src, i * g.sw * n, t.elem))
            return [f.fma(f.load(t.vec, f.at(at, c.band.tap_at[k], t.elem)), v, a)
                    for k, a in zip(taps, acc)]
        places = [f.at(c.sums, k * n, t.elem) for k in taps]
        sums = f.loop(p, stop, 1, pixel, [f.load(t.vec, q) for q in places])
        for q, a in zip(places, sums):
            f.store(a, q)

    def end_block(self, block: Val) -> None:
        """Add a block's sums to the totals; the first block's are the totals."""
        c, f, t, n = self.c, self.f, self.t, self.n
        for k in range(c.taps):
            q, a = f.at(c.totals, k * n, t.elem), f.load(t.vec, f.at(c.sums, k * n, t.elem))
            f.store(f.sel(f.cmp("eq", block, 0), a, f.load(t.vec, q) + a), q)
            f.store(f.const(t.vec, 0.0), f.at(c.sums, k * n, t.elem))

    def out(self, i: Val) -> None:
        """Store the totals of channel i."""
        c, f, t = self.c, self.f, self.t
        for k in range(c.taps):
            f.store(f.load(t.elem, f.at(c.totals, k * self.n + i, t.elem)),
                    f.at(c.gw, (self.first + i) * c.taps + k, t.elem))
