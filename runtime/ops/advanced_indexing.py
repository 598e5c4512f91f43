"""The ops behind advanced indexing: elements at index tensors, sums into places, values put into
places."""
import builtins
from functools import partial
from math import prod

import numpy as np

from .. import devices, dtypes
from ..cpu import gather as picks
from ..cpu import indexed, memory, recorded_call, taped_launches
from ..cpu.pointwise import Pointwise
from ..cpu.rows import contiguous
from ..dtypes import FLOAT
from ..ir.outline import Outline, broadcast_shapes, like_first, numeral
from ..tensor import wrap
from .batching import aligned, repeated
from .creation import empty_array, literal
from .from_data import scalar_tensor, tensor
from .indexed_elements import Named, Written, out_of_bounds
from .number_questions import all_below
from .onnx import gather_and_scatter as in_onnx
from .pointwise_family import inplace
from .registry import Op, about_numbers, apply
from .sample_inputs import Sample

# a table is copied with its dimensions in another order if what is gathered, so many times, is as
# large: places of single elements would take 8 bytes for each
WORTH_TURNING = 4


def in_bounds(index, n, dim, *, negative=True, error=IndexError):
    """An index array as non-negative int64 places of a dimension of size n; raises if one lies
    outside."""
    if devices.is_elsewhere(index):         # its kernel looks
        return index
    i = index if index.dtype == np.int64 else index.astype(np.int64)
    if not i.size:
        return i
    if all_below(i, n):
        return i
    low, high = int(i.min()), int(i.max())
    if high >= n or low < (-n if negative else 0):
        raise about_numbers(out_of_bounds(high, low, n, dim, negative, error))
    return np.where(i < 0, i + n, i)


# ---- gathering by index tensors ------------------------------------------------------------------
def _key(shape, index, dims):
    """NumPy's index for index arrays at some dimensions, checked."""
    key = [builtins.slice(None)] * (dims[-1] + 1)
    for i, d in zip(index, dims):
        key[d] = in_bounds(i, shape[d], d)
    return tuple(key)


def _gathered(a, *index, dims):
    if len(dims) == 1 and picks.fits(a, index[0]):
        i, d = index[0], dims[0]
        out, fine = picks.rows(a, i.reshape(-1), d, wrap=True)
        if fine:
            return out.reshape((*a.shape[:d], *i.shape, *a.shape[d + 1:]))
    if len(dims) > 1:
        out = _gathered_at_several(a, index, dims)
        if out is not None:
            return out
    key = _key(a.shape, index, dims)
    if len(dims) == 1:
        i, d = key[-1], dims[0]
        if not a.shape[d]:
            return np.empty((*a.shape[:d], *i.shape, *a.shape[d + 1:]), a.dtype)
        out = empty_array((*a.shape[:d], *i.shape, *a.shape[d + 1:]), a.dtype)
        return a.take(i, d, out=out, mode="clip")
    return np.ascontiguousarray(a[key])


def _gathered_at_several(a, index, dims):
    """What indices name in several dimensions, neighbours taken as one; None where the kernels do
    not do it, or an index is out of range."""
    d, end = dims[0], dims[-1] + 1
    if not a.size or not all(i.size and picks.fits(a, i) for i in index):
        return None
    shape = broadcast_shapes(*[i.shape for i in index])
    if end - d != len(dims):
        order = _in_front(dims, a.ndim)
        if prod(shape) * prod(a.shape[k] for k in order[len(dims):]) * WORTH_TURNING < a.size:
            at = indexed.of_several(a.shape, index, dims)
            return None if at is None else indexed.picked(a, at)
        a, d, end = contiguous(a.transpose(order)), 0, len(dims)
    at = _one_index(index, shape, a.shape[d:end])
    out, fine = picks.rows(a.reshape(*a.shape[:d], -1, *a.shape[end:]), at.reshape(-1), d)
    return out.reshape((*a.shape[:d], *shape, *a.shape[end:])) if fine else None


def _in_front(dims, ndim):
    """All dimensions, those of indices first: what is indexed is slices then."""
    return (*dims, *[d for d in range(ndim) if d not in dims])


def scatter_rows(out, places, rows):
    """out[places[k]] += rows[k], in the order of k; both are 2-d, `out` is row-major. Half types
    are summed in float32."""
    if not rows.size:
        return out
    if out.dtype.itemsize == 2 and dtypes.FROM_NUMPY[out.dtype].category == FLOAT:
        out[...] = scatter_rows(out.astype(np.float32), places,
                                rows.astype(np.float32)).astype(out.dtype)
        return out
    n = out.shape[1]
    if n != 1:
        places = (places[:, None] * n + np.arange(n)).reshape(-1)
    (np.logical_or if out.dtype == np.bool_ else np.add).at(out.reshape(-1), places,
                                                            rows.reshape(-1))
    return out


def add_at(out, index, values, dims):
    """out[index] += values, in index order, where `index` are arrays for the dimensions `dims`
    (int64, checked)."""
    rest = [d for d in range(out.ndim) if d not in dims]
    shape = np.broadcast_shapes(*[i.shape for i in index])
    place, n = np.zeros(shape, np.int64), 1
    for i, d in zip(reversed(index), reversed(dims)):
        place = place + i * n
        n *= out.shape[d]
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    at = dims[0] if adjacent else 0
    moved = np.moveaxis(values, range(at, at + len(shape)), range(len(shape)))
    inner = int(np.prod([out.shape[d] for d in rest], dtype=np.int64))
    rows = np.ascontiguousarray(moved).reshape(place.size, inner)
    order = (*dims, *rest)
    flat = np.ascontiguousarray(out.transpose(order)).reshape(n, inner)
    same = np.may_share_memory(flat, out)
    scatter_rows(flat, place.reshape(-1), rows)
    if not same:
        out.transpose(order)[...] = flat.reshape([out.shape[d] for d in order])
    return out


def put_slices(out, values, *index, dims, accumulate):
    """Write or add slices by an index of one dimension, or of several that lie as one, with a
    kernel."""
    d, end = dims[0], dims[0] + len(dims)
    shape = index[0].shape if len(dims) == 1 else broadcast_shapes(*[i.shape for i in index])
    if dims[-1] != end - 1:
        return False
    result = _result_shape(out.shape, shape, dims)
    if values.size == 1 and values.shape != result:
        values = np.broadcast_to(values.reshape(()), result)
    if values.shape != result:
        return False
    rest, wrap = (out.shape[:d], out.shape[end:]), len(dims) == 1 and index[0].flags.c_contiguous
    if wrap:
        at, = index
    elif (out.flags.c_contiguous and out.size and values.size
          and all(i.dtype == np.int64 for i in index)):
        at = _one_index(index, shape, out.shape[d:end])
        out = out.reshape(*rest[0], -1, *rest[1])
    else:
        return False
    if not at.flags.c_contiguous:
        return False
    values = picks.in_rows(values)
    return picks.put(
        out, at.reshape(-1), values.reshape(*rest[0], at.size, *rest[1]), d,
        "sum" if accumulate else "put", wrap=wrap)


def _put_without_numpy(out, values, *index, dims, accumulate):
    """Write or add values by indices of any dimensions, with a kernel; values broadcast to what
    they name."""
    if not indexed.suit(out, values, *index):
        return False
    if values.size != 1:
        shape = broadcast_shapes(*[i.shape for i in index])
        values = _fitted(values, _result_shape(out.shape, shape, dims))
    if not accumulate:
        return indexed.put_by(partial(indexed.of_several, dims=dims), out, values, index)
    at = indexed.of_several(out.shape, index, dims)
    if at is None:
        return False
    indexed.reduce(out, at, values, "sum")
    return True


def _one_index(index, shape, sizes):
    """Places along several dimensions taken as one; -1 where one of them has no such place."""
    k = len(index)
    if k not in _one_places:
        from ..ir import scalar as s
        xs = s.args(2 * k)
        _one_places[k] = Pointwise("one_place", (s.one_place(xs[:k], xs[k:]),), 2 * k)
    at = memory.empty(shape, np.dtype(np.int64))
    taped_launches.scratch(at, at.nbytes)
    known = [np.array([n], np.int64) if type(n) is int else numeral(n, np.int64) for n in sizes]
    _one_places[k]([*index, *known], [at])
    return at


_one_places: dict = {}


def _sum_by_launches(g, *index, size, dims):
    """The sums by launches alone: those of slices, or for few elements those of any places; None
    where these do not do it."""
    if not indexed.suit(g, *index) or 0 in size:
        return None
    if dims[-1] - dims[0] == len(dims) - 1 or g.size * WORTH_TURNING < prod(size):
        out = memory.empty(size, g.dtype)
        return out if _summed(out, g, *index, dims=dims) else None
    order = _in_front(dims, len(size))
    out = taped_launches.partial(memory.empty(tuple([size[d] for d in order]), g.dtype))
    if not _summed(out, g, *index, dims=tuple(range(len(dims)))):
        return None
    return contiguous(out.transpose(np.argsort(order)))


def _summed(out, g, *index, dims):
    """Put the sums into `out`; False where kernels do not do it."""
    how = {"dims": dims, "accumulate": True}
    indexed.filled(out, 0)
    return put_slices(out, g, *index, **how) or recorded_call.are_few([g]) and _put_without_numpy(
        out, g, *index, **how)


def _sum_at(g, *index, size, dims):
    out = _sum_by_launches(g, *index, size=size, dims=dims)
    if out is not None:
        return out
    return add_at(np.zeros(size, g.dtype),
                  [in_bounds(i, size[d], d) for i, d in zip(index, dims)], g, dims)


class _Places:
    """Places named by index tensors of examples, as places in the whole batch: `index` for `dims`
    of what has the batch dimension in front.

    `moved` puts a result of such an index, which has the batch dimension in front too, in the order
    that the op has it in; `back` undoes it.
    """

    def __init__(self, n, index, batched, dims):
        adjacent = dims[-1] - dims[0] == len(dims) - 1
        depth = max([i._array.ndim - b for i, b in zip(index, batched)])
        self.index, self.dims = index, tuple([d + 1 for d in dims])
        self.source, self.target = (), ()
        if any(batched):
            along = literal(np.arange(n)).reshape((n, *[1] * depth)).expand(
                (n, *_one_shape(index, batched)))
            self.index = [along, *[i if b else repeated(i, n) for i, b in zip(index, batched)]]
            self.dims = (0, *self.dims)
            if adjacent and dims[0]:
                self.source = range(1 + dims[0], 1 + dims[0] + depth)
                self.target = range(1, 1 + depth)
        elif not adjacent:
            self.source, self.target = (0,), (depth,)

    def moved(self, x):
        return x.movedim(tuple(self.source), tuple(self.target)) if self.source else x

    def back(self, x):
        return x.movedim(tuple(self.target), tuple(self.source)) if self.source else x


def _one_shape(index, batched):
    return next(i._array.shape[1:] if b else i._array.shape for i, b in zip(index, batched))


def _index_each(op, n, inputs, batched, attrs):
    x, *index = inputs
    at = _Places(n, index, batched[1:], attrs["dims"])
    return at.back(apply(op, (x if batched[0] else repeated(x, n), *at.index), {"dims": at.dims}))


def _index_sum_each(op, n, inputs, batched, attrs):
    g, *index = inputs
    at = _Places(n, index, batched[1:], attrs["dims"])
    return apply(op, (at.moved(g if batched[0] else repeated(g, n)), *at.index),
                 {"size": (n, *attrs["size"]), "dims": at.dims})


def _put_each(op, n, inputs, batched, attrs):
    x, values, *index = inputs
    at = _Places(n, index, batched[2:], attrs["dims"])
    x = x if batched[0] else repeated(x, n)
    shape = _result_shape(x._array.shape[1:], _one_shape(index, batched[2:]), attrs["dims"])
    values = aligned(values, len(shape)) if batched[1] else values
    values = at.moved(values.expand((n, *shape)))
    return apply(op, (x, values, *at.index), {**attrs, "dims": at.dims})


def _index_vjp(g, _y, _x, *index, dims):
    return [
        apply(index_sum_op, (g, *index), {"size": tuple(_x.shape), "dims": dims}),
        *[None] * len(index)]


def _index_sum_vjp(g, _y, _g, *index, size, dims):
    return [apply(index_op, (g, *index), {"dims": dims}), *[None] * len(index)]


def _i(*values):
    return tensor(list(values), dtype=dtypes.int64)


_advanced = [((3, 2), [[0, -1, 0]], (0,)), ((2, 3), [[[0, 1], [2, 2]]], (1,)),
             ((3, 4), [[0, 1, 0], [3, 3, 0]], (0, 1)), ((2, 3, 4), [[0, 1], [1, -1]], (0, 2)),
             ((3,), [[]], (0,)), ((4,), [2], (0,))]


def _gather_samples(make):
    for shape, index, at in _advanced:
        yield Sample(make(*shape), *[tensor(i, dtype=dtypes.int64) for i in index], dims=at)


def _sum_samples(make):
    for shape, index, at in _advanced:
        i = [np.array(k, np.int64) for k in index]
        yield Sample(make(*_gathered(np.empty(shape), *i, dims=at).shape), *map(wrap, i),
                     size=shape, dims=at)


index_op = Op("index", _gathered, _index_vjp, samples=_gather_samples, linear=(0,),
              batch=_index_each, onnx=in_onnx.at_index)
index_op.any_sizes = True
index_op.doc = "Elements at index tensors of one shape, one for each of the dimensions `dims`."
index_sum_op = Op("index_sum", _sum_at, _index_sum_vjp, samples=_sum_samples, linear=(0,),
                  batch=_index_sum_each, onnx=in_onnx.summed_at_index)
index_sum_op.is_repeatable = index_sum_op.any_sizes = True
index_sum_op.forward_on_device = lambda g, *index, size, dims: devices.beyond.summed_at(
    g, Named(index, dims, wraps=True), size)
index_sum_op.moves = lambda out, g, *index, size, dims: [(out, 0)]
index_sum_op.write_by_kernels = lambda out, g, *index, size, dims: put_slices(
    out, g, *index, dims=dims, accumulate=True)
index_sum_op.write_without_numpy = lambda out, g, *index, size, dims: _put_without_numpy(
    out, g, *index, dims=dims, accumulate=True)
index_op.is_repeatable = True
index_op.outlined = lambda a, *index, dims: Outline(
    _result_shape(a.shape, index[0].shape, dims), a.dtype)
index_sum_op.outlined = lambda g, *index, size, dims: Outline(size, g.dtype)
index_op.forward_without_numpy = lambda a, *index, dims: indexed.picked_by(
    partial(indexed.of_several, dims=dims), a, index)
index_op.gathered = lambda a, *index, dims: Named(index, dims, wraps=True)
index_op.picks = lambda a, *index, dims: (dims[0], False, True) if dims[-1] - dims[0] == len(
    dims) - 1 else None
index_op.saves = index_sum_op.saves = frozenset(range(1, 65))            # the index tensors only


# ---- writing at index tensors --------------------------------------------------------------------
class _PutOp(Op):
    """self[index] = values, or += values in index order."""
    outlined = staticmethod(like_first)

    def forward(self, a, values, *index, dims, accumulate):
        r = np.array(a, order="C")
        self.write(r, values, *index, dims=dims, accumulate=accumulate)
        return r

    @staticmethod
    def written(a, values, *index, dims, accumulate):
        """What is put where."""
        return Written(Named(index, dims, wraps=True), values, "sum" if accumulate else "put")

    def on_device(self, arrays, attrs, index):
        """A copy of the first operand, into which elements are written."""
        return devices.beyond.written_over(self, arrays, attrs, index)

    def write_on_device(self, arrays, attrs):
        """Write elements into the first operand; False where the device has no kernel for it."""
        return devices.beyond.write_over(self, arrays, attrs)

    write_by_kernels = staticmethod(put_slices)
    write_without_numpy = staticmethod(_put_without_numpy)

    @staticmethod
    def write(a, values, *index, dims, accumulate):
        """The in-place form: into `a` itself."""
        if put_slices(a, values, *index, dims=dims, accumulate=accumulate):
            return a
        key = _key(a.shape, index, dims)
        if accumulate:
            shape = _result_shape(a.shape, broadcast_shapes(*[i.shape for i in index]), dims)
            add_at(a, [key[d] for d in dims], _fitted(values, shape), dims)
            return a
        if np.may_share_memory(a, values):
            values = values.copy()
        a[key] = values                      # `put_in` has seen that they fit
        return a


def _fitted(values, shape):
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    if values.shape == shape:
        return values
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}") from None


def _result_shape(shape, index_shape, dims):
    rest = [s for d, s in enumerate(shape) if d not in dims]
    at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    return (*rest[:at], *index_shape, *rest[at:])


def _put_vjp(g, _y, _x, _values, *index, dims, accumulate, needs):
    gx, gv = g, None
    if not accumulate and needs[0]:
        gx = apply(put_op, (g, scalar_tensor(0, g.dtype), *index),
                   {"dims": dims, "accumulate": False})
    if needs[1]:
        gv = apply(index_op, (g, *index), {"dims": dims})
        if gv.ndim < len(_values.shape):
            gv = gv.reshape((1,) * (len(_values.shape) - gv.ndim) + tuple(gv.shape))
        gv = gv.sum_to_size(tuple(_values.shape))
    return [gx, gv, *[None] * len(index)]


def _put_samples(make):
    for shape, index, at in _advanced:
        i = [np.array(k, np.int64) for k in index]
        result = _gathered(np.empty(shape), *i, dims=at).shape
        for accumulate in (False, True):
            if accumulate or len(set(zip(*[k.reshape(-1).tolist() for k in i]))) == i[0].size:
                yield Sample(make(*shape), make(*result), *map(wrap, i), dims=at,
                             accumulate=accumulate)
    yield Sample(make(3, 2), make(), _i(1, 2), dims=(0,), accumulate=False)


put_op = _PutOp("index_put", None, _put_vjp, samples=_put_samples, linear=(0, 1), batch=_put_each,
                onnx=in_onnx.put_at_index)
put_op.any_sizes = True
put_op.saves = frozenset(range(2, 66))


def fits(value, array):
    """Is the value a number that the array's type surely holds?"""
    kind = type(value)
    if kind is float:
        return array.dtype.kind == "f" and -65504.0 <= value <= 65504.0
    return kind is int and array.dtype.kind in "fi" and -128 <= value < 128


def check_values(t, places, dims, values):
    """Raise where values do not broadcast to t[places]."""
    if values._array.size != 1:
        _fitted(values._array, _result_shape(t._array.shape, places[0]._array.shape, dims))


def put_in(t, places, dims, values, accumulate):
    """t[places] = values (or +=), recorded."""
    check_values(t, places, dims, values)
    for i, d in zip(places, dims):
        in_bounds(i._array, t._array.shape[d], d)
    return inplace(put_op, t, (values, *places), {"dims": dims, "accumulate": accumulate})
