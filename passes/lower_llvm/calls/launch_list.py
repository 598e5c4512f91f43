"""A list of kernel launches as data, and the machine code that runs it: what is left of a traced function between two Python steps.

Arguments: the address of the list, the number of its words, then the addresses of the arrays that change from call to call.
A launch is words: kernel, total, grain (and room, see share_out.py), count, then for each argument a pair. (-1, value) is the value itself,
(i, offset) an address `offset` bytes into array i.

A launch whose result is kept from call to call has four words before it: 0, the address of a record, the number of the array that it
reads, and how many words are passed over if that array is as it was: the record holds its tensor, and of the last time the tensor's
version cell, the sum of the versions (of writes through `.data` too), and the array's address. Memory that is `shown` is never as it was.

A *check* is four words: 1, the address of a word that a launch before it wrote, what that must hold, and where the former address is put if it
does not: the list ends there. So a launch that reads by indices from data follows the check of those.
"""
from ..builder import Module, Val
from . import share_out as launching
from .op_layouts import C, T

MOST = 2000                      # arguments of a launch
MOVING = 4000                    # arrays that change from call to call
RECORD, CHECK = 0, 1               # the first words of what is no launch
NAMES = ["program", "run", "same"]


def source():
    """The IR text."""
    m = Module()
    launching.declare(m)
    f = m.fn("program", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args = f.args[0]
    words = f.load("ptr", f.at(args, 0, "i64"))
    end = f.at(words, f.load("i64", f.at(args, 1, "i64")), "i64")
    slots = f.alloca("i64", MOST)

    def launch(at):
        kernel, total, grain, n = (f.load(ty, f.at(at, i, "i64")) for i, ty in enumerate(("ptr", "i64", "i64", "i64")))

        def slot(i):
            pair = f.at(at, i * 2 + 4, "i64")
            which, value = f.load("i64", pair), f.load("i64", f.at(pair, 1, "i64"))
            base, = f.if_(f.cmp("slt", which, 0), lambda: [f.const("i64", 0)], lambda: [f.load("i64", f.at(args, which + 2, "i64"))])
            f.store(base + value, f.at(slots, i, "i64"))
        f.loop(0, n, 1, slot)
        launching.emit(f, kernel, slots, total, grain)
        return f.at(at, n * 2 + 4, "i64")

    def kept(at):
        record, which, skip = (f.load(ty, f.at(at, i, "i64")) for i, ty in ((1, "ptr"), (2, "i64"), (3, "i64")))
        tensor, cell, version, address = (f.load(ty, f.at(record, i, "i64")) for i, ty in enumerate(("ptr", "ptr", "i64", "i64")))
        mine = f.cmp("eq", f.load("ptr", f.bytes_at(tensor, T["cell"])), cell)
        here = f.load("i64", f.at(args, which + 2, "i64"))

        def count(c, now, shown):
            return (f.load("ptr", f.bytes_at(c, C["aside"])), now + f.load("i64", f.bytes_at(c, C["v"])),
                    shown | f.load("i64", f.bytes_at(c, C["shown"])))
        zero = f.const("i64", 0)
        _, now, shown = f.while_(lambda c, *_: f.cmp("ne", c, 0), count, [cell, zero, zero])
        same = mine & f.cmp("eq", shown, 0) & f.cmp("eq", now, version) & f.cmp("eq", here, address)
        f.store(now, f.at(record, 2, "i64"))
        f.store(here, f.at(record, 3, "i64"))
        return f.at(at, f.sel(same, skip + 4, 4), "i64")

    def check(at):
        word, wanted, told = (f.load(ty, f.at(at, i, "i64")) for i, ty in ((1, "ptr"), (2, "i64"), (3, "ptr")))

        def stop():
            f.store(word, told)
            return [end]
        return f.if_(f.cmp("eq", f.load("i64", word), wanted), lambda: [f.at(at, 4, "i64")], stop)
    f.while_(lambda at: f.cmp("ult", at, end), lambda at: f.if_(
        f.cmp("ugt", f.load("i64", at), CHECK), lambda: [launch(at)],
        lambda: f.if_(f.cmp("eq", f.load("i64", at), RECORD), lambda: [kept(at)], lambda: check(at))), [words])
    _run(m)
    _checks(m)
    return m.text()


def _checks(m):
    """Kernels that say what checks look at."""
    # same(a, b, words, bytes after them, out): do two pieces of memory hold the same? out: 1 or 0
    f = m.fn("same", [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    a, b, n, rest, out = (f.load(ty, f.at(f.args[0], i, "i64")) for i, ty in enumerate(("ptr", "ptr", "i64", "i64", "ptr")))

    def differs(ty, count, first):
        def one(i, bad):
            x, y = (f.load(ty, f.at(f.bytes_at(p, first), i, ty), 1) for p in (a, b))
            return [bad | f.cmp("ne", x, y)]
        return f.loop(0, count, 1, one, [f.const("i1", 0)])[0]
    bad = differs("i64", n, 0) | differs("i8", rest, n << 3)
    f.store(f.conv("zext", ~bad, "i64"), out)



def _run(m):
    """run(list, its words, long, *arrays) for Python, that made sure of its arguments; long lists release the interpreter's lock."""
    m.decls["_Py_NoneStruct"] = "@_Py_NoneStruct = external global i8"
    f = m.fn("run", [("ptr", "self"), ("ptr", "argv"), ("i64", "n")], "ptr")
    _, argv, n = f.args
    slots, none = f.alloca("i64", MOVING + 3), Val(f, "@_Py_NoneStruct", "ptr")

    def number(i):
        return f.call("PyLong_AsLongLong", "i64", f.load("ptr", f.at(argv, i, "i64"), 8))
    f.store(number(0), slots)
    f.store(number(1), f.at(slots, 1, "i64"))

    def array(i):
        a = f.load("ptr", f.at(argv, i, "i64"), 8)
        data, = f.if_(f.cmp("eq", a, none), lambda: [f.const("i64", 0)], lambda: [f.load("i64", f.bytes_at(a, 16))])
        f.store(data, f.at(slots, i - 1, "i64"))
    f.loop(3, n, 1, array)

    def go():
        f.raw(f"call void @program(ptr {slots.ref}, i64 0, i64 1, i64 0)")

    def away():
        thread = f.call("PyEval_SaveThread", "ptr")
        go()
        f.call("PyEval_RestoreThread", "void", thread)
    f.if_(f.cmp("ne", number(2), 0), away, go)
    f.call("Py_IncRef", "void", none)
    f.ret(none)
