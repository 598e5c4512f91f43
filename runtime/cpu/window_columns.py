"""Numbers about the windows along an axis, a column of them: where each begins, where it ends.

A column is an array. Where sizes are symbolic it is a `Column` of expressions, which takes the same
arithmetic. Where the number of windows is symbolic too, one expression of their index says all of
them.
"""
import operator

import numpy as np

from ..ir.outline import Numeral, Series, Table
from ..ir.symbolic_size import SymbolicSize, at_least, at_most, for_now, sized

F64 = np.dtype(np.float64)


class Column:
    """`count` numbers: `words` are all of them, or with an `index` the one expression that gives
    each."""
    # NumPy leaves operators to it
    __array_ufunc__ = None

    def __init__(self, count, words, index=None):
        self.count, self.words, self.index = count, words, index

    def each(self, f, other):
        """f of each of its numbers and a number, or that of another column."""
        others = other.words if type(other) is Column else [other] * len(self.words)
        return Column(self.count, list(map(f, self.words, others)), self.index)

    def __add__(self, other):
        return self.each(operator.add, other)

    def __sub__(self, other):
        return self.each(operator.sub, other)

    def __mul__(self, other):
        return self.each(operator.mul, other)

    def __floordiv__(self, other):
        return self.each(operator.floordiv, other)

    def __mod__(self, other):
        return self.each(operator.mod, other)

    def __neg__(self):
        return self * -1


def indices(count, *sizes):
    """The column 0, 1, 2, ..., which is to meet such sizes in arithmetic."""
    if type(count) is SymbolicSize:
        index = count.facts.atom("0", 0)     # the first one's; a table is made with all others
        return Column(count, [index], index)
    return Column(count, list(range(count))) if sized(sizes) else np.arange(count)


def filled(count, number):
    """A column of one number."""
    if type(count) is SymbolicSize:
        return Column(count, [number], count.facts.atom("0", 0))
    return np.full(count, number, np.int64)


def count_of(column):
    """How many numbers a column has."""
    return column.count if type(column) is Column else len(column)


def larger(column, other):
    """The larger numbers of a column and another, or of a column and a number."""
    if type(column) is Column:
        return column.each(at_least, other)
    return other.each(at_least, column) if type(other) is Column else np.maximum(column, other)


def smaller(column, other):
    """The smaller numbers of a column and another, or of a column and a number."""
    if type(column) is Column:
        return column.each(at_most, other)
    return other.each(at_most, column) if type(other) is Column else np.minimum(column, other)


def between(column, low, high):
    """The numbers of a column, or the bounds where they lie beyond these."""
    return smaller(larger(column, low), high)


def all_equal(column):
    """Is a column one number, again and again?"""
    if type(column) is not Column:
        return len(set(column.tolist())) == 1
    words = column.words
    return not sized(words) and len(set(words)) == 1


def first_of(column):
    """The first number of a column."""
    return column.words[0] if type(column) is Column else int(column[0])


def first_and_distance(column):
    """(the first number of a column of numbers at equal distances, their distance)"""
    if type(column) is not Column:
        return int(column[0]), int(column[1] - column[0]) if len(column) > 1 else 1
    terms = column.words[0].terms
    (index,), = column.index.terms
    return terms.get((), 0), terms[(index,)]


def largest(column):
    """A number that is no less than any of a column, as far as that is known, and 1 at least."""
    numbers = column.tolist() if type(column) is np.ndarray else map(for_now, column.words)
    return max(1, *numbers)


def table_of(*columns, dtype=np.int64):
    """A kernel's table: columns and single numbers, one after another."""
    parts = [column_of(c) for c in columns]
    if not any(sized((c.count, *c.words)) for c in parts):
        numbers = np.array([w for c in parts for w in c.words], dtype)
        return numbers.view(np.int64).copy()             # with memory of its own, as all tables
    made = Table()
    for c in parts:
        words = [as_word(w, np.dtype(dtype)) for w in c.words]
        if c.index is not None:
            made.append(Series(c.count, c.index, words[0]))
        elif made and type(made[-1]) is Series:
            # what follows a column of any length has no place of its own
            made += [Series(1, None, w) for w in words]
        else:
            made += words
    return made


def column_of(x):
    """A column with its numbers as a list, of an array or of one number."""
    if type(x) is Column:
        return x
    return Column(len(x), x.tolist()) if type(x) is np.ndarray else Column(1, [x])


def as_word(number, dtype):
    """A number as a table of this type has it."""
    if type(number) is SymbolicSize:
        return number if dtype != F64 else Numeral(number, dtype)
    return int(np.array([number], dtype).view(np.int64)[0])
