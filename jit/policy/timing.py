"""Which is faster for the calls of a recording, replays or eager calls: both are timed in turn, and
again later, at growing distance.

A round is TURNS calls, most of them replays and every fourth of the later ones eager. Python makes
these, so that short calls take longer in a round than otherwise: it begins only where they have
been made for a while. While the recording's kernels wait to be compiled well
(`cpu/tiered_compilation.py`), the next round comes soon. Of each kind the shortest counts: what
else the machine does only makes calls longer. Where gradients flow back through the replays, the
backward counts too. Eager calls take the place of replays only if they are shorter by a margin,
until another round finds otherwise. So a round that was wrong is corrected by the next. The
distance between rounds grows with the calls so far, and with what the slower kind costs. So all
rounds together cost next to nothing.
"""
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from whet.autograd import modes
from whet.autograd.function import FunctionNode
from whet.autograd.inplace import edge_of
from whet.autograd.node import OutputOf, next_number
from whet.tensor import wrap

from .. import clocks
from ..gradient.eager_graph import inside, walk
from ..guards.signature import FlatArguments
from ..refusals.recording_errors import Refused

TURNS = 20                       # calls of a round
EVERY, FIRST = 4, 7              # one in EVERY of them is eager, from this one on
SHORT, EARLY = 1e-3, 32          # calls of less seconds are first timed after so many
LATE = 8 * EARLY                 # those of sizes like many for which replays were found far shorter
CLEAR, ROUNDS = 0.8, 3           # of an eager call's time: that of replays, in so many rounds
MARGIN = 0.95                    # of a replay's time: what eager must stay below
GROWTH = 7                       # rounds are so many times the calls so far apart, or further:
# the slower calls of a round take less than this part of the time of the calls until the next
COST = 0.01
# what a backward may raise that is only tried: what it saved was written to since, it is the user's
# Python, memory is short, a result is a record without attributes. The call itself is over
UNTRIED = RuntimeError, Refused, MemoryError, TypeError


class TrialsOfSizes:
    """The trials of recordings that differ in sizes alone. A few have their first rounds at a time;
    where replays were far shorter in these, those of the others come late."""

    def __init__(self) -> None:
        self.under_way = 0                   # rounds that began and are not over
        self.clear = 0                       # the last rounds in which replays were far shorter

    @property
    def patience(self) -> int:
        """So many calls are made before a recording's first round, where that need not come at
        once."""
        return LATE if self.clear >= ROUNDS else EARLY

    @property
    def may_decide(self) -> bool:
        """May rounds that are under way decide when others come?"""
        return self.under_way >= ROUNDS > self.clear

    def over(self, replay: float, eager: float) -> None:
        """A round of one of them is over."""
        self.under_way = max(self.under_way - 1, 0)
        self.clear = self.clear + 1 if replay < CLEAR * eager else 0


class Trial:
    """The rounds of one recording. `at`: the call with which the next one begins, `sizes`: the
    trials that it is one of."""
    __slots__ = ("at", "turn", "forward", "backward", "seconds", "lock", "proven", "sizes")

    def __init__(self, sizes: TrialsOfSizes | None = None) -> None:
        # The thread whose call is timed holds the lock.
        self.at, self.lock, self.sizes = 0, threading.Lock(), sizes or TrialsOfSizes()
        # is it of a recording that was made like one of other sizes?
        self.proven = False
        # of a replay and of an eager call, with the backward, in the last round
        self.seconds = [math.inf, math.inf]
        self.begin()

    def begin(self) -> None:
        """A round begins, with nothing known."""
        self.turn, self.forward, self.backward = 0, [math.inf, math.inf], [math.inf, math.inf]

    @property
    def slow(self) -> bool:
        """Were eager calls shorter in the last round?"""
        return self.seconds[1] < MARGIN * self.seconds[0]

    @property
    def eager(self) -> bool:
        """Is the next call of the round an eager one?"""
        return self.turn >= FIRST and self.turn % EVERY == FIRST % EVERY

    @property
    def running(self) -> bool:
        """Is this in the middle of a round?"""
        return 0 < self.turn < TURNS

    def back(self, gradients: Callable[[Any, Any], Any], node: Any, g: Any) -> Any:
        """A backward through a replay, timed."""
        start = clocks.clock()
        out = gradients(node, g)
        self.backward[0] = min(self.backward[0], clocks.clock() - start)
        return out

    def call(self, fn: Callable[..., Any], args: Sequence[Any],
             kwargs: Mapping[str, Any]) -> tuple[Any, float]:
        """An eager call in place of a replay, timed, and its backward too where gradients flow
        back through replays."""
        start, first = clocks.clock(), next_number()
        out = fn(*args, **kwargs)
        took = clocks.clock() - start
        if self.backward[0] < math.inf:
            self.backward[1] = min(self.backward[1], seconds_back(out, first))
        return out, took

    def wait(self, seconds: float, calls: int, hasty: bool) -> bool:
        """The first replay of a round took so long, as call number `calls` from zero: should the
        round begin later? `hasty`: are there kernels in it that are to be compiled well?"""
        sizes, patience = self.sizes, self.sizes.patience
        if sizes.may_decide and calls < LATE:
            self.at = calls + TURNS
            return True
        may_wait = hasty or seconds < SHORT or patience > EARLY
        if calls >= patience or calls and not may_wait:
            sizes.under_way += 1
            return False
        self.at = max(2 * calls + 1, patience if self.proven or calls and may_wait else 0)
        return True

    def note(self, eager: bool, seconds: float, calls: int) -> bool:
        """A call of the round took so long; `calls`: how many there were in all. True where the
        round is over."""
        self.forward[eager] = min(self.forward[eager], seconds)
        self.turn += 1
        if self.turn < TURNS:
            return False
        both = max(self.backward) < math.inf
        self.seconds = [f + b if both else f for f, b in zip(self.forward, self.backward)]
        replay, other = self.seconds
        self.sizes.over(replay, other)
        asked = len(range(FIRST, TURNS, EVERY))
        lost = (TURNS - asked) * (replay - other) if self.slow else asked * (other - replay)
        self.at = (calls
                   + max(GROWTH * calls, math.ceil(lost / (COST * max(min(replay, other), 1e-9)))))
        self.begin()
        return True


def seconds_back(out: Any, first: int) -> float:
    """How long eager's backward of a result takes, through the nodes with numbers from `first`
    on; infinite where it cannot be tried."""
    flat, before = FlatArguments(), modes.state.flags
    modes.set_flags(before & ~modes.GRAD)
    try:
        flat.flatten(out)
        start = {
            e: t for t in flat.leaves
            if (e := edge_of(t)) is not None and e is not t and e.seq >= first}
        order = inside(list(start), first)
        nodes = [n for n in order if type(n) is not OutputOf]
        if (not nodes
                or any(n.released or n.pre_hooks or n.post_hooks or isinstance(n, FunctionNode)
                       for n in nodes)):
            return math.inf                  # hooks and Functions may do anything
        grads = {e: wrap(np.ones(t._array.shape, t._array.dtype)) for e, t in start.items()}
        begun = clocks.clock()
        walk(order, grads, [])
        return clocks.clock() - begun
    except UNTRIED:
        return math.inf
    finally:
        modes.set_flags(before)
