# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Self
from whet.tensor import Tensor

class Variable(Tensor):
    """A tensor, as older programs ask for one."""
    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Self: ...
