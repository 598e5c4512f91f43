"""Convolutions of one input channel per group whose rows are about a vector long or longer.

A work unit (channel, image, plane and band of output rows) brings the rows that it reads into a
plane with its padding, as `few_channels` does for several channels. A vector holds neighbouring
outputs of a row, so nothing is turned around, and a tap is a distance in the plane. Several output
rows are computed side by side: a vector that is loaded meets the taps of all of them. Each sum is
one chain in the order of the taps, as in `conv.forward`, and so are the bits.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import targets
from .epilogue import writer
from .few_channels import Image
from .window_tiles import divmod_, share

if TYPE_CHECKING:
    from ..builder import Module, Val
    from .epilogue import Epilogue
    from .window_tiles import Tile

REGISTERS = {"avx512": 32, "neon": 32}       # of vectors; others have 16
MOST_ROWS = 4
# With fewer rows than this the chains of sums would wait for themselves: each addition takes four
# cycles, and two can begin in each. Then weights are read from memory, beside each multiplication.
LEAST_ROWS = 3


@dataclass(frozen=True)
class Taps:
    """Windows of `rows` x `columns` neighbouring taps, and their steps. In order, taps go to lower
    rows and columns where they are `turned`."""
    rows: int
    columns: int
    down: int
    across: int
    turned: bool = False

    @property
    def key(self) -> str:
        """What tells them from others."""
        return f"{self.rows}x{self.columns}/{self.down}x{self.across}{'/turned' * self.turned}"

    def row(self, i: int) -> int:
        """The row, from the upper one on, of the i-th row of taps."""
        return self.rows - 1 - i if self.turned else i

    def column(self, i: int) -> int:
        """The column, from the left one on, of the i-th column of taps."""
        return self.columns - 1 - i if self.turned else i

    @property
    def together(self) -> int:
        """How many output rows are computed side by side: all their sums, the weights and a few
        operands of the epilogue are in registers. The weights of large windows are not."""
        free = REGISTERS.get(targets.current().name, 16) - self.rows * self.columns - 4
        return min(MOST_ROWS, free) if free >= LEAST_ROWS else MOST_ROWS


def forward(m: Module, symbol: str, t: Tile, taps: Taps, epilogue: Epilogue, far: int) -> None:
    """The kernel over units (channel, image, plane, band of rows); arguments as `conv.forward`, the
    geometry as `few_channels` has it. `far` is the step along a row of y (see `writer`)."""
    plane = Image(m.kernel(symbol), t, epilogue, taps.across, far)
    plane.each_unit(lambda u: Channel(plane, taps, u).emit())


class Channel:
    """One unit: a band of output rows of a plane, of all outputs of a channel of one image."""

    def __init__(self, plane: Image, taps: Taps, u: Val) -> None:
        self.p, self.f, self.t, self.g, self.taps = plane, plane.f, plane.t, plane.g, taps
        f, g = self.f, self.g
        rest, band = divmod_(f, u, g.bands)
        rest, self.plane = divmod_(f, rest, g.od)
        self.group, self.image = divmod_(f, rest, g.images)
        self.first, self.end = share(f, band, g.oh, g.bands), share(f, band + 1, g.oh, g.bands)
        source = f.at(plane.x, self.image * g.xn + self.group * g.xg, plane.t.elem)
        plane.bring(source, self.plane, self.first * taps.down + g.top,
                    (self.end - self.first - 1) * taps.down + taps.rows)

    def emit(self) -> None:
        """All outputs of the channel."""
        self.f.loop(0, self.g.rows, 1, self.output)

    def output(self, o: Val) -> None:
        """The band of one output: some rows at a time, then those that are left one by one."""
        p, f, t, g = self.p, self.f, self.t, self.g
        w = f.at(p.w, self.group * g.wg + o * g.wo, t.elem)

        def weight(k: int) -> Val:
            return f.splat(f.load(t.elem, f.at(w, f.load("i64", f.at(p.places, k, "i64")), t.elem)),
                           t.lanes)
        weights = [weight(k) for k in range(self.taps.rows * self.taps.columns)]
        operands = [v if v.ty == "ptr" else f.splat(v, t.lanes)
                    for v in p.epilogue.values(f, t.elem, p.operands, self.group * g.rows + o)]
        y = self.image * g.yn + self.group * g.yg + o * g.yo + self.plane * g.yd
        n = self.taps.together
        _, left = divmod_(f, self.end - self.first, f.const("i64", n))
        rest = self.end - left
        for low, high, count in ((self.first, rest, n), (rest, self.end, 1)):
            def some(oy: Val, count: int = count) -> None:
                self.rows(oy, count, weights, operands, y)
            f.loop(low, high, count, some)

    def rows(self, oy: Val, count: int, weights: Sequence[Val], operands: Sequence[Val],
             y: Val) -> None:
        """So many output rows from oy on, a vector of columns at a time."""
        p, f, t, g = self.p, self.f, self.t, self.g
        row0 = f.at(p.planes, (oy - self.first) * self.taps.down * p.row_size, t.elem)

        def vector(v: Val) -> None:
            ox = v * t.lanes
            sums = self.sums(f.at(row0, ox, t.elem), count, weights)
            lanes = (f.const("i64", 1) << f.imin(g.ow - ox, t.lanes)) - 1
            put = writer(f, t, p.epilogue, lanes, p.far, g)
            for r, acc in enumerate(sums):
                put(acc, operands, p.y, y + (oy + r) * g.yh + ox * g.yw)
        f.loop(0, g.vectors, 1, vector)

    def sums(self, at: Val, count: int, weights: Sequence[Val]) -> list[Val]:
        """The sums of a vector of columns in `count` rows, whose windows begin at `at`."""
        f, t, g, taps = self.f, self.t, self.g, self.taps
        sums = [f.const(t.vec, 0.0)] * count
        rows = range((count - 1) * taps.down + taps.rows)
        for i in reversed(rows) if taps.turned else rows:
            line = f.at(at, self.p.row_size * i, t.elem)
            meets = [(r, k) for r in range(count) for k in range(taps.rows)
                     if taps.row(k) == i - r * taps.down]
            for q in range(taps.columns):
                further, phase = divmod(taps.column(q), taps.across)
                x = f.load(t.vec, f.at(line, g.line * phase + further, t.elem))
                for r, k in meets:
                    sums[r] = f.fma(weights[k * taps.columns + q], x, sums[r])
        return sums
