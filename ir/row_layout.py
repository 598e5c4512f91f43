"""The layouts of a row program's operands: which axes of its shape each has. They are all axes,
those that are not reduced, or those that are."""
from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import rows
from .values import Array

Shape = tuple[int, ...]


class ColumnWalk(enum.StrEnum):
    """How a kernel walks rows that lie side by side, in columns. Neighbouring columns are
    neighbours in memory, but where they are apart."""
    LANES = "lanes"              # sums go through memory lane by lane
    FOUR = "four"                # four lanes at once: better for short rows
    SEQUENTIAL = "sequential"    # sums go through memory in order: better for few columns
    # one panel without gaps between the elements' lines: 32 of them are one long line
    DENSE = "dense"
    # columns are anywhere: full operands and outputs have a third stride, that of a column; rows
    # are shorter than a block
    APART = "apart"


class OperandAxes(enum.Enum):
    """Which axes of a row program's shape an operand has."""
    ALL = enum.auto()            # those that broadcasting gives it
    KEPT = enum.auto()           # those that the program does not reduce
    REDUCED = enum.auto()        # those that it reduces


@dataclass(frozen=True, eq=False)
class Placed:
    """A program that reduces some axes of a shape, and which axes each of its operands has."""
    program: rows.Program
    shape: Shape
    axes: tuple[int, ...]
    operand_axes: tuple[OperandAxes, ...]

    def operands(self, ins: Iterable[Any]) -> list[Any]:
        """The arrays and numbers that the program is run with."""
        return [self.operand(i, x) for i, x in zip(range(len(self.operand_axes)), ins, strict=True)]

    def operand(self, i: int, x: Any) -> Any:
        """One of them."""
        o = self.program.operands[i]
        if o.is_scalar or o.is_position:
            return x if x is None else x.item()
        x = spread(x, self.shape, self.axes, self.operand_axes[i])
        return (x if o.is_full else one_row(x, self.axes) if o.is_column
                else one_each(x, self.axes))


def left(shape: Shape, axes: Sequence[int]) -> tuple[Shape, Shape]:
    """The shape of a row value: with axes of size 1, and without them."""
    return tuple(1 if a in axes else n for a, n in enumerate(shape)), tuple(
        n for a, n in enumerate(shape) if a not in axes)


def spread(x: Array, shape: Shape, axes: Sequence[int], has: OperandAxes) -> Array:
    """An operand, broadcast to the whole shape of a program that reduces these axes."""
    if has is not OperandAxes.ALL:
        there = [a for a in range(len(shape)) if (a in axes) == (has is OperandAxes.REDUCED)]
        x = np.broadcast_to(x, tuple(shape[a] for a in there))
        x = x[tuple(slice(None) if a in there else None for a in range(len(shape)))]
    return np.broadcast_to(x, shape)


def one_each(x: Array, axes: Sequence[int]) -> Array:
    """One number a row of a full array that is the same along the axes."""
    return x[tuple(slice(0, 1) if a in axes else slice(None) for a in range(x.ndim))]


def one_row(x: Array, axes: Sequence[int]) -> Array:
    """One row of a full array in which all rows are the same."""
    return x[tuple(slice(None) if a in axes else 0 for a in range(x.ndim))]


def extent_of(x: Array, axes: Sequence[int]) -> rows.Extent:
    """Along which dimensions an operand varies that was spread to the full shape."""
    moves = [a for a, (n, s) in enumerate(zip(x.shape, x.strides, strict=True)) if n > 1 and s]
    if not any(a in axes for a in moves):
        return rows.Extent.ROW
    if (all(a in axes for a in moves) and any(n > 1 for a, n in enumerate(x.shape) if a not in axes)
            and one_row(x, axes).flags.c_contiguous):
        return rows.Extent.COLUMN
    return rows.Extent.FULL
