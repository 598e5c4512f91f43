"""Sizes that are not known before a model runs, as values: computed from the shapes of its inputs.

A size is an expression of named dimensions, `batch * seq` or `(n + 1) // 2`. Its text says all. A
part that is no whole number, `1 / n`, has the type of Python's floats.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np


def size_value(b: Any, n: Any) -> Any:
    """A size, or a number that goes by sizes, as a vector of one number."""
    if isinstance(n, int | np.integer):
        return b.constant(np.array([n], np.int64), "sizes")
    return _value(b, ast.parse(str(n), mode="eval").body)


def _value(b: Any, node: ast.expr) -> Any:
    key = ast.unparse(node)
    holder = b
    while holder is not None:
        if key in holder.sizes:
            return holder.sizes[key]
        holder = holder.outer
    label, b.label = b.label, "size"
    b.sizes[key] = made = _computed(b, node)
    b.label = label
    return made


def _computed(b: Any, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return b.constant(np.array([node.value]), "sizes")
    if isinstance(node, ast.Name):
        if node.id not in b.dims:
            b.refuse(f"no input has the dimension {node.id}")
        x, axis = b.dims[node.id]
        return b.Shape(x, start=axis, end=axis + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return b.Neg(_value(b, node.operand))
    if isinstance(node, ast.BinOp):
        left, right = _value(b, node.left), _value(b, node.right)
        if isinstance(node.op, ast.Div) or left.dtype != right.dtype:
            left, right = b.cast(left, "f64"), b.cast(right, "f64")
        if isinstance(node.op, ast.Div):
            return b.Div(left, right)
        if isinstance(node.op, ast.FloorDiv):
            return b.Div(b.Sub(left, b.Mod(left, right)), right)
        if isinstance(node.op, ast.Pow):
            return b.Pow(left, right)
        return b.node(_BINARY[type(node.op)], left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        return b.node(_CALLS[node.func.id], *[_value(b, x) for x in node.args])
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _REAL:
        operands = [b.cast(_value(b, x), "f64") for x in node.args]
        return b.node(_REAL[ast.unparse(node.func)], *operands)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _ROUNDED:
        inner = _value(b, node.args[0])
        rounded = _ROUNDED[ast.unparse(node.func)]
        return inner if inner.dtype == "i64" else b.cast(b.node(rounded, inner), "i64")
    return b.refuse(f"the size {ast.unparse(node)} is no expression of sizes that ONNX has")


_BINARY: dict[type, str] = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Mod: "Mod"}
_ROUNDED = {"floor": "Floor", "ceil": "Ceil", "round": "Round"}
_REAL = {"sqrt": "Sqrt", "log": "Log", "pow": "Pow"}
_CALLS = {"max": "Max", "min": "Min"}
