"""The machine that resizes a block: it computes the words that depend on sizes, in the block's rows
and in its list of launches, and writes them. Blocks are those of traced calls, recipes of ops, and
programs for many sizes (`sized_memory.py`).

A block for many sizes has *code*. It consists of a head (`CODE`), the object and the dimension of
each symbol's value, the current values, registers, and steps of four words each. A step has an
operation, the register of its result, and two operands. The first registers are the symbols; others
are constants. All conditions on sizes are checked before the first word is written, so a block is
always for one consistent set of sizes. `size_code.py` writes the code."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .object_access import Glue, address_of, put_word, word_at
from .op_layouts import MAX_DIMS, MAX_IN, OPERAND_BITS, A, R, T
from .python_layouts import TUPLE_ITEMS
from .traced_index import mixed
from .traced_layouts import CODE, LEAST_SIZE, STEP_WORDS, Do, H

if TYPE_CHECKING:
    from ..builder import Module, Val


def emit_resize(m: Module) -> None:
    """resize(block, objects): resize a block to the objects of a call. 0 if it is not for such
    sizes, or if another thread uses its words."""
    ResizingOfCall(m, "objects").emit()


def emit_resize_recipe(m: Module) -> None:
    """resize(recipe, arrays): resize an op's recipe to its operands' arrays. The attribute `size`
    comes after the arrays."""
    ResizingOfRecipe(m, "arrays").emit()


class Resizing:
    """The code of a function `resize`. Subclasses know where symbols are found, and whether the
    words are in use."""

    HEAD: dict[str, int]         # where a block's words are

    def __init__(self, m: Module, argument: str) -> None:
        f = m.fn("resize", [("ptr", "block"), ("ptr", argument)], "i64", "internal", "noinline")
        self.f, self.g = f, Glue(f)
        self.block, self.args = f.args
        self.over = f.alloca("i32", 1)
        self.code = self.g.ld(self.block, self.HEAD["code"])
        self.registers, self.now = self.part("registers_at"), self.part("now_at")

    def word(self, name: str, ty: str = "i64") -> Val:
        """A word of the code's head."""
        return self.g.ld(self.code, CODE[name], ty)

    def part(self, name: str) -> Val:
        """The address of a part of the code."""
        return self.f.bytes_at(self.code, self.word(name))

    def must_not(self, bad: Val) -> None:
        """Leave if a condition holds."""
        self.f.bail(bad, "no")

    def emit(self) -> None:
        """Read the symbols. If they differ from the current values, compute and write all words."""
        f, g = self.f, self.g
        rows, symbols, most = self.part("symbols_at"), self.word("symbols"), self.word("most")

        def symbol(i: Val, differs: Val) -> list[Val]:
            n = self.size(f.at(rows, i << 1, "i64"))
            self.must_not(f.cmp("ugt", n - LEAST_SIZE, most - LEAST_SIZE))
            put_word(f, self.registers, i, n)
            return [differs | (n ^ word_at(f, self.now, i))]
        differs, = f.loop(0, symbols, 1, symbol, [f.as_val(0, "i64")])
        f.bail(f.cmp("eq", differs, 0), "yes")
        self.must_not(f.cmp("ne", self.users(), 0))
        f.loop(0, self.word("length"), 1, self.step, [self.part("steps_at")])
        f.loop(0, symbols, 1, lambda i: put_word(f, self.now, i, word_at(f, self.registers, i)))
        g.st(self.word("turn") + 1, self.code, CODE["turn"])
        f.br("yes")
        f.label("yes")
        f.ret(f.as_val(1, "i64"))
        f.label("no")
        f.ret(f.as_val(0, "i64"))

    def size(self, row: Val) -> Val:
        """The value of a symbol by its row."""
        raise NotImplementedError

    def users(self) -> Val:
        """The number of current users of the words."""
        raise NotImplementedError

    def dimension_of_array(self, a: Val, dim: Val) -> Val:
        """The size of a dimension of an object that must be an array with that dimension."""
        f, g = self.f, self.g
        self.must_not(f.cmp("ne", g.type_of(a), address_of(f, "whet_ndarray")))
        self.must_not(f.cmp("sge", dim, f.conv("zext", g.ld(a, A["nd"], "i32"), "i64")))
        return word_at(f, g.ld(a, A["dims"]), dim)

    # ---- steps -----------------------------------------------------------------------------------
    def step(self, i: Val, at: Val) -> list[Val]:
        """Run one step; returns the address of the next."""
        f = self.f
        op, to, one, other = (word_at(f, at, k) for k in range(4))
        a = word_at(f, self.registers, one)

        def computed() -> None:
            def value() -> list[Val]:
                return self.either(op, self.values(a, word_at(f, self.registers, other)))

            def found() -> list[Val]:
                return f.if_(f.cmp("eq", op, Do.LOOKUP), lambda: [self.looked_up(one, other)],
                             lambda: [word_at(f, self.g.ptr(a), other)])
            v, = f.if_((f.cmp("eq", op, Do.LOOKUP) | f.cmp("eq", op, Do.ITEM)), found, value)
            put_word(f, self.registers, to, v)

        def acted() -> None:
            self.either(op, self.acts(to, a))
        f.if_(f.cmp("slt", op, Do.REQUIRE), computed, acted)
        return [f.at(at, STEP_WORDS, "i64")]

    def either(self, op: Val, ways: dict[int, Callable[[], list[Val]]]) -> list[Val]:
        """The result of the operation's way; the last way is the default."""
        (first, way), *rest = ways.items()
        if not rest:
            return way()
        return self.f.if_(self.f.cmp("eq", op, first), way, lambda: self.either(op, dict(rest)))

    def values(self, a: Val, b: Val) -> dict[int, Callable[[], list[Val]]]:
        """Operations on whole numbers, and on floats by their bits."""
        f = self.f

        def of(made: Callable[[], Val]) -> Callable[[], list[Val]]:
            return lambda: [made()]

        def asked(pred: str) -> Callable[[], list[Val]]:
            return lambda: [f.conv("zext", f.cmp(pred, a, b), "i64")]

        def real(op: Callable[[Val, Val], Val]) -> Callable[[], list[Val]]:
            return lambda: [f.bitcast(op(f.bitcast(a, "double"), f.bitcast(b, "double")), "i64")]

        def real_asked(pred: str) -> Callable[[], list[Val]]:
            return lambda: [f.conv("zext", f.cmp(pred, f.bitcast(a, "double"),
                                                 f.bitcast(b, "double")), "i64")]
        return {
            Do.MUL: of(lambda: a * b),
            Do.ADD: of(lambda: a + b),
            Do.SUB: of(lambda: a - b),
            Do.DIV: of(lambda: self.divided(a, b)[0]),
            Do.MOD: of(lambda: self.divided(a, b)[1]),
            Do.MAX: of(lambda: f.imax(a, b)),
            Do.MIN: of(lambda: f.imin(a, b)),
            Do.EQ: asked("eq"),
            Do.LT: asked("slt"),
            Do.LE: asked("sle"),
            Do.COPY: of(lambda: a),
            Do.AND: of(lambda: a & b),
            Do.OR: of(lambda: a | b),
            Do.BITS: of(lambda: self.bits(a)),
            Do.REAL: of(lambda: f.bitcast(f.conv("sitofp", a, "double"), "i64")),
            Do.REAL_MUL: real(lambda x, y: x * y),
            Do.REAL_ADD: real(lambda x, y: x + y),
            Do.REAL_SUB: real(lambda x, y: x - y),
            Do.REAL_EQ: real_asked("oeq"),
            Do.REAL_LT: real_asked("olt"),
            Do.REAL_LE: real_asked("ole"),
            Do.FLOOR: of(lambda: self.floor(f.bitcast(a, "double"))),
            Do.REAL_DIV: real(self.real_divided),
        }

    def divided(self, a: Val, b: Val) -> tuple[Val, Val]:
        """The quotient, rounded down, and the remainder."""
        f = self.f
        self.must_not(f.cmp("eq", b, 0))
        q, left = f.sdiv(a, b), f.srem(a, b)
        down = f.cmp("ne", left, 0) & f.cmp("slt", left ^ b, 0)
        return q - f.conv("zext", down, "i64"), f.sel(down, left + b, left)

    def real_divided(self, a: Val, b: Val) -> Val:
        """A quotient of floats; Python divides by no zero."""
        self.must_not(self.f.cmp("oeq", b, 0.0))
        return a / b

    def floor(self, a: Val) -> Val:
        """A float rounded down, if the machine can represent the result."""
        f = self.f
        self.must_not(f.cmp("uge", f.fabs(a), float(1 << 62)))
        return f.conv("fptosi", f.intr("floor", a), "i64")

    def bits(self, a: Val) -> Val:
        """The number of bits of an integer that is not negative."""
        f = self.f
        f.mod.declare("llvm.ctlz.i64", "i64", ["i64", "i1"])
        return 64 - f.v("i64", f"call i64 @llvm.ctlz.i64(i64 {a.ref}, i1 false)")

    def looked_up(self, first: Val, table: Val) -> Val:
        """The known result for the arguments in the registers from `first` on. A row of the table:
        is it used, the result, the arguments."""
        f, g = self.f, self.g
        table = g.ptr(table)
        mask, n = word_at(f, table, 0), word_at(f, table, 1)
        numbers, rows = f.at(self.registers, first, "i64"), f.at(table, 2, "i64")
        h, = f.loop(
            0, n, 1, lambda i, h: [mixed(f, h, word_at(f, numbers, i))], [f.as_val(0, "i64")])

        def row(i: Val) -> Val:
            return f.at(rows, (i & mask) * (n + 2), "i64")

        def other(i: Val) -> Val:
            at = row(i)
            self.must_not(f.cmp("eq", word_at(f, at, 0), 0))
            differs, = f.loop(
                0, n, 1, lambda k, d: [d | (word_at(f, at, k + 2) ^ word_at(f, numbers, k))],
                [f.as_val(0, "i64")])
            return f.cmp("ne", differs, 0)
        i, = f.while_(other, lambda i: [i + 1], [f.lshr(h, 8)])
        return word_at(f, row(i), 1)

    def acts(self, to: Val, a: Val) -> dict[int, Callable[[], list[Val]]]:
        """A step without a result; `to` is an address."""
        f, g = self.f, self.g

        def store() -> list[Val]:
            f.store(a, g.ptr(to), 8)
            return []

        def store_float() -> list[Val]:
            f.store(f.conv("fptrunc", f.bitcast(a, "double"), "float"), g.ptr(to), 4)
            return []

        def require(pred: str) -> Callable[[], list[Val]]:
            def asked() -> list[Val]:
                self.must_not(f.cmp(pred, a, 0))
                return []
            return asked
        return {Do.STORE: store, Do.REQUIRE: require("eq"), Do.REFUSE: require("ne"),
                Do.STORE_FLOAT: store_float}


class ResizingOfCall(Resizing):
    """Resizes the block of a traced call. A negative dimension means that the object is a number:
    the symbol is larger by LEAST_SIZE."""

    HEAD = H

    def users(self) -> Val:
        return self.f.load("i64", self.g.ld(self.block, H["busy"]))

    def size(self, row: Val) -> Val:
        """The size of a dimension of an object, or the size that a number stands for."""
        f, dim = self.f, word_at(self.f, row, 1)
        x = word_at(f, self.args, word_at(f, row, 0), "ptr")
        n, = f.if_(f.cmp("slt", dim, 0), lambda: [self.number(x)], lambda: [self.dimension(x, dim)])
        return n

    def number(self, x: Val) -> Val:
        """The size that a whole number stands for."""
        f = self.f
        self.must_not(f.cmp("ne", self.g.type_of(x), address_of(f, "PyLong_Type")))
        # -1, which is no size, where it does not fit.
        return f.call("PyLong_AsLongLongAndOverflow", "i64", x, self.over) + LEAST_SIZE

    def dimension(self, x: Val, dim: Val) -> Val:
        """The size of a dimension of a tensor."""
        f, g = self.f, self.g
        self.must_not(f.cmp("ne", g.type_of(x), self.word("tensor", "ptr")))
        a = g.ld(x, T["array"])
        self.must_not(g.null(a))
        return self.dimension_of_array(a, dim)


class ResizingOfRecipe(Resizing):
    """Resizes an op's recipe; the operands are known to have its types and numbers of dimensions. A
    dimension from MAX_DIMS on is a stride, in elements. A symbol's row also has the bytes of an
    element."""

    HEAD = R

    def users(self) -> Val:
        return self.g.ld(self.block, R["busy"], "i64")

    def size(self, row: Val) -> Val:
        """A size or a stride of an operand, or a number of the attribute."""
        f, place, dim = self.f, word_at(self.f, row, 0), word_at(self.f, row, 1)
        which = place & ((1 << OPERAND_BITS) - 1)
        a = word_at(f, self.args, which, "ptr")
        n, = f.if_(f.cmp("eq", which, MAX_IN), lambda: [self.number(a, dim)],
                   lambda: [self.of_array(a, place, dim)])
        return n

    def number(self, size: Val, k: Val) -> Val:
        """A number of the attribute."""
        f = self.f
        x = word_at(f, f.bytes_at(size, TUPLE_ITEMS), k, "ptr")
        self.must_not(f.cmp("ne", self.g.type_of(x), address_of(f, "PyLong_Type")))
        return f.call("PyLong_AsLongLongAndOverflow", "i64", x, self.over)

    def of_array(self, a: Val, place: Val, dim: Val) -> Val:
        """A size or a stride of an array."""
        f = self.f

        def stride() -> list[Val]:
            n = word_at(f, self.g.ld(a, A["strides"]), dim - MAX_DIMS)
            q, left = self.divided(n, f.lshr(place, OPERAND_BITS))
            self.must_not(f.cmp("ne", left, 0))
            return [q]
        n, = f.if_(f.cmp("slt", dim, MAX_DIMS), lambda: [word_at(f, self.g.ld(a, A["dims"]), dim)],
                   stride)
        return n
