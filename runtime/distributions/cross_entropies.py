"""Divergences between distributions of two kinds.

KL(p || q) is the mean of -log q under p, less the entropy of p. The density of q asks for few means
under p: of x, of (x - m) ** 2, of log(x). So what is known of a kind is stated once as p, the means
that are no attributes of it (`MEANS`), and once as q, its cross entropy by them (`CROSS`), instead
of a formula for each pair.
"""
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import whet

from .dirichlet import Beta
from .discrete import Bernoulli, Binomial, Poisson
from .kl import register_kl
from .transformed import Gumbel, Pareto
from .univariate import (
    EULER,
    ContinuousBernoulli,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    Uniform,
)


# ---- p: means under it ---------------------------------------------------------------------------
def _unknown(*args):
    raise NotImplementedError


@dataclass(frozen=True)
class Means:
    """Means under a distribution p."""
    log: Callable = _unknown             # p -> of log(x)
    log_rest: Callable = _unknown        # p -> of log(1 - x)
    exp: Callable = _unknown             # p, t -> of exp(t x)
    distance: Callable = _unknown        # p, m -> of |x - m|


def _mean_log_between(low, high):
    return (whet.xlogy(high, high) - whet.xlogy(low, low)) / (high - low) - 1


def _beta_log(concentration, p):
    return concentration.digamma() - (p.concentration1 + p.concentration0).digamma()


def _normal_distance(p, m):
    apart = p.loc - m
    z = apart / p.scale
    return (math.sqrt(2 / math.pi) * p.scale * (-0.5 * z ** 2).exp()
            + apart * (math.sqrt(0.5) * z).erf())


MEANS = {
    Beta: Means(log=lambda p: _beta_log(p.concentration1, p),
                log_rest=lambda p: _beta_log(p.concentration0, p)),
    ContinuousBernoulli: Means(),
    Exponential: Means(log=lambda p: -EULER - p.rate.log(),
                       exp=lambda p, t: p.rate / (p.rate - t)),
    Gamma: Means(log=lambda p: p.concentration.digamma() - p.rate.log(),
                 exp=lambda p, t: (1 - t / p.rate) ** -p.concentration),
    Gumbel: Means(),
    Laplace: Means(),
    Normal: Means(exp=lambda p, t: (p.loc * t + 0.5 * (p.scale * t) ** 2).exp(),
                  distance=_normal_distance),
    Pareto: Means(log=lambda p: p.scale.log() + p.alpha.reciprocal()),
    Uniform: Means(log=lambda p: _mean_log_between(p.low, p.high),
                   log_rest=lambda p: _mean_log_between(1 - p.high, 1 - p.low),
                   exp=lambda p, t: (((t * p.high).exp() - (t * p.low).exp())
                                     / (t * (p.high - p.low))))}


# ---- q: the mean of -log q under p ---------------------------------------------------------------
def _to_beta(p, means, q):
    a, b = q.concentration1, q.concentration0
    return (a.lgamma() + b.lgamma() - (a + b).lgamma()
            - (a - 1) * means.log(p) - (b - 1) * means.log_rest(p))


def _to_continuous_bernoulli(p, means, q):
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _to_gamma(p, means, q):
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * means.log(p) + q.rate * p.mean


def _to_gumbel(p, means, q):
    return (q.scale.log() + (p.mean - q.loc) / q.scale
            + (q.loc / q.scale).exp() * means.exp(p, -q.scale.reciprocal()))


def _to_normal(p, means, q):
    squared = p.variance + (p.mean - q.loc) ** 2
    return 0.5 * squared / q.scale ** 2 + q.scale.log() + 0.5 * math.log(2 * math.pi)


def _to_pareto(p, means, q):
    return (q.alpha + 1) * means.log(p) - q.alpha.log() - q.alpha * q.scale.log()


CROSS = {
    Beta: _to_beta,
    ContinuousBernoulli: _to_continuous_bernoulli,
    Exponential: lambda p, means, q: q.rate * p.mean - q.rate.log(),
    Gamma: _to_gamma,
    Gumbel: _to_gumbel,
    Laplace: lambda p, means, q: means.distance(p, q.loc) / q.scale + (2 * q.scale).log(),
    Normal: _to_normal,
    Pareto: _to_pareto,
    Uniform: lambda p, means, q: (q.high - q.low).log() + whet.zeros_like(p.mean)}


# ---- pairs ---------------------------------------------------------------------------------------
def _reaches_beyond(p, q):
    """Where has p values that q has not?"""
    inner, outer = p.support, q.support
    beyond = False
    if hasattr(outer, "lower_bound"):
        beyond = beyond | (inner.lower_bound < outer.lower_bound)
    if hasattr(outer, "upper_bound"):
        beyond = beyond | (inner.upper_bound > outer.upper_bound)
    return beyond


def _mixed(means, cross, p, q):
    divergence = cross(p, means, q) - p.entropy()
    beyond = _reaches_beyond(p, q)
    if isinstance(beyond, bool):
        return whet.full_like(divergence, math.inf) if beyond else divergence
    return whet.where(beyond, math.inf, divergence)


def _infinite(p, q):
    """Cross entropy where for every p values are possible that are none of q: infinite."""
    shape, like = whet.broadcast_shapes(p.batch_shape, q.batch_shape), p.mean
    return whet.full(shape, math.inf, dtype=like.dtype, device=like.device)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    # the factorials of 0 and 1 are 1
    return q.rate - p.probs * q.rate.log() - p.entropy()


_POSITIVE, _FRACTIONS = (Exponential, Gamma), (Beta, ContinuousBernoulli)
_FINITE: dict[type, tuple] = {
    Beta: (ContinuousBernoulli, *_POSITIVE, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (*_POSITIVE, Normal),
    Uniform: (*_FRACTIONS, *_POSITIVE, Gumbel, Normal, Pareto)}
_INFINITE: dict[type, tuple] = {
    Poisson: (Bernoulli, Binomial),
    **dict.fromkeys(_FRACTIONS, (Pareto,)),
    **dict.fromkeys(_POSITIVE, (*_FRACTIONS, Pareto, Uniform)),
    **dict.fromkeys((Gumbel, Laplace, Normal), (*_FRACTIONS, *_POSITIVE, Pareto, Uniform)),
    Pareto: (*_FRACTIONS, Uniform)}

for _p, _others in _FINITE.items():
    for _q in _others:
        register_kl(_p, _q)(functools.partial(_mixed, MEANS[_p], CROSS[_q]))
for _p, _others in _INFINITE.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)
