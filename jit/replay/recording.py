"""A recording: one way through a traced function. It has what is compared, what a replay does, and
the account of its calls."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import tiered_compilation

from ..capture.variation import Variation
from ..guards.tensor_guards import TensorGuards
from ..machine_code import native_entry
from ..machine_code.native_entry import MISSED
from ..machine_code.table_index import bypass, fingerprint, limit_uses, uses_of
from ..machine_code.table_rows import Table
from ..policy.second_look import SecondLook
from ..policy.timing import Trial
from ..refusals.replay_miss import Miss
from ..tables import native_table, sized_table
from ..values.number_paths import positions
from .counted_misses import CountedMisses
from .inputs import Overlaps
from .replay import Replay

if TYPE_CHECKING:
    from ..guards.call_settings import CallSettings
    from ..guards.outside_state import World
    from ..guards.signature import FlatArguments, Key
    from ..policy.ledger import Kind
    from ..program.shape_symbols import Shapes
    from ..tables.sized_table import SizedTable
    from .families import Family

# calls of other sizes that may take another way before sizes are recorded one by one, unless more
# calls took the same way
STRAYED = 2
BASE, NODE = 1 << 14, 1 << 10    # approximate bytes of a recording, and of each of its nodes


class Recorded:
    """How the run of a recording was watched, and what was seen. A run of other sizes, or a
    repeated one, is compared with this."""

    def __init__(self, overlaps: Overlaps, positions: Any):
        self.overlaps = overlaps
        # the streams from which it draws, and where it leaves generators
        self.positions = positions
        self.variation = Variation()
        # the ids of the objects among the arguments, for hidden ones: see `hidden_arguments.py`
        self.objects: tuple[int, ...] = ()
        # where the user's code read a size (see sizes.py); where it read any fact of a tensor
        self.size_read_at: str | None = None
        self.read_at: str | None = None
        # where sizes that it read came to ops (see followed_sizes.py), or None
        self.follows: Any = None
        # the number of nodes when the run had the least memory in use, before it wrote more than
        # is copied; None if it wrote less
        self.lull: int | None = None


class CallCounts:
    """The calls for which a recording was tried. Machine code counts those that it makes."""

    def __init__(self) -> None:
        self.by_python = 0                   # calls that Python made, replayed or eager
        self.unfit = 0                       # calls that it did not fit
        self.in_account = 0                  # calls that are in the policy's account
        # seconds of calls whose table missed midway, which are in no account
        self.in_vain = 0.0


class TablesOfRecording:
    """The tables that machine code has for a recording. `moves_on`: did a call change state so that
    the recording no longer holds, which no table does?"""

    def __init__(self, moves_on: bool = False) -> None:
        # the table that replays, and the one that calls the function itself
        self.ready: Table | None = None
        self.passed: Table | None = None
        self.renewed = 0                     # calls for which the table was made again
        self.moves_on = moves_on
        self.finger = 0                      # the recording's fingerprint in an index
        # its entry in the index: the place, and the table
        self.indexed: tuple[int, Table] | None = None

    @property
    def calls(self) -> int:
        """The number of calls that machine code has made with these tables."""
        return sum(uses_of(x) for x in (self.ready, self.passed) if x is not None)

    @property
    def is_due(self) -> bool:
        """Should the table be made again at the next call that reaches Python?"""
        return not self.renewed & self.renewed + 1


class AmongSizes:
    """The place of a recording among those of other sizes. `shapes`: of the tensors among the
    arguments. `lengths`: which of these stand for numbers that became sizes."""

    def __init__(self, shapes: Shapes, lengths: Sequence[int]) -> None:
        self.shapes, self.lengths = shapes, lengths
        self.family: Family | None = None    # makes recordings of other sizes like this one
        self.is_alone = False                # Is there no family, and can there be none?
        self.unsized = ""                    # why there can be none
        self.followed = self.strayed = 0     # calls of other sizes on the same, or another way

    @classmethod
    def of(cls, arguments: FlatArguments) -> AmongSizes:
        """The initial place of a call's recording."""
        shapes = [t._array.shape for t in arguments.leaves]
        return cls(shapes, [*arguments.lengths.values()])

    @property
    def are_mostly_followed(self) -> bool:
        """Do most calls of other sizes take the same way?"""
        return self.strayed < STRAYED or self.followed > self.strayed

    def give_up_family(self, why: str = "") -> None:
        """Give up the family: each size is recorded from now on."""
        self.family, self.is_alone, self.unsized = None, True, why

    def join_family(self, family: Family) -> None:
        """Join a family."""
        self.family, self.is_alone = family, False

    def note_followed(self, followed: bool) -> bool:
        """Note whether a call of other sizes took the same way, and return that."""
        self.followed, self.strayed = self.followed + followed, self.strayed + (not followed)
        return followed


class Recording:
    """One way through the function: its guards, and what a replay does."""
    # of its calls, once it is registered with the policy and in the table of recordings
    kind: Kind
    key: Key

    def __init__(self, world: World, settings: CallSettings, guards: TensorGuards,
                 replay: Replay, recorded: Recorded, sizes: AmongSizes,
                 returns_a_box: bool) -> None:
        self.world, self.guards, self.replay, self.recorded = world, guards, replay, recorded
        # settings that are part of the key: grad mode, default dtype, threads
        self.settings = settings
        # Does it return a container that was among the arguments, or write to one?
        self.wants_boxes = returns_a_box or replay.fills
        self.lock, self.missed = self.program.lock, CountedMisses()
        self.sizes, self.tables = sizes, TablesOfRecording()
        self.unseen = False                  # Was it made for sizes at which no call was run?
        self.checks: Any = None              # when it is recorded again: see recheck.py
        # Could another thread have made its changes? Then the call is recorded once more first.
        self.doubtful = False
        # Must its program still be compared with a run before it is replayed?
        self.unproven = False
        self.size = 0                        # the bytes that it takes
        self.counts = CallCounts()
        self.trial, self.slow = Trial(), False       # Is an eager call shorter than a replay?
        self.second_look = SecondLook()      # Is it worth a try?
        self.may_be_hasty = True             # May some of its kernels be quickly compiled ones?

    @property
    def program(self) -> Any:
        """The program that a replay runs."""
        return self.replay.program

    @property
    def backward(self) -> Any:
        """The backward of a replay's results, if gradients flow out of it."""
        return self.replay.backward

    @property
    def calls(self) -> int:
        """How often it was replayed, or eager in its place."""
        return self.counts.by_python + self.tables.calls

    # ---- tables for machine code -----------------------------------------------------------------
    def prepare(self, args: Any, kwargs: Any, flat: Any) -> bool:
        """Make the table for calls like this one, for which the recording holds. It is not made
        each time if it keeps changing. Called after such a call, or before it if the call
        `moves_on`."""
        if self.world.locks:                 # which machine code does not take
            return False
        tables = self.tables
        n = tables.renewed = tables.renewed + 1
        if n & n - 1:
            return False
        if tables.ready is not None:
            self.counts.by_python += uses_of(tables.ready)
            tables.ready = None
        if n == 1 and self.prepare_like_another(args, kwargs, flat):
            return True
        tables.ready = native_table.table(self, args, kwargs, flat)
        of_sizes = self.of_sizes
        if of_sizes is not None and tables.ready is not None:
            of_sizes.table = self.guards, tables.ready
            if of_sizes.sized is None and self.unseen and not self.is_given_leaves:
                of_sizes.sized = sized_table.sized(tables.ready, self, self.checks.anew())
        self.note_table_for(args, kwargs, flat)
        return True

    @property
    def is_given_leaves(self) -> bool:
        """Does Python find the leaves of a call for its table?"""
        ready = self.tables.ready
        return ready is not None and native_table.is_given_leaves(ready)

    def by_table(self, args: Any, kwargs: Any, flat: Any) -> Any:
        """The result of a call by its table, or MISSED."""
        ready = self.tables.ready
        if ready is None:
            return MISSED
        if not self.is_given_leaves:
            return native_entry.enter(ready, args, kwargs)
        if not self.guards.boxes_fit(flat.boxes):
            return MISSED
        out = native_entry.enter(ready, flat.by_leaves()[0], {})
        if self.wants_boxes and out is not MISSED:
            out = out(flat.boxes)
            if out is MISSED:                # the table has counted it
                self.counts.by_python -= 1
        return out

    @property
    def of_sizes(self) -> Any:
        """The function of sizes from which its program comes; None for the program of a run."""
        return getattr(self.program, "of_sizes", None)

    @property
    def table_of_all_sizes(self) -> SizedTable | None:
        """The table for all sizes of its plan, if there is one."""
        return None if self.of_sizes is None else self.of_sizes.sized

    def prepare_like_another(self, args: Any, kwargs: Any, flat: Any) -> bool:
        """Make the table for calls like this one from the table of a recording of other sizes, if
        there is one. The table itself compares whether the recording holds, so this may come before
        that is known."""
        # Recordings that a family made are one run's, and one shows the others its table. A run of
        # its own gave its own results: numbers among them are of its sizes.
        of_sizes = self.of_sizes
        if of_sizes is None or of_sizes.table is None:
            return False
        guards, table = of_sizes.table
        if guards is not self.guards:
            return False
        self.tables.ready = native_table.resized(table, self, flat)
        if self.tables.ready is None:
            return False
        self.tables.renewed = 1
        self.note_table_for(args, kwargs, flat)
        return True

    def note_table_for(self, args: Any, kwargs: Any, flat: Any) -> None:
        """Note that the table for calls like this one was made, or cannot be made."""
        self.tables.moves_on = self.tables.ready is None
        self.tables.finger = fingerprint(args, kwargs, {*positions(flat.numbers)})
        self.limit()

    def limit(self) -> None:
        """Let machine code make the calls until the next one that is timed or recorded again."""
        for table, at in ((self.tables.ready, min(self.trial.at, self.checks.at)),
                          (self.tables.passed, self.trial.at)):
            if table is not None:
                limit_uses(table, at - self.calls + uses_of(table))

    def bypass(self, fn: Any, first: Any) -> Any:
        """Make a table that calls the function itself, because eager calls are faster."""
        if self.tables.passed is not None:
            self.counts.by_python += uses_of(self.tables.passed)
        self.tables.passed = bypass(fn, first)
        self.limit()
        return self.tables.passed

    # ---- its programs ----------------------------------------------------------------------------
    def programs(self) -> list[Any]:
        """Its program, and those of its backward."""
        ways = () if self.backward is None else self.backward.ways.values()
        return [self.program, *(way.program for way in ways)]

    @property
    def hasty(self) -> set[Any]:
        """The keys of kernels that may still be the quickly compiled ones."""
        return {key for p in self.programs() for key in p.hasty}

    @property
    def is_hasty(self) -> bool:
        """Are some of its kernels still to be compiled with optimisation?"""
        return bool(tiered_compilation.among(self.hasty))

    def weigh(self) -> int:
        """The bytes that it takes, roughly."""
        programs = self.programs()
        kept = sum(a.nbytes for p in programs for a in p.keep if type(a) is np.ndarray)
        return BASE + kept + NODE * sum(len(p.recorded) + len(p.nodes) for p in programs)

    def does_as(self, other: Recording) -> bool:
        """Does it do the same as another recording, for other sizes and with the same outside
        tensors?"""
        return (self.program.does_as(other.program)
                and self.guards.takes_the_same(other.guards)
                and self.guards.wants_the_same(other.guards))

    # ---- calls -----------------------------------------------------------------------------------
    def reach(self, leaves: list[Any]) -> list[Any] | None:
        """The leaves with the tensors of the slots; None if one of these is of another kind."""
        found, reason = self.guards.reach(leaves)
        if reason is not None:
            self.missed.add(reason)
        return found

    def fits(self, leaves: list[Any], boxes: Any = ()) -> bool:
        """Is everything that the function read outside of its arguments unchanged?"""
        return self.guards.fit(leaves, boxes)

    def fits_but_for_sizes(self, leaves: list[Any], boxes: Any = ()) -> bool:
        """Would the recording hold if it were for tensors of these sizes?"""
        found, _ = self.guards.reach(leaves)
        return found is not None and self.guards.fit(found, boxes)

    def call(self, leaves: list[Any], boxes: Any = ()) -> Any:
        """The result of a call with these tensors and containers, or MISSED."""
        found = self.reach(leaves)
        if found is None:
            return MISSED
        try:
            if self.guards.fit(found, boxes):
                return self.replay(found, boxes)
            self.missed.add(self.guards.difference())
        except Miss as e:
            self.missed.add(e.reason if e.reason.what else
                            "a tensor has another layout, or overlaps with another one otherwise")
        return MISSED
