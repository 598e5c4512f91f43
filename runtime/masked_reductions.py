"""Reductions and normalisations of the elements for which a mask holds.

What is left out is replaced by what changes nothing (zero in a sum, -inf in a maximum), so each of
these is an ordinary computation, with its gradients. Where the mask leaves nothing, a sum is 0, a
mean is not a number and a maximum is the least number of its type.
"""
import math as _math

from .dtypes import BOOL as _BOOL
from .dtypes import FLOAT as _FLOAT
from .dtypes import bool_ as _bool
from .dtypes import get_default_dtype as _default
from .dtypes import iinfo as _iinfo
from .dtypes import int64 as _int64
from .ops.dims import one as _one
from .ops.surface import FUNCTIONS as _F

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var"
]


def _only(x, mask, left_out):
    """`x`, with another value where the mask does not hold."""
    if mask is None:
        return x
    if mask.dtype is not _bool:
        mask = mask.to(_bool)
    if mask.ndim > x.ndim:
        raise IndexError(f"masked: the mask has {mask.ndim} dimensions, the input {x.ndim}")
    return _F["where"](mask, x, _F["full"]((), left_out, dtype=x.dtype))


def _typed(x, dtype):
    return x if dtype is None or dtype is x.dtype else x.to(dtype)


def _dims(x, dim):
    if dim is None or dim == ():
        return tuple(range(x.ndim))
    return tuple([_one(d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim)])


def _least(x):
    if x.dtype.category >= _FLOAT:
        return -_math.inf
    return _iinfo(x.dtype).min if x.dtype.category > _BOOL else False


def _most(x):
    if x.dtype.category >= _FLOAT:
        return _math.inf
    return _iinfo(x.dtype).max if x.dtype.category > _BOOL else True


def _count(x, dims, keepdim, mask):
    """How many elements each result is of."""
    ones = _F["ones"](x.shape, dtype=_int64)
    ones = ones if mask is None else _F["where"](mask.to(_bool), ones, 0)
    return ones.sum(dims, keepdim) if dims else ones


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.sum(whet.tensor([1., 2., 3.]), mask=whet.tensor([True, False, True]))
    tensor(4.)
    """
    x = _typed(input, dtype)
    return _only(x, mask, 0).sum(_dims(x, dim), keepdim)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.prod(whet.tensor([2., 3., 4.]), mask=whet.tensor([True, False, True]))
    tensor(8.)
    """
    x = _only(_typed(input, dtype), mask, 1)
    dims = sorted(_dims(x, dim), reverse=True)
    for d in dims:
        x = x.prod(d, keepdim)
    return x if dims or dtype is not None or x.dtype.category >= _FLOAT else x.to(_int64)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.mean(whet.tensor([1., 2., 3.]), mask=whet.tensor([True, False, True]))
    tensor(2.)
    """
    x = _typed(input, dtype if dtype is not None or input.dtype.category >= _FLOAT else _default())
    dims = _dims(x, dim)
    return _only(x, mask, 0).sum(dims, keepdim) / _count(x, dims, keepdim, mask)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.var(whet.tensor([1., 2., 3.]), mask=whet.tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    x = _typed(input, dtype if dtype is not None or input.dtype.category >= _FLOAT else _default())
    dims = _dims(x, dim)
    away = x - mean(x, dims, keepdim=True, mask=mask)
    squares = _only(away * away.conj() if x.is_complex() else away.square(), mask, 0)
    squares = squares.real if x.is_complex() else squares
    count = _count(x, dims, keepdim, mask)
    freedom = (count - correction).clamp(min=0)
    return (squares.sum(dims, keepdim) / freedom.to(squares.dtype)).to(x.dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements for which the mask holds.

    >>> import whet
    >>> mask = whet.tensor([True, False, True])
    >>> whet.masked.std(whet.tensor([1., 2., 3.]), unbiased=False, mask=mask)
    tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype,
               mask=mask).sqrt()


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.amax(whet.tensor([1., 5., 3.]), mask=whet.tensor([True, False, True]))
    tensor(3.)
    """
    x = _typed(input, dtype)
    return _only(x, mask, _least(x)).amax(_dims(x, dim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.amin(whet.tensor([3., 1., 5.]), mask=whet.tensor([True, False, True]))
    tensor(3.)
    """
    x = _typed(input, dtype)
    return _only(x, mask, _most(x)).amin(_dims(x, dim), keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the largest of the elements for which the mask holds, in the type of the input.

    >>> import whet
    >>> whet.masked.argmax(whet.tensor([1, 5, 3]), mask=whet.tensor([True, False, True]))
    tensor(2)
    """
    x = _typed(input, dtype)
    return _only(x, mask, _least(x)).argmax(dim, keepdim).to(x.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the smallest of the elements for which the mask holds, in the type of the input.

    >>> import whet
    >>> whet.masked.argmin(whet.tensor([3, 1, 5]), mask=whet.tensor([True, False, True]))
    tensor(0)
    """
    x = _typed(input, dtype)
    return _only(x, mask, _most(x)).argmin(dim, keepdim).to(x.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp)) of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.logsumexp(whet.zeros(3), 0, mask=whet.tensor([True, False, False]))
    tensor(0.)
    """
    x = _typed(input, dtype if dtype is not None or input.dtype.category >= _FLOAT else _default())
    r = _only(x, mask, -_math.inf).logsumexp(_dims(x, dim), keepdim)
    return r.to(input.dtype if dtype is None else dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.norm(whet.tensor([3., 5., 4.]), mask=whet.tensor([True, False, True]))
    tensor(5.)
    """
    from .linalg import vector_norm
    x = _typed(input, dtype)
    return vector_norm(_only(x, mask, _math.inf if ord == -_math.inf or ord < 0 else 0), ord,
                       _dims(x, dim), keepdim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements for which the mask holds, divided by their norm; zero elsewhere.

    >>> import whet
    >>> mask = whet.tensor([True, False, True])
    >>> whet.masked.normalize(whet.tensor([3., 5., 4.]), 2.0, 0, mask=mask)
    tensor([0.6000, 0.0000, 0.8000])
    """
    x = _typed(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return _only(x, mask, 0) / size.clamp(min=eps)


def softmax(input, dim, *, dtype=None, mask=None):
    """The softmax of the elements for which the mask holds; zero elsewhere.

    >>> import whet
    >>> whet.masked.softmax(whet.zeros(3), 0, mask=whet.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = _typed(input, dtype)
    return _F["softmax"](_only(x, mask, -_math.inf), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of the softmax of the elements for which the mask holds; -inf elsewhere.

    >>> import whet
    >>> whet.masked.log_softmax(whet.zeros(2), 0, mask=whet.tensor([True, False]))
    tensor([0., -inf])
    """
    x = _typed(input, dtype)
    return _F["log_softmax"](_only(x, mask, -_math.inf), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """The softmax of the negated elements for which the mask holds; zero elsewhere.

    >>> import whet
    >>> whet.masked.softmin(whet.zeros(3), 0, mask=whet.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = _typed(input, dtype)
    return _F["softmax"](-_only(x, mask, _math.inf), dim)


def cumsum(input, dim, *, dtype=None, mask=None):
    """The running sum of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.cumsum(whet.ones(3), 0, mask=whet.tensor([True, False, True]))
    tensor([1., 1., 2.])
    """
    x = _typed(input, dtype)
    return _only(x, mask, 0).cumsum(dim, dtype=x.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """The running product of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.cumprod(whet.tensor([2., 3., 4.]), 0, mask=whet.tensor([True, False, True]))
    tensor([2., 2., 8.])
    """
    x = _typed(input, dtype)
    return _only(x, mask, 1).cumprod(dim, dtype=x.dtype)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the elements for which the mask holds.

    >>> import whet
    >>> whet.masked.median(whet.tensor([1., 9., 3.]), 0, mask=whet.tensor([True, False, True]))
    tensor(1.)
    """
    x = _typed(input, dtype)
    if x.dtype.category >= _FLOAT:
        return _only(x, mask, _math.nan).nanmedian(dim, keepdim).values
    if mask is None:
        return x.median(dim, keepdim).values
    counts = _count(x, _dims(x, dim), True, mask)
    if (counts == 0).any():
        raise ValueError("masked.median: a row of integers without elements for which the mask "
                         "holds has no median")
    # Those left out are put behind the rest.
    ordered = _only(x, mask, _most(x)).sort(dim).values
    found = ordered.gather(dim, (counts - 1) // 2)
    return found if keepdim else found.squeeze(dim)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp + exp) of the elements for which the masks hold.

    >>> import whet
    >>> whet.masked.logaddexp(whet.zeros(1), whet.zeros(1), other_mask=whet.tensor([False]))
    tensor([0.])
    """
    a, b = _typed(input, dtype), _typed(other, dtype)
    return _F["logaddexp"](_only(a, input_mask, -_math.inf), _only(b, other_mask, -_math.inf))
