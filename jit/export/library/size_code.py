"""The machine code that says which sizes a list is for, and puts what depends on sizes into it.

Expressions are those that planning noted in Python's words (`ir/symbolic_size.py`); they mean the
same here: divisions round down, whole numbers become floats where they meet floats.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls.word_records import size

from .code_parts import named
from .layout import About, Value
from .level_parts import Case, Column, Formula

COMPARE: dict[type, tuple[str, str]] = {
    ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"), ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"), ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une")}
PLAIN: dict[type, str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and",
                          ast.BitOr: "or"}
ROUNDED = {"floor": "floor", "ceil": "ceil", "round": "roundeven"}
FLOATS = {"float32": "float", "float64": "double"}


class Numbers:
    """The numbers of a case, in a function that is given the sizes. `tag`: of its tables."""

    def __init__(self, f: Any, sizes: Any, case: Case, tag: str) -> None:
        self.f, self.case, self.tag = f, case, tag
        self.known = {f"s{i}": f.load("i64", f.at(sizes, k, "i64"))
                      for i, k in enumerate(case.symbols)}

    def with_index(self, name: str, i: Any) -> Numbers:
        """These numbers, in the body of a loop whose index is the part called `name`."""
        made = copy.copy(self)
        made.known = {**self.known, name: i}
        return made

    def __call__(self, expression: str) -> Any:
        """The value of an expression."""
        return self.value(ast.parse(expression, mode="eval").body)

    def named(self, name: str) -> Any:
        """A symbol, or a part."""
        if name not in self.known:
            self.known[name] = (
                self.found(name) if name in self.case.lookups else self(self.case.parts[name]))
        return self.known[name]

    def found(self, name: str) -> Any:
        """What is looked up. Sizes that the table is not for find its first word."""
        f, look = self.f, self.case.lookups[name]
        at, inside = f.const("i64", 0), f.const("i1", 1)
        for s, least, count in zip(look.symbols, look.least, look.counts):
            i = self.known[f"s{s}"] - least
            inside = inside & f.cmp("ult", i, count)
            at = at * count + i
        table = named(f, f"{self.tag}.{name}")
        return f.load("i64", f.at(table, f.sel(inside, at, 0), "i64"))

    def value(self, x: ast.expr) -> Any:
        """What an expression gives: i64, double, or i1."""
        f = self.f
        if isinstance(x, ast.Constant):
            return f.const("double" if isinstance(x.value, float) else "i64", x.value)
        if isinstance(x, ast.Name):
            return self.named(x.id)
        if isinstance(x, ast.UnaryOp):
            inner = self.value(x.operand)
            return ~inner if isinstance(x.op, ast.Not) else -inner
        if isinstance(x, ast.Compare):
            a, b = self.value(x.left), self.value(x.comparators[0])
            a, b, is_float = self.both(a, b)
            return f.cmp(COMPARE[type(x.ops[0])][is_float], a, b)
        if isinstance(x, ast.BinOp):
            return self.binary(x.op, self.value(x.left), self.value(x.right))
        if isinstance(x, ast.Call):
            return self.call(x)
        raise NotImplementedError(ast.unparse(x))

    def both(self, a: Any, b: Any) -> tuple[Any, Any, bool]:
        """Two numbers as numbers of one kind; are they floats?"""
        if a.ty == b.ty:
            return a, b, bool(a.is_float)
        return self.real(a), self.real(b), True

    def real(self, a: Any) -> Any:
        """A number as a double."""
        return a if a.is_float else self.f.conv("sitofp", a, "double")

    def binary(self, op: ast.operator, a: Any, b: Any) -> Any:
        """Arithmetic."""
        f = self.f
        if isinstance(op, ast.Div):
            return self.real(a) / self.real(b)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return self.divided(a, b)[isinstance(op, ast.Mod)]
        a, b, _ = self.both(a, b)
        return f.binary(PLAIN[type(op)], a, b)

    def divided(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The quotient, rounded down, and what is left. Where sizes are not those of the case, a
        divisor may be 0: then what comes is not used."""
        f = self.f
        b = f.sel(f.cmp("eq", b, 0), f.const("i64", 1), b)
        q, r = f.sdiv(a, b), f.srem(a, b)
        low = f.cmp("ne", r, 0) & f.cmp("slt", r ^ b, 0)
        return f.sel(low, q - 1, q), f.sel(low, r + b, r)

    def call(self, x: ast.Call) -> Any:
        """What a function gives."""
        f = self.f
        if isinstance(x.func, ast.Attribute) and x.func.attr == "bit_length":
            n = self.value(x.func.value)
            return 64 - f.v("i64", f"call i64 @llvm.ctlz.i64(i64 {n.ref}, i1 false)")
        args = [self.value(a) for a in x.args]
        name = x.func.id if isinstance(x.func, ast.Name) else ""
        if name in ("max", "min"):
            return (f.imax if name == "max" else f.imin)(*args)
        if name in ROUNDED:
            (a,) = args
            return f.conv("fptosi", f.intr(ROUNDED[name], a), "i64") if a.is_float else a
        if name in ("sqrt", "log", "pow"):
            return f.intr(name, *map(self.real, args))
        raise NotImplementedError(ast.unparse(x))


def fits(m: Module, tag: str, case: Case) -> None:
    """`tag.fits(sizes)`: 1 where a list is for these sizes, else 0."""
    m.raw("llvm.ctlz.i64", "declare i64 @llvm.ctlz.i64(i64, i1)")
    f: Any = m.fn(f"{tag}.fits", [("ptr", "sizes")], "i64", "internal")
    (sizes,) = f.args
    numbers, well = Numbers(f, sizes, case, tag), f.const("i1", 1)
    for k, n in case.fixed:
        well = well & f.cmp("eq", f.load("i64", f.at(sizes, k, "i64")), n)
    for k in case.symbols:
        well = well & f.cmp("sge", f.load("i64", f.at(sizes, k, "i64")), 2)
    for asked in case.asked:
        well = well & numbers(asked)
    f.ret(f.conv("zext", well, "i64"))


class Filling:
    """The function `tag.fill(sizes, words, about)`. `holes`: where in the words which formulas go;
    `links`: where the address of one of the words goes, and which. `known`: formulas for words
    that are made of another one, as in places of constants."""

    def __init__(self, m: Module, tag: str, case: Case) -> None:
        names = [("ptr", "sizes"), ("ptr", "words"), ("ptr", "about")]
        self.f: Any = m.fn(f"{tag}.fill", names, "void", "internal")
        sizes, self.words, self.about = self.f.args
        self.case, self.numbers = case, Numbers(self.f, sizes, case, tag)

    def hole(self, at: int, what: Formula) -> None:
        """A word that depends on sizes."""
        self.f.store(self.word(what, self.numbers), self.f.at(self.words, at, "i64"))

    def word(self, what: int | Formula, numbers: Numbers) -> Any:
        """A word, in the form that it is read in."""
        if isinstance(what, int):
            return self.f.const("i64", what)
        made = numbers(what.text)
        if what.form in FLOATS:
            made = numbers.real(made)
            if FLOATS[what.form] != made.ty:
                made = self.f.conv("fptrunc", made, FLOATS[what.form])
        return made

    def columns(self, at: int, columns: Sequence[Column]) -> None:
        """Words of which there are as many as sizes say, one column behind another."""
        f, place = self.f, self.f.const("i64", at)
        for c in columns:
            count = self.word(c.length, self.numbers)

            def one(i: Any, c: Column = c, place: Any = place) -> None:
                numbers = self.numbers.with_index(c.place, i)
                f.store(self.word(c.word, numbers), f.at(self.words, place + i, "i64"))
            f.loop(0, count, 1, one)
            place = place + count

    def link(self, at: int, offset: int) -> None:
        """A word that is the address of another one."""
        f = self.f
        address = f.v("i64", f"ptrtoint ptr {f.bytes_at(self.words, offset).ref} to i64")
        f.store(address, f.at(self.words, at, "i64"))

    def sum(self, at: int, name: str, offset: int | Formula) -> None:
        """A word that is something looked up and an offset."""
        more = self.numbers(offset.text) if isinstance(offset, Formula) else offset
        self.f.store(self.numbers.named(name) + more, self.f.at(self.words, at, "i64"))

    def shapes(self, about: About, itemsizes: Sequence[int]) -> None:
        """Fill in the descriptions of values."""
        f = self.f
        row, nbytes = len(Value._fields), Value._fields.index("bytes")
        for i, shape in enumerate(self.case.shapes):
            step = f.const("i64", itemsizes[i])
            for k in reversed(range(len(shape))):
                n = shape[k]
                made = self.numbers(n.text) if isinstance(n, Formula) else f.const("i64", n)
                f.store(made, f.at(self.about, about.shapes[i] + k, "i64"))
                f.store(step, f.at(self.about, about.shapes[i] + len(shape) + k, "i64"))
                step = step * made
            for at in (about.bytes + i, about.values + i * row + nbytes):
                f.store(step, f.at(self.about, at, "i64"))


assert size(Value) == len(Value._fields)
