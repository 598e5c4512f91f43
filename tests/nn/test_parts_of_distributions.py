"""What libraries that are written for PyTorch take of distributions: subclasses that grow,
transforms that are modules, the places where classes lie, the factors of a covariance."""
import copy
import importlib
import inspect
import math

import numpy as np
import pytest
import whet
from whet import distributions as D
from whet import nn

# ---- subclasses ----------------------------------------------------------------------------------
GROWING = [
    D.Normal(whet.zeros(2), 1.0), D.Beta(whet.ones(2), 2.0), D.Binomial(3, whet.ones(2) / 2),
    D.Categorical(whet.ones(2, 3)), D.Chi2(whet.ones(2)), D.Dirichlet(whet.ones(2, 3)),
    D.Gumbel(whet.zeros(2), 1.0), D.HalfNormal(whet.ones(2)), D.InverseGamma(whet.ones(2), 1.0),
    D.Kumaraswamy(whet.ones(2), 1.0), D.LKJCholesky(3, whet.ones(2)),
    D.LogisticNormal(whet.zeros(2, 3), 1.0),
    D.LowRankMultivariateNormal(whet.zeros(2, 3), whet.ones(3, 1), whet.ones(3)),
    D.MultivariateNormal(whet.zeros(2, 3), whet.eye(3)), D.Multinomial(4, whet.ones(2, 3)),
    D.OneHotCategorical(whet.ones(2, 3)), D.Pareto(whet.ones(2), 1.0),
    D.Uniform(whet.zeros(2), 1.0),
    D.RelaxedBernoulli(whet.tensor(0.5), whet.ones(2) / 2),
    D.RelaxedOneHotCategorical(whet.tensor(0.5), whet.ones(2, 3)), D.StudentT(whet.ones(2)),
    D.Wishart(whet.ones(2) * 5, whet.eye(3)), D.ContinuousBernoulli(whet.ones(2) / 3),
    D.GeneralizedPareto(whet.zeros(2), 1.0, 0.1), D.Independent(D.Normal(whet.zeros(2, 3), 1.0), 1),
    D.MixtureSameFamily(D.Categorical(whet.ones(2, 3)), D.Normal(whet.zeros(2, 3), 1.0)),
    D.TransformedDistribution(D.Normal(whet.zeros(2), 1.0), [D.ExpTransform()])]


@pytest.mark.parametrize("d", GROWING, ids=lambda d: type(d).__name__)
def test_a_subclass_stays_what_it_is_in_a_larger_batch(d):
    own = copy.copy(d)
    own.__class__ = type("Own", (type(d),), {"arg_constraints": {}})
    larger = own.expand((4, 2))
    assert type(larger) is type(own) and larger.batch_shape == (4, 2)
    assert larger.event_shape == d.event_shape
    x = d.sample()
    assert larger.sample().shape == (4, 2, *d.event_shape)
    np.testing.assert_array_equal(larger.log_prob(x), d.log_prob(x).expand(4, 2))


class Centred(D.Normal):
    def __init__(self, scale, note):
        self.note = note
        super().__init__(0.0, scale)


class Noted(Centred):
    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Noted, _instance)
        new.note = self.note
        return super().expand(batch_shape, _instance=new)


def test_an_init_of_its_own_needs_an_expand_of_its_own():
    with pytest.raises(NotImplementedError, match="Centred of Normal .* custom .expand"):
        Centred(whet.ones(2), "a").expand((3, 2))
    larger = Noted(whet.ones(2), whet.arange(5)).expand((3, 2))
    assert type(larger) is Noted and larger.note.tolist() == [0, 1, 2, 3, 4]


def test_a_class_without_regions_is_told_so():
    class Bare(D.Distribution):
        pass
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.raises(NotImplementedError):
        bare.expand((2,))


# ---- covariances ---------------------------------------------------------------------------------
class Factored(D.MultivariateNormal):
    """It makes its factor when it is asked for it, as lazily evaluated matrices do."""

    def __init__(self, loc, scale):
        self.loc, self.factors, self.asked = loc, scale * whet.eye(loc.shape[-1]), 0
        D.Distribution.__init__(self, loc.shape[:-1], loc.shape[-1:], validate_args=False)

    @property
    def _unbroadcasted_scale_tril(self):
        self.asked += 1
        return self.factors


def test_all_of_a_normal_vector_follows_from_its_factor():
    own = Factored(whet.zeros(4, 2), 2.0)
    like = D.MultivariateNormal(whet.zeros(4, 2), whet.eye(2) * 4)
    x = whet.arange(8.0).reshape(4, 2)
    assert own.log_prob(x).tolist() == like.log_prob(x).tolist()
    assert own.rsample((3,)).shape == (3, 4, 2)
    for name in ("covariance_matrix", "precision_matrix", "scale_tril", "variance"):
        assert getattr(own, name).tolist() == getattr(like, name).tolist()
    assert own.entropy().tolist() == like.entropy().tolist() and own.asked
    assert D.kl_divergence(own, like).tolist() == [0] * 4


def test_a_factor_is_not_repeated_for_the_batch():
    precision = whet.tensor([[2.0, 0.5], [0.5, 1.0]])
    m = D.MultivariateNormal(whet.zeros(5, 2), precision_matrix=precision)
    assert m._unbroadcasted_scale_tril.shape == (2, 2) and m.scale_tril.shape == (5, 2, 2)
    assert m.expand((3, 5))._unbroadcasted_scale_tril is m._unbroadcasted_scale_tril
    np.testing.assert_allclose(m.covariance_matrix[0] @ m.precision_matrix[0], np.eye(2), atol=1e-6)
    low = D.LowRankMultivariateNormal(whet.zeros(5, 2), whet.ones(2, 1), whet.ones(2))
    assert low._unbroadcasted_cov_factor.shape == (2, 1) and low.cov_factor.shape == (5, 2, 1)
    np.testing.assert_allclose(low.covariance_matrix[0] @ low.precision_matrix[0], np.eye(2),
                               atol=1e-6)


def test_parts_of_multivariate_normal_are_where_they_are_looked_for():
    from whet.distributions.lowrank_multivariate_normal import (
        _batch_capacitance_tril,
        _batch_lowrank_logdet,
        _batch_lowrank_mahalanobis,
    )
    from whet.distributions.multivariate_normal import _batch_mahalanobis, _precision_to_scale_tril
    w, d, x = whet.tensor([[1.0], [2.0]]), whet.tensor([1.0, 3.0]), whet.tensor([0.5, -1.0])
    covariance = w @ w.mT + d.diag()
    c = _batch_capacitance_tril(w, d)
    lower = whet.linalg.cholesky(covariance)
    np.testing.assert_allclose(_batch_lowrank_logdet(w, d, c), math.log(float(covariance.det())),
                               rtol=1e-5)
    np.testing.assert_allclose(_batch_lowrank_mahalanobis(w, d, x, c), _batch_mahalanobis(lower, x),
                               rtol=1e-5)
    np.testing.assert_allclose(_precision_to_scale_tril(covariance.inverse()), lower, rtol=1e-5)


# ---- places --------------------------------------------------------------------------------------
@pytest.mark.parametrize("place, name", [
    ("normal", "Normal"), ("multivariate_normal", "MultivariateNormal"), ("gamma", "Gamma"),
    ("gamma", "_standard_gamma"), ("exp_family", "ExponentialFamily"), ("studentT", "StudentT"),
    ("distribution", "Distribution"), ("independent", "Independent"), ("kl", "_KL_REGISTRY"),
    ("mixture_same_family", "MixtureSameFamily"), ("dirichlet", "Dirichlet"), ("beta", "Beta"),
    ("relaxed_bernoulli", "LogitRelaxedBernoulli"), ("relaxed_bernoulli", "RelaxedBernoulli"),
    ("one_hot_categorical", "OneHotCategoricalStraightThrough"), ("constraints", "_Simplex"),
    ("constraint_registry", "biject_to"), ("transforms", "_InverseTransform"),
    ("generalized_pareto", "GeneralizedPareto"), ("utils", "lazy_property"),
    ("wishart", "Wishart")])
def test_each_has_the_place_that_it_has_in_pytorch(place, name):
    module = getattr(D, place)
    assert inspect.ismodule(module)
    assert importlib.import_module(f"whet.distributions.{place}") is module
    assert getattr(D, name, getattr(module, name)) is getattr(module, name)


def test_what_the_package_offers():
    assert len(D.__all__) == 67 and all(hasattr(D, name) for name in D.__all__)


def test_fractions_sum_up_to_one():
    assert float(whet._sample_dirichlet(whet.ones(3)).sum()) == pytest.approx(1)


# ---- transforms ----------------------------------------------------------------------------------
class Shift(D.Transform, nn.Module):
    domain = codomain = D.constraints.real
    bijective, sign = True, 1

    def __init__(self, n, cache_size=0):
        super().__init__(cache_size)
        self.by = nn.Parameter(whet.ones(n))

    def _call(self, x):
        return x + self.by

    def _inverse(self, y):
        return y - self.by

    def log_abs_det_jacobian(self, x, y):
        return whet.zeros_like(x)

    __hash__ = nn.Module.__hash__


def test_a_transform_can_be_a_module():
    t = Shift(2)
    assert len(list(t.parameters())) == 1 and t(whet.zeros(2)).tolist() == [1, 1]
    assert t.inv.inv is t and t.inv is t.inv and t.inv(whet.ones(2)).tolist() == [0, 0]
    d = D.TransformedDistribution(D.Normal(whet.zeros(2), 1.0), [t])
    d.log_prob(whet.zeros(2)).sum().backward()
    assert t.by.grad.tolist() == [-1, -1]


def test_a_cache_remembers_the_last_pair():
    t = Shift(2, cache_size=1)
    assert t._cached_x_y == (None, None)
    x = whet.zeros(2)
    assert t.inv(t(x)) is x and t._cached_x_y[0] is x
    fresh = t.with_cache(0)
    assert fresh.inv(fresh(x)) is not x and fresh.by is t.by


def test_inverses_of_compositions_are_compositions():
    t = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, -2.0)])
    assert repr(t.inv) == ("ComposeTransform(\n    _InverseTransform(AffineTransform()),\n"
                           "    _InverseTransform(ExpTransform())\n)")
    assert t.inv.inv is t and t.sign == -1
    assert t == copy.deepcopy(t) and t.inv == copy.deepcopy(t).inv
    one, same, two = (D.IndependentTransform(t, n) for n in (1, 1, 2))
    assert one == same != two
    assert D.AffineTransform(0.0, whet.ones(2)) != D.AffineTransform(0.0, whet.zeros(2))


def test_dimensions_of_a_transform():
    assert D.ExpTransform().event_dim == 0 and D.StickBreakingTransform().event_dim == 1
    assert D.AffineTransform(0.0, 1.0, event_dim=2).event_dim == 2
    with pytest.raises(ValueError, match="domain.event_dim"):
        D.CorrCholeskyTransform().event_dim  # noqa: B018
    for t, shape in ((D.StickBreakingTransform(), ()), (D.CorrCholeskyTransform(), (4,)),
                     (D.ReshapeTransform((2,), (1, 2)), (3,))):
        with pytest.raises(ValueError):
            t.forward_shape(shape)


def test_volumes_of_parts_that_are_vectors():
    double, triple = (D.AffineTransform(0.0, s, event_dim=1) for s in (2.0, 3.0))
    x = whet.ones(2, 3)
    for t, volume in (
            (D.CatTransform([double, triple], -1, [1, 2]), [math.log(2) + 2 * math.log(3)] * 2),
            (D.CatTransform([double, triple], 0, [1, 1]), [3 * math.log(2), 3 * math.log(3)])):
        np.testing.assert_allclose(t.log_abs_det_jacobian(x, t(x)), volume, rtol=1e-6)
    with pytest.raises(AssertionError, match="sum up to 2"):
        D.CatTransform([double, triple], -1)(x)


# ---- vectors of triangles ------------------------------------------------------------------------
@pytest.mark.parametrize("diag", [-2, -1, 0, 1, 2])
def test_triangles_are_vectors_and_back(diag):
    matrix = whet.arange(1.0, 19.0).reshape(2, 3, 3).tril(diag)
    vector = D.utils.tril_matrix_to_vec(matrix, diag)
    if diag < 2:
        assert bool((D.utils.vec_to_tril_matrix(vector, diag) == matrix).all())


def test_numbers_that_make_no_triangle():
    with pytest.raises(ValueError, match="lower triangular"):
        D.utils.vec_to_tril_matrix(whet.ones(4))
    with pytest.raises(ValueError, match="outside"):
        D.utils.tril_matrix_to_vec(whet.ones(2, 2), 3)


# ---- values --------------------------------------------------------------------------------------
def test_the_gradient_of_an_infinite_variance_is_infinite():
    scale = whet.tensor(0.05, requires_grad=True)
    variance = D.Pareto(scale, 2.0).variance
    variance.backward()
    assert variance == scale.grad == math.inf


def test_a_pareto_distribution_that_ends():
    d = D.GeneralizedPareto(whet.tensor([1.0, 1.0]), 2.0, whet.tensor([-0.5, 0.5]))
    assert d.support.upper_bound.tolist() == [5, math.inf] and d.cdf(whet.tensor(5.0))[0] == 1
    x = whet.tensor([2.0, 2.0])
    np.testing.assert_allclose(d.log_survival_function(x), [math.log(0.5625), -2 * math.log(1.25)],
                               rtol=1e-6)
    np.testing.assert_allclose(d.log_cdf(x).exp(), d.cdf(x), rtol=1e-6)
    np.testing.assert_allclose(d.icdf(d.cdf(x)), x, rtol=1e-6)
    heavy = D.GeneralizedPareto(0.0, 1.0, whet.tensor([0.75, 1.5]))
    assert heavy.mean.isnan().tolist() == [False, True] and bool(heavy.variance.isnan().all())


@pytest.mark.parametrize("d, mode", [
    (D.Beta(whet.tensor([3.0, 0.5, 2.0]), whet.tensor([2.0, 2.0, 0.5])), [2 / 3, 0, 1]),
    (D.Kumaraswamy(2.0, 3.0), math.sqrt(1 / 5)), (D.Kumaraswamy(0.5, 3.0), math.nan),
    (D.Wishart(whet.tensor(5.0), whet.eye(2)), [[2, 0], [0, 2]])], ids=repr)
def test_the_likeliest_value(d, mode):
    np.testing.assert_allclose(d.mode, mode, rtol=1e-6)


def test_what_is_shown_of_a_distribution():
    two = D.Normal(whet.zeros(2), 1.0)
    assert repr(two) == "Normal(loc: whet.Size([2]), scale: whet.Size([2]))"
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Beta(1.0, 2.0)) == "Beta()"
    mixture = D.MixtureSameFamily(D.Categorical(whet.ones(2)), two)
    assert repr(mixture).startswith("MixtureSameFamily(\n  Categorical(probs: whet.Size([2])")


def test_a_mixture_chooses_for_each_of_the_batch():
    far = D.Normal(whet.tensor([0.0, 100.0]).expand(500, 2), 1.0)
    s = D.MixtureSameFamily(D.Categorical(whet.ones(2)), far).sample()
    assert s.shape == (500,) and 100 < int((s > 50).sum()) < 400
    with pytest.raises(ValueError, match="not compatible"):
        D.MixtureSameFamily(D.Categorical(whet.ones(3, 2)), D.Normal(whet.zeros(5, 2), 1.0))


@pytest.mark.parametrize("d", [D.Poisson(3.0), D.NegativeBinomial(3.0, 0.5),
                               D.Binomial(whet.ones(0), whet.ones(0)), D.Poisson(whet.ones(0))],
                         ids=repr)
def test_counts_of_one_and_of_none(d):
    assert d.sample().shape == d.batch_shape and d.sample((4,)).shape == (4, *d.batch_shape)


def test_a_negative_number_of_draws_is_refused():
    with pytest.raises(ValueError, match="parameter total_count of distribution Multinomial"):
        D.Multinomial(-1, whet.ones(2))
    assert D.Multinomial(-1, whet.ones(2), validate_args=False).total_count == -1
