"""An index of many blocks: finds, by a fingerprint of the arguments, the blocks that expect such
arguments."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .object_access import Glue, address_of, word_at
from .op_layouts import MISS, A, T
from .python_layouts import LENGTH, TUPLE_ITEMS
from .traced_layouts import GOLDEN, TRIES, TURN, H

if TYPE_CHECKING:
    from ..builder import Fn, Module, Val


def mixed(f: Fn, h: Val, v: Val) -> Val:
    """A fingerprint extended by one word."""
    h = f.binary("mul", h ^ v, GOLDEN)
    return h ^ f.lshr(h, TURN)


def emit_finger(m: Module) -> None:
    """finger(h, object, type of tensors, do numbers count?): the fingerprint h, extended by the
    sizes of a tensor or a NumPy array, or by an int; other objects do not change it."""
    f = m.fn("finger", [("i64", "h"), ("ptr", "o"), ("ptr", "tensor"), ("i64", "numbers")], "i64",
             "internal")
    g = Glue(f)
    h, o, tensor, numbers = f.args
    t = g.type_of(o)

    def is_array(x: Val) -> Val:
        return g.same(g.type_of(x), address_of(f, "whet_ndarray"))

    def of_tensor() -> list[Val]:
        a = g.ld(o, T["array"])
        f.bail(g.null(a), "as_it_is")
        f.bail(f.binary("xor", is_array(a), 1), "as_it_is")
        return sizes(a)

    def sizes(a: Val) -> list[Val]:
        dims, nd = g.ld(a, A["dims"]), f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
        return f.loop(0, nd, 1, lambda d, h: [mixed(f, h, word_at(f, dims, d))], [mixed(f, h, nd)])

    def number() -> list[Val]:
        over = f.alloca("i32", 1)
        v = f.call("PyLong_AsLongLongAndOverflow", "i64", o, over)
        return [mixed(f, h, v)]
    counts = f.binary("and", g.same(t, address_of(f, "PyLong_Type")), f.cmp("ne", numbers, 0))
    h, = f.if_(g.same(t, tensor), of_tensor, lambda: f.if_(
        is_array(o), lambda: sizes(o), lambda: f.if_(counts, number, lambda: [f.args[0]])))
    f.ret(h)
    f.label("as_it_is")
    f.ret(f.args[0])


def emit_seek(m: Module) -> None:
    """seek(index, args, kwargs, always): as `enter`, with the blocks of an index that expect such
    arguments. A row of the index has a fingerprint and a block (0: none). It is an open hash table.
    Its flags: positions of ints that do not count."""
    f = m.fn("seek", [("ptr", "index"), ("ptr", "args"), ("ptr", "kw"), ("i64", "always")], "ptr",
             "internal")
    g = Glue(f)
    index, args, kw, always = f.args
    tensor, aside = g.ld(index, H["type"]), g.ld(index, H["flags"], "i64")

    def positional(i: Val, h: Val) -> list[Val]:
        counts = f.binary("and", f.lshr(aside, f.imin(i, 63)), 1) ^ 1
        x = word_at(f, f.bytes_at(args, TUPLE_ITEMS), i, "ptr")
        return [f.call("finger", "i64", h, x, tensor, counts)]
    h, = f.loop(0, g.ld(args, LENGTH, "i64"), 1, positional, [f.as_val(0, "i64")])
    at, key, value = (f.alloca("i64", 1) for _ in range(3))

    def named() -> list[Val]:
        f.store(f.as_val(0, "i64"), at)
        f.store(f.as_val(0, "i64"), key)
        f.store(f.as_val(0, "i64"), value)

        def item(_: Val, h: Val) -> list[Val]:
            f.call("PyDict_Next", "i32", kw, at, key, value)
            return [f.call("finger", "i64", h, f.load("ptr", value, 8), tensor, f.as_val(0, "i64"))]
        return f.loop(0, f.call("PyDict_Size", "i64", kw), 1, item, [h])
    h, = f.if_(g.null(kw), lambda: [h], named)
    mask, rows = g.ld(index, H["mask"], "i64"), f.bytes_at(index, g.ld(index, H["known_at"], "i64"))
    miss = g.ptr(f.as_val(MISS, "i64"))

    def there(i: Val, tries: Val, r: Val) -> Val:
        block = word_at(f, rows, ((i & mask) << 1) + 1)
        return f.binary("and", f.binary("and", f.cmp("ne", block, 0), f.cmp("slt", tries, TRIES)),
                        g.same(r, miss))

    def one(i: Val, tries: Val, r: Val) -> list[Val]:
        at = (i & mask) << 1
        return [i + 1, *f.if_(f.cmp("eq", word_at(f, rows, at), h),
                              lambda: [tries + 1,
                                       f.call("enter", "ptr", word_at(f, rows, at + 1, "ptr"), args,
                                              kw, always)], lambda: [tries, r])]
    _, _, r = f.while_(there, one, [f.lshr(h, 8), f.as_val(0, "i64"), miss])
    f.ret(r)
