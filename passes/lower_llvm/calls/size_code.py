"""Compiles expressions of sizes to code for the machine that computes them: see `size_machine.py`.

Bounds are known for every number that the machine computes, as for symbols, so no number overflows
64 bits. Python functions become lookups among their earlier results. `Uncoded` is raised for what
the machine cannot compute."""
from __future__ import annotations

import ast
import functools
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from whet.ir.size_conditions import Asked
from whet.ir.symbolic_size import LEAST, Facts, SymbolicReal, SymbolicSize

from .traced_layouts import CODE, CODE_WORDS, GOLDEN, STEP_WORDS, TURN, Do

# upper bounds of symbols: the first for which no number overflows is used
MOST = 1 << 20, 1 << 16, 1 << 12
WHOLE, EXACT = 1 << 62, 1 << 53  # bounds of integers, and of those that a float64 represents
WORD = (1 << 64) - 1
WAYS = {
    ast.Add: (Do.ADD, Do.REAL_ADD),
    ast.Sub: (Do.SUB, Do.REAL_SUB),
    ast.Mult: (Do.MUL, Do.REAL_MUL),
    ast.FloorDiv: (Do.DIV, None),
    ast.Mod: (Do.MOD, None),
    ast.BitAnd: (Do.AND, None),
    ast.BitOr: (Do.OR, None),
    ast.Div: (None, Do.REAL_DIV),
}
# comparisons: the step for integers and for floats, whether its operands are swapped,
# whether its result is negated
ASKED = {
    ast.Eq: (Do.EQ, Do.REAL_EQ, False, False),
    ast.NotEq: (Do.EQ, Do.REAL_EQ, False, True),
    ast.Lt: (Do.LT, Do.REAL_LT, False, False),
    ast.LtE: (Do.LE, Do.REAL_LE, False, False),
    ast.Gt: (Do.LT, Do.REAL_LT, True, False),
    ast.GtE: (Do.LE, Do.REAL_LE, True, False),
}


class Uncoded(Exception):
    """Raised for an expression that the machine cannot compute."""


class TooLarge(Uncoded):
    """Raised for an expression whose values may exceed the machine's 64 bits."""


class Value(NamedTuple):
    """A register; its integer is between `low` and `high`."""

    at: int
    low: int = 0
    high: int = 0
    is_real: bool = False


class Lookup:
    """The known results of a Python function as a hash table in memory, which the machine reads. A
    result of several numbers is stored as the address of an array. `places`: (array, index) of the
    code words that hold the table's address; they are updated when the table grows.
    The table is valid as long as the lookup exists."""

    def __init__(self, asked: Asked[Any], count: int) -> None:
        self.asked, self.count = asked, count
        self.places: list[tuple[np.ndarray, int]] = []
        self.several: dict[tuple[int, ...], np.ndarray] = {}
        self.words = np.zeros(0, np.int64)
        self.build_table()
        asked.listeners.append(self.add_result)

    def build_table(self) -> None:
        """Build a table of twice the size that the known results need, and store its address in the
        code."""
        known = list(self.asked.known.items())
        self.size, self.used = 1 << (2 * len(known) + 4).bit_length(), 0
        # Another thread may look something up between any two steps, so the table before this one
        # is freed when no code has its address any more.
        former = self.words
        self.words = np.zeros(2 + self.size * (self.count + 2), np.int64)
        self.words[:2] = self.size - 1, self.count
        for args, got in known:
            self.enter(args, got)
        for words, i in self.places:
            words[i] = self.words.ctypes.data
        del former

    def add_result(self, args: Sequence[int], got: Any) -> None:
        """Add a new result; called by `Asked` whenever Python was asked."""
        if 2 * (self.used + 1) > self.size:
            self.build_table()
        else:
            self.enter(args, got)

    def enter(self, args: Sequence[int], got: Any) -> None:
        """Add a row if the arguments and the result fit into the machine's words."""
        if type(got) is tuple:
            got = self.items(got)
        if type(got) is not (float if self.asked.is_real else int):
            return
        if not all(-WHOLE < x < WHOLE for x in (*args, *[got] * (type(got) is int))):
            return
        got = bits(got) if type(got) is float else got
        i = mixed(args) >> 8
        while self.words[at := 2 + (i & self.size - 1) * (self.count + 2)]:
            i += 1
        self.words[at + 1:at + 2 + self.count] = got, *args
        self.words[at], self.used = 1, self.used + 1

    def items(self, got: tuple[int, ...]) -> int | None:
        """The address of an array with the numbers of a tuple; None if one of them does not fit."""
        if not all(type(x) is int and -WHOLE < x < WHOLE for x in got):
            return None
        if got not in self.several:
            self.several[got] = np.array(got, np.int64)
        return int(self.several[got].ctypes.data)


def mixed(args: Iterable[int]) -> int:
    """The hash of a row's arguments, computed as the machine computes it."""
    h = 0
    for x in args:
        h = (h ^ x & WORD) * GOLDEN & WORD
        h ^= h >> TURN
    return h


def bits(x: float) -> int:
    """The bits of a float, as an integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


class Code(NamedTuple):
    """Code for the machine, with the tables whose addresses it contains: whoever stores its
    address owns all of it."""

    words: np.ndarray
    lookups: list[Lookup]

    @property
    def address(self) -> int:
        """Where it begins."""
        return int(self.words.ctypes.data)


class SizeCode:
    """The steps that compute some expressions of `facts`, where no symbol is more than `most`."""

    def __init__(self, facts: Facts, most: int) -> None:
        self.facts, self.most, symbols = facts, most, len(facts.symbols)
        self.registers = [0] * symbols
        self.steps: list[list[int]] = []
        self.names = {f"s{i}": Value(i, LEAST, most) for i in range(symbols)}
        self.known: dict[Any, Value] = {}    # a step or a constant -> where its number is
        self.lookups: list[tuple[int, Lookup]] = []
        for text in facts.asked:
            self.require(ast.parse(text, mode="eval").body)

    # ---- values ----------------------------------------------------------------------------------
    def of(self, x: Any) -> Value:
        """The register of a number or an expression."""
        if type(x) is SymbolicReal:
            return self.parsed(x.text())
        if type(x) is not SymbolicSize:
            return self.constant(x)
        terms = []
        for atoms, times in x.terms.items():
            factors = [self.constant(times)] if times != 1 or not atoms else []
            factors += [self.named(a) for a in atoms]
            terms.append(functools.reduce(self.product, factors))
        return functools.reduce(self.sum, terms)

    def named(self, name: str) -> Value:
        """A symbol, or a named part of an expression."""
        if name not in self.names:
            if name not in self.facts.parts:
                raise Uncoded(f"`{name}` is no number")
            self.names[name] = self.parsed(self.facts.parts[name])
        return self.names[name]

    def constant(self, x: int | float) -> Value:
        """A number."""
        if type(x) not in (int, float):
            raise Uncoded(f"{x!r} is no number of the machine")
        key = type(x), repr(x)
        if key not in self.known:
            if type(x) is int and not -WHOLE < x < WHOLE:
                raise Uncoded("a constant is too large")
            is_real = type(x) is float
            self.known[key] = (Value(self.register(bits(x)), is_real=True) if is_real else
                               Value(self.register(int(x)), int(x), int(x)))
        return self.known[key]

    def register(self, start: int = 0) -> int:
        """A new register, with its initial contents."""
        self.registers.append(start)
        return len(self.registers) - 1

    def step(self, op: Do, a: Value, b: Value, low: int = 0, high: int = 0,
             is_real: bool = False) -> Value:
        """Add a step, unless it exists already."""
        if low <= -WHOLE or high >= WHOLE:
            raise TooLarge
        key = op, a.at, b.at
        if key not in self.known:
            self.known[key] = v = Value(self.register(), low, high, is_real)
            self.steps.append([int(op), v.at, a.at, b.at])
        return self.known[key]

    def sum(self, a: Value, b: Value) -> Value:
        """a + b, of whole numbers."""
        return self.step(Do.ADD, a, b, a.low + b.low, a.high + b.high)

    def product(self, a: Value, b: Value) -> Value:
        """a * b, of whole numbers."""
        found = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return self.step(Do.MUL, a, b, min(found), max(found))

    # ---- expressions as texts --------------------------------------------------------------------
    def parsed(self, text: str) -> Value:
        """The register of a Python expression given as text."""
        key = "text", text
        if key not in self.known:
            self.known[key] = self.visit(ast.parse(text, mode="eval").body)
        return self.known[key]

    def visit(self, e: ast.AST) -> Value:
        """The register of a part of an expression."""
        if isinstance(e, ast.Name):
            return self.named(e.id)
        if isinstance(e, ast.Constant):
            return self.constant(e.value)        # type: ignore[arg-type]
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return self.negative(self.visit(e.operand))
        if isinstance(e, ast.BinOp) and type(e.op) in WAYS:
            return self.computed(e.op, self.visit(e.left), self.visit(e.right))
        if isinstance(e, ast.Call) and not e.keywords:
            return self.called(e)
        if isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Constant):
            return self.item(self.visit(e.value), e.slice.value)     # type: ignore[arg-type]
        raise Uncoded(f"the machine has no {ast.unparse(e)}")

    def negative(self, a: Value) -> Value:
        """-a"""
        return (self.step(Do.REAL_MUL, a, self.constant(-1.0), is_real=True) if a.is_real else
                self.step(Do.SUB, self.constant(0), a, -a.high, -a.low))

    def not_negative(self, a: Value) -> Value:
        """An integer whose bits are used. If it may be negative, a step ends the code in that
        case."""
        if a.low >= 0:
            return a
        answer = self.step(Do.LE, self.constant(0), a, 0, 1)
        self.steps.append([int(Do.REQUIRE), 0, answer.at, 0])
        return a._replace(low=0)

    def computed(self, op: ast.operator, a: Value, b: Value) -> Value:
        """a op b"""
        whole, real = WAYS[type(op)]
        if real is not None and (whole is None or a.is_real or b.is_real):
            return self.step(real, self.real(a), self.real(b), is_real=True)
        if whole is None or a.is_real or b.is_real:
            raise Uncoded("a float is no whole number")
        if whole == Do.ADD:
            return self.sum(a, b)
        if whole == Do.MUL:
            return self.product(a, b)
        if whole == Do.SUB:
            return self.step(whole, a, b, a.low - b.high, a.high - b.low)
        if whole == Do.DIV:
            if b.low > 0:
                found = [x // y for x in (a.low, a.high) for y in (b.low, b.high)]
                return self.step(whole, a, b, min(found), max(found))
            most = max(abs(a.low), abs(a.high)) + 1
            return self.step(whole, a, b, -most, most)
        if whole == Do.MOD:
            return self.step(whole, a, b, min(b.low, 0), max(b.high, 0))
        a, b = self.not_negative(a), self.not_negative(b)
        return self.step(whole, a, b, 0, (1 << max(a.high, b.high).bit_length()) - 1)

    def real(self, a: Value) -> Value:
        """A number as a float."""
        if a.is_real:
            return a
        if max(-a.low, a.high) > EXACT:
            raise TooLarge
        return self.step(Do.REAL, a, a, is_real=True)

    def called(self, e: ast.Call) -> Value:
        """The result of a function call."""
        f = e.func
        if isinstance(f, ast.Attribute) and f.attr == "bit_length":
            a = self.visit(f.value)
            if a.is_real:
                raise Uncoded("bits of a float")
            a = self.not_negative(a)
            return self.step(Do.BITS, a, a, 0, 64)
        args = [self.visit(x) for x in e.args]
        if isinstance(f, ast.Name) and f.id == "floor" and args[0].is_real:
            return self.step(Do.FLOOR, args[0], args[0], 1 - WHOLE, WHOLE - 1)
        if not isinstance(f, ast.Name) or any(a.is_real for a in args):
            raise Uncoded(f"{ast.unparse(e)} is a function of floats")
        if f.id in ("max", "min") and len(args) == 2:
            a, b = args
            some = max if f.id == "max" else min
            op = Do.MAX if f.id == "max" else Do.MIN
            return self.step(op, a, b, some(a.low, b.low), some(a.high, b.high))
        if f.id not in self.facts.functions:
            raise Uncoded(f"the machine has no {f.id}")
        return self.looked_up(f.id, args)

    def item(self, several: Value, i: int) -> Value:
        """One of the numbers that a function returned."""
        v = Value(self.register(), 1 - WHOLE, WHOLE - 1)
        self.steps.append([int(Do.ITEM), v.at, several.at, i])
        return v

    def looked_up(self, name: str, args: list[Value]) -> Value:
        """The result of a Python function. Its arguments are in consecutive registers."""
        asked, first = self.facts.functions[name], len(self.registers)
        for a in args:
            self.steps.append([int(Do.COPY), self.register(), a.at, a.at])
        self.lookups.append((len(self.steps), Lookup(asked, len(args))))
        v = Value(self.register(), 1 - WHOLE, WHOLE - 1, asked.is_real)
        self.steps.append([int(Do.LOOKUP), v.at, first, 0])
        return v

    def require(self, e: ast.AST) -> None:
        """A step that ends the code if a condition does not hold."""
        is_so = True
        while isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            e, is_so = e.operand, not is_so
        if not isinstance(e, ast.Compare) or len(e.ops) != 1 or type(e.ops[0]) not in ASKED:
            raise Uncoded("a question is no comparison")
        whole, real, change_places, turned = ASKED[type(e.ops[0])]
        a, b = self.visit(e.left), self.visit(e.comparators[0])
        if change_places:
            a, b = b, a
        is_real = a.is_real or b.is_real
        answer = (self.step(real, self.real(a), self.real(b)) if is_real else
                  self.step(whole, a, b, 0, 1))
        self.steps.append([int(Do.REQUIRE if is_so is not turned else Do.REFUSE), 0, answer.at, 0])

    # ---- what is done with them ------------------------------------------------------------------
    def store(self, x: Any, address: int, dtype: Any = np.int64) -> None:
        """A step that writes an expression's number to an address. All other steps come before."""
        dtype, a = np.dtype(dtype), self.of(x)
        if dtype == np.float32:
            self.steps.append([int(Do.STORE_FLOAT), address, self.real(a).at, 0])
        elif dtype == (np.float64 if a.is_real else np.int64):
            self.steps.append([int(Do.STORE), address, a.at, 0])
        elif dtype == np.float64:
            self.steps.append([int(Do.STORE), address, self.real(a).at, 0])
        else:
            raise Uncoded(f"a number of {dtype}")

    def code(self, places: Sequence[tuple[int, int]], tensor: int) -> Code:
        """The finished code. `places`: the object and the dimension that has the value of
        each symbol, `tensor`: the address of the type of tensors."""
        order = sorted(self.steps, key=lambda s: s[0] in (Do.STORE, Do.STORE_FLOAT))
        parts = [[x for p in places for x in p], [0] * len(places), self.registers,
                 [x for s in order for x in s]]
        starts = [CODE_WORDS]
        for p in parts:
            starts.append(starts[-1] + len(p))
        head = dict(symbols=len(places), most=self.most, tensor=tensor, turn=0, length=len(order),
                    symbols_at=8 * starts[0], now_at=8 * starts[1], registers_at=8 * starts[2],
                    steps_at=8 * starts[3])
        words = np.array([head[name] for name in CODE] + [x for p in parts for x in p], np.int64)
        at = {id(s): i for i, s in enumerate(order)}
        for i, table in self.lookups:
            word = starts[3] + STEP_WORDS * at[id(self.steps[i])] + 3
            table.places.append((words, word))
            words[word] = table.words.ctypes.data
        return Code(words, [table for _, table in self.lookups])


def coded(facts: Facts, stores: Sequence[tuple[Any, int, Any]], places: Any,
          tensor: int) -> Code:
    """Code that stores expressions, each given as (expression, address, dtype)."""
    for most in MOST:
        try:
            code = SizeCode(facts, most)
            # All are computed before the first is written.
            for x, address, dtype in stores:
                code.store(x, address, dtype)
            return code.code(places, tensor)
        except TooLarge:
            continue
    raise Uncoded("its numbers are too large")
