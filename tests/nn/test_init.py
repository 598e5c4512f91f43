"""First values of parameters."""
import math

import numpy as np
import pytest
import whet
from whet import nn
from whet.nn import init


@pytest.fixture
def weight():
    whet.manual_seed(0)
    return whet.empty(200, 300)


def stats(t):
    a = t.numpy()
    return a.mean(), a.std(), a.min(), a.max()


def test_distributions(weight):
    mean, std, low, high = stats(init.uniform_(weight, -2, 3))
    assert abs(mean - 0.5) < 0.02 and low >= -2 and high < 3
    mean, std, *_ = stats(init.normal_(weight, 1, 2))
    assert abs(mean - 1) < 0.05 and abs(std - 2) < 0.05
    mean, std, low, high = stats(init.trunc_normal_(weight, 0, 1, -1, 1.5))
    assert low >= -1 and high <= 1.5 and abs(std - 0.645) < 0.02
    assert ((init.constant_(weight, 3).numpy() == 3).all()
            and (init.ones_(weight).numpy() == 1).all())
    assert not init.zeros_(weight).numpy().any()


def test_scaled_to_the_fans(weight):
    for f, want in ((init.xavier_uniform_, math.sqrt(2 / 500)),
                    (init.xavier_normal_, math.sqrt(2 / 500)),
                    (init.kaiming_uniform_, math.sqrt(2 / 300)),
                    (init.kaiming_normal_, math.sqrt(2 / 300))):
        assert abs(stats(f(weight))[1] / want - 1) < 0.03
    assert (abs(
        stats(init.kaiming_normal_(weight, mode="fan_out", nonlinearity="linear"))[1]
        * math.sqrt(200) - 1) < 0.03)
    assert init.fans(whet.empty(4, 3, 5, 2)) == (30, 40)


def test_structured():
    e = init.eye_(whet.empty(3, 5)).numpy()
    assert (e == np.eye(3, 5)).all()
    x = whet.randn(1, 4, 5)
    w = init.dirac_(whet.empty(4, 2, 3), groups=2)
    assert np.allclose(
        whet.nn.functional.conv1d(x, w, padding=1, groups=2).numpy(), x.numpy(), atol=1e-6)
    for shape in ((4, 7), (7, 4), (5, 2, 3)):
        q = init.orthogonal_(whet.empty(*shape), gain=2).numpy().reshape(shape[0], -1)
        small = min(q.shape)
        assert np.allclose(q @ q.T if q.shape[0] == small else q.T @ q,
                           4 * np.eye(small),
                           atol=1e-4)
    s = init.sparse_(whet.empty(10, 6), 0.35).numpy()
    assert ((s == 0).sum(0) == 4).all()


def test_leaves_no_trace_in_autograd():
    p = whet.nn.Parameter(whet.empty(3, 3))
    assert init.normal_(p) is p and p.requires_grad and p.grad_fn is None
    assert init.xavier_uniform_(p) is p and p.is_leaf


def test_errors_and_gains():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_normal_(whet.empty(3))
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
        init.eye_(whet.empty(3))
    with pytest.raises(ValueError, match="Mode"):
        init.kaiming_normal_(whet.empty(3, 3), mode="sideways")
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        init.calculate_gain("bend")
    assert init.calculate_gain("leaky_relu", 1) == 1 and init.calculate_gain("tanh") == 5 / 3
    with pytest.warns(UserWarning, match="no-op"):
        init.kaiming_uniform_(whet.empty(0, 3))


def test_a_generator_makes_it_repeatable():
    a = init.normal_(whet.empty(4), generator=whet.Generator().manual_seed(3))
    b = init.normal_(whet.empty(4), generator=whet.Generator().manual_seed(3))
    assert (a.numpy() == b.numpy()).all()


def test_layers_of_complex_numbers_begin_with_both_parts_within_the_bound():
    z = whet.empty(400, dtype=whet.complex64).uniform_(-3, 5)
    for part in (z.real, z.imag):
        assert -3 <= part.min() < -2.5 and 4.5 < part.max() < 5
    w = nn.Linear(100, 40, dtype=whet.complex64)
    for part in (w.weight.real, w.weight.imag):
        assert part.abs().max() <= 0.1 and part.min() < -0.09 and part.max() > 0.09
    x = whet.randn(3, 100, dtype=whet.complex64)
    assert whet.allclose(w(x), x @ w.weight.T + w.bias, atol=1e-5)
    w(x).abs().sum().backward()
    assert w.weight.grad.dtype is whet.complex64
    assert nn.Conv1d(4, 4, 3, dtype=whet.complex64).weight.imag.std() > 0
