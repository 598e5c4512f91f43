"""Distributions that a transform makes of others."""
import math

import whet

from . import constraints as c
from .composed import Independent
from .discrete import ExpRelaxedCategorical, LogitRelaxedBernoulli
from .distribution import Distribution
from .standard_transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from .transform import ComposeTransform, Transform
from .univariate import EULER, Cauchy, Exponential, Gamma, Normal, Uniform
from .utils import Size, broadcast_all, sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of f(x), x being of `base_distribution`.

    >>> import whet
    >>> d = whet.distributions
    >>> d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()]).log_prob(whet.tensor(1.0))
    tensor(-0.9189)
    """
    arg_constraints: dict = {}
    _state = {"base_dist": None, "transforms": None}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = (list(transforms) if isinstance(transforms, list | tuple)
                           else [transforms])
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list, but was {transforms}")
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {tuple(base_shape)}.")
        shape = Size(whole.forward_shape(base_shape))
        need = whole.domain.event_dim - len(base_distribution.event_shape)
        if need > 0:
            base_distribution = Independent(base_distribution, need)
        self.base_dist = base_distribution
        event_dim = (whole.codomain.event_dim
                     + max(len(base_distribution.event_shape) - whole.domain.event_dim, 0))
        super().__init__(shape[:len(shape) - event_dim],
                         shape[len(shape) - event_dim:],
                         validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @c.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        s = self.transforms[-1].codomain
        more = len(self._event_shape) - s.event_dim
        return c.independent(s, more) if more > 0 else s

    def sample(self, sample_shape=()):
        with whet.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value):
        self._validate_sample(value)
        y, total, event_dim = value, 0, len(self._event_shape)
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            total = (total
                     - sum_rightmost(t.log_abs_det_jacobian(x, y), event_dim - t.domain.event_dim))
            y = x
        return (total + sum_rightmost(self.base_dist.log_prob(y),
                                      event_dim - len(self.base_dist.event_shape)))

    def _monotonize_cdf(self, value):
        """1 - value where the transforms turn the order around."""
        sign = math.prod(t.sign for t in self.transforms)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


class _Made(TransformedDistribution):
    """A distribution with parameters of its own, made of another by transforms."""
    has_rsample = True


class LogNormal(_Made):
    """exp of a normal number.

    >>> import whet
    >>> whet.distributions.LogNormal(whet.tensor([0.]), whet.tensor([1.])).mean
    tensor([1.6487])
    """
    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.positive

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args),
                         ExpTransform(),
                         validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale ** 2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale ** 2).exp())
    variance = property(lambda self: (self.scale ** 2).expm1() * (2 * self.loc + self.scale ** 2).
                        exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class _Half(_Made):
    """The absolute value of a symmetric number."""
    arg_constraints = {"scale": c.positive}
    support = c.nonnegative

    def __init__(self, scale, validate_args=None):
        super().__init__(self._base(0, scale, validate_args=False),
                         AbsTransform(),
                         validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: whet.zeros_like(self.scale))

    def log_prob(self, value):
        value = whet.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        self._validate_sample(value)
        return whet.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal number.

    >>> import whet
    >>> whet.distributions.HalfNormal(whet.tensor([1.])).mean
    tensor([0.7979])
    """
    _base = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale ** 2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The absolute value of a Cauchy number.

    >>> import whet
    >>> whet.distributions.HalfCauchy(whet.tensor([1.])).cdf(whet.tensor([1.]))
    tensor([0.5000])
    """
    _base = Cauchy
    mean = property(lambda self: whet.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


class Pareto(_Made):
    """scale * exp(x / alpha), x being exponential.

    >>> import whet
    >>> whet.distributions.Pareto(whet.tensor([1.]), whet.tensor([3.])).mean
    tensor([1.5000])
    """
    arg_constraints = {"alpha": c.positive, "scale": c.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args),
                         [ExpTransform(), AffineTransform(0, self.scale)],
                         validate_args)

    mode = property(lambda self: self.scale)

    # where they are infinite, so are the gradients: they come of a division by 0
    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale ** 2 * a / ((a - 1) ** 2 * (a - 2))

    @c.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return c.greater_than_eq(self.scale)

    def entropy(self):
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class Gumbel(_Made):
    """The distribution of the largest of many numbers: -log(-log(u)), scaled and moved.

    >>> import whet
    >>> whet.distributions.Gumbel(whet.tensor([0.]), whet.tensor([1.])).mean
    tensor([0.5772])
    """
    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.real
    mode = property(lambda self: self.loc)
    mean = property(lambda self: self.loc + self.scale * EULER)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev ** 2)

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = whet.finfo(self.loc.dtype)
        low = whet.full_like(self.loc, info.tiny)
        super().__init__(Uniform(low, whet.full_like(low, 1 - info.eps), validate_args=False),
                         [
                             ExpTransform().inv,
                             AffineTransform(0, -whet.ones_like(self.scale)),
                             ExpTransform().inv,
                             AffineTransform(self.loc, -self.scale)],
                         validate_args=validate_args)

    # as formulas: nothing is lost far from the mode
    def log_prob(self, value):
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value):
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + EULER)


class Weibull(_Made):
    """A power of an exponential number, scaled.

    >>> import whet
    >>> whet.distributions.Weibull(whet.tensor([2.]), whet.tensor([1.])).mean
    tensor([2.])
    """
    arg_constraints = {"scale": c.positive, "concentration": c.positive}
    support = c.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(Exponential(whet.ones_like(self.scale), validate_args=validate_args),
                         [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)],
                         validate_args)

    def _moment(self, n):
        return (1 + n / self.concentration).lgamma()

    mean = property(lambda self: self.scale * self._moment(1).exp())
    mode = property(lambda self: self.scale * (
        (self.concentration - 1) / self.concentration) ** (1 / self.concentration))
    variance = property(lambda self: self.scale ** 2 * (
        self._moment(2).exp() - (2 * self._moment(1)).exp()))

    def entropy(self):
        return EULER * (1 - 1 / self.concentration) + (self.scale / self.concentration).log() + 1


class InverseGamma(_Made):
    """1 / a gamma number.

    >>> import whet
    >>> whet.distributions.InverseGamma(whet.tensor([3.]), whet.tensor([4.])).mean
    tensor([2.])
    """
    arg_constraints = {"concentration": c.positive, "rate": c.positive}
    support = c.positive

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mean = property(lambda self: whet.where(self.concentration > 1,
                                            self.rate / (self.concentration - 1), math.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self):
        a = self.concentration
        return whet.where(a > 2, self.rate ** 2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Kumaraswamy(_Made):
    """Like a beta distribution, with a distribution function that is a formula.

    >>> import whet
    >>> whet.distributions.Kumaraswamy(whet.tensor([1.]), whet.tensor([1.])).mean
    tensor([0.5000])
    """
    arg_constraints = {"concentration1": c.positive, "concentration0": c.positive}
    support = c.unit_interval

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        one = whet.ones_like(self.concentration1)
        super().__init__(Uniform(one * 0, one, validate_args=False),
                         [
                             PowerTransform(1 / self.concentration0),
                             AffineTransform(1.0, -1.0),
                             PowerTransform(1 / self.concentration1)],
                         validate_args)

    def _moment(self, n):
        a, b = self.concentration1, self.concentration0
        return (b.log() + (1 + n / a).lgamma() + b.lgamma() - (1 + n / a + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1 / a)
        return whet.where((a < 1) | (b < 1) | (a == 1) & (b == 1), math.nan, mode)

    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()


class LogisticNormal(_Made):
    """Fractions that are a normal vector, broken off a stick.

    >>> import whet
    >>> whet.distributions.LogisticNormal(whet.zeros(2), whet.ones(2)).sample().shape
    whet.Size([3])
    """
    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)


class _Relaxed(_Made):
    """A choice that is not quite one, so that gradients flow: `base` has its parameters, and has
    checked them."""

    def __init__(self, base, transform):
        super().__init__(base, transform, validate_args=False)
        self._validate_args = base._validate_args

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


class RelaxedBernoulli(_Relaxed):
    """A Bernoulli number that is not quite 0 or 1, so that gradients flow.

    >>> import whet
    >>> whet.distributions.RelaxedBernoulli(whet.tensor([0.5]), whet.tensor([0.3])).sample().shape
    whet.Size([1])
    """
    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits, validate_args),
                         SigmoidTransform())


class RelaxedOneHotCategorical(_Relaxed):
    """A one-hot vector that is not quite one, so that gradients flow.

    >>> import whet
    >>> whet.distributions.RelaxedOneHotCategorical(whet.tensor([0.5]), whet.ones(3)).sample().shape
    whet.Size([3])
    """
    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    support = c.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args),
                         ExpTransform())
