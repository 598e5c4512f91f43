"""What tests say: `whet.testing.assert_close`."""
import math

from . import dtypes
from .dtypes import BOOL, COMPLEX, FLOAT
from .ops.surface import FUNCTIONS
from .tensor_comparison import TOLERANCES, Comparison

__all__ = ["assert_allclose", "assert_close", "make_tensor"]


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False,
                 check_device=True, check_dtype=True, check_layout=True, check_stride=False,
                 msg=None):
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.
    Numbers, and containers of them, are compared too.

    >>> import whet
    >>> whet.testing.assert_close(whet.tensor([1.0, 2.0]), whet.tensor([1.0, 2.0 + 1e-7]))
    >>> whet.testing.assert_close(whet.tensor([1.0, 2.0]), whet.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be either specified or unspecified, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    Comparison(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout,
               check_stride, msg).compare(actual, expected)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """`assert_close` under its older name: types need not be the same, NaNs are equal.

    >>> import warnings
    >>> import whet
    >>> with warnings.catch_warnings(action="ignore"):
    ...     whet.testing.assert_allclose(whet.ones(2), whet.ones(2))
    """
    actual, expected = (x if hasattr(x, "_array") else FUNCTIONS["as_tensor"](x)
                        for x in (actual, expected))
    if rtol is None and atol is None:
        bounds = [TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(b[i] for b in bounds) for i in range(2))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
                 msg=msg or None)


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False,
                noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of random numbers from `low` to below `high`: -9 and 9, or what is nearest to them
    that the type can hold.

    >>> import whet
    >>> x = whet.testing.make_tensor(2, 3, dtype=whet.uint8, high=3)
    >>> x.shape, bool((x < 3).all())
    (whet.Size([2, 3]), True)
    """
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    dtype = dtypes.as_dtype(dtype)
    if dtype is None:
        raise TypeError("make_tensor(): dtype must be a whet.dtype, not None")
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor(): noncontiguous and memory_format cannot both be given")
    if requires_grad and dtype.category < FLOAT:
        raise ValueError(f"make_tensor(): numbers of type {dtype} cannot require gradients")
    t = _draw(shape, dtype, *_bounds(dtype, low, high))
    if exclude_zero:
        least = dtypes.finfo(dtype).tiny if dtype.category >= FLOAT else 1
        t = t.where(t != 0, FUNCTIONS["full_like"](t, least))
    if noncontiguous and t.numel() > 1:
        t = t.repeat_interleave(2, -1)[..., ::2]
    if memory_format is not None:
        t = t.contiguous(memory_format=memory_format)
    return (t if device is None else t.to(device)).requires_grad_(requires_grad)


def _bounds(dtype, low, high):
    """From where to where numbers are drawn: what is asked for, as far as the type can hold it.
    Floating point numbers reach to the last one below the end, whole ones to the one before it."""
    floating = dtype.category >= FLOAT
    info = None if dtype.category == BOOL else (dtypes.finfo if floating else dtypes.iinfo)(dtype)
    least, end = (0, 2) if info is None else (info.min, info.max + (not floating))
    low = max(least, -9) if low is None else low
    high = (end if info is None else 9 if floating else 10) if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"make_tensor(): low and high must be numbers, got {low} and {high}")
    if low > high or low == high and not floating:
        raise ValueError(f"make_tensor(): low must be less than high, got {low} and {high}")
    if low > end or high < least or low == end and not floating:
        raise ValueError(f"make_tensor(): no number of type {dtype} is between {low} and {high}")
    low, high = max(low, least), min(high, end)
    return (low, high) if floating else (math.ceil(low), math.ceil(high))


def _draw(shape, dtype, low, high):
    """Random numbers between two that their type can hold."""
    if dtype.category < FLOAT:
        return FUNCTIONS["randint"](low, high, shape, dtype=dtype)
    if dtype.category == COMPLEX:
        return FUNCTIONS["complex"](*(_draw(shape, dtype.to_real(), low, high) for _ in range(2)))
    part = FUNCTIONS["rand"](shape, dtype=dtypes.float64)
    t = (low * (1 - part) + high * part).to(dtype)
    return t.where(t < high, FUNCTIONS["full_like"](t, low))       # where it was rounded up
