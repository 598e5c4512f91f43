"""Pooling kernels: the reference's bits for every combination of parameters, layout and number
of threads."""
import random

import ml_dtypes
import numpy as np
import pytest
from whet.cpu import conv_plan, thread_pool, window_geometry
from whet.cpu import pooling as P
from whet.cpu import reference_windows as W
from whet.passes.lower_llvm import targets

rng = np.random.default_rng(0)
same = np.testing.assert_array_equal


def make(*shape, dtype="f4"):
    """Numbers with many ties."""
    return rng.integers(-5, 6, shape).astype(dtype)


@pytest.fixture
def fresh():
    conv_plan.known.clear()
    yield
    conv_plan.known.clear()


def layouts(a):
    yield a
    yield np.asfortranarray(a)
    yield np.ascontiguousarray(a[..., ::-1])[..., ::-1]


def check(x, kernel, stride, padding, dilation, ceil_mode, include, divisor, output_size):
    """Every pool of x against the reference, to the bit."""
    float_type = x.dtype.kind == "f"
    y, index = P.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    want, want_index = W.reference_max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    assert y.dtype == x.dtype and index.dtype == np.int64
    same(y, want)
    same(index, want_index)
    bare = P.max_pool(x, kernel, stride, padding, dilation, ceil_mode, indices=False)
    same(bare[0], want)
    assert bare[1] is None
    y, index = P.adaptive_max_pool(x, output_size)
    for got, ref in zip((y, index), W.reference_adaptive_max_pool(x, output_size), strict=True):
        same(got, ref)
    if float_type:
        gy = rng.standard_normal(want.shape).astype(x.dtype)
        same(P.max_pool_grad(gy, want_index, x.shape),
             W.reference_max_pool_grad(gy, want_index, x.shape))
        x = np.where(np.isfinite(x), x, 2).astype(x.dtype)
    at = kernel, stride, padding, ceil_mode, include, divisor
    y = P.avg_pool(x, *at)
    assert y.dtype == x.dtype
    same(y, W.reference_avg_pool(x, *at))
    y = P.adaptive_avg_pool(x, output_size)
    same(y, W.reference_adaptive_avg_pool(x, output_size))
    if float_type:
        gy = rng.standard_normal(y.shape).astype(x.dtype)
        same(P.adaptive_avg_pool_grad(gy, x.shape), W.reference_adaptive_avg_pool_grad(gy, x.shape))
        gy = rng.standard_normal(P.avg_pool(x, *at).shape).astype(x.dtype)
        same(P.avg_pool_grad(gy, x.shape, *at), W.reference_avg_pool_grad(gy, x.shape, *at))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("nd", [1, 2, 3])
def test_random_shapes(nd, dtype):
    pick = random.Random(f"{nd}{dtype}")
    for _ in range(24):
        each = lambda lo, hi: tuple(pick.randint(lo, hi) for _ in range(nd))
        sizes = [1, 2, 5, 9, 16, 33] if nd < 3 else [1, 3, 6, 8]
        x = make(pick.randint(0, 3),
                 pick.choice([1, 3, 8, 17]),
                 *[pick.choice(sizes) for _ in range(nd)],
                 dtype=dtype)
        if dtype[0] == "f" and pick.random() < 0.5:
            x[rng.random(x.shape) < 0.1] = np.nan
            x[rng.random(x.shape) < 0.1] = -np.inf
        kernel = each(1, 4)
        check(pick.choice(list(layouts(x))), kernel, each(1, 4),
              tuple(pick.randint(0, k // 2) for k in kernel), each(1, 3),
              pick.random() < 0.5,
              pick.random() < 0.5, pick.choice([None, 3]), each(1, 6))


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", [
    ((2, 3, 9001), (5,), (2,), (2,), (1,)),                     # rows longer than a chunk
    ((1, 2, 3, 9001), (2, 5), (1, 3), (1, 2), (1, 2)),
    ((1, 1, 9001), (4500,), (300,), (0,), (1,)),                # a window over several chunks
    ((1, 2, 300, 300), (7, 7), (3, 3), (3, 3), (2, 2)),
    ((1, 3, 8, 8), (2, 2), (9, 9), (0, 0), (1, 1)),
    ((2, 3, 4, 0), (2, 1), (1, 1), (0, 0), (1, 1)),
])
def test_corners(shape, kernel, stride, padding, dilation):
    check(make(*shape), kernel, stride, padding, dilation, False, True, None, (1,) * len(kernel))


def test_which_of_equals_and_which_nan():
    x = np.array([[[[1, 3, 3, np.nan, 2, np.nan, 0, 0]]]], "f4")
    y, index = P.max_pool(x, (1, 4), (1, 2), (0, 0), (1, 1))
    same(y[0, 0, 0], [np.nan, np.nan, np.nan])
    same(index[0, 0, 0], [3, 5, 5])
    same(P.max_pool(x[..., :3], (1, 3), (1, 1), (0, 0), (1, 1))[1], [[[[1]]]])
    low = np.full((1, 1, 1, 3), -np.inf, "f4")
    same(P.max_pool(low, (1, 3), (1, 1), (0, 0), (1, 1))[1], [[[[0]]]])


def test_a_window_without_taps_gives_nothing_back():
    x = make(1, 2, 1)
    y, index = P.max_pool(x, (3,), (4,), (1,), (2,), True)
    same(index, np.full_like(index, -1))
    assert (y == -np.inf).all()
    same(P.max_pool_grad(np.ones_like(y), index, x.shape), np.zeros_like(x))


def test_indices_outside_the_plane_are_ignored_or_refused():
    gy, index = np.ones((1, 1, 3), "f4"), np.array([[[0, 7, -5]]])
    same(P.max_pool_grad(gy, index, (1, 1, 4)), [[[1, 0, 0, 0]]])
    with pytest.raises(RuntimeError, match=r"max_unpool: indices must be in 0..3"):
        P.max_unpool(gy, index, (4,))


@pytest.mark.parametrize("shape", [(3, 20, 13, 21), (1, 5, 64, 64)])
def test_bits_do_not_depend_on_layout_threads_or_width(shape, fresh, monkeypatch):
    x = rng.standard_normal(shape).astype("f4")

    def run(x):
        y, index = P.max_pool(x, (3, 3), (2, 2), (1, 1), (1, 1))
        a = P.avg_pool(x, (3, 2), (2, 1), (1, 1))
        return y, index, a, P.avg_pool_grad(a, x.shape, (3, 2), (2, 1),
                                            (1, 1)), P.max_pool_grad(y, index, x.shape)
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(1)
    want = run(x)
    try:
        for laid in layouts(x):
            for got, ref in zip(run(laid), want, strict=True):
                same(got, ref)
        for n in (2, 3):
            thread_pool.set_num_threads(n)
            for got, ref in zip(run(x), want, strict=True):
                same(got, ref)
        if targets.current().name == "avx512":
            monkeypatch.setenv("WHET_CPU", "avx2")
            targets.current.cache_clear()
            conv_plan.known.clear()
            for got, ref in zip(run(x), want, strict=True):
                same(got, ref)
    finally:
        thread_pool.set_num_threads(before)
        monkeypatch.undo()
        targets.current.cache_clear()


def test_bfloat16_goes_through_f32():
    x = rng.standard_normal((2, 3, 7, 6)).astype(ml_dtypes.bfloat16)
    y, index = P.max_pool(x, (2, 2), (2, 2), (0, 0), (1, 1))
    wide = P.max_pool(x.astype("f4"), (2, 2), (2, 2), (0, 0), (1, 1))
    assert y.dtype == x.dtype
    same(y.astype("f4"), wide[0])
    same(index, wide[1])
    mean = P.avg_pool(x.astype("f4"), (3, 3), (1, 1), (1, 1)).astype(x.dtype)
    same(P.avg_pool(x, (3, 3), (1, 1), (1, 1)).astype("f4"), mean.astype("f4"))


@pytest.mark.parametrize("spatial, kernel, dilation, padding, stride", [
    ((9,), (3,), (2,), (1,), (2,)),
    ((6, 7), (2, 3), (1, 2), (1, 0), (2, 1)),
    ((4, 5, 3), (2, 2, 3), (1, 1, 1), (0, 1, 1), (1, 2, 1))])
def test_fold_is_the_transpose_of_unfold(spatial, kernel, dilation, padding, stride):
    x = make(2, 3, *spatial, dtype="i8")
    cols = P.unfold(x, kernel, dilation, padding, stride)
    g = make(*cols.shape, dtype="i8")
    assert (cols * g).sum() == (x * P.fold(g, spatial, kernel, dilation, padding, stride)).sum()
    k = int(np.prod(kernel))
    assert (cols.shape == (2, 3 * k,
                           int(np.prod(window_geometry.out_sizes(
                               spatial, kernel, stride, padding, dilation)))))


@pytest.mark.skipif(P.REFERENCE, reason="NumPy alone is wanted")
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "c8", ml_dtypes.bfloat16])
@pytest.mark.parametrize("spatial, kernel, dilation, padding, stride", [
    ((40,), (3,), (2,), (1,), (2,)), ((16, 24), (8, 8), (1, 1), (0, 0), (8, 8)),
    ((9, 35), (3, 3), (1, 2), (1, 0), (1, 1)),
    ((4, 5, 3), (2, 2, 3), (1, 1, 1), (0, 1, 1), (1, 2, 1))])
def test_columns_are_moved_by_kernels(dtype, spatial, kernel, dilation, padding, stride,
                                      monkeypatch):
    at = kernel, dilation, padding, stride
    cases = [(x, W.reference_unfold(x, *at)) for x in layouts(make(2, 3, *spatial, dtype=dtype))]
    monkeypatch.setattr(W, "reference_unfold", None)
    for x, wanted in cases:
        got = P.unfold(x, *at)
        assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()


def test_max_unpool_puts_back():
    x = rng.standard_normal((2, 3, 6, 4)).astype("f4")
    y, index = P.max_pool(x, (2, 2), (2, 2), (0, 0), (1, 1))
    back = P.max_unpool(y, index, (6, 4))
    same(back[back != 0], x[back != 0])
    assert np.count_nonzero(back) == y.size


@pytest.mark.parametrize("kernel,stride,padding",
                         [((3, 3), (1, 1), (1, 1)), ((2, 2), (2, 2), (0, 0)),
                          ((3, 5), (2, 3), (1, 2))])
@pytest.mark.parametrize("width", [8, 15, 33, 100])
def test_both_kernels_give_the_same_bits(kernel, stride, padding, width):
    """Where pixels do not lie side by side, planes do."""
    x = np.random.default_rng(0).standard_normal((2, 3, 9, width)).astype("f4")
    x[0, 1, 2, 3] = np.nan
    apart = np.repeat(x, 2, -1)[..., ::2]
    for run in (lambda a: P.max_pool(a, kernel, stride, padding, (1, 1)),
                lambda a: P.max_pool(a, kernel, stride, padding, (1, 1), indices=False)[:1],
                lambda a: [P.avg_pool(a, kernel, stride, padding)]):
        for one, other in zip(run(x), run(apart), strict=True):
            assert one.tobytes() == other.tobytes()
