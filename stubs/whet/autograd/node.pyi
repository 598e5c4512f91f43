# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, NamedTuple
from whet.tensor import Tensor
from whet.utils.hooks import RemovableHandle

class Node:
    """One recorded call of an op."""
    def name(self) -> str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: """The nodes (with output numbers) that gradients flow to."""
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle: """Call `fn(grad_inputs, grad_outputs)` after this node ran; what it returns replaces grad_inputs."""
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle: """Call `fn(grad_outputs)` before this node runs; what it returns replaces grad_outputs."""
    def __call__(self, *gradients: Tensor | None) -> Any: ...

class GradientEdge(NamedTuple):
    """A node and the number of one of its outputs."""
    node: Node
    output_nr: int
    ownership_token: Tensor
