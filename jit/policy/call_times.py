"""What calls of a traced function take: eager ones by the sizes of their arguments, and replays."""
from __future__ import annotations

import bisect
import math
import operator
from typing import NamedTuple

from .ledger import Kind, average

STEPS = 4                        # sizes that are distinguished, from one to twice as many elements
FIRST_CALLS = 4                  # eager calls of which the shortest is typical
GUESS, TIMED = 0.4, 4            # of an eager call: a replay, until so many are timed


class CallTimes:
    """The seconds of an eager call are known for its kind, else for its size, else for a `typical`
    one. Those of a replay are `ratio` of these, until enough replays of its kind were timed."""

    def __init__(self) -> None:
        self.typical = math.inf              # seconds of an eager call
        self.first_calls = FIRST_CALLS       # eager calls that are still to come
        self.by_size = EagerBySize()
        self.novelty = 0.0                   # seconds that eager calls of new sizes take longer
        self.ratio, self.timings = GUESS, 0  # a replay by an eager call; replays that it is of

    # ---- what came -------------------------------------------------------------------------------
    def note_eager(self, kind: Kind, seconds: float) -> None:
        """A call ran eagerly in so many seconds."""
        kind.eager = min(kind.eager, seconds)
        # the first calls load what later ones find
        if self.first_calls:
            self.typical = min(self.typical, seconds)
            self.first_calls -= 1
            return
        known = self.by_size.of(kind.elements)
        if kind.calls == 1 and known < math.inf:
            beyond = min(max(seconds - known, 0.0), self.typical)
            self.novelty = average(self.novelty, beyond)
        self.by_size.note(kind.elements, seconds)
        self.typical = average(self.typical, seconds)

    def note_comparison(self, kind: Kind, seconds: float) -> None:
        """A call ran eagerly in so many seconds, to be compared with replays."""
        kind.eager = min(kind.eager, seconds)
        self.by_size.note(kind.elements, seconds)
        self.typical = seconds if self.typical == math.inf else self.typical

    def note_replay(self, kind: Kind, seconds: float, is_typical: bool) -> None:
        """A replay was made in so many seconds. `is_typical`: later ones will take as long."""
        kind.hasty = min(kind.hasty, seconds)
        if not is_typical:
            return
        first, kind.replay = kind.replay == math.inf, min(kind.replay, seconds)
        kind.timed += 1
        # Memory, tables and kernels are new to the first one. What is typical says nothing
        # of a kind: sizes differ.
        if 0 < kind.eager < math.inf and (not first or kind.replay < self.ratio * kind.eager):
            self.ratio = average(self.ratio, min(kind.replay / kind.eager, 2.0))
            self.timings += 1

    # ---- what calls take -------------------------------------------------------------------------
    def eager(self, kind: Kind) -> float:
        """What an eager call of a kind takes, as far as it is known."""
        if kind.eager < math.inf:
            return kind.eager
        known = self.by_size.of(kind.elements)
        return known if known < math.inf else self.typical

    def eager_now(self, kind: Kind) -> float:
        """What an eager call of a kind takes now: longer, where its sizes are new to eager mode."""
        return self.eager(kind) + (self.novelty if kind.calls == 1 else 0.0)

    def replay(self, kind: Kind) -> float:
        """What a replay of a kind takes, about."""
        return (kind.replay if kind.timed >= TIMED else
                min(kind.replay, kind.hasty, self.ratio * self.eager(kind)))

    @property
    def typical_replay(self) -> float:
        """What a replay of any kind takes, about; 0 where nothing is known."""
        return self.ratio * self.typical if self.typical < math.inf else 0.0

    def gain(self, kind: Kind) -> float:
        """What a replay of a kind brings in."""
        worth = self.eager(kind)
        return worth - self.replay(kind) if worth < math.inf else 0.0


class Point(NamedTuple):
    """Calls of so many elements, as a logarithm, take so many seconds."""
    size: int
    seconds: float


_size_of = operator.attrgetter("size")


class EagerBySize:
    """How long eager calls take, by the number of elements of their arguments. It is the average of
    calls of about as many elements; if there was none, it is interpolated."""
    __slots__ = ("points",)

    def __init__(self) -> None:
        # In order of sizes. Exchanged as a whole: other threads ask meanwhile.
        self.points: tuple[Point, ...] = ()

    def note(self, elements: int, seconds: float) -> None:
        """A call took so long."""
        points, size = self.points, _logarithm(elements)
        at = bisect.bisect_left(points, size, key=_size_of)
        known = points[at:at + 1] if at < len(points) and points[at].size == size else ()
        for p in known:
            seconds = average(p.seconds, min(seconds, 2 * p.seconds))
        self.points = (*points[:at], Point(size, seconds), *points[at + len(known):])

    def of(self, elements: int) -> float:
        """What a call takes, about; infinite where none was timed."""
        points, size = self.points, _logarithm(elements)
        if not points:
            return math.inf
        at = bisect.bisect_left(points, size, key=_size_of)
        if at == len(points):
            return points[-1].seconds
        after = points[at]
        if not at or after.size == size:
            return after.seconds
        before = points[at - 1]
        least, here, most = (2 ** (x / STEPS) for x in (before.size, size, after.size))
        return before.seconds + (after.seconds - before.seconds) * (here - least) / (most - least)


def _logarithm(elements: int) -> int:
    return int(STEPS * math.log2(elements + 1))
