"""Sorting, order statistics, searches and counts: NumPy as the oracle, for every type, axis and
special value."""
import itertools

import numpy as np
import pytest
import whet
from whet.cpu import histograms, search, sort, thread_pool
from whet.cpu import reference_sort as slowly
from whet.cpu.row_kernels import BF16, DTYPES, NAMES
from whet.passes.lower_llvm import targets

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
                assert same(sort.sort(x, axis - len(shape), descending)[1], want)


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


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", [n for n in REAL if n != "bool"])
@pytest.mark.parametrize("right", [False, True])
def test_searches_find_places_in_sequences_of_any_length(name, right):
    for n, count in itertools.product((1, 2, 3, 7, 8, 9, 40), (1, 7, 8, 9, 20)):
        x, values = numbers(name, (3, n)), numbers(name, (3, count))
        rows, order = sort.sort(x)
        side = "right" if right else "left"
        for out_int32 in (False, True):
            kind = dict(right=right, out_int32=out_int32)
            dtype = np.int32 if out_int32 else np.int64
            want = np.array([np.searchsorted(as_numpy(r), as_numpy(v), side)
                             for r, v in zip(rows, values, strict=True)], dtype)
            assert same(search.searchsorted(rows, values, **kind), want)
            assert same(search.searchsorted(x, values, order, **kind), want)
            assert same(search.searchsorted(rows[0], values[0], **kind), want[0])


def as_numpy(x):
    return x.astype("f4") if x.dtype == BF16 else x


def test_searches_in_nothing_and_for_nothing():
    empty, some = np.empty(0, "f4"), np.ones(3, "f4")
    kind = dict(right=False, out_int32=False)
    assert search.searchsorted(empty, some, **kind).tolist() == [0, 0, 0]
    assert search.searchsorted(some, empty, **kind).shape == (0,)
    # an order that names no element is no reason to read beyond the sequence
    wild = np.array([1 << 40, -1, 0])
    assert 0 <= search.searchsorted(some, some, wild, **kind).max() <= 3


@pytest.mark.parametrize("name", [n for n in REAL if n != "bool"])
def test_members_of_a_set(name):
    for n, count in itertools.product((1, 7, 8, 9, 30), (1, 2, 8, 9)):
        x, tests = numbers(name, (2, n)), numbers(name, (count,))
        for invert in (False, True):
            assert same(search.isin(x, tests, invert),
                        np.isin(as_numpy(x), as_numpy(tests), invert=invert))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("n", [1, 2, 9, 36, 300])
def test_runs_of_equal_elements(name, n):
    x = numbers(name, (n,))
    values, inverse, lengths = histograms.runs(x, False)
    at = order(x, 0, False)
    assert all(map(same, (values, inverse[at], lengths), runs_of(x[at])))
    found = histograms.runs(x, True)
    assert all(map(same, found, runs_of(x)))
    assert [len(y) for y in histograms.runs(x, True, False, False)] == [len(found[0]), 0, 0]


def runs_of(x):
    """(the first of each run, which run each element is in, how long they are)"""
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    lengths = np.diff(first, append=x.size)
    return x[first], np.repeat(np.arange(first.size), lengths), lengths


def test_runs_of_nothing_and_of_nan_and_of_zeros():
    assert [len(y) for y in histograms.runs(np.empty(0, "f4"), False)] == [0, 0, 0]
    assert len(histograms.runs(np.array([np.nan, 1, np.nan], "f4"), False)[0]) == 3
    values, inverse, lengths = histograms.runs(np.array([0.0, -0.0, 1, -0.0], "f4"), False)
    assert values.view("i4").tolist()[0] == 0 and lengths.tolist() == [3, 1]
    assert inverse.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("name", [n for n in REAL if n[0] in "iub" and n != "bf16"])
def test_counts_of_numbers(name):
    x = np.abs(numbers(name, (37,))).astype(DTYPES[name])
    assert same(histograms.numbers(x, 6), np.bincount(x.astype("i8"), minlength=6))
    for kind in ("f4", "f8", "i2"):
        weights = rng.standard_normal(37).astype(kind)
        want = np.zeros(6, "f4" if kind == "f4" else "f8")
        np.add.at(want, x.astype("i8"), weights)
        assert same(histograms.numbers(x, 6, weights), want)


def test_numbers_out_of_range_are_not_counted():
    x = np.array([0, 5, -1, 2, 1 << 40, -(1 << 62)])
    assert histograms.numbers(x, 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", [n for n in REAL if n != "bool"])
def test_counts_in_intervals(name):
    for n, bins, (low, high) in itertools.product(
            (1, 3, 4, 5, 33), (1, 3, 100), ((0.0, 0.0), (-1.0, 2.5), (1.0, 1.0))):
        x = numbers(name, (n,), special=False)
        a, b = (float(x.min()), float(x.max())) if low == high == 0 else (low, high)
        a, b = (a - 1, b + 1) if a == b else (a, b)
        wide = x.astype("f8")
        inside = wide[(wide >= a) & (wide <= b)]
        k = np.minimum(((inside - a) / (b - a) * bins).astype("i8"), bins - 1)
        assert same(histograms.in_intervals(x, bins, low, high),
                    np.bincount(k, minlength=bins).astype(x.dtype))


def test_intervals_of_elements_that_are_not_finite_are_refused():
    for odd in (np.nan, np.inf, -np.inf):
        for place in (0, 6, 8):
            x = np.arange(9.0)
            x[place] = odd
            assert histograms.in_intervals(x, 4, 0.0, 0.0) is None
            assert histograms.in_intervals(x, 4, 1.0, 2.0).sum() == 2 - (place in (1, 2))


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


def boundaries(size):
    """Sizes around those where kernels change their ways, for keys of so many bytes."""
    lanes = targets.current().lanes(size)
    for n in (16, lanes, 8 * lanes, 255, 300):
        yield from (n - 1, n, n + 1)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("style", ["few", "equal", "close", "any"])
@pytest.mark.parametrize("name", ["f32", "f64", "i8", "i32", "u64", "bf16"])
def test_all_order_statistics_around_the_boundaries(name, style):
    for n in boundaries(sort.key_size(np.dtype(DTYPES[name]))):
        x = styled(name, (3, n), style)
        for down in (False, True):
            for k in {1, n // 16, n // 15, n // 3, n - 1, n}:
                want = slowly.first(x, k, down)
                assert all(map(same, sort.topk(x, k, 1, down), want)), (n, k)
        for k in {0, n // 3, n - 1}:
            assert all(map(same, sort.kthvalue(x, k + 1, 1), slowly.selected(x, "nth", k)))
        with np.errstate(invalid="ignore"):
            for which in ("median", "nanmedian"):
                assert all(map(same, sort.median(x, 1, which == "nanmedian"),
                               slowly.selected(x, which, 0)))
            assert all(map(same, sort.mode(x, 1), slowly.mode(x)))


def styled(name, shape, style):
    """Elements of few values; all equal but one; that differ in their lowest bits; any."""
    dtype = np.dtype(DTYPES[name])
    if style == "few":
        return numbers(name, shape)
    if style == "equal":
        x = np.full(shape, 3, dtype)
        x[:, shape[1] // 2] = 1
        return x
    bits = rng.integers(0, 256, (*shape, dtype.itemsize), "u1")
    if style == "close":
        bits[..., 2 if dtype.itemsize > 2 else 1:] = 0x3f
    return bits.view(dtype)[..., 0]


def test_many_elements_that_differ_in_low_bits_are_sorted_in_time():
    x = np.nextafter(1.0, 2.0) ** rng.integers(0, 1 << 20, 1 << 16)
    x[::1000] = 1e300
    assert same(sort.sort(x)[1], np.argsort(x, kind="stable"))


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_any_number_of_threads_gives_the_same(kind):
    x = rng.integers(0, 50, (40, 700)).astype(kind)
    before = thread_pool.get_num_threads()
    try:
        found = []
        for n in (1, 3):
            whet.set_num_threads(n)
            found.append([*sort.sort(x), *sort.topk(x, 100), *sort.median(x), *sort.mode(x)])
    finally:
        whet.set_num_threads(before)
    assert all(map(same, *found))


def test_calls_that_are_made_again_have_memory_for_as_many_threads_as_take_part():
    x = whet.tensor(rng.standard_normal((64, 900)))
    before = thread_pool.get_num_threads()
    try:
        whet.set_num_threads(1)
        want = [y.clone() for _ in range(3) for y in (*x.sort(1), *x.topk(300, 1), *x.median(1))]
        whet.set_num_threads(4)
        for _ in range(20):
            found = [*x.sort(1), *x.topk(300, 1), *x.median(1)]
            assert all(whet.equal(a, b) for a, b in zip(found, want, strict=False))
    finally:
        whet.set_num_threads(before)


@pytest.mark.parametrize("packed", [True, False])
def test_positions_beyond_a_word_go_beside_the_keys(packed, monkeypatch):
    monkeypatch.setattr(sort, "PACKABLE", 1 << 32 if packed else 1)
    for n in (5, 100, 3000):
        x = numbers("f32", (2, n))
        assert all(map(same, sort.sort(x, 1, True), slowly.first(x, n, True)))
        assert all(map(same, sort.topk(x, n // 2), slowly.first(x, n // 2, True)))
        assert all(map(same, sort.mode(x), slowly.mode(x)))
