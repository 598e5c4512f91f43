# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.distributions.distribution import Distribution
from whet.tensor import Tensor

class ExponentialFamily(Distribution):
    def entropy(self) -> Tensor: """The entropy, from the normaliser and its gradient."""
