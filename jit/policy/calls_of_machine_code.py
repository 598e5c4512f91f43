"""Calls that machine code made without asking: they are entered in the account later."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..machine_code import table_index
from ..machine_code.table_rows import Table
from .call_times import CallTimes
from .ledger import Ledger
from .outcomes import Counted, Event, Outcome
from .pause import Pause

if TYPE_CHECKING:
    from ..replay.recording import Recording
    from ..tables.sized_table import SizedTable

HARVEST = 16                     # recordings whose calls are counted with each decision of so many


class CallsOfMachineCode:
    """The part of a policy that enters them."""
    # see `Policy`
    ledger: Ledger
    held: list[Recording]
    sized: list[SizedTable]
    bypass: Table | None
    times: CallTimes
    pause: Pause
    reaped: int

    def count(self, what: Counted, n: int = 1) -> None:
        """Add to the number of calls with this outcome."""
        self.ledger.add(what, n)

    def bypassed(self) -> None:
        """Enter the calls that machine code made without asking."""
        table = self.bypass
        if table is not None:
            self.rested(table_index.uses_of(table))
            table_index.limit_uses(table, self.pause.left)
            table_index.set_uses(table, 0)

    def rested(self, n: int) -> None:
        """Account for calls that machine code made without asking."""
        self.pause.passed(n)
        typical = self.times.typical
        worth = n * (typical if typical < math.inf else 0.0)
        self.count(Outcome.UNASKED, n)
        self.ledger.spent += worth
        self.ledger.eager += worth

    def harvest(self, recordings: Sequence[Recording] | None = None) -> None:
        """Enter the replays that machine code made meanwhile: of these recordings, or of the
        next few."""
        held = self.held
        if recordings is None:
            first, self.reaped = self.reaped, (self.reaped + HARVEST) % max(len(held), 1)
            recordings = held[first:first + HARVEST]
        self.harvest_sized()
        for r in recordings:
            self.ledger.spent += r.counts.in_vain
            r.counts.in_vain = 0.0
            n = r.calls - r.counts.in_account
            r.counts.in_account += n
            kind, worth = r.kind, self.times.eager(r.kind)
            if n <= 0 or worth == math.inf:
                self.count(Outcome.REPLAYED, max(n, 0))
                continue
            took = worth if r.slow else min(
                kind.replay, kind.hasty, r.trial.seconds[0], max(self.times.ratio, 1.0) * worth)
            kind.calls += n
            self.count(Outcome.SLOWER if r.slow else Outcome.REPLAYED, n)
            self.ledger.spent += n * took
            self.ledger.eager += n * worth
            self.ledger.saved += n * (worth - took)
            kind.saved += n * (worth - took)
            self.pause.idle = 0

    def harvest_sized(self) -> None:
        """Enter the replays of sizes for which there is no recording."""
        for table in self.sized:
            n, table.entered = table.calls - table.entered, table.calls
            worth = self.times.typical if self.times.typical < math.inf else 0.0
            took = min(self.times.ratio, 1.0) * worth
            self.count(Outcome.REPLAYED, n)
            self.count(Event.SIZED, n)
            self.ledger.spent += n * took
            self.ledger.eager += n * worth
            self.ledger.saved += n * (worth - took)
            self.pause.idle = 0 if n else self.pause.idle
