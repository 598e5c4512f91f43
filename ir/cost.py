"""What nodes cost: the bytes that they move between kernels, and the floating point operations that they do.

Bytes are those of operands and results, elements that lie in one place (an expanded view) counted once; a view moves nothing, a kernel of
fused nodes only what it reads and gives. Operations are counted as the ops are defined: every function of an expression is one.
"""
import math

from . import scalar
from .graph import Ref
from .rows import Reduce, StoreRow

FREE = frozenset(("arg", "const", "cast"))


def moved(n, types):
    """The bytes that a node reads and writes."""
    if n.kind == "op" and n.op.is_view:
        return 0
    changed = [n.ins[0]] if n.kind == "write" else []        # read as an operand, and written
    return sum(types[x].extent for x in [*dict.fromkeys(n.refs()), *n.outs, *changed])


def operations(n, types):
    """The floating point operations that a node does, about."""
    if n.kind == "roll":
        return n.value.rounds * sum(operations(m, types) for m in n.value.body)
    if n.members:
        return sum(operations(m, types) for m in n.members)
    if n.op is None or n.kind == "op" and n.op.is_view:
        return 0
    made = types[n.outs[0] if n.outs else n.ins[0]]
    if n.op.family == "pointwise":
        return made.size * sum(e.op not in FREE for e in scalar.walk(n.op.root))
    reads = [types[x] if type(x) is Ref else None for x in n.ins]
    if n.op.family == "contract":
        return 2 * made.size * reads[0].shape[-1] + (made.size if len(reads) > 2 and reads[2] is not None else 0)
    if n.op.name == "convolution":
        return 2 * made.size * math.prod(reads[1].shape[1:])
    if n.op.name == "conv_input_grad":
        return 2 * reads[0].size * math.prod(reads[1].shape[1:])
    if n.op.name == "conv_weight_grad":
        return 2 * reads[0].size * math.prod(made.shape[1:])
    if n.op.family == "rows":
        stages = n.op.program(_letters(reads[0].dtype)).stages
        return reads[0].size * sum(type(s) is Reduce for s in stages) + sum(
            (made.size if type(s) is StoreRow else reads[0].size) * sum(e.op not in FREE for e in scalar.walk(s.expr)) for s in stages)
    if n.op.family in ("reduce", "scan", "window"):
        return max([t.size for t in reads if t is not None], default=0)
    return 0


def _letters(dtype):
    from whet.dtypes import FROM_NUMPY
    return FROM_NUMPY[dtype].short
