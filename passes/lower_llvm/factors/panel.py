"""A matrix in memory of its own: rows of whole vectors, so that no step over a row has a mask.

What fills a row up to whole vectors is computed with and never read by an element that is kept.
"""
from __future__ import annotations

from collections.abc import Callable

from .. import targets
from ..builder import BYTES, Module, Number, Val, vec

TOGETHER = 4                    # vectors of a row that are in registers at once
ROWS = {1: 8, TOGETHER: 3}      # and rows of so many vectors: sums enough to hide their waits


def lanes_of(elem: str) -> int:
    """The numbers of a vector: rows of a panel are a multiple of it."""
    return targets.current().lanes(BYTES[elem])


class Kernel:
    """The function of a kernel, its words in order, and its matrices."""

    def __init__(self, module: Module, symbol: str, elem: str, pointers: int, sizes: int) -> None:
        self.f = module.kernel(symbol)
        self.elem, self.lanes = elem, lanes_of(elem)
        self.ty = vec(elem, self.lanes)
        args = self.f.args[0]
        self.pointers = [self.f.load("ptr", self.f.at(args, k, "i64"), 8) for k in range(pointers)]
        self.sizes = [self.f.load("i64", self.f.at(args, pointers + k, "i64"), 8)
                      for k in range(sizes)]

    def each_matrix(self, body: Callable[[Val], None]) -> None:
        self.f.loop(self.f.args[1], self.f.args[2], 1, body)


class Panel:
    """Rows of `stride` numbers from `start` on; `rows` of them, `width` numbers of each."""

    def __init__(self, kernel: Kernel, start: Val, rows: Val, width: Val, stride: Val) -> None:
        self.k, self.f, self.start = kernel, kernel.f, start
        self.rows, self.width, self.stride = rows, width, stride

    def at(self, i: Number, j: Number = 0) -> Val:
        """The address of an element."""
        i = self.f.as_val(i, "i64")
        return self.f.at(self.start, i * self.stride + j, self.k.elem)

    def number(self, i: Number, j: Number) -> Val:
        return self.f.load(self.k.elem, self.at(i, j))

    def put(self, x: Val, i: Number, j: Number) -> None:
        self.f.store(x, self.at(i, j))

    def vector(self, i: Number, j: Number) -> Val:
        return self.f.load(self.k.ty, self.at(i, j))

    def first_column(self, j: Val) -> Val:
        """Where the vector begins that column j is in."""
        return self.f.binary("and", j, -self.k.lanes)

    def vectors(self, lo: int | Val, body: Callable[[Val], None]) -> None:
        """body(j) for each vector of a row from column `lo` on."""
        self.f.loop(lo, self.stride, self.k.lanes, body)

    def swap(self, i: Val, j: Val) -> None:
        """Two rows change places."""
        def each(c: Val) -> None:
            a, b = self.vector(i, c), self.vector(j, c)
            self.f.store(b, self.at(i, c))
            self.f.store(a, self.at(j, c))
        self.vectors(0, each)

    def read(self, dense: Val) -> None:
        """Fill the panel with a row-major matrix; the rest of each row is zero."""
        f = self.f

        def row(i: Val) -> None:
            source = f.at(dense, i * self.width, self.k.elem)

            def each(c: Val) -> None:
                inside = f.lanes_below(self.width - c, self.k.lanes)
                f.store(f.mload(self.k.ty, f.at(source, c, self.k.elem), inside), self.at(i, c))
            self.vectors(0, each)
        f.loop(0, self.rows, 1, row)

    def write(self, dense: Val) -> None:
        """Copy the panel into a row-major matrix."""
        f = self.f

        def row(i: Val) -> None:
            target = f.at(dense, i * self.width, self.k.elem)

            def each(c: Val) -> None:
                f.put(f.lanes_below(self.width - c, self.k.lanes),
                      (self.vector(i, c), f.at(target, c, self.k.elem)))
            self.vectors(0, each)
        f.loop(0, self.rows, 1, row)

    def identity(self) -> None:
        """Fill the panel with the identity, or the first of its columns."""
        f = self.f

        def row(i: Val) -> None:
            self.vectors(0, lambda c: f.store(f.const(self.k.ty, 0), self.at(i, c)))
            f.if_(f.cmp("slt", i, self.width),
                  lambda: self.put(f.as_val(1.0, self.k.elem), i, i))
        f.loop(0, self.rows, 1, row)

    def groups(self, body: Callable[[Val, int], None], lo: int | Val = 0) -> None:
        """body(column, vectors) over the whole width, or from column `lo` on: several vectors at
        once, then one at a time."""
        f, step = self.f, TOGETHER * self.k.lanes
        width = self.stride - lo
        whole = f.binary("sub", self.stride, f.srem(width, step))
        f.loop(lo, whole, step, lambda c: body(c, TOGETHER))
        f.loop(whole, self.stride, self.k.lanes, lambda c: body(c, 1))

    def take_off(self, i: Val, column: Val, factor: Val, rows: list[Val]) -> None:
        """Row i less a multiple of `rows`, vectors from a column on."""
        f, minus = self.f, self.f.splat(self.f.neg(factor), self.k.lanes)
        for u, x in enumerate(rows):
            place = self.at(i, column + u * self.k.lanes)
            f.store(f.fma(minus, x, f.load(self.k.ty, place)), place)

    def row_blocks(self, lo: int | Val, hi: Val, count: int,
                   body: Callable[[Val, int], None]) -> None:
        """body(row, rows) from lo up to hi, where each row has `count` vectors: as many rows at
        once as registers hold sums, then one at a time."""
        f, step = self.f, ROWS[count]
        whole = f.binary("sub", hi, f.srem(hi - lo, step))
        f.loop(lo, whole, step, lambda i: body(i, step))
        f.loop(whole, hi, 1, lambda i: body(i, 1))

    def store(self, rows: list[Val], i: Val, column: Val) -> None:
        """Put vectors into row i from a column on."""
        for u, x in enumerate(rows):
            self.f.store(x, self.at(i, column + u * self.k.lanes))

    def less_products(self, places: list[Val], column: Val, count: int,
                      element: Callable[[Val, Val], Val], lo: int | Val, hi: Val,
                      row: Callable[[Val], Val]) -> list[list[Val]]:
        """`count` vectors of each of these rows from a column on, less element(i, j) times row j
        for each j = row(lo) ... row(hi - 1), by one fused multiply-add each."""
        f, lanes = self.f, self.k.lanes
        starts = [self.vector(i, column + u * lanes) for i in places for u in range(count)]

        def product(step: Val, *sums: Val) -> list[Val]:
            j = row(step)
            rows = [self.vector(j, column + u * lanes) for u in range(count)]
            minus = [f.splat(f.neg(element(i, j)), lanes) for i in places]
            return [f.fma(minus[at // count], rows[at % count], x) for at, x in enumerate(sums)]
        sums = f.loop(lo, hi, 1, product, starts)
        return [list(sums[r:r + count]) for r in range(0, len(sums), count)]


def substitute(x: Panel, element: Callable[[Val, Val], Val], n: Val, upper: bool,
               unit: bool) -> None:
    """x = the solution of A @ X = x; `element(i, j)` are the elements of a triangle A.

    An element's order: the products of its row from the first solved unknown to the last, each
    taken off by a fused multiply-add; then one division by the diagonal (none where it is `unit`).
    """
    f, k = x.f, x.k

    def row(step: Val) -> Val:
        return n - 1 - step if upper else step

    def block(column: Val, count: int, first: Val, rows: int) -> None:
        places = [row(first + r) for r in range(rows)]
        found = x.less_products(places, column, count, element, 0, first, row)
        for r, i in enumerate(places):
            if not unit:
                diagonal = f.splat(element(i, i), k.lanes)
                found[r] = [v / diagonal for v in found[r]]
            x.store(found[r], i, column)
            for later in range(r + 1, rows):
                minus = f.splat(f.neg(element(places[later], i)), k.lanes)
                found[later] = [f.fma(minus, x, v) for x, v in zip(found[r], found[later])]
    x.groups(lambda column, count: x.row_blocks(
        0, n, count, lambda first, rows: block(column, count, first, rows)))
