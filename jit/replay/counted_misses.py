"""Counts the reasons why a recording did not hold for calls."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..refusals.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..guards.signature import Key


class CountedMisses:
    """The calls that a recording did not fit: how many for which reason."""
    MOST = 16                                # reasons that are kept

    def __init__(self) -> None:
        # what makes reasons the same -> [the last of them, how many]
        self.counts: dict[tuple[Any, ...], tuple[Reason, int]] = {}
        self.last: Reason | None = None

    def add(self, reason: object) -> None:
        self.last = reason = Reason.of(reason)
        _, before = self.counts.get(reason.same(), (reason, 0))
        if before or len(self.counts) < self.MOST:
            self.counts[reason.same()] = reason, before + 1

    def named(self, fn: Callable[..., Any], key: Key) -> list[tuple[Reason, int]]:
        """[(reason, how many)], the most frequent first."""
        found = sorted(self.counted(), key=lambda x: -x[1])
        return [(reason.named(fn, key), n) for reason, n in found]

    def counted(self) -> list[tuple[Reason, int]]:
        """[(reason, how many)], as it is now: other threads go on counting."""
        return list(self.counts.values())
