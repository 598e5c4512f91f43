# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable
from whet.distributions.constraints import Constraint
from whet.distributions.transform import Transform

class ConstraintRegistry:
    def __init__(self, otherwise: Callable[[Constraint], Transform]) -> None: ...
    def register(self, constraint: Constraint | type[Constraint], factory: Callable[[Any], Transform] | None = None) -> Any: ...
