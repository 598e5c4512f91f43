"""Steps of rows whose elements go on from what they and their neighbours were in the step before.

A row is carried from entry to entry of a series, one more than there are steps: each step computes
an entry from the one before, or with `back` the other way round. An expression reads elements of
some arrays at the same place or a few places beside it, and what is outside of the row is a
number. A second expression may give each step a result of its own.

Each row has its own number of steps. A step that a row does not have leaves it as it is, and the
result of that step is zero. Rows know nothing of each other: a unit is a row.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from whet.ir.scalar import Expr

from .. import scalar, targets
from ..builder import BYTES, Module, Val, vec

SHORT = {"float": "f32", "double": "f64"}


class Read(NamedTuple):
    """An element that an expression reads, from the array of a number, `shift` places on. `entry`:
    that of the step's number and so many more; None where all steps read the same."""
    array: int
    entry: int | None
    shift: int = 0
    outside: float = 0.0


@dataclass(frozen=True)
class Steps:
    """What a step does. Array 0 is what is carried. `more`: how many entries each array has more
    than steps; None: it has one for all. `made`: what goes to the last array, if it is there."""
    elem: str
    more: tuple[int | None, ...]
    reads: tuple[Read, ...]
    carried: Expr
    made: Expr | None = None
    back: bool = False

    def __str__(self) -> str:
        reads = " ".join(f"{a}.{e}.{s}.{x}" for a, e, s, x in self.reads)
        return f"{self.elem}/{self.more}/{reads}/{self.carried}/{self.made}/{self.back}"


def steps(m: Module, symbol: str, what: Steps) -> None:
    """Emit the kernel. Its arguments: the rows' numbers of steps, the arrays; the number of steps,
    the elements of a row."""
    _Emitter(m, symbol, what)


class _Emitter:
    def __init__(self, m: Module, symbol: str, what: Steps) -> None:
        self.what, self.f = what, m.kernel(symbol)
        f, count = self.f, len(what.more)
        self.lanes = targets.current().lanes(BYTES[what.elem])
        self.ty = vec(what.elem, self.lanes)
        args, begin, end, _ = f.args
        self.lengths, *self.arrays = (
            f.load("ptr", f.at(args, i, "i64"), 8) for i in range(1 + count))
        self.steps, self.width = (
            f.load("i64", f.at(args, 1 + count + i, "i64"), 8) for i in range(2))
        f.loop(begin, end, 1, self.row)

    def row(self, r: Val) -> None:
        """All steps of a row."""
        f = self.f
        length = f.load("i64", f.at(self.lengths, r, "i64"))

        def step(i: Val) -> None:
            t = self.steps - 1 - i if self.what.back else i
            f.if_(f.cmp("slt", t, length), lambda: self.each(self.go_on, r, t),
                  lambda: self.each(self.stay, r, t))
        f.loop(0, self.steps, 1, step)

    def each(self, some: Callable[[Val, Val, Val, Val], None], r: Val, t: Val) -> list[Val]:
        """What becomes of a vector of elements after the other."""
        self.f.loop(0, self.width, self.lanes, lambda c: some(
            r, t, c, self.f.lanes_below(self.width - c, self.lanes)))
        return []

    def go_on(self, r: Val, t: Val, c: Val, mask: Val) -> None:
        """The elements from c on, by the expressions."""
        f, what = self.f, self.what
        roots = [what.carried] if what.made is None else [what.carried, what.made]
        operands = [self.read(one, r, t, c) for one in what.reads]
        dtypes = [SHORT[what.elem]] * len(operands)
        made = scalar.emit(f, roots, operands, dtypes, self.lanes)
        f.put(mask, *zip(made, self.results(r, t, c), strict=True))

    def stay(self, r: Val, t: Val, c: Val, mask: Val) -> None:
        """The elements from c on, as they were."""
        before = self.place(0, t + int(self.what.back), r, c)
        kept = [self.f.mload(self.ty, before, mask), self.f.const(self.ty, 0)]
        self.f.put(mask, *zip(kept, self.results(r, t, c), strict=False))

    def results(self, r: Val, t: Val, c: Val) -> list[Val]:
        """Where the results of a step go."""
        what = self.what
        carried = self.place(0, t + int(not what.back), r, c)
        return [carried] if what.made is None else [
            carried, self.place(len(what.more) - 1, t, r, c)]

    def read(self, one: Read, r: Val, t: Val, c: Val) -> Val:
        """A vector of an array's elements, those outside of the row by their number."""
        f, first = self.f, c + one.shift
        mask = f.lanes_below(self.width - c - max(one.shift, 0), self.lanes)
        if one.shift < 0:
            inside = f.cmp("sge", f.iota("i64", self.lanes), f.splat(0 - first, self.lanes))
            mask = f.binary("and", mask, inside)
        at = self.place(one.array, t + (one.entry or 0), r, first)
        return f.mload(self.ty, at, mask, other=f.const(self.ty, one.outside))

    def place(self, array: int, entry: Val, r: Val, c: Val) -> Val:
        """The address of an element of a row."""
        more = self.what.more[array]
        number = r if more is None else r * (self.steps + more) + entry
        return self.f.at(self.arrays[array], number * self.width + c, self.what.elem)
