"""What may be spent on calls of many sizes: recordings that are made without a run, by plans for
ranges of sizes.

- A recording of other sizes than one that there is lets a plan for all sizes be made. Where many
  kinds come, both are made once they can be spent together, and would have paid, had they been
  there for the calls of any kind that none served. Until then nothing is spent on one kind.
- A plan for a range of sizes is made while the last one took no more than PLANS of what can be
  spent. It is also made where it would have paid: for the kind that wants it, or for the calls of
  any kind that none served since the last one. Sizes of ranges that have a plan are served all the
  same.
"""
from __future__ import annotations

import abc

from .ledger import Cost, Kind, Ledger, Overhead
from .outcomes import Counted, Event

GROWING = 0.5                    # of a recording: a plan for all sizes, where none took longer yet
MARGIN = 1.25                    # of what a recording and a plan for all sizes took so far
PLANS = 0.5                      # of what may be spent: what a plan for a range of sizes may take
REPLANNED = 0.25                 # of the first plan: another range's, until one was planned
SOUNDING = 32                    # one in so many calls is eager that need no run to be recorded


class ManySizes:
    """The part of a policy that decides about them."""
    # see `Policy`
    ledger: Ledger
    bare: Overhead
    full: Cost
    typical: float
    novelty: float
    adding_sizes: Overhead
    asked: int
    wanted: float
    last_plan: float
    planning: float
    planned_kernels: float
    family_seconds: float
    unserved: float

    @property
    @abc.abstractmethod
    def balance(self) -> float:
        """The seconds that may be lost from here on."""

    @property
    @abc.abstractmethod
    def credit(self) -> float:
        """The seconds that may be lost on what would have paid already."""

    @property
    @abc.abstractmethod
    def replay_seconds(self) -> float:
        """What a replay takes, about."""

    @abc.abstractmethod
    def expected(self, kind: Kind) -> float:
        """What a replay of a kind takes, about."""

    @abc.abstractmethod
    def gain(self, kind: Kind) -> float:
        """What a replay of a kind brings in."""

    @abc.abstractmethod
    def affords(self, kind: Kind, cost: float) -> bool:
        """May a recording of a kind take so many seconds?"""

    @abc.abstractmethod
    def count(self, what: Counted, n: int = 1) -> None:
        """So many calls more that came to this."""

    @abc.abstractmethod
    def eager_seconds(self, kind: Kind) -> float:
        """What an eager call of a kind takes, as far as it is known."""

    def is_one_of_many(self, kind: Kind) -> bool:
        """Are most calls that no recording serves of other kinds?"""
        return self.unserved > 2 * kind.missed * max(self.gain(kind), 0.0)

    def for_all(self, seconds: float) -> float:
        """What a recording that takes so many seconds takes with a plan for all sizes."""
        return seconds + self.growing(seconds)

    def growing(self, seconds: float) -> float:
        """What that plan takes beside such a recording."""
        return max(GROWING * seconds, self.family_seconds)

    def saving(self, seconds: float) -> float:
        """What is saved up for the two: one that takes longer than those before it had better not
        be made in vain."""
        return MARGIN * self.for_all(seconds)

    def affords_family(self, seconds: float) -> bool:
        """May a plan for all sizes be made now, with a recording that has taken so many seconds so
        far?"""
        # What else the machine does may have made this one longer, and says nothing of the plan.
        cost = self.growing(min(seconds, self.full.seconds) if self.full.was_made else seconds)
        # Without it the recording was made in vain: what that took is not asked about again.
        room = self.credit if cost <= self.unserved else PLANS * (self.balance - seconds)
        return cost <= room

    def grown(self, seconds: float, kernels: float = 0.0) -> None:
        """A plan for all sizes was made, or tried in vain, in so many seconds; new kernels took so
        many of them."""
        self.family_seconds, self.unserved = seconds - kernels, 0.0
        self.planning, self.planned_kernels = seconds, kernels

    def first(self, kind: Kind) -> float:
        """What an eager call of a kind takes now: longer, where its sizes are new to eager mode."""
        return self.eager_seconds(kind) + (self.novelty if kind.calls == 1 else 0.0)

    def sounds(self) -> bool:
        """Is a call that needs no run to be recorded to have one, to see how long that takes?"""
        self.asked += 1
        return self.asked % SOUNDING == 1

    def makes(self, kind: Kind) -> bool:
        """May a recording for a kind of other sizes be made without a run? Yes where that takes no
        longer than eager mode, to which sizes are new as well."""
        cost = self.bare.seconds
        if cost <= self.first(kind) - self.expected(kind) or self.affords(kind, cost):
            return True
        self.bare.fade()
        return False

    def declined(self, kind: Kind) -> None:
        """A call that a recording could have been made for without a run is eager."""
        kind.missed += kind.weight
        self.wanted = self.bare.seconds

    def may_plan(self, kind: Kind) -> bool:
        """May a plan for a range of sizes be made for a kind, if none of those that are there
        fits?"""
        cost = self.last_plan or REPLANNED * self.family_seconds
        return (cost <= PLANS * self.balance or cost <= min(self.unserved, self.credit)
                or kind.calls > 1 and self.affords(kind, cost))

    def planned(self, seconds: float, kernels: float) -> None:
        """A plan for a range of sizes was made, or tried in vain, in so many seconds; new kernels
        took so many of them."""
        self.last_plan, self.planning, self.unserved = seconds - kernels, seconds, 0.0

    def may_add_size(self, kind: Kind) -> bool:
        """May another size be added to a table for all sizes?"""
        cost = self.adding_sizes.seconds
        if cost <= self.first(kind) or self.affords(kind, cost):
            return True
        self.adding_sizes.fade()
        return False

    def added_size(self, kind: Kind, seconds: float) -> None:
        """The sizes of a call were added to a table, which made it, in so many seconds. Those of
        the replay are counted with the table's."""
        self.count(Event.UNSEEN)
        beyond = max(seconds - self.replay_seconds, 0.0)
        self.adding_sizes.note(beyond)
        self.ledger.recording += beyond
        self.ledger.spent += beyond
        # What eager mode takes longer, too, where sizes are new.
        self.ledger.eager += min(self.novelty, beyond)

    def unrun(self, kind: Kind, making: float, seconds: float) -> None:
        """A recording was made without a run, in `making` seconds, and a call by it, in so many
        with these."""
        self.count(Event.UNSEEN)
        eager = min(self.eager_seconds(kind), seconds)
        # Some bring kernels that eager mode needs, too.
        self.bare.note(making - self.planning)
        self.planning = 0.0
        self.ledger.recording += seconds - eager
        self.ledger.spent += seconds
        self.ledger.eager += min(self.first(kind), seconds)

    def unrun_in_vain(self, seconds: float) -> None:
        """It took so long to find that no recording can be made for a call without a run."""
        self.planning = 0.0
        self.ledger.recording += seconds
        self.ledger.spent += seconds
