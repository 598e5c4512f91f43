"""Which recordings stay: they are held in LIMIT bytes.

Where a new one finds no room, it takes the place of one that brings in clearly less in the same
time; in a cycle of more kinds than there is room for, all bring in the same, so those that are
there stay.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..replay.recording import Recording

LIMIT = 1 << 28
# times as much must a new recording bring in as the worst of so many that are there
BETTER, SAMPLE = 1.5, 8


def room(held: list[Recording], used: int, chance: random.Random,
         rate: Callable[[Recording], float], new: float, size: int,
         lasting: Collection[Recording], made: bool) -> list[Recording] | None:
    """Which of the recordings that are held, in so many bytes, make room for another one of a size
    that brings in at a `new` rate; None where they had better stay, if it is not `made` yet. Those
    that are `lasting` stay."""
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
