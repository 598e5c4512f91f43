# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.distributions.constraints import Constraint
from whet.distributions.distribution import Distribution
from whet.distributions.exp_family import ExponentialFamily
from whet.tensor import Tensor
from whet.types import Shape

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

class MultivariateNormal(Distribution):
    """Normal vectors, of a covariance that is given as such, by its inverse, or by its Cholesky factor."""
    loc: Tensor
    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
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

class Wishart(ExponentialFamily):
    """Covariances of `df` normal vectors, times `df`."""
    df: Tensor
    def __init__(self, df: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[str, Constraint]
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
