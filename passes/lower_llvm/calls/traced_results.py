"""Builds the result of a traced call, in machine code, by the steps of its block."""
from __future__ import annotations

from ..builder import Fn, Module, Val
from .object_access import Glue, put_word, word_at
from .op_layouts import A, T
from .tensor_views import share, window
from .traced_layouts import (
    ARGUMENT,
    ARRAY_LEAF,
    ARRAY_VIEW,
    AS_ARRAY,
    AS_FLOAT,
    AS_SCALAR,
    BASE,
    CONST,
    DESCR,
    DIMS,
    DROP,
    END,
    ENTRY,
    FRESH,
    FRESH_BITS,
    HIDDEN,
    HIDDEN_VIEW,
    LEAF,
    MAX_DIMS,
    MAX_OBJECTS,
    ND,
    NEW,
    OFFSET,
    PAIR,
    RECORD,
    RG,
    SERIES,
    SOURCE,
    TABLE,
    VIEW,
    WORD,
    H,
)


def load_array(f: Fn, g: Glue, kind: Val, what: Val, leaves: Val, fresh: Val) -> Val:
    """The array that a pair (kind, number) names."""

    def of_tensor() -> list[Val]:
        (tensor,) = f.if_(
            f.cmp("eq", kind, LEAF),
            lambda: [word_at(f, leaves, what, "ptr")],
            lambda: [g.ptr(what)],
        )
        return [g.ld(tensor, T["array"])]

    def itself() -> list[Val]:
        holder = f.sel(f.cmp("eq", kind, FRESH), fresh, leaves)
        return [word_at(f, holder, what, "ptr")]

    is_itself = f.binary("or", f.cmp("eq", kind, FRESH), f.cmp("eq", kind, ARRAY_LEAF))
    return f.if_(is_itself, itself, of_tensor)[0]


def emit_build(m: Module) -> None:
    """build(block, leaves, fresh arrays, those seen): the result.

    Steps (kind, a, b) build it on a stack, above the objects that are to be written into Python's
    state."""
    f = m.fn(
        "build",
        [("ptr", "block"), ("ptr", "leaves"), ("ptr", "fresh"), ("ptr", "seen")],
        "ptr",
        "internal",
    )
    objects = Objects(f)
    objects.steps()
    state = State(objects)
    state.write_all()
    f.ret(word_at(f, objects.stack, state.count, "ptr"))
    state.ways_out()
    objects.ways_out()


class Objects:
    """The code that makes the objects of a result on a stack.

    `made` has the bases of views. `left_over` and `hidden` have a bit for each array and each base
    that has to be released if memory is short."""
    unfinished: Val             # the dictionary that is being filled

    def __init__(self, f: Fn) -> None:
        self.f, self.g = f, Glue(f)
        self.block, self.leaves, self.fresh, self.seen = f.args
        self.stack, self.made = f.alloca("i64", MAX_OBJECTS), f.alloca("i64", FRESH_BITS)
        self.height = f.alloca("i64", 1)
        self.left_over, self.hidden = (f.alloca("i64", FRESH_BITS // 64) for _ in range(2))

    def section(self, name: str) -> Val:
        """The address of a section of the block."""
        return self.f.bytes_at(self.block, self.g.ld(self.block, H[name], "i64"))

    def steps(self) -> None:
        """The loop over the steps."""
        f, g = self.f, self.g
        fresh, all_bits = g.ld(self.block, H["fresh"], "i64"), f.as_val(-1, "i64")
        for k in range(FRESH_BITS // 64):
            put_word(f, self.hidden, k, f.as_val(0, "i64"))
            n = f.imax(fresh - 64 * k, 0)
            first = (f.as_val(1, "i64") << f.imin(n, 63)) - 1
            put_word(f, self.left_over, k, f.sel(f.cmp("slt", n, 64), first, all_bits))
        self.at = self.section("build_at")
        f.loop(0, g.ld(self.block, H["build"], "i64"), 1, self.step, [f.as_val(0, "i64")])

    def step(self, i: Val, top: Val) -> list[Val]:
        """Run one step; returns the height of the stack after it."""
        f = self.f
        row = f.at(self.at, f.binary("mul", i, 3), "i64")
        kind, a, b = (word_at(f, row, k) for k in range(3))
        f.store(top, self.height)
        step = Step(self, kind, a, b, top)
        return f.if_(
            f.cmp("eq", kind, NEW),
            step.new,
            lambda: f.if_(f.cmp("sgt", kind, RECORD), step.aside, step.other),
        )

    def flip(self, bits: Val, i: Val) -> None:
        """Toggle a bit."""
        f = self.f
        word = f.at(bits, f.lshr(i, 6), "i64")
        f.store(f.load("i64", word) ^ (f.as_val(1, "i64") << (i & 63)), word)

    def ways_out(self) -> None:
        """Release everything made so far, because memory is short."""
        f, g = self.f, self.g
        f.label("table_fail")
        g.dec(self.unfinished)
        f.br("fail")
        f.label("fail")
        f.loop(0, f.load("i64", self.height), 1, lambda i: g.dec(word_at(f, self.stack, i, "ptr")))
        for bits, there in (self.left_over, self.fresh), (self.hidden, self.made):
            f.loop(
                0,
                FRESH_BITS,
                1,
                lambda i, bits=bits, there=there: (
                    f.if_(
                        f.cmp("ne", f.lshr(word_at(f, bits, f.lshr(i, 6)), i & 63) & 1, 0),
                        lambda: g.dec(word_at(f, there, i, "ptr")),
                    )
                    and None
                ),
            )
        f.ret(Val(f, "null", "ptr"))


class Step:
    """The code of the steps. `a` and `b` are the step's numbers, `top` is the height of the
    stack."""

    def __init__(self, objects: Objects, kind: Val, a: Val, b: Val, top: Val) -> None:
        self.objects, self.f, self.g = objects, objects.f, objects.g
        self.kind, self.a, self.b, self.top = kind, a, b, top

    def push(self, x: Val) -> list[Val]:
        """Push an object of the result."""
        put_word(self.f, self.objects.stack, self.top, x)
        return [self.top + 1]

    def tensor(self, array: Val) -> Val:
        """A tensor around an array."""
        t = self.f.call("around", "ptr", array)
        self.f.bail(self.g.null(t), "fail")
        put_word(self.f, self.objects.made, self.a, t)
        return t

    def fresh_tensor(self) -> Val:
        """A tensor around a new array."""
        o = self.objects
        o.flip(o.left_over, self.a)
        return self.tensor(word_at(self.f, o.fresh, self.a, "ptr"))

    def new(self) -> list[Val]:
        """NEW: a fresh tensor that is part of the result; `b` has its flags."""
        t = self.fresh_tensor()
        self.g.st(self.b, t, T["rg"])
        return self.push(t)

    def held(self, kind: Val, a: Val) -> Val:
        """An existing object: a constant, an argument, or a tensor made by an earlier step."""
        f, o = self.f, self.objects
        return f.if_(
            f.cmp("eq", kind, CONST),
            lambda: [self.g.ptr(a)],
            lambda: f.if_(
                f.cmp("eq", kind, ARGUMENT),
                lambda: [word_at(f, o.leaves, a, "ptr")],
                lambda: [word_at(f, o.made, a, "ptr")],
            ),
        )[0]

    def aside(self) -> list[Val]:
        """Steps whose tensors are not pushed as they are: views, bases of views, and what is
        released."""
        f, kind = self.f, self.kind
        viewing = f.binary("or", f.cmp("eq", kind, VIEW), f.cmp("eq", kind, HIDDEN_VIEW))
        return f.if_(
            viewing,
            self.view,
            lambda: f.if_(f.cmp("eq", kind, ARRAY_VIEW), self.array_view, self.unseen),
        )

    def row_of_view(self) -> Val:
        """The row of a view."""
        return self.f.at(self.objects.section("views_at"), self.b, "i64")

    def window(self, row: Val) -> Val:
        """A part of an array, as the row of a view says."""
        f, g, o = self.f, self.g, self.objects
        source, what = word_at(f, row, SOURCE), word_at(f, row, SOURCE + 1)
        (array,) = f.if_(
            f.cmp("eq", source, FRESH),
            lambda: [word_at(f, o.fresh, what, "ptr")],
            lambda: [word_at(f, o.seen, what, "ptr")],
        )
        return window(
            f,
            g,
            array,
            word_at(f, row, DESCR, "ptr"),
            word_at(f, row, ND),
            f.at(row, DIMS, "i64"),
            f.at(row, DIMS + MAX_DIMS, "i64"),
            word_at(f, row, OFFSET),
            "fail",
        )

    def array_view(self) -> list[Val]:
        """ARRAY_VIEW: a part of an array, as a NumPy array."""
        x = self.window(self.row_of_view())
        put_word(self.f, self.objects.made, self.a, x)
        return self.push(x)

    def view(self) -> list[Val]:
        """VIEW, HIDDEN_VIEW: a tensor on a part of an array, with the version cell of its base."""
        f, g, o, a = self.f, self.g, self.objects, self.a
        row = self.row_of_view()
        by, base = word_at(f, row, BASE), word_at(f, row, BASE + 1)
        t = self.tensor(self.window(row))
        o.flip(o.hidden, a)
        f.if_(f.cmp("ne", by, NEW), lambda: share(f, g, self.held(by, base), t, "fail"))
        g.st(word_at(f, row, RG), t, T["rg"])

        def shown() -> list[Val]:
            o.flip(o.hidden, a)
            return self.push(t)

        return f.if_(f.cmp("eq", self.kind, VIEW), shown, lambda: [self.top])

    def unseen(self) -> list[Val]:
        """HIDDEN, DROP, DROP_ARRAY: a tensor that is not in the result, and the release of one."""
        f, g, o, a = self.f, self.g, self.objects, self.a

        def hide() -> None:
            self.fresh_tensor()
            o.flip(o.hidden, a)

        def tensor() -> list[Val]:
            o.flip(o.hidden, a)
            return [word_at(f, o.made, a, "ptr")]

        def array() -> list[Val]:
            o.flip(o.left_over, a)
            return [word_at(f, o.fresh, a, "ptr")]

        f.if_(
            f.cmp("eq", self.kind, HIDDEN),
            hide,
            lambda: g.dec(f.if_(f.cmp("eq", self.kind, DROP), tensor, array)[0]),
        )
        return [self.top]

    def other(self) -> list[Val]:
        """The other kinds, in their order."""
        f, kind = self.f, self.kind
        return f.if_(
            f.cmp("slt", kind, PAIR),
            lambda: f.if_(
                f.cmp("slt", kind, AS_FLOAT),
                self.known,
                lambda: f.if_(f.cmp("eq", kind, AS_ARRAY), self.new_array, self.number),
            ),
            self.several,
        )

    def known(self) -> list[Val]:
        """CONST, ARGUMENT, ONCE_MORE: an existing object."""
        x = self.held(self.kind, self.a)
        self.g.inc(x)
        return self.push(x)

    def new_array(self) -> list[Val]:
        """AS_ARRAY: a fresh array that is part of the result as a NumPy array."""
        f, o = self.f, self.objects
        x = word_at(f, o.fresh, self.a, "ptr")
        o.flip(o.left_over, self.a)
        put_word(f, o.made, self.a, x)
        return self.push(x)

    def number(self) -> list[Val]:
        """AS_FLOAT, AS_INT, AS_SCALAR: the element of an array that is `b` bytes into it, as a
        Python number, or as one of NumPy's."""
        f, g, o = self.f, self.g, self.objects
        array = word_at(f, o.fresh, self.a, "ptr")
        at = f.bytes_at(g.ld(array, A["data"]), self.b)
        none = Val(f, "null", "ptr")
        (x,) = f.if_(
            f.cmp("eq", self.kind, AS_SCALAR),
            lambda: [f.call("whet_Scalar", "ptr", at, g.ld(array, A["descr"]), none)],
            lambda: f.if_(
                f.cmp("eq", self.kind, AS_FLOAT),
                lambda: [f.call("PyFloat_FromDouble", "ptr", f.load("double", at, 8))],
                lambda: [f.call("PyLong_FromLongLong", "ptr", f.load("i64", at, 8))],
            ),
        )
        f.bail(g.null(x), "fail")
        return self.push(x)

    def several(self) -> list[Val]:
        """PAIR, SERIES, TABLE, RECORD: a tuple, a list, a dictionary, or what a Python function
        makes of a tuple, of the objects on top of the stack."""
        f, o = self.f, self.objects
        self.first = self.top - self.a
        (x,) = f.if_(
            f.cmp("eq", self.kind, PAIR),
            lambda: self.filled("PyTuple_New", "PyTuple_SetItem"),
            lambda: f.if_(
                f.cmp("eq", self.kind, SERIES),
                lambda: self.filled("PyList_New", "PyList_SetItem"),
                lambda: f.if_(f.cmp("eq", self.kind, TABLE), self.table, self.record),
            ),
        )
        put_word(f, o.stack, self.first, x)
        return [self.first + 1]

    def filled(self, make: str, put: str) -> list[Val]:
        """A tuple or a list, which takes over the references."""
        f = self.f
        x = f.call(make, "ptr", self.a)
        f.bail(self.g.null(x), "fail")
        f.loop(
            0,
            self.a,
            1,
            lambda k: (
                f.call(put, "i32", x, k, word_at(f, self.objects.stack, self.first + k, "ptr"))
                and None
            ),
        )
        return [x]

    def record(self) -> list[Val]:
        """What a Python function makes of a tuple of the objects."""
        f, g, o = self.f, self.g, self.objects
        (held,) = self.filled("PyTuple_New", "PyTuple_SetItem")
        f.store(self.first, o.height)        # the tuple has them now
        x = f.call("PyObject_CallOneArg", "ptr", g.ptr(self.b), held)
        g.dec(held)
        f.bail(g.null(x), "fail")
        return [x]

    def table(self) -> list[Val]:
        """A dictionary; its keys are in the block."""
        f, g, o = self.f, self.g, self.objects
        x = f.call("PyDict_New", "ptr")
        f.bail(g.null(x), "fail")
        keys = f.bytes_at(o.block, self.b)

        def item(k: Val) -> None:
            v = word_at(f, o.stack, self.first + k, "ptr")
            f.bail(
                f.cmp("ne", f.call("PyDict_SetItem", "i32", x, word_at(f, keys, k, "ptr"), v), 0),
                "table_fail",
            )

        o.unfinished = x
        f.loop(0, self.a, 1, item)
        f.loop(0, self.a, 1, lambda k: g.dec(word_at(f, o.stack, self.first + k, "ptr")))
        return [x]


class State:
    """The code that writes the lowest objects of the stack into Python's state."""

    def __init__(self, objects: Objects) -> None:
        self.objects, self.f, self.g = objects, objects.f, objects.g
        self.count, self.at = self.g.ld(objects.block, H["left"], "i64"), objects.section("left_at")

    def write_all(self) -> None:
        """Write all of them."""
        self.f.loop(0, self.count, 1, self.one)

    def one(self, i: Val) -> None:
        """Write one of them. Its row: kind, container, place in it."""
        f = self.f
        row = f.at(self.at, f.binary("mul", i, 3), "i64")
        kind, where, what = word_at(f, row, 0), word_at(f, row, 1, "ptr"), word_at(f, row, 2, "ptr")
        x = word_at(f, self.objects.stack, i, "ptr")
        self.last = i
        f.if_(
            f.cmp("eq", kind, WORD),
            lambda: self.word(where, x),
            lambda: f.if_(
                f.cmp("eq", kind, ENTRY),
                lambda: self.stored(x, f.call("PyDict_SetItem", "i32", where, what, x)),
                lambda: f.if_(
                    f.cmp("eq", kind, END),
                    lambda: self.stored(x, f.call("PyList_Append", "i32", where, x)),
                    lambda: self.item(where, what, x),
                ),
            ),
        )

    def word(self, p: Val, x: Val) -> None:
        """Write to an address."""
        f = self.f
        old = f.load("ptr", p, 8)
        f.store(x, p, 8)
        f.if_(self.g.null(old), lambda: None, lambda: self.g.dec(old))

    def stored(self, x: Val, failed: Val) -> None:
        """Handle the result of writing to a dictionary or appending to a list."""
        self.g.dec(x)
        self.f.bail(self.f.cmp("ne", failed, 0), "unlaid")

    def item(self, where: Val, index: Val, x: Val) -> None:
        """Write to a list. It may be shorter by now: an earlier write may have freed an object, and
        so run any code."""
        f = self.f
        f.if_(
            f.cmp("ne", f.call("PyList_SetItem", "i32", where, self.g.i64(index), x), 0),
            lambda: f.call("PyErr_Clear", "void"),
        )

    def ways_out(self) -> None:
        """Release the remaining objects, because one could not be written."""
        f = self.f
        f.label("unlaid")
        f.loop(
            self.last + 1,
            self.count + 1,
            1,
            lambda i: self.g.dec(word_at(f, self.objects.stack, i, "ptr")),
        )
        f.ret(Val(f, "null", "ptr"))
