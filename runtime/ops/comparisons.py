"""Whole tensors compared: with a tolerance, and to the bit."""
from .. import declared_for_tracing, dtypes
from ..dtypes import FLOAT
from .registry import check_tensors
from .surface import FUNCTIONS as F
from .surface import function


@function()
def isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves only.

    >>> import whet
    >>> whet.isclose(whet.tensor([1.0, 2.0]), whet.tensor([1.0 + 1e-9, 3.0]))
    tensor([ True, False])
    """
    check_tensors("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(
            f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = input == other
    if equal_nan and input.dtype.category >= FLOAT:
        close = close | (F["isnan"](input) & F["isnan"](other))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.category < FLOAT:
        input, other = input.to(dtypes.get_default_dtype()), other.to(dtypes.get_default_dtype())
    gap = (input - other).abs()
    return close | (F["isfinite"](gap) & (gap <= (other * rtol).abs() + atol))


@function()
@declared_for_tracing.goes_by_no_size
def allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Are all elements close (see `isclose`)?

    >>> import whet
    >>> whet.allclose(whet.tensor([1., 2.]), whet.tensor([1., 2.000001]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function()
def equal(input, other):
    """Have the two tensors the same size and elements?

    >>> import whet
    >>> whet.equal(whet.tensor([1, 2]), whet.tensor([1, 2]))
    True
    """
    check_tensors("equal", input=input, other=other)
    return input._array.shape == other._array.shape and bool((input == other).all())


@function()
def is_same_size(input, other):
    """Have the two tensors the same shape?

    >>> import whet
    >>> whet.is_same_size(whet.ones(2, 3), whet.zeros(2, 3))
    True
    """
    return input._array.shape == other._array.shape
