"""A graph as launches for one level of processors, with nothing in them that is this process's.

What is in lists of a program at fixed addresses is classified here by what it is:

    a kernel               its IR text, and the symbol in it
    a constant             bytes that nothing writes to: weights, packed weights, numbers, tables
    a table of kernels     words, some of which are kernels
    a word of a context    what a kernel notes about its data, for the check that follows it
"""

from __future__ import annotations

import ctypes as C
import functools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from whet.cpu import native, tiered_compilation
from whet.cpu import taped_launches as T
from whet.ir.graph import Ask, Graph, Node, OpNode, Ref
from whet.ir.memory_spans import address, span
from whet.passes.lower_llvm.calls import launch_list as L

from ...program import numpy_launches
from ...program.builder import Options, Passed, ProgramBuilder
from ...program.kept_between_calls import Steady
from ...program.launch_entries import (
    Argument,
    Check,
    Entries,
    Fixed,
    InArena,
    Launch,
    Moving,
    Number,
)
from ...program.launch_lists import Called, Launched, find_places
from ...program.tape_entries import TapeEntries
from ...refusals.replay_miss import broken
from ..layouts import layouts
from .launchable import launchable
from .level_parts import (
    ALIGN,
    REFUSED,
    ArenaBase,
    ConstantBase,
    InputBase,
    Kernel,
    LevelProgram,
    Place,
    ResultBase,
    RoomBase,
    Step,
    Stop,
    TableBase,
)

# what nodes without an op are called in errors
WORDS_FOR = {
    "ask": "a question about data that is asked in Python",
    "guard": "a value of data that Python goes on from",
    "draw": "random numbers",
}


# ---- the program's builder -----------------------------------------------------------------------
class Tapes(TapeEntries):
    """Notes which arrays are tables, among whose words there may be kernels."""

    def __init__(self, arrays: Any, places: Any) -> None:
        super().__init__(arrays, places)
        self.tables: dict[int, Any] = {}

    def argument(self, x: Any, operands: Any, mine: Any) -> Any:
        if type(x) is T.Table and x.array.dtype == np.int64:
            self.tables[address(x.array)] = x.array
        return super().argument(x, operands, mine)


class AtOnce:
    """What is made of constants alone is made while the program is built, and is a constant from
    then on. A mixin for what else is kept between calls."""

    values: Mapping[int, Any]  # the arrays of constants
    moving: Sequence[int]  # the values that calls bring, by position

    def unless_written(self, sources: Any, entries: Entries) -> Entries:
        """Nobody writes to constants."""
        pieces: dict[int, np.ndarray] = {}
        for e in (e for e in entries if isinstance(e, Launch)):
            native.launch(e.kernel, e.total, e.grain, *[self.now(a, pieces) for a in e.arguments])
        return []

    def now(self, a: Argument, pieces: dict[int, np.ndarray]) -> int:
        """An argument, for a launch that is made now."""
        if type(a) is Number:
            return a.word
        if type(a) is Fixed:
            return address(a.array) + a.offset
        if type(a) is Moving:
            return address(self.values[self.moving[a.position]]) + a.offset
        assert type(a) is InArena
        piece = pieces.setdefault(id(a.piece), np.empty(a.piece.size, np.uint8))
        return int(address(piece)) + a.offset


class Prepared(AtOnce, Steady):
    """What is kept between calls of a library's program; what is made of constants alone is made
    while the program is built."""

    def __init__(self, b: ProgramBuilder, values: Mapping[int, Any]) -> None:
        passed = b.passed
        super().__init__(
            passed.tensors, passed.lasting, passed.order.written, b.roots, b.arrays
        )
        self.values, self.moving = values, b.roots.moving


class LevelBuilder(ProgramBuilder):
    """The builder of traces' programs, for what runs without this process."""

    is_alone = True
    tapes: Tapes

    def __init__(self, passed: Passed, values: Mapping[int, Any]) -> None:
        super().__init__(passed, None)
        self.steady = Prepared(self, values)
        self.tapes = Tapes(self.arrays, self.places)
        self.take = self.tapes.take

    def entries(self, node: Any) -> Any:
        """A rolled loop keeps lists of its own, at fixed addresses: it is unrolled."""
        return None if node.kind == "roll" else super().entries(node)


def built(g: Graph, constants: Mapping[str, Any]) -> LevelProgram:
    """The program of a graph whose constants have these values (tensors), for the target that
    kernels are written for. Whoever calls it notes the sources of kernels before any is
    compiled."""
    own = {x.value: constants[x.name] for x in g.inputs if x.place == "constant"}
    inputs = [x.value for x in g.inputs if x.place != "constant"]
    results = [v for v, _ in g.results]
    arrays = layouts(g)
    passed = Passed(g.nodes, arrays, [*inputs, *own], results, Options(steady=own))
    values = {v: t._array for v, t in own.items()}
    with np.errstate(all="ignore"), tiered_compilation.form("full"):
        b = LevelBuilder(passed, values)
        steps = b.steps()
        called = [s.node for s in steps if type(s) is Called]
        known = {**values, **of_nothing(g.nodes)} if called else values
        called = [n for n in called if not does_nothing(b, n, known)]
        if called:
            again = launchable(g, {o for n in called for o in n.outs}, values)
            if again is not None:
                return built(again, constants)
            return REFUSED._replace(refused=[
                (n.op.name if n.op is not None else WORDS_FOR[n.kind], n.line) for n in called])
        return Writer(b, steps, inputs, values, results).level()


def of_nothing(nodes: Sequence[Node]) -> dict[int, Any]:
    """What is made of no operands, or of such values alone: it is the same in all calls."""
    found: dict[int, Any] = {}
    for n in nodes:
        if (isinstance(n, OpNode) and len(n.outs) == 1 and not (n.op.random or n.op.may_fail)
                and all(x in found for x in n.refs())):
            ins = [found[x] if type(x) is Ref else x for x in n.ins]
            found[n.outs[0]] = n.op.forward(*ins, **n.attrs)
    return found


def does_nothing(b: ProgramBuilder, node: Any, known: Mapping[int, Any]) -> bool:
    """Does a node make, or write to, only what has no elements, whatever it is given? What may fail
    does the same in all calls where its operands are known or have no elements: then it is tried
    now."""
    makes = [*node.outs, *node.written()]
    if any(b.arrays[o].size for o in makes):
        return False
    if makes and node.op is not None and not node.op.may_fail:
        return True
    operands = {int(x): known[x] if x in known else b.arrays[x] for x in node.refs()}
    if any(v not in known and a.size for v, a in operands.items()):
        return False
    try:
        if isinstance(node, OpNode):
            node.forward(operands, [])
            return True
        if isinstance(node, Ask):
            node.run(operands, None, [])
            return True
    except Exception:  # an op may raise anything; the caller names what is refused
        return False
    return False


# ---- from entries to plain data ------------------------------------------------------------------
class Constants:
    """The memory of constants: intervals of addresses, those that overlap as one."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.keep = [a for a in arrays if a.size]
        merged: list[list[int]] = []
        for low, high in sorted(map(span, self.keep)):
            if merged and low < merged[-1][1]:
                merged[-1][1] = max(high, merged[-1][1])
            else:
                merged.append([low, high])
        self.lows, self.highs = [m[0] for m in merged], [m[1] for m in merged]

    def at(self, where: int) -> tuple[int, int]:
        """(the number of the interval that an address is in, bytes from where it begins)"""
        i = bisect_right(self.lows, where) - 1
        assert i >= 0 and where <= self.highs[i], "an address that belongs to no constant"
        return i, where - self.lows[i]

    def data(self) -> list[bytes]:
        """What they hold."""
        return [C.string_at(a, b - a) for a, b in zip(self.lows, self.highs)]


class Writer:
    """Writes the steps of a builder down as a `LevelProgram`."""

    b: Any  # a `LevelBuilder`, or what is used as one

    def __init__(
        self,
        b: LevelBuilder,
        steps: list[Any],
        inputs: list[int],
        values: Mapping[int, Any],
        results: list[int],
    ) -> None:
        self.b, self.values = b, values
        # by the position of a value among the addresses that differ between calls
        self.room, self.memory = 0, {b.roots.position[v]: Place(InputBase(i), 0)
                                     for i, v in enumerate(inputs)}
        self.copies: list[tuple[int, int]] = []
        steps = [*steps, *self.outputs(results)]
        self.arena, _ = find_places(steps, b.places.heirs)
        entries = [e for s in steps if type(s) is Launched for e in s.entries]
        self.collect(entries, b.tapes.tables)

    def collect(self, entries: list[Any], tables: Mapping[int, Any]) -> None:
        """Find what entries need; `tables` are arrays by their addresses, whose words may be
        kernels."""
        self.entries, self.keys = entries, native.by_address()
        self.kernels: dict[int, int] = {}
        self.flags = self.flag_places()
        self.tables = {at: a for at, a in tables.items() if self.has_kernels(a)}
        self.constants = Constants(self.constant_arrays())

    def constant_arrays(self) -> Iterator[Any]:
        """What launches read that is the same at each call."""
        for a in (a for e in self.entries for a in e.all_arguments()):
            if type(a) is Moving and a.position not in self.memory:
                yield self.values[self.b.roots.moving[a.position]]
            elif type(a) is Fixed and address(a.array) not in self.tables | self.flags:
                yield a.array

    def outputs(self, results: list[int]) -> Iterator[Launched]:
        """Says where results lie. One that has no memory of its own, or does not lie row by row,
        is copied at the end; the launches for that."""
        b, first = self.b, dict[int, int]()
        for i, v in enumerate(results):
            a = b.arrays[v]
            if v in first:
                self.copies.append((first[v], i))
                continue
            first[v] = i
            position = b.roots.position.get(v)
            if b.roots[v] == v and position not in self.memory and v not in self.values:
                if a.flags.c_contiguous:
                    self.memory[position] = Place(ResultBase(i), 0)
                    continue
            if a.size:
                yield Launched(self.copied(v, a, i))
        for position, v in enumerate(b.roots.moving):
            if position not in self.memory and v not in self.values:
                self.memory[position] = Place(RoomBase(), self.more_room(b.arrays[v].nbytes))

    def copied(self, v: int, a: Any, i: int) -> list[Any]:
        """The launches that copy a value to result i."""
        places = self.b.places
        out = places.addresses.like(np.empty(a.shape, a.dtype))
        position = len(self.b.roots.moving) + i
        places.ranges.put(*span(out), (position, address(out)))
        self.memory[position] = Place(ResultBase(i), 0)
        self.b.tapes.begin()
        held = places.held[v]
        entries = numpy_launches.copied(self.b, out, held, [out, held])
        if entries is None:
            raise NotImplementedError(f"results of type {a.dtype} that are views")
        return entries

    def more_room(self, size: int) -> int:
        """Memory of a context's own that is there for all of a call."""
        at = self.room
        self.room += -(-max(size, 1) // ALIGN) * ALIGN
        return at

    def flag_places(self) -> dict[int, int]:
        """The words that checks look at: address -> where in the room."""
        flags = [e.flag for e in self.entries if type(e) is Check]
        return {address(x): self.more_room(8) for x in flags}

    def has_kernels(self, table: Any) -> bool:
        """Are there kernels among a table's words?"""
        return any(int(w) in self.keys for w in table)

    # ---- the parts -------------------------------------------------------------------------------
    def level(self) -> LevelProgram:
        """All of it."""
        reasons: list[str] = []
        numbers = {at: i for i, at in enumerate(self.tables)}
        self.numbers = numbers
        steps = [self.step(e, reasons) for e in self.entries]
        tables = [[self.word(int(w)) for w in a] for a in self.tables.values()]
        texts, kernels = self.code()
        return LevelProgram(
            steps, texts, kernels, self.constants.data(), tables, self.arena, self.room, reasons,
            self.copies, [],
        )

    def step(self, e: Any, reasons: list[str]) -> Step | Stop:
        """A launch or a check."""
        if type(e) is Check:
            reasons.append(str(broken(self.b.tapes.checks[address(e.flag)])))
            at = Place(RoomBase(), self.flags[address(e.flag)])
            return Stop(at, e.wanted, len(reasons) - 1)
        if len(e.arguments) > L.MOST:
            raise NotImplementedError(f"a launch of {len(e.arguments)} arguments")
        return Step(self.kernel(e.kernel), e.total, e.grain, [self.place(a) for a in e.arguments])

    def place(self, a: Any) -> int | Place:
        """An argument."""
        if type(a) is Number:
            return int(a.word)
        if type(a) is InArena:
            return Place(ArenaBase(), a.piece.offset + a.offset)
        if type(a) is Moving:
            memory = self.memory.get(a.position)
            if memory is None:
                value = self.values[self.b.roots.moving[a.position]]
                return self.constant(address(value) + a.offset)
            return Place(memory.base, int(memory.offset) + a.offset)  # type: ignore[arg-type]
        at = address(a.array)
        if at in self.flags:
            return Place(RoomBase(), self.flags[at] + a.offset)
        if at in self.tables:
            return Place(TableBase(self.numbers[at]), a.offset)
        return self.constant(at + a.offset)

    def constant(self, at: int) -> Place:
        """A place in a constant."""
        number, offset = self.constants.at(at)
        return Place(ConstantBase(number), offset)

    def word(self, w: int) -> int | Kernel:
        """A word of a table."""
        return Kernel(self.kernel(w)) if w in self.keys else w

    def kernel(self, at: int) -> int:
        """The number of the kernel at an address."""
        return self.kernels.setdefault(at, len(self.kernels))

    def code(self) -> tuple[list[str], list[tuple[int, str]]]:
        """The texts of the kernels that are launched, and of what they call; where each is."""
        sources = native.sources or {}
        wanted = [sources[self.keys[at]] for at in self.kernels]
        by_symbol: dict[str, list[str]] = {}
        for text, symbol in sources.values():
            by_symbol.setdefault(symbol, []).append(text)
        texts = list(dict.fromkeys(text for text, _ in wanted))
        for text in texts:  # grows
            found = [x for symbol in undefined(text) for x in by_symbol.get(symbol, ())]
            texts += [x for x in dict.fromkeys(found) if x not in texts]
        return texts, [(texts.index(text), symbol) for text, symbol in wanted]


@functools.cache
def undefined(text: str) -> list[str]:
    """The functions that a text calls and does not define."""
    heads = heads_of_functions(text)
    names = dict.fromkeys(re.findall(r"@([\w.$]+)\(", text))
    return [name for name in names if f"@{name}(" not in heads]


def heads_of_functions(text: str) -> str:
    """The heads of the functions that a text defines."""
    return "\n".join(line for line in text.splitlines() if line.startswith("define "))
