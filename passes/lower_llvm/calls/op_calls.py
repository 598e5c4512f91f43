"""The native entries: how `a + b`, `x.exp()` and every other op call runs without the interpreter
where the same call ran before.

A *recipe* is what is left of an op's call once operand types, shapes, strides and attributes are
known: a kernel, its arguments and the results' layout (or, for a view, an offset and a layout). The
Python side records a recipe the first time (runtime/cpu/repeated_calls.py); `core` here looks it up
by operation and operands, makes the results, runs the kernel and records the autograd node.
Whatever it does not know is a miss, and a miss is an ordinary call of the Python path, which raises
all errors.

Layouts are in 8-byte words unless said otherwise. CTX is one block of memory shared with the Python
side.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import Module, Val
from .autograd_nodes import emit_deallocs, emit_nodes, emit_set_attribute, emit_traverse
from .call_keys import key_of_call
from .object_access import Glue, address_of, thread_number
from .op_layouts import CTX, DESC, MISS, SLOTS, THUNKS, UNARY
from .op_recipes import emit_core, emit_record
from .python_layouts import LENGTH, TUPLE_ITEMS
from .size_machine import emit_resize_recipe
from .tensor_views import around, emit_views

if TYPE_CHECKING:
    from ..builder import Fn


def _apply(m: Module) -> None:
    """apply(op, inputs, attrs): any op."""
    f = m.fn("apply", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    _, argv, count = f.args
    f.bail(f.cmp("ne", count, 3), "slow")
    op, ins, attrs = (f.load("ptr", f.at(argv, i, "i64"), 8) for i in range(3))
    f.bail(f.cmp("ne", g.type_of(ins), address_of(f, "PyTuple_Type")), "slow")
    r = f.call("core", "ptr", op, f.bytes_at(ins, TUPLE_ITEMS), g.ld(ins, LENGTH, "i64"),
               one_empty(g, attrs), Val(f, "null", "ptr"))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ctx("slow"), argv, count, Val(f, "null", "ptr")))


def one_empty(g: Glue, attrs: Val) -> Val:
    """The attributes; if there are none, the one empty dictionary that recipes have for that."""
    f = g.f
    empty = f.cmp("eq", f.call("PyDict_Size", "i64", attrs), 0)
    return f.sel(empty, g.ctx("empty"), attrs)


def _write(m: Module) -> None:
    """write(op, inputs, attrs, writer): an op in place of its first operand, which is returned;
    None if Python has to run it."""
    f = m.fn("write", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    op, ins, attrs, writer = (f.load("ptr", f.at(f.args[1], i, "i64"), 8) for i in range(4))
    r = f.call("core", "ptr", op, f.bytes_at(ins, TUPLE_ITEMS), g.ld(ins, LENGTH, "i64"),
               one_empty(g, attrs), writer)
    f.bail(f.cmp("eq", g.i64(r), MISS), "missed")
    f.ret(r)
    f.label("missed")
    none = address_of(f, "_Py_NoneStruct")
    g.inc(none)
    f.ret(none)


def _resized(m: Module) -> None:
    """resized(address, *arrays, size): compute the words of a recipe for many sizes from these.
    Returns whether that was possible. There are always MAX_IN arrays; other objects fill the
    rest."""
    f = m.fn("resized", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    _, argv, _ = f.args
    recipe = Glue(f).ptr(f.call("PyLong_AsLongLong", "i64", f.load("ptr", argv, 8)))
    fits = f.call("resize", "i64", recipe, f.at(argv, 1, "i64"))
    f.ret(f.call("PyBool_FromLong", "ptr", fits))


def _by_descriptor(m: Module) -> None:
    """by_descriptor(number, argv, count, kwnames): a descriptor's op on `count` positional
    operands."""
    f = m.fn("by_descriptor", [("i64", "k"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")],
             "ptr",
             "internal")
    g = Glue(f)
    k, argv, count, kw = f.args
    d = f.bytes_at(f.bytes_at(address_of(f, "whet_ctx"), CTX["desc"]), k * DESC["size"])
    f.bail(f.cmp("ne", kw, 0), "slow")
    f.bail(f.cmp("ne", count, g.ld(d, DESC["count"], "i64")), "slow")
    r = f.call("core", "ptr", g.ld(d, DESC["op"]), argv, count, g.ld(d, DESC["attrs"]),
               g.ld(d, DESC["writer"]))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    f.ret(f.call("PyObject_Vectorcall", "ptr", g.ld(d, DESC["slow"]), argv, count, kw))


def _binary(m: Module) -> None:
    """binary(number, a, b): a slot of two operands, one of which is a tensor."""
    f = m.fn("binary", [("i64", "k"), ("ptr", "a"), ("ptr", "b")], "ptr", "internal")
    g = Glue(f)
    k, a, b = f.args
    box = f.alloca("i64", 2)
    f.store(a, box, 8)
    f.store(b, f.at(box, 1, "i64"), 8)
    d = f.bytes_at(f.bytes_at(address_of(f, "whet_ctx"), CTX["desc"]), k * DESC["size"])
    r = f.call("core", "ptr", g.ld(d, DESC["op"]), box, f.as_val(2, "i64"), g.ld(d, DESC["attrs"]),
               Val(f, "null", "ptr"))
    f.bail(f.cmp("eq", g.i64(r), MISS), "slow")
    f.ret(r)
    f.label("slow")
    left = f.call("PyType_IsSubtype", "i32", g.type_of(a), g.ctx("tensor"))

    def direct() -> list[Val]:
        return [
            f.call("PyObject_Vectorcall", "ptr", g.ld(d, DESC["slow"]), box, f.as_val(2, "i64"),
                   Val(f, "null", "ptr"))]

    def swapped() -> list[Val]:
        f.store(b, box, 8)
        f.store(a, f.at(box, 1, "i64"), 8)
        return [
            f.call("PyObject_Vectorcall", "ptr", g.ld(d, DESC["reflected"]), box,
                   f.as_val(2, "i64"), Val(f, "null", "ptr"))]
    r, = f.if_(f.cmp("ne", left, 0), direct, swapped)
    f.ret(r)


def _slots(m: Module) -> None:
    """nb_add and the others: slots by the numbers of their descriptors."""
    for name in SLOTS:
        k = SLOTS.index(name)
        if name in UNARY:
            f = m.fn(f"nb_{name}", [("ptr", "a")], "ptr")
            box = f.alloca("i64", 1)
            f.store(f.args[0], box, 8)
            f.ret(
                f.call("by_descriptor", "ptr", f.as_val(k, "i64"), box, f.as_val(1, "i64"),
                       Val(f, "null", "ptr")))
        else:
            f = m.fn(f"nb_{name}", [("ptr", "a"), ("ptr", "b")], "ptr")
            f.ret(f.call("binary", "ptr", f.as_val(k, "i64"), *f.args))


def _methods(m: Module) -> None:
    """method(number, self, argv, count, kwnames): a descriptor's op on `self` and the other
    operands.

    Each method has a function of its own, which knows its number."""
    f = m.fn("method", [("i64", "k"), ("ptr", "self"), ("ptr", "argv"), ("i64", "count"),
                        ("ptr", "kw")],
             "ptr",
             "internal")
    k, self, argv, count, kw = f.args
    names, = f.if_(f.cmp("ne", kw, 0), lambda: [f.call("PyTuple_Size", "i64", kw)],
                   lambda: [f.as_val(0, "i64")])
    box = f.alloca("i64", 65)
    f.bail(f.cmp("sgt", names + count, 64), "many")
    f.store(self, box, 8)
    f.loop(0,
           names + count,
           1, lambda i: f.store(f.load("ptr", f.at(argv, i, "i64"), 8), f.at(box, i + 1, "i64"), 8))
    f.ret(f.call("by_descriptor", "ptr", k, box, count + 1, kw))
    f.label("many")
    e = f.load("ptr", address_of(f, "PyExc_TypeError"))
    f.call("PyErr_SetString", "void", e, Val(f, "@too_many", "ptr"))
    f.ret(Val(f, "null", "ptr"))
    for i in range(THUNKS):
        f = m.fn(f"method{i}", [("ptr", "self"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")],
                 "ptr")
        f.ret(f.call("method", "ptr", f.as_val(i, "i64"), *f.args))


def _function(m: Module) -> None:
    """function(self, ...): a function's `self` is its descriptor's number."""
    f = m.fn("function", [("ptr", "self"), ("ptr", "argv"), ("i64", "count"), ("ptr", "kw")], "ptr")
    f.ret(f.call("by_descriptor", "ptr", f.call("PyLong_AsSsize_t", "i64", f.args[0]), *f.args[1:]))


def _state(m: Module) -> None:
    """next_number(): the number of the next node. set_flags(flags): set the modes of the calling
    thread; returns them."""
    f = m.fn("next_number", [("ptr", "self"), ("ptr", "none")], "ptr")
    g = Glue(f)
    seq = g.ctx("seq", "i64")
    g.st(seq + 1, address_of(f, "whet_ctx"), CTX["seq"])
    f.ret(f.call("PyLong_FromLongLong", "ptr", seq))

    f = m.fn("set_flags", [("ptr", "self"), ("ptr", "flags")], "ptr")
    g = Glue(f)
    v = f.call("PyLong_AsLongLong", "i64", f.args[1])
    g.st(v, address_of(f, "whet_ctx"), CTX["flags"])
    g.st(thread_number(f), address_of(f, "whet_ctx"), CTX["thread"])
    g.inc(f.args[1])
    f.ret(f.args[1])


def _wrap(m: Module) -> None:
    """wrap(array): a leaf tensor; anything that is not an array is converted first."""
    f = m.fn("wrap", [("ptr", "self"), ("ptr", "a")], "ptr")
    g = Glue(f)
    a = f.args[1]
    f.bail(f.cmp("ne", g.type_of(a), address_of(f, "whet_ndarray")), "convert")
    g.inc(a)
    f.br("make")
    f.label("convert")
    box = f.alloca("i64", 1)
    f.store(a, box, 8)
    made = f.call("PyObject_Vectorcall", "ptr", g.ctx("asarray"), box,
                  f.as_val(1, "i64"), Val(f, "null", "ptr"))
    f.bail(g.null(made), "error")
    end = f.block
    f.br("make")
    f.label("make")
    arr = f.v("ptr", f"phi ptr [{a.ref}, %ok{_before(f)}], [{made.ref}, %{end}]")
    f.ret(f.call("around", "ptr", arr))
    f.label("error")
    f.ret(Val(f, "null", "ptr"))


def _entries(m: Module) -> None:
    """The entries that Python calls."""
    _apply(m)
    _write(m)
    _resized(m)
    _by_descriptor(m)
    _binary(m)
    _slots(m)
    _methods(m)
    _function(m)
    _state(m)
    _wrap(m)


def _before(f: Fn) -> str:
    """The number of the first `ok` block of this function."""
    return next(line[2:-1] for line in f.lines if line.startswith("ok"))


def source() -> str:
    """The IR text of the entries."""
    m = Module()
    for name in (("whet_ctx", "whet_ndarray", "_Py_NoneStruct", "PyFloat_Type", "PyLong_Type",
                  "PyComplex_Type", "PyTuple_Type", "PyList_Type", "PySlice_Type",
                  "_Py_EllipsisObject")):
        m.decls[name] = f"@{name} = external global i8"
    m.decls["PyExc_TypeError"] = "@PyExc_TypeError = external global ptr"
    m.tables["too_many"] = '@too_many = internal constant [19 x i8] c"too many arguments\\00"'
    around(m)
    emit_deallocs(m)
    emit_traverse(m)
    emit_set_attribute(m)
    emit_record(m)
    emit_resize_recipe(m)
    emit_core(m)
    emit_nodes(m)
    emit_views(m)
    _entries(m)
    key_of_call(m)
    return m.text()
