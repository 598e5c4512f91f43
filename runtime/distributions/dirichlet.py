"""Fractions: the Dirichlet distribution, and the beta distribution, its form for two."""
import whet

from . import constraints as c
from .exp_family import ExponentialFamily
from .sampling import sample_dirichlet
from .utils import broadcast_all


class Dirichlet(ExponentialFamily):
    """Fractions that sum up to 1: gamma numbers over their sum.

    >>> import whet
    >>> whet.distributions.Dirichlet(whet.tensor([1., 3.])).mean
    tensor([0.2500, 0.7500])
    """
    arg_constraints = {"concentration": c.independent(c.positive, 1)}
    support = c.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1],
                         concentration.shape[-1:],
                         validate_args=validate_args)

    _natural_params = property(lambda self: (self.concentration,))
    _total = property(lambda self: self.concentration.sum(-1, keepdim=True))
    mean = property(lambda self: self.concentration / self._total)

    @property
    def mode(self):
        a = (self.concentration - 1).clamp(min=0)
        mode = a / a.sum(-1, keepdim=True)
        top = whet.nn.functional.one_hot(mode.nan_to_num().argmax(-1), a.shape[-1]).to(mode.dtype)
        return whet.where((self.concentration < 1).all(-1, keepdim=True), top, mode)

    @property
    def _mean_carrier_measure(self):
        a = self.concentration
        return -(a.digamma() - a.sum(-1, keepdim=True).digamma()).sum(-1)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()

    @property
    def variance(self):
        t = self._total
        return self.concentration * (t - self.concentration) / (t ** 2 * (t + 1))

    def rsample(self, sample_shape=()):
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        a = self.concentration
        return whet.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.shape[-1]
        t = a.sum(-1)
        return (a.lgamma().sum(-1) - t.lgamma() - (k - t) * t.digamma() -
                ((a - 1) * a.digamma()).sum(-1))


class Beta(ExponentialFamily):
    """Fractions: one gamma number of the sum of two.

    >>> import whet
    >>> whet.distributions.Beta(whet.tensor([2.]), whet.tensor([2.])).mean
    tensor([0.5000])
    """
    arg_constraints = {"concentration1": c.positive, "concentration0": c.positive}
    support = c.unit_interval
    has_rsample = True
    _state = {"_dirichlet": None}

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = whet.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(both.shape[:-1], validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self._dirichlet.mean[..., 0])
    mode = property(lambda self: self._dirichlet.mode[..., 0])
    variance = property(lambda self: self._dirichlet.variance[..., 0])
    _natural_params = property(lambda self: (self.concentration1, self.concentration0))
    _mean_carrier_measure = property(lambda self: self._dirichlet._mean_carrier_measure)

    def _log_normalizer(self, x, y):
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        self._validate_sample(value)
        return self._dirichlet.log_prob(whet.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()
