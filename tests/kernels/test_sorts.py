"""Sorting and order statistics: NumPy's stable sort as the oracle, for every type, axis and
special value."""
import numpy as np
import pytest
from whet.cpu import sort
from whet.cpu.row_kernels import BF16, DTYPES, NAMES

rng = np.random.default_rng(11)
REAL = [n for n in DTYPES if n[0] != "c"]


def numbers(name, shape, special=True):
    """Few different values, so that many are equal; floats with NaN, infinities and both zeros."""
    x = rng.integers(0 if name[0] in "bu" else -4, 2 if name == "bool" else 5,
                     shape).astype(DTYPES[name])
    if special and is_float(x) and x.size > 8:
        x.flat[[1,
                6]], x.flat[2], x.flat[3], x.flat[4], x.flat[5] = np.nan, np.inf, -np.inf, -0.0, 0.0
    return x


def is_float(x):
    return NAMES[x.dtype] in ("f16", "bf16", "f32", "f64")


def order(x, axis, descending):
    w = np.moveaxis(x.astype("f8") if is_float(x) else x, axis, -1)
    if descending:
        return np.moveaxis(w.shape[-1] - 1 - np.argsort(w[..., ::-1], -1, kind="stable")[..., ::-1],
                           -1,
                           axis)
    return np.moveaxis(np.argsort(w, -1, kind="stable"), -1, axis)


def same(a, b):
    return (a.shape == b.shape and a.dtype == b.dtype and a.flags.c_contiguous
            and a.tobytes() == np.ascontiguousarray(b).tobytes())


@pytest.mark.parametrize("name", REAL)
def test_sort_is_stable_both_ways_along_every_axis(name):
    for shape in ((0,), (1,), (17,), (300,), (3, 0), (0, 3), (5, 33), (3, 4, 50)):
        x = numbers(name, shape)
        for axis in range(len(shape)):
            for descending in (False, True):
                values, positions = sort.sort(x, axis, descending)
                want = order(x, axis, descending)
                assert same(positions, want)
                assert same(values, np.take_along_axis(x, want, axis))
                assert same(sort.argsort(x, axis - len(shape), descending), want)


def test_sort_of_views_and_extremes():
    x = np.array([[2**31 - 1, -2**31, 0, -1, 1]], "i4")
    assert sort.sort(x)[0].tolist() == [[-2**31, -1, 0, 1, 2**31 - 1]]
    y = np.array([2**63 - 1, -2**63, 0, 2**62, 2**62 + 1])
    assert sort.sort(y)[0].tolist() == sorted(y.tolist())
    z = numbers("f32", (6, 40))
    assert same(sort.sort(z[::-1, ::3], 1)[1], order(z[::-1, ::3], 1, False))
    tiny = np.array([1e-45, -1e-45, 0.0, -0.0, 1e-38], "f4")
    assert sort.sort(tiny)[1].tolist() == [1, 2, 3, 0, 4]
    assert [y.shape for y in sort.sort(np.array(3.0, "f4"))] == [(), ()]


def test_sort_of_many_elements():
    x = rng.standard_normal(100_003).astype("f4")
    values, positions = sort.sort(x)
    assert same(values, np.sort(x)) and same(positions, np.argsort(x, kind="stable"))
    y = rng.integers(-2**62, 2**62, 50_001)
    y[::3] = y[1]
    assert same(sort.sort(y)[1], np.argsort(y, kind="stable"))


def test_signed_nans_keep_their_bits():
    x = np.array([1, np.nan, 0, np.nan], "f4")
    x.view("u4")[1] = 0xFFC00001
    values, positions = sort.sort(x)
    assert positions.tolist() == [2, 0, 1, 3] and values.view("u4").tolist()[2] == 0xFFC00001


@pytest.mark.parametrize("name", ["f32", "f64", "i64", "u8", "bf16"])
def test_topk_is_the_head_of_the_sort(name):
    for shape, axis in (((300,), 0), ((4, 90), 1), ((90, 4), 0), ((3, 2000), 1)):
        x = numbers(name, shape)
        for k in (0, 1, 3, shape[axis] - 1, shape[axis]):
            for largest in (False, True):
                values, positions = sort.topk(x, k, axis, largest)
                want = np.take(order(x, axis, largest), range(k), axis)
                assert same(positions, want) and same(values, np.take_along_axis(x, want, axis))


@pytest.mark.parametrize("name", ["f32", "f64", "i32", "i64"])
def test_kthvalue_and_median(name):
    for n in (1, 2, 7, 200):
        x = numbers(name, (5, n), special=False)
        for k in {1, n // 2 + 1, n}:
            values, positions = sort.kthvalue(x, k, 1)
            assert (same(positions,
                         order(x, 1, False)[:, k - 1:k])
                    and same(values, np.take_along_axis(x, positions, 1)))
        assert same(sort.median(x, 1)[0], np.sort(x, 1)[:, (n - 1) // 2:(n - 1) // 2 + 1])


def test_median_and_nan():
    x = np.array([[3, np.nan, 1, 2], [4, 3, 2, 1], [np.nan] * 4], "f4")
    values, positions = sort.median(x, 1)
    assert (np.isnan(values[[0, 2]]).all() and positions.tolist() == [[1], [2], [0]]
            and values[1] == 2)
    values, positions = sort.median(x, 1, ignore_nan=True)
    assert (values[:2].tolist() == [[2], [2]] and positions[:2].tolist() == [[3], [2]]
            and np.isnan(values[2]))


def test_mode_is_the_least_of_the_most_frequent_and_its_last_position():
    x = np.array([[3, 1, 1, 3, 2], [5, 4, 3, 2, 1]])
    values, positions = sort.mode(x, 1)
    assert values.tolist() == [[1], [1]] and positions.tolist() == [[2], [4]]
    assert sort.mode(x.T.copy().astype("f4"), 0)[1].tolist() == [[2, 4]]


def test_searchsorted():
    rows = np.sort(rng.integers(0, 20, (3, 10)), 1)
    values = rng.integers(-2, 22, (3, 4))
    for right in (False, True):
        want = np.array([
            np.searchsorted(r, v, "right" if right else "left")
            for r, v in zip(rows, values, strict=True)])
        assert same(sort.searchsorted(rows, values, right), want)
        assert same(sort.searchsorted(rows[0], values, right),
                    np.searchsorted(rows[0], values, "right" if right else "left"))


@pytest.mark.parametrize("name", ["f32", "i64", "bool", "f16"])
def test_unique(name):
    x = numbers(name, (4, 9), special=False)
    values, inverse, counts = sort.unique(x)
    want = np.unique(x, return_inverse=True, return_counts=True)
    assert (same(values, want[0]) and same(counts, want[2]) and (values[inverse] == x).all()
            and inverse.shape == x.shape)
    runs, which, counts = sort.unique_consecutive(
        np.array([1, 1, 2, 2, 2, 1, 3], DTYPES[name] if name != "bool" else "i8"))
    assert (runs.tolist() == [1, 2, 1, 3] and which.tolist() == [0, 0, 1, 1, 1, 2, 3]
            and counts.tolist() == [2, 3, 1, 1])


def test_unique_of_nothing_and_of_nan():
    assert [len(y) for y in sort.unique(np.empty(0, "f4"))] == [0, 0, 0]
    assert len(sort.unique(np.array([np.nan, 1, np.nan], "f4"))[0]) == 3
    assert BF16 in NAMES


@pytest.mark.parametrize("descending", [False, True])
def test_sort_of_keys_that_do_not_fit_beside_a_position(descending):
    x = rng.standard_normal((3, 3000))
    # they differ in the lowest bits only
    x[1] = np.nextafter(1.0, 2.0) ** rng.integers(0, 9, 3000)
    x[2, ::7] = x[2, 3] + np.spacing(x[2, 3]) * rng.integers(-2, 3, x[2, ::7].size)
    assert same(sort.sort(x, 1, descending)[1], order(x, 1, descending))
    y = rng.integers(-2**63, 2**63 - 1, (2, 3000))
    y[:, ::5] = y[:, 7:8] + rng.integers(0, 3, (2, 600))
    assert same(sort.sort(y, 1, descending)[1], order(y, 1, descending))
    assert same(sort.sort(np.full(50, -2**63), 0, descending)[1], np.arange(50))
