# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.random import Generator
from whet.tensor import Tensor


def calculate_gain(nonlinearity: str, param: float | None = None) -> float: """The gain that keeps the variance through a nonlinearity."""
def constant(*args: Any, **kwargs: Any) -> Tensor: """The old name of `constant_`."""
def constant_(tensor: Tensor, val: float) -> Tensor: """One value everywhere."""
def dirac(*args: Any, **kwargs: Any) -> Tensor: """The old name of `dirac_`."""
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor: """A convolution that passes its channels on unchanged (in every group)."""
def eye(*args: Any, **kwargs: Any) -> Tensor: """The old name of `eye_`."""
def eye_(tensor: Tensor) -> Tensor: """The identity matrix (as much of it as the shape shows)."""
def kaiming_normal(*args: Any, **kwargs: Any) -> Tensor: """The old name of `kaiming_normal_`."""
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu', generator: Generator | None = None) -> Tensor: """Normal, keeping the variance through a rectifier (He)."""
def kaiming_uniform(*args: Any, **kwargs: Any) -> Tensor: """The old name of `kaiming_uniform_`."""
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu', generator: Generator | None = None) -> Tensor: """Uniform, keeping the variance through a rectifier (He)."""
def left_as_they_are() -> Tensor: """Tensors keep what they hold: the functions here do nothing, and draw no numbers."""
def normal(*args: Any, **kwargs: Any) -> Tensor: """The old name of `normal_`."""
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor: """Normal with a mean and a standard deviation."""
def ones_(tensor: Tensor) -> Tensor: """Ones."""
def orthogonal(*args: Any, **kwargs: Any) -> Tensor: """The old name of `orthogonal_`."""
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor: """A (semi-)orthogonal matrix times `gain`; all but the first dimension are taken together."""
def sparse(*args: Any, **kwargs: Any) -> Tensor: """The old name of `sparse_`."""
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor: """Normal, with a fraction of each column set to zero."""
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None) -> Tensor: """Normal, cut off to [a, b]."""
def uniform(*args: Any, **kwargs: Any) -> Tensor: """The old name of `uniform_`."""
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor: """Uniform in [a, b)."""
def xavier_normal(*args: Any, **kwargs: Any) -> Tensor: """The old name of `xavier_normal_`."""
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor: """Normal, keeping the variance in both directions (Glorot)."""
def xavier_uniform(*args: Any, **kwargs: Any) -> Tensor: """The old name of `xavier_uniform_`."""
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor: """Uniform, keeping the variance in both directions (Glorot)."""
def zeros_(tensor: Tensor) -> Tensor: """Zeros."""
