"""Rows of few elements, walked many at a time as one run.

    a[0]*w[0] a[1]*w[0] a[2]*w[0] a[3]*w[1] ...      a: rows of three, w: one number for each

Loops over the elements of one row would hardly fill a vector. The rows of most operands are
contiguous, and are processed as one long row. Other operands are first copied into contiguous
scratch memory. A number for each row is repeated for each of its elements. A row that all rows
share is repeated for each row. Rows of a table that are picked by an index are gathered.
"""
from __future__ import annotations

from collections.abc import Callable

from whet.ir.kernel import COLUMNS, TILE

from ..builder import Fn, Val, vec

WIDTH = 16              # elements copied at once, of rows of more than half as many
UNROLL = 4              # rows copied in one round of a loop
Row = Callable[[Val, int, Val], None]        # copy row i, by so many elements at once, under a mask


class PackedRows:
    """Scratch memory with the rows of one operand. With `same`, a row is one number, repeated."""

    def __init__(self, f: Fn, unit: str, same: bool, columns: Val) -> None:
        self.f, self.unit, self.same, self.columns = f, unit, same, columns
        # what is copied past the end of a row is overwritten by the next one
        self.rows = f.alloca(unit, TILE * COLUMNS + WIDTH)

    def put(self, source: Val, i: Val, width: int, mask: Val, j: Val | int = 0) -> None:
        """Copy the elements of row i from number j on, and whatever is behind its end."""
        f = self.f
        if self.same:
            x = f.splat(f.load(self.unit, source), width)
        else:
            x = f.mload(vec(self.unit, width), f.at(source, j, self.unit), mask)
        f.store(x, f.at(self.rows, i * self.columns + j, self.unit))

    def fill(self, source: Val, step: Val, height: Val | int) -> None:
        """Copy the rows that begin at `source`, `step` bytes apart."""
        f = self.f

        def wide() -> None:
            f.loop(0, height, 1, lambda i: f.loop(
                0, self.columns, WIDTH,
                lambda j: self.put(f.bytes_at(source, i * step), i, WIDTH,
                                   f.lanes_below(self.columns - j, WIDTH), j)) and None)
        f.if_(f.cmp("sle", self.columns, WIDTH),
              lambda: narrow(f, self.columns, height, UNROLL, lambda i, width, mask: self.put(
                  f.bytes_at(source, i * step), i, width, mask)),
              wide)


def narrow(f: Fn, columns: Val, height: Val | int, unroll: int, row: Row) -> None:
    """Copy rows of at most WIDTH elements, each at once."""
    def by(width: int) -> None:
        mask = f.lanes_below(columns, width)
        rest = f.binary("and", f.as_val(height, "i64"), -unroll)

        def several(i: Val) -> None:
            for u in range(unroll):
                row(i + u, width, mask)
        f.loop(0, rest, unroll, several)
        if unroll > 1:
            f.loop(rest, height, 1, lambda i: row(i, width, mask))
    f.if_(f.cmp("sle", columns, WIDTH // 2), lambda: by(WIDTH // 2), lambda: by(WIDTH))
