"""Runs a program round after round in machine code, exchanging memory between the rounds.

The memory that a round uses has names, and a table holds the address of each. After a round every
name gets the address of another name, plus some bytes. So the next round reads what this one made
without a copy, and each row of a tensor is followed by the next."""
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from whet.cpu import native
from whet.passes.lower_llvm.calls import repeated_lists as L

from ..machine_code.native_runner import machine

AT_ONCE = 10_000                 # rounds between which Python may be interrupted


class Rounds:
    """A loop. `body` and `ask` (or None) are a list of launches and the names of the memory it
    uses. `moves`: name -> (the name whose address it gets, bytes added); other names keep
    theirs."""

    def __init__(self, ask: Any, body: Any, moves: Mapping[Any, tuple[Any, int]],
                 pred: Any = None) -> None:
        self.names: list[Any] = []
        self.begins: list[int] = []
        at: dict[Any, int] = {}
        for part in (ask, body):
            self.begins.append(-1 if part is None else len(self.names))
            if part is not None:
                address, count, works_on = part
                self.names += [Word(address), Word(count), *works_on]
        self.names += [x for x in moves if x not in self.names]
        for i, x in enumerate(self.names):
            at.setdefault(x, i)
        moving = [(i, at[moves[x][0]], moves[x][1]) for i, x in enumerate(self.names) if x in moves]
        self.places, self.sources, self.steps = (
            np.array(column, np.int64) for column in zip(*moving))
        self.pred, self.new, self.out = (at[pred] if pred is not None else 0,
                                         np.empty(len(moving), np.int64), np.zeros(2, np.int64))

    def table(self, value: Callable[[Any], Any]) -> list[Any]:
        """The table at the start; `value` gives the address of each name."""
        return [x.value if type(x) is Word else value(x) for x in self.names]

    def arguments(self, table: Any, most: int) -> tuple[int, Any]:
        """The machine code, and its arguments."""
        ask, body = self.begins
        words: list[Any] = [
            machine()[0], ask, body, self.pred, most, len(self.new), table, self.new, self.places,
            self.sources, self.steps, self.out]
        return machine_code()["rounds"], L.Rounds(*words)

    def __call__(self, value: Callable[[Any], Any]) -> int:
        """Run until the predicate is false; returns the number of rounds."""
        table, rounds = np.array(self.table(value), np.int64), 0
        self.out[1] = 0
        while not self.out[1]:
            code, args = self.arguments(table, AT_ONCE)
            native.launch(code, 1, 1, *args)
            rounds += int(self.out[0])
        return rounds


class Word:
    """A word of the table that is not the address of memory which a round uses."""

    def __init__(self, value: int) -> None:
        self.value = value


def machine_code() -> Any:
    """The addresses of the functions `rounds`, which runs a loop, and `fill`, which copies words
    into its table."""
    return native.image("jit/rounds", L.source, ["rounds", "fill"])
