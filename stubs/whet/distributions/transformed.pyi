# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any
from whet.distributions.constraints import Constraint
from whet.distributions.distribution import Distribution
from whet.distributions.transform import Transform
from whet.tensor import Tensor
from whet.types import Shape

class TransformedDistribution(Distribution):
    """The distribution of f(x), x being of `base_distribution`."""
    transforms: Transform | Sequence[Transform]
    base_dist: Any
    def __init__(self, base_distribution: Distribution, transforms: Transform | Sequence[Transform], validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint

class Gumbel(TransformedDistribution):
    """The distribution of the largest of many numbers: -log(-log(u)), scaled and moved."""
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
    stddev: Tensor
    variance: Tensor

class InverseGamma(TransformedDistribution):
    """1 / a gamma number."""
    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    concentration: Tensor
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    mean: Tensor
    mode: Tensor
    rate: Tensor
    variance: Tensor

class Kumaraswamy(TransformedDistribution):
    """Like a beta distribution, with a distribution function that is a formula."""
    concentration1: Tensor
    concentration0: Tensor
    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    mean: Tensor
    mode: Tensor
    variance: Tensor

class LogNormal(TransformedDistribution):
    """exp of a normal number."""
    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    loc: Tensor
    mean: Tensor
    mode: Tensor
    scale: Tensor
    variance: Tensor

class LogisticNormal(TransformedDistribution):
    """Fractions that are a normal vector, broken off a stick."""
    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    has_rsample: bool
    loc: Tensor
    scale: Tensor

class Pareto(TransformedDistribution):
    """scale * exp(x / alpha), x being exponential."""
    scale: Tensor
    alpha: Tensor | float
    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    mean: Tensor
    mode: Tensor
    support: Constraint
    variance: Tensor

class Weibull(TransformedDistribution):
    """A power of an exponential number, scaled."""
    scale: Tensor
    concentration: Tensor
    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    mean: Tensor
    mode: Tensor
    variance: Tensor

class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy number."""
    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, prob: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    scale: Tensor
    variance: Tensor

class HalfNormal(TransformedDistribution):
    """The absolute value of a normal number."""
    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def icdf(self, prob: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    scale: Tensor
    variance: Tensor

class RelaxedBernoulli(TransformedDistribution):
    """A Bernoulli number that is not quite 0 or 1, so that gradients flow."""
    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    has_rsample: bool
    logits: Tensor
    probs: Tensor
    temperature: Tensor

class RelaxedOneHotCategorical(TransformedDistribution):
    """A one-hot vector that is not quite one, so that gradients flow."""
    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    has_rsample: bool
    logits: Tensor
    probs: Tensor
    temperature: Tensor
