"""Sampling images: against a loop over positions, with gradients of two orders, in every form."""
import itertools

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.autograd import grad, gradcheck, gradgradcheck
from whet.ops import resize

MODES = [("bilinear", p, a) for p in ("zeros", "border", "reflection") for a in (False, True)]


def operands(shape, count, dtype=whet.float64):
    whet.manual_seed(0)
    grid = whet.rand(shape[0], *[1] * (len(shape) - 3), count, len(shape) - 2, dtype=dtype)
    return whet.randn(*shape, dtype=dtype), grid * 2.6 - 1.3


def slowly(image, grid, align_corners):
    """Linear interpolation with zeros around, position by position."""
    n, sizes = image.ndim - 2, image.shape[2:]
    out = np.zeros((*image.shape[:2], *grid.shape[1:-1]))
    for at in np.ndindex(grid.shape[0], *grid.shape[1:-1]):
        x = [grid[at][n - 1 - d] for d in range(n)]
        x = [(v + 1) / 2 * (s - 1) if align_corners else ((v + 1) * s - 1) / 2
             for v, s in zip(x, sizes)]
        for corner in itertools.product((0, 1), repeat=n):
            i = [int(np.floor(v)) + c for v, c in zip(x, corner)]
            if all(0 <= k < s for k, s in zip(i, sizes)):
                weight = np.prod([1 - abs(v - k) for v, k in zip(x, i)])
                out[(at[0], slice(None), *at[1:])] += weight * image[(at[0], slice(None), *i)]
    return out


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 2, 3, 4, 5), (2, 1, 1, 1)])
@pytest.mark.parametrize("align_corners", [False, True])
def test_samples_are_those_of_a_loop(shape, align_corners):
    image, grid = operands(shape, 40)
    wanted = slowly(image.numpy(), grid.numpy(), align_corners)
    found = F.grid_sample(image, grid, align_corners=align_corners)
    assert np.allclose(found.numpy(), wanted)
    halves = F.grid_sample(image.half(), grid.half(), align_corners=align_corners)
    assert halves.dtype is whet.float16 and np.abs(halves.float().numpy() - wanted).max() < 0.1


@pytest.mark.parametrize("mode, padding, align", [*MODES, ("bicubic", "zeros", False)])
def test_gradients_of_two_orders(mode, padding, align):
    image, grid = (x.requires_grad_() for x in operands((1, 2, 3, 4), 5))

    def f(image, grid):
        return F.grid_sample(image, grid, mode, padding, align)
    assert gradcheck(f, (image, grid)) and gradgradcheck(f, (image, grid))


def test_positions_that_are_no_numbers_have_no_taps():
    image, grid = operands((1, 1, 3, 3), 2)
    grid[..., 0, 0] = float("nan")
    assert F.grid_sample(image, grid)[0, 0, 0, 0] == 0


def test_batches_and_tangents():
    image, grid = operands((2, 3, 5, 7), 9)
    many = whet.stack([grid, grid * 0.5, -grid])
    found = whet.vmap(F.grid_sample, (None, 0))(image, many)
    assert whet.equal(found, whet.stack([F.grid_sample(image, g) for g in many]))
    step = whet.randn(*grid.shape, dtype=grid.dtype)
    _, slope = whet.func.jvp(lambda g: F.grid_sample(image, g), (grid,), (step,))
    eps = 1e-7
    near = (F.grid_sample(image, grid + eps * step) - F.grid_sample(image, grid - eps * step))
    assert whet.allclose(slope, near / (2 * eps), atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_a_replay_gives_the_bits_of_eager(mode):
    traced = whet.jit.trace(lambda x, g: F.grid_sample(x, g, mode))
    for k in range(5):
        image, grid = operands((2, 3, 5, 7), 40, whet.float32)
        assert whet.equal(traced(image * k, grid), F.grid_sample(image * k, grid, mode))


def test_places_are_ordered_by_whole_keys_where_their_first_bits_are_equal():
    from whet.ops.random import order_op
    random = np.random.default_rng(5)
    for n in (2, 63, 64, 1000, 5000):
        keys = random.integers(0, 1 << 64, n, dtype=np.uint64)
        keys[n // 3:n // 3 + 3] = keys[0] ^ np.arange(3, dtype=np.uint64)[::-1][:n - n // 3]
        for k in (keys, keys // np.uint64(1 << 50), np.zeros(n, np.uint64)):
            assert (order_op(whet.from_numpy(k)).numpy() == np.argsort(k, kind="stable")).all()


def test_grids_and_sizes_that_mean_nothing_are_refused():
    volume, places = whet.randn(1, 1, 3, 3, 3), whet.zeros(1, 1, 1, 1, 3)
    with pytest.raises(RuntimeError, match="bicubic interpolation only supports 4D input"):
        F.grid_sample(volume, places, mode="bicubic", align_corners=False)
    with pytest.raises(ValueError, match="explicit size"):
        F.interpolate(volume, size=2, recompute_scale_factor=True)
    for theta, size, error in ((whet.ones(1, 2, 3), (1, 1, 0, 4), ValueError),
                               (whet.ones(1, 2, 4), (1, 1, 3, 4), ValueError),
                               (whet.ones(1, 2, 3).long(), (1, 1, 3, 4), ValueError),
                               (whet.ones(1, 2, 3), (1, 1, 3), NotImplementedError)):
        with pytest.raises(error):
            F.affine_grid(theta, size, align_corners=False)


def resized(x, **how):
    """A resized image, its gradient, and the gradient of that."""
    x = x.clone().requires_grad_()
    y = F.interpolate(x, **how)
    w = (y.detach() * 3 + 1).requires_grad_()
    g, = grad(y, x, w, create_graph=True)
    return y, g, *grad(g, w, g.detach() ** 2)


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64])
@pytest.mark.parametrize("shape, modes", [
    ((2, 3, 9), ("nearest", "linear")), ((2, 1, 8, 21), ("nearest-exact", "bilinear", "bicubic")),
    ((1, 1, 2, 2), ("nearest", "bicubic")), ((1, 2, 3, 4, 5), ("nearest", "trilinear"))])
def test_taps_that_are_added_at_once_have_the_bits_of_taps_one_by_one(
        dtype, shape, modes, monkeypatch):
    x = whet.randn(*shape, dtype=dtype)
    x.view(-1)[0] = -0.0
    n = len(shape) - 2
    calls = [dict(mode=mode, **size) for mode in modes for size in (
        dict(scale_factor=2), dict(scale_factor=0.6), dict(size=(1,) * n), dict(size=(40,) * n))]
    calls += [dict(mode="bicubic", size=(5, 5), antialias=True)] * ("bicubic" in modes)
    at_once = [resized(x, **call) for call in calls]
    monkeypatch.setattr(resize, "_at_once", lambda x, map_: False)
    for call, found in zip(calls, at_once):
        for a, b in zip(found, resized(x, **call)):
            assert a.stride() == b.stride()
            assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes(), call


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("second", [False, True])
def test_gradients_of_a_resized_image_that_is_used_elsewhere_are_the_same_traced(mode, second):
    def gradients(x, w):
        y = (F.interpolate(x, (17, 13), mode=mode) * w).sum() + (x * 1.3).sum() + x.sin().sum()
        if not second:
            return grad(y, x)
        g, = grad(y, x, create_graph=True)
        return grad((g ** 2).sum() + w.cos().sum(), (x, w))
    traced = whet.jit.trace(gradients)
    for _ in range(4):
        x, w = (whet.randn(2, 3, *n, requires_grad=True) for n in ((8, 9), (17, 13)))
        for a, b in zip(gradients(x, w), traced(x, w)):
            assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes()


def test_the_size_of_an_image_may_be_a_tensor_of_one_number():
    x = whet.arange(16.).reshape(1, 1, 4, 4)
    wanted = F.interpolate(x, size=(3, 3))
    assert whet.equal(F.interpolate(x, size=whet.tensor(3)), wanted)
    resize = whet.jit.trace(lambda x, n: F.interpolate(x, size=n))
    for n in (3, 3, 2, 3, 5, 3):
        assert whet.equal(resize(x, whet.tensor(n)), F.interpolate(x, size=n))
