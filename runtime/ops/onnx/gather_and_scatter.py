"""What gathers and scatters are in ONNX: the `onnx` of ops in gather.py, advanced_indexing.py,
scatter.py, masks.py, nonzero.py, search.py and convert.py. `b` writes nodes
(`onnx/write/builder.py`)."""

import numpy as np

from ...dtypes import BOOL, FLOAT, SHORT

ADD = {"reduction": "add"}


def gathered(b, x, index, dim):
    """The op `gather`."""
    if not x.ndim:
        return b.Expand(x, b.shape_of(index)) if index.ndim else x
    for d, (have, want) in enumerate(zip(x.shape, index.shape)):
        if d != dim and have != want:
            x = b.slice(x, d, 0, want)
    return b.GatherElements(x, index, axis=dim)


def selected(b, x, index, dim):
    """The op `index_select`."""
    if not x.ndim:
        return x
    return b.Gather(x, b.unsqueeze(index, (0,)) if not index.ndim else index, axis=dim)


def _order(dims, ndim, depth):
    """(the dimensions with the indexed ones in front, the way back for what has `depth` dimensions
    in their place)"""
    rest = [d for d in range(ndim) if d not in dims]
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    front = dims[0] if adjacent else 0
    back = [*range(depth, depth + front), *range(depth), *range(depth + front, depth + len(rest))]
    return [*dims, *rest], back


def _transposed(b, x, order):
    return x if list(order) == list(range(len(order))) else b.Transpose(x, perm=list(order))


def _inverse(order):
    return [list(order).index(i) for i in range(len(order))]


def _together(b, index):
    """Index tensors of one shape as one, of rows of places."""
    columns = [b.unsqueeze(b.cast(i, "i64"), (i.ndim,)) for i in index]
    return b.Concat(*columns, axis=index[0].ndim) if len(columns) > 1 else columns[0]


def at_index(b, x, *index, dims):
    """The op `index`."""
    if len(dims) == 1:
        return b.Gather(x, index[0], axis=dims[0])
    order, back = _order(dims, x.ndim, index[0].ndim)
    return _transposed(b, b.GatherND(_transposed(b, x, order), _together(b, index)), back)


def put_at_index(b, x, values, *index, dims, accumulate):
    """The op `index_put`."""
    depth = index[0].ndim
    order, back = _order(dims, x.ndim, depth)
    moved = _transposed(b, x, order)
    rest = [x.shape[d] for d in order[len(dims) :]]
    front = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    shape = (*rest[:front], *index[0].shape, *rest[front:])
    values = b.Expand(values, b.ints(shape)) if values.shape != shape else values
    updates = _transposed(b, values, _inverse(back))
    made = b.ScatterND(moved, _together(b, index), updates, **ADD if accumulate else {})
    return _transposed(b, made, _inverse(order))


def summed_at_index(b, g, *index, size, dims):
    """The op `index_sum`."""
    zero = b.filled(b.ints(size), np.zeros((), SHORT[g.dtype].np))
    zero.shape = tuple(size)
    return put_at_index(b, zero, g, *index, dims=dims, accumulate=True)


def _fitted(b, x, src, index):
    """(the operand, the source cut to the index, the index), with a dimension at least."""
    if not index.ndim:
        index = b.unsqueeze(index, (0,))
        index.shape = (1,)
    if not src.ndim:
        src = b.Expand(src, b.shape_of(index))
    else:
        for d, (have, want) in enumerate(zip(src.shape, index.shape)):
            if have != want:
                src = b.slice(src, d, 0, want)
    return (x if x.ndim else b.unsqueeze(x, (0,))), src, index


def scattered(b, x, src, index, dim, **how):
    """The ops `scatter` and (with `reduction`) `scatter_add`."""
    base, src, index = _fitted(b, x, src, index)
    made = b.ScatterElements(base, index, src, axis=dim, **how)
    return made if x.ndim else b.squeeze(made, (0,))


def scatter_added(b, x, src, index, dim):
    """The op `scatter_add`."""
    return scattered(b, x, src, index, dim, **ADD)


def _start(reduce, dtype):
    """What a place holds before anything is combined into it."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if SHORT[dtype].category == FLOAT:
        return -np.inf if reduce == "amax" else np.inf
    if SHORT[dtype].category == BOOL:
        return reduce == "amin"
    info = np.iinfo(SHORT[dtype].np)
    return info.min if reduce == "amax" else info.max


def scatter_reduced(b, x, src, index, dim, reduce, include_self):
    """The op `scatter_reduce`."""
    if b.opset < 18 and reduce in ("amax", "amin"):
        b.refuse("a scatter of extrema needs opset 18")
    base, src, index = _fitted(b, x, src, index)
    if not include_self:
        start = b.Expand(b.number(_start(reduce, x.dtype), x.dtype), b.Shape(index))
        base = b.ScatterElements(base, index, start, axis=dim)
    kind = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}[reduce]
    made = b.ScatterElements(base, index, src, axis=dim, reduction=kind)
    if reduce == "mean":
        one = b.Expand(b.number(1, x.dtype), b.Shape(index))
        count = b.Sub(base, base) if include_self else None
        ones = b.filled(b.Shape(base), np.asarray(int(include_self), SHORT[x.dtype].np))
        count = b.Max(b.ScatterElements(ones, index, one, axis=dim, **ADD), 1)
        made = b.floor_divide(made, count)
    return made if x.ndim else b.squeeze(made, (0,))


def _slices(b, x, source, index, dim):
    """An index of slices as one of elements."""
    ndim = max(x.ndim, 1)
    kept = [1] * ndim
    kept[dim] = -1
    index = b.Reshape(index, b.ints(kept))
    shape = source.shape if source.ndim else (1,) * ndim
    wide = b.Expand(index, b.ints(shape))
    wide.shape = tuple(shape)
    return wide


def slices_added(b, x, source, index, dim):
    """The op `index_add`."""
    return scattered(b, x, source, _slices(b, x, source, index, dim), dim, **ADD)


def equal_sums(b, values, pointers, come, dense, each, ones):
    """The op `sparse_equal_sums`: the entries of a row follow each other."""
    rows = b.Gather(dense, come, axis=0)
    if not ones:
        rows = b.Mul(rows, b.unsqueeze(values, (1,)))
    rows = b.Reshape(rows, b.ints((pointers.shape[0] - 1, each, dense.shape[1])))
    return b.ReduceSum(rows, b.ints((1,)), keepdims=0)


def pointed_sums(b, values, pointers, come, dense):
    """The op `sparse_pointed_sums`: an entry's row is how many rows have ended before it."""
    (count,), (rows,) = values.shape, pointers.shape
    ends = b.unsqueeze(b.slice(pointers, 0, 1, rows), (1,))
    ended = b.cast(b.LessOrEqual(ends, b.range_of(count)), "i64")
    row = b.ReduceSum(ended, b.ints((0,)), keepdims=0)
    terms = b.Mul(b.Gather(dense, come, axis=0), b.unsqueeze(values, (1,)))
    zero = b.filled(b.ints((rows - 1, dense.shape[1])), np.zeros((), SHORT[values.dtype].np))
    return b.ScatterND(zero, b.unsqueeze(row, (1,)), terms, **ADD)


def slices_copied(b, x, source, index, dim):
    """The op `index_copy`."""
    return scattered(b, x, source, _slices(b, x, source, index, dim), dim)


def slices_filled(b, x, value, index, dim):
    """The op `index_fill`."""
    shape = list(x.shape) or [1]
    shape[dim] = index.shape[0] if index.ndim else 1
    source = b.Expand(value, b.ints(shape))
    source.shape = tuple(shape)
    return scattered(b, x, source, _slices(b, x, source, index, dim), dim)


def slices_reduced(b, x, source, index, dim, reduce, include_self):
    """The op `index_reduce`."""
    return scatter_reduced(
        b, x, source, _slices(b, x, source, index, dim), dim, reduce, include_self
    )


def filled_everywhere(b, x, value):
    """The op `fill`."""
    return b.Expand(b.cast(value, x.dtype), b.shape_of(x)) if x.ndim else b.cast(value, x.dtype)


def copied_into(b, x, source):
    """The op `copy`."""
    return (
        b.Expand(b.cast(source, x.dtype), b.shape_of(x))
        if x.shape != source.shape
        else b.cast(source, x.dtype)
    )


def copied_into_complex(b, x, source):
    """The op `copy` where one of the two is complex."""
    source = b.cast(source, x.dtype)
    if x.dtype[0] != "c":
        return copied_into(b, x, source)
    return b.of_each_part(lambda to, part: copied_into(b, to, part), x, source)


def masked_scattered(b, x, source, mask):
    """The op `masked_scatter`: each place takes the element whose number is its rank."""
    wide = b.Expand(mask, b.shape_of(x))
    rank = b.Sub(b.CumSum(b.cast(b.flat(wide), "i64"), b.number(0, "i64")), 1)
    picked = b.Gather(b.flat(source), b.Max(rank, 0), axis=0)
    return b.where(wide, b.reshape(picked, x.shape), x)


def places_of_true(b, x):
    """The op `nonzero`."""
    wide = b.Not(b.Equal(x, 0)) if x.dtype != "bool" else x
    if not x.ndim:
        return b.slice(b.Transpose(b.NonZero(b.unsqueeze(wide, (0,))), perm=[1, 0]), 1, 0, 0)
    return b.Transpose(b.NonZero(wide), perm=[1, 0])


def first_places_of_true(b, x, size, fill_value):
    """The op `nonzero_static`: so many rows more are put behind, and so many kept."""
    found = places_of_true(b, x)
    more = b.filled(b.ints((size, x.ndim)), np.asarray(fill_value, np.int64))
    return b.slice(b.Concat(found, more, axis=0), 0, 0, size)


def first_of_masked(b, x, mask, size):
    """The op `masked_first`."""
    found = b.Compress(b.flat(x), b.flat(b.Expand(mask, b.shape_of(x))), axis=0)
    more = b.filled(b.ints((size,)), np.zeros((), SHORT[x.dtype].np))
    return b.slice(b.Concat(found, more, axis=0), 0, 0, size)


def distinct(b, x, inverse, counts, dim, consecutive):
    """The op `unique`: the operator `Unique`."""
    if consecutive:
        b.refuse("unique of consecutive elements")
    at = {} if dim is None else {"axis": dim}
    values, _, back, number = b.Unique(x, sorted=1, **at, outputs=4)
    return values, b.reshape(back, x.shape) if dim is None else back, number


def counts(b, x, weights=None, *, minlength):
    """The op `bincount`."""
    place = b.cast(b.flat(x), "i64")
    last = b.ReduceMax(
        b.Concat(place, b.ints((minlength - 1,)), axis=0),
        *[b.ints((0,))] * (b.opset >= 18),
        keepdims=1,
    )
    size = b.Add(last, 1)
    if weights is None:
        zero, one = (
            b.filled(size, np.zeros((), np.int64)),
            b.Expand(b.number(1, "i64"), b.Shape(place)),
        )
        return b.ScatterElements(zero, place, one, axis=0, **ADD)
    wide = b.cast(weights, b.result_type(0))
    return b.ScatterElements(
        b.filled(size, np.zeros((), SHORT[wide.dtype].np)), place, b.flat(wide), axis=0, **ADD
    )


def contained(b, x, tests, invert):
    """The op `isin`."""
    depth = x.ndim
    same = b.Equal(b.unsqueeze(x, (depth,)), b.flat(tests))
    found = b.cast(b.ReduceSum(b.cast(same, "i32"), b.ints((depth,)), keepdims=0), "bool")
    return b.Not(found) if invert else found


def searched(b, sequence, values, sorter=None, *, right, out_int32):
    """The op `searchsorted`: how many of the sequence are less (or not greater)."""
    if sorter is not None:
        b.refuse("a sequence with a sorter")
    depth = values.ndim
    row = sequence if sequence.ndim == 1 else b.unsqueeze(sequence, (sequence.ndim - 1,))
    wide = b.unsqueeze(values, (depth,))
    if row.dtype != wide.dtype:
        row, wide = b.cast(row, "f64"), b.cast(wide, "f64")
    before = b.LessOrEqual(row, wide) if right else b.Less(row, wide)
    count = b.ReduceSum(b.cast(before, "i64"), b.ints((depth,)), keepdims=0)
    return b.cast(count, "i32") if out_int32 else count
