# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.tensor import Tensor

class Variable:
    """A tensor, as older programs ask for one."""
    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Tensor: ...
