"""The entries of a list of launches, before their arrays and pieces have places.

`words` gives an entry as what machine code reads; `passes/lower_llvm/calls/launch_list.py`
declares the layout.
"""

import ctypes as C
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from whet.ir.memory_spans import address
from whet.passes.lower_llvm.calls import launch_list as L
from whet.passes.lower_llvm.calls import share_out
from whet.passes.lower_llvm.calls.word_records import size

from .arena import Piece


class Places(NamedTuple):
    """Where a list of launches finds what changes from call to call: for each moving array, and
    for the arena, its number among the arrays that the list is given."""

    moving: dict[int, int]
    arena: int


# ---- arguments ----------------------------------------------------------------------------------
class Number(NamedTuple):
    """The word itself."""

    word: int

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        return L.VALUE, self.word


class Fixed(NamedTuple):
    """An address in an array that is the program's own, or steady."""

    array: np.ndarray
    offset: int = 0

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        return L.VALUE, address(self.array) + self.offset


class Moving(NamedTuple):
    """An address in an array that a call brings, by its position."""

    position: int
    offset: int

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        return places.moving[self.position], self.offset


class InArena(NamedTuple):
    """An address in a piece of the arena, or of a result's memory."""

    piece: Piece
    offset: int

    @property
    def position(self) -> int | None:
        """That of the result whose memory the piece lies in."""
        return self.piece.room

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        room = self.piece.room
        return (places.arena if room is None else places.moving[room],
                self.piece.offset + self.offset)


Argument = Number | Fixed | Moving | InArena
NOTHING = Number(0)


# ---- entries ------------------------------------------------------------------------------------
class Launch(NamedTuple):
    """A kernel, its units, how many are worth a thread, and its arguments."""

    kernel: int
    total: int
    grain: int
    arguments: list[Argument]

    @property
    def launches(self) -> int:
        """How many launches it is."""
        return 1

    @property
    def work(self) -> float:
        """Its work, in grains."""
        return float(self.total / share_out.grain(self.grain))

    @property
    def size(self) -> int:
        """Its words."""
        return size(L.Launch) + size(L.Argument) * len(self.arguments)

    def all_arguments(self) -> Iterable[Argument]:
        """What it works on."""
        return self.arguments

    def positions(self) -> Iterator[int]:
        """The moving arrays that it is given."""
        found = (a.position for a in self.arguments if type(a) is Moving or type(a) is InArena)
        return (p for p in found if p is not None)

    def words(self, places: Places) -> list[int]:
        """What machine code reads."""
        out: list[int] = [*L.Launch(self.kernel, self.total, self.grain, len(self.arguments))]
        for a in self.arguments:
            out += a.words(places)
        return out


class Check(NamedTuple):
    """The list ends where a launch put another number into `flag` than the one that is wanted.
    The address of the flag is then in `stopped`."""

    flag: np.ndarray
    wanted: int
    stopped: C.c_int64

    @property
    def launches(self) -> int:
        """It is no launch."""
        return 0

    @property
    def work(self) -> float:
        """It takes no time that counts."""
        return 0.0

    @property
    def size(self) -> int:
        """Its words."""
        return size(L.Check)

    def all_arguments(self) -> Iterable[Argument]:
        """What it looks at."""
        return (Fixed(self.flag),)

    def positions(self) -> Iterator[int]:
        """No moving array."""
        return iter(())

    def words(self, places: Places) -> list[int]:
        """What machine code reads."""
        told = C.addressof(self.stopped)
        return [*L.Check(L.CHECK, address(self.flag), self.wanted, told)]


class UnlessWritten(NamedTuple):
    """Entries that are passed over as long as nobody writes to some tensors. They stand behind
    the guard of each tensor once, so that a write to any of them counts."""

    guards: list[Any]  # of `steady.Guard`
    entries: "Sequence[Entry]"

    @property
    def launches(self) -> int:
        """How many launches it is."""
        return sum(e.launches for e in self.entries)

    @property
    def work(self) -> float:
        """The work of all of them, in grains."""
        return sum(e.work for e in self.entries)

    @property
    def size(self) -> int:
        """Its words."""
        return len(self.guards) * (size(L.Skip) + sum(e.size for e in self.entries))

    def all_arguments(self) -> Iterator[Argument]:
        """What they work on."""
        return (a for e in self.entries for a in e.all_arguments())

    def positions(self) -> Iterator[int]:
        """The moving arrays that they are given."""
        yield from (g.position for g in self.guards)
        yield from (p for e in self.entries for p in e.positions())

    def words(self, places: Places) -> list[int]:
        """What machine code reads."""
        inner, out = [w for e in self.entries for w in e.words(places)], []
        for g in self.guards:
            array = places.moving[g.position]
            out += [*L.Skip(L.SKIP, C.addressof(g.state), array, len(inner)), *inner]
        return out


Entry: TypeAlias = Launch | Check | UnlessWritten
Entries: TypeAlias = list[Entry]

assert size(L.Argument) == 2  # a pair


def placed(all_arguments: Iterable[Argument | None]) -> list[Argument] | None:
    """Arguments as they are; None where one of them has no place."""
    found = list(all_arguments)
    known = [x for x in found if x is not None]
    return known if len(known) == len(found) else None
