"""Hooks of tensors and nodes, and the one that retains a gradient."""
import weakref

from ..utils.hooks import Hooks, RemovableHandle

__all__ = [
    "Hooks", "KeepGradient", "RemovableHandle", "check_count", "move_retained", "retain_at"]


def check_count(hook, found, expected):
    """Raise if a hook returned more or fewer gradients than it was given."""
    if len(found) != len(expected):
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', type(hook).__name__)}' has returned an incorrect "
            f"number of values (got {len(found)}, but expected {len(expected)})")


class KeepGradient:
    """The hook of a tensor that retains its gradient."""
    __slots__ = ("tensor",)
    turn = 1

    def __init__(self, t):
        self.tensor = weakref.ref(t)

    def __call__(self, g):
        t = self.tensor()
        if t is not None:
            t._grad = g.detach().clone() if t._grad is None else t._grad + g


def retain_at(t, edge):
    """Let `t` keep the gradient that comes to the edge."""
    if edge.pre_hooks is None:
        edge.pre_hooks = Hooks()
    edge.pre_hooks.add(KeepGradient(t))


def move_retained(t, before, after):
    """Let `t` keep the gradient that comes to another edge than before."""
    hooks = before.pre_hooks or {}
    for k, hook in list(hooks.items()):
        if type(hook) is KeepGradient and hook.tensor() is t:
            del hooks[k]
    retain_at(t, after)
