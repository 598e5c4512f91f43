"""What is counted and measured of a traced function's calls."""
import dataclasses
import math
import operator
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .outcomes import WHY_EAGER, Counted, Outcome

NEWEST = 0.3                     # weight of the last measurement in an average
FADING = 0.97                    # of an estimate: what is left of it each time it forbids something


_counts = operator.attrgetter(*[o.field for o in Outcome])
_eager_counts = operator.attrgetter(*[o.field for o in WHY_EAGER])


@dataclasses.dataclass
class Ledger:
    """What became of a function's calls, and what they took. There is a count for each `Outcome`
    and for each `Event`.

    Seconds: `spent` by all calls; `eager`: what eager calls would have taken; `recording`: on
    recordings, beyond eager calls; `saved` by replays."""
    replayed: int = 0
    recorded: int = 0
    resized: int = 0
    unseen: int = 0
    sized: int = 0
    checked: int = 0
    timed: int = 0
    failed: int = 0
    set_up: int = 0
    ordered: int = 0
    new: int = 0
    costly: int = 0
    crowded: int = 0
    slower: int = 0
    refused: int = 0
    busy: int = 0
    compiling: int = 0
    unasked: int = 0
    watched: int = 0
    missed: int = 0
    evicted: int = 0
    spent: float = 0.0
    eager: float = 0.0
    recording: float = 0.0
    saved: float = 0.0

    def add(self, what: Counted, n: int) -> None:
        """Add to the number of calls with this outcome."""
        setattr(self, what.field, getattr(self, what.field) + n)

    def count(self, what: Outcome) -> int:
        """The number of calls with this outcome."""
        return int(getattr(self, what.field))

    @property
    def ran_eagerly(self) -> int:
        """Calls that were eager without being recorded or timed."""
        return sum(_eager_counts(self))

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(_counts(self))


class Kind:
    """Calls whose arguments look alike.

    calls     how many came; `since` is the account's time, in eager seconds, when the first did
    weight    the calls that the last one stands for
    missed    the calls that no recording served since one was last made
    eager     the seconds of the shortest eager call
    replay    the seconds of the shortest replay, of `timed` ones
    hasty     the same of all replays, also by kernels that are not optimised yet
    spent     seconds spent on recordings
    saved     seconds saved by replays
    tried     how many plans for ranges of sizes there were when one was last looked for
    elements  how many its arguments have
    """
    __slots__ = ("calls", "eager", "elements", "hasty", "met", "missed", "replay", "saved", "since",
                 "spent", "timed", "tried", "weight")

    def __init__(self, since: float, objects: Iterable[Any], elements: int = 0) -> None:
        self.calls, self.since, self.elements = 0, since, elements
        self.eager = self.replay = self.hasty = math.inf
        self.weight, self.missed, self.timed, self.spent, self.saved = 1, 0, 0, 0.0, 0.0
        self.tried = 0
        # what the key knows by its address only
        self.met = [_reference(x) for x in objects]

    def note_call(self, unasked: int) -> None:
        """A call came, and before it so many whose kind was not examined. One that
        comes for the first time shows nothing of these."""
        self.weight = 1 + unasked if self.calls else 1
        self.calls += self.weight

    def returns(self, cost: float) -> float:
        """What recordings of this kind bring in of what they cost, as far as that is known: of one
        that costs so much, all. After n of which no call was replayed it is one part in n + 1."""
        return min(1.0, (self.saved + cost) / (self.spent + cost)) if cost > 0 else 1.0

    def same(self, objects: Iterable[Any]) -> bool:
        """Are these the objects that the kind was met with? Others may be at their addresses by
        now."""
        return all(r() is x for r, x in zip(self.met, objects))


class Cost:
    """What recordings of one sort cost beyond an eager call: on average, and in eager calls.
    More operations take longer both ways."""
    __slots__ = ("seconds", "calls", "was_made")

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, 0.0
        self.was_made = False

    @property
    def is_known(self) -> bool:
        """Was one made since an eager call was timed?"""
        return self.calls > 0

    def note(self, seconds: float, eager: float) -> None:
        """One took so long, where an eager call takes `eager`."""
        known, self.was_made = self.was_made, True
        # Python may collect garbage meanwhile, or compile a kernel.
        seconds = min(seconds, 2 * self.seconds) if known else seconds
        self.seconds = average(self.seconds, seconds) if known else seconds
        if 0 < eager < math.inf:
            self.calls = average(self.calls, seconds / eager) if self.calls else seconds / eager

    def of(self, eager: float) -> float:
        """What the next one will cost, where an eager call takes `eager`."""
        return max(self.seconds, self.calls * eager) if eager < math.inf else self.seconds


class Overhead:
    """The seconds that something takes beside a call, on average. As it is measured only where it
    is done, an estimate that keeps it from being done fades: the first times take longer."""
    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def note(self, seconds: float) -> None:
        """It took so long. Now and then another process has the processor."""
        self.seconds = average(self.seconds, min(max(seconds, 0.0), 2 * self.seconds))

    def fade(self) -> None:
        """It was too much for something to be done."""
        self.seconds *= FADING


def average(before: float, now: float) -> float:
    """The average before, moved towards the last measurement."""
    return before + NEWEST * (now - before)


def _reference(x: Any) -> Callable[[], Any]:
    """A way to an object that does not keep it alive, where there is one."""
    try:
        return weakref.ref(x)
    except TypeError:
        return lambda: x
