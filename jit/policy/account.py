"""Whether a call is worth recording: what tracing has cost, what it has brought in, and what may be
spent next.

An account is kept over all calls of a traced function: the seconds that they took, and those that
eager calls would have taken. What tracing is behind by stays below ALLOWANCE of eager's time and
GRACE seconds beside it. A recording is an investment. It costs what earlier ones of its sort cost.
Each further call of its kind brings in the difference between an eager call and a replay.

- The first recording of a function is made at once, whatever it costs. So are those after it, up
  to OPENING, if they take no more than LEAP each. What they take is known once an eager call was
  timed, or by the first one where data decides sizes: such a function may want one for each call.
  The opening ends once a call was left eager, or as many were replayed: what misses after that is
  rare, or a state that the function has gone on to.
- These first ones are earned back before more is spent. Only what would have paid already may cost
  as much again as the first recording did.
- A recording of other sizes than one that there is costs what may be spent. So does one that then
  turns out to go another way, such as a loop that runs as often as there are rows, and the plan for
  all sizes that is made with the second of them.
- After FREE kinds of arguments one is recorded when it comes again: sizes that only grow never do.
- A kind may take all that can be spent once a recording would have paid, had it been there for the
  calls that none served. Those that were not examined count among them. The less its recordings so
  far have brought in of what they cost, the more such calls it needs. Before that it may take a
  share, which shrinks while recordings cost more than they bring in.
- Kernels are compiled by rules of their own: see `compiling.py`.
- A recording that has not fitted for long is asked rarely whether it does: see `second_look.py`.
- What many sizes are worth, and plans for all of them: see `many_sizes.py`.
- Where nothing can be spent, or less than what was last wanted, a call is not even asked what kind
  it is, if asking takes a noticeable part of its time.

Recordings are held in so many bytes: see `eviction.py`.
"""
from __future__ import annotations

import itertools
import math
import random
import threading
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..machine_code.table_rows import Table
from .call_times import CallTimes
from .calls_of_machine_code import HARVEST, CallsOfMachineCode
from .compiling import Compiling
from .eviction import Eviction
from .ledger import Cost, Kind, Ledger
from .many_sizes import ManySizes, PlanCosts
from .outcomes import Outcome
from .pause import ASKING, LONGEST, PATIENCE, RESERVE, Pause

if TYPE_CHECKING:
    from whet.tensor_base import Base

    from ..replay.recording import Recording
    from ..tables.sized_table import SizedTable
    from .candidate import Candidate

# of eager's time, and seconds: what may be lost. Promised are 0.1 and 0.05: no clock sees all
ALLOWANCE, GRACE = 0.08, 0.04
# the first three calls of a training step differ: no gradients, no optimizer's state, then both
OPENING = 3
LEAP = 0.1                       # seconds that such a recording takes, but for the first one
SPARED = 0.5                     # of GRACE: what is left for recordings
CREDIT = 2                       # times the first recording: what may be lost beside GRACE
FREE = 8                         # kinds that are recorded when first seen
UNPROVEN = 0.25                  # of what may be spent: most for a kind that came too seldom to pay
LEAST = 1 / 64                   # of it: what is risked where recordings bring in next to nothing
# of eager's time: what recordings may have cost more than they brought in, beside GRACE, unless the
# calls of a kind would have paid for its own. (In months of training, all of ALLOWANCE is much)
RISK = 0.01
# seconds that recordings take, until one was made: in full, and like one
FULL, RESIZED = 0.01, 0.002
LIKE = 0.75                      # of one in full: one like another, until such a one was made
HISTORY = 1 << 12                # kinds that are remembered without a recording


class Policy(CallsOfMachineCode, Compiling, Eviction, ManySizes):
    """The account of one traced function. `made`: attempts to record, `waited`: calls that were
    left to set something up instead; `held`: recordings in use."""

    def __init__(self) -> None:
        self.ledger, self.lock = Ledger(), threading.Lock()
        self.kinds: dict[Hashable, Kind] = {}
        self.full, self.like = Cost(FULL), Cost(RESIZED)
        # seconds beyond GRACE that the first one took without its kernels
        self.first_cost = 0.0
        # of the recorded runs that came before any eager call: what is not known to be eager's time
        self.unpriced: list[tuple[float, float]] = []
        self.plans, self.times = PlanCosts(), CallTimes()
        self.made = self.waited = self.bytes = 0
        self.improving = 0.0                 # seconds that compiling kernels well took
        self.held: list[Recording] = []
        self.sized: list[SizedTable] = []    # tables for many sizes each
        # did the last attempt come to nothing, where a recording of other sizes was to be followed?
        self.strayed = False
        self.wanted = 0.0                    # what the recording costs that was last too costly
        self.bypass: Table | None = None     # by which machine code makes these decisions
        self.turn = itertools.count()        # decisions so far
        self.reaped = 0                      # the first of the recordings that are counted next
        self.chance = random.Random(0)
        self.pause = Pause(self.chance)

    # ---- what came -------------------------------------------------------------------------------
    def kind(self, key: Hashable, objects: Iterable[Any], tensors: Sequence[Base] = ()) -> Kind:
        """The kind of a call that came now. `objects`: what the key knows by address; `tensors`:
        among the arguments."""
        kind = self.kinds.get(key)
        if kind is None or not kind.same(objects):
            with self.lock:
                elements = sum([t._array.size for t in tensors])
                kind = self.kinds[key] = Kind(self.ledger.eager, objects, elements)
                if len(self.kinds) > HISTORY:
                    self.kinds.pop(next(iter(self.kinds)))
        kind.note_call(self.pause.skipped)
        self.pause.skipped = 0
        return kind

    def pay(self, kind: Kind, seconds: float) -> None:
        """A call of a kind by a recording took so long, whatever was done with it."""
        worth = self.times.eager(kind)
        self.ledger.spent += seconds
        # Nothing is gained or lost until an eager call is timed.
        self.ledger.eager += worth if worth < math.inf else seconds

    def ran(self, kind: Kind, seconds: float, asked: float, why: Outcome) -> None:
        """A call ran eagerly in so many seconds, and took `asked` in all."""
        self.ledger.eager += sum(max(min(run, seconds), alone) for run, alone in self.unpriced)
        self.unpriced = []
        self.times.note_eager(kind, seconds)
        self.was_eager(seconds, asked, why, self.times.typical, LONGEST)

    def raised(self, seconds: float, asked: float, why: Outcome) -> None:
        """A call raised an error after so many seconds, and took `asked` in all. Its times say
        nothing of other calls."""
        if self.held:
            self.count(why)
            self.ledger.spent += asked
            self.ledger.eager += seconds
        else:                                # Perhaps they all do, until something is put right.
            self.was_eager(seconds, asked, why, seconds, PATIENCE)

    def was_eager(self, seconds: float, asked: float, why: Outcome, typical: float,
                  longest: int) -> None:
        """A call was eager, of which the next ones may not be asked, `longest` at most."""
        asking = self.pause.note_asked(asked - seconds)
        self.count(why)
        self.ledger.spent += seconds + asking
        self.ledger.eager += seconds
        in_vain = self.pause.is_due
        nothing = why is Outcome.COMPILING or self.balance < max(RESERVE, self.wanted)
        if in_vain and nothing and self.pause.asking > ASKING * typical:
            self.harvest(list(self.held))
            if self.pause.idle:              # Machine code has made no replays between them.
                self.pause.begin(typical, longest)

    def timed(self, kind: Kind, seconds: float) -> None:
        """A call of a kind ran eagerly in so many seconds, for comparison."""
        self.times.note_comparison(kind, seconds)
        self.count(Outcome.TIMED)

    def replayed(self, kind: Kind, seconds: float, typical: bool = True) -> None:
        """A replay was made in so many seconds. `typical`: later ones will take about as long: it
        made no table, and its kernels are compiled well."""
        self.pause.idle = 0
        self.count(Outcome.REPLAYED)
        worth = self.times.eager(kind)
        if 0 < worth < math.inf:
            self.ledger.saved += worth - seconds
            kind.saved += worth - seconds
        self.times.note_replay(kind, seconds, typical)

    # ---- what may be spent -----------------------------------------------------------------------
    @property
    def balance(self) -> float:
        """The seconds that may be lost from here on."""
        return GRACE + ALLOWANCE * self.ledger.eager - (self.ledger.spent - self.ledger.eager)

    @property
    def credit(self) -> float:
        """The seconds that may be lost on recordings that would have paid already. Beside the
        balance these are CREDIT times what the first recording cost, until it is earned back."""
        return self.balance + CREDIT * self.first_cost

    @property
    def spare(self) -> float:
        """The seconds that may be lost with enough left for recordings: some of GRACE, or what is
        saved up."""
        return self.balance - max(SPARED * GRACE, self.wanted) if self.is_limited else math.inf

    @property
    def is_limited(self) -> bool:
        """May not everything be recorded and replayed, whatever that takes?"""
        return GRACE < math.inf

    @property
    def begun(self) -> int:
        """How often recording was begun; waiting counts once."""
        return self.made + (self.waited > 0)

    def rate(self, kind: Kind) -> float:
        """What replays of a kind bring in, by seconds of eager calls since it was first met."""
        return (kind.calls - 1) * self.times.gain(kind) / max(self.ledger.eager - kind.since, 1e-9)

    def why_not_record(self, kind: Kind, call: Candidate) -> Outcome | None:
        """Why a call of a kind is not to be recorded; None where it is."""
        kind.missed += kind.weight
        self.plans.unserved += kind.weight * max(self.times.gain(kind), 0.0)
        self.plans.planning = 0.0            # of a plan that was tried in vain
        # A call that sets up state is no reason to record calls of other sizes.
        book = self.ledger
        left_eager = book.costly + book.new + book.crowded + book.slower
        if self.begun < OPENING and not left_eager and not self.has_settled() and self.opens(
                self.full.of(self.times.eager(kind)), call):
            return None
        if (kind.calls == 1 and not call.is_known and len(self.held) >= FREE
                and not (call.is_declared and call.like())):
            return Outcome.NEW
        if not next(self.turn) % HARVEST:
            self.harvest()
        eager = self.times.eager(kind)
        resized, full = self.resized(eager), self.full.of(eager)
        self.wanted = min(resized, full)
        if self.wanted > self.credit:
            return Outcome.COSTLY
        if self.is_one_of_many(kind) and call.grows():
            self.wanted = self.saving(resized)
            if self.wanted > min(self.plans.unserved, self.credit):
                return Outcome.COSTLY
        elif not self.affords(kind, full) and not (self.affords(kind, resized) and call.like()):
            self.wanted = full
            return Outcome.COSTLY
        return Outcome.CROWDED if self.is_crowded(kind) else None

    def opens(self, cost: float, call: Candidate) -> bool:
        """Is a call recorded because the function has just begun? `cost`: what that takes. The
        states of a training step come once each. But where data decides sizes, there may be a
        recording for each call."""
        is_told = self.full.was_made if call.depends_on_counts else self.full.is_known
        return cost <= self.balance or not (
            is_told and cost > LEAP or self.strayed or call.like())

    def has_settled(self) -> bool:
        """Have recordings fitted more calls than a function needs to begin?"""
        self.harvest(list(self.held))
        return self.ledger.replayed > OPENING

    def resized(self, eager: float) -> float:
        """What a recording like one of other sizes will cost, where an eager call takes
        `eager`."""
        cost = self.like.of(eager)
        if self.like.was_made or not self.full.was_made:
            return cost
        return max(cost, LIKE * self.full.of(eager))

    def affords(self, kind: Kind, cost: float) -> bool:
        """May a recording of a kind take so many seconds?"""
        if cost <= 0:
            return True
        if self.pays(kind, cost):
            return cost <= self.credit
        book = self.ledger
        return (cost <= self.share(kind, cost) * self.balance
                and book.recording + cost <= GRACE + book.saved + RISK * book.eager)

    def share(self, kind: Kind, cost: float) -> float:
        """The part of what can be spent that a recording of a kind may take which would not have
        paid yet."""
        worth = kind.missed * self.times.gain(kind) / cost
        yields = (min(1.0, (self.ledger.saved + GRACE) /
                      (self.ledger.recording + 1e-9)) if self.is_limited else 1.0)
        return max(UNPROVEN * yields if worth > 0 else 0.0, LEAST)

    def pays(self, kind: Kind, cost: float) -> bool:
        """Would a recording have paid, had it been there for the calls of a kind that none
        served?"""
        return kind.missed * self.times.gain(kind) * kind.returns(cost) >= cost

    def recorded(self, kind: Kind, seconds: float, run: float, like: bool, what: Outcome,
                 kernels: float = 0.0, watching: float = math.inf) -> None:
        """A call was recorded in so many seconds, of which the function itself, watched, ran for
        `run`, and new kernels took so many. `watching`: what it takes at most to watch as many
        operations."""
        self.made += what is not Outcome.ORDERED         # the call is still to be recorded
        kind.missed = 0
        worth = min(self.times.eager(kind), run)
        # A watched call may take many times as long.
        if self.times.typical == math.inf:
            self.unpriced.append((run, run - watching))
            worth = 0.0
        self.count(what)
        self.strayed = like and what is Outcome.FAILED
        self.ledger.recording += seconds - worth
        if self.made == 1:
            self.first_cost = max(self.ledger.recording - kernels - GRACE, 0.0)
        kind.spent += seconds - worth
        alone = seconds - self.plans.planning - (kernels - self.plans.planned_kernels)
        self.plans.planning = self.plans.planned_kernels = 0.0
        # Kernels are there by the next one, or are compiled by their own rules.
        (self.like if like else self.full).note(max(alone - worth, 0.0), worth)
        self.ledger.spent += seconds
        self.ledger.eager += worth
        self.pause.idle = 0

    def set_up(self, seconds: float, run: float) -> None:
        """A call that was about to be recorded made state for later calls instead, or waits for one
        that will. It took `seconds`; for `run` of these the function ran unwatched."""
        self.waited += 1
        self.count(Outcome.SET_UP)
        self.ledger.recording += seconds - run
        self.ledger.spent += seconds
        self.ledger.eager += run
        self.pause.idle = 0

    # ---- telling ---------------------------------------------------------------------------------
    def summary(self) -> Ledger:
        """The ledger, up to date."""
        self.harvest(list(self.held))
        self.bypassed()
        return self.ledger
