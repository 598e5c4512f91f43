"""Kernels of small linear algebra: factors by elimination, Cholesky factors, and solutions.

The orders. Elimination goes column by column: the pivot is the first of the largest, each element
below is divided by it, and each row below loses its multiple of the pivot's row by one fused
multiply-add an element. A Cholesky factor: each row of L.T is divided by the root of its first
element and is taken off the rows below in the same way. Solutions: see `panel.substitute`. All of
them depend on the sizes of one matrix alone.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..builder import Module, Number, Val
from ..vmath import FUNCTIONS
from .panel import Kernel, Panel, substitute


def eliminate(module: Module, symbol: str, elem: str) -> None:
    """Arguments: matrices (m, n), panels for their factors, row swaps from 1 (i32), the first zero
    pivot from 1 or 0 (i32), a flag that is set if there is one; m, n, a panel's stride."""
    k = Kernel(module, symbol, elem, 5, 3)
    f, (a, panels, pivots, info, bad), (m, n, stride) = k.f, k.pointers, k.sizes
    steps = f.imin(m, n)

    def matrix(unit: Val) -> None:
        w = Panel(k, f.at(panels, unit * m * stride, elem), m, n, stride)
        w.read(f.at(a, unit * m * n, elem))
        swaps = f.at(pivots, unit * steps, "i32")

        def columns(first: Val, failed: Val) -> Val:
            last = f.imin(first + k.lanes, steps)
            failed, = f.loop(first, last, 1, lambda j, failed: _eliminate_column(
                w, j, first, swaps, failed), [failed])
            _take_off_the_right(w, first, last)
            return failed
        failed, = f.loop(0, steps, k.lanes, columns, [f.as_val(0, "i64")])
        f.store(f.conv("trunc", failed, "i32"), f.at(info, unit, "i32"))
        f.if_(f.cmp("ne", failed, 0), lambda: f.store(f.as_val(1, "i64"), bad))
    k.each_matrix(matrix)


def _eliminate_column(w: Panel, j: Val, first: Val, swaps: Val, failed: Val) -> Val:
    """Eliminate column j of the vector of columns that begins at `first`, in that vector alone. The
    first zero pivot from 1: `failed`, unless that is 0."""
    f, lanes = w.f, w.k.lanes
    best = _pivot(w, j)
    f.store(f.conv("trunc", best + 1, "i32"), f.at(swaps, j, "i32"))
    f.if_(f.cmp("ne", best, j), lambda: w.swap(j, best))
    pivot = w.number(j, j)
    zero = f.cmp("oeq", pivot, 0.0)
    divisor = f.sel(zero, 1.0, pivot)
    column, here = f.iota("i64", lanes), f.splat(j - first, lanes)
    right, own = f.cmp("sgt", column, here), f.cmp("eq", column, here)
    pivots = w.vector(j, first)

    def row(i: Val) -> None:
        factor = w.number(i, j) / divisor
        x = w.vector(i, first)
        less = f.fma(f.splat(f.neg(factor), lanes), pivots, x)
        x = f.sel(right, less, f.sel(own, f.splat(factor, lanes), x))
        f.store(x, w.at(i, first))
    f.loop(j + 1, w.rows, 1, row)
    return f.sel(f.cmp("eq", failed, 0), f.sel(zero, j + 1, 0), failed)


def _take_off_the_right(w: Panel, first: Val, last: Val) -> None:
    """What the columns first ... last, which are eliminated, take off those behind their vector:
    first off the pivots' own rows, then off all below."""
    def off(column: Val, count: int) -> None:
        w.f.loop(first + 1, last, 1,
                 lambda i: _less(w, i, 1, column, count, w.number, first, i))
        w.row_blocks(last, w.rows, count, lambda i, many: _less(
            w, i, many, column, count, w.number, first, last))
    w.groups(off, first + w.k.lanes)


def _less(w: Panel, i: Val, many: int, column: Val, count: int,
          element: Callable[[Val, Val], Val], lo: Val, hi: Val) -> None:
    """Take the products with the rows from lo up to hi off `many` rows from row i on."""
    places = [i + r for r in range(many)]
    found = w.less_products(places, column, count, element, lo, hi, lambda j: j)
    for at, x in zip(places, found):
        w.store(x, at, column)


def _pivot(w: Panel, j: Val) -> Val:
    """The row of the first of the largest numbers in column j, from row j on."""
    f = w.f

    def larger(i: Val, most: Val, place: Val) -> list[Val]:
        size = f.fabs(w.number(i, j))
        more = f.cmp("ogt", size, most)
        return [f.sel(more, size, most), f.sel(more, i, place)]
    return f.loop(j + 1, w.rows, 1, larger, [f.fabs(w.number(j, j)), j])[1]


def unpack(module: Module, symbol: str, elem: str) -> None:
    """Arguments: panels, matrices (m, n) to which their contents are written; m, n, a panel's
    stride."""
    k = Kernel(module, symbol, elem, 2, 3)
    (panels, out), (m, n, stride) = k.pointers, k.sizes
    k.each_matrix(lambda unit: Panel(
        k, k.f.at(panels, unit * m * stride, elem), m, n, stride).write(
            k.f.at(out, unit * m * n, elem)))


def parts(module: Module, symbol: str, elem: str) -> None:
    """Arguments: packed factors (m, n), row swaps from 1 (i32), m whole numbers of room for each
    matrix, P (m, m), L (m, k), U (k, n), a flag that is set where a swap is with no row; m, n. The
    smaller of m and n is k."""
    k = Kernel(module, symbol, elem, 7, 2)
    f, (packed, pivots, room, p_out, l_out, u_out, bad), (m, n) = k.f, k.pointers, k.sizes
    steps = f.imin(m, n)

    def matrix(unit: Val) -> None:
        factors = Panel(k, f.at(packed, unit * m * n, elem), m, n, n)
        swaps, order = f.at(pivots, unit * steps, "i32"), f.at(room, unit * m, "i64")
        _write_permutation(
            Panel(k, f.at(p_out, unit * m * m, elem), m, m, m), swaps, order, steps, bad)
        _write_triangle(factors, Panel(k, f.at(l_out, unit * m * steps, elem), m, steps, steps),
                        upper=False)
        _write_triangle(factors, Panel(k, f.at(u_out, unit * steps * n, elem), steps, n, n),
                        upper=True)
    k.each_matrix(matrix)


def _write_permutation(result: Panel, swaps: Val, order: Val, steps: Val, bad: Val) -> None:
    """Write the permutation matrix that undoes the swaps of rows. `order` is scratch memory for the
    position of each row. A swap with a row that does not exist sets the flag and is skipped."""
    f, m = result.f, result.rows
    f.loop(0, m, 1, lambda i: f.store(f.as_val(i, "i64"), f.at(order, i, "i64")))

    def swap(i: Val) -> None:
        other = f.conv("sext", f.load("i32", f.at(swaps, i, "i32")), "i64") - 1

        def exchange() -> None:
            here, there = f.at(order, i, "i64"), f.at(order, other, "i64")
            a, b = f.load("i64", here), f.load("i64", there)
            f.store(b, here)
            f.store(a, there)
        f.if_(f.cmp("ult", other, m), exchange, lambda: f.store(f.as_val(1, "i64"), bad))
    f.loop(0, steps, 1, swap)

    def clear(i: Val) -> None:
        result.vectors(0, lambda c: f.put(f.lanes_below(m - c, result.k.lanes),
                                          (f.const(result.k.ty, 0), result.at(i, c))))
    f.loop(0, m, 1, clear)
    one = f.as_val(1.0, result.k.elem)
    f.loop(0, m, 1, lambda i: result.put(one, f.load("i64", f.at(order, i, "i64")), i))


def _write_triangle(packed: Panel, result: Panel, upper: bool) -> None:
    """One triangle of packed factors, with zeros beside it; the lower one has ones for its
    diagonal."""
    f, lanes = packed.f, packed.k.lanes
    zero, one = f.const(packed.k.ty, 0), f.const(packed.k.ty, 1.0)

    def row(i: Val) -> None:
        def each(c: Val) -> None:
            inside = f.lanes_below(result.width - c, lanes)
            x = f.mload(packed.k.ty, packed.at(i, c), inside)
            column, diagonal = f.iota("i64", lanes), f.splat(i - c, lanes)
            if upper:
                x = f.sel(f.cmp("sge", column, diagonal), x, zero)
            else:
                beside = f.sel(f.cmp("eq", column, diagonal), one, zero)
                x = f.sel(f.cmp("slt", column, diagonal), x, beside)
            f.put(inside, (x, result.at(i, c)))
        result.vectors(0, each)
    f.loop(0, result.rows, 1, row)


def solve(module: Module, symbol: str, elem: str, inverse: bool) -> None:
    """Arguments: panels of factors, their row swaps, right sides (n, c) (not read where the
    `inverse` is wanted), panels for solutions, solutions (n, c); n, c, the strides of both kinds of
    panels."""
    k = Kernel(module, symbol, elem, 5, 4)
    f, (panels, pivots, right, room, out), (n, c, stride, width) = k.f, k.pointers, k.sizes

    def matrix(unit: Val) -> None:
        lu = Panel(k, f.at(panels, unit * n * stride, elem), n, n, stride)
        x = Panel(k, f.at(room, unit * n * width, elem), n, c, width)
        swaps = f.at(pivots, unit * n, "i32")
        if inverse:
            x.identity()
        else:
            x.read(f.at(right, unit * n * c, elem))

        def swap(i: Val) -> None:
            other = f.conv("sext", f.load("i32", f.at(swaps, i, "i32")), "i64") - 1
            f.if_(f.cmp("ne", other, i), lambda: x.swap(i, other))
        f.loop(0, n, 1, swap)
        substitute(x, lu.number, n, upper=False, unit=True)
        substitute(x, lu.number, n, upper=True, unit=False)
        x.write(f.at(out, unit * n * c, elem))
    k.each_matrix(matrix)


def triangular(module: Module, symbol: str, elem: str, upper: bool, unit: bool,
               turned: bool) -> None:
    """Arguments: triangles (n, n), right sides (n, c), panels for solutions, solutions (n, c); n,
    c, a panel's stride. `turned`: the columns of the triangles lie row by row."""
    k = Kernel(module, symbol, elem, 4, 3)
    f, (a, right, room, out), (n, c, width) = k.f, k.pointers, k.sizes

    def matrix(which: Val) -> None:
        triangle = Panel(k, f.at(a, which * n * n, elem), n, n, n)
        x = Panel(k, f.at(room, which * n * width, elem), n, c, width)
        x.read(f.at(right, which * n * c, elem))

        def element(i: Val, j: Val) -> Val:
            return triangle.number(j, i) if turned else triangle.number(i, j)
        substitute(x, element, n, upper, unit)
        x.write(f.at(out, which * n * c, elem))
    k.each_matrix(matrix)


def determinant(module: Module, symbol: str, elem: str) -> None:
    """Arguments: panels of factors, their row swaps, a number for each; n, a panel's stride. The
    diagonal is multiplied up from the first element on."""
    k = Kernel(module, symbol, elem, 3, 2)
    f, (panels, pivots, out) = k.f, k.pointers

    def matrix(unit: Val) -> None:
        def factor(x: Val, product: Val) -> list[Val]:
            return [product * x]
        product, = _along_the_diagonal(k, panels, pivots, unit, factor, [f.as_val(1.0, elem)])
        f.store(product, f.at(out, unit, elem))
    k.each_matrix(matrix)


def log_determinant(module: Module, symbol: str, elem: str) -> None:
    """Arguments: panels of factors, their row swaps, a sign and a logarithm for each; n, a panel's
    stride. The logarithms of the diagonal's sizes are of type double, and are added up from the
    first element on."""
    k = Kernel(module, symbol, elem, 4, 2)
    f, (panels, pivots, signs, logs) = k.f, k.pointers

    def matrix(unit: Val) -> None:
        def factor(x: Val, sign: Val, total: Val) -> list[Val]:
            size = f.conv("fpext", f.fabs(x), "double") if elem == "float" else f.fabs(x)
            one = f.sel(f.cmp("oeq", x, 0.0), 0.0, f.copysign(f.as_val(1.0, elem), x))
            return [sign * f.sel(f.cmp("uno", x, x), x, one), total + FUNCTIONS["log"](f, size)]
        sign, total = _along_the_diagonal(k, panels, pivots, unit, factor, [
            f.as_val(1.0, elem), f.as_val(0.0, "double")])
        f.store(sign, f.at(signs, unit, elem))
        f.store(f.conv("fptrunc", total, "float") if elem == "float" else total,
                f.at(logs, unit, elem))
    k.each_matrix(matrix)


def _along_the_diagonal(k: Kernel, panels: Val, pivots: Val, unit: Val, body: Callable[..., Any],
                        starts: list[Val]) -> Any:
    """What body(x, *values) makes of the starts by each element x of a matrix's diagonal, its
    sign turned where a row was swapped."""
    f, (n, stride) = k.f, k.sizes
    lu = Panel(k, f.at(panels, unit * n * stride, k.elem), n, n, stride)
    swaps = f.at(pivots, unit * n, "i32")

    def element(i: Val, *values: Val) -> Any:
        other = f.conv("sext", f.load("i32", f.at(swaps, i, "i32")), "i64") - 1
        x = lu.number(i, i)
        return body(f.sel(f.cmp("ne", other, i), f.neg(x), x), *values)
    return f.loop(0, n, 1, element, starts)


def cholesky(module: Module, symbol: str, elem: str) -> None:
    """Arguments: matrices (n, n), each replaced by the mean with its transpose; panels; lower
    factors (n, n); a flag that is set if a matrix is not positive definite; n, a panel's stride."""
    k = Kernel(module, symbol, elem, 4, 2)
    f, (matrices, panels, out, bad), (n, stride) = k.f, k.pointers, k.sizes

    def matrix(unit: Val) -> None:
        a = Panel(k, f.at(matrices, unit * n * n, elem), n, n, n)
        w = Panel(k, f.at(panels, unit * n * stride, elem), n, n, stride)
        result = Panel(k, f.at(out, unit * n * n, elem), n, n, n)

        def symmetric(i: Val) -> None:
            w.vectors(0, lambda c: f.store(f.const(k.ty, 0), w.at(i, c)))
            f.loop(i, n, 1, lambda j: w.put((a.number(i, j) + a.number(j, i)) * 0.5, i, j))
        f.loop(0, n, 1, symmetric)

        def rows(first: Val) -> None:
            last = f.imin(first + k.lanes, n)
            f.loop(first, last, 1, lambda j: _root_row(w, j, last, bad))

            def off(column: Val, count: int) -> None:
                # no row is needed left of its diagonal
                end = f.imin(column + count * k.lanes, n)
                w.row_blocks(last, end, count, lambda i, many: _less(
                    w, i, many, column, count, lambda i, j: w.number(j, i), first, last))
            w.groups(off, first + k.lanes)
        f.loop(0, n, k.lanes, rows)
        _write_transposed(w, result)
    k.each_matrix(matrix)


def _root_row(w: Panel, j: Val, last: Val, bad: Val) -> None:
    """Divide row j by the root of its first element, and take it off the rows up to `last`."""
    f, k = w.f, w.k
    square = w.number(j, j)
    f.if_(f.cmp("ule", square, 0.0), lambda: f.store(f.as_val(1, "i64"), bad))
    root = f.sqrt(square)
    each = f.splat(root, k.lanes)
    w.vectors(w.first_column(j), lambda c: f.store(w.vector(j, c) / each, w.at(j, c)))
    w.put(root, j, j)

    def below(i: Val) -> None:
        factor = w.number(j, i)
        w.vectors(w.first_column(i), lambda c: w.take_off(i, c, factor, [w.vector(j, c)]))
    f.loop(j + 1, last, 1, below)


def _write_transposed(upper: Panel, lower: Panel) -> None:
    """The lower triangle that is the transpose of an upper one, with zeros beside it."""
    f = upper.f
    zero = f.as_val(0.0, upper.k.elem)

    def row(i: Val) -> None:
        def below(j: Number) -> None:
            lower.put(upper.number(j, i), i, j)
        f.loop(0, i + 1, 1, below)
        f.loop(i + 1, lower.width, 1, lambda j: lower.put(zero, i, j))
    f.loop(0, upper.rows, 1, row)
