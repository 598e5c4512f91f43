"""What ops on matrices are in ONNX: elimination with row exchanges and Cholesky's factors, a few
nodes for each row. What eager mode raises an error for, a singular matrix, gives infinities or NaN.
`b` writes nodes (`onnx/write/builder.py`)."""

import numpy as np

from .shapes import END

MOST_ROWS = 64  # a file of more steps takes longer to load than to run


def _prepared(b, a):
    """(the matrices in a type that is computed with, how many rows they have)"""
    (n,) = b.static(a.shape[-1])
    if n > MOST_ROWS:
        b.refuse(f"matrices of more than {MOST_ROWS} rows")
    return b.cast(a, "f64" if b.result_type(0) == "f64" else "f32"), n


def _symmetric(b, a):
    """The mean of a matrix and its transpose."""
    order = list(range(a.ndim))
    order[-2:] = order[:-3:-1]
    wide, n = _prepared(b, a)
    return b.Mul(b.Add(wide, b.Transpose(wide, perm=order)), 0.5), n


class Elimination:
    """Rows (..., n, m) after Gauss and Jordan's steps: the first n columns are the identity.
    `pivots` were divided by, `exchanges` tell of each step whether rows changed places."""

    def __init__(self, b, rows, n):
        self.b, self.rows, self.pivots, self.exchanges = b, rows, [], []
        self.numbers = b.constant(np.arange(n).reshape(n, 1), "rows")
        for k in range(n):
            self.step(k)

    def step(self, k):
        """Divide by the largest element of a column, and take its row off the others."""
        b, rows, at = self.b, self.rows, b_number(self.b, k)
        column = b.slice(rows, -1, k, k + 1)
        sizes = b.Where(b.Less(self.numbers, at), b.number(-1, rows.dtype), b.Abs(column))
        place = b.node("ArgMax", sizes, axis=-2, keepdims=1)
        mine = b.slice(rows, -2, k, k + 1)
        best = b.GatherElements(rows, b.Expand(place, b.Shape(mine)), axis=-2)
        here = b.Equal(self.numbers, at)
        rows = b.Where(here, best, b.Where(b.Equal(self.numbers, place), mine, rows))
        pivot = b.slice(best, -1, k, k + 1)
        row = b.Div(best, pivot)
        factor = b.Where(here, b.number(0, rows.dtype), b.slice(rows, -1, k, k + 1))
        self.rows = b.Where(here, row, b.Sub(rows, b.Mul(factor, row)))
        self.pivots.append(pivot)
        self.exchanges.append(b.Not(b.Equal(place, at)))

    def sign(self):
        """(..., 1, 1): that of the determinant."""
        b, made = self.b, None
        for pivot, exchange in zip(self.pivots, self.exchanges):
            sign = b.Sign(pivot)
            sign = b.Where(exchange, b.Neg(sign), sign)
            made = sign if made is None else b.Mul(made, sign)
        return made


def b_number(b, k):
    """The number of a row."""
    return b.number(k, "i64")


def inverse(b, a):
    """The op `inv`."""
    wide, n = _prepared(b, a)
    if not n:
        return wide
    eye = b.constant(np.eye(n, dtype=np.float64 if wide.dtype == "f64" else np.float32), "identity")
    rows = b.Concat(wide, b.Expand(eye, b.ints(a.shape)), axis=-1)
    return b.cast(b.slice(Elimination(b, rows, n).rows, -1, n, END), b.result_type(0))


def solution(b, a, right):
    """The op `solve`."""
    wide, n = _prepared(b, a)
    if not n:
        b.refuse("matrices without rows")
    vector = right.ndim == 1
    right = b.cast(b.unsqueeze(right, (1,)) if vector else right, wide.dtype)
    shape = (*b.results[0].shape, 1) if vector else b.results[0].shape
    left = b.Expand(wide, b.ints((*shape[:-1], n)))
    rows = b.Concat(left, b.Expand(right, b.ints(shape)), axis=-1)
    made = b.cast(b.slice(Elimination(b, rows, n).rows, -1, n, END), b.result_type(0))
    return b.squeeze(made, (len(shape) - 1,)) if vector else made


def triangular_solution(b, a, right, *, upper, unit):
    """The op `solve_triangular`: the other triangle is zero, and so eliminated at once."""
    if unit:
        ones = b.constant(np.eye(a.shape[-1], dtype=bool), "diagonal")
        triangle = b.Where(ones, b.number(1, a.dtype), a)
    else:
        triangle = a
    triangle = b.node("Trilu", triangle, upper=int(upper))
    triangle.shape = a.shape
    return solution(b, triangle, right)


def determinant(b, a):
    """The op `det`."""
    if a.dtype == b.result_type(0) and b.runs("Det", a.dtype):
        return b.Det(a)
    sign, log = sign_and_logarithm(b, a)
    return b.Mul(sign, b.Exp(log))


def sign_and_logarithm(b, a):
    """The op `slogdet`."""
    wide, n = _prepared(b, a)
    if not n:
        b.refuse("matrices without rows")
    steps, total = Elimination(b, wide, n), None
    for pivot in steps.pivots:
        size = b.Log(b.Abs(pivot))
        total = size if total is None else b.Add(total, size)
    ends = (a.ndim - 2, a.ndim - 1)
    return tuple(b.cast(b.squeeze(x, ends), b.result_type(0)) for x in (steps.sign(), total))


def cholesky(b, a):
    """The op `cholesky`: column by column, each one's products taken off what is left."""
    rest, n = _symmetric(b, a)
    numbers, columns = b.constant(np.arange(n).reshape(n, 1), "rows"), []
    order = list(range(a.ndim))
    order[-2:] = order[:-3:-1]
    for k in range(n):
        column = b.slice(rest, -1, k, k + 1)
        column = b.Div(column, b.Sqrt(b.slice(column, -2, k, k + 1)))
        above = b.Less(numbers, b_number(b, k))
        columns.append(b.Where(above, b.number(0, rest.dtype), column))
        rest = b.Sub(rest, b.MatMul(columns[-1], b.Transpose(columns[-1], perm=order)))
    if not columns:
        return rest
    made = b.Concat(*columns, axis=-1) if len(columns) > 1 else columns[0]
    return b.cast(made, b.result_type(0))
