"""Norms of vectors, and distances by them."""
import math

import numpy as np

from .. import dtypes
from ..dtypes import COMPLEX, FLOAT
from ..ir import scalar as s
from . import dims
from .argument_errors import checked_input
from .half_precision import wide
from .number_questions import listed
from .out_arguments import give_out
from .pointwise_family import PointwiseOp
from .question_kernels import asked
from .reduce import amax_op, amin_op, squares_of_each, sum_abs_op, sum_squares_op
from .registry import apply, ask, check_tensors
from .sample_inputs import reals
from .surface import FUNCTIONS, function, method

# a square root whose gradient at zero is zero
std_root = PointwiseOp("root_or_zero", lambda input: s.sqrt(input),
                       kinds="f",
                       samples=reals(0.2, 4),
                       vjp=lambda g, y, x: [s.where(s.eq(y, 0), 0, g / (2 * y))])

# smaller numbers are roots of squares that have lost digits
LEAST = {np.dtype(t): float(np.sqrt(np.finfo(t).tiny)) for t in ("f4", "f8")}

one_op = PointwiseOp("one_if_nonzero", lambda input: s.where(s.ne(input, 0), 1, input * 0),
                     kinds="f",
                     samples=reals(0.2, 4),
                     vjp=lambda g, y, x: [None])


@asked(lambda x, t: s.isinf(x) | (x < LEAST[t]) if t in LEAST else s.isinf(x))
def out_of_range(a):
    """Are some norms so large or small that their squares may have overflowed or vanished?"""
    least = LEAST.get(a.dtype, 0.0)
    numbers = listed(a)                      # the usual case, in which Python asks sooner
    if numbers is not None:
        return any([x < least or x == math.inf for x in numbers])
    return bool((np.isinf(a) | (a < least)).any())


def _in_type(x, dtype):
    """A tensor in the type that a norm is asked for in, which must hold its numbers."""
    if x.dtype.category == COMPLEX and dtype.category != COMPLEX:
        raise RuntimeError("linalg.vector_norm: dtype should be complex for complex inputs, but "
                           f"got {dtype.letter}")
    if dtypes.promote_types(x.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({x.dtype.letter}) should be convertible "
            f"without narrowing to the specified dtype ({dtype.letter})")
    return x.to(dtype=dtype)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """(sum |x|^ord)^(1/ord) over the given dimensions (all by default).

    >>> import whet
    >>> whet.linalg.vector_norm(whet.tensor([3., 4.]))
    tensor(5.)
    """
    if dtype is not None:
        x = _in_type(x, dtypes.as_dtype(dtype))
    if checked_input("vector_norm", x).dtype.category < FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype.letter}")
    d = dims.many(dim, x.ndim, "vector_norm")
    if x.dtype.category == COMPLEX:
        x = x.abs()
    attrs = {"dim": d, "keepdim": bool(keepdim)}
    ord = float(ord)
    if (ord < 0 or ord == math.inf) and dims.count(x._array.shape, d) == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm of dimensions that are empty, "
            "as it has no identity")
    if ord == 2:
        w = wide(x)
        r = _rescaled(w, apply(std_root, (apply(sum_squares_op, (w,), attrs),), {}), attrs)
        r = r if w is x else r.to(x.dtype)
    elif ord == 1 or ord not in (0, math.inf, -math.inf) and dims.count(x._array.shape, d) == 1:
        # The power of one number may vanish, or overflow, where the number does not.
        r = apply(sum_abs_op, (x,), attrs)
    elif ord == math.inf or ord == -math.inf:
        r = apply(amax_op if ord > 0 else amin_op, (x.abs(),), attrs)
    elif ord == 0:
        r = apply(one_op, (x,), {}).sum(dim=None if d is None else list(d), keepdim=keepdim)
    else:
        # powers of halves overflow where the norm does not
        r = _by_powers(wide(x).abs(), ord, None if d is None else list(d), keepdim).to(x.dtype)
    if out is not None:
        return give_out("vector_norm", r, out, (x,))
    return r


def norms_of_each(tensors, simple):
    """The 2-norm of each of several tensors of one type, in a vector. One question is asked of all
    of them: on a device each is a wait. Are they `simple`, so that one op sums them?"""
    if simple:
        squares = apply(squares_of_each, tuple(tensors), {})
    else:
        squares = FUNCTIONS["stack"]([apply(sum_squares_op, (t,), {"dim": None, "keepdim": False})
                                      for t in tensors])
    norms = apply(std_root, (squares,), {})
    if ask(out_of_range, norms):
        return FUNCTIONS["stack"]([vector_norm(t) for t in tensors])
    return norms


def _by_powers(x, ord, dim, keepdim):
    """(sum x^ord)^(1/ord) of numbers that are not negative, with no gradient where it is zero."""
    if ord < 0:
        none = x == 0
        total = (FUNCTIONS["where"](none, 1.0, x) ** ord).sum(dim=dim, keepdim=keepdim)
        some = none.any(keepdim=keepdim) if dim is None else none.any(dim, keepdim)
        return FUNCTIONS["where"](some, 0.0, total ** (1.0 / ord))
    total = (_power(x, ord) if ord < 1 else x ** ord).sum(dim=dim, keepdim=keepdim)
    return _power(total, 1.0 / ord) if ord > 1 else total ** (1.0 / ord)


def _power(x, p):
    """x ** p for positive p, with no gradient at zero (where it is infinite, or not a number)."""
    none = x == 0
    return FUNCTIONS["where"](none, 0.0, FUNCTIONS["where"](none, 1.0, x) ** p)


def _rescaled(x, r, attrs):
    """The 2-norm again with a scale, where squares overflowed or vanished though the norm does
    not."""
    if not ask(out_of_range, r) or x._array.size == 0:
        return r
    m = apply(amax_op, (x.detach().abs(),), dict(attrs, keepdim=True))
    scale = FUNCTIONS["where"]((m > 0) & FUNCTIONS["isfinite"](m), m, 1.0)
    exact = (apply(std_root, (apply(sum_squares_op,
                                    (x / scale,), attrs),), {}) * scale.reshape(r.shape))
    return exact


@function()
def dist(input, other, p=2):
    """The p-norm of the difference.

    >>> import whet
    >>> whet.dist(whet.tensor([0., 0.]), whet.tensor([3., 4.]))
    tensor(5.)
    """
    return vector_norm(input - other, p)


def _renorm(input, p, dim, maxnorm):
    check_tensors("renorm", input=input)
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    d = dims.one(dim, input.ndim, "renorm")
    norms = vector_norm(input, p, [i for i in range(input.ndim) if i != d], True)
    factor = FUNCTIONS["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return input * factor.to(input.dtype)


@function(out=True)
def renorm(input, p, dim, maxnorm):
    """Every slice along `dim` whose p-norm is greater than `maxnorm` scaled down to it.

    >>> import whet
    >>> whet.renorm(whet.tensor([[3., 4.], [0., 1.]]), 2, 0, 1.)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    return _renorm(input, p, dim, maxnorm)


@method()
def renorm_(self, p, dim, maxnorm):
    """`renorm`, in place."""
    return self.copy_(_renorm(self.clone(), p, dim, maxnorm))
