"""The entries of a list of launches, before arrays and pieces of the arena have addresses.

`words` gives an entry as machine code reads it; `passes/lower_llvm/calls/launch_list.py` declares
the layout."""

import ctypes as C
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from whet.ir.memory_spans import address
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.calls import launch_list as L
from whet.passes.lower_llvm.calls.word_records import size

from .arena import Piece


class Places(NamedTuple):
    """The positions of the moving arrays, and of the arena, among the arrays that a list of
    launches is given."""

    moving: dict[int, int]
    arena: int


# ---- arguments ----------------------------------------------------------------------------------
class Number(NamedTuple):
    """An argument that is a number."""

    word: int

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        return L.VALUE, self.word


class Fixed(NamedTuple):
    """An argument that is an address in an array which is the program's own, or steady."""

    array: np.ndarray
    offset: int = 0

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        return L.VALUE, address(self.array) + self.offset


class Moving(NamedTuple):
    """An argument that is an address in an array which differs between calls, by the array's
    position."""

    position: int
    offset: int

    def words(self, places: Places) -> tuple[int, int]:
        """The pair that machine code reads."""
        return places.moving[self.position], self.offset


class InArena(NamedTuple):
    """An argument that is an address in a piece of the arena, or in the memory of a result that the
    piece is in."""

    piece: Piece
    offset: int

    @property
    def position(self) -> int | None:
        """The position of the result whose memory holds the piece."""
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
    """A kernel launch: the kernel, its units, how many units are worth a thread, and its
    arguments."""

    kernel: int
    total: int
    grain: int
    arguments: list[Argument]

    @property
    def launches(self) -> int:
        """The number of launches: one."""
        return 1

    @property
    def work(self) -> float:
        """The amount of work, in grains."""
        return float(self.total / distribute_units.grain(self.grain))

    @property
    def size(self) -> int:
        """The number of words."""
        return size(L.Launch) + size(L.Argument) * len(self.arguments)

    def all_arguments(self) -> Iterable[Argument]:
        """The arguments that are addresses or numbers."""
        return self.arguments

    def positions(self) -> Iterator[int]:
        """The positions of the moving arrays among the arguments."""
        found = (a.position for a in self.arguments if type(a) is Moving or type(a) is InArena)
        return (p for p in found if p is not None)

    def words(self, places: Places) -> list[int]:
        """What machine code reads."""
        out: list[int] = [*L.Launch(self.kernel, self.total, self.grain, len(self.arguments))]
        for a in self.arguments:
            out += a.words(places)
        return out


class Check(NamedTuple):
    """Ends the list if a launch has put another number into `flag` than the one that is wanted. The
    address of the flag is then in `stopped`."""

    flag: np.ndarray
    wanted: int
    stopped: C.c_int64

    @property
    def launches(self) -> int:
        """The number of launches: none."""
        return 0

    @property
    def work(self) -> float:
        """The amount of work: negligible."""
        return 0.0

    @property
    def size(self) -> int:
        """The number of words."""
        return size(L.Check)

    def all_arguments(self) -> Iterable[Argument]:
        """The arguments: the flag alone."""
        return (Fixed(self.flag),)

    def positions(self) -> Iterator[int]:
        """The positions of moving arrays: none."""
        return iter(())

    def words(self, places: Places) -> list[int]:
        """What machine code reads."""
        stopped = C.addressof(self.stopped)
        return [*L.Check(L.CHECK, address(self.flag), self.wanted, stopped)]


class UnlessWritten(NamedTuple):
    """Entries that are skipped as long as nothing writes to some tensors. They are repeated behind
    the guard of each tensor, so a write to any of the tensors makes them run."""

    guards: list[Any]  # of `steady.Guard`
    entries: "Sequence[Entry]"

    @property
    def launches(self) -> int:
        """The number of launches."""
        return sum(e.launches for e in self.entries)

    @property
    def work(self) -> float:
        """The amount of work of all entries, in grains."""
        return sum(e.work for e in self.entries)

    @property
    def size(self) -> int:
        """The number of words."""
        return len(self.guards) * (size(L.Skip) + sum(e.size for e in self.entries))

    def all_arguments(self) -> Iterator[Argument]:
        """The arguments of all entries."""
        return (a for e in self.entries for a in e.all_arguments())

    def positions(self) -> Iterator[int]:
        """The positions of the moving arrays among their arguments."""
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
    """The arguments themselves; None if one of them has no address."""
    found = list(all_arguments)
    known = [x for x in found if x is not None]
    return known if len(known) == len(found) else None
