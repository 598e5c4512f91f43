"""The last stages of building: the place of each piece in the arena, and the lists of words for
machine code."""

import ctypes as C
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from whet.cpu import guarded_memory, memory, native
from whet.ir.graph import Node
from whet.passes.lower_llvm.calls.launch_list import MOST_ARRAYS

from .arena import Piece, Span, plan, plan_apart
from .arena_in_results import LentResults
from .launch_entries import Entry, Fixed, InArena, Launch, Number, Places

ARENA = -1  # where a call keeps the arena among its arrays
LONG = 5  # grains of work from which a launch lets other Python threads run


class LaunchList(NamedTuple):
    """A list of launches for machine code: `words` words at `address`, and the values whose arrays
    it is given, the arena last. `long`: other Python threads may run meanwhile. `parts`: for each
    node, the word at which its launches begin; () if unknown."""

    long: bool
    address: int
    words: int
    values: list[int]
    parts: Sequence[tuple[int, Node]] = ()


# ---- steps of a program that is being built -----------------------------------------------------
class Launched(NamedTuple):
    """The entries of a node. `changes`: the positions of the moving arrays that it may write to."""

    entries: list[Entry]
    changes: Collection[int] = ()
    node: Node | None = None

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the arena that it uses."""
        for e in self.entries:
            yield from (a.piece for a in e.all_arguments() if type(a) is InArena)


class Called(NamedTuple):
    """A node that Python runs, and the pieces of the arena that hold its operands."""

    node: Node
    looks: list[Piece]

    def pieces(self) -> Iterable[Piece]:
        """The pieces of the arena that it uses."""
        return self.looks


class Viewed(NamedTuple):
    """A view of a moving array: Python makes it when it is asked for."""

    node: Node
    looks: list[Piece]

    def pieces(self) -> Iterable[Piece]:
        """The pieces of the arena that it uses."""
        return self.looks


class UsedUntilEnd(NamedTuple):
    """Pieces of the arena that are read until the end."""

    looks: list[Piece]

    def pieces(self) -> Iterable[Piece]:
        """The pieces of the arena that it uses."""
        return self.looks


Step: TypeAlias = Launched | Called | Viewed | UsedUntilEnd


# ---- the arena ----------------------------------------------------------------------------------
def find_places(steps: list[Step], heirs: list[tuple[Piece, Piece]],
                lent: Callable[[list[Span]], list[Span]] = list) -> tuple[int, Any]:
    """Place each piece that steps use. Returns the bytes of the arena and, if memory is guarded,
    the offsets of its guard pages. Large pieces are aligned. `lent`: see `arena.plan`."""
    pieces = []
    for i, step in enumerate(steps):
        for piece in step.pieces():
            if piece.first is None:
                pieces.append(piece)
            piece.touch(i)
    if not pieces:
        return 0, ()
    if guarded_memory.SIDE:
        return plan_apart(pieces)
    size = plan(pieces, heirs, lent)
    return max(size, memory.SMALLEST) if size else 0, ()


def lent_results(steps: Sequence[Step], sizes: Mapping[int, int], kept_until: Mapping[int, int],
                 left_to: Iterable[tuple[Piece, int]]) -> LentResults:
    """The memory of results that can hold pieces which die before the results are computed.
    `sizes`: the bytes, by position, of those that are allocated before a call begins. `kept_until`,
    `left_to`: see `LentResults`. If Python runs a node whose accesses are unknown, nothing can be
    lent."""
    first: dict[int, int] = {}
    if not any(isinstance(step, Called) for step in steps):
        for i, step in enumerate(steps):
            for e in step.entries if isinstance(step, Launched) else ():
                for p in e.positions():
                    first.setdefault(p, i)
    return LentResults(sizes, first, kept_until, left_to)


def guarded(forbidden: list[int]) -> Iterator[Launched]:
    """The steps that protect the guard pages of the arena, if there are any."""
    arena = Piece(0)
    arena.offset = 0
    for k in range(0, len(forbidden), MOST_ARRAYS):
        pages = [InArena(arena, at) for at in forbidden[k : k + MOST_ARRAYS]]
        kernel = native.kernel("guard/forbid", guarded_memory.forbid)
        yield Launched([Launch(kernel, 1, 1, [Number(len(pages)), *pages])])


# ---- words --------------------------------------------------------------------------------------
class ListWriter:
    """Writes consecutive launches as lists. `moving` are the roots that move. `keep` receives what
    the lists refer to, `launches` counts their launches."""

    def __init__(self, moving: list[int], arena: int, keep: list[Any]) -> None:
        self.moving, self.arena, self.keep = moving, arena, keep
        self.steps: list[LaunchList | Node] = []
        self.launches = 0
        self.entries: list[Entry] = []
        self.places: dict[int, int] = {}
        self.parts: list[tuple[int, Node]] = []
        self.words = 0

    def add(self, step: Step) -> None:
        """Add a step. A view does not end a list: no launch of the list reads what Python makes of
        it."""
        if isinstance(step, Launched):
            for entry in step.entries:
                self.add_entry(entry, step.node)
        elif isinstance(step, Called | Viewed):
            if isinstance(step, Called):
                self.end()
            self.steps.append(step.node)

    def add_entry(self, entry: Entry, node: Node | None) -> None:
        """Add an entry of a step. A list ends where its launches would be given too many arrays."""
        positions = set(entry.positions())
        if self.places and len(self.places.keys() | positions) > MOST_ARRAYS:
            self.end()
        for p in sorted(positions - self.places.keys()):
            self.places[p] = len(self.places)
        if node is not None and (not self.parts or self.parts[-1][1] is not node):
            self.parts.append((self.words, node))
        self.entries.append(entry)
        self.words += entry.size

    def end(self) -> None:
        """Write the list that was begun."""
        entries, self.entries = self.entries, []
        parts, self.parts, self.words = self.parts, [], 0
        if not entries:
            return
        places, self.places = self.places, {}
        words = [w for e in entries for w in e.words(Places(places, len(places)))]
        buffer = (C.c_int64 * len(words))(*words)
        self.keep.append(buffer)
        self.keep += [a.array for e in entries for a in e.all_arguments() if type(a) is Fixed]
        self.launches += sum(e.launches for e in entries)
        values = [*(self.moving[p] for p in places), *([ARENA] if self.arena else [])]
        long = sum(e.work for e in entries) >= LONG
        self.steps.append(LaunchList(long, C.addressof(buffer), len(words), values, parts))
