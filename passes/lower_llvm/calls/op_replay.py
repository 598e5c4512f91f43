"""Makes the results of an op's call by its recipe, in machine code."""
from __future__ import annotations

from ..builder import Val
from .op_layouts import (
    CAST_PRODUCT,
    CASTS,
    IN_INFERENCE,
    MAX_DIMS,
    NO_BASE,
    OUT,
    UNSAFE,
    VIEW,
    C,
    R,
    T,
)
from .op_operands import Call
from .tensor_views import share_for_use, window


class Replay:
    """The code that makes the results of a call by its recipe and returns them."""
    source: Val                 # the operand that views show, and that is written in place

    def __init__(self, call: Call, recipe: Val) -> None:
        self.call, self.f, self.g, self.recipe = call, call.f, call.g, recipe
        self.flags, self.nouts = (
            self.g.ld(recipe, R["flags"], "i64"),
            self.g.ld(recipe, R["nouts"], "i64"),
        )

    def leave_products_to_casts(self) -> None:
        """Leave for Python under autocast if the op is a product: Python casts its operands."""
        f = self.f
        casts = f.cmp("ne", self.call.flags & CASTS, 0)
        f.bail(casts & f.cmp("ne", self.flags & CAST_PRODUCT, 0), "miss")

    def begin(self) -> None:
        """Begin without results. `is_planned`: a plan of a device makes all of them."""
        self.f.store(self.f.as_val(0, "i64"), self.call.made)
        self.is_planned = self.f.cmp("ne", self.g.ld(self.recipe, R["plan"], "i64"), 0)

    def results(self) -> None:
        """An array for each result: a new one, a view of the first operand's, or the latter
        itself."""
        self.f.loop(0, self.nouts, 1, self.result)

    def result(self, i: Val) -> None:
        """One of these arrays."""
        c, f = self.call, self.f
        q = f.bytes_at(f.bytes_at(self.recipe, R["outs"]), i * OUT)
        descr, nd, plain = c.word(q, 0, "ptr"), c.word(q, 1), c.word(q, 2)
        dims, strides = f.at(q, 3, "i64"), f.at(q, 3 + MAX_DIMS, "i64")

        def view() -> list[Val]:
            return [
                window(
                    f,
                    self.g,
                    c.word(c.arrays, 0, "ptr"),
                    descr,
                    nd,
                    dims,
                    strides,
                    c.word(q, 2),
                    "lost",
                )
            ]

        def fresh() -> list[Val]:
            v = f.call(
                "whet_array_new",
                "ptr",
                descr,
                nd,
                dims,
                f.sel(f.cmp("ne", plain, 0), Val(f, "null", "ptr"), strides),
            )
            f.bail(self.g.null(v), "lost")
            return [v]

        (v,) = f.if_(
            c.writing,
            lambda: [c.word(c.arrays, 0, "ptr")],
            lambda: f.if_(f.cmp("ne", self.flags & VIEW, 0), view, fresh),
        )
        c.put(c.outs, i, v)
        f.store(f.sel(c.writing, 0, i + 1), c.made)

    def find_source(self) -> None:
        """Look up the first operand once, if it is needed to finish the results."""
        self.source = self.call.word(self.call.ins, 0, "ptr")

    def finish_write(self) -> None:
        """Bump the operand's version and note the writer's name in its cell, which `Write` has
        made."""
        c, f, g = self.call, self.f, self.g
        cell = g.ld(self.source, T["cell"])
        g.st(g.ld(cell, C["v"], "i64") + 1, cell, C["v"])
        g.inc(c.writer)
        g.dec(g.ld(cell, C["writer"]))
        g.st(c.writer, cell, C["writer"])
        g.inc(self.source)
        f.ret(self.source)

    def tensors(self) -> None:
        """Wrap tensors around the results, and a tuple around several."""
        c, f = self.call, self.f
        self.view = f.cmp("ne", self.flags & VIEW, 0)
        f.loop(0, self.nouts, 1, self.wrap)
        self.single = f.cmp("eq", self.nouts, 1)
        (self.answer,) = f.if_(self.single, lambda: [c.word(c.outs, 0, "ptr")], self.several)

    def wrap(self, i: Val) -> None:
        """A tensor around a result."""
        c, f, g = self.call, self.f, self.g
        t = g.new_tensor(c.word(c.outs, i, "ptr"), "lost")
        c.put(c.outs, i, t)

        def made() -> None:
            g.st(c.flags & IN_INFERENCE, t, T["rg"])
        f.if_(
            self.view,
            lambda: share_for_use(
                f,
                g,
                self.source,
                t,
                "lost",
                c.flags,
                f.cmp("ne", self.flags & UNSAFE, 0),
                f.cmp("eq", self.flags & NO_BASE, 0),
            ),
            made,
        )

    def several(self) -> list[Val]:
        """The tuple of the results."""
        c, f = self.call, self.f
        t = f.call("PyTuple_New", "ptr", self.nouts)
        f.bail(self.g.null(t), "lost")
        f.loop(
            0,
            self.nouts,
            1,
            lambda i: f.call("PyTuple_SetItem", "i32", t, i, c.word(c.outs, i, "ptr")) and None,
        )
        return [t]

    def let_go(self) -> None:
        """Release the results that were made so far."""
        c, f = self.call, self.f
        f.loop(0, f.load("i64", c.made), 1, lambda i: self.g.dec(c.word(c.outs, i, "ptr")))

    def ways_out(self) -> None:
        """The targets for which the phases leave: an error, or a miss."""
        f = self.f
        f.br("done")
        f.label("done")
        f.ret(self.answer)
        f.label("unwind")
        self.g.dec(self.answer)
        f.br("error")
        f.label("refused")
        self.let_go()
        f.br("miss")
        f.label("lost")  # no memory
        self.let_go()
        f.br("error")
        f.label("unset")
        f.call("PyErr_Clear", "void")
        f.br("miss")
        self.g.leave_by_miss_or_error()
