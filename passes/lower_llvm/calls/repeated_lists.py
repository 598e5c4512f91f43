"""Machine code that runs a list of launches (launch_list.py) round after round, each on other memory.

Arguments of `rounds`: the address of `program`, where in a table the question's and the body's arguments begin (-1: no question, all rounds
are run), the place of the predicate, the most rounds, the number of moves, the table, memory for the moves, which entries change after a
round, which ones they get, and what is added; two words for the answer: how many rounds there were, and whether the predicate was false.

`fill` puts its arguments from the third on into a table: the table's address, how many.
"""
from ..builder import Module


def source():
    """The IR text."""
    m = Module()
    f = m.fn("rounds", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args = f.args[0]
    program, ask, body, place, most, n, table, new, places, sources, steps, out = (
        f.load("ptr" if i in (0, 6, 7, 8, 9, 10, 11) else "i64", f.at(args, i, "i64")) for i in range(12))

    def run(begin):
        f.raw(f"call void {program.ref}(ptr {f.at(table, begin, 'i64').ref}, i64 0, i64 1, i64 0)")

    def asked():
        run(ask)
        yes = f.load("i8", f.load("ptr", f.at(table, place, "i64")))
        more, = f.if_(f.cmp("ne", yes, 0), lambda: [f.const("i64", 1)], lambda: [f.const("i64", 0)])
        f.if_(f.cmp("eq", more, 0), lambda: f.store(f.const("i64", 1), f.at(out, 1, "i64")))
        return [more]

    def more(k):
        answer, = f.if_(f.cmp("slt", k, most), lambda: f.if_(f.cmp("slt", ask, 0), lambda: [f.const("i64", 1)], asked),
                        lambda: [f.const("i64", 0)])
        return f.cmp("ne", answer, 0)

    def word(p, i):
        return f.load("i64", f.at(p, i, "i64"))

    def one(k):
        run(body)
        f.loop(0, n, 1, lambda i: f.store(word(table, word(sources, i)) + word(steps, i), f.at(new, i, "i64")))
        f.loop(0, n, 1, lambda i: f.store(word(new, i), f.at(table, word(places, i), "i64")))
        return [k + 1]
    k, = f.while_(more, one, [f.const("i64", 0)])
    f.store(k, out)

    f = m.fn("fill", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args = f.args[0]
    table = f.load("ptr", args)
    f.loop(0, f.load("i64", f.at(args, 1, "i64")), 1, lambda i: f.store(f.load("i64", f.at(args, i + 2, "i64")), f.at(table, i, "i64")))
    return m.text()
