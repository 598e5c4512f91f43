"""The Python array API standard: `whet.array_api` against NumPy, whose main namespace follows
the standard."""
import inspect

import numpy as np
import pytest
import whet

xp = whet.ones(1).__array_namespace__()
TYPES = (("bool", "int8", "int64", "uint8", "uint32", "float32", "float64", "complex64",
          "complex128"))
ONE = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag "
    "isfinite isinf isnan log log1p log2 log10 logical_not negative positive real reciprocal "
    "round sign signbit sin sinh square sqrt tan tanh trunc all any argmax argmin max mean min "
    "prod std sum var count_nonzero nonzero sort argsort flip").split()
TWO = (
    "add atan2 bitwise_and bitwise_or bitwise_xor copysign divide equal greater greater_equal "
    "hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply "
    "nextafter not_equal pow subtract").split()
FLOATS = {
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log1p", "log2", "log10", "sin", "sinh", "sqrt", "tan", "tanh", "mean", "std", "var",
    "reciprocal", "atan2", "copysign", "divide", "hypot", "logaddexp", "nextafter"}
NOT_FOR = {
    "complex": {
        "ceil", "floor", "trunc", "argmax", "argmin", "max", "min", "sort", "argsort", "signbit",
        "atan2", "copysign", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp",
        "maximum", "minimum", "nextafter", "std", "var"},
    "bool": set(
        "abs ceil conj floor imag negative positive real round sign signbit square trunc argmax "
        "argmin max min prod sum sort argsort add greater greater_equal less less_equal maximum "
        "minimum multiply pow subtract".split()),
    "int": {"conj", "imag", "real", "signbit"},
    "float": {"conj", "imag", "real"}}
BITS = {"bitwise_invert", "bitwise_and", "bitwise_or", "bitwise_xor"}


def make(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return rng.integers(1, 5, shape).astype(dtype)
    return (rng.uniform(0.1, 0.9, shape) +
            (1j * rng.uniform(0.1, 0.9, shape) if dtype[0] == "c" else 0)).astype(dtype)


def agree(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            agree(g, w)
        return
    want = np.asarray(want)
    assert str(got.dtype).removeprefix("whet.") == want.dtype.name
    assert tuple(got.shape) == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)


def takes(name, dtype):
    kind = ("complex" if dtype[0] == "c" else
            "float" if dtype[0] == "f" else "bool" if dtype == "bool" else "int")
    return (name not in NOT_FOR[kind] and not (name in FLOATS and kind in ("bool", "int"))
            and not (name in BITS and kind in ("complex", "float")))


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_array(name):
    for dtype in filter(lambda d: takes(name, d), TYPES):
        a = make(dtype, (2, 3)) + (1 if name == "acosh" and dtype[0] == "f" else 0)
        agree(getattr(xp, name)(xp.asarray(a)), getattr(np, name)(a))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arrays(name):
    for dtype in filter(lambda d: takes(name, d), TYPES):
        a, b = make(dtype, (2, 3)), make(dtype, (3,), 1)
        agree(getattr(xp, name)(xp.asarray(a), xp.asarray(b)), getattr(np, name)(a, b))
        if dtype != "bool":
            number = 2 if "int" in dtype else 0.5
            agree(getattr(xp, name)(xp.asarray(a), number),
                  getattr(np, name)(a, np.asarray(number, dtype)))
            agree(getattr(xp, name)(number, xp.asarray(a)),
                  getattr(np, name)(np.asarray(number, dtype), a))


@pytest.mark.parametrize("name", "sum prod max min mean std var all any count_nonzero".split())
def test_reductions_over_axes(name):
    a = make("float64", (2, 3, 4))
    for axis in (None, 0, -1, (0, 2), ()):
        for keepdims in (False, True):
            agree(
                getattr(xp, name)(xp.asarray(a), axis=axis, keepdims=keepdims),
                getattr(np, name)(a, axis=axis, keepdims=keepdims))


A, WHOLE = make("float64", (2, 3)), make("int8", (2, 3))
CALLS = {
    "cumulative_sum": ((WHOLE,), {"axis": 1, "include_initial": True}),
    "cumulative_prod": ((A,), {"axis": 0}),
    "take": ((A, np.array([1, 0])), {"axis": 0}),
    "take_along_axis": ((A, np.array([[2], [0]])), {"axis": 1}),
    "diff": ((A,), {"axis": 0}),
    "concat": (([A, A],), {"axis": None}),
    "stack": (([A, A],), {"axis": -1}),
    "unstack": ((A,), {"axis": 1}),
    "expand_dims": ((A,), {"axis": (0, 2)}),
    "squeeze": ((A[:1],), {"axis": 0}),
    "flip": ((A,), {"axis": 1}),
    "roll": ((A, 2), {"axis": 1}),
    "permute_dims": ((A, (1, 0)), {}),
    "moveaxis": ((A, 0, 1), {}),
    "reshape": ((A, (3, 2)), {}),
    "repeat": ((A, 2), {"axis": 1}),
    "tile": ((A, (2, 1)), {}),
    "broadcast_to": ((A, (2, 2, 3)), {}),
    "tril": ((A,), {"k": 1}),
    "triu": ((A,), {"k": -1}),
    "matmul": ((A, A.T), {}),
    "tensordot": ((A, A), {"axes": ((0, 1), (0, 1))}),
    "vecdot": ((A, A), {}),
    "matrix_transpose": ((A,), {}),
    "searchsorted": ((np.arange(4.0), A), {"side": "right"}),
    "isin": ((WHOLE, WHOLE[0]), {"invert": True}),
    "clip": ((WHOLE, 2, 300), {}),
    "where": ((A > 0.5, A, 0.0), {}),
    "sort": ((A,), {"axis": 0}),
    "meshgrid": ((A[0], A[1]), {}),
    "broadcast_arrays": ((A, A[0]), {}),
    "argmax": ((A,), {"keepdims": True})}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_shape_and_order(name):
    args, kwargs = CALLS[name]

    def ours(x):
        return (xp.asarray(x) if isinstance(x, np.ndarray) else
                [ours(y) for y in x] if isinstance(x, list) else x)
    want = getattr(np, name)(*args, **kwargs)
    got = getattr(xp, name)(*map(ours, args), **kwargs)
    agree(
        tuple(got) if isinstance(got, list) else got,
        tuple(want) if isinstance(want, list) else want)


def test_arrays_are_made():
    agree(xp.arange(3), np.arange(3))
    agree(xp.arange(1, 2, 0.25, dtype=xp.float64), np.arange(1, 2, 0.25))
    assert xp.arange(3, 1).shape == (0,)
    agree(xp.eye(2, 3, k=1, dtype=xp.int8), np.eye(2, 3, k=1, dtype="int8"))
    agree(xp.linspace(0, 1, 5, dtype=xp.float64, endpoint=False),
          np.linspace(0, 1, 5, endpoint=False))
    agree(xp.full((2,), 3, dtype=xp.uint8), np.full((2,), 3, "uint8"))
    agree(xp.full_like(xp.asarray(A), 2.0), np.full_like(A, 2.0))


def test_types_and_kinds():
    assert xp.isdtype(xp.uint8, "unsigned integer") and xp.isdtype(
        xp.float32, ("bool", "real floating")) and not xp.isdtype(xp.bool, "numeric")
    # scikit-learn asks for NumPy's types as well
    assert xp.isdtype(np.float64, "real floating") and xp.isdtype(xp.int8, np.dtype("int8"))
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.float64, xp.float32)
    assert (xp.result_type(xp.asarray(WHOLE), xp.int32) is xp.int32
            and xp.result_type(xp.float32, 1j) is xp.complex64)
    agree(xp.astype(xp.asarray(A), xp.int32), A.astype("int32"))
    with pytest.raises(TypeError):
        xp.astype(xp.asarray(make("complex64", 2)), xp.float32)
    with pytest.raises(TypeError):
        xp.add(xp.asarray(WHOLE), 2.5)
    for name in "float32", "float64", "complex64", "complex128":
        t, limits = getattr(xp, name), np.finfo(name)
        got = xp.finfo(t)
        assert got == xp.finfo(xp.ones(2, dtype=t)) and got.dtype is getattr(xp, str(limits.dtype))
        for what in "bits eps max min smallest_normal".split():
            assert getattr(got, what) == getattr(limits, what)
            assert type(getattr(got, what)) is (int if what == "bits" else float)
    assert (xp.iinfo(xp.uint8).max, xp.iinfo(xp.int8).min) == (255, -128)
    assert xp.iinfo(xp.int64).bits == 64
    assert xp.iinfo(xp.ones(2, dtype=xp.int16)).dtype is xp.int16
    info = xp.__array_namespace_info__()
    assert (info.default_dtypes()["integral"] is xp.int64
            and set(info.dtypes(kind="bool")) == {"bool"})
    assert whet.__array_api_version__ == xp.__array_api_version__
    with pytest.raises(ValueError):
        whet.ones(1).__array_namespace__(api_version="1999.01")


def test_an_array_goes_to_its_device():
    x = xp.ones(2)
    assert x.to_device(x.device) is x
    with pytest.raises(ValueError, match="streams"):
        x.to_device(x.device, stream=1)


def test_the_extensions():
    m = A @ A.T + np.eye(2)
    for name in "det inv matrix_rank trace diagonal eigvalsh svdvals matrix_norm pinv".split():
        agree(getattr(xp.linalg, name)(xp.asarray(m)), getattr(np.linalg, name)(m))
    agree(xp.linalg.vector_norm(xp.asarray(A), axis=0, keepdims=True, ord=1),
          np.linalg.vector_norm(A, axis=0, keepdims=True, ord=1))
    agree(xp.linalg.cross(xp.asarray(A), xp.asarray(A[::-1].copy())), np.linalg.cross(A, A[::-1]))
    agree(xp.linalg.outer(xp.asarray(A[0]), xp.asarray(A[1])), np.linalg.outer(A[0], A[1]))
    for name in "fft ifft rfft".split():
        agree(
            getattr(xp.fft, name)(xp.asarray(A), axis=0, norm="ortho"),
            getattr(np.fft, name)(A, axis=0, norm="ortho"))
    agree(xp.fft.fftn(xp.asarray(A), axes=(0, 1)), np.fft.fftn(A, axes=(0, 1)))
    agree(xp.fft.fftshift(xp.asarray(A), axes=1), np.fft.fftshift(A, axes=1))


def test_every_name_says_what_it_does():
    for name in xp.__all__:
        thing = getattr(xp, name)
        if inspect.isfunction(thing):
            assert thing.__doc__, name
