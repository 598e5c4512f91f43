"""Divergences between distributions, by pairs of their types."""
import functools
import math

import whet

from ..autograd import modes
from .base import sum_rightmost
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .multivariate import (
    Dirichlet,
    Independent,
    LowRankMultivariateNormal,
    MultivariateNormal,
    _mahalanobis,
)
from .transformed import HalfNormal, LogNormal, Pareto, TransformedDistribution
from .univariate import (
    EULER,
    Beta,
    Cauchy,
    ContinuousBernoulli,
    Exponential,
    Gamma,
    Gumbel,
    Laplace,
    Normal,
    Uniform,
)

KNOWN: dict = {}


def register_kl(type_p, type_q):
    """A decorator for the function of (p, q) that computes the divergence of these types."""
    def keep(fn):
        KNOWN[type_p, type_q] = fn
        return fn
    return keep


def kl_divergence(p, q):
    """How far p is from q: the mean under p of log p(x) - log q(x).

    >>> import whet
    >>> d = whet.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    divergence = modes.read(functools.partial(_divergence, type(p), type(q)))
    if divergence is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} "
                                  f"and q type {type(q).__name__}")
    return divergence(p, q)


def _divergence(type_p, type_q):
    """The function for distributions of two types; None where there is none."""
    return next((KNOWN[a, b] for a in type_p.__mro__ for b in type_q.__mro__ if (a, b) in KNOWN),
                None)


@register_kl(Normal, Normal)
def _normals(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normals(p, q):
    return _normals(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _half_normals(p, q):
    return _normals(p.base_dist, q.base_dist)


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p, q):
    F = whet.nn.functional
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    one = whet.where(q.probs == 0, math.inf, one)
    zero = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    return (whet.where(p.probs == 0, 0.0, one)
            + whet.where(p.probs == 1, 0.0, whet.where(q.probs == 1, math.inf, zero)))


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoullis(p, q):
    return (p.mean * (p.logits - q.logits) + p._log_norm() + (-p.probs).log1p() - q._log_norm() -
            (-q.probs).log1p())


@register_kl(Binomial, Binomial)
def _binomials(p, q):
    if bool((p.total_count > q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return whet.where(p.total_count == q.total_count, kl, math.inf)


@register_kl(Categorical, Categorical)
def _categoricals(p, q):
    t = p.probs * (p.logits - q.logits)
    t = whet.where((q.probs == 0).expand(t.shape), math.inf, t)
    return whet.where((p.probs == 0).expand(t.shape), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hots(p, q):
    return _categoricals(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometrics(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poissons(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _exponentials(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gammas(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() +
            (q.rate - p.rate) * (a / p.rate))


@register_kl(Beta, Beta)
def _betas(p, q):
    sp, sq = p._total, q._total
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sp.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sq.lgamma()
    return (t1 - t2 + (p.concentration1 - q.concentration1) * p.concentration1.digamma() +
            (p.concentration0 - q.concentration0) * p.concentration0.digamma() +
            (sq - sp) * sp.digamma())


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p, q):
    a, b = p.concentration, q.concentration
    s = a.sum(-1)
    return (s.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) +
            ((a - b) * (a.digamma() - s.digamma().unsqueeze(-1))).sum(-1))


@register_kl(Laplace, Laplace)
def _laplaces(p, q):
    ratio, d = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + d / q.scale + ratio * (-d / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchys(p, q):
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbels(p, q):
    r, u, v = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return -r.log() + r * EULER + v - u + (u - v + (1 + r).lgamma()).exp() - (1 + EULER)


@register_kl(Uniform, Uniform)
def _uniforms(p, q):
    r = ((q.high - q.low) / (p.high - p.low)).log()
    return whet.where((q.low > p.low) | (q.high < p.high), math.inf, r)


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    width = p.high - p.low
    return ((math.sqrt(2 * math.pi) * q.scale / width).log() + 0.5 *
            (width ** 2 / 12 + ((p.high + p.low) / 2 - q.loc) ** 2) / q.scale ** 2)


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    d = p.loc - q.loc
    z = d / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z ** 2).exp() + d * (math.sqrt(0.5) * z).erf()
    return -(p.scale / q.scale).log() + mean / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    ratio = q.rate / p.rate
    return (-q.concentration * ratio.log() + ratio + q.concentration.lgamma()
            + q.concentration * EULER - (1 + EULER))


@register_kl(Pareto, Pareto)
def _paretos(p, q):
    ratio = q.alpha / p.alpha
    return whet.where(p.support.lower_bound < q.support.lower_bound,
                      math.inf,
                      q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


def _factor(d):
    return d._tril if isinstance(d, MultivariateNormal) else d.scale_tril


def _normal_vectors(p, q):
    lp, lq = _factor(p), _factor(q)
    half = lq.diagonal(0, -2, -1).log().sum(-1) - lp.diagonal(0, -2, -1).log().sum(-1)
    inner = whet.linalg.solve_triangular(lq.expand(whet.broadcast_shapes(lp.shape, lq.shape)),
                                         lp.expand(whet.broadcast_shapes(lp.shape, lq.shape)),
                                         upper=False)
    return (half + 0.5 *
            ((inner ** 2).flatten(-2).sum(-1) + _mahalanobis(lq, q.loc - p.loc) - p.event_shape[0]))


for _a in (MultivariateNormal, LowRankMultivariateNormal):
    for _b in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_a, _b)(_normal_vectors)


@register_kl(Independent, Independent)
def _independents(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), max(more, 0))
