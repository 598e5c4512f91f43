"""What became of a traced function's calls, one by one: what a ledger counts."""
from __future__ import annotations

import enum


class Counted(enum.Enum):
    """What a `Ledger` has a count of, by the name `field`."""

    def __init__(self, field: str) -> None:
        self.field = field


class Outcome(Counted):
    """What became of a call."""
    REPLAYED = "replayed"        # by machine code or Python
    RECORDED = "recorded"        # in full
    RESIZED = "resized"          # recorded like a call of other sizes
    CHECKED = "checked"          # recorded again, for comparison
    TIMED = "timed"              # eager, in a trial
    FAILED = "failed"            # recorded in vain
    SET_UP = "set_up"            # watched, and seen to make once what later calls find
    ORDERED = "ordered"          # recorded, but for kernels that are compiled with later calls
    # eager calls: why they are no others
    NEW = "new"
    COSTLY = "costly"
    CROWDED = "crowded"
    SLOWER = "slower"
    REFUSED = "refused"
    BUSY = "busy"
    COMPILING = "compiling"
    UNASKED = "unasked"
    WATCHED = "watched"


class Event(Counted):
    """What else there was."""
    UNSEEN = "unseen"            # the first replay of sizes that no run had; it is replayed, too
    SIZED = "sized"              # a replay by a table for all sizes; it is replayed, too
    MISSED = "missed"            # a recording was tried in vain, or passed over after many misses
    EVICTED = "evicted"          # a recording made room for another one


WHY_EAGER = {
    Outcome.NEW: "the first of their kind",
    Outcome.COSTLY: "a recording would cost more than it may",
    Outcome.CROWDED: "no room for another recording",
    Outcome.SLOWER: "shorter than replays",
    Outcome.REFUSED: "cannot be recorded",
    Outcome.BUSY: "another thread was recording",
    Outcome.COMPILING: "kernels of the next recording were still to be compiled",
    Outcome.UNASKED: "tracing does not pay for them",
    Outcome.WATCHED: "hooks of saved tensors or anomaly mode see each operation",
}
