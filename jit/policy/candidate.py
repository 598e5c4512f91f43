"""What the account asks about a call that no recording fits."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def never() -> bool:
    return False


@dataclass(frozen=True)
class Candidate:
    """A call that might be recorded. `is_known`: calls of its kind have recordings;
    `depends_on_counts`: sizes in these depend on data. `like()`: there is a recording of other
    argument sizes; `grows()`: with one of this call it would give a plan for all sizes.
    `is_declared`: the user expects other sizes."""

    is_known: bool = False
    depends_on_counts: bool = False
    is_declared: bool = False
    like: Callable[[], bool] = never
    grows: Callable[[], bool] = never
