"""Notes the calls that machine code makes for a profiler: what ran, from when to when, and where
the user's code was.

While a profiler listens, LISTENED is one of every thread's modes. `make` leaves such a call to
`listened`, which looks at the clock, makes the same call under a mark, and adds an entry (`E`) to
the log (`LOG`). Python reads the log when the profiler stops. The log has addresses of objects.
Python is shown each of them once, and keeps them: `log_seen`."""
from __future__ import annotations

from ..builder import Module, Val
from .object_access import Glue, address_of, put_word, word_at
from .op_layouts import (
    CORE_ARGUMENTS,
    ELSEWHERE,
    ENTRY_BYTES,
    ENTRY_HEAD,
    LOG,
    LOG_ARRAY,
    LOG_SLOTS,
    MAX_DIMS,
    MISS,
    NO_ARRAY,
    TIMED,
    A,
    E,
    T,
)
from .python_layouts import LENGTH, TUPLE_ITEMS

GOLDEN = -7046029254386353131
SECOND = 1_000_000_000
FAILED = -1                                 # an error is set


def emit_listening(m: Module) -> None:
    """`listened`, and what it calls. The module has a function `core` by now."""
    _clock(m)
    _asked(m)
    _slot(m)
    _seen(m)
    _users_line(m)
    _array(m)
    _operand(m)
    _operands(m)
    _written_down(m)
    _where(m)
    _details(m)
    _note(m)
    _listened(m)


def _listened(m: Module) -> None:
    """listened(op, inputs, n, attrs, writer): a call of `core`, timed and noted."""
    f = m.fn("listened", CORE_ARGUMENTS, "ptr", "internal",
             "noinline cold")
    g = Glue(f)
    op, ins, n, attrs, writer = f.args
    start = f.call("log_clock", "i64")
    r = f.call("core", "ptr", op, ins, n | TIMED, attrs, writer)
    end = f.call("log_clock", "i64")
    f.bail(f.cmp("ule", g.i64(r), MISS), "unnoted")
    f.bail(f.cmp("slt", f.call("log_note", "i64", op, ins, n, writer, r, start, end), 0), "failed")
    f.ret(r)
    f.label("unnoted")
    f.ret(r)
    f.label("failed")
    g.dec(r)
    f.ret(Val(f, "null", "ptr"))


def _clock(m: Module) -> None:
    """log_clock(): the nanoseconds that the profiler's own clock shows."""
    f = m.fn("log_clock", [], "i64", "internal")
    t = f.alloca("i64", 2)
    f.call("clock_gettime", "i32", f.conv("trunc", Glue(f).ctx("clock", "i64"), "i32"), t)
    f.ret(f.binary("mul", word_at(f, t, 0), SECOND) + word_at(f, t, 1))


def _asked(m: Module) -> None:
    """log_asked(function, thing): the number that a Python function returns, which is not
    negative; or FAILED."""
    f = m.fn("log_asked", [("ptr", "function"), ("ptr", "thing")], "i64", "internal")
    g = Glue(f)
    r = f.call("PyObject_CallOneArg", "ptr", *f.args)
    f.bail(g.null(r), "error")
    number = f.call("PyLong_AsLongLong", "i64", r)
    g.dec(r)
    f.ret(number)
    f.label("error")
    f.ret(f.as_val(FAILED, "i64"))


def _slot(m: Module) -> None:
    """log_slot(table, thing): the place of an object in a table, or the empty place for it."""
    f = m.fn("log_slot", [("ptr", "table"), ("ptr", "thing")], "ptr", "internal")
    g = Glue(f)
    table, wanted = f.args[0], g.i64(f.args[1])

    def place(i: Val) -> Val:
        return f.at(table, i << 1, "i64")

    def goes_on(i: Val) -> Val:
        there = f.load("i64", place(i))
        return f.cmp("ne", there, 0) & f.cmp("ne", there, wanted)
    first = f.lshr(f.binary("mul", wanted, GOLDEN), 40) & LOG_SLOTS - 1
    i, = f.while_(goes_on, lambda i: [(i + 1) & LOG_SLOTS - 1], [first])
    f.ret(place(i))


def _seen(m: Module) -> None:
    """log_seen(thing): let Python keep an object, which it is shown once. Returns what it says of
    the object; 0 if no profiler runs any more, or FAILED.

    The table never becomes full: what has no place in it is shown to Python each time."""
    f = m.fn("log_seen", [("ptr", "thing")], "i64", "internal")
    g, thing = Glue(f), f.args[0]
    log = g.ctx("log")
    f.bail(g.null(log), "over")
    known = f.call("log_slot", "ptr", g.ld(log, LOG["table"]), thing)
    f.bail(f.cmp("eq", word_at(f, known, 0), 0), "unknown")
    f.ret(word_at(f, known, 1))
    f.label("unknown")
    said = f.call("log_asked", "i64", g.ld(log, LOG["seen"]), thing)
    log = g.ctx("log")                      # Python may have let another thread end it
    f.bail(f.cmp("slt", said, 0) | g.null(log), "said")
    left = g.ld(log, LOG["left"], "i64")
    f.bail(f.cmp("eq", left, 0), "said")
    g.st(left - 1, log, LOG["left"])
    place = f.call("log_slot", "ptr", g.ld(log, LOG["table"]), thing)
    put_word(f, place, 0, g.i64(thing))
    put_word(f, place, 1, said)
    f.br("said")
    f.label("said")
    f.ret(said)
    f.label("over")
    f.ret(f.as_val(0, "i64"))


def _users_line(m: Module) -> None:
    """log_line(frame, words): note the innermost frame of the user's code, from a frame on: its
    code and instruction. They are 0 if there is none."""
    f = m.fn("log_line", [("ptr", "frame"), ("ptr", "words")], "i64", "internal")
    g = Glue(f)
    frame, entry = f.args
    f.bail(g.null(frame), "none")
    code = f.call("PyFrame_GetCode", "ptr", frame)
    g.dec(code)                             # the frame has it
    said = f.call("log_seen", "i64", code)
    f.bail(f.cmp("eq", said, 0), "inside")
    at = f.call("PyFrame_GetLasti", "i32", frame)
    g.st(code, entry, E["code"])
    g.st(f.conv("sext", at, "i64"), entry, E["place"])
    f.ret(f.imin(said, 0))
    f.label("inside")
    back = f.call("PyFrame_GetBack", "ptr", frame)
    f.bail(g.null(back), "none")
    g.dec(back)                             # it runs, and so it stays
    f.ret(f.call("log_line", "i64", back, entry))
    f.label("none")
    for name in ("code", "place"):
        g.st(f.as_val(0, "i64"), entry, E[name])
    f.ret(f.as_val(0, "i64"))


def _array(m: Module) -> None:
    """log_array(array, out): note the dtype and sizes of an array. Python describes one that is not
    in the host's memory."""
    f = m.fn("log_array", [("ptr", "array"), ("ptr", "out")], "i64", "internal")
    g = Glue(f)
    a, out = f.args
    f.bail(f.cmp("ne", g.type_of(a), address_of(f, "whet_ndarray")), "elsewhere")
    descr = g.ld(a, A["descr"])
    nd = f.imin(f.conv("zext", g.ld(a, A["nd"], "i32"), "i64"), MAX_DIMS)
    put_word(f, out, 0, g.i64(descr))
    put_word(f, out, 1, nd)
    dims = g.ld(a, A["dims"])
    f.loop(0, nd, 1, lambda d: put_word(f, out, d + 2, word_at(f, dims, d)))
    f.ret(f.call("log_seen", "i64", descr))
    f.label("elsewhere")
    log = g.ctx("log")
    f.bail(g.null(log), "over")
    number = f.call("log_asked", "i64", g.ld(log, LOG["describe"]), a)
    put_word(f, out, 0, number)
    put_word(f, out, 1, f.as_val(ELSEWHERE, "i64"))
    f.ret(number)
    f.label("over")
    f.ret(f.as_val(0, "i64"))


def _operand(m: Module) -> None:
    """log_operand(operand, out): note an array's dtype and sizes, or the type of a number."""
    f = m.fn("log_operand", [("ptr", "o"), ("ptr", "out")], "i64", "internal")
    g = Glue(f)
    o, out = f.args
    t = g.type_of(o)
    is_tensor = g.same(t, g.ctx("tensor")) | g.same(t, g.ctx("parameter"))
    f.bail(f.binary("xor", is_tensor, 1), "number")
    f.ret(f.call("log_array", "i64", g.ld(o, T["array"]), out))
    f.label("number")
    put_word(f, out, 0, g.i64(t))
    put_word(f, out, 1, f.as_val(NO_ARRAY, "i64"))
    f.ret(f.call("log_seen", "i64", t))


def _operands(m: Module) -> None:
    """log_operands(objects, n, out): note each of n operands or results."""
    f = m.fn("log_operands", [("ptr", "objects"), ("i64", "n"), ("ptr", "out")], "i64", "internal")
    objects, n, out = f.args

    def each(i: Val, worst: Val) -> list[Val]:
        place = f.bytes_at(out, i * LOG_ARRAY)
        said = f.call("log_operand", "i64", word_at(f, objects, i, "ptr"), place)
        return [f.imin(worst, said)]
    worst, = f.loop(0, n, 1, each, [f.as_val(0, "i64")])
    f.ret(worst)


def _written_down(m: Module) -> None:
    """log_add(words, bytes): copy an entry to the end of the log. Python makes room for it where
    there is none. Nothing happens between the look at the log and the copy, so entries of several
    threads do not mix."""
    f = m.fn("log_add", [("ptr", "words"), ("i64", "bytes")], "i64", "internal")
    g = Glue(f)
    entry, size = f.args
    log = g.ctx("log")
    f.bail(g.null(log), "done")
    f.bail(f.cmp("ule", g.ld(log, LOG["at"], "i64") + ENTRY_BYTES, g.ld(log, LOG["end"], "i64")),
           "copy")
    f.bail(f.cmp("slt", f.call("log_asked", "i64", g.ld(log, LOG["more"]),
                               address_of(f, "_Py_NoneStruct")), 0), "failed")
    f.ret(f.call("log_add", "i64", entry, size))
    f.label("copy")
    at = g.ld(log, LOG["at"], "i64")
    place = g.ptr(at)
    f.loop(0, f.lshr(size, 3), 1, lambda i: put_word(f, place, i, word_at(f, entry, i)))
    g.st(at + size, log, LOG["at"])
    f.br("done")
    f.label("done")
    f.ret(f.as_val(0, "i64"))
    f.label("failed")
    f.ret(f.as_val(FAILED, "i64"))


def _where(m: Module) -> None:
    """log_where(op, words): note the user's innermost line, or the number of what Python notes of
    all frames."""
    f = m.fn("log_where", [("ptr", "op"), ("ptr", "words")], "i64", "internal")
    g = Glue(f)
    op, entry = f.args
    log = g.ctx("log")
    f.bail(g.null(log), "over")
    everything = g.ld(log, LOG["where"])
    f.bail(g.null(everything), "innermost")
    number = f.call("log_asked", "i64", everything, op)
    g.st(number, entry, E["place"])
    f.ret(number)
    f.label("innermost")
    f.ret(f.call("log_line", "i64", f.call("PyEval_GetFrame", "ptr"), entry))
    f.label("over")
    f.ret(f.as_val(0, "i64"))


def _details(m: Module) -> None:
    """log_details(operands, n, result, words): note the operands and the results of a call, where
    that is wanted. A write has no results."""
    f = m.fn("log_details", [("ptr", "ins"), ("i64", "n"), ("ptr", "r"), ("ptr", "words")], "i64",
             "internal")
    g = Glue(f)
    ins, n, r, entry = f.args
    log = g.ctx("log")
    f.bail(g.null(log), "none")
    f.bail(g.null(g.ld(log, LOG["describe"])), "none")
    arrays, one = f.bytes_at(entry, ENTRY_HEAD), f.alloca("ptr", 1)
    f.store(r, one)
    alone = f.sel(f.cmp("ne", g.ld(entry, E["writer"], "i64"), 0), f.as_val(0, "i64"), 1)
    results, count = f.if_(
        g.same(g.type_of(r), address_of(f, "PyTuple_Type")),
        lambda: [f.bytes_at(r, TUPLE_ITEMS), g.ld(r, LENGTH, "i64")],
        lambda: [f.bytes_at(one, 0), alone])
    g.st(n, entry, E["nin"])
    g.st(count, entry, E["nout"])
    g.st((n + count) * LOG_ARRAY + ENTRY_HEAD, entry, E["bytes"])
    said = f.call("log_operands", "i64", ins, n, arrays)
    f.bail(f.cmp("slt", said, 0), "failed")
    outs = f.bytes_at(arrays, n * LOG_ARRAY)
    f.ret(f.call("log_operands", "i64", results, count, outs))
    f.label("failed")
    f.ret(said)
    f.label("none")
    f.ret(f.as_val(0, "i64"))


def _note(m: Module) -> None:
    """log_note(op, operands, n, writer, result, start, end): an entry for a call."""
    f = m.fn("log_note", [("ptr", "op"), ("ptr", "ins"), ("i64", "n"), ("ptr", "writer"),
                          ("ptr", "r"), ("i64", "start"), ("i64", "end")], "i64", "internal",
             "noinline")
    g = Glue(f)
    op, ins, n, writer, r, start, end = f.args
    entry = f.alloca("i64", ENTRY_BYTES // 8)
    thread, zero = f.call("PyThread_get_thread_ident", "i64"), f.as_val(0, "i64")
    for name, x in dict(bytes=f.as_val(ENTRY_HEAD, "i64"), op=op, writer=writer, start=start,
                        end=end, thread=thread, code=zero, place=zero, nin=zero,
                        nout=zero).items():
        g.st(x, entry, E[name])
    f.bail(f.cmp("slt", f.call("log_seen", "i64", op), 0), "failed")
    named, = f.if_(g.null(writer), lambda: [zero], lambda: [f.call("log_seen", "i64", writer)])
    f.bail(f.cmp("slt", named, 0), "failed")
    f.bail(f.cmp("slt", f.call("log_where", "i64", op, entry), 0), "failed")
    f.bail(f.cmp("slt", f.call("log_details", "i64", ins, n, r, entry), 0), "failed")
    f.ret(f.call("log_add", "i64", entry, g.ld(entry, E["bytes"], "i64")))
    f.label("failed")
    f.ret(f.as_val(FAILED, "i64"))
