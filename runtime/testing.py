"""What tests say: `whet.testing.assert_close`."""
from . import dtypes
from .ops.surface import FUNCTIONS
from .tensor import Tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# (rtol, atol) by type, as PyTorch has them
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7)}


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
    (_compare(
        actual, expected, "",
        dict(rtol=rtol, atol=atol, equal_nan=equal_nan, dtype=check_dtype, stride=check_stride),
        msg))


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """`assert_close` under its older name: types need not be the same, NaNs are equal."""
    actual, expected = (x if hasattr(x, "_array") else FUNCTIONS["as_tensor"](x)
                        for x in (actual, expected))
    if rtol is None and atol is None:
        bounds = [TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(b[i] for b in bounds) for i in range(2))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
                 msg=msg or None)


def _fail(text, place, msg):
    text = text + (f"\n\nThe failure occurred for item {place}" if place else "")
    raise AssertionError(msg(text) if callable(msg) else msg or text)


def _compare(a, b, place, how, msg):
    import whet
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            missing, more = (sorted(b.keys() - a.keys(),
                                    key=str), sorted(a.keys() - b.keys(), key=str))
            _fail(
                "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                f"{missing}\n"
                f"Additional keys in the actual mapping: {more}",
                place,
                msg)
        for k in a:
            _compare(a[k], b[k], f"{place}[{k!r}]", how, msg)
        return
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            _fail(f"The length of the sequences mismatch: {len(a)} != {len(b)}", place, msg)
        for i, (x, y) in enumerate(zip(a, b)):
            _compare(x, y, f"{place}[{i}]", how, msg)
        return
    if a is None or b is None:
        if a is not b:
            _fail(f"None mismatch: {a} is not {b}", place, msg)
        return
    scalars = isinstance(a, int | float | complex) and isinstance(b, int | float | complex)
    try:
        a, b = (x if isinstance(x, Tensor) else whet.tensor(
            x, dtype=whet.float64 if isinstance(x, float) else None) for x in (a, b))
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}."
        ) from None
    _compare_tensors(a, b, scalars, place, how, msg)


def _compare_tensors(a, b, scalars, place, how, msg):
    import whet
    if a.shape != b.shape:
        _fail(
            f"The values for attribute 'shape' do not match: {tuple(a.shape)} != {tuple(b.shape)}.",
            place, msg)
    if how["dtype"] and a.dtype is not b.dtype and not scalars:
        _fail(f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}.", place, msg)
    if how["stride"] and a.stride() != b.stride():
        _fail(f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}.",
              place,
              msg)
    rtol, atol = how["rtol"], how["atol"]
    if rtol is None:
        rtol, atol = (max(t)
                      for t in zip(*(TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, b))))
    common = dtypes.promote_types(a.dtype, b.dtype)
    common = common if common.kind >= 2 else whet.int64
    a, b = a.detach().to(common), b.detach().to(common)
    wrong = ~whet.isclose(a, b, rtol=rtol, atol=atol, equal_nan=how["equal_nan"])
    if wrong.any():
        _tell_gap(a, b, wrong, (rtol, atol), scalars, place, msg)


def _tell_gap(a, b, wrong, tolerances, scalars, place, msg):
    """Fail, with where two tensors differ most."""
    import whet
    bad, (rtol, atol) = int(wrong.sum()), tolerances
    gap = (a - b).abs().double()
    relative = gap / b.abs().double()
    if a.ndim == 0:
        _fail(
            f"{'Scalars' if scalars else 'Tensor-likes'} are not close!\n\nExpected {b.item()} "
            f"but got {a.item()}.\n"
            f"Absolute difference: {gap.item()} (up to {atol} allowed)\nRelative difference: "
            f"{relative.item()} (up to {rtol} allowed)",
            place,
            msg)
    lines = [f"Mismatched elements: {bad} / {a.numel()} ({100 * bad / a.numel():.1f}%)"]
    for name, size, limit in (("absolute", gap, atol), ("relative", relative, rtol)):
        size = size.where(wrong, whet.zeros_like(size)).nan_to_num(nan=float("inf"))
        at = tuple(int(i) for i in whet.unravel_index(size.argmax(), size.shape))
        lines.append(
            f"Greatest {name} difference: {size[at].item():.6g} at index {at} (up to {limit} "
            "allowed)")
    _fail("Tensor-likes are not close!\n\n" + "\n".join(lines), place, msg)


def make_tensor(*shape, dtype, device=None, low=None, high=None, requires_grad=False,
                noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of random numbers between low and high (-9 and 9)."""
    import whet
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    dtype = dtypes.as_dtype(dtype)
    if dtype.kind == 0:
        t = whet.randint(0, 2, shape, dtype=dtype)
    elif dtype.kind == 1:
        info = dtypes.iinfo(dtype)
        t = whet.randint(
            max(-9, info.min) if low is None else int(low), 10 if high is None else int(high),
            shape, dtype=dtype)
    else:
        low, high = -9 if low is None else low, 9 if high is None else high
        real = whet.rand(shape, dtype=dtype.to_real()) * (high - low) + low
        t = (whet.complex(real,
                          whet.rand(shape, dtype=dtype.to_real()) *
                          (high - low) + low) if dtype.kind == 3 else real)
    if exclude_zero:
        t = t.where(t != 0, whet.ones_like(t))
    if noncontiguous and t.numel() > 1:
        t = t.repeat_interleave(2, -1)[..., ::2]
    return t.requires_grad_(requires_grad)
