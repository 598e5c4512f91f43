"""The recorded graph, for those who look into it."""
import contextlib
import threading
import weakref
from typing import Any

from ..tensor_base import Base, NativeNode
from . import modes
from .hooks import RemovableHandle
from .inplace import edge_of
from .modes import saved_tensors_hooks
from .mutation_of_saved_tensors import allow_mutation_on_saved_tensors
from .node import GradientEdge, in_full
from .node import Node as _Node


class _KindsOfNodes(type):
    """Machine code makes nodes of a type of its own for calls that are repeated."""

    def __instancecheck__(cls, x):
        return isinstance(x, _Node) or NativeNode is not None and isinstance(x, NativeNode)

    def __subclasscheck__(cls, other):
        return (issubclass(other, _Node)
                or NativeNode is not None and issubclass(other, NativeNode))


class Node(_Node, metaclass=_KindsOfNodes):
    """What made a tensor, `y.grad_fn`: one recorded call of an op.

    >>> import whet
    >>> y = whet.ones(2, requires_grad=True).exp()
    >>> y.grad_fn.name(), isinstance(y.grad_fn, whet.autograd.graph.Node)
    ('ExpBackward0', True)
    """
    __slots__ = ()


def get_gradient_edge(tensor):
    """Where the gradient of `tensor` flows to. `autograd.backward` and `grad` start from such
    edges, too.

    >>> import whet
    >>> x = whet.tensor(2.0, requires_grad=True)
    >>> edge = whet.autograd.graph.get_gradient_edge(x * x)
    >>> whet.autograd.grad(edge, x)
    (tensor(4.),)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients")
    from .accumulate import AccumulateGrad
    fn = tensor.grad_fn
    edge = GradientEdge(
        AccumulateGrad(tensor) if fn is None else fn, tensor.output_nr, in_full(edge_of(tensor)))
    edge.outline = tensor.shape, tensor.dtype, tensor.device
    return edge


def increment_version(tensor):
    """Say that a tensor (or each of several) was written to by code that whet cannot see.

    >>> import whet
    >>> x = whet.ones(2)
    >>> whet.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if hasattr(tensor, "_array") else tensor:
        t._bump("increment_version")


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, `saved_tensors_hooks` raises an error that says this.

    >>> import whet
    >>> with whet.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     try:
    ...         with whet.autograd.graph.saved_tensors_hooks(id, id):
    ...             pass
    ...     except RuntimeError as e:
    ...         print(e)
    not here
    """
    if modes.state.saved_hooks:
        raise RuntimeError(error_message)
    before = modes.state.refuses_saved_hooks
    modes.state.refuses_saved_hooks = error_message
    try:
        yield
    finally:
        modes.state.refuses_saved_hooks = before


class _MultiHandle(RemovableHandle):
    """What takes a hook of several tensors out again."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


def _no_walk():
    """No backward was seen yet."""


class _Gathered:
    """The gradients of several tensors, as they come in one backward."""

    def __init__(self, tensors, fn):
        self.edges = [in_full(edge_of(t)) for t in tensors]
        self.fn, self.lock = fn, threading.Lock()
        self.walk: Any = _no_walk             # a reference that keeps no graph alive
        self.gradients: list = []
        self.left = 0

    def hook(self, i):
        def hook(g):
            with self.lock:
                if self.walk() is not modes.state.walk:
                    self.begin()
                self.gradients[i] = g
                self.left -= 1
                complete = not self.left
            if complete:
                self.fn(self.gradients)
        return hook

    def begin(self):
        walk: Any = modes.state.walk
        self.walk = weakref.ref(walk)
        nodes = set(walk.nodes) if walk.needed is None else walk.needed
        leaves = {id(e) for n in nodes for e in n.edges if isinstance(e, Base)}
        leaves = leaves if walk.targets is None else leaves & walk.targets.keys()
        self.gradients = [None] * len(self.edges)
        self.left = sum(
            id(e) in leaves if isinstance(e, Base) else e in nodes for e in self.edges)


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call `fn` once in each backward: with the gradients of all the tensors when the last of them
    has come (None for one that the backward does not reach), or, where the mode is "any", with the
    first.

    >>> import whet
    >>> a, b = whet.ones(2, requires_grad=True), whet.ones(2, requires_grad=True)
    >>> handle = whet.autograd.graph.register_multi_grad_hook((a, b), lambda gs: print(len(gs)))
    >>> (a * b).sum().backward()
    2
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    if mode == "all":
        gathered = _Gathered(tensors, fn)
        return _MultiHandle([t.register_hook(gathered.hook(i)) for i, t in enumerate(tensors)])
    lock = threading.Lock()
    seen: list[Any] = [_no_walk]

    def first(g):
        walk: Any = modes.state.walk
        with lock:
            again, seen[0] = seen[0]() is walk, weakref.ref(walk)
        if not again:
            fn(g)
    return _MultiHandle([t.register_hook(first) for t in tensors])


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in CPU memory. CPU tensors are there already.

    >>> import whet
    >>> x = whet.tensor([3.0], requires_grad=True)
    >>> with whet.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda x: x, lambda x: x)


__all__ = [
    "GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]
