"""Sizes that are no products of others, `(time-1)//2+1`: what a window or a stride leaves.

A formula is a Python expression of the sizes that differ, `s0`, `s1`, ... in their order. It
may have numbers, `+ - * / // %`, `max`, `min`, `floor`, `ceil`, `round`, `sqrt`, `log` and `pow`:
these mean the same in a library (see `library/size_code.py`) and in ONNX. What is read from a file
is held to that.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

from whet.ir.size_conditions import Answers
from whet.ir.symbolic_size import (
    SYMBOLIC,
    SymbolicReal,
    SymbolicSize,
    at_least,
    at_most,
    text,
    value,
)

from .errors import PreconditionError

MOST_TEXT = 1000  # characters; what comes of dozens of windows in a row is shorter
OPERATORS = ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod


def of_real(name: str, function: Callable[..., float]) -> Callable[..., Any]:
    """A function of numbers, some of which may depend on sizes."""
    def made(*xs: Any) -> Any:
        symbolic = next((x for x in xs if type(x) in SYMBOLIC), None)
        if symbolic is None:
            return float(function(*xs))
        now = float(function(*map(value, xs)))
        return SymbolicReal(f"{name}({', '.join(map(text, xs))})", now, symbolic.facts)
    return made


# by name: what computes them, and how many numbers they take
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "max": (at_least, 2), "min": (at_most, 2), "floor": (math.floor, 1), "ceil": (math.ceil, 1),
    "round": (round, 1),
    "sqrt": (of_real("sqrt", math.sqrt), 1), "log": (of_real("log", math.log), 1),
    "pow": (of_real("pow", math.pow), 2)}
REAL = "floor", "ceil", "round", "sqrt", "log", "pow"
CALLED = {name: function for name, (function, _) in FUNCTIONS.items()}
# Python's functions of a number, written as formulas
WRITTEN: dict[Callable[..., Any], str] = {
    math.floor: "floor({0})", math.ceil: "ceil({0})", round: "round({0})", math.sqrt: "sqrt({0})",
    math.log: "log({0})", pow: "pow({0}, {1})"}


class SizeFormula:
    """`text` is the expression. Raises ValueError where it is none of a number of sizes."""

    __slots__ = ("code", "source")

    def __init__(self, source: str, count: int) -> None:
        if len(source) > MOST_TEXT:
            raise ValueError("an expression of sizes is too long")
        try:
            tree = ast.parse(source, mode="eval")
            checked(tree.body, {f"s{i}" for i in range(count)})
            self.code = compile(tree, "sizes", "eval")
        except (SyntaxError, RecursionError, MemoryError) as e:
            raise ValueError("an expression of sizes cannot be read") from e
        self.source = source

    def at(self, values: Sequence[Any]) -> Any:
        """The value of the expression where the sizes are these."""
        scope = {f"s{i}": n for i, n in enumerate(values)}
        try:
            return eval(self.code, {"__builtins__": {}, **CALLED}, scope)
        except ZeroDivisionError:
            raise PreconditionError(f"the size {self.source} divides by 0") from None
        except (OverflowError, ValueError):
            raise PreconditionError(f"the size {self.source} has no value") from None

    @property
    def has_fractions(self) -> bool:
        """Does it compute with more than whole numbers?"""
        return any(isinstance(x, ast.Div) or isinstance(x, ast.Constant) and type(x.value) is float
                   or isinstance(x, ast.Name) and x.id in REAL
                   for x in ast.walk(ast.parse(self.source, mode="eval")))

    def text(self, names: Sequence[str]) -> str:
        """How people write it."""
        tree = Named(dict(zip([f"s{i}" for i in range(len(names))], names))).visit(
            ast.parse(self.source, mode="eval"))
        return ast.unparse(tree).replace(" ", "").replace(",", ", ")


class Named(ast.NodeTransformer):
    """Puts other names into an expression, and makes one division of two in a row."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if (isinstance(node.op, ast.FloorDiv) and isinstance(left, ast.BinOp)
                and isinstance(left.op, ast.FloorDiv)):
            by, then = number_above_0(left.right), number_above_0(right)
            if by and then:
                return ast.BinOp(left.left, ast.FloorDiv(), ast.Constant(by * then))
        return ast.BinOp(left, node.op, right)


def number_above_0(x: ast.expr) -> int:
    """A number that is above 0; 0 for anything else."""
    return x.value if isinstance(x, ast.Constant) and type(x.value) is int and x.value > 0 else 0


def checked(x: ast.expr, names: set[str]) -> None:
    """Raise ValueError where a part is nothing that a formula may have."""
    if isinstance(x, ast.Name) and x.id in names:
        return
    if isinstance(x, ast.Constant) and is_number(x.value):
        return
    if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub):
        return checked(x.operand, names)
    if isinstance(x, ast.BinOp) and isinstance(x.op, OPERATORS):
        checked(x.left, names)
        return checked(x.right, names)
    if (isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in FUNCTIONS
            and len(x.args) == FUNCTIONS[x.func.id][1] and not x.keywords):
        for a in x.args:
            checked(a, names)
        return
    raise ValueError(f"`{ast.unparse(x)}` is no expression of sizes")


def is_number(x: object) -> bool:
    """Is it a number that a formula may have?"""
    return type(x) is int or type(x) is float and math.isfinite(x)


class Spelled(ast.NodeTransformer):
    """Puts in the place of longer expressions' names what they stand for."""

    def __init__(self, answers: Answers) -> None:
        self.parts, self.functions = answers.parts, answers.functions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if part is None:
            return node
        if len(part) > MOST_TEXT:
            raise ValueError("an expression of sizes is too long")
        found: ast.expr = self.visit(ast.parse(part, mode="eval").body)
        return found


    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        asked = self.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        form = None if asked is None else WRITTEN.get(asked.function)
        if form is None or asked is None or asked.function is pow and not asked.is_real:
            return node
        made: ast.expr = ast.parse(form.format(*map(ast.unparse, node.args)), mode="eval").body
        return made


def formula_of(size: SymbolicSize | SymbolicReal) -> SizeFormula | None:
    """The formula of a number of a plan; None where it has something that no formula has."""
    try:
        tree = Spelled(size.facts).visit(ast.parse(size.text(), mode="eval").body)
        return SizeFormula(ast.unparse(tree), len(size.facts.values))
    except ValueError:
        return None
