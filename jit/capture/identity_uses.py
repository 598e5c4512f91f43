"""Whether a run makes use of the identity of arguments that are data: see `guards/records.py`."""
from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..report.reasons import Inspects

if TYPE_CHECKING:
    from ..guards.records import SeenObjects
    from .recorder import Recorder

_lock = threading.Lock()
_watched: dict[type, list[IdentityUses]] = {}


class IdentityUses:
    """Refuses what `rec` records where an object of one of some classes is hashed or compared in
    the run: meanwhile their classes have methods for it, which do what those of `object` do. From
    then on `objects` know such an object by its identity."""

    def __init__(self, kinds: Iterable[type], objects: SeenObjects, rec: Recorder) -> None:
        self.kinds, self.objects, self.rec = list(dict.fromkeys(kinds)), objects, rec
        self.thread = threading.get_ident()  # of the run: what others do is no part of it
        self.lying: list[type] = []

    def enter(self) -> None:
        """The run begins."""
        for kind in self.kinds:
            with _lock:
                self.lying.append(kind)
                if kind not in _watched:
                    _watched[kind] = []
                    _lay(kind)
                _watched[kind].append(self)

    def note(self, kind: type) -> None:
        """An object is hashed or compared."""
        if self.thread == threading.get_ident():
            self.objects.know(kind)
            self.rec.refuse(Inspects(f"it hashes or compares an object of class {kind.__name__}"))

    def leave(self) -> None:
        """The run is over."""
        while self.lying:
            kind = self.lying[-1]
            with _lock:
                runs = _watched[kind] = [run for run in _watched.get(kind, ()) if run is not self]
                if not runs:
                    _lift(kind)
                    del _watched[kind]
            self.lying.pop()


def _noted(kind: type) -> None:
    for run in _watched.get(kind, ()):
        run.note(kind)


def _lay(kind: type) -> None:
    def hashed(x: Any) -> int:
        _noted(kind)
        return object.__hash__(x)

    def compared(x: Any, y: Any) -> Any:
        _noted(kind)
        return object.__eq__(x, y)
    type.__setattr__(kind, "__hash__", hashed)
    type.__setattr__(kind, "__eq__", compared)


def _lift(kind: type) -> None:
    for name in ("__eq__", "__hash__"):
        if name in vars(kind):               # (an interrupt may have come before it lay there)
            type.__delattr__(kind, name)
