"""Fractional max pools, and what fold and unfold refuse."""
import pytest
import whet
import whet.nn.functional as F
from whet.autograd import gradcheck

SAMPLES = whet.tensor([[[0.1, 0.2], [0.5, 0.6], [0.9, 0.95]],
                       [[0.0, 0.0], [0.3, 0.7], [0.8, 0.01]]])


def test_windows_begin_where_pytorchs_do():
    x = whet.arange(2 * 3 * 7 * 7.0).reshape(2, 3, 7, 7)
    best, places = F.fractional_max_pool2d(x, 2, output_size=3, return_indices=True,
                                           _random_samples=SAMPLES)
    assert places[1].tolist() == [[[8, 10, 13], [22, 24, 27],
                                   [43, 45, 48]], [[8, 11, 13], [29, 32, 34], [43, 46, 48]],
                                  [[8, 10, 13], [22, 24, 27], [43, 45, 48]]]
    assert whet.equal(best, x.flatten(2).gather(2, places.flatten(2)).reshape(best.shape))
    x = whet.arange(2 * 125.0).reshape(2, 5, 5, 5)
    samples = whet.tensor([[[0.7009755969, 0.1446591019, 0.0871934890],
                            [0.9630431532, 0.6103785037, 0.6734845638]]])
    places = F.fractional_max_pool3d(x, 2, output_size=(2, 3, 3), return_indices=True,
                                     _random_samples=samples)[1]
    assert places[1, 0].tolist() == [[31, 32, 34], [41, 42, 44], [46, 47, 49]]


@pytest.mark.parametrize("n", [2, 3])
def test_the_pool_and_its_layer(n):
    whet.manual_seed(0)
    x = whet.randn(2, 3, *[6] * n, dtype=whet.float64, requires_grad=True)
    samples = whet.rand(2, 3, n, dtype=whet.float64)
    pool = getattr(F, f"fractional_max_pool{n}d")
    f = lambda x: pool(x, 2, output_ratio=0.5, _random_samples=samples)  # noqa: E731
    assert f(x).shape == (2, 3, *[3] * n)
    assert gradcheck(f, x)
    one = lambda x, u: pool(x, 2, output_size=3, _random_samples=u[None])  # noqa: E731
    assert whet.equal(
        whet.vmap(one)(x, samples), pool(x, 2, output_size=3, _random_samples=samples))
    traced = whet.jit.trace(f)
    for _ in range(3):
        assert whet.equal(traced(x), f(x))
    layer = getattr(whet.nn, f"FractionalMaxPool{n}d")(2, output_size=4, return_indices=True,
                                                       _random_samples=samples)
    best, places = layer(x)
    assert best.shape == places.shape == (2, 3, *[4] * n)
    assert (pool(x[0], 2, output_size=1).shape == (3, *[1] * n)
            and pool(x, 2, output_size=0).shape == (2, 3, *[0] * n))


@pytest.mark.parametrize(
    "given, error, text",
    [(dict(kernel_size=2), ValueError, "either"),
     (dict(kernel_size=2, output_size=6), RuntimeError, "too large"),
     (dict(kernel_size=0, output_size=2), RuntimeError, "kernel_size"),
     (dict(kernel_size=2, output_size=-1), RuntimeError, "output_size"),
     (dict(kernel_size=2, output_ratio=(0.5, 0.5, 0.5)), ValueError, "output_ratio"),
     (dict(kernel_size=2, output_size=2, _random_samples=SAMPLES[:1]), RuntimeError, "sizes"),
     (dict(kernel_size=2, output_size=2, _random_samples=SAMPLES.double()), RuntimeError, "dtype")])
def test_bad_fractional_pools(given, error, text):
    with pytest.raises(error, match=text):
        F.fractional_max_pool2d(whet.ones(2, 3, 6, 6), **given)


@pytest.mark.parametrize("given",
                         [dict(kernel_size=0), dict(kernel_size=2, stride=0),
                          dict(kernel_size=2, dilation=0),
                                   dict(kernel_size=2, padding=-1), dict(kernel_size=5)])
def test_blocks_that_there_are_none_of(given):
    with pytest.raises(RuntimeError, match="fold"):
        F.fold(whet.ones(1, 4, 4), output_size=3, **given)
    with pytest.raises(RuntimeError, match="unfold|input with spatial size"):
        F.unfold(whet.ones(1, 1, 3, 3), **given)
    with pytest.raises(RuntimeError, match="fold"):
        F.fold(whet.ones(1, 4, 4), output_size=(-3, -3), kernel_size=1)
