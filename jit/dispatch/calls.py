"""Dispatches a call for which no table in machine code holds.

    key -> a recording that fits -> a replay
        -> none fits, and one pays -> an eager call that is recorded
        -> otherwise               -> an eager call
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from whet.autograd import modes
from whet.cpu import native, ordered_kernels, tiered_compilation

from ..guards import native_entry
from ..guards.native_entry import MISSED
from ..policy import not_worth_tracing, timing
from ..policy.account import Policy
from ..policy.candidate import Candidate
from ..policy.not_worth_tracing import FIRST_LOOK, LOOKS
from ..policy.outcomes import Outcome
from ..replay import families
from ..verify.recheck import Checks
from .invocation import Invocation
from .learned_variation import Learned
from .recording_attempts import Attempts, FirstRecording
from .recordings import Recordings
from .refusals import Refusals
from .replays import Replays
from .switch import is_off
from .tables import Tables
from .traced_function import TracedFunction

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable

    from ..guards.sized_table import SizedTable
    from ..replay.recording import Recording
    from .invocation import Args, Kwargs
    from .tables import Entrance


class Calls:
    """All that calls of one function share. `entry`: a weak reference to what machine code enters
    it by."""

    def __init__(self, subject: TracedFunction, entry: weakref.ref[Entrance]) -> None:
        self.subject = subject
        self.learned, self.policy, self.refusals = Learned(), Policy(), Refusals(subject)
        self.tables = Tables(subject, self.learned, self.policy, entry)
        self.recordings = Recordings(subject, self.learned, self.policy, self.refusals, self.tables)
        self.attempts = Attempts(subject, self.learned, self.policy, self.refusals, self.recordings)
        self.replays = Replays(subject, self.policy, self.recordings, self.attempts)

    def __call__(self, args: Args, kwargs: Kwargs) -> Any:
        """The result of a call."""
        if modes.state.flags & modes.SPECIAL or is_off():
            if not (modes.state.observers or is_off()):  # Else it is a part of what is recorded.
                self.policy.count(Outcome.WATCHED)
            return self.subject.fn(*args, **kwargs)
        if self.refusals.drift is not None:
            return self.distrusted(args, kwargs)
        policy, begun = self.policy, timing.clock()
        if policy.resting:
            return self.unasked(args, kwargs)
        try:
            key, flat = self.learned.key(args, kwargs)
            kind = policy.kind(key, flat.others, flat.leaves)
        except TypeError:                    # The key cannot be hashed.
            policy.count(Outcome.REFUSED)
            return self.subject.fn(*args, **kwargs)
        call = Invocation(args, kwargs, key, flat, kind, begun)
        out = self.replays.result(call)
        if out is not MISSED:
            policy.pay(kind, timing.clock() - begun)
            return out
        out = self.unseen(call)
        if out is not MISSED:
            return out
        why = self.against(call)
        if why is not None:
            return self.eager(call, why)
        taken = False
        try:
            taken = self.attempts.lock.acquire(False)
            if not taken:
                return self.eager(call, Outcome.BUSY)
            out = self.replays.passed_over(call)
            if out is MISSED and not self.recordings.are_enough(call.key):
                return self.recorded(call)
        finally:
            if taken:
                self.attempts.lock.release()
        if out is MISSED:
            return self.eager(call, Outcome.CROWDED)
        policy.pay(kind, timing.clock() - begun)
        return out

    # ---- eager calls -----------------------------------------------------------------------------
    def distrusted(self, args: Args, kwargs: Kwargs) -> Any:
        """A call of a function that did something else than its recording."""
        if self.subject.strict and self.refusals.drift is not None:
            self.refusals.stop(self.refusals.drift)
        self.policy.count(Outcome.REFUSED)
        return self.subject.fn(*args, **kwargs)

    def unasked(self, args: Args, kwargs: Kwargs) -> Any:
        """An eager call of which nobody asks what kind it is."""
        policy = self.policy
        if policy.bypass is not None:        # Machine code has made the others, up to this one.
            policy.bypassed()
            policy.bypass, policy.resting = None, 0
            self.tables.lay()
        policy.rested(1)
        self.doubt()
        return self.subject.fn(*args, **kwargs)

    def eager(self, call: Invocation, why: Outcome) -> Any:
        """A call that no recording fits and that is not recorded, for this reason."""
        policy, asked, start = self.policy, timing.clock() - call.begun, timing.busy()
        compiled = native.compiling_seconds()
        has_raised = True
        try:
            out = self.subject.fn(*call.args, **call.kwargs)
            has_raised = False
        finally:
            # New kernels are there for the next one.
            took = timing.busy() - start - (native.compiling_seconds() - compiled)
            if has_raised:
                policy.raised(took, asked + took, why)
            else:
                policy.ran(call.kind, took, asked + took, why)
            if policy.resting:
                self.tables.lay()
            if not policy.idle % LOOKS or policy.idle == FIRST_LOOK or policy.resting:
                self.doubt()
        return out

    def doubt(self) -> None:
        """Warn, once, if tracing has turned out not to pay, or if runs could not be recorded and
        the next try is not due for long."""
        refusals, policy = self.refusals, self.policy
        if refusals.warned:
            return
        reason = not_worth_tracing.why(policy, self.subject.fn)
        if reason is not None:
            refusals.say(f"is no faster traced so far: {reason.full()}")
        elif refusals.why is not None and policy.idle >= FIRST_LOOK \
                and not policy.summary().replayed:
            refusals.say(f"runs eagerly so far: {refusals.why.full()}")

    # ---- calls of sizes that none had ------------------------------------------------------------
    def unseen(self, call: Invocation) -> Any:
        """The result of a call of sizes that were never seen, or not on the way that it goes,
        without a run: by a table for all sizes that is told of them, or by a recording for them;
        or MISSED."""
        start, key, recordings = timing.busy(), call.key, self.recordings
        if not recordings.models or key in self.refusals.by_key or key in recordings.watched:
            return MISSED
        plans = recordings.plans
        if not plans or call.kind.tried == plans and not self.policy.may_plan(call.kind):
            return MISSED
        if recordings.are_ordered(call):
            return MISSED
        call.kind.tried = plans
        if key not in recordings.by_key:
            table = self.alone(self.knowing, call)
            if table is not None:
                return self.told(table, call, start)
        aside, making, out = call.seconds_aside, 0.0, MISSED
        # Recordings may lead different ways: which is the call's is seen as it goes.
        while out is MISSED:
            began = timing.busy()
            r = self.alone(self.made, call)
            if r is None:
                break
            making = timing.busy() - began
            out = self.replays.tried(r, call)
        took = timing.busy() - start - (call.seconds_aside - aside)  # compiling has an account
        if out is MISSED:
            call.begun += took
            self.policy.unrun_in_vain(took)
        else:
            self.policy.unrun(call.kind, making, took)
        return out

    def alone(self, make: Callable[[Invocation], Any], call: Invocation) -> Any:
        """What `make` has for a call; None where another thread makes something."""
        if not self.attempts.lock.acquire(False):
            return None
        try:
            return make(call)
        finally:
            self.attempts.lock.release()

    def knowing(self, call: Invocation) -> SizedTable | None:
        """A table for all sizes that are like a call's, once Python's functions were asked what
        these want; or None."""
        policy = self.policy
        if not policy.sized or not policy.tells(call.kind):
            return None
        shapes = [t._array.shape for t in call.flat.leaves]
        table: SizedTable
        for table in list(policy.sized):
            if not table.is_due and not table.first.slow and self.with_kernels(
                    call, functools.partial(table.learn, shapes)):
                return table
        return None

    def told(self, table: SizedTable, call: Invocation, start: float) -> Any:
        """The result of a call by a table that knows of its sizes; now and then by an eager call,
        for comparison; or MISSED."""
        if table.is_sounding:
            table.sound()
            return self.eager(call, Outcome.TIMED)
        out = native_entry.enter(table.table, call.args, call.kwargs)
        if out is not MISSED:
            self.policy.told(call.kind, timing.busy() - start)
        return out

    def made(self, call: Invocation) -> Recording | None:
        """A new recording for the sizes of a call, without a run, or None."""
        recordings, key = self.recordings, call.key
        models = recordings.untried(call)
        due = [t for t in self.policy.sized if t.is_due]
        if not models:
            return None
        if not due:
            if self.policy.sounds():
                return None
            if not self.policy.makes(call.kind):
                call.declined = True
                return None
        for may_plan in (False, True):
            for model in models:
                if not may_plan or self.policy.may_plan(call.kind):
                    r = self.planned(model, call, may_plan)
                    if r is not None:
                        r.kind, r.key = call.kind, key
                        r.checks = self.checks(model, r.table_of_all_sizes)
                        r.prepare_like_another(call.args, call.kwargs, call.flat)
                        recordings.begin(key, call.flat.others).insert(0, r)
                        recordings.take_in(r)
                        return r
        return None

    def checks(self, model: Recording, sized: SizedTable | None) -> Checks:
        """When a recording for sizes that were never seen is compared with a run: at once, where
        its program's table for all sizes was used so often that this is due."""
        checks: Checks = model.checks.anew()
        if sized is not None and sized.is_due:
            sized.plan(self.policy.replay_seconds)
            checks.at = 0
        return checks

    def planned(self, model: Recording, call: Invocation, may_plan: bool) -> Recording | None:
        """The recording for a call by the family of another one, or None. Where kernels had better
        be compiled with later calls, it is planned after that."""
        start, compiled = timing.busy(), native.compiling_seconds()
        family = model.sizes.family
        assert family is not None
        r: Recording | None = self.with_kernels(
            call, lambda: family.recording(call.flat.leaves, may_plan))
        if may_plan:
            self.policy.planned(timing.busy() - start, native.compiling_seconds() - compiled)
        return r

    def with_kernels(self, call: Invocation, make: Callable[[], Any]) -> Any:
        """make(), with the kernels that it asks for; None where these had better be compiled with
        later calls."""
        elements = max((t._array.size for t in call.flat.leaves), default=0)
        try:
            # somebody waits for the result
            with tiered_compilation.recording(), tiered_compilation.work(elements):
                return ordered_kernels.once_ready(make, self.policy.affords_kernel)
        except ordered_kernels.Unready as e:
            self.recordings.put_off(e.order)
            return None

    # ---- recorded calls --------------------------------------------------------------------------
    def against(self, call: Invocation) -> Outcome | None:
        """Why a call that no recording fits is eager; None where it is to be recorded."""
        if call.declined:
            self.policy.declined(call.kind)
            return Outcome.COSTLY
        slower = self.recordings.slower(call.key)
        if slower is not None:
            slower.counted += 1
            slower.entered += 1
            return Outcome.SLOWER
        if self.refusals.hold(call.key):
            return Outcome.REFUSED
        if self.recordings.are_ordered(call):
            return Outcome.COMPILING
        of_kind = self.recordings.of(call.key)
        known = bool(of_kind)

        def model() -> Recording | None:
            return None if known else self.recordings.model(
                call.args, call.kwargs, call.flat)[1]

        def has_model() -> bool:
            return model() is not None

        def grows() -> bool:
            return families.may_begin(model(), [t._array.shape for t in call.flat.leaves])
        is_worth_it = bool(self.recordings.free) or not known and self.recordings.ventures(
            call.kind, has_model)
        why = self.policy.against(call.kind, Candidate(
            known, any([r.program.goes_by_counts for r in of_kind]), is_worth_it, has_model, grows))
        if why is None and not known and not has_model() and self.recordings.had_better_wait(
                call.args, call.kwargs, call.flat):
            return Outcome.NEW
        return why

    def recorded(self, call: Invocation) -> Any:
        """A call that is made eagerly and recorded."""
        start = timing.busy()
        before, is_new = self.recordings.before(call.key), call.key not in self.recordings.by_key
        if self.learned.learn(before, is_new, call.args, call.kwargs):
            call.key, call.flat = self.learned.key(call.args, call.kwargs)
            call.kind = self.policy.kind(call.key, call.flat.others, call.flat.leaves)
        call.new_arguments = self.learned.new_arguments(call.flat.leaves)
        compiled = native.compiling_seconds()
        attempt = FirstRecording(self.attempts, call)
        try:
            out = self.attempts.first(attempt)
        finally:                             # An error of the user's costs as much.
            took, kernels = timing.busy() - start, native.compiling_seconds() - compiled
            self.account(attempt, took, kernels)
        if attempt.recording is not None:
            self.recordings.take_in(attempt.recording)
        else:
            attempt.learn()
            if attempt.only_set_up:
                self.recordings.was_set_up(call)
        return out

    def account(self, attempt: FirstRecording, took: float, kernels: float) -> None:
        """An attempt to record a call took so many seconds, so many of them for kernels."""
        if attempt.only_set_up:
            self.policy.set_up(took, attempt.run_seconds)
            return
        self.policy.compiled(attempt.new_kernels, for_eager=True)
        self.policy.recorded(attempt.call.kind, took - attempt.new_kernels,
                             attempt.run_seconds - attempt.new_kernels,
                             attempt.has_model and attempt.became is not Outcome.RECORDED,
                             attempt.became,
                             kernels - attempt.new_kernels,
                             attempt.watching)
