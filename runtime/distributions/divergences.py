"""Divergences between two distributions of one kind."""
import math

import whet

from .dirichlet import Beta, Dirichlet
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .kl import register_kl
from .multivariate import LowRankMultivariateNormal, MultivariateNormal
from .transformed import Gumbel, HalfNormal, Pareto
from .univariate import (
    EULER,
    Cauchy,
    ContinuousBernoulli,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    Uniform,
)


@register_kl(Normal, Normal)
def _normals(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


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
    at_p, at_q = (d._cont_bern_log_norm() + (-d.probs).log1p() for d in (p, q))
    return p.mean * (p.logits - q.logits) + at_p - at_q


@register_kl(Binomial, Binomial)
def _binomials(p, q):
    if bool((p.total_count < q.total_count).any()):
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
    sp, sq = (d.concentration1 + d.concentration0 for d in (p, q))
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


@register_kl(Pareto, Pareto)
def _paretos(p, q):
    ratio = q.alpha / p.alpha
    return whet.where(p.support.lower_bound < q.support.lower_bound,
                      math.inf,
                      q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


NORMAL_VECTORS = (MultivariateNormal, LowRankMultivariateNormal)


def _normal_vectors(p, q):
    """By the covariance of q only through sums of squares, which it has its own short way to."""
    n = p.event_shape[0]
    if n != q.event_shape[0]:
        raise ValueError("KL-divergence between two normal vectors with different event shapes "
                         "cannot be computed")
    apart = (q.loc - p.loc).unsqueeze(-1)
    root = p._root()
    shape = whet.broadcast_shapes(apart.shape[:-2], root.shape[:-2])
    both = whet.cat([x.expand(*shape, *x.shape[-2:]) for x in (root, apart)], -1)
    return 0.5 * (q._log_det() - p._log_det() + q._squared_by_precision(both) - n)


for _p in NORMAL_VECTORS:
    for _q in NORMAL_VECTORS:
        register_kl(_p, _q)(_normal_vectors)
