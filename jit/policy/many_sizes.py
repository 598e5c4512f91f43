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

from .call_times import CallTimes
from .ledger import Cost, Kind, Ledger, Overhead
from .outcomes import Counted, Event

GROWING = 0.5                    # of a recording: a plan for all sizes, where none took longer yet
MARGIN = 1.25                    # of what a recording and a plan for all sizes took so far
PLANS = 0.5                      # of what may be spent: what a plan for a range of sizes may take
# seconds that it takes to record without a run, and to add sizes to a table, until it was done
UNRUN, ADDING_SIZES = 0.0002, 0.0001
REPLANNED = 0.25                 # of the first plan: another range's, until one was planned
SOUNDING = 32                    # one in so many calls is eager that need no run to be recorded


class PlanCosts:
    """What plans for many sizes take, and what they could have brought in."""

    def __init__(self) -> None:
        # what recordings without a run take, and adding sizes to a table
        self.bare, self.adding_sizes = Overhead(UNRUN), Overhead(ADDING_SIZES)
        self.family_seconds = 0.0            # that the last plan for all sizes took
        self.range_seconds = 0.0             # that the last plan for a range of sizes took
        # that planning took in this call, and new kernels meanwhile
        self.planning = self.planned_kernels = 0.0
        # what replays would have brought in of calls of any kind, since such a plan was last made
        self.unserved = 0.0
        self.asked = 0                       # how often a recording was to be made without a run

    def for_family(self, seconds: float) -> float:
        """What a plan for all sizes takes beside a recording that takes so many seconds."""
        return max(GROWING * seconds, self.family_seconds)

    def note_family(self, seconds: float, kernels: float) -> None:
        """A plan for all sizes was made, or tried in vain, in so many seconds; new kernels took so
        many of them."""
        self.family_seconds, self.unserved = seconds - kernels, 0.0
        self.planning, self.planned_kernels = seconds, kernels

    def note_range(self, seconds: float, kernels: float) -> None:
        """A plan for a range of sizes was made, or tried in vain, in so many seconds; new kernels
        took so many of them."""
        self.range_seconds, self.planning, self.unserved = seconds - kernels, seconds, 0.0


class ManySizes:
    """The part of a policy that decides about them."""
    # see `Policy`
    ledger: Ledger
    times: CallTimes
    plans: PlanCosts
    full: Cost
    wanted: float

    @property
    @abc.abstractmethod
    def balance(self) -> float:
        """The seconds that may be lost from here on."""

    @property
    @abc.abstractmethod
    def credit(self) -> float:
        """The seconds that may be lost on what would have paid already."""

    @abc.abstractmethod
    def affords(self, kind: Kind, cost: float) -> bool:
        """May a recording of a kind take so many seconds?"""

    @abc.abstractmethod
    def count(self, what: Counted, n: int = 1) -> None:
        """Add to the number of calls with this outcome."""

    def is_one_of_many(self, kind: Kind) -> bool:
        """Are most calls that no recording serves of other kinds?"""
        return self.plans.unserved > 2 * kind.missed * max(self.times.gain(kind), 0.0)

    def saving(self, seconds: float) -> float:
        """What is saved up for the two: one that takes longer than those before it had better not
        be made in vain."""
        return MARGIN * (seconds + self.plans.for_family(seconds))

    def affords_family(self, seconds: float) -> bool:
        """May a plan for all sizes be made now, with a recording that has taken so many seconds so
        far?"""
        # What else the machine does may have made this one longer, and says nothing of the plan.
        took = min(seconds, self.full.seconds) if self.full.was_made else seconds
        cost = self.plans.for_family(took)
        # Without it the recording was made in vain: what that took is not asked about again.
        room = self.credit if cost <= self.plans.unserved else PLANS * (self.balance - seconds)
        return cost <= room

    def sounds(self) -> bool:
        """Is a call that needs no run to be recorded to have one, to see how long that takes?"""
        self.plans.asked += 1
        return self.plans.asked % SOUNDING == 1

    def makes(self, kind: Kind) -> bool:
        """May a recording for a kind of other sizes be made without a run? Yes where that takes no
        longer than eager mode, to which sizes are new as well."""
        cost = self.plans.bare.seconds
        if cost <= self.times.eager_now(kind) - self.times.replay(kind) or self.affords(kind, cost):
            return True
        self.plans.bare.fade()
        return False

    def declined(self, kind: Kind) -> None:
        """A call that a recording could have been made for without a run is eager."""
        kind.missed += kind.weight
        self.wanted = self.plans.bare.seconds

    def may_plan(self, kind: Kind) -> bool:
        """May a plan for a range of sizes be made for a kind, if none of those that are there
        fits?"""
        cost = self.plans.range_seconds or REPLANNED * self.plans.family_seconds
        return (cost <= PLANS * self.balance or cost <= min(self.plans.unserved, self.credit)
                or kind.calls > 1 and self.affords(kind, cost))

    def may_add_size(self, kind: Kind) -> bool:
        """May another size be added to a table for all sizes?"""
        cost = self.plans.adding_sizes.seconds
        if cost <= self.times.eager_now(kind) or self.affords(kind, cost):
            return True
        self.plans.adding_sizes.fade()
        return False

    def added_size(self, seconds: float) -> None:
        """The sizes of a call were added to a table, which made it, in so many seconds. Those of
        the replay are counted with the table's."""
        self.count(Event.UNSEEN)
        beyond = max(seconds - self.times.typical_replay, 0.0)
        self.plans.adding_sizes.note(beyond)
        self.ledger.recording += beyond
        self.ledger.spent += beyond
        # What eager mode takes longer, too, where sizes are new.
        self.ledger.eager += min(self.times.novelty, beyond)

    def unrun(self, kind: Kind, making: float, seconds: float) -> None:
        """A recording was made without a run, in `making` seconds, and a call by it, in so many
        with these."""
        self.count(Event.UNSEEN)
        eager = min(self.times.eager(kind), seconds)
        # Some bring kernels that eager mode needs, too.
        self.plans.bare.note(making - self.plans.planning)
        self.plans.planning = 0.0
        self.ledger.recording += seconds - eager
        self.ledger.spent += seconds
        self.ledger.eager += min(self.times.eager_now(kind), seconds)

    def unrun_in_vain(self, seconds: float) -> None:
        """It took so long to find that no recording can be made for a call without a run."""
        self.plans.planning = 0.0
        self.ledger.recording += seconds
        self.ledger.spent += seconds
