"""The cost of nodes: the bytes that they move between kernels, and their floating point operations.

Bytes are those of operands and results. Elements in one place (an expanded view) count once. A view
moves nothing, a kernel of fused nodes only what it reads and gives. Operations are counted as the
ops are defined: every function of an expression is one. Of recurrent layers only the products
count.
"""
from __future__ import annotations

import math

from . import scalar
from .loops import Roll
from .nodes import Node, Types, Write
from .op import Op
from .rows import Reduce, StoreRow
from .values import Ref, Type, short

FREE = frozenset(("arg", "const", "cast"))


def moved(n: Node, types: Types) -> int:
    """The bytes that a node reads and writes."""
    if n.is_view:
        return 0
    changed = n.written() if isinstance(n, Write) else ()        # read as an operand, and written
    return sum(types[x].extent for x in [*dict.fromkeys(n.refs()), *n.outs, *changed])


def operations(n: Node, types: Types) -> int:
    """The floating point operations that a node does, about."""
    if isinstance(n, Roll):
        return n.loop.rounds * sum(operations(m, types) for m in n.loop.body)
    if n.members:
        return sum(operations(m, types) for m in n.members)
    if n.op is None or n.is_view:
        return 0
    if n.op.family == "many tensors":
        each = sum(e.op not in FREE for e in scalar.walk(*n.op.roots))
        return each * sum(types[x].size for x in n.ins[:n.attrs["tensors"]])
    made = types[n.outs[0] if n.outs else n.ins[0]]
    return of_op(n.op, made, [types[x] if type(x) is Ref else None for x in n.ins])


def of_op(op: Op, made: Type, ins: list[Type | None]) -> int:
    """The floating point operations of an op that makes this of such operands."""
    if op.family == "pointwise":
        return made.size * sum(e.op not in FREE for e in scalar.walk(op.root))
    reads = [t for t in ins if t is not None]
    if op.family == "contract":
        adds = len(ins) > 2 and ins[2] is not None
        return 2 * made.size * reads[0].shape[-1] + (made.size if adds else 0)
    if op.name == "convolution":
        return 2 * made.size * math.prod(reads[1].shape[1:])
    if op.name == "conv_input_grad":
        return 2 * reads[0].size * math.prod(reads[1].shape[1:])
    if op.name == "conv_weight_grad":
        return 2 * reads[0].size * math.prod(made.shape[1:])
    if op.family == "rows":
        return _of_rows(op, made, reads[0])
    if op.family == "recurrent":
        steps, sequences = reads[0].shape[:2]
        return 2 * steps * sequences * sum(t.size for t, at in zip(ins, op.rows_at)
                                           if t is not None and at is None and len(t.shape) == 2)
    if op.family == "reductions":
        return sum(t.size for t in reads)
    if op.family in ("reduce", "scan", "window"):
        return max([t.size for t in reads], default=0)
    return 0


def _of_rows(op: Op, made: Type, operand: Type) -> int:
    """The floating point operations of an op over rows."""
    total = 0
    for s in op.program(short(operand.dtype)).stages:
        elements = made.size if type(s) is StoreRow else operand.size
        total += elements * sum(e.op not in FREE for e in scalar.walk(s.expr))
        total += operand.size * (type(s) is Reduce)
    return total
