"""Convolutions, pools and blocks on simulated devices: the CPU's bits."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import tf32
from whet.cuda import convolutions
from whet.passes.lower_triton import contract, windows

from tests.cuda import compiles
from tests.cuda.planted_faults import Fault
from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]


def both(call, *tensors):
    """Results and gradients of a call on the CPU and on a device."""
    def run(*xs):
        xs = [x.detach().requires_grad_() for x in xs]
        y = call(*xs)
        (y * y).sum().backward()
        return [y, *[x.grad for x in xs]]
    for got, want in zip(run(*[t.cuda() for t in tensors]), run(*tensors), strict=True):
        same(got, want)


CONVOLUTIONS = {
    "strides and padding": ((2, 3, 9, 8), (4, 3, 3, 2), dict(padding=(1, 0), stride=(2, 1))),
    "a channel a group": ((2, 4, 9), (4, 1, 3), dict(padding=2, groups=4, dilation=2)),
    "three dimensions": ((1, 2, 3, 4, 5), (3, 2, 2, 1, 3), dict(stride=(1, 2, 1))),
    "more than a block of channels": ((1, 300, 2, 2), (3, 300, 1, 1), {}),
    "strides beyond the taps": ((1, 2, 3, 3), (2, 2, 1, 1), dict(stride=3))}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_have_the_cpus_bits(gpus, name):
    x, w, at = CONVOLUTIONS[name]
    conv = getattr(F, f"conv{len(x) - 2}d")
    both(lambda x, w, b: conv(x, w, b, **at), whet.randn(*x), whet.randn(*w), whet.randn(w[0]))


@pytest.mark.parametrize("dtype", (whet.float16, whet.float64))
def test_convolutions_of_other_types(gpus, dtype):
    both(lambda x, w: F.conv2d(x, w, padding=1), whet.randn(1, 2, 4, 4).to(dtype),
         whet.randn(3, 2, 3, 3).to(dtype))


# channels that lie side by side, groups of them; strides that divide the image and that do not;
# planes of 49 pixels
ON_TENSOR_CORES = {
    "padding": ((2, 16, 6, 5), (8, 16, 3, 3), dict(padding=1)),
    "groups": ((2, 32, 5, 6), (8, 16, 2, 3), dict(groups=2, dilation=(1, 2))),
    "phases": ((2, 8, 6, 8), (8, 8, 3, 3), dict(stride=2, padding=1)),
    "phases without taps": ((1, 8, 6, 9), (16, 8, 1, 1), dict(stride=(2, 3))),
    "an image that phases do not divide": ((2, 8, 7, 8), (8, 8, 3, 3), dict(stride=2, padding=1)),
    "odd planes": ((2, 8, 7, 7), (8, 8, 3, 3), dict(padding=1)),
    "three dimensions": ((2, 8, 3, 4, 4), (8, 8, 1, 3, 2), dict(stride=(1, 2, 2)))}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("dtype", (whet.float16, whet.float32))
@pytest.mark.parametrize("name", ON_TENSOR_CORES)
def test_convolutions_on_tensor_cores(gpus, monkeypatch, name, dtype):
    monkeypatch.setattr(tf32, "allowed", tf32.CONVOLUTIONS)
    x, w, at = ON_TENSOR_CORES[name]
    conv = getattr(F, f"conv{len(x) - 2}d")
    check_closely(lambda x, w, b: conv(x, w, b, **at),
                  *(t.to(dtype) for t in (whet.randn(*x), whet.randn(*w), whet.randn(w[0]))))


def check_closely(call, *tensors):
    """Results and gradients on a device, against those of float64 on the CPU."""
    def run(*xs):
        xs = [x.detach().requires_grad_() for x in xs]
        y = call(*xs)
        y.sum().backward()
        return [y, *[x.grad for x in xs]]
    want = run(*[t.double() for t in tensors])
    for got, exact in zip(run(*[t.cuda() for t in tensors]), want, strict=True):
        assert got.dtype is tensors[0].dtype
        error = (got.cpu().double() - exact).norm()
        assert error <= 2e-3 * exact.norm()


PLACES = np.arange(48).reshape(3, 16)


@pytest.mark.parametrize("of_one,run,whole", (
    (PLACES * 3, 1, 1), (PLACES * 12, 1, 4), (PLACES[[2, 0]], 16, 16),
    (np.concatenate([np.arange(8), np.arange(24, 32)]), 8, 8),
    (np.concatenate([np.arange(4, 8), np.arange(12, 16)]), 4, 4), (np.arange(3, 19), 16, 1),
    (np.asarray([0, 1, 6, 7]), 2, 2)), ids=str)
def test_what_places_are_like(of_one, run, whole):
    of_one = of_one.reshape(-1)
    assert convolutions.Places(of_one).runs() == (run, whole)
    assert convolutions.Places(of_one, 3, 64).runs() == (run, whole)
    assert convolutions.Places(of_one, 3, 63).runs() == (run, 1)


@pytest.mark.parametrize("images,step,of_one,stride", (
    (1, 0, [0, 2, 4], 2), (3, 6, [0, 2, 4], 2), (3, 7, [0, 2, 4], None), (1, 0, [1, 2], None),
    (4, 5, [0], 5), (1, 0, [0], 0), (2, 6, [0, 2, 3], None)))
def test_places_at_equal_distances(gpus, images, step, of_one, stride):
    places = convolutions.Places(np.asarray(of_one), images, step)
    assert places.stride() == stride
    on_device = places.on_device(0, np.int32).to_host()
    assert on_device.tolist() == [i * step + p for i in range(images) for p in of_one]


def test_winograds_method_is_taken_where_the_cpu_takes_it(gpus):
    x, w, b = whet.randn(1, 16, 9, 7), whet.randn(16, 16, 3, 3), whet.randn(16)
    same(F.conv2d(x.cuda(), w.cuda(), b.cuda(), padding=1), F.conv2d(x, w, b, padding=1))
    assert any("cast_cast_add_mul_cast_mul" in s.name for _, s, _ in gpus.kernels)


# the first has tiles for several blocks of a product; the others are as small as pays
@pytest.mark.parametrize("taps,size,at", (
    ((1, 3, 3), (5, 7, 8), dict(padding=(0, 1, 1))), ((3, 3, 3), (3, 5, 6), dict(padding=1)),
    ((3, 3, 3), (3, 5, 8), dict(padding=(1, 1, 0), stride=(2, 1, 1))),
    ((2, 3, 3), (3, 5, 6), dict(padding=(2, 1, 1), dilation=(2, 1, 1), groups=2))))
def test_winograds_method_in_volumes(gpus, taps, size, at):
    groups = at.get("groups", 1)
    both(lambda x, w, b: F.conv3d(x, w, b, **at), whet.randn(2, 16 * groups, *size),
         whet.randn(16 * groups, 16, *taps), whet.randn(16 * groups))
    assert any("cast_cast_add_mul_cast_mul" in s.name for _, s, _ in gpus.kernels)


def test_transposed_convolutions(gpus):
    both(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
         whet.randn(1, 3, 4, 3), whet.randn(3, 2, 3, 3))


@pytest.mark.parametrize("dtype", (whet.float32, whet.float64, whet.bfloat16))
def test_pools_have_the_cpus_bits(gpus, dtype):
    x = whet.randn(2, 3, 7, 6).to(dtype)
    x[0, 0, 2, 3] = float("nan")
    x[1, 1] = 1.0
    both(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    both(lambda x: F.max_pool2d(x, (2, 3), 1, dilation=2, ceil_mode=True), x)
    both(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), x)
    both(lambda x: F.adaptive_avg_pool2d(x, (3, 4)), x)
    both(lambda x: F.adaptive_max_pool2d(x, 2), x)
    both(lambda x: F.avg_pool1d(x[0], 2), x)
    same(F.max_pool2d(x.cuda(), 2, return_indices=True)[1],
         F.max_pool2d(x, 2, return_indices=True)[1])


def test_blocks_and_interpolation(gpus):
    both(lambda x: F.unfold(x, 2, padding=1, stride=2), whet.randn(1, 2, 4, 5))
    both(lambda x: F.fold(x, (4, 5), 2, padding=1, stride=2), whet.randn(1, 8, 9))
    for mode in ("nearest", "bilinear"):
        both(lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
             whet.randn(1, 2, 3, 4))
    both(lambda x: F.pad(x, (1, 2, 0, 1)), whet.randn(1, 2, 3, 4))


FAULTS = {
    "a tap outside of the image counts":
        Fault(windows, "lower_pool", {"(tap_x < end_x)": "(tap_x >= 0)"}),
    "a window that took another place gives its gradient":
        Fault(windows, "lower_pool", {"chosen ==": "chosen <="}),
    "sums in another order":
        Fault(contract, "lower", {"range(0, k, 256)": "range(0, k, 128)", "k0 + 256": "k0 + 128"}),
    "a wrong stride": Fault(contract, "lower", {"i * c_m": "i * c_m + (i == 1)"})}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(gpus, monkeypatch, fault):
    FAULTS[fault].plant(monkeypatch)
    x, w = whet.randn(1, 300, 3, 3), whet.randn(2, 300, 1, 1)
    with pytest.raises((AssertionError, whet.cuda.CudaError)):
        if FAULTS[fault].room is windows:
            both(lambda x: F.max_pool2d(x, 2, 1, 1), x)
        else:
            same(F.conv2d(x.cuda(), w.cuda()), F.conv2d(x, w))


def test_these_kernels_compile_for_gpus(gpus):
    """Two of them here; `python -m tests.cuda.compiles` has all, for four targets."""
    x, w = whet.randn(1, 2, 4, 4).cuda(), whet.randn(2, 2, 3, 3).cuda()
    F.max_pool2d(F.conv2d(x, w, padding=1), 2, return_indices=True)
    names = "matmul_kernel", "pool_max_index_kernel"
    sources = [s for _, s, _ in gpus.kernels if s.name in names]
    assert len(sources) == 2
    compiles.check(sources, (90,))
