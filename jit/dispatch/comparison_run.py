"""Records a call again, to compare its run with an existing recording."""
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..capture.memory_ceiling import FEW
from ..capture.session import Session, Unrecorded
from ..effects.run_findings import Findings
from ..guards.visitors import Unwatchable
from ..refusals.reasons import Drifts
from ..refusals.recording_errors import Wrong
from ..refusals.replay_miss import Miss
from ..verify import recheck
from ..verify.check_without_copies import EarlyCheck, applies
from ..verify.compare_runs import compare

if TYPE_CHECKING:
    from ..refusals.reasons import Explained
    from ..replay.recording import Recording
    from .invocation import Invocation
    from .recording_attempts import Attempts


class Comparison(Session):
    """A call that a `known` recording fits: it must do what was recorded."""

    def __init__(self, attempts: Attempts, call: Invocation, known: Recording) -> None:
        variation = replace(known.recorded.variation, sizes=known.recorded.follows is not None)
        super().__init__(attempts.subject, attempts.learned, call, variation)
        self.refusals, self.recordings, self.known = attempts.refusals, attempts.recordings, known
        self.early: EarlyCheck | None = None

    def exchange(self) -> None:
        """The program is run before the run writes to what it would take much to copy."""
        super().exchange()
        if self.known.program.is_on_device:
            spare = self.known.program.spare
            self.rec.originals.may_take = lambda: spare
        if self.subject.verify == "off" or not applies(self.known):
            return
        try:
            self.early = EarlyCheck(self.rec, self.known, self.call.flat.leaves)
        except Miss:                         # Copies it is.
            return
        originals = self.rec.originals
        originals.may_take, originals.given_up = lambda: FEW, self.early
        if self.known.recorded.lull is not None:
            self.rec.run_memory.copies_until = self.known.recorded.lull

    def numbers_become_known(self) -> None:
        """The call has another key now."""
        self.learned.fix_numbers()
        raise Unrecorded

    def arrays_become_known(self) -> None:
        """The call has another key now."""
        self.learned.arrays_are_known = True
        raise Unrecorded

    def is_searched(self) -> None:
        """Some slots may hold objects of another kind now: tensors would have other places."""
        if self.world.taken_keys != self.known.world.taken_keys:
            raise Unrecorded

    def unwatchable(self, error: Unwatchable) -> None:
        """What the function reaches can no longer be compared."""
        self.refusals.give_up(self.call.key, error.reason.named(self.subject.fn, self.call.key))

    def conclude(self, out: Any) -> None:
        """The run must have done what the recording does, and its program must give this run's
        bits."""
        known = self.known
        if compare(self, Findings(self, out), known):
            known.unproven = False
        elif known.unproven:                 # The run went another way.
            self.learned.look_at_counts((), known)
            self.recordings.drop(known)
        known.doubtful = known.unproven

    def failed(self, error: Explained) -> None:
        """The recording is of no use: another thread may have done what it shows, or it drifts."""
        known, rec = self.known, self.rec
        if self.has_learned():               # Of another way, perhaps: this one stays what it was.
            return
        if known.unproven and type(error) is Wrong:
            # The next recording is checked on copies, and tells what is wrong.
            self.learned.keeps_copies = True
            self.recordings.drop(known)
        elif known.doubtful:
            self.recordings.drop(known)
            self.refusals.failed(self.call.key, error)
        elif self.run.alone():
            was, now = recheck.Steps.of(known), recheck.Steps(rec.nodes, rec.values.arrays)
            if recheck.parting(was, now) is not recheck.OTHER_WAY:
                self.distrust(error)

    def distrust(self, error: Explained) -> None:
        """A call that a recording fits did something else, or its program does: none is replayed
        any more."""
        reason = error.reason if type(error) is Wrong else Drifts(
            f"call {self.known.calls} of a kind was made eagerly once more, and {error}, though "
            "nothing that its recording compares has changed. It depends on something that a trace "
            "cannot see (a counter in an extension, a file, a clock); earlier replays may have "
            "missed it")
        self.refusals.drift = reason
        self.recordings.close()
        self.refusals.distrust(reason)
