# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable
from whet.distributions.constraints import Constraint
from whet.distributions.transform import Transform


biject_to: ConstraintRegistry
transform_to: ConstraintRegistry

class ConstraintRegistry:
    """The transform that belongs to a constraint: that of the function registered for its class."""
    def __init__(self) -> None: ...
    def register(self, constraint: Constraint | type[Constraint], factory: Callable[[Any], Transform] | None = None) -> Any: ...
    def __call__(self, constraint: Constraint) -> Transform: ...
