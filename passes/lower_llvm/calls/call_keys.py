"""The key of a call of a library function, as bytes. Calls have different keys if the function's
Python code may treat them differently (runtime/ops/calls_without_python.py).

For a tensor the key has its type, its dtype, its sizes, strides and flags, and which earlier tensor
it is, if any. For a number it has the value; for a tuple, a list or a slice, the parts. Objects of
a few immutable types, and random generators, are identified by address. Anything else has no
key."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import Module, Val
from .object_access import Glue, address_of
from .op_layouts import CASTS, ELSEWHERE, LISTENED, MAX_DIMS, SPECIAL, A, T
from .python_layouts import FLOAT_VALUE, LENGTH, LIST_ITEMS, SLICE_START, TUPLE_ITEMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..builder import Fn

WORDS = 256                     # of a key at most
ROOM = 6 + 2 * MAX_DIMS         # words that there are for one more object, at least


class _Description:
    """The code of `described(object, words, room, tensors)`: writes the description of an object
    and returns the number of words, or -1 if the object has no key. `tensors`: the number of
    tensors so far, and these."""

    def __init__(self, m: Module) -> None:
        self.f = f = m.fn("described", [("ptr", "o"), ("ptr", "out"), ("i64", "room"),
                                        ("ptr", "tensors")], "i64", "internal")
        self.g = g = Glue(f)
        self.o, self.out, self.room, self.tensors = f.args
        f.bail(f.cmp("slt", self.room, ROOM), "unknown")
        self.type = g.type_of(self.o)
        self.put(0, g.i64(self.type))
        length = self.chosen(
            (self.is_a("tensor") | self.is_a("parameter"), self.tensor),
            (self.of("PyLong_Type"), self.whole_number),
            (self.of("PyFloat_Type"), self.real_number),
            (self.of("PyTuple_Type") | self.is_a("sizes"),
             lambda: self.items(f.bytes_at(self.o, TUPLE_ITEMS), g.ld(self.o, LENGTH, "i64"))),
            (self.of("PyList_Type"),
             lambda: self.items(g.ld(self.o, LIST_ITEMS), g.ld(self.o, LENGTH, "i64"))),
            (self.of("PySlice_Type"),
             lambda: self.items(f.bytes_at(self.o, SLICE_START), f.as_val(3, "i64"))))
        f.ret(length)
        f.label("unknown")
        f.ret(f.as_val(-1, "i64"))

    def put(self, i: Val | int, word: Val) -> None:
        self.f.store(word, self.f.at(self.out, i, "i64"), 8)

    def of(self, name: str) -> Val:
        """Is its type this built-in type of Python?"""
        return self.g.same(self.type, address_of(self.f, name))

    def is_a(self, name: str) -> Val:
        """Is its type this type of ours?"""
        return self.g.same(self.type, self.g.ctx(name))

    def chosen(self, *ways: tuple[Val, Callable[[], Val]]) -> Val:
        """Take the first way whose condition holds; else describe the object by its address."""
        if not ways:
            return self.by_address()
        (holds, way), *others = ways
        return self.f.if_(holds, lambda: [way()], lambda: [self.chosen(*others)])[0]

    def tensor(self) -> Val:
        f, g = self.f, self.g
        array = g.ld(self.o, T["array"])
        plain = g.same(g.type_of(array), address_of(f, "whet_ndarray"))

        def layout() -> list[Val]:
            nd = f.conv("sext", g.ld(array, A["nd"], "i32"), "i64")

            def sizes_and_strides() -> list[Val]:
                self.known(g.ld(array, A["descr"], "i64"), nd)
                dims, strides = g.ld(array, A["dims"]), g.ld(array, A["strides"])

                def both(i: Val) -> None:
                    self.put(5 + i, g.ld(f.at(dims, i, "i64"), 0, "i64"))
                    self.put(5 + nd + i, g.ld(f.at(strides, i, "i64"), 0, "i64"))
                f.loop(0, nd, 1, both)
                return [5 + 2 * nd]
            return f.if_(f.cmp("sle", nd, MAX_DIMS), sizes_and_strides, self.none)

        def elsewhere() -> list[Val]:
            return f.if_(g.same(g.type_of(array), g.ctx("elsewhere")), numbered, self.none)

        def numbered() -> list[Val]:
            kind = g.ld(array, g.ctx("kind_at", "i64"))

            def has_one() -> list[Val]:
                self.known(g.i64(kind), f.as_val(ELSEWHERE, "i64"))
                return [f.as_val(5, "i64")]
            return f.if_(g.absent(kind), self.none, has_one)
        return f.if_(plain, layout, elsewhere)[0]

    def known(self, descr: Val, nd: Val) -> None:
        """A tensor's dtype and number of dimensions, its flags, and which tensor it is. For an
        array on a device, the number of its layout and ELSEWHERE take the place of the first
        two."""
        f, g = self.f, self.g
        self.put(1, descr)
        self.put(2, nd)
        self.put(3, g.ld(self.o, T["rg"], "i64"))
        made = f.conv("zext", g.absent(g.ld(self.o, T["node"])), "i64")
        view = f.conv("zext", g.absent(g.ld(self.o, T["base"])), "i64")
        self.put(4, made + 2 * view + 4 * self.which())

    def which(self) -> Val:
        """The number of a tensor among those so far; for a repeated one, that of its first
        occurrence."""
        f, g = self.f, self.g
        count = f.load("i64", self.tensors, 8)

        def one(i: Val, found: Val) -> list[Val]:
            same = g.same(f.load("ptr", f.at(self.tensors, i + 1, "i64"), 8), self.o)
            return [f.imin(found, f.sel(same, i, count))]
        found, = f.loop(0, count, 1, one, [count])
        f.store(self.o, f.at(self.tensors, count + 1, "i64"), 8)
        f.store(count + 1, self.tensors, 8)
        return found

    def none(self) -> list[Val]:
        return [self.f.as_val(-1, "i64")]

    def whole_number(self) -> Val:
        f = self.f
        over = f.alloca("i32", 1)
        value = f.call("PyLong_AsLongLongAndOverflow", "i64", self.o, over)
        self.put(1, value)
        return f.sel(f.cmp("eq", f.load("i32", over, 4), 0), f.as_val(2, "i64"),
                     f.as_val(-1, "i64"))

    def real_number(self) -> Val:
        self.put(1, self.g.ld(self.o, FLOAT_VALUE, "i64"))
        return self.f.as_val(2, "i64")

    def items(self, first: Val, n: Val) -> Val:
        """The objects in a tuple, a list or a slice: `n` addresses."""
        f = self.f
        self.put(1, n)

        def one(i: Val, used: Val) -> list[Val]:
            item = self.g.ld(f.at(first, i, "i64"), 0)
            return [described(f, item, self.out, used, self.room, self.tensors)]
        return f.loop(0, f.imin(n, WORDS), 1, one, [f.as_val(2, "i64")])[0]

    def by_address(self) -> Val:
        f = self.f
        known = f.call("PySet_Contains", "i32", self.g.ctx("immutable"), self.type)
        f.if_(f.cmp("slt", known, 0), lambda: f.call("PyErr_Clear", "void"))
        self.put(1, self.g.i64(self.o))
        return f.sel(f.cmp("eq", known, 1), f.as_val(2, "i64"), f.as_val(-1, "i64"))


def described(f: Fn, o: Val, out: Val, used: Val, room: Val | int, tensors: Val) -> Val:
    """Write the description of an object after the words so far; returns the new number of words,
    or -1."""
    def more() -> list[Val]:
        n = f.call("described", "i64", o, f.at(out, used, "i64"), f.as_val(room, "i64") - used,
                   tensors)
        return [f.sel(f.cmp("slt", n, 0), n, used + n)]
    return f.if_(f.cmp("slt", used, 0), lambda: [used], more)[0]


def key_of_call(m: Module) -> None:
    """call_key(args, kwargs): the key of a call, as bytes. None if it has none, or if a mode is
    active in which somebody observes functions."""
    _Description(m)
    f = m.fn("call_key", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    args, kwargs = (f.load("ptr", f.at(f.args[1], i, "i64"), 8) for i in range(2))
    out, tensors = f.alloca("i64", WORDS), f.alloca("i64", WORDS)
    f.store(f.as_val(0, "i64"), tensors, 8)
    flags = g.modes("error")
    f.bail(f.cmp("ne", flags & (SPECIAL | CASTS), 0), "none")
    n, named = g.ld(args, LENGTH, "i64"), f.call("PyDict_Size", "i64", kwargs)
    f.store(flags & ~LISTENED, out, 8)
    f.store(n, f.at(out, 1, "i64"), 8)

    def positional(i: Val, used: Val) -> list[Val]:
        item = g.ld(f.at(f.bytes_at(args, TUPLE_ITEMS), i, "i64"), 0)
        return [described(f, item, out, used, WORDS, tensors)]
    used, = f.loop(0, f.imin(n, WORDS), 1, positional, [f.as_val(2, "i64")])
    place, name, value = f.alloca("i64", 1), f.alloca("ptr", 1), f.alloca("ptr", 1)
    f.store(f.as_val(0, "i64"), place, 8)

    def by_name(_: Val, used: Val) -> list[Val]:
        f.call("PyDict_Next", "i32", kwargs, place, name, value)

        def both() -> list[Val]:
            f.store(g.i64(f.load("ptr", name, 8)), f.at(out, used, "i64"), 8)
            return [described(f, f.load("ptr", value, 8), out, used + 1, WORDS, tensors)]
        fits = f.cmp("sge", used, 0) & f.cmp("slt", used, WORDS - 1)
        return f.if_(fits, both, lambda: [f.as_val(-1, "i64")])
    used, = f.loop(0, named, 1, by_name, [used])
    f.bail(f.cmp("slt", used, 0), "none")
    f.ret(f.call("PyBytes_FromStringAndSize", "ptr", out, 8 * used))
    f.label("none")
    f.ret(g.none())
    f.label("error")
    f.ret(Val(f, "null", "ptr"))
