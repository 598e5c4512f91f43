"""A list of kernel launches as data, and the machine code that runs it: what is left of a traced function between two Python steps.

Arguments: the address of the list, the number of its launches, then the addresses of the arrays that change from call to call.
A launch is words: kernel, total, grain, count, then for each argument a pair. (-1, value) is the value itself, (i, offset) an
address `offset` bytes into array i.
"""
from .builder import Module

MOST = 2000                      # arguments of a launch


def source():
    """The IR text."""
    m = Module()
    m.declare("whet_pool_run", "void", ["ptr", "ptr", "i64", "i64"])
    f = m.fn("program", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args = f.args[0]
    words, count = f.load("ptr", f.at(args, 0, "i64")), f.load("i64", f.at(args, 1, "i64"))
    slots = f.alloca("i64", MOST)

    def launch(_, at):
        kernel, total, grain, n = (f.load(ty, f.at(at, i, "i64")) for i, ty in enumerate(("ptr", "i64", "i64", "i64")))

        def slot(i):
            pair = f.at(at, i * 2 + 4, "i64")
            which, value = f.load("i64", pair), f.load("i64", f.at(pair, 1, "i64"))
            base, = f.if_(f.cmp("slt", which, 0), lambda: [f.const("i64", 0)], lambda: [f.load("i64", f.at(args, which + 2, "i64"))])
            f.store(base + value, f.at(slots, i, "i64"))
        f.loop(0, n, 1, slot)
        f.if_(f.cmp("slt", f.sdiv(total, 2), grain),
              lambda: f.raw(f"call void {kernel.ref}(ptr {slots.ref}, i64 0, i64 {total.ref}, i64 0)"),
              lambda: f.call("whet_pool_run", "void", kernel, slots, total, grain) and None)
        return [f.at(at, n * 2 + 4, "i64")]
    f.loop(0, count, 1, launch, [words])
    return m.text()
