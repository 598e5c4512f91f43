"""What sparse matrices need, of entries each of which is a value at a row and a column: sums of
rows of a dense matrix, and dots of rows of two. Each is the gradient of the other.
"""
import numpy as np

from ..cpu import sparse
from ..ir.outline import Outline
from .batching import all_batched
from .gather import longs
from .onnx import gather_and_scatter as in_onnx
from .registry import Op, apply
from .sample_inputs import Sample
from .surface import FUNCTIONS as F


def _sums_vjp(g, _y, values, to, come, dense, rows, in_order, needs):
    return [
        apply(row_dots_op, (to, come, g, dense), {}) if needs[0] else None, None, None,
        apply(row_sums_op, (values, come, to, g), {"rows": dense.shape[0], "in_order": False})
        if needs[3] else None]


def _pointed_vjp(g, _y, values, pointers, come, dense, needs):
    return _sums_gradients(g, rows_of(pointers, values.shape[0]), values, come, dense, needs)


def _equal_vjp(g, _y, values, _pointers, come, dense, each, ones, needs):
    # Where rows begin follows from their length: to keep it would make it a result.
    to = F["floor_divide"](F["arange"](come.shape[0], device=come.device), each)
    return _sums_gradients(g, to, values, come, dense, needs)


def _sums_gradients(g, to, values, come, dense, needs):
    return [row_dots(to, come, g, dense) if needs[0] else None, None, None,
            row_sums(values, come, to, g, dense.shape[0]) if needs[3] else None]


def _dots_vjp(g, _y, of_x, of_y, x, y, needs):
    return [
        None, None,
        apply(row_sums_op, (g, of_x, of_y, y), {"rows": x.shape[0], "in_order": False})
        if needs[2] else None,
        apply(row_sums_op, (g, of_y, of_x, x), {"rows": y.shape[0], "in_order": False})
        if needs[3] else None]


def _sums_samples(make):
    yield Sample(make(5), longs([0, 0, 1, 3, 3]), longs([1, 0, 1, 0, 1]), make(2, 3), rows=4,
                 in_order=True)
    yield Sample(make(4), longs([2, 0, 2, 1]), longs([0, 3, 1, 1]), make(4, 17), rows=3,
                 in_order=False)
    yield Sample(make(0), longs([]), longs([]), make(2, 3), rows=2, in_order=True)


def _pointed_samples(make):
    yield Sample(make(5), longs([0, 2, 3, 3, 5]), longs([1, 0, 1, 0, 1]), make(2, 3))
    yield Sample(make(4), longs([0, 4]), longs([0, 3, 1, 1]), make(4, 17))
    yield Sample(make(0), longs([0, 0, 0]), longs([]), make(2, 3))


def _equal_samples(make):
    yield Sample(make(4), longs([0, 2, 4]), longs([1, 0, 2, 1]), make(3, 5), each=2, ones=False)
    yield Sample(F["ones_like"](make(4, grad=False)), longs([0, 2, 4]), longs([1, 0, 2, 1]),
                 make(3, 5), each=2, ones=True)


def _dots_samples(make):
    yield Sample(longs([0, 0, 1, 3]), longs([1, 0, 1, 0]), make(4, 3), make(2, 3))
    yield Sample(longs([2, 0]), longs([0, 0]), make(3, 17), make(1, 17))


def _below_each_other(index, size):
    """The indices of all examples, whose rows (`size` each) lie below each other."""
    first = F["arange"](index.shape[0], device=index.device).unsqueeze(1) * size
    return (index + first).reshape(-1)


def _sums_each(op, n, inputs, batched, attrs):
    values, to, come, dense = all_batched(n, inputs, batched)
    rows, (height, width) = attrs["rows"], dense.shape[1:]
    sums = apply(op, (values.reshape(-1), _below_each_other(to, rows),
                      _below_each_other(come, height), dense.reshape(n * height, width)),
                 {**attrs, "rows": n * rows})
    return sums.reshape(n, rows, width)


def _pointed_each(op, n, inputs, batched, attrs):
    values, pointers, come, dense = all_batched(n, inputs, batched)
    to = _rows_of_each(rows_of_op, n, (pointers,), (True,), {"count": values.shape[1]})
    return _sums_each(row_sums_op, n, (values, to, come, dense), (True,) * 4,
                      {"rows": pointers.shape[1] - 1, "in_order": True})


def _equal_each(op, n, inputs, batched, attrs):
    return _pointed_each(op, n, inputs, batched, {})


def _dots_each(op, n, inputs, batched, attrs):
    of_x, of_y, x, y = all_batched(n, inputs, batched)
    dots = apply(op, (_below_each_other(of_x, x.shape[1]), _below_each_other(of_y, y.shape[1]),
                      x.reshape(-1, x.shape[2]), y.reshape(-1, y.shape[2])), attrs)
    return dots.reshape(n, of_x.shape[1])


def _rows_of_each(op, n, inputs, batched, attrs):
    pointers, count = inputs[0], attrs["count"]
    begins = _below_each_other(pointers[:, :-1], count)
    end = F["full"]((1,), n * count, dtype=begins.dtype, device=begins.device)
    rows = apply(op, (F["cat"]([begins, end]),), {"count": n * count}).reshape(n, count)
    height = pointers.shape[1] - 1
    return rows - F["arange"](n, device=rows.device).unsqueeze(1) * height


row_sums_op = Op("sparse_row_sums", sparse.row_sums, _sums_vjp, samples=_sums_samples,
                 batch=_sums_each)
pointed_sums_op = Op("sparse_pointed_sums", sparse.pointed_sums, _pointed_vjp,
                     samples=_pointed_samples, batch=_pointed_each, onnx=in_onnx.pointed_sums)
equal_sums_op = Op("sparse_equal_sums", sparse.equal_sums, _equal_vjp, samples=_equal_samples,
                   batch=_equal_each, onnx=in_onnx.equal_sums)
row_dots_op = Op("sparse_row_dots", sparse.dots, _dots_vjp, samples=_dots_samples, batch=_dots_each)
rows_of_op = Op("sparse_rows_of", sparse.rows_of, batch=_rows_of_each,
                samples=lambda make: [Sample(longs([0, 2, 2, 3]), count=3)])
for _o in (row_sums_op, pointed_sums_op, equal_sums_op, row_dots_op, rows_of_op):
    _o.launches = _o.any_sizes = True
rows_of_op.outlined = lambda pointers, count: Outline((count,), np.int64)
pointed_sums_op.outlined = equal_sums_op.outlined = lambda values, pointers, come, dense, **_: (
    Outline((pointers.shape[0] - 1, *dense.shape[1:]), values.dtype))
row_sums_op.size_attrs, rows_of_op.size_attrs = frozenset(("rows",)), frozenset(("count",))
equal_sums_op.size_attrs = frozenset(("each",))


def row_sums(values, to, come, dense, rows, in_order=False):
    """(rows, width): each entry's value times row `come` of `dense`, added to row `to`, in the
    order of the entries. `in_order`: `to` never goes down."""
    return apply(row_sums_op, (values, to, come, dense), {"rows": rows, "in_order": in_order})


def pointed_sums(values, pointers, come, dense):
    """`row_sums` of entries row by row, of where each row begins among them and the last ends."""
    return apply(pointed_sums_op, (values, pointers, come, dense), {})


def equal_sums(values, come, dense, each):
    """`pointed_sums` of rows of `each` entries. Where no values are given they are ones."""
    count, ones = come.shape[0], values is None
    pointers = F["arange"](count // each + 1, device=come.device) * each
    if ones:
        values = F["ones"](count, dtype=dense.dtype, device=dense.device)
    return apply(equal_sums_op, (values, pointers, come, dense), {"each": each, "ones": ones})


def row_dots(of_x, of_y, x, y):
    """For each entry the product of a row of x and a row of y."""
    return apply(row_dots_op, (of_x, of_y, x, y), {})


def rows_of(pointers, count):
    """The row of each of `count` entries, of where each row begins and the last ends."""
    return apply(rows_of_op, (pointers,), {"count": count})
