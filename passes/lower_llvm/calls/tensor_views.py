"""Native entries that wrap tensors around arrays, and make views of tensors: by basic indices, by
`reshape`, by a layout."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import Val
from .object_access import Glue, address_of, thread_number
from .op_layouts import (
    GRAD,
    IN_INFERENCE,
    ONE_OF_SEVERAL,
    REQUIRES_GRAD,
    SPECIAL,
    VIEW_IN_NO_GRAD,
    VIEW_LIMITS,
    A,
    C,
    T,
)
from .python_layouts import DTYPE_SIZE, LENGTH, SLICE_START, SLICE_STEP, SLICE_STOP, TUPLE_ITEMS

if TYPE_CHECKING:
    from ..builder import Fn, Module


def around(m: Module) -> None:
    """around(array): a leaf around an array, whose reference it takes over; null with an error set,
    and the array released."""
    f = m.fn("around", [("ptr", "a")], "ptr", "internal")
    g = Glue(f)
    f.ret(g.new_tensor(f.args[0], "lost"))
    f.label("lost")
    g.dec(f.args[0])
    f.ret(Val(f, "null", "ptr"))


def window(f: Fn, g: Glue, arr: Val, descr: Val, nd: Val, dims: Val, strides: Val, offset: Val,
           fail: str) -> Val:
    """A new array on the memory of another, which begins `offset` bytes after its first element."""
    g.inc(descr)
    v = f.call("whet_NewFromDescr", "ptr", address_of(f, "whet_ndarray"), descr,
               f.conv("trunc", nd, "i32"), dims, strides, f.bytes_at(g.ld(arr, A["data"]), offset),
               g.ld(arr, A["flags"], "i32") & 0x400, f.as_val(0, "ptr"))
    f.bail(g.null(v), fail)
    g.inc(arr)
    f.call("whet_SetBaseObject", "i32", v, arr)
    return v


def share(f: Fn, g: Glue, src: Val, t: Val, fail: str) -> None:
    """Make the new tensor `t` a view of `src`: they share a version cell, and `t` follows the
    history of the base."""
    _share_cell(g, src, t, fail)
    _share_base(f, g, src, t)


def share_for_use(f: Fn, g: Glue, src: Val, t: Val, fail: str, flags: Val, unsafe: Val,
                  based: Val) -> None:
    """`share`, restricted by the thread's modes (`flags`). A view that is not `based` shares the
    version cell alone."""
    def base() -> None:
        bits = _share_base(f, g, src, t)
        silent = f.sel(f.cmp("eq", flags & GRAD, 0), VIEW_IN_NO_GRAD, f.as_val(0, "i64"))
        inference = g.ld(src, T["rg"], "i64") & flags & IN_INFERENCE
        several = f.sel(unsafe, ONE_OF_SEVERAL, f.as_val(0, "i64"))
        g.st(bits | silent | inference | several, t, T["rg"])
    _share_cell(g, src, t, fail)
    f.if_(based, base)


def _share_cell(g: Glue, src: Val, t: Val, fail: str) -> None:
    cell = g.cell_of(src, fail)
    g.inc(cell)
    g.st(cell, t, T["cell"])
    g.st(g.ld(cell, C["h"], "i64"), t, T["hist"])


def _share_base(f: Fn, g: Glue, src: Val, t: Val) -> Val:
    """Set the base; returns the bits that a view of a view inherits."""
    b = g.ld(src, T["base"])

    def inherit() -> list[Val]:
        g.inc(b)
        return [b, g.ld(src, T["rg"], "i64") & VIEW_LIMITS]

    def own() -> list[Val]:
        g.inc(src)
        return [src, f.as_val(0, "i64")]
    root, bits = f.if_(g.absent(b), own, inherit)
    g.st(root, t, T["base"])
    return bits


def emit_views(m: Module) -> None:
    """Views of a tensor when nothing is recorded: of an array (view_of), by basic indices
    (subscript), in another shape (reshape)."""
    _unrecorded(m)
    _view(m)
    _part(m)
    _view_of(m)
    _subscript(m)
    _reshape(m)


def _unrecorded(m: Module) -> None:
    """unrecorded(tensor): its array, if a view of it may be made here; else null"""
    f = m.fn("unrecorded", [("ptr", "o")], "ptr", "internal")
    g = Glue(f)
    o, = f.args
    t = g.type_of(o)
    f.bail(
        f.binary("xor", f.binary("or", g.same(t, g.ctx("tensor")), g.same(t, g.ctx("parameter"))),
                 1), "no")
    arr = g.ld(o, T["array"])
    f.bail(g.null(arr), "no")
    f.bail(f.cmp("ne", g.type_of(arr), address_of(f, "whet_ndarray")), "no")
    f.bail(f.cmp("ne", thread_number(f), g.ctx("thread", "i64")), "no")
    flags = g.ctx("flags", "i64")
    f.bail(f.cmp("ne", flags & SPECIAL, 0), "no")
    grad = f.cmp("ne", flags & GRAD, 0)
    rg = g.ld(o, T["rg"], "i64")
    f.bail(f.binary("and", grad, f.cmp("ne", rg & REQUIRES_GRAD, 0)), "no")
    f.bail(f.cmp("ne", g.inference_elsewhere(rg, flags), 0), "no")
    base = g.ld(o, T["base"])

    def fresh() -> None:
        f.bail(f.cmp("ne", g.ld(g.ld(o, T["cell"]), C["h"], "i64"), g.ld(o, T["hist"], "i64")),
               "no")
    f.if_(g.absent(base), lambda: [], fresh)
    f.ret(arr)
    f.label("no")
    f.ret(Val(f, "null", "ptr"))


def _view(m: Module) -> None:
    """view(tensor, array, modes): steals the array"""
    f = m.fn("view", [("ptr", "src"), ("ptr", "arr"), ("i64", "modes")], "ptr", "internal")
    g = Glue(f)
    src, arr, modes = f.args
    t = g.new_tensor(arr, "lost")
    share_for_use(f, g, src, t, "unwind", modes, f.as_val(0, "i1"), f.as_val(1, "i1"))
    f.ret(t)
    f.label("lost")
    g.dec(arr)
    f.br("error")
    f.label("unwind")
    g.dec(t)
    f.br("error")
    f.label("error")
    f.ret(Val(f, "null", "ptr"))


def _part(m: Module) -> None:
    """part(tensor, its array, nd, dims, strides, offset): the view with that layout, for a caller
    that `unrecorded` let pass"""
    f = m.fn("part", [("ptr", "src"), ("ptr", "arr"), ("i64", "nd"), ("ptr", "dims"),
                      ("ptr", "strides"), ("i64", "offset")], "ptr", "internal")
    g = Glue(f)
    src, arr, nd, dims, strides, offset = f.args
    v = window(f, g, arr, g.ld(arr, A["descr"]), nd, dims, strides, offset, "fail")
    f.ret(f.call("view", "ptr", src, v, g.ctx("flags", "i64")))
    f.label("fail")
    f.ret(Val(f, "null", "ptr"))


def _view_of(m: Module) -> None:
    f = m.fn("view_of", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
    g = Glue(f)
    src, arr = f.load("ptr", f.args[1], 8), f.load("ptr", f.at(f.args[1], 1, "i64"), 8)
    modes = g.modes("error")
    g.inc(arr)
    f.ret(f.call("view", "ptr", src, arr, modes))
    f.label("error")
    f.ret(Val(f, "null", "ptr"))


def _subscript(m: Module) -> None:
    """tensor[key] for ints, slices without a step, None and Ellipsis; the Python function handles
    anything else."""
    f = m.fn("subscript", [("ptr", "o"), ("ptr", "key")], "ptr")
    subscript = Subscript(f)
    subscript.begin()
    subscript.count()
    subscript.part()
    subscript.ways_out()


class Subscript:
    """The code that makes a view by basic indices: `dims` and `strides` become those of the
    view."""

    def __init__(self, f: Fn) -> None:
        self.f, self.g = f, Glue(f)
        self.tensor, self.key = f.args
        self.dims, self.strides, self.one, self.box = (f.alloca("i64", n) for n in (64, 64, 1, 2))

    def word(self, p: Val, i: Val, ty: str = "i64") -> Val:
        """A word of a table."""
        return self.f.load(ty, self.f.at(p, i, "i64"), 8)

    def put(self, p: Val, i: int | Val, v: Val) -> None:
        """Write a word of a table."""
        self.f.store(v, self.f.at(p, i, "i64"), 8)

    def begin(self) -> None:
        """The array, and the indices of a tuple."""
        f, g, key = self.f, self.g, self.key
        self.array = arr = f.call("unrecorded", "ptr", self.tensor)
        f.bail(g.null(arr), "slow")
        self.nd = f.conv("zext", g.ld(arr, A["nd"], "i32"), "i64")
        self.old_dims, self.old_strides = g.ld(arr, A["dims"]), g.ld(arr, A["strides"])
        f.store(key, self.one, 8)
        is_tuple = g.same(g.type_of(key), address_of(f, "PyTuple_Type"))
        self.items, self.n = f.if_(
            is_tuple, lambda: [f.bytes_at(key, TUPLE_ITEMS),
                               g.ld(key, LENGTH, "i64")],
            lambda: [f.bytes_at(self.one, 0), f.as_val(1, "i64")])
        f.bail(f.cmp("sgt", self.n, 16), "slow")
        f.bail(f.cmp("sgt", self.nd, 32), "slow")
        self.none, self.dots = address_of(f, "_Py_NoneStruct"), address_of(f, "_Py_EllipsisObject")

    def count(self) -> None:
        """Count the dimensions that are indexed. Only the four kinds of index may occur."""
        f = self.f
        self.named, ellipses = f.loop(0, self.n, 1, self.kind,
                                      [f.as_val(0, "i64"), f.as_val(0, "i64")])
        f.bail(f.cmp("sgt", self.named, self.nd), "slow")
        f.bail(f.cmp("sgt", ellipses, 1), "slow")

    def kind(self, i: Val, named: Val, ellipses: Val) -> list[Val]:
        """Classify one index."""
        f, g = self.f, self.g
        x = self.word(self.items, i, "ptr")
        t = g.type_of(x)
        is_dim = f.binary("or", g.same(t, address_of(f, "PyLong_Type")),
                          g.same(t, address_of(f, "PySlice_Type")))
        is_dots = g.same(x, self.dots)
        known = f.binary("or", f.binary("or", is_dim, is_dots), g.same(x, self.none))
        f.bail(f.binary("xor", known, 1), "slow")
        return [named + f.conv("zext", is_dim, "i64"), ellipses + f.conv("zext", is_dots, "i64")]

    def part(self) -> None:
        """The view: the dimensions that the indices leave, then those without an index."""
        f = self.f
        zero = f.as_val(0, "i64")
        d, out, offset = f.loop(0, self.n, 1, self.each, [zero, zero, zero])
        d, out = self.copy(d, out, self.nd - d)
        f.ret(f.call("part", "ptr", self.tensor, self.array, out, self.dims, self.strides, offset))

    def each(self, i: Val, d: Val, out: Val, offset: Val) -> list[Val]:
        """One index, at dimension `d`; returns the next dimension, the next one of the view, and
        the offset."""
        f, g = self.f, self.g
        x = self.word(self.items, i, "ptr")
        t = g.type_of(x)

        def axis() -> list[Val]:
            self.put(self.dims, out, f.as_val(1, "i64"))
            self.put(self.strides, out, f.as_val(0, "i64"))
            return [d, out + 1, offset]

        def skip() -> list[Val]:
            d2, out2 = self.copy(d, out, self.nd - self.named)
            return [d2, out2, offset]

        def no_number() -> list[Val]:
            return f.if_(g.same(t, address_of(f, "PySlice_Type")),
                         lambda: self.slice(x, d, out, offset),
                         lambda: f.if_(g.same(x, self.none), axis, skip))

        return f.if_(g.same(t, address_of(f, "PyLong_Type")),
                     lambda: self.number(x, d, out, offset), no_number)

    def number(self, x: Val, d: Val, out: Val, offset: Val) -> list[Val]:
        """An int removes its dimension."""
        f = self.f
        v = self.integer(x)
        size = self.word(self.old_dims, d)
        v = f.sel(f.cmp("slt", v, 0), v + size, v)
        f.bail(f.binary("or", f.cmp("slt", v, 0), f.cmp("sge", v, size)), "slow")
        return [d + 1, out, offset + v * self.word(self.old_strides, d)]

    def slice(self, x: Val, d: Val, out: Val, offset: Val) -> list[Val]:
        """A slice without a step. An empty one keeps the offset, as in NumPy."""
        f, g = self.f, self.g
        f.bail(f.binary("xor", g.same(g.ld(x, SLICE_STEP), self.none), 1), "slow")
        size, step = self.word(self.old_dims, d), self.word(self.old_strides, d)
        lo = self.bound(g.ld(x, SLICE_START), size, f.as_val(0, "i64"))
        hi = self.bound(g.ld(x, SLICE_STOP), size, size)
        self.put(self.dims, out, f.imax(hi - lo, 0))
        self.put(self.strides, out, step)
        return [d + 1, out + 1, offset + f.sel(f.cmp("sgt", hi, lo), lo * step, 0)]

    def bound(self, x: Val, size: Val, default: Val) -> Val:
        """A bound of a slice, clipped to the size."""
        f, g = self.f, self.g

        def stated() -> list[Val]:
            f.bail(f.cmp("ne", g.type_of(x), address_of(f, "PyLong_Type")), "slow")
            v = self.integer(x)
            v = f.sel(f.cmp("slt", v, 0), v + size, v)
            return [f.imin(f.imax(v, 0), size)]
        return f.if_(g.same(x, self.none), lambda: [default], stated)[0]

    def integer(self, x: Val) -> Val:
        """An exact int as i64; leaves for the slow path if it does not fit."""
        f = self.f
        v = f.call("PyLong_AsSsize_t", "i64", x)

        def failed() -> None:
            f.bail(f.cmp("ne", f.call("PyErr_Occurred", "ptr"), 0), "unset")
        f.if_(f.cmp("eq", v, -1), failed)
        return v

    def copy(self, d: Val, out: Val, times: Val) -> list[Val]:
        """Copy this many dimensions."""
        def one_dim(k: Val, d: Val, out: Val) -> list[Val]:
            self.put(self.dims, out, self.word(self.old_dims, d))
            self.put(self.strides, out, self.word(self.old_strides, d))
            return [d + 1, out + 1]
        return self.f.loop(0, times, 1, one_dim, [d, out])

    def ways_out(self) -> None:
        """Leave everything else to the Python function."""
        f = self.f
        f.label("unset")
        f.call("PyErr_Clear", "void")
        f.br("slow")
        f.label("slow")
        f.store(self.tensor, self.box, 8)
        self.put(self.box, 1, self.key)
        f.ret(
            f.call("PyObject_Vectorcall", "ptr", self.g.ctx("getitem"), self.box,
                   f.as_val(2, "i64"), Val(f, "null", "ptr")))


def _reshape(m: Module) -> None:
    """tensor.reshape(2, 3) of row-major memory to sizes that fit (one may be -1); the Python
    function handles anything else."""
    f = m.fn("reshape", [("ptr", "o"), ("ptr", "argv"), ("i64", "n"), ("ptr", "kw")], "ptr")
    reshape = Reshape(f)
    reshape.sizes(reshape.elements())
    reshape.row_major()
    reshape.ways_out()


class Reshape:
    """The code of a call of `reshape`: from the requested sizes to a view."""

    def __init__(self, f: Fn) -> None:
        self.f, self.g = f, Glue(f)
        self.tensor, self.argv, self.n, self.kw = f.args
        self.dims, self.strides = f.alloca("i64", 32), f.alloca("i64", 32)
        self.box = f.alloca("i64", 34)
        f.bail(f.cmp("ne", self.kw, 0), "slow")
        f.bail(f.cmp("sgt", self.n, 32), "slow")
        f.bail(f.cmp("slt", self.n, 1), "slow")
        self.array = f.call("unrecorded", "ptr", self.tensor)
        f.bail(self.g.null(self.array), "slow")

    def word(self, p: Val, i: Val, ty: str = "i64") -> Val:
        return self.f.load(ty, self.f.at(p, i, "i64"), 8)

    def elements(self) -> Val:
        """The number of the array's elements, at least one."""
        f, g = self.f, self.g
        f.bail(f.cmp("eq", g.ld(self.array, A["flags"], "i32") & 1, 0), "slow")
        nd = f.conv("zext", g.ld(self.array, A["nd"], "i32"), "i64")
        dims = g.ld(self.array, A["dims"])
        total, = f.loop(0, nd, 1, lambda d, s: [f.binary("mul", s, self.word(dims, d))],
                        [f.as_val(1, "i64")])
        f.bail(f.cmp("eq", total, 0), "slow")
        return total

    def sizes(self, total: Val) -> None:
        """The sizes as numbers; a -1 is computed from the others."""
        f, g = self.f, self.g

        def size(i: Val, product: Val, unknown: Val) -> list[Val]:
            x = self.word(self.argv, i, "ptr")
            f.bail(f.cmp("ne", g.type_of(x), address_of(f, "PyLong_Type")), "slow")
            v = f.call("PyLong_AsSsize_t", "i64", x)
            f.bail(f.cmp("slt", v, -1), "slow")
            f.bail(f.cmp("eq", v, 0), "slow")
            f.bail(f.cmp("sgt", v, total), "slow")

            def minus() -> list[Val]:
                f.bail(f.cmp("ne", f.call("PyErr_Occurred", "ptr"), 0), "unset")
                f.bail(f.cmp("sge", unknown, 0), "slow")
                return [product, i]
            p, u = f.if_(f.cmp("eq", v, -1), minus, lambda: [f.binary("mul", product, v), unknown])
            f.bail(f.cmp("sgt", p, total), "slow")
            f.store(v, f.at(self.dims, i, "i64"), 8)
            return [p, u]
        product, unknown = f.loop(0, self.n, 1, size, [f.as_val(1, "i64"), f.as_val(-1, "i64")])

        def infer() -> None:
            f.bail(f.cmp("ne", f.srem(total, product), 0), "slow")
            f.store(f.sdiv(total, product), f.at(self.dims, unknown, "i64"), 8)
        f.if_(f.cmp("sge", unknown, 0), infer, lambda: f.bail(f.cmp("ne", product, total), "slow"))

    def row_major(self) -> None:
        """The view, with the strides of its sizes in C order."""
        f, g = self.f, self.g
        unit = g.ld(g.ld(self.array, A["descr"]), DTYPE_SIZE, "i64")

        def stride(k: Val, step: Val) -> list[Val]:
            i = self.n - 1 - k
            f.store(step, f.at(self.strides, i, "i64"), 8)
            return [f.binary("mul", step, self.word(self.dims, i))]
        f.loop(0, self.n, 1, stride, [unit])
        f.ret(f.call("part", "ptr", self.tensor, self.array, self.n, self.dims, self.strides,
                     f.as_val(0, "i64")))

    def ways_out(self) -> None:
        """Leave everything else to the Python function."""
        f, n = self.f, self.n
        f.label("unset")
        f.call("PyErr_Clear", "void")
        f.br("slow")
        f.label("slow")
        f.bail(f.cmp("sgt", n, 32), "many")
        f.store(self.tensor, self.box, 8)
        names, = f.if_(f.cmp("ne", self.kw, 0), lambda: [f.call("PyTuple_Size", "i64", self.kw)],
                       lambda: [f.as_val(0, "i64")])
        f.loop(0, n + names, 1, lambda i: f.store(self.word(self.argv, i, "ptr"),
                                                  f.at(self.box, i + 1, "i64"), 8))
        f.ret(f.call("PyObject_Vectorcall", "ptr", self.g.ctx("reshape"), self.box, n + 1, self.kw))
        f.label("many")
        f.call("PyErr_SetString", "void", f.load("ptr", address_of(f, "PyExc_TypeError")),
               Val(f, "@too_many", "ptr"))
        f.ret(Val(f, "null", "ptr"))
