"""Machine code that runs a list of launches (launch_list.py) round after round, each on other
memory.

`fill` puts its arguments from the third on into a table: the table's address, how many.
"""
from typing import NamedTuple

from ..builder import Module
from .word_records import Address, load


class Rounds(NamedTuple):
    """The arguments of `rounds`."""
    program: Address             # the machine code that runs a list
    # where in the table the question's arguments begin; -1: there is none, and all rounds are run
    ask: int
    body: int                    # the same of the body's
    predicate: int               # the place of the answer's address in the table
    most: int                    # rounds
    moves: int                   # how many entries of the table change after a round
    table: Address
    new: Address                 # memory for the moves
    places: Address              # which entries change,
    sources: Address             # which ones they get,
    steps: Address               # and what is added
    # two words for the answer: how many rounds there were, and whether the predicate was false
    out: Address


def source():
    """The IR text."""
    m = Module()
    f = m.fn("rounds", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args = f.args[0]
    given = load(f, args, Rounds)
    table, out = given.table, given.out

    def run(begin):
        f.raw(
            f"call void {given.program.ref}(ptr {f.at(table, begin, 'i64').ref}, i64 0, i64 1, "
            "i64 0)")

    def asked():
        run(given.ask)
        yes = f.load("i8", f.load("ptr", f.at(table, given.predicate, "i64")))
        more, = f.if_(f.cmp("ne", yes, 0), lambda: [f.const("i64", 1)], lambda: [f.const("i64", 0)])
        f.if_(f.cmp("eq", more, 0), lambda: f.store(f.const("i64", 1), f.at(out, 1, "i64")))
        return [more]

    def more(k):
        answer, = f.if_(
            f.cmp("slt", k, given.most),
            lambda: f.if_(f.cmp("slt", given.ask, 0), lambda: [f.const("i64", 1)], asked),
            lambda: [f.const("i64", 0)])
        return f.cmp("ne", answer, 0)

    def word(p, i):
        return f.load("i64", f.at(p, i, "i64"))

    def one(k):
        run(given.body)
        f.loop(
            0, given.moves, 1, lambda i: f.store(
                word(table, word(given.sources, i)) + word(given.steps, i), f.at(
                    given.new, i, "i64")))
        f.loop(0, given.moves, 1,
               lambda i: f.store(word(given.new, i), f.at(table, word(given.places, i), "i64")))
        return [k + 1]
    k, = f.while_(more, one, [f.const("i64", 0)])
    f.store(k, out)

    f = m.fn("fill", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args = f.args[0]
    table = f.load("ptr", args)
    f.loop(0, f.load("i64", f.at(args, 1, "i64")), 1,
           lambda i: f.store(f.load("i64", f.at(args, i + 2, "i64")), f.at(table, i, "i64")))
    return m.text()
