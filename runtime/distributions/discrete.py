"""Distributions of whole numbers, and of one thing out of several."""
import math

import whet

from . import constraints as c
from .distribution import Distribution, ProbsOrLogits
from .exp_family import ExponentialFamily
from .sampling import standard_gamma
from .utils import Size, Tensor, broadcast_all, clamp_probs, probs_to_logits, rand


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with a probability, else 0.

    >>> import whet
    >>> whet.distributions.Bernoulli(whet.tensor([0.25])).log_prob(whet.tensor([1.]))
    tensor([-1.3863])
    """
    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.boolean
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    mode = property(lambda self: whet.where(
        self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype)))
    variance = property(lambda self: self.probs * (1 - self.probs))
    _natural_params = property(lambda self: (probs_to_logits(self.probs, is_binary=True),))
    _mean_carrier_measure = 0

    def _log_normalizer(self, x):
        return whet.nn.functional.softplus(x)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def sample(self, sample_shape=()):
        with whet.no_grad():
            return whet.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -whet.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return whet.nn.functional.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return _enumerated(self._param.new_tensor([0.0, 1.0]), self._batch_shape, expand)


def _enumerated(values, batch_shape, expand):
    values = values.reshape((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values


class Geometric(ProbsOrLogits):
    """How often it fails before it succeeds.

    >>> import whet
    >>> whet.distributions.Geometric(whet.tensor([0.5])).mean
    tensor([1.])
    """
    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.nonnegative_integer
    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: whet.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(
                "Expected parameter probs of distribution Geometric to be positive but found "
                "invalid values")

    def sample(self, sample_shape=()):
        with whet.no_grad():
            p = self.probs
            return (rand(self._extended_shape(sample_shape), p).log() / (-p).log1p()).floor()

    def log_prob(self, value):
        self._validate_sample(value)
        value, p = broadcast_all(value, self.probs)
        p = whet.where((p == 1) & (value == 0), 0.0, p)
        return value * (-p).log1p() + self.probs.log()

    def entropy(self):
        return (whet.nn.functional.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none") / self.probs)


class Poisson(ExponentialFamily):
    """How often something happens that happens `rate` times on average.

    >>> import whet
    >>> whet.distributions.Poisson(whet.tensor([4.])).variance
    tensor([4.])
    """
    arg_constraints = {"rate": c.nonnegative}
    support = c.nonnegative_integer
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    _natural_params = property(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x):
        return x.exp()

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def sample(self, sample_shape=()):
        with whet.no_grad():
            return whet.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return whet.xlogy(value, rate) - rate - (value + 1).lgamma()


class Binomial(ProbsOrLogits):
    """The number of successes out of `total_count` tries.

    >>> import whet
    >>> whet.distributions.Binomial(4, whet.tensor([0.5])).mean
    tensor([2.])
    """
    arg_constraints = {
        "total_count": c.nonnegative_integer, "probs": c.unit_interval, "logits": c.real}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self.total_count, = self._take(probs, logits, total_count)
        self.total_count = self.total_count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    @c.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return c.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: (
        ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        with whet.no_grad():
            shape = self._extended_shape(sample_shape)
            most = int(self.total_count.max()) if self.total_count.numel() else 0
            number = whet.arange(most, device=self.probs.device)
            tries = number.reshape((-1,) + (1,) * len(shape)) < self.total_count
            return ((rand(
                (most, *shape), self.probs) < self.probs) & tries).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        norm = n * self.logits.clamp(min=0) + n * (-self.logits.abs()).exp().log1p() - ways
        return value * self.logits - norm

    def enumerate_support(self, expand=True):
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`.")
        return _enumerated(whet.arange(1 + most, dtype=self._param.dtype,
                                       device=self._param.device),
                           self._batch_shape,
                           expand)

    def entropy(self):
        p = self.enumerate_support(False)
        lp = self.log_prob(p)
        return -(lp.exp() * lp).sum(0)


class NegativeBinomial(ProbsOrLogits):
    """How many successes (of probability `probs`) come before `total_count` failures.

    >>> import whet
    >>> whet.distributions.NegativeBinomial(3, whet.tensor([0.5])).mean
    tensor([3.])
    """
    arg_constraints = {
        "total_count": c.greater_than_eq(0), "probs": c.half_open_interval(0.0, 1.0),
        "logits": c.real}
    support = c.nonnegative_integer
    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self.total_count, = self._take(probs, logits, total_count)
        self.total_count = self.total_count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    def sample(self, sample_shape=()):
        with whet.no_grad():
            shape = self._extended_shape(sample_shape)
            return whet.poisson(standard_gamma(self.total_count.expand(shape)) * self.logits.exp())

    def log_prob(self, value):
        self._validate_sample(value)
        n = self.total_count
        plain = (n * whet.nn.functional.logsigmoid(-self.logits)
                 + value * whet.nn.functional.logsigmoid(self.logits))
        ways = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        return plain + whet.where(n + value == 0, 0.0, ways)


# ---- one of several ------------------------------------------------------------------------------
class Categorical(ProbsOrLogits):
    """A number from 0, with given probabilities (or weights) along the last dimension.

    >>> import whet
    >>> m = whet.distributions.Categorical(whet.tensor([0.25, 0.25, 0.5]))
    >>> m.log_prob(whet.tensor(2)), m.entropy()
    (tensor(-0.6931), tensor(1.0397))
    """
    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    has_enumerate_support = True
    _binary = False
    _state = {"_num_events": None}

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        parameter = logits if probs is None else probs
        if parameter.ndim < 1:
            raise ValueError(
                f"`{'logits' if probs is None else 'probs'}` parameter must be at least "
                "one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = parameter.shape[-1]
        super().__init__(parameter.shape[:-1], validate_args=validate_args)

    @c.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return c.integer_interval(0, self._num_events - 1)

    mean = property(lambda self: self.probs.new_full(self._batch_shape, math.nan))
    mode = property(lambda self: self.probs.argmax(-1))
    variance = property(lambda self: self.probs.new_full(self._batch_shape, math.nan))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        n = math.prod((sample_shape,) if isinstance(sample_shape, int) else sample_shape)
        with whet.no_grad():
            rows = whet.multinomial(self.probs.reshape(-1, self._num_events), n, True)
            return rows.t().reshape(shape)

    def log_prob(self, value):
        self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, logits = whet.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=whet.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return _enumerated(whet.arange(self._num_events, device=self._param.device),
                           self._batch_shape, expand)


class _OfCategorical(Distribution):
    """A vector with an entry for each of the things that a categorical distribution chooses
    from."""
    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    _state: dict = {"_categorical": None}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args)
        # the parameters have been checked there
        super().__init__(self._categorical.batch_shape,
                         self._categorical.param_shape[-1:],
                         validate_args=False)
        self._validate_args = self._categorical._validate_args

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
    _param = property(lambda self: self._categorical._param)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(_OfCategorical):
    """A categorical distribution whose samples are vectors with a single 1.

    >>> import whet
    >>> whet.distributions.OneHotCategorical(whet.tensor([0.25, 0.75])).sample().sum()
    tensor(1.)
    """
    support = c.one_hot
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        return whet.nn.functional.one_hot(self.probs.argmax(-1),
                                          self._event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape=()):
        return whet.nn.functional.one_hot(self._categorical.sample(sample_shape),
                                          self._event_shape[0]).to(self.probs.dtype)

    def log_prob(self, value):
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        shape = (n,) + (1,) * len(self._batch_shape) + (n,)
        values = whet.eye(n, dtype=self.probs.dtype, device=self.probs.device).reshape(shape)
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A `OneHotCategorical` whose samples have the gradient of the probabilities.

    >>> import whet
    >>> whet.distributions.OneHotCategoricalStraightThrough(whet.ones(3)).rsample().sum()
    tensor(1.)
    """
    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OfCategorical):
    """How often each of several things comes up in `total_count` draws.

    >>> import whet
    >>> whet.distributions.Multinomial(4, whet.tensor([0.25, 0.75])).sample().sum()
    tensor(4.)
    """
    _state = {"_categorical": None, "total_count": None}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        if self._validate_args and total_count < 0:
            raise ValueError(
                "Expected parameter total_count of distribution Multinomial to satisfy "
                f"{c.nonnegative_integer}, but found {total_count}")

    @c.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return c.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        sample_shape = Size((sample_shape,) if isinstance(sample_shape, int) else sample_shape)
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return whet.nn.functional.one_hot(drawn, self._event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = whet.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return ((value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) +
                (logits * value).sum(-1))

    def entropy(self):
        n = self.probs.new_tensor(float(self.total_count))
        counts = Binomial(self.total_count, self.probs)
        values = counts.enumerate_support(False)[1:]
        inner = (counts.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return self.total_count * self._categorical.entropy() - (n + 1).lgamma() + inner


# ---- relaxed -------------------------------------------------------------------------------------
class LogitRelaxedBernoulli(ProbsOrLogits):
    """The log-odds of a Bernoulli number that is not quite 0 or 1."""
    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.real
    has_rsample = True
    _state = {"temperature": None}

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        p, u = clamp_probs(self.probs.expand(shape)), clamp_probs(rand(shape, self._param))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        d = logits - value * self.temperature
        temperature = (self.temperature
                       if isinstance(self.temperature, Tensor) else whet.tensor(self.temperature))
        return temperature.log() + d - 2 * d.exp().log1p()


class ExpRelaxedCategorical(_OfCategorical):
    """The logarithm of a one-hot vector that is not quite one."""
    support = c.real_vector
    has_rsample = True
    _state = {"_categorical": None, "temperature": None}

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape=()):
        u = clamp_probs(rand(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        k = self._event_shape[0]
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = (self.temperature if isinstance(self.temperature, Tensor) else whet.tensor(
            self.temperature, dtype=logits.dtype))
        scale = math.lgamma(k) + (k - 1) * temperature.log()
        score = logits - value * temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + scale
