"""Which calls are not examined: those that are eager whatever kind they are.

Asking takes as long as a short eager call does. Where calls have been eager for long, or asking
them has taken long, some of the next ones are not asked.
"""
from __future__ import annotations

import math
import random

from .ledger import average

# of eager's time: what asking may take, once so many seconds or less can be spent, or less than the
# next recording takes; and what it takes then, as that has to be saved up
ASKING, RESERVE, SAVING = 0.03, 0.01, 0.01
LATE = 10                        # times what asking takes: what is longer is not its doing
# eager calls in a row, or seconds that asking took in them, until so many calls are not asked
PATIENCE, WASTED, LONGEST = 16, 0.004, 1 << 12


class Pause:
    """`left`: calls that are still not asked; `idle`: eager calls in a row; `skipped`: calls that
    were not asked, since one was."""

    def __init__(self, chance: random.Random) -> None:
        self.left = self.idle = self.skipped = 0
        self.wasted = 0.0                    # seconds that asking took in eager calls in a row
        self.asking = 0.0                    # seconds that asking takes
        self.chance = chance

    def note_asked(self, seconds: float) -> float:
        """Finding out about an eager call took `seconds`. Returns how many of these count: garbage
        collection or another process may have taken the rest."""
        asking = min(max(seconds, 0.0), LATE * self.asking or math.inf)
        self.asking = average(self.asking, asking) if self.asking else asking
        self.idle += 1
        self.wasted = (self.wasted if self.idle > 1 else 0.0) + asking
        return asking

    @property
    def is_due(self) -> bool:
        """Has asking been in vain for long?"""
        return self.idle >= PATIENCE or self.wasted > WASTED

    def begin(self, typical: float, longest: int) -> None:
        """Do not ask some of the next calls, `longest` at most. How many is drawn by chance, as
        calls may come in turns."""
        calls = self.asking / (SAVING * max(typical, 1e-7)) * self.chance.uniform(0.5, 1.5)
        self.left = min(int(calls), longest if self.idle >= PATIENCE else PATIENCE)

    def passed(self, n: int) -> None:
        """So many calls were not asked."""
        self.left = max(self.left - n, 0)
        self.idle += n
        self.skipped += n
