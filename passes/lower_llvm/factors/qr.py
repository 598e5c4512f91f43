"""A kernel for QR factors by Householder reflections: each reduces one column to its diagonal
element of R.

The order. Column by column: the numbers from the diagonal on are scaled by the power of two that
brings the largest to 1 .. 2, so that no square overflows or vanishes. The squares below the
diagonal are added down the rows, then that on it, each by a fused multiply-add. They give the
reflection's vector and its factor. What it takes off another column is a chain of fused
multiply-adds down the rows, from the number at the diagonal's row on, times the factor; each
element loses its multiple of that by a fused multiply-add. Q is the identity, off which the
reflections are taken from the last to the first in the same way.
"""
from __future__ import annotations

from ..builder import Module, Val
from ..vmath.core import MANTISSA, bits, floating
from .panel import Kernel, Panel

EXPONENT = {"float": 0xFF << MANTISSA["float"], "double": 0x7FF << MANTISSA["double"]}
SMALLEST = {"float": 2.0 ** -126, "double": 2.0 ** -1022}


def orthogonal(module: Module, symbol: str, elem: str) -> None:
    """Arguments: matrices (m, n), panels for them, the reflections' factors (min(m, n)), panels for
    Q, Q (m, q), R (r, n); m, n, q, r, the strides of both kinds of panels. Of q = 0 columns of Q
    nothing is read or written."""
    k = Kernel(module, symbol, elem, 6, 6)
    f, (a, panels, factors, q_panels, q_out, r_out) = k.f, k.pointers
    m, n, q, r, stride, q_stride = k.sizes
    steps = f.imin(m, n)

    def matrix(unit: Val) -> None:
        w = Panel(k, f.at(panels, unit * m * stride, elem), m, n, stride)
        w.read(f.at(a, unit * m * n, elem))
        own = f.at(factors, unit * steps, elem)
        f.loop(0, steps, 1, lambda j: f.store(_reflect(w, j), f.at(own, j, elem)))
        _write_upper(w, Panel(k, f.at(r_out, unit * r * n, elem), r, n, n))

        def write_q() -> None:
            x = Panel(k, f.at(q_panels, unit * m * q_stride, elem), m, q, q_stride)
            x.identity()

            def back(step: Val) -> None:
                j = steps - 1 - step
                factor = f.load(elem, f.at(own, j, elem))
                x.vectors(x.first_column(j), lambda c: _take_off(w, j, factor, x, c, None))
            f.loop(0, steps, 1, back)
            x.write(f.at(q_out, unit * m * q, elem))
        f.if_(f.cmp("sgt", q, 0), write_q)
    k.each_matrix(matrix)


def _reflect(w: Panel, j: Val) -> Val:
    """Bring column j to the diagonal, with all columns behind it; the reflection's factor. Its
    vector, whose first number is 1, is left below the diagonal."""
    f, k = w.f, w.k
    unit = _power_of_two_of_largest(w, j)
    scale = 1.0 / unit

    def square(i: Val, total: Val) -> list[Val]:
        x = w.number(i, j) * scale
        return [f.fma(x, x, total)]
    below, = f.loop(j + 1, w.rows, 1, square, [f.as_val(0.0, k.elem)])
    before = w.number(j, j)
    # What is on the diagonal is alpha, scaled, and becomes beta.
    alpha = before * scale
    beta = f.neg(f.copysign(f.sqrt(f.fma(alpha, alpha, below)), alpha))
    # Where all is zero below the diagonal nothing is reflected. Infinity makes alpha nan, and goes
    # the other way.
    is_done = f.cmp("oeq", below, 0.0) & f.cmp("ord", alpha, alpha)
    divisor = f.sel(is_done, 1.0, alpha - beta)
    factor = f.sel(is_done, 0.0, (beta - alpha) / f.sel(is_done, 1.0, beta))
    f.loop(j + 1, w.rows, 1, lambda i: w.put(
        f.sel(is_done, 0.0, w.number(i, j) * scale / divisor), i, j))
    w.put(f.sel(is_done, before, beta * unit), j, j)
    start = w.first_column(j)
    behind = f.cmp("sgt", f.iota("i64", k.lanes), f.splat(j - start, k.lanes))
    _take_off(w, j, factor, w, start, behind)
    w.vectors(start + k.lanes, lambda c: _take_off(w, j, factor, w, c, None))
    return factor


def _power_of_two_of_largest(w: Panel, j: Val) -> Val:
    """The power of two next below the largest number of column j from the diagonal on, or the
    smallest one there is."""
    f, elem = w.f, w.k.elem

    def larger(i: Val, most: Val) -> list[Val]:
        size = f.fabs(w.number(i, j))
        return [f.sel(f.cmp("ogt", size, most), size, most)]
    most, = f.loop(j, w.rows, 1, larger, [f.as_val(0.0, elem)])
    power = floating(f, f.binary("and", bits(f, most), EXPONENT[elem]))
    return f.sel(f.cmp("oeq", power, 0.0), SMALLEST[elem], power)


def _take_off(w: Panel, j: Val, factor: Val, x: Panel, c: Val, mask: Val | None) -> None:
    """Apply reflection j, whose vector is in w, to the vector of x from column c on: to its columns
    in `mask`, or to all."""
    f, lanes = x.f, x.k.lanes
    top = x.vector(j, c)
    total, = f.loop(j + 1, x.rows, 1, lambda i, total: [
        f.fma(f.splat(w.number(i, j), lanes), x.vector(i, c), total)], [top])
    less = total * f.splat(factor, lanes)
    if mask is not None:
        less = f.sel(mask, less, 0.0)
    f.store(top - less, x.at(j, c))
    f.loop(j + 1, x.rows, 1, lambda i: x.take_off(i, c, w.number(i, j), [less]))


def _write_upper(w: Panel, result: Panel) -> None:
    """The first rows of a panel from the diagonal on, with zeros before it."""
    f, lanes = w.f, w.k.lanes

    def row(i: Val) -> None:
        def some(c: Val) -> None:
            before = f.cmp("slt", f.iota("i64", lanes), f.splat(i - c, lanes))
            f.put(f.lanes_below(w.width - c, lanes),
                  (f.sel(before, 0.0, w.vector(i, c)), result.at(i, c)))
        w.vectors(0, some)
    f.loop(0, result.rows, 1, row)
