"""Reductions and scans."""
import builtins
import math
from typing import NamedTuple

import numpy as np

from .. import dtypes
from ..cpu import reduce as kernels
from ..cpu import scan as scans
from ..dtypes import COMPLEX, FLOAT
from ..ir import rowops
from ..ir import scalar as s
from . import dims
from .batching import shifted
from .pointwise_family import PointwiseOp
from .registry import Op, apply, ask, asked, has_zero, is_tensor
from .rows_family import RowsOp
from .samples import Sample, reals
from .surface import function
from .view import expand_op


def _samples(make):
    yield Sample(make(3, 4, 5), dim=None, keepdim=False)
    yield Sample(make(3, 4, 5), dim=(1,), keepdim=False)
    yield Sample(make(3, 4, 5), dim=(0, 2), keepdim=True)
    yield Sample(make(7), dim=(0,), keepdim=False)
    yield Sample(make(), dim=None, keepdim=False)
    yield Sample(make(2, 70, 33), dim=(1,), keepdim=False)


def _one_dim(make):
    yield Sample(make(3, 4, 5), dim=1)
    yield Sample(make(3, 4, 5), dim=2)
    yield Sample(make(7), dim=0)
    yield Sample(make(40, 3), dim=0)


def restore(g, shape, dim, keepdim):
    """A reduction's gradient at the shape of its input."""
    if not keepdim and dim is not None:
        g = g.reshape(dims.kept(shape, dim))
    return apply(expand_op, (g,), {"size": shape})


class ReduceOp(Op):
    """A reduction by a kernel of `cpu.reduce`; `dim` is a tuple of axes or None for all."""
    family = "reduce"
    memo = True

    def __init__(self, name, kind=None, *, pre=None, **kw):
        self.kind, self.pre = kind or name, pre
        super().__init__(name, samples=kw.pop("samples", _samples), **kw)

    def forward(self, x, *, dim, keepdim, dtype=None):
        return kernels.reduce(self.kind, x, dim, keepdim, dtype and dtype.np, self.pre)

    def batch(self, n, inputs, batched, attrs):
        """The same axes, one further."""
        return reduced_apart(self, *inputs, attrs)

    def as_rows(self, x, *, dim, keepdim, dtype=None):
        """(the row program that a call is, its operands, its axes)"""
        axes = tuple(range(x.ndim)) if dim is None else dim
        program = kernels.reduction_program(self.kind, kernels.NAMES[x.dtype], dtype and dtype.short, self.pre)
        return program, (x, float(math.prod(x.shape[a] for a in axes))) if self.kind == "mean" else (x,), axes


def reduced_apart(op, x, attrs):
    """A reduction of each of the examples that lie along the first dimension."""
    dim, ndim = attrs["dim"], x._array.ndim
    if ndim == 1:                                # examples of one number: there must be something to reduce
        return apply(op, (x.unsqueeze(1),), {**attrs, "dim": 1 if isinstance(dim, int) else (1,), "keepdim": False})
    axes = tuple(range(1, ndim)) if dim is None else dim + 1 if isinstance(dim, int) else tuple([d + 1 for d in dim])
    return apply(op, (x,), {**attrs, "dim": axes})


def _sum_vjp(g, _y, _x, *, dim, keepdim, dtype=None):
    return [restore(g, _x.shape, dim, keepdim)]


def _mean_vjp(g, _y, _x, *, dim, keepdim, dtype=None):
    return [restore(g / dims.count(_x.shape, dim), _x.shape, dim, keepdim)]


def _extremum_vjp(g, y, x, *, dim, keepdim, dtype=None):
    y, g = restore(y, x.shape, dim, keepdim), restore(g, x.shape, dim, keepdim)
    mask = (x == y) | ((x != x) & (y != y))
    share = mask.sum(dim=None if dim is None else list(dim), keepdim=True).to(x.dtype)
    return [g * mask / share]


def _prod_vjp(g, y, x, *, dim, keepdim, dtype=None):
    full_g = restore(g, x.shape, dim, keepdim)
    if not ask(has_zero, x):
        share = restore(y, x.shape, dim, keepdim) / x
        return [full_g * (share.conj() if x.dtype.kind == COMPLEX else share)]
    x = x.conj() if x.dtype.kind == COMPLEX else x
    if dim is None:
        return [(g * _others(x.reshape(-1), 0)).reshape(x.shape)]
    return [full_g * _others(x, dim[0])]


def _others(x, dim):
    """For each element the product of all others along `dim`."""
    return _before(x, dim) * _before(x.flip(dim), dim).flip(dim)


def _before(x, dim):
    """For each element the product of those before it along `dim`."""
    return FUN("cat")([FUN("ones_like")(x.narrow(dim, 0, 1)), x.narrow(dim, 0, x.shape[dim] - 1)], dim).cumprod(dim)


def FUN(name):
    from .surface import FUNCTIONS
    return FUNCTIONS[name]


def _prod_samples(make):
    for q in _samples(make):
        if q.kwargs["dim"] is None or len(q.kwargs["dim"]) == 1:
            yield q


sum_op = ReduceOp("sum", vjp=_sum_vjp, linear=(0,))
mean_op = ReduceOp("mean", vjp=_mean_vjp, linear=(0,))
prod_op = ReduceOp("prod", vjp=_prod_vjp, samples=_prod_samples)
amax_op = ReduceOp("amax", "max", vjp=_extremum_vjp)
amin_op = ReduceOp("amin", "min", vjp=_extremum_vjp)
any_op = ReduceOp("any")
all_op = ReduceOp("all")
nansum_op = ReduceOp("nansum", "sum", pre=s.where(s.isnan(s.arg(0)), 0, s.arg(0)),
                     vjp=lambda g, _y, x, *, dim, keepdim, dtype=None: [restore(g, x.shape, dim, keepdim) * (x == x)])
sum_squares_op = ReduceOp("sum_squares", "sum", pre=s.arg(0) * s.arg(0),
                          vjp=lambda g, _y, x, *, dim, keepdim, dtype=None: [restore(g, x.shape, dim, keepdim) * (2 * x)])
sum_abs_op = ReduceOp("sum_abs", "sum", pre=s.absolute(s.arg(0)),
                      vjp=lambda g, _y, x, *, dim, keepdim, dtype=None: [restore(g, x.shape, dim, keepdim) * x.sign()])
count_op = ReduceOp("count_nonzero", "sum", pre=s.cast(s.ne(s.arg(0), 0), "i64"))


class _Arg(Op):
    family = "reduce"
    memo = True

    def __init__(self, name):
        super().__init__(name, samples=lambda make: [Sample(make(3, 4), dim=1, keepdim=False), Sample(make(3, 4), dim=None, keepdim=False)])

    def forward(self, x, *, dim, keepdim):
        return kernels.reduce(self.name, x, None if dim is None else (dim,), keepdim)

    def batch(self, n, inputs, batched, attrs):
        x, = inputs
        if attrs["dim"] is None:
            return apply(self, (x.reshape((n, -1)),), {"dim": 1, "keepdim": False})
        return reduced_apart(self, x, attrs)

    def as_rows(self, x, *, dim, keepdim):
        return kernels.reduction_program(self.name, kernels.NAMES[x.dtype]), (x,), tuple(range(x.ndim)) if dim is None else (dim,)


argmax_op, argmin_op = _Arg("argmax"), _Arg("argmin")


class _WithIndex(Op):
    """(values, indices) of the extremum along one axis."""
    family = "reduce"
    memo = True

    def __init__(self, name, kind):
        self.kind = kind
        super().__init__(name, vjp=_select_vjp, nondiff_outputs=(1,),
                         samples=lambda make: [Sample(make(3, 4), dim=1, keepdim=False), Sample(make(5), dim=0, keepdim=True)])

    def forward(self, x, *, dim, keepdim):
        v, i = kernels.reduce(self.kind, x, (dim,) if x.ndim else None, keepdim)
        return v, i

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
    return [FUN("zeros")(_x.shape, dtype=g.dtype).scatter(dim, i, g)]


max_dim_op, min_dim_op = _WithIndex("max_dim", "max_index"), _WithIndex("min_dim", "min_index")


# ---- the functions --------------------------------------------------------------------------------------------------
def _tensor(name, x):
    if not is_tensor(x):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    return x


def _plain(op, x, dim, keepdim, dtype=None):
    attrs = {"dim": dims.many(dim, x._array.ndim, op.name), "keepdim": bool(keepdim)}
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
        if dtype is dtypes.bool_ and op in (sum_op, prod_op, nansum_op):
            return apply(all_op if op is prod_op else any_op, (x.to(dtype),), attrs)
        if dtype is not x.dtype or dtype.kind < FLOAT:              # sums of integers are int64 unless asked for
            if dtype.kind == COMPLEX or x.dtype.kind == COMPLEX or dtype.kind < FLOAT <= x.dtype.kind:
                x = x.to(dtype)
            else:
                attrs["dtype"] = dtype
                return apply(op, (x,), attrs)
    return apply(op, (x,), attrs)


@function(out=True)
def sum(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """The sum of all elements, or along dimensions. Sums of integers are int64.

    >>> import whet
    >>> whet.sum(whet.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """
    dim, keepdim = axis if dim is None else dim, keepdim if keepdims is None else keepdims
    return _plain(sum_op, _tensor("sum", input), dim, keepdim, dtype)


@function(out=True)
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum, NaNs counted as zero."""
    if input.dtype.kind < FLOAT:
        return sum(input, dim, keepdim, dtype=dtype)
    return _plain(nansum_op, input, dim, keepdim, dtype)


@function(out=True)
def mean(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """The mean of all elements, or along dimensions.

    >>> import whet
    >>> whet.tensor([1., 2., 6.]).mean()
    tensor(3.)
    """
    dim, keepdim = axis if dim is None else dim, keepdim if keepdims is None else keepdims
    kind = (dtypes.as_dtype(dtype) or _tensor("mean", input).dtype).kind
    if kind < FLOAT:
        what = f"Got: {input.dtype.letter}" if dtype is None else f"Got dtype: {dtypes.as_dtype(dtype).letter}"
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. " + what)
    if dtype is not None:
        input = input.to(dtype=dtype)
    return _plain(mean_op, input, dim, keepdim)


@function(out=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of what is not NaN."""
    if input.dtype.kind < FLOAT:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.letter}")
    factor = FUN("logical_not")(FUN("isnan")(input.detach())).sum(dim=dim, keepdim=keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / factor


@function(out=True)
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension."""
    return _plain(prod_op, _tensor("prod", input), dim, keepdim, dtype)


def _check_nonempty(name, x, dim):
    n = dims.count(x.shape, dim)
    if n == 0 and x.numel() == 0:
        if dim is None:
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                               "the 'dim' argument.")
        for d in dim:
            if x.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _ordered(name, x):
    if _tensor(name, x).dtype.kind == COMPLEX:
        raise NotImplementedError(f"{name}(): complex numbers have no order, got {x.dtype}")


@function(out=True)
def amax(input, dim=(), keepdim=False):
    """The greatest element, over any dimensions; its gradient is shared evenly between ties."""
    _ordered("amax", input)
    d = dims.many(dim, input.ndim, "amax")
    _check_nonempty("amax", input, d)
    return apply(amax_op, (input,), {"dim": d, "keepdim": bool(keepdim)})


@function(out=True)
def amin(input, dim=(), keepdim=False):
    """The least element, over any dimensions; its gradient is shared evenly between ties."""
    _ordered("amin", input)
    d = dims.many(dim, input.ndim, "amin")
    _check_nonempty("amin", input, d)
    return apply(amin_op, (input,), {"dim": d, "keepdim": bool(keepdim)})


class aminmax_result(NamedTuple):
    min: object
    max: object


@function(out=True)
def aminmax(input, *, dim=None, keepdim=False):
    """(min, max) together."""
    d = () if dim is None else dim
    return aminmax_result(amin(input, d, keepdim), amax(input, d, keepdim))


class max_result(NamedTuple):
    values: object
    indices: object


def _extremum(name, op_all, op_dim, op_two, input, dim, keepdim, other):
    _ordered(name, input)
    if other is None and is_tensor(dim):
        other, dim = dim, None
    if other is not None:
        return FUN(op_two)(input, other)
    if dim is None:
        _check_nonempty(name, input, None)
        return apply(op_all, (input,), {"dim": None, "keepdim": False})
    d = dims.one(dim, input.ndim, name)
    if input.ndim:
        _check_nonempty(name, input, (d,))
    return max_result(*apply(op_dim, (input,), {"dim": d, "keepdim": bool(keepdim)}))


@function(out=True)
def max(input, dim=None, keepdim=False, *, other=None):
    """The greatest element; with a dimension (values, indices); with another tensor the elementwise maximum.

    >>> import whet
    >>> whet.max(whet.tensor([[1., 5.], [7., 2.]]), 1).indices
    tensor([1, 0])
    """
    return _extremum("max", amax_op, max_dim_op, "maximum", input, dim, keepdim, other)


@function(out=True)
def min(input, dim=None, keepdim=False, *, other=None):
    """The least element; with a dimension (values, indices); with another tensor the elementwise minimum."""
    return _extremum("min", amin_op, min_dim_op, "minimum", input, dim, keepdim, other)


def _arg(name, op, input, dim, keepdim):
    _ordered(name, input)
    if dim is None:
        if input.numel() == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                             "'dim' argument.")
        r = apply(op, (input,), {"dim": None, "keepdim": False})
        return r.reshape((1,) * input.ndim) if keepdim else r
    d = dims.one(dim, input.ndim, name)
    if not input.ndim:
        return apply(op, (input,), {"dim": None, "keepdim": False})
    _check_nonempty(name, input, (d,))
    return apply(op, (input,), {"dim": d, "keepdim": bool(keepdim)})


@function(out=True)
def argmax(input, dim=None, keepdim=False):
    """The index of the (first) greatest element."""
    return _arg("argmax", argmax_op, input, dim, keepdim)


@function(out=True)
def argmin(input, dim=None, keepdim=False):
    """The index of the (first) least element."""
    return _arg("argmin", argmin_op, input, dim, keepdim)


def _truth(op, input, dim, keepdim):
    r = apply(op, (_tensor(op.name, input),), {"dim": dims.many(dim, input.ndim, op.name, none_if_empty=False), "keepdim": bool(keepdim)})
    return r.to(dtypes.uint8) if input.dtype is dtypes.uint8 else r


@function(out=True)
def any(input, dim=None, keepdim=False):
    """Is any element true (not zero)?"""
    return _truth(any_op, input, dim, keepdim)


@function(out=True)
def all(input, dim=None, keepdim=False):
    """Are all elements true (not zero)?"""
    return _truth(all_op, input, dim, keepdim)


@function()
def count_nonzero(input, dim=None):
    """How many elements are not zero."""
    return apply(count_op, (input,), {"dim": dims.many(dim, input.ndim, "count_nonzero"), "keepdim": False})


# ---- variance -------------------------------------------------------------------------------------------------------
def _var_vjp(g, y, x, n, freedom, *, dim):
    gv, gm = g
    r = None
    if gv is not None:
        r = gv * (x - y[1]) * (2.0 / freedom if freedom else math.inf)
    if gm is not None:
        part = (gm / n).expand(x.shape)
        r = part if r is None else r + part
    return [r, None, None]


var_mean_op = RowsOp("var_mean", rowops.var_mean, vjp=_var_vjp,
                     samples=lambda make: [Sample(make(3, 4, 5), 20.0, 19.0, dim=(1, 2)), Sample(make(6), 6.0, 5.0, dim=(0,))])


def _moments(name, input, dim, unbiased, correction):
    """(variance, mean) with reduced axes kept, and the axes."""
    if _tensor(name, input).dtype.kind < FLOAT:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    if isinstance(dim, bool):                                   # var(unbiased)
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    d = dims.many(dim, input.ndim, name)
    d = tuple(range(input.ndim)) if d is None else d
    if input.dtype.kind == COMPLEX:
        (vr, mr), (vi, mi) = (_moments(name, part, d, None, correction)[0] for part in (input.real, input.imag))
        return (vr + vi, FUN("complex")(mr, mi)), d
    n = dims.count(input.shape, d)
    x = input if input.ndim else input.reshape(1)
    return apply(var_mean_op, (x, float(n), float(builtins.max(n - correction, 0))), {"dim": d or (0,)}), d


def _drop(x, d, keepdim):
    """Without the reduced axes."""
    if keepdim:
        return x
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if i not in d))


def _drop_all(x, input, d, keepdim):
    return x.reshape(()) if not input.ndim else _drop(x, d, keepdim)


@function(out=True)
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance (divided by n - correction).

    >>> import whet
    >>> whet.tensor([1., 2., 3.]).var()
    tensor(1.)
    """
    (v, _), d = _moments("var", input, dim, unbiased, correction)
    return _drop_all(v, input, d, keepdim)


@function(out=True)
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation."""
    (v, _), d = _moments("std", input, dim, unbiased, correction)
    return _drop_all(apply(std_root, (v,), {}), input, d, keepdim)


@function(out=True)
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(variance, mean)"""
    (v, m), d = _moments("var_mean", input, dim, unbiased, correction)
    return _drop_all(v, input, d, keepdim), _drop_all(m, input, d, keepdim)


@function(out=True)
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(standard deviation, mean)"""
    (v, m), d = _moments("std_mean", input, dim, unbiased, correction)
    return _drop_all(apply(std_root, (v,), {}), input, d, keepdim), _drop_all(m, input, d, keepdim)


# ---- softmax and friends ---------------------------------------------------------------------------------------------
def _softmax_grad_vjp(gg, _o, g, y, *, dim):
    d = list(dim)
    t = (g * y).sum(d, keepdim=True)
    u = (gg * y).sum(d, keepdim=True)
    return [y * (gg - u), gg * (g - t) - g * u]


def _log_softmax_grad_vjp(gg, _o, g, y, *, dim):
    d = list(dim)
    e = y.exp()
    return [gg - (gg * e).sum(d, keepdim=True), -(gg * e * g.sum(d, keepdim=True))]


def _pair_samples(make):
    yield Sample(make(3, 4), make(3, 4), dim=(1,))


def _tuple_dim(make):
    for q in _one_dim(make):
        yield Sample(*q.args, dim=(q.kwargs["dim"],))


softmax_grad_op = RowsOp("softmax_backward", rowops.softmax_backward, vjp=_softmax_grad_vjp, samples=_pair_samples)
softmax_op = RowsOp("softmax", rowops.softmax, vjp=lambda g, y, _x, *, dim: [softmax_grad_op(g, y, dim=dim)], samples=_tuple_dim)
log_softmax_grad_op = RowsOp("log_softmax_backward", rowops.log_softmax_backward, vjp=_log_softmax_grad_vjp, samples=_pair_samples)
log_softmax_op = RowsOp("log_softmax", rowops.log_softmax, vjp=lambda g, y, _x, *, dim: [log_softmax_grad_op(g, y, dim=dim)],
                        samples=_tuple_dim)


def _logsumexp_vjp(g, y, x, *, dim):
    safe = FUN("where")(y == y.new_full((), -math.inf), 0.0, y)     # all -inf: the gradient is zero
    return [g * (x - safe).exp()]


logsumexp_op = RowsOp("logsumexp", rowops.logsumexp, vjp=_logsumexp_vjp, samples=_tuple_dim)


def _row_function(name, op, doc):
    def f(input, dim=None, _stacklevel=3, dtype=None):
        if dtype is not None:
            input = input.to(dtype=dtype)
        if _tensor(name, input).dtype.kind != FLOAT:
            raise NotImplementedError(f"\"{name}_lastdim_kernel_impl\" not implemented for '{input.dtype.letter}'")
        if dim is None:
            dim = 0 if input.ndim in (0, 1, 3) else 1
        d = dims.one(dim, input.ndim, name)
        if not input.ndim:
            return apply(op, (input.reshape(1),), {"dim": (0,)}).reshape(())
        return apply(op, (input,), {"dim": (d,)})
    f.__name__, f.__doc__ = name, doc
    return function(out=True)(f)


softmax = _row_function("softmax", softmax_op, "exp(x) divided by its sum along `dim`.")
log_softmax = _row_function("log_softmax", log_softmax_op, "log(softmax(x)) along `dim`, computed stably.")


@function(out=True)
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(x))) along `dim`, computed stably."""
    if _tensor("logsumexp", input).dtype.kind < FLOAT:
        input = input.to(dtypes.get_default_dtype())
    d = dims.many(dim, input.ndim, "logsumexp")
    if not input.ndim:                              # a complex one has its angle between -pi and pi, as a logarithm
        return input * 1 if input.dtype.kind != COMPLEX else logsumexp(input.reshape(1), 0).reshape(())
    d = tuple(range(input.ndim)) if d is None else d
    if input.dtype.kind == COMPLEX:
        if not input.numel():
            return input.exp().sum(d, keepdim=keepdim).log()
        top = FUN("nan_to_num")(amax(input.detach().real, d, True), 0.0, 0.0, 0.0)
        return _drop((input - top).exp().sum(d, keepdim=True).log() + top, d, keepdim)
    return _drop(apply(logsumexp_op, (input,), {"dim": d}), d, keepdim)


# ---- norms of vectors ------------------------------------------------------------------------------------------------
# a square root whose gradient at zero is zero
std_root = PointwiseOp("root_or_zero", lambda input: s.sqrt(input), kinds="f", samples=reals(0.2, 4),
                       vjp=lambda g, y, x: [s.where(s.eq(y, 0), 0, g / (2 * y))])


one_op = PointwiseOp("one_if_nonzero", lambda input: s.where(s.ne(input, 0), 1, input * 0), kinds="f", samples=reals(0.2, 4),
                     vjp=lambda g, y, x: [None])


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """(sum |x|^ord)^(1/ord) over the given dimensions (all by default)."""
    if dtype is not None:
        x = x.to(dtype=dtype)
    if _tensor("vector_norm", x).dtype.kind < FLOAT:
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.letter}")
    d = dims.many(dim, x.ndim, "vector_norm")
    if x.dtype.kind == COMPLEX:
        x = x.abs()
    attrs = {"dim": d, "keepdim": bool(keepdim)}
    ord = float(ord)
    if ord == 2:
        r = apply(std_root, (apply(sum_squares_op, (x,), attrs),), {})
        r = _rescaled(x, r, attrs)
    elif ord == 1:
        r = apply(sum_abs_op, (x,), attrs)
    elif ord == math.inf or ord == -math.inf:
        _check_nonempty("vector_norm", x, d)
        r = apply(amax_op if ord > 0 else amin_op, (x.abs(),), attrs)
    elif ord == 0:
        r = apply(one_op, (x,), {}).sum(dim=None if d is None else list(d), keepdim=keepdim)
    else:
        wide = x if x.dtype.itemsize > 2 else x.to(dtypes.float32)          # powers of halves overflow where the norm does not
        wide = _power(wide.abs(), ord) if 0 < ord < 1 else wide.abs() ** ord
        r = wide.sum(dim=None if d is None else list(d), keepdim=keepdim)
        r = (_power(r, 1.0 / ord) if ord > 1 else r ** (1.0 / ord)).to(x.dtype)
    if out is not None:
        from .surface import give_out
        return give_out("vector_norm", r, out)
    return r


def _power(x, p):
    """x ** p for positive p, with no gradient at zero (where it is infinite, or not a number)."""
    none = x == 0
    return FUN("where")(none, 0.0, FUN("where")(none, 1.0, x) ** p)


def _rescaled(x, r, attrs):
    """The 2-norm again with a scale, where squares overflowed or vanished though the norm does not."""
    @asked(lambda x, t: s.isinf(x) | (x < float(np.sqrt(np.finfo(t).tiny))) if t.itemsize > 2 else s.isinf(x))
    def out_of_range(a):
        return bool((np.isinf(a) | ((a < np.sqrt(np.finfo(a.dtype).tiny)) if a.dtype in (np.float32, np.float64) else np.zeros((), bool))).any())
    if not ask(out_of_range, r) or x._array.size == 0:
        return r
    m = apply(amax_op, (x.detach().abs(),), dict(attrs, keepdim=True))
    scale = FUN("where")((m > 0) & FUN("isfinite")(m), m, 1.0)
    exact = apply(std_root, (apply(sum_squares_op, (x / scale,), attrs),), {}) * scale.reshape(r.shape)
    return exact


@function(out=True)
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of a tensor: `p` a number, "fro" or "nuc"."""
    if p == "nuc":
        from .. import linalg
        return linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


@function()
def dist(input, other, p=2):
    """The p-norm of the difference."""
    return vector_norm(input - other, p)


# ---- scans -----------------------------------------------------------------------------------------------------------
def _flip_cumsum(g, dim):
    return g.flip(dim).cumsum(dim).flip(dim)


def _cumprod_vjp(g, y, x, *, dim):
    if x.dtype.kind == COMPLEX:
        y, x = y.conj(), x.conj()
    if not ask(has_zero, x):
        return [_flip_cumsum(g * y, dim) / x]
    # with zeros: sum over k >= i of g_k * product of x_j, j <= k, j != i
    return [_before(x, dim) * _after(g, x, dim)]


def _after(g, x, dim):
    """For each element i the sum over k >= i of g_k * product of x_j, i < j <= k. In steps: of g, what is known of 1, 2, 4, ... elements from i on;
    of x, the product of so many after i."""
    n, far, product = x.shape[dim], 1, x.narrow(dim, 1, x.shape[dim] - 1)
    while far < n:
        g = FUN("cat")([g.narrow(dim, 0, n - far) + product * g.narrow(dim, far, n - far), g.narrow(dim, n - far, far)], dim)
        if 2 * far < n:
            product = product.narrow(dim, 0, n - 2 * far) * product.narrow(dim, far, n - 2 * far)
        far *= 2
    return g


class ScanOp(Op):
    """A running reduction along one axis."""
    family = "scan"
    memo = True

    def __init__(self, name, vjp, nondiff_outputs=()):
        super().__init__(name, vjp=vjp, samples=_one_dim, nondiff_outputs=nondiff_outputs, batch=shifted("dim"))

    def forward(self, x, *, dim):
        r = getattr(scans, self.name)(x, dim)
        return tuple(r) if type(r) is list else r


def _cumextreme_vjp(g, y, _x, *, dim):
    return [FUN("zeros")(_x.shape, dtype=g[0].dtype).scatter_add(dim, y[1], g[0])]


cumsum_op = ScanOp("cumsum", lambda g, _y, _x, *, dim: [_flip_cumsum(g, dim)])
cumsum_op.linear = (0,)
cumprod_op = ScanOp("cumprod", _cumprod_vjp)
cummax_op = ScanOp("cummax", _cumextreme_vjp, nondiff_outputs=(1,))
cummin_op = ScanOp("cummin", _cumextreme_vjp, nondiff_outputs=(1,))


def _logcumsumexp_vjp(g, y, x, *, dim):
    return [(x.exp() * _flip_cumsum(g * (-y).exp(), dim))]


logcumsumexp_op = ScanOp("logcumsumexp", _logcumsumexp_vjp)


def _scan(op, input, dim, dtype=None):
    if dtype is not None:
        input = input.to(dtype=dtype)
    elif input.dtype.kind < FLOAT and op in (cumsum_op, cumprod_op):
        input = input.to(dtypes.int64)
    d = dims.one(dim, _tensor(op.name, input).ndim, op.name)
    if op is logcumsumexp_op and input.dtype.kind != FLOAT:
        raise NotImplementedError(f"\"logcumsumexp\" not implemented for '{input.dtype.letter}'")
    if not input.ndim:
        if op in (cummax_op, cummin_op):
            return input.clone(), FUN("zeros")((), dtype=dtypes.int64)
        return input.clone()
    r = apply(op, (input,), {"dim": d})
    return r if dtype is None else r.to(dtype)


@function(out=True)
def cumsum(input, dim, *, dtype=None):
    """Running sums along `dim`.

    >>> import whet
    >>> whet.tensor([1, 2, 3]).cumsum(0)
    tensor([1, 3, 6])
    """
    return _scan(cumsum_op, input, dim, dtype)


@function(out=True)
def cumprod(input, dim, *, dtype=None):
    """Running products along `dim`."""
    return _scan(cumprod_op, input, dim, dtype)


@function(out=True)
def logcumsumexp(input, dim):
    """Running log(sum(exp(x))) along `dim`."""
    return _scan(logcumsumexp_op, input, dim)


@function(out=True)
def cummax(input, dim):
    """Running maxima along `dim`: (values, indices)."""
    return max_result(*_scan(cummax_op, input, dim))


@function(out=True)
def cummin(input, dim):
    """Running minima along `dim`: (values, indices)."""
    return max_result(*_scan(cummin_op, input, dim))


def _inplace_scan(name, fn):
    from .surface import METHODS

    def write(self, dim, *, dtype=None):
        return self.copy_(fn(self.clone() if self.requires_grad else self, dim, dtype=dtype))       # the backward may read it
    write.__name__ = name
    METHODS[name] = write


_inplace_scan("cumsum_", cumsum)
_inplace_scan("cumprod_", cumprod)


def _no_bool(name, y):
    if y.dtype.kind == 0:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")


@function()
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of y along `dim` by the trapezoidal rule."""
    _no_bool("trapezoid", y)
    d = dims.one(dim, y.ndim, "trapezoid")
    n = y.shape[d]
    if n == 0:
        return y.sum(d)
    pair = y.narrow(d, 1, n - 1) + y.narrow(d, 0, n - 1)
    if x is None:
        return pair.sum(d) * ((1.0 if dx is None else dx) / 2.0)
    step = x.diff(dim=-1) if x.ndim == 1 else x.diff(dim=d)
    if x.ndim == 1:
        step = step.reshape(tuple(-1 if i == d else 1 for i in range(y.ndim)))
    return (pair * step).sum(d) / 2.0


@function()
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """Running integrals of y along `dim` by the trapezoidal rule."""
    _no_bool("cumulative_trapezoid", y)
    d = dims.one(dim, y.ndim, "cumulative_trapezoid")
    n = y.shape[d]
    pair = y.narrow(d, 1, n - 1) + y.narrow(d, 0, n - 1)
    if x is None:
        return pair.cumsum(d) * ((1.0 if dx is None else dx) / 2.0)
    step = x.diff(dim=-1) if x.ndim == 1 else x.diff(dim=d)
    if x.ndim == 1:
        step = step.reshape(tuple(-1 if i == d else 1 for i in range(y.ndim)))
    return (pair * step).cumsum(d) / 2.0


@function(out=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th difference along `dim`."""
    if n < 0:
        raise RuntimeError(f"diff(): order must be non-negative but got {n}")
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = dims.one(dim, input.ndim, "diff")
    if n == 0:
        return input.clone()
    parts = [p for p in (prepend, input, append) if p is not None]
    x = FUN("cat")(parts, d) if len(parts) > 1 else input
    for _ in range(n):
        size = x.shape[d]
        if size == 0:
            break
        a, b = x.narrow(d, 1, size - 1), x.narrow(d, 0, size - 1)
        x = a ^ b if x.dtype is dtypes.bool_ else a - b
    return x


def sum_to_size(x, shape):
    """x summed over what broadcasting added, so that it has `shape`."""
    have = x._array.shape
    if have == tuple(shape):
        return x
    lead = len(have) - len(shape)
    axes = list(range(lead)) + [i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1]
    if axes:
        x = apply(sum_op, (x,), {"dim": tuple(axes), "keepdim": True})
    return x.reshape(tuple(shape)) if lead else x


@function("sum_to_size")
def _sum_to_size(self, *size):
    """Sum over broadcast dimensions so that the result has the given size."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    lead = self.ndim - len(size)
    if lead < 0 or builtins.any(n not in (1, h) for n, h in zip(size, self.shape[lead:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    return sum_to_size(self, size)

