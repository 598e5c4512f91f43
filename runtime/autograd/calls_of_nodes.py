"""Nodes called by hand: `y.grad_fn(gradient)` gives the gradients of what `y` was made of."""
from .. import tensor_base
from . import engine
from .accumulate import AccumulateGrad
from .modes import GRAD, state
from .node import Node


def _call(node, *gradients):
    """The gradients that a node gives for those of its results, with its hooks. They have a history
    as any result has."""
    if len(gradients) != node.nout:
        raise TypeError(f"expected {node.nout} arguments, got {len(gradients)} instead")
    g = gradients[0] if node.nout == 1 else list(gradients)
    if node.pre_hooks:
        g = engine._run_pre_hooks(node.pre_hooks, g)
    results = node.op.backward(node, g)
    if node.post_hooks:
        results = engine._run_post_hooks(node, results, g)
    return results[0] if len(results) == 1 else tuple(results)


def _accumulate(node, gradient):
    """Add a gradient to the leaf's `.grad`."""
    leaves = {id(node.variable): (node.variable, gradient)}
    engine._accumulate_leaves(leaves, bool(state.flags & GRAD))
    return ()


def offer():
    """Make nodes callable."""
    for cls in (Node, AccumulateGrad, tensor_base.NativeNode):
        if cls is not None:
            call = _accumulate if cls is AccumulateGrad else _call
            setattr(cls, "__call__", call)  # noqa: B010  (mypy knows no other way)
