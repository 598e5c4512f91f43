"""A call of a traced function, in machine code: compares the guards of its recordings, which are
tables, then runs the launches.

A *block* is such a table, a row of 8-byte words. It has a header (`H`), then slots: places of
Python's state whose object may be any of its kind. Then come rows for the arguments and the slots'
objects, and guards on outside state: words of memory that must be zero or unchanged. *Soft* words
tell whether anything may have changed: version tags of dictionaries, if the interpreter has them,
and gradients that are absent. Only if a soft word differs, the dictionaries themselves are
compared. If all guards hold, the block either runs the program, builds the result and writes the
effects into Python's state, or it calls a Python function with the tensors and numbers. Anything
else is a miss and left to Python. So is a call when a block was used as often as it says (`until`),
so that Python looks at it. A block for many sizes is resized to the objects of the call, once
these are found.
`jit/tables/native_table.py` writes the blocks."""
from __future__ import annotations

from ..builder import Module, Val
from .object_access import Glue, address_of, put_word, word_at
from .op_layouts import MISS, A
from .python_layouts import LENGTH, TUPLE_ITEMS
from .size_machine import emit_resize
from .tensor_views import around
from .traced_entry import emit_enter
from .traced_guards import emit_argument, emit_dict, emit_items, emit_outside
from .traced_index import emit_finger, emit_seek
from .traced_layouts import INDEX, H, J
from .traced_results import emit_build


def source(tags: bool) -> str:
    """The IR text. `tags`: do dicts have versions?"""
    m = Module()
    for name in ("whet_ctx", "whet_jit", "whet_ndarray", "_Py_NoneStruct", "PyFloat_Type",
                 "PyLong_Type", "PyTuple_Type", "PyList_Type", "PyDict_Type", "PyUnicode_Type"):
        m.decls[name] = f"@{name} = external global i8"
    around(m)
    emit_items(m)
    emit_dict(m, tags)
    emit_outside(m, tags)
    emit_argument(m)
    emit_build(m)
    emit_resize(m)
    emit_enter(m)
    emit_finger(m)
    emit_seek(m)
    _entries(m)
    return m.text()


def _entries(m: Module) -> None:
    """The entries that Python calls."""
    _all(m)
    _traced_call(m)
    _traced_enter(m)
    _traced_take(m)
    _traced_get(m)


def _all(m: Module) -> None:
    """all(blocks, args, kwargs, always): the first block whose guards hold, from a tuple (block,
    its owner, ...)"""
    f = m.fn("all", [("ptr", "blocks"), ("ptr", "args"), ("ptr", "kw"), ("i64", "always")], "ptr",
             "internal")
    g = Glue(f)
    blocks, args, kw, always = f.args
    n = g.ld(blocks, LENGTH, "i64")
    items = f.bytes_at(blocks, TUPLE_ITEMS)
    miss = g.ptr(f.as_val(MISS, "i64"))
    g.inc(blocks)

    def one(i: Val, r: Val) -> list[Val]:
        block = g.ld(word_at(f, items, i, "ptr"), A["data"])
        return [
            i + 2, *f.if_(f.cmp("eq", g.ld(block, H["kind"], "i64"),
                                INDEX), lambda: [f.call("seek", "ptr", block, args, kw, always)],
                          lambda: [f.call("enter", "ptr", block, args, kw, always)])]

    _, r = f.while_(lambda i, r: f.binary("and", f.cmp("slt", i, n), g.same(r, miss)), one,
                    [f.as_val(0, "i64"), miss])
    g.dec(blocks)
    f.ret(r)


def _traced_call(m: Module) -> None:
    f = m.fn("traced_call", [("ptr", "self"), ("ptr", "args"), ("ptr", "kw")], "ptr")
    g = Glue(f)
    self, args, kw = f.args
    shared = address_of(f, "whet_jit")
    f.bail(f.cmp("ne", g.ld(shared, J["off"], "i64"), 0), "slow")
    blocks = f.load("ptr", f.bytes_at(self, g.ld(shared, J["ready"], "i64")), 8)
    f.bail(g.absent(blocks), "slow")
    r = f.call("all", "ptr", blocks, args, kw, f.as_val(0, "i64"))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    box = f.alloca("i64", 3)
    f.store(self, box, 8)
    put_word(f, box, 1, args)
    put_word(f, box, 2, f.sel(g.null(kw), address_of(f, "_Py_NoneStruct"), kw))
    f.ret(
        f.call("PyObject_Vectorcall", "ptr", g.ld(shared, J["slow"]), box, f.as_val(3, "i64"),
               Val(f, "null", "ptr")))


def _traced_enter(m: Module) -> None:
    """enter(blocks, args, kwargs): the result, or MISSED, however often the blocks were used"""
    f = m.fn("traced_enter", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    _, argv, _ = f.args
    kw = word_at(f, argv, 2, "ptr")
    kw = f.sel(g.same(kw, address_of(f, "_Py_NoneStruct")), Val(f, "null", "ptr"), kw)
    r = f.call("all", "ptr", word_at(f, argv, 0, "ptr"), word_at(f, argv, 1, "ptr"), kw,
               f.as_val(1, "i64"))

    def missed() -> list[Val]:
        x = g.ld(address_of(f, "whet_jit"), J["missed"])
        g.inc(x)
        return [x]
    r, = f.if_(f.cmp("eq", g.i64(r), MISS), missed, lambda: [r])
    f.ret(r)


def _traced_take(m: Module) -> None:
    """take(address): set a word to 1; was it 0?"""
    f = m.fn("traced_take", [("ptr", "self"), ("ptr", "o")], "ptr")
    word = f.call("PyLong_AsVoidPtr", "ptr", f.args[1])
    free = f.cmp("eq", f.load("i64", word), 0)
    f.store(f.as_val(1, "i64"), word)
    f.ret(f.call("PyBool_FromLong", "ptr", f.conv("zext", free, "i64")))


def _traced_get(m: Module) -> None:
    """Bind a traced function in a class as a method."""
    f = m.fn("traced_get", [("ptr", "self"), ("ptr", "owner"), ("ptr", "cls")], "ptr")
    g = Glue(f)
    self, owner, _ = f.args

    def itself() -> list[Val]:
        g.inc(self)
        return [self]
    r, = f.if_(g.null(owner), itself, lambda: [f.call("PyMethod_New", "ptr", self, owner)])
    f.ret(r)
