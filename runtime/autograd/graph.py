"""The recorded graph, for those who look into it."""
from typing import NamedTuple

from .hooks import RemovableHandle
from .modes import saved_tensors_hooks
from .node import Node


class GradientEdge(NamedTuple):
    """A node and the number of one of its outputs."""
    node: object
    output_nr: int


def get_gradient_edge(tensor):
    """Where the gradient of `tensor` flows to."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients")
    from .accumulate import AccumulateGrad
    fn = tensor.grad_fn
    return GradientEdge(AccumulateGrad(tensor) if fn is None else fn, tensor.output_nr)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory (where they are already)."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda x: x, lambda x: x)


__all__ = [
    "GradientEdge", "Node", "RemovableHandle", "get_gradient_edge", "save_on_cpu",
    "saved_tensors_hooks"]
