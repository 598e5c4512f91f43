"""The addresses of values, and the arguments of launches, in a program with symbolic sizes.
Outlines take the place of stand-ins."""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.cpu import memory
from whet.cpu.taped_launches import Tape
from whet.ir.memory_spans import address
from whet.ir.outline import Numeral, Outline, Room, Table, shares
from whet.ir.symbolic_size import SymbolicReal, SymbolicSize, Unsized, at_least

from .kept_between_calls import Steady
from .launch_entries import Fixed, InArena, Launch, Moving, Number
from .size_dependent_arrays import Address, OwnArray
from .tape_entries import MOST_ARGUMENTS, TapeEntries
from .value_places import equivalent_layout

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.outline import Array
    from whet.ir.symbolic_size import Size

    from .launch_entries import Argument, Entries
    from .liveness import Roots

# scratch memory by the id of what owns it, each with its size
Scratch: TypeAlias = dict[int, list[tuple[Any, Any]]]


class Brought:
    """The memory of an array that a call is given or allocates."""
    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class SizedPiece:
    """A piece of the arena. `first` and `last` are the steps that touch it, `row` is where it
    begins."""
    __slots__ = ("size", "first", "last", "row")
    room = None                              # it is in no result's memory

    def __init__(self, size: Size) -> None:
        self.size = size
        self.first: int | None = None
        self.last: int | None = None
        self.row: Row | None = None

    @property
    def offset(self) -> Size:
        """Where the piece begins."""
        assert self.row is not None
        return self.row.at


class SizedPlaces:
    """The counterpart of `ValuePlaces` for outlines: the addresses of values."""

    def __init__(self, arrays: Mapping[int, Outline], roots: Roots) -> None:
        self.arrays, self.roots = arrays, roots
        self.held: dict[int, Outline] = {}

    def moved(self, n: int) -> Outline:
        """The outline of a value in memory that a call brings."""
        t = self.arrays[n]
        return Outline(t.shape, t.dtype, t.strides, Room(None, Brought(self.roots.position[n])))

    def memory(self, n: int) -> Outline:
        """Give a value memory."""
        if n not in self.held:
            t = self.arrays[n]
            self.held[n] = (
                self.moved(n)
                if n in self.roots.position
                else self.part(Outline(t.shape, t.dtype, t.strides))
            )
        return self.held[n]

    def part(self, a: Outline | Array) -> Outline:
        """An outline in a new piece of the arena."""
        size: Any = a.room.size if type(a) is Outline else a.nbytes
        return Outline(a.shape, a.dtype, a.strides, Room(size, SizedPiece(size)))

    def overlap(self, x: int, y: int) -> bool:
        """Do two values share memory?"""
        return shares(self.held[x], self.held[y])

    def inherit(self, node: Node) -> None:
        """Does nothing: rows of the arena are shared in another way."""

    def argument(self, a: Any, offset: Any = 0) -> Argument:
        """The argument for an address in an array."""
        if type(a) is not Outline:
            return Fixed(a, offset)
        owner = a.room.owner
        if type(owner) is SizedPiece:
            return in_arena(owner, a.offset + offset)
        if type(owner) is Brought:
            return Moving(owner.position, a.offset + offset)
        if isinstance(owner, np.ndarray):
            return Fixed(owner, a.offset + offset)
        if type(owner) is Numeral:
            words: list[Any] = [owner]
            return of_sizes(Table(words))
        if type(owner) is OwnArray:
            return of_sizes(Address(owner.which, a.offset + offset))
        raise Unsized("a launch works on memory that is nowhere")


class SizedTapes(TapeEntries):
    """Turns what is launched on outlines into entries."""

    places: SizedPlaces
    rooms: dict[int, Any]                    # of pieces whose sizes are not known

    @staticmethod
    def room(size: int) -> SizedPiece:
        return SizedPiece(size)

    def take(self, run: Callable[[], Any], known: Sequence[Any], made: Sequence[Any] = (),
             outs: Sequence[Any] = (), node: Node | None = None) -> Entries | None:
        tape = self.listened(run, node)
        if tape is None:
            return None
        wanted = [n if isinstance(n, np.ndarray) else self.arrays[n] for n in outs]
        if not all(map(equivalent_layout, made, wanted)):
            return None
        if not all(
            any(
                isinstance(a, np.ndarray) and together(a, m)
                for _, _, _, *args in tape.launches
                for a in args
            )
            for m in made
        ):
            return None  # NumPy computed it
        return self.entries(
            tape,
            known,
            made,
            [n if isinstance(n, np.ndarray) else self.places.memory(n) for n in outs],
            node,
        )

    def entries(self, tape: Tape, known: Sequence[Any], made: Sequence[Any] = (),
                mine: Sequence[Any] = (), node: Node | None = None) -> Entries | None:
        known = [x for x in known if isinstance(x, np.ndarray)]
        scratch = by_owner([*tape.scratch.values(), *[(m, m.nbytes) for m in tape.partial]])
        out: Entries = []
        for kernel, total, grain, *args in tape.launches:
            if len(args) > MOST_ARGUMENTS:
                return None
            if total > 0:
                out.append(
                    Launch(
                        kernel,
                        total,
                        at_least(grain, 1),
                        [self.word(a, tape, scratch, known, made, mine) for a in args],
                    )
                )
                out += [self.check(a, 0, node) for a in args if any(a is v for v in tape.verdicts)]
        return out or None

    def word(self, a: Any, tape: Tape, scratch: Scratch, known: Sequence[Any], made: Sequence[Any],
             mine: Sequence[Any]) -> Argument:
        """An argument of a launch."""
        if a is None:
            return Number(0)
        if type(a) in (SymbolicSize, SymbolicReal, Table):
            return of_sizes(a)
        if isinstance(a, float):
            return Number(struct.unpack("<q", struct.pack("<d", a))[0])
        if isinstance(a, int):
            return Number(a if a < 1 << 63 else a - (1 << 64))
        is_outline = type(a) is Outline
        if not isinstance(a, np.ndarray):
            raise Unsized("an argument is of an unknown kind")
        for m, ours in zip(made, mine):
            if together(a, m):
                return self.places.argument(ours, start(a) - start(m))
        for m, size in scratch.get(id(owner(a)), ()):
            if together(a, m):
                piece = self.rooms.setdefault(id(m), SizedPiece(0))
                piece.size = at_least(size, piece.size)
                return in_arena(piece, start(a) - start(m))
        for x in known:
            if not is_outline and type(x) is not Outline and together(a, x):
                return self.places.argument(x, start(a) - start(x))
        if (
            is_outline
            or any(a is v for v in tape.verdicts)
            or id(a) in tape.numbers
            or a.dtype == np.int64
            and a.ndim == 1
            and a.flags.owndata
        ):
            return self.places.argument(a)
        raise Unsized("a launch works on memory of an unknown kind")


class SizedSteady(Steady):
    """What is kept between calls: weights, as their sizes do not differ. Every node that wants them
    packed has a launch for it, because other nodes may be replanned; see `SizedLists.wants`."""

    def overwritten(self, values: Iterable[int]) -> bool:
        return bool(self.written)

    def order(self, operand: int, w: Any, count: int, dtype: Any,
              how: Iterable[Any]) -> tuple[Any, Any, bool]:
        facts = tuple([x.tobytes() if type(x) is np.ndarray else x for x in how])
        key = self.roots[operand], w.offset, w.shape, w.strides, count, dtype, facts
        found = self.packed.get(key)
        return key, memory.empty(count, dtype) if found is None else found, True


class Row:
    """A row of the arena."""
    __slots__ = ("size", "last", "at")

    def __init__(self) -> None:
        self.size: Size = 0
        self.last = -1
        self.at: Size = 0


def in_arena(piece: Any, offset: Any) -> InArena:
    """An address in a `SizedPiece` of the arena. The result is declared as int, for code that knows
    nothing of symbolic sizes."""
    return InArena(piece, offset)


def of_sizes(word: Any) -> Number:
    """A word that depends on sizes, declared as int for code that knows nothing of symbolic
    sizes."""
    return Number(word)


def owner(a: Any) -> Any:
    """What owns the memory of an array that was made to plan launches."""
    if type(a) is Outline:
        return a.room
    while type(a) is np.ndarray and a.base is not None:
        a = a.base
    return a


def by_owner(scratch: Iterable[tuple[Any, Any]]) -> Scratch:
    """Scratch memory of launches, each with its size, by the id of what owns it. A step may have
    many launches with some of their own."""
    found: Scratch = {}
    for m, size in scratch:
        found.setdefault(id(owner(m)), []).append((m, size))
    return found


def together(a: Any, b: Any) -> bool:
    """Are two arrays in the same memory?"""
    if type(a) is Outline:
        return type(b) is Outline and a.room is b.room
    return type(b) is not Outline and np.may_share_memory(a, b)


def start(a: Any) -> Any:
    """Where an array begins: an address, or an offset in its memory."""
    return a.offset if type(a) is Outline else address(a)
