# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from contextlib import AbstractContextManager
from typing import Any, Callable, Iterable
from whet.tensor import Tensor
from whet.autograd.node import GradientEdge as GradientEdge
from whet.utils.hooks import RemovableHandle as RemovableHandle
from whet.autograd.modes import saved_tensors_hooks as saved_tensors_hooks


def allow_mutation_on_saved_tensors() -> AbstractContextManager[Any]: ...
def disable_saved_tensors_hooks(error_message: str) -> AbstractContextManager[None]: """Inside, `saved_tensors_hooks` raises an error that says this."""
def get_gradient_edge(tensor: Tensor) -> GradientEdge: """Where the gradient of `tensor` flows to. `autograd.backward` and `grad` start from such edges, too."""
def increment_version(tensor: Tensor | Iterable[Tensor]) -> None: """Say that a tensor (or each of several) was written to by code that whet cannot see."""
def register_multi_grad_hook(tensors: Iterable[Tensor], fn: Callable[..., Any], *, mode: str = 'all') -> RemovableHandle: ...

class Node:
    """What made a tensor, `y.grad_fn`: one recorded call of an op."""
    @property
    def metadata(self) -> dict[str, Any]: """A dict in which users may keep what they like."""
    def name(self) -> str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: """The nodes (with output numbers) that gradients flow to."""
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle: """Call `fn(grad_inputs, grad_outputs)` after this node ran; what it returns replaces grad_inputs."""
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle: """Call `fn(grad_outputs)` before this node runs; what it returns replaces grad_outputs."""
    def __call__(self, *gradients: Tensor | None) -> Any: ...

class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in CPU memory. CPU tensors are there already."""
    def __init__(self, pin_memory: bool = False, device_type: str = 'cuda') -> None: ...
