"""Convolution kernels: right for every combination of parameters, and the same bits whatever the
layout, path and threads."""
import itertools
import random
import re

import ml_dtypes
import numpy as np
import pytest
from whet.cpu import conv as K
from whet.cpu import conv_plan, native, thread_pool, window_geometry, window_parts
from whet.cpu import reference_windows as W
from whet.ir.scalar import arg, args, where
from whet.passes.lower_llvm import compile, targets
from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.windows import depthwise_planes, few_channels
from whet.passes.lower_llvm.windows.conv import micro
from whet.passes.lower_llvm.windows.epilogue import SUMS, Epilogue, Extent
from whet.passes.lower_llvm.windows.window_tiles import Tile

rng = np.random.default_rng(0)


def make(*shape, dtype="f4"):
    return rng.standard_normal(shape).astype(dtype)


@pytest.fixture
def fresh():
    """Plans are made anew in the test and after it."""
    K.known.clear()
    yield
    K.known.clear()


@pytest.fixture
def threads():
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)


def assert_same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))


def layouts(a):
    """The array in other strides: Fortran order, reversed, inside a larger one, at an odd
    address."""
    yield np.asfortranarray(a)
    yield np.ascontiguousarray(a[..., ::-1])[..., ::-1]
    big = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    big[..., ::2] = a
    yield big[..., ::2]
    raw = np.empty(a.nbytes + 1, np.uint8)[1:].view()
    raw = raw[:a.nbytes]
    odd = np.ndarray(a.shape, a.dtype, raw)
    odd[...] = a
    yield odd


def exact(a):
    return None if a is None else a.astype("f8")


def all_three(x, w, b, gy, *at):
    return (K.conv(x, w, b, *at), K.conv_input_grad(gy, w, x.shape,
                                                    *at), K.conv_weight_grad(gy, x, w.shape, *at))


def check(x, w, b, *at):
    """All three functions against the reference in float64."""
    out = window_geometry.out_sizes(x.shape[2:], w.shape[2:], *at[:3])
    gy = make(x.shape[0], w.shape[0], *out, dtype=x.dtype)
    want = (W.reference_conv(exact(x), exact(w), exact(b), *at),
            W.reference_conv_input_grad(exact(gy), exact(w), x.shape, *at),
            W.reference_conv_weight_grad(exact(gy), exact(x), w.shape, *at))
    for got, ref in zip(all_three(x, w, b, gy, *at), want, strict=True):
        assert got.shape == ref.shape and got.dtype == x.dtype
        limit = {4: 1e-5, 8: 1e-13}[x.itemsize] * max(1, np.abs(ref).max(initial=0))
        assert np.abs(got - ref).max(initial=0) < limit


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("nd", [1, 2, 3])
def test_random_shapes(nd, dtype):
    pick = random.Random(f"{nd}{dtype}")
    for _ in range(8):
        groups = pick.choice([1, 1, 2, 3])
        c, o = groups * pick.choice([1, 2, 5, 17]), groups * pick.choice([1, 3, 16, 20])
        n, sizes = pick.randint(0, 3), [1, 3, 7, 9, 20, 35] if nd < 3 else [1, 4, 5, 8]
        x = make(n, c, *[pick.choice(sizes) for _ in range(nd)], dtype=dtype)
        w = make(o, c // groups, *[pick.randint(1, 3) for _ in range(nd)], dtype=dtype)
        b = pick.choice([None, make(o, dtype=dtype)])
        each = lambda lo, hi: tuple(pick.randint(lo, hi) for _ in range(nd))
        x = pick.choice([x, *layouts(x)])
        check(x, w, b, each(1, 3), each(0, 3), each(1, 2), groups)


@pytest.mark.parametrize("x, w, at", [
    # taps beyond the input on both sides
    ((2, 3, 2, 2), (4, 3, 5, 5), ((1, 1), (2, 2), (1, 1), 1)),
    ((2, 3, 2, 2), (4, 3, 5, 5), ((1, 1), (0, 0), (1, 1), 1)),             # no output
    ((0, 3, 8, 8), (4, 3, 3, 3), ((1, 1), (1, 1), (1, 1), 1)),
    # no channels: the sum is zero
    ((1, 0, 8, 8), (4, 0, 3, 3), ((1, 1), (1, 1), (1, 1), 1)),
    # pixels that no window reads
    ((1, 2, 11, 9), (4, 2, 1, 2), ((3, 4), (0, 0), (1, 1), 1)),
    # depthwise, two outputs a channel
    ((1, 6, 9, 9), (12, 1, 3, 3), ((2, 1), (1, 1), (2, 1), 6)),
    ((2, 40, 9, 40), (40, 1, 7, 7), ((1, 1), (3, 3), (1, 1), 40)),
    ((1, 3, 30), (2, 3, 20), ((1,), (4,), (1,), 1)),                       # a long row of taps
    # more taps than steps in a block
    ((1, 2, 40, 40), (3, 2, 17, 17), ((5, 5), (8, 8), (1, 1), 1)),
    ((1, 64, 12, 12), (70, 64, 1, 1), ((1, 1), (0, 0), (1, 1), 1)),
    ((2, 300, 5, 7), (33, 300, 1, 1), ((2, 2), (0, 0), (1, 1), 1)),
    ((3, 16, 9, 21), (24, 16, 3, 3), ((1, 1), (1, 1), (1, 1), 1)),         # Winograd
    ((1, 600, 8, 9), (20, 300, 3, 3), ((1, 1), (2, 0), (1, 1), 2)),
    ((2, 16, 10, 10), (16, 16, 3, 3), ((1, 1), (3, 4), (1, 1), 1)),        # its gradient crops
    # of volumes: planes beyond the input, apart, a group of every second plane's gradients
    ((2, 16, 2, 7, 8), (24, 16, 3, 3, 3), ((1, 1, 1), (3, 1, 1), (1, 1, 1), 1)),
    ((1, 32, 6, 4, 5), (48, 16, 3, 3, 3), ((2, 1, 1), (1, 1, 1), (1, 1, 1), 2)),
    ((1, 20, 9, 3, 6), (17, 20, 4, 3, 3), ((3, 1, 1), (2, 1, 1), (2, 1, 1), 1)),
    ((2, 16, 5, 6, 6), (16, 16, 1, 3, 3), ((2, 1, 1), (0, 1, 1), (1, 1, 1), 1)),
])
def test_corners(x, w, at):
    check(make(*x), make(*w), make(w[0]), *at)


@pytest.mark.parametrize("kernel, stride, padding, dilation", [
    (5, 2, 2, 1), (6, 2, 2, 1), (7, 2, 3, 1), (9, 3, 4, 1), (8, 3, 0, 1), (3, 2, 2, 2),
    ((3, 5), (1, 2), (1, 2), 1), ((5, 3), (2, 1), (2, 1), 1), (5, 2, 4, 3)])
def test_strided_gradients_of_which_a_run_has_three_taps_a_side(kernel, stride, padding, dilation):
    """Such a run looks like a convolution of 3x3 taps, but its weights and results lie apart."""
    pair = lambda v: v if type(v) is tuple else (v, v)
    w = make(17, 16, *pair(kernel))
    check(make(2, 16, 19, 22), w, None, pair(stride), pair(padding), pair(dilation), 1)


def chain(a, b):
    """Rows of a times columns of b as the contraction's canonical order has it (a fused
    multiply-add in f64 is exact enough)."""
    total = None
    for k0 in range(0, a.shape[-1], 256):
        acc = np.zeros((*a.shape[:-1], b.shape[-1]), np.float32)
        for k in range(k0, min(k0 + 256, a.shape[-1])):
            acc = (a[..., k, None].astype("f8") * b[..., k, None, :].astype("f8")
                   + acc).astype("f4")
        total = acc if total is None else total + acc
    return total


ORDER = [((2, 30, 6, 9), (5, 30, 3, 3), ((2, 1), (1, 1), (1, 2))),
         ((1, 70, 5, 5), (3, 70, 2, 2), ((1, 1), (0, 1), (1, 1))),
         ((2, 1, 9, 21), (1, 1, 3, 3), ((1, 1), (1, 1), (1, 1))),
         ((1, 300, 4, 4), (17, 300, 1, 1), ((1, 1), (0, 0), (1, 1)))]


@pytest.mark.parametrize("x, w, at", ORDER)
def test_bits_are_those_of_unfold_and_matmul(x, w, at):
    stride, padding, dilation = at
    x, w = make(*x), make(*w)
    cols = W.reference_unfold(x, w.shape[2:], dilation, padding, stride)
    y = K.conv(x, w, None, *at, 1)
    assert_same_bits(y, chain(w.reshape(w.shape[0], -1)[None], cols).reshape(y.shape))


@pytest.mark.parametrize("x, w, at", ORDER)
def test_weight_gradients_are_contractions_over_pixels(x, w, at):
    stride, padding, dilation = at
    x = make(*x)
    gy = make(x.shape[0], w[0], *window_geometry.out_sizes(x.shape[2:], w[2:], *at))
    cols = W.reference_unfold(x, w[2:], dilation, padding, stride)
    flat = lambda a, rows: a.reshape(a.shape[0], rows, -1).swapaxes(0, 1).reshape(rows, -1)
    want = chain(flat(gy, w[0]), flat(cols, cols.shape[1]).T)
    assert_same_bits(K.conv_weight_grad(gy, x, w, *at, 1), want.reshape(w))


def winograd_model(x, w, padding):
    """F(2x2, 3x3) of volumes as `lower_llvm.winograd` states it."""
    n, c, depth, h, v = x.shape
    oh, ow = h + 2 * padding - 2, v + 2 * padding - 2
    th, tw = -(-oh // 2), -(-ow // 2)
    planes = w.shape[2]
    out = depth + 2 * padding - planes + 1
    d = np.zeros((n, c, depth + 2 * padding, 2 * th + 2, 2 * tw + 2), "f4")
    d[:, :, padding:padding + depth, padding:padding + h, padding:padding + v] = x

    def tin(a):
        return [a[0] - a[2], a[1] + a[2], a[2] - a[1], a[1] - a[3]]

    def tw_(a):
        even, odd = (a[0] + a[2]) * 0.5, a[1] * 0.5
        return [a[0], even + odd, even - odd, a[2]]

    def tout(a):
        return [a[0] + a[1] + a[2], a[1] - a[2] - a[3]]
    steps = np.concatenate([d[:, :, z:z + out] for z in range(planes)], 1)
    tile = [[steps[..., i:i + 2 * th:2, j:j + 2 * tw:2] for j in range(4)] for i in range(4)]
    down = [tin([tile[i][j] for i in range(4)]) for j in range(4)]
    values = [tin([down[j][a] for j in range(4)]) for a in range(4)]
    w8 = w.astype("f8").swapaxes(1, 2).reshape(w.shape[0], planes * c, 3, 3)
    down = [tw_([w8[:, :, i, j] for i in range(3)]) for j in range(3)]
    weights = [[u.astype("f4") for u in tw_([down[j][a] for j in range(3)])] for a in range(4)]
    m = [[chain(weights[a][b][None], values[a][b].reshape(n, planes * c, -1)) for b in range(4)]
         for a in range(4)]
    down = [tout([m[a][b] for a in range(4)]) for b in range(4)]
    y = np.empty((n, w.shape[0], out, 2 * th, 2 * tw), "f4")
    for a in range(2):
        for b, part in enumerate(tout([down[k][a] for k in range(4)])):
            y[..., a::2, b::2] = part.reshape(n, w.shape[0], out, th, tw)
    return np.ascontiguousarray(y[..., :oh, :ow])


def test_winograd_is_as_stated():
    x, w = make(2, 17, 9, 13), make(18, 17, 3, 3)
    want = winograd_model(np.pad(x[:, :, None], ((0, 0), (0, 0), (0, 0), (1, 1), (1, 1))),
                          w[:, :, None], 0)
    assert_same_bits(K.conv(x, w, None, (1, 1), (1, 1), (1, 1), 1), want[:, :, 0])


@pytest.mark.parametrize("planes, channels", [(1, 17), (3, 17), (2, 150)])
def test_winograd_of_volumes_is_as_stated(planes, channels):
    """A step is a channel of a plane of taps, plane by plane."""
    x, w = make(2, channels, 4, 9, 7), make(18, channels, planes, 3, 3)
    ones = 1, 1, 1
    assert_same_bits(K.conv(x, w, None, ones, ones, ones, 1), winograd_model(x, w, 1))


SHAPES = [((3, 20, 9, 9), (33, 20, 3, 3), ((1, 1), (1, 1), (1, 1), 1)),              # Winograd
          ((2, 17, 4, 6, 7), (33, 17, 3, 3, 3), ((1, 1, 1), (1, 1, 1), (1, 1, 1), 1)),
          ((3, 20, 9, 9), (33, 20, 3, 3), ((2, 2), (1, 1), (1, 1), 1)),
          ((5, 40, 7, 7), (70, 40, 1, 1), ((1, 1), (0, 0), (1, 1), 1)),
          ((2, 24, 10, 11), (24, 1, 3, 3), ((1, 1), (1, 1), (1, 1), 24)),            # depthwise
          ((2, 6, 11, 13), (9, 2, 2, 3), ((3, 1), (1, 2), (1, 2), 3))]


@pytest.mark.parametrize("x, w, at", SHAPES)
def test_bits_do_not_depend_on_layout(x, w, at):
    x, w, b = make(*x), make(*w), make(w[0])
    gy = make(x.shape[0], w.shape[0], *window_geometry.out_sizes(x.shape[2:], w.shape[2:], *at[:3]))
    want = all_three(x, w, b, gy, *at)
    for xs, ws, gs in zip(layouts(x), layouts(w), layouts(gy), strict=True):
        for a, r in zip(all_three(xs, ws, b, gs, *at), want, strict=True):
            assert_same_bits(a, r)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("x, w, at", SHAPES)
def test_bits_do_not_depend_on_threads_or_parts(x, w, at, threads, fresh, monkeypatch):
    x, w, b = make(*x), make(*w), make(w[0])
    gy = make(x.shape[0], w.shape[0], *window_geometry.out_sizes(x.shape[2:], w.shape[2:], *at[:3]))
    threads(1)
    want = all_three(x, w, b, gy, *at)
    monkeypatch.setattr(window_parts, "GRAIN", 1)                  # every unit is a part of its own
    for n in (2, 3, 5):
        threads(n)
        for a, r in zip(all_three(x, w, b, gy, *at), want, strict=True):
            assert_same_bits(a, r)


def test_every_thread_has_a_part_and_every_part_its_scratch():
    for units, threads in itertools.product(range(1, 60), range(1, 9)):
        word, parts = window_parts.shares(1, units, threads)
        whole_grains = units // distribute_units.grain(word)
        assert parts == distribute_units.room(word) == min(threads, units)
        assert parts == min(threads, whole_grains)
    assert window_parts.shares(20, 50, 4) == (distribute_units.word(20, 2), 2)


@pytest.mark.parametrize("last", [1.0, 0.5])
@pytest.mark.parametrize("panels, tiles", [(7, 11), (25, 8), (2, 22), (1, 40), (98, 22), (4, 43)])
@pytest.mark.parametrize("by_rows", [False, True])
def test_blocks_are_cut_so_that_threads_have_the_same_work(panels, tiles, last, by_rows):
    for threads in (1, 2, 3, 4):
        across, down = conv_plan._cut(panels, 4, tiles, 20, 12, 1, threads, last, by_rows=by_rows)
        assert -(-panels // across) <= 4 and -(-tiles // down) <= 20
        wide, high = ([(i + 1) * n // b - i * n // b for i in range(b)]
                      for n, b in ((panels, across), (tiles, down)))
        wide[-1] -= 1 - last
        work = np.outer(high, wide) if by_rows else np.outer(wide, high)
        parts = np.array_split(work.ravel(), threads)
        assert threads == 1 or max(map(sum, parts)) <= 1.2 * work.sum() / threads


@pytest.mark.parametrize("x, w, at", [
    ((1, 256, 56, 56), (64, 256, 1, 1), ((1, 1), (0, 0), (1, 1), 1)),        # 25 units
    ((1, 256, 14, 14), (256, 256, 1, 1), ((1, 1), (0, 0), (1, 1), 1)),       # one row of pixels
    ((1, 1, 4000), (40, 1, 9), ((1,), (4,), (1,), 1)),
    ((1, 3, 64, 64), (8, 3, 7, 7), ((2, 2), (3, 3), (1, 1), 1))])
def test_one_image_is_work_for_all_threads(x, w, at, threads, fresh, monkeypatch):
    threads(2)
    launched = []
    monkeypatch.setattr(native,
                        "launch", lambda kernel, units, grain, *args: launched.append(
                            (units, grain)))
    K.conv(make(*x), make(*w), None, *at)
    (units, grain), = launched
    assert units // distribute_units.grain(grain) >= 2


@pytest.mark.parametrize("x, w, at", SHAPES)
def test_bits_do_not_depend_on_vector_width(x, w, at, fresh, monkeypatch):
    x, w, b = make(*x), make(*w), make(w[0])
    gy = make(x.shape[0], w.shape[0], *window_geometry.out_sizes(x.shape[2:], w.shape[2:], *at[:3]))
    want = all_three(x, w, b, gy, *at)
    if targets.current().name != "avx512":
        pytest.skip("needs a machine with several widths")
    monkeypatch.setenv("WHET_CPU", "avx2")
    targets.current.cache_clear()
    K.known.clear()
    try:
        for a, r in zip(all_three(x, w, b, gy, *at), want, strict=True):
            assert_same_bits(a, r)
    finally:
        monkeypatch.undo()
        targets.current.cache_clear()


@pytest.mark.parametrize("x, w, at", SHAPES)
def test_an_image_does_not_depend_on_its_batch(x, w, at):
    x, w, b = make(*x), make(*w), make(w[0])
    y = K.conv(x, w, b, *at)
    gy = make(*y.shape)
    gx = K.conv_input_grad(gy, w, x.shape, *at)
    for i in range(len(x)):
        assert_same_bits(K.conv(x[i:i + 1], w, b, *at), y[i:i + 1])
        assert_same_bits(K.conv_input_grad(gy[i:i + 1], w, x[i:i + 1].shape, *at), gx[i:i + 1])


DEPTHWISE = [
    ((2, 24, 10, 11), (24, 1, 3, 3), ((1, 1), (1, 1), (1, 1), 24)),
    ((2, 2, 9, 9), (2, 1, 3, 3), ((2, 1), (1, 1), (1, 2), 2)),
    # in planes: wide rows of many channels, any rows of few
    ((2, 17, 9, 70), (34, 1, 3, 3), ((1, 1), (1, 1), (1, 1), 17)),
    ((1, 20, 11, 120), (20, 1, 5, 5), ((2, 2), (2, 2), (1, 1), 20)),
    ((1, 3, 11, 60), (3, 1, 7, 7), ((1, 1), (3, 3), (1, 1), 3)),
    ((2, 2, 7, 5), (2, 1, 4, 2), ((1, 2), (0, 1), (1, 1), 2)),
    ((2, 4, 200), (4, 1, 3), ((1,), (2,), (1,), 4))]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("cpu", ["", "avx2"])
@pytest.mark.parametrize("x, w, at", DEPTHWISE)
def test_depthwise_kernels_have_the_bits_of_the_others(x, w, at, cpu, fresh, monkeypatch, threads):
    if cpu and targets.current().name != "avx512":
        pytest.skip("needs a machine with several widths")
    x, w, b = make(*x), make(*w), make(w[0])
    gy = make(x.shape[0], w.shape[0], *window_geometry.out_sizes(x.shape[2:], w.shape[2:], *at[:3]))
    with monkeypatch.context() as m:
        m.setattr(conv_plan, "DEPTHWISE_TAPS", 0)
        want = all_three(x, w, b, gy, *at)
    monkeypatch.setenv("WHET_CPU", cpu)
    targets.current.cache_clear()
    try:
        for n in (1, 3):
            threads(n)
            K.known.clear()
            for a, r in zip(all_three(x, w, b, gy, *at), want, strict=True):
                assert_same_bits(a, r)
    finally:
        monkeypatch.undo()
        targets.current.cache_clear()


def test_wide_rows_of_channels_go_in_planes():
    """What the test above compares is there."""
    plans = [conv_plan.conv_plan(make(*x), make(*w), None, *at) for x, w, at in DEPTHWISE]
    kinds = [native.by_address()[p.kernel].split("/")[0] for p in plans]
    assert kinds == ["conv_depthwise"] + ["conv_depthwise_few"] + ["conv_depthwise_planes"] * 5


@pytest.mark.parametrize("size", [3, 5, 7, 11])
def test_several_rows_of_any_window_are_computed_side_by_side(size):
    """Sums of a single row would wait for themselves, however large the window is."""
    assert depthwise_planes.Taps(size, size, 1, 1).together >= depthwise_planes.LEAST_ROWS


PLANES = [
    ((2, 3, 30, 47), (10, 3, 7, 7), ((2, 2), (3, 3), (1, 1), 1)),
    ((2, 3, 9, 31), (3, 3, 3, 3), ((1, 1), (1, 1), (1, 1), 1)),
    ((1, 6, 21, 60), (70, 3, 4, 5), ((1, 2), (0, 5), (3, 2), 2)),
    ((1, 12, 7, 31), (5, 12, 5, 1), ((3, 1), (2, 0), (1, 1), 1)),
    # more steps than in a block
    ((3, 40, 50), (13, 40, 9), ((1,), (4,), (2,), 1)),
    ((2, 3, 5, 9, 31), (5, 3, 3, 5, 5), ((1, 2, 2), (1, 2, 2), (1, 1, 1), 1)),
    ((1, 4, 6, 7, 47), (12, 2, 2, 3, 3), ((2, 1, 1), (2, 1, 1), (3, 1, 2), 2))]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("cpu", ["", "avx2"])
@pytest.mark.parametrize("x, w, at", PLANES)
def test_pixels_read_in_planes_give_the_same_bits(x, w, at, cpu, fresh, monkeypatch, threads):
    if cpu and targets.current().name != "avx512":
        pytest.skip("needs a machine with several widths")
    x, w, b = make(*x), make(*w), make(w[0])
    gy = make(x.shape[0], w.shape[0], *window_geometry.out_sizes(x.shape[2:], w.shape[2:], *at[:3]))
    run = lambda: (K.conv(x, w, b, *at), K.conv_input_grad(gy, w, x.shape, *at))
    with monkeypatch.context() as m:
        m.setattr(conv_plan, "planes_band", lambda *_: None)
        want = run()
    monkeypatch.setenv("WHET_CPU", cpu)
    targets.current.cache_clear()
    pays, found = conv_plan.planes_band, []
    monkeypatch.setattr(conv_plan, "planes_band", lambda *r: found.append(pays(*r)) or found[-1])
    try:
        for n in (1, 3):
            threads(n)
            K.known.clear()
            for a, r in zip(run(), want, strict=True):
                assert_same_bits(a, r)
    finally:
        monkeypatch.undo()
        targets.current.cache_clear()
    assert cpu or found[0]


def test_broadcast_operands():
    x, w = (np.broadcast_to(make(1, 1, 9, 1),
                            (2, 5, 9, 8)), np.broadcast_to(make(4, 1, 1, 3), (4, 5, 3, 3)))
    check(x, w, None, (1, 1), (1, 1), (1, 1), 1)
    check(x, w, None, (2, 2), (1, 1), (1, 1), 1)


def test_padding_taps_multiply_zeros():
    x, w = np.ones((1, 1, 3, 3), "f4"), np.full((1, 1, 3, 3), np.inf, "f4")
    y = K.conv(x, w, None, (1, 1), (1, 1), (1, 1), 1)
    assert y[0, 0, 1, 1] == np.inf and np.isnan(y[0, 0, 0, 0])


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16])
def test_sixteen_bit_floats_are_rounded_once(dtype):
    x, w, b = (make(*s).astype(dtype) for s in ((2, 5, 9, 8), (4, 5, 3, 3), (4,)))
    at = ((1, 2), (1, 0), (1, 1), 1)
    y = K.conv(x, w, b, *at)
    gy = make(*y.shape).astype(dtype)
    wide = [a.astype("f4") for a in (x, w, b, gy)]
    for a, r in zip(all_three(x, w, b, gy, *at), all_three(*wide, *at), strict=True):
        assert a.dtype == x.dtype
        assert_same_bits(a, r.astype(dtype))


@pytest.mark.parametrize("dtype", ["i8", "u1", "c8"])
def test_other_types(dtype):
    x, w, b = ((make(*s) * 9).astype(dtype) for s in ((2, 4, 6, 5), (6, 2, 3, 2), (6,)))
    at = ((1, 2), (1, 0), (1, 1), 2)
    y = K.conv(x, w, b, *at)
    gy = (make(*y.shape) * 9).astype(dtype)
    each = [slice(None)] * 2
    want = np.zeros(y.shape, dtype)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    for o, i, j in itertools.product(range(6), range(y.shape[2]), range(y.shape[3])):
        block = padded[(*each, slice(i, i + 3), slice(2 * j,
                                                      2 * j + 2))][:, (o // 3) * 2:(o // 3) * 2 + 2]
        want[:, o, i, j] = (block * w[o]).sum((1, 2, 3), dtype=dtype) + b[o]
    if dtype == "c8":
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-3)
        return
    np.testing.assert_array_equal(y, want)
    # <gy, conv(x)> = <gx, x> = <gw, w>, exactly, in arithmetic modulo 2**n
    gx, gw = K.conv_input_grad(gy, w, x.shape, *at), K.conv_weight_grad(gy, x, w.shape, *at)
    inner = (gy * (y - b[:, None, None]).astype(dtype)).sum(dtype=dtype)
    assert inner == (gx * x).sum(dtype=dtype) == (gw * w).sum(dtype=dtype)


@pytest.mark.parametrize("x, w, at", SHAPES)
def test_an_epilogue_has_the_bits_of_the_operations(x, w, at):
    x, w = make(*x), make(*w)
    scale, shift = make(w.shape[0]), make(w.shape[0])
    sums = K.conv(x, w, None, *at)
    residual = make(*sums.shape)
    acc, s, t, r = args(4)
    v = acc * s + t + r
    relu = Epilogue(where(v < 0, 0, v), (Extent.CHANNEL, Extent.CHANNEL, Extent.PIXEL))
    y = K.conv_fused(x, w, relu, (scale, shift, residual), *at)
    scale, shift = (a.reshape(-1, *[1] * (x.ndim - 2)) for a in (scale, shift))
    v = sums * scale + shift + residual
    assert_same_bits(y, np.where(v < 0, np.float32(0), v))
    out = residual.copy()
    plus = Epilogue(arg(0) + arg(1), (Extent.PIXEL,))
    assert K.conv_fused(x, w, plus, (out,), *at, out=out) is out
    assert_same_bits(out, sums + residual)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("x, w, at",
                         [*SHAPES, ((2, 70, 5, 7), (66, 70, 3, 2), ((1, 1), (1, 0), (1, 2), 1))])
@pytest.mark.parametrize("cpu", ["", "avx2"])
def test_weights_in_another_order_give_the_same_bits(x, w, at, cpu, fresh, monkeypatch, threads):
    x, w = make(*x), make(*w)
    wanted = K.conv(x, w, None, *at)
    if cpu and targets.current().name != "avx512":
        pytest.skip("needs a machine with several widths")
    monkeypatch.setenv("WHET_CPU", cpu)
    targets.current.cache_clear()
    K.known.clear()
    monkeypatch.setattr(conv_plan, "turned_rows", lambda r, pixels, lanes: 5)
    try:
        for n in (1, 3):
            threads(n)
            plan, w = K.plan_of(x, w, SUMS, *at, kept=True), np.ascontiguousarray(w)
            if plan is None or plan.pack is None:
                continue
            data, y = np.full(plan.pack.size, np.nan, w.dtype), np.empty(plan.out, x.dtype)
            native.launch(plan.pack.kernel, plan.pack.units, plan.pack.grain, w, data,
                          *plan.pack.numbers)
            native.launch(plan.kernel, plan.units, plan.grain, x, data, y,
                          conv_plan.scratch(plan.scratch), plan.geometry)
            assert_same_bits(y, wanted)
    finally:
        monkeypatch.undo()
        targets.current.cache_clear()


@pytest.mark.parametrize("call, words", [
    (lambda: K.conv(make(1, 3, 4, 4), make(2, 2, 3, 3), None, (1, 1), (0, 0),
                    (1, 1), 1), "conv: input"),
    (lambda: K.conv(make(1, 3, 4, 4), make(2, 3, 3, 3, dtype="f8"), None, (1, 1), (0, 0),
                    (1, 1), 1), "one type"),
    (lambda: K.conv(make(1, 3, 4, 4), make(2, 3, 3, 3), make(3), (1, 1), (0, 0),
                    (1, 1), 1), "epilogue"),
    (lambda: K.conv_input_grad(make(1, 3, 4, 4), make(2, 3, 3, 3), (1, 3, 6, 6), (1, 1), (0, 0),
                               (1, 1), 1), "conv_input_grad"),
    (lambda: K.conv_weight_grad(make(2, 2, 4, 4), make(1, 3, 6, 6), (2, 3, 3, 3), (1, 1), (0, 0),
                                (1, 1), 1), "conv_weight_grad"), ])
def test_operands_that_do_not_fit(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def inner_loop(emit, tile):
    """The products of a micro kernel, as assembly."""
    import llvmlite.binding as llvm
    if targets.current().name != "avx512":
        pytest.skip("looks at x86 assembly")
    m = Module()
    emit(m, "multiply", tile)
    module = llvm.parse_assembly(m.text().replace("define internal", "define"))
    text = compile._machine().emit_assembly(module)
    return text[text.index("vfmadd"):text.rindex("vfmadd")]


def spilled(text):
    """Vectors on the stack. (A stride that is read from there once in a round costs nothing.)"""
    return re.findall(r".*(?:\(%[re][sb]p\).*[xyz]mm|[xyz]mm.*\(%[re][sb]p\)).*", text)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("rows, vectors", [(12, 2), (8, 2), (8, 1), (4, 2), (2, 4)])
def test_the_inner_loop_stays_in_registers(rows, vectors, listed):
    assert not spilled(inner_loop(micro, Tile("float", rows, 16, vectors, listed)))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8, 12])
def test_the_inner_loop_over_planes_stays_in_registers(count, listed):
    if few_channels.registers_for(count) != (count, 4 if count <= 6 else 2):
        pytest.skip("another machine")
    assert (not spilled(
        inner_loop(few_channels.micro, Tile("float", count, 16, 4 if count <= 6 else 2, listed))))
