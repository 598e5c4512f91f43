"""The ordered sets of names that say which attributes of a module are what, seen as mappings; what
is said where something is assigned that is none of them."""
from collections.abc import MutableMapping

from .. import declared_for_tracing


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

    @declared_for_tracing.goes_by_no_size
    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return repr(dict(self))


def is_member(module, name):
    """Is this the name of a parameter, a buffer or a submodule?"""
    held = object.__getattribute__(module, "__dict__")
    return any(name in held.get(kind, ())
               for kind in ("_parameter_names", "_buffer_names", "_module_names"))


def asking_for_members(self, name):
    """`__getattribute__` of modules whose class has a `__getattr__` of its own: that is asked for
    members, as if these were no attributes."""
    if not name.startswith("__") and is_member(self, name):
        return type(self).__getattr__(self, name)
    return object.__getattribute__(self, name)


def type_name(x):
    """The type of something as errors say it."""
    # a function or class that was given by mistake has a name itself
    t = x if hasattr(x, "__qualname__") else type(x)
    return t.__name__ if t.__module__ == "builtins" else f"{t.__module__}.{t.__qualname__}"


def not_assigned(x, where):
    """The error for something that is no member of its kind."""
    return TypeError(f"cannot assign '{type_name(x)}' {where}")
