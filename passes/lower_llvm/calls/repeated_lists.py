"""Machine code that runs a list of launches (launch_list.py) round after round, each on other
memory.

`fill` copies its arguments, from the third on, into a table: the first two are the table's address
and their number."""
from __future__ import annotations

from typing import Generic, NamedTuple

from ..builder import Module, Val
from .word_records import Address, Word, load


class Rounds(NamedTuple, Generic[Word]):
    """The arguments of `rounds`."""
    program: Address[Word]       # the machine code that runs a list
    # where in the table the question's arguments begin; -1: there is none, and all rounds are run
    ask: Word
    body: Word                   # the same of the body's
    predicate: Word              # the place of the answer's address in the table
    most: Word                   # rounds
    moves: Word                  # how many entries of the table change after a round
    table: Address[Word]
    new: Address[Word]           # memory for the moves
    places: Address[Word]        # the entries that change
    sources: Address[Word]       # for each of them the entry whose word it gets
    steps: Address[Word]         # for each of them what is added to that word
    # two words for the answer: how many rounds there were, and whether the predicate was false
    out: Address[Word]


def source() -> str:
    """The IR text."""
    m = Module()
    f = m.kernel("rounds")
    args = f.args[0]
    rounds = load(f, args, Rounds[Val])
    table, out = rounds.table, rounds.out

    def run(begin: Val) -> None:
        f.raw(
            f"call void {rounds.program.ref}(ptr {f.at(table, begin, 'i64').ref}, i64 0, i64 1, "
            "i64 0)")

    def asked() -> list[Val]:
        run(rounds.ask)
        yes = f.load("i8", f.load("ptr", f.at(table, rounds.predicate, "i64")))
        more, = f.if_(f.cmp("ne", yes, 0), lambda: [f.const("i64", 1)], lambda: [f.const("i64", 0)])
        f.if_(f.cmp("eq", more, 0), lambda: f.store(f.const("i64", 1), f.at(out, 1, "i64")))
        return [more]

    def more(k: Val) -> Val:
        answer, = f.if_(
            f.cmp("slt", k, rounds.most),
            lambda: f.if_(f.cmp("slt", rounds.ask, 0), lambda: [f.const("i64", 1)], asked),
            lambda: [f.const("i64", 0)])
        return f.cmp("ne", answer, 0)

    def word(p: Val, i: Val) -> Val:
        return f.load("i64", f.at(p, i, "i64"))

    def one(k: Val) -> list[Val]:
        run(rounds.body)
        f.loop(
            0, rounds.moves, 1, lambda i: f.store(
                word(table, word(rounds.sources, i)) + word(rounds.steps, i), f.at(
                    rounds.new, i, "i64")))
        f.loop(0, rounds.moves, 1,
               lambda i: f.store(word(rounds.new, i), f.at(table, word(rounds.places, i), "i64")))
        return [k + 1]
    k, = f.while_(more, one, [f.const("i64", 0)])
    f.store(k, out)

    _fill(m)
    return m.text()


def _fill(m: Module) -> None:
    f = m.kernel("fill")
    args = f.args[0]
    table = f.load("ptr", args)
    f.loop(0, f.load("i64", f.at(args, 1, "i64")), 1,
           lambda i: f.store(f.load("i64", f.at(args, i + 2, "i64")), f.at(table, i, "i64")))
