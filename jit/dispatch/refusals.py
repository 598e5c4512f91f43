"""The reasons why calls were not recorded, and the warnings about them."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ..errors import TraceError, warn
from ..refusals.reasons import Changed
from ..refusals.recording_errors import Wrong
from .traced_function import TracedFunction

if TYPE_CHECKING:
    from ..guards.signature import Key
    from ..refusals.reasons import Explained, Reason

TRIES = 3                        # recordings of one key that may fail before it is given up
# a failure for what is so at some calls only counts for so much of one
PASSING = 0.25
# calls until what varied each time, or what no recording fits, is tried once more, at first
PAUSE = 64
LONGEST = 1 << 10                # of the first pauses


class Pause(NamedTuple):
    """For how many calls more a kind of them is eager, and for how many that was in all."""

    left: int
    length: int


def calls_until_full(reason: Reason | None) -> int:
    """For how many calls it is of no use to record, where this was another at each of them. A deque
    such as a window of losses stops growing once it is full.

        >>> from collections import deque
        >>> from whet.jit.dispatch.refusals import calls_until_full
        >>> from whet.jit.guards.container_places import Elements
        >>> from whet.jit.guards.places import Change
        >>> from whet.jit.refusals.reasons import Changed
        >>> window = deque([0.5] * 8, maxlen=100)
        >>> calls_until_full(Changed(None, Change(Elements(window), None))), calls_until_full(None)
        (92, 64)
    """
    change = reason.change if isinstance(reason, Changed) else None
    held = None if change is None or change.index is not None else change.owner
    if type(held) is not collections.deque or held.maxlen is None:
        return PAUSE
    return min(max(held.maxlen - len(held), 1), LONGEST)


class Refusals:
    """The kinds of calls that run eagerly for good, and why. `strict` functions raise instead."""

    def __init__(self, subject: TracedFunction) -> None:
        self.subject = subject
        self.by_key: dict[Key, Reason] = {}     # key of calls -> the reason why they are eager
        self.pauses: dict[Key, Pause] = {}      # of those that are eager for a while
        self.first: Reason | None = None               # the reason of the first of them
        self.tries: collections.Counter[Key] = collections.Counter()
        self.why: Reason | None = None                 # the reason of the last failure
        self.drift: Reason | None = None               # what a call did that its recording does not
        self.warned = False

    def forget(self, key: Key) -> None:
        """Calls of this key have no recordings any more, or do not come any more."""
        self.tries.pop(key, None)
        self.by_key.pop(key, None)
        self.pauses.pop(key, None)

    def failed(self, key: Key, error: Explained, passing: bool = False,
               others: bool = False) -> None:
        """A run could not be recorded. `passing`: that is so at some calls only. `others`: are
        there recordings of other calls of its kind? Then what comes later may be recorded again: a
        step that saves something now and then goes another way once its schedule changes."""
        self.tries[key] += PASSING if passing else 1     # type: ignore[assignment]
        self.why = reason = error.reason.named(self.subject.fn, key)
        if self.subject.strict:
            self.stop(reason)
        if type(error) is Wrong or self.tries[key] >= TRIES and not others:
            self.give_up(key, reason)
        elif self.tries[key] >= TRIES:
            self.pause(key, reason, " in some calls")

    def pause(self, key: Key, reason: Reason, when: str = "", calls: int = PAUSE) -> None:
        """Run calls of this kind eagerly for a while, at first for so many, and each time for twice
        as long, where no recording fits: what varies may stop varying."""
        length = 2 * self.pauses[key].length if key in self.pauses else calls
        self.pauses[key] = Pause(length, length)
        self.give_up(key, reason, when)

    def hold(self, key: Key) -> bool:
        """Is a call of this kind to be eager?"""
        if key in self.by_key and key in self.pauses:
            pause = self.pauses[key]
            self.pauses[key] = Pause(pause.left - 1, pause.length)
            if pause.left <= 0:
                del self.by_key[key]
        return key in self.by_key

    def recorded(self) -> None:
        """A recording was made."""
        self.why, self.first = None, next(iter(list(self.by_key.values())), None)

    def give_up(self, key: Key, reason: Reason, when: str = "") -> None:
        """Calls of this kind run eagerly from now on. `when`: which of them."""
        self.by_key[key] = reason
        self.first = self.first or reason
        if self.subject.strict:
            self.stop(reason)
        self.say(f"runs eagerly{when}: {reason.full()}")

    def distrust(self, reason: Reason) -> None:
        """Calls of any kind run eagerly from now on."""
        if self.subject.strict:
            self.stop(reason)
        warn(f"{self.subject.name} runs eagerly: {reason.full()}")

    def stop(self, reason: Reason) -> NoReturn:
        """Raise what others are warned of."""
        raise TraceError(f"{self.subject.name} cannot be compiled: {reason.full()}")

    def say(self, text: str) -> None:
        """Warn, once for each function."""
        if not self.warned:
            self.warned = True
            warn(f"{self.subject.name} {text}")
