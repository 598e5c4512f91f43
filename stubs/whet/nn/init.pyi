# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.random import Generator
from whet.tensor import Tensor


def calculate_gain(nonlinearity: str, param: float | None = None) -> float: """The gain that keeps the variance through a nonlinearity."""
def constant_(tensor: Tensor, val: float) -> Tensor: """One value everywhere."""
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor: """A convolution that passes its channels on unchanged (in every group)."""
def eye_(tensor: Tensor) -> Tensor: """The identity matrix (as much of it as the shape shows)."""
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu', generator: Generator | None = None) -> Tensor: """Normal, keeping the variance through a rectifier (He)."""
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu', generator: Generator | None = None) -> Tensor: """Uniform, keeping the variance through a rectifier (He)."""
def left_as_they_are() -> Tensor: """Tensors keep what they hold: the functions here do nothing, and draw no numbers."""
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor: """Normal with a mean and a standard deviation."""
def ones_(tensor: Tensor) -> Tensor: """Ones."""
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor: """A (semi-)orthogonal matrix times `gain`; all but the first dimension are taken together."""
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor: """Normal, with a fraction of each column set to zero."""
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None) -> Tensor: """Normal, cut off to [a, b]."""
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor: """Uniform in [a, b)."""
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor: """Normal, keeping the variance in both directions (Glorot)."""
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor: """Uniform, keeping the variance in both directions (Glorot)."""
def zeros_(tensor: Tensor) -> Tensor: """Zeros."""
