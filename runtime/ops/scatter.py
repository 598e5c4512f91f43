"""Scattering along one dimension. Sums at equal places are taken in the order of the index: the
same on every run."""
import builtins

import numpy as np

from ..cpu import take as picks
from ..dtypes import BOOL, FLOAT, FROM_NUMPY
from . import dims
from . import onnx_places as in_onnx
from .batching import aligned, all_batched, at_index, example_ndim, repeated, shifted
from .creation import empty_array, zeros
from .from_data import number, scalar_tensor
from .gather import WriteOp, along, check_index, gather, longs, places_of, writes
from .index_ops import add_at, in_bounds, index_op, scatter_rows
from .pad import pad_to
from .pointwise_family import inplace
from .registry import Op, apply, ask, asked, is_tensor
from .samples import Sample
from .surface import FUNCTIONS, function, method


# ---- scatter -------------------------------------------------------------------------------------
def _crop(src, shape):
    return src if src.shape == shape else src[tuple([builtins.slice(0, n) for n in shape])]


def _flat_for_write(a):
    """(a row-major 1-d form of `a`, whether writing to it writes to `a`)"""
    return ((a.reshape(-1), True) if a.flags.c_contiguous else
            (np.ascontiguousarray(a).reshape(-1), False))


def _put_each(add):
    """Write or add each element of a source by its own index, with one kernel."""
    return lambda a, src, index, dim: isinstance(src, np.ndarray) and src.ndim == a.ndim > 0 and picks.put(a, index, src, dim, add, each=True)


def _put_slices(add):
    """Write or add slices by an index, with one kernel."""
    return lambda a, source, index, dim: a.ndim > 0 and picks.put(a, index, source, dim, add)


def _scatter_write(a, src, index, dim):
    if not index.size:
        return a
    flat, same = _flat_for_write(a)
    at = places_of(index, a.shape or (1,), dim)
    flat[at] = _crop(src, index.shape) if isinstance(src, np.ndarray) and src.ndim else src
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _scatter_vjp(g, _y, _x, _src, index, dim, needs):
    gx = (apply(scatter_op,
                (g, scalar_tensor(0, g.dtype), index), {"dim": dim}) if needs[0] else None)
    return [gx, _src_gradient(g, _src, index, dim) if needs[1] else None, None]


def _src_gradient(g, _src, index, dim):
    """What flows to a source of which the first index.shape elements were used."""
    if not _src.ndim and g.ndim:
        return gather(g, dim, index).sum()
    r = gather(g, dim, index)
    if tuple(_src.shape) != tuple(r.shape):
        r = pad_to(r, tuple(_src.shape))
    return r


_scatter_cases = [((2, 3), (2, 3), [[0, 1, 1], [1, 0, 0]], 0),
                  ((3, 4), (2, 2), [[3, 1], [0, 1]], 1), ((3,), (2,), [2, 0], 0)]


def _scatter_samples(make):
    for shape, src, index, dim in _scatter_cases:
        yield Sample(make(*shape), make(*src), longs(index), dim=dim)


_elements_each = shifted("dim")


def _scatter_each(op, n, inputs, batched, attrs):
    """One number for all places stays one, or is put to each place of its example."""
    x, src, index = inputs
    if not example_ndim(x, batched[0]) or example_ndim(src, batched[1]):
        return _elements_each(op, n, inputs, batched, attrs)
    x, _, index = all_batched(n, inputs, batched)
    src = aligned(src, index._array.ndim - 1).expand(index._array.shape) if batched[1] else src
    return apply(op, (x, src, index), {"dim": attrs["dim"] + 1})


scatter_op = WriteOp("scatter", _scatter_write, _scatter_vjp, _put_each(False),
                     samples=_scatter_samples, linear=(0, 1), batch=_scatter_each,
                     onnx=in_onnx.scattered)
scatter_op.any_sizes = True


def _scatter_add_write(a, src, index, dim):
    if not index.size:
        return a
    flat, same = _flat_for_write(a)
    at = places_of(index, a.shape or (1,), dim).reshape(-1)
    values = _crop(src, index.shape).reshape(-1) if src.ndim else np.full(at.shape, src)
    scatter_rows(flat.reshape(-1, 1), at, np.ascontiguousarray(values).reshape(-1, 1))
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _scatter_add_vjp(g, _y, _x, _src, index, dim, needs):
    return [g, _src_gradient(g, _src, index, dim) if needs[1] else None, None]


scatter_add_op = WriteOp("scatter_add", _scatter_add_write, _scatter_add_vjp, _put_each(True),
                         samples=_scatter_samples, linear=(0, 1), batch=shifted("dim"),
                         onnx=in_onnx.scatter_added)
scatter_add_op.any_sizes = True


def _scatter_shape(op, self, dim, index, src):
    if not is_tensor(index) or index._array.size:        # one of no elements may have any type
        check_index(op, index)
    n = self._array.ndim
    d = dims.one(dim, n)
    shapes = [x._array.shape for x in (self, index, src if is_tensor(src) else index)]
    if index._array.size:
        if max(len(shapes[1]), 1) != max(n, 1) or max(len(shapes[2]), 1) != max(n, 1):
            other = "self" if max(len(shapes[1]), 1) != max(n, 1) else "src"
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {other} tensor")
        a, i, v = [s_ or (1,) for s_ in shapes]
        if (any(k != d and i[k] > a[k] for k in range(len(i)))
                or any(i[k] > v[k] for k in range(len(i)))):
            raise RuntimeError(
                f"{op}(): Expected index {list(shapes[1])} to be no larger than self "
                f"{list(shapes[0])} apart from dimension {d} and to be no larger size than src "
                f"{list(shapes[2])}")
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
        src = number(src, self.dtype)
    elif src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    else:
        src = _one_dim(src, self._array.ndim)
    return (src, _one_dim(index, self._array.ndim)), {"dim": d}


def _scatter_form(self, dim, index, src, reduce, value, in_place):
    if reduce is None:
        rest, attrs = _check_scatter(self, dim, index, src, value=value)
        return (inplace(scatter_op, self, rest, attrs) if in_place else apply(
            scatter_op, (self, *rest), attrs))
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    src = value if src is None else src
    if not is_tensor(src):
        src = FUNCTIONS["full"](index._array.shape, src, dtype=self.dtype)
    kind = "sum" if reduce == "add" else "prod"
    return (scatter_reduce_ if in_place else scatter_reduce)(self, dim, index, src, kind)


@function(out=True)
def scatter(input, dim, index, src=None, *, reduce=None, value=None):
    """A copy of `input` with `src` (a tensor or a number) at the places that `index` names along a
    dimension.

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


# ---- reductions into places ----------------------------------------------------------------------
_COMBINE = {
    "sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "mean": np.add}


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
            work[touched] = (work[touched] // count if work.dtype.kind in "iu" else work[touched]
                             / count).astype(work.dtype)
    if half:
        flat[...] = work.astype(flat.dtype)


def _scatter_reduce_write(a, src, index, dim, reduce, include_self):
    if not index.size:
        return a
    flat, same = _flat_for_write(a)
    _reduce_into(flat,
                 places_of(index, a.shape or (1,), dim).reshape(-1),
                 _crop(src, index.shape).reshape(-1), reduce, include_self)
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
        base = (where(x == 0, FUNCTIONS["ones_like"](x), x)
                if include_self else FUNCTIONS["ones_like"](x))
        others = _product_into(base, safe, spread, collected)
        gx = where(count - mine == 0, g * others / base, FUNCTIONS["zeros_like"](g))
        gs = where(
            spread(count) - zero == 0, spread(g * others) / safe, FUNCTIONS["zeros_like"](src))
        return gx, gs
    hit = (src == spread(y)).to(g.dtype)
    self_hit = (x == y).to(g.dtype) if include_self else FUNCTIONS["zeros_like"](x)
    share = collected(hit) + self_hit
    share = where(share == 0, FUNCTIONS["ones_like"](share), share)
    return g * self_hit / share, spread(g / share) * hit


def _product_into(base, safe, spread, collected):
    """The product of base and everything scattered to it, for factors without zeros: through sums
    of logarithms of absolute values the derivative of any order is right; the value's sign is that
    of the count of negative factors."""
    sign = 1 - 2 * ((collected((safe < 0).to(base.dtype)) + (base < 0).to(base.dtype)) % 2)
    return sign * (collected(safe.abs().log()) + base.abs().log()).exp()


def _reduce_samples(make):
    for kind in ("sum", "mean", "prod", "amax", "amin"):
        for include in (True, False):
            yield Sample(make(2, 3), make(2, 3), longs([[0, 1, 1], [0, 0, 1]]), dim=0, reduce=kind,
                         include_self=include)


scatter_reduce_op = WriteOp("scatter_reduce", _scatter_reduce_write, _scatter_reduce_vjp,
                            samples=_reduce_samples, batch=shifted("dim"),
                            onnx=in_onnx.scatter_reduced)


def _check_scatter_reduce(self, dim, index, src, reduce, *, include_self=True):
    """`src` combined (sum, prod, mean, amax, amin) into the places that `index` names along a
    dimension."""
    if reduce not in _COMBINE:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d = _scatter_shape("scatter_reduce", self, dim, index, src)
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter_reduce(): Expected self.dtype to be equal to src.dtype")
    n = self._array.ndim
    return ((_one_dim(src, n), _one_dim(index, n)),
            {"dim": d, "reduce": reduce, "include_self": bool(include_self)})


scatter_reduce, scatter_reduce_ = writes(scatter_reduce_op, _check_scatter_reduce)


# ---- whole slices by a 1-d index -----------------------------------------------------------------
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
    return [
        apply(index_add_op, (zeros(tuple(_x.shape), dtype=g.dtype), g, index), {"dim": dim}), None]


index_select_op = Op(
    "index_select", _index_select, _index_select_vjp, samples=lambda make: [
        Sample(make(3, 2), longs([2, 0, 2]), dim=0),
        Sample(make(2, 3), longs([1]), dim=1),
        Sample(make(3), longs([]), dim=0)], linear=(0,), batch=_select_each, onnx=in_onnx.selected)
index_select_op.any_sizes = True
index_select_op.memo = True
index_select_op.picks = lambda a, index, dim: (dim, False, False) if a.ndim and index.ndim == 1 else None


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
    _put_slices(True), samples=lambda make: [
        Sample(make(3, 2), make(4, 2), longs([2, 0, 2, 1]), dim=0),
        Sample(make(2, 3), make(2, 1), longs([1]), dim=1),
        Sample(make(3), make(2), longs([1, 1]), dim=0)], linear=(0, 1),
    batch=at_index(_within(RuntimeError)), onnx=in_onnx.slices_added)
index_add_op.any_sizes = True


def _sliced(op, self, dim, index, source, error=RuntimeError):
    """Check an index of slices and the source that goes with it."""
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
        have = source._array.shape[d] if source._array.ndim else 1
        if have != index.numel():
            raise RuntimeError(
                f"{op}_(): Number of indices ({index.numel()}) should be equal to "
                f"source.size(dim): ({have}), for dim: {d}")
        if source._array.ndim and self._array.ndim:
            a, b = list(self._array.shape), list(source._array.shape)
            if len(a) != len(b) or a[:d] + a[d + 1:] != b[:d] + b[d + 1:]:
                raise RuntimeError(
                    f"{op}_(): Source/destination tensor must have same slice shapes except the "
                    "specified dimension. Destination slice shape: "
                    f"{a} at dimension {d} and source slice shape: {b} at dimension {d}.")
    in_bounds(index._array, n, d, negative=op == "index_fill", error=error)
    return d


def _check_index_add(self, dim, index, source, *, alpha=1):
    """`source` (times alpha) added to the slices that a 1-d index names, in index order."""
    d = _sliced("index_add", self, dim, index, source)
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
    _put_slices(False), samples=lambda make: [
        Sample(make(3, 2), make(2, 2), longs([2, 0]), dim=0),
        Sample(make(2, 3), make(2, 1), longs([1]), dim=1)], linear=(0, 1),
    batch=at_index(_within()), onnx=in_onnx.slices_copied)
index_copy_op.any_sizes = True


def _check_index_copy(self, dim, index, source):
    """`source` written to the slices that a 1-d index names."""
    return (source, index), {"dim": _sliced("index_copy", self, dim, index, source, IndexError)}


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


index_fill_op = WriteOp(
    "index_fill", _index_fill_write, lambda g, _y, _x, _value, index, dim, needs: [
        _zeroed(g, index, dim) if needs[0] else None,
        _unique_sum(g, index, dim) if needs[1] else None, None], samples=lambda make: [
            Sample(make(3, 2), make(), longs([2, 0]), dim=0),
            Sample(make(2, 3), make(), longs([1]), dim=1)], linear=(0, 1), batch=_fill_each,
    onnx=in_onnx.slices_filled)


def _unique_sum(g, index, dim):
    return (g - _zeroed(g, index, dim)).sum()


def _check_index_fill(self, dim, index, value):
    """A number written to the slices that a 1-d index names."""
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
    flat, same = _flat_for_write(a)
    _reduce_into(flat, at.reshape(-1), source.reshape(-1), reduce, include_self)
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _index_reduce_vjp(g, y, x, source, index, dim, reduce, include_self, needs):
    shape = tuple(source.shape) or (1,)
    full = index.reshape((-1,) + (1,) * (len(shape) - 1 - dim)).expand(shape)
    flat = [t if t.ndim else t.reshape(1) for t in (g, y, x, source)]
    gx, gs, _ = _scatter_reduce_vjp(*flat, full, dim, reduce, include_self, (True, True, False))
    return [gx if x.ndim else gx.reshape(()), gs if source.ndim else gs.reshape(()), None]


index_reduce_op = WriteOp(
    "index_reduce", _index_reduce_write, _index_reduce_vjp, samples=lambda make: [
        Sample(make(3, 2), make(4, 2), longs([2, 0, 2, 1]), dim=0, reduce=r, include_self=k)
        for r in ("prod", "mean", "amax", "amin")
        for k in (True, False)], batch=at_index(_within()), onnx=in_onnx.slices_reduced)


def _check_index_reduce(self, dim, index, source, reduce, *, include_self=True):
    """`source` combined (prod, mean, amax, amin) into the slices that a 1-d index names."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}.")
    d = _sliced("index_reduce", self, dim, index, source, IndexError)
    return (source, index), {"dim": d, "reduce": reduce, "include_self": bool(include_self)}


index_reduce, index_reduce_ = writes(index_reduce_op, _check_index_reduce)
