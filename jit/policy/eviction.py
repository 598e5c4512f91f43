"""Which recordings go where a new one finds no room: all together are held in LIMIT bytes.

A new one takes the place of one that brings in clearly less in the same time. In a cycle of more
kinds than there is room for, all bring in the same, so those that are there stay.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..replay.recording import Recording

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
