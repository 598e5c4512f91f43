"""Complex numbers, for which runners have no kernels: a real value for each part. Where a model is
given them, or gives them, a last dimension has the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from whet.ir.complex_parts import Inseparable, of_parts
from whet.ir.expressions import Expr, uses
from whet.ir.values import Type

from .builder import GraphBuilder
from .operators import Inexpressible
from .scalar_nodes import expressions
from .values import Pair, Value


def is_complex(t: Type) -> bool:
    """Are the elements complex numbers?"""
    return t.dtype.kind == "c"


def as_pairs(a: np.ndarray) -> np.ndarray:
    """An array, of complex numbers with a last dimension of their parts."""
    a = np.asarray(a)
    return np.stack([a.real, a.imag], -1) if a.dtype.kind == "c" else a


def type_of_pairs(t: Type) -> Type:
    """The type of what a model is given, or gives, for a value."""
    return Type.of_expressions(_real(t).dtype, (*t.shape, 2)) if is_complex(t) else t


def _real(t: Type) -> Type:
    if not is_complex(t):
        return t
    return Type.of_expressions(np.empty((), t.dtype).real.dtype, t.shape)


def split(b: GraphBuilder, x: Value) -> Pair:
    """Complex numbers of a value whose last dimension has their parts."""
    shape = None if x.shape is None else x.shape[:-1]
    real, imag = (b.Gather(x, b.number(i, "i64"), axis=-1) for i in range(2))
    real.shape = imag.shape = shape
    return Pair(real, imag, shape)


def joined(b: GraphBuilder, z: Pair) -> Value:
    """A value with a last dimension of the parts."""
    last = b.ints((-1,))
    made: Value = b.Concat(*[b.Unsqueeze(x, last) for x in (z.real, z.imag)], axis=-1)
    made.shape = None if z.shape is None else (*z.shape, 2)
    return made


def expression_of_pairs(b: GraphBuilder, root: Expr, args: Sequence[Value]) -> Value:
    """An expression some of whose operands are complex."""
    try:
        roots = of_parts(root, [x.dtype for x in args])
    except Inseparable as wrong:
        raise Inexpressible(str(wrong)) from None
    parts = [p for x in args for p in ((x.real, x.imag) if isinstance(x, Pair) else (x, x))]
    made = expressions(b, roots, parts)
    if len(made) == 1:
        return made[0]
    shape = b.results[0].shape
    # a part that is computed from fewer operands may have fewer elements
    read = [{n // 2 for n in uses(r)} for r in roots]
    for i, x in enumerate(made):
        if read[i] != read[0] | read[1]:
            made[i] = b.Expand(x, b.ints(shape))
        made[i].shape = shape
    return Pair(made[0], made[1], shape)


def made_by(
    b: Any, op: Any, operands: Sequence[Any], attrs: Mapping[str, Any], what: str
) -> Any:
    """What an op makes. Where complex numbers are concerned, an op that is linear in them does the
    same with each part. `what` it is that the standard may lack."""
    at = [i for i, x in enumerate(operands) if isinstance(x, Pair)]
    concerned = bool(at) or any(map(is_complex, b.results))
    if concerned and op.onnx_complex is not None:
        return op.onnx_complex(b, *operands, **attrs)
    if op.onnx is None:
        raise Inexpressible("complex numbers" if concerned else f"ONNX has no such {what}")
    if not at:
        return op.onnx(b, *operands, **attrs)
    if any(i not in op.linear for i in at):
        raise Inexpressible("complex numbers")
    types, pairs = b.results, [
        b.parts_of(x) if i in op.linear and x is not None else (x, x)
        for i, x in enumerate(operands)
    ]
    b.results = tuple(map(_real, types))
    real, imag = (op.onnx(b, *xs, **attrs) for xs in zip(*pairs))
    b.results = types
    return each_pair(types, real, imag)


def each_pair(types: Sequence[Type], real: Any, imag: Any) -> Any:
    """The parts of results as complex values; results that are not complex as they are."""
    if not isinstance(real, tuple):
        return Pair(real, imag, real.shape)
    return tuple(
        Pair(x, y, t.shape) if is_complex(t) else x for t, x, y in zip(types, real, imag)
    )


def on_parts(x: Value, rule: Callable[..., Value], *more: Value) -> Value:
    """A value after a rule that does the same with each part, and with those of others."""
    if not isinstance(x, Pair):
        return rule(x, *more)
    real, imag = (rule(*parts) for parts in zip(*[(y.real, y.imag) for y in (x, *more)]))
    return Pair(real, imag, real.shape)
