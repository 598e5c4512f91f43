"""The lists of launches of a program with symbolic sizes: words that are numbers or expressions,
and the arena as a function of sizes.

Pieces of the arena that are never live at once share a row of it, which is as long as the largest
of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whet.cpu import memory
from whet.ir.graph import Node
from whet.ir.outline import Outline, Table
from whet.ir.symbolic_size import SymbolicSize, Unsized, at_least, value
from whet.passes.lower_llvm.calls.launch_list import MOST_ARRAYS

from .arena import ALIGN
from .launch_entries import Fixed, InArena, Launch, Places, UnlessWritten
from .launch_lists import ARENA
from .sized_places import Row, SizedPiece, SizedSteady

if TYPE_CHECKING:
    from whet.ir.symbolic_size import Size

    from .launch_entries import Entries, Entry
    from .liveness import Roots


class Done(NamedTuple):
    """A node that Python runs. `looks`: the addresses of its operands that a call does not
    bring."""

    node: Node
    looks: dict[int, Outline]


class Segment(NamedTuple):
    """Consecutive launches: their words begin at `first`; also the values whose arrays they are
    given. `work`: expressions of the amount of work, in pairs of units and grains."""

    first: int
    words: int
    values: list[int]
    work: list[Any]


Step: TypeAlias = "Done | Entries"


class SizedLists:
    """`words`: the words of all lists, one after the other, then the tables that they point to.
    `steps`: segments and nodes that Python runs, in order."""

    def __init__(self, steps: Sequence[Step], roots: Roots, keep: list[Any],
                 steady: SizedSteady) -> None:
        self.roots, self.keep = roots, keep
        self.to_pack = {id(a) for a in steady.packed.values()}
        pieces = lives(steps)
        self.arena = pack(pieces)
        self.words: list[Any] = []
        self.steps: list[Done | Segment] = []
        self.launches = 0
        waiting: Entries = []
        for step in steps:
            if isinstance(step, Done):
                self.segments(waiting, bool(pieces))
                waiting = []
                self.steps.append(step)
            else:
                waiting += step
        self.segments(waiting, bool(pieces))
        self.tables = []  # places of words that are addresses in the list itself
        for i in range(len(self.words)):
            if type(self.words[i]) is Table:
                self.tables.append(i)
                table, self.words[i] = self.words[i], 8 * len(self.words)
                self.words += table

    def segments(self, entries: Entries, has_arena: bool) -> None:
        """Write consecutive launches. A segment ends where its launches would be given too many
        arrays."""
        begun: Entries = []
        places: dict[int, int] = {}
        for e in entries:
            positions = dict.fromkeys(e.positions())
            if begun and len(places.keys() | positions) > MOST_ARRAYS:
                self.segment(begun, places, has_arena)
                begun, places = [], {}
            begun.append(e)
            for p in positions:
                places.setdefault(p, len(places))
            if len(places) > MOST_ARRAYS:
                raise Unsized("a launch is given too many arrays")
        if begun:
            self.segment(begun, places, has_arena)

    def segment(self, entries: Entries, places: dict[int, int], has_arena: bool) -> None:
        """Write launches as one segment. `places`: the place of each position that they are
        given."""
        first = len(self.words)
        for e in filter(self.wants, entries):
            self.words += e.words(Places(places, len(places)))
            self.keep += [a.array for a in e.all_arguments() if type(a) is Fixed]
            self.launches += e.launches
        values = [*(self.roots.moving[i] for i in places), *([ARENA] if has_arena else [])]
        work = [x for e in entries if type(e) is Launch for x in (e.total, e.grain)]
        self.steps.append(Segment(first, len(self.words) - first, values, work))

    def wants(self, e: Entry) -> bool:
        """Is an entry needed? Weights that several nodes pack in the same order are packed once."""
        if type(e) is not UnlessWritten:
            return True
        into = {id(a.array) for a in e.all_arguments() if type(a) is Fixed} & self.to_pack
        self.to_pack -= into
        return bool(into)

    @property
    def done(self) -> list[Node]:
        """The nodes that Python runs."""
        return [s.node for s in self.steps if type(s) is Done]

    def looks(self) -> dict[int, Outline]:
        """The addresses of values that Python reads and a call does not bring."""
        return {n: a for s in self.steps if type(s) is Done for n, a in s.looks.items()}


def lives(steps: Sequence[Step]) -> list[SizedPiece]:
    """The pieces of the arena with their live ranges, in the order of the steps that touch them
    first."""
    pieces: dict[int, SizedPiece] = {}
    for i, step in enumerate(steps):
        if isinstance(step, Done):
            rooms = [a.room.owner for a in step.looks.values()]
            found = [x for x in rooms if type(x) is SizedPiece]
        else:
            placed: list[Any] = [
                a.piece for e in step for a in e.all_arguments() if type(a) is InArena]
            found = placed
        for p in found:
            if id(p) not in pieces:
                pieces[id(p)], p.first = p, i
            p.last = i
    return list(pieces.values())


def pack(pieces: Sequence[SizedPiece]) -> Size:
    """Give each piece its row; return the size of the arena."""
    rows: list[Row] = []
    long: dict[Row, int] = {}                # how long each is at the sizes that are planned for
    at: Size = 0
    for p in pieces:
        assert p.first is not None and p.last is not None
        first, room = p.first, -(-value(p.size) // ALIGN)
        free = [r for r in rows if r.last < first]
        row = min(free, key=lambda r: abs(long[r] - room), default=None)
        if row is None:
            row = Row()
            rows.append(row)
        row.last, row.size, p.row = p.last, at_least(p.size, row.size), row
        long[row] = value(row.size) // ALIGN
    for row in rows:
        row.at = at
        at = at + -(-row.size // ALIGN) * ALIGN
        if type(at) is SymbolicSize:
            at = at.facts.named(at)
    return at_least(at, memory.SMALLEST) if rows else 0
