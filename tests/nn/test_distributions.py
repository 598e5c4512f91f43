"""Distributions: samples have the moments that are stated, densities sum up to one, divergences
are what samples say."""
import math

import numpy as np
import pytest
import whet
from whet import distributions as D
from whet.distributions.sampling import slope_op
from whet.ops.special import _incomplete

A, B, P = whet.tensor([0.5, 1.5, 2.5]), whet.tensor([1.2, 0.7, 2.0]), whet.tensor([0.2, 0.3, 0.5])
MATRIX = whet.eye(3) * 2 + 0.5
CONTINUOUS = [D.Normal(A, B), D.Exponential(A), D.Uniform(A, A + 2), D.Laplace(A, B), D.Gamma(A, B),
              D.Gamma(A * 0.1, B), D.Beta(A, B), D.LogNormal(A, B * 0.3), D.Gumbel(A, B),
              D.HalfNormal(B), D.StudentT(A + 5, B, B), D.Chi2(A), D.Pareto(B, A + 4),
              D.Weibull(A, B), D.InverseGamma(A + 5, B), D.FisherSnedecor(A, B + 8),
              D.ContinuousBernoulli(P), D.Kumaraswamy(A, B),
              D.GeneralizedPareto(A, B, whet.tensor([0.1, 0.2, -0.3])),
              D.MixtureSameFamily(D.Categorical(whet.ones(3)), D.Normal(A, B))]
OTHERS = [D.Bernoulli(P), D.Geometric(P), D.Poisson(A), D.Binomial(5, P),
          D.NegativeBinomial(5.0, P), D.Dirichlet(A), D.OneHotCategorical(P), D.Multinomial(6, P),
          D.MultivariateNormal(A, MATRIX), D.LowRankMultivariateNormal(A, whet.ones(3, 1), B),
          D.Wishart(whet.tensor(5.0), whet.eye(2) + 0.3), D.Independent(D.Normal(A, B), 1)]


@pytest.mark.parametrize("d", CONTINUOUS + OTHERS, ids=lambda d: type(d).__name__)
def test_samples_have_the_moments(d):
    n = 20_000
    whet.manual_seed(1)
    s = d.sample((n,))
    assert s.shape == (n, *d.batch_shape, *d.event_shape)
    assert bool(d.support.check(s).all())
    assert float(((s.mean(0) - d.mean).abs() / (d.variance / n).sqrt()).max()) < 5
    assert float(((s.var(0) - d.variance).abs() / d.variance).max()) < 0.3


@pytest.mark.parametrize("d", CONTINUOUS, ids=lambda d: type(d).__name__)
def test_densities_are_the_slopes_of_distribution_functions(d):
    x = d.sample((5,)).double()
    h = 1e-4 * x.abs()
    try:
        slope = (d.cdf(x + h) - d.cdf(x - h)) / (2 * h)
    except NotImplementedError:
        pytest.skip("it has no distribution function")
    near = (d.log_prob(x).exp() - slope).abs() <= 2e-3 * (1 + slope)
    # rounding of float32 parameters in the tails
    assert float(near.float().mean()) > 0.8


@pytest.mark.parametrize(
    "d", [D.Bernoulli(P), D.Categorical(P), D.OneHotCategorical(P), D.Binomial(4, P)],
    ids=lambda d: type(d).__name__)
def test_probabilities_sum_up(d):
    lp = d.log_prob(d.enumerate_support())
    np.testing.assert_allclose(lp.exp().sum(0).numpy(), np.ones(d.batch_shape), rtol=1e-5)
    np.testing.assert_allclose(-(lp.exp() * lp).sum(0).numpy(), d.entropy().numpy(), rtol=1e-5)


def test_gamma_samples_move_with_their_shape():
    a = np.array([[0.3], [1.0], [5.0], [80.0]])
    x = a * np.array([0.5, 1.0, 1.6])
    h = 1e-5 * a
    by_shape = (_incomplete(a + h, x, False) - _incomplete(a - h, x, False)) / (2 * h)
    density = np.exp((a - 1) * np.log(x) - x - np.vectorize(math.lgamma)(a))
    np.testing.assert_allclose(
        slope_op(whet.tensor(a), whet.tensor(x)).numpy(), -by_shape / density, rtol=1e-4)
    shape = A.clone().requires_grad_()
    D.Gamma(shape, 1.0).rsample((20_000,)).mean(0).sum().backward()
    np.testing.assert_allclose(shape.grad.numpy(), 1.0, atol=0.05)       # the mean is the shape


def test_a_larger_batch_of_the_same():
    for d in (D.Normal(A, B), D.Categorical(P), D.MultivariateNormal(A, MATRIX),
              D.Independent(D.Normal(A, B), 1), D.LogNormal(A, B), D.Binomial(3, P),
              D.TransformedDistribution(D.Normal(A, B), [D.TanhTransform(cache_size=1)])):
        e = d.expand((4, *d.batch_shape))
        x = d.sample()
        assert (e.batch_shape == (4, *d.batch_shape) and e.sample(
            (2,)).shape == (2, 4, *d.batch_shape, *d.event_shape))
        assert bool((e.log_prob(x) == d.log_prob(x)).all())


REGIONS = [
    D.constraints.real, D.constraints.positive,
    D.constraints.interval(1.0, 3.0),
    D.constraints.less_than(2.0), D.constraints.unit_interval, D.constraints.simplex,
    D.constraints.lower_cholesky, D.constraints.positive_definite]


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_transforms_lead_into_regions_and_back(region):
    for t in (D.transform_to(region), D.biject_to(region)):
        y = t(whet.tensor(np.random.default_rng(0).standard_normal((3, 3))))
        assert bool(region.check(y).all())
        np.testing.assert_allclose(t(t.inv(y)).numpy(), y.numpy(), atol=1e-6)


@pytest.mark.parametrize("t",
                         [D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(),
                          D.SoftplusTransform(), D.AffineTransform(1.0, -2.0),
                          D.PowerTransform(3.0),
                          D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.ExpTransform()])],
                         ids=repr)
def test_the_change_of_volume_is_the_derivative(t):
    x = whet.tensor([0.3, 0.7, 1.4], dtype=whet.float64, requires_grad=True)
    y = t(x)
    g, = whet.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(
        t.log_abs_det_jacobian(x, y).detach().numpy(), g.abs().log().numpy(), atol=1e-10)


def test_wrong_parameters_and_values_are_named():
    for call, text in ((lambda: D.Normal(0.0, -1.0), "parameter scale"),
                       (lambda: D.Categorical(whet.tensor([-1.0, 2.0])), "parameter probs"),
                       (lambda: D.Normal(whet.zeros(2), 1.0).log_prob(whet.zeros(3)),
                        "broadcastable"),
                       (lambda: D.Bernoulli(0.5).log_prob(whet.tensor(0.5)), "support"),
                       (lambda: D.Categorical(), "Either `probs` or `logits`"),
                       (lambda: D.Uniform(2.0, 1.0), "parameter low")):
        with pytest.raises(ValueError, match=text):
            call()


def test_samples_in_a_trace_are_eagers():
    def f(x):
        d = D.Independent(D.Normal(x, 1.0), 1)
        return (d.log_prob(d.rsample()),
                D.Gamma(x.exp(), 1.0).rsample(),
                D.Categorical(logits=x).sample((3,)))
    traced, x = whet.jit.trace(f, strict=True), whet.tensor([0.1, 0.2, 0.3])
    for _ in range(3):
        state = whet.get_rng_state()
        eager = f(x)
        whet.set_rng_state(state)
        for a, b in zip(eager, traced(x)):
            assert bool((a == b).all())
