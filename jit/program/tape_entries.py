"""Turns what a node launches into entries of a list.

A dry tape (`cpu/taped_launches.py`) runs the node's kernels on stand-ins and notes each launch.
Each argument on the tape becomes an argument of an entry, by its type."""

from __future__ import annotations

import ctypes as C
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import taped_launches as T
from whet.cpu import tiered_compilation
from whet.ir.graph import Node
from whet.ir.memory_spans import address
from whet.passes.lower_llvm.scalar import Unsupported

from .arena import Piece
from .launch_entries import Check, Entries, Fixed, InArena, Launch, Number
from .value_places import ValuePlaces, equivalent_layout

if TYPE_CHECKING:
    from .sized_places import SizedPlaces

MOST_ARGUMENTS = 60
# what says that numbers in stand-ins do not suit a kernel's runner, or that there is no kernel
REFUSALS = IndexError, RuntimeError, ValueError, Unsupported


class TapeEntries:
    """Makes entries from tapes. `checks` maps the address of each check's flag to its node.
    `stopped` is 0, or the address of the flag that ended a list. `hasty` are the keys of kernels
    that may still be the quickly compiled ones."""

    def __init__(self, arrays: Any, places: ValuePlaces | SizedPlaces) -> None:
        self.arrays, self.places = arrays, places
        self.checks: dict[int, Node | None] = {}
        self.hasty: set[str] = set()
        self.stopped = C.c_int64()
        self.rooms: dict[int, Piece] = {}    # id of scratch memory -> its piece, of one node

    def begin(self) -> None:
        """Begin a node, with scratch memory of its own."""
        self.rooms = {}

    def take(self, run: Callable[[], Any], known: Sequence[Any], made: Sequence[Any] = (),
             outs: Sequence[Any] = (), node: Node | None = None) -> Entries | None:
        """Run something on stand-ins and return the entries of its launches, or None if they cannot
        be repeated. `outs`: the values, or arrays, that its results are. A kernel that checks its
        data belongs to a node, and a check follows it."""
        tape = self.listened(run, node)
        if tape is None:
            return None
        wanted = [n if type(n) is np.ndarray else self.arrays[n] for n in outs]
        lie_alike = all(map(equivalent_layout, made, wanted))
        if not lie_alike or not all(_launched(tape, m) for m in made):
            return None
        mine = [n if type(n) is np.ndarray else self.places.memory(n) for n in outs]
        return self.entries(tape, known, made, mine, node)

    def listened(self, run: Callable[[], Any], node: Node | None) -> T.Tape | None:
        """The tape of what is launched. None if it cannot run on stand-ins, if NumPy does a part of
        it, or if it checks its data and belongs to no node."""
        tape = T.Tape(dry=True)
        try:
            tape.listen(run)
        except REFUSALS:
            return None
        return None if not tape.complete or tape.verdicts and node is None else tape

    def entries(self, tape: Any, known: Sequence[Any], made: Sequence[Any] = (),
                mine: Sequence[Any] = (), node: Node | None = None) -> Entries | None:
        """The launches of a tape as entries; None if there are none, or an argument is unknown.
        `known` are the operands. `made` are the tape's results for our arrays `mine`."""
        if any(len(args) > MOST_ARGUMENTS for _, _, _, *args in tape.launches):
            return None
        operands = [x for x in known if type(x) is np.ndarray]
        out: Entries = []
        for kernel, *_ in tape.launches:
            self.launches(kernel)
        for launch in T.Reader(tape, operands, made).launches() or ():
            arguments = [self.argument(x, operands, mine) for x in launch.arguments]
            if None in arguments:
                return None
            out.append(Launch(launch.kernel, launch.total, max(launch.grain, 1), arguments))
            out += [self.check(x.flag, 0, node) for x in launch.arguments if type(x) is T.Verdict]
        return out or None

    def launches(self, kernel: int) -> None:
        """Note that the kernel at an address is launched: it may still be the quickly compiled
        one."""
        if (key := tiered_compilation.behind(kernel)) is not None:
            self.hasty.add(key)

    def argument(self, x: Any, operands: Sequence[Any], mine: Sequence[Any]) -> Any:
        """An argument of a tape's launch, as an argument of an entry."""
        return TRANSLATIONS[type(x)](self, x, operands, mine)

    @staticmethod
    def room(size: int) -> Any:
        """A piece of the arena, of a size in bytes, for the launches of one node."""
        return Piece(size)

    def scratch(self, x: Any) -> InArena:
        """Scratch memory that a node's launches share: a piece of the arena, as large as the
        largest launch needs."""
        piece = self.rooms.setdefault(id(x.memory), Piece(0))
        piece.size = max(piece.size, x.size, 1)
        return InArena(piece, x.offset)

    def check(self, flag: Any, wanted: Any, node: Node | None) -> Check:
        """The entry that ends the list if a launch has put another number into `flag`."""
        self.checks[address(flag)] = node
        return Check(flag, int(wanted), self.stopped)


TRANSLATIONS: dict[type, Callable[..., Any]] = {
    T.Word: lambda t, x, operands, mine: Number(x.value),
    T.Operand: lambda t, x, operands, mine: t.places.argument(operands[x.which], x.offset),
    T.Result: lambda t, x, operands, mine: t.places.argument(mine[x.which], x.offset),
    T.Scratch: lambda t, x, operands, mine: t.scratch(x),
    T.NumberOperand: lambda t, x, operands, mine: Fixed(x.array),
    T.Verdict: lambda t, x, operands, mine: Fixed(x.flag),
    T.Table: lambda t, x, operands, mine: Fixed(x.array),
}


def _launched(tape: Any, made: Any) -> bool:
    """Was this result made by a launch? Otherwise NumPy computed it."""
    return any(
        type(a) is np.ndarray and np.may_share_memory(a, made)
        for _, _, _, *args in tape.launches
        for a in args
    )
