"""What window kernels are made of: the geometry of a call, the register tile, and runs of
neighbouring pixels."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..builder import BYTES as BYTES  # plans of calls ask for it here
from ..builder import Val, vec

if TYPE_CHECKING:
    from ..builder import Fn

Read = TypeVar("Read")         # what is read at once: a vector, or those of a panel
KC = 256                       # steps in a block of the canonical order

FIELDS = (
    "pixels image oh ow d h w sd sh sw xn xg xc xd xh xw yn yg yo yd yh yw wg wo wk rows outs "
    "rowtaps coltaps steps channels panels pixel_blocks row_blocks tiles max_panels max_tiles "
    "scratch in_at out_at list_at tap_at y_at b_at a_at band_rows band_cols left top bottom"
).split()
FIELD = {name: i for i, name in enumerate(FIELDS)}
# then the tables: depth and row offset of each row of taps, column offset of each column, and where
# each tap is in the weights (for `Tile.listed`)
TABLES = len(FIELDS)


@dataclass(frozen=True)
class Tile:
    """The register tile: `rows` broadcast values against `vectors` vectors of `lanes` elements."""
    elem: str
    rows: int
    lanes: int
    vectors: int = 2
    listed: bool = False       # the steps of a weight row lie where a list says, not side by side

    @property
    def panel(self) -> int:
        return self.lanes * self.vectors

    @property
    def vec(self) -> str:
        return vec(self.elem, self.lanes)


class Geometry:
    """The fields of the geometry that argument `slot` points to; each is loaded once, in the
    function's entry block."""

    def __init__(self, f: Fn, args: Val, slot: int, fields: dict[str, int] = FIELD) -> None:
        self._f, self._fields = f, fields
        p = self._entry("ptr", f"getelementptr i64, ptr {args.ref}, i64 {slot}")
        self.table = self._entry("ptr", f"load ptr, ptr {p.ref}, align 8")

    def _entry(self, ty: str, expr: str) -> Val:
        name = self._f.new()
        self._f.entry.append(f" {name} = {expr}")
        return Val(self._f, name, ty)

    def __getattr__(self, name: str) -> Val:
        p = self._entry("ptr", f"getelementptr i64, ptr {self.table.ref}, i64 {self._fields[name]}")
        value = self.__dict__[name] = self._entry("i64", f"load i64, ptr {p.ref}, align 8")
        return value

    def area(self, mine: Val, name: str) -> Val:
        """The piece of a thread's scratch memory, which begins at `mine`, of this name: up to
        where the next one begins."""
        f = self._f
        at: Val = getattr(self, name)

        def size() -> Val:
            end = self.scratch
            for other in self._fields:
                if other.endswith("_at") and other != name:
                    start: Val = getattr(self, other)
                    end = f.sel(f.cmp("sgt", start, at), f.imin(end, start), end)
            return end - at
        return f.within(f.bytes_at(mine, at), size)


def table_at(f: Fn, geo: Val, i: Val) -> Val:
    """Entry i of the geometry."""
    return f.load("i64", f.at(geo, i, "i64"))


def table(f: Fn, geo: Val, i: Val) -> Val:
    """Entry i of the tables behind the fields."""
    return table_at(f, geo, i + TABLES)


def divmod_(f: Fn, a: Val, b: Val) -> tuple[Val, Val]:
    q = f.udiv(a, b)
    return q, a - q * b


class Runs:
    """The runs of a block of pixels: where they lie in x and y, their slots in the panels, and
    which lanes are inside the image.

    Kept in scratch as columns, `limit` long: first run of each panel; x, y, slot and lanes (a bit
    each) of each run; then for each row of taps a word of ones or zeros, for each column of taps
    the lanes inside (every second bit if `near` is 2, see `reader`). With `rows` a run stays in an
    output row, and the masks exist; without, in an image whose pixels are neighbours in y.
    """

    def __init__(self, f: Fn, g: Geometry, memory: Val, tile: Tile, limit: Val, panel: int,
                 near: int = 1, rows: bool = True) -> None:
        self.f, self.g, self.geo, self.t = f, g, g.table, tile
        self.limit, self.panel, self.near, self.rows = limit, panel, near, rows
        self.first, self.x, self.y, self.slot, self.lanes = (
            f.within(f.bytes_at(memory, (limit + 1) * (8 * i)), (limit + 1) * 8) for i in range(5))
        self.rowmask = f.bytes_at(memory, (limit + 1) * 40)
        self.colmask = f.bytes_at(self.rowmask, g.rowtaps * limit * 4)

    def get(self, column: Val, i: int | Val, ty: str = "i64") -> Val:
        return self.f.load(ty, self.f.at(column, i, ty))

    def build(self, panel0: Val, panel1: Val, pixels: Val) -> None:
        """Cut the pixels of panels panel0..panel1 (up to pixel number `pixels`) into runs."""
        start, end = panel0 * self.panel, self.f.imin(panel1 * self.panel, pixels)
        self.pixels = end - start
        self.walk(start, end)

    def walk(self, start: Val, end: Val) -> None:
        """Cut pixels start..end into runs; panels begin at `start`.

        Goes along the coordinates (image, depth, row, column): divisions would cost more than the
        rest.
        """
        f, g, t = self.f, self.g, self.t
        n, q = divmod_(f, start, g.image)
        row, ox = divmod_(f, q, g.ow) if self.rows else (q, q)
        oz, oy = divmod_(f, row, g.oh) if self.rows else (q, q)
        zero = f.const("i64", 0)
        f.store(zero, self.first)

        def run(p: Val, e: Val, panel: Val, slot: Val, n: Val, q: Val, oz: Val, oy: Val,
                ox: Val) -> tuple[Val, ...]:
            room = f.imin(t.lanes, f.imin(end - p, self.panel - slot))
            count = f.imin(room, g.ow - ox if self.rows else g.image - q)
            if self.rows:
                f.store(n * g.xn + oz * g.sd * g.xd + oy * g.sh * g.xh + ox * g.sw * g.xw,
                        f.at(self.x, e, "i64"))
                f.store(n * g.yn + oz * g.yd + oy * g.yh + ox * g.yw, f.at(self.y, e, "i64"))
                self._masks(e, oz, oy, ox, count)
                self._more(e, oy, ox, count)
            else:
                f.store(n * g.yn + q, f.at(self.y, e, "i64"))
            f.store(slot, f.at(self.slot, e, "i64"))
            f.store((f.const("i64", 1) << count) - 1, f.at(self.lanes, e, "i64"))
            p, e, slot, q, ox = p + count, e + 1, slot + count, q + count, ox + count
            # the last run of a panel leaves what stays
            f.store(e, f.at(self.first, panel + 1, "i64"))
            full = f.cmp("eq", slot, self.panel)
            panel, slot = panel + f.conv("zext", full, "i64"), f.sel(full, 0, slot)
            if self.rows:
                wrap = f.cmp("eq", ox, g.ow)
                ox, oy = f.sel(wrap, 0, ox), oy + f.conv("zext", wrap, "i64")
                wrap = f.cmp("eq", oy, g.oh)
                oy, oz = f.sel(wrap, 0, oy), oz + f.conv("zext", wrap, "i64")
            wrap = f.cmp("eq", q, g.image)
            oz, q, n = f.sel(wrap, 0, oz), f.sel(wrap, 0, q), n + f.conv("zext", wrap, "i64")
            return p, e, panel, slot, n, q, oz, oy, ox

        f.while_(lambda p, *_: f.cmp("slt", p, end),
                 run, [start, zero, zero, zero, n, q, oz, oy, ox])

    def _masks(self, e: Val, oz: Val, oy: Val, ox: Val, count: Val) -> None:
        f, g = self.f, self.g

        def row(r: Val) -> None:
            iz, iy = (oz * g.sd + table(f, self.geo, r),
                      oy * g.sh + table(f, self.geo, r + g.rowtaps))
            inside = f.cmp("ult", iz, g.d) & f.cmp("ult", iy, g.h)
            f.store(f.conv("sext", inside, "i32"), f.at(self.rowmask, r * self.limit + e, "i32"))
        f.loop(0, g.rowtaps, 1, row)

        def col(q: Val) -> None:
            low, high = self._column_bits(ox * g.sw + table(f, self.geo, q + g.rowtaps * 2), count)
            one = f.const("i64", 1)
            bits = ((one << high) - 1) & ~((one << low) - 1)
            bits = f.conv("trunc", bits, "i32")
            f.store(
                spread(f, bits) if self.near == 2 else bits,
                f.at(self.colmask, q * self.limit + e, "i32"))
        f.loop(0, g.coltaps, 1, col)

    def _more(self, e: Val, oy: Val, ox: Val, count: Val) -> None:
        """Overridden where a kernel needs more facts of a run."""

    def _column_bits(self, ix: Val, count: Val) -> tuple[Val, Val]:
        """The first lane inside the image and the first after it, where the run's first lane
        is at column ix."""
        f, g = self.f, self.g
        if self.near == 1:                                              # the step is 1
            low, high = 0 - ix, g.w - ix
        elif self.near == 2:                                            # 1 or 2
            low, high = (g.sw - 1 - ix) >> (g.sw - 1), (g.w - 1 - ix + g.sw) >> (g.sw - 1)
        else:
            low, high = f.sdiv(g.sw - 1 - ix, g.sw), f.sdiv(g.w - 1 - ix + g.sw, g.sw)
        return f.imax(0, f.imin(32, low)), f.imax(0, f.imin(count, high))

    def each(self, j: int | Val, body: Callable[[Val], None]) -> None:
        """body(run) for the runs of panel j (counted from the first)."""
        self.f.loop(self.get(self.first, j), self.get(self.first, j + 1), 1, body)

    def tap_at(self, r: Val, q: Val) -> Val:
        """How far the tap in row r, column q is from the first pixel of the window."""
        f, g, geo = self.f, self.g, self.geo
        return (table(f, geo, r) * g.xd + table(f, geo, r + g.rowtaps) * g.xh
                + table(f, geo, q + g.rowtaps * 2) * g.xw)

    def own(self, e: Val) -> Val:
        """The lanes of run e."""
        return lane_mask(self.f, self.t, self.get(self.lanes, e, "i64"))

    def inside(self, e: Val, r: Val, q: Val) -> Val:
        """Bits of those lanes of run e that lie inside the image under the tap."""
        return (self.get(self.rowmask, r * self.limit + e, "i32")
                & self.get(self.colmask, q * self.limit + e, "i32"))

    def list_taps(self, memory: Val) -> None:
        """Note where each tap is, for `fill`; once, before anything else."""
        f, g = self.f, self.g
        self.taps = memory

        def row(r: Val) -> None:
            f.loop(0,
                   g.coltaps,
                   1, lambda q: f.store(self.tap_at(r, q), f.at(memory, r * g.coltaps + q, "i64")))
        f.loop(0, g.rowtaps, 1, row)

    def fill(self, j: Val, src: Val, k0: Val, k1: Val, out: Val) -> None:
        """Copy panel j's values of steps k0..k1 to `out`, [step][pixel]; `src` is x at the group's
        first channel.

        Run by run and tap by tap, so that a run's lanes are worked out once for all channels.
        """
        self.f.if_(self.f.cmp("sgt", (j + 1) * self.panel, self.pixels),
                   lambda: self._blank((k1 - k0) * self.panel, out))
        Fill(self, j, src, k0, k1, out).emit()

    def _blank(self, size: Val, out: Val) -> None:
        """Fill up a panel that has fewer pixels than places with zeros. The results of these places
        are dropped, but with uninitialised memory the computation may take ten times as long."""
        f, t = self.f, self.t
        zero = f.const(t.vec, 0.0 if t.elem in ("float", "double") else 0)
        f.loop(0, size, t.lanes,
               lambda i: f.put(f.lanes_below(size - i, t.lanes), (zero, f.at(out, i, t.elem))))

    def clear(self, e: Val) -> Val:
        """Do all lanes of run e lie inside the image under every tap?"""
        f, g = self.f, self.g
        bits = f.const("i32", -1)
        for mask, count in ((self.rowmask, g.rowtaps), (self.colmask, g.coltaps)):
            bits, = f.loop(0, count, 1,
                           lambda i, bits: bits & self.get(mask, i * self.limit + e, "i32"), [bits])
        return f.cmp("eq", bits, all_lanes(self.t, self.near))

    def fill_row(self, src: Val, k: Val, out: Val) -> None:
        """Copy all the pixels' values of step k to `out`, side by side."""
        f, g, t = self.f, self.g, self.t
        c, tap = divmod_(f, k, g.rowtaps * g.coltaps)
        r, q = divmod_(f, tap, g.coltaps)
        p = f.at(src, self.tap_at(r, q) + c * g.xc, t.elem)

        def run(e: Val) -> None:
            v = (reader(f, t, self.near, self.inside(e, r, q),
                        g)(f.at(p, self.get(self.x, e), t.elem)))
            f.put(self.own(e), (v, f.at(out, self.get(self.slot, e), t.elem)))
        self.each(0, run)


class Fill:
    """Copies one panel's values of some steps."""

    def __init__(self, runs: Runs, j: Val, src: Val, k0: Val, k1: Val, out: Val) -> None:
        self.runs, self.f, self.g, self.t, self.near = runs, runs.f, runs.g, runs.t, runs.near
        self.j, self.src, self.k0, self.k1, self.out = j, src, k0, k1, out
        g = self.g
        self.count = g.rowtaps * g.coltaps
        self.stride = self.count * runs.panel
        # (channel, tap) of the first step and of the one behind the last, where there are taps
        taps = self.f.imax(self.count, 1)
        self.begin, self.end = (divmod_(self.f, k, taps) for k in (k0, k1))

    def emit(self) -> None:
        """Run by run; as one where the panel's runs are neighbours in x, too, and only one tap
        is there."""
        f, t, runs = self.f, self.t, self.runs
        if self.near != 1 or t.vectors == 1 or runs.panel != t.panel:
            runs.each(self.j, self.run)
            return
        first = runs.get(runs.first, self.j)
        adjacent = (f.cmp("eq", self.count, 1)
                    & f.cmp("eq",
                            runs.get(runs.first, self.j + 1) - first, t.vectors))

        def check() -> list[Val]:
            found = f.const("i1", True)
            for v in range(t.vectors):
                found = found & runs.clear(first + v) & f.cmp(
                    "eq", runs.get(runs.x, first + v), runs.get(runs.x, first) + v * t.lanes)
            return [found]

        clear, = f.if_(adjacent, check, lambda: [f.const("i1", False)])
        f.if_(clear, lambda: self.side_by_side(first), lambda: runs.each(self.j, self.run))

    def side_by_side(self, first: Val) -> None:
        """The panel's runs as one: a channel's pixels are lines of the cache, which may not stay
        until the next run wants its part."""
        f, t = self.f, self.t

        def put(values: Sequence[Val], to: Val) -> None:
            for v, x in enumerate(values):
                f.store(x, f.at(to, v * t.lanes, t.elem))
        c0, c1 = self.channels_of(0)
        self.copy(c0, c1, *self.places(first, 0, c0),
                  lambda p: [f.load(t.vec, f.at(p, v * t.lanes, t.elem)) for v in range(t.vectors)],
                  put)

    def run(self, e: Val) -> None:
        """One run: without masks where all of it is inside the image under every tap."""
        f, runs = self.f, self.runs
        own = runs.own(e)
        if self.near:
            several = f.cmp("sgt", self.count, 1)
            f.if_(several & runs.clear(e), lambda: self.without_masks(e),
                  lambda: self.with_masks(e, own))
        else:
            self.with_masks(e, own)

    def with_masks(self, e: Val, own: Val) -> None:
        """Tap by tap."""
        f, g = self.f, self.g
        f.loop(0, g.rowtaps, 1, lambda r: f.loop(0, g.coltaps, 1, lambda q: self.tap(e, own, r, q)))

    def tap(self, e: Val, own: Val, r: Val, q: Val) -> None:
        """One tap, in all channels. Where all of the run is outside nothing is read: loads of no
        lanes were seen to take forty cycles."""
        f, g, t, near = self.f, self.g, self.t, self.near
        tap = r * g.coltaps + q
        c0, c1 = self.channels_of(tap)
        bits, at = self.runs.inside(e, r, q), self.places(e, tap, c0)

        def some() -> None:
            self.copy(c0, c1, *at, reader(f, t, near, bits, g), lambda x, at: f.put(own, (x, at)))
        def none() -> None:
            zero = f.const(t.vec, 0.0)
            self.copy(c0, c1, *at, lambda _: zero, lambda x, at: f.put(own, (x, at)))

        def part() -> None:
            f.if_(f.cmp("eq", bits, 0), none, some)
        if near:
            f.if_(f.cmp("eq", bits, all_lanes(t, near)),
                  lambda: self.copy(c0, c1, *at, whole_reader(f, t, near), f.store), part)
        else:
            part()

    def without_masks(self, e: Val) -> None:
        """Step by step: the taps of a channel lie near each other."""
        f, g, t, runs = self.f, self.g, self.t, self.runs
        read = whole_reader(f, t, self.near)
        channel, first = self.begin

        def step(k: Val, tap: Val, p: Val) -> tuple[Val, Val]:
            away = f.load("i64", f.at(runs.taps, tap, "i64"))
            f.store(read(f.at(p, away, t.elem)), f.at(to, k * runs.panel, t.elem))
            wraps = f.cmp("eq", tap + 1, self.count)
            return f.sel(wraps, 0, tap + 1), f.at(p, f.sel(wraps, g.xc, 0), t.elem)
        to = f.at(self.out, runs.get(runs.slot, e), t.elem)
        f.loop(0, self.k1 - self.k0, 1, step,
               [first, f.at(self.src, runs.get(runs.x, e) + channel * g.xc, t.elem)])

    def copy(self, c0: Val, c1: Val, p: Val, to: Val, read: Callable[[Val], Read],
             put: Callable[[Read, Val], None]) -> None:
        """Channels c0..c1 of a tap: from p to `to`."""
        f, g, t, stride = self.f, self.g, self.t, self.stride
        even = c0 + ((c1 - c0) & -2)

        def two(_: Val, p: Val, to: Val) -> tuple[Val, Val]:
            put(read(p), to)
            put(read(f.at(p, g.xc, t.elem)), f.at(to, stride, t.elem))
            return f.at(p, g.xc * 2, t.elem), f.at(to, stride * 2, t.elem)
        last, at = f.loop(c0, even, 2, two, [p, to])
        f.if_(f.cmp("slt", even, c1), lambda: put(read(last), at))

    def channels_of(self, tap: int | Val) -> list[Val]:
        """The channels whose steps of this tap are wanted."""
        f = self.f
        return [c + f.conv("zext", f.cmp("sgt", first, tap), "i64")
                for c, first in (self.begin, self.end)]

    def places(self, e: Val, tap: int | Val, c0: Val) -> tuple[Val, Val]:
        """Where run e begins in x and in `out`, of channel c0."""
        f, g, t, runs = self.f, self.g, self.t, self.runs
        p = f.at(self.src, runs.get(runs.x, e), t.elem)
        to = f.at(self.out, runs.get(runs.slot, e), t.elem)
        away = f.load("i64", f.at(runs.taps, tap, "i64"))
        return (f.at(p, away + c0 * g.xc, t.elem),
                f.at(to, c0 * self.stride + (tap - self.k0) * runs.panel, t.elem))


def spread(f: Fn, bits: Val) -> Val:
    """Bit i of 16 at place 2 * i."""
    for shift, keep in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        bits = (bits | bits << shift) & keep
    return bits


def lane_mask(f: Fn, t: Tile, bits: Val) -> Val:
    """The low bits of an integer as a mask."""
    return f.bitcast(f.conv("trunc", bits, f"i{t.lanes}"), vec("i1", t.lanes))


def reader(f: Fn, t: Tile, near: int, bits: Val, g: Geometry) -> Callable[[Val], Val]:
    """A function that loads a vector of x in the lanes of an i32. They lie `near` apart: 1, 2
    (bits too), or 0 for any distance."""
    lanes = lane_mask(f, t, bits)
    if near == 1:
        return lambda p: f.mload(t.vec, p, lanes)
    if near == 2:
        high, n = lane_mask(f, t, f.lshr(bits, t.lanes)), t.lanes
        return lambda p: f.shuffle(
            f.mload(t.vec, p, lanes), f.mload(t.vec, f.at(p, n, t.elem), high),
            range(0, 2 * n, 2))
    apart = f.splat(g.sw * g.xw, t.lanes) * f.iota("i64", t.lanes)
    return lambda p: gather(f, t, p, apart, lanes)


def all_lanes(t: Tile, near: int) -> int:
    """The bits of a run that is inside the image as a whole: see `reader`."""
    bits = 0x55555555 & (1 << 2 * t.lanes) - 1 if near == 2 else (1 << t.lanes) - 1
    return bits - (bits >> 31 << 32)


def whole_reader(f: Fn, t: Tile, near: int) -> Callable[[Val], Val]:
    """A function that loads all lanes of a vector of x, 1 or 2 apart, and reads no element
    beyond the last."""
    n = t.lanes
    if near == 1:
        return lambda p: f.load(t.vec, p)
    return lambda p: f.shuffle(f.load(t.vec, p), f.load(t.vec, f.at(p, n - 1, t.elem)), [
        *range(0, n, 2), *range(n + 1, 2 * n, 2)])


def gather(f: Fn, t: Tile, p: Val, stride: Val, mask: Val) -> Val:
    """Lanes `stride` elements apart, zeros where the mask is off."""
    ptrs = vec("ptr", t.lanes)
    at = f.v(ptrs, f"getelementptr {t.elem}, ptr {p.ref}, {vec('i64', t.lanes)} {stride.ref}")
    name = f"llvm.masked.gather.v{t.lanes}{'f32' if t.elem == 'float' else 'f64'}.v{t.lanes}p0"
    f.mod.declare(name, t.vec, [ptrs, mask.ty, t.vec])
    return f.v(
        t.vec,
        f"call {t.vec} @{name}({ptrs} align {BYTES[t.elem]} {at.ref}, {mask.ty} {mask.ref}, "
        f"{t.vec} zeroinitializer)")


def load_row(f: Fn, t: Tile, row: Val, i: Val, mask: Val, near: int, g: Geometry) -> Val:
    """Elements i.. of a row of x, which lie side by side (`near` 1) or g.xw apart."""
    if near == 1:
        return f.mload(t.vec, f.at(row, i, t.elem), mask)
    return gather(f, t, f.at(row, i * g.xw, t.elem),
                  f.splat(g.xw, t.lanes) * f.iota("i64", t.lanes), mask)


def scatter(f: Fn, t: Tile, x: Val, p: Val, stride: Val, mask: Val) -> None:
    """Lanes `stride` elements apart, where the mask is on."""
    ptrs = vec("ptr", t.lanes)
    at = f.v(ptrs, f"getelementptr {t.elem}, ptr {p.ref}, {vec('i64', t.lanes)} {stride.ref}")
    name = f"llvm.masked.scatter.v{t.lanes}{'f32' if t.elem == 'float' else 'f64'}.v{t.lanes}p0"
    f.mod.declare(name, "void", [t.vec, ptrs, mask.ty])
    f.raw(
        f"call void @{name}({t.vec} {x.ref}, {ptrs} align {BYTES[t.elem]} {at.ref}, {mask.ty} "
        f"{mask.ref})")


def blocks(f: Fn, g: Geometry, unit: Val,
           by_rows: bool = False) -> tuple[Val, tuple[Val, Val], tuple[Val, Val]]:
    """A unit's group, and its (first, end) panels and tiles of rows. With `by_rows` the units of a
    block of tiles follow each other, differing only in their panels; else the units of a block of
    panels do."""
    if by_rows:
        rest, across = divmod_(f, unit, g.pixel_blocks)
        group, down = divmod_(f, rest, g.row_blocks)
    else:
        rest, down = divmod_(f, unit, g.row_blocks)
        group, across = divmod_(f, rest, g.pixel_blocks)

    def part(block: Val, n: Val, of: Val) -> tuple[Val, Val]:
        return share(f, block, n, of), share(f, block + 1, n, of)
    panels, tiles = g.panels, g.tiles
    return group, part(across, panels, g.pixel_blocks), part(down, tiles, g.row_blocks)


def share(f: Fn, i: Val, total: Val, parts: Val) -> Val:
    """Where part i begins when `total` things are cut into `parts` nearly equal ones."""
    return f.udiv(i * total, parts)
