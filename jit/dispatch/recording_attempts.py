"""Records calls: the first of each way through a function, and later ones for comparison."""
from __future__ import annotations

import contextlib
import functools
import math
import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from whet.cpu import ordered_kernels

from .. import clocks
from ..capture.session import Session, Unrecorded
from ..capture.variation import Variation
from ..effects.run_findings import Findings
from ..effects.write_back import Left
from ..guards import sizes
from ..guards.outside_state import OutsideSearch, World
from ..guards.visitors import Unwatchable
from ..policy.account import Policy
from ..policy.call_times import TIMED
from ..policy.outcomes import Outcome
from ..refusals.reasons import OtherWays, Raises
from ..refusals.recording_errors import Wrong
from ..refusals.user_names import Names
from ..replay.build import build
from ..replay.build_in_parts import counts_new_data
from ..values.number_paths import shared_path
from ..values.numbers_as_sizes import is_one, key_with_lengths
from ..verify import recheck
from .code_that_ran import CodeThatRan
from .comparison_run import Comparison
from .learned_variation import Learned
from .recordings import Recordings
from .refusals import Refusals, calls_until_full
from .traced_function import TracedFunction

if TYPE_CHECKING:
    from ..guards.signature import Key
    from ..refusals.reasons import Explained, Reason
    from ..replay.recording import Recorded, Recording
    from .invocation import Invocation

# runs that may set something up, until one is recorded whatever it changes
SETTING_UP = 2
# calls in which what sets something up may wait for its turn: an optimizer for gradients of many
WAITS = 16


class Attempts:
    """Records calls of a function, one at a time: `lock` is held meanwhile."""

    def __init__(self, subject: TracedFunction, learned: Learned, policy: Policy,
                 refusals: Refusals, recordings: Recordings) -> None:
        self.subject, self.learned, self.policy = subject, learned, policy
        self.refusals, self.recordings, self.lock = refusals, recordings, threading.Lock()

    def record_first(self, attempt: FirstRecording) -> Any:
        """The result of a call that is recorded for the first time."""
        call = attempt.call
        try:
            out, r = attempt.result(), attempt.recording
        except BaseException as e:
            attempt.has_raised(e)
            raise
        finally:
            self.recordings.ended(call.key)
        # From here on nothing stands for something else.
        if r is not None and attempt.is_new and r.lock.acquire(False):
            try:
                r.prepare(call.args, call.kwargs, call.flat)
            finally:
                r.lock.release()
        return out

    def record_and_compare(self, call: Invocation, known: Recording) -> Any:
        """The result of a call that a known recording fits, with which the run is compared."""
        return Comparison(self, call, known).result()


class FirstRecording(Session):
    """The recording of a call that no recording fits. `run_seconds`: how long the function itself
    ran. `new_kernels`: how much of that compiled kernels of eager mode that were in no cache.
    `recording`: what replays such calls from now on."""

    def __init__(self, attempts: Attempts, call: Invocation) -> None:
        learned = attempts.learned
        items_vary = not learned.numbers_are_known
        variation = Variation(frozenset(learned.loose), items_vary,
                              sizes=items_vary and attempts.recordings.free != {})
        super().__init__(attempts.subject, learned, call, variation)
        self.policy, self.refusals = attempts.policy, attempts.refusals
        self.recordings = attempts.recordings
        self.became = Outcome.REFUSED
        self.recording: Recording | None = None
        self.is_new = True                   # Or was the recording there, and serves the call now?
        self.has_model = False
        self.is_of_the_family = False        # Do the guards of the model hold?
        # the recordings whose guards held before the run, but for sizes
        self.in_this_state: list[Recording] = []
        self.model_key: Key = ()             # of the call, without its sizes
        self.left = Left([], [], [])         # in Python's state, by the run
        self.ran_before = self.policy.begun > 0 or self.policy.times.typical < math.inf
        self.only_set_up = False             # It ran unwatched, to set up what later runs find.
        self.lesson: AbstractContextManager[Any] = contextlib.nullcontext()  # notes what it runs
        # As long as there is no recording, a run may turn out to be one that comes once.
        self.may_set_up = not self.policy.held and self.policy.begun < SETTING_UP

    def search(self) -> None:
        """Find a recording that this one may be like, and what the function can reach from
        outside."""
        call, recordings = self.call, self.recordings
        self.model_key, self.model = recordings.model(call.args, call.kwargs, call.flat)
        # Else it becomes a model itself, for what its guards are.
        self.is_of_the_family = self.model is not None and self.model.fits_but_for_sizes(
            call.flat.leaves, call.flat.boxes)
        paths = recordings.begin(call.key, call.flat.others)
        _, models = recordings.fitting(call.args, call.kwargs, call.flat)
        self.in_this_state = [r for r in (*paths, *models)
                              if r.fits_but_for_sizes(call.flat.leaves, call.flat.boxes)]
        self.learned.look_at_counts(paths, None if paths else self.model)
        if not recordings.make_place(call.key):
            last = paths[0].missed.last
            reason = OtherWays(len(paths), last and last.named(self.subject.fn, call.key))
            self.refusals.pause(call.key, reason, calls=calls_until_full(last))
            recordings.drop_key(call.key)
            raise Unrecorded
        self.is_unwatched = self.may_be_unwatched(paths)
        if self.is_unwatched:
            # That is what the model's world was searched with.
            self.variation = replace(self.variation, loose=self.model.recorded.variation.loose)
        try:
            super().search()
        except Unwatchable as e:
            if self.learned.ran is not None and not self.learned.ran.may_be_too_much:
                raise
            self.ask_what_runs(e.reason)
        self.became, self.has_model = Outcome.FAILED, self.model is not None

    def ask_what_runs(self, reason: Reason) -> NoReturn:
        """The function reaches something that cannot be compared. From now on only code is read
        that ran; this run shows which does."""
        why = reason.named(self.subject.fn, self.call.key)
        self.learned.ran = self.lesson = CodeThatRan(why, before=self.learned.ran)
        self.learned.arrays_are_known, self.became = True, Outcome.SET_UP
        self.learned.fix_numbers()
        raise Unrecorded

    def may_be_unwatched(self, paths: list[Recording]) -> bool:
        """Is a recording of other sizes proof that the run does nothing that must be watched
        for?"""
        model, flat = self.model, self.call.flat
        if (model is None or not model.sizes.are_mostly_followed or paths
                or flat.numbers or flat.lengths
                or self.call.key in self.recordings.watched or self.learned.ran is not None):
            return False
        return sizes.needs_no_watching(model) and model.fits(self.leaves, flat.boxes)

    def numbers_become_known(self) -> None:
        """The function would notice a stand-in of a number, so numbers are part of a call's key
        from now on. If the call has such arguments, it is not recorded under its old key."""
        self.learned.fix_numbers()
        if self.call.flat.numbers or self.call.flat.lengths:
            raise Unrecorded

    def arrays_become_known(self) -> None:
        """The function would notice a stand-in of a NumPy array, so arrays are compared from now
        on. If the call has such arguments, it is not recorded under its old key."""
        self.learned.arrays_are_known = True
        if self.call.flat.arrays:
            raise Unrecorded

    def may_only_grow(self, world: World) -> frozenset[Any]:
        """Lists that the function only appends to, as far as its code shows, without those that a
        run has read."""
        lists: frozenset[Any] = self.learned.expect_growth(world)
        return lists

    def is_searched(self) -> None:
        """Do not record a run that is about to set something up, such as an optimizer's state.
        Later runs find it there, so the recording would fit none. A later run may be the first of
        this kind: the one that has gradients of several backwards."""
        waited, world = self.policy.waited, self.world
        if not self.policy.made and (world.later.gathers if 0 < waited < WAITS
                                     else world.later.sets_up and not waited):
            self.became, self.only_set_up = Outcome.SET_UP, True
            raise Unrecorded

    def unwatched(self) -> Any:
        start, uses = clocks.busy(), self.first_uses() if self.only_set_up else None
        try:
            with self.lesson, uses or contextlib.nullcontext():
                return super().unwatched()
        finally:
            self.times.run = clocks.busy() - start
            if uses is not None:
                self.learned.watched(uses.uses.values())

    def unwatchable(self, error: Unwatchable) -> None:
        """The function reaches something that cannot be compared."""
        self.refusals.give_up(self.call.key, error.reason.named(self.subject.fn, self.call.key))

    def exchange(self) -> None:
        """Limit the copies of what the run writes to. Where they would be large, the program is
        checked at the next call that the recording fits."""
        super().exchange()
        if self.model is None and not self.learned.keeps_copies:
            originals = self.rec.originals
            originals.may_take = self.rec.few_copies
            originals.given_up = self.rec.run_memory.lull.end

    def exchange_arguments(self) -> None:
        """Numbers of which sizes are made are given as sizes."""
        if self.variation.sizes:
            self.rec.followed.possible.update(
                (id(t), (path, t._array.item())) for path, t in self.call.flat.numbers.items()
                if is_one(t._array.item()))
        super().exchange_arguments()

    def numbers_become_sizes(self) -> bool:
        """Numbers were found to become sizes, so the call has another key. False where its lists
        hold other numbers that cannot be sizes."""
        call, flat, lengths = self.call, self.call.flat, self.rec.followed.lengths
        numbers, learned = [*flat.numbers], self.learned.arguments
        for path, length in lengths.items():
            flat.become_length(path, length, self.leaves)
        learned.become_lengths(lengths)
        self.recordings.ended(call.key)
        call.key = key_with_lengths(call.key, numbers, lengths)
        call.kind = self.policy.kind(call.key, flat.others, flat.leaves)
        self.model = None
        self.model_key = key_with_lengths(self.model_key, numbers, lengths, sizes=False)
        self.recordings.begin(call.key, flat.others)
        return not any(shared_path(path) in learned.lengths for path in flat.numbers)

    def conclude(self, out: Any) -> None:
        """Make a recording of the run and register it. Where the run shows that a later one serves
        better, no recording is made."""
        self.note_times()
        if self.rec.followed.lengths and not self.numbers_become_sizes():
            self.became = Outcome.SET_UP
            return
        findings = Findings(self, out)
        self.left = findings.left
        if self.lacks_copies(findings) or self.may_set_up and self.leaves_its_start():
            self.became = Outcome.SET_UP
            return
        # Before a program is built in vain.
        r = None if self.fix_decided_numbers() else self.build(findings)
        if r is None:
            return
        if self.is_unwatched and not self.model.sizes.note_followed(
                sizes.took_same_way(self.model, r.program)):
            self.recordings.watched.add(self.call.key)
        elif not self.fix_decided_numbers():     # Building may have made further numbers guards.
            self.register_or_reuse(r)

    def lacks_copies(self, findings: Findings) -> bool:
        """Were copies of overwritten values given up that the check of the program needs? They are
        kept from now on. The next call cannot check a program whose backward reads what this
        forward made, nor one in parts."""
        is_lacking = self.rec.originals.are_lost and bool(
            findings.results.alive or counts_new_data(self.rec, self.rec.nodes))
        self.learned.keeps_copies |= is_lacking
        return is_lacking

    def build(self, findings: Findings) -> Recording | None:
        """The recording of this run. None if it needs kernels that take long to compile: these are
        compiled first, and such a call is recorded later."""
        if self.model is not None and not self.is_unwatched:
            nearest = self.recordings.nearest(self.call, self.model, self.rec)
            self.is_of_the_family &= nearest is self.model
            self.model = nearest
        try:
            # What is drawn elsewhere is of the sizes that the run asked for.
            return build(self, findings, None if self.rec.stand_ins.draws.made else self.model)
        except ordered_kernels.Unready as e:
            self.became = Outcome.ORDERED
            self.recordings.put_off(e.order)
            return None

    def register_or_reuse(self, r: Recording) -> None:
        """Register a new recording, unless a known one serves its calls as well."""
        known = self.recordings.served_by(r, self.call.key)
        if known is None:
            return self.register(r)
        self.became, self.recording, self.is_new = Outcome.RESIZED, known, False
        self.refusals.recorded()

    def note_times(self) -> None:
        """The function has run, and was watched."""
        self.times.end()
        self.times.watching = recheck.NODE * len(self.rec.nodes)

    def has_raised(self, error: BaseException) -> None:
        """The run ended with an error, which the user gets: it was watched in vain."""
        if self.has_run and not self.times.are_known:
            self.note_times()
            reason = self.rec.reason or Raises(f"it raised {type(error).__name__}")
            self.refusals.why = reason.named(self.subject.fn, self.call.key)

    def affords_kernels(self, seconds: float) -> bool:
        """May kernels be compiled now that take this many seconds? If not, the call is recorded
        once more later, when eager's kernels will be there."""
        ran = self.times.since_begin() - self.times.new_kernels
        return self.policy.affords_compiling(seconds, self.times.search + ran)

    def affords_family(self) -> bool:
        """May a plan for all sizes be made now?"""
        ran = self.times.begin_plan()
        return self.policy.affords_family(self.times.search + ran)

    def family_grown(self) -> None:
        """Account for the plan for all sizes, which was made, or could not be."""
        self.policy.plans.note_family(*self.times.of_plan())

    def leaves_its_start(self) -> bool:
        """Has the run changed something that its recording would compare? A training step does so
        when it makes the optimizer's state."""
        loose = self.variation.loose
        return any(c.place.is_read and c.key not in loose
                   and (id(c.owner), None) not in loose for c in self.world.changes())

    def learn(self) -> None:
        """There is no recording. What the run changed may vary between calls from now on, and so
        may what schedules change."""
        if hasattr(self, "world"):
            changes, call = self.world.changes(), self.call
            self.learned.loosen(changes)
            if not call.flat.objects:        # nothing holds those before there is a recording
                self.learned.find_hidden((), changes, functools.partial(
                    Names, self.world, self.subject.fn, call.key))
            if self.only_set_up and any(c.index is None for c in changes):
                # What it made may be such that the next call will not be recorded.
                with contextlib.suppress(Unwatchable):
                    found = OutsideSearch(self.subject.fn, self.call.flat.others).world
                    self.learned.expect_to_go_on(self.world, found)
            self.learned.expect(self.world)
            self.learned.foresee(self.left.effects)

    def fix_decided_numbers(self) -> bool:
        """Compare those varying numbers at each call on which Python decided in this run. Were
        there any?"""
        pinned = self.rec.guarded.numbers
        paths = [path for path, t in self.call.flat.numbers.items() if id(t) in pinned]
        bound = [s.spot.key for s, t in zip(self.world.slots, self.slots) if id(t) in pinned]
        self.learned.arguments.fix(paths)
        self.learned.fix(bound)
        return bool(paths or bound)

    def register(self, r: Recording) -> None:
        """Put a new recording to use."""
        call, model = self.call, self.model
        cost = self.times.search + recheck.NODE * len(self.rec.nodes)
        r.checks = recheck.Checks(self.subject.verify, cost)
        if r.doubtful:
            r.checks.at = 0
        r.kind, r.key = call.kind, call.key
        self.recordings.of(call.key).insert(0, r)
        self.refusals.recorded()
        self.note_what_it_showed(r.recorded)
        is_resized = model is not None and r.program.plan is model.program.plan
        # What was not watched did what its model does: else there would be no recording.
        if not (self.is_unwatched and is_resized) and not r.replay.outside_draws:
            self.recordings.add_model(self.model_key, r)
        r.trial.proven = is_resized and self.policy.times.timings >= TIMED
        self.became, self.recording = Outcome.RESIZED if is_resized else Outcome.RECORDED, r

    def note_what_it_showed(self, recorded: Recorded) -> None:
        """Note how the run was watched, and where the user's code read sizes or other
        numbers."""
        recorded.variation, recorded.objects = self.variation, self.call.flat.objects
        recorded.size_read_at, recorded.read_at = self.watch.size_read_at, self.watch.read_at
        followed, sizes_vary = self.rec.followed, self.variation.sizes
        recorded.follows = followed.at if sizes_vary and not followed.is_incomplete else None
        if followed.is_incomplete and recorded.size_read_at is None:
            recorded.size_read_at = recorded.read_at = "code that is tried"

    def failed(self, error: Explained) -> None:
        """The run cannot be recorded. The next one may be, if this one has shown what varies."""
        numpys_were_inputs = any(type(x) is not np.ndarray
                                 for x in (self.call.flat.arrays or {}).values())
        if numpys_were_inputs:
            self.learned.arguments.fix_numbers_of_numpy()
        # What a run that set up state made, as a cache that is made once, is only read by this one.
        reads_first = self.learned.watched(self.run.first_uses.uses.values())
        if self.has_learned() or numpys_were_inputs or reads_first:
            self.became = Outcome.SET_UP
            return
        if type(error) is Wrong and self.model is not None:
            self.model.sizes.give_up_family()
        if self.is_unwatched:                # The next call is recorded in full.
            self.model.sizes.note_followed(False)
            self.recordings.watched.add(self.call.key)
        else:
            self.refusals.failed(self.call.key, error, self.rec.passing,
                                 bool(self.recordings.of(self.call.key)))
