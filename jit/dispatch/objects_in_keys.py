"""The objects that keys of calls identify by address."""
from __future__ import annotations

import collections
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..guards.signature import Key


class KnownObjects:
    """The objects whose addresses are part of each key. While a key has recordings these objects
    are kept alive, so that no other object gets such an address. A key without recordings releases
    them: a function that runs eagerly does not keep its arguments alive."""

    def __init__(self) -> None:
        self.held: dict[Key, Sequence[Any]] = {}
        # Of keys without recordings weak references, and what can have none, such as numbers of a
        # user class.
        self.seen: dict[Key, Sequence[Any]] = {}
        # Keys of which an object is gone. It goes in any thread at any time, so that nothing but
        # this is done then.
        self.without: collections.deque[Key] = collections.deque()

    def hold(self, key: Key, objects: Sequence[Any]) -> None:
        """Keep the objects of a key alive."""
        self.held[key] = objects
        self.seen.pop(key, None)

    def let_go(self, key: Key) -> None:
        """Keep the objects of a key alive no more."""
        def gone(_: Any, without: collections.deque[Key] = self.without) -> None:
            without.append(key)
        self.seen[key] = [_weak(x, gone) for x in self.held.pop(key, ())]

    def forget(self, key: Key) -> None:
        """The key is no more."""
        self.held.pop(key, None)
        self.seen.pop(key, None)

    def ended(self) -> Iterator[Key]:
        """The keys that have lost an object since this was last asked."""
        while self.without:
            key = self.without.popleft()
            if key in self.seen:
                yield key


def _weak(x: Any, gone: Callable[[Any], None]) -> Any:
    try:
        return weakref.ref(x, gone)
    except TypeError:
        return x
