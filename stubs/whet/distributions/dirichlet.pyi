# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.distributions.exp_family import ExponentialFamily
from whet.tensor import Tensor
from whet.types import Shape

class Beta(ExponentialFamily):
    """Fractions: one gamma number of the sum of two."""
    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None: ...
    concentration0: Tensor
    concentration1: Tensor
    def entropy(self) -> Tensor: """The entropy, from the normaliser and its gradient."""
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
    def entropy(self) -> Tensor: """The entropy, from the normaliser and its gradient."""
    has_rsample: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    variance: Tensor
