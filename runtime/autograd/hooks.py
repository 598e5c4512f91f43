"""Handles of registered hooks, and the hook that retains a gradient."""
import itertools
import weakref

_ids = itertools.count()


class RemovableHandle:
    """What a `register_..._hook` returns: `handle.remove()` takes the hook away (also as a
    context manager)."""
    __slots__ = ("hooks", "id", "__weakref__")

    def __init__(self, hooks):
        self.hooks, self.id = hooks, next(_ids)

    def remove(self):
        """Take the hook away (a second call does nothing)."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add_hook(hooks, fn):
    """Put `fn` into a dict of hooks; the handle that removes it."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = fn
    return handle


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
        edge.pre_hooks = {}
    add_hook(edge.pre_hooks, KeepGradient(t))


def move_retained(t, before, after):
    """Let `t` keep the gradient that comes to another edge than before."""
    hooks = before.pre_hooks or {}
    for k, hook in list(hooks.items()):
        if type(hook) is KeepGradient and hook.tensor() is t:
            del hooks[k]
    retain_at(t, after)
