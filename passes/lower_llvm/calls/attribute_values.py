"""Are the attributes of two calls the same? In machine code.

Equality does not tell: 1 equals 1.0 and True, and 0.0 equals -0.0, which an op may treat in another
way, or refuse. `value_key` in ir/value_keys.py is the same question in Python."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .object_access import Glue, address_of, word_at
from .python_layouts import FLOAT_VALUE, LENGTH, TUPLE_ITEMS

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val


def emit_same_attributes(m: Module) -> None:
    """same_attributes(one, other): 1 if two dicts have the same values by the same names, 0 if they
    have not, -1 with an error set."""
    _same_value(m)
    f = m.fn("same_attributes", [("ptr", "one"), ("ptr", "other")], "i64", "internal")
    one, other = f.args
    n = f.call("PyDict_Size", "i64", one)
    f.bail(f.cmp("ne", n, f.call("PyDict_Size", "i64", other)), "no")
    at, name, value = f.alloca("i64", 1), f.alloca("ptr", 1), f.alloca("ptr", 1)
    f.store(f.as_val(0, "i64"), at, 8)

    def pair(_: Val) -> None:
        f.bail(f.cmp("eq", f.call("PyDict_Next", "i32", one, at, name, value), 0), "no")
        theirs = f.call("PyDict_GetItem", "ptr", other, f.load("ptr", name, 8))
        f.bail(f.cmp("eq", theirs, 0), "no")
        same = f.call("same_value", "i64", f.load("ptr", value, 8), theirs)
        f.bail(f.cmp("slt", same, 0), "error")
        f.bail(f.cmp("eq", same, 0), "no")
    f.loop(0, n, 1, pair)
    _ends(f)


def _same_value(m: Module) -> None:
    """same_value(one, other): 1 if two values are the same, in type and to the bit, 0 if they are
    not, -1 with an error set. What has no type that is named here compares itself."""
    f = m.fn("same_value", [("ptr", "one"), ("ptr", "other")], "i64", "internal")
    g = Glue(f)
    one, other = f.args
    f.bail(g.same(one, other), "yes")
    kind = g.type_of(one)
    f.bail(f.cmp("ne", kind, g.type_of(other)), "no")
    f.bail(g.same(kind, address_of(f, "PyFloat_Type")), "float")
    f.bail(g.same(kind, address_of(f, "PyTuple_Type")), "tuple")
    equal = f.call("PyObject_RichCompareBool", "i32", one, other, f.as_val(2, "i32"))
    f.ret(f.conv("sext", equal, "i64"))
    f.label("float")
    bits, theirs = (g.ld(x, FLOAT_VALUE, "i64") for x in (one, other))
    f.cbr(f.cmp("eq", bits, theirs), "yes", "no")
    f.label("tuple")
    n = g.ld(one, LENGTH, "i64")
    f.bail(f.cmp("ne", n, g.ld(other, LENGTH, "i64")), "no")

    def item(i: Val) -> None:
        x, y = (word_at(f, f.bytes_at(t, TUPLE_ITEMS), i, "ptr") for t in (one, other))
        same = f.call("same_value", "i64", x, y)
        f.bail(f.cmp("slt", same, 0), "error")
        f.bail(f.cmp("eq", same, 0), "no")
    f.loop(0, n, 1, item)
    _ends(f)


def _ends(f: Fn) -> None:
    """The last blocks of either function: what falls through is the same."""
    f.br("yes")
    for label, said in (("yes", 1), ("no", 0), ("error", -1)):
        f.label(label)
        f.ret(f.as_val(said, "i64"))
