"""Matrix multiplication as LLVM code: C[m, n] = sum over k of A[m, k] * B[k, n], in one canonical
order.

The order of each output element: K in blocks of 256; in a block one chain of fused multiply-adds in
k order from +0; the block sums added left to right. A product of one row or one column has
another: see `one_row.py`. Register tile, vector width, packing, strides and the cut into work
units change no bit of it.

A kernel's arguments are slots of 8 bytes: the data pointers of A, B and C, the address of a table
of integers (`DIMS`), the address of scratch memory, and the data pointers of what the epilogue
reads. All strides are in bytes and may have any value, except that C's elements are adjacent in a
row. A work unit is a block of `rows` x `cols` of one product of the batch: unit u is rows i,
columns j of product z with u = (z * across + j) * down + i, `down` and `across` being m / rows and
n / cols rounded up.

The kernel "gemm/f32/place/rows/" (f64 likewise; "cols" for a B whose n is not adjacent) needs no
scratch memory up to m = MC, so that a small product can be one direct call: units 0..1, rows >= m,
cols >= n a multiple of 32, inner = 1, in_place = 1.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whet.ir.scalar import Expr
from whet.ir.symbolic_size import Size

from .. import scalar, targets
from ..builder import Fn, Module, Val, vec
from ..elements import pointwise
from ..targets import at_once
from . import pack
from .pack import LLVM, WIDE, narrow, size

PREFIX = "whet.gemm."                    # of the names of functions that kernels share
KC = 256
# rows of A that stay in the second-level cache, 256 columns of them; a multiple of all tile heights
MC = 336
# Tiles go along the rows of C first where the panels of a block of K stay in a cache meanwhile, or
# where products have so few steps that they take as long as C takes to be written.
PANELS_IN_CACHE, SHALLOW = 1 << 19, 64
DIMS = ("m", "n", "k", "a_m", "a_k", "b_k", "b_n", "c_m", "rows", "cols", "inner", "a_outer",
        "b_outer", "c_outer", "a_inner", "b_inner", "c_inner", "in_place", "scratch")
"""The table of integers: sizes; strides of A, B and C; the size of a unit; the batch as two
dimensions (count of the inner one, strides of both); whether B's rows may be read where they are;
bytes of scratch for each thread. Then for each operand of the epilogue its strides (row, outer
batch, inner batch)."""


@dataclass(frozen=True)
class Shape:
    """Register tiles: `rows` that a tile may have, largest first, and vectors across."""
    rows: tuple[int, ...]
    lanes: int
    vectors: int = 2

    @property
    def width(self) -> int:
        return self.lanes * self.vectors


@functools.lru_cache(None)
def shape(dtype: str) -> Shape:
    """The register tiles of the current target for the type that the kernel computes in."""
    t = targets.current()
    many = t.name in ("avx512", "neon")                     # 32 vector registers, or 16
    return Shape((14, 8, 4, 2, 1) if many else (6, 4, 2, 1), t.lanes(size(WIDE.get(dtype, dtype))))


@functools.lru_cache(None)
def supported(dtype: str) -> bool:
    """Can the current target compute it? Floats need a fused multiply-add in hardware."""
    if os.environ.get("WHET_CPU") == "numpy":
        return False
    return WIDE.get(dtype, dtype) not in ("f32", "f64") or targets.has_fma()


def a_step(wide: str) -> int:
    """Bytes from row to row of packed A: an odd number of cache lines, so that rows do not meet
    in a cache set."""
    return KC * size(wide) + 64


def scratch_bytes(dtype: str, dst: str, a_mode: str, m: Size, cols: Size) -> Size:
    """The scratch memory of one thread for m rows and units of `cols` columns. In order: packed
    rows of A; panels of B, if they are used for several groups of rows; sums of finished blocks, if
    C cannot hold them."""
    wide = WIDE.get(dtype, dtype)
    a = MC * a_step(wide) if a_mode != "place" else 0
    b = KC * size(wide) * cols if m > MC else 0
    return a + b + (MC * (cols * size(wide) + 64) if dst != wide else 0)


@dataclass(frozen=True)
class Operand:
    """Something the epilogue reads: its dtype, and whether it runs along the columns (a bias, a
    residual) or is one value a row. Its row stride is in the table: 0 for a bias."""
    dtype: str
    along: bool = True


@dataclass(frozen=True)
class Epilogue:
    """What is done to each product before it is stored: a scalar expression of the product
    (argument 0, in the dtype of A and B) and the operands (arguments 1...). `of_sum`: argument 0 is
    the product before it is rounded, in the type that the kernel computes in."""
    expression: Expr
    operands: tuple[Any, ...] = ()
    of_sum: bool = False

    def emit(self, f: Fn, x: Val, dtype: str, operands: Sequence[tuple[Val, Val]], i: int | Val,
             j: Val, mask: Val) -> Val:
        """The vector that is stored for the sums x, of products of `dtype`, in row i from column j
        on.

        operands: (pointer, row stride) of each. Lanes outside of the mask are not read."""
        read, lanes = [], x.lanes
        for o, (p, p_m) in zip(self.operands, operands, strict=True):
            p, e = f.bytes_at(p, i * p_m), LLVM[o.dtype]
            read.append(
                f.mload(vec(e, lanes), f.bytes_at(p, j * size(o.dtype)), mask) if o.along else f.
                splat(f.load(e, p), lanes))
        first = WIDE.get(dtype, dtype) if self.of_sum else dtype
        y, = scalar.emit(f, [self.expression], [x if self.of_sum else narrow(f, x, dtype), *read],
                         [first, *(o.dtype for o in self.operands)], lanes)
        return y

    def __str__(self) -> str:
        of = "of the sum and" if self.of_sum else "of"
        return f"{self.expression} {of} {' '.join(f'{o.dtype}{o.along:d}' for o in self.operands)}"


def gemm(mod: Module, symbol: str, dtype: str, a_mode: str = "place", b_mode: str = "rows",
         dst: str | None = None, epilogue: Epilogue | None = None) -> None:
    """Emit the kernel.

    a_mode: "place" (read A where it is), "rows" or "cols" (pack it, widened; its k or its m
    adjacent). b_mode: "rows" or "cols" (pack panels of it on the way; its n adjacent, or any
    strides), "packed" (by `packed_panels.pack_b`), "place" (read B where it is, its n adjacent;
    tiles read and write a panel's columns under a mask). dst: the element C type, by default
    that of A and B. epilogue: see `Epilogue`.
    """
    _Gemm(mod, symbol, dtype, a_mode, b_mode, dst or dtype, epilogue).emit()


def load_operands(f: Fn, args: Val, table: Val, epilogue: Epilogue | None) -> list[list[Val]]:
    """(pointer, strides of row, outer and inner batch) of each operand of the epilogue, from a
    kernel's arguments."""
    return [[
        f.load("ptr", f.at(args, 5 + i, "i64")),
        *(f.load("i64", f.at(table, len(DIMS) + 3 * i + j, "i64")) for j in range(3))]
            for i in range(len(epilogue.operands) if epilogue else 0)]


# ---- what kernels of a type have in common -------------------------------------------------------
def parts(dtype: str, a_mode: str, b_mode: str) -> list[tuple[str, str]]:
    """The shared parts that a kernel calls, as (part, dtype): each is compiled once, whatever
    the kernels' epilogues."""
    wide = WIDE.get(dtype, dtype)
    return [("masked" if b_mode == "place" else "tiles", wide),
            *[("matrix", dtype)] * (a_mode == "rows"),
            *[("transposed", dtype)] * ("cols" in (a_mode, b_mode)),
            *[("rows", dtype)] * (b_mode == "rows")]


def part_names(part: str, dtype: str) -> list[str]:
    """The functions of a part."""
    return ([tile_name(dtype, r, v, part == "masked") for r, v in tile_shapes(dtype)]
            if part in ("tiles", "masked") else [f"{PREFIX}{dtype}.{part}"])


def emit_part(mod: Module, part: str, dtype: str) -> None:
    """Emit the functions of a part."""
    wide, sh, name = WIDE.get(dtype, dtype), shape(dtype), part_names(part, dtype)[0]
    if part in ("tiles", "masked"):
        for rows, vectors in tile_shapes(dtype):
            _tile(mod, dtype, rows, vectors, part == "masked")
    elif part == "matrix":
        pack.copy_matrix(mod, name, dtype, wide, sh.lanes, "")
    elif part == "transposed":
        pack.copy_transposed(mod, name, dtype, wide, sh.lanes, "")
    else:
        pack.copy_rows(mod, name, dtype, wide, sh.lanes, sh.vectors, "")


def narrow_rows(dtype: str) -> tuple[int, ...]:
    """The heights of tiles that are one vector wide."""
    return tuple(r for i, r in enumerate(shape(dtype).rows) if i != 1 and r != 2)


def tile_shapes(dtype: str) -> list[tuple[int, int]]:
    """(rows, vectors) of every register tile."""
    return [(r, v)
            for v, rows in ((shape(dtype).vectors, shape(dtype).rows), (1, narrow_rows(dtype)))
            for r in rows]


def tile_name(dtype: str, rows: int, vectors: int, masked: bool = False) -> str:
    return f"{PREFIX}{dtype}.{'masked' if masked else 'tile'}{rows}x{vectors}"


_TILE = [("ptr", "a"), ("i64", "a_m"), ("i64", "a_k"), ("ptr", "b"), ("i64", "b_k"), ("i64", "k"),
         ("ptr", "c"), ("i64", "c_m"), ("i1", "add")]
# of a tile whose last vector may have fewer columns: how many columns the tile has
_MASKED = [*_TILE, ("i64", "n")]


def _tile(mod: Module, dtype: str, rows: int, vectors: int, masked: bool) -> None:
    """(a, a_m, a_k, b, b_k, k, c, c_m, add): a tile of products over k steps, stored to C or
    added to it. A `masked` one reads no more of B, and writes no more of C, than `n` columns."""
    f = mod.fn(tile_name(dtype, rows, vectors, masked), _MASKED if masked else _TILE)
    lanes, s = shape(dtype).lanes, size(dtype)
    a, a_m, a_k, b, b_k, k, c, c_m, add, *n = f.args
    ty = LLVM[dtype]
    masks = [*[None] * (vectors - 1),
             f.lanes_below(n[0] - (vectors - 1) * lanes, lanes) if masked else None]
    t, step_bytes = vec(ty, lanes), lanes * s
    fetch = functools.partial(_fetch_line, f, (c, c_m), (rows, vectors), step_bytes)
    together, m3 = at_once(rows * vectors), a_m * 3
    apart: list[int | Val] = [0, b_k, b_k * 2, b_k * 3]

    def products(a: Val, b: Val, u: int, acc: Sequence[Val]) -> list[Val]:
        bs = [_there(f, t, f.bytes_at(f.bytes_at(b, apart[u]), j * step_bytes), m)
              for j, m in enumerate(masks)]
        out, row = [], a
        for i in range(rows):
            row = a if i == 0 else f.bytes_at(row, m3) if i % 3 == 0 else row
            x = f.splat(f.load(ty, f.bytes_at(f.bytes_at(row, (0, a_m, a_m * 2)[i % 3]), u * s)),
                        lanes)
            out += [
                f.fma(x, y, z) if z.is_float else x * y + z for y, z in zip(bs, acc[i * vectors:])]
        return out

    def round_(q: Val, a: Val, b: Val, *acc: Val) -> tuple[Val, ...]:
        fetch(f.lshr(q, together.bit_length() - 1))
        sums: Sequence[Val] = acc
        for u in range(together):
            sums = products(a, b, u, sums)
        return f.bytes_at(a, together * s), f.bytes_at(b, b_k * together), *sums

    def step(q: Val, a: Val, b: Val, *acc: Val) -> tuple[Val, ...]:
        fetch(f.lshr(q, 2))
        return f.bytes_at(a, a_k), f.bytes_at(b, b_k), *products(a, b, 0, acc)
    adjacent: int | Val = 0
    start = [a, b] + [f.const(t, 0)] * (rows * vectors)
    if together > 1:
        adjacent = f.sel(f.cmp("eq", a_k, s), k & -together, 0)
        start = f.loop(0, adjacent, together, round_, start)
    _, _, *acc = f.loop(adjacent, k, 1, step, start)
    places = [
        f.bytes_at(f.bytes_at(c, c_m * i), j * step_bytes) for i in range(rows)
        for j in range(vectors)]
    _store_or_add(f, acc, places, add, masks * rows)


def _fetch_line(f: Fn, c: tuple[Val, Val], tile: tuple[int, int], step_bytes: int, q: Val) -> None:
    """Fetch line number q of a tile's place in C, while the tile is computed: all lines at once
    would keep A's and B's waiting."""
    line, vectors = (1 << (tile[0] - 1).bit_length()) - 1, tile[1]
    f.prefetch(f.bytes_at(c[0], (q & line) * c[1] +
                          (f.lshr(q, line.bit_length()) & (vectors - 1)) * step_bytes), 1)


def _there(f: Fn, ty: str, p: Val, mask: Val | None) -> Val:
    """What is at p, of the lanes of a mask, if there is one."""
    return f.load(ty, p) if mask is None else f.mload(ty, p, mask)


def _store_or_add(f: Fn, sums: Sequence[Val], places: Sequence[Val], add: Val,
                  masks: Sequence[Val | None]) -> None:
    """Store the sums of a tile to C, or add them to its contents."""
    def put(value: Callable[[Val, Val, Val | None], Val]) -> None:
        for x, p, mask in zip(sums, places, masks, strict=True):
            y = value(x, p, mask)
            f.store(y, p) if mask is None else f.put(mask, (y, p))
    f.if_(add, lambda: put(lambda x, p, mask: _there(f, x.ty, p, mask) + x),
          lambda: put(lambda x, p, mask: x))


class _Gemm:
    def __init__(self, mod: Module, symbol: str, dtype: str, a_mode: str, b_mode: str, dst: str,
                 epilogue: Epilogue | None) -> None:
        self.mod, self.symbol, self.dtype, self.a_mode, self.b_mode, self.dst, self.epilogue = \
            mod, symbol, dtype, a_mode, b_mode, dst, epilogue
        self.wide = WIDE.get(dtype, dtype)
        self.shape, self.s, self.ty = shape(dtype), size(self.wide), LLVM[self.wide]
        self.operands = epilogue.operands if epilogue else ()
        # C itself holds the sums of finished blocks
        self.plain = dst == self.wide and epilogue is None
        self.masked = b_mode == "place"
        assert a_mode != "place" or dtype == self.wide

    def named(self, part: str) -> str:
        """A helper's name: many kernels may share a module."""
        return f"{self.symbol}.{part}"

    def part(self, part: str) -> str:
        """The function of a shared part."""
        return part_names(part, self.dtype)[0]

    def helper(self, part: str, args: str) -> Fn:
        """A function that only this kernel calls."""
        return self.mod.fn(
            self.named(part),
            [(x.split()[0], x.split()[1]) for x in args.split(", ")],
            linkage="internal",
            attrs="noinline",
        )

    # ---- edges, sums of blocks, epilogue ---------------------------------------------------------
    def finish(self) -> None:
        """(tile, tile_m, skip, rows, cols, first, last, sums, sums_m, c, c_m, operands...): a tile
        that waits in memory goes out.

        Adds the sums of earlier blocks; after the last block applies the epilogue and rounds. Only
        rows skip.., columns ..cols.
        """
        f = self.helper(
            "finish",
            ", ".join([
                "ptr tile, i64 tile_m, i64 skip, i64 rows, i64 cols, i1 first, i1 last, ptr sums, "
                "i64 sums_m, ptr c, i64 c_m",
                *(f"ptr operand{i}, i64 operand{i}_m" for i, _ in enumerate(self.operands))]))
        tile, tile_m, skip, rows, cols, first, last, sums, sums_m, c, c_m, *extra = f.args
        heavy = (self.epilogue and targets.current().name == "avx2"
                 and pointwise.work([self.epilogue.expression]) >= pointwise.HEAVY)
        # See `pointwise.lanes`.
        lanes, s = self.shape.width if heavy else self.shape.lanes, self.s
        t = vec(self.ty, lanes)

        def row(i: Val) -> None:
            def vector(j: Val) -> None:
                mask = f.lanes_below(cols - j, lanes)
                x = f.load(t, f.bytes_at(f.bytes_at(tile, i * tile_m), j * s))
                p = f.bytes_at(f.bytes_at(sums, i * sums_m), j * s)
                x, = f.if_(first, lambda: [x], lambda: [f.mload(t, p, mask) + x])
                if self.plain:
                    f.put(mask, (x, p))
                    return

                def out() -> None:
                    y = narrow(f, x, self.dtype) if self.epilogue is None else self.epilogue.emit(
                        f, x, self.dtype, list(zip(extra[::2], extra[1::2], strict=True)), i, j,
                        mask)
                    q = f.bytes_at(f.bytes_at(c, i * c_m), j * size(self.dst))
                    f.put(mask, (y, q))
                f.if_(last, out, lambda: f.put(mask, (x, p)))
            f.loop(0, cols, lanes, vector)
        f.loop(skip, rows, 1, row)

    # ---- the driver ------------------------------------------------------------------------------
    def emit(self) -> None:
        sh = self.shape
        for r, v in tile_shapes(self.wide):
            self.mod.declare(tile_name(self.wide, r, v, self.masked), "void",
                             [ty for ty, _ in (_MASKED if self.masked else _TILE)])
        self.finish()
        f = self.f = self.mod.kernel(self.symbol)
        args, begin, end, worker = f.args
        self.a, self.b, self.c, table, scratch = (f.load("ptr", f.at(args, i, "i64"))
                                                  for i in range(5))
        operands = load_operands(f, args, table, self.epilogue)
        d = self.d = {n: f.load("i64", f.at(table, i, "i64")) for i, n in enumerate(DIMS)}
        self.scratch = f.within(f.bytes_at(scratch, worker * d["scratch"]), d["scratch"])
        self.panel = f.alloca("i8", KC * sh.width * self.s)
        self.buffer = f.alloca("i8", sh.rows[0] * sh.width * self.s)
        down = f.sdiv(d["m"] + d["rows"] - 1, d["rows"])
        across = f.sdiv(d["n"] + d["cols"] - 1, d["cols"])

        def unit(u: Val) -> list[Val]:
            v, i = f.sdiv(u, down), f.srem(u, down)
            z, j = f.sdiv(v, across), f.srem(v, across)
            outer, inner = f.sdiv(z, d["inner"]), f.srem(z, d["inner"])
            a, b, c = (f.bytes_at(p, outer * d[f"{x}_outer"] + inner * d[f"{x}_inner"])
                       for x, p in (("a", self.a), ("b", self.b), ("c", self.c)))
            extra = [
                (f.bytes_at(p, outer * p_o + inner * p_i), p_m) for p, p_m, p_o, p_i in operands]
            # units that lie below each other share their panels of B
            run = f.imin(end - u, down - i)
            if self.dst != self.wide:
                run = f.imin(run, f.imax(f.sdiv(f.const("i64", MC), d["rows"]), 1))
            i0 = i * d["rows"]
            self.block(a, b, c, extra, i0, j * d["cols"], f.imin(run * d["rows"], d["m"] - i0))
            return [u + run]
        f.while_(lambda u: f.cmp("slt", u, end), unit, [begin])

    def block(self, a: Val, b: Val, c: Val, extra: Sequence[tuple[Val, Val]], i0: Val, j0: Val,
              rows: Val) -> None:
        """For each block of K, for each group of rows, for each panel of B: the tiles down the
        rows."""
        f, d, s, width = self.f, self.d, self.s, self.shape.width
        cols = f.imin(d["cols"], d["n"] - j0)
        groups = f.sdiv(rows + (MC - 1), MC)
        group = f.sdiv(rows + groups - 1, groups)
        tall = self.shape.rows[0]
        group = f.imin(f.sdiv(group + (tall - 1), tall) * tall, MC)
        # Only with so many rows is there memory to keep panels of B in.
        keeps = f.cmp("sgt", groups, 1)
        panels = f.imin(d["k"], KC) * cols * s
        along = f.cmp("sle", panels, PANELS_IN_CACHE) | f.cmp("sle", d["k"], SHALLOW)
        group = f.sel(keeps & along, tall, group)
        a = f.bytes_at(a, i0 * d["a_m"])
        c = f.bytes_at(f.bytes_at(c, i0 * d["c_m"]), j0 * size(self.dst))
        extra = [(f.bytes_at(self.along(o, p, j0), i0 * p_m), p_m)
                 for o, (p, p_m) in zip(self.operands, extra, strict=True)]
        sums, sums_m = c, d["c_m"]
        if self.dst != self.wide:
            sums, sums_m = (f.bytes_at(self.scratch, d["scratch"] -
                                       (d["cols"] * s + 64) * MC), d["cols"] * s + 64)
        # K = 0 is one empty block: its sum is +0
        blocks = f.imax(f.sdiv(d["k"] + (KC - 1), KC), 1)

        def k_block(q: Val) -> None:
            k0 = q * KC
            kb = f.imin(d["k"] - k0, KC)
            ends = f.cmp("eq", q, 0), f.cmp("eq", q, blocks - 1)

            def row_group(i: Val) -> None:
                some = f.imin(group, rows - i)
                at = f.bytes_at(f.bytes_at(a, i * d["a_m"]), k0 * d["a_k"]), d["a_m"], d["a_k"]
                if self.a_mode != "place":
                    at = self.pack_a(at[0], some, kb)

                def panel(j: Val) -> None:
                    n = f.imin(cols - j, width)
                    p = self.panel_of(b, k0, kb, j0, j, n, f.cmp("eq", i, 0), keeps)
                    out = f.bytes_at(f.bytes_at(c, i * d["c_m"]), j * size(self.dst)), d["c_m"]
                    to = f.bytes_at(f.bytes_at(sums, i * sums_m), j * s), sums_m
                    more = [(f.bytes_at(self.along(o, p, j), i * p_m), p_m)
                            for o, (p, p_m) in zip(self.operands, extra, strict=True)]
                    ahead = self.ahead(b, k0, kb, j0, j, cols, f.cmp("eq", i, 0))

                    self.tiles(at, (*p, kb), (n, some), ends, to, out, more, ahead)
                f.loop(0, cols, width, panel)
            f.loop(0, rows, group, row_group)
        f.loop(0, blocks, 1, k_block)

    def along(self, operand: Operand, p: Val, j: Val) -> Val:
        return self.f.bytes_at(p, j * size(operand.dtype)) if operand.along else p

    def pack_a(self, a: Val, rows: Val, kb: Val) -> tuple[Val, Val, Val]:
        f, d = self.f, self.d
        step = f.const("i64", a_step(self.wide))
        if self.a_mode == "rows":
            f.call(self.part("matrix"), "void", a, d["a_m"], rows, kb, self.scratch, step)
        else:
            f.call(self.part("transposed"), "void", a, d["a_k"], d["a_m"], kb, rows, self.scratch,
                   step)
        return self.scratch, step, f.const("i64", self.s)

    def panel_of(self, b: Val, k0: Val, kb: Val, j0: Val, j: Val, n: Val, first_group: Val,
                 many_groups: Val) -> Sequence[Val]:
        """Where the tiles read B's columns j0 + j.. of this block of K, and the step from k to
        k."""
        f, d, sh = self.f, self.d, self.shape
        step = f.const("i64", sh.width * self.s)
        if self.b_mode == "packed":
            padded = (f.sdiv(d["n"] + (sh.width - 1), sh.width)) * sh.width
            return f.bytes_at(b, (k0 * padded + (j0 + j) * kb) * self.s), step
        src = f.bytes_at(b, k0 * d["b_k"] + (j0 + j) * d["b_n"])
        if self.masked:
            return src, d["b_k"]
        kept = f.bytes_at(
            self.scratch,
            j * (kb * self.s) + (MC * a_step(self.wide) if self.a_mode != "place" else 0))
        panel = f.sel(many_groups, kept, self.panel)

        def copy() -> None:
            if self.b_mode == "cols":
                f.call(self.part("transposed"), "void", src, d["b_n"], d["b_k"], n, kb, panel, step)
            else:
                f.call(self.part("rows"), "void", src, d["b_k"], kb, n, panel, step)

        def packed() -> list[Val]:
            f.if_(first_group, copy)
            return [panel, step]
        if self.b_mode == "cols" or self.dtype != self.wide:
            return packed()
        whole = (f.cmp("ne", d["in_place"], 0) &
                 (f.cmp("eq", n, sh.width) | f.cmp("eq", n, sh.lanes)))
        return f.if_(whole, lambda: [src, d["b_k"]], packed)

    def ahead(self, b: Val, k0: Val, kb: Val, j0: Val, j: Val, cols: Val,
              first_group: Val) -> tuple[Val, Callable[..., Any] | None]:
        """Prefetch the panel of B that is packed next, while this one is in use: (the number of
        steps, what each step fetches)."""
        f, d, width = self.f, self.d, self.shape.width
        if self.b_mode in ("packed", "place"):
            return f.const("i64", 0), None           # adjacent: the hardware sees it coming
        more = f.cmp("slt", j + width, cols)
        k1 = k0 + KC
        some = first_group & (more | f.cmp("slt", k1, d["k"]))
        k, j = f.sel(more, k0, k1), f.sel(more, j0 + j + width, j0)
        at = f.bytes_at(b, k * d["b_k"] + j * d["b_n"])
        if self.b_mode == "cols":
            def column(q: Val) -> None:
                f.prefetch(f.bytes_at(at, (q & (width - 1)) * d["b_n"] + f.sdiv(q, width) * 64),
                           locality=2)
            return f.sel(some, f.sdiv(kb * size(self.dtype) + 63, 64) * width, 0), column

        def line(q: Val) -> None:
            row = f.bytes_at(at, q * d["b_k"])
            for x in range(0, width * size(self.dtype), 64):
                f.prefetch(f.bytes_at(row, x), locality=2)
        return f.sel(some, kb, 0), line

    def tiles(self, a: tuple[Val, ...], b: tuple[Val, ...], counts: tuple[Val, Val],
              ends: tuple[Val, Val], sums: tuple[Val, Val], out: tuple[Val, Val],
              extra: Sequence[tuple[Val, Val]],
              ahead: tuple[Val, Callable[..., Any] | None]) -> None:
        """All rows of one panel, in tiles; a last tile that would be too tall starts higher and
        skips the rows already done."""
        f = self.f
        n, rows = counts
        first, last = ends
        narrow = f.cmp("sle", n, self.shape.lanes)
        lanes = f.sel(narrow, self.shape.lanes, f.const("i64", self.shape.width))
        whole = f.const("i1", 1) if self.masked else f.cmp("eq", n, lanes)
        if not self.plain:
            whole = whole & ~last

        def tile(i: Val) -> Val:
            one, all_ = self.tallest(1, narrow_rows(self.wide), rows,
                                     i), self.tallest(self.shape.vectors, self.shape.rows, rows, i)
            height, code = (f.sel(narrow, x, y) for x, y in zip(one, all_, strict=True))
            start = f.imin(i, rows - height)
            # The first sums of rows that are done already are the same again.
            direct = whole & (f.cmp("eq", start, i) | first)
            to = f.bytes_at(sums[0], start * sums[1])
            place = f.sel(direct, to, self.buffer), f.sel(direct, sums[1], lanes * self.s)
            args = [f.bytes_at(a[0], start * a[1]), a[1], a[2], *b, *place, direct & ~first,
                    *[n] * self.masked]
            f.raw(f"call void {code.ref}({', '.join(map(repr, args))})")

            def finish() -> None:
                more = [x for p, p_m in extra for x in (f.bytes_at(p, start * p_m), p_m)]
                f.call(self.named("finish"), "void", self.buffer, lanes * self.s,
                       i - start, height, n, first, last, to, sums[1],
                       f.bytes_at(out[0], start * out[1]), out[1], *more)
            f.if_(~direct, finish)
            return i + height

        def step(i: Val, q: Val) -> tuple[Val, Val]:
            i = tile(i)
            if ahead[1] is None:
                return i, q
            q_end = f.sdiv(f.imin(i, rows) * ahead[0], rows)
            f.loop(q, q_end, 1, ahead[1])
            return i, q_end
        f.while_(lambda i, q: f.cmp("slt", i, rows), step, [f.const("i64", 0)] * 2)

    def tallest(self, vectors: int, heights: Sequence[int], rows: Val, i: Val) -> Sequence[Val]:
        """(height, code) of the best tile for the rows from i on."""
        f, (r, *rest) = self.f, heights
        found = f.const("i64", r), Val(
            f, f"@{tile_name(self.wide, r, vectors, self.masked)}", "ptr")
        if not rest:
            return found
        left = rows - i
        fits = f.cmp("sge", left, r) | (f.cmp("sgt", left, rest[0]) & f.cmp("sge", rows, r))
        if r == self.shape.rows[0]:              # 15 rows are better cut as 8 + 7 than as 14 + 1
            fits = fits & ~(f.cmp("sgt", left, r) & f.cmp("sle", left, 2 * rest[0]))
        return [
            f.sel(fits, x, y)
            for x, y in zip(found, self.tallest(vectors, rest, rows, i), strict=True)]
