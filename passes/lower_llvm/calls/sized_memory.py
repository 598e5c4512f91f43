"""The memory of a call of a program for many sizes, in machine code: resizes the program's lists to
the inputs and allocates the arrays.

A block of words describes it: a header (`HEAD`), a row for each input array, and a row for each
array to be made. `jit/program/resized_program.py` writes the blocks. Each row begins with its
length in words. The code of `size_machine.py` writes the words that depend on sizes."""
from __future__ import annotations

from ..builder import Module, Val
from .object_access import Glue, address_of, word_at
from .op_layouts import A
from .python_layouts import TUPLE_ITEMS
from .size_machine import Resizing
from .tensor_views import window

# the header, as byte offsets; pairs are (number of rows, where they begin)
HEAD = {name: 8 * i for i, name in enumerate(("code", "given", "given_at", "made", "made_at"))}
# words of a row before its sizes and its strides: of an array that the program is given,
GIVEN = ("length", "descr", "nd")
# and of one that is made: `source` is NEW, the number of the array given that it shows, or FIRST
# and those after it, down from there, for one that was made before it
MADE = ("length", "source", "descr", "nd", "offset")
NEW, FIRST = -1, -2
NAMES = ["resized"]


def source() -> str:
    """The IR text. resized(block, *arrays): the arrays that are made, as a tuple; None if the
    program is not for such inputs."""
    m = Module()
    for name in ("whet_ndarray", "_Py_NoneStruct", "PyLong_Type"):
        m.decls[name] = f"@{name} = external global i8"
    ResizingOfProgram(m, "arrays").emit()
    SizedMemory(m).emit()
    return m.text()


class ResizingOfProgram(Resizing):
    """Resizes the block of a program. Its caller has exclusive use of it."""

    HEAD = HEAD

    def users(self) -> Val:
        return self.f.as_val(0, "i64")

    def size(self, row: Val) -> Val:
        """The size of a dimension of an array."""
        a = word_at(self.f, self.args, word_at(self.f, row, 0), "ptr")
        return self.dimension_of_array(a, word_at(self.f, row, 1))


class SizedMemory:
    """The code of the function."""

    def __init__(self, m: Module) -> None:
        self.f = f = m.fn("resized", [("ptr", "self"), ("ptr", "argv"), ("i64", "count")], "ptr")
        self.g = Glue(f)
        _, argv, self.count = f.args
        self.block = self.g.ld(word_at(f, argv, 0, "ptr"), A["data"])
        self.arrays = f.at(argv, 1, "i64")

    def head(self, name: str) -> Val:
        """A word of the header."""
        return self.g.ld(self.block, HEAD[name], "i64")

    def rows(self, name: str) -> Val:
        """Where rows begin."""
        return self.f.bytes_at(self.block, self.head(f"{name}_at"))

    def word(self, row: Val, name: str, ty: str = "i64") -> Val:
        """A word of a row of what is made."""
        return word_at(self.f, row, MADE.index(name), ty)

    def emit(self) -> None:
        """Resize the words, compare the inputs with them, and make the arrays."""
        f, g = self.f, self.g
        given, made = self.head("given"), self.head("made")
        f.bail(f.cmp("ne", self.count - 1, given), "no")
        f.bail(f.cmp("eq", f.call("resize", "i64", self.block, self.arrays), 0), "no")
        f.loop(0, given, 1, self.compare, [self.rows("given")])
        self.result = f.call("PyTuple_New", "ptr", made)
        f.bail(g.null(self.result), "error")
        f.loop(0, made, 1, self.make, [self.rows("made")])
        f.ret(self.result)
        f.label("no")
        f.ret(g.none())
        f.label("lost")
        g.dec(self.result)
        f.br("error")
        f.label("error")
        f.ret(Val(f, "null", "ptr"))

    def compare(self, i: Val, row: Val) -> list[Val]:
        """Leave if an array has another type or layout; returns the next row. Strides of dimensions
        of size one do not matter."""
        f, g = self.f, self.g
        a = word_at(f, self.arrays, i, "ptr")
        descr, nd = (word_at(f, row, GIVEN.index(name)) for name in ("descr", "nd"))
        f.bail(f.cmp("ne", g.type_of(a), address_of(f, "whet_ndarray")), "no")
        f.bail(f.cmp("ne", g.i64(g.ld(a, A["descr"])), descr), "no")
        f.bail(f.cmp("ne", f.conv("zext", g.ld(a, A["nd"], "i32"), "i64"), nd), "no")
        dims, strides = g.ld(a, A["dims"]), g.ld(a, A["strides"])
        sizes = f.at(row, len(GIVEN), "i64")
        steps = f.at(sizes, nd, "i64")

        def differs(d: Val, known: Val) -> list[Val]:
            n = word_at(f, dims, d)
            other_step = f.cmp("ne", word_at(f, strides, d), word_at(f, steps, d))
            other = f.cmp("ne", n, word_at(f, sizes, d)) | (other_step & f.cmp("ne", n, 1))
            return [known | other]
        other, = f.loop(0, nd, 1, differs, [f.as_val(0, "i1")])
        f.bail(other, "no")
        return [f.at(row, word_at(f, row, 0), "i64")]

    def make(self, i: Val, row: Val) -> list[Val]:
        """Make one array; returns the next row."""
        f, g = self.f, self.g
        shown, nd, descr = self.word(row, "source"), self.word(row, "nd"), self.word(
            row, "descr", "ptr")
        dims = f.at(row, len(MADE), "i64")
        strides = f.at(dims, nd, "i64")

        def new() -> list[Val]:
            a = f.call("whet_array_new", "ptr", descr, nd, dims, Val(f, "null", "ptr"))
            f.bail(g.null(a), "lost")
            return [a]

        def view() -> list[Val]:
            mine = f.bytes_at(self.result, TUPLE_ITEMS)
            at, = f.if_(f.cmp("sge", shown, 0), lambda: [f.at(self.arrays, shown, "i64")],
                        lambda: [f.at(mine, FIRST - shown, "i64")])
            return [window(f, g, f.load("ptr", at, 8), descr, nd, dims, strides,
                           self.word(row, "offset"), "lost")]
        a, = f.if_(f.cmp("eq", shown, NEW), new, view)
        f.call("PyTuple_SetItem", "i32", self.result, i, a)
        return [f.at(row, word_at(f, row, 0), "i64")]
