"""The launches of an unrolled loop that passes rolled up again: a program that machine code
repeats."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.graph import Type
from whet.ir.loops import Along, Carried, Stacked

from .arena import Piece
from .launch_entries import InArena, Launch, Number, placed
from .launch_lists import ARENA
from .machine_code_loops import Rounds, machine_code
from .tape_entries import MOST_ARGUMENTS

if TYPE_CHECKING:
    from whet.ir.loops import Loop

    from .builder import ProgramBuilder
    from .launch_entries import Argument, Entries
    from .launch_program import LaunchProgram


def launches(b: ProgramBuilder, loop: Loop) -> Entries | None:
    """A loop as two launches: one fills a table of addresses, the other runs the rounds. None if
    the body is more than launches."""
    body = b.inner(loop.body, list(loop.inputs), list(loop.results))
    if body.only_launches is None or body.checks:
        return None
    addresses = _Addresses(b, loop)
    if not addresses.inputs():
        return None
    addresses.results()
    moves, first = addresses.moves, addresses.first
    if None in first.values() or not moves:
        return None
    if body.arena:
        first[ARENA] = InArena(Piece(body.arena), 0)
    alone = body.only_launches
    rounds = Rounds(None, (alone.address, alone.words, alone.values), moves)
    filled = rounds.table(lambda name: first[name])
    if len(filled) > MOST_ARGUMENTS - 2:
        return None
    b.blocks.update(addresses.blocks)
    return _entries(b, loop, body, rounds, filled)


def _entries(b: ProgramBuilder, loop: Loop, body: LaunchProgram, rounds: Rounds,
             filled: Sequence[Any]) -> Entries | None:
    """The launch that fills the table, and the one that runs the rounds."""
    b.keep += [body, rounds]
    b.tapes.hasty |= body.hasty
    table = b.places.part(np.empty(len(filled), np.int64))
    code, args = rounds.arguments(table, loop.rounds)
    where = b.places.argument
    words = [Number(x) if type(x) is int else x for x in filled]
    arguments = [where(x) if type(x) is np.ndarray else Number(x) for x in args]
    fill, going = placed([where(table), Number(len(filled)), *words]), placed(arguments)
    if fill is None or going is None:
        return None
    return [Launch(machine_code()["fill"], 1, 1, fill), Launch(code, 1, 1, going)]


class _Addresses:
    """The addresses that a body uses in the first round (`first`), and which address replaces each
    after a round, with the bytes added (`moves`)."""

    def __init__(self, b: ProgramBuilder, loop: Loop) -> None:
        self.b, self.loop = b, loop
        self.moves: dict[Any, tuple[Any, int]] = {}
        self.first: dict[Any, Argument | None] = {}
        self.blocks: dict[int, Any] = {}

    def inputs(self) -> bool:
        """Place the inputs from outside and from the previous round; False if one has no
        address."""
        b, known = self.b, self.loop.blocks
        for name, x in self.loop.inputs.items():
            along = x if isinstance(x, Along) else None
            if x.value not in b.held or (along and x.value in known and x.value not in b.blocks):
                return False
            self.first[name] = b.places.argument(b.held[x.value], along.start if along else 0)
            if isinstance(x, Carried):
                self.moves[name] = x.result, 0
            elif along:
                self.moves[name] = name, along.step
        return True

    def results(self) -> None:
        """Place the body's results: those for outside, and those for the next round."""
        carried = {result for result, _ in self.moves.values()}
        for result, y in self.loop.results.items():
            if isinstance(y, Stacked):
                self.kept(result, y)
            else:
                self.last(result, y.value, result in carried)

    def kept(self, result: int, y: Stacked) -> None:
        """Place a result that is kept from every round: the rounds' results are adjacent."""
        b, loop, a = self.b, self.loop, self.b.arrays[result]
        if y.head not in self.blocks:
            rows = Type(a.dtype, (loop.rounds * loop.several, *a.shape))
            self.blocks[y.head] = b.places.part(b.places.addresses.like(rows))
        block = self.blocks[y.head]
        for value, i in zip(y.values, range(y.at, len(block), loop.several)):
            b.places.hold(value, block[i, ...])
        self.moves[result] = result, loop.several * a.nbytes
        self.first[result] = b.places.argument(block[y.at, ...])

    def last(self, result: int, value: int, carried: bool) -> None:
        """Place a result of which only the last is kept. If the next round reads it, two buffers
        alternate."""
        places = self.b.places
        mine, other = (places.memory(value),
                       places.part(places.addresses.like(self.b.arrays[result])))
        if carried:
            spare = "spare", result
            self.moves[result], self.moves[spare] = (spare, 0), (result, 0)
            mine, other = (mine, other) if self.loop.rounds % 2 else (other, mine)
            self.first[spare] = places.argument(other)
        self.first[result] = places.argument(mine)
