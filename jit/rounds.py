"""Programs that machine code runs round after round, with memory that changes places between the rounds.

What a round works on has names. A table holds the address of each; after a round every name gets the address that another one had, moved on
by some bytes. So what a round makes is what the next one reads, without a copy, and a row of a tensor is followed by the next row.
"""
import numpy as np
from whet.cpu import native

from .program import machine

AT_ONCE = 10_000                 # rounds between which Python may be interrupted


class Rounds:
    """`body` and `ask` (or None) are a list of launches and the names of what it works on; `moves`: name -> (whose address it gets, bytes
    added); other names keep theirs."""

    def __init__(self, ask, body, moves, pred=None):
        names, self.fixed, begins = [], {}, []
        for part in (ask, body):
            begins.append(-1 if part is None else len(names))
            if part is not None:
                address, count, works_on = part
                self.fixed[len(names)], self.fixed[len(names) + 1] = address, count
                names += [None, None, *works_on]
        names += [x for x in moves if x not in names]
        self.names = names
        where = {x: i for i, x in reversed(list(enumerate(names)))}
        self.sources = np.array([where[moves[x][0]] if x in moves else i for i, x in enumerate(names)], np.int64)
        self.steps = np.array([moves[x][1] if x in moves else 0 for x in names], np.int64)
        self.begins, self.pred = begins, where[pred] if pred is not None else 0

    def __call__(self, addresses, most=None):
        """Run at most so many rounds (None: until the predicate is false), from these addresses on; gives how many there were."""
        table = np.array([self.fixed.get(i) if x is None else addresses[x] for i, x in enumerate(self.names)], np.int64)
        other, out, rounds = np.empty_like(table), np.zeros(2, np.int64), 0
        while not out[1] and (most is None or rounds < most):
            native.launch(_machine(), 1, 1, machine(), *self.begins, self.pred, AT_ONCE if most is None else min(AT_ONCE, most - rounds),
                          len(table), table, other, self.sources, self.steps, out)
            rounds += int(out[0])
        return rounds


def _machine():
    def source():
        from whet.passes.lower_llvm import rounds
        return rounds.source()
    return native.image("jit/rounds", source, ["rounds"])["rounds"]
