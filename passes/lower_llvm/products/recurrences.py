"""Runs the steps of a recurrence in one launch: each multiplies a state's rows by a matrix and
applies expressions to the sums.

Each step multiplies rows of the `source` by matrices, one for each gate. The source has what the
previous step stored; the first step has rows of its own. Scalar expressions are then evaluated on
the sums (arguments 0...) and on elements of other arrays. Their results are stored to arrays. A
series has a part for each step. A state is read by the next step.

Sequences of different lengths are packed, the longest first: a step has rows only for sequences
that are long enough. A series has the rows of all steps one after the other, and a table has the
offset of each step. A sequence whose first step this is starts from its own row of `first`.

The order of sums is that of `gemm`: K in blocks of 256, one chain of fused multiply-adds each. Rows
are independent, so threads share the rows and never wait. No row's bits depend on how many there
are.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from whet.ir.scalar import Expr

from .. import scalar
from ..builder import Module, Val, vec
from .gemm import _TILE, KC, narrow_rows, shape, tile_name
from .pack import LLVM, size

TABLE = ("steps", "rows", "width", "k", "first_k", "is_reversed")
"""The table of integers. `width`: numbers of a state. `k`: numbers of a row of the source;
`first_k`: the same in the first step, 0 where there is nothing to multiply yet."""


@dataclass(frozen=True)
class Array:
    """An array of rows with `parts` times as many numbers as a state has. It is a row itself; the
    array of the class below has a row for each row of a state; that below has these for each
    step."""
    parts: int = 1

    def row(self, begin: Val, n: Val) -> int | Val:
        """Which row of the array row n of a step is, whose rows of a series begin at `begin`."""
        return 0


@dataclass(frozen=True)
class State(Array):
    """What the next step finds as this one leaves it."""

    def row(self, begin: Val, n: Val) -> int | Val:
        return n


@dataclass(frozen=True)
class Series(Array):
    """What each step has a part of."""

    def row(self, begin: Val, n: Val) -> int | Val:
        return begin + n


class Place(NamedTuple):
    """A part of an array, by its number."""
    array: int
    part: int


@dataclass(frozen=True)
class Steps:
    """What a step does. `reads`: the arguments of the expressions after the sums. `results`: the
    expressions, and where each result goes. `source`: the array whose rows are multiplied, from a
    part on. `packed`: do steps have fewer rows than those before?"""
    dtype: str
    sums: int
    arrays: tuple[Array, ...]
    reads: tuple[Place, ...]
    results: tuple[tuple[Expr, Place], ...]
    source: Place
    packed: bool = False

    @functools.cached_property
    def for_packed(self) -> Steps:
        """These steps for packed sequences."""
        return replace(self, packed=True)

    @functools.cached_property
    def key(self) -> str:
        """The steps, described completely."""
        arrays = " ".join(f"{type(a).__name__[:2]}{a.parts}" for a in self.arrays)
        reads = " ".join(f"{a}.{p}" for a, p in self.reads)
        results = " ".join(f"{e}>{a}.{p}" for e, (a, p) in self.results)
        array, part = self.source
        packed = "packed/" * self.packed
        return f"{packed}{self.dtype}/{self.sums}/{arrays}/{reads}/{results}/{array}.{part}"


def unit_rows(dtype: str) -> int:
    """The rows of a unit."""
    return shape(dtype).rows[0]


def steps(mod: Module, symbol: str, what: Steps) -> None:
    """Emit the kernel. Its arguments: the table, the rows that the first step multiplies, the
    matrices as `packed_panels.pack_b` leaves them, where each step begins and the last one ends if
    sequences are packed, the arrays. A unit is `unit_rows` rows."""
    _Emitter(mod, symbol, what)


class _Emitter:
    def __init__(self, mod: Module, symbol: str, what: Steps) -> None:
        self.what, self.shape, self.s = what, shape(what.dtype), size(what.dtype)
        self.ty, self.mod = LLVM[what.dtype], mod
        for v, heights in self.tiles():
            for r in heights:
                mod.declare(tile_name(what.dtype, r, v), "void", [ty for ty, _ in _TILE])
        f = self.f = mod.kernel(symbol)
        args, begin, end, _ = f.args
        table, self.first, self.packed, *more = (
            f.load("ptr", f.at(args, i, "i64"))
            for i in range(3 + what.packed + len(what.arrays)))
        self.begins, self.arrays = more[0], more[what.packed:]
        d = self.d = {n: f.load("i64", f.at(table, i, "i64")) for i, n in enumerate(TABLE)}
        each = unit_rows(what.dtype)
        self.rows = begin * each, f.imin(end * each, d["rows"])
        self.row_bytes = what.sums * self.shape.width * self.s
        self.buffer = f.alloca("i8", each * self.row_bytes)
        panels = f.sdiv(d["width"] + (self.shape.width - 1), self.shape.width)
        self.padded = panels * self.shape.width
        f.loop(0, d["steps"], 1, self.step)

    def tiles(self) -> list[tuple[int, tuple[int, ...]]]:
        """(vectors, heights) of the register tiles."""
        sh = self.shape
        return [(sh.vectors, sh.rows), (1, narrow_rows(self.what.dtype))]

    def step(self, i: Val) -> None:
        """All rows of a unit, a panel of columns after the other: a panel stays in the cache."""
        f, d = self.f, self.d
        back, is_first = f.cmp("ne", d["is_reversed"], 0), f.cmp("eq", i, 0)
        t = f.sel(back, d["steps"] - 1 - i, i)
        before = f.sel(is_first, t, f.sel(back, t + 1, t - 1))
        begin, rows = self.rows_of(t)
        begin_before, rows_before = self.rows_of(before)
        zero = f.const("i64", 0)
        made = self.place(self.what.source, begin_before, zero, zero)
        parts = self.what.arrays[self.what.source.array].parts
        first_row, last = self.rows
        end, known = f.imin(last, rows), f.sel(is_first, 0, rows_before)

        def panel(j: Val) -> None:
            def some(n: Val) -> list[Val]:
                begins = f.cmp("sge", n, known)
                source, k = f.sel(begins, self.first, made), f.sel(begins, d["first_k"], d["k"])
                stride = f.sel(begins, d["k"], d["width"] * parts) * self.s
                until = f.sel(begins, end, f.imin(end, known))
                count = self.products(f.bytes_at(source, n * stride), stride, k, j, until - n)
                f.loop(0, count, 1, lambda r: self.finish(begin, n + r, r, j))
                return [n + count]
            f.while_(lambda n: f.cmp("slt", n, end), some, [first_row])
        f.loop(0, d["width"], self.shape.width, panel)

    def rows_of(self, t: Val) -> tuple[Val, Val]:
        """(where the rows of a step begin in a series, how many there are)"""
        f = self.f
        if not self.what.packed:
            return t * self.d["rows"], self.d["rows"]
        begin, end = (f.load("i64", f.at(self.begins, i, "i64")) for i in (t, t + 1))
        return begin, end - begin

    def products(self, source: Val, stride: Val, k: Val, j: Val, rows: Val) -> Val:
        """The sums of a panel of columns, for as many rows as the best tile has; how many."""
        f, width = self.f, self.shape.width
        narrow = f.cmp("sle", self.d["width"] - j, self.shape.lanes)
        count, tile = (f.sel(narrow, x, y) for x, y in zip(
            *(self.tallest(v, heights, rows) for v, heights in reversed(self.tiles())),
            strict=True))
        column, step, row = (f.const("i64", x) for x in (self.s, width * self.s, self.row_bytes))

        def block(q: Val) -> None:
            k0 = q * KC
            kb = f.imin(k - k0, KC)
            for gate in range(self.what.sums):
                matrix = self.padded * self.d["k"] * gate
                b = f.bytes_at(self.packed, (matrix + k0 * self.padded + j * kb) * self.s)
                a, to = f.bytes_at(source, k0 * self.s), f.bytes_at(self.buffer,
                                                                    gate * width * self.s)
                arguments = a, stride, column, b, step, kb, to, row, f.cmp("ne", q, 0)
                f.raw(f"call void {tile.ref}({', '.join(map(repr, arguments))})")
        # K = 0 is one empty block: its sum is +0
        f.loop(0, f.imax(f.sdiv(k + (KC - 1), KC), 1), 1, block)
        return count

    def tallest(self, vectors: int, heights: Sequence[int], rows: Val) -> tuple[Val, Val]:
        """(rows, code) of the tallest tile for this number of rows."""
        f, wide = self.f, self.what.dtype
        *others, least = heights
        count, tile = f.const("i64", least), Val(f, f"@{tile_name(wide, least, vectors)}", "ptr")
        for r in reversed(others):
            fits = f.cmp("sge", rows, r)
            count = f.sel(fits, r, count)
            tile = f.sel(fits, Val(f, f"@{tile_name(wide, r, vectors)}", "ptr"), tile)
        return count, tile

    def finish(self, begin: Val, n: Val, r: Val, j: Val) -> None:
        """What follows of the sums of row n of a step, which is row r of the buffer."""
        f, what, lanes = self.f, self.what, self.shape.lanes
        cols = f.imin(self.d["width"] - j, self.shape.width)
        type_, sums = vec(self.ty, lanes), f.bytes_at(self.buffer, r * self.row_bytes)

        def vector(c: Val) -> None:
            mask = f.lanes_below(cols - c, lanes)
            operands = [
                f.load(type_, f.bytes_at(sums, (c + g * self.shape.width) * self.s))
                for g in range(what.sums)]
            operands += [f.mload(type_, self.place(p, begin, n, j + c), mask) for p in what.reads]
            dtypes = [what.dtype] * len(operands)
            made = scalar.emit(f, [e for e, _ in what.results], operands, dtypes, lanes)
            f.put(mask, *((x, self.place(p, begin, n, j + c))
                          for x, (_, p) in zip(made, what.results, strict=True)))
        f.loop(0, cols, lanes, vector)

    def place(self, p: Place, begin: Val, n: Val, j: Val) -> Val:
        """The address of a number of a part of an array, in row n of a step."""
        f, width, array = self.f, self.d["width"], self.what.arrays[p.array]
        at = (array.row(begin, n) * array.parts + p.part) * width + j
        return f.bytes_at(self.arrays[p.array], at * self.s)
