"""What containers hold, whatever the methods of subclasses do."""
import collections
import types
from collections.abc import Iterable
from typing import Any

OWN = frozenset((list, tuple, dict, collections.OrderedDict, set, frozenset, collections.deque,
                 types.MappingProxyType))


def kind_of(x: Any) -> Any:
    """The type of Python's that a container is a kind of.

    >>> import collections
    >>> from whet.jit.capture.containers import kind_of
    >>> kind_of(collections.Counter("aab"))
    <class 'dict'>
    """
    t = type(x)
    return t if t in OWN else next(b for b in t.__mro__ if b in OWN)


def elements(x: Any) -> tuple[Any, ...]:
    """The elements of a container, of a dict the keys: in one step where that can be, as another
    thread may change it meanwhile."""
    own = kind_of(x)
    if type(x) is own:
        return tuple(x)
    return tuple(own.keys(x) if hasattr(own, "keys") else own.__iter__(x))


def values(d: Any) -> tuple[Any, ...]:
    """The values of a dict."""
    return tuple(kind_of(d).values(d))


def fill(x: Any, contents: Iterable[Any]) -> None:
    """Let a container hold something else."""
    own = kind_of(x)
    own.clear(x)
    (own.update if own.__dict__.get("update") else own.extend)(x, contents)
