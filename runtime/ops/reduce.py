"""Reductions: sums, products, extrema and their places, truth."""
import builtins
import math

from .. import dtypes, return_types
from ..cpu import memory, pointwise, taped_launches
from ..cpu import reduce as kernels
from ..dtypes import COMPLEX, FLOAT
from ..ir import scalar as s
from ..size_arguments import sizes
from . import dims
from .argument_errors import checked_input
from .autocast_to_float32 import precise
from .number_questions import has_zero
from .onnx import shapes as in_onnx
from .out_types import OutType
from .registry import Op, apply, ask, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS, function
from .view import expand_op
from .view_parts import slice_along


def _samples(make):
    yield Sample(make(3, 4, 5), dim=None, keepdim=False)
    yield Sample(make(3, 4, 5), dim=(1,), keepdim=False)
    yield Sample(make(3, 4, 5), dim=(0, 2), keepdim=True)
    yield Sample(make(7), dim=(0,), keepdim=False)
    yield Sample(make(), dim=None, keepdim=False)
    yield Sample(make(2, 70, 33), dim=(1,), keepdim=False)


def samples_along_one_dim(make):
    yield Sample(make(3, 4, 5), dim=1)
    yield Sample(make(3, 4, 5), dim=2)
    yield Sample(make(7), dim=0)
    yield Sample(make(40, 3), dim=0)


def restore(g, shape, dim, keepdim):
    """A reduction's gradient at the shape of its input."""
    if not keepdim and dim is not None:
        g = g.reshape(dims.with_ones(shape, dim))
    return apply(expand_op, (g,), {"size": shape})


class ReduceOp(Op):
    """A reduction by a kernel of `cpu.reduce`; `dim` is a tuple of axes or None for all."""
    family = "reduce"
    is_repeatable = any_sizes = True

    def __init__(self, name, kind=None, *, pre=None, **kw):
        self.kind, self.pre = kind or name, pre
        super().__init__(name, samples=kw.pop("samples", _samples), **kw)

    def forward(self, x, *, dim, keepdim, dtype=None):
        return kernels.reduce(self.kind, x, dim, keepdim, dtype and dtype.np, self.pre)

    def on_device(self, arrays, attrs, index):
        """The row program, lowered for the device."""
        from ..cuda import rows
        return rows.of_op(self, arrays, attrs, index)[0]

    def batch(self, n, inputs, batched, attrs):
        """The op over the same axes, each counted one further: a batch lies in front."""
        return reduced_apart(self, *inputs, attrs)

    def onnx(self, b, x, *, dim, keepdim, dtype=None):
        """An operator, after the expression that comes before it."""
        return b.reduction(self.kind, self.pre, x, dim, keepdim)

    def as_rows(self, x, *, dim, keepdim, dtype=None):
        """(the row program that a call is, its operands, its axes)"""
        axes = tuple(range(x.ndim)) if dim is None else dim
        program = kernels.reduction_program(self.kind,
                                            kernels.NAMES[x.dtype],
                                            dtype and dtype.short,
                                            self.pre)
        scalars = kernels.KINDS[self.kind].scalars(float(math.prod(x.shape[a] for a in axes)))
        return program, (x, *scalars), axes


def reduced_apart(op, x, attrs):
    """A reduction of each of the examples that lie along the first dimension."""
    dim, ndim = attrs["dim"], x._array.ndim
    # examples of one number: there must be something to reduce
    if ndim == 1:
        return apply(op, (x.unsqueeze(1),),
                     {**attrs, "dim": 1 if isinstance(dim, int) else (1,), "keepdim": False})
    axes = (tuple(range(1, ndim)) if dim is None else dim
            + 1 if isinstance(dim, int) else tuple([d + 1 for d in dim]))
    return apply(op, (x,), {**attrs, "dim": axes})


def _sum_vjp(g, _y, _x, *, dim, keepdim, dtype=None):
    return [restore(g, _x.shape, dim, keepdim)]


def _mean_vjp(g, _y, _x, *, dim, keepdim, dtype=None):
    return [restore(g / dims.count(_x.shape, dim), _x.shape, dim, keepdim)]


def extremum_vjp(g, y, x, *, dim, keepdim, dtype=None):
    """The gradient of a reduction that chooses an element: all that equal it share it."""
    y, g = restore(y, x.shape, dim, keepdim), restore(g, x.shape, dim, keepdim)
    mask = (x == y) | ((x != x) & (y != y))
    share = mask.sum(dim=None if dim is None else list(dim), keepdim=True).to(x.dtype)
    # chosen, not multiplied: an infinite gradient makes no other one nan
    return [FUNCTIONS["where"](mask, g / share, 0.0)]


def _prod_vjp(g, y, x, *, dim, keepdim, dtype=None):
    full_g = restore(g, x.shape, dim, keepdim)
    if not ask(has_zero, x):
        share = restore(y, x.shape, dim, keepdim) / x
        return [full_g * (share.conj() if x.dtype.category == COMPLEX else share)]
    x = x.conj() if x.dtype.category == COMPLEX else x
    if dim is None:
        return [(g * _others(x.reshape(-1), 0)).reshape(x.shape)]
    return [full_g * _others(x, dim[0])]


def _others(x, dim):
    """For each element the product of all others along `dim`."""
    return products_before(x, dim) * products_before(x.flip(dim), dim).flip(dim)


def products_before(x, dim):
    """For each element the product of those before it along `dim`."""
    one = FUNCTIONS["ones_like"](slice_along(x, dim, None, 1))
    return FUNCTIONS["cat"]([one, slice_along(x, dim, None, -1)], dim).cumprod(dim)


def _prod_samples(make):
    for q in _samples(make):
        if q.kwargs["dim"] is None or len(q.kwargs["dim"]) == 1:
            yield q


sum_op = ReduceOp("sum", vjp=_sum_vjp, linear=(0,))
mean_op = ReduceOp("mean", vjp=_mean_vjp, linear=(0,))
prod_op = ReduceOp("prod", vjp=_prod_vjp, samples=_prod_samples)
amax_op = ReduceOp("amax", "max", vjp=extremum_vjp)
amin_op = ReduceOp("amin", "min", vjp=extremum_vjp)
any_op = ReduceOp("any")
all_op = ReduceOp("all")
nansum_op = ReduceOp(
    "nansum", "sum", pre=s.where(s.isnan(s.arg(0)), 0, s.arg(0)),
    vjp=lambda g, _y, x, *, dim, keepdim, dtype=None: [
        restore(g, x.shape, dim, keepdim) * (x == x)])
sum_squares_op = ReduceOp(
    "sum_squares", "sum", pre=s.arg(0) * s.arg(0),
    vjp=lambda g, _y, x, *, dim, keepdim, dtype=None: [restore(g, x.shape, dim, keepdim) * (2 * x)])
sum_abs_op = ReduceOp(
    "sum_abs", "sum", pre=s.absolute(s.arg(0)), vjp=lambda g, _y, x, *, dim, keepdim, dtype=None: [
        restore(g, x.shape, dim, keepdim) * x.sign()])
count_op = ReduceOp("count_nonzero", "sum", pre=s.cast(s.ne(s.arg(0), 0), "i64"))


class _SquaresOfEach(Op):
    """The sum of squares of each of several tensors of one type, in a vector."""
    family = "reductions"
    is_repeatable = any_sizes = True

    def forward(self, *arrays):
        out = memory.empty((len(arrays),), arrays[0].dtype)
        for i, x in enumerate(arrays):
            total = taped_launches.partial(sum_squares_op.forward(x, dim=None, keepdim=False))
            pointwise.move(out[i:i + 1], total.reshape(1))
        return out

    def batch(self, n, inputs, batched, attrs):
        """The sums of each example."""
        sums = [reduced_apart(sum_squares_op, x, {"dim": None, "keepdim": False}) if b
                else apply(sum_squares_op, (x,), {"dim": None, "keepdim": False}).expand(n)
                for x, b in zip(inputs, batched, strict=True)]
        return FUNCTIONS["stack"](sums, 1)

    def onnx(self, b, *xs):
        """A sum for each, joined."""
        sums = [b.reduction("sum", sum_squares_op.pre, x, None, False) for x in xs]
        return in_onnx.stacked(b, *sums, dim=0)


squares_of_each = _SquaresOfEach(
    "squares_of_each",
    vjp=lambda g, _y, *xs: [restore(g[i], x.shape, None, False) * (2 * x)
                            for i, x in enumerate(xs)],
    samples=lambda make: [Sample(make(3, 4), make(5), make()), Sample(make(70, 33))])


class _PlaceOfExtremum(Op):
    """The place of the first extremum: along one axis, or among all elements where `dim` is
    None."""
    family = "reduce"
    is_repeatable = any_sizes = True

    def __init__(self, name):
        super().__init__(
            name,
            samples=lambda make:
            [Sample(make(3, 4), dim=1, keepdim=False), Sample(make(3, 4), dim=None, keepdim=False)])

    def forward(self, x, *, dim, keepdim):
        return kernels.reduce(self.name, x, None if dim is None else (dim,), keepdim)

    on_device = ReduceOp.on_device

    def batch(self, n, inputs, batched, attrs):
        x, = inputs
        if attrs["dim"] is None:
            return apply(self, (x.reshape((n, -1)),), {"dim": 1, "keepdim": False})
        return reduced_apart(self, x, attrs)

    def onnx(self, b, x, *, dim, keepdim):
        """`ArgMax` or `ArgMin`."""
        x = b.flat(x) if dim is None else x
        return b.place(self.name == "argmax", x, dim or 0, keepdim)

    def as_rows(self, x, *, dim, keepdim):
        return (kernels.reduction_program(self.name, kernels.NAMES[x.dtype]), (x,),
                tuple(range(x.ndim)) if dim is None else (dim,))


argmax_op, argmin_op = _PlaceOfExtremum("argmax"), _PlaceOfExtremum("argmin")


class _ExtremumWithPlace(Op):
    """(values, indices) of the extremum along one axis."""
    family = "reduce"
    is_repeatable = any_sizes = True

    def __init__(self, name, kind):
        self.kind = kind
        super().__init__(
            name, vjp=_select_vjp, nondiff_outputs=(1,), samples=lambda make: [
                Sample(make(3, 4), dim=1, keepdim=False),
                Sample(make(5), dim=0, keepdim=True)])

    def forward(self, x, *, dim, keepdim):
        v, i = kernels.reduce(self.kind, x, (dim,) if x.ndim else None, keepdim)
        return v, i

    def on_device(self, arrays, attrs, index):
        """Both from one row program."""
        from ..cuda import rows
        return tuple(rows.of_op(self, arrays, attrs, index))

    def onnx(self, b, x, *, dim, keepdim):
        """Two operators."""
        if not x.ndim:
            return x, b.number(0, "i64")
        largest = self.kind == "max_index"
        value = b.reduction("max" if largest else "min", None, x, (dim,), keepdim)
        return value, b.place(largest, x, dim, keepdim)

    def batch(self, n, inputs, batched, attrs):
        return reduced_apart(self, *inputs, attrs)

    def as_rows(self, x, *, dim, keepdim):
        return kernels.reduction_program(self.kind, kernels.NAMES[x.dtype]), (x,), (dim,)


def _select_vjp(g, y, _x, *, dim, keepdim):
    g, i = g[0], y[1]
    if not _x.ndim:
        return [g]
    if not keepdim:
        g, i = g.unsqueeze(dim), i.unsqueeze(dim)
    return [FUNCTIONS["zeros"](_x.shape, dtype=g.dtype, device=g.device).scatter(dim, i, g)]


max_dim_op = _ExtremumWithPlace("max_dim", "max_index")
min_dim_op = _ExtremumWithPlace("min_dim", "min_index")
max_dim_op.name_of_node, min_dim_op.name_of_node = "MaxBackward0", "MinBackward0"


# ---- the functions -------------------------------------------------------------------------------
def _reduced(op, x, dim, keepdim, dtype=None):
    """A sum, a product or a mean, in the type that is asked for."""
    attrs = {"dim": dims.many(dim, x._array.ndim, op.name), "keepdim": bool(keepdim)}
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
        if dtype is dtypes.bool_ and op in (sum_op, prod_op, nansum_op):
            return apply(all_op if op is prod_op else any_op, (x.to(dtype),), attrs)
        if (dtype.category == COMPLEX or x.dtype.category == COMPLEX
                or dtype.category < FLOAT <= x.dtype.category):
            x = x.to(dtype)
        # sums of integers are int64 unless asked for
        if dtype is not x.dtype or dtype.category < FLOAT:
            attrs["dtype"] = dtype
    return apply(op, (x,), attrs)


@function(out=True, out_type=OutType.DECIDES)
def sum(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """The sum of all elements, or along dimensions. Sums of integers are int64.

    >>> import whet
    >>> whet.sum(whet.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """
    dim, keepdim = axis if dim is None else dim, keepdim if keepdims is None else keepdims
    return _reduced(sum_op, checked_input("sum", input), dim, keepdim, dtype)


@function(out=True, out_type=OutType.DECIDES)
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum, NaNs counted as zero.

    >>> import whet
    >>> whet.nansum(whet.tensor([1., whet.nan, 3.]))
    tensor(4.)
    """
    if input.dtype.category < FLOAT:
        return sum(input, dim, keepdim, dtype=dtype)
    if dtype is not None and dtypes.as_dtype(dtype).category < FLOAT:
        return sum(input.masked_fill(input != input, 0), dim, keepdim, dtype=dtype)
    return _reduced(nansum_op, input, dim, keepdim, dtype)


@function(out=True, out_type=OutType.CASTS)
def mean(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """The mean of all elements, or along dimensions.

    >>> import whet
    >>> whet.tensor([1., 2., 6.]).mean()
    tensor(3.)
    """
    dim, keepdim = axis if dim is None else dim, keepdim if keepdims is None else keepdims
    if (dtypes.as_dtype(dtype) or checked_input("mean", input).dtype).category < FLOAT:
        what = (f"Got: {input.dtype.letter}"
                if dtype is None else f"Got dtype: {dtypes.as_dtype(dtype).letter}")
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. "
            + what)
    if dtype is not None:
        input = input.to(dtype=dtype)
    return _reduced(mean_op, input, dim, keepdim)


@function(out=True, out_type=OutType.KIND)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of the elements that are not NaN.

    >>> import whet
    >>> whet.nanmean(whet.tensor([1., whet.nan, 3.]))
    tensor(2.)
    """
    if input.dtype.category < FLOAT:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.letter}")
    is_number = FUNCTIONS["logical_not"](FUNCTIONS["isnan"](input.detach()))
    count = is_number.sum(dim=dim, keepdim=keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


@function(out=True, out_type=OutType.DECIDES)
@precise
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension.

    >>> import whet
    >>> whet.prod(whet.tensor([2., 3., 4.]))
    tensor(24.)
    """
    return _reduced(prod_op, checked_input("prod", input), dim, keepdim, dtype)


def check_nonempty(name, x, dim):
    n = dims.count(x.shape, dim)
    if n == 0 and x.numel() == 0:
        if dim is None:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with "
                "the 'dim' argument.")
        for d in dim:
            if x.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _check_ordered(name, x):
    """Raise where a function that compares elements has none that it can compare."""
    if checked_input(name, x).dtype.category == COMPLEX:
        raise NotImplementedError(f"{name}(): complex numbers have no order, got {x.dtype}")


@function(out=True)
def amax(input, dim=(), keepdim=False):
    """The greatest element, over any dimensions; its gradient is shared evenly between ties.

    >>> import whet
    >>> whet.amax(whet.tensor([[1., 5.], [3., 2.]]), dim=1)
    tensor([5., 3.])
    """
    _check_ordered("amax", input)
    d = dims.many(dim, input.ndim, "amax")
    check_nonempty("amax", input, d)
    return apply(amax_op, (input,), {"dim": d, "keepdim": bool(keepdim)})


@function(out=True)
def amin(input, dim=(), keepdim=False):
    """The least element, over any dimensions; its gradient is shared evenly between ties.

    >>> import whet
    >>> whet.amin(whet.tensor([[1., 5.], [3., 2.]]), dim=1)
    tensor([1., 2.])
    """
    _check_ordered("amin", input)
    d = dims.many(dim, input.ndim, "amin")
    check_nonempty("amin", input, d)
    return apply(amin_op, (input,), {"dim": d, "keepdim": bool(keepdim)})


@function(out=True)
def aminmax(input, *, dim=None, keepdim=False):
    """(min, max) together.

    >>> import whet
    >>> whet.aminmax(whet.tensor([1., 5., 3.])).max
    tensor(5.)
    """
    d = () if dim is None else dim
    return return_types.aminmax((amin(input, d, keepdim), amax(input, d, keepdim)))


def _extremum(name, op_all, op_dim, op_two, input, dim, keepdim, other):
    _check_ordered(name, input)
    if other is None and is_tensor(dim):
        other, dim = dim, None
    if dim is None and keepdim:
        raise TypeError(f"{name}() received an invalid combination of arguments - keepdim is of a "
                        "dimension, and none is given")
    if other is not None:
        return FUNCTIONS[op_two](input, other)
    if dim is None:
        check_nonempty(name, input, None)
        return apply(op_all, (input,), {"dim": None, "keepdim": False})
    d = dims.one(dim, input.ndim, name)
    if input.ndim:
        check_nonempty(name, input, (d,))
    kind = getattr(return_types, name)
    return kind(apply(op_dim, (input,), {"dim": d, "keepdim": bool(keepdim)}))


@function(out=True, out_type=OutType.CASTS_ONE)
def max(input, dim=None, keepdim=False, *, other=None):
    """The greatest element; with a dimension (values, indices); with another tensor the elementwise
    maximum.

    >>> import whet
    >>> whet.max(whet.tensor([[1., 5.], [7., 2.]]), 1).indices
    tensor([1, 0])
    """
    return _extremum("max", amax_op, max_dim_op, "maximum", input, dim, keepdim, other)


@function(out=True, out_type=OutType.CASTS_ONE)
def min(input, dim=None, keepdim=False, *, other=None):
    """The least element; with a dimension (values, indices); with another tensor the elementwise
    minimum.

    >>> import whet
    >>> whet.min(whet.tensor([3., 1., 2.]), dim=0)
    whet.return_types.min(
    values=tensor(1.),
    indices=tensor(1))
    """
    return _extremum("min", amin_op, min_dim_op, "minimum", input, dim, keepdim, other)


def _place_of_extremum(name, op, input, dim, keepdim):
    _check_ordered(name, input)
    if dim is None:
        if input.numel() == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the "
                "'dim' argument.")
        r = apply(op, (input,), {"dim": None, "keepdim": False})
        return r.reshape((1,) * input.ndim) if keepdim else r
    d = dims.one(dim, input.ndim, name)
    if not input.ndim:
        return apply(op, (input,), {"dim": None, "keepdim": False})
    check_nonempty(name, input, (d,))
    return apply(op, (input,), {"dim": d, "keepdim": bool(keepdim)})


@function(out=True)
def argmax(input, dim=None, keepdim=False):
    """The index of the (first) greatest element.

    >>> import whet
    >>> whet.argmax(whet.tensor([[1., 5.], [3., 2.]]), dim=1)
    tensor([1, 0])
    """
    return _place_of_extremum("argmax", argmax_op, input, dim, keepdim)


@function(out=True)
def argmin(input, dim=None, keepdim=False):
    """The index of the (first) least element.

    >>> import whet
    >>> whet.argmin(whet.tensor([[1., 5.], [3., 2.]]), dim=1)
    tensor([0, 1])
    """
    return _place_of_extremum("argmin", argmin_op, input, dim, keepdim)


def _truth(op, input, dim, keepdim):
    r = apply(
        op, (checked_input(op.name, input),),
        {"dim": dims.many(dim, input.ndim, op.name, none_if_empty=False), "keepdim": bool(keepdim)})
    return r.to(dtypes.uint8) if input.dtype is dtypes.uint8 else r


@function(out=True, out_type=OutType.TRUTH)
def any(input, dim=None, keepdim=False):
    """Is any element true (not zero)?

    >>> import whet
    >>> whet.any(whet.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    return _truth(any_op, input, dim, keepdim)


@function(out=True, out_type=OutType.TRUTH)
def all(input, dim=None, keepdim=False):
    """Are all elements true (not zero)?

    >>> import whet
    >>> whet.all(whet.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    return _truth(all_op, input, dim, keepdim)


@function()
def count_nonzero(input, dim=None):
    """How many elements are not zero.

    >>> import whet
    >>> whet.count_nonzero(whet.tensor([0., 2., 3.]))
    tensor(2)
    """
    return apply(count_op, (input,),
                 {"dim": dims.many(dim, input.ndim, "count_nonzero"), "keepdim": False})


def sum_to_size(x, shape):
    """x summed over what broadcasting added, so that it has `shape`."""
    have = x._array.shape
    if have == tuple(shape):
        return x
    lead = len(have) - len(shape)
    axes = (list(range(lead))
            + [i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1])
    if axes:
        x = apply(sum_op, (x,), {"dim": tuple(axes), "keepdim": True})
    return x.reshape(tuple(shape)) if lead else x


@function("sum_to_size")
def _sum_to_size(self, *size):
    """Sum over broadcast dimensions so that the result has the given size.

    >>> import whet
    >>> whet.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    if not size:
        raise TypeError("sum_to_size() missing 1 required positional arguments: \"size\"")
    size = sizes(size, "sum_to_size")
    lead = self.ndim - len(size)
    if lead < 0 or builtins.any(n not in (1, h) for n, h in zip(size, self.shape[lead:])):
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    return sum_to_size(self, size) if size else self.sum()
