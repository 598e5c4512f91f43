"""The program of a graph for all sizes that go the same way, as plain data: words that depend on
sizes are expressions of them.

It is planned as families of traces are (`program/sized_program.py`), from the graph at two sizes.
What Python computes of sizes (which kernel suits them, a mask) is looked up: in a library there is
no Python.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from whet.cpu import native
from whet.ir.memory_spans import address
from whet.ir.outline import Numeral, Series, Table
from whet.ir.size_conditions import PART
from whet.ir.symbolic_size import Size, SymbolicReal, SymbolicSize, Unsized, text
from whet.passes.lower_llvm.calls import launch_list as L

from ...program.launch_entries import Check, Fixed, InArena, Moving, Number
from ...program.size_dependent_arrays import Address
from ...program.sized_lists import Done
from ..sized_graph import AnyExpression
from .level_parts import (
    ArenaBase,
    Case,
    Column,
    Columns,
    ConstantBase,
    Formula,
    InputBase,
    Kernel,
    LevelProgram,
    LookedUpConstantBase,
    Lookup,
    Place,
    ResultBase,
    Step,
    Stop,
    TailBase,
    words_of,
)
from .level_program import Writer
from .two_runs import TwoRuns

CALL = re.compile(r"f\d+\(")  # a Python function in an expression
SCANNED = 4096  # words: no larger array is a table of kernels
FORMS = "float32", "float64", "int64"  # how a number of sizes may lie in a word


class SizedLevel:
    """The plan for sizes like these, made from two runs. `largest`: the largest sizes. `numbers`:
    position of a node -> the expressions of its operands that are numbers. Raises Unsized."""

    def __init__(self, runs: TwoRuns, values: Sequence[int], largest: Sequence[int],
                 numbers: Mapping[int, Mapping[int, AnyExpression]]) -> None:
        self.sizes, self.largest, self.symbols = list(values), largest, runs.symbols
        self.inputs, self.results, self.values = runs.inputs, runs.results, runs.values
        self.has_inputs = runs.has_inputs(values)
        self.program = runs.planned(values)
        self.facts = self.program.facts
        if any(type(s) is Done and not self.is_empty(s.node) for s in self.program.steps):
            raise Unsized("Python does a part of it")
        self.writer = SizedWriter(self)
        self.draft = self.writer.draft()
        self.fits = self.facts.function([])
        self.own = self.facts.function(self.program.own.expressions)
        self.arena = self.facts.function([self.program.list.arena])
        expected = self.program.types.expected
        found = [(expected[i][0][k], e) for i, at in numbers.items() for k, e in at.items()]
        self.numbers = [e for _, e in found]
        self.foretold = self.facts.function(
            [x.number if type(x) is Numeral else x for x, _ in found])

    def is_empty(self, node: Any) -> bool:
        """Does a node only make what has no elements at any sizes? Where no input has elements,
        one that may fail does so in all calls or in none: `may_run` is asked of such sizes."""
        if node.op is None or any(self.program.arrays[o].size for o in node.outs):
            return False
        return not node.op.may_fail or not self.has_inputs

    def serves(self, values: Sequence[int]) -> bool:
        """Is the program for these sizes?"""
        try:
            return (self.fits(*self.of(values)) is not None and self.arrays(values) is not None
                    and self.foretells(values))
        except (ZeroDivisionError, OverflowError):
            return False

    def foretells(self, values: Sequence[int]) -> bool:
        """Are numbers among operands what the graph has at these sizes? The plan concludes what
        they are from two runs, where `min(n, 7)` may have been n."""
        return bool(self.foretold(*self.of(values)) == [e.at(values) for e in self.numbers])

    def at_most(self, n: Size) -> int:
        """What a number is at the largest sizes: at others it must not be more."""
        if type(n) is not SymbolicSize:
            return n
        most = int(self.facts.scope(self.of(self.largest)).of(n.text()))
        self.facts.ask(f"{n.text()}<={most}", answer=True)
        return most

    def of(self, values: Sequence[int]) -> list[int]:
        """The symbols for some sizes."""
        return [values[k] for k in self.symbols]

    def arrays(self, values: Sequence[int]) -> Any:
        """The arrays that depend on sizes alone."""
        found = self.own(*self.of(values))
        return None if found is None else self.program.own.arrays(found)

    def case(self, served: Sequence[Sequence[int]], lookups: Mapping[str, Lookup]) -> Case:
        """What the program is for."""
        fixed = [(k, n) for k, n in enumerate(self.sizes) if k not in self.symbols]
        parts = {k: t for k, t in self.parts().items() if k not in lookups}
        return Case(self.symbols, fixed, self.facts.source(), parts, dict(lookups), self.shapes())

    def shapes(self) -> list[list[int | Formula]]:
        """The sizes of inputs and results."""
        return [[formula(n) for n in self.program.arrays[v].shape]
                for v in (*self.inputs, *self.results)]

    def parts(self) -> dict[str, str]:
        """The expressions that have names and that the program depends on. There are those of
        earlier plans from the same runs, too, which may mean nothing at the sizes of this one."""
        parts, found = self.facts.parts, dict[str, str]()
        todo = [*strings([self.draft, self.writer.tail, self.facts.source(), self.shapes()])]
        while todo:
            for name in PART.findall(todo.pop()):
                if name in parts and name not in found:
                    found[name] = parts[name]
                    if not CALL.match(parts[name]):  # else it is looked up
                        todo.append(parts[name])
        return found

    def level(self, served: Sequence[Sequence[int]]) -> LevelProgram:
        """The program, for those sizes."""
        lookups = {}
        for name, part in self.parts().items():
            if CALL.match(part):
                lookups[name] = self.lookup(served, self.needed(part), self.word_of(name))
            elif CALL.search(part):
                raise Unsized("a number that Python computes is part of another")
        every = list(range(len(self.symbols)))
        for which in sorted(self.writer.own):
            lookups[f"own{which}"] = self.lookup(served, every, self.place_of(which))
        made = self.writer.level(self.draft)
        arena = max(map(self.arena_bytes, served))
        return made._replace(arena=arena, case=self.case(served, lookups))

    def arena_bytes(self, values: Sequence[int]) -> int:
        """The bytes of the arena at sizes that it serves."""
        found = self.arena(*self.of(values))
        assert found is not None
        return int(found[0])

    # ---- what is looked up -----------------------------------------------------------------------
    def needed(self, part: str) -> list[int]:
        """The symbols that an expression depends on."""
        found = {int(s) for s in re.findall(r"\bs(\d+)\b", part)}
        for name in PART.findall(part):
            found.update(self.needed(self.facts.parts[name]))
        return sorted(found)

    def lookup(self, served: Sequence[Sequence[int]], symbols: list[int], word: Any) -> Lookup:
        """A table over some symbols. `word(values)`: what is in it for sizes."""
        known = {tuple(self.of(v)[s] for s in symbols): v for v in served}
        axes = list(zip(*known)) if symbols else []
        least = [min(a) for a in axes]
        counts = [max(a) - min(a) + 1 for a in axes]
        grid = itertools.product(*[range(a, a + n) for a, n in zip(least, counts)])
        words = [word(known[at]) if at in known else 0 for at in grid]
        return Lookup(symbols, least, counts, words)

    def word_of(self, name: str) -> Any:
        """What a part is for sizes: a number or a kernel."""

        def word(values: Sequence[int]) -> int | Kernel:
            made = self.facts.scope(self.of(values))[name]
            return Kernel(self.writer.kernel(made)) if self.writer.is_kernel(made) else int(made)

        return word

    def place_of(self, which: int) -> Any:
        """Where an array is that depends on sizes."""

        def word(values: Sequence[int]) -> Place:
            return self.writer.more_constants(self.arrays(values)[which])

        return word


# ---- from entries to plain data ------------------------------------------------------------------
class SizedWriter(Writer):
    """Writes a plan down. `own`: the arrays that depend on sizes which launches are given."""

    def __init__(self, level: SizedLevel) -> None:
        self.sized, p = level, level.program
        self.b, self.values = p, level.values
        self.room, self.copies, self.own = 0, [], set[int]()
        position = p.roots.position
        self.memory = {position[v]: Place(InputBase(i), 0) for i, v in enumerate(level.inputs)}
        self.memory |= {position[v]: Place(ResultBase(i), 0) for i, v in enumerate(level.results)}
        self.tail: list[Any] = []
        self.constants_of_sizes: dict[bytes, int] = {}
        entries = [e for step in p.steps if not isinstance(step, Done) for e in step]
        arrays = {address(a.array): a.array for e in entries for a in e.all_arguments()
                  if type(a) is Fixed}
        self.collect(entries, {at: a for at, a in arrays.items() if may_be_table(a)})

    def draft(self) -> tuple[list[Step | Stop], list[str]]:
        """The steps, and the reasons why lists end: all that is asked of sizes is asked here."""
        reasons: list[str] = []
        self.numbers = {at: i for i, at in enumerate(self.tables)}
        return [self.step(e, reasons) for e in self.entries], reasons

    def level(self, draft: Any = None) -> LevelProgram:
        """All of it."""
        steps, reasons = draft
        tables = [[self.word(int(w)) for w in a] for a in self.tables.values()]
        texts, kernels = self.code()
        constants = [*self.constants.data(), *self.constants_of_sizes]
        return LevelProgram(steps, texts, kernels, constants, tables, 0, self.room, reasons, [], [],
                            tail=self.tail)

    def step(self, e: Any, reasons: list[str]) -> Step | Stop:
        if type(e) is Check:
            return super().step(e, reasons)
        if len(e.arguments) > L.MOST:
            raise Unsized(f"a launch of {len(e.arguments)} arguments")
        kernel = formula(e.kernel) if type(e.kernel) is SymbolicSize else self.kernel(e.kernel)
        places = [self.place(a) for a in e.arguments]
        return Step(kernel, formula(e.total), formula(e.grain), places)

    def place(self, a: Any) -> Any:
        if type(a) is Number:
            return self.number(a.word)
        if type(a) is InArena:
            return Place(ArenaBase(), formula(a.piece.offset + a.offset))
        offset: Any = a.offset
        if type(a) is Moving and type(offset) is SymbolicSize:
            if a.position not in self.memory:
                raise Unsized("a place in a constant depends on sizes")
            return Place(self.memory[a.position].base, formula(offset))
        return super().place(a)

    def number(self, w: Any) -> Any:
        """A word that is no address, or of what the plan has for itself."""
        if type(w) is Table:
            first = sum(words_of(x) for x in self.tail)
            columns = [x for x in w if type(x) is Series]
            self.tail += map(formula, w[:len(w) - len(columns)])
            if columns:
                self.tail.append(Columns([self.column(x) for x in columns]))
            return Place(TailBase(), 8 * first)
        if type(w) is Address:
            self.own.add(w.which)
            return Place(LookedUpConstantBase(f"own{w.which}"), formula(w.offset))
        return formula(w)

    def column(self, x: Series) -> Column:
        """Words of which there are as many as a size says. Sizes for which there are more than at
        the largest ones are not the plan's."""
        place = "" if x.place is None else text(x.place)
        return Column(formula(x.length), place, formula(x.word), self.sized.at_most(x.length))

    def is_kernel(self, w: Any) -> bool:
        """Is this the address of a kernel? Some were asked for after the plan was made."""
        if w not in self.keys:
            self.keys = native.by_address()
        return w in self.keys

    def more_constants(self, a: Any) -> Place:
        """The place of one more constant."""
        data = np.ascontiguousarray(a).tobytes()
        number = self.constants_of_sizes.setdefault(data, len(self.constants_of_sizes))
        return Place(ConstantBase(len(self.constants.lows) + number), 0)


def strings(x: Any) -> Iterator[str]:
    """All texts in nested tuples and lists."""
    if isinstance(x, str):
        yield x
    elif isinstance(x, tuple | list):
        for y in x:
            yield from strings(y)


def may_be_table(a: Any) -> bool:
    """May the words of an array be kernels?"""
    return bool(a.dtype == np.int64 and a.ndim == 1 and a.size <= SCANNED)


def formula(w: Any) -> int | Formula:
    """A number, or an expression of sizes."""
    if type(w) is Numeral:
        if w.dtype.name not in FORMS:
            raise Unsized(f"a number of sizes is {w.dtype}")
        return Formula(text(w.number), w.dtype.name)
    if type(w) is SymbolicReal:
        checked(w.text())
        return Formula(w.text(), "float64")
    if type(w) is SymbolicSize:
        return Formula(w.text())
    if isinstance(w, int | np.integer):
        return int(w)
    raise Unsized(f"a word is a {type(w).__name__}")


def checked(expression: str) -> None:
    """Raise Unsized for what only Python can compute."""
    if CALL.search(expression):
        raise Unsized("a float that Python computes of sizes")

