"""Scalar expressions: one element of a result, as a function of elements of the operands.
`ir/scalar.py` says what the language is for.

An expression is made with operators and the functions of this module, and read with `walk`, `uses`,
`substitute`, `replace` and `types`.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, overload

__all__ = [
    "COMPARE", "COMPLEX_OF", "Expr", "Function", "REAL_OF", "Scalar", "absolute", "acos", "acosh",
    "add", "arg", "args", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "cast", "cbrt", "ceil", "conj", "const", "copysign", "cos", "cosh",
    "digamma", "div", "eq", "erf", "erfc", "erfcx", "erfinv", "exp", "exp2", "expm1", "floor",
    "floordiv", "fma", "fmax", "fmin", "fmod", "from_parts", "gcd", "ge", "gelu", "gelu_tanh", "gt",
    "hypot", "imag_part", "isfinite", "isinf", "isnan", "le", "lgamma", "lift", "log", "log10",
    "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "lt",
    "make", "max", "maximum", "min", "minimum", "mish", "mod", "mul", "ndtr", "ndtri", "ne",
    "neg", "nextafter", "one_place", "pick", "polygamma2", "pow", "real_part", "reciprocal",
    "replace", "rint", "rsqrt", "shl", "shr", "sigmoid", "sign", "signbit", "silu", "sin", "sinc",
    "sinh", "softplus", "sqrt", "square", "sub", "substitute", "tan", "tanh", "tanhshrink",
    "trigamma", "trunc", "truncdiv", "typeof", "types", "uses", "walk", "where"]

Scalar: TypeAlias = "Expr | int | float | complex | bool"


class Expr:
    """One scalar operation. Equal expressions are the same object, so identity is a key and
    common parts are shared."""
    __slots__ = ("op", "args", "value", "key", "__weakref__")
    _made: ClassVar[dict[Any, Expr]] = {}
    op: str
    args: tuple[Expr, ...]
    value: Any
    key: Any

    def __new__(cls, op: str, args: tuple[Expr, ...] = (), value: Any = None) -> Expr:
        key = op, tuple([id(a) for a in args]), type(value), value if value == value else "nan", \
            math.copysign(1, value) if type(value) is float and value == 0 else 0
        found = cls._made.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.args, found.value, found.key = op, tuple(args), value, key
            cls._made[key] = found
        return found

    def __reduce__(self) -> tuple[type[Expr], tuple[Any, ...]]:
        return Expr, (self.op, self.args, self.value)

    def __str__(self) -> str:
        if self.op == "arg":
            return f"x{self.value}"
        if self.op == "const":
            return repr(self.value)
        inner = ", ".join(map(str, self.args))
        return (f"{self.op}({inner}, {self.value})"
                if self.value is not None else f"{self.op}({inner})")

    __repr__ = __str__

    def __add__(a, b: Scalar) -> Expr: return make("add", a, b)
    def __radd__(a, b: Scalar) -> Expr: return make("add", b, a)
    def __sub__(a, b: Scalar) -> Expr: return make("sub", a, b)
    def __rsub__(a, b: Scalar) -> Expr: return make("sub", b, a)
    def __mul__(a, b: Scalar) -> Expr: return make("mul", a, b)
    def __rmul__(a, b: Scalar) -> Expr: return make("mul", b, a)
    def __truediv__(a, b: Scalar) -> Expr: return make("div", a, b)
    def __rtruediv__(a, b: Scalar) -> Expr: return make("div", b, a)
    def __neg__(a) -> Expr: return make("neg", a)
    def __abs__(a) -> Expr: return make("abs", a)
    def __lt__(a, b: Scalar) -> Expr: return make("lt", a, b)
    def __le__(a, b: Scalar) -> Expr: return make("le", a, b)
    def __gt__(a, b: Scalar) -> Expr: return make("gt", a, b)
    def __ge__(a, b: Scalar) -> Expr: return make("ge", a, b)
    def __and__(a, b: Scalar) -> Expr: return make("and", a, b)
    def __or__(a, b: Scalar) -> Expr: return make("or", a, b)
    def __xor__(a, b: Scalar) -> Expr: return make("xor", a, b)
    def __invert__(a) -> Expr: return make("not", a)
    def __bool__(self) -> bool:
        raise TypeError(
            f"the truth of the scalar expression {self} is not known when an op is defined: use "
            "where(c, a, b)")


def const(v: Any) -> Expr:
    """A number literal. It takes the type of the expression that it is combined with."""
    return Expr("const", (), v)


def arg(i: int) -> Expr:
    """Element of operand i."""
    return Expr("arg", (), i)


def args(n: int) -> list[Expr]:
    """Elements of the first n operands."""
    return [arg(i) for i in range(n)]


def lift(x: Scalar) -> Expr:
    """A number as an expression."""
    return x if isinstance(x, Expr) else const(x)


def make(op: str, *xs: Scalar, value: Any = None) -> Expr:
    """An operation on expressions and numbers."""
    return Expr(op, tuple(map(lift, xs)), value)


class Function(Protocol):
    """A primitive, as a function of expressions and numbers."""
    __name__: str

    def __call__(self, *xs: Scalar) -> Expr: ...


def _function(name: str) -> Function:
    def f(*xs: Scalar) -> Expr:
        return make(name, *xs)
    f.__name__ = name
    return f


# ---- primitives ----------------------------------------------------------------------------------
# complex types, and those of their parts
REAL_OF = {"c64": "f32", "c128": "f64"}
COMPLEX_OF = {part: t for t, part in REAL_OF.items()}
# what makes another type of its operands', and which
PARTS = {"from_parts": COMPLEX_OF, "real_part": REAL_OF, "imag_part": REAL_OF}
COMPARE = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "isfinite", "signbit"))

add, sub, mul, div = map(_function, ("add", "sub", "mul", "div"))
floordiv, truncdiv, mod, fmod = map(_function, ("floordiv", "truncdiv", "mod", "fmod"))
neg, sign, copysign, nextafter = map(_function, ("neg", "sign", "copysign", "nextafter"))
floor, ceil, trunc, rint = map(_function, ("floor", "ceil", "trunc", "rint"))
sqrt, rsqrt, cbrt, fma, hypot = map(_function, ("sqrt", "rsqrt", "cbrt", "fma", "hypot"))
min, max, fmin, fmax = map(_function, ("min", "max", "fmin", "fmax"))
lt, le, gt, ge, eq, ne = map(_function, ("lt", "le", "gt", "ge", "eq", "ne"))
isnan, isinf, isfinite, signbit = map(_function, ("isnan", "isinf", "isfinite", "signbit"))
shl, shr, gcd = map(_function, ("shl", "shr", "gcd"))
exp, exp2, expm1 = map(_function, ("exp", "exp2", "expm1"))
log, log2, log10, log1p = map(_function, ("log", "log2", "log10", "log1p"))
sin, cos, tan, asin, acos, atan, atan2 = map(_function,
                                             ("sin", "cos", "tan", "asin", "acos", "atan", "atan2"))
sinh, cosh, tanh, asinh, acosh, atanh = map(_function,
                                            ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
sigmoid, logit, softplus, silu, mish = map(_function,
                                           ("sigmoid", "logit", "softplus", "silu", "mish"))
gelu, gelu_tanh, tanhshrink = map(_function, ("gelu", "gelu_tanh", "tanhshrink"))
erf, erfc, erfcx, erfinv = map(_function, ("erf", "erfc", "erfcx", "erfinv"))
ndtr, ndtri = map(_function, ("ndtr", "ndtri"))
sinc, lgamma, digamma, trigamma, polygamma2 = map(
    _function, ("sinc", "lgamma", "digamma", "trigamma", "polygamma2"))
pow, conj = _function("pow"), _function("conj")
from_parts, real_part, imag_part = map(_function, ("from_parts", "real_part", "imag_part"))
minimum, maximum, absolute = _function("min"), _function("max"), _function("abs")
logical_and, logical_or, logical_xor, logical_not = map(_function, ("and", "or", "xor", "not"))
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = (logical_and, logical_or, logical_xor,
                                                     logical_not)


def where(c: Scalar, a: Scalar, b: Scalar) -> Expr:
    """c ? a : b"""
    return make("select", c, a, b)


def cast(x: Scalar, dtype: str) -> Expr:
    """x as another type (`"f32"` ...)."""
    return make("cast", x, value=dtype)


@overload
def square(x: Expr) -> Expr: ...
@overload
def square(x: float) -> float: ...
def square(x: Any) -> Any:
    """x * x"""
    return x * x


def reciprocal(x: Expr) -> Expr:
    """1 / x"""
    return 1 / x


def pick(table: Expr, places: Expr, size: Expr, wrong: Expr, *step: Expr,
         wrap: bool = False) -> Expr:
    """The element of a table at a place along a dimension; the place is an i64. `table` is an
    argument that points at place 0. `size`, the number of places, and `step`, the bytes between
    neighbouring places where they are not adjacent elements, are the same for all elements. `wrap`:
    do negative places count from the end? For a place outside of the table the result has no
    meaning, and 1 is written to the argument `wrong`.

    Only kernels that are made for it have it (`passes/fuse_gathers.py`); it has no derivative, and
    no form in NumPy."""
    return Expr("pick", (table, places, size, wrong, *step), wrap)


def one_place(index: Iterable[Expr], sizes: Iterable[Expr]) -> Expr:
    """The linear place for places along several dimensions (negative ones count from the end); -1,
    which counts as outside, where one of them is out of range."""
    at, fine = const(0), None
    for i, n in zip(index, sizes, strict=True):
        i = where(lt(i, 0), i + n, i)
        inside = ge(i, 0) & lt(i, n)
        at, fine = (at * n + i, fine & inside) if fine is not None else (i, inside)
    assert fine is not None
    return where(fine, at, -1)


# ---- reading an expression -----------------------------------------------------------------------
@functools.lru_cache(1024)
def walk(*roots: Expr) -> tuple[Expr, ...]:
    """Every expression under the roots once, operands before their users."""
    seen: set[int] = set()
    order: list[Expr] = []
    stack: list[Expr | None] = [*reversed(roots)]
    while stack:
        e = stack.pop()
        if e is None:                        # what lies below: its operands are done
            done = stack.pop()
            assert done is not None
            order.append(done)
        elif id(e) not in seen:
            seen.add(id(e))
            if e.args:
                stack += e, None
                stack += [a for a in reversed(e.args) if id(a) not in seen]
            else:
                order.append(e)
    return tuple(order)


def uses(*roots: Expr) -> list[int]:
    """The indices of the arguments that the expressions read."""
    return sorted({e.value for e in walk(*roots) if e.op == "arg"})


def substitute(root: Expr, by: Mapping[int, Scalar]) -> Expr:
    """The expression with argument i replaced by `by[i]` (arguments not in `by` stay)."""
    done: dict[int, Expr] = {}
    for e in walk(root):
        if e.op == "arg":
            done[id(e)] = lift(by[e.value]) if e.value in by else e
        else:
            done[id(e)] = Expr(e.op, tuple(done[id(a)] for a in e.args), e.value) if e.args else e
    return done[id(root)]


def replace(root: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with the part `old` replaced by `new`."""
    done: dict[int, Expr] = {}
    for e in walk(root):
        done[id(e)] = (new if e is old else Expr(e.op, tuple(
            done[id(a)] for a in e.args), e.value) if e.args else e)
    return done[id(root)]


def types(roots: Iterable[Expr],
          dtypes: Mapping[int, str | None] | Sequence[str | None]) -> dict[int, Any]:
    """The type of every expression under the roots by `id`, given the arguments' types; None for
    a bare number."""
    known: dict[int, Any] = {}
    for e in walk(*roots):
        if e.op == "arg":
            t = dtypes[e.value]
        elif e.op == "const":
            t = None
        elif e.op == "cast":
            t = e.value
        elif e.op in COMPARE:
            t = "bool"
        elif e.op == "select":
            t = known[id(e.args[1])] or known[id(e.args[2])]
        else:
            t = next((known[id(a)] for a in e.args if known[id(a)]), None)
            t = PARTS[e.op].get(t, t) if t and e.op in PARTS else t
        known[id(e)] = t
    return known


def typeof(root: Expr, dtypes: Mapping[int, str | None] | Sequence[str | None]) -> Any:
    """The type of an expression, given its arguments' types; None for a bare number."""
    return types([root], dtypes)[id(root)]
