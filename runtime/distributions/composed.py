"""Distributions made of others: dimensions that count as one value, and mixtures."""
import whet

from . import constraints as c
from .discrete import Categorical
from .distribution import Distribution
from .utils import sum_rightmost


class Independent(Distribution):
    """A distribution whose last batch dimensions count as part of one value.

    >>> import whet
    >>> d = whet.distributions
    >>> d.Independent(d.Normal(whet.zeros(3), 1.0), 1).log_prob(whet.zeros(3))
    tensor(-2.7568)
    """
    arg_constraints: dict = {}
    _state = {"base_dist": None, "reinterpreted_batch_ndims": None}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        n, shape = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(shape):
            raise ValueError("Expected reinterpreted_batch_ndims <= "
                             f"len(base_distribution.batch_shape), actual {n} vs {len(shape)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(shape[:len(shape) - n],
                         shape[len(shape) - n:] + base_distribution.event_shape,
                         validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(lambda self: (
        self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support))
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @c.dependent_property
    def support(self):
        n = self.reinterpreted_batch_ndims
        return c.independent(self.base_dist.support, n) if n else self.base_dist.support

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind (along the last batch dimension), chosen by a
    `Categorical`.

    >>> import whet
    >>> d = whet.distributions
    >>> two = d.Normal(whet.tensor([-1.0, 3.0]), 1.0)
    >>> d.MixtureSameFamily(d.Categorical(whet.ones(2)), two).mean
    tensor(1.)
    """
    arg_constraints: dict = {}
    has_rsample = False
    _state = {"_mixture_distribution": None, "_component_distribution": None}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution")
        chosen, (*batch, k) = mixture_distribution.batch_shape, component_distribution.batch_shape
        for a, b in zip(reversed(chosen), reversed(batch)):
            if a != b and 1 not in (a, b):
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                    f"`component_distribution.batch_shape` ({component_distribution.batch_shape})")
        if mixture_distribution.logits.shape[-1] != k:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution.logits.shape[-1]}) does "
                f"not equal `component_distribution.batch_shape[-1]` ({k})")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @c.dependent_property
    def support(self):
        return c.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _pad(self, value):
        """A tensor with one more dimension for the components."""
        return value.unsqueeze(-1 - len(self._event_shape))

    def _weights(self):
        p = self.mixture_distribution.probs
        return p.reshape(*p.shape, *(1,) * len(self._event_shape))

    @property
    def mean(self):
        return (self._weights() * self.component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self):
        d = -1 - len(self._event_shape)
        w = self._weights()
        return ((w * self.component_distribution.variance).sum(d) +
                (w * (self.component_distribution.mean - self.mean.unsqueeze(d)) ** 2).sum(d))

    def log_prob(self, x):
        self._validate_sample(x)
        lp = self.component_distribution.log_prob(self._pad(x))
        return (lp + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, x):
        below = self.component_distribution.cdf(self._pad(x))
        return (below * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape=()):
        with whet.no_grad():
            choice = self.mixture_distribution
            if choice.batch_shape != self._batch_shape:
                choice = choice.expand(self._batch_shape)
            which = choice.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            at = which.ndim
            which = which.reshape(*which.shape, *(1,) * (1 + len(self._event_shape)))
            which = which.expand(*which.shape[:at], 1, *self._event_shape)
            return samples.gather(at, which).squeeze(at)

    def __repr__(self):
        return (f"MixtureSameFamily(\n  {self.mixture_distribution},\n  "
                f"{self.component_distribution})")
