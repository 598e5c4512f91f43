"""An op's call on a device, in machine code: when its recipe is found, a plan of the device
computes the results (runtime/cuda/recipes.py)."""
from __future__ import annotations

from ..builder import Val
from .object_access import address_of
from .op_layouts import MAX_IN, R
from .op_replay import Replay
from .python_layouts import TUPLE_ITEMS


class Elsewhere:
    """The code that calls a recipe's plan with the arrays and numbers of a call. The plan returns
    an array for one result, a tuple for several, and something else after a write; None if it
    declines."""

    def __init__(self, replay: Replay) -> None:
        self.replay, self.call, self.f, self.g = replay, replay.call, replay.f, replay.g

    def emit(self) -> None:
        """Call the plan and use what it returns as the call's results."""
        c, f, g = self.call, self.f, self.g
        box = f.alloca("i64", MAX_IN)
        f.loop(0, c.n, 1, lambda i: c.put(box, i, self.operand(i)))
        plan = g.ld(self.replay.recipe, R["plan"])
        made = f.call("PyObject_Vectorcall", "ptr", plan, box, c.n, Val(f, "null", "ptr"))
        f.bail(g.null(made), "error")
        undone = g.same(made, address_of(f, "_Py_NoneStruct"))
        f.if_(undone | c.writing, lambda: g.dec(made))
        f.bail(undone, "miss")
        f.if_(c.writing, lambda: None, lambda: self.results(made))

    def operand(self, i: Val) -> Val:
        """The form in which the plan takes an operand."""
        c, f = self.call, self.f
        (found,) = f.if_(c.is_tensor(i), lambda: [c.word(c.arrays, i, "ptr")],
                         lambda: [c.word(c.ins, i, "ptr")])
        return found

    def results(self, made: Val) -> None:
        """One array, or the arrays of a tuple."""
        c, f, g = self.call, self.f, self.g

        def each(i: Val) -> None:
            one = c.word(f.bytes_at(made, TUPLE_ITEMS), i, "ptr")
            g.inc(one)
            c.put(c.outs, i, one)

        def several() -> None:
            f.loop(0, self.replay.nouts, 1, each)
            g.dec(made)
        f.if_(f.cmp("eq", self.replay.nouts, 1), lambda: c.put(c.outs, 0, made), several)
        f.store(self.replay.nouts, c.made)
