"""The row programs of the ops that reduce rows: softmax, log_softmax, logsumexp, norms and moments,
forward and backward.

Each function here returns the program for an element type; float16 and bfloat16 are computed in
float32, the accumulation type. A docstring lists the operands and, behind the arrow, the outputs in
the order in which they are stored: tensors of the shape of the input unless marked (row), one value
a row, or (col), one value a column. `eps` and `n`, the length of a row, are numbers.
"""
from __future__ import annotations

import functools
from collections.abc import Callable

from . import rows as R
from . import scalar as sc


class Writer:
    """Builds a program: operands first, then stages. Each method returns the expression by which
    later stages refer to the operand or to the stage's result."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype, self.acc = name, dtype, "f32" if dtype in ("f16", "bf16") else dtype
        self.operands: list[R.Operand] = []
        self.stages: list[R.Stage] = []
        self.next = 0

    def _arg(self) -> sc.Expr:
        self.next += 1
        return sc.arg(self.next - 1)

    def operand(self, extent: R.Extent, dtype: str | None = None) -> sc.Expr:
        """Add an operand of `dtype`, by default the program's. Returns its element in the
        accumulation type."""
        dtype = dtype or self.dtype
        self.operands.append(R.Operand(dtype, extent))
        x = self._arg()
        return sc.cast(x, self.acc) if dtype in ("f16", "bf16") else x

    # an operand with a value for each element, each row, each column, or one value
    def full(self) -> sc.Expr: return self.operand(R.Extent.FULL)
    def row(self) -> sc.Expr: return self.operand(R.Extent.ROW, self.acc)
    def col(self) -> sc.Expr: return self.operand(R.Extent.COLUMN)
    def number(self) -> sc.Expr: return self.operand(R.Extent.SCALAR, self.acc)

    def reduce(self, kind: str, e: sc.Expr) -> sc.Expr:
        """Reduce an expression over each row by "sum", "max" and so on."""
        self.stages.append(R.Reduce(kind, e))
        return self._arg()

    def keep(self, e: sc.Expr) -> sc.Expr:
        """Compute an expression once, for several later stages."""
        self.stages.append(R.Keep(e))
        return self._arg()

    def store(self, e: sc.Expr) -> None:
        """A full output, in the operands' type."""
        self.stages.append(R.Store(self._out(e)))

    def store_row(self, e: sc.Expr, dtype: str | None = None) -> None:
        """A row output; in the accumulation type by default, since the backward reads most of
        them."""
        self.stages.append(R.StoreRow(self._out(e) if dtype else e))

    def _out(self, e: sc.Expr) -> sc.Expr:
        return e if self.dtype == self.acc else sc.cast(e, self.dtype)

    def program(self) -> R.Program:
        return R.Program(self.name, tuple(self.operands), tuple(self.stages))


def program(write: Callable[..., None]) -> Callable[..., R.Program]:
    """Turns `write(w, **choices)`, which builds a program, into a cached function of (dtype,
    **choices) that returns the program."""
    @functools.lru_cache(None)
    @functools.wraps(write)
    def make(dtype: str, **choices: bool) -> R.Program:
        w = Writer(write.__name__, dtype)
        write(w, **choices)
        return w.program()
    return make


# ---- softmax, logsumexp --------------------------------------------------------------------------
@program
def softmax(w: Writer) -> None:
    """x -> softmax(x)"""
    x = w.full()
    e = w.keep(sc.exp(x - w.reduce("max", x)))
    w.store(e / w.reduce("sum", e))


@program
def softmax_backward(w: Writer) -> None:
    """g, y -> the gradient of x, y being softmax(x)"""
    g, y = w.full(), w.full()
    w.store(y * (g - w.reduce("sum", g * y)))


@program
def log_softmax(w: Writer) -> None:
    """x -> log_softmax(x)"""
    x = w.full()
    m = w.reduce("max", x)
    s = w.reduce("sum", sc.exp(x - m))
    w.store(x - m - sc.log(s))


@program
def log_softmax_backward(w: Writer) -> None:
    """g, y -> the gradient of x, y being log_softmax(x)"""
    g, y = w.full(), w.full()
    w.store(g - sc.exp(y) * w.reduce("sum", g))


@program
def logsumexp(w: Writer) -> None:
    """x -> row: log(sum(exp(x))); infinite where the greatest element is"""
    x = w.full()
    m = w.reduce("max", x)
    m = sc.where(sc.isinf(m), 0, m)
    w.store_row(m + sc.log(w.reduce("sum", sc.exp(x - m))), w.dtype)


@program
def logsumexp_backward(w: Writer) -> None:
    """g (row), x, y (row) -> the gradient of x, y being logsumexp(x)"""
    g, x, y = w.operand(R.Extent.ROW), w.full(), w.operand(R.Extent.ROW)
    w.store(g * sc.exp(x - y))


# ---- norms and moments ---------------------------------------------------------------------------
@program
def layer_norm(w: Writer, weight: bool = True, bias: bool = True) -> None:
    """x, [weight (col)], [bias (col)], eps, n -> (x - mean) / sqrt(var + eps) * weight + bias, row:
    mean, row: 1 / sqrt(var + eps)"""
    x = w.full()
    scale, shift = w.col() if weight else None, w.col() if bias else None
    eps, n = w.number(), w.number()
    mean = w.reduce("sum", x) / n
    d = x - mean
    r = 1 / sc.sqrt(w.reduce("sum", d * d) / n + eps)
    y = d * r
    y = y if scale is None else y * scale
    w.store(y if shift is None else y + shift)
    w.store_row(mean)
    w.store_row(r)


@program
def layer_norm_backward(w: Writer, weight: bool = True) -> None:
    """g, x, mean (row), r (row), [weight (col)], n -> the gradient of x"""
    g, x, mean, r = w.full(), w.full(), w.row(), w.row()
    g = g * w.col() if weight else g
    n = w.number()
    h = (x - mean) * r
    a, b = w.reduce("sum", g) / n, w.reduce("sum", g * h) / n
    w.store((g - a - h * b) * r)


@program
def layer_norm_backward_weight(w: Writer) -> None:
    """Along the rows' own axis. g, x, mean (col), r (col) -> row: the gradient of weight, row:
    that of bias"""
    g, x, mean, r = (w.full(), w.full(), w.operand(R.Extent.COLUMN, w.acc),
                     w.operand(R.Extent.COLUMN, w.acc))
    w.store_row(w.reduce("sum", g * ((x - mean) * r)), w.dtype)
    w.store_row(w.reduce("sum", g), w.dtype)


@program
def rms_norm(w: Writer, weight: bool = True) -> None:
    """x, [weight (col)], eps, n -> x / sqrt(mean(x * x) + eps) * weight, row: 1 / sqrt(mean(x *
    x) + eps)"""
    x = w.full()
    scale = w.col() if weight else None
    eps, n = w.number(), w.number()
    r = 1 / sc.sqrt(w.reduce("sum", x * x) / n + eps)
    w.store(x * r if scale is None else x * r * scale)
    w.store_row(r)


@program
def rms_norm_backward(w: Writer, weight: bool = True) -> None:
    """g, x, r (row), [weight (col)], n -> the gradient of x"""
    g, x, r = w.full(), w.full(), w.row()
    g = g * w.col() if weight else g
    n = w.number()
    h = x * r
    w.store((g - h * (w.reduce("sum", g * h) / n)) * r)


@program
def var_mean(w: Writer, root: bool = False) -> None:
    """x, n, freedom (n less the correction, at least 0) -> row: the variance (or its root), row:
    the mean"""
    x, n, freedom = w.full(), w.number(), w.number()
    mean = w.reduce("sum", x) / n
    d = x - mean
    v = w.reduce("sum", d * d) / freedom
    w.store_row(sc.sqrt(v) if root else v, w.dtype)
    w.store_row(mean, w.dtype)


# ---- batch norm: a row is a channel --------------------------------------------------------------
@program
def batch_norm(w: Writer) -> None:
    """x, weight (row), bias (row), eps, n -> (x - mean) * r * weight + bias; rows: mean, r = 1 /
    sqrt(var + eps), var"""
    x, scale, shift = w.full(), w.row(), w.row()
    eps, n = w.number(), w.number()
    mean = w.reduce("sum", x) / n
    d = x - mean
    v = w.reduce("sum", d * d) / n
    r = 1 / sc.sqrt(v + eps)
    w.store(d * r * scale + shift)
    w.store_row(mean)
    w.store_row(r)
    w.store_row(v)


@program
def batch_norm_backward(w: Writer) -> None:
    """g, x, mean (row), r (row), weight (row), n -> the gradient of x; rows: that of weight,
    that of bias"""
    g, x, mean, r, scale, n = w.full(), w.full(), w.row(), w.row(), w.row(), w.number()
    h = (x - mean) * r
    a, b = w.reduce("sum", g), w.reduce("sum", g * h)
    w.store((g - a / n - h * (b / n)) * (r * scale))
    w.store_row(b)
    w.store_row(a)


@program
def normalize(w: Writer) -> None:
    """x, mean (row), r (row), weight (row), bias (row) -> (x - mean) * r * weight + bias: batch
    norm along everything but channels"""
    x, mean, r, scale, shift = w.full(), w.row(), w.row(), w.row(), w.row()
    w.store((x - mean) * r * scale + shift)
