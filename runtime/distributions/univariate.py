"""Continuous distributions of one number."""
import math

import whet

from . import constraints as c
from .distribution import Distribution, ProbsOrLogits
from .exp_family import ExponentialFamily
from .sampling import standard_gamma
from .utils import broadcast_all, clamp_probs, lazy_property, rand, randn

EULER = 0.5772156649015329


class _LocScale(Distribution):
    """A location and a scale."""
    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)


class Normal(_LocScale, ExponentialFamily):
    """The normal distribution.

    >>> import whet
    >>> whet.distributions.Normal(0.0, 1.0).log_prob(whet.tensor(0.0))
    tensor(-0.9189)
    """
    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale ** 2)
    _natural_params = property(lambda self: (self.loc / self.scale ** 2, -0.5 / self.scale ** 2))
    _mean_carrier_measure = 0

    def _log_normalizer(self, x, y):
        return -0.25 * x ** 2 / y + 0.5 * (-math.pi / y).log()

    def rsample(self, sample_shape=()):
        return self.loc + randn(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value):
        self._validate_sample(value)
        return (-((value - self.loc) ** 2) /
                (2 * self.scale ** 2) - self.scale.log() - 0.5 * math.log(2 * math.pi))

    def cdf(self, value):
        self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Laplace(_LocScale):
    """The distribution exp(-|x|) / 2, scaled and moved.

    >>> import whet
    >>> whet.distributions.Laplace(whet.tensor([0.]), whet.tensor([1.])).log_prob(whet.tensor([0.]))
    tensor([-0.6931])
    """
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale ** 2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape=()):
        u = rand(self._extended_shape(sample_shape), self.loc) - 0.5
        return (self.loc - self.scale * u.sign() *
                (-2 * u.abs()).clamp(min=-1 + whet.finfo(u.dtype).eps).log1p())

    def log_prob(self, value):
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._validate_sample(value)
        d = value - self.loc
        return 0.5 - 0.5 * d.sign() * (-d.abs() / self.scale).expm1()

    def icdf(self, value):
        t = value - 0.5
        return self.loc - self.scale * t.sign() * (-2 * t.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Cauchy(_LocScale):
    """The distribution of the ratio of two normal numbers.

    >>> import whet
    >>> whet.distributions.Cauchy(whet.tensor([0.]), whet.tensor([1.])).cdf(whet.tensor([1.]))
    tensor([0.7500])
    """
    mode = property(lambda self: self.loc)
    mean = property(lambda self: whet.full_like(self.loc, math.nan))
    variance = property(lambda self: whet.full_like(self.loc, math.inf))

    def rsample(self, sample_shape=()):
        return self.icdf(rand(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        self._validate_sample(value)
        return (-math.log(math.pi) - self.scale.log() -
                (((value - self.loc) / self.scale) ** 2).log1p())

    def cdf(self, value):
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Equally likely between `low` and `high`.

    >>> import whet
    >>> whet.distributions.Uniform(whet.tensor([0.]), whet.tensor([4.])).mean
    tensor([2.])
    """
    arg_constraints = property(lambda self: {
        "low": c.less_than(self.high), "high": c.greater_than(self.low)})
    has_rsample = True
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: self.high * math.nan)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @c.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return c.interval(self.low, self.high)

    def rsample(self, sample_shape=()):
        return (self.low + whet.rand(self._extended_shape(sample_shape), dtype=self.low.dtype,
                                      device=self.low.device) *
                (self.high - self.low))

    def log_prob(self, value):
        self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value):
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class StudentT(Distribution):
    """Student's t: a normal number over the root of a chi-squared one.

    >>> import whet
    >>> whet.distributions.StudentT(whet.tensor([4.])).variance
    tensor([2.])
    """
    arg_constraints = {"df": c.positive, "loc": c.real, "scale": c.positive}
    support = c.real
    has_rsample = True
    mode = property(lambda self: self.loc)

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        return whet.where(self.df <= 1, math.nan, self.loc)

    @property
    def variance(self):
        big = self.scale ** 2 * self.df / (self.df - 2)
        return whet.where(self.df <= 1, math.nan, whet.where(self.df <= 2, math.inf, big))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        z = standard_gamma((self.df / 2).expand(shape)) * 2
        return self.loc + self.scale * randn(shape, self.df) * (z / self.df).rsqrt()

    def log_prob(self, value):
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        z = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) +
             (0.5 * self.df).lgamma() - (0.5 * (self.df + 1)).lgamma())
        return -0.5 * (self.df + 1) * (y ** 2 / self.df).log1p() - z

    def entropy(self):
        half = 0.5 * self.df
        beta = half.lgamma() + math.lgamma(0.5) - (0.5 * (self.df + 1)).lgamma()
        return (self.scale.log() + 0.5 * (self.df + 1) *
                ((0.5 * (self.df + 1)).digamma() - half.digamma()) + 0.5 * self.df.log() + beta)


class VonMises(Distribution):
    """A normal distribution on the circle.

    >>> import whet
    >>> whet.distributions.VonMises(whet.tensor([1.]), whet.tensor([2.])).mean
    tensor([1.])
    """
    arg_constraints = {"loc": c.real, "concentration": c.positive}
    support = c.real
    mean = mode = property(lambda self: self.loc)

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def variance(self):
        s = whet.special
        return 1 - s.i1e(self.concentration) / s.i0e(self.concentration)

    def log_prob(self, value):
        self._validate_sample(value)
        k = self.concentration
        return (k * (value - self.loc).cos() - math.log(2 * math.pi) -
                (whet.special.i0e(k).log() + k))

    def sample(self, sample_shape=()):
        """Best and Fisher's method, all rounds at once."""
        with whet.no_grad():
            shape = (24, *self._extended_shape(sample_shape))
            k = self.concentration.double()
            tau = 1 + (1 + 4 * k ** 2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = whet.where(k < 1e-5, 1 / k + k, (1 + rho ** 2) / (2 * rho))
            u1, u2, u3 = (rand(shape, k) for _ in range(3))
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            g = k * (r - f)
            accepted = (g * (2 - g) - u2 > 0) | ((g / u2).log() + 1 - g >= 0)
            first = accepted.to(whet.int64).argmax(0, keepdim=True)
            x = ((u3 - 0.5).sign() * f.clamp(-1, 1).acos()).gather(0, first).squeeze(0)
            return ((x + math.pi + self.loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


# ---- positive numbers ----------------------------------------------------------------------------
class Exponential(ExponentialFamily):
    """The time until what happens `rate` times in one unit of time.

    >>> import whet
    >>> whet.distributions.Exponential(whet.tensor([2.])).mean
    tensor([0.5000])
    """
    arg_constraints = {"rate": c.positive}
    support = c.nonnegative
    has_rsample = True
    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: whet.zeros_like(self.rate))
    variance = property(lambda self: self.rate ** -2)
    _natural_params = property(lambda self: (-self.rate,))
    _mean_carrier_measure = 0

    def _log_normalizer(self, x):
        return -(-x).log()

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return -rand(self._extended_shape(sample_shape), self.rate).log() / self.rate

    def log_prob(self, value):
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1.0 - self.rate.log()


class Gamma(ExponentialFamily):
    """Sums of exponential times, `concentration` of them.

    >>> import whet
    >>> whet.distributions.Gamma(whet.tensor([4.]), whet.tensor([2.])).mean
    tensor([2.])
    """
    arg_constraints = {"concentration": c.positive, "rate": c.positive}
    support = c.nonnegative
    has_rsample = True
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate ** 2)
    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))
    _mean_carrier_measure = 0

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return standard_gamma(self.concentration.expand(shape)) / self.rate

    def log_prob(self, value):
        value = whet.as_tensor(value, dtype=self.rate.dtype)
        self._validate_sample(value)
        a = self.concentration
        return whet.xlogy(a, self.rate) + whet.xlogy(a - 1, value) - self.rate * value - a.lgamma()

    def cdf(self, value):
        self._validate_sample(value)
        return whet.igamma(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of `df` squared normal numbers.

    >>> import whet
    >>> whet.distributions.Chi2(whet.tensor([3.])).mean
    tensor([3.])
    """
    arg_constraints = {"df": c.positive}
    _state = {"concentration": 0, "rate": 0}
    df = property(lambda self: self.concentration * 2)

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args)


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom.

    >>> import whet
    >>> whet.distributions.FisherSnedecor(whet.tensor([2.]), whet.tensor([4.])).mean
    tensor([2.])
    """
    arg_constraints = {"df1": c.positive, "df2": c.positive}
    support = c.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    mean = property(lambda self: whet.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2)))
    mode = property(lambda self: whet.where(self.df1 <= 2, math.nan, (self.df1 - 2) / self.df1 *
                                            self.df2 / (self.df2 + 2)))

    @property
    def variance(self):
        a, b = self.df1, self.df2
        return whet.where(b <= 4, math.nan, 2 * b ** 2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4)))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x, y = (standard_gamma((d / 2).expand(shape)) / d for d in (self.df1, self.df2))
        return x / y

    def log_prob(self, value):
        self._validate_sample(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        return ((a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log() + (a - 1) * value.log()
                - (a + b) * (ratio * value).log1p())


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """A density on (0, 1) that is exponential in the value.

    >>> import whet
    >>> whet.distributions.ContinuousBernoulli(whet.tensor([0.5])).mean
    tensor([0.5000])
    """
    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.unit_interval
    has_rsample = True
    _state = {"_lims": None}
    _natural_params = property(lambda self: (self.logits,))
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self):
        """The parameter between 0 and 1."""
        return clamp_probs(self.logits.sigmoid())

    def _log_normalizer(self, x):
        """log((exp(x) - 1) / x), by its series around 0."""
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = whet.where(far, x, 1.0)
        near = 0.5 * x + x ** 2 / 24 - x ** 4 / 2880
        return whet.where(far, safe.expm1().abs().log() - safe.abs().log(), near)

    def _cut(self):
        """(is it far from 1/2?, the parameter where it is)"""
        p = clamp_probs(self.probs)
        far = (p <= self._lims[0]) | (p > self._lims[1])
        return far, whet.where(far, p, self._lims[0] * whet.ones_like(p))

    def _cont_bern_log_norm(self):
        far, p = self._cut()
        exact = (((-p).log1p() - p.log()).abs().log()
                 - whet.where(p <= 0.5, (-2 * p.clamp(max=0.5)).log1p(),
                              (2 * p.clamp(min=0.5) - 1).log()))
        x = (self.probs - 0.5) ** 2
        return whet.where(far, exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        far, p = self._cut()
        x = self.probs - 0.5
        return whet.where(far,
                          p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()),
                          0.5 + (1 / 3 + 16 / 45 * x ** 2) * x)

    @property
    def variance(self):
        far, p = self._cut()
        x = (self.probs - 0.5) ** 2
        return whet.where(far,
                          p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2,
                          1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape=()):
        return self.icdf(rand(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value):
        self._validate_sample(value)
        return (-whet.nn.functional.binary_cross_entropy_with_logits(
            *broadcast_all(self.logits, value), reduction="none") + self._cont_bern_log_norm())

    def cdf(self, value):
        self._validate_sample(value)
        far, p = self._cut()
        inner = (p ** value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        r = whet.where(far, inner, value)
        return whet.where(value <= 0, 0.0, whet.where(value >= 1, 1.0, r))

    def icdf(self, value):
        far, p = self._cut()
        return whet.where(far, ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) /
                          (p.log() - (-p).log1p()), value)

    def entropy(self):
        lo, hi = (-self.probs).log1p(), self.probs.log()
        return self.mean * (lo - hi) - self._cont_bern_log_norm() - lo


class GeneralizedPareto(Distribution):
    """What is above a threshold, in the limit of high ones.

    >>> import whet
    >>> whet.distributions.GeneralizedPareto(0.0, 1.0, -0.5).support
    Interval(lower_bound=0.0, upper_bound=2.0)
    """
    arg_constraints = {"loc": c.real, "scale": c.positive, "concentration": c.real}
    has_rsample = True
    mode = property(lambda self: self.loc)

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        k = self.concentration
        return whet.where(k < 1, self.loc + self.scale / (1 - k), math.nan)

    @property
    def variance(self):
        k = self.concentration
        return whet.where(
            k < 0.5, self.scale ** 2 / ((1 - k) ** 2 * (1 - 2 * k)), math.nan)

    @c.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        ends = self.concentration < 0
        last = self.loc - self.scale / whet.where(ends, self.concentration, -1.0)
        return c.interval(self.loc, whet.where(ends, last, math.inf))

    def _flat_and_safe(self):
        """(is the concentration 0, where formulas have their limits?, another where it is)"""
        flat = whet.isclose(self.concentration, whet.zeros_like(self.concentration))
        return flat, whet.where(flat, 1.0, self.concentration)

    def rsample(self, sample_shape=()):
        return self.icdf(rand(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        self._validate_sample(value)
        y, (flat, safe) = (value - self.loc) / self.scale, self._flat_and_safe()
        return -self.scale.log() - whet.where(flat, y, (1 + 1 / safe) * (safe * y).log1p())

    def log_survival_function(self, value):
        """The logarithm of the probability of more than this value."""
        self._validate_sample(value)
        y, (flat, safe) = (value - self.loc) / self.scale, self._flat_and_safe()
        return whet.where(flat, -y, -(safe * y).log1p() / safe)

    def cdf(self, value):
        return -self.log_survival_function(value).expm1()

    def log_cdf(self, value):
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def icdf(self, value):
        flat, safe = self._flat_and_safe()
        left = (-value).log1p()
        return self.loc + self.scale * whet.where(flat, -left, (-safe * left).expm1() / safe)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
