# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.distributions.constraints import Constraint
from whet.distributions.distribution import Distribution
from whet.distributions.exp_family import ExponentialFamily
from whet.size import Size
from whet.tensor import Tensor
from whet.types import Shape

class Binomial(Distribution):
    """The number of successes out of `total_count` tries."""
    total_count: Tensor | int
    def __init__(self, total_count: Tensor | int = 1, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    has_enumerate_support: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    mode: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor

class Categorical(Distribution):
    """A number from 0, with given probabilities (or weights) along the last dimension."""
    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    has_enumerate_support: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    mode: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor

class Geometric(Distribution):
    """How often it fails before it succeeds."""
    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    mode: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    variance: Tensor

class Multinomial(Distribution):
    """How often each of several things comes up in `total_count` draws."""
    total_count: int
    def __init__(self, total_count: int = 1, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    support: Constraint
    variance: Tensor

class NegativeBinomial(Distribution):
    """How many successes (of probability `probs`) come before `total_count` failures."""
    total_count: Tensor | float
    def __init__(self, total_count: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    mode: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    variance: Tensor

class OneHotCategorical(Distribution):
    """A categorical distribution whose samples are vectors with a single 1."""
    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    has_enumerate_support: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    mode: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    variance: Tensor

class Poisson(ExponentialFamily):
    """How often something happens that happens `rate` times on average."""
    rate: Tensor
    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    mean: Tensor
    mode: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    variance: Tensor

class Bernoulli(ExponentialFamily):
    """1 with a probability, else 0."""
    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: """The entropy."""
    def enumerate_support(self, expand: bool = True) -> Tensor: """All values of a discrete distribution."""
    has_enumerate_support: bool
    def log_prob(self, value: Tensor) -> Tensor: """The logarithm of the density (or probability) at a value."""
    logits: Tensor
    mean: Tensor
    mode: Tensor
    param_shape: Size
    probs: Tensor
    def sample(self, sample_shape: Shape = ()) -> Tensor: """A sample (of each in the batch), through which no gradient flows."""
    variance: Tensor

class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A `OneHotCategorical` whose samples have the gradient of the probabilities."""
    has_rsample: bool
    def rsample(self, sample_shape: Shape = ()) -> Tensor: """A sample as a function of the parameters and of noise, so that gradients flow."""
