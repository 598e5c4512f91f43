"""Whole slices by a vector that names them: selected, added, copied, filled, combined."""
from functools import partial

import numpy as np

from ..cpu import gather as picks
from ..cpu import indexed
from ..dtypes import FLOAT
from ..ir.outline import Outline
from . import dims
from .advanced_indexing import add_at, in_bounds, index_op
from .argument_guards import check_text
from .batching import aligned, at_index, repeated
from .creation import empty_array
from .from_data import number, scalar_tensor
from .gather import WriteOp, along, check_index, longs, onto_zeros, places_of, writes
from .indexed_elements import Named, Written
from .onnx import gather_and_scatter as in_onnx
from .question_kernels import asked
from .registry import Op, apply, ask, is_tensor
from .sample_inputs import Sample
from .scatter import (
    check_ordered,
    combined,
    flat_for_write,
    reduce_into,
    reduced_by_kernels,
    scatter_reduce_vjp,
)
from .surface import function


def _put_slices(how):
    """Write or add slices by an index, with one kernel."""
    return lambda a, source, index, dim: a.ndim > 0 and picks.put(a, index, source, dim, how)


def _named(index, dim, error=IndexError, wraps=False):
    """The slices that a vector of indices names."""
    return Named((index.reshape(-1),), (dim,), wraps=wraps, error=error)


def _index_select(a, index, dim):
    if not a.ndim:
        in_bounds(index, 1, 0, negative=False)
        return a.copy()
    if index.ndim == 1 and picks.fits(a, index):
        out, fine = picks.rows(a, index, dim)
        if fine:
            return out
    i = in_bounds(index, a.shape[dim], dim, negative=False)
    shape = (*a.shape[:dim], i.size, *a.shape[dim + 1:])
    if not a.shape[dim]:
        return np.empty(shape, a.dtype)
    return a.take(i.reshape(-1), dim, out=empty_array(shape, a.dtype), mode="clip")


def _within(error=IndexError, negative=False):
    """The question whether an index of slices, of a batch, is within bounds."""
    def of(size, dim):
        @asked(lambda x, _: (x < (-size if negative else 0)) | (x >= size))
        def within(index):
            in_bounds(index, size, dim, negative=negative, error=error)
        return within
    return of


def _select_each(op, n, inputs, batched, attrs):
    x, index = inputs
    shape = x._array.shape[1:] if batched[0] else x._array.shape
    size = shape[attrs["dim"]] if shape else 1
    if shape and not batched[1]:
        return apply(op, inputs, {"dim": attrs["dim"] + 1})
    ask(_within()(size, attrs["dim"]), index)
    if not shape:
        return (x if batched[0] else repeated(x, n)).clone()
    return index_op.batch(n, (x, aligned(index, 1)), batched, {"dims": (attrs["dim"],)})


def _index_select_vjp(g, _y, _x, index, dim):
    if not _x.ndim:
        return [g.reshape(()), None]
    return [onto_zeros(index_add_op, tuple(_x.shape), g, index, {"dim": dim}), None]


index_select_op = Op(
    "index_select", _index_select, _index_select_vjp, samples=lambda make: [
        Sample(make(3, 2), longs([2, 0, 2]), dim=0),
        Sample(make(2, 3), longs([1]), dim=1),
        Sample(make(3), longs([]), dim=0)], linear=(0,), batch=_select_each, onnx=in_onnx.selected)
index_select_op.any_sizes = True
index_select_op.makes = lambda a, index, dim: (Outline(
    (*a.shape[:dim], index.size, *a.shape[dim + 1:]) if a.ndim else a.shape, a.dtype),)
index_select_op.is_repeatable = True
index_select_op.forward_without_numpy = lambda a, index, dim: indexed.picked_by(
    partial(indexed.of_slices, dim=dim), a, index)
index_select_op.gathered = lambda a, index, dim: (
    _named(index, dim) if a.ndim and index.ndim == 1 else None)
index_select_op.picks = lambda a, index, dim: (
    (dim, False, False) if a.ndim and index.ndim == 1 else None)


@function(out=True)
def index_select(input, dim, index):
    """The slices of a dimension that a 1-d index names.

    >>> import whet
    >>> whet.arange(4).index_select(0, whet.tensor([3, 0]))
    tensor([3, 0])
    """
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    check_index("index_select", index, "index_select(): Expected dtype int32 or int64 for index")
    d = dims.one(dim, input._array.ndim)
    if not input._array.ndim and index.numel() != 1:
        raise RuntimeError("index_select(): Index to scalar can have only 1 value, got "
                           f"{index.numel()} value(s)")
    return apply(index_select_op, (input, index), {"dim": d})


def _slices(a, index, dim, **kw):
    """The slices that an index names, which has to be within bounds."""
    return in_bounds(index.reshape(-1), a.shape[dim] if a.ndim else 1, dim, **kw)


def _index_add_write(a, source, index, dim):
    i = _slices(a, index, dim, negative=False, error=RuntimeError)
    if a.ndim:
        add_at(a, [i], source if source.ndim else source.reshape(1), (dim,))
    else:
        a += source.sum(dtype=a.dtype)
    return a


index_add_op = WriteOp(
    "index_add", _index_add_write, lambda g, _y, _x, _source, index, dim, needs: [
        g, index_select(g, dim, index).reshape(tuple(_source.shape)) if needs[1] else None, None],
    _put_slices("sum"), samples=lambda make: [
        Sample(make(3, 2), make(4, 2), longs([2, 0, 2, 1]), dim=0),
        Sample(make(2, 3), make(2, 1), longs([1]), dim=1),
        Sample(make(3), make(2), longs([1, 1]), dim=0)], linear=(0, 1),
    batch=at_index(_within(RuntimeError)), onnx=in_onnx.slices_added)
index_add_op.any_sizes = True
index_add_op.written = lambda a, source, index, dim: (
    Written(_named(index, dim, RuntimeError), source, "sum") if a.ndim and source.ndim else None)


def _sliced(op, self, dim, index, source, error=RuntimeError, mismatch=RuntimeError):
    """Check an index of slices and the source that goes with it: raise `error` for places that
    there are not, `mismatch` for a source of other sizes."""
    if index.ndim > 1:
        raise IndexError(f"{op}_(): Index should have dimension 1 or 0 (got {index.ndim})")
    check_index(op, index, f"{op}_(): Expected dtype int32/int64 for index")
    d = dims.one(dim, self._array.ndim)
    n = self._array.shape[d] if self._array.ndim else 1
    if source is not None:
        if source.dtype is not self.dtype:
            raise RuntimeError(
                f"{op}_(): self ({self.dtype.letter}) and source ({source.dtype.letter}) must "
                "have the same scalar type")
        if 0 < source._array.ndim <= d:
            raise mismatch(f"{op}_(): Indexing dim {d} is out of bounds of the source tensor with "
                           f"dim {source._array.ndim}")
        have = source._array.shape[d] if source._array.ndim else 1
        if have != index.numel():
            raise mismatch(
                f"{op}_(): Number of indices ({index.numel()}) should be equal to "
                f"source.size(dim): ({have}), for dim: {d}")
        if source._array.ndim and self._array.ndim:
            a, b = list(self._array.shape), list(source._array.shape)
            if len(a) != len(b):
                raise mismatch(f"{op}_(): When source and destination are not scalars, their "
                               f"dimensionality must match, but got {b} and {a}")
            if a[:d] + a[d + 1:] != b[:d] + b[d + 1:]:
                raise RuntimeError(
                    f"{op}_(): Source/destination tensor must have same slice shapes except the "
                    "specified dimension. Destination slice shape: "
                    f"{a} at dimension {d} and source slice shape: {b} at dimension {d}.")
    in_bounds(index._array, n, d, negative=op == "index_fill", error=error)
    return d


def _one_rank(op, self, source):
    if self.ndim != source.ndim:
        raise RuntimeError(
            f"{op}_(): source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}")


def _check_index_add(self, dim, index, source, *, alpha=1):
    """`source` (times alpha) added to the slices that a 1-d index names, in index order.

    >>> import whet
    >>> whet.zeros(3).index_add(0, whet.tensor([0, 0, 2]), whet.ones(3))
    tensor([2., 0., 1.])
    """
    d = _sliced("index_add", self, dim, index, source)
    _one_rank("index_add", self, source)
    if isinstance(alpha, float) and source.dtype.category < FLOAT:
        alpha = int(alpha)               # a number of the tensors' type
    return (source if alpha == 1 else source * alpha, index), {"dim": d}


index_add, index_add_ = writes(index_add_op, _check_index_add)


def _index_copy_write(a, source, index, dim):
    i = _slices(a, index, dim, negative=False)
    if a.ndim:
        a[along(i, dim)] = source
    elif source.size:
        a[...] = source.reshape(-1)[-1]
    return a


def _zeroed(g, index, dim):
    """The gradient with the named slices set to zero."""
    return apply(index_fill_op, (g, scalar_tensor(0, g.dtype), index), {"dim": dim})


index_copy_op = WriteOp(
    "index_copy", _index_copy_write, lambda g, _y, _x, _source, index, dim, needs: [
        _zeroed(g, index, dim) if needs[0] else None,
        index_select(g, dim, index).reshape(tuple(_source.shape)) if needs[1] else None, None],
    _put_slices("put"), samples=lambda make: [
        Sample(make(3, 2), make(2, 2), longs([2, 0]), dim=0),
        Sample(make(2, 3), make(2, 1), longs([1]), dim=1)], linear=(0, 1),
    batch=at_index(_within()), onnx=in_onnx.slices_copied)
index_copy_op.any_sizes = True
index_copy_op.written = lambda a, source, index, dim: (
    Written(_named(index, dim), source) if a.ndim else None)


def _check_index_copy(self, dim, index, source):
    """`source` written to the slices that a 1-d index names.

    >>> import whet
    >>> whet.zeros(3).index_copy(0, whet.tensor([0, 2]), whet.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
    d = _sliced("index_copy", self, dim, index, source, IndexError, IndexError)
    return (source, index), {"dim": d}


index_copy, index_copy_ = writes(index_copy_op, _check_index_copy)


def _index_fill_write(a, value, index, dim):
    i = _slices(a, index, dim)
    if a.ndim:
        a[along(i, dim)] = value
    elif index.size:
        a[...] = value
    return a


_filled_alike = at_index(_within(negative=True), slices=False)
_filled_apart = at_index(_within(negative=True))


def _fill_each(op, n, inputs, batched, attrs):
    """A number of each example's own is a slice that is copied."""
    x, value, index = inputs
    if not batched[1]:
        return _filled_alike(op, n, inputs, batched, attrs)
    shape = list(x._array.shape[1:] if batched[0] else x._array.shape) or [1]
    shape[attrs["dim"]] = index._array.size // (n if batched[2] else 1)
    value = value.reshape((n, *[1] * len(shape))).expand((n, *shape))
    if not batched[2]:
        index = repeated(index, n)
    return _filled_apart(index_copy_op, n, (x, value, index), (batched[0], True, True), attrs)


def _fill_without_numpy(a, value, index, dim):
    if not a.ndim or not isinstance(value, np.ndarray) or not indexed.suit(a, value, index):
        return False
    at = indexed.of_slices(a.shape, index, dim, wrap=True)
    return at is not None and combined(a, at, value, "put")


index_fill_op = WriteOp(
    "index_fill", _index_fill_write, lambda g, _y, _x, _value, index, dim, needs: [
        _zeroed(g, index, dim) if needs[0] else None,
        _unique_sum(g, index, dim) if needs[1] else None, None], samples=lambda make: [
            Sample(make(3, 2), make(), longs([2, 0]), dim=0),
            Sample(make(2, 3), make(), longs([1]), dim=1)], linear=(0, 1), batch=_fill_each,
    onnx=in_onnx.slices_filled)


index_fill_op.written = lambda a, value, index, dim: (
    Written(_named(index, dim, wraps=True), value) if a.ndim else None)
index_fill_op.write_without_numpy, index_fill_op.any_sizes = _fill_without_numpy, True


def _unique_sum(g, index, dim):
    return (g - _zeroed(g, index, dim)).sum()


def _check_index_fill(self, dim, index, value):
    """A number written to the slices that a 1-d index names.

    >>> import whet
    >>> whet.zeros(3).index_fill(0, whet.tensor([0, 2]), 7.)
    tensor([7., 0., 7.])
    """
    d = _sliced("index_fill", self, dim, index, None, IndexError)
    if is_tensor(value):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s).")
        value = value.to(self.dtype)
    else:
        value = number(value, self.dtype)
    return (value, index), {"dim": d}


index_fill, index_fill_ = writes(index_fill_op, _check_index_fill)


def _index_reduce_write(a, source, index, dim, reduce, include_self):
    i = _slices(a, index, dim, negative=False)
    shape = source.shape or (1,)
    at = places_of(np.broadcast_to(i.reshape((-1,) + (1,) * (len(shape) - 1 - dim)), shape),
                   a.shape or (1,),
                   dim)
    flat, same = flat_for_write(a)
    reduce_into(flat, at.reshape(-1), source.reshape(-1), reduce, include_self)
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _index_reduce_vjp(g, y, x, source, index, dim, reduce, include_self, needs):
    shape = tuple(source.shape) or (1,)
    full = index.reshape((-1,) + (1,) * (len(shape) - 1 - dim)).expand(shape)
    g1, y1, x1, s1 = [t if t.ndim else t.reshape(1) for t in (g, y, x, source)]
    gx, gs, _ = scatter_reduce_vjp(g1, y1, x1, s1, full, dim, reduce, include_self,
                                   (True, True, False))
    return [gx if x.ndim else gx.reshape(()), gs if source.ndim else gs.reshape(()), None]


def _index_reduce_without_numpy(a, source, index, dim, reduce, include_self):
    if not a.ndim or source.ndim != a.ndim or not indexed.suit(a, source, index):
        return False
    at = indexed.of_slices(a.shape, index, dim)
    return at is not None and combined(a, at, source, reduce, include_self)


index_reduce_op = WriteOp(
    "index_reduce", _index_reduce_write, _index_reduce_vjp, reduced_by_kernels(each=False),
    samples=lambda make: [
        Sample(make(3, 2), make(4, 2), longs([2, 0, 2, 1]), dim=0, reduce=r, include_self=k)
        for r in ("prod", "mean", "amax", "amin")
        for k in (True, False)], batch=at_index(_within()), onnx=in_onnx.slices_reduced)


index_reduce_op.written = lambda a, source, index, dim, reduce, include_self: (
    Written(_named(index, dim), source, reduce, include_self) if a.ndim == source.ndim > 0
    else None)
index_reduce_op.write_without_numpy = _index_reduce_without_numpy


def _check_index_reduce(self, dim, index, source, reduce, *, include_self=True):
    """`source` combined (prod, mean, amax, amin) into the slices that a 1-d index names.

    >>> import whet
    >>> whet.zeros(2).index_reduce(0, whet.tensor([0, 0]), whet.tensor([3., 5.]), "amax")
    tensor([5., 0.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        check_text("index_reduce", "reduce", reduce)
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}.")
    check_ordered("index_reduce", reduce, self)
    d = _sliced("index_reduce", self, dim, index, source, IndexError)
    _one_rank("index_reduce", self, source)
    index = index if index.ndim else index.reshape((1,))
    return (source, index), {"dim": d, "reduce": reduce, "include_self": bool(include_self)}


index_reduce, index_reduce_ = writes(index_reduce_op, _check_index_reduce)
