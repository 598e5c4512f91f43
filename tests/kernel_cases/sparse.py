"""Products of sparse matrices."""

import itertools

import whet
from whet.ops import sparse_products

from . import Case, Family, graded, op

WIDTHS = (1, 2, 7, 8, 15, 16, 17, 33, 64, 65, 130, 259)


def in_order(values, to, come, dense):
    """Sums of rows by entries whose rows go up."""
    to = to.sort().values + 0                # a kernel's result: its memory is guarded
    return sparse_products.row_sums(values, to, come, dense, 9, True)


def in_any_order(values, to, come, dense):
    """The same of entries as they come."""
    return sparse_products.row_sums(values, to, come, dense, 9)


def pointed(values, lengths, come, dense):
    """Sums of rows that are named by where they begin."""
    pointers = whet.cat([whet.zeros(1, dtype=whet.int64), lengths.cumsum(0)]) + 0
    return sparse_products.pointed_sums(values, pointers, come, dense)


def dots(to, come, x, y):
    """Dots of rows."""
    return sparse_products.row_dots(to, come, x, y)


def spread(lengths):
    """The row of each entry, of how many each row has."""
    pointers = whet.cat([whet.zeros(1, dtype=whet.int64), lengths.cumsum(0)])
    return sparse_products.rows_of(pointers, int(pointers[-1]))


class Sparse(Family):
    """Sums of rows, dots of rows, and the rows of entries."""

    generators = ("sparse.sums", "sparse.pointed_sums", "sparse.dots", "sparse.spread")
    kinds = (
        *(f"sparse/sums/{elem}/{by}" for elem in ("float", "double")
          for by in ("rows", "columns", "pointers")),
        "sparse/dots/float", "sparse/dots/double", "sparse/spread")
    exact = False

    def cases(self):
        for width, entries, dtype in itertools.product(WIDTHS, (1, 13, 64), ("f4", "f8")):
            if dtype == "f8" and width % 3:
                continue
            operands = [op(dtype, entries), op("i8", entries, below=9),
                        op("i8", entries, below=6), op(dtype, 6, width, layout="wide")]
            name = f"{dtype} {width} {entries}"
            yield Case(f"rows {name}", graded(in_order, 0, 3), operands)
            yield Case(f"columns {name}", graded(in_any_order, 0, 3), operands)
            lengths = [entries // 3, 0, entries - entries // 3, 0]
            yield Case(f"pointers {name}", graded(lambda v, c, d, n=lengths: pointed(
                v, whet.tensor(n), c, d), 0, 2), [operands[0], *operands[2:]])
            yield Case(f"dots {name}", dots, [*operands[1:3], op(dtype, 9, width), operands[3]])
        for rows in (1, 2, 9, 33):
            yield Case(f"spread {rows}", spread, [op("i8", rows, below=5)])
