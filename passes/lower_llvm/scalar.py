"""Scalar expressions to vector IR: `emit` turns a DAG of `ir.scalar` into straight code over any
number of lanes.

Every type has a form in memory and a form it is computed in: bool is a byte and an i1, f16 and bf16
are 16 bits and an f32, the others are the same. Complex numbers are so many bits in memory; what
is computed is their parts, see `ir.complex_parts`. A half result is rounded once, to nearest even,
with its subnormals kept. What LLVM leaves undefined is defined here as the NumPy reference has it
on x86: division by zero, shifts past the width, floats outside of an integer's range. A primitive
without a compiled form raises `Unsupported`, and the caller runs the reference instead."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from whet.ir import scalar as S
from whet.ir.expressions import Expr

from . import targets
from .builder import Val, vec
from .operations import Operations

MEMORY = {"bool": "i8", "u8": "i8", "i8": "i8", "u16": "i16", "i16": "i16", "u32": "i32",
          "i32": "i32", "u64": "i64", "i64": "i64", "f16": "i16", "bf16": "i16", "f32": "float",
          "f64": "double"}
COMPUTE = MEMORY | {"bool": "i1", "f16": "float", "bf16": "float"}
MEMORY |= {"c64": "i64", "c128": "i128"}
BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16, "float": 4, "double": 8}
HALF = ("f16", "bf16")
_INT = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


class Unsupported(KeyError):
    """This expression has no compiled form (for these types, on this machine)."""

# (function, type or whether it is signed, *operands) -> the result
Emit: TypeAlias = Callable[..., Any]


def is_float(t: str) -> bool:
    return t in ("f16", "bf16", "f32", "f64")


def is_signed(t: str) -> bool:
    return t[0] == "i"


# ---- memory and computation ----------------------------------------------------------------------
def widen(f: Operations, x: Val, t: str) -> Val:
    """From the form in memory to the form to compute in; exact."""
    if t == "bool":
        return f.cmp("ne", x, 0)
    if t == "bf16":
        return f.conv("bitcast", f.conv("zext", x, "i32") << 16, "float")
    if t == "f16":
        return _f16_to_f32(f, x)
    return x


def narrow(f: Operations, x: Val, t: str) -> Val:
    """From the form to compute in to the form in memory: halves are rounded to nearest even."""
    if t == "bool":
        return f.conv("zext", x, "i8")
    if t == "bf16":
        return _f32_to_bf16(f, x)
    if t == "f16":
        return _f32_to_f16(f, x)
    return x


def _f32_to_bf16(f: Operations, x: Val) -> Val:
    """Round to bfloat16 with integers: the machine's own instruction flushes subnormals."""
    u = f.conv("bitcast", x, "i32")
    near = u + 0x7FFF + (f.lshr(u, 16) & 1)
    bits = f.sel(f.cmp("uno", x, x), u | 0x400000, near)
    return f.conv("trunc", f.lshr(bits, 16), "i16")


def _has_f16c() -> bool:
    return bool(targets.current().name != "baseline")


def _f16_to_f32(f: Operations, h: Val) -> Val:
    if _has_f16c():
        return f.conv("fpext", f.conv("bitcast", h, "half"), "float")
    u = f.conv("zext", h, "i32")
    body = u & 0x7FFF
    # exact, subnormals included
    scaled = f.conv("bitcast", f.conv("bitcast", body << 13, "float") * 2.0**112, "i32")
    special = body << 13 | 0x7F800000 | f.sel(f.cmp("ugt", body, 0x7C00), f.const(u.ty, 0x400000),
                                              0)
    return f.conv("bitcast",
                  f.sel(f.cmp("uge", body, 0x7C00), special, scaled) | (u & 0x8000) << 16, "float")


def _f32_to_f16(f: Operations, x: Val) -> Val:
    if _has_f16c():
        return f.conv("bitcast", f.conv("fptrunc", x, "half"), "i16")
    u = f.conv("bitcast", x, "i32")
    body = u & 0x7FFFFFFF
    normal = f.lshr(body + 0xFFF + (f.lshr(body, 13) & 1), 13) - (112 << 10)
    # 0.5's last place is f16's least step
    tiny = f.conv("bitcast", f.conv("bitcast", body, "float") + 0.5, "i32") - 0x3F000000
    nan = f.lshr(body, 13) & 0x3FF | 0x7E00
    h = f.sel(f.cmp("ult", body, 0x38800000), tiny, normal)
    h = f.sel(f.cmp("uge", body, 0x477FF000), f.const(u.ty, 0x7C00), h)
    h = f.sel(f.cmp("ugt", body, 0x7F800000), nan, h)
    return f.conv("trunc", h | f.lshr(u, 16) & 0x8000, "i16")


def _f64_to_f32_odd(f: Operations, x: Any) -> Any:
    """Round so that a second rounding gives the same as rounding once: an inexact result gets an
    odd last bit."""
    y = f.conv("fptrunc", x, "float")
    back = f.conv("fpext", y, "double")
    bits = f.conv("bitcast", y, "i32")
    bits = bits - f.conv("zext", f.cmp("ogt", f.fabs(back), f.fabs(x)), "i32")
    return f.conv("bitcast", bits | f.conv("zext", f.cmp("one", back, x), "i32"), "float")


# ---- casts ---------------------------------------------------------------------------------------
def convert(f: Operations, x: Val, src: str, dst: str) -> Val:
    """A cast between computed forms. A float outside of the integer's range gives the integer's
    least value, as x86 has it; types narrower than 32 bits are cut from that i32, u32 from the i64.
    """
    if src == dst and src not in HALF:
        return x
    # also from the same type: what is computed from halves is an f32 until a cast or the end
    if dst in HALF:
        if src == "f64" and dst == "f16":
            x = _f64_to_f32_odd(f, x)
        elif src not in HALF:
            x = convert(f, x, src, "f32")
        return widen(f, narrow(f, x, dst), dst)
    if src in HALF:
        return convert(f, x, "f32", dst)
    s, d = COMPUTE[src], COMPUTE[dst]
    if dst == "bool":
        return f.cmp("une" if is_float(src) else "ne", x, 0)
    if is_float(src) and is_float(dst):
        return f.conv("fpext" if d == "double" else "fptrunc", x, d)
    if is_float(dst):
        return f.conv("sitofp" if is_signed(src) else "uitofp", x, d)
    if not is_float(src):
        bits = 1 if src == "bool" else _INT[s]
        return f.conv("trunc" if bits > _INT[d] else "sext" if is_signed(src) else "zext", x, d)
    if dst == "u64":
        high = f.cmp("oge", x, 2.0**63)
        return _to_signed(f, f.sel(high, x - 2.0**63, x),
                          64) ^ f.sel(high, f.const(vec("i64", x.lanes), -2**63), 0)
    bits = 64 if dst in ("i64", "u32") else 32
    return f.conv("trunc", _to_signed(f, x, bits), d)


def _to_signed(f: Operations, x: Val, bits: int) -> Val:
    inside = f.cmp("olt", f.fabs(x), 2.0 ** (bits - 1))
    return f.sel(inside, f.conv("fptosi", f.sel(inside, x, 0.0), f"i{bits}"), -2 ** (bits - 1))


# ---- integers ------------------------------------------------------------------------------------
def _divide(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    """The quotient towards zero; 0 where b is 0, and wrapping where the quotient does not fit.
    Nothing traps."""
    bits = _INT[a.elem]
    zero = f.cmp("eq", b, 0)
    easy = zero | f.cmp("eq", b, -1) if signed else zero
    d = f.sel(easy, f.const(a.ty, 1), b)
    if bits == 64:
        q = _long_divide(f, a, d) if signed else f.udiv(a, d)
    else:
        # vectors do not divide integers; in a float with more bits the cut quotient is exact
        real = "double" if bits == 32 else "float"
        to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
        q = f.conv(back, f.conv(to, a, real) / f.conv(to, d, real), "i32")
        q = q if bits == 32 else f.conv("trunc", q, a.elem)
    if signed:
        q = f.sel(f.cmp("eq", b, -1), 0 - a, q)
    return f.sel(zero, f.const(a.ty, 0), q)


def _long_divide(f: Operations, a: Val, d: Val) -> Val:
    """Vectors do not divide integers: below 2^52 a double's quotient is cut as the exact one is,
    since that is further than a rounding from the next whole number (by 1 / d, while a / d is
    rounded by less than (|a| + |d|) / d 2^-53)."""
    large = f.cmp("uge", a + (1 << 52), 1 << 53) | f.cmp("uge", d + (1 << 52), 1 << 53)
    q, = f.if_(f.any(large), lambda: [f.sdiv(a, d)],
               lambda: [f.conv("fptosi",
                               f.conv("sitofp", a, "double") / f.conv("sitofp", d, "double"),
                               "i64")])
    return q


def _by_powers_of_two(f: Operations, b: Val, signed: bool, bits: int, quick: Callable[[], Val],
                      ordinary: Callable[[], Val]) -> Val:
    """A quotient or remainder rounded down: quickly where all divisors are powers of two, as most
    that programs have are."""
    if bits < 32:
        return ordinary()
    other = f.cmp("ne", b & (b - 1), 0) | f.cmp("sle" if signed else "eq", b, 0)
    r, = f.if_(f.any(other), lambda: [ordinary()], lambda: [quick()])
    return r


def _remainder(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    """The remainder of a / b with the sign of a; 0 where b is 0."""
    return f.sel(f.cmp("eq", b, 0), f.const(a.ty, 0), a - _divide(f, a, b, signed) * b)


def _floor_divide(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    bits = _INT[a.elem]
    shift = lambda: f.binary("ashr" if signed else "lshr", a, f.intr("ctpop", b - 1))
    return _by_powers_of_two(f, b, signed, bits, shift, lambda: _floored(f, a, b, signed))


def _floored(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    q = _divide(f, a, b, signed)
    if not signed:
        return q
    r = a - q * b
    low = f.cmp("ne", r, 0) & f.cmp("slt", r ^ b, 0) & f.cmp("ne", b, 0)
    return q - f.conv("zext", low, a.elem)


def _modulo(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    return _by_powers_of_two(f, b, signed, _INT[a.elem], lambda: a & (b - 1),
                             lambda: _modulo_any(f, a, b, signed))


def _modulo_any(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    r = _remainder(f, a, b, signed)
    if not signed:
        return r
    return f.sel(f.cmp("ne", r, 0) & f.cmp("slt", r ^ b, 0), r + b, r)


def _shift(f: Operations, op: str, a: Val, b: Val) -> Val:
    """A count that is negative or not less than the width shifts everything out."""
    bits = _INT[a.elem]
    out = f.cmp("uge", b, bits)
    if op == "ashr":
        return a >> f.sel(out, f.const(b.ty, bits - 1), b)
    return f.sel(out, f.const(a.ty, 0), f.binary(op, a, f.sel(out, f.const(b.ty, 0), b)))


def _int_power(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    """A power by squaring, modulo 2^bits. A negative exponent gives the quotient 1 / a^-b cut
    towards zero."""
    one, zero = f.const(a.ty, 1), f.const(a.ty, 0)
    left = f.sel(f.cmp("slt", b, 0), zero, b) if signed else b

    def step(left: Val, power: Val, r: Val) -> tuple[Val, Val, Val]:
        return f.lshr(left, 1), power * power, f.sel(f.cmp("ne", left & 1, 0), r * power, r)
    _, _, r = f.while_(lambda left, power, r: f.any(f.cmp("ne", left, 0)), step, [left, a, one])
    if not signed:
        return r
    sign = f.sel(f.cmp("ne", b & 1, 0), f.const(a.ty, -1), 1)
    low = f.sel(f.cmp("eq", a, 1), one, f.sel(f.cmp("eq", a, -1), sign, zero))
    return f.sel(f.cmp("slt", b, 0), low, r)


def _gcd(f: Operations, a: Val, b: Val, signed: bool) -> Val:
    if signed:
        a, b = (f.sel(f.cmp("slt", x, 0), 0 - x, x) for x in (a, b))
    step = lambda a, b: (f.sel(f.cmp("eq", b, 0), a, b), _remainder(f, a, b, signed=False))
    return f.while_(lambda a, b: f.any(f.cmp("ne", b, 0)), step, [a, b])[0]


# ---- floats --------------------------------------------------------------------------------------
def _half_next_after(f: Operations, x: Val, y: Val, t: str) -> Val:
    """On x's own bits: one step away from zero is +1, towards it -1; from zero to the least
    subnormal of y's sign."""
    x, y = (widen(f, narrow(f, v, t), t) for v in (x, y))
    u = narrow(f, x, t)
    away = f.cmp("eq", f.cmp("olt", x, y), f.cmp("ogt", x, 0))
    moved = f.sel(away, u + 1, u - 1)
    least = f.sel(f.cmp("ogt", y, 0), f.const(u.ty, 1), -0x7FFF)
    moved = widen(f, f.sel(f.cmp("oeq", x, 0), least, moved), t)
    return f.sel(f.cmp("uno", x, y), x + y, f.sel(f.cmp("oeq", x, y), y, moved))


def _sign(f: Operations, x: Val) -> Val:
    one = f.const(x.ty, 1)
    r = f.sel(f.cmp("olt", x, 0), f.const(x.ty, -1), f.sel(f.cmp("oeq", x, 0), f.const(x.ty, 0), x))
    return f.sel(f.cmp("ogt", x, 0), one, r)


# ---- primitives ----------------------------------------------------------------------------------
_PREDICATES = {"lt": ("olt", "slt", "ult"), "le": ("ole", "sle", "ule"),
               "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge"), "eq": ("oeq", "eq", "eq"),
               "ne": ("une", "ne", "ne")}


def _compare(op: str) -> Emit:
    def emit(f: Operations, t: str, a: Val, b: Val) -> Val:
        return f.cmp(_PREDICATES[op][0 if is_float(t) else 1 if is_signed(t) else 2], a, b)
    return emit


def _by_kind(floats: Emit | None = None, ints: Emit | None = None,
             bools: Emit | None = None) -> Emit:
    """One emitter from those for floats, ints and bools; `ints` gets whether the type is
    signed."""
    def emit(f: Operations, t: str, *xs: Val) -> Val:
        kind = floats if is_float(t) else bools if t == "bool" else ints
        if kind is None:
            raise Unsupported(t)
        found: Val = kind(f, is_signed(t) if kind is ints else t, *xs)
        return found
    return emit


def _same(f: Operations, t: bool | str, x: Val) -> Val:
    return x


def _always(v: bool) -> Emit:
    return lambda f, t, x: f.const(vec("i1", x.lanes), v)


def _arithmetic(op: str, bools: str | None = None) -> Emit:
    def emit(f: Operations, t: str, a: Val, b: Val) -> Val:
        if t == "bool":
            if bools is None:
                raise Unsupported(op)
            return f.binary(bools, a, b)
        return f.binary(op, a, b)
    return emit


def _bitwise(op: str) -> Emit:
    def emit(f: Operations, t: str, a: Val, b: Val) -> Val:
        if is_float(t):
            raise Unsupported(op)
        return f.binary(op, a, b)
    return emit


def _rounding(name: str) -> Emit:
    return _by_kind(lambda f, t, x: f.intr(name, x), lambda f, s, x: x, _same)


def _math(name: str) -> Emit:
    """A function of the vector math library; float types only."""
    def emit(f: Operations, t: str, *xs: Val) -> Val:
        from . import vmath
        function = vmath.FUNCTIONS.get(name)
        if not is_float(t) or function is None or not function.supports(COMPUTE[t]):
            raise Unsupported(name)
        return function(f, *xs)
    return emit


def _int_extremum(name: str) -> Emit:
    return lambda f, s, a, b: f.intr(("s" if s else "u") + name, a, b)


def _int_sign(f: Operations, s: bool, x: Val) -> Val:
    positive = f.conv("zext", f.cmp("ne", x, 0), x.elem)
    return f.sel(f.cmp("slt", x, 0), f.const(x.ty, -1), positive) if s else positive


def _negative_bit(f: Operations, t: str, x: Val) -> Val:
    bits = "i64" if x.elem == "double" else "i32"
    return f.cmp("slt", f.conv("bitcast", x, bits), 0)


PRIMITIVES: dict[str, Emit] = {
    "add": _arithmetic("add", "or"), "sub": _arithmetic("sub"), "mul": _arithmetic("mul", "and"),
    "div": _by_kind(lambda f, t, a, b: a / b),
    "floordiv": _by_kind(_math("floordiv"), lambda f, s, a, b: _floor_divide(f, a, b, s)),
    "truncdiv": _by_kind(lambda f, t, a, b: f.intr("trunc", a / b), lambda f, s, a,
                         b: _divide(f, a, b, s)),
    "mod": _by_kind(_math("mod"), lambda f, s, a, b: _modulo(f, a, b, s)),
    "fmod": _by_kind(_math("fmod"), lambda f, s, a, b: _remainder(f, a, b, s)),
    "neg": _by_kind(lambda f, t, a: -a, lambda f, s, a: 0 - a),
    "abs": _by_kind(lambda f, t, a: f.fabs(a), lambda f, s,
                    a: f.sel(f.cmp("slt", a, 0), 0 - a, a) if s else a, _same),
    "sign": _by_kind(lambda f, t, a: _sign(f, a), _int_sign),
    "floor": _rounding("floor"), "ceil": _rounding("ceil"), "trunc": _rounding("trunc"),
    "rint": _rounding("roundeven"), "sqrt": _by_kind(lambda f, t, a: f.sqrt(a)),
    "rsqrt": _math("rsqrt"),
    "fma": _by_kind(lambda f, t, a, b, c: f.fma(a, b, c), lambda f, s, a, b, c: a * b + c),
    "min": _by_kind(_math("min"), _int_extremum("min"), lambda f, t, a, b: a & b),
    "max": _by_kind(_math("max"), _int_extremum("max"), lambda f, t, a, b: a | b),
    "fmin": _by_kind(_math("fmin"), _int_extremum("min"), lambda f, t, a, b: a & b),
    "fmax": _by_kind(_math("fmax"), _int_extremum("max"), lambda f, t, a, b: a | b),
    **{op: _compare(op) for op in _PREDICATES},
    "isnan": _by_kind(lambda f, t, a: f.cmp("uno", a, a), _always(False), _always(False)),
    "isinf": _by_kind(lambda f, t, a: f.cmp("oeq", f.fabs(a), math.inf), _always(False),
                      _always(False)),
    "isfinite": _by_kind(lambda f, t, a: f.cmp("olt", f.fabs(a), math.inf), _always(True),
                         _always(True)),
    "signbit": _by_kind(_negative_bit, lambda f, s,
                        a: f.cmp("slt", a, 0) if s else _always(False)(f, s, a), _always(False)),
    "and": _bitwise("and"), "or": _bitwise("or"), "xor": _bitwise("xor"),
    "not": _by_kind(None, lambda f, s, a: ~a, lambda f, t, a: ~a),
    "shl": _by_kind(None, lambda f, s, a, b: _shift(f, "shl", a, b)),
    "shr": _by_kind(None, lambda f, s, a, b: _shift(f, "ashr" if s else "lshr", a, b)),
    "gcd": _by_kind(None, lambda f, s, a, b: _gcd(f, a, b, s)),
    "copysign": _by_kind(lambda f, t, a, b: f.copysign(a, b)),
    "nextafter": _by_kind(lambda f, t, a,
                          b: _half_next_after(f, a, b, t) if t in HALF
                          else _math("nextafter")(f, t, a, b)),
    "conj": _by_kind(_same, _same, _same),
    "pow": _by_kind(_math("pow"), lambda f, s, a, b: _int_power(f, a, b, s)),
    **{op: _math(op) for op in (
        "cbrt", "hypot", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
        "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        "sigmoid", "logit", "softplus", "silu", "mish", "gelu", "gelu_tanh", "tanhshrink", "erf",
        "erfc", "erfcx", "erfinv", "ndtr", "ndtri", "sinc", "lgamma", "digamma", "trigamma",
        "polygamma2")},
}


# ---- expressions ---------------------------------------------------------------------------------
def primitive(f: Operations, op: str, t: str, *xs: Val) -> Val:
    """One primitive on operands of type t."""
    if op not in PRIMITIVES:
        raise Unsupported(op)
    found: Val = PRIMITIVES[op](f, t, *xs)
    return found


class _Values:
    """The values of expressions, each computed from operands that are `done`. `known` has the
    types; a bare number has none, and takes that of the other operand."""

    def __init__(self, f: Operations, known: dict[int, str | None], lanes: int, primitive: Emit,
                 convert: Callable[..., Any]) -> None:
        self.f, self.known, self.lanes = f, known, lanes
        self.primitive, self.convert = primitive, convert
        self.done: dict[int, Val] = {}
        self.numbers: dict[tuple[int, str], Val] = {}

    def value(self, e: Expr, t: str) -> Any:
        """The value of e, whose type is t."""
        if e.op == "cast":
            source, src = e.args[0], self.known[id(e.args[0])]
            return (self.convert(self.f, self.done[id(source)], src, t) if src
                    else self.operand(source, t))
        if e.op == "select":
            c, x, y = e.args
            return self.f.sel(self.truth(c), self.operand(x, t), self.operand(y, t))
        like = next((self.known[id(a)] for a in e.args if self.known[id(a)]), None)
        if like is None:                                  # a comparison of numbers
            return number(self.f, fold(e), "bool", self.lanes)
        return self.primitive(self.f, e.op, like, *(self.operand(a, like) for a in e.args))

    def operand(self, e: Expr, t: str) -> Val:
        """The value of e, as type t."""
        own = self.known[id(e)]
        if own is None:
            if (id(e), t) not in self.numbers:
                self.numbers[id(e), t] = self.bare(e, t)
            return self.numbers[id(e), t]
        if own != t:
            raise Unsupported(f"{e.op}: {own} where the other operand is {t}")
        return self.done[id(e)]

    def bare(self, e: Expr, t: str) -> Val:
        """An expression over plain numbers: folded, unless it picks by a condition that is not a
        number."""
        if e.op == "select" and self.known[id(e.args[0])] is not None:
            c = self.truth(e.args[0])
            return self.f.sel(c, self.operand(e.args[1], t), self.operand(e.args[2], t))
        if any(x.op in ("arg", "cast", "select") for x in S.walk(e)):
            made: Val = self.primitive(self.f, e.op, t, *(self.operand(a, t) for a in e.args))
            return made
        return number(self.f, fold(e), t, self.lanes)

    def truth(self, e: Expr) -> Any:
        t = self.known[id(e)]
        if t is None:
            return number(self.f, fold(e), "bool", self.lanes)
        return self.convert(self.f, self.done[id(e)], t, "bool")


def compute(f: Operations, roots: Sequence[Expr], values: Sequence[Val | None],
            dtypes: Sequence[str], lanes: int, primitive: Emit = primitive,
            convert: Callable[..., Any] = convert,
            pick: Callable[..., Any] | None = None) -> tuple[list[Val], list[str]]:
    """The roots' values in the form they are computed in, from the arguments' values in theirs;
    with the roots' types.

    A bare number takes the type of what it meets. A root that is a bare number has no type:
    `Unsupported`. Another target that is written through `f` brings its own `primitive` and
    `convert`. `pick(expression, its operands)`: what is gathered."""
    known = S.types(roots, dtypes)
    made = _Values(f, known, lanes, primitive, convert)
    for e in S.walk(*roots):
        t = known[id(e)]
        if t is None:
            continue
        if t not in COMPUTE:
            raise Unsupported(t)
        if e.op == "arg":
            v = values[e.value]
            v = f.as_val(v, vec(v.ty, lanes)) if lanes and not v.lanes else v
        elif e.op == "pick":
            if pick is None:
                raise Unsupported("pick")
            v = pick(e, [made.done[id(a)] for a in e.args])
        else:
            v = made.value(e, t)
        made.done[id(e)] = v
    result = [known[id(r)] for r in roots]
    if None in result:
        raise Unsupported("a bare number has no type")
    return [made.done[id(r)] for r in roots], result


def fold(e: Expr) -> float:
    """The value of an expression over plain numbers, as a Python number."""
    # there is no type to ask for
    found: float = np.asarray(S.evaluate([e], [], np.dtype)[0]).item()
    return found


def number(f: Operations, v: float, t: str, lanes: int) -> Val:
    """A plain number as a constant of type t: integers wrap; a half is rounded only if it is a
    result."""
    if t == "bool":
        v = bool(v)
    elif not is_float(t):
        if isinstance(v, float) and not math.isfinite(v):
            raise Unsupported(f"{v} as {t}")
        bits = _INT[COMPUTE[t]]
        v = (int(v) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    return f.const(vec(COMPUTE[t], lanes), v)


def results(f: Operations, roots: Sequence[Expr], values: Sequence[Val],
            dtypes: Sequence[str], lanes: int,
            pick: Callable[..., Any] | None = None) -> list[Val]:
    """As `compute`, with the results in memory form, each half rounded once."""
    known = S.types(roots, dtypes)
    rounds = [r.op == "cast" and r.value in HALF and known[id(r.args[0])] in ("f32", *HALF)
              for r in roots]
    values, kinds = compute(f, [r.args[0] if once else r for r, once in zip(roots, rounds)], values,
                            dtypes, lanes, pick=pick)
    return [narrow(f, v, r.value if once else t)
            for v, t, r, once in zip(values, kinds, roots, rounds)]


def emit(f: Operations, roots: Sequence[Expr], inputs: Sequence[Val], dtypes: Sequence[str],
         lanes: int) -> list[Val]:
    """The roots' values in memory form, from the arguments' values in memory form (a scalar stands
    for equal lanes).

    `dtypes` are the arguments' types. The result types are `ir.scalar.types` of the roots.
    """
    return results(f, roots, [widen(f, x, t) for x, t in zip(inputs, dtypes)], dtypes, lanes)
