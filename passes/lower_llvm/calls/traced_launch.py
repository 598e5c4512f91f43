"""Runs the launches of a block whose guards held, in machine code."""
from __future__ import annotations

from ..builder import Val
from .object_access import put_word, word_at
from .op_layouts import A, C, T
from .python_layouts import FLOAT_VALUE
from .traced_attempt import Attempt
from .traced_layouts import APART_WORDS, FLOAT_LEAF, FRESH_WORDS, LEAF, MAX_DIMS, WRITE_WORDS
from .traced_results import load_array


class Launch:
    """The code that runs the program of a block and builds its result."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt, self.f, self.g = attempt, attempt.f, attempt.g

    def emit(self) -> None:
        """Everything from the arrays of results to the result."""
        t, f = self.attempt, self.f
        self.new_arrays()
        self.addresses()
        self.hold_sources()
        self.version_cells()
        self.same_turn()
        self.overlaps()
        self.memory()
        self.run()
        self.stop()
        self.count_writes()
        t.counted()
        r = f.call("build", "ptr", t.block, t.leaves, t.fresh, t.seen)
        self.done()
        f.ret(r)

    def new_arrays(self) -> None:
        """Allocate the results' arrays. Leaves if another thread uses the program's memory."""
        t, f = self.attempt, self.f
        self.busy = t.head("busy", "ptr")
        f.bail(f.cmp("ne", f.load("i64", self.busy), 0), "miss")
        self.rows = t.section("fresh_at")
        self.count, self.held = f.alloca("i64", 1), f.alloca("i64", 1)
        f.store(f.as_val(0, "i64"), self.count)
        f.store(f.as_val(0, "i64"), self.held)
        f.loop(0, t.head("fresh"), 1, self.new_array)

    def new_array(self, i: Val) -> None:
        """One of these arrays, by its row: dtype, dimensions, is it row-major, sizes, strides."""
        f = self.f
        row = f.at(self.rows, f.binary("mul", i, FRESH_WORDS), "i64")
        strides = f.sel(
            f.cmp("ne", word_at(f, row, 2), 0), Val(f, "null", "ptr"),
            f.at(row, 3 + MAX_DIMS, "i64")
        )
        v = f.call(
            "whet_array_new",
            "ptr",
            word_at(f, row, 0, "ptr"),
            word_at(f, row, 1),
            f.at(row, 3, "i64"),
            strides,
        )
        f.bail(self.g.null(v), "lost")
        put_word(f, self.attempt.fresh, i, v)
        f.store(i + 1, self.count)

    def addresses(self) -> None:
        """The base addresses of this call, to which the program's words are relative."""
        self.moving, self.moving_at = self.attempt.head("moving"), self.attempt.section("moving_at")
        self.f.loop(0, self.moving, 1, self.address)

    def address(self, i: Val) -> None:
        """One of them."""
        t, f = self.attempt, self.f
        row = f.at(self.moving_at, i << 1, "i64")
        kind, what = word_at(f, row, 0), word_at(f, row, 1)

        def array() -> list[Val]:
            a = load_array(f, self.g, kind, what, t.leaves, t.fresh)
            return [a, self.g.ld(a, A["data"], "i64")]

        a, data = f.if_(f.cmp("slt", kind, FLOAT_LEAF), array, lambda: self.number(kind, what))
        put_word(f, t.arrays, i, a)
        put_word(f, t.slots, i + 2, data)

    def number(self, kind: Val, what: Val) -> list[Val]:
        """The address of a number; for an int, of its copy."""
        t, f, g = self.attempt, self.f, self.g
        x = word_at(f, t.leaves, what, "ptr")

        def whole() -> list[Val]:
            at = f.at(t.ints, what, "i64")
            f.store(f.call("PyLong_AsLongLong", "i64", x), at)
            return [g.i64(at)]

        return [
            x, *f.if_(f.cmp("eq", kind, FLOAT_LEAF), lambda: [g.i64(f.bytes_at(x, FLOAT_VALUE))],
                      whole), ]

    def hold_sources(self) -> None:
        """Take references to the arrays that views of the result show: others may exchange a
        tensor's array."""
        self.sources = self.attempt.section("sources_at")
        self.f.loop(0, self.attempt.head("sources"), 1, self.hold)

    def hold(self, i: Val) -> None:
        """One of them."""
        t, f = self.attempt, self.f
        row = f.at(self.sources, i << 1, "i64")
        a = load_array(f, self.g, word_at(f, row, 0), word_at(f, row, 1), t.leaves, t.fresh)
        self.g.inc(a)
        put_word(f, t.seen, i, a)
        f.store(i + 1, self.held)

    def written(self, i: Val) -> tuple[Val, Val]:
        """A tensor that the launches write to, and its row."""
        t, f = self.attempt, self.f
        row = f.at(t.section("writes_at"), f.binary("mul", i, WRITE_WORDS), "i64")
        which = word_at(f, row, 1)
        (tensor,) = f.if_(f.cmp("eq", word_at(f, row, 0), LEAF),
                          lambda: [word_at(f, t.leaves, which, "ptr")], lambda: [self.g.ptr(which)])
        return tensor, row

    def version_cells(self) -> None:
        """Give each tensor that is written to its version cell, for which memory may be short."""
        def make(i: Val) -> None:
            self.g.cell_of(self.written(i)[0], "lost")
        self.f.loop(0, self.attempt.head("writes"), 1, make)

    def count_writes(self) -> None:
        """Count the writes in the tensors' versions, and note the writers."""
        f, g = self.f, self.g

        def count(i: Val) -> None:
            tensor, row = self.written(i)
            cell, writer = g.ld(tensor, T["cell"]), word_at(f, row, 2, "ptr")

            def bump() -> None:
                g.st(g.ld(cell, C["v"], "i64") + 1, cell, C["v"])
                old = g.ld(cell, C["writer"])
                g.inc(writer)
                g.st(writer, cell, C["writer"])
                g.dec(old)
            # other code may have taken it away while the launches ran without the lock
            f.if_(g.absent(cell), lambda: None, bump)
        f.loop(0, self.attempt.head("writes"), 1, count)

    def overlaps(self) -> None:
        """Leave if an array that is written to overlaps with another one. No other code runs from
        here on: nothing is exchanged before the launches."""
        t, f = self.attempt, self.f
        rows = t.section("apart_at")

        def address(at: Val) -> Val:
            return word_at(f, t.slots, at + 2)

        def compare(i: Val) -> None:
            row = f.at(rows, f.binary("mul", i, APART_WORDS), "i64")
            distance = address(word_at(f, row, 1)) - address(word_at(f, row, 0))
            f.bail(f.binary("and", f.cmp("sgt", distance, word_at(f, row, 2)),
                            f.cmp("slt", distance, word_at(f, row, 3))), "overtaken")
        f.loop(0, t.head("apart"), 1, compare)

    def same_turn(self) -> None:
        """Check that nothing interfered. Making arrays may run the garbage collector, and so any
        code. Leave if a nested call has resized the block, or if another thread uses the program's
        memory. From here to the launches no other code runs."""
        t, f = self.attempt, self.f
        (now,) = f.if_(t.has_code(), lambda: [t.turn_now()], lambda: [t.turn])
        f.bail(f.cmp("ne", now, t.turn), "overtaken")
        f.bail(f.cmp("ne", f.load("i64", self.busy), 0), "overtaken")

    def memory(self) -> None:
        """The list of launches and the program's memory."""
        t, f = self.attempt, self.f
        put_word(f, t.slots, 0, t.head("list"))
        put_word(f, t.slots, 1, t.head("length"))
        self.program, self.arena = t.head("program", "ptr"), t.head("arena")
        self.granted = f.alloca("i64", 1)

        def take() -> None:
            room = f.call("whet_heap_take", "ptr", self.arena, self.granted)
            f.bail(self.g.null(room), "full")
            f.store(room, f.at(t.slots, self.moving + 2, "i64"))

        f.if_(f.cmp("ne", self.arena, 0), take)

    def run(self) -> None:
        """Run the launches; long lists without the interpreter's lock."""
        t, f = self.attempt, self.f
        t.hold_leaves()
        f.if_(f.cmp("ne", t.head("away"), 0), self.away, self.call)

        def give() -> None:
            f.call(
                "whet_heap_give",
                "void",
                f.load("ptr", f.at(t.slots, self.moving + 2, "i64")),
                self.arena,
                f.load("i64", self.granted),
            )

        f.if_(f.cmp("ne", self.arena, 0), give)

    def call(self) -> None:
        """Run the program on this call's words."""
        self.f.raw(
            f"call void {self.program.ref}(ptr {self.attempt.slots.ref}, i64 0, i64 1, i64 0)"
        )

    def away(self) -> None:
        """Run the program while other Python threads continue; they free nothing that is in use."""
        t, f, g = self.attempt, self.f, self.g
        f.loop(0, self.moving, 1, lambda i: g.inc(word_at(f, t.arrays, i, "ptr")))
        f.store(f.as_val(1, "i64"), self.busy)
        thread = f.call("PyEval_SaveThread", "ptr")
        self.call()
        f.call("PyEval_RestoreThread", "void", thread)
        f.loop(0, self.moving, 1, lambda i: g.dec(word_at(f, t.arrays, i, "ptr")))
        # last, as what a last reference held may run anything: `stop` still looks at this call's
        f.store(f.as_val(0, "i64"), self.busy)

    def stop(self) -> None:
        """Did a check end the list? Then everything is computed, but nothing is written
        anywhere."""
        stopped = self.attempt.head("stopped", "ptr")
        self.f.if_(self.g.null(stopped), lambda: None, lambda: self.look(stopped))

    def look(self, stopped: Val) -> None:
        """The word in which a failed check leaves its mark."""
        t, f = self.attempt, self.f
        word = f.load("ptr", stopped, 8)

        def failed() -> None:
            f.store(f.as_val(0, "i64"), word)
            f.store(f.as_val(0, "i64"), stopped)
            self.let_go_of(t.fresh, self.count)
            self.done()

        f.if_(self.g.null(word), lambda: None, failed)
        f.bail(f.cmp("ne", word, 0), "miss")

    def let_go_of(self, arrays: Val, n: Val) -> None:
        """Release the first n arrays of a list."""
        f = self.f
        f.loop(0, f.load("i64", n), 1, lambda i: self.g.dec(word_at(f, arrays, i, "ptr")))

    def done(self) -> None:
        """Release everything that only this call needed."""
        self.let_go_of(self.attempt.seen, self.held)
        self.attempt.release_leaves()

    def ways_out(self) -> None:
        """The targets if memory is short, or if the block was resized or is in use."""
        f = self.f
        f.label("full")
        f.call("PyErr_NoMemory", "ptr")
        f.br("lost")
        f.label("lost")
        self.let_go_of(self.attempt.fresh, self.count)
        self.let_go_of(self.attempt.seen, self.held)
        f.br("error")
        f.label("overtaken")
        self.let_go_of(self.attempt.fresh, self.count)
        self.let_go_of(self.attempt.seen, self.held)
        f.br("miss")
