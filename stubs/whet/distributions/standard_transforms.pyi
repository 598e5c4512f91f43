# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any
from whet.distributions.constraints import Constraint
from whet.distributions.distribution import Distribution
from whet.distributions.transform import Transform
from whet.size import Size
from whet.tensor import Tensor
from whet.types import Dims, Shape

class AbsTransform(Transform):
    """y = |x|"""

class AffineTransform(Transform):
    """y = loc + scale * x"""
    loc: Tensor
    scale: Tensor
    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None: ...
    bijective: bool
    codomain: Constraint
    domain: Constraint
    event_dim: int
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int

class CorrCholeskyTransform(Transform):
    bijective: bool
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of x."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""

class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution."""
    distribution: Distribution
    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None: ...
    bijective: bool
    domain: Constraint
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int

class LowerCholeskyTransform(Transform):
    """Matrices as lower triangles of a positive diagonal."""

class PositiveDefiniteTransform(Transform):
    """Matrices as positive definite ones."""

class PowerTransform(Transform):
    """y = x ** exponent"""
    exponent: Tensor | float
    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None: ...
    bijective: bool
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int

class SoftmaxTransform(Transform):
    """Vectors as fractions; of many vectors one."""
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of f(x)."""

class StickBreakingTransform(Transform):
    """Vectors as fractions of what those before them left, with one number more."""
    bijective: bool
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of x."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""

class CatTransform(Transform):
    """Transforms of parts beside each other along a dimension, `lengths` long."""
    transforms: Any
    dim: Dims
    lengths: Sequence[int] | None
    def __init__(self, tseq: Sequence[Transform], dim: Dims = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None: ...
    bijective: bool
    codomain: Constraint
    domain: Constraint
    event_dim: int
    length: int
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""

class ExpTransform(Transform):
    """y = exp(x)"""
    bijective: bool
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int

class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))"""
    bijective: bool
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int

class SoftplusTransform(Transform):
    """y = log(1 + exp(x))"""
    bijective: bool
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int

class StackTransform(Transform):
    """Transforms of the slices along a dimension."""
    transforms: Any
    dim: Dims
    def __init__(self, tseq: Sequence[Transform], dim: Dims = 0, cache_size: int = 0) -> None: ...
    bijective: bool
    codomain: Constraint
    domain: Constraint
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""

class TanhTransform(Transform):
    """y = tanh(x)"""
    bijective: bool
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int
