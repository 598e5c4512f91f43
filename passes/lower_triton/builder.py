"""Triton source under construction, with the interface of `lower_llvm.builder.Fn`: what is written
once in terms of that interface (the primitives of `lower_llvm.scalar`, all of `vmath`) becomes
Triton too, operation by operation, so its bits are the CPU's.

A value is a name and the LLVM spelling of its element type; shapes are Triton's to know. All
integers are signed: where an operation is unsigned, its line says so. Divisions and roots are the
IEEE ones, negation is a product (Triton's may be 0 - x).

A choice by `f.if_(f.any(...))` between code for ordinary elements and code that is right for all is
no branch here unless the latter is long: asking all threads of a block costs more than some
arithmetic.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from whet.passes.lower_llvm.builder import Number, Val

TYPE = {
    "i1": "tl.int1", "i8": "tl.int8", "i16": "tl.int16", "i32": "tl.int32", "i64": "tl.int64",
    "half": "tl.float16", "bfloat": "tl.bfloat16", "float": "tl.float32", "double": "tl.float64"}
UNSIGNED = {"i8": "tl.uint8", "i16": "tl.uint16", "i32": "tl.uint32", "i64": "tl.uint64"}
NUMPY = {
    "i1": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "half": "f2", "float": "f4",
    "double": "f8"}
SIGN = {"float": ("i32", 1 << 31), "double": ("i64", 1 << 63)}
# from here on every float is a whole number
WHOLE = {"float": 2.0 ** 23, "double": 2.0 ** 52}
# lines that are worth a branch around them
LONG = 40

_ORDERED = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="}
_UNORDERED = {"ult": ">=", "ule": ">", "ugt": "<=", "uge": "<"}
_SIGNED = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "ashr": ">>", "sdiv": "//", "srem": "%"}
_LOGICAL = {"lshr": ">>", "udiv": "//", "urem": "%"}


class Const(Val):
    """A number of a type; `value` is what the type makes of it, `typed` its text where nothing
    around it tells the type."""
    __slots__ = ("value", "typed")

    def __init__(self, f: Code, ty: str, value: float) -> None:
        with np.errstate(all="ignore"):
            self.value: float = (_wrap(ty, value) if ty[0] == "i" else
                                 np.dtype(NUMPY[ty]).type(value).item())
        plain = ty == "i32" or ty == "float" and (not self.value or abs(self.value) >= 2.0 ** -126)
        self.typed = f"tl.full((), {_literal(self.value)}, {TYPE[ty]})"
        super().__init__(f, _literal(self.value) if plain else self.typed, ty)


def _wrap(ty: str, v: float) -> int:
    if ty == "i1":
        return bool(v)
    bits = int(ty[1:])
    return (int(v) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _literal(v: float) -> str:
    return f'float("{v}")' if isinstance(v, float) and not math.isfinite(v) else repr(v)


class Module:
    """The functions of one source file: helpers by name, each once, before the kernels that call
    them."""

    def __init__(self) -> None:
        self.helpers: dict[str, tuple[str, str]] = {}       # by name: type of the result, text

    def helper(self, name: str, write: Callable[..., Val], types: Sequence[str]) -> str:
        """The type of the result of a function of values of these types; write(f, *values) gives
        the result."""
        if name not in self.helpers:
            f = Code(self, [chr(ord("a") + i) for i in range(len(types))], types)
            # its place is behind the helpers that it calls
            y = write(f, *f.args)
            self.helpers[name] = y.ty, f.function(name, y)
        return self.helpers[name][0]

    def text(self) -> str:
        return "\n\n".join(f"@triton.jit\n{text}" for _, text in self.helpers.values())


class Code:
    """The lines of one function."""

    def __init__(self, mod: Module, names: Sequence[str] = (), types: Sequence[str] = (),
                 indent: int = 1) -> None:
        self.mod, self.n, self.depth = mod, 0, indent
        self.lines: list[str] = []
        self.args = [Val(self, n, t) for n, t in zip(names, types, strict=True)]

    def function(self, name: str, y: Val) -> str:
        args = [a.ref for a in self.args]
        head = [f"def {name}({', '.join(args)}):"]
        if (len(args) > 1
                and any(line.lstrip().startswith(("for ", "while ")) for line in self.lines)):
            # what a loop carries has one shape
            head += [f"    {', '.join(args)} = tl.broadcast({', '.join(args)})"]
        return numbered("\n".join([*head, *used(self.lines, y.ref), f"    return {y.ref}"])) + "\n"

    # ---- values
    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self) -> str:
        self.n += 1
        return f"v{self.n}"

    def v(self, ty: str, text: str, name: str | None = None) -> Val:
        name = name or self.new()
        self.line(f"{name} = {text}")
        return Val(self, name, ty)

    def const(self, ty: str, x: float) -> Const:
        return Const(self, ty, x)

    def number_of(self, x: Val) -> float | None:
        """The number that a constant is; None of other values."""
        return x.value if isinstance(x, Const) else None

    def as_val(self, x: Number, ty: str) -> Val:
        return x if isinstance(x, Val) else Const(self, ty, x)

    def pair(self, a: Number, b: Number) -> tuple[Val, Val]:
        if isinstance(a, Val):
            return a, self.as_val(b, a.ty)
        assert isinstance(b, Val)
        return self.as_val(a, b.ty), b

    def bare(self, a: Val, b: Val) -> list[str]:
        """Operands of an operator: a number is written as it is beside what is none."""
        return [
            typed(a)
            if isinstance(b, Const) else _literal(a.value) if isinstance(a, Const) else a.ref,
            _literal(b.value) if isinstance(b, Const) else b.ref]

    # ---- arithmetic
    def folded(self, number: Any) -> Val:
        """A Python number: it takes the place of a value wherever one is wanted."""
        value: Val = number
        return value

    def binary(self, op: str, a: Number, b: Number) -> Val:
        if not isinstance(a, Val) and not isinstance(b, Val):
            return self.folded({"add": a + b, "sub": a - b, "mul": a * b}[op])
        a, b = self.pair(a, b)
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(self, a.ty, _folded(op, a, b))
        if op == "fdiv":
            return self.v(
                a.ty, f"tl.div_rn({typed(a)}, {typed(b)})" if a.ty == "float" else "{} / {}".format(
                    *self.bare(a, b)))
        if a.ty == "i1" and isinstance(b, Const):
            if op == "xor":
                return self.v("i1", f"~{a.ref}") if b.value else a
            b = Val(self, b.ref, "i1")
        if (not a.is_float and isinstance(b, Const) and not b.value
                and op in ("add", "sub", "or", "xor", "shl", "ashr", "lshr")):
            return a
        if op in _LOGICAL:
            return self.v(a.ty, f"({self.unsigned(a)} {_LOGICAL[op]} "
                                f"{self.unsigned(b)}).to({TYPE[a.ty]}, bitcast=True)")
        left, right = self.bare(a, b)
        return self.v(a.ty, f"{left} {_BINARY[op]} {right}")

    def unsigned(self, x: Val, alone: bool = False) -> str:
        if isinstance(x, Const) and not alone:
            return repr(x.value % (1 << int(x.ty[1:])))
        if x.ty == "i1":
            return f"{typed(x)}.to(tl.int8)"
        return f"{typed(x)}.to({UNSIGNED[x.ty]}, bitcast=True)"

    def lshr(self, a: Val, b: int | Val) -> Val: return self.binary("lshr", a, b)
    def udiv(self, a: Val, b: int | Val) -> Val: return self.binary("udiv", a, b)
    def sdiv(self, a: Val, b: int | Val) -> Val: return self.binary("sdiv", a, b)
    def neg(self, a: Val) -> Val:
        return self.binary("mul", a, -1.0) if a.is_float else self.binary("sub", 0, a)

    def cmp(self, pred: str, a: Val, b: Number) -> Val:
        """`pred` as LLVM spells it."""
        a, b = self.pair(a, b)
        if pred == "uno":
            return self.v("i1",
                          " | ".join(f"({x} != {x})" for x in dict.fromkeys((typed(a), typed(b)))))
        if pred[0] == "u" and not a.is_float:
            return self.v("i1", f"{self.unsigned(a, isinstance(b, Const))} "
                                f"{_SIGNED['s' + pred[1:]]} {self.unsigned(b)}")
        if pred == "ord":
            return self.v("i1",
                          " & ".join(f"({x} == {x})" for x in dict.fromkeys((typed(a), typed(b)))))
        x, y = self.bare(a, b)
        if pred == "one":
            return self.v("i1", f"({x} < {y}) | ({x} > {y})")
        if pred in _UNORDERED:
            return self.v("i1", f"~({x} {_UNORDERED[pred]} {y})")
        return self.v("i1", f"{x} {(_ORDERED if a.is_float else _SIGNED)[pred]} {y}")

    def sel(self, c: Val, a: Number, b: Number) -> Val:
        a, b = self.pair(a, b)
        return self.v(a.ty, f"tl.where({typed(c)}, {a.ref}, {b.ref})")

    def fma(self, a: Val, b: Number, c: Number) -> Val:
        ty = next(x for x in (a, b, c) if isinstance(x, Val)).ty
        return self.v(ty, f"tl.fma({', '.join(self.as_val(x, ty).ref for x in (a, b, c))})")

    def sqrt(self, a: Val) -> Val:
        return self.v(a.ty, f"tl.{'sqrt_rn' if a.ty == 'float' else 'sqrt'}({typed(a)})")

    def fabs(self, a: Val) -> Val:
        return self.v(a.ty, f"tl.abs({typed(a)})")

    def rint(self, a: Val) -> Val:
        """To nearest even, as a sum that leaves no room for a fraction."""
        size, most = self.fabs(a), WHOLE[a.ty]
        return self.copysign(self.sel(self.cmp("olt", size, most), (size + most) - most, size), a)

    def copysign(self, a: Number, b: Val) -> Val:
        ty = next(x for x in (a, b) if isinstance(x, Val)).ty
        bits, top = SIGN[ty]
        a, b = (self.conv("bitcast", self.as_val(x, ty), bits) for x in (a, b))
        return self.conv("bitcast", (a & top - 1) | (b & -top), ty)

    def intr(self, name: str, *args: Number) -> Val:
        if name in ("fma", "sqrt", "fabs", "copysign"):
            found: Val = getattr(self, name)(*args)
            return found
        ty = next(a for a in args if isinstance(a, Val)).ty
        x, *more = (self.as_val(a, ty) for a in args)
        if name == "roundeven":
            return self.rint(x)
        if name in ("floor", "ceil"):
            return self.v(ty, f"tl.{name}({typed(x)})")
        if name == "trunc":
            return self.sel(self.cmp("olt", x, 0.0), self.intr("ceil", x), self.intr("floor", x))
        if name in ("smin", "smax"):
            return self.v(ty, f"tl.{name[1:]}imum({typed(x)}, {typed(more[0])})")
        if name in ("umin", "umax"):
            below, y = self.cmp("ult", x, more[0]), more[0]
            return self.sel(below, x, y) if name == "umin" else self.sel(below, y, x)
        raise NotImplementedError(name)

    def high_product(self, a: Val, b: Val) -> Val:
        """The upper half of the product of two i64, as if they had no sign."""
        a, b = self.pair(a, b)
        return self.v(
            "i64", f"tl.umulhi({self.unsigned(a)}, {self.unsigned(b)}).to(tl.int64, bitcast=True)")

    def reduce_far(self, x: Val, r: Val, lo: Val, u: Val) -> list[Val]:
        """Angles that are too far for `vmath.trig.reduce`."""
        from .far_angles import reduce_far
        return reduce_far(self, x, r, lo, u)

    def conv(self, op: str, a: Val, elem: str) -> Val:
        if a.ty == elem:
            return a
        if isinstance(a, Const):
            return Const(self, elem, _converted(op, a, elem))
        if op == "bitcast":
            return self.v(elem, f"{a.ref}.to({TYPE[elem]}, bitcast=True)")
        if op in ("zext", "uitofp") and a.ty != "i1":
            return self.v(elem, f"{self.unsigned(a)}.to({TYPE[elem]})")
        if op == "fptoui":
            return self.v(elem, f"{a.ref}.to({UNSIGNED[elem]}).to({TYPE[elem]}, bitcast=True)")
        if (op, elem) == ("trunc", "i1"):
            raise NotImplementedError("the low bit")
        return self.v(elem, f"{a.ref}.to({TYPE[elem]})")

    # ---- control
    def any(self, c: Val) -> Asked:
        return Asked(self, c)

    def block(self, write: Callable[[], Sequence[Val] | None]) -> tuple[list[Val], list[str]]:
        """(what write() gives, the lines that it wrote), one level deeper."""
        before, self.lines = self.lines, []
        self.depth += 1
        y = write()
        self.depth -= 1
        lines, self.lines = self.lines, before
        return list(y or []), lines

    def if_(self, cond: Val, then: Callable[[], Sequence[Val]],
            other: Callable[[], Sequence[Val]]) -> list[Val]:
        """`then` must be right also where no element asks for it."""
        assert isinstance(cond, Asked)
        ys, lines = self.block(then)
        if len(lines) < LONG:
            self.lines += [line[4:] for line in lines]
            return ys
        others, plain = self.block(other)
        names = [self.new() for _ in ys]
        self.line(f"if {cond.test()}:")
        pad = "    " * (self.depth + 1)
        self.lines += lines + [f"{pad}{n} = {y.ref}" for n, y in zip(names, ys, strict=True)]
        self.line("else:")
        self.lines += plain + [f"{pad}{n} = {y.ref}" for n, y in zip(names, others, strict=True)]
        return [Val(self, n, y.ty) for n, y in zip(names, ys, strict=True)]

    def loop(self, lo: int, hi: int, step: int, body: Callable[..., Any],
             carry: Sequence[Val]) -> list[Val]:
        """A loop that counts to a number known now."""
        assert (lo, step) == (0, 1)
        names = self.carried(carry)
        new, lines = self.block(lambda: _list(body(None, *names)))
        self.line(f"for _ in range({hi}):")
        self.lines += lines
        self.assign(names, new)
        return names

    def while_(self, test: Callable[..., Any], body: Callable[..., Any],
               carry: Sequence[Val]) -> list[Val]:
        names, go = self.carried(carry), self.new()

        def ask() -> None:
            asked = test(*names)
            assert isinstance(asked, Asked)
            self.line(f"{go} = {asked.test()}")
        ask()
        self.line(f"while {go}:")
        new, lines = self.block(lambda: _list(body(*names)))
        self.lines += lines
        self.assign(names, new)
        self.lines += self.block(ask)[1]
        return names

    def carried(self, carry: Sequence[Val]) -> list[Val]:
        """Names for what a loop changes; a number gets the shape of the function's arguments."""
        shape = self.args[0].ref
        def first(c: Val) -> str:
            if isinstance(c, Const):
                return f"tl.full({shape}.shape, {_literal(c.value)}, {TYPE[c.ty]})"
            return c.ref
        return [self.v(c.ty, first(c)) for c in carry]

    def assign(self, names: Sequence[Val], new: Sequence[Val]) -> None:
        self.depth += 1
        refs = [self.v(x.ty, x.ref).ref if x.ref in {n.ref for n in names} else x.ref for x in new]
        for n, ref in zip(names, refs, strict=True):
            self.line(f"{n.ref} = {ref}")
        self.depth -= 1


class Asked(Val):
    """Does any element of a block hold? Written where it is asked."""

    def __init__(self, f: Code, c: Val) -> None:
        super().__init__(f, c.ref, "i1")

    def test(self) -> str:
        return f"tl.max({self.ref}[None].to(tl.int32)) != 0"


def typed(x: Val) -> str:
    """The text of a value that has its type wherever it stands."""
    return x.typed if isinstance(x, Const) else x.ref


def used(lines: Sequence[str], *results: str) -> list[str]:
    """The lines without those whose value is never read."""
    kept = list(lines)
    while True:
        words = re.findall(r"\bv\d+\b", "\n".join([*kept, *results]))
        count = {w: words.count(w) for w in set(words)}
        read = [
            line for line in kept if not (m := re.match(r"\s*(v\d+) = ", line)) or count[m[1]] > 1]
        if len(read) == len(kept):
            return kept
        kept = read


def numbered(text: str) -> str:
    """The text with its values numbered as they come."""
    order = {w: f"v{i}" for i, w in enumerate(dict.fromkeys(re.findall(r"\bv\d+\b", text)))}
    return re.sub(r"\bv\d+\b", lambda m: order[m[0]], text)


def _list(x: Sequence[Val] | Val) -> list[Val]:
    return [x] if isinstance(x, Val) else list(x)


def _folded(op: str, a: Const, b: Const) -> float:
    t = np.dtype(NUMPY[a.ty])
    x, y = t.type(a.value), t.type(b.value)
    with np.errstate(all="ignore"):
        found: float = {
            "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "fdiv": lambda: x / y,
            "and": lambda: x & y, "or": lambda: x | y, "xor": lambda: x ^ y,
            "shl": lambda: x << y}[op]().item()
    return found


def _converted(op: str, a: Const, elem: str) -> float:
    t = np.dtype(NUMPY[a.ty])
    if op == "bitcast":
        found: float = t.type(a.value).view(NUMPY[elem]).item()
        return found
    if op in ("zext", "uitofp") and a.ty != "i1":
        return a.value % (1 << int(a.ty[1:]))
    return a.value
