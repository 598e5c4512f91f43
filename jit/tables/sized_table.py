"""Tables for calls of all sizes that go the same way: one of a family's tables, with code by which
machine code gives it the words of a call's sizes. Such a call enters no Python at all, though
its sizes are new.

What the recordings of a family differ in is known as expressions of sizes: the sizes and strides of
arguments and results, and words of the list of launches. `passes/lower_llvm/calls/size_code.py` has
their code.
"""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.symbolic_size import LEAST
from whet.passes.lower_llvm.calls.size_code import Uncoded
from whet.tensor import Tensor

from ..machine_code.native_entry import L
from ..machine_code.table_index import FOREVER, limit_uses, uses_of
from ..machine_code.table_rows import Table
from ..program.size_stores import SizeStores
from ..program.sized_lists import Segment
from ..values.tensor_sources import Argument
from .native_table import SIZES, VALUE

if TYPE_CHECKING:
    from ..program.programs_of_sizes import ForwardOfSizes
    from ..replay.recording import Recording


NUMBER = -1                      # the dimension of what is no tensor but a number
SOUNDINGS = 4                    # times as many calls as before come until one is eager


class SizedTable:
    """The table for all sizes of a program `of_sizes`, made of a recording's own. `constants`: what
    its code computes besides what the program does, as a function of the symbols; `first`: the
    recording that the family's are made like; `entered`: calls that are in the policy's account."""

    def __init__(self, table: Table, of_sizes: ForwardOfSizes, constants: Any, checks: Any) -> None:
        self.table, self.of_sizes, self.checks, self.entered = table, of_sizes, checks, 0
        self.constants = constants
        self.first: Recording = of_sizes.first
        self.sounding = SOUNDINGS            # the call that is eager next

    @property
    def calls(self) -> int:
        """How often it was used."""
        return uses_of(self.table)

    @property
    def is_due(self) -> bool:
        """Is the next call one that is to be compared with a run?"""
        return bool(self.calls >= self.checks.at)

    def learn(self, shapes: list[tuple[int, ...]]) -> bool:
        """Have Python's functions say what they give for arguments of these shapes: machine code
        looks it up. Is the table one for them?"""
        values = self.of_sizes.symbols.values(shapes)
        if values is None or self.of_sizes.numbers(values) is None:
            return False
        with contextlib.suppress(ArithmeticError, ValueError):   # eager mode raises it
            return self.constants(*values) is not None
        return False

    @property
    def is_sounding(self) -> bool:
        """Is the next call an eager one, to see how long that takes?"""
        return self.calls >= self.sounding

    def sound(self) -> None:
        """Choose the next such call."""
        self.sounding = SOUNDINGS * max(self.sounding, self.calls)
        self.limit()

    def plan(self, seconds: float) -> None:
        """Choose the call that is compared next; `seconds`: those of a call."""
        self.checks.plan(self.calls, seconds)
        self.limit()

    def limit(self) -> None:
        """Machine code makes the calls until then."""
        limit_uses(self.table, int(min(self.checks.at, self.sounding, FOREVER)))


class SizedTableMaker(SizeStores):
    """Gathers what a table's words are for other sizes. Raises `Uncoded`."""

    def __init__(self, ready: Table, r: Recording) -> None:
        super().__init__(r.program.of_sizes)
        self.words, self.handed = ready[0].copy(), ready[1][1]
        self.recording, self.program = r, r.program
        self.leaves = r.program.of_sizes.leaves
        # symbol -> object of a call, and dimension of a tensor
        self.places: dict[int, tuple[int, int]] = {}

    def head(self, name: str) -> int:
        """A word of the header."""
        return int(self.words[L.H[name] // 8])

    def table(self) -> Table:
        """The table."""
        of_sizes, p = self.of_sizes, self.program
        if (self.head("kind") != L.LAUNCH or self.head("numbers") or p.shown
                or self.head("writes") or self.head("apart")
                or not p.launches_and_views or not p.launches_and_views.words):
            raise Uncoded("a replay of it is more than launches")
        self.constants()
        self.arguments()
        self.results()
        launches = self.launches()
        self.put(self.words, L.H["arena"] // 8, of_sizes.arena)
        symbols = range(len(of_sizes.facts.symbols))
        if not all(i in self.places for i in symbols):
            raise Uncoded("a size is no tensor's of the call")
        code = self.code([self.places[i] for i in symbols], id(Tensor))
        for name, v in dict(count=0, until=0, code=code.address).items():
            self.words[L.H[name] // 8] = v
        return self.words, [self.recording, code, launches, self.numbers, Tensor]

    def arguments(self) -> None:
        """The rows of arguments, and where symbols are found."""
        inputs = zip(self.program.outside, self.recording.replay.inputs.sources)
        values = {s.index: n for n, s in inputs if type(s) is Argument}
        lengths = {at: leaf for leaf, at in self.handed.lengths.items()}
        start = row = self.head("rows_at") // 8
        words, of_sizes = self.words, self.of_sizes
        for _ in range(self.head("rows")):
            kind, number, size, place, of = (int(w) for w in words[row:row + 5])
            if row - start in lengths:
                i, = self.leaves[lengths[row - start]]
                if i >= 0:
                    self.put(words, row + VALUE, of_sizes.facts.symbols[i] - LEAST)
                    self.places.setdefault(i, (number, NUMBER))
            elif kind in (L.TENSOR, L.ARRAY) and (leaf := self.handed.order[place]) in values:
                shape, strides = self.layout(values[leaf])
                for d, pair in enumerate(zip(shape, strides, strict=True)):
                    for k, x in enumerate(pair):
                        self.put(words, row + SIZES + 2 * d + k, x)
                if kind == L.TENSOR and of == id(Tensor):
                    for d, i in enumerate(self.leaves[leaf]):
                        if i >= 0:
                            self.places.setdefault(i, (number, d))
            row += size

    def results(self) -> None:
        """The rows of new arrays."""
        row = self.head("fresh_at") // 8
        for n in self.program.fresh:
            shape, strides = self.layout_of_new(n)
            self.words[row + 2] = 1
            for k, x in enumerate(shape):
                self.put(self.words, row + 3 + k, x)
            for k, x in enumerate(strides):
                self.put(self.words, row + 3 + L.MAX_DIMS + k, x)
            row += L.FRESH_WORDS

    def launches(self) -> np.ndarray:
        """A list of launches of its own, and how long it is."""
        place, made = self.program.launches_and_views, self.lists()
        first = place.address - self.program.keep[0].ctypes.data
        self.words[L.H["list"] // 8] = made.ctypes.data + first
        self.words[L.H["length"] // 8] = place.words
        (segment,) = self.of_sizes.steps
        assert isinstance(segment, Segment)
        # Not 0: a thread may work while others run.
        self.put_is_long(self.words, L.H["away"] // 8, segment)
        return made


def sized(ready: Table, r: Recording, checks: Any) -> SizedTable | None:
    """The table for all sizes of the program that a recording is of, whose own table is `ready`;
    None where machine code cannot tell what they are."""
    try:
        with r.program.of_sizes.facts.recalled():
            maker = SizedTableMaker(ready, r)
            table = maker.table()
            constants = maker.function_of_symbols()
    except Uncoded:
        return None
    table[1].extend(ready[1][1:])
    return SizedTable(table, r.program.of_sizes, constants, checks)
