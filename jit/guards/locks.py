"""Locks that a function takes and gives back.

    with self.lock:
        self.count += 1

A lock says who may go on, and nothing else. So a run that finds its locks free, and leaves them
free, is recorded as if they were not there. A replay takes them before it reads anything, and gives
them back at its end. If another thread holds one, the call runs eagerly instead: a replay never
waits for a lock while it holds others.

Which locks a run may have taken is seen by the names in the code that ran, as for other objects
that cannot be compared (see `incomparable_objects.py`).
"""
from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from .allowed_calls import LOCKS
from .names_in_code import names_in
from .unnamed_objects import TAKING_APART

MOST = 32                        # locks within reach of a function


class LocksWithinReach:
    """The locks that a walk has met: those to which only code comes that names them, by these
    names, and those to which any code may come."""

    def __init__(self) -> None:
        self.named: dict[str, list[Any]] = {}
        self.of_any_code: list[Any] = []

    def all(self) -> list[Any]:
        """All of them."""
        return [*self.of_any_code, *(x for found in self.named.values() for x in found)]

    def named_by(self, code: types.CodeType, said: Iterable[str]) -> list[Any]:
        """The locks that some code can come to. `said`: the names and words in it."""
        names, made = set(said), names_in(code)
        anything = made.facts.looks_up_names or not TAKING_APART.isdisjoint(names)
        return [x for name, found in self.named.items() for x in found
                if anything or name in names or any(m.could_be(name) for m in made.made_names)]


class LocksOfRun:
    """The locks that code of a run may take. `taken`: those that it may have taken so far, by their
    ids."""

    def __init__(self, within_reach: LocksWithinReach) -> None:
        self.within_reach = within_reach
        self.taken = {id(x): x for x in within_reach.of_any_code}
        self.before = {id(x): _state(x) for x in within_reach.all()}

    def __bool__(self) -> bool:
        return bool(self.before)

    def begins(self, code: types.CodeType, said: Iterable[str]) -> None:
        """Some code begins to run. `said`: the names and words in it."""
        self.taken.update((id(x), x) for x in self.within_reach.named_by(code, said))

    def one_not_free(self) -> Any:
        """One of those taken that was not free when the run began, or that the run has left in
        another state; None where there is none."""
        for i, x in self.taken.items():
            if _state(x) != self.before[i] or not x.acquire(False):
                return x
            x.release()
        return None


class TakenLocks:
    """The locks that a replay takes, as long as it lasts. `states`: what they tell before."""

    def __init__(self) -> None:
        self.locks: list[Any] = []
        self.states: list[str] = []

    def add(self, locks: Iterable[Any]) -> None:
        """Some more, as they are now."""
        for x in locks:
            if not any(x is y for y in self.locks):
                self.locks.append(x)
                self.states.append(_state(x))

    def __bool__(self) -> bool:
        return bool(self.locks)

    def acquire(self) -> bool:
        """Take all of them. None, and False, if one is not free, or if this thread has taken one
        more or less often than when it was added.

            >>> import threading
            >>> from whet.jit.guards.locks import TakenLocks
            >>> taken, locks = TakenLocks(), [threading.Lock(), threading.Lock()]
            >>> taken.add(locks)
            >>> taken.acquire(), [x.locked() for x in locks], taken.acquire()
            (True, [True, True], False)
            >>> taken.release()
            >>> [x.locked() for x in locks]
            [False, False]
        """
        for i, (x, state) in enumerate(zip(self.locks, self.states)):
            if _state(x) != state or not x.acquire(False):
                for y in self.locks[:i]:
                    y.release()
                return False
        return True

    def release(self) -> None:
        """Give all of them back."""
        for x in self.locks:
            x.release()


def is_lock(x: Any) -> bool:
    """Is this a lock of Python's own?"""
    return type(x) in LOCKS


def _state(x: Any) -> str:
    """What a lock tells: whether it is taken, by which thread and how often."""
    return repr(x)
