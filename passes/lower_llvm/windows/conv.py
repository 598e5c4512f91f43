"""Convolutions as contractions whose right-hand side is gathered from the image while it is packed.

y[o, p] = sum over k = (channel, tap) of w[o, k] * x[k, p] in the contraction's canonical order: k
in blocks of KC, in a block one chain of fused multiply-adds from +0, block sums added left to
right. A tap in the padding counts as a zero. So a convolution has the bits of `unfold` followed by
`matmul`, whatever the tiles, the layout of x and the threads.

A work unit is a group's block of output pixels (those of all images in one row, cut into panels of
a few vectors) times a block of output channels. Per block of KC steps it copies the pixels' values
into panels [step][pixel] and multiplies them with the weights, which are read where they lie;
totals stay in the thread's scratch. At the end the epilogue is applied and the pixels go where they
belong. The gradient of the input is the same with other taps, once for each remainder by the
stride.

Pixels are copied in *runs*: up to a vector of pixels that are neighbours in one output row. A run's
addresses and which of its lanes fall inside the image depend on the tap's row and column only, and
are worked out once per unit.

The facts of a call are an array of i64 whose fields `Geometry` names. Offsets and strides
count elements."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .. import targets
from ..builder import BYTES, Val
from ..targets import at_once
from .epilogue import writer
from .window_call import ForwardCall
from .window_tiles import KC, Runs, blocks, divmod_, table

if TYPE_CHECKING:
    from ..builder import Fn, Module
    from .epilogue import Epilogue, Put
    from .window_tiles import Tile


def lanes_for(elem: str) -> int:
    """Lanes of the host's vectors."""
    return targets.current().lanes(BYTES[elem])


def tile_rows(n: int) -> int:
    """Rows of the register tile for n rows in all, at most n: few sizes, so that kernels are
    shared, with few rows to spare.

    8 rows of two vectors keep two multiply-adders of 4 cycles busy; where there are 16 registers, 6
    rows leave some for operands."""
    sizes = (12, 8, 4, 2, 1) if targets.current().name in ("avx512", "neon") else (6, 4, 2, 1)
    return min((r for r in sizes if r <= n), key=lambda r: -(-n // r) * (r + 1))


def fetch(f: Fn, t: Tile, p: Val, count: int) -> None:
    """Prefetch the cache lines of this many elements."""
    for at in range(0, count * BYTES[t.elem], 64):
        f.prefetch(f.bytes_at(p, at), locality=2)


def micro(m: Module, name: str, t: Tile, ahead: bool = False) -> Callable[..., None]:
    """A function of (f, pixels, a, row, at, b, c, steps, first[, later]): c (+)= a b over a block
    of steps. b is [steps][panel]; at least the first `pixels` pixels of the panel are computed.

    The rows of a are `row` elements apart; its steps lie side by side or, with `t.listed`, where
    the i64 list `at` says. With `ahead`, as many elements at `later` are fetched meanwhile as are
    read of a."""
    names = [_micro(m, f"{name}{vectors}", t, vectors, ahead) for vectors in sorted({1, t.vectors})]

    def multiply(f: Fn, pixels: Val, *args: Val) -> None:
        code = f.sel(f.cmp("sle", pixels, t.lanes),
                     *(Val(f, f"@{x}", "ptr") for x in (names[0], names[-1])))
        f.call_helper(code, *args)
    return multiply


def _micro(m: Module, name: str, t: Tile, vectors: int, ahead: bool) -> str:
    """The first `vectors` vectors of each panel."""
    f = m.fn(name,
             [("ptr", "a"), ("i64", "row"), ("ptr", "list"), ("ptr", "b"), ("ptr", "c"),
              ("i64", "steps"), ("i1", "first"),
                    *[("ptr", "later")] * ahead], linkage="internal", attrs="noinline")
    a, row, listed, b, c, steps, first, *later = f.args
    left = LeftRows(f, t, a, row, listed)
    at = [f.at(c, i * t.panel + j * t.lanes, t.elem) for i in range(t.rows) for j in range(vectors)]

    def step(k: Val, u: int, *acc: Val) -> list[Val]:
        if u == 0:
            for far in later:
                fetch(f, t, f.at(far, k * t.rows, t.elem), together * t.rows)
        line = f.at(b, k * t.panel, t.elem)
        bs = [f.load(t.vec, f.at(line, u * t.panel + j * t.lanes, t.elem)) for j in range(vectors)]
        return left.products(k, u, bs, acc)
    together = at_once(t.rows * vectors)
    acc = f.steps(steps, together, step, [f.const(t.vec, 0.0)] * (t.rows * vectors))
    add_up(f, t, acc, at, first)
    return name


class LeftRows:
    """The rows of a micro kernel's left operand, `row` elements apart. A row's steps are adjacent
    or, with `t.listed`, at the `places` in a list."""

    def __init__(self, f: Fn, t: Tile, a: Val, row: Val, places: Val) -> None:
        self.f, self.t, self.a, self.row, self.places = f, t, a, row, places
        self.rows = [f.at(a, row * i if i else 0, t.elem) for i in range(t.rows)]

    def products(self, k: Val, u: int, bs: Sequence[Val], acc: Sequence[Val]) -> list[Val]:
        """The sums of each row and vector, with the products of step k + u added: `bs` are the
        right operand's vectors there."""
        f, t, out = self.f, self.t, []
        p = (f.at(self.a, f.load("i64", f.at(self.places, k + u, "i64")), t.elem) if t.listed
             else None)
        for i in range(t.rows):
            at = f.at(f.at(self.rows[i], k, t.elem), u, t.elem) if p is None else p
            x = f.splat(f.load(t.elem, at), t.lanes)
            # one addition a row: 14 addresses would not stay in registers
            p = None if p is None else f.at(p, self.row, t.elem)
            out += [f.fma(x, b, acc[i * len(bs) + j]) for j, b in enumerate(bs)]
        return out


def add_up(f: Fn, t: Tile, sums: Sequence[Val], at: Sequence[Val], first: Val) -> None:
    """Add a block's sums to the totals at some places; the first block's are the totals."""
    def put() -> None:
        for v, p in zip(sums, at, strict=True):
            f.store(v, p)

    def add() -> None:
        for v, p in zip(sums, at, strict=True):
            f.store(f.load(t.vec, p) + v, p)
    f.if_(first, put, add)


def forward(m: Module, symbol: str, t: Tile, epilogue: Epilogue, near: int, far: int) -> None:
    """The kernel over units (group, row block, pixel block), args x, w, y, scratch, geometry, then
    the epilogue's operands.

    `near`: the distance of x under neighbouring output pixels (see `reader`). `far`: the same of
    y (see `writer`); 1 says that an image's pixels follow each other there."""
    multiply = micro(m, symbol + "_micro", t)
    convolution = Convolution(m.kernel(symbol), t, epilogue, near, far, multiply)
    convolution.each_unit(lambda u: Block(convolution, u).emit())


class Convolution(ForwardCall):
    """The arguments of a call, and its areas of scratch memory."""

    def __init__(self, f: Fn, t: Tile, epilogue: Epilogue, near: int, far: int,
                 multiply: Callable[..., None]) -> None:
        super().__init__(f, t, epilogue)
        self.far, self.multiply, g = far, multiply, self.g
        self.b, self.totals = self.area("b_at"), self.area("y_at")
        limit = g.max_panels * t.panel
        self.inside = Runs(f, g, self.area("in_at"), t, limit, t.panel, near)
        self.inside.list_taps(self.area("tap_at"))
        self.outside = (self.inside if far != 1
                        else Runs(f, g, self.area("out_at"), t, limit, t.panel, rows=False))


class Block:
    """One unit: a block of output pixels times a block of output channels."""

    def __init__(self, convolution: Convolution, u: Val) -> None:
        self.c, self.f, self.t, self.g = convolution, convolution.f, convolution.t, convolution.g
        c, f, t, g = self.c, self.f, self.t, self.g
        self.group, (self.panel0, panel1), (self.tile0, self.tile1) = blocks(f, g, u, by_rows=True)
        self.xg, self.wg = (f.at(c.x, self.group * g.xg, t.elem),
                            f.at(c.w, self.group * g.wg, t.elem))
        self.panels = panel1 - self.panel0
        c.inside.build(self.panel0, panel1, g.pixels)
        if c.far == 1:
            c.outside.build(self.panel0, panel1, g.pixels)
        # of one block, no sums are kept for another
        self.kept = f.conv("zext", f.cmp("sgt", g.steps, KC), "i64")

    def emit(self) -> None:
        """All blocks of steps. Once at least: without channels the sums are zeros."""
        self.f.loop(0, self.f.imax(self.g.steps, 1), KC, self.steps)

    def row_of(self, i: Val) -> Val:
        """Where tile i begins: the last one begins early and repeats rows of the one before."""
        return self.f.imin(i * self.t.rows, self.g.rows - self.t.rows)

    def tile_at(self, j: Val, i: Val) -> Val:
        """The totals of panel j and tile i."""
        t, tile = self.t, j * self.g.max_tiles + (i - self.tile0)
        return self.f.at(self.c.totals, tile * self.kept * (t.rows * t.panel), t.elem)

    def steps(self, k0: Val) -> None:
        """One block of steps: its panels are filled, then each tile of rows meets all of them."""
        c, f, t, g = self.c, self.f, self.t, self.g
        k1 = f.imin(k0 + KC, g.steps)
        steps = k1 - k0
        panel_size = steps * t.panel
        f.loop(0, self.panels, 1,
               lambda j: c.inside.fill(j, self.xg, k0, k1, f.at(c.b, j * panel_size, t.elem)))
        listed = self.listed(k0, steps)
        last = f.cmp("sge", k1, g.steps)

        def rows(i: Val) -> None:
            a = f.at(self.wg, self.row_of(i) * g.wo + (0 if t.listed else k0), t.elem)

            def panel(j: Val) -> None:
                if c.far == 1:
                    f.if_(last, lambda: self.ahead(i, j))
                c.multiply(f, g.pixels - (self.panel0 + j) * t.panel, a, g.wo, listed,
                           f.at(c.b, j * panel_size, t.elem), self.tile_at(j, i), steps,
                           f.cmp("eq", k0, 0))
                f.if_(last, lambda: self.out(i, j))
            f.loop(0, self.panels, 1, panel)
        f.loop(self.tile0, self.tile1, 1, rows)

    def listed(self, k0: Val, steps: Val) -> Val:
        """Where the steps of a block lie in a row of the weights, if not side by side."""
        f, g = self.f, self.g
        listed = self.c.area("list_at")
        if self.t.listed:
            taps = g.rowtaps * g.coltaps

            def note(k: Val) -> None:
                c, tap = divmod_(f, k0 + k, taps)
                f.store(c * g.wk + table(f, g.table, tap + g.rowtaps * 2 + g.coltaps),
                        f.at(listed, k, "i64"))
            f.loop(0, steps, 1, note)
        return listed

    def ahead(self, i: Val, j: Val) -> None:
        """Prefetch the epilogue's operands by pixel, and the results' places: every row is in
        another page."""
        c, f, t, g, outside = self.c, self.f, self.t, self.g, self.c.outside
        to = (self.group * g.yg + i * t.rows * g.yo
              + outside.get(outside.y, outside.get(outside.first, j)))

        for _ in range(t.rows):
            for p, write in (c.y, 1), *((p, 0) for p in c.epilogue.by_pixel(c.operands)):
                for v in range(t.vectors):
                    f.prefetch(f.at(p, to + v * t.lanes, t.elem), write)
            to = to + g.yo

    def out(self, i: Val, j: Val) -> None:
        """Store the new rows of tile i, panel j."""
        src, again, channel = (self.tile_at(j, i), i * self.t.rows - self.row_of(i),
                               self.group * self.g.rows + self.row_of(i))
        self.c.outside.each(j, lambda e: self.run(e, i, src, again, channel))

    def run(self, e: Val, i: Val, src: Val, again: Val, channel: Val) -> None:
        """The pixels of one run; whole vectors of a whole tile without masks."""
        c, f, t, g, outside = self.c, self.f, self.t, self.g, self.c.outside
        to, lanes = (self.group * g.yg + i * t.rows * g.yo + outside.get(outside.y, e),
                     outside.get(outside.lanes, e))
        acc = f.at(src, outside.get(outside.slot, e), t.elem)

        def row(put: Put, r: int | Val, to: Val) -> Val:
            put(f.load(t.vec, f.at(acc, r * t.panel, t.elem)),
                c.epilogue.values(f, t.elem, c.operands, channel, r), c.y, to)
            return to + g.yo

        def some() -> None:
            put = writer(f, t, c.epilogue, lanes, c.far, g)
            f.loop(again, t.rows, 1, lambda r, to: row(put, r, to), [to])

        def whole() -> None:
            put, at = writer(f, t, c.epilogue, None, c.far, g), to
            for r in range(t.rows):
                at = row(put, r, at)
        if c.far == 1:
            f.if_(f.cmp("eq", lanes, (1 << t.lanes) - 1) & f.cmp("eq", again, 0), whole, some)
        else:
            some()
