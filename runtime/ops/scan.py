"""Scans: running sums, products and extrema; differences and the trapezoidal rule."""

import math

import numpy as np

from .. import devices, dtypes, return_types
from ..cpu import scan as scans
from ..dtypes import BOOL, COMPLEX, FLOAT
from . import dims
from .argument_errors import checked_input
from .batching import shifted
from .number_questions import has_zero
from .onnx import sort_and_scan as in_onnx
from .out_types import OutType
from .reduce import products_before, samples_along_one_dim
from .registry import Op, apply, ask, is_tensor
from .surface import FUNCTIONS, METHODS, function
from .view_parts import slice_along


def _flip_cumsum(g, dim):
    return g.flip(dim).cumsum(dim).flip(dim)


def _cumprod_vjp(g, y, x, *, dim):
    if x.dtype.category == COMPLEX:
        y, x = y.conj(), x.conj()
    if not ask(has_zero, x):
        return [_flip_cumsum(g * y, dim) / x]
    # with zeros: sum over k >= i of g_k * product of x_j, j <= k, j != i
    return [products_before(x, dim) * _after(g, x, dim)]


def _after(g, x, dim):
    """For each element i the sum over k >= i of g_k * product of x_j, i < j <= k. In steps: of g,
    what is known of 1, 2, 4, ... elements from i on; of x, the product of so many after i."""
    n, far, product = x.shape[dim], 1, x.narrow(dim, 1, x.shape[dim] - 1)
    while far < n:
        g = FUNCTIONS["cat"](
            [
                g.narrow(dim, 0, n - far) + product * g.narrow(dim, far, n - far),
                g.narrow(dim, n - far, far),
            ],
            dim,
        )
        if 2 * far < n:
            product = product.narrow(dim, 0, n - 2 * far) * product.narrow(dim, far, n - 2 * far)
        far *= 2
    return g


class ScanOp(Op):
    """A running reduction along one axis."""

    family = "scan"
    is_repeatable = True

    def __init__(self, name, vjp, onnx, nondiff_outputs=()):
        super().__init__(
            name,
            vjp=vjp,
            samples=samples_along_one_dim,
            nondiff_outputs=nondiff_outputs,
            batch=shifted("dim"),
            onnx=onnx,
        )

    def forward(self, x, *, dim):
        r = getattr(scans, self.name)(x, dim)
        return tuple(r) if type(r) is list else r

    def on_device(self, arrays, attrs, index):
        """The scan on a device, in the CPU's order of sums."""
        return devices.beyond.scans.of_op(self.name, arrays[0], attrs["dim"])


def _cumextreme_vjp(g, y, _x, *, dim):
    zero = FUNCTIONS["zeros"](_x.shape, dtype=g[0].dtype, device=g[0].device)
    return [zero.scatter_add(dim, y[1], g[0])]


cumsum_op = ScanOp("cumsum", lambda g, _y, _x, *, dim: [_flip_cumsum(g, dim)], in_onnx.running_sum)
cumsum_op.linear = (0,)
cumprod_op = ScanOp("cumprod", _cumprod_vjp, in_onnx.running(in_onnx.product, 1))
cummax_op = ScanOp(
    "cummax", _cumextreme_vjp, in_onnx.running_extremum("GreaterOrEqual"), nondiff_outputs=(1,)
)
cummin_op = ScanOp(
    "cummin", _cumextreme_vjp, in_onnx.running_extremum("LessOrEqual"), nondiff_outputs=(1,)
)


def _logcumsumexp_vjp(g, y, x, *, dim):
    is_complex = x.dtype.category == COMPLEX
    if is_complex:
        y, x = y.conj(), x.conj()
    n = y.shape[dim] if y.ndim else 0
    last = (slice_along(y, dim, -1) if n else y).detach()
    plain = (x - last).exp() * _flip_cumsum(g * (last - y).exp(), dim)
    if is_complex:      # a sum may be far below its terms, so that a factor vanishes
        near = plain.isfinite() & ((x - last).real < _NEAR)
        return [FUNCTIONS["where"](near, plain, _complex_logcumsumexp_gradient(g, y, x, dim))]
    # The factors of a term overflow where numbers lie very far apart, though their product does
    # not: sums of the logarithms of positive and of negative terms stay.
    lowest = float(np.finfo(x.dtype.np).min if x.dtype is not dtypes.bfloat16 else -3e38) / 4

    def positive(g):
        some = g > 0
        logs = FUNCTIONS["where"](some, FUNCTIONS["where"](some, g, 1.0).log(), lowest) - y
        return (logcumsumexp(logs.flip(dim), dim).flip(dim) + x).exp()
    return [FUNCTIONS["where"](plain.isfinite(), plain, positive(g) - positive(-g))]


# Powers of e whose product with the least float32 is still nothing beside 1.
_NEAR = 40.0


def _complex_logcumsumexp_gradient(g, y, x, dim):
    """The sum over k >= i of g_k * exp(x_i - y_k), by the logarithms of its terms."""
    logs = FUNCTIONS["where"](g == 0, -math.inf, FUNCTIONS["where"](g == 0, 1, g).log() - y)
    return (logcumsumexp(logs.flip(dim), dim).flip(dim) + x).exp()


class RunningLogSum(ScanOp):
    """The logarithms of running sums of exponentials."""

    def jvp(self, inputs, tangents, outs, attrs):
        """Each tangent of the sum is the one before, as far as that sum is part of it, and the new
        term's. Ratios of sums overflow nowhere, and tangents of 0 have derivatives like others."""
        (x,), (t,), y, dim = inputs, tangents, outs, attrs["dim"]
        n = x.shape[dim]
        if not n:
            return t.clone()

        def ratio(part, whole):
            nothing = (part.real if part.dtype.category == COMPLEX else part) == -math.inf
            return FUNCTIONS["where"](nothing, 0.0, (part - whole).exp())
        ratios = ratio(y.narrow(dim, 0, n - 1), y.narrow(dim, 1, n - 1)).flip(dim)
        ratios = FUNCTIONS["cat"]([y.new_ones(y.narrow(dim, 0, 1).shape), ratios], dim)
        return _after((ratio(x, y) * t).flip(dim), ratios, dim).flip(dim)


logcumsumexp_op = RunningLogSum(
    "logcumsumexp", _logcumsumexp_vjp, in_onnx.running(in_onnx.log_of_sum, float("-inf")))
for _op in (cumsum_op, cumprod_op, cummax_op, cummin_op, logcumsumexp_op):
    _op.any_sizes = True


def _scan(op, input, dim, dtype=None):
    if dtype is not None:
        input = input.to(dtype=dtype)
    elif input.dtype.category < FLOAT and op in (cumsum_op, cumprod_op):
        input = input.to(dtypes.int64)
    d = dims.one(dim, checked_input(op.name, input).ndim, op.name)
    kind = input.dtype.category
    if (kind < FLOAT if op is logcumsumexp_op else
            kind == COMPLEX and op in (cummax_op, cummin_op)):
        raise NotImplementedError(f"\"{op.name}\" not implemented for '{input.dtype.letter}'")
    if not input.ndim:
        if op in (cummax_op, cummin_op):
            return input.clone(), FUNCTIONS["zeros"]((), dtype=dtypes.int64, device=input.device)
        return input.clone()
    r = apply(op, (input,), {"dim": d})
    return r if dtype is None else r.to(dtype)


@function(out=True, out_type=OutType.DECIDES)
def cumsum(input, dim, *, dtype=None):
    """Running sums along `dim`.

    >>> import whet
    >>> whet.tensor([1, 2, 3]).cumsum(0)
    tensor([1, 3, 6])
    """
    return _scan(cumsum_op, input, dim, dtype)


@function(out=True, out_type=OutType.DECIDES)
def cumprod(input, dim, *, dtype=None):
    """Running products along `dim`.

    >>> import whet
    >>> whet.cumprod(whet.tensor([1., 2., 3.]), dim=0)
    tensor([1., 2., 6.])
    """
    return _scan(cumprod_op, input, dim, dtype)


@function(out=True)
def logcumsumexp(input, dim):
    """Running log(sum(exp(x))) along `dim`.

    >>> import whet
    >>> whet.logcumsumexp(whet.zeros(3), dim=0)
    tensor([0.0000, 0.6931, 1.0986])
    """
    return _scan(logcumsumexp_op, input, dim)


@function(out=True)
def cummax(input, dim):
    """Running maxima along `dim`: (values, indices).

    >>> import whet
    >>> whet.cummax(whet.tensor([1., 3., 2.]), dim=0).values
    tensor([1., 3., 3.])
    """
    return return_types.cummax(_scan(cummax_op, input, dim))


@function(out=True)
def cummin(input, dim):
    """Running minima along `dim`: (values, indices).

    >>> import whet
    >>> whet.cummin(whet.tensor([3., 1., 2.]), dim=0).values
    tensor([3., 1., 1.])
    """
    return return_types.cummin(_scan(cummin_op, input, dim))


def _inplace_scan(name, fn):

    def write(self, dim, *, dtype=None):
        return self.copy_(
            fn(self.clone() if self.requires_grad else self, dim, dtype=dtype)
        )  # the backward may read it

    write.__name__ = name
    METHODS[name] = write


_inplace_scan("cumsum_", cumsum)
_inplace_scan("cumprod_", cumprod)


def _no_bool(name, *operands):
    if any(t is not None and t.dtype.category == BOOL for t in operands):
        raise RuntimeError(
            f"{name}: received a bool input for `x` or `y`, but bool is not supported")


def _trapezoids(name, y, x, dx, d, total):
    """The areas of trapezoids along dimension d, added up by the method `total`."""
    if total == "sum" and x is None and y.dtype.category < FLOAT:
        y = y.to(dtypes.int64)           # two neighbours may be too much for their own type
    pair = slice_along(y, d, 1) + slice_along(y, d, None, -1)
    if x is None:
        return getattr(pair, total)(d) * ((1.0 if dx is None else dx) / 2.0)
    if x.ndim == 1 and x.shape[0] != y.shape[d]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    step = x.diff(dim=-1) if x.ndim == 1 else x.diff(dim=d)
    if x.ndim == 1:
        step = step.reshape(tuple(-1 if i == d else 1 for i in range(y.ndim)))
    return getattr(pair * step, total)(d) / 2.0


@function()
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of y along `dim` by the trapezoidal rule.

    >>> import whet
    >>> whet.trapezoid(whet.tensor([1., 3., 5.]))
    tensor(6.)
    """
    _no_bool("trapezoid", y, x)
    d = dims.one(dim, y.ndim, "trapezoid")
    return (_trapezoids("trapezoid", y, x, dx, d, "sum") if y.shape[d]
            else y.sum(d, dtype=y.dtype))


FUNCTIONS["trapz"] = trapezoid


@function()
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """Running integrals of y along `dim` by the trapezoidal rule.

    >>> import whet
    >>> whet.cumulative_trapezoid(whet.tensor([1., 3., 5.]))
    tensor([2., 6.])
    """
    _no_bool("cumulative_trapezoid", y, x)
    d = dims.one(dim, y.ndim, "cumulative_trapezoid")
    return _trapezoids("cumulative_trapezoid", y, x, dx, d, "cumsum")


def _check_beside(input, more, what, d):
    """Does what comes before or behind the input have its sizes in all other dimensions?"""
    if more is None:
        return
    if not is_tensor(more):
        raise TypeError(f"diff(): argument '{what}' must be Tensor, not {more.__class__.__name__}")
    mine, theirs = list(input.shape), list(more.shape)
    if len(mine) != len(theirs) or mine[:d] + mine[d + 1:] != theirs[:d] + theirs[d + 1:]:
        raise RuntimeError(f"diff expects {what} to have the shape of input except along dimension "
                           f"{d}, but got {theirs} for {mine}")


@function(out=True, out_type=OutType.CASTS)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th difference along `dim`.

    >>> import whet
    >>> whet.diff(whet.tensor([1., 4., 9.]))
    tensor([3., 5.])
    """
    if n < 0:
        raise RuntimeError(f"diff(): order must be non-negative but got {n}")
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = dims.one(dim, input.ndim, "diff")
    _check_beside(input, prepend, "prepend", d)
    _check_beside(input, append, "append", d)
    if n == 0:
        return input.clone()
    parts = [p for p in (prepend, input, append) if p is not None]
    x = FUNCTIONS["cat"](parts, d) if len(parts) > 1 else input
    for _ in range(n):
        if x.shape[d] == 0:
            break
        a, b = slice_along(x, d, 1), slice_along(x, d, None, -1)
        x = a ^ b if x.dtype is dtypes.bool_ else a - b
    return x
