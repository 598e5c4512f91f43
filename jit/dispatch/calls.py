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

from .. import clocks
from ..machine_code import native_entry
from ..machine_code.native_entry import MISSED
from ..policy import not_worth_tracing
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

    from ..replay.recording import Recording
    from ..tables.sized_table import SizedTable
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
            return self.eager_after_drift(args, kwargs)
        policy, begun = self.policy, clocks.clock()
        if policy.pause.left:
            return self.eager_without_key(args, kwargs)
        try:
            key, flat = self.learned.key(args, kwargs)
            kind = policy.kind(key, flat.others, flat.leaves)
        except TypeError:                    # The key cannot be hashed.
            policy.count(Outcome.REFUSED)
            return self.subject.fn(*args, **kwargs)
        call = Invocation(args, kwargs, key, flat, kind, begun)
        out = self.replays.result(call)
        if out is not MISSED:
            policy.pay(kind, clocks.clock() - begun)
            return out
        out = self.serve_new_sizes(call)
        if out is not MISSED:
            return out
        why = self.why_not_record(call)
        return self.record_alone(call) if why is None else self.run_eagerly(call, why)

    # ---- eager calls -----------------------------------------------------------------------------
    def eager_after_drift(self, args: Args, kwargs: Kwargs) -> Any:
        """Run a function that once did something else than its recording: it is not replayed any
        more."""
        if self.subject.strict and self.refusals.drift is not None:
            self.refusals.stop(self.refusals.drift)
        self.policy.count(Outcome.REFUSED)
        return self.subject.fn(*args, **kwargs)

    def eager_without_key(self, args: Args, kwargs: Kwargs) -> Any:
        """Run the function without finding the call's key, because finding it would take more
        time than is left to spend."""
        policy = self.policy
        if policy.bypass is not None:        # Machine code has made the others, up to this one.
            policy.bypassed()
            policy.bypass, policy.pause.left = None, 0
            self.tables.hand_over()
        policy.rested(1)
        self.warn_if_tracing_does_not_help()
        return self.subject.fn(*args, **kwargs)

    def run_eagerly(self, call: Invocation, why: Outcome) -> Any:
        """Run a call that no recording fits and that is not recorded, and note its time. `why`: the
        reason for which it is not recorded."""
        policy, asked, start = self.policy, clocks.clock() - call.begun, clocks.busy()
        compiled = native.compiling_seconds()
        has_raised = True
        try:
            out = self.subject.fn(*call.args, **call.kwargs)
            has_raised = False
        finally:
            # New kernels are there for the next one.
            took = clocks.busy() - start - (native.compiling_seconds() - compiled)
            if has_raised:
                policy.raised(took, asked + took, why)
            else:
                policy.ran(call.kind, took, asked + took, why)
            if policy.pause.left:
                self.tables.hand_over()
            idle = policy.pause.idle
            if not idle % LOOKS or idle == FIRST_LOOK or policy.pause.left:
                self.warn_if_tracing_does_not_help()
        return out

    def warn_if_tracing_does_not_help(self) -> None:
        """Warn, once, if tracing has turned out not to pay, or if runs could not be recorded and
        the next try is not due for long."""
        refusals, policy = self.refusals, self.policy
        if refusals.warned:
            return
        reason = not_worth_tracing.why(policy, self.subject.fn)
        if reason is not None:
            refusals.say(f"is no faster traced so far: {reason.full()}")
        elif refusals.why is not None and policy.pause.idle >= FIRST_LOOK \
                and not policy.summary().replayed:
            refusals.say(f"runs eagerly so far: {refusals.why.full()}")

    # ---- calls of new sizes ----------------------------------------------------------------------
    def serve_new_sizes(self, call: Invocation) -> Any:
        """The result of a call whose sizes were never recorded on its way through the function, or
        MISSED. No run is recorded: a table for all sizes serves the call, or a recording that is
        made from one of other sizes."""
        start, key, recordings = clocks.busy(), call.key, self.recordings
        if not recordings.models or key in self.refusals.by_key or key in recordings.watched:
            return MISSED
        plans = recordings.plans
        if not plans or call.kind.tried == plans and not self.policy.may_plan(call.kind):
            return MISSED
        if recordings.are_ordered(call):
            return MISSED
        call.kind.tried = plans
        if key not in recordings.by_key:
            table = self.make_alone(self.sized_table, call)
            if table is not None:
                return self.call_by_sized_table(table, call, start)
        aside, making, out = call.seconds_aside, 0.0, MISSED
        # Recordings may lead different ways: which is the call's is seen as it goes.
        while out is MISSED:
            began = clocks.busy()
            r = self.make_alone(self.recording_without_run, call)
            if r is None:
                break
            making = clocks.busy() - began
            out = self.replays.try_recording(r, call)
        took = clocks.busy() - start - (call.seconds_aside - aside)  # compiling has an account
        if out is MISSED:
            call.begun += took
            self.policy.unrun_in_vain(took)
        else:
            self.policy.unrun(call.kind, making, took)
        return out

    def make_alone(self, make: Callable[[Invocation], Any], call: Invocation) -> Any:
        """`make(call)` with the lock of attempts; None where another thread holds it."""
        if not self.attempts.lock.acquire(False):
            return None
        try:
            return make(call)
        finally:
            self.attempts.lock.release()

    def sized_table(self, call: Invocation) -> SizedTable | None:
        """A table for all sizes that now knows the call's sizes, or None."""
        policy = self.policy
        if not policy.sized or not policy.may_add_size(call.kind):
            return None
        shapes = [t._array.shape for t in call.flat.leaves]
        table: SizedTable
        for table in list(policy.sized):
            if not table.is_due and not table.first.slow and self.with_kernels(
                    call, functools.partial(table.learn, shapes)):
                return table
        return None

    def call_by_sized_table(self, table: SizedTable, call: Invocation, start: float) -> Any:
        """The result of a call by a table that knows its sizes, or MISSED. Now and then the call is
        eager, so that times can be compared."""
        if table.is_sounding:
            table.sound()
            return self.run_eagerly(call, Outcome.TIMED)
        out = native_entry.enter(table.table, call.args, call.kwargs)
        if out is not MISSED:
            self.policy.added_size(clocks.busy() - start)
        return out

    def recording_without_run(self, call: Invocation) -> Recording | None:
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
                    r = self.recording_of_family(model, call, may_plan)
                    if r is not None:
                        r.kind, r.key = call.kind, key
                        r.checks = self.checks(model, r.table_of_all_sizes)
                        r.prepare_like_another(call.args, call.kwargs, call.flat)
                        recordings.begin(key, call.flat.others).insert(0, r)
                        recordings.take_in(r)
                        return r
        return None

    def checks(self, model: Recording, sized: SizedTable | None) -> Checks:
        """When a recording for sizes that were never seen is compared with a run. If its program's
        table for all sizes was used so often that a comparison is due, it is made at once."""
        checks: Checks = model.checks.anew()
        if sized is not None and sized.is_due:
            sized.plan(self.policy.times.typical_replay)
            checks.at = 0
        return checks

    def recording_of_family(self, model: Recording, call: Invocation,
                            may_plan: bool) -> Recording | None:
        """The recording that the family of `model` makes for a call, or None. It waits for kernels
        that should rather be compiled with later calls."""
        start, compiled = clocks.busy(), native.compiling_seconds()
        family = model.sizes.family
        assert family is not None
        r: Recording | None = self.with_kernels(
            call, lambda: family.recording(call.flat.leaves, may_plan))
        if may_plan:
            self.policy.plans.note_range(
                clocks.busy() - start, native.compiling_seconds() - compiled)
        return r

    def with_kernels(self, call: Invocation, make: Callable[[], Any]) -> Any:
        """`make()`, after the kernels that it asks for were compiled; None where these should
        rather be compiled with later calls."""
        elements = max((t._array.size for t in call.flat.leaves), default=0)
        try:
            # somebody waits for the result
            with tiered_compilation.recording(), tiered_compilation.work(elements):
                return ordered_kernels.once_ready(make, self.policy.affords_kernel)
        except ordered_kernels.Unready as e:
            self.recordings.put_off(e.order)
            return None

    # ---- recorded calls --------------------------------------------------------------------------
    def why_not_record(self, call: Invocation) -> Outcome | None:
        """The reason why a call that no recording fits should not be recorded; None where it
        should."""
        if call.declined:
            self.policy.declined(call.kind)
            return Outcome.COSTLY
        slower = self.recordings.slower(call.key)
        if slower is not None:
            slower.counts.by_python += 1
            slower.counts.in_account += 1
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
        why = self.policy.why_not_record(call.kind, Candidate(
            known, any([r.program.depends_on_counts for r in of_kind]), is_worth_it, has_model,
            grows))
        if why is None and not known and not has_model() and self.recordings.had_better_wait(
                call.args, call.kwargs, call.flat):
            return Outcome.NEW
        return why

    def record_alone(self, call: Invocation) -> Any:
        """Record a call, unless another thread is recording one, or a recording serves it that was
        skipped so far."""
        taken = False
        try:
            taken = self.attempts.lock.acquire(False)
            if not taken:
                return self.run_eagerly(call, Outcome.BUSY)
            out = self.replays.result_of_skipped(call)
            if out is MISSED and not self.recordings.are_enough(call.key):
                return self.record(call)
        finally:
            if taken:
                self.attempts.lock.release()
        if out is MISSED:
            return self.run_eagerly(call, Outcome.CROWDED)
        self.policy.pay(call.kind, clocks.clock() - call.begun)
        return out

    def record(self, call: Invocation) -> Any:
        """Run a call eagerly, and record it."""
        start = clocks.busy()
        before, is_new = self.recordings.before(call.key), call.key not in self.recordings.by_key
        if self.learned.learn(self.subject.fn, before, is_new, call):
            call.key, call.flat = self.learned.key(call.args, call.kwargs)
            call.kind = self.policy.kind(call.key, call.flat.others, call.flat.leaves)
        call.new_arguments = self.learned.new_arguments(call.flat.leaves)
        compiled = native.compiling_seconds()
        attempt = FirstRecording(self.attempts, call)
        try:
            out = self.attempts.record_first(attempt)
        finally:                             # An error of the user's costs as much.
            took, kernels = clocks.busy() - start, native.compiling_seconds() - compiled
            self.enter_in_account(attempt, took, kernels)
        if attempt.recording is not None:
            self.recordings.take_in(attempt.recording)
        else:
            attempt.learn()
            if attempt.only_set_up:
                self.recordings.was_set_up(call)
        return out

    def enter_in_account(self, attempt: FirstRecording, took: float, kernels: float) -> None:
        """Note that an attempt to record a call took `took` seconds, `kernels` of them for
        kernels."""
        times = attempt.times
        if attempt.only_set_up:
            self.policy.set_up(took, times.run)
            return
        self.policy.compiled(times.new_kernels, for_eager=True)
        self.policy.recorded(attempt.call.kind, took - times.new_kernels,
                             times.run - times.new_kernels,
                             attempt.has_model and attempt.became is not Outcome.RECORDED,
                             attempt.became,
                             kernels - times.new_kernels,
                             times.watching)
