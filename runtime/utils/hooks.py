"""Handles of registered hooks."""
import itertools
import weakref

_next_id = itertools.count().__next__


class RemovableHandle:
    """What a `register_..._hook` returns; `remove()` takes the hook out again. Usable as a
    context manager."""

    def __init__(self, hooks, *also):
        self.id = _next_id()
        self._places = [weakref.ref(h) for h in (hooks, *also)]

    def remove(self):
        for place in self._places:
            hooks = place()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.id, [place() for place in self._places]

    def __setstate__(self, state):
        self.id, places = state
        self._places = [weakref.ref(Hooks() if hooks is None else hooks) for hooks in places]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class Hooks(dict):
    """Hooks in the order they run, by handle id (a dict that a handle can refer to weakly)."""
    __slots__ = ("__weakref__",)

    def add(self, hook, *also, prepend=False):
        """Register a hook; `also` are sets of further facts about it, keyed alike. Returns its
        handle."""
        handle = RemovableHandle(self, *also)
        if prepend:
            rest = dict(self)
            self.clear()
            self[handle.id] = hook
            self.update(rest)
        else:
            self[handle.id] = hook
        return handle
