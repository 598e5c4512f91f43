"""Divergences between distributions: a registry by pairs of types, and how a pair is found."""
import functools

from ..autograd import modes
from .composed import Independent
from .exp_family import ExponentialFamily
from .transformed import TransformedDistribution
from .utils import sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}


def register_kl(type_p, type_q):
    """A decorator for the function of (p, q) that computes the divergence of these types.

    >>> import whet
    >>> d = whet.distributions
    >>> class Constant(d.Normal):
    ...     pass
    >>> @d.register_kl(Constant, Constant)
    ... def constants(p, q):
    ...     return (p.loc - q.loc).abs()
    >>> d.kl_divergence(Constant(0.0, 1.0), Constant(3.0, 1.0))
    tensor(3.)
    """
    # a class above distributions is one, too: libraries have their own
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def keep(fn):
        modes.beyond("it registers a divergence")
        _KL_REGISTRY[type_p, type_q] = fn
        return fn
    return keep


def kl_divergence(p, q):
    """How far p is from q: the mean under p of log p(x) - log q(x).

    >>> import whet
    >>> d = whet.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    divergence, nearer_to_q = modes.read(functools.partial(_dispatch_kl, type(p), type(q)))
    if divergence is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} "
                                  f"and q type {type(q).__name__}")
    if nearer_to_q:
        modes.warn(f"Ambiguous kl_divergence({type(p).__name__}, {type(q).__name__}). Please "
                   f"register_kl({', '.join(nearer_to_q)})", RuntimeWarning, stacklevel=2)
    return divergence(p, q)


def _dispatch_kl(type_p, type_q):
    """The function that is registered for the nearest pair of base classes, None where there is
    none; and the names of a pair to register, where another one is nearer to q."""
    above_p, above_q = type_p.__mro__, type_q.__mro__
    found = [(i, j) for i, a in enumerate(above_p) for j, b in enumerate(above_q)
             if (a, b) in _KL_REGISTRY]
    if not found:
        return None, None
    # the nearest to p, and among those to q; and the other way around
    by_p, by_q = min(found), min(found, key=lambda at: at[::-1])
    first, second = (_KL_REGISTRY[above_p[i], above_q[j]] for i, j in (by_p, by_q))
    names = above_p[by_p[0]].__name__, above_q[by_q[1]].__name__
    return first, None if first is second else names


# ---- whole families ------------------------------------------------------------------------------
@register_kl(ExponentialFamily, ExponentialFamily)
def _of_one_family(p, q):
    """How far the normaliser at q's parameters is above its tangent at p's."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families "
                                  "cannot be computed using Bregman divergences")
    value, slopes, theta = p._normalizer_and_slopes()
    total = q._log_normalizer(*q._natural_params) - value
    for a, b, slope in zip(theta, q._natural_params, slopes):
        total = total - sum_rightmost((b - a) * slope, a.ndim - len(p.batch_shape))
    return total


@register_kl(Independent, Independent)
def _independents(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
