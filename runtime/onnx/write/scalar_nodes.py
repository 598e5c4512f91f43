"""Scalar expressions as ONNX nodes: a node for each operation of `ir/scalar.py`.

Halves are computed in f32 and rounded where the expression casts and at its end, as by every
target. Small whole numbers are computed in wider types, which more runtimes have, and cut back:
that wraps around as it does here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from whet.ir import expressions as e
from whet.ir import primitives
from whet.ir.expressions import COMPARE, Expr

from ...dtypes import FLOAT, SHORT
from . import special_functions as special
from .builder import GraphBuilder
from .values import Value

HALF = ("f16", "bf16")
WIDER = {"i8": "i32", "u8": "i32", "i16": "i32", "u16": "i32", "u32": "i64"}
FLOATS = ("f32", "f64")
Rule = Callable[..., Value]


def expression(b: GraphBuilder, root: Expr, args: Sequence[Value]) -> Value:
    """The value of an expression of some values."""
    return expressions(b, [root], args)[0]


def expressions(b: GraphBuilder, roots: Sequence[Expr], args: Sequence[Value]) -> list[Value]:
    """The values of expressions, common parts computed once."""
    types = e.types(roots, {i: x.dtype for i, x in enumerate(args)})
    done: dict[int, Any] = {}
    for x in e.walk(*roots):
        done[id(x)] = _written(b, x, done, types, args)
    made = []
    for r in roots:
        value = done[id(r)]
        if not isinstance(value, Value):
            b.refuse("a number without a type")
        made.append(b.cast(value, types[id(r)]) if types[id(r)] in HALF else value)
    return made


def _written(
    b: GraphBuilder, x: Expr, done: dict[int, Any], types: dict[int, Any], args: Sequence[Value]
) -> Any:
    """An expression whose operands are written: a value, or a bare number."""
    if x.op == "arg":
        return b.cast(args[x.value], "f32") if args[x.value].dtype in HALF else args[x.value]
    if x.op == "const":
        return x.value
    operands = [done[id(a)] for a in x.args]
    if x.op == "cast":
        if not isinstance(operands[0], Value):
            return b.number(operands[0], x.value)
        return convert(b, operands[0], x.value)
    skip = int(x.op == "select")
    kept = operands[skip:]
    typed = [y for y, a in zip(kept, x.args[skip:]) if isinstance(y, Value) and types[id(a)]]
    like = typed[0] if typed else next((y for y in kept if isinstance(y, Value)), None)
    if like is None and (x.op != "select" or not isinstance(operands[0], Value)):
        return primitives.PRIMITIVES[x.op][0](*operands)
    if like is None:
        like = b.number(kept[0], "f32" if any(isinstance(k, float) for k in kept) else "i64")
    values = [
        y if isinstance(y, Value) and types[id(a)] else b.number(y, like.dtype)
        for y, a in zip(kept, x.args[skip:])
    ]
    if x.op == "select":
        return choose(b, operands[0], *values)
    return primitive(b, x.op, *values)


def convert(b: GraphBuilder, x: Value, to: str) -> Value:
    """x in another type; a half is kept as f32, rounded."""
    if to in HALF:
        return b.cast(b.cast(x, to), "f32")
    return b.cast(x, to)


def choose(b: GraphBuilder, condition: Value, yes: Value, no: Value) -> Value:
    """yes where the condition holds, else no."""
    condition = b.cast(condition, "bool")
    if yes.dtype == "bool":
        return b.Or(b.And(condition, yes), b.And(b.Not(condition), no))
    wide = WIDER.get(yes.dtype, yes.dtype)
    return b.cast(b.Where(condition, b.cast(yes, wide), b.cast(no, wide)), yes.dtype)


def primitive(b: GraphBuilder, op: str, *xs: Value) -> Value:
    """One operation, on operands of one type."""
    if op in _TRUTH and xs[0].dtype == "bool":
        return _TRUTH[op](b, *xs)
    if op in FORMULAS_OF_F64 and xs[0].dtype == "f64":
        return expression(b, FORMULAS_OF_F64[op](*[e.arg(i) for i in range(len(xs))]), xs)
    if op in PRIMITIVES:
        wide = WIDER.get(
            xs[0].dtype, "i32" if xs[0].dtype == "bool" and op in _ORDER else xs[0].dtype
        )
        made = PRIMITIVES[op](b, *[b.cast(x, wide) for x in xs])
        return made if op in COMPARE else b.cast(made, xs[0].dtype)
    if op in DECOMPOSED:
        return _decomposed(b, op, xs)
    return b.refuse(f"the function {op}")


def _decomposed(b: GraphBuilder, op: str, xs: Sequence[Value]) -> Value:
    """By other operations, in f64 where these lose digits."""
    wide = [b.cast(x, "f64") if x.dtype == "f32" and op in IN_F64 else x for x in xs]
    root = DECOMPOSED[op](*[e.arg(i) for i in range(len(xs))])
    return b.cast(expression(b, root, wide), xs[0].dtype)


def _is_whole(x: Value) -> bool:
    return SHORT[x.dtype].category < FLOAT


def _same(operator: str) -> Rule:
    return lambda b, *xs: b.node(operator, *xs)


def _of_whole_itself(operator: str) -> Rule:
    """An operator that leaves whole numbers as they are."""
    return lambda b, x: x if _is_whole(x) else b.node(operator, x)


def _float_test(operator: str) -> Rule:
    return lambda b, x: b.Not(b.Equal(x, x)) if _is_whole(x) else b.node(operator, x)


def _trunc(b: GraphBuilder, x: Value) -> Value:
    return x if _is_whole(x) else b.Where(b.Less(x, 0), b.Ceil(x), b.Floor(x))


def _divided(b: GraphBuilder, x: Value, y: Value) -> Value:
    """x / y; of whole numbers 0 where y is 0, which some runners take for an error."""
    if not _is_whole(x) or y.array is not None and y.array.all():
        return b.Div(x, y)
    none = b.Equal(y, 0)
    return b.Where(none, b.number(0, x.dtype), b.Div(x, b.Where(none, b.number(1, y.dtype), y)))


def _remainder(b: GraphBuilder, x: Value, y: Value, **fmod: int) -> Value:
    """A remainder; of whole numbers 0 where y is 0."""
    if not _is_whole(x) or y.array is not None and y.array.all():
        return b.Mod(x, y, **fmod)
    none = b.Equal(y, 0)
    made = b.Mod(x, b.Where(none, b.number(1, y.dtype), y), **fmod)
    return b.Where(none, b.number(0, x.dtype), made)


def _below(b: GraphBuilder, r: Value, y: Value) -> Value:
    """Is a remainder not zero, and of another sign than the divisor?"""
    return b.And(b.Not(b.Equal(r, 0)), b.Xor(b.Less(r, 0), b.Less(y, 0)))


def _mod(b: GraphBuilder, x: Value, y: Value) -> Value:
    """The remainder that has the divisor's sign."""
    if _is_whole(x):
        return _remainder(b, x, y)
    r = b.Mod(x, y, fmod=1)
    return b.Where(_below(b, r, y), b.Add(r, y), r)


def _floordiv(b: GraphBuilder, x: Value, y: Value) -> Value:
    if _is_whole(x):
        q = _divided(b, x, y)
        short = _below(b, b.Sub(x, b.Mul(q, y)), y)
        if y.array is None or not y.array.all():
            short = b.And(short, b.Not(b.Equal(y, 0)))
        return b.Where(short, b.Sub(q, 1), q)
    whole = b.Round(b.Div(b.Sub(x, _mod(b, x, y)), y))
    return b.Where(b.Equal(y, 0), b.Div(x, y), whole)


def _exp2(b: GraphBuilder, x: Value) -> Value:
    return b.Pow(b.number(2, x.dtype), x)


def _rate(operator: str, factor: float) -> Rule:
    return lambda b, x: b.Mul(b.node(operator, x), factor)


def _power(b: GraphBuilder, x: Value, y: Value) -> Value:
    """Powers of whole numbers wrap around, so they are made of squares: one for each bit that the
    exponent may have."""
    if not _is_whole(x):
        return b.Pow(x, y)
    base, n = b.cast(x, "i64"), b.cast(y, "i64")
    known = y.array is not None and y.array.size and int(y.array.min()) >= 0
    bits = int(y.array.max()).bit_length() if known else 8 * SHORT[y.dtype].itemsize - 1
    made, square = None, base
    for i in range(bits):
        odd = b.Equal(b.Mod(n, 2), 1)
        factor = b.Where(odd, square, b.number(1, "i64"))
        made = factor if made is None else b.Mul(made, factor)
        if i + 1 < bits:
            square, n = b.Mul(square, square), b.Div(n, 2)
    made = b.Expand(b.number(1, "i64"), b.Shape(b.Add(base, n))) if made is None else made
    if not known:
        made = _with_negative_powers(b, made, base, b.cast(y, "i64"))
    return b.cast(made, x.dtype)


def _with_negative_powers(b: GraphBuilder, power: Value, x: Value, n: Value) -> Value:
    """A power of whole numbers: 1 / x ** -n, without its fraction, where n is negative."""
    sign = b.Where(b.Equal(b.Mod(n, 2), 0), b.number(1, "i64"), x)
    one = b.Where(b.Equal(b.Abs(x), 1), sign, b.number(0, "i64"))
    return b.Where(b.Less(n, 0), one, power)


def _shifted_left(b: GraphBuilder, x: Value, n: Value) -> Value:
    wide, by = b.cast(x, "i64"), b.cast(n, "i64")
    power = b.Pow(b.number(2, "i64"), b.Min(by, 62))
    far = b.GreaterOrEqual(by, 8 * SHORT[x.dtype].itemsize)
    return b.cast(b.Where(far, b.number(0, "i64"), b.Mul(wide, power)), x.dtype)


def _shifted_right(b: GraphBuilder, x: Value, n: Value) -> Value:
    wide, by = b.cast(x, "i64"), b.cast(n, "i64")
    power = b.Pow(b.number(2, "i64"), b.Min(by, 62))
    return b.cast(_floordiv(b, wide, power), x.dtype)


def _bitwise(operator: str) -> Rule:
    return lambda b, *xs: b.node("Bitwise" + operator, *xs)


def _not_equal(b: GraphBuilder, x: Value, y: Value) -> Value:
    return b.Not(b.Equal(x, y))


_ORDER = ("lt", "le", "gt", "ge", "signbit", "isnan", "isinf", "isfinite", "div")
_TRUTH: dict[str, Rule] = {
    "add": _same("Or"),
    "mul": _same("And"),
    "max": _same("Or"),
    "min": _same("And"),
    "fmax": _same("Or"),
    "fmin": _same("And"),
    "abs": lambda b, x: x,
    "and": _same("And"),
    "or": _same("Or"),
    "xor": _same("Xor"),
    "not": _same("Not"),
    "eq": _same("Equal"),
    "ne": _same("Xor"),
}
PRIMITIVES: dict[str, Rule] = {
    "add": _same("Add"),
    "sub": _same("Sub"),
    "mul": _same("Mul"),
    "div": _divided,
    "neg": _same("Neg"),
    "conj": lambda b, x: x,  # of real numbers: complex ones are written by their parts
    "abs": _same("Abs"),
    "sign": _same("Sign"),
    "floor": _of_whole_itself("Floor"),
    "ceil": _of_whole_itself("Ceil"),
    "rint": _of_whole_itself("Round"),
    "trunc": _trunc,
    "floordiv": _floordiv,
    "mod": _mod,
    "fmod": lambda b, x, y: _remainder(b, x, y, fmod=1),
    "truncdiv": lambda b, x, y: _trunc(b, _divided(b, x, y)),
    "sqrt": _same("Sqrt"),
    "rsqrt": lambda b, x: b.Reciprocal(b.Sqrt(x)),
    "fma": lambda b, x, y, z: b.Add(b.Mul(x, y), z),
    "min": _same("Min"),
    "max": _same("Max"),
    "lt": _same("Less"),
    "le": _same("LessOrEqual"),
    "gt": _same("Greater"),
    "ge": _same("GreaterOrEqual"),
    "eq": _same("Equal"),
    "ne": _not_equal,
    "isnan": _float_test("IsNaN"),
    "isinf": _float_test("IsInf"),
    "isfinite": lambda b, x: b.Equal(x, x) if _is_whole(x) else b.Not(b.Or(b.IsNaN(x), b.IsInf(x))),
    "signbit": lambda b, x: (
        b.Less(x, 0)
        if _is_whole(x)
        else b.Or(b.Less(x, 0), b.And(b.Equal(x, 0), b.Less(b.Reciprocal(x), 0)))
    ),
    "and": _bitwise("And"),
    "or": _bitwise("Or"),
    "xor": _bitwise("Xor"),
    "not": _bitwise("Not"),
    "shl": _shifted_left,
    "shr": _shifted_right,
    "exp": _same("Exp"),
    "exp2": _exp2,
    "log": _same("Log"),
    "log2": _rate("Log", 1 / math.log(2)),
    "log10": _rate("Log", 1 / math.log(10)),
    "pow": _power,
    "sin": _same("Sin"),
    "cos": _same("Cos"),
    "tan": _same("Tan"),
    "asin": _same("Asin"),
    "acos": _same("Acos"),
    "atan": _same("Atan"),
    "sinh": _same("Sinh"),
    "cosh": _same("Cosh"),
    "tanh": _same("Tanh"),
    "asinh": _same("Asinh"),
    "acosh": _same("Acosh"),
    "atanh": _same("Atanh"),
    "sigmoid": _same("Sigmoid"),
    "softplus": _same("Softplus"),
    "erf": _same("Erf"),
    "silu": lambda b, x: b.Mul(x, b.Sigmoid(x)),
    "gelu": lambda b, x: b.Mul(b.Mul(x, 0.5), b.Add(b.Erf(b.Mul(x, math.sqrt(0.5))), 1)),
    "mish": lambda b, x: b.Mul(x, b.Tanh(b.Softplus(x))),
}
# by expressions of others
DECOMPOSED: dict[str, Callable[..., Expr]] = {
    "fmin": lambda x, y: e.where(e.isnan(x), y, e.where(e.isnan(y), x, e.minimum(x, y))),
    "fmax": lambda x, y: e.where(e.isnan(x), y, e.where(e.isnan(y), x, e.maximum(x, y))),
    "copysign": lambda x, y: e.where(e.signbit(y), -e.absolute(x), e.absolute(x)),
    "cbrt": lambda x: e.sign(x) * e.pow(e.absolute(x), 1 / 3),
    "expm1": special.expm1,
    "log1p": special.log1p,
    "hypot": special.hypot,
    "atan2": special.atan2,
    "logit": lambda x: e.log(x / (1 - x)),
    "gelu_tanh": special.gelu_tanh,
    "tanhshrink": lambda x: x - e.tanh(x),
    "sinc": special.sinc,
    "erfc": special.erfc,
    "erfcx": special.erfcx,
    "ndtr": lambda x: 0.5 * special.erfc(x * -math.sqrt(0.5)),
    "erfinv": special.erfinv,
    "ndtri": special.ndtri,
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "trigamma": special.trigamma,
    "polygamma2": special.polygamma2,
}

# what ONNX Runtime has no kernel for in f64
FORMULAS_OF_F64: dict[str, Callable[..., Expr]] = {
    "tan": lambda x: e.sin(x) / e.cos(x),
    "atan": special.atan_f64,
    "asin": special.asin_f64,
    "acos": special.acos_f64,
    "sinh": special.sinh,
    "cosh": lambda x: 0.5 * (e.exp(x) + e.exp(-x)),
    "asinh": special.asinh,
    "acosh": lambda x: e.log(x + e.sqrt((x - 1) * (x + 1))),
    "atanh": lambda x: 0.5 * (special.log1p(x) - special.log1p(-x)),
    "softplus": special.softplus,
    "mish": lambda x: x * e.tanh(special.softplus(x)),
    "erf": special.erf_f64,
    "gelu": lambda x: x * 0.5 * (special.erf_f64(x * math.sqrt(0.5)) + 1),
}


IN_F64 = frozenset(("lgamma", "digamma", "trigamma", "polygamma2", "erfinv", "erfcx", "ndtri"))


def same_type(xs: Sequence[Value]) -> bool:
    """Have the values one type?"""
    return len({x.dtype for x in xs}) == 1


def stand_in(x: Value) -> np.ndarray:
    """An array of the type and rank of a value."""
    return np.zeros((1,) * x.ndim, SHORT[x.dtype].np)
