# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Self
from whet.distributions.constraints import Constraint
from whet.size import Size
from whet.tensor import Tensor
from whet.types import Scalar, Shape

class Distribution:
    """A batch of distributions (`batch_shape`), whose samples have `event_shape` each."""
    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[str, Constraint]
    batch_shape: Size
    def cdf(self, value: Tensor) -> Tensor: """The probability of at most this value."""
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    event_shape: Size
    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self: """The same distribution for a larger batch."""
    has_enumerate_support: bool
    has_rsample: bool
    def icdf(self, value: Tensor) -> Tensor: """The inverse of `cdf`."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def perplexity(self) -> Tensor: """exp(entropy)"""
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    def sample_n(self, n: int) -> Tensor: """n samples."""
    @staticmethod
    def set_default_validate_args(value: Scalar) -> None: ...
    stddev: Tensor
    support: Constraint
    variance: Tensor
