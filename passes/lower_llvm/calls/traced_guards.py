"""Compares the guards of a block, in machine code: dictionaries, words of memory, and arguments by
their rows."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .object_access import Glue, address_of, put_word, word_at
from .op_layouts import A, C, T
from .python_layouts import (
    DICT_LENGTH,
    DICT_VERSION,
    FLOAT_VALUE,
    LENGTH,
    LIST_ITEMS,
    TUPLE_ITEMS,
    TYPE,
)
from .traced_layouts import (
    ANY,
    ANY_FLOAT,
    ANY_INT,
    ANY_SCALAR,
    ARRAY,
    BEHIND,
    DICT,
    DISTINCT,
    EQUAL,
    FLOAT,
    GOLDEN,
    INT,
    LIST,
    MOST,
    NAMED_TUPLE,
    SAME,
    TENSOR,
    TUPLE,
    H,
    ObjectRow,
    TensorRow,
)

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val


def emit_items(m: Module) -> None:
    """unpack(dict, keys, n, out): the values of a dict with exactly these keys in this order; 0 if
    it has others."""
    f = m.fn("unpack", [("ptr", "d"), ("ptr", "keys"), ("i64", "n"), ("ptr", "out")], "i64",
             "internal")
    d, keys, n, out = f.args
    at, key, value = (f.alloca("i64", 1) for _ in range(3))
    f.bail(f.cmp("ne", f.call("PyDict_Size", "i64", d), n), "no")
    f.store(f.as_val(0, "i64"), at)

    def item(i: Val) -> None:
        f.bail(f.cmp("eq", f.call("PyDict_Next", "i32", d, at, key, value), 0), "no")
        k, want = f.load("ptr", key), word_at(f, keys, i, "ptr")

        def equal() -> None:
            texts = f.binary("and", f.cmp("eq", _type(f, k), address_of(f, "PyUnicode_Type")),
                             f.cmp("eq", _type(f, want), address_of(f, "PyUnicode_Type")))
            f.bail(f.binary("xor", texts, 1), "no")
            f.bail(f.cmp("ne", f.call("PyUnicode_Compare", "i32", k, want), 0), "no")
        f.if_(f.cmp("ne", k, want), equal)
        put_word(f, out, i, f.load("i64", value))
    f.loop(0, n, 1, item)
    f.ret(f.as_val(1, "i64"))
    f.label("no")
    f.ret(f.as_val(0, "i64"))


def _type(f: Fn, o: Val) -> Val:
    return f.load("ptr", f.bytes_at(o, TYPE), 8)


def emit_dict(m: Module, tags: bool) -> None:
    """dict(row): is a dict unchanged? The row has the dict, its version, whether all of it is
    compared, n, then keys and values (0: no such key)."""
    f = m.fn("dict", [("ptr", "row")], "i64", "internal", "noinline")
    row, = f.args
    d, n = word_at(f, row, 0, "ptr"), word_at(f, row, 3)
    pairs = f.at(row, 4, "i64")
    at, key, value = (f.alloca("i64", 1) for _ in range(3))
    tag = f.load("i64", f.bytes_at(d, DICT_VERSION), 8) if tags else None

    def walk() -> None:
        f.bail(f.cmp("ne", f.call("PyDict_Size", "i64", d), n), "no")
        f.store(f.as_val(0, "i64"), at)

        def item(i: Val) -> None:
            f.bail(f.cmp("eq", f.call("PyDict_Next", "i32", d, at, key, value), 0), "no")
            f.bail(f.cmp("ne", f.load("i64", key), word_at(f, pairs, i << 1)), "no")
            want = word_at(f, pairs, (i << 1) + 1)
            f.bail(f.cmp("ne", f.load("i64", value), want) & f.cmp("ne", want, ANY), "no")
        f.loop(0, n, 1, item)

    def look() -> None:
        def one(i: Val) -> None:
            x = f.call("PyDict_GetItemWithError", "ptr", d, word_at(f, pairs, i << 1, "ptr"))
            f.bail(f.cmp("ne", x, word_at(f, pairs, (i << 1) + 1, "ptr")), "other")
        f.loop(0, n, 1, one)
    f.if_(f.cmp("ne", word_at(f, row, 2), 0), walk, look)
    if tag is not None:
        put_word(f, row, 1, tag)
    f.ret(f.as_val(1, "i64"))
    f.label("other")
    f.call("PyErr_Clear", "void")
    f.br("no")
    f.label("no")
    f.ret(f.as_val(0, "i64"))


def emit_outside(m: Module, tags: bool) -> None:
    """outside(block): is everything unchanged that the function reaches from outside?"""
    f = m.fn("outside", [("ptr", "block")], "i64", "internal")
    outside = Outside(f, tags)
    outside.words()
    outside.held()
    outside.dicts("always")
    outside.lists()
    f.ret(f.as_val(1, "i64"))
    f.label("changed")                               # the next call must look again
    n, at = outside.section("soft")
    f.loop(0, f.imin(n, 1), 1, lambda i: put_word(f, at, 1, ~word_at(f, at, 1)))
    f.br("no")
    f.label("no")
    f.ret(outside.zero)


class Outside:
    """The code that compares what the function reaches from outside, section by section of the
    block."""

    def __init__(self, f: Fn, tags: bool) -> None:
        self.f, self.g, self.tags = f, Glue(f), tags
        self.block, = f.args
        self.zero = f.as_val(0, "i64")

    def section(self, name: str) -> tuple[Val, Val]:
        """The number of entries of a section, and their address."""
        n = self.g.ld(self.block, H[name], "i64")
        return n, self.f.bytes_at(self.block, self.g.ld(self.block, H[name + "_at"], "i64"))

    def words(self) -> None:
        """Compare words. Soft words may differ if the meaning is the same: versions of dicts,
        absent gradients."""
        f = self.f
        n, at = self.section("soft")
        bad = self.differing(n, at, self.exact_words())

        def look() -> None:
            f.bail(f.cmp("ne", self.exact_words(), 0), "no")
            f.loop(0, n, 1, lambda i: put_word(f, at, (i << 1) + 1, self.at_address(at, i << 1)))
            f.bail(self.some("bare", lambda x: ~self.g.absent(x)), "changed")
            self.dicts("dicts")
        f.if_(f.cmp("ne", bad, 0), look)

    def exact_words(self) -> Val:
        """The differing bits of words that must not differ: a section of addresses of zeros, then
        one of addresses and contents."""
        n, at = self.section("zeros")
        bad, = self.f.loop(
            0, n, 4, lambda i, bad: [bad | _four(lambda k: self.at_address(at, i + k))],
            [self.zero])
        return self.differing(*self.section("words"), bad)

    def differing(self, n: Val, at: Val, bad: Val) -> Val:
        """`bad`, with the bits in which n words differ from the recorded ones, four at a time."""
        def differs(i: Val, k: int) -> Val:
            return self.at_address(at, (i + k) << 1) ^ word_at(self.f, at, ((i + k) << 1) + 1)
        bad, = self.f.loop(
            0, n, 4, lambda i, bad: [bad | _four(lambda k: differs(i, k))], [bad])
        return bad

    def at_address(self, at: Val, i: Val) -> Val:
        """The word at the address in entry i."""
        return self.f.load("i64", word_at(self.f, at, i, "ptr"), 8)

    def some(self, name: str, test: Callable[[Val], Val]) -> Val:
        """Does any object behind a section's entries pass the test?"""
        f = self.f
        n, at = self.section(name)
        some, = f.loop(
            0, n, 1, lambda i, some: [some | test(f.load("ptr", word_at(f, at, i, "ptr"), 8))],
            [f.const("i1", 0)])
        return some

    def held(self) -> None:
        """Check that gradients that existed still exist."""
        self.f.bail(self.some("held", self.g.absent), "no")

    def dicts(self, name: str) -> None:
        """Compare dicts: rows of `dict`, one after the other."""
        f = self.f
        n, at = self.section(name)

        def one_dict(i: Val, row: Val) -> list[Val]:
            def compare() -> None:
                f.bail(f.cmp("eq", f.call("dict", "i64", row), 0), "changed")
            if self.tags:
                tag = f.load("i64", f.bytes_at(word_at(f, row, 0, "ptr"), DICT_VERSION), 8)
                f.if_(f.cmp("ne", tag, word_at(f, row, 1)), compare)
            else:
                compare()
            return [f.at(row, (word_at(f, row, 3) << 1) + 4, "i64")]
        f.loop(0, n, 1, one_dict, [at])

    def lists(self) -> None:
        """Compare lists. A row has the list, its length, its items."""
        f = self.f
        n, at = self.section("lists")

        def one_list(i: Val, row: Val) -> list[Val]:
            x, size = word_at(f, row, 0, "ptr"), word_at(f, row, 1)
            f.bail(f.cmp("ne", self.g.ld(x, LENGTH, "i64"), size), "no")
            items = self.g.ld(x, LIST_ITEMS)

            def item(k: Val, bad: Val) -> list[Val]:
                want = word_at(f, row, k + 2)
                return [bad | f.cmp("ne", word_at(f, items, k), want) & f.cmp("ne", want, ANY)]
            bad, = f.loop(0, size, 1, item, [f.const("i1", 0)])
            f.bail(bad, "no")
            return [f.at(row, size + 2, "i64")]
        f.loop(0, n, 1, one_list, [at])


def _four(word: Callable[[int], Val]) -> Val:
    """The bits of words 0 to 3, or-ed together."""
    return _either([word(k) for k in range(4)])


def _either(xs: Sequence[Val]) -> Val:
    """The bits of some words, or-ed together."""
    return xs[0] if len(xs) == 1 else _either(xs[:len(xs) // 2]) | _either(xs[len(xs) // 2:])


def emit_argument(m: Module) -> None:
    """argument(block, row, objects, leaves): does an argument, or a part of one, match its row?
    Tensors go to `leaves`, parts to `objects`."""
    f = m.fn("argument", [("ptr", "block"), ("ptr", "row"), ("ptr", "objects"), ("ptr", "leaves")],
             "i64", "internal")
    argument = Argument(f)
    f.bail(f.cmp("ne", argument.kind, TENSOR), "plain")
    TensorArgument(argument).compare()
    f.label("plain")
    argument.by_kind()
    f.label("array")
    ArrayArgument(argument).compare()
    argument.numbers()
    argument.equal()
    argument.containers()
    f.label("yes")
    f.ret(f.as_val(1, "i64"))
    f.label("no")
    f.ret(f.as_val(0, "i64"))


class Argument:
    """The code that compares one object with its row: kind, the object's number, the number of
    words, then words that depend on the kind."""

    def __init__(self, f: Fn) -> None:
        self.f, self.g = f, Glue(f)
        self.block, self.row, self.objects, self.leaves = f.args
        self.kind = word_at(f, self.row, ObjectRow.KIND)
        self.object = word_at(f, self.objects, word_at(f, self.row, ObjectRow.OBJECT), "ptr")
        self.type = self.g.type_of(self.object)

    def must(self, ok: Val) -> None:
        """Leave unless a condition holds."""
        self.f.bail(self.f.binary("xor", ok, 1), "no")

    def is_exactly(self, name: str) -> None:
        """Leave unless the object has this built-in type."""
        self.must(self.g.same(self.type, address_of(self.f, name)))

    def by_kind(self) -> None:
        """Branch by the row's kind. A repeated leaf, and an object that must be identical, are
        compared here."""
        f, g = self.f, self.g
        self.value = word_at(f, self.row, ObjectRow.VALUE)
        for k, name in ((SAME, "same"), (FLOAT, "float"), (INT, "int"), (EQUAL, "equal"),
                        (TUPLE, "tuple"), (LIST, "list"), (DICT, "dictionary"),
                        (ANY_FLOAT, "any_float"), (ANY_INT, "any_int"), (ARRAY, "array"),
                        (NAMED_TUPLE, "named_tuple"), (DISTINCT, "distinct"),
                        (ANY_SCALAR, "any_scalar")):
            f.bail(f.cmp("eq", self.kind, k), name)
        self.must(g.same(self.object, word_at(f, self.leaves, self.value, "ptr")))     # AGAIN
        f.br("yes")
        f.label("same")
        f.cbr(f.cmp("eq", g.i64(self.object), self.value), "yes", "no")
        f.label("distinct")
        f.cbr(g.same(self.object, word_at(f, self.objects, self.value, "ptr")), "no", "yes")

    def numbers(self) -> None:
        """Floats and ints: with a given value, or any."""
        f, g, o = self.f, self.g, self.object
        f.label("float")
        self.is_exactly("PyFloat_Type")
        f.cbr(f.cmp("eq", g.ld(o, FLOAT_VALUE, "i64"), self.value), "yes", "no")
        f.label("int")
        self.is_exactly("PyLong_Type")
        over = f.alloca("i32", 1)
        v = f.call("PyLong_AsLongLongAndOverflow", "i64", o, over)
        f.bail(f.cmp("ne", f.load("i32", over), 0), "no")
        f.cbr(f.cmp("eq", v, self.value), "yes", "no")
        f.label("any_float")
        self.is_exactly("PyFloat_Type")
        x = g.ld(o, FLOAT_VALUE, "double")
        f.bail(f.cmp("uno", x, x), "no")     # A NaN may be looked for by identity.
        put_word(f, self.leaves, self.value, o)
        f.br("yes")
        f.label("any_int")
        self.is_exactly("PyLong_Type")
        v = f.call("PyLong_AsLongLongAndOverflow", "i64", o, over)
        f.bail(f.cmp("ne", f.load("i32", over), 0) | f.cmp("ugt", v + MOST, 2 * MOST), "no")
        put_word(f, self.leaves, self.value, o)
        f.br("yes")
        self.scalar()

    def scalar(self) -> None:
        """A NumPy number of a given class. The bytes of a float are in the row: NaN is refused."""
        f, g, o = self.f, self.g, self.object
        f.label("any_scalar")
        self.must(g.same(self.type, word_at(f, self.row, ObjectRow.CLASS, "ptr")))
        size = word_at(f, self.row, ObjectRow.FIRST_PART)
        for n, kind in ((8, "double"), (4, "float")):
            x = g.ld(o, FLOAT_VALUE, kind)
            f.bail(f.cmp("eq", size, n) & f.cmp("uno", x, x), "no")
        put_word(f, self.leaves, self.value, o)
        f.br("yes")

    def equal(self) -> None:
        """A text or bytes."""
        f, g = self.f, self.g
        f.label("equal")
        other = g.ptr(self.value)
        self.must(g.same(self.type, g.type_of(other)))
        same = f.call("PyObject_RichCompareBool", "i32", self.object, other, f.as_val(2, "i32"))
        f.cbr(f.cmp("eq", same, 1), "yes", "no")

    def containers(self) -> None:
        """A tuple, list or dictionary of known length, whose parts become objects of further
        rows."""
        f, g, o = self.f, self.g, self.object
        f.label("tuple")
        self.is_exactly("PyTuple_Type")
        self.parts(lambda: f.bytes_at(o, TUPLE_ITEMS))
        f.label("named_tuple")
        self.must(g.same(self.type, word_at(f, self.row, ObjectRow.CLASS, "ptr")))
        self.parts(lambda: f.bytes_at(o, TUPLE_ITEMS))
        f.label("list")
        self.is_exactly("PyList_Type")
        self.parts(lambda: g.ld(o, LIST_ITEMS))
        f.label("dictionary")
        self.is_exactly("PyDict_Type")
        got = f.call("unpack", "i64", o, f.at(self.row, ObjectRow.KEYS, "i64"), self.value,
                     f.at(self.objects, word_at(f, self.row, ObjectRow.FIRST_PART), "i64"))
        f.cbr(f.cmp("ne", got, 0), "yes", "no")

    def parts(self, items: Callable[[], Val]) -> None:
        """The parts of a tuple or a list, at the address that `items()` gives."""
        f = self.f
        f.bail(f.cmp("ne", self.g.ld(self.object, LENGTH, "i64"), self.value), "no")
        start = word_at(f, self.row, ObjectRow.FIRST_PART)
        first = items()
        f.loop(0, self.value, 1,
               lambda i: put_word(f, self.objects, start + i, word_at(f, first, i)))
        f.br("yes")


class LeafArgument:
    """The code that compares a tensor or an array with its row, a `TensorRow`."""
    array: Val                   # the array itself, or the tensor's

    def __init__(self, argument: Argument) -> None:
        self.argument, self.f, self.g = argument, argument.f, argument.g
        self.row, self.object = argument.row, argument.object

    def of_the_host(self) -> None:
        """A NumPy array: its dtype, sizes and strides."""
        f, g, a, row = self.f, self.g, self.array, self.row
        self.argument.must(g.same(g.type_of(a), address_of(f, "whet_ndarray")))
        self.nd = nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
        bad = ((g.ld(a, A["descr"], "i64") ^ word_at(f, row, TensorRow.DTYPE))
               | (nd ^ word_at(f, row, TensorRow.RANK)))
        flags = f.conv("zext", g.ld(a, A["flags"], "i32"), "i64")
        bad = bad | ((flags & 0x500) ^ word_at(f, row, TensorRow.ARRAY_FLAGS))
        f.bail(f.cmp("ne", bad, 0), "no")
        dims, strides = g.ld(self.array, A["dims"]), g.ld(self.array, A["strides"])
        sizes = f.at(row, TensorRow.SIZES, "i64")
        bad, = f.loop(0, self.nd, 1, lambda d, bad: [
            bad | (word_at(f, dims, d) ^ word_at(f, sizes, d << 1))
            | (word_at(f, strides, d) ^ word_at(f, sizes, (d << 1) + 1))], [f.as_val(0, "i64")])
        f.bail(f.cmp("ne", bad, 0), "no")

    def becomes_a_leaf(self) -> None:
        """Compare which object it is, as far as that matters; then it is a leaf."""
        f, g, row, o = self.f, self.g, self.row, self.object
        mine = word_at(f, row, TensorRow.IDENTITY, "ptr")
        f.if_(g.null(mine), self.unknown, lambda: self.argument.must(g.same(mine, o)))
        put_word(f, self.argument.leaves, word_at(f, row, ObjectRow.VALUE), o)
        f.br("yes")

    def unknown(self) -> None:
        """Check that it is none of the objects that are known by identity."""
        f, g, o, block = self.f, self.g, self.object, self.argument.block
        mask, known = (g.ld(block, H["mask"], "i64"),
                       f.bytes_at(block, g.ld(block, H["known_at"], "i64")))
        h = f.lshr(f.binary("mul", f.lshr(g.i64(o), 4), GOLDEN), 40)

        def more(i: Val) -> Val:
            x = word_at(f, known, i & mask, "ptr")
            f.bail(g.same(x, o), "no")
            return f.cmp("ne", x, 0)
        f.while_(more, lambda i: [i + 1], [h])


class ArrayArgument(LeafArgument):
    """The code that compares a NumPy array."""

    def compare(self) -> None:
        """Compare the array; then it is a leaf."""
        self.array = self.object
        self.of_the_host()
        self.becomes_a_leaf()


class TensorArgument(LeafArgument):
    """The code that compares a tensor."""

    def compare(self) -> None:
        """Compare the tensor; then it is a leaf."""
        f, g, row, o = self.f, self.g, self.row, self.object
        self.argument.must(g.same(self.argument.type, word_at(f, row, TensorRow.TYPE, "ptr")))
        self.fields()
        f.if_(g.absent(g.ld(o, T["base"])), lambda: None, self.current)
        attributes = g.ld(o, T["dict"])
        f.if_(g.absent(attributes), lambda: None, lambda: f.bail(
            f.cmp("ne", g.ld(attributes, DICT_LENGTH, "i64"), 0), "no"))
        self.becomes_a_leaf()

    def fields(self) -> None:
        """Compare its array, and its fields by differing bits."""
        f, g, row, o = self.f, self.g, self.row, self.object
        self.array = a = g.ld(o, T["array"])
        f.bail(g.null(a), "no")
        f.if_(f.cmp("ult", word_at(f, row, TensorRow.ARRAY_FLAGS), 1 << BEHIND),
              self.of_the_host, self.of_a_device)
        bad = g.ld(o, T["rg"], "i64") ^ word_at(f, row, TensorRow.FLAGS)
        there = f.as_val(0, "i64")
        for i, field in enumerate(("grad", "node", "base")):
            there = (there
                     | (f.conv("zext", f.binary("xor", g.absent(g.ld(o, T[field])), 1), "i64")
                        << i))
        bad = (bad | (there ^ word_at(f, row, TensorRow.HAS))
               | (f.conv("zext", g.absent(g.ld(o, T["extra"])), "i64") ^ 1))
        f.bail(f.cmp("ne", bad, 0), "no")

    def current(self) -> None:
        """Check that a view's base has no newer history."""
        f, g, o = self.f, self.g, self.object
        history = g.ld(g.ld(o, T["cell"]), C["h"], "i64")
        f.bail(f.cmp("ne", history, g.ld(o, T["hist"], "i64")), "no")

    def of_a_device(self) -> None:
        """An array on a device: one object identifies its layout."""
        f, g, a, row = self.f, self.g, self.array, self.row
        self.argument.must(
            g.same(g.type_of(a), word_at(f, row, TensorRow.DEVICE_ARRAY_TYPE, "ptr")))
        layout = word_at(f, f.bytes_at(a, word_at(f, row, TensorRow.LAYOUT_OFFSET)), 0)
        f.bail(f.cmp("ne", layout, word_at(f, row, TensorRow.DTYPE)), "no")
