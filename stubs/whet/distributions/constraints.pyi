# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.tensor import Tensor
from whet.types import Dims


boolean: Constraint
circular: _Interval
corr_cholesky: Constraint
dependent: Constraint
lower_cholesky: Constraint
lower_triangular: Constraint
nonnegative: _GreaterThanEq
nonnegative_integer: Constraint
one_hot: Constraint
positive: _GreaterThan
positive_definite: Constraint
positive_integer: Constraint
positive_semidefinite: Constraint
real: Constraint
real_vector: _IndependentConstraint
simplex: Constraint
square: Constraint
symmetric: Constraint
unit_interval: _Interval
def is_dependent(constraint: Constraint) -> bool: """Does it depend on other parameters?"""

class Constraint:
    """A region. `event_dim` dimensions of a tensor make one value."""
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture: a value lies in the region of every component."""
    base_constraint: Constraint
    def __init__(self, base_constraint: Constraint) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class _IndependentConstraint(Constraint):
    """A region of values that are made of `reinterpreted_batch_ndims` more dimensions."""
    base_constraint: Constraint
    reinterpreted_batch_ndims: int
    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class _Multinomial(Constraint):
    """Vectors of counts that sum up to at most a bound."""
    upper_bound: float | Tensor
    def __init__(self, upper_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class _Cat(Constraint):
    """Regions beside each other along a dimension, `lengths` long."""
    cseq: Sequence[Constraint]
    dim: Dims
    lengths: Sequence[int] | None
    def __init__(self, cseq: Sequence[Constraint], dim: Dims = 0, lengths: Sequence[int] | None = None) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class _Stack(Constraint):
    """Regions of the slices along a dimension."""
    cseq: Sequence[Constraint]
    dim: Dims
    def __init__(self, cseq: Sequence[Constraint], dim: Dims = 0) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class _DependentProperty(property, Constraint):
    """A property whose value is the constraint of an instance."""
    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: bool = ..., event_dim: int = ...) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    event_dim: int
    is_discrete: bool

class _GreaterThan(Constraint):
    """Numbers above a bound."""
    lower_bound: float | Tensor
    def __init__(self, lower_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class _GreaterThanEq(Constraint):
    """Numbers from a bound on."""
    lower_bound: float | Tensor
    def __init__(self, lower_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class _HalfOpenInterval(Constraint):
    """Numbers between two bounds, without the upper."""
    lower_bound: float | Tensor
    upper_bound: float | Tensor
    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class _IntegerInterval(Constraint):
    """Whole numbers between two bounds, these included."""
    lower_bound: float | Tensor
    upper_bound: float | Tensor
    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
    is_discrete: bool

class _Interval(Constraint):
    """Numbers between two bounds, these included."""
    lower_bound: float | Tensor
    upper_bound: float | Tensor
    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""

class _LessThan(Constraint):
    """Numbers below a bound."""
    upper_bound: float | Tensor
    def __init__(self, upper_bound: float | Tensor) -> None: ...
    def check(self, value: Any) -> Tensor: """True for each value that lies within."""
cat = _Cat
dependent_property = _DependentProperty
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
half_open_interval = _HalfOpenInterval
independent = _IndependentConstraint
integer_interval = _IntegerInterval
interval = _Interval
less_than = _LessThan
multinomial = _Multinomial
stack = _Stack
