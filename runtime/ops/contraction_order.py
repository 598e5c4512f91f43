"""In which order the operands of an einsum are multiplied in pairs.

A product of two operands runs over all indices that either has. The order with the fewest and the
smallest such products wins; of equal ones the one from left to right does. Sizes are not asked for:
all indices count as `SIZE`. So the order, and with it the bits of the result, goes by the equation
alone, and a trace that serves all sizes has the order of each.
"""
import functools
from collections.abc import Hashable

Term = frozenset[Hashable]
Pair = tuple[int, int]

SIZE = 32                       # what an index is taken to run over
# Of so many operands all orders are tried, a few hundred; of more the cheapest product goes first.
FEW = 5


@functools.lru_cache(1024)
def pairs(terms: tuple[Term, ...], out: Term) -> tuple[Pair, ...]:
    """The places of the two operands of each product, the first place less than the second. The
    result of a product is at the first of its places, and the operands behind the second move up.

    >>> from whet.ops.contraction_order import pairs
    >>> pairs((frozenset("ij"), frozenset("jk"), frozenset("k")), frozenset("i"))
    ((1, 2), (0, 1))
    """
    found = _cheapest(terms, out, {}) if len(terms) <= FEW else _greedy(terms, out)
    plain = ((0, 1),) * (len(terms) - 1)
    return found if _cost(found, terms, out) < _cost(plain, terms, out) else plain


def _multiplied(terms: tuple[Term, ...], pair: Pair, out: Term) -> tuple[int, tuple[Term, ...]]:
    """What the product of a pair costs, and the terms after it."""
    a, b = (terms[k] for k in pair)
    others = [t for k, t in enumerate(terms) if k not in pair]
    kept = out.union(*others)
    # What only one of them has, and nothing else needs, is summed before.
    run = (a & b) | ((a | b) & kept)
    left = list(terms)
    left[pair[0]] = run & kept
    del left[pair[1]]
    return SIZE ** len(run), tuple(left)


def _cost(order: tuple[Pair, ...], terms: tuple[Term, ...], out: Term) -> int:
    """What all products of an order cost."""
    total = 0
    for pair in order:
        cost, terms = _multiplied(terms, pair, out)
        total += cost
    return total


def _all_pairs(terms: tuple[Term, ...]) -> list[Pair]:
    return [(i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))]


def _cheapest(terms: tuple[Term, ...], out: Term,
              known: dict[tuple[Term, ...], tuple[Pair, ...]]) -> tuple[Pair, ...]:
    """The best of all orders. `known`: those of terms that were asked for before."""
    if len(terms) < 2:
        return ()
    if terms not in known:
        orders = [(pair, *_cheapest(_multiplied(terms, pair, out)[1], out, known))
                  for pair in _all_pairs(terms)]
        known[terms] = min(orders, key=lambda order: _cost(order, terms, out))
    return known[terms]


def _greedy(terms: tuple[Term, ...], out: Term) -> tuple[Pair, ...]:
    """The order in which the cheapest product always goes first."""
    order = []
    while len(terms) > 1:
        pair = min(_all_pairs(terms), key=lambda pair: _multiplied(terms, pair, out)[0])
        order.append(pair)
        terms = _multiplied(terms, pair, out)[1]
    return tuple(order)
