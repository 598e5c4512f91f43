"""Divergences: each registered pair has the value that PyTorch computes and that samples say; the
nearest pair of base classes is found; what has no formula of its own follows from its family."""
import math
import warnings

import numpy as np
import pytest
import whet
from whet import distributions as D
from whet.distributions.exp_family import ExponentialFamily
from whet.distributions.kl import _KL_REGISTRY


def doubles(values):
    return [whet.tensor(v, dtype=whet.float64) for v in values]


# kind -> parameters as p, and as q
PARAMETERS = {
    "Bernoulli": ([0.3], [0.6]), "Beta": ([1.5, 2.5], [2.0, 1.2]),
    "Binomial": ([4.0, 0.3], [4.0, 0.6]),
    "Categorical": ([[0.2, 0.3, 0.5]], [[0.5, 0.3, 0.2]]),
    "Cauchy": ([0.5, 1.5], [0.0, 2.0]), "ContinuousBernoulli": ([0.3], [0.6]),
    "Dirichlet": ([[0.5, 1.5, 2.5]], [[1.0, 2.0, 0.7]]), "Exponential": ([1.5], [0.7]),
    "Gamma": ([2.5, 1.5], [1.2, 0.8]), "Geometric": ([0.3], [0.6]),
    "Gumbel": ([0.5, 1.5], [0.0, 2.0]), "HalfNormal": ([1.5], [2.0]),
    "Laplace": ([0.5, 1.5], [0.0, 2.0]),
    "LowRankMultivariateNormal": ([[0.5, 1.0], [[1.0], [0.5]], [1.0, 2.0]],
                                  [[0.0, 0.0], [[0.3], [1.0]], [2.0, 1.0]]),
    "MultivariateNormal": ([[0.5, 1.0], [[2.0, 0.5], [0.5, 1.0]]],
                           [[0.0, 0.0], [[1.0, -0.3], [-0.3, 2.0]]]),
    "Normal": ([0.5, 1.5], [0.0, 2.0]),
    "OneHotCategorical": ([[0.2, 0.3, 0.5]], [[0.5, 0.3, 0.2]]),
    "Pareto": ([1.5, 3.5], [0.1, 1.2]), "Poisson": ([1.5], [0.7]),
    "Uniform": ([0.2, 0.7], [0.0, 1.0])}
# PyTorch's values, but for ContinuousBernoulli and Uniform, where it says inf
NOWHERE = "Beta inf ContinuousBernoulli inf Exponential inf Gamma inf Pareto inf Uniform inf "
VALUES = {
    "Bernoulli": "Bernoulli 0.1837869 Poisson 0.1961382",
    "Beta": "Beta 0.5480444 ContinuousBernoulli 0.2461273 Exponential 0.8077784 Gamma 0.9149272 "
            "Normal 1.824127 Pareto inf Uniform 0.1886034",
    "Binomial": "Binomial 0.7351476",
    "Categorical": "Categorical 0.2748872",
    "Cauchy": "Cauchy 0.04082199",
    "ContinuousBernoulli": "ContinuousBernoulli 0.06451926 Exponential 0.6872169 Normal 1.674661 "
                           "Pareto inf Uniform 0.0293862",
    "Dirichlet": "Dirichlet 1.668361",
    "Exponential": "Beta inf ContinuousBernoulli inf Exponential 0.2288067 Gamma 0.3177328 "
                   "Gumbel 1.181946 Normal 1.128662 Pareto inf Uniform inf",
    "Gamma": "Beta inf ContinuousBernoulli inf Exponential 0.1988588 Gamma 0.1317104 "
             "Gumbel 0.689137 Normal 0.773714 Pareto inf Uniform inf",
    "Geometric": "Geometric 0.612623",
    "Gumbel": NOWHERE + "Gumbel 0.1091448 Normal 0.3252269",
    "HalfNormal": "HalfNormal 0.06893207",
    "Laplace": NOWHERE + "Laplace 0.07508056 Normal 0.1072234",
    "LowRankMultivariateNormal": "LowRankMultivariateNormal 0.2879646 MultivariateNormal 0.785956",
    "MultivariateNormal": "LowRankMultivariateNormal 0.4122397 MultivariateNormal 0.9023825",
    "Normal": NOWHERE + "Gumbel 0.1504869 Laplace 0.1932449 Normal 0.1001821",
    "OneHotCategorical": "OneHotCategorical 0.2748872",
    "Pareto": "Beta inf ContinuousBernoulli inf Exponential 1.388259 Gamma 1.285746 "
              "Normal 1.829919 Pareto 3.662959 Uniform inf",
    "Poisson": "Bernoulli inf Binomial inf Poisson 0.3432101",
    "Uniform": "Beta 0.7048672 ContinuousBernoulli 0.7202612 Exponential 1.364822 Gamma 1.406659 "
               "Gumbel 2.411892 Normal 2.33315 Pareto 1.391674 Uniform 0.6931472"}
PAIRS = [(p, q, float(value)) for p, text in VALUES.items()
         for q, value in zip(text.split()[::2], text.split()[1::2])]
WHOLE_FAMILIES = {"ExponentialFamily", "TransformedDistribution", "Independent"}


def made(p, q):
    return (getattr(D, p)(*doubles(PARAMETERS[p][0])), getattr(D, q)(*doubles(PARAMETERS[q][1])))


def test_every_pair_of_pytorch_is_registered():
    pairs = {(p, q) for p, q, _ in PAIRS} | {(name, name) for name in WHOLE_FAMILIES}
    # tests elsewhere register classes of their own
    known = {(p.__name__, q.__name__) for p, q in _KL_REGISTRY
             if p.__module__.startswith("whet.") and q.__module__.startswith("whet.")}
    assert known == pairs and len(pairs) == 87


@pytest.mark.parametrize("p, q, value", PAIRS, ids=lambda x: str(x))
def test_a_divergence_has_its_value(p, q, value):
    assert float(D.kl_divergence(*made(p, q))) == pytest.approx(value, rel=1e-5)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("p, q", [(p, q) for p, q, value in PAIRS if value < math.inf])
def test_a_divergence_is_the_mean_over_samples(p, q):
    whet.manual_seed(2)
    p, q = made(p, q)
    x = p.sample((20_000,))
    gaps = p.log_prob(x) - q.log_prob(x)
    error = float(gaps.std(0)) / math.sqrt(20_000)
    assert abs(float(gaps.mean(0) - D.kl_divergence(p, q))) <= 5 * error + 1e-9


@pytest.mark.drawn(2)
@pytest.mark.parametrize("p, q", [(p, q) for p, q, value in PAIRS if value < math.inf])
def test_a_divergence_has_the_gradient_of_its_parameters(p, q):
    if "MultivariateNormal" in (p, q) or "Binomial" in (p, q):
        pytest.skip("not every change of its parameters gives parameters")
    if q == "Uniform" != p:
        pytest.skip("a step to a smaller interval is one to infinity")
    leaves = [v.requires_grad_() for v in doubles(PARAMETERS[p][0] + PARAMETERS[q][1])]
    n = len(PARAMETERS[p][0])

    def f(*leaves):
        return D.kl_divergence(getattr(D, p)(*leaves[:n], validate_args=False),
                               getattr(D, q)(*leaves[n:], validate_args=False))
    assert whet.autograd.gradcheck(f, leaves)


def test_an_infinite_divergence_is_one_of_each_pair_in_the_batch():
    p, q = D.Uniform(whet.tensor([[0.2], [-1.0]]), 2.0), D.Exponential(whet.ones(3))
    assert whet.isinf(D.kl_divergence(p, q)).tolist() == [[False] * 3, [True] * 3]
    nowhere = D.kl_divergence(D.Normal(whet.zeros(2, 1), 1.0), D.Gamma(whet.ones(3), 1.0))
    assert nowhere.shape == (2, 3)


def test_binomials_of_more_draws_are_infinitely_far():
    kl = D.kl_divergence(D.Binomial(whet.tensor([3.0, 5.0]), 0.5), D.Binomial(3.0, 0.5))
    assert kl.tolist() == [0, math.inf]
    with pytest.raises(NotImplementedError, match="total_count"):
        D.kl_divergence(D.Binomial(2.0, 0.5), D.Binomial(3.0, 0.5))


# ---- which function ------------------------------------------------------------------------------
def test_subclasses_take_the_nearest_pair():
    class Near(D.Normal):
        pass
    assert float(D.kl_divergence(Near(0.0, 1.0), D.Normal(1.0, 1.0))) == 0.5
    assert float(D.kl_divergence(D.Chi2(3.0), D.Gamma(1.5, 0.5))) == 0
    D.register_kl(Near, D.Normal)(lambda p, q: "nearest")
    assert D.kl_divergence(Near(0.0, 1.0), Near(0.0, 1.0)) == "nearest"
    assert float(D.kl_divergence(D.LogNormal(0.0, 1.0), D.LogNormal(1.0, 1.0))) == 0.5


def test_a_tie_is_broken_with_a_warning():
    left, right = type("Left", (D.Normal,), {}), type("Right", (D.Normal,), {})
    D.register_kl(left, D.Normal)(lambda p, q: "left")
    D.register_kl(D.Normal, right)(lambda p, q: "right")
    with pytest.warns(RuntimeWarning, match=r"Please register_kl\(Left, Right\)"):
        assert D.kl_divergence(left(0.0, 1.0), right(0.0, 1.0)) == "left"
    D.register_kl(left, right)(lambda p, q: "both")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert D.kl_divergence(left(0.0, 1.0), right(0.0, 1.0)) == "both"


def test_only_classes_are_registered():
    with pytest.raises(TypeError, match="type_q"):
        D.register_kl(D.Normal, 3)
    library = type("Library", (), {})              # whose distributions have it as a base
    point = type("Point", (library, D.Normal), {})
    D.register_kl(point, library)(lambda p, q: "by the library's class")
    assert D.kl_divergence(point(0.0, 1.0), point(0.0, 1.0)) == "by the library's class"


def test_a_traced_function_sees_a_divergence_that_is_registered_later():
    own = type("Own", (D.Normal,), {})
    traced = whet.jit.trace(lambda x: D.kl_divergence(own(x, 1.0), own(0.0, 1.0)))
    x = whet.tensor([1.0])
    for _ in range(3):
        assert traced(x).tolist() == [0.5]
    D.register_kl(own, own)(lambda p, q: p.loc * 7)
    assert traced(x).tolist() == [7.0]


# ---- families ------------------------------------------------------------------------------------
FAMILY = ["Bernoulli", "Beta", "ContinuousBernoulli", "Dirichlet", "Exponential", "Gamma", "Normal",
          "Poisson"]


@pytest.mark.parametrize("name", FAMILY)
def test_entropies_and_divergences_follow_from_the_normaliser(name):
    p, q = made(name, name)
    by_family = _KL_REGISTRY[ExponentialFamily, ExponentialFamily]
    np.testing.assert_allclose(by_family(p, q).numpy(), D.kl_divergence(p, q).numpy(), rtol=1e-9)
    if name == "Poisson":                     # the mean of the logarithm of factorials has no form
        with pytest.raises(NotImplementedError):
            ExponentialFamily.entropy(p)
    else:
        np.testing.assert_allclose(ExponentialFamily.entropy(p).numpy(), p.entropy().numpy(),
                                   rtol=1e-9)


def test_the_divergence_of_wishart_matrices_is_the_mean_over_samples():
    whet.manual_seed(0)
    df = whet.tensor([5.0, 6.0]).double()
    p, q = D.Wishart(df, whet.eye(2).double() + 0.3), D.Wishart(df + 1, whet.eye(2).double() * 2)
    x = p.sample((20_000,))
    gaps = p.log_prob(x) - q.log_prob(x)
    error = gaps.std(0) / math.sqrt(20_000)
    assert bool(((gaps.mean(0) - D.kl_divergence(p, q)).abs() <= 5 * error).all())


def test_the_entropy_by_the_normaliser_has_gradients():
    rate = whet.tensor([0.5, 2.0], requires_grad=True)
    g, = whet.autograd.grad(ExponentialFamily.entropy(D.Gamma(rate * 2, rate)).sum(), rate)
    h, = whet.autograd.grad(D.Gamma(rate * 2, rate).entropy().sum(), rate)
    np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-5)
    assert not ExponentialFamily.entropy(D.Gamma(1.0, 1.0)).requires_grad


def test_different_families_have_no_common_form():
    with pytest.raises(NotImplementedError, match="Bregman"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))


def test_divergences_of_independent_numbers_add_up():
    p, q = D.Normal(whet.zeros(2, 3), 1.0), D.Normal(whet.ones(3), 1.0)
    kl = D.kl_divergence(D.Independent(p, 1), D.Independent(q.expand((2, 3)), 1))
    assert kl.tolist() == [1.5, 1.5]
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.Independent(p, 1), D.Independent(p, 2))
