# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Self
from whet.distributions.constraints import Constraint
from whet.size import Size
from whet.tensor import Tensor
from whet.types import Shape

class Transform:
    """y = f(x) with an inverse."""
    domain: Constraint
    codomain: Constraint
    def __init__(self, cache_size: int = 0) -> None: ...
    bijective: bool
    event_dim: int
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    inv: Transform
    def inverse_shape(self, shape: Shape) -> Size: """The shape of x."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int
    def with_cache(self, cache_size: int = 1) -> Self: """This transform with another cache."""
    def __call__(self, x: Tensor) -> Tensor: ...

class ComposeTransform(Transform):
    """Transforms one after the other."""
    parts: list[Transform]
    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None: ...
    bijective: bool
    codomain: Constraint
    domain: Constraint
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    inv: Transform
    def inverse_shape(self, shape: Shape) -> Size: """The shape of x."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int
    def with_cache(self, cache_size: int = 1) -> Self: """This transform with another cache."""

class IndependentTransform(Transform):
    """A transform of which the last dimensions count as part of one value."""
    base_transform: Transform
    reinterpreted_batch_ndims: int
    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None: ...
    bijective: bool
    codomain: Constraint
    domain: Constraint
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of x."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
    sign: int
    def with_cache(self, cache_size: int = 1) -> Self: """This transform with another cache."""

class ReshapeTransform(Transform):
    """Values in another shape."""
    in_shape: Shape
    out_shape: Shape
    def __init__(self, in_shape: Shape, out_shape: Shape, cache_size: int = 0) -> None: ...
    bijective: bool
    codomain: Constraint
    domain: Constraint
    def forward_shape(self, shape: Shape) -> Size: """The shape of f(x)."""
    def inverse_shape(self, shape: Shape) -> Size: """The shape of x."""
    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor: """log |dy / dx|"""
