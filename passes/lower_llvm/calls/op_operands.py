"""The operands of an op's call, in machine code: inspects and hashes them, and finds the recipe
recorded for operands like these."""
from __future__ import annotations

from collections.abc import Callable

from ..builder import Fn, Number, Val
from .object_access import Glue, address_of
from .op_layouts import (
    BUCKETS,
    BY_VALUE,
    COMPLEX,
    CORE_ARGUMENTS,
    CTX,
    ELSEWHERE,
    FLOAT,
    INFERENCE,
    INT,
    LISTENED,
    MAX_DIMS,
    MAX_IN,
    MAX_OUT,
    MAX_SLOTS,
    NO_OPERAND,
    NOTHING,
    NUMBER_WORDS,
    OPERAND,
    REQUIRES_GRAD,
    SIZED_BUCKETS,
    SPECIAL,
    TENSOR,
    TIMED,
    WRITES,
    A,
    C,
    R,
    T,
)
from .python_layouts import FLOAT_VALUE, LENGTH, TUPLE_ITEMS

EXACT = 9007199254740992.0  # ints below are exact as doubles


class Call:
    """The values of one call of `make`, which all of its phases read and write.

    `arrays`, `numbers` and `kinds` describe the operands. For arrays, `types` and `ranks` have the
    dtype and the number of dimensions; for one on a device, the number of its layout and ELSEWHERE.
    `outs` has the results' arrays, then the tensors around them. The first `made` of them are
    released if the call fails."""

    def __init__(self, f: Fn) -> None:
        self.f, self.g = f, Glue(f)
        self.op, self.ins, self.n, self.attrs, self.writer, self.used = f.args
        self.writing = f.cmp("ne", self.writer, 0)
        self.arrays = f.alloca("i64", MAX_IN + 1)    # the last is for an attribute, see `resize`
        self.numbers = f.alloca("double", NUMBER_WORDS * MAX_IN)
        self.kinds, self.typed = (f.alloca("i64", n) for n in (MAX_IN, NUMBER_WORDS * MAX_IN))
        self.types, self.ranks = f.alloca("i64", MAX_IN), f.alloca("i64", MAX_IN)
        self.slots, self.outs = f.alloca("i64", MAX_SLOTS), f.alloca("i64", MAX_OUT)
        self.wants, self.verdict, self.made = (f.alloca("i64", 1) for _ in range(3))
        self.room, self.over = f.alloca("ptr", 1), f.alloca("i32", 1)

    def word(self, p: Val, i: Val | int, ty: str = "i64") -> Val:
        """A word of a table."""
        return self.f.load(ty, self.f.at(p, i, "i64"))

    def put(self, p: Val, i: Val | int, v: Val) -> None:
        """Write a word of a table."""
        self.f.store(v, self.f.at(p, i, "i64"))

    def is_tensor(self, i: Val | int) -> Val:
        """Is an operand a tensor?"""
        return self.f.cmp("eq", self.word(self.kinds, i), TENSOR)

    def modes(self) -> None:
        """The thread's modes; leaves for Python in a mode that recipes do not support."""
        f, g = self.f, self.g
        self.flags = g.modes("error")
        n = self.n
        (self.n,) = f.if_(f.cmp("ne", self.flags & (SPECIAL | LISTENED), 0), self.watched,
                          lambda: [n])
        f.bail(self.writing & f.cmp("ne", self.flags & INFERENCE, 0), "miss")
        f.bail(f.cmp("sgt", self.n, MAX_IN), "miss")
        f.store(f.as_val(0, "i64"), self.wants)

    def watched(self) -> list[Val]:
        """Leaves for Python, which shows the call to somebody, or for a profiler's log unless the
        call came from there. Returns the number of operands."""
        f = self.f
        f.bail(f.cmp("ne", self.flags & SPECIAL, 0), "miss")
        f.bail(f.cmp("eq", self.n & TIMED, 0), "listened")
        return [self.n ^ TIMED]

    def way_to_log(self) -> None:
        """The target for which a call leaves that a profiler notes."""
        f = self.f
        f.label("listened")
        f.ret(f.call("listened", "ptr", *f.args[:len(CORE_ARGUMENTS)]))


def mix(f: Fn, h: Val, x: Val | int) -> Val:
    """A hash extended by one word."""
    h = f.binary("mul", f.binary("xor", h, x), -7046029254386353131)
    return h ^ f.lshr(h, 29)


class Operands:
    """The code that inspects each operand, notes its kind, and hashes everything on which recipes
    depend."""

    def __init__(self, call: Call) -> None:
        self.call, self.f, self.g = call, call.f, call.g
        self.tensor_type, self.parameter_type = self.g.ctx("tensor"), self.g.ctx("parameter")

    def hash(self) -> Val:
        """The loop over the operands; returns the hash."""
        c, f = self.call, self.f
        start = mix(f, self.g.i64(c.op), c.n)
        return f.loop(0, c.n, 1, self.operand, [start])[0]

    def operand(self, i: Val, h: Val) -> list[Val]:
        """One operand: a tensor, or something else."""
        f, g = self.f, self.g
        o = self.call.word(self.call.ins, i, "ptr")
        t = g.type_of(o)
        is_tensor = f.binary("or", g.same(t, self.tensor_type), g.same(t, self.parameter_type))
        return f.if_(is_tensor, lambda: self.tensor(i, o, h), lambda: self.other(i, o, t, h))

    def tensor(self, i: Val, o: Val, h: Val) -> list[Val]:
        """A tensor with a current history: the layout of its array is hashed."""
        c, f, g = self.call, self.f, self.g
        a = g.ld(o, T["array"])
        f.bail(g.null(a), "miss")
        base = g.ld(o, T["base"])
        f.if_(g.absent(base), lambda: [], lambda: self.current(o))
        rg = g.ld(o, T["rg"], "i64")
        f.bail(f.cmp("ne", g.inference_elsewhere(rg, c.flags), 0), "miss")
        f.store(f.load("i64", c.wants) | ((rg & REQUIRES_GRAD) << i), c.wants)
        c.put(c.arrays, i, a)
        c.put(c.kinds, i, f.as_val(TENSOR, "i64"))
        here = g.same(g.type_of(a), address_of(f, "whet_ndarray"))
        return f.if_(here, lambda: self.here(i, a, h), lambda: self.elsewhere(i, a, h))

    def typed(self, i: Val, descr: Val, nd: Val, h: Val) -> Val:
        """Note and hash an array's dtype and number of dimensions."""
        self.call.put(self.call.types, i, descr)
        self.call.put(self.call.ranks, i, nd)
        return mix(self.f, h, descr + nd)

    def here(self, i: Val, a: Val, h: Val) -> list[Val]:
        """An array in the host's memory: dtype, sizes and strides are hashed."""
        c, f, g = self.call, self.f, self.g
        nd = f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")
        f.bail(f.cmp("sgt", nd, MAX_DIMS), "miss")
        f.bail(f.cmp("eq", g.ld(a, A["flags"], "i32") & 0x100, 0), "miss")
        dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
        x = self.typed(i, g.i64(g.ld(a, A["descr"])), nd, h)
        return f.loop(
            0, nd, 1, lambda d, x: [mix(f, mix(f, x, c.word(dims, d)), c.word(strides, d))], [x]
        )

    def elsewhere(self, i: Val, a: Val, h: Val) -> list[Val]:
        """An array on a device: a unique object identifies its layout."""
        f, g = self.f, self.g
        f.bail(f.cmp("ne", g.type_of(a), g.ctx("elsewhere")), "miss")
        kind = g.ld(a, g.ctx("kind_at", "i64"))
        f.bail(g.absent(kind), "miss")
        return [self.typed(i, g.i64(kind), f.as_val(ELSEWHERE, "i64"), h)]

    def current(self, o: Val) -> None:
        """Leave for Python if a view's base has a newer history."""
        f, g = self.f, self.g
        now = g.ld(g.ld(o, T["cell"]), C["h"], "i64")
        f.bail(f.cmp("ne", now, g.ld(o, T["hist"], "i64")), "miss")

    def other(self, i: Val, o: Val, t: Val, h: Val) -> list[Val]:
        """A number or None; its value is not hashed."""
        f, g = self.f, self.g
        return f.if_(
            g.same(t, address_of(f, "PyFloat_Type")),
            lambda: self.real(i, o, h),
            lambda: f.if_(
                g.same(t, address_of(f, "PyLong_Type")),
                lambda: self.whole(i, o, h),
                lambda: f.if_(
                    g.same(t, address_of(f, "PyComplex_Type")),
                    lambda: self.complex_(i, o, h),
                    lambda: self.nothing(i, o, h),
                ),
            ),
        )

    def number(self, i: Val, kind: int, h: Val, real: Val, imag: Number = 0.0) -> list[Val]:
        """A number of a kind."""
        c, f = self.call, self.f
        for k, x in enumerate((real, imag)):
            place = f.at(c.numbers, i * NUMBER_WORDS + k, "double")
            f.store(f.as_val(x, "double"), place)
        c.put(c.kinds, i, f.as_val(kind, "i64"))
        return [mix(f, h, kind)]

    def complex_(self, i: Val, o: Val, h: Val) -> list[Val]:
        """A complex number."""
        parts = (self.f.call(f"PyComplex_{part}AsDouble", "double", o) for part in ("Real", "Imag"))
        return self.number(i, COMPLEX, h, *parts)

    def real(self, i: Val, o: Val, h: Val) -> list[Val]:
        """A float."""
        return self.number(i, FLOAT, h, self.g.ld(o, FLOAT_VALUE, "double"))

    def whole(self, i: Val, o: Val, h: Val) -> list[Val]:
        """An int that a double represents exactly."""
        f = self.f
        v = f.call("PyLong_AsDouble", "double", o)
        size = f.fabs(v)
        f.bail(f.binary("xor", f.cmp("olt", size, EXACT), 1), "unset")

        def failed() -> None:
            f.bail(f.cmp("ne", f.call("PyErr_Occurred", "ptr"), 0), "unset")

        f.if_(f.cmp("oeq", v, -1.0), failed)
        return self.number(i, INT, h, v)

    def nothing(self, i: Val, o: Val, h: Val) -> list[Val]:
        """None; anything else is left to Python."""
        c, f = self.call, self.f
        f.bail(f.cmp("ne", o, address_of(f, "_Py_NoneStruct")), "miss")
        c.put(c.kinds, i, f.as_val(NOTHING, "i64"))
        return [mix(f, h, NO_OPERAND)]


class SizelessHash:
    """The code that hashes the operands without their sizes, to find recipes for many sizes.
    `Operands` has inspected them."""

    def __init__(self, call: Call) -> None:
        self.call, self.f, self.g = call, call.f, call.g

    def hash(self) -> Val:
        """The loop over the operands."""
        c, f = self.call, self.f
        start = mix(f, self.g.i64(c.op), c.n)
        return f.loop(0, c.n, 1, self.operand, [start])[0]

    def operand(self, i: Val, h: Val) -> list[Val]:
        """One operand; its type is hashed as `Operands` does."""
        c, f = self.call, self.f

        def tensor() -> list[Val]:
            return [c.word(c.types, i) + c.word(c.ranks, i)]
        kind = c.word(c.kinds, i)
        (word,) = f.if_(c.is_tensor(i), tensor,
                        lambda: [f.sel(f.cmp("eq", kind, NOTHING), NO_OPERAND, kind)])
        return [mix(f, h, word)]


class RecipeSearch:
    """The code that searches a bucket for the recipe of this call."""

    def __init__(self, call: Call, h: Val) -> None:
        self.call, self.f, self.g, self.h = call, call.f, call.g, h

    def find(self) -> Val:
        """Find the recipe; leaves for Python if there is none."""
        exact = self.chain("exact", "table", BUCKETS, self.is_exact)
        end = self.f.block
        self.f.br("found")
        self.f.label("exact_none")
        self.h = SizelessHash(self.call).hash()
        sized = self.chain("sized", "sized", SIZED_BUCKETS, self.is_resized)
        self.g.st(self.f.as_val(1, "i64"), sized, R["busy"])
        self.f.store(sized, self.call.used)
        self.f.br("found")
        sized_end = self.f.block
        self.f.label("sized_none")
        self.f.br("miss")
        self.f.label("found")
        return self.f.v("ptr", f"phi ptr [{exact.ref}, %{end}], [{sized.ref}, %{sized_end}]")

    def chain(self, name: str, table: str, buckets: int, fits: Callable[[str], None]) -> Val:
        """The loop over a chain. It ends with a recipe that fits, or continues at a label if none
        does. `fits(label)` leaves for a label if a recipe does not fit."""
        f, g, h = self.f, self.g, self.h
        first = g.ld(f.bytes_at(address_of(f, "whet_ctx"), CTX[table]), (h & (buckets - 1)) << 3)
        f.br(f"{name}_in")
        f.label(f"{name}_in")
        before = f.block
        f.br(f"{name}_chain")
        f.label(f"{name}_chain")
        at = len(f.lines)
        f.lines.append("")
        self.r = r = Val(f, f.new(), "ptr")
        f.bail(g.null(r), f"{name}_none")
        fits(f"{name}_next")
        f.br(f"{name}_found")
        f.label(f"{name}_next")
        follow = g.ld(r, R["next"])
        f.br(f"{name}_chain")
        f.lines[at] = f" {r.ref} = phi ptr [{first.ref}, %{before}], [{follow.ref}, %{name}_next]"
        f.label(f"{name}_found")
        return r

    def is_of_op(self, other: str) -> None:
        """Does a recipe have this op and this hash?"""
        c, f, g = self.call, self.f, self.g
        f.bail(f.cmp("ne", g.ld(self.r, R["hash"], "i64"), self.h), other)
        f.bail(f.cmp("ne", g.ld(self.r, R["op"]), c.op), other)
        f.bail(f.cmp("ne", g.ld(self.r, R["nin"], "i64"), c.n), other)

    def is_exact(self, other: str) -> None:
        """Does a recipe match these operands and attributes? A plan of a device must also match in
        whether the call is in place."""
        f, g = self.f, self.g
        self.is_of_op(other)
        in_place = f.cmp("ne", g.ld(self.r, R["flags"], "i64") & WRITES, 0)
        planned = f.cmp("ne", g.ld(self.r, R["plan"], "i64"), 0)
        f.bail(planned & f.cmp("ne", in_place, self.call.writing), other)
        self.operands_match(other)
        self.f.bail(self.f.binary("xor", self.equal_attributes(), 1), other)

    def is_resized(self, other: str) -> None:
        """Does a recipe for many sizes match these operands and attributes? It is resized to this
        call first."""
        c, f, g = self.call, self.f, self.g
        self.is_of_op(other)
        f.bail(f.cmp("ne", g.ld(self.r, R["busy"], "i64"), 0), other)
        (ok,) = f.loop(0, c.n, 1, self.is_alike, [f.as_val(1, "i1")])
        f.bail(f.binary("xor", ok, 1), other)
        nsizes = g.ld(self.r, R["nsizes"], "i64")
        (size,) = f.if_(f.cmp("eq", nsizes, 0), lambda: [self.none_of(self.equal_attributes())],
                        lambda: [self.size_attribute(nsizes)])
        f.bail(g.null(size), other)
        c.put(c.arrays, MAX_IN, size)
        f.bail(f.cmp("eq", f.call("resize", "i64", self.r, c.arrays), 0), other)
        self.operands_match(other)
        (differs,) = f.loop(0, nsizes, 1, lambda i, d: self.differs(i, size, d),
                            [f.as_val(0, "i64")])
        f.bail(f.cmp("ne", differs, 0), other)

    def none_of(self, so: Val) -> Val:
        """A value that is not null if the condition holds."""
        return self.f.sel(so, address_of(self.f, "_Py_NoneStruct"), Val(self.f, "null", "ptr"))

    def size_attribute(self, count: Val) -> Val:
        """The tuple of `count` numbers that is the only attribute, `size`; null if it is not
        that."""
        f, g, attrs = self.f, self.g, self.call.attrs
        nothing = Val(f, "null", "ptr")

        def item() -> list[Val]:
            return [f.call("PyDict_GetItem", "ptr", attrs, g.ctx("size"))]
        alone = f.cmp("eq", f.call("PyDict_Size", "i64", attrs), 1)
        (found,) = f.if_(alone, item, lambda: [nothing])

        def many() -> list[Val]:
            fits = f.cmp("eq", g.ld(found, LENGTH, "i64"), count)
            return [f.sel(fits, found, nothing)]

        def typed() -> list[Val]:
            is_tuple = g.same(g.type_of(found), address_of(f, "PyTuple_Type"))
            return f.if_(is_tuple, many, lambda: [nothing])
        return f.if_(g.null(found), lambda: [nothing], typed)[0]

    def differs(self, i: Val, size: Val, before: Val) -> list[Val]:
        """Bits that are set if a number of the attribute differs from the recipe's."""
        c, f = self.call, self.f
        x = c.word(f.bytes_at(size, TUPLE_ITEMS), i, "ptr")
        wanted = c.word(f.bytes_at(self.r, R["sizes"]), i)

        def value() -> list[Val]:
            return [f.call("PyLong_AsLongLongAndOverflow", "i64", x, c.over) ^ wanted]
        return [before | f.if_(self.g.same(self.g.type_of(x), address_of(f, "PyLong_Type")), value,
                               lambda: [f.as_val(1, "i64")])[0]]

    def operands_match(self, other: str) -> None:
        """Do all operands match the recipe?"""
        f = self.f
        (ok,) = f.loop(0, self.call.n, 1, self.matches, [f.as_val(1, "i1")])
        f.bail(f.binary("xor", ok, 1), other)

    def is_alike(self, i: Val, ok: Val) -> list[Val]:
        """Does operand `i` have the recipe's kind and, if it is a tensor, its type?"""
        c, f = self.call, self.f
        q = f.bytes_at(f.bytes_at(self.r, R["operands"]), i * OPERAND)

        def tensor() -> list[Val]:
            return [f.cmp("eq", c.word(q, 1), c.word(c.types, i))
                    & f.cmp("eq", c.word(q, 2), c.word(c.ranks, i))]
        same = f.cmp("eq", c.word(q, 0), c.word(c.kinds, i))
        (typed,) = f.if_(c.is_tensor(i), tensor, lambda: [f.as_val(1, "i1")])
        return [ok & same & typed]

    def matches(self, i: Val, ok: Val) -> list[Val]:
        """Does operand `i` match the recipe?"""
        c, f = self.call, self.f
        q = f.bytes_at(f.bytes_at(self.r, R["operands"]), i * OPERAND)
        kind, mine = c.word(q, 0), c.word(c.kinds, i)
        both = f.binary("and", f.cmp("eq", kind, TENSOR), f.cmp("eq", mine, TENSOR))
        (good,) = f.if_(
            both, lambda: self.same_layout(i, q), lambda: self.same_number(i, q, kind, mine)
        )
        return [f.binary("and", ok, good)]

    def same_layout(self, i: Val, q: Val) -> list[Val]:
        """Compare a tensor: dtype, sizes and strides; on a device, the number of its layout."""
        c, f, g = self.call, self.f, self.g
        a, nd = c.word(c.arrays, i, "ptr"), c.word(c.ranks, i)
        bad = f.binary(
            "or",
            f.cmp("ne", c.word(q, 1), c.word(c.types, i)),
            f.cmp("ne", c.word(q, 2), nd),
        )

        def different() -> list[Val]:
            dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])

            def dim(d: Val, x: Val) -> list[Val]:
                x = x | (c.word(dims, d) ^ c.word(q, d + 3))
                return [x | (c.word(strides, d) ^ c.word(q, d + (3 + MAX_DIMS)))]
            return f.loop(0, nd, 1, dim, [f.as_val(0, "i64")])

        known = bad | f.cmp("eq", nd, ELSEWHERE)
        (diff,) = f.if_(known, lambda: [f.as_val(0, "i64")], different)
        return [f.binary("and", f.binary("xor", bad, 1), f.cmp("eq", diff, 0))]

    def same_number(self, i: Val, q: Val, kind: Val, mine: Val) -> list[Val]:
        """Compare an operand that is not a tensor: its kind, and its value if the recipe depends on
        it."""
        c, f = self.call, self.f
        same = f.cmp("eq", kind, mine)
        bits = f.cmp("eq", c.word(q, 1), c.word(c.numbers, i * NUMBER_WORDS))
        by_value = f.cmp("ne", self.g.ld(self.r, R["flags"], "i64") & BY_VALUE, 0)
        is_number = f.cmp("ne", kind, NOTHING)
        any_value = f.binary("xor", f.binary("and", by_value, is_number), 1)
        return [f.binary("and", same, f.binary("or", bits, any_value))]

    def equal_attributes(self) -> Val:
        """Are the op's attributes the same as the recipe's, in type and to the bit?"""
        f, g, attrs = self.f, self.g, self.call.attrs
        theirs = g.ld(self.r, R["attrs"])

        def compare() -> list[Val]:
            e = f.call("same_attributes", "i64", attrs, theirs)
            f.bail(f.cmp("slt", e, 0), "error")
            return [f.cmp("eq", e, 1)]

        return f.if_(g.same(attrs, theirs), lambda: [f.as_val(1, "i1")], compare)[0]
