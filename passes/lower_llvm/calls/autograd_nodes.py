"""Native entries of tensors, version cells and nodes: how they are freed, and what the autograd
engine asks of a node."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..builder import Val
from .object_access import Glue, address_of
from .op_layouts import NODE_IN, TP_DEALLOC, TP_FREE, C, N, T
from .python_layouts import GC_HEAD

if TYPE_CHECKING:
    from ..builder import Fn, Module


def emit_deallocs(m: Module) -> None:
    tensor = [T[k] for k in ("dict", "array", "node", "grad", "cell", "base", "extra")]
    _dealloc(m, "tensor", tensor, T["weak"])
    _dealloc(m, "cell", [C["writer"], C["aside"]], None)
    _node_dealloc(m)


def _dealloc(m: Module, name: str, owned: list[int], weak: int | None) -> None:
    f = m.fn(f"{name}_dealloc", [("ptr", "o")])
    g = Glue(f)
    o, = f.args
    tp = g.type_of(o)
    if name == "tensor":
        f.call("PyObject_GC_UnTrack", "void", o)
    if weak is not None:
        f.if_(f.cmp("ne", g.ld(o, weak), 0),
              lambda: f.call("PyObject_ClearWeakRefs", "void", o))
    for off in owned:
        g.dec(g.ld(o, off))
    # the interpreter made what is of a Python subclass, and frees it
    if name == "tensor":
        def free_subclass() -> None:
            free = f.call("PyType_GetSlot", "ptr", tp, f.const("i32", TP_FREE))
            f.raw(f"call void {free.ref}(ptr {o.ref})")

        f.if_(f.cmp("eq", tp, g.ctx("tensor")),
              lambda: f.call("PyObject_Free", "void", f.bytes_at(o, -GC_HEAD)), free_subclass)
    else:
        f.call("PyObject_Free", "void", o)
    g.dec(tp)


def _node_dealloc(m: Module) -> None:
    """Free a node. A node that only the dying one holds goes on a list threaded through its `op`
    field, so there is no recursion however long the chain is. Those that were looked at are of
    types of their own, which are freed by this function too."""
    f = m.fn("node_dealloc", [("ptr", "o")])
    g = Glue(f)
    o, = f.args
    head = f.alloca("i64", 1)
    g.dec(g.ld(o, N["op"]))
    g.st(f.as_val(0, "i64"), o, N["op"])
    f.store(o, head)
    f.br("loop")
    f.label("loop")
    cur = f.load("ptr", head)
    f.store(g.ld(cur, N["op"]), head)
    tp = g.type_of(cur)
    f.if_(f.cmp("ne", g.ld(cur, N["weak"]), 0),
          lambda: f.call("PyObject_ClearWeakRefs", "void", cur))
    for name in ("attrs", "pre_hooks", "post_hooks", "trace", "out_array", "out_cell", "outlines",
                 "kept_outputs"):
        g.dec(g.ld(cur, N[name]))
    for i in range(NODE_IN):
        g.dec(g.ld(cur, N["saved"] + 8 * i))
    for i in range(NODE_IN):
        child = g.ld(cur, N["edges"] + 8 * i)

        def maybe(child: Val = child) -> None:
            alone = f.cmp("eq", g.ld(child, 0, "i64"), 1)
            mine, = f.if_(alone, lambda: [_is_native(f, g, g.type_of(child))],
                          lambda: [f.const("i1", 0)])

            def push() -> None:
                g.dec(g.ld(child, N["op"]))
                g.st(f.load("ptr", head), child, N["op"])
                f.store(child, head)
            f.if_(mine, push, lambda: g.dec(child))
        f.if_(f.cmp("ne", child, 0), maybe)
    f.call("PyObject_Free", "void", cur)
    g.dec(tp)
    f.cbr(g.null(f.load("ptr", head)), "done", "loop")
    f.label("done")


def _is_native(f: Fn, g: Glue, tp: Val) -> Val:
    """Is this a type of native nodes?"""
    def by_its_slot() -> list[Val]:
        return [g.same(f.call("PyType_GetSlot", "ptr", tp, f.const("i32", TP_DEALLOC)),
                       address_of(f, "node_dealloc"))]
    known, = f.if_(g.same(tp, g.ctx("node")), lambda: [f.const("i1", 1)], by_its_slot)
    return known


def emit_traverse(m: Module) -> None:
    """tensor_traverse(tensor, visit, arg): the references that the collector sees: a tensor's
    hooks, its attributes, and the node that made it, which may lead back to it. The collector never
    tracks native nodes."""
    f = m.fn("tensor_traverse", [("ptr", "o"), ("ptr", "visit"), ("ptr", "arg")], "i32")
    g = Glue(f)
    o, visit, arg = f.args
    for x in (g.type_of(o), *(g.ld(o, T[name]) for name in ("extra", "dict", "node"))):
        def see(x: Val = x) -> None:
            stop = f.v("i32", f"call i32 {visit.ref}(ptr {x.ref}, ptr {arg.ref})")
            f.bail(f.cmp("ne", stop, 0), "stopped")
        f.if_(f.cmp("ne", x, 0), see)
    f.ret(f.as_val(0, "i32"))
    f.label("stopped")
    f.ret(f.as_val(1, "i32"))


def emit_set_attribute(m: Module) -> None:
    """tensor_setattr(tensor, name, value): as for any object. From then on the collector tracks a
    tensor with hooks or attributes. It also tracks one that a Python node made, as a Function's
    context may hold what the Function returned. Other tensors need no tracking."""
    f = m.fn("tensor_setattr", [("ptr", "o"), ("ptr", "name"), ("ptr", "value")], "i32")
    g = Glue(f)
    o, name, value = f.args
    done = f.call("PyObject_GenericSetAttr", "i32", o, name, value)
    node = g.ld(o, T["node"])
    of_python, = f.if_(g.absent(node), lambda: [f.as_val(0, "i32")],
                       lambda: [f.call("PyObject_IS_GC", "i32", node)])
    may_lead_back = f.binary("or", f.cmp("ne", of_python, 0), f.binary(
        "or", f.cmp("ne", g.ld(o, T["dict"]), 0),
        f.binary("xor", g.absent(g.ld(o, T["extra"])), True)))

    def track() -> None:
        tracked = f.call("PyObject_GC_IsTracked", "i32", o)
        f.if_(f.cmp("eq", tracked, 0), lambda: f.call("PyObject_GC_Track", "void", o))
    f.if_(may_lead_back, track)
    f.ret(done)


def _return_tuple(f: Fn, g: Glue, n: Val, item: Callable[[Val], Val]) -> None:
    """Return a tuple of n items, each with a reference of its own; null with an error set if memory
    is short."""
    t = f.call("PyTuple_New", "ptr", n)
    f.bail(g.null(t), "fail")

    def put(i: Val) -> None:
        x = item(i)
        g.inc(x)
        f.call("PyTuple_SetItem", "i32", t, i, x)
    f.loop(0, n, 1, put)
    f.br("fail")
    f.label("fail")
    f.ret(t)


def _edges(m: Module) -> None:
    """node_edges: the nodes before a node, with None where no gradient flows."""
    f = m.fn("node_edges", [("ptr", "o"), ("ptr", "closure")], "ptr")
    g = Glue(f)
    o, _ = f.args
    def edge(i: Val) -> Val:
        e = f.load("ptr", f.at(f.bytes_at(o, N["edges"]), i, "i64"), 8)
        return f.sel(g.null(e), address_of(f, "_Py_NoneStruct"), e)
    _return_tuple(f, g, g.ld(o, N["nin"], "i64"), edge)


def _saved_inputs(m: Module) -> None:
    """node_saved_inputs(): the saved inputs, if none of them was written since. Otherwise, and
    after a release, the Python method decides."""
    f = m.fn("node_saved_inputs", [("ptr", "o"), ("ptr", "unused")], "ptr")
    g = Glue(f)
    o, _ = f.args
    n = g.ld(o, N["nin"], "i64")
    f.bail(f.cmp("ne", g.ld(o, N["released"], "i64"), 0), "slow")
    tensor_t, parameter_t = g.ctx("tensor"), g.ctx("parameter")

    def current(i: Val) -> None:
        x = f.load("ptr", f.at(f.bytes_at(o, N["saved"]), i, "i64"), 8)
        f.bail(g.null(x), "slow")
        t = g.type_of(x)

        def version() -> None:
            cell = g.ld(x, T["cell"])
            v, = f.if_(g.absent(cell), lambda: [f.as_val(0, "i64")],
                       lambda: [g.ld(cell, C["v"], "i64")])
            f.bail(f.cmp("ne", v, f.load("i64", f.at(f.bytes_at(o, N["versions"]), i, "i64"), 8)),
                   "slow")
        f.if_(f.binary("or", g.same(t, tensor_t), g.same(t, parameter_t)), version)
    f.loop(0, n, 1, current)
    _return_tuple(f, g, n, lambda i: f.load("ptr", f.at(f.bytes_at(o, N["saved"]), i, "i64"), 8))
    f.label("slow")
    box = f.alloca("i64", 1)
    f.store(o, box, 8)
    f.ret(
        f.call("PyObject_Vectorcall", "ptr", g.ctx("stale"), box, f.as_val(1, "i64"),
               Val(f, "null", "ptr")))


def _release(m: Module) -> None:
    """node_release(): drop the saved values. A number that the backward reads counts as freed too:
    it has a version of 1."""
    f = m.fn("node_release", [("ptr", "o"), ("ptr", "unused")], "ptr")
    g = Glue(f)
    o, _ = f.args
    n = g.ld(o, N["nin"], "i64")
    tensor_t, parameter_t = g.ctx("tensor"), g.ctx("parameter")

    def drop(i: Val) -> None:
        at = f.at(f.bytes_at(o, N["saved"]), i, "i64")
        x = f.load("ptr", at, 8)

        def clear() -> None:
            t = g.type_of(x)
            mine = f.binary("or", g.same(t, tensor_t), g.same(t, parameter_t))

            def tensor() -> None:
                g.st(f.as_val(1, "i64"), o, N["released"])
                f.store(Val(f, "null", "ptr"), at, 8)
                g.dec(x)

            def number() -> None:
                read = f.load("i64", f.at(f.bytes_at(o, N["versions"]), i, "i64"), 8)
                f.if_(f.cmp("ne", read, 0), lambda: g.st(f.as_val(1, "i64"), o, N["released"]))
            f.if_(mine, tensor, number)
        f.if_(f.cmp("ne", x, 0), clear)
    f.loop(0, n, 1, drop)
    out = g.ld(o, N["out_cell"])

    def outputs() -> None:
        g.st(f.as_val(1, "i64"), o, N["released"])
        arr = g.ld(o, N["out_array"])
        g.st(Val(f, "null", "ptr"), o, N["out_array"])
        g.st(Val(f, "null", "ptr"), o, N["out_cell"])
        g.dec(arr)
        g.dec(out)
    f.if_(g.absent(out), lambda: [], outputs)
    several = g.ld(o, N["kept_outputs"])

    def all_outputs() -> None:
        g.st(f.as_val(1, "i64"), o, N["released"])
        g.st(Val(f, "null", "ptr"), o, N["kept_outputs"])
        g.dec(several)
    f.if_(g.absent(several), lambda: [], all_outputs)
    f.ret(g.none())


def emit_nodes(m: Module) -> None:
    """What the engine asks of a node at every step, without the interpreter."""
    _edges(m)
    _saved_inputs(m)
    _release(m)
