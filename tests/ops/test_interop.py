"""NumPy and DLPack: shared memory both ways, NumPy's functions on tensors, gradients through
them."""
import array
import math

import numpy as np
import pytest
import whet

A = np.random.default_rng(0).uniform(0.2, 2, (3, 4))


def test_memory_is_shared_both_ways():
    x = whet.tensor(A)
    a = np.asarray(x)
    a[0, 0] = 7
    assert (x[0, 0] == 7 and x.numpy()[0, 0] == 7
            and a.__array_interface__["data"][0] == x.data_ptr())
    b = np.zeros((2, 3))[:, ::2]
    y = whet.from_numpy(b)
    y[1, 1] = 5.0
    assert b[1, 1] == 5 and y.stride() == (3, 2)
    assert np.array(x, copy=True) is not a and not np.shares_memory(np.array(x, copy=True), a)
    assert (np.asarray(x, dtype=np.float32).dtype == np.float32
            and np.array([whet.tensor(1.0), whet.tensor(2.0)]).tolist() == [1, 2])
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype=np.float32, copy=False)


def test_a_tensor_that_requires_grad_is_not_given_away():
    w = whet.ones(2, requires_grad=True)
    for give in (lambda: np.asarray(w), w.numpy, lambda: np.from_dlpack(w)):
        with pytest.raises((RuntimeError, BufferError), match="detach"):
            give()
    assert np.asarray(w.detach()).tolist() == [1, 1]


def test_the_array_object_is_the_callers_own():
    x = whet.zeros(2, 3)
    x.numpy().shape = (3, 2)
    x.numpy().flags.writeable = False
    assert x.shape == (2, 3)
    x[0, 0] = 1.0


UFUNCS = [
    "sin", "exp", "log", "sqrt", "tanh", "absolute", "negative", "square", "floor", "isnan",
    "isfinite", "sign", "arctan", "log1p", "expm1", "rint", "reciprocal", "positive"]
PAIRS = [
    "add", "subtract", "multiply", "true_divide", "power", "maximum", "minimum", "less",
    "greater_equal", "equal", "arctan2", "fmod", "remainder", "floor_divide", "hypot", "copysign",
    "logaddexp", "logical_and"]


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name):
    f = getattr(np, name)
    y = f(whet.tensor(A))
    assert type(y) is whet.Tensor
    np.testing.assert_allclose(y.numpy(), f(A), rtol=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_ufuncs_of_two(name):
    f, b = getattr(np, name), A[::-1].copy()
    for x, y in ((whet.tensor(A), whet.tensor(b)), (A, whet.tensor(b)), (whet.tensor(A), b)):
        z = f(x, y)
        assert type(z) is whet.Tensor
        np.testing.assert_allclose(z.numpy(), f(A, b), rtol=1e-12)
    np.testing.assert_allclose(f(whet.tensor(A), 0.5).numpy(), f(A, 0.5), rtol=1e-12)


def test_operators_with_arrays_and_numpy_numbers():
    x = whet.ones(3, dtype=whet.float64, requires_grad=True)
    for y in ((np.arange(3.0) * x, x * np.arange(3.0), np.float64(2) * x, x ** np.float32(2),
               np.ones(3) - x, np.ones(3) @ x)):
        assert type(y) is whet.Tensor and y.requires_grad
    a = np.arange(3.0)
    a += whet.ones(3)
    assert type(a) is np.ndarray and a.tolist() == [1, 2, 3]
    assert type(np.ones(3) < whet.zeros(3)) is whet.Tensor


FUNCTIONS = [
    ("sum", lambda n, a: n.sum(a)), ("sum of rows", lambda n, a: n.sum(a, axis=1, keepdims=True)),
    ("mean", lambda n, a: n.mean(a, axis=(0, 1))), ("max", lambda n, a: n.max(a, axis=0)),
    ("amin", lambda n, a: n.amin(a)), ("prod", lambda n, a: n.prod(a, axis=1)),
    ("std", lambda n, a: n.std(a, axis=0)), ("var", lambda n, a: n.var(a, ddof=1)),
    ("argmax", lambda n, a: n.argmax(a, axis=1)), ("cumsum", lambda n, a: n.cumsum(a, axis=1)),
    ("concatenate", lambda n, a: n.concatenate([a, a], axis=1)),
    ("stack", lambda n, a: n.stack([a, a], axis=-1)), ("vstack", lambda n, a: n.vstack([a, a])),
    ("reshape", lambda n, a: n.reshape(a, (4, 3))), ("transpose", lambda n, a: n.transpose(a)),
    ("swapaxes", lambda n, a: n.swapaxes(a, 0, 1)),
    ("expand_dims", lambda n, a: n.expand_dims(a, (0, 2))),
    ("squeeze", lambda n, a: n.squeeze(a[None])), ("moveaxis", lambda n, a: n.moveaxis(a, 0, 1)),
    ("broadcast_to", lambda n, a: n.broadcast_to(a, (2, 3, 4))), ("flip", lambda n, a: n.flip(a)),
    ("roll", lambda n, a: n.roll(a, 1, axis=1)), ("tile", lambda n, a: n.tile(a, (2, 1))),
    ("repeat", lambda n, a: n.repeat(a, 2, axis=0)), ("tril", lambda n, a: n.tril(a, 1)),
    ("diagonal", lambda n, a: n.diagonal(a, 1)), ("where", lambda n, a: n.where(a > 1, a, 0.0)),
    ("clip", lambda n, a: n.clip(a, 0.5, 1.0)), ("sort", lambda n, a: n.sort(a, axis=0)),
    ("argsort", lambda n, a: n.argsort(a)), ("take", lambda n, a: n.take(a, [0, 2], axis=1)),
    ("round", lambda n, a: n.round(a, 2)), ("dot", lambda n, a: n.dot(a, a.T)),
    ("einsum", lambda n, a: n.einsum("ij,kj->ik", a, a)),
    ("outer", lambda n, a: n.outer(a[0], a[1])),
    ("tensordot", lambda n, a: n.tensordot(a, a, ([0], [0]))), ("kron", lambda n, a: n.kron(a, a)),
    ("count_nonzero", lambda n, a: n.count_nonzero(a > 1)),
    ("add.reduce", lambda n, a: n.add.reduce(a, axis=1)), ("ravel", lambda n, a: n.ravel(a)),
    ("zeros_like", lambda n, a: n.zeros_like(a)), ("full_like", lambda n, a: n.full_like(a, 3)),
    ("split", lambda n, a: n.split(a, 2, axis=1)[1]), ("all", lambda n, a: n.all(a > 0)),
    ("diff", lambda n, a: n.diff(a, axis=1)), ("matmul", lambda n, a: n.matmul(a, a.T)),
    ("median", lambda n, a: n.median(a, axis=1)),
    ("maximum.reduce", lambda n, a: n.maximum.reduce(a, axis=0)),
    ("subtract.outer", lambda n, a: n.subtract.outer(a[0], a[1])),
    ("nan_to_num", lambda n, a: n.nan_to_num(a)), ]


@pytest.mark.parametrize("name, f", FUNCTIONS, ids=[n for n, _ in FUNCTIONS])
def test_numpys_functions_give_tensors(name, f):
    y = f(np, whet.tensor(A, requires_grad=True))
    assert type(y) is whet.Tensor
    np.testing.assert_allclose(y.numpy(force=True), f(np, A), rtol=1e-12)


def test_gradients_flow_through_numpys_functions():
    x = whet.tensor(A, requires_grad=True)
    assert whet.autograd.gradcheck(
        lambda x: np.sum(np.exp(np.concatenate([x, x * 2], axis=1)), axis=0), (x,))


def test_results_go_to_out():
    a, t = np.empty((3, 4)), whet.empty(3, 4, dtype=whet.float64)
    assert np.exp(whet.tensor(A), out=a) is a and np.exp(whet.tensor(A), out=t) is t
    np.testing.assert_allclose(a, np.exp(A))
    assert (t.numpy() == a).all()


def test_what_is_not_supported_says_so():
    x = whet.tensor(A, requires_grad=True)
    with pytest.raises(TypeError, match="add on whet tensors has no gradient"):
        np.add(x, x, where=A > 1, out=np.zeros((3, 4)))


@pytest.mark.parametrize(
    "f",
    [
        lambda n, x: n.fft.fft(x), lambda n, x: n.interp(x, [0, 1], [2, 3]),
        lambda n, x: n.linalg.norm(x, axis=1), lambda n, x: n.percentile(x, 30),
        lambda n, x: n.histogram(x, bins=3)[0], lambda n, x: n.cov(x),
        lambda n, x: n.block([[x, x], [x, x]]), lambda n, x: n.partition(x, 2)])
def test_functions_without_an_op_are_numpys_on_the_memory(f):
    y = f(np, whet.tensor(A))
    np.testing.assert_array_equal(np.asarray(y), f(np, A))
    with pytest.raises(RuntimeError, match="requires grad"):
        f(np, whet.tensor(A, requires_grad=True))


def test_ufuncs_without_an_op_are_numpys_and_give_tensors():
    x, out = whet.tensor(A), whet.empty(3, 4, dtype=whet.float64)
    for y in np.spacing(x), np.spacing(x, out=out), out, whet.from_numpy(np.spacing(A)):
        assert type(y) is whet.Tensor and y.tolist() == np.spacing(A).tolist()
    for made, want in ((np.divmod(x, 0.3), np.divmod(A, 0.3)), (np.modf(x), np.modf(A)),
                       (np.divmod(x, 0.3, out=(out, np.empty((3, 4)))), np.divmod(A, 0.3))):
        assert [y.tolist() for y in made] == [y.tolist() for y in want]
        assert type(made[0]) is whet.Tensor
    assert out.tolist() == np.floor_divide(A, 0.3).tolist()
    counts = whet.zeros(3)
    np.add.at(counts, whet.tensor([0, 1, 0]), 1)
    assert counts.tolist() == [2, 1, 0]
    with pytest.raises(TypeError, match="spacing on whet tensors has no gradient"):
        np.spacing(whet.tensor(A, requires_grad=True))


def test_arguments_that_no_op_takes_are_for_numpy():
    x = whet.tensor(A)
    assert np.trace(x, dtype=np.float32) == np.trace(A, dtype=np.float32)
    np.testing.assert_array_equal(np.sum(x, 1, where=A > 1), np.sum(A, 1, where=A > 1))
    with pytest.raises(RuntimeError, match="requires grad"):
        np.trace(whet.tensor(A, requires_grad=True), dtype=np.float32)


INTEGERS = np.array([[15, 26, 7], [38, 2, 15]])
WITH_NAN = np.where(A > 1, np.nan, A)


@pytest.mark.parametrize("f, a", [
    (lambda x: np.max(x, initial=9.0), A), (lambda x: np.min(x, 0, where=x > 1, initial=9.0), A),
    (lambda x: np.prod(x, initial=2.0), A), (lambda x: np.std(x, where=x > 1), A),
    (lambda x: np.trace(x, 1), A), (lambda x: np.median(x, axis=(0, 1), keepdims=True), A),
    (lambda x: np.median(x, axis=1, keepdims=True), A), (lambda x: np.median(x), INTEGERS),
    (lambda x: np.unique(x, return_index=True)[1], INTEGERS),
    (lambda x: np.round(x, -1), INTEGERS), (lambda x: np.take(x, [10, -7], mode="wrap"), INTEGERS),
    (lambda x: np.meshgrid(x[0], x[1], sparse=True)[1], A),
    (lambda x: np.array_equal(x, x, equal_nan=True), WITH_NAN),
    (lambda x: np.vstack([x, x], dtype=np.float32), A), (lambda x: np.vdot(x, x), A),
    (lambda x: np.atleast_2d(x, x[0])[1], A)])
def test_no_argument_of_numpys_functions_is_left_unread(f, a):
    made, want = np.asarray(f(whet.tensor(a))), np.asarray(f(a))
    assert made.dtype == want.dtype
    np.testing.assert_allclose(made, want, rtol=1e-12)


TRUTHS, BYTES = A > 1, np.array([[0, 255, 7]], np.uint8)


@pytest.mark.parametrize("f, a", [
    (np.mean, INTEGERS), (np.std, BYTES), (np.var, TRUTHS), (np.nanmean, INTEGERS),
    (np.max, A + 1j * A), (np.outer, A), (np.all, BYTES), (np.median, A.astype(np.float16)),
    (lambda x: np.sum(x, axis=()), A), (lambda x: np.max(x, axis=()), A),
    (lambda x: np.prod(x, axis=()), A), (lambda x: np.std(x, axis=()), A),
    (lambda x: np.sum(x, axis=0, dtype="f4"), A), (lambda x: np.cumsum(x, 1, dtype="f4"), A)])
def test_types_and_shapes_that_no_op_takes_are_for_numpy(f, a):
    given = () if f is not np.outer else (a,)
    made = np.asarray(f(whet.tensor(a), *map(whet.tensor, given)))
    want = np.asarray(f(a, *given))
    assert made.dtype == want.dtype and made.shape == want.shape
    np.testing.assert_allclose(made, want, rtol=1e-6)


def test_what_carries_gradients_is_not_for_numpy():
    with pytest.raises(RuntimeError, match="1-D arguments"):
        np.outer(whet.ones(2, 2, requires_grad=True), whet.ones(2))


def test_products_over_dimensions_that_are_not_there_are_errors():
    with pytest.raises(IndexError):
        np.prod(whet.tensor(A), axis=3)
    with pytest.raises(ValueError, match="duplicate"):
        np.prod(whet.tensor(A), axis=(0, 0))


def test_ufuncs_write_where_they_are_told():
    x, out, array = whet.tensor(A), whet.zeros(3, 4, dtype=whet.float64), np.zeros((3, 4))
    assert np.add(x, 1, where=x > 1, out=out) is out
    np.testing.assert_array_equal(out.numpy(), np.add(A, 1, where=A > 1, out=np.zeros((3, 4))))
    assert np.add(x, 1, where=A > 1, out=array) is array and (array == out.numpy()).all()
    whole, part = np.modf(x, where=TRUTHS, out=(out, array))
    assert whole is out and part is array and (array == np.trunc(A))[TRUTHS].all()
    np.testing.assert_array_equal(np.add.reduce(x, 1, where=x > 1), A.sum(1, where=A > 1))


def test_integers_are_not_rounded_to_decimals():
    with pytest.raises(NotImplementedError, match="'Long'"):
        whet.tensor(INTEGERS).round(decimals=-1)
    assert whet.tensor(INTEGERS).round().tolist() == INTEGERS.tolist()


def test_functions_that_write_write_to_the_tensor():
    x = whet.zeros(3, 3)
    np.fill_diagonal(x, 2)
    np.copyto(x[0], np.ones(3))
    assert x.tolist() == [[1, 1, 1], [0, 2, 0], [0, 0, 2]]


def test_a_traced_function_that_has_numpy_write_to_tensors_runs_eagerly():
    def fn(x):
        y = x * 2
        np.fill_diagonal(y, float(np.linalg.norm(x)))
        return y + np.interp(x, [0, 1], [2, 3])
    f = whet.jit.trace(fn)
    with pytest.warns(whet.jit.TraceWarning, match="writes to a tensor.s memory through NumPy"):
        for k in range(4):
            assert f(whet.tensor(A) + k).tolist() == fn(whet.tensor(A) + k).tolist()


@pytest.mark.parametrize("dtype", [d for d in whet.dtypes.ALL.values() if d is not whet.bfloat16],
                         ids=str)
def test_dlpack_round_trip(dtype):
    x = whet.arange(12).view(3, 4).to(dtype)
    for t in (x, x.t(), x[1:, ::2], x[0, 0], x[:0]):
        y = whet.from_dlpack(t)
        assert (y.dtype is dtype and y.tolist() == t.tolist()
                and (not t.numel() or y.data_ptr() == t.data_ptr()))
        assert np.from_dlpack(t).tolist() == t.tolist()
    a = np.arange(6).astype(dtype.np)
    z = whet.from_dlpack(a)
    z.zero_()
    assert not a.any()


def test_dlpack_of_bfloat16():
    x = whet.tensor([1.0, -2.5], dtype=whet.bfloat16)
    y = whet.from_dlpack(x)
    y[0] = 4.0
    assert y.dtype is whet.bfloat16 and x.tolist() == [4, -2.5]


def test_dlpack_flags_and_devices():
    a = np.zeros(3)
    a.flags.writeable = False
    y = whet.from_dlpack(a)
    with pytest.raises(RuntimeError, match="read-only"):
        y.zero_()
    assert tuple(whet.ones(1).__dlpack_device__()) == (1, 0)
    x = whet.ones(2)
    copied = whet.from_dlpack(x, copy=True)
    copied.zero_()
    assert x.tolist() == [1, 1]
    capsule = x.__dlpack__()
    assert whet.from_dlpack(capsule).data_ptr() == x.data_ptr()
    for bad in (lambda: whet.from_dlpack(capsule), lambda: whet.from_dlpack(3)):
        with pytest.raises(RuntimeError, match="invalid capsule"):
            bad()
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=1)


def test_memory_outlives_its_first_owner():
    def make():
        yield whet.from_dlpack(np.arange(5.0))
        yield whet.from_numpy(np.arange(5.0))[1:]
        yield np.asarray(whet.arange(5.0))
        yield np.from_dlpack(whet.arange(5.0))
    for t in list(make()):
        assert float(t.sum()) == 10


def test_buffers_and_sequences():
    assert whet.tensor(array.array("d", [1, 2])).tolist() == [1, 2]
    assert whet.frombuffer(b"\x01\x02", dtype=whet.uint8).tolist() == [1, 2]
    assert whet.asarray(memoryview(b"\x01\x02"), dtype=whet.uint8).tolist() == [1, 2]

    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)
    assert whet.as_tensor(Array()).tolist() == [0, 1, 2]


def test_python_operators():
    x = whet.tensor([3, 1, 2])
    assert 1 in x and 7 not in x and [int(t) for t in reversed(x)] == [2, 1, 3]
    q, r = divmod(x, 2)
    assert (q.tolist() == [1, 0, 1] and r.tolist() == [1, 1, 0]
            and divmod(7, x)[1].tolist() == [1, 0, 1])
    assert (round(whet.tensor([1.25]), 1).item() == np.float32(1.2)
            and [1, 2, 3, 4][whet.tensor(2)] == 3 and hash(x) == hash(x))
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in x  # noqa: B015


@pytest.mark.parametrize("make", [whet.from_numpy, whet.as_tensor, whet.asarray])
def test_what_is_done_to_an_array_object_is_not_done_to_the_tensor_over_it(make):
    array = np.zeros(4)
    t = make(array)
    array.shape = 2, 2
    array.setflags(write=False)
    assert t.shape == (4,)
    t.add_(1)
    assert array.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_floors_and_ceilings_are_numbers_of_pythons():
    x = whet.tensor(1.5)
    assert [type(n) for n in (math.floor(x), math.ceil(x))] == [int, int]
    assert math.floor(x) == 1 and math.ceil(x) == 2
    bounds = whet.jit.trace(lambda x: x * math.floor(x))
    assert [bounds(whet.tensor(v)).item() for v in (1.5, 1.5, 2.5, 2.5)] == [1.5, 1.5, 5, 5]


def test_memory_of_capsules_from_before_version_1_may_be_written_to():
    class Old:
        def __dlpack__(self, stream=None):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return x.__dlpack_device__()
    for dtype in (whet.float32, whet.bfloat16, whet.bool, whet.complex64):
        x = whet.zeros(2, 3, dtype=dtype).t()
        for y in (whet.from_dlpack(Old()), whet.from_dlpack(whet.to_dlpack(x))):
            assert y.dtype is dtype and y.stride() == x.stride()
            y[2, 1] = 1
            assert x[2, 1] == 1 and x.sum() == 1
            x[2, 1] = 0
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        whet.from_dlpack(array).add_(1)


LISTED = [1.0, 5.0, 3.0]


@pytest.mark.parametrize("f", [
    lambda x: np.allclose(x, [1, 2, 3]), lambda x: np.isclose(x, LISTED),
    lambda x: np.isclose(x, 2),
    lambda x: np.concatenate([x, LISTED]), lambda x: np.stack((LISTED, x)),
    lambda x: np.vstack([x, LISTED]), lambda x: np.column_stack([x, LISTED]),
    lambda x: np.where(x > 1, LISTED, x), lambda x: np.where([True, False, True], x, 0),
    lambda x: np.clip(x, [2, 2, 2], 3), lambda x: np.dot(x, LISTED),
    lambda x: np.inner(LISTED, x),
    lambda x: np.matmul(x, LISTED), lambda x: np.vdot(x, LISTED),
    lambda x: np.tensordot(x, LISTED, 1),
    lambda x: np.einsum("i,i", x, LISTED), lambda x: np.searchsorted(x, [1.5, 2.5]),
    lambda x: np.bincount([0, 2, 1], x), lambda x: np.isin(x, [2, 3]),
    lambda x: np.broadcast_arrays(x, [[1], [2]])[1], lambda x: np.meshgrid(x, LISTED)[1],
    lambda x: np.maximum(x, LISTED), lambda x: np.add(LISTED, x),
    lambda x: np.hypot(x, (1, 2, 3)),
    lambda x: np.hstack([x, LISTED])])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_numpy_take_lists_beside_tensors(f, dtype):
    x = np.array([1, 2, 3], dtype)
    expected, got = f(x), f(whet.tensor(x))
    np.testing.assert_allclose(got, expected, rtol=1e-6)
