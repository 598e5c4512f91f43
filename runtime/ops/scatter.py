"""Scattering along one dimension. Sums at equal places are taken in the order of the index: the
same on every run."""
import builtins
from typing import Any, NamedTuple

import numpy as np

from ..cpu import gather as picks
from ..cpu import indexed
from ..cpu.duplicate_indices import COMBINATIONS
from ..dtypes import COMPLEX
from . import dims
from .advanced_indexing import in_bounds, scatter_rows
from .argument_guards import check_text
from .batching import aligned, all_batched, example_ndim, shifted
from .creation import zeros
from .from_data import number, scalar_tensor
from .gather import WriteOp, check_index, gather, longs, one_dim, places_of, writes
from .indexed_elements import Named, Written
from .onnx import gather_and_scatter as in_onnx
from .pad import pad_to
from .pointwise_family import inplace
from .registry import apply, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS, function, method


# ---- scatter -------------------------------------------------------------------------------------
def _crop(src, shape):
    return src if src.shape == shape else src[tuple([builtins.slice(0, n) for n in shape])]


def flat_for_write(a):
    """(a row-major 1-d form of `a`, whether writing to it writes to `a`)"""
    return ((a.reshape(-1), True) if a.flags.c_contiguous else
            (np.ascontiguousarray(a).reshape(-1), False))


def _put_each(how):
    """Write or add each element of a source by its own index, with one kernel."""
    def put(a, src, index, dim):
        fits = isinstance(src, np.ndarray) and src.ndim == a.ndim > 0
        return fits and picks.put(a, index, src, dim, how, each=True)
    return put


def _each_without_numpy(kind):
    """Put or combine each element by its own index, by launches alone."""
    def put(a, src, index, dim):
        if not a.ndim or not isinstance(src, np.ndarray) or not indexed.suit(a, src, index):
            return False
        at = indexed.of_elements(a.shape, index, dim)
        src = _crop(src, index.shape) if src.ndim else src
        return at is not None and combined(a, at, src, kind)
    return put


def combined(a, at, values, kind, include_self=True):
    """Put or combine values into places of an array. Was it done? Means of bools are NumPy's."""
    if COMBINATIONS[kind].divides and a.dtype == np.bool_:
        return False
    if kind == "put":
        indexed.put(a, at, values)
    else:
        indexed.reduce(a, at, values, kind, include_self)
    return True


def _elements(index, dim):
    """Each element by an index of its own."""
    return Named((index,), (dim,), each=True, error=RuntimeError)


def _scatter_write(a, src, index, dim):
    if not index.size:
        return a
    flat, same = flat_for_write(a)
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


scatter_op = WriteOp("scatter", _scatter_write, _scatter_vjp, _put_each("put"),
                     samples=_scatter_samples, linear=(0, 1), batch=_scatter_each,
                     onnx=in_onnx.scattered)
scatter_op.any_sizes = True
scatter_op.written = lambda a, src, index, dim: Written(_elements(index, dim), src)
scatter_op.write_without_numpy = _each_without_numpy("put")


def _scatter_add_write(a, src, index, dim):
    if not index.size:
        return a
    flat, same = flat_for_write(a)
    at = places_of(index, a.shape or (1,), dim).reshape(-1)
    values = _crop(src, index.shape).reshape(-1) if src.ndim else np.full(at.shape, src)
    scatter_rows(flat.reshape(-1, 1), at, np.ascontiguousarray(values).reshape(-1, 1))
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def _scatter_add_vjp(g, _y, _x, _src, index, dim, needs):
    return [g, _src_gradient(g, _src, index, dim) if needs[1] else None, None]


scatter_add_op = WriteOp("scatter_add", _scatter_add_write, _scatter_add_vjp, _put_each("sum"),
                         samples=_scatter_samples, linear=(0, 1), batch=shifted("dim"),
                         onnx=in_onnx.scatter_added)
scatter_add_op.any_sizes = True
scatter_add_op.written = lambda a, src, index, dim: Written(
    _elements(index, dim), src, "sum")
scatter_add_op.write_without_numpy = _each_without_numpy("sum")


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


def _alike(self, src, index):
    """A source and an index, as 1-d where one is 0-d beside another operand that is not."""
    n = max(x._array.ndim for x in (self, src, index))
    return one_dim(src, n), one_dim(index, n)


def _check_scatter(self, dim, index, src=None, *, value=None):
    """`src` (a tensor or a number) written at the places that `index` names along a dimension."""
    if src is None:
        src = value
    if src is None:
        raise TypeError("scatter() missing 1 required argument: 'src' or 'value'")
    d = _scatter_shape("scatter", self, dim, index, src)
    if not is_tensor(src):
        return (number(src, self.dtype), one_dim(index, self._array.ndim)), {"dim": d}
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return _alike(self, src, index), {"dim": d}


def _scatter_form(self, dim, index, src, reduce, value, *, in_place):
    if reduce is None:
        rest, attrs = _check_scatter(self, dim, index, src, value=value)
        return (inplace(scatter_op, self, rest, attrs) if in_place else apply(
            scatter_op, (self, *rest), attrs))
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    src = value if src is None else src
    if not is_tensor(src):
        src = FUNCTIONS["full"](index._array.shape, src, dtype=self.dtype, device=self.device)
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
    return _scatter_form(input, dim, index, src, reduce, value, in_place=False)


@method()
def scatter_(self, dim, index, src=None, *, reduce=None, value=None):
    """`scatter`, in place.

    >>> import whet
    >>> whet.zeros(3).scatter_(0, whet.tensor([2]), 7.)
    tensor([0., 0., 7.])
    """
    return _scatter_form(self, dim, index, src, reduce, value, in_place=True)


def _check_scatter_add(self, dim, index, src):
    """`src` added at the places that `index` names along a dimension, in index order.

    >>> import whet
    >>> whet.zeros(3).scatter_add(0, whet.tensor([0, 0, 2]), whet.ones(3))
    tensor([2., 0., 1.])
    """
    d = _scatter_shape("scatter_add", self, dim, index, src)
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter_add(): Expected self.dtype to be equal to src.dtype")
    return _alike(self, src, index), {"dim": d}


scatter_add, scatter_add_ = writes(scatter_add_op, _check_scatter_add)


# ---- reductions into places ----------------------------------------------------------------------
def reduce_into(flat, at, values, kind, include_self):
    """Combine values[k] into flat[at[k]], in the order of k."""
    how = COMBINATIONS[kind]
    half = indexed.wider(flat.dtype) != flat.dtype
    work = flat.astype(np.float32) if half else flat
    values = np.ascontiguousarray(values).astype(work.dtype, copy=False)
    touched = np.zeros(work.shape, bool)
    touched[at] = True
    if not include_self:
        work[touched] = how.start(work.dtype)
    with np.errstate(all="ignore"):
        how.ufunc.at(work, at, values)
        if how.divides:
            count = np.bincount(at, minlength=work.size)[touched] + include_self
            work[touched] = (work[touched] // count if work.dtype.kind in "iu" else work[touched]
                             / count).astype(work.dtype)
    if half:
        flat[...] = work.astype(flat.dtype)


def _scatter_reduce_write(a, src, index, dim, reduce, include_self):
    if not index.size:
        return a
    flat, same = flat_for_write(a)
    reduce_into(flat,
                 places_of(index, a.shape or (1,), dim).reshape(-1),
                 _crop(src, index.shape).reshape(-1), reduce, include_self)
    if not same:
        a[...] = flat.reshape(a.shape)
    return a


def reduced_by_kernels(each):
    """Combine elements (`each`), or slices, by their indices, with the kernels of takes."""
    def put(a, src, index, dim, reduce, include_self):
        start = None if include_self else COMBINATIONS[reduce].start(a.dtype)
        return a.ndim > 0 and index.size > 0 and indexed.reduce_along(
            a, index, dim, src, reduce, start, each)
    return put


def scatter_reduce_vjp(g, y, x, src, index, dim, reduce, include_self, needs):
    used = tuple(index.shape)
    part = src if tuple(src.shape) == used else src[tuple([builtins.slice(0, n) for n in used])]
    gx, gs = _GRADIENTS[reduce](CombiningCall(g, y, x, part, index, dim, include_self))
    if not include_self:         # what is left of `x` is what no index names
        gx = g * _like("ones", x).scatter(dim, index, 0.0)
    if tuple(gs.shape) != tuple(src.shape):
        gs = pad_to(gs, tuple(src.shape))
    return [gx if needs[0] else None, gs if needs[1] else None, None]


def _like(what, x):
    """Zeros or ones of a tensor's sizes."""
    return FUNCTIONS[f"{what}_like"](x)


class CombiningCall(NamedTuple):
    """A call that combined `src` into places of `x`: its result `y`, whose gradient is `g`."""
    g: Any
    y: Any
    x: Any
    src: Any
    index: Any
    dim: int
    include_self: bool

    def spread(self, t):
        """For each element of the source what `t` has at its place."""
        return gather(t, self.dim, self.index)

    def collected(self, t):
        """For each place the sum of what `t` has for elements of the source."""
        start = zeros(tuple(self.x.shape), dtype=self.g.dtype, device=self.g.device)
        return start.scatter_add(self.dim, self.index, t)


# Gradients of a call's `x` (as if it took part) and of its source, for each way to combine.
def _sum_gradients(c):
    return c.g, c.spread(c.g)


def _mean_gradients(c):
    n = c.collected(_like("ones", c.src)) + (1 if c.include_self else 0)
    n = FUNCTIONS["where"](n == 0, _like("ones", n), n)
    return c.g / n, c.spread(c.g / n)


def _prod_gradients(c):
    """The product of the other factors: y / src without zeros."""
    where, g, x, src = FUNCTIONS["where"], c.g, c.x, c.src
    is_zero = src == 0
    safe = where(is_zero, _like("ones", src), src)
    base = where(x == 0, _like("ones", x), x) if c.include_self else _like("ones", x)
    others = g * _product_into(base, safe, c.collected)
    none = _like("zeros", src)
    zero, own = is_zero.to(g.dtype), where(is_zero, src, none)
    no_self = _like("zeros", x)
    zero_self = (x == 0).to(g.dtype) if c.include_self else no_self
    own_self = where(x == 0, x, no_self) if c.include_self else no_self
    count, small = c.collected(zero) + zero_self, c.collected(own) + own_self
    gx = _times_zeros(others / base, count - zero_self, small - own_self)
    gs = _times_zeros(c.spread(others) / safe, c.spread(count) - zero, c.spread(small) - own)
    return gx, gs


def _times_zeros(product, count, total):
    """A product times `count` zeros more, whose sum is `total`: one zero is its own sum, by which
    a second derivative finds it; the slope by any of several zeros is none."""
    where, none = FUNCTIONS["where"], _like("zeros", product)
    return where(count == 0, product, where(count == 1, product * total, none))


def _extremum_gradients(c):
    """What equals the extremum shares its gradient."""
    g = c.g
    hit = (c.src == c.spread(c.y)).to(g.dtype)
    self_hit = (c.x == c.y).to(g.dtype) if c.include_self else _like("zeros", c.x)
    share = c.collected(hit) + self_hit
    share = FUNCTIONS["where"](share == 0, _like("ones", share), share)
    return g * self_hit / share, c.spread(g / share) * hit


_GRADIENTS = {"sum": _sum_gradients, "mean": _mean_gradients, "prod": _prod_gradients,
              "amax": _extremum_gradients, "amin": _extremum_gradients}


def _product_into(base, safe, collected):
    """The product of base and everything scattered to it, for factors without zeros: through sums
    of logarithms of absolute values the derivative of any order is right; the value's sign is that
    of the count of negative factors."""
    sign = 1 - 2 * ((collected((safe < 0).to(base.dtype)) + (base < 0).to(base.dtype)) % 2)
    return sign * (collected(safe.abs().log()) + base.abs().log()).exp()


def _reduce_samples(make):
    for kind in _GRADIENTS:
        for include in (True, False):
            yield Sample(make(2, 3), make(2, 3), longs([[0, 1, 1], [0, 0, 1]]), dim=0, reduce=kind,
                         include_self=include)


def _scatter_reduce_without_numpy(a, src, index, dim, reduce, include_self):
    if not a.ndim or not indexed.suit(a, src, index):
        return False
    at = indexed.of_elements(a.shape, index, dim)
    return at is not None and combined(a, at, _crop(src, index.shape), reduce, include_self)


scatter_reduce_op = WriteOp("scatter_reduce", _scatter_reduce_write, scatter_reduce_vjp,
                            reduced_by_kernels(each=True), samples=_reduce_samples,
                            batch=shifted("dim"),
                            onnx=in_onnx.scatter_reduced)


scatter_reduce_op.written = lambda a, src, index, dim, reduce, include_self: Written(
    _elements(index, dim), src, reduce, include_self)
scatter_reduce_op.write_without_numpy = _scatter_reduce_without_numpy
scatter_reduce_op.any_sizes = True


def check_ordered(name, reduce, x):
    """Raise where elements are to be compared that have no order."""
    if reduce in ("amax", "amin") and x.dtype.category == COMPLEX:
        raise NotImplementedError(
            f"\"{name}\" with {reduce} not implemented for '{x.dtype.letter}'")


def _check_scatter_reduce(self, dim, index, src, reduce, *, include_self=True):
    """`src` combined (sum, prod, mean, amax, amin) into the places that `index` names along a
    dimension.

    >>> import whet
    >>> whet.zeros(2).scatter_reduce(0, whet.tensor([0, 0]), whet.tensor([3., 5.]), "amax")
    tensor([5., 0.])
    """
    if reduce not in _GRADIENTS:
        check_text("scatter_reduce", "reduce", reduce)
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    check_ordered("scatter_reduce", reduce, self)
    d = _scatter_shape("scatter_reduce", self, dim, index, src)
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter_reduce(): Expected self.dtype to be equal to src.dtype")
    return (_alike(self, src, index),
            {"dim": d, "reduce": reduce, "include_self": bool(include_self)})


scatter_reduce, scatter_reduce_ = writes(scatter_reduce_op, _check_scatter_reduce)
