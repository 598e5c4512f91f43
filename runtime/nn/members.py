"""The ordered sets of names that say which attributes of a module are what, seen as mappings."""
from collections.abc import MutableMapping


class _Members(MutableMapping):
    """The parameters (or buffers, or submodules) of one module as a mapping that can be changed."""
    __slots__ = ("_names", "_attrs")

    def __init__(self, names, attrs):
        self._names, self._attrs = names, attrs

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._attrs[name]

    def __setitem__(self, name, value):
        self._names[name] = None
        self._attrs[name] = value

    def __delitem__(self, name):
        del self._names[name]
        self._attrs.pop(name, None)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return repr(dict(self))
