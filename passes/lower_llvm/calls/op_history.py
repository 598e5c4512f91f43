"""The autograd node of a result in machine code."""
from __future__ import annotations

from ..builder import Val
from .object_access import address_of
from .op_layouts import (
    CTX,
    DIFF,
    GRAD,
    NODE_IN,
    READERS,
    REQUIRES_GRAD,
    SAVES_OUT,
    C,
    N,
    R,
    T,
)
from .op_replay import Replay


class History:
    """Code that records the autograd node of a result."""

    def __init__(self, replay: Replay) -> None:
        self.replay, self.call, self.f, self.g = replay, replay.call, replay.f, replay.g

    def emit(self) -> None:
        """Record a node if a gradient is wanted: here for few inputs, else in Python."""
        c, f, flags = self.call, self.f, self.replay.flags
        grads = f.binary(
            "and",
            f.cmp("ne", f.load("i64", c.wants), 0),
            f.cmp("eq", (c.flags & GRAD) & (flags & DIFF), 1),
        )
        f.bail(f.binary("xor", grads, 1), "done")
        f.if_(f.cmp("sle", c.n, NODE_IN), self.node, self.by_python)

    def by_python(self) -> None:
        """Let Python make the node."""
        c, f, g = self.call, self.f, self.g
        args = f.call("PyTuple_New", "ptr", c.n)
        f.bail(g.null(args), "unwind")

        def give(i: Val) -> None:
            o = c.word(c.ins, i, "ptr")
            g.inc(o)
            f.call("PyTuple_SetItem", "i32", args, i, o)

        f.loop(0, c.n, 1, give)
        a = f.call("whet_record", "ptr", c.op, args, c.attrs, self.replay.answer)
        g.dec(args)
        f.bail(g.null(a), "unwind")
        g.dec(a)

    def node(self) -> None:
        """Make the node, with its op, its number, its inputs and the values that its backward
        reads."""
        c, f, g = self.call, self.f, self.g
        self.made = node = g.new("node", "unwind")
        self.first = c.word(c.outs, 0, "ptr")
        g.st(node, self.first, T["node"])  # from here on the tensor lets go of it
        g.inc(c.op)
        g.st(c.op, node, N["op"])
        g.inc(c.attrs)
        g.st(c.attrs, node, N["attrs"])
        seq = g.ctx("seq", "i64")
        g.st(seq, node, N["seq"])
        g.st(seq + 1, address_of(f, "whet_ctx"), CTX["seq"])
        g.st(c.n, node, N["nin"])
        g.st(self.replay.nouts, node, N["nout"])
        self.readers = g.ld(self.replay.recipe, R["readers"], "i64")
        f.loop(0, c.n, 1, self.input)
        f.if_(self.replay.single, self.one_result, self.several_results)

    def one_result(self) -> None:
        """Make the node that of the only result."""
        f, g, t = self.f, self.g, self.first
        f.if_(f.cmp("ne", self.replay.flags & SAVES_OUT, 0), self.output)
        g.st(g.ld(t, T["rg"], "i64") | REQUIRES_GRAD, t, T["rg"])

    def several_results(self) -> None:
        """For several results, Python makes the edges, and notes the layouts in the node."""
        f, g = self.f, self.g
        box = f.alloca("i64", 2)
        f.store(self.made, box, 8)
        f.store(self.replay.answer, f.at(box, 1, "i64"), 8)
        a = f.call("PyObject_Vectorcall", "ptr", g.ctx("several"), box, f.as_val(2, "i64"),
                   Val(f, "null", "ptr"))
        f.bail(g.null(a), "unwind")
        g.dec(a)

    def input(self, i: Val) -> None:
        """What the node keeps of an input."""
        c, f, g = self.call, self.f, self.g
        o = c.word(c.ins, i, "ptr")

        def number() -> list[Val]:
            g.inc(o)
            c.put(f.bytes_at(self.made, N["versions"]), i, f.conv("zext", self.is_read(i), "i64"))
            return [o]

        (kept,) = f.if_(c.is_tensor(i), lambda: [self.tensor(i, o)], number)
        c.put(f.bytes_at(self.made, N["saved"]), i, kept)

    def tensor(self, i: Val, o: Val) -> Val:
        """The edge to a tensor's node. Returns a new reference to the tensor, or to its meta if no
        backward reads it."""
        c, f, g = self.call, self.f, self.g

        def edge() -> None:
            made = g.ld(o, T["node"])
            e = f.sel(g.absent(made), o, made)
            g.inc(e)
            c.put(f.bytes_at(self.made, N["edges"]), i, e)

        f.if_(f.cmp("ne", g.ld(o, T["rg"], "i64") & REQUIRES_GRAD, 0), edge)

        def keep() -> list[Val]:
            cell = g.ld(o, T["cell"])
            (v,) = f.if_(
                g.absent(cell), lambda: [f.as_val(0, "i64")], lambda: [g.ld(cell, C["v"], "i64")]
            )
            c.put(f.bytes_at(self.made, N["versions"]), i, v)
            return f.if_(g.absent(g.ld(o, T["base"])), itself, lambda: [self.without_base(o)])

        def itself() -> list[Val]:
            g.inc(o)
            return [o]

        def meta() -> list[Val]:
            m = c.word(f.bytes_at(self.replay.recipe, R["metas"]), i, "ptr")

            def known() -> list[Val]:
                g.inc(m)
                return [m]
            return f.if_(g.null(m), lambda: [self.asked_meta(o)], known)

        return f.if_(self.is_read(i), keep, meta)[0]

    def asked_meta(self, o: Val) -> Val:
        """The meta of a tensor, made by Python, because the recipe is for many sizes."""
        f, g = self.f, self.g
        box = f.alloca("i64", 1)
        f.store(o, box, 8)
        m = f.call("PyObject_Vectorcall", "ptr", g.ctx("shape"), box, f.as_val(1, "i64"),
                   Val(f, "null", "ptr"))
        f.bail(g.null(m), "unwind")
        return m

    def is_read(self, i: Val) -> Val:
        """Does any of the wanted gradients read this input?"""
        f = self.f
        readers = f.lshr(self.readers, f.binary("mul", i, READERS)) & f.load("i64", self.call.wants)
        return f.cmp("ne", readers & ((1 << READERS) - 1), 0)

    def without_base(self, o: Val) -> Val:
        """What is saved in place of a view: see `autograd/node.py`. Gradients end at a leaf."""
        f, g = self.f, self.g
        rg, made = g.ld(o, T["rg"], "i64") & REQUIRES_GRAD, g.ld(o, T["node"])

        def leaf() -> list[Val]:
            g.inc(o)
            return [o]

        def other() -> list[Val]:
            shared = dict(array=g.ld(o, T["array"]), cell=g.cell_of(o, "unwind"), node=made)
            t = g.new("tensor", "unwind")
            for name, x in shared.items():
                g.inc(x)
                g.st(x, t, T[name])
            g.st(rg, t, T["rg"])
            return [t]

        return f.if_(f.cmp("ne", rg, 0) & g.absent(made), leaf, other)[0]

    def output(self) -> None:
        """Save the result's array and version, which the backward reads."""
        g, node, t = self.g, self.made, self.first
        cell = g.cell_of(t, "unwind")
        g.inc(cell)
        g.st(cell, node, N["out_cell"])
        g.st(g.ld(cell, C["v"], "i64"), node, N["out_version"])
        arr = g.ld(t, T["array"])
        g.inc(arr)
        g.st(arr, node, N["out_array"])
