"""Running sums, products, extrema and log-sum-exps: the stated order to the bit in every layout,
NumPy as the oracle."""
import numpy as np
import pytest
import whet
from whet.cpu import scan, thread_pool
from whet.cpu.row_kernels import BF16, DTYPES, NAMES

rng = np.random.default_rng(3)


def model(row, op=np.add):
    """The order of `passes.lower_llvm.rows.scan`, written slowly."""
    identity = row.dtype.type(0 if op is np.add else 1)
    out, base = np.empty_like(row), identity
    for b in range(0, len(row), 4096):
        carry = identity
        for i in range(b, min(b + 4096, len(row)), 16):
            y = row[i:min(i + 16, len(row))].copy()
            for d in (1, 2, 4, 8):
                y = np.concatenate([y[:d], op(y[:-d], y[d:])])
            out[i:i + 16] = op(base, op(carry, y))
            carry = op(carry, y[-1])
        base = op(base, carry)
    return out


def same(a, b):
    return (a.shape == b.shape and a.dtype == b.dtype
            and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes())


def layouts(flat):
    """Rows of a 2-d array as (array, axis, how to get the rows back)."""
    yield flat, 1, lambda y: y
    yield np.ascontiguousarray(flat.T), 0, lambda y: y.T
    yield flat.T, 0, lambda y: y.T
    yield np.repeat(flat, 2, 1)[:, ::2], 1, lambda y: y
    yield np.ascontiguousarray(flat.T).reshape(1, flat.shape[1], flat.shape[0]), 1, lambda y: y[0].T
    yield np.repeat(flat[:, :, None], 70, 2), 1, lambda y: y[:, :, 69]


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 4096, 4100, 9000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_running_sums_have_the_stated_order_in_every_layout(n, dtype):
    flat = rng.standard_normal((3, n)).astype(dtype)
    want = np.array([model(r) for r in flat])
    for x, axis, back in layouts(flat):
        assert same(back(scan.cumsum(x, axis)), want), (x.shape, x.strides)


def test_running_products_have_the_stated_order():
    flat = rng.uniform(0.98, 1.02, (3, 5000)).astype("f4")
    want = np.array([model(r, np.multiply) for r in flat])
    for x, axis, back in layouts(flat):
        assert same(back(scan.cumprod(x, axis)), want)


def test_halves_are_accumulated_in_f32():
    for dtype in (np.dtype("f2"), BF16):
        x = rng.standard_normal((2, 500)).astype(dtype)
        want = np.array([model(r.astype("f4")) for r in x]).astype(dtype)
        assert (same(scan.cumsum(x, 1), want)
                and same(scan.cumsum(np.ascontiguousarray(x.T), 0).T, want))


@pytest.mark.parametrize("name", [n for n in DTYPES if n not in ("f16", "bf16")])
def test_every_type_agrees_with_numpy(name):
    for shape in ((), (0,), (5,), (3, 0), (4, 33), (2, 37, 5)):
        x = np.asarray(rng.integers(0 if name[0] in "bu" else -1, 2 if name == "bool" else 3,
                                    shape)).astype(DTYPES[name])
        for axis in range(-1 if not shape else 0, max(1, len(shape))):
            whole = DTYPES[name] if name[0] in "fc" else np.dtype("i8")
            assert same(scan.cumsum(x, axis),
                        np.asarray(np.cumsum(x, axis if shape else None,
                                             dtype=whole)).reshape(shape))
            assert same(scan.cumprod(x, axis),
                        np.asarray(np.cumprod(x, axis if shape else None,
                                              dtype=whole)).reshape(shape))
            if name[0] != "c" and shape:
                for f, kind in ((scan.cummax, "max"), (scan.cummin, "min")):
                    for got, want in zip(f(x, axis), scan.reference(kind, x, axis, x.dtype),
                                         strict=True):
                        assert same(got, want)


def test_out_type_is_applied_to_each_element():
    x = np.array([1.75, 1.75, -0.5], "f4")
    assert (scan.cumsum(x, 0, "i4").tolist() == [1, 2, 2]
            and scan.cumsum(x, 0, "i4").dtype == np.int32)
    assert same(scan.cumsum(np.arange(5, dtype="i4"), 0, "f4"), np.array([0, 1, 3, 6, 10], "f4"))


@pytest.mark.parametrize("n", [1, 7, 16, 50, 4200])
def test_running_extrema_of_special_values(n):
    x = rng.integers(-3, 3, (4, n)).astype("f4")
    x[1, n // 2] = np.nan
    x[2, n // 3] = np.inf
    x[3] = -np.inf
    for f, kind in ((scan.cummax, "max"), (scan.cummin, "min")):
        want = scan.reference(kind, x, 1, x.dtype)
        for v, axis, back in layouts(x):
            for got, w in zip(f(v, axis), want, strict=True):
                np.testing.assert_array_equal(back(got), w)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_logcumsumexp(dtype):
    x = (rng.standard_normal((5, 300)) * 20).astype(dtype)
    want = np.logaddexp.accumulate(x.astype("f8"), 1)
    tol = {"f4": 2e-6, "f8": 1e-13, "f2": 2e-3}[dtype]
    first = scan.logcumsumexp(x, 1)
    np.testing.assert_allclose(first.astype("f8"), want, rtol=tol, atol=tol)
    for v, axis, back in layouts(x):
        assert same(back(scan.logcumsumexp(v, axis)), first)
    special = np.array([-np.inf, -np.inf, 1, np.inf, 2, np.nan, 3], dtype)
    got = scan.logcumsumexp(special, 0)
    assert (got[:2].tolist() == [-np.inf] * 2 and got[2] == 1 and got[3:5].tolist() == [np.inf] * 2
            and np.isnan(got[5:]).all())


def test_thread_count_changes_nothing():
    before = thread_pool.get_num_threads()
    x = rng.standard_normal((300, 500)).astype("f4")
    for axis in (0, 1):
        results = []
        for threads in (1, 2):
            thread_pool.set_num_threads(threads)
            results.append([
                scan.cumsum(x, axis), scan.logcumsumexp(x, axis), *scan.cummax(x, axis)])
        assert all(same(a, b) for a, b in zip(*results, strict=True))
    thread_pool.set_num_threads(before)


def test_reference_names_every_type():
    assert set(NAMES.values()) == set(DTYPES)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("dtype", [whet.int64, whet.float32])
@pytest.mark.parametrize("view",
                         [
                             lambda x: x, lambda x: x[::2], lambda x: x.flip(0),
                             lambda x: x.reshape(4, 5).T, lambda x: x[3:].reshape(1, -1)])
def test_calls_that_are_replayed_read_their_own_operand(name, dtype, view):
    def fn(x):
        r = getattr(view(x), name)(0)
        return r if isinstance(r, whet.Tensor) else r.values + r.indices
    f = whet.jit.trace(fn)
    for seed in 1, 2, 3, 4:
        x = whet.tensor(np.random.default_rng(seed).integers(-4, 5, 20)).to(dtype)
        want = {"cumsum": np.cumsum, "cumprod": np.cumprod}.get(name)
        assert (f(x).tolist() == fn(x).tolist()
                and (want is None or fn(x).tolist() == want(view(x).numpy(), 0).tolist()))
    assert not f._why
