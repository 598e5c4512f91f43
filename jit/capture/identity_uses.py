"""Detects whether a run uses the identity of arguments that are data.

What counts as data says `guards/data_objects.py`.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..refusals.reasons import Inspects

if TYPE_CHECKING:
    from ..guards.data_objects import SeenObjects
    from .recorder import Recorder

METHODS = "__hash__", "__eq__", "__repr__"         # that may depend on the identity of an object
_lock = threading.Lock()
_watched: dict[type, list[IdentityUses]] = {}


class IdentityUses:
    """Refuses the recording `rec` if an object of one of these classes is hashed, compared or shown
    by its address. During the run the classes have methods for that which behave like those of
    `object`. Later recordings know such an object by its identity, through `objects`."""

    def __init__(self, kinds: Iterable[type], objects: SeenObjects, rec: Recorder) -> None:
        self.kinds, self.objects, self.rec = list(dict.fromkeys(kinds)), objects, rec
        self.thread = threading.get_ident()  # of the run: what others do is no part of it
        self.watching: list[type] = []       # the classes that have the methods now

    def enter(self) -> None:
        """Put the methods into the classes."""
        for kind in self.kinds:
            with _lock:
                self.watching.append(kind)
                if kind not in _watched:
                    _watched[kind] = []
                    _add_methods(kind)
                _watched[kind].append(self)

    def note(self, kind: type) -> None:
        """An object is hashed, compared or shown."""
        if self.thread == threading.get_ident():
            self.objects.know(kind)
            self.rec.refuse(Inspects(
                f"it hashes, compares or shows an object of class {kind.__name__}"))

    def leave(self) -> None:
        """Remove the methods."""
        while self.watching:
            kind = self.watching[-1]
            with _lock:
                runs = _watched[kind] = [run for run in _watched.get(kind, ()) if run is not self]
                if not runs:
                    _remove_methods(kind)
                    del _watched[kind]
            self.watching.pop()


def _note(kind: type) -> None:
    for run in _watched.get(kind, ()):
        run.note(kind)


def _add_methods(kind: type) -> None:
    def hashed(x: Any) -> int:
        _note(kind)
        return object.__hash__(x)

    def compared(x: Any, y: Any) -> Any:
        _note(kind)
        return object.__eq__(x, y)

    def shown(x: Any) -> str:
        _note(kind)
        return object.__repr__(x)
    methods: dict[str, Any] = {"__hash__": hashed, "__eq__": compared}
    own: Any = kind.__repr__
    if own is object.__repr__:               # else it shows no address
        methods["__repr__"] = shown
    for name, method in methods.items():
        type.__setattr__(kind, name, method)


def _remove_methods(kind: type) -> None:
    for name in METHODS:
        # an interrupt may have come before it was there
        if getattr(vars(kind).get(name), "__module__", "") == __name__:
            type.__delattr__(kind, name)
