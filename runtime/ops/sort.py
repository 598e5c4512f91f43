"""Sorting and order statistics. Equal elements keep their order, NaN is greater than every number;
gradients flow to the elements that were picked."""


import numpy as np

from .. import devices, dtypes, return_types
from ..cpu import sort as kernels
from ..dtypes import BOOL, COMPLEX, FLOAT
from ..ir import scalar as s
from ..size_arguments import as_int, whole
from . import dims
from .argument_errors import checked_input
from .batching import shifted
from .creation import full, literal, zeros
from .gather import gather
from .onnx import sort_and_scan as in_onnx
from .out_arguments import give_out
from .question_kernels import asked
from .reduce import extremum_vjp
from .registry import Op, apply, ask, is_tensor, sizes_of
from .sample_inputs import Sample
from .surface import FUNCTIONS, METHODS, function
from .view import reshape, squeeze_op


def _check_topk(a, dim, k):
    """Are there this many elements along a dimension?"""
    n = a.shape[dim] if a.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(
            f"selected index k out of range: topk of {k} along a dimension of size {n}"
        )


def _check_kthvalue(a, dim, k):
    """Is there a k-th element along a dimension?"""
    n = a.shape[dim] if a.ndim else 1
    if not n:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")


def _topk(a, dim, k, largest):
    _check_topk(a, dim, k)                    # of sizes that are not known, too
    return kernels.topk(a, k, dim, largest)


def _kthvalue(a, dim, k):
    _check_kthvalue(a, dim, k)
    return kernels.kthvalue(a, k, dim)


def _picked_vjp(g, y, _x, dim, **attrs):
    """The gradient goes to the places that the positions (the second output) name."""
    zero = zeros(tuple(_x.shape), dtype=g[0].dtype, device=g[0].device)
    return [zero.scatter(dim, y[1], g[0]) if _x.ndim else g[0].reshape(())]


class PickOp(Op):
    """An op with two outputs: elements of the input, and their positions along `dim`."""

    total = True

    def __init__(self, name, forward, samples, onnx=None):
        super().__init__(
            name,
            forward,
            _picked_vjp,
            samples=samples,
            nondiff_outputs=(1,),
            batch=shifted("dim"),
            onnx=onnx,
        )


sort_op = PickOp(
    "sort",
    lambda a, dim, descending: kernels.sort(a, dim, descending),
    lambda make: [
        Sample(make(3, 4), dim=1, descending=False),
        Sample(make(3, 4), dim=0, descending=True),
        Sample(make(), dim=0, descending=False),
        Sample(make(0, 2), dim=0, descending=False),
    ],
    in_onnx.in_order,
)
topk_op = PickOp(
    "topk",
    _topk,
    lambda make: [
        Sample(make(3, 5), dim=1, k=2, largest=True),
        Sample(make(3, 5), dim=0, k=3, largest=False),
        Sample(make(4), dim=0, k=0, largest=True),
    ],
    in_onnx.first_in_order,
)
kthvalue_op = PickOp(
    "kthvalue",
    _kthvalue,
    lambda make: [Sample(make(3, 5), dim=1, k=2), Sample(make(4), dim=0, k=4)],
    in_onnx.one_in_order,
)
median_op = PickOp(
    "median",
    lambda a, dim, ignore_nan: kernels.median(a, dim, ignore_nan),
    lambda make: [
        Sample(make(3, 5), dim=1, ignore_nan=False),
        Sample(make(4), dim=0, ignore_nan=True),
    ],
    in_onnx.middle,
)
# The median of all elements has no place. As with the greatest of all, ties share the gradient.
median_value_op = Op(
    "median_value",
    lambda a, dim, ignore_nan: kernels.median_value(a, dim, ignore_nan),
    lambda g, y, x, dim, ignore_nan: extremum_vjp(g, y, x, dim=(dim,), keepdim=True),
    samples=lambda make: [
        Sample(make(5), dim=0, ignore_nan=False),
        Sample(make(3, 4), dim=1, ignore_nan=True),
    ],
    batch=shifted("dim"),
    onnx=lambda b, x, **attrs: in_onnx.middle(b, x, **attrs)[0],
)
mode_op = PickOp(
    "mode",
    lambda a, dim: kernels.mode(a, dim),
    lambda make: [Sample(make(3, 5), dim=1), Sample(make(4), dim=0)],
)


for _op in (sort_op, topk_op, kthvalue_op, mode_op, median_op):
    _op.forward_on_device = devices.function_of("sort", _op.name)
    _op.is_repeatable = _op.any_sizes = True
median_value_op.total = median_value_op.is_repeatable = median_value_op.any_sizes = True
_median_on_device = devices.function_of("sort", "median")
median_value_op.forward_on_device = lambda *arrays, **attrs: _median_on_device(*arrays, **attrs)[0]


def _check_ordered(op, input):
    checked_input(op, input)
    if input.dtype.category == COMPLEX:
        raise NotImplementedError(f"\"{op}\" not implemented for '{input.dtype.letter}'")
    return input


# ---- sort ----------------------------------------------------------------------------------------
def sort(input, dim=-1, descending=False, *, stable=True, out=None):
    """(values, indices): the elements in order along a dimension, and where each was.

    >>> import whet
    >>> whet.sort(whet.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    if isinstance(dim, bool) and not isinstance(descending, bool):
        dim, descending = descending, False
    _check_ordered("sort", input)
    r = apply(
        sort_op, (input,), {"dim": dims.one(dim, input._array.ndim), "descending": bool(descending)}
    )
    if out is not None:

        return give_out("sort", return_types.sort(r), out, (input,))
    return return_types.sort(r)


sort.__module__ = "whet"
METHODS["sort"] = lambda self, dim=-1, descending=False, *, stable=True: sort(
    self, dim, descending, stable=stable
)


def _sort_function(input, dim=-1, descending=False, *, axis=None, stable=True, out=None):
    if axis is not None:  # the Array API asks for the values only
        return sort(input, axis, descending).values
    return sort(input, dim, descending, stable=stable, out=out)


_sort_function.__name__, _sort_function.__doc__ = "sort", sort.__doc__
FUNCTIONS["sort"] = _sort_function


@function(out=True)
def argsort(input, dim=-1, descending=False, *, stable=True, axis=None):
    """The indices that put the elements in order along a dimension.

    >>> import whet
    >>> whet.argsort(whet.tensor([3., 1., 2.]))
    tensor([1, 2, 0])
    """
    return sort(input.detach(), dim if axis is None else axis, descending).indices


@function(out=True)
def msort(input):
    """The elements in order along the first dimension.

    >>> import whet
    >>> whet.msort(whet.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    return sort(input, 0).values


@function(out=True)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices): the k largest (or smallest) elements along a dimension, in order.

    >>> import whet
    >>> whet.topk(whet.tensor([1, 5, 3]), 2).values
    tensor([5, 3])
    """
    _check_ordered("topk", input)
    if input.dtype.category == BOOL:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    d = dims.one(as_int(dim, "topk", "dim", 3), input._array.ndim)
    k = as_int(k, "topk", "k", 2, whole)
    _check_topk(input._array, d, k)
    return return_types.topk(
        apply(topk_op, (input,), {"dim": d, "k": k, "largest": bool(largest)}))


def _kept(r, dim, keepdim, ndim):
    return r if keepdim or not ndim else [apply(squeeze_op, (x,), {"dim": (dim,)}) for x in r]


@function(out=True)
def kthvalue(input, k, dim=-1, keepdim=False):
    """(values, indices): the k-th smallest element (from 1) along a dimension.

    >>> import whet
    >>> whet.kthvalue(whet.tensor([3., 1., 2.]), 2).values
    tensor(2.)
    """
    _check_ordered("kthvalue", input)
    a = input._array
    d = dims.one(as_int(dim, "kthvalue", "dim", 3), a.ndim)
    k = as_int(k, "kthvalue", "k", 2)
    _check_kthvalue(a, d, k)
    return return_types.kthvalue(
        _kept(apply(kthvalue_op, (input,), {"dim": d, "k": int(k)}), d, keepdim, a.ndim)
    )


# ---- median and mode -----------------------------------------------------------------------------
def _median(op, kind, input, dim, keepdim, *, ignore_nan):
    _check_ordered(op, input)
    a = input._array
    if dim is None:
        if not a.size:

            return full((), float("nan") if input.dtype.category == FLOAT else 0, dtype=input.dtype)
        flat = reshape(input, (-1,))
        return apply(median_value_op, (flat,), {"dim": 0, "ignore_nan": ignore_nan}).reshape(())
    d = dims.one(dim, a.ndim)
    if a.ndim and not a.shape[d]:
        raise IndexError(f"{op}(): Expected reduction dim {d} to have non-zero size.")
    return kind(
        _kept(apply(median_op, (input,), {"dim": d, "ignore_nan": ignore_nan}), d, keepdim, a.ndim)
    )


@function(out=True)
def median(input, dim=None, keepdim=False):
    """The middle element (the lower of two): of all, or (values, indices) along a dimension.

    >>> import whet
    >>> whet.median(whet.tensor([4, 1, 3, 2]))
    tensor(2)
    """
    return _median("median", return_types.median, input, dim, keepdim, ignore_nan=False)


@function(out=True)
def nanmedian(input, dim=None, keepdim=False):
    """`median` without the NaNs.

    >>> import whet
    >>> whet.nanmedian(whet.tensor([1., whet.nan, 3.]))
    tensor(1.)
    """
    return _median("nanmedian", return_types.nanmedian, input, dim, keepdim, ignore_nan=True)


@function(out=True)
def mode(input, dim=-1, keepdim=False):
    """(values, indices): the most frequent element along a dimension (the least of several), and
    its last place.

    >>> import whet
    >>> whet.mode(whet.tensor([3, 1, 3])).values
    tensor(3)
    """
    _check_ordered("mode", input)
    a = input._array
    d = dims.one(dim, a.ndim)
    if a.ndim and not a.shape[d]:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    return return_types.mode(_kept(apply(mode_op, (input,), {"dim": d}), d, keepdim, a.ndim))


# ---- quantiles -----------------------------------------------------------------------------------
@asked(lambda x, _: (x < 0) | (x > 1) | s.isnan(x))
def _fractions(a):
    """Are all elements between 0 and 1?"""
    return bool(((a >= 0) & (a <= 1)).all())


def _quantile(op, input, q, dim, keepdim, interpolation, *, ignore_nan):
    if q is None:
        raise TypeError(f"{op}(): argument 'q' must be Tensor or float, not NoneType")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{op}() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
            f"got {interpolation}")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{op}() input tensor must be either float or double dtype")
    if not input._array.size:
        raise RuntimeError(f"{op}() input tensor must be non-empty")
    if is_tensor(q):
        if q.ndim > 1:
            raise RuntimeError(f"{op}() q must be a scalar or 1D tensor")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{op}() q tensor must be same dtype as the input tensor")
    else:
        q = literal(np.asarray(q, input._array.dtype)).to(input.device)
    if not ask(_fractions, q):
        raise RuntimeError(f"{op}() q must be in the range [0, 1] but got {q.tolist()}")
    shape = input._array.shape
    if dim is None:
        x, kept = reshape(input, (1, -1)), (1,) * len(shape)
    else:
        d = dims.one(dim, len(shape))
        x = input.movedim(d, -1) if shape else input.reshape(1)
        kept = tuple(1 if i == d else n for i, n in enumerate(shape))
        x = reshape(x, (-1, x.shape[-1]))
    ordered = sort(x, -1).values
    r = _between(ordered, q.reshape(-1), interpolation, ignore_nan)
    out = (
        kept
        if keepdim
        else ()
        if dim is None
        else tuple(n for i, n in enumerate(shape) if i != dims.one(dim, len(shape)))
    )
    return reshape(r.t(), (q.numel(), *out)) if q.ndim else reshape(r, out)


def _between(x, q, interpolation, ignore_nan):
    """Quantiles q of sorted rows: (rows, quantiles). One of a row with NaN is NaN, unless those
    are ignored."""
    n = sizes_of(x)[-1]
    nans = FUNCTIONS["isnan"](x).sum(-1, keepdim=True)
    if ignore_nan:
        rank = q * (n - 1 - nans).clamp(min=0).to(q.dtype)
    else:
        rank = FUNCTIONS["where"](nans > 0, n - 1.0, q * (n - 1))
    if interpolation == "nearest":
        return gather(x, -1, rank.round().long())
    below, above = rank.floor(), rank.ceil()
    if interpolation in ("lower", "higher"):
        return gather(x, -1, (below if interpolation == "lower" else above).long())
    weight = 0.5 if interpolation == "midpoint" else rank - below
    return gather(x, -1, below.long()).lerp(gather(x, -1, above.long()), weight)


@function(out=True)
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The values below which the fractions `q` of the elements lie.

    >>> import whet
    >>> whet.quantile(whet.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, ignore_nan=False)


@function(out=True)
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """`quantile` without the NaNs.

    >>> import whet
    >>> whet.nanquantile(whet.tensor([1., whet.nan, 3.]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, ignore_nan=True)
