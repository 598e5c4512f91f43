"""The kernel of an op's call in machine code, and whether it may write into an operand."""
from __future__ import annotations

from collections.abc import Callable

from ..builder import Val
from . import distribute_units as launching
from .op_layouts import (
    BY_VALUE,
    CONST,
    DATA,
    F32,
    F64,
    GRAD,
    LAUNCH,
    MAX_DIMS,
    NUMBER_WORDS,
    RESULT,
    SCRATCH,
    SLOT,
    TENSOR,
    VERDICT,
    VIEW,
    WRITES,
    A,
    R,
    T,
)
from .op_replay import Replay


class Write:
    """The code of an in-place call: may the result be written straight into the first operand's
    memory?

    This requires that no node has to be recorded, not even for the base of a view. The result must
    have exactly the first operand's layout, and no other operand may share a part of its memory.
    Otherwise Python makes the call. Most recipes were recorded from calls that make something new.
    Their one launch reads each element before it writes there. If a recipe was recorded from an
    in-place call, no other operand may be the first one."""

    def __init__(self, replay: Replay) -> None:
        self.replay, self.call, self.f, self.g = replay, replay.call, replay.f, replay.g

    def check(self) -> None:
        """Check the histories, if this is an in-place call."""
        self.f.if_(self.call.writing, self.histories)

    def check_memory(self) -> None:
        """Check the operands' memory, if this is an in-place call."""
        self.f.if_(self.call.writing, self.conditions)

    def histories(self) -> None:
        """Check that no node has to be recorded. Whatever may fail does so before anything is
        written."""
        c, f, g = self.call, self.f, self.g
        wanted = f.cmp("ne", f.load("i64", c.wants), 0)
        f.bail(f.binary("and", wanted, f.cmp("ne", c.flags & GRAD, 0)), "miss")
        f.bail(f.cmp("ne", c.word(c.kinds, 0), TENSOR), "miss")
        base = g.ld(c.word(c.ins, 0, "ptr"), T["base"])
        f.if_(
            g.absent(base),
            lambda: None,
            lambda: f.bail(f.cmp("ne", g.ld(base, T["rg"], "i64") & c.flags & GRAD, 0), "miss"),
        )
        g.cell_of(c.word(c.ins, 0, "ptr"), "error")

    def conditions(self) -> None:
        """All conditions, one after the other."""
        c, f, g = self.call, self.f, self.g
        f.bail(f.cmp("ne", self.replay.flags & (VIEW | BY_VALUE), 0), "miss")
        f.bail(f.cmp("ne", self.replay.nouts, 1), "miss")
        # a later launch may read what an earlier one wrote
        launches = g.ld(self.replay.recipe, R["launches"], "i64")
        self.in_place = f.cmp("ne", self.replay.flags & WRITES, 0)
        f.bail(f.cmp("ugt", launches, 1) & f.binary("xor", self.in_place, 1), "miss")
        self.fits()
        f.loop(1, c.n, 1, lambda i: f.if_(c.is_tensor(i), lambda: self.is_apart(i)) and None)

    def fits(self) -> None:
        """Does the first operand have the result's dtype, sizes and strides, and is it writable?"""
        c, f, g = self.call, self.f, self.g
        self.array = a = c.word(c.arrays, 0, "ptr")
        wanted = f.conv("zext", f.binary("xor", self.in_place, 1), "i32") | 0x400
        f.bail(f.cmp("ne", g.ld(a, A["flags"], "i32") & wanted, wanted), "miss")
        q = f.bytes_at(self.replay.recipe, R["outs"])
        nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
        f.bail(f.cmp("ne", c.word(q, 0), g.i64(g.ld(a, A["descr"]))), "miss")
        f.bail(f.cmp("ne", c.word(q, 1), nd), "miss")
        dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
        item = f.at(q, 3 + MAX_DIMS, "i64")
        self.low = g.i64(g.ld(a, A["data"]))
        self.widest = g.ld(self.replay.recipe, R["itemsize"], "i64")
        diff, self.size, self.high = f.loop(
            0,
            nd,
            1,
            lambda d, x, s, high: [
                x | (c.word(dims, d) ^ c.word(q, d + 3)) | (c.word(strides, d) ^ c.word(item, d)),
                f.binary("mul", s, c.word(dims, d)),
                high + f.binary("mul", c.word(dims, d) - 1, c.word(strides, d)),
            ],
            [f.as_val(0, "i64"), f.as_val(1, "i64"), self.low + self.widest],
        )
        f.bail(f.cmp("ne", diff, 0), "miss")

    def is_apart(self, i: Val) -> None:
        """Is another operand the first one itself, or does its memory not overlap with it?"""
        c, f, g = self.call, self.f, self.g
        b = c.word(c.arrays, i, "ptr")
        at = g.i64(g.ld(b, A["data"]))
        dims, strides = g.ld(b, A["dims"]), g.ld(b, A["strides"])
        nd = f.conv("zext", g.ld(b, A["nd"], "i32"), "i64")

        def reach(d: Val, count: Val, low: Val, high: Val) -> list[Val]:
            n = c.word(dims, d)
            way = f.binary("mul", n - 1, c.word(strides, d))
            return [f.binary("mul", count, n), low + f.imin(way, 0), high + f.imax(way, 0)]

        count, low, high = f.loop(0, nd, 1, reach, [f.as_val(1, "i64"), at, at + self.widest])
        row_major = f.cmp("ne", g.ld(b, A["flags"], "i32") & 1, 0)
        itself = (
            row_major
            & f.cmp("eq", at, self.low)
            & f.cmp("eq", count, self.size)
            & g.same(g.ld(b, A["descr"]), g.ld(self.array, A["descr"]))
            & f.binary("xor", self.in_place, 1)
        )
        apart = f.cmp("sge", low, self.high) | f.cmp("sle", high, self.low)
        f.bail(f.binary("xor", itself | apart, 1), "miss")


class Launch:
    """The code that fills in the kernels' arguments and runs the kernels."""

    def __init__(self, replay: Replay) -> None:
        self.call, self.f, self.g, self.recipe = replay.call, replay.f, replay.g, replay.recipe

    def emit(self) -> None:
        """Run the launches, if the recipe has any."""
        f = self.f
        self.count = self.g.ld(self.recipe, R["launches"], "i64")
        f.store(f.as_val(0, "i64"), self.call.verdict)
        f.store(Val(f, "null", "ptr"), self.call.room)
        f.if_(f.cmp("ne", self.count, 0), self.all)

    def all(self) -> None:
        """All launches, with their temporary memory."""
        f = self.f
        self.size = self.g.ld(self.recipe, R["scratch"], "i64")
        self.granted = f.alloca("i64", 1)
        needs_room = f.cmp("ne", self.size, 0)
        f.if_(needs_room, self.take)
        f.loop(0, self.count, 1, self.launch, [f.bytes_at(self.recipe, R["slots"])])
        room = f.load("ptr", self.call.room)

        def give() -> None:
            f.call("whet_heap_give", "void", room, self.size, f.load("i64", self.granted))

        f.if_(needs_room, give)

    def launch(self, _i: Val, at: Val) -> list[Val]:
        """One launch, unless an earlier one has refused the data; returns where the next one is."""
        c, f = self.call, self.f
        count = c.word(at, 3)
        slots = f.bytes_at(at, LAUNCH)
        f.loop(0, count, 1, lambda i: self.slot(f.bytes_at(slots, i * SLOT), i))

        def run() -> None:
            launching.emit(f, c.word(at, 0, "ptr"), c.slots, c.word(at, 1), c.word(at, 2),
                           self.release)

        f.if_(f.cmp("eq", f.load("i64", c.verdict), 0), run)
        return [f.bytes_at(slots, count * SLOT)]

    def take(self) -> None:
        """Allocate temporary memory. If that fails, Python makes the call and raises the error."""
        f, c = self.f, self.call
        room = f.call("whet_heap_take", "ptr", self.size, self.granted)
        f.bail(self.g.null(room), "refused")
        f.store(room, c.room)

    def slot(self, q: Val, i: Val) -> None:
        """One word of the arguments: a constant, or an address in this call's memory."""
        c, f = self.call, self.f
        kind, value = c.word(q, 0), c.word(q, 1)
        (v,) = f.if_(f.cmp("eq", kind, CONST), lambda: [value], lambda: self.address(kind, value))
        c.put(c.slots, i, v)

    def address(self, kind: Val, value: Val) -> list[Val]:
        """The address of an operand's memory, a result's, the verdict, scratch or a number."""
        c, f = self.call, self.f
        return f.if_(
            f.cmp("eq", kind, DATA),
            lambda: self.memory(c.arrays, value),
            lambda: f.if_(
                f.cmp("eq", kind, RESULT),
                lambda: self.memory(c.outs, value),
                lambda: self.beside(kind, value),
            ),
        )

    def beside(self, kind: Val, value: Val) -> list[Val]:
        """The address of something that is not a tensor: the verdict, scratch memory, or a
        number."""
        c, f = self.call, self.f
        return f.if_(
            f.cmp("eq", kind, VERDICT),
            lambda: [self.g.i64(c.verdict)],
            lambda: f.if_(
                f.cmp("eq", kind, SCRATCH),
                lambda: [self.g.i64(f.load("ptr", c.room)) + value],
                lambda: self.number(kind, value),
            ),
        )

    def memory(self, arrays: Val, value: Val) -> list[Val]:
        """An address in an array's memory."""
        c = self.call
        which, off = value & 255, value >> 8
        return [self.g.i64(self.g.ld(c.word(arrays, which, "ptr"), A["data"])) + off]

    def number(self, kind: Val, value: Val) -> list[Val]:
        """A number, in the type that the kernel reads. Both parts of a complex number are stored,
        even if the kernel reads only the first."""
        c, f = self.call, self.f
        place = f.at(c.typed, value * NUMBER_WORDS, "i64")
        parts = [
            f.load("double", f.at(c.numbers, value * NUMBER_WORDS + k, "double"))
            for k in range(NUMBER_WORDS)]

        def put(elem: str, x: Val, k: int) -> None:
            f.store(x, f.at(place, k, elem), 4)

        def narrow() -> None:
            for k, x in enumerate(parts):
                put("float", f.conv("fptrunc", x, "float"), k)

        def wide() -> None:
            for k, x in enumerate(parts):
                put("double", x, k)

        f.if_(f.cmp("eq", kind, F32), narrow, lambda: f.if_(
            f.cmp("eq", kind, F64), wide,
            lambda: put("i64", f.conv("fptosi", parts[0], "i64"), 0)) and None)
        return [self.g.i64(place)]

    def release(self, run: Callable[[], None]) -> None:
        """Run without the interpreter's lock."""
        f = self.f
        th = f.call("PyEval_SaveThread", "ptr")
        run()
        f.call("PyEval_RestoreThread", "void", th)
