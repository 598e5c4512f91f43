"""What is said, once, of a function whose calls are mostly eager though nothing refuses them."""
from typing import Any

from ..policy.account import Policy
from ..report.reasons import Costly, Differ, Reason
from .recordings import Recordings
from .refusals import Refusals
from .subject import Subject

SOME = 16                        # eager calls until it is said why they are


class Doubts:
    """Looks whether tracing pays. `reason`: why calls are eager, if most of them were."""

    def __init__(self, subject: Subject, policy: Policy, refusals: Refusals,
                 recordings: Recordings) -> None:
        self.subject, self.policy = subject, policy
        self.refusals, self.recordings = refusals, recordings
        self.reason: Reason | None = None

    def look(self) -> None:
        """Warn, once, if most calls are eager, or if tracing has turned out not to pay."""
        if self.reason is not None or self.refusals.warned:
            return
        self.reason = reason = self.policy.doubts()
        if reason is not None:
            self.refusals.say(f"is no faster traced: {reason.full()}")
            return
        self.reason = reason = self.why_so_far()
        if reason is not None:
            self.refusals.say(f"runs eagerly so far: {reason.full()}")

    def why_so_far(self) -> Reason | None:
        """Why most calls were eager; None where they were not, or there were few."""
        book = self.policy.summary()
        held_back = book.new + book.costly + book.unasked
        if held_back < SOME or 2 * held_back < book.calls or not self.policy.made:
            return None
        kinds = self.policy.kinds
        told = f"of {book.calls} calls {book.replayed} were replayed"
        if 2 * len(kinds) > book.calls:
            name = self.differing()          # Sizes may come again.
            if name is None:
                return None
            return Differ(f"{told}: `{name}` is another at each of them, and is no tensor")
        missed = self.missed()
        if missed is not None:
            return Reason(f"{told}: {missed.what}", missed.where, missed.instead)
        cost = self.policy.full.seconds
        return Costly(f"{told}: a recording takes about {cost * 1e3:.0f} ms, as long as "
                      f"{cost / max(self.policy.typical, 1e-7):.0f} of its calls")

    def differing(self) -> str | None:
        """An argument that is no tensor and differs between the last two kinds of calls."""
        from ..report import explain  # It is seldom needed.
        keys = list(self.policy.kinds)[-2:]
        one, other = (dict(explain.arguments(self.subject.fn, key)) for key in keys)
        for path, now in other.items():
            if one.get(path) != now and not (type(now) is tuple and len(now) > 2):
                return path
        return None

    def missed(self) -> Any:
        """What the recordings missed most often, as a reason; None where they missed nothing."""
        counts = [(n, key, reason) for key, rs in self.recordings.by_key.items() for r in rs
                  for reason, n in r.missed.counts.values()]
        if not counts:
            return None
        _, key, reason = max(counts, key=lambda x: x[0])
        return reason.named(self.subject.fn, key)
