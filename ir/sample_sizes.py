"""Chooses the sizes at which numbers are sampled, to find the expressions of sizes that they
follow.

Numbers at some sizes are always those of some polynomial with enough terms. So simpler products are
tried before squares, and what is found is held to sizes that it was not found from, one of them far
away.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

MOST_SQUARED = 2  # sizes that differ, beyond which squares would take too many recordings
MOST_SQUARED_ONCE = 4  # and the square of one size alone would be looked for in too many sums


def points(
    first: Sequence[int], second: Sequence[int], third: Sequence[int]
) -> list[tuple[int, ...]]:
    """Sizes that tell products of different ones: all ways to exchange some of the first values for
    the second. A third value of one size, beside each choice of the others, tells its square; of
    many sizes it is beside the first values alone.

    >>> from whet.ir.sample_sizes import points
    >>> points([2], [5], [7])
    [(2,), (5,), (7,)]
    """
    found = all_ways = list(itertools.product(*zip(first, second)))
    beside = all_ways if len(first) <= MOST_SQUARED else [tuple(first)]
    for k, n in enumerate(third) if len(first) <= MOST_SQUARED_ONCE else ():
        found = [*found, *[(*p[:k], n, *p[k + 1 :]) for p in beside if p[k] == first[k]]]
    return list(dict.fromkeys(found))


def products(names: Sequence[str]) -> Iterator[list[tuple[str, ...]]]:
    """The products of names that numbers may be sums of, the simplest choice first: those of
    different names, then also with the square of one. Of many names there is one square in a sum.

    >>> from whet.ir.sample_sizes import products
    >>> list(products(["n"]))
    [[(), ('n',)], [(), ('n',), ('n', 'n')]]
    """
    linear = [c for k in range(len(names) + 1) for c in itertools.combinations(names, k)]
    yield linear
    squares = [(name, *c) for name in names for c in linear if name in c]
    if len(names) <= MOST_SQUARED:
        yield linear + squares
    elif len(names) <= MOST_SQUARED_ONCE:
        yield from ([*linear, square] for square in sorted(squares, key=len))


def weights(rows: Sequence[Sequence[int]]) -> Mapping[int, Sequence[Fraction]]:
    """How the coefficients of columns follow from sums of these: the coefficient of column c is the
    sum of the sums by `weights(rows)[c]`. A column that those before it tell has none.

    >>> from whet.ir.sample_sizes import weights
    >>> weights([(1, 2), (1, 5)])[1]  # a + 2*b and a + 5*b give b
    [Fraction(-1, 3), Fraction(1, 3)]
    """
    count, width, done = len(rows), len(rows[0]), 0
    unit = [[int(i == k) for k in range(count)] for i in range(count)]
    system = [[Fraction(x) for x in (*row, *more)] for row, more in zip(rows, unit)]
    pivots = dict[int, int]()
    for c in range(width):
        at = next((r for r in range(done, count) if system[r][c]), None)
        if at is None:
            continue
        system[done], system[at] = system[at], system[done]
        pivot = system[done] = [x / system[done][c] for x in system[done]]
        for r in range(count):
            factor = system[r][c]
            if r != done and factor:
                system[r] = [x - factor * y for x, y in zip(system[r], pivot)]
        pivots[c] = done
        done += 1
    return {c: system[r][width:] for c, r in pivots.items()}
