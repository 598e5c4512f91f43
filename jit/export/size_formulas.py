"""Sizes that are no products of others, `(time-1)//2+1`: what a window or a stride leaves.

A formula is an expression of Python's of the sizes that differ, `s0`, `s1`, ... in their order. It
may have whole numbers, `+ - * // %`, `max` and `min`: these mean the same in a library (see
`library/size_code.py`) and in ONNX. What is read from a file is held to that.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from whet.ir.size_conditions import Answers
from whet.ir.symbolic_size import SymbolicSize, at_least, at_most

from .errors import PreconditionError

MOST_TEXT = 1000  # characters; what comes of dozens of windows in a row is shorter
OPERATORS = ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod
FUNCTIONS = {"max": at_least, "min": at_most}


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
            return eval(self.code, {"__builtins__": {}, **FUNCTIONS}, scope)
        except ZeroDivisionError:
            raise PreconditionError(f"the size {self.source} divides by 0") from None

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
    if isinstance(x, ast.Constant) and type(x.value) is int:
        return
    if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub):
        return checked(x.operand, names)
    if isinstance(x, ast.BinOp) and isinstance(x.op, OPERATORS):
        checked(x.left, names)
        return checked(x.right, names)
    if (isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in FUNCTIONS
            and len(x.args) == 2 and not x.keywords):
        for a in x.args:
            checked(a, names)
        return
    raise ValueError(f"`{ast.unparse(x)}` is no expression of sizes")


class Spelled(ast.NodeTransformer):
    """Puts in the place of longer expressions' names what they stand for."""

    def __init__(self, answers: Answers) -> None:
        self.parts = answers.parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if part is None:
            return node
        if len(part) > MOST_TEXT:
            raise ValueError("an expression of sizes is too long")
        found: ast.expr = self.visit(ast.parse(part, mode="eval").body)
        return found


def formula_of(size: SymbolicSize) -> SizeFormula | None:
    """The formula of a size of a plan; None where it has something that no formula has."""
    try:
        tree = Spelled(size.facts).visit(ast.parse(size.text(), mode="eval").body)
        return SizeFormula(ast.unparse(tree), len(size.facts.values))
    except ValueError:
        return None
