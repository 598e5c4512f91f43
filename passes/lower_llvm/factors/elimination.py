"""Kernels of small linear algebra: factors by elimination, Cholesky factors, and solutions.

The orders. Elimination goes column by column: the pivot is the first of the largest, each element
below is divided by it, and each row below loses its multiple of the pivot's row by one fused
multiply-add an element. A Cholesky factor: each row of L.T is divided by the root of its first
element and is taken off the rows below in the same way. Solutions: see `panel.substitute`. All of
them depend on the sizes of one matrix alone.
"""
from __future__ import annotations

from ..builder import Module, Number, Val
from .panel import Kernel, Panel, substitute


def eliminate(module: Module, symbol: str, elem: str) -> None:
    """Arguments: matrices (m, n), panels for their factors, row swaps from 1 (i32), the first zero
    pivot from 1 or 0 (i32), a flag that is set where there is one; m, n, a panel's stride."""
    k = Kernel(module, symbol, elem, 5, 3)
    f, (a, panels, pivots, info, bad), (m, n, stride) = k.f, k.pointers, k.sizes
    steps = f.imin(m, n)

    def matrix(unit: Val) -> None:
        w = Panel(k, f.at(panels, unit * m * stride, elem), m, n, stride)
        w.read(f.at(a, unit * m * n, elem))
        swaps = f.at(pivots, unit * steps, "i32")

        def column(j: Val, failed: Val) -> Val:
            best = _pivot(w, j)
            f.store(f.conv("trunc", best + 1, "i32"), f.at(swaps, j, "i32"))
            f.if_(f.cmp("ne", best, j), lambda: w.swap(j, best))
            pivot = w.number(j, j)
            zero = f.cmp("oeq", pivot, 0.0)
            divisor = f.sel(zero, 1.0, pivot)
            first = w.first_column(j + 1)
            right = f.cmp("sgt", f.iota("i64", k.lanes), f.splat(j - first, k.lanes))

            def row(i: Val) -> None:
                factor = w.number(i, j) / divisor
                w.put(factor, i, j)
                # columns up to j hold factors by now
                f.if_(f.cmp("slt", first, stride), lambda: w.take_off(
                    i, first, factor, [f.sel(right, w.vector(j, first), 0.0)]))
                w.vectors(first + k.lanes,
                          lambda c: w.take_off(i, c, factor, [w.vector(j, c)]))
            f.loop(j + 1, m, 1, row)
            here = f.sel(zero, j + 1, 0)
            return f.sel(f.cmp("eq", failed, 0), here, failed)
        failed, = f.loop(0, steps, 1, column, [f.as_val(0, "i64")])
        f.store(f.conv("trunc", failed, "i32"), f.at(info, unit, "i32"))
        f.if_(f.cmp("ne", failed, 0), lambda: f.store(f.as_val(1, "i64"), bad))
    k.each_matrix(matrix)


def _pivot(w: Panel, j: Val) -> Val:
    """The row of the first of the largest numbers in column j, from row j on."""
    f = w.f

    def larger(i: Val, most: Val, place: Val) -> list[Val]:
        size = f.fabs(w.number(i, j))
        more = f.cmp("ogt", size, most)
        return [f.sel(more, size, most), f.sel(more, i, place)]
    return f.loop(j + 1, w.rows, 1, larger, [f.fabs(w.number(j, j)), j])[1]


def unpack(module: Module, symbol: str, elem: str) -> None:
    """Arguments: panels, matrices (m, n) that become what these hold; m, n, a panel's stride."""
    k = Kernel(module, symbol, elem, 2, 3)
    (panels, out), (m, n, stride) = k.pointers, k.sizes
    k.each_matrix(lambda unit: Panel(
        k, k.f.at(panels, unit * m * stride, elem), m, n, stride).write(
            k.f.at(out, unit * m * n, elem)))


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
    f, (panels, pivots, out), (n, stride) = k.f, k.pointers, k.sizes

    def matrix(unit: Val) -> None:
        lu = Panel(k, f.at(panels, unit * n * stride, elem), n, n, stride)
        swaps = f.at(pivots, unit * n, "i32")

        def factor(i: Val, product: Val) -> Val:
            other = f.conv("sext", f.load("i32", f.at(swaps, i, "i32")), "i64") - 1
            x = lu.number(i, i)
            return product * f.sel(f.cmp("ne", other, i), f.neg(x), x)
        product, = f.loop(0, n, 1, factor, [f.as_val(1.0, elem)])
        f.store(product, f.at(out, unit, elem))
    k.each_matrix(matrix)


def cholesky(module: Module, symbol: str, elem: str) -> None:
    """Arguments: matrices (n, n), of which the mean with their transposes is meant; panels; lower
    factors (n, n); a flag that is set where a matrix is not positive definite; n, a panel's
    stride."""
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

        def row(j: Val) -> None:
            square = w.number(j, j)
            f.if_(f.cmp("ule", square, 0.0), lambda: f.store(f.as_val(1, "i64"), bad))
            root = f.sqrt(square)
            each = f.splat(root, k.lanes)
            w.vectors(w.first_column(j), lambda c: f.store(w.vector(j, c) / each, w.at(j, c)))
            w.put(root, j, j)

            def below(i: Val) -> None:
                factor = w.number(j, i)
                w.vectors(w.first_column(i),
                          lambda c: w.take_off(i, c, factor, [w.vector(j, c)]))
            f.loop(j + 1, n, 1, below)
        f.loop(0, n, 1, row)
        _write_transposed(w, result)
    k.each_matrix(matrix)


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
