"""Distances between rows, and sums of weighted differences, against NumPy in double precision."""
import itertools

import numpy as np
import pytest
import whet
from whet.cpu import distances
from whet.nn import functional as F

pytestmark = pytest.mark.skipif(distances.REFERENCE, reason="NumPy alone is wanted")
SIZES = list(itertools.product((1, 7, 8, 9, 65), (1, 2, 16, 17, 33), (1, 3, 16, 33, 257)))


def apart(x, y):
    return x.astype("f8")[..., :, None, :] - y.astype("f8")[..., None, :, :]


def near(got, wanted, dtype):
    bound = 1e-5 if dtype == "f4" else 1e-13
    assert got.dtype == dtype and np.abs(got - wanted).max() <= bound * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_distances_and_weighted_differences(dtype, batch):
    rng = np.random.default_rng(0)
    for m, n, k in SIZES[::1 if not batch else 4]:
        x, y, w = (rng.standard_normal((*batch, *s)).astype(dtype)
                   for s in ((m, k), (n, k), (m, n)))
        d = apart(x, y)
        near(distances.distances(x, y), np.sqrt((d * d).sum(-1)), dtype)
        sums = distances.weighted(w, x, y)
        near(sums, (w.astype("f8")[..., None] * d).sum(-2), dtype)
        turned = np.swapaxes(np.swapaxes(w, -1, -2).copy(), -1, -2)
        assert distances.weighted(turned, x, y).tobytes() == sums.tobytes()


@pytest.mark.parametrize("n", [2, 3, 8, 9, 17, 33, 64, 65, 130])
def test_pairs_are_the_distances_above_the_diagonal(n):
    x = np.random.default_rng(n).standard_normal((n, 19)).astype("f4")
    whole = distances.distances(x, x)
    assert distances.pairs(x).tobytes() == whole[np.triu_indices(n, 1)].tobytes()
    both = distances.pairs(np.stack([x + 1, x]))
    assert both[1].tobytes() == distances.pairs(x).tobytes()
    assert not np.diag(whole).any() and whole.tobytes() == whole.T.copy().tobytes()


def test_rows_that_lie_near_each_other_far_from_zero():
    x = whet.tensor([[1000.0, 1000.0]], requires_grad=True)
    d = whet.cdist(x, whet.tensor([[1000.0, 1000.0 + 2.0 ** -12]]))
    d.backward()
    assert d.item() == 2.0 ** -12 and x.grad.tolist() == [[0.0, -1.0]]


def test_equal_rows_have_no_gradient_and_others_are_differentiated_twice():
    x = whet.randn(4, 3, dtype=whet.float64).requires_grad_()
    whet.cdist(x, x.detach()).diagonal().sum().backward()
    assert not x.grad.numpy().any()
    y = whet.randn(5, 3, dtype=whet.float64).requires_grad_()
    assert whet.autograd.gradgradcheck(lambda a, b: whet.cdist(a, b), (x, y))
    assert whet.autograd.gradgradcheck(F.pdist, (y,))


def test_matrices_in_front_are_broadcast():
    x, y = whet.randn(2, 1, 4, 3), whet.randn(5, 6, 3)
    got = whet.cdist(x, y)
    assert got.shape == (2, 5, 4, 6)
    assert whet.allclose(got, whet.cdist(x, y, p=2.0001), rtol=1e-3)
    assert whet.cdist(whet.zeros(0, 3), y[0]).shape == (0, 6)
    assert not whet.cdist(whet.zeros(2, 0), whet.zeros(3, 0)).any()
