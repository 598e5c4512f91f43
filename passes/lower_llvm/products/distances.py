"""Sums over the differences of rows: distances, and the gradients of distances.

The order of a sum is that of products (`gemm.py`): blocks of 256 terms, in each one chain of fused
multiply-adds from +0, and the blocks' sums added left to right. A difference is rounded before it
is used, so that rows which lie near each other lose nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import targets
from ..builder import BYTES, Module, Val, vec
from . import pack
from .gemm import KC

VECTORS = 2             # of a register tile, across
SHORT = {"float": "f32", "double": "f64"}


def tile_rows() -> int:
    """The rows of a register tile."""
    return 8 if targets.current().name in ("avx512", "neon") else 4


def width(elem: str) -> int:
    """The columns of a register tile."""
    return VECTORS * targets.current().lanes(BYTES[elem])


class Kernel:
    """The function of a kernel: pointers, then numbers."""

    def __init__(self, m: Module, symbol: str, elem: str, pointers: int, numbers: int) -> None:
        self.f = f = m.kernel(symbol)
        self.elem, self.s = elem, BYTES[elem]
        self.lanes, self.width = targets.current().lanes(self.s), width(elem)
        self.ty = vec(elem, self.lanes)
        args, self.begin, self.end, self.worker = f.args
        self.pointers = [f.load("ptr", f.at(args, i, "i64"), 8) for i in range(pointers)]
        self.numbers = [f.load("i64", f.at(args, pointers + i, "i64"), 8) for i in range(numbers)]

    def sums(self, count: Val, chains: int, step: Callable[[Val, Sequence[Val]], Sequence[Val]]
             ) -> list[Val]:
        """`chains` sums of `count` terms: step(k, sums so far) adds the terms number k."""
        f = self.f

        def block(start: Val, *totals: Val) -> list[Val]:
            found = f.loop(start, f.imin(start + KC, count), 1, lambda k, *acc: step(k, acc),
                           [f.const(self.ty, 0)] * chains)
            return [t + x for t, x in zip(totals, found, strict=True)]
        return f.loop(0, count, KC, block, [f.const(self.ty, 0)] * chains)

    def rows_from(self, i: Val, count: Val, rows: int) -> list[Val]:
        """The numbers of a tile's rows; behind the last it is the last again."""
        return [self.f.imin(i + r, count - 1) for r in range(rows)]

    def splat(self, p: Val) -> Val:
        return self.f.splat(self.f.load(self.elem, p), self.lanes)


def distances(m: Module, symbol: str, elem: str, triangle: bool) -> None:
    """Arguments: rows x (m, k) of each matrix, rows y (n, k), a place for each pair, scratch
    memory; m, n, k, how many rows a unit has, bytes of scratch memory of a thread. `triangle`: only
    the pairs of a row of x with later ones of y, one row's behind the other's."""
    kernel = _Distances(m, symbol, elem, triangle)
    kernel.f.loop(kernel.begin, kernel.end, 1, kernel.unit)


class _Distances(Kernel):
    """The kernel of `distances`."""

    def __init__(self, m: Module, symbol: str, elem: str, triangle: bool) -> None:
        super().__init__(m, symbol, elem, 4, 5)
        self.triangle, self.copy, self.high = triangle, f"{symbol}.copy", tile_rows()
        pack.copy_transposed(m, self.copy, SHORT[elem], SHORT[elem], self.lanes)
        self.xs, self.ys, self.out, scratch = self.pointers
        self.rows, self.columns, self.k, self.each, room = self.numbers
        self.panel = self.f.bytes_at(scratch, self.worker * room)
        self.blocks = self.f.sdiv(self.rows + self.each - 1, self.each)

    def unit(self, u: Val) -> None:
        """All pairs of a unit's rows, panel by panel of the other matrix."""
        f, s = self.f, self.s
        z = f.sdiv(u, self.blocks)
        i0 = f.srem(u, self.blocks) * self.each
        i1 = f.imin(i0 + self.each, self.rows)

        def columns_from(j: Val) -> None:
            some = f.imin(self.columns - j, self.width)
            start = f.at(self.ys, (z * self.columns + j) * self.k, self.elem)
            f.call(self.copy, "void", start, self.k * s, f.as_val(s, "i64"), some, self.k,
                   self.panel, f.as_val(self.width * s, "i64"))
            end = f.imin(i1, j + some) if self.triangle else i1
            f.loop(i0, end, self.high, lambda i: self.tile(z, i, j))
        first = f.sdiv(i0, self.width) * self.width if self.triangle else 0
        f.loop(first, self.columns, self.width, columns_from)

    def tile(self, z: Val, i: Val, j: Val) -> None:
        """The pairs of a tile's rows from i on with its columns from j on."""
        f = self.f
        numbers = self.rows_from(i, self.rows, self.high)
        x = [f.at(self.xs, (z * self.rows + r) * self.k, self.elem) for r in numbers]

        def step(q: Val, acc: Sequence[Val]) -> list[Val]:
            y = [f.load(self.ty, f.at(self.panel, q * self.width + v * self.lanes, self.elem))
                 for v in range(VECTORS)]
            made = []
            for r, p in enumerate(x):
                one = self.splat(f.at(p, q, self.elem))
                for v in range(VECTORS):
                    d = one - y[v]
                    made.append(f.fma(d, d, acc[r * VECTORS + v]))
            return made
        found = [f.sqrt(t) for t in self.sums(self.k, self.high * VECTORS, step)]
        for r, number in enumerate(numbers):
            row = found[r * VECTORS:(r + 1) * VECTORS]
            f.if_(f.cmp("slt", i + r, self.rows),
                  lambda row=row, number=number: self.put(row, z, number, j))

    def put(self, row: Sequence[Val], z: Val, number: Val, j: Val) -> None:
        """Store the distances of one row, from column j on, as far as they are wanted."""
        f, lanes = self.f, self.lanes
        to = f.at(self.row_of(z, number), j, self.elem)
        for v in range(VECTORS):
            mask = f.lanes_below(self.columns - j - v * lanes, lanes)
            if self.triangle:
                mask = mask & ~f.lanes_below(number + 1 - j - v * lanes, lanes)
            f.put(mask, (row[v], f.at(to, v * lanes, self.elem)))

    def row_of(self, z: Val, i: Val) -> Val:
        """Where the place is of a row and column 0."""
        f, columns = self.f, self.columns
        if self.triangle:
            before = f.sdiv(i * (columns * 2 - i - 1), 2)
            return f.at(self.out, z * f.sdiv(columns * (columns - 1), 2) + before - i - 1,
                        self.elem)
        return f.at(self.out, (z * self.rows + i) * columns, self.elem)


def weighted(m: Module, symbol: str, elem: str) -> None:
    """The sums of each row's differences from others, each times a weight. Arguments: weights
    (m, n) of any strides, rows x (m, k) of each matrix, rows y (n, k), the sums (m, k); m, n, k,
    the weights' strides in elements: of matrices, of rows, of columns."""
    high = tile_rows() // 2
    k_ = Kernel(m, symbol, elem, 4, 6)
    f, lanes = k_.f, k_.lanes
    (weights, xs, ys, out), (rows, others, k, w_z, w_m, w_n) = k_.pointers, k_.numbers
    blocks = f.sdiv(rows + (high - 1), high)

    def tile(z: Val, i: Val, c: Val) -> None:
        numbers = k_.rows_from(i, rows, high)
        masks = [f.lanes_below(k - c - v * lanes, lanes) for v in range(VECTORS)]

        def row(start: Val, size: Val, r: Val) -> list[Val]:
            at = f.at(start, (z * size + r) * k + c, elem)
            return [f.mload(k_.ty, f.at(at, v * lanes, elem), masks[v]) for v in range(VECTORS)]
        x = [row(xs, rows, r) for r in numbers]
        w = [f.at(weights, z * w_z + r * w_m, elem) for r in numbers]

        def step(q: Val, acc: Sequence[Val]) -> list[Val]:
            y, made = row(ys, others, q), []
            for r in range(high):
                one = k_.splat(f.at(w[r], q * w_n, elem))
                made += [f.fma(one, x[r][v] - y[v], acc[r * VECTORS + v]) for v in range(VECTORS)]
            return made
        found = k_.sums(others, high * VECTORS, step)
        for r, number in enumerate(numbers):
            def put(r: int = r, number: Val = number) -> None:
                to = f.at(out, (z * rows + number) * k + c, elem)
                for v in range(VECTORS):
                    f.put(masks[v], (found[r * VECTORS + v], f.at(to, v * lanes, elem)))
            f.if_(f.cmp("slt", i + r, rows), put)

    def unit(u: Val) -> None:
        f.loop(0, k, k_.width, lambda c: tile(f.sdiv(u, blocks), f.srem(u, blocks) * high, c))
    f.loop(k_.begin, k_.end, 1, unit)
