# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.distributions.constraints import Constraint
from whet.distributions.discrete import Categorical
from whet.distributions.distribution import Distribution
from whet.tensor import Tensor
from whet.types import Shape

class Independent(Distribution):
    """A distribution whose last batch dimensions count as part of one value."""
    base_dist: Any
    reinterpreted_batch_ndims: int
    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    has_enumerate_support: bool
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor

class MixtureSameFamily(Distribution):
    """One of several distributions of a kind (along the last batch dimension), chosen by a `Categorical`."""
    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None) -> None: ...
    def cdf(self, x: Tensor) -> Tensor: """The probability of at most this value."""
    component_distribution: Distribution
    has_rsample: bool
    def log_prob(self, x: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mixture_distribution: Categorical
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor
