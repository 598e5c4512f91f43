# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.distributions.constraints import Constraint
from whet.distributions.distribution import Distribution
from whet.distributions.exp_family import ExponentialFamily
from whet.size import Size
from whet.tensor import Tensor
from whet.types import Scalar, Shape

class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom."""
    df1: Tensor | float
    df2: Tensor | float
    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None: ...
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class GeneralizedPareto(Distribution):
    """What is above a threshold, in the limit of high ones."""
    loc: Tensor
    scale: Tensor
    concentration: Tensor
    def __init__(self, loc: Tensor | float, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_cdf(self, value: Scalar) -> Tensor: """The logarithm of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    def log_survival_function(self, value: Scalar) -> Tensor: """The logarithm of the probability of more than this value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    support: Constraint
    variance: Tensor

class StudentT(Distribution):
    """Student's t: a normal number over the root of a chi-squared one."""
    df: Tensor
    loc: Tensor
    scale: Tensor
    def __init__(self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class Uniform(Distribution):
    """Equally likely between `low` and `high`."""
    low: Tensor | float
    high: Tensor | float
    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[str, Constraint]
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    stddev: Tensor
    support: Constraint
    variance: Tensor

class VonMises(Distribution):
    """A normal distribution on the circle."""
    loc: Tensor
    concentration: Tensor
    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """Best and Fisher's method, all rounds at once."""
    variance: Tensor

class Cauchy(Distribution):
    """The distribution of the ratio of two normal numbers."""
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class Exponential(ExponentialFamily):
    """The time until what happens `rate` times in one unit of time."""
    rate: Tensor
    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy, from the normaliser and its gradient."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    stddev: Tensor
    variance: Tensor

class Gamma(ExponentialFamily):
    """Sums of exponential times, `concentration` of them."""
    concentration: Tensor
    rate: Tensor
    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy, from the normaliser and its gradient."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class Laplace(Distribution):
    """The distribution exp(-|x|) / 2, scaled and moved."""
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    stddev: Tensor
    variance: Tensor

class Chi2(Gamma):
    """The sum of `df` squared normal numbers."""
    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None: ...
    df: Tensor

class ContinuousBernoulli(ExponentialFamily):
    """A density on (0, 1) that is exponential in the value."""
    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    param_shape: Size
    probs: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class Normal(ExponentialFamily):
    """The normal distribution."""
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    stddev: Tensor
    variance: Tensor
