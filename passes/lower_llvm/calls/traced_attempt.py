"""Tries a block on a call, in machine code: compares everything that the block guards.

It also handles blocks without launches."""
from __future__ import annotations

from ..builder import Fn, Val
from .object_access import Glue, address_of, put_word, word_at
from .op_layouts import MISS, A, T
from .python_layouts import LENGTH, LIST_ITEMS, TUPLE_ITEMS
from .traced_layouts import (
    CODE,
    EAGER,
    ENTRY,
    ITEM,
    LAUNCH,
    MAX_FRESH,
    MAX_LEAVES,
    MAX_MOVING,
    MAX_OBJECTS,
    H,
    J,
)


class Attempt:
    """One block, tried on one call.

    `objects` are compared by its rows; `leaves` are the tensors and numbers among them. `fresh` are
    the arrays of results, `seen` the arrays that views of the result show. `arrays` and `slots` are
    passed to the launches; `ints` are copies of integers."""

    def __init__(self, f: Fn) -> None:
        self.f, self.g = f, Glue(f)
        self.block, self.args, self.kw, self.always = f.args
        self.objects, self.leaves, self.fresh, self.seen = (
            f.alloca("i64", n) for n in (MAX_OBJECTS, MAX_LEAVES, MAX_FRESH, MAX_FRESH)
        )
        self.arrays, self.slots = f.alloca("i64", MAX_MOVING), f.alloca("i64", MAX_MOVING + 3)
        self.ints = f.alloca("i64", MAX_LEAVES)

    def head(self, name: str, ty: str = "i64") -> Val:
        """A word of the block's header."""
        return self.g.ld(self.block, H[name], ty)

    def section(self, name: str) -> Val:
        """The address of a section of the block."""
        return self.f.bytes_at(self.block, self.head(name))

    def conditions(self) -> None:
        """Check everything that does not depend on the arguments: how often the block was used, the
        number of arguments, the modes, and questions to Python. No reference is borrowed before
        that."""
        f, g = self.f, self.g
        self.nargs = g.ld(self.args, LENGTH, "i64")
        used = f.cmp("sge", self.head("count"), self.head("until"))
        f.bail(f.binary("and", used, f.cmp("eq", self.always, 0)), "miss")
        f.bail(f.cmp("eq", self.head("kind"), EAGER), "eager")
        f.bail(f.cmp("ne", self.nargs, self.head("nargs")), "miss")
        (names,) = f.if_(
            g.null(self.kw),
            lambda: [f.as_val(0, "i64")],
            lambda: [f.call("PyDict_Size", "i64", self.kw)],
        )
        f.bail(f.cmp("ne", names, self.head("names")), "miss")
        f.bail(f.cmp("ne", g.modes("error"), self.head("flags")), "miss")
        check = self.head("check", "ptr")

        def ask() -> None:
            r = self.asked(check)
            g.dec(r)
            f.bail(g.same(r, address_of(f, "_Py_NoneStruct")), "miss")

        f.if_(f.cmp("ne", check, 0), ask)

    def resize(self) -> None:
        """Resize a block for many sizes to the objects of the call."""
        f = self.f

        def resized() -> list[Val]:
            fits = f.call("resize", "i64", self.block, self.objects)
            f.bail(f.cmp("eq", fits, 0), "miss")
            return [self.turn_now()]

        (self.turn,) = f.if_(self.has_code(), resized, lambda: [f.as_val(0, "i64")])

    def has_code(self) -> Val:
        """Is it a block for many sizes?"""
        return self.f.cmp("ne", self.head("code"), 0)

    def turn_now(self) -> Val:
        """How often such a block was resized."""
        return self.g.ld(self.head("code", "ptr"), CODE["turn"], "i64")

    def asked(self, what: Val) -> Val:
        """The answer of a Python function without arguments."""
        r = self.f.call("PyObject_CallNoArgs", "ptr", what)
        self.f.bail(self.g.null(r), "error")
        return r

    def arguments(self) -> None:
        """Compare the arguments, the objects in slots, and outside state; the same tensor twice is
        a miss. Containers are opened first: sizes may be those of tensors in them. Continues if the
        block has launches."""
        f = self.f
        f.loop(
            0,
            self.nargs,
            1,
            lambda i: put_word(
                f, self.objects, i, word_at(f, f.bytes_at(self.args, TUPLE_ITEMS), i)),
        )
        put_word(f, self.objects, self.nargs, self.kw)
        self.slots_at = self.section("slots_at")
        f.loop(0, self.head("slots"), 1, self.slot)
        f.loop(0, self.head("opening"), 1, self.argument, [self.section("opening_at")])
        self.resize()
        f.loop(0, self.head("rows"), 1, self.argument, [self.section("rows_at")])
        n = self.head("leaves")
        self.every = n + self.head("numbers")
        (same,) = f.loop(1, n, 1, self.twice, [f.as_val(0, "i1")])
        f.bail(same, "miss")
        f.bail(f.cmp("eq", f.call("outside", "i64", self.block), 0), "miss")
        f.bail(f.cmp("ne", self.head("kind"), LAUNCH), "python")

    def slot(self, i: Val) -> None:
        """Load the object in a slot. Its row: kind, container, place in it, the number of the
        object."""
        f = self.f
        row = f.at(self.slots_at, i << 2, "i64")
        kind, where, what = word_at(f, row, 0), word_at(f, row, 1, "ptr"), word_at(f, row, 2, "ptr")
        (x,) = f.if_(
            f.cmp("eq", kind, ENTRY),
            lambda: self.entry(where, what),
            lambda: f.if_(
                f.cmp("eq", kind, ITEM),
                lambda: self.item(where, what),
                lambda: [f.load("ptr", where, 8)],
            ),
        )
        f.bail(self.g.null(x), "miss")
        put_word(f, self.objects, word_at(f, row, 3), x)

    def entry(self, where: Val, key: Val) -> list[Val]:
        """A value of a dictionary."""
        x = self.f.call("PyDict_GetItemWithError", "ptr", where, key)
        self.f.bail(self.g.null(x), "other")
        return [x]

    def item(self, where: Val, index: Val) -> list[Val]:
        """An element of a list."""
        f, g = self.f, self.g
        f.bail(f.cmp("sge", g.i64(index), g.ld(where, LENGTH, "i64")), "miss")
        return [word_at(f, g.ld(where, LIST_ITEMS), g.i64(index), "ptr")]

    def argument(self, i: Val, row: Val) -> list[Val]:
        """Compare one row; returns the next."""
        f = self.f
        f.bail(
            f.cmp("eq", f.call("argument", "i64", self.block, row, self.objects, self.leaves), 0),
            "miss",
        )
        return [f.at(row, word_at(f, row, 2), "i64")]

    def twice(self, i: Val, same: Val) -> list[Val]:
        """Is this tensor one of the earlier ones?"""
        f = self.f
        one = word_at(f, self.leaves, i)
        return f.loop(
            0,
            i,
            1,
            lambda k, same: [f.binary("or", same, f.cmp("eq", one, word_at(f, self.leaves, k)))],
            [same],
        )

    def hold_leaves(self) -> None:
        """Take references to the tensors and numbers: making a result may run the garbage
        collector, and so any code."""
        self.f.loop(0, self.every, 1, lambda i: self.g.inc(word_at(self.f, self.leaves, i, "ptr")))

    def release_leaves(self) -> None:
        """Release these references."""
        self.f.loop(0, self.every, 1, lambda i: self.g.dec(word_at(self.f, self.leaves, i, "ptr")))

    def counted(self) -> None:
        """Count one more use of the block."""
        self.g.st(self.head("count") + 1, self.block, H["count"])

    def by_python(self) -> None:
        """A block that passes its tensors and numbers to a Python function."""
        f, g = self.f, self.g
        f.label("python")
        self.hold_leaves()
        r = f.call(
            "PyObject_Vectorcall",
            "ptr",
            self.head("finish", "ptr"),
            self.leaves,
            self.every,
            Val(f, "null", "ptr"),
        )
        self.release_leaves()
        f.bail(g.null(r), "error")
        missed = g.same(r, g.ld(address_of(f, "whet_jit"), J["missed"]))

        def forget() -> list[Val]:
            g.dec(r)
            return [g.ptr(f.as_val(MISS, "i64"))]

        def keep() -> list[Val]:
            self.counted()
            return [r]

        f.ret(f.if_(missed, forget, keep)[0])

    def eagerly(self) -> None:
        """A block which says that eager is faster: always, or for a first argument of one size, or,
        on a device, of one layout."""
        f, g = self.f, self.g
        f.label("eager")
        f.bail(f.cmp("eq", self.head("type"), 0), "simply")
        f.bail(f.cmp("slt", self.nargs, 1), "miss")
        first = g.ld(self.args, TUPLE_ITEMS)
        f.bail(f.cmp("ne", g.type_of(first), self.head("type", "ptr")), "miss")
        (a,) = f.if_(
            g.same(g.type_of(first), address_of(f, "whet_ndarray")),
            lambda: [first],
            lambda: [g.ld(first, T["array"])],
        )
        f.bail(g.null(a), "miss")

        def elements() -> list[Val]:
            dims, nd = g.ld(a, A["dims"]), f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
            return f.loop(
                0, nd, 1, lambda d, s: [f.binary("mul", s, word_at(f, dims, d))],
                [f.as_val(1, "i64")]
            )

        def elsewhere() -> list[Val]:
            f.bail(f.cmp("ne", g.type_of(a), g.ctx("elsewhere")), "miss")
            return [g.i64(g.ld(a, g.ctx("kind_at", "i64")))]

        here = g.same(g.type_of(a), address_of(f, "whet_ndarray"))
        (size,) = f.if_(here, elements, elsewhere)
        f.bail(f.cmp("ne", size, self.head("size")), "miss")
        f.br("simply")
        f.label("simply")
        self.counted()
        f.ret(f.call("PyObject_Call", "ptr", self.head("finish", "ptr"), self.args, self.kw))

    def ways_out(self) -> None:
        """The targets for which the phases leave: a miss, or an error."""
        f = self.f
        f.label("other")
        f.call("PyErr_Clear", "void")
        f.br("miss")
        self.g.leave_by_miss_or_error()
