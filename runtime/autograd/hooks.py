"""Handles of registered hooks."""
import itertools

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
