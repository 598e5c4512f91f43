# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any

class Function:
    """A differentiable function with a backward of your own."""
    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any: """Run the function."""
    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any: ...
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any: ...
    @staticmethod
    def vjp(ctx: Any, *grads: Any) -> Any: ...
