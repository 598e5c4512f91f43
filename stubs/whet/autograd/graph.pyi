# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import NamedTuple
from whet.tensor import Tensor
from whet.autograd.node import Node as Node
from whet.utils.hooks import RemovableHandle as RemovableHandle
from whet.autograd.modes import saved_tensors_hooks as saved_tensors_hooks


def get_gradient_edge(tensor: Tensor) -> GradientEdge: """Where the gradient of `tensor` flows to."""

class GradientEdge(NamedTuple):
    """A node and the number of one of its outputs."""
    node: Node
    output_nr: int

class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory (where they are already)."""
    def __init__(self, pin_memory: bool = False, device_type: str = 'cuda') -> None: ...
