"""Row programs as ONNX nodes: a reduction or an expression for each stage of `ir/rows.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whet.ir import rows

from .builder import GraphBuilder
from .scalar_nodes import HALF, expression
from .values import Value

REDUCTIONS = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
NARROW = ("i8", "u8", "i16", "u16", "bool")


def row_program(
    b: GraphBuilder, program: rows.Program, operands: Sequence[Any], dim: Sequence[int]
) -> list[Value]:
    """The outputs of a row program along some dimensions, which row outputs have with size 1."""
    remaining = iter(operands)
    full = next(x for x in operands if isinstance(x, Value))
    seen = [
        _seen(b, o, None if o.is_position else next(remaining), full, dim)
        for o in program.operands
    ]
    made = []
    for stage in program.stages:
        x = expression(b, stage.expr, seen)
        if isinstance(stage, rows.Reduce):
            seen += reduced(b, stage.kind, x, dim, full)
        elif isinstance(stage, rows.Keep):
            seen.append(x)
        else:
            made.append(x)
    return made


def _seen(b: GraphBuilder, o: rows.Operand, x: Any, full: Value, dim: Sequence[int]) -> Value:
    """An operand as a value that broadcasts against the rows."""
    sizes = full.shape or ()
    kept = [sizes[d] if d in dim else 1 for d in range(full.ndim)]
    if o.is_position:
        count = (
            b.range_of(kept[dim[0]])
            if len(dim) == 1
            else b.refuse("places along several dimensions")
        )
        return b.reshape(count, kept)
    if not isinstance(x, Value):
        return b.number(x, o.dtype)
    if o.is_column and x.shape != tuple(kept[-x.ndim :]):
        return b.reshape(x, kept)
    return x


def reduced(b: GraphBuilder, kind: str, x: Value, dim: Sequence[int], full: Value) -> list[Value]:
    """A reduction that keeps its dimensions; for an extremum with its place two values."""
    if kind in rows.INDEXED:
        if len(dim) != 1:
            b.refuse("the place of an extremum along several dimensions")
        (axis,) = dim
        extremum, place = (
            ("ReduceMax", "ArgMax") if kind == "max_index" else ("ReduceMin", "ArgMin")
        )
        return [reduce(b, extremum, x, dim), b.node(place, x, axis=axis, keepdims=1)]
    if kind in ("any", "all"):
        wide = b.cast(x, "i32")
        return [b.cast(reduce(b, "ReduceMax" if kind == "any" else "ReduceMin", wide, dim), "bool")]
    return [reduce(b, REDUCTIONS[kind], x, dim)]


def reduce(
    b: GraphBuilder, operator: str, x: Value, dim: Sequence[int], keepdim: bool = True
) -> Value:
    """A reduction, whose axes are an operand from opset 18 on, and of a sum before."""
    if not dim:
        return x
    if b.opset >= 18 or operator == "ReduceSum":
        return b.node(operator, x, b.ints(dim), keepdims=int(keepdim))
    return b.node(operator, x, axes=list(dim), keepdims=int(keepdim))


def reduction(
    b: GraphBuilder, kind: str, before: Any, x: Value, dim: Sequence[int] | None, keepdim: bool
) -> Value:
    """An op's reduction: in f32 of halves, in its result's type of others."""
    axes = tuple(range(x.ndim)) if dim is None else tuple(dim)
    result = b.result_type(0)
    if before is not None:
        x = expression(b, before, [x])
    if kind in ("any", "all"):
        truth = b.cast(b.cast(x, "bool"), "i32")
        return b.cast(
            reduce(b, "ReduceMax" if kind == "any" else "ReduceMin", truth, axes, keepdim), result
        )
    work = "f32" if result in HALF else "i64" if result in (*NARROW, "u32") else result
    operator = "ReduceMean" if kind == "mean" else REDUCTIONS[kind]
    return b.cast(reduce(b, operator, b.cast(x, work), axes, keepdim), result)
