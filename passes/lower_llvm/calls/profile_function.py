"""The profile function of a recorded run, in machine code: it skips calls inside the framework and
passes the rest to Python.

`whet_watch` is a row of words (`W`): an open hash table with the addresses of the framework's code
objects, which Python maintains, and other values that are compared. A call made by such code needs
no look, nor does a call of a builtin, nor a result returned to such code."""
from __future__ import annotations

from ..builder import Module, Val
from .object_access import Glue, address_of

# Python's names of the kinds of events; 0 for those that are not asked for.
W = dict(table=0, mask=8, tensor=16, names=24)
CALL, RETURN, C_CALL = 0, 3, 4                      # kinds of events
KINDS = 8
GOLDEN = -7046029254386353131
# in the place of code that was taken out of the table
GONE = 1


def slot(address: int, mask: int) -> int:
    """The place in the table where the search for a code object begins."""
    return (((address * GOLDEN) & (1 << 64) - 1) >> 40) & mask


def source() -> str:
    """The IR text of `watched(watch, frame, kind, what)`, and of `unwatched(compute, *args)`,
    during which this thread is not watched."""
    m = Module()
    _unwatched(m)
    for symbol in ("whet_watch", "_Py_NoneStruct"):
        m.decls[symbol] = f"@{symbol} = external global i8"
    _known(m)
    _ours(m)
    _watched(m)
    return m.text()


def _unwatched(m: Module) -> None:
    f = m.fn("unwatched", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    _, argv, count = f.args
    thread = f.call("PyThreadState_Get", "ptr")
    f.call("PyThreadState_EnterTracing", "void", thread)
    r = f.call("PyObject_Vectorcall", "ptr", f.load("ptr", argv, 8), f.at(argv, 1, "i64"),
               count - 1, Val(f, "null", "ptr"))
    f.call("PyThreadState_LeaveTracing", "void", thread)
    f.ret(r)


def _known(m: Module) -> None:
    """known(code): is a code object in the table?"""
    f = m.fn("known", [("ptr", "code")], "i1", "internal")
    g = Glue(f)
    code, = f.args
    words = address_of(f, "whet_watch")
    table, mask = g.ld(words, W["table"]), g.ld(words, W["mask"], "i64")

    def entry(i: Val) -> Val:
        return f.load("i64", f.at(table, i, "i64"), 8)
    wanted = g.i64(code)
    first = f.binary("and", f.lshr(wanted * GOLDEN, 40), mask)
    _, found = f.while_(
        lambda i, x: f.binary("and", f.cmp("ne", x, 0), f.cmp("ne", x, wanted)), lambda i, x: [
            (j := f.binary("and", i + 1, mask)), entry(j)], [first, entry(first)])
    f.ret(f.cmp("eq", found, wanted))


def _ours(m: Module) -> None:
    """ours(frame): does a frame run code that is in the table?"""
    f = m.fn("ours", [("ptr", "frame")], "i1", "internal")
    code = f.call("PyFrame_GetCode", "ptr", f.args[0])
    Glue(f).dec(code)                                                    # the frame has it
    f.ret(f.call("known", "i1", code))


def _watched(m: Module) -> None:
    f = m.fn("watched", [("ptr", "self"), ("ptr", "frame"), ("i32", "kind"), ("ptr", "what")],
             "i32")
    g = Glue(f)
    self, frame, kind, what = f.args
    words, null = address_of(f, "whet_watch"), Val(f, "null", "ptr")
    name = f.load("ptr", f.at(g.ld(words, W["names"]), f.conv("sext", kind, "i64"), "i64"), 8)
    f.bail(g.null(name), "done")
    f.bail(f.binary("xor", f.call("ours", "i1", frame), 1), "look")
    f.bail(f.cmp("ne", kind, RETURN), "done")
    f.bail(g.absent(what), "done")
    f.bail(g.same(g.type_of(what), g.ld(words, W["tensor"])), "done")
    back = f.call("PyFrame_GetBack", "ptr", frame)
    f.bail(g.null(back), "look")
    inside = f.call("ours", "i1", back)
    g.dec(back)
    f.bail(inside, "done")
    f.br("look")
    f.label("look")
    box = f.alloca("i64", 3)
    none = address_of(f, "_Py_NoneStruct")
    for i, x in enumerate((frame, name, f.sel(g.null(what), none, what))):
        f.store(x, f.at(box, i, "i64"), 8)
    r = f.call("PyObject_Vectorcall", "ptr", self, box, f.as_val(3, "i64"), null)
    f.bail(g.null(r), "error")
    g.dec(r)
    f.br("done")
    f.label("done")
    f.ret(f.as_val(0, "i32"))
    f.label("error")
    f.ret(f.as_val(-1, "i32"))
