# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Self
from whet.distributions.base import Distribution, ExponentialFamily
from whet.distributions.constraints import Constraint
from whet.distributions.discrete import Categorical
from whet.tensor import Tensor
from whet.types import Shape

class Independent(Distribution):
    """A distribution whose last batch dimensions count as part of one value."""
    base_dist: Any
    reinterpreted_batch_ndims: int
    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self: """The same distribution for a larger batch."""
    has_enumerate_support: bool
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor

class LKJCholesky(Distribution):
    dim: int
    concentration: Tensor
    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None: ...
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    def sample(self, sample_shape: Shape = ()) -> Tensor: """The onion method: a row at a time, its length a beta number and its direction uniform."""

class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance W @ W.T + D, with few columns in W and a diagonal D."""
    loc: Tensor
    cov_diag: Tensor
    cov_factor: Tensor
    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None: ...
    covariance_matrix: Tensor
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    precision_matrix: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    scale_tril: Tensor
    variance: Tensor

class MixtureSameFamily(Distribution):
    """One of several distributions of a kind (along the last batch dimension), chosen by a `Categorical`."""
    mixture_distribution: Categorical
    component_distribution: Distribution
    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self: """The same distribution for a larger batch."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor

class MultivariateNormal(Distribution):
    """Normal vectors, of a covariance that is given as such, by its inverse, or by its Cholesky factor."""
    loc: Tensor
    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class Dirichlet(ExponentialFamily):
    """Fractions that sum up to 1: gamma numbers over their sum."""
    concentration: Tensor
    def __init__(self, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor

class Wishart(ExponentialFamily):
    """Covariances of `df` normal vectors, times `df`."""
    df: Tensor
    def __init__(self, df: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
    covariance_matrix: Tensor
    def entropy(self) -> Tensor: """The entropy."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    precision_matrix: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    scale_tril: Tensor
    variance: Tensor
