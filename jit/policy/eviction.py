"""Which recordings go where a new one finds no room: all together are held in LIMIT bytes.

A new one takes the place of one that brings in clearly less in the same time. In a cycle of more
kinds than there is room for, all bring in the same, so those that are there stay.
"""
from __future__ import annotations

import abc
import random
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..replay.recording import Recording
    from .ledger import Kind

LIMIT = 1 << 28                  # bytes of all recordings of a function
# times as much must a new recording bring in as the worst of so many that are there
BETTER, SAMPLE = 1.5, 8


def evicted(held: list[Recording], used: int, chance: random.Random,
            rate: Callable[[Recording], float], new: float, size: int,
            lasting: Collection[Recording], made: bool) -> list[Recording] | None:
    """Which recordings make room for another one of `size` bytes, which brings in at a `new` rate.
    None where those that are `held`, in `used` bytes, had better stay; never for one that is `made`
    already. Those that are `lasting` stay."""
    gone: list[Recording] = []
    free = LIMIT - used
    while free < size:
        found = [r for r in chance.sample(held, min(SAMPLE, len(held)))
                 if r not in gone and r not in lasting]
        worst = min(found, key=rate, default=None)
        if worst is None or not made and rate(worst) * BETTER > new:
            return gone if made else None
        gone.append(worst)
        free += worst.size
    return gone


class Eviction:
    """The part of a policy that holds recordings."""
    # see `Policy`
    held: list[Recording]
    bytes: int
    chance: random.Random

    @abc.abstractmethod
    def rate(self, kind: Kind) -> float:
        """What replays of a kind bring in, by seconds of eager calls since it was first met."""

    @abc.abstractmethod
    def harvest(self, recordings: list[Recording]) -> None:
        """Count the calls that machine code made of these recordings."""

    def is_crowded(self, kind: Kind) -> bool:
        """Would another recording, of this kind, find no room?"""
        size = self.bytes // max(len(self.held), 1)
        return self.bytes + size > LIMIT and self.room(kind, size, ()) is None

    def room(self, kind: Kind, size: int, lasting: Collection[Recording],
             made: bool = False) -> list[Recording] | None:
        """Which recordings make room for one of a kind, of so many bytes; None where they had
        better stay, if it is not `made` yet. Those that are `lasting` stay."""
        held = list(self.held)               # another thread may drop some meanwhile
        return evicted(held, self.bytes, self.chance, lambda r: self.rate(r.kind),
                       self.rate(kind), size, lasting, made)

    def keep(self, r: Recording) -> None:
        """A recording is in use."""
        self.held.append(r)
        self.bytes += r.size

    def drop(self, r: Recording) -> None:
        """A recording is no more."""
        if r in self.held:
            self.harvest([r])
            self.held.remove(r)
            self.bytes -= r.size
