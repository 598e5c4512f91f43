"""Covariances and correlations of variables that were observed together."""
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from ..size_arguments import as_int
from .number_questions import has_negative
from .registry import ask, check_tensors, sizes_of
from .surface import FUNCTIONS as F
from .surface import function


def _check_weights(name, w, n, whole):
    check_tensors("cov", **{name: w})
    if w.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} "
            "dimensions")
    if (w.dtype.category != INT) if whole else (w.dtype.category != FLOAT):
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
    check_tensors("cov", input=input)
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions")
    if input.dtype.category == BOOL:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    correction = as_int(correction, "cov", "correction")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    n = x.shape[1]
    w = None
    if fweights is not None:
        _check_weights("fweights", fweights, n, whole=True)
        w = fweights.reshape(-1)
    if aweights is not None:
        _check_weights("aweights", aweights, n, whole=False)
        w = aweights.reshape(-1) if w is None else w * aweights.reshape(-1)
    wsum = sizes_of(x)[1] if w is None else w.sum()
    if w is not None and n and not bool(wsum != 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if w is None else x * w).sum(1) / wsum
    if w is None:
        # counts of 0 and 1 are planned apart: of more, whether they are enough is a guard
        is_enough = (wsum if correction > 1 else n) > correction
        freedom = wsum - correction if is_enough else 0
    else:
        lost = (correction * (w * aweights.reshape(-1)).sum() / wsum
                if aweights is not None and correction else correction)
        freedom = F["clamp"](wsum - lost, min=0)
    c = x - mean.unsqueeze(1)
    other = (c if w is None else c * w).mT
    r = (F["matmul"](c, (other.conj() if other.dtype.category == COMPLEX else other).to(c.dtype))
         / freedom)
    return r.reshape(()) if x.shape[0] == 1 else r


@function()
def corrcoef(input):
    """The correlation coefficients of variables (rows), observed together (columns).

    >>> import whet
    >>> whet.corrcoef(whet.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensors("corrcoef", input=input)
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    d = c.diagonal()
    s = (d.real if d.dtype.category == COMPLEX else d).sqrt()
    r = c / s.unsqueeze(1) / s.unsqueeze(0)
    if r.dtype.category == COMPLEX:
        return F["complex"](r.real.clamp(-1, 1), r.imag.clamp(-1, 1))
    return r.clamp(-1, 1)
