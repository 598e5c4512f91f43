"""Rewrites scalar expressions of complex numbers as expressions of their real and imaginary parts.

Operand i of the expression becomes two: 2 * i is its real part, 2 * i + 1 its imaginary one, which
an operand of real numbers does not have.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import expressions as e
from .expressions import REAL_OF, Expr

MOST_FACTORS = 100  # beyond, a whole power is exp(n log z), as NumPy has it
# exp of more than this may overflow where the parts of the result do not
LARGE = 80
# Functions whose parts are NumPy's results, for infinities and NaN, too. A number in a formula
# counts as real here: no zero times an infinity is added to its products. The other rules are good
# enough only where there is nothing else.
FAITHFUL = frozenset((
    "arg", "const", "cast", "select", "add", "sub", "mul", "div", "neg", "fma", "conj", "abs", "eq",
    "ne", "isfinite", "isinf", "isnan", "exp", "from_parts", "real_part", "imag_part"))


class Inseparable(ValueError):
    """A function of complex numbers whose parts are not known as expressions."""


class Complex:
    """A complex number: the expressions of its parts."""

    __slots__ = ("real", "imag")

    def __init__(self, real: Any, imag: Any) -> None:
        self.real, self.imag = e.lift(real), e.lift(imag)

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __add__(self, other: Part) -> Complex:
        if isinstance(other, Complex):
            return Complex(self.real + other.real, self.imag + other.imag)
        return Complex(self.real + other, self.imag)

    def __radd__(self, other: Part) -> Complex:
        return self + other

    def __sub__(self, other: Part) -> Complex:
        return self + -other

    def __rsub__(self, other: Part) -> Complex:
        return -self + other

    def __mul__(self, other: Part) -> Complex:
        if isinstance(other, Complex):
            a, b, c, d = self.real, self.imag, other.real, other.imag
            return Complex(a * c - b * d, a * d + b * c)
        return Complex(self.real * other, self.imag * other)

    def __rmul__(self, other: Part) -> Complex:
        return self * other

    def __truediv__(self, other: Part) -> Complex:
        """The quotient, by that of the divisor's parts, the smaller one by the larger, so that no
        square is too large or vanishes."""
        a, b = self.real, self.imag
        if not isinstance(other, Complex):
            return Complex(a / other, b / other)
        c, d = other.real, other.imag
        by_real = e.ge(e.absolute(c), e.absolute(d))
        large, small = e.where(by_real, c, d), e.where(by_real, d, c)
        ratio = small / large
        scale = 1 / (large + small * ratio)
        zero = e.eq(large, 0)
        return Complex(
            e.where(zero, a / e.absolute(c),
                    e.where(by_real, a + b * ratio, a * ratio + b) * scale),
            e.where(zero, b / e.absolute(c),
                    e.where(by_real, b - a * ratio, b * ratio - a) * scale))


Part: TypeAlias = "Complex | Expr | float"
I = Complex(0.0, 1.0)  # noqa: E741


@dataclass(frozen=True)
class InParts:
    """What a kernel computes, in real numbers: expressions of the parts of its operands, and the
    parts' types. `widths`: of how many parts each of the results is made, in order."""
    roots: tuple[Expr, ...]
    dtypes: tuple[str, ...]
    widths: tuple[int, ...]


@functools.lru_cache(1024)
def in_parts(roots: tuple[Expr, ...], dtypes: tuple[str, ...]) -> InParts | None:
    """Expressions of complex operands as expressions of real and imaginary parts, where these give
    NumPy's bits (see `FAITHFUL`). None where no operand is complex."""
    known = e.types(roots, dtypes)
    meets = [x for x in e.walk(*roots)
             if known[id(x)] in REAL_OF or any(known[id(a)] in REAL_OF for a in x.args)]
    if not meets:
        return None
    for x in meets:
        if x.op not in FAITHFUL:
            raise Inseparable(f"the function {x.op} of complex numbers")
    parts = [of_parts(r, dtypes) for r in roots]
    return InParts(tuple([x for p in parts for x in p]),
                   tuple([REAL_OF.get(t, t) for t in dtypes for _ in range(2)]),
                   tuple(map(len, parts)))


def of_parts(root: Expr, dtypes: Sequence[str]) -> tuple[Expr, ...]:
    """The expression over the parts of its operands, which have these types: one where it is real,
    two where not."""
    done: dict[int, Part] = {}
    for x in e.walk(root):
        done[id(x)] = _rewritten(x, [done[id(a)] for a in x.args], dtypes)
    made, t = done[id(root)], e.typeof(root, dtypes)
    if t not in REAL_OF:
        assert not isinstance(made, Complex)
        return (e.lift(made),)
    # a bare number has no type
    return tuple(e.cast(x, REAL_OF[t]) if x.op == "const" else x
                 for x in (_whole(made).real, _whole(made).imag))


def _rewritten(x: Expr, operands: Sequence[Part], dtypes: Sequence[str]) -> Part:
    if x.op == "arg":
        first = e.arg(2 * x.value)
        return Complex(first, e.arg(2 * x.value + 1)) if dtypes[x.value] in REAL_OF else first
    if x.op == "const":
        return Complex(x.value.real, x.value.imag) if isinstance(x.value, complex) else x
    if x.op == "cast":
        return _cast(operands[0], x.value)
    if x.op == "select":
        return _choice(*operands)
    if x.op == "from_parts":
        return Complex(*operands)
    if x.op == "real_part" and not isinstance(operands[0], Complex):
        return operands[0]                   # an absolute value
    if not any(isinstance(y, Complex) for y in operands):
        return Expr(x.op, tuple(map(e.lift, operands)), x.value)  # type: ignore[arg-type]
    if x.op not in RULES:
        raise Inseparable(f"the function {x.op} of complex numbers")
    return RULES[x.op](*operands)


def _cast(x: Part, to: str) -> Part:
    if to in REAL_OF:
        x = _whole(x)
        return Complex(e.cast(x.real, REAL_OF[to]), e.cast(x.imag, REAL_OF[to]))
    if not isinstance(x, Complex):
        return e.cast(x, to)
    return _truth(x) if to == "bool" else e.cast(x.real, to)


def _truth(x: Part) -> Expr | float:
    return e.ne(x.real, 0) | e.ne(x.imag, 0) if isinstance(x, Complex) else x


def _whole(x: Part) -> Complex:
    """A number as a complex one."""
    return x if isinstance(x, Complex) else Complex(x, 0)


def _choice(condition: Part, yes: Part, no: Part) -> Part:
    condition = _truth(condition)
    if not isinstance(yes, Complex) and not isinstance(no, Complex):
        return e.where(condition, yes, no)
    yes, no = _whole(yes), _whole(no)
    return Complex(
        e.where(condition, yes.real, no.real), e.where(condition, yes.imag, no.imag)
    )


def _inverse(z: Complex) -> Complex:
    return Complex(1.0, 0.0) / z


def _magnitude(z: Complex) -> Expr:
    return e.hypot(z.real, z.imag)


def _exp(z: Complex) -> Complex:
    """exp(a) (cos b + i sin b). exp(a) is two factors, so that neither overflows before the product
    does. Infinities and NaN give what C's `cexp` says they give."""
    a, b = z.real, z.imag
    size, rest = e.exp(e.minimum(a, LARGE)), e.exp(e.maximum(a - LARGE, 0))
    direction = e.isfinite(b)
    bound = e.where(e.eq(a, math.inf), math.inf, e.where(e.eq(size, 0), 0, math.nan))
    return Complex(
        e.where(direction, size * e.cos(b) * rest, bound),
        e.where(e.eq(b, 0), b,
                e.where(direction | e.ne(size, 0), size * e.sin(b) * rest, 0)))


def _log(z: Complex) -> Complex:
    return Complex(e.log(_magnitude(z)), e.atan2(z.imag, z.real))


def _sqrt(z: Complex) -> Complex:
    """The square root with a non-negative real part. The part that would suffer from cancellation
    is computed by a division."""
    large = e.sqrt((_magnitude(z) + e.absolute(z.real)) * 0.5)
    small = e.where(e.eq(large, 0), 0, e.absolute(z.imag) / (2 * e.where(e.eq(large, 0), 1, large)))
    right = e.ge(z.real, 0)
    return Complex(
        e.where(right, large, small), e.copysign(e.where(right, small, large), z.imag)
    )


def _power(z: Part, n: Part) -> Complex:
    if (isinstance(n, Expr) and n.op == "const" and n.value == int(n.value)
            and isinstance(z, Complex) and abs(n.value) <= MOST_FACTORS):
        return _whole_power(z, int(n.value))
    z, n = _whole(z), _whole(n)
    none = e.eq(z.real, 0) & e.eq(z.imag, 0)
    safe = Complex(e.where(none, 1, z.real), z.imag)
    made = _exp(_log(safe) * n)
    of_zero = e.where(e.eq(n.real, 0) & e.eq(n.imag, 0), 1, 0)
    return Complex(e.where(none, of_zero, made.real), e.where(none, 0, made.imag))


def _whole_power(z: Complex, n: int) -> Complex:
    made, square = Complex(z.real * 0 + 1, z.imag * 0), z
    for i in range(abs(n).bit_length()):
        if abs(n) >> i & 1:
            made = made * square
        square = square * square
    return made if n >= 0 else _inverse(made)


def _sinh(z: Complex) -> Complex:
    return Complex(
        e.sinh(z.real) * e.cos(z.imag), e.cosh(z.real) * e.sin(z.imag)
    )


def _cosh(z: Complex) -> Complex:
    return Complex(
        e.cosh(z.real) * e.cos(z.imag), e.sinh(z.real) * e.sin(z.imag)
    )


def _tanh(z: Complex) -> Complex:
    """tanh by that of one part and tan of the other, which do not overflow."""
    a, b = e.tanh(z.real), e.tan(z.imag)
    below = 1 + (a * b) * (a * b)
    return Complex(a * (1 + b * b) / below, b * (1 - a * a) / below)


def _asinh(z: Complex) -> Complex:
    return _log(z + _sqrt(z * z + 1.0))


def _atanh(z: Complex) -> Complex:
    return (_log(1.0 + z) - _log(1.0 - z)) * 0.5


def _turned(rule: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """sin, tan, ... from sinh, tanh, ...: f(i z) / i."""
    return lambda z: -I * rule(I * z)


_asin = _turned(_asinh)


def _logarithm(base: float) -> Callable[[Complex], Complex]:
    factor = 1 / math.log(base)
    return lambda z: _log(z) * factor


def _both(test: Callable[..., Expr]) -> Callable[..., Expr]:
    def rule(*xs: Part) -> Expr:
        whole = [_whole(x) for x in xs]
        return test(*[x.real for x in whole]) & test(*[x.imag for x in whole])

    return rule


def _either(test: Callable[..., Expr]) -> Callable[..., Expr]:
    def rule(*xs: Part) -> Expr:
        whole = [_whole(x) for x in xs]
        return test(*[x.real for x in whole]) | test(*[x.imag for x in whole])

    return rule


def _sum(x: Part, y: Part) -> Part:
    return x + y if isinstance(x, Complex) else y + x


def _product(x: Part, y: Part) -> Part:
    return x * y if isinstance(x, Complex) else y * x


def _quotient(x: Part, y: Part) -> Part:
    return _whole(x) / y if isinstance(y, Complex) else x / y


RULES: dict[str, Callable[..., Part]] = {
    # an expression of real numbers takes no complex operand: it comes second
    "add": _sum,
    "sub": lambda x, y: _sum(x, -y),
    "mul": _product,
    "div": _quotient,
    "neg": lambda z: -z,
    "fma": lambda x, y, z: _sum(_product(x, y), z),
    "conj": lambda z: Complex(z.real, -z.imag),
    "real_part": lambda z: z.real,
    "imag_part": lambda z: z.imag,
    "abs": _magnitude,
    "eq": _both(e.eq),
    "ne": _either(e.ne),
    "isfinite": _both(e.isfinite),
    "isinf": _either(e.isinf),
    "isnan": _either(e.isnan),
    "sqrt": _sqrt,
    "rsqrt": lambda z: _inverse(_sqrt(z)),
    "exp": _exp,
    "exp2": lambda z: _exp(z * math.log(2)),
    "expm1": lambda z: _exp(z) - 1.0,
    "log": _log,
    "log2": _logarithm(2),
    "log10": _logarithm(10),
    "log1p": lambda z: _log(z + 1.0),
    "pow": _power,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asinh": _asinh,
    "acosh": lambda z: _log(z + _sqrt(z + 1.0) * _sqrt(z - 1.0)),
    "atanh": _atanh,
    "sin": _turned(_sinh),
    "cos": lambda z: _cosh(I * z),
    "tan": _turned(_tanh),
    "asin": _asin,
    "acos": lambda z: math.pi / 2 - _asin(z),
    "atan": _turned(_atanh),
    "sigmoid": lambda z: _inverse(_exp(-z) + 1.0),
}
