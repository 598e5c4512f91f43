"""Registered hooks, and the handles that take them out again."""
import itertools
import weakref
from collections import OrderedDict

_next_id = itertools.count().__next__


class RemovableHandle:
    """What a `register_..._hook` returns; `remove()` takes the hook out again. Usable as a
    context manager.

    >>> import whet
    >>> layer = whet.nn.Linear(2, 2)
    >>> handle = layer.register_forward_hook(lambda module, args, output: output * 0)
    >>> handle.id in layer._forward_hooks
    True
    >>> handle.remove()
    >>> len(layer._forward_hooks)
    0
    """

    def __init__(self, hooks_dict, *, extra_dict=()):
        self.id = _next_id()
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        also = (extra_dict,) if isinstance(extra_dict, dict) else extra_dict or ()
        self.extra_dict_ref = tuple(weakref.ref(hooks) for hooks in also)

    def remove(self):
        """Take the hook away (a second call does nothing)."""
        for place in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = place()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(place() for place in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, also = state
        self.hooks_dict_ref = weakref.ref(Hooks() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(Hooks() if h is None else h) for h in also)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class Hooks(OrderedDict):
    """Hooks in the order they run, by handle id."""

    def add(self, hook, *also, prepend=False):
        """Register a hook; `also` are dicts of further facts about it, keyed alike. Returns its
        handle."""
        handle = RemovableHandle(self, extra_dict=also)
        self[handle.id] = hook
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle
