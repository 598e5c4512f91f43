"""Functions that are a few calls of others: comparisons with a tolerance, covariances, gradients
of samples, cross products."""
import math

import numpy as np

from .. import declarations, dtypes, return_types, tf32
from ..autograd.modes import beyond, read
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from ..indexing import as_int
from . import dims
from .autocast_to_float32 import precise
from .batching import native
from .number_questions import has_negative
from .registry import Op, apply, ask, check_one_type, check_tensors, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS as F
from .surface import function, method
from .vector_norm import vector_norm


def _tensor(name, x, what="input"):
    if not is_tensor(x):
        raise TypeError(f"{name}(): argument '{what}' must be Tensor, not {x.__class__.__name__}")
    return x


# ---- comparisons ---------------------------------------------------------------------------------
@function()
def isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves only.

    >>> import whet
    >>> whet.isclose(whet.tensor([1.0, 2.0]), whet.tensor([1.0 + 1e-9, 3.0]))
    tensor([ True, False])
    """
    _tensor("isclose", input), _tensor("isclose", other, "other")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(
            f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = input == other
    if equal_nan and input.dtype.kind >= FLOAT:
        close = close | (F["isnan"](input) & F["isnan"](other))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.kind < FLOAT:
        input, other = input.to(dtypes.get_default_dtype()), other.to(dtypes.get_default_dtype())
    gap = (input - other).abs()
    return close | (F["isfinite"](gap) & (gap <= (other * rtol).abs() + atol))


@function()
@declarations.goes_by_no_size
def allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Are all elements close (see `isclose`)?"""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function()
def equal(input, other):
    """Have the two tensors the same size and elements?

    >>> import whet
    >>> whet.equal(whet.tensor([1, 2]), whet.tensor([1, 2]))
    True
    """
    _tensor("equal", input), _tensor("equal", other, "other")
    return input._array.shape == other._array.shape and bool((input == other).all())


@method()
def is_same_size(self, other):
    """Have the two tensors the same size?"""
    return self._array.shape == other._array.shape


# ---- complex numbers -----------------------------------------------------------------------------
@function()
def isreal(input):
    """Where the imaginary part is zero."""
    if _tensor("isreal", input).dtype.kind != COMPLEX:
        return F["ones_like"](input, dtype=dtypes.bool_)
    return input.imag == 0


@function(out=True)
def angle(input):
    """The angle of a complex number in the plane; of a real number 0 or pi."""
    if _tensor("angle", input).dtype.kind == COMPLEX:
        return F["atan2"](input.imag, input.real)
    x = input if input.dtype.kind == FLOAT else input.to(dtypes.get_default_dtype())
    return F["where"](F["isnan"](x), x, F["where"](x < 0, math.pi, 0.0 * x.new_ones(
        ()))).to(x.dtype)


# ---- parts of numbers ----------------------------------------------------------------------------
def _frexp(x):
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    m, e = np.frexp(wide)
    return np.asarray(m, x.dtype), np.asarray(e, np.int32)


frexp_op = Op("frexp",
              _frexp, lambda g, y, _x: [g[0] / F["exp2"](y[1].to(_x.dtype))],
              nondiff_outputs=(1,),
              samples=lambda make: [Sample(make(3, 4, low=0.6, high=0.9))],
              batch=native)


@function(out=True)
def frexp(input):
    """(mantissa, exponent): input = mantissa * 2 ** exponent, 0.5 <= |mantissa| < 1."""
    if _tensor("frexp", input).dtype.kind != FLOAT:
        raise RuntimeError("frexp() only supports floating-point dtypes")
    return return_types.frexp(apply(frexp_op, (input,), {}))


@function("multigammaln", out=True)
def mvlgamma(input, p):
    """The logarithm of the multivariate gamma function of dimension p."""
    if _tensor("mvlgamma", input).dtype.kind == 0:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if input.dtype.kind < FLOAT:
        input = input.to(dtypes.get_default_dtype())
    p = as_int(p, "mvlgamma", "p", 2)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    steps = F["arange"](0, p, dtype=input.dtype, device=input.device) * -0.5
    return F["lgamma"](input.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


@method()
def mvlgamma_(self, p):
    """`mvlgamma`, in place."""
    return self.copy_(mvlgamma(self, p))


# ---- matrices and vectors ------------------------------------------------------------------------
@function()
@precise
def trace(input):
    """The sum of the diagonal of a matrix."""
    if _tensor("trace", input).ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return input.diagonal().sum()


@function(out=True)
def cross(input, other, dim=None):
    """The vector product of vectors of 3 elements along `dim` (by default the first dimension of
    size 3)."""
    _tensor("cross", input), _tensor("cross", other, "other")
    check_one_type("cross", input=input, other=other)
    if input.ndim != other.ndim:
        raise RuntimeError("cross: inputs must have the same number of dimensions.")
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    d = dims.one(dim, input.ndim, "cross")
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(
            f"cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and "
            f"{other.shape[d]}")
    if input.shape != other.shape:
        input, other = F["broadcast_tensors"](input, other)
    (a, b, c), (x, y, z) = input.unbind(d), other.unbind(d)
    return F["stack"]((b * z - c * y, c * x - a * z, a * y - b * x), d)


def _renorm(input, p, dim, maxnorm):
    if _tensor("renorm", input).ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    d = dims.one(dim, input.ndim, "renorm")
    norms = vector_norm(input, p, [i for i in range(input.ndim) if i != d], True)
    return input * F["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0).to(input.dtype)


@function(out=True)
def renorm(input, p, dim, maxnorm):
    """Every slice along `dim` whose p-norm is greater than `maxnorm` scaled down to it."""
    return _renorm(input, p, dim, maxnorm)


@method()
def renorm_(self, p, dim, maxnorm):
    """`renorm`, in place."""
    return self.copy_(_renorm(self.clone(), p, dim, maxnorm))


# ---- statistics ----------------------------------------------------------------------------------
def _check_weights(name, w, n, whole):
    check_tensors("cov", **{name: w})
    if w.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} "
            "dimensions")
    if (w.dtype.kind != INT) if whole else (w.dtype.kind != FLOAT):
        raise RuntimeError(
            f"cov(): expected {name} to have {'integral' if whole else 'floating point'} dtype "
            f"but got {name} with {w.dtype.letter} dtype")
    if w.numel() != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {w.numel()} != {n}")
    if n and ask(has_negative, w):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@function()
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables (rows), observed together (columns).

    >>> import whet
    >>> whet.cov(whet.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if _tensor("cov", input).ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions")
    if input.dtype.kind == 0:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    correction = as_int(correction, "cov", "correction")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    n = x.shape[1]
    w = None
    if fweights is not None:
        _check_weights("fweights", fweights, n, True)
        w = fweights.reshape(-1)
    if aweights is not None:
        _check_weights("aweights", aweights, n, False)
        w = aweights.reshape(-1) if w is None else w * aweights.reshape(-1)
    wsum = n if w is None else w.sum()
    if w is not None and n and not bool(wsum != 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if w is None else x * w).sum(1) / wsum
    if w is not None and aweights is not None and correction:
        freedom = wsum - correction * (w * aweights.reshape(-1)).sum() / wsum
    else:
        freedom = wsum - correction
    freedom = max(freedom, 0) if w is None else F["clamp"](freedom, min=0)
    c = x - mean.unsqueeze(1)
    other = (c if w is None else c * w).mT
    r = (F["matmul"](c, (other.conj() if other.dtype.kind == COMPLEX else other).to(c.dtype))
         / freedom)
    return r.reshape(()) if x.shape[0] == 1 else r


@function()
def corrcoef(input):
    """The correlation coefficients of variables (rows), observed together (columns)."""
    if _tensor("corrcoef", input).ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    d = c.diagonal()
    s = (d.real if d.dtype.kind == COMPLEX else d).sqrt()
    r = c / s.unsqueeze(1) / s.unsqueeze(0)
    if r.dtype.kind == COMPLEX:
        return F["complex"](r.real.clamp(-1, 1), r.imag.clamp(-1, 1))
    return r.clamp(-1, 1)


F["trapz"] = F["trapezoid"]


# ---- gradients of samples ------------------------------------------------------------------------
def _along(x, d, n):
    return x.reshape([-1 if i == d else 1 for i in range(n)])


def _slope(f, d, step, edge_order):
    """The derivative of samples along one dimension: `step` is a number, or the places of the
    samples."""
    n = f.shape[d]
    at = f.narrow
    if not is_tensor(step):
        inner = (at(d, 2, n - 2) - at(d, 0, n - 2)) / (2.0 * step)
        first, last = (at(d, 1, 1) - at(d, 0, 1)) / step, (at(d, n - 1, 1) - at(d, n - 2, 1)) / step
        if edge_order == 2:
            first = (at(d, 0, 1) * -1.5 + at(d, 1, 1) * 2.0 + at(d, 2, 1) * -0.5) / step
            last = (at(d, n - 1, 1) * 1.5 + at(d, n - 2, 1) * -2.0 + at(d, n - 3, 1) * 0.5) / step
        return F["cat"]([first, inner, last], d)
    h = step.diff()
    a, b = (_along(q, d, f.ndim) for q in (h[:-1], h[1:]))
    inner = (at(d, 0, n - 2) * (-b / (a * (a + b))) + at(d, 1, n - 2) *
             ((b - a) / (a * b)) + at(d, 2, n - 2) * (a / (b * (a + b))))
    first, last = (at(d, 1, 1) - at(d, 0, 1)) / h[0], (at(d, n - 1, 1) - at(d, n - 2, 1)) / h[-1]
    if edge_order == 2:
        p, q = h[0], h[1]
        first = (at(d, 0, 1) * (-(2 * p + q) / (p * (p + q))) + at(d, 1, 1) *
                 ((p + q) / (p * q)) - at(d, 2, 1) * (p / (q * (p + q))))
        p, q = h[-2], h[-1]
        last = (at(d, n - 3, 1) * (q / (p * (p + q))) - at(d, n - 2, 1) *
                ((p + q) / (p * q)) + at(d, n - 1, 1) * ((2 * q + p) / (q * (p + q))))
    return F["cat"]([first, inner, last], d)


@function(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The derivatives of samples along each dimension, by central differences.

    >>> import whet
    >>> whet.gradient(whet.tensor([0., 1., 4., 9.]))
    (tensor([1., 2., 4., 5.]),)
    """
    if _tensor("gradient", input).dtype.kind == BOOL:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported.")
    if edge_order not in (1, 2):
        raise RuntimeError("gradient only supports edge_order=1 and edge_order=2.")
    along = (range(_tensor("gradient", input).ndim)
             if dim is None else [dim] if isinstance(dim, int) else dim)
    along = [dims.one(d, input.ndim, "gradient") for d in along]
    if len(set(along)) != len(along):
        raise RuntimeError(f"dim {along[0]} appears multiple times in the list of dims")
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(along)
    if len(steps) != len(along):
        raise RuntimeError(
            "gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"{len(along)}, but got a list of length {len(steps)}")
    for d, s in zip(along, steps):
        if input.shape[d] <= edge_order:
            raise RuntimeError("gradient expected each dimension size to be at least edge_order+1")
        if is_tensor(s) and (s.ndim != 1 or s.shape[0] != input.shape[d]):
            raise RuntimeError(
                f"gradient expected the coordinates of dimension {d} to be one dimensional, with "
                f"{input.shape[d]} elements")
    f = input if input.dtype.kind >= FLOAT else input.to(dtypes.get_default_dtype())
    return tuple(_slope(f, d, s, edge_order) for d, s in zip(along, steps))


# ---- switches ------------------------------------------------------------------------------------
_deterministic = [False, False]


@function(method=False)
def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for results that do not change from run to run. They never do here: the answer is only
    remembered."""
    beyond("it sets whether results may change from run to run")
    _deterministic[:] = bool(mode), bool(warn_only)


@function(method=False)
@declarations.goes_by_no_size
def are_deterministic_algorithms_enabled():
    """Was `use_deterministic_algorithms(True)` called?"""
    return read(lambda: _deterministic[0])


@function(method=False)
@declarations.goes_by_no_size
def is_deterministic_algorithms_warn_only_enabled():
    """Was `use_deterministic_algorithms(True, warn_only=True)` called?"""
    return read(lambda: _deterministic[1])


_DEBUG_MODES = ("default", "warn", "error")


@function(method=False)
def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` by one word, or its number: "default" (0: no), "warn" (1:
    warnings only) or "error" (2).

        >>> import whet
        >>> whet.set_deterministic_debug_mode("warn")
        >>> whet.get_deterministic_debug_mode()
        1
        >>> whet.set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    known = [*_DEBUG_MODES] if isinstance(debug_mode, str) else [*range(len(_DEBUG_MODES))]
    if debug_mode not in known:
        raise RuntimeError(f"invalid value of debug_mode, expected one of "
                           f"{', '.join(map(repr, known))}, but got {debug_mode!r}")
    level = known.index(debug_mode)
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


@function(method=False)
def get_deterministic_debug_mode():
    """The number of the mode that `set_deterministic_debug_mode` set, in other words or not."""
    return read(lambda: 0 if not _deterministic[0] else 1 if _deterministic[1] else 2)


@function(method=False)
def set_float32_matmul_precision(precision):
    """Allow products of float32 matrices to be rounded more, on devices: "highest" (not at all),
    "high" or "medium" (both: to TF32).

        >>> import whet
        >>> whet.set_float32_matmul_precision("high")
        >>> whet.backends.cuda.matmul.allow_tf32
        True
        >>> whet.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high' or 'medium'")
    tf32.allow(tf32.PRODUCTS, precision != "highest")
    _medium[0] = precision == "medium"


@function(method=False)
def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` was given, or what `allow_tf32` comes to."""
    return read(lambda: "highest" if not tf32.allowed & tf32.PRODUCTS else
                "medium" if _medium[0] else "high")


_medium = [False]                   # was that the word?
