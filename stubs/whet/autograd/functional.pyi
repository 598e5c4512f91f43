# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.tensor import Tensor


def hessian(func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], create_graph: bool = False, strict: bool = False, vectorize: bool = False, outer_jacobian_strategy: str = 'reverse-mode') -> Any: """The second derivatives of a function that returns one number."""
def hvp(func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]: """(output, H v) of a function that returns one number: the same as `vhp`, H being symmetric."""
def jacobian(func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = 'reverse-mode') -> Any: ...
def jvp(func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]: """(outputs, J v): the derivative of the outputs in the direction `v`, as the gradient of a gradient."""
def vhp(func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]: """(output, v^T H) of a function that returns one number."""
def vjp(func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]: """(outputs, v^T J): the gradient of the outputs, weighted by `v`."""
