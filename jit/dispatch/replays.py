"""A call for which a recording holds: it is replayed, timed beside eager calls, or recorded once
more for comparison."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whet.cpu import compile_time_estimates, tiered_compilation

from .. import clocks
from ..machine_code.native_entry import MISSED
from ..policy.account import Policy
from ..policy.outcomes import Event, Outcome
from ..refusals.replay_miss import Miss
from .invocation import Invocation
from .recording_attempts import Attempts, FirstRecording
from .recordings import Recordings
from .traced_function import TracedFunction

if TYPE_CHECKING:
    from ..guards.signature import FlatArguments
    from ..replay.recording import Recording


class Replays:
    """Replays calls that recordings fit. Replays and eager calls are timed in turn, in rounds; the
    faster kind goes on."""

    def __init__(
        self, subject: TracedFunction, policy: Policy, recordings: Recordings, attempts: Attempts
    ) -> None:
        self.subject, self.policy = subject, policy
        self.recordings, self.tables, self.attempts = recordings, recordings.tables, attempts

    def result(self, call: Invocation) -> Any:
        """The result by the first recording with the call's key that fits it, or MISSED."""
        policy, out = self.policy, MISSED
        known = policy.times.eager(call.kind) < math.inf
        gain = policy.times.gain(call.kind) if known else math.inf
        for r in list(self.recordings.of(call.key)):
            if r.slow and r.calls < r.trial.at:
                continue
            r.second_look.known(r.calls)
            if not r.second_look.pays(gain):
                policy.count(Event.MISSED)
                continue
            out = self.try_recording(r, call)
            if out is not MISSED:
                break
        return out

    def result_of_skipped(self, call: Invocation) -> Any:
        """The result by a recording that `result` skipped because it rarely fits, or MISSED. Trying
        one takes less time than making a new recording."""
        out = MISSED
        for r in list(self.recordings.of(call.key)):
            if not r.slow and r.second_look.passed:
                out = self.try_recording(r, call)
                if out is not MISSED:
                    break
        return out

    def try_recording(self, r: Recording, call: Invocation) -> Any:
        """The result by a recording if it fits, or MISSED. Notes which it was."""
        start, was_open, in_vain = clocks.clock(), self.tables.is_open(r), r.counts.in_vain
        out = self.run_what_is_due(r, call)
        r.counts.in_vain = in_vain           # the account has all that Python asks for
        if out is not MISSED:
            r.counts.in_account += 1
            r.second_look.fitted()
        else:
            r.second_look.missed(clocks.clock() - start)
            self.recordings.unfit(r)
        if self.tables.is_open(r) != was_open:
            self.tables.put(r)
        return out

    def run_what_is_due(self, r: Recording, call: Invocation) -> Any:
        """The result by whatever is due of a recording: a replay, a call in a round of timing, or a
        comparison with a new recording; or MISSED."""
        calls, trial = r.calls, r.trial
        if calls and r.may_be_hasty:
            # What is called a third time will be called more often.
            self.improve_kernels(r, call)
        if calls >= r.checks.at and not r.slow and not trial.running:
            return self.compare(r, call)
        if calls < trial.at or not trial.lock.acquire(False):
            # One thread at a time takes part in a round.
            return self.replay(r, call)[0]
        try:
            return self.call_in_round(r, call, calls)
        finally:
            trial.lock.release()

    def improve_kernels(self, r: Recording, call: Invocation) -> None:
        """Have as many of a recording's kernels compiled with optimisation as the account
        allows."""
        policy, cost = self.policy, compile_time_estimates.better
        while r.is_hasty and (policy.affords_better(cost.of())
                              or r.slow and policy.affords_kernel(cost.of())):
            with call.aside(policy.improved), cost.measured():
                tiered_compilation.compile_well(tiered_compilation.among(r.hasty)[:1])
        r.may_be_hasty = r.is_hasty

    # ---- one replay ------------------------------------------------------------------------------
    def replay(self, r: Recording, call: Invocation) -> tuple[Any, float]:
        """Replay a recording: the result or MISSED, and the seconds that it took. These leave out
        the keeping of the account, because machine code keeps none."""
        start = clocks.clock()
        out = r.by_table(call.args, call.kwargs, call.flat)
        if out is not MISSED:
            took = clocks.clock() - start
            self.policy.replayed(r.kind, took, not r.is_hasty)
            if r.trial.at and r not in self.tables.latest[:1] and self.tables.is_open(r):
                self.tables.first(r, call.args)
            return out, took
        if not r.lock.acquire(False):        # One call at a time works in a program's memory.
            return self.eager_instead(r, call), clocks.clock() - start
        if not r.world.locks.acquire():
            r.lock.release()
            return self.eager_instead(r, call), clocks.clock() - start
        try:
            flat = call.flat
            renewed = r.tables.moves_on and (not r.tables.is_due or _fits(r, flat)) \
                and r.prepare(call.args, call.kwargs, flat)
            out = r.call(flat.leaves, flat.boxes)
            if out is not MISSED and not r.tables.moves_on:
                renewed |= r.prepare(call.args, call.kwargs, flat)
        finally:
            r.world.locks.release()
            r.lock.release()
        took = clocks.clock() - start
        if out is not MISSED:
            r.counts.by_python += 1
            self.policy.replayed(r.kind, took, r.tables.ready is None and not r.is_hasty)
            if renewed:
                self.tables.put(r)
                if r.trial.at:
                    self.tables.first(r, call.args)
        return out, took

    def eager_instead(self, r: Recording, call: Invocation) -> Any:
        """The result of a call while another thread holds what a replay would need."""
        r.counts.by_python += 1
        return self.subject.fn(*call.args, **call.kwargs)

    # ---- rounds ----------------------------------------------------------------------------------
    def call_in_round(self, r: Recording, call: Invocation, calls: int) -> Any:
        """Make a call in a round of timing. `calls`: how many the recording had before."""
        trial, eager = r.trial, r.trial.eager
        if eager:
            out, took = trial.call(self.subject.fn, call.args, call.kwargs)
            r.counts.by_python += 1
            self.policy.timed(call.kind, took)
        else:
            tabled = r.tables.ready is not None and not r.is_given_leaves
            out, took = self.replay(r, call)
            if out is MISSED:
                return out
            if not tabled:                   # Each such replay is asked for by Python.
                took = clocks.clock() - call.begun
        if not trial.turn and trial.wait(took, calls, r.is_hasty):
            if calls:
                r.checks.plan(calls + 1, took)
            r.limit()
            self.tables.first(r, call.args)
        elif trial.note(eager, took, calls + 1):
            self.end_round(r, call, calls)
        return out

    def end_round(self, r: Recording, call: Invocation, calls: int) -> None:
        """End a round of timing: the faster kind of call goes on."""
        trial = r.trial
        r.slow = trial.slow
        if r.is_hasty:                       # Good kernels may come out otherwise.
            trial.at = min(trial.at, 2 * calls + 1)
        if r.checks.at == math.inf:
            r.checks.cost += trial.seconds[1]
            r.checks.plan(calls + 1, trial.seconds[0])
        r.limit()
        self.tables.put(r)
        self.tables.first(r, call.args)

    # ---- comparisons -----------------------------------------------------------------------------
    def compare(self, r: Recording, call: Invocation) -> Any:
        """Make a call that a recording fits eagerly, and record it again. Both recordings must be
        the same."""
        taken = False
        try:
            taken = self.attempts.lock.acquire(False)
            return self.compare_alone(r, call) if taken else self.replay(r, call)[0]
        finally:
            if taken:
                self.attempts.lock.release()

    def compare_alone(self, r: Recording, call: Invocation) -> Any:
        """Compare; this thread holds the lock of attempts."""
        start, before = clocks.clock(), r.checks.made
        try:
            if not _fits_now(r, call.flat):
                return MISSED
            if r.unseen or r.program.depends_on_counts:
                return self.record_again(r, call)
            r.checks.made += 1
            r.counts.by_python += 1
            self.policy.count(Outcome.CHECKED)
            out = self.attempts.record_and_compare(call, r)
            r.checks.cost = clocks.clock() - start
            return out
        finally:                             # An error that the call raises says nothing.
            if r.checks.made > before and not r.doubtful:
                r.checks.plan(r.calls, r.trial.seconds[0])
                r.limit()

    def record_again(self, r: Recording, call: Invocation) -> Any:
        """Record a call whose recording was made without a run, and put the new recording in the
        place of that one, with which it is compared. Where data decides sizes, the parts of a
        recording are compared."""
        if r.unseen:
            self.recordings.drop(r)
        else:
            r.checks.made += 1
        self.policy.count(Outcome.CHECKED)
        attempt = FirstRecording(self.attempts, call)
        out = self.attempts.record_first(attempt)
        if attempt.recording is not None:
            self.recordings.take_in(attempt.recording)
        return out


def _fits_now(r: Recording, flat: FlatArguments) -> bool:
    """Does a recording fit a call with these arguments? False while another thread uses it."""
    if not r.lock.acquire(False):
        return False
    try:
        return _fits(r, flat)
    finally:
        r.lock.release()


def _fits(r: Recording, flat: FlatArguments) -> bool:
    """Does a recording fit a call with these arguments? This thread holds the recording's lock."""
    try:
        leaves = r.reach(flat.leaves)
        if leaves is None or not r.fits(leaves, flat.boxes):
            return False
        r.replay.inputs.arrays(leaves)
        return True
    except Miss:
        return False
