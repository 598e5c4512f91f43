"""Maps the sizes of some tensors to symbols, where they differ between calls."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from whet.ir.symbolic_size import LEAST

from .size_expressions import Sizes

Shapes: TypeAlias = "Sequence[tuple[int, ...]]"


class ShapeSymbols:
    """For each size of each tensor: the number of its symbol, or `-1 - size` if it is the same in
    both lists from which a plan is made. `before`, `now`: the shapes in these lists."""

    def __init__(self, sizes: Sizes, before: Shapes, now: Shapes) -> None:
        self.count = len(sizes)
        self.dims = [[sizes.known.get((a, b), -1 - a) for a, b in zip(x, y, strict=True)]
                     for x, y in zip(before, now, strict=True)]
        self.differ_unknown = any(
            i < 0 and a != b for dims, x, y in zip(self.dims, before, now, strict=True)
            for i, a, b in zip(dims, x, y, strict=True))

    @property
    def are_all(self) -> bool:
        """Is there a symbol, and is each one a size of one of the tensors?"""
        found = {i for dims in self.dims for i in dims if i >= 0}
        return found == set(range(self.count)) and bool(found)

    def values(self, shapes: Shapes) -> list[int] | None:
        """The symbols' values for tensors of these shapes; None if the shapes differ in anything
        else."""
        values: list[int] = [-1] * self.count
        if len(shapes) != len(self.dims):
            return None
        for shape, dims in zip(shapes, self.dims, strict=True):
            if len(shape) != len(dims):
                return None
            for n, i in zip(shape, dims, strict=True):
                if i < 0:
                    if n != -1 - i:
                        return None
                elif values[i] < 0:
                    if n < LEAST:
                        return None
                    values[i] = n
                elif values[i] != n:
                    return None
        return values
