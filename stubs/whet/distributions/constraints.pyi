# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.tensor import Tensor
from whet.types import Dims


boolean: Constraint
circular: Constraint
corr_cholesky: Constraint
dependent: Constraint
lower_cholesky: Constraint
lower_triangular: Constraint
nonnegative: Constraint
nonnegative_integer: Constraint
one_hot: Constraint
positive: Constraint
positive_definite: Constraint
positive_integer: Constraint
positive_semidefinite: Constraint
real: Constraint
real_vector: independent
simplex: Constraint
square: Constraint
symmetric: Constraint
unit_interval: Constraint
def greater_than(lower_bound: float | Tensor) -> Constraint: """Numbers above a bound."""
def greater_than_eq(lower_bound: float | Tensor) -> Constraint: """Numbers from a bound on."""
def half_open_interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint: """Numbers between two bounds, without the upper."""
def integer_interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint: """Whole numbers between two bounds, these included."""
def interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint: """Numbers between two bounds, these included."""
def is_dependent(constraint: Constraint) -> bool: """Does it depend on other parameters?"""
def less_than(upper_bound: float | Tensor) -> Constraint: """Numbers below a bound."""
def multinomial(upper_bound: float | Tensor) -> Constraint: """Vectors of counts that sum up to at most a bound."""

class Constraint:
    """A region. `event_dim` dimensions of a tensor make one value."""
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class cat(Constraint):
    """Regions beside each other along a dimension, `lengths` long."""
    cseq: Sequence[Constraint]
    dim: Dims
    lengths: Sequence[int] | None
    is_discrete: bool
    event_dim: Any
    def __init__(self, cseq: Sequence[Constraint], dim: Dims = 0, lengths: Sequence[int] | None = None) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class independent(Constraint):
    """A region of values that are made of `reinterpreted_batch_ndims` more dimensions."""
    base_constraint: Constraint
    reinterpreted_batch_ndims: int
    is_discrete: bool
    event_dim: Any
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class stack(Constraint):
    """Regions of the slices along a dimension."""
    cseq: Sequence[Constraint]
    dim: Dims
    is_discrete: bool
    event_dim: Any
    def __init__(self, cseq: Sequence[Constraint], dim: Dims = 0) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class dependent_property(property, Constraint):
    """A property whose value is the constraint of an instance."""
    is_discrete: bool
    event_dim: int
    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: bool = False, event_dim: int = 0) -> None: ...
