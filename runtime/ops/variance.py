"""Variances and standard deviations."""
import builtins
import math

from ..dtypes import COMPLEX, FLOAT
from ..ir import row_programs
from . import dims
from .argument_errors import checked_input
from .half_precision import wide
from .out_types import OutType
from .registry import apply
from .rows_family import RowsOp
from .sample_inputs import Sample
from .surface import FUNCTIONS, function
from .vector_norm import std_root


def _var_vjp(g, y, x, n, freedom, *, dim):
    gv, gm = g
    r = None
    if gv is not None:
        r = gv * (x - y[1]) * (2.0 / freedom if freedom else math.inf)
    if gm is not None:
        part = (gm / n).expand(x.shape)
        r = part if r is None else r + part
    return [r, None, None]


var_mean_op = RowsOp(
    "var_mean", row_programs.var_mean, vjp=_var_vjp, samples=lambda make: [
        Sample(make(3, 4, 5), 20.0, 19.0, dim=(1, 2)),
        Sample(make(6), 6.0, 5.0, dim=(0,))])


def _moments(name, input, dim, unbiased, correction):
    """(variance, mean) with reduced axes kept, and the axes."""
    if checked_input(name, input).dtype.category < FLOAT:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    if isinstance(dim, bool):                                   # var(unbiased)
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    d = dims.many(dim, input.ndim, name)
    d = tuple(range(input.ndim)) if d is None else d
    if input.dtype.category == COMPLEX:
        (vr, mr), (vi, mi) = (_moments(name, part, d, None, correction)[0]
                              for part in (input.real, input.imag))
        return (vr + vi, FUNCTIONS["complex"](mr, mi)), d
    n = dims.count(input.shape, d)
    x = input if input.ndim else input.reshape(1)
    return (apply(var_mean_op, (x, float(n), float(builtins.max(n - correction, 0))),
                  {"dim": d or (0,)}), d)


def _deviation(name, input, dim, unbiased, correction):
    """(standard deviation, mean) with reduced axes kept, and the axes."""
    x = wide(checked_input(name, input))
    (v, m), d = _moments(name, x, dim, unbiased, correction)
    r = apply(std_root, (v,), {})
    return (r, m) if x is input else (r.to(input.dtype), m.to(input.dtype)), d


def without_dim(x, d, keepdim):
    """Without the reduced axes."""
    if keepdim:
        return x
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if i not in d))


def _drop_all(x, input, d, keepdim):
    return x.reshape(()) if not input.ndim else without_dim(x, d, keepdim)


@function(out=True, out_type=OutType.CASTS)
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance (divided by n - correction).

    >>> import whet
    >>> whet.tensor([1., 2., 3.]).var()
    tensor(1.)
    """
    (v, _), d = _moments("var", input, dim, unbiased, correction)
    return _drop_all(v, input, d, keepdim)


@function(out=True, out_type=OutType.CASTS)
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation.

    >>> import whet
    >>> whet.std(whet.tensor([1., 3.]))
    tensor(1.4142)
    """
    (r, _), d = _deviation("std", input, dim, unbiased, correction)
    return _drop_all(r, input, d, keepdim)


@function(out=True)
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(variance, mean)

    >>> import whet
    >>> var, mean = whet.var_mean(whet.tensor([1., 3.]))
    >>> var
    tensor(2.)
    """
    (v, m), d = _moments("var_mean", input, dim, unbiased, correction)
    return _drop_all(v, input, d, keepdim), _drop_all(m, input, d, keepdim)


@function(out=True)
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(standard deviation, mean)

    >>> import whet
    >>> std, mean = whet.std_mean(whet.tensor([1., 3.]))
    >>> mean
    tensor(2.)
    """
    (r, m), d = _deviation("std_mean", input, dim, unbiased, correction)
    return _drop_all(r, input, d, keepdim), _drop_all(m, input, d, keepdim)
