"""Gathering and scattering along one dimension; masks.

Sums at equal places are taken in the order of the index, so that they are the same on every run.
"""
import builtins
from math import prod

import numpy as np

from .. import dtypes
from ..dtypes import BOOL, FLOAT, FROM_NUMPY
from ..ir import scalar as s
from ..tensor import wrap
from . import dims
from .creation import cast_number, empty_array, scalar_tensor, tensor, zeros
from .index import add_at, in_bounds, index_op, nonzero, put_in, put_op, scatter_rows
from .pointwise_family import PointwiseOp, inplace
from .registry import Op, apply, is_tensor
from .samples import Sample, booleans, reals
from .surface import FUNCTIONS, METHODS, function, method
from .view import broadcast_tensors, reshape

FULL = builtins.slice(None)
INDEX_TYPES = (dtypes.int64, dtypes.int32)


def writes(op, check):
    """Publish `op` out of place and in place from `check(self, *args) -> (operands after self, attrs)`."""
    name = op.name

    def out_of_place(input, *args, **kwargs):
        rest, attrs = check(input, *args, **kwargs)
        return apply(op, (input, *rest), attrs)

    def in_place(self, *args, **kwargs):
        rest, attrs = check(self, *args, **kwargs)
        return inplace(op, self, rest, attrs)
    out_of_place.__name__ = out_of_place.__qualname__ = name
    out_of_place.__doc__ = check.__doc__
    in_place.__name__ = in_place.__qualname__ = name + "_"
    in_place.__doc__ = f"`{name}`, in place."
    out_of_place.__wrapped__ = in_place.__wrapped__ = check        # the signature that help() shows
    METHODS[name + "_"] = in_place
    return function(out=True)(out_of_place), in_place


class WriteOp(Op):
    """An op that changes some elements of its first input: `write(a, *arrays, **attrs)` does it in place."""

    def __init__(self, name, write, vjp, **kw):
        self.write = write
        super().__init__(name, None, vjp, **kw)

    def forward(self, a, *arrays, **attrs):
        r = np.array(a, order="C")
        self.write(r, *arrays, **attrs)
        return r


def _check_index(op, index, message=None):
    if not is_tensor(index):
        raise TypeError(f"{op}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index.dtype not in INDEX_TYPES:
        raise RuntimeError(message or f"{op}(): Expected dtype int32/int64 for index, but got {index.dtype}")


def _line(a, d):
    return (FULL,) * d + (a,)


# ---- gather ----------------------------------------------------------------------------------------------------------
def _places(index, shape, dim):
    """Where `index` points in a row-major array of `shape`: every other coordinate is the element's own."""
    at = in_bounds(index, shape[dim], dim, negative=False, error=RuntimeError)
    n = 1
    strides = []
    for s_ in reversed(shape):
        strides.append(n)
        n *= s_
    strides.reverse()
    if strides[dim] != 1:
        at = at * strides[dim]
    for d, k in enumerate(index.shape):
        if d != dim and k > 1:
            at = at + (np.arange(k, dtype=np.int64) * strides[d]).reshape((k,) + (1,) * (index.ndim - 1 - d))
    return at


def _gather(a, index, dim):
    if not a.ndim:
        in_bounds(index, 1, 0, negative=False, error=RuntimeError)
        return np.full(index.shape, a)
    if not index.size:
        return np.empty(index.shape, a.dtype)
    if not a.flags.c_contiguous:
        a = np.ascontiguousarray(a[tuple([FULL if d == dim else builtins.slice(0, k) for d, k in enumerate(index.shape)])])
    at = _places(index, a.shape, dim)
    return a.reshape(-1).take(at, out=empty_array(index.shape, a.dtype), mode="clip")


def _gather_vjp(g, _y, _x, index, dim):
    return [zeros(tuple(_x.shape), dtype=g.dtype).scatter_add(dim, index, g), None]


_index2 = [[0, 1, 1], [1, 0, 1]]


def _i(x):
    return tensor(x, dtype=dtypes.int64)


gather_op = Op("gather", _gather, _gather_vjp, samples=lambda make: [
    Sample(make(2, 3), _i(_index2), dim=0), Sample(make(3, 4), _i([[3, 3], [0, 1]]), dim=1), Sample(make(3), _i([2, 2, 0]), dim=0),
    Sample(make(), _i(0), dim=0), Sample(make(2, 3), zeros(0, 3, dtype=dtypes.int64), dim=0)])


def _gather_shape(op, input, dim, index):
    n = input._array.ndim
    d = dims.one(dim, n)
    if max(index._array.ndim, 1) != max(n, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for k in range(n if index._array.ndim else 0):
        if k != d and index._array.shape[k] > input._array.shape[k]:
            raise RuntimeError(f"Size does not match at dimension {k} expected index {list(index._array.shape)} to be no larger "
                               f"than self {list(input._array.shape)} apart from dimension {d}")
    return d


@function(out=True)
def gather(input, dim, index, *, sparse_grad=False):
    """Elements at the places that `index` names along a dimension.

    >>> import whet
    >>> whet.gather(whet.tensor([[1, 2], [3, 4]]), 1, whet.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    _check_index("gather", index, "gather(): Expected dtype int32/int64 for index")
    d = _gather_shape("gather", input, dim, index)
    if not index._array.ndim and input._array.ndim:
        return apply(gather_op, (input, index.reshape(1)), {"dim": d}).reshape(())
    return apply(gather_op, (input, index), {"dim": d})


@function(out=True)
def take_along_dim(input, indices, dim=None):
    """Elements at the places that `indices`, broadcast against `input`, names along a dimension (or of the flattened tensor)."""
    if indices.dtype not in INDEX_TYPES:
        raise RuntimeError(f"take_along_dim(): dtype of indices should be Long but got {indices.dtype.letter}")
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise RuntimeError(f"take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} "
                           f"dimensions for input, and {indices.ndim} dimensions for indices")
    d = dims.one(dim, input.ndim)
    common = _broadcast_except(tuple(input.shape), tuple(indices.shape), d)
    a, i = list(common), list(common)
    a[d], i[d] = input.shape[d], indices.shape[d]
    indices = indices.expand(i)
    n = input.shape[d]
    if bool((indices < 0).any()):
        indices = FUNCTIONS["where"](indices < 0, indices + n, indices)
    return gather(input.expand(a), d, indices)


def _broadcast_except(a, b, d):
    try:
        return np.broadcast_shapes(a[:d] + (1,) + a[d + 1:], b[:d] + (1,) + b[d + 1:])
    except ValueError:
        raise RuntimeError(f"take_along_dim: shapes {list(a)} and {list(b)} do not broadcast apart from dimension {d}") from None


FUNCTIONS["take_along_axis"] = lambda x, indices, /, *, axis=-1: take_along_dim(x, indices, axis)


@function()
def take(input, index):
    """Elements at places of the flattened tensor."""
    if index.dtype not in INDEX_TYPES:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype.letter}")
    _check_flat(index, input.numel())
    return apply(index_op, (reshape(input, (-1,)), index), {"dims": (0,)})


def _check_flat(index, n):
    a = index._array
    if a.size and not n:
        raise IndexError("take(): tried to take from an empty tensor")
    bad = a[(a < -n) | (a >= n)]
    if bad.size:
        raise IndexError(f"out of range: tried to access index {int(bad.reshape(-1)[0])} on a tensor of {n} elements.")


@method()
def put_(self, index, source, accumulate=False):
    """Write (or add) `source` at places of the flattened tensor."""
    if index.dtype not in INDEX_TYPES:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype.letter}")
    if source.dtype is not self.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype.letter} and "
                           f"source.dtype = {source.dtype.letter}")
    if index.numel() != source.numel():
        raise RuntimeError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                           f"{source.numel()}, index.numel() = {index.numel()}")
    _check_flat(index, self.numel())
    index, source = reshape(index, (-1,)), reshape(source, (-1,))
    if self._array.flags.c_contiguous:
        put_in(self.view(-1), [index], (0,), source, accumulate)
        return self
    return self.copy_(apply(put_op, (reshape(self, (-1,)), source, index),
                            {"dims": (0,), "accumulate": accumulate}).view(self.shape))


@method()
def put(self, index, source, accumulate=False):
    """A copy with `source` written (or added) at places of the flattened tensor."""
    return self.clone(memory_format="contiguous").put_(index, source, accumulate)


# ---- scatter ---------------------------------------------------------------------------------------------------------
def _crop(src, shape):
    return src if src.shape == shape else src[tuple([builtins.slice(0, n) for n in shape])]


def _flat_for_write(a):
    """(a row-major 1-d form of `a`, whether writing to it writes to `a`)"""
    return (a.reshape(-1), True) if a.flags.c_contiguous else (np.ascontiguousarray(a).reshape(-1), False)


def _scatter_write(a, src, index, dim):
    if not index.size:
        return a
    flat, same = _flat_for_write(a)
    at = _places(index, a.shape or (1,), dim)
    flat[at] = _crop(src, index.shape) if isinstance(src, np.ndarray) and src.ndim else src
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _scatter_vjp(g, _y, _x, _src, index, dim, needs):
    gx = apply(scatter_op, (g, scalar_tensor(0, g.dtype), index), {"dim": dim}) if needs[0] else None
    return [gx, _src_gradient(g, _src, index, dim) if needs[1] else None, None]


def _src_gradient(g, _src, index, dim):
    """What flows to a source of which the first index.shape elements were used."""
    if not _src.ndim and g.ndim:
        return gather(g, dim, index).sum()
    r = gather(g, dim, index)
    if tuple(_src.shape) != tuple(r.shape):
        r = pad_to(r, tuple(_src.shape))
    return r


def pad_to(x, shape):
    """Zeros appended to each dimension up to `shape`."""
    from .movement import pad_op
    return apply(pad_op, (x,), {"pads": tuple([(0, n - m) for n, m in zip(shape, x.shape)]), "value": 0})


_scatter_cases = [((2, 3), (2, 3), [[0, 1, 1], [1, 0, 0]], 0), ((3, 4), (2, 2), [[3, 1], [0, 1]], 1), ((3,), (2,), [2, 0], 0)]


def _scatter_samples(make):
    for shape, src, index, dim in _scatter_cases:
        yield Sample(make(*shape), make(*src), _i(index), dim=dim)


scatter_op = WriteOp("scatter", _scatter_write, _scatter_vjp, samples=_scatter_samples)


def _scatter_add_write(a, src, index, dim):
    if not index.size:
        return a
    flat, same = _flat_for_write(a)
    at = _places(index, a.shape or (1,), dim).reshape(-1)
    values = _crop(src, index.shape).reshape(-1) if src.ndim else np.full(at.shape, src)
    scatter_rows(flat.reshape(-1, 1), at, np.ascontiguousarray(values).reshape(-1, 1))
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _scatter_add_vjp(g, _y, _x, _src, index, dim, needs):
    return [g, _src_gradient(g, _src, index, dim) if needs[1] else None, None]


scatter_add_op = WriteOp("scatter_add", _scatter_add_write, _scatter_add_vjp, samples=_scatter_samples)


def _scatter_shape(op, self, dim, index, src):
    _check_index(op, index)
    d = dims.one(dim, self._array.ndim)
    n = self._array.ndim
    shapes = self._array.shape, index._array.shape, src._array.shape if is_tensor(src) else index._array.shape
    if index._array.size:
        if max(len(shapes[1]), 1) != max(n, 1) or max(len(shapes[2]), 1) != max(n, 1):
            other = "self" if max(len(shapes[1]), 1) != max(n, 1) else "src"
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {other} tensor")
        a, i, v = [s_ or (1,) for s_ in shapes]
        if any(k != d and i[k] > a[k] for k in range(len(i))) or any(i[k] > v[k] for k in range(len(i))):
            raise RuntimeError(f"{op}(): Expected index {list(shapes[1])} to be no larger than self {list(shapes[0])} apart from "
                               f"dimension {d} and to be no larger size than src {list(shapes[2])}")
        in_bounds(index._array, a[d], d, negative=False, error=RuntimeError)
    return d


def _one_dim(x, n):
    """0-d operands beside n-d ones as 1-d."""
    return x.reshape(1) if n and is_tensor(x) and not x._array.ndim else x


def _check_scatter(self, dim, index, src=None, *, value=None):
    """`src` (a tensor or a number) written at the places that `index` names along a dimension."""
    if src is None:
        src = value
    if src is None:
        raise TypeError("scatter() missing 1 required argument: 'src' or 'value'")
    d = _scatter_shape("scatter", self, dim, index, src)
    if not is_tensor(src):
        src = wrap(cast_number(src, self.dtype))
    elif src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    else:
        src = _one_dim(src, self._array.ndim)
    return (src, _one_dim(index, self._array.ndim)), {"dim": d}


def _scatter_form(self, dim, index, src, reduce, value, in_place):
    if reduce is None:
        rest, attrs = _check_scatter(self, dim, index, src, value=value)
        return inplace(scatter_op, self, rest, attrs) if in_place else apply(scatter_op, (self, *rest), attrs)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    src = value if src is None else src
    if not is_tensor(src):
        src = FUNCTIONS["full"](index._array.shape, src, dtype=self.dtype)
    kind = "sum" if reduce == "add" else "prod"
    return (scatter_reduce_ if in_place else scatter_reduce)(self, dim, index, src, kind)


@function(out=True)
def scatter(input, dim, index, src=None, *, reduce=None, value=None):
    """A copy of `input` with `src` (a tensor or a number) at the places that `index` names along a dimension.

    >>> import whet
    >>> whet.zeros(3).scatter(0, whet.tensor([2, 0]), whet.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    return _scatter_form(input, dim, index, src, reduce, value, False)


@method()
def scatter_(self, dim, index, src=None, *, reduce=None, value=None):
    """`scatter`, in place."""
    return _scatter_form(self, dim, index, src, reduce, value, True)


def _check_scatter_add(self, dim, index, src):
    """`src` added at the places that `index` names along a dimension, in index order."""
    d = _scatter_shape("scatter_add", self, dim, index, src)
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter_add(): Expected self.dtype to be equal to src.dtype")
    n = self._array.ndim
    return (_one_dim(src, n), _one_dim(index, n)), {"dim": d}


scatter_add, scatter_add_ = writes(scatter_add_op, _check_scatter_add)


# ---- reductions into places ------------------------------------------------------------------------------------------
_COMBINE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "mean": np.add}


def _start(kind, dtype):
    """What a place holds before anything is combined into it."""
    if kind in ("sum", "mean", "prod"):
        return dtype.type(kind == "prod")
    d = FROM_NUMPY[dtype]
    if d.kind == FLOAT:
        return dtype.type(-np.inf if kind == "amax" else np.inf)
    if d.kind == BOOL:
        return kind == "amin"
    info = np.iinfo(dtype)
    return info.min if kind == "amax" else info.max


def _reduce_into(flat, at, values, kind, include_self):
    """Combine values[k] into flat[at[k]], in the order of k."""
    half = flat.dtype.itemsize == 2 and FROM_NUMPY[flat.dtype].kind == FLOAT
    work = flat.astype(np.float32) if half else flat
    values = np.ascontiguousarray(values).astype(work.dtype, copy=False)
    touched = np.zeros(work.shape, bool)
    touched[at] = True
    if not include_self:
        work[touched] = _start(kind, work.dtype)
    with np.errstate(all="ignore"):
        _COMBINE[kind].at(work, at, values)
        if kind == "mean":
            count = np.bincount(at, minlength=work.size)[touched] + include_self
            work[touched] = (work[touched] // count if work.dtype.kind in "iu" else work[touched] / count).astype(work.dtype)
    if half:
        flat[...] = work.astype(flat.dtype)


def _scatter_reduce_write(a, src, index, dim, reduce, include_self):
    if not index.size:
        return a
    flat, same = _flat_for_write(a)
    _reduce_into(flat, _places(index, a.shape or (1,), dim).reshape(-1), _crop(src, index.shape).reshape(-1), reduce, include_self)
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _scatter_reduce_vjp(g, y, x, src, index, dim, reduce, include_self, needs):
    def spread(t):
        return gather(t, dim, index)

    def collected(t):
        return zeros(tuple(x.shape), dtype=g.dtype).scatter_add(dim, index, t)
    used = tuple(index.shape)
    part = src if tuple(src.shape) == used else src[tuple([builtins.slice(0, n) for n in used])]
    one = FUNCTIONS["ones_like"]
    untouched = None if include_self else one(x).scatter(dim, index, 0.0)
    gx, gs = _reduce_gradients(g, y, x, part, reduce, include_self, spread, collected, one(part))
    if untouched is not None:
        gx = g * untouched if reduce in ("sum", "mean", "prod", "amax", "amin") else gx
    if tuple(gs.shape) != tuple(src.shape):
        gs = pad_to(gs, tuple(src.shape))
    return [gx if needs[0] else None, gs if needs[1] else None, None]


def _reduce_gradients(g, y, x, src, reduce, include_self, spread, collected, ones):
    """Gradients of self (where it takes part) and of the source."""
    where = FUNCTIONS["where"]
    if reduce == "sum":
        return g, spread(g)
    if reduce == "mean":
        n = collected(ones) + (1 if include_self else 0)
        n = where(n == 0, FUNCTIONS["ones_like"](n), n)
        return g / n, spread(g / n)
    if reduce == "prod":
        # Without zeros: y / src. One zero: the product of the others. More: nothing.
        zero = (src == 0).to(g.dtype)
        mine = (x == 0).to(g.dtype) if include_self else FUNCTIONS["zeros_like"](x)
        count = collected(zero) + mine
        safe = where(src == 0, ones, src)
        base = where(x == 0, FUNCTIONS["ones_like"](x), x) if include_self else FUNCTIONS["ones_like"](x)
        others = _product_into(base, safe, spread, collected)
        gx = where(count - mine == 0, g * others / base, FUNCTIONS["zeros_like"](g))
        gs = where(spread(count) - zero == 0, spread(g * others) / safe, FUNCTIONS["zeros_like"](src))
        return gx, gs
    hit = (src == spread(y)).to(g.dtype)
    self_hit = (x == y).to(g.dtype) if include_self else FUNCTIONS["zeros_like"](x)
    share = collected(hit) + self_hit
    share = where(share == 0, FUNCTIONS["ones_like"](share), share)
    return g * self_hit / share, spread(g / share) * hit


def _product_into(base, safe, spread, collected):
    """The product of base and everything scattered to it, for factors without zeros: through sums of logarithms of absolute values
    the derivative of any order is right; the value's sign is that of the count of negative factors."""
    sign = 1 - 2 * ((collected((safe < 0).to(base.dtype)) + (base < 0).to(base.dtype)) % 2)
    return sign * (collected(safe.abs().log()) + base.abs().log()).exp()


def _reduce_samples(make):
    for kind in ("sum", "mean", "prod", "amax", "amin"):
        for include in (True, False):
            yield Sample(make(2, 3), make(2, 3), _i([[0, 1, 1], [0, 0, 1]]), dim=0, reduce=kind, include_self=include)


scatter_reduce_op = WriteOp("scatter_reduce", _scatter_reduce_write, _scatter_reduce_vjp, samples=_reduce_samples)


def _check_scatter_reduce(self, dim, index, src, reduce, *, include_self=True):
    """`src` combined (sum, prod, mean, amax, amin) into the places that `index` names along a dimension."""
    if reduce not in _COMBINE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d = _scatter_shape("scatter_reduce", self, dim, index, src)
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter_reduce(): Expected self.dtype to be equal to src.dtype")
    n = self._array.ndim
    return (_one_dim(src, n), _one_dim(index, n)), {"dim": d, "reduce": reduce, "include_self": bool(include_self)}


scatter_reduce, scatter_reduce_ = writes(scatter_reduce_op, _check_scatter_reduce)


# ---- whole slices by a 1-d index -------------------------------------------------------------------------------------
def _index_select(a, index, dim):
    if not a.ndim:
        in_bounds(index, 1, 0, negative=False)
        return a.copy()
    i = in_bounds(index, a.shape[dim], dim)
    shape = (*a.shape[:dim], i.size, *a.shape[dim + 1:])
    if not a.shape[dim]:
        return np.empty(shape, a.dtype)
    return a.take(i.reshape(-1), dim, out=empty_array(shape, a.dtype), mode="clip")


def _index_select_vjp(g, _y, _x, index, dim):
    if not _x.ndim:
        return [g.reshape(()), None]
    return [apply(index_add_op, (zeros(tuple(_x.shape), dtype=g.dtype), g, index), {"dim": dim}), None]


index_select_op = Op("index_select", _index_select, _index_select_vjp, samples=lambda make: [
    Sample(make(3, 2), _i([2, 0, 2]), dim=0), Sample(make(2, 3), _i([1]), dim=1), Sample(make(3), _i([]), dim=0)])


@function(out=True)
def index_select(input, dim, index):
    """The slices of a dimension that a 1-d index names.

    >>> import whet
    >>> whet.arange(4).index_select(0, whet.tensor([3, 0]))
    tensor([3, 0])
    """
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _check_index("index_select", index, "index_select(): Expected dtype int32 or int64 for index")
    d = dims.one(dim, input._array.ndim)
    n = input._array.shape[d] if input._array.ndim else 1
    if index._array.size and (index._array.min() < 0 or index._array.max() >= n):
        raise IndexError("index out of range in self")
    return apply(index_select_op, (input, index), {"dim": d})


def _index_add_write(a, source, index, dim):
    if a.ndim:
        i = in_bounds(index.reshape(-1), a.shape[dim], dim, error=RuntimeError)
        add_at(a, [i], source if source.ndim else source.reshape(1), (dim,))
    else:
        a += source.sum(dtype=a.dtype)
    return a


index_add_op = WriteOp("index_add", _index_add_write, lambda g, _y, _x, _source, index, dim, needs: [
    g, index_select(g, dim, index).reshape(tuple(_source.shape)) if needs[1] else None, None], samples=lambda make: [
    Sample(make(3, 2), make(4, 2), _i([2, 0, 2, 1]), dim=0), Sample(make(2, 3), make(2, 1), _i([1]), dim=1),
    Sample(make(3), make(2), _i([1, 1]), dim=0)])


def _sliced(op, self, dim, index, source, error=RuntimeError):
    """Check an index of slices and the source that goes with it."""
    if index.ndim > 1:
        raise IndexError(f"{op}_(): Index should have dimension 1 or 0 (got {index.ndim})")
    _check_index(op, index, f"{op}_(): Expected dtype int32/int64 for index")
    d = dims.one(dim, self._array.ndim)
    n = self._array.shape[d] if self._array.ndim else 1
    if source is not None:
        if source.dtype is not self.dtype:
            raise RuntimeError(f"{op}_(): self ({self.dtype.letter}) and source ({source.dtype.letter}) must have the same scalar "
                               "type")
        have = source._array.shape[d] if source._array.ndim else 1
        if have != index.numel():
            raise RuntimeError(f"{op}_(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({have}), for "
                               f"dim: {d}")
        if source._array.ndim and self._array.ndim:
            a, b = list(self._array.shape), list(source._array.shape)
            if len(a) != len(b) or a[:d] + a[d + 1:] != b[:d] + b[d + 1:]:
                raise RuntimeError(f"{op}_(): Source/destination tensor must have same slice shapes except the specified "
                                   "dimension. Destination slice shape: "
                                   f"{a} at dimension {d} and source slice shape: {b} at dimension {d}.")
    in_bounds(index._array, n, d, negative=op == "index_fill", error=error)
    return d


def _check_index_add(self, dim, index, source, *, alpha=1):
    """`source` (times alpha) added to the slices that a 1-d index names, in index order."""
    d = _sliced("index_add", self, dim, index, source)
    return (source if alpha == 1 else source * alpha, index), {"dim": d}


index_add, index_add_ = writes(index_add_op, _check_index_add)


def _index_copy_write(a, source, index, dim):
    if a.ndim:
        a[_line(in_bounds(index.reshape(-1), a.shape[dim], dim), dim)] = source
    elif source.size:
        a[...] = source.reshape(-1)[-1]
    return a


def _zeroed(g, index, dim):
    """The gradient with the named slices set to zero."""
    return apply(index_fill_op, (g, scalar_tensor(0, g.dtype), index), {"dim": dim})


index_copy_op = WriteOp("index_copy", _index_copy_write, lambda g, _y, _x, _source, index, dim, needs: [
    _zeroed(g, index, dim) if needs[0] else None,
    index_select(g, dim, index).reshape(tuple(_source.shape)) if needs[1] else None, None], samples=lambda make: [
    Sample(make(3, 2), make(2, 2), _i([2, 0]), dim=0), Sample(make(2, 3), make(2, 1), _i([1]), dim=1)])


def _check_index_copy(self, dim, index, source):
    """`source` written to the slices that a 1-d index names."""
    return (source, index), {"dim": _sliced("index_copy", self, dim, index, source, IndexError)}


index_copy, index_copy_ = writes(index_copy_op, _check_index_copy)


def _index_fill_write(a, value, index, dim):
    if a.ndim:
        a[_line(in_bounds(index.reshape(-1), a.shape[dim], dim), dim)] = value
    elif index.size:
        a[...] = value
    return a


index_fill_op = WriteOp("index_fill", _index_fill_write, lambda g, _y, _x, _value, index, dim, needs: [
    _zeroed(g, index, dim) if needs[0] else None, _unique_sum(g, index, dim) if needs[1] else None, None], samples=lambda make: [
    Sample(make(3, 2), make(), _i([2, 0]), dim=0), Sample(make(2, 3), make(), _i([1]), dim=1)])


def _unique_sum(g, index, dim):
    return (g - _zeroed(g, index, dim)).sum()


def _check_index_fill(self, dim, index, value):
    """A number written to the slices that a 1-d index names."""
    d = _sliced("index_fill", self, dim, index, None, IndexError)
    if is_tensor(value):
        if value.ndim:
            raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
                               "dimension(s).")
        value = value.to(self.dtype)
    else:
        value = wrap(cast_number(value, self.dtype))
    return (value, index), {"dim": d}


index_fill, index_fill_ = writes(index_fill_op, _check_index_fill)


def _index_reduce_write(a, source, index, dim, reduce, include_self):
    i = in_bounds(index.reshape(-1), a.shape[dim] if a.ndim else 1, dim)
    shape = source.shape or (1,)
    at = _places(np.broadcast_to(i.reshape((-1,) + (1,) * (len(shape) - 1 - dim)), shape), a.shape or (1,), dim)
    flat, same = _flat_for_write(a)
    _reduce_into(flat, at.reshape(-1), source.reshape(-1), reduce, include_self)
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _index_reduce_vjp(g, y, x, source, index, dim, reduce, include_self, needs):
    shape = tuple(source.shape) or (1,)
    full = index.reshape((-1,) + (1,) * (len(shape) - 1 - dim)).expand(shape)
    if not x.ndim:
        g, y, x, source = (t.reshape(1) for t in (g, y, x, source))
    gx, gs, _ = _scatter_reduce_vjp(g, y, x, source, full, dim, reduce, include_self, (True, True, False))
    return [gx, gs, None]


index_reduce_op = WriteOp("index_reduce", _index_reduce_write, _index_reduce_vjp, samples=lambda make: [
    Sample(make(3, 2), make(4, 2), _i([2, 0, 2, 1]), dim=0, reduce=r, include_self=k)
    for r in ("prod", "mean", "amax", "amin") for k in (True, False)])


def _check_index_reduce(self, dim, index, source, reduce, *, include_self=True):
    """`source` combined (prod, mean, amax, amin) into the slices that a 1-d index names."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = _sliced("index_reduce", self, dim, index, source, IndexError)
    return (source, index), {"dim": d, "reduce": reduce, "include_self": bool(include_self)}


index_reduce, index_reduce_ = writes(index_reduce_op, _check_index_reduce)


# ---- masks -----------------------------------------------------------------------------------------------------------
masked_fill_op = PointwiseOp("masked_fill", lambda input, mask, value: s.where(mask, value, input), keep=(1,),
                             samples=(reals(-3, 3), booleans, reals(-3, 3)))


def _check_masked_fill(self, mask, value):
    if not is_tensor(mask) or mask.dtype.kind != BOOL:
        kind = mask.dtype.name if is_tensor(mask) else type(mask).__name__
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {kind}")
    if is_tensor(value):
        if value._array.ndim:
            raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
                               "dimension(s).")
        return value.to(self.dtype)
    return wrap(cast_number(value, self.dtype))


@function()
def masked_fill(input, mask, value):
    """A copy of `input` with `value` where the mask is true.

    >>> import whet
    >>> x = whet.tensor([1.0, 2.0])
    >>> x.masked_fill(x > 1, 0)
    tensor([1., 0.])
    """
    return apply(masked_fill_op, (input, mask, _check_masked_fill(input, mask, value)), {})


@method()
def masked_fill_(self, mask, value):
    """`masked_fill`, in place."""
    return inplace(masked_fill_op, self, (mask, _check_masked_fill(self, mask, value)))


@function(out=True)
def masked_select(input, mask):
    """The elements where the mask is true, as one dimension."""
    if not is_tensor(mask) or mask.dtype.kind != BOOL:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    input, mask = broadcast_tensors(input, mask)
    if not input._array.ndim:
        input, mask = input.reshape(1), mask.reshape(1)
    where = nonzero(mask, as_tuple=True)
    return apply(index_op, (input, *where), {"dims": tuple(range(len(where)))})


def _masked_scatter_write(a, source, mask):
    m = np.broadcast_to(mask, a.shape)
    a[m] = source.reshape(-1)[:int(np.count_nonzero(m))]
    return a


def _masked_scatter_vjp(g, _y, _x, _source, mask, needs):
    gs = None
    if needs[1]:
        shape = tuple(_source.shape)
        gs = pad_to(masked_select(g, mask.expand(g.shape)), (prod(shape),)).reshape(shape)
    return [masked_fill(g, mask, 0) if needs[0] else None, gs, None]


masked_scatter_op = WriteOp("masked_scatter", _masked_scatter_write, _masked_scatter_vjp, samples=lambda make: [
    Sample(make(2, 3), make(4), tensor([[True, False, True], [False, True, False]])),
    Sample(make(2, 2), make(4), tensor([True, False]))])


def _check_masked_scatter(self, mask, source):
    if mask.dtype.kind != BOOL:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.name}")
    if source.dtype is not self.dtype:
        raise RuntimeError(f"masked_scatter_: expected self and source to have same dtypes but got {self.dtype.letter} and "
                           f"{source.dtype.letter}")
    n = int(np.count_nonzero(np.broadcast_to(mask._array, np.broadcast_shapes(mask._array.shape, self._array.shape))))
    if source.numel() < n:
        raise RuntimeError("Number of elements of source < number of ones in mask")


@function()
def masked_scatter(input, mask, source):
    """A copy of `input` whose elements where the mask is true are those of `source`, in order."""
    _check_masked_scatter(input, mask, source)
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    return apply(masked_scatter_op, (input.expand(shape), source, mask), {})


@method()
def masked_scatter_(self, mask, source):
    """`masked_scatter`, in place."""
    _check_masked_scatter(self, mask, source)
    return inplace(masked_scatter_op, self, (source, mask), {})


# ---- filling ---------------------------------------------------------------------------------------------------------
def _fill_write(a, value):
    a[...] = value
    return a


fill_op = WriteOp("fill", _fill_write, lambda g, _y, _x, _value, needs: [None, g.sum() if needs[1] else None],
                  samples=lambda make: [Sample(make(2, 3), make()), Sample(make(0), make())])


@method()
def fill_(self, value):
    """Write a number to every element."""
    if is_tensor(value):
        if value._array.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
        value = value.to(self.dtype)
    else:
        value = wrap(cast_number(value, self.dtype, "fill_"))
    return inplace(fill_op, self, (value,))


@function(method=False)
def fill(input, value):
    """A tensor of the shape of `input` with a number everywhere."""
    return input.clone().fill_(value)


@method()
def zero_(self):
    """Write zero to every element."""
    return fill_(self, 0)


FUNCTIONS["fill_"], FUNCTIONS["zero_"] = fill_, zero_


@method()
def fill_diagonal_(self, fill_value, wrap=False):
    """Write a number to the main diagonal; with `wrap` it starts again below a tall matrix's end."""
    n = self._array.ndim
    if n < 2:
        raise RuntimeError("dimensions must larger than 1")
    shape = self._array.shape
    if n > 2 and len(set(shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if n == 2 and wrap and shape[0] > shape[1] + 1:
        for top in range(0, shape[0], shape[1] + 1):
            self[top:].diagonal().fill_(fill_value)
        return self
    stride = sum(self.stride())
    self.as_strided((min(shape),), (stride,), self.storage_offset()).fill_(fill_value)
    return self


def one_hot(tensor, num_classes=-1):
    """Each class number as a vector that is one at that place and zero elsewhere.

    >>> import whet
    >>> whet.nn.functional.one_hot(whet.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    a = tensor._array
    if not a.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return zeros(*a.shape, num_classes, dtype=dtypes.int64)
    if a.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(a.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif a.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return zeros(*a.shape, num_classes, dtype=dtypes.int64).scatter(-1, tensor.unsqueeze(-1), 1)
