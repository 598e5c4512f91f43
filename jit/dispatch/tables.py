"""The tables that machine code tries at a call, before Python is asked."""
from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from whet.tensor_base import Base

from ..machine_code import native_entry, table_index
from ..policy.account import Policy
from ..values.number_paths import positions
from .learned_variation import Learned
from .traced_function import TracedFunction

if TYPE_CHECKING:
    from ..replay.recording import Recording
    from ..tables.sized_table import SizedTable
    from .invocation import Args

# recordings whose tables are tried in turn; of more there is an index
LATEST = 8


def _has_an_array(x: object) -> bool:
    """Is an argument a tensor or a NumPy array?"""
    return type(x) is np.ndarray or issubclass(type(x), Base)


class Entrance(Protocol):
    """What machine code enters a traced function by."""
    _ready: tuple[Any, ...] | None


class Tables:
    """The tables of the latest recordings, or an index of many. `entry`: a weak reference to the
    traced function's native object, whose attribute `_ready` has the tables for machine code."""

    def __init__(self, subject: TracedFunction, learned: Learned, policy: Policy,
                 entry: weakref.ref[Entrance]) -> None:
        self.subject, self.learned, self.policy, self.entry = subject, learned, policy, entry
        self.lock = threading.RLock()        # held while recordings and tables are changed
        self.latest: list[Recording] = []          # the recordings that are replayed from tables
        # where machine code finds tables, if there are many
        self.index: table_index.Index | None = None
        self.sized: list[SizedTable] = policy.sized             # tables for many sizes each
        # Some sizes are not served by the recordings of others where the user says which may be.
        self.serve_all_sizes = False
        self.closed = False                  # nothing is replayed any more

    def first(self, r: Recording, args: Args) -> None:
        """Have machine code try this recording's table first; where all are slower than eager, let
        it call the function itself."""
        with self.lock:
            self.latest = [r, *(x for x in self.latest if x is not r)][:LATEST]
            self.hand_over()
            if native_entry.enter is not None and args and _has_an_array(args[0]) \
                    and all(r.slow for r in self.policy.held):
                self.publish(r.bypass(self.subject.fn, args[0]))

    def put(self, r: Recording) -> None:
        """Called when a recording has a new table."""
        if native_entry.enter is None:
            return
        with self.lock:
            numbers = self.learned.arguments
            index, aside = self.index, set(positions(numbers.paths - numbers.lengths))
            if index is None or index.aside != aside:
                index = self.index = table_index.Index(aside)
                for other in self.policy.held:
                    if other.tables.indexed is not None:
                        index.put(*other.tables.indexed)
            self.unindex(r)
            if r.tables.ready is not None and self.is_open(r):
                r.tables.indexed = r.tables.finger, r.tables.ready
                index.put(*r.tables.indexed)
            self.put_sized(r)
            self.hand_over()

    def is_open(self, r: Recording) -> bool:
        """Does machine code look at a recording's table? It does not if eager calls are faster, or
        if Python has to find the leaves. Nor does it if looking is costly and the table has rarely
        fitted of late (see `second_look.py`)."""
        unlucky = r.second_look.is_out or bool(self.policy.pause.left and r.second_look.misses)
        return not (r.slow or r.is_given_leaves or unlucky and r.program.may_miss)

    def put_sized(self, r: Recording) -> None:
        """Use the table for all sizes of a recording's program, if there is one."""
        table = r.table_of_all_sizes
        if table is not None and table not in self.sized and self.serve_all_sizes:
            table.plan(self.policy.times.typical_replay)
            self.policy.harvest_sized()
            self.sized[:] = [table, *self.sized][:LATEST]

    def drop(self, r: Recording) -> None:
        """Called when a recording is dropped."""
        self.latest = [x for x in self.latest if x is not r]
        self.sized[:] = [x for x in self.sized if x.first is not r]
        self.unindex(r)
        self.hand_over()

    def unindex(self, r: Recording) -> None:
        """Remove a recording from the index."""
        if r.tables.indexed is not None and self.index is not None:
            self.index.drop(*r.tables.indexed)
        r.tables.indexed = None

    def hand_over(self) -> None:
        """Give the current tables to machine code."""
        with self.lock:
            if self.closed:
                return
            policy = self.policy
            if len(policy.held) > LATEST and self.index is not None:
                ready: tuple[Any, ...] = self.index.ready
            else:
                ready = tuple([
                    x for r in self.latest if self.is_open(r) for x in r.tables.ready or ()])
            ready = *ready, *[x for t in self.sized if not t.first.slow for x in t.table]
            if policy.pause.left and native_entry.enter is not None:
                if policy.bypass is None:
                    policy.bypass = table_index.bypass_all(self.subject.fn, policy.pause.left)
                ready = *ready, *policy.bypass
            self.publish(ready or None)

    def close(self) -> None:
        """Nothing is replayed any more."""
        self.closed = True
        self.latest, self.index = [], None
        self.sized.clear()
        self.publish(None)

    def publish(self, ready: tuple[Any, ...] | None) -> None:
        """Have machine code walk these tables from now on."""
        entry = self.entry()
        if entry is not None:
            entry._ready = ready
