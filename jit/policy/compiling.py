"""What may be spent on kernels.

- Kernels that a recording lacks are compiled at once where that fits into what may be spent, or
  costs less than recording the call again. Otherwise they are compiled in the background, which
  costs nothing here, and calls are eager until they are there.
- Where kernels have little to do, those compiled in haste are nearly as fast as they will be. A
  replay of twenty takes 25 us before and after; one with ten times the work takes a quarter less
  after. So compiling them well is paid from what replays have brought in. It is paid from what may
  be lost only as long as much of that is left for recordings.
"""
from __future__ import annotations

import abc

from .ledger import Ledger

REDONE = 2                       # recordings: compiling that takes longer is put off
INVESTED = 0.5                   # of what replays brought in: what compiling well may take


class Compiling:
    """The part of a policy that decides about kernels."""
    # see `Policy`
    ledger: Ledger
    improving: float

    @property
    @abc.abstractmethod
    def balance(self) -> float:
        """The seconds that may be lost from here on."""

    @property
    @abc.abstractmethod
    def spare(self) -> float:
        """The seconds that may be lost with something left for recordings."""

    def affords_kernel(self, seconds: float) -> bool:
        """May a kernel that a recording lacks be compiled now, which takes so long?"""
        return seconds <= self.balance

    def affords_better(self, seconds: float) -> bool:
        """May a kernel that was compiled in haste be compiled well now, which takes so long?"""
        earned = self.improving + seconds <= INVESTED * self.ledger.saved
        return seconds <= (self.balance if earned else self.spare)

    def affords_compiling(self, seconds: float, begun: float) -> bool:
        """May an attempt that has taken `begun` seconds compile kernels for so many? Otherwise they
        are compiled with later calls, which are eager, and the call is recorded again."""
        return seconds <= max(self.balance - begun, REDONE * begun)

    def compiled(self, seconds: float, for_eager: bool = False) -> None:
        """Kernels were new, which took so long. Those of eager mode it would have compiled, too."""
        self.ledger.spent += seconds
        if for_eager:
            self.ledger.eager += seconds
        else:
            self.ledger.recording += seconds

    def improved(self, seconds: float) -> None:
        """A kernel was compiled well, which took so long."""
        self.compiled(seconds)
        self.improving += seconds
