"""Interprets the arguments of launches when operands and results are outlines: see
`taped_launches.Reader`."""
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.outline import Numeral, Outline
from ..ir.outline import Table as TableOfSizes
from ..ir.symbolic_size import SYMBOLIC, value
from . import taped_launches as T


class OutlineReader(T.Reader):
    """Outlines share memory if they have the same room. Each operand has a room of its own; a
    result with known sizes is an array."""

    array_types = Outline, np.ndarray

    def __init__(self, tape: T.Tape, operands: Sequence[Any], results: Sequence[Any],
                 in_order: bool = False) -> None:
        self.tape, self.operands, self.results = tape, operands, results
        self.flags = {id(v) for v in tape.verdicts}

    def argument(self, a: Any) -> T.Argument | None:
        if type(a) in SYMBOLIC:
            return T.Word(a)
        if type(a) is TableOfSizes:
            return numbers(a, np.dtype(np.int64))
        if type(a) is Outline:
            return self.outline(a)
        if isinstance(a, np.ndarray):
            return self.array(a)
        return super().argument(a)

    def points_to_known(self, at: int) -> bool:
        return False                         # No operand has an address.

    def outline(self, a: Outline) -> T.Argument | None:
        """What an outline among the arguments is."""
        for i, m in enumerate(self.results):
            if together(a, m):
                return T.Result(i, offset(a, m))
        for i, x in enumerate(self.operands):
            if together(a, x):
                return T.Operand(i, offset(a, x))
        for m, size in self.temporary():
            if together(a, m):
                return T.Scratch(m, size, offset(a, m))
        owner = a.room.owner
        if id(a) in self.tape.numbers:
            return None                      # A number that is an operand goes by no sizes.
        if type(owner) is Numeral:
            return numbers([owner.number], owner.dtype)
        return T.Table(owner) if isinstance(owner, np.ndarray) and a.offset == 0 else None

    def array(self, a: np.ndarray) -> T.Argument | None:
        """What an array is, which has memory already: none of the operands'."""
        if id(a) in self.flags:
            return T.Verdict(a)
        for i, m in enumerate(self.results):
            if type(m) is np.ndarray and np.may_share_memory(a, m):
                return T.Result(i, T.address(a) - T.address(m))
        for m, size in self.temporary():
            if type(m) is np.ndarray and np.may_share_memory(a, m):
                return T.Scratch(m, size, T.address(a) - T.address(m))
        if id(a) in self.tape.numbers:
            return T.NumberOperand(*self.tape.numbers[id(a)])
        if any(T.address(x) == T.address(a) for x in self.tape.tables):
            return T.Table(a)
        return T.Table(a) if a.dtype == np.int64 and a.ndim == 1 and a.flags.owndata else None

    @staticmethod
    def view_offset(source: Any, made: Any) -> Any:
        return offset(made, source) if together(made, source) else None


def together(a: Any, b: Any) -> bool:
    """Are two things outlines in the same room?"""
    return type(a) is Outline and type(b) is Outline and a.room is b.room


def offset(a: Any, of: Any) -> Any:
    """The bytes between the first elements of two outlines. Declared as int for code that knows
    nothing of symbolic sizes."""
    return a.offset - of.offset


def numbers(items: Sequence[Any], dtype: np.dtype[Any]) -> T.NumbersOfSizes:
    """A copy of these numbers in memory of their own."""
    array = np.array([value(x) for x in items], dtype)
    at = [(x, i * dtype.itemsize) for i, x in enumerate(items) if type(x) in SYMBOLIC]
    return T.NumbersOfSizes(array, at)
