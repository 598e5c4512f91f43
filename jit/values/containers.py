"""Reads and fills containers with the built-in methods, whatever their subclasses override."""
import collections
import types
from collections.abc import Iterable
from typing import Any

OWN = frozenset((list, tuple, dict, collections.OrderedDict, set, frozenset, collections.deque,
                 types.MappingProxyType))


def kind_of(x: Any) -> Any:
    """The built-in type of which a container's type is a subclass.

    >>> import collections
    >>> from whet.jit.values.containers import kind_of
    >>> kind_of(collections.Counter("aab"))
    <class 'dict'>
    """
    t = type(x)
    return t if t in OWN else next(b for b in t.__mro__ if b in OWN)


def elements(x: Any) -> tuple[Any, ...]:
    """The elements of a container; of a dict, the keys. They are read in one step where possible,
    because another thread may change the container."""
    own = kind_of(x)
    if type(x) is own:
        return tuple(x)
    return tuple(own.keys(x) if hasattr(own, "keys") else own.__iter__(x))


def values(d: Any) -> tuple[Any, ...]:
    """The values of a dict."""
    return tuple(kind_of(d).values(d))


def fill(x: Any, contents: Iterable[Any]) -> None:
    """Replace the contents of a container."""
    own = kind_of(x)
    own.clear(x)
    (own.update if own.__dict__.get("update") else own.extend)(x, contents)
