"""Where the lanes of a vector of outputs lie in memory: side by side, two apart, or at any
distance."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .window_tiles import gather, lane_mask, scatter, spread

if TYPE_CHECKING:
    from ..builder import Fn, Val
    from .window_tiles import Geometry, Tile


class SideBySide:
    """Adjacent lanes under a mask; all lanes if there is none."""

    def __init__(self, f: Fn, t: Tile, mask: Val | None) -> None:
        self.f, self.t, self.mask = f, t, mask

    def load(self, p: Val) -> Val:
        """The lanes at `p`."""
        f, t = self.f, self.t
        return f.load(t.vec, p) if self.mask is None else f.mload(t.vec, p, self.mask)

    def store(self, x: Val, p: Val) -> None:
        """Put the lanes at `p`."""
        if self.mask is None:
            self.f.store(x, p)
        else:
            self.f.put(self.mask, (x, p))


class TwoApart:
    """The lanes that the low bits of an i64 say, as every second element of two vectors."""

    def __init__(self, f: Fn, t: Tile, bits: Val) -> None:
        self.f, self.t = f, t
        places = spread(f, bits)
        self.low, self.high = lane_mask(f, t, places), lane_mask(f, t, f.lshr(places, t.lanes))

    def load(self, p: Val) -> Val:
        """The lanes from `p` on."""
        f, t = self.f, self.t
        low, high = f.mload(t.vec, p, self.low), f.mload(t.vec, f.at(p, t.lanes, t.elem), self.high)
        return f.shuffle(low, high, range(0, 2 * t.lanes, 2))

    def store(self, x: Val, p: Val) -> None:
        """Put the lanes, from `p` on."""
        f, t, n = self.f, self.t, self.t.lanes
        f.put(self.low, (f.shuffle(x, None, [i // 2 for i in range(n)]), p))
        high = f.shuffle(x, None, [(n + i) // 2 for i in range(n)])
        f.put(self.high, (high, f.at(p, n, t.elem)))


class Apart:
    """The lanes of a mask, at the distance of neighbours in y."""

    def __init__(self, f: Fn, t: Tile, mask: Val, g: Geometry) -> None:
        self.f, self.t, self.mask = f, t, mask
        self.distance = f.splat(g.yw, t.lanes) * f.iota("i64", t.lanes)

    def load(self, p: Val) -> Val:
        """The lanes from `p` on."""
        return gather(self.f, self.t, p, self.distance, self.mask)

    def store(self, x: Val, p: Val) -> None:
        """Put the lanes, from `p` on."""
        scatter(self.f, self.t, x, p, self.distance, self.mask)


def output_lanes(f: Fn, t: Tile, bits: Val | None, far: int,
                 g: Geometry) -> SideBySide | TwoApart | Apart:
    """The lanes that the low bits of an i64 say, all where that is None; they go `far` apart: 1, 2,
    or 0 for any distance. All lanes go side by side."""
    if bits is None:
        assert far == 1, "lanes that are apart are said by bits"
        return SideBySide(f, t, None)
    mask = lane_mask(f, t, bits)
    if far == 1:
        f.first[mask.ref] = f.intr("ctpop", bits)
        return SideBySide(f, t, mask)
    return TwoApart(f, t, bits) if far == 2 else Apart(f, t, mask, g)
