"""The scalar language: one element of a pointwise result, as an expression of elements of the
operands.

An op states its formula once, with operators and the functions of this module:

    softsign = lambda x: x / (1 + abs(x))

Everything else is derived from that expression. `evaluate` runs it with NumPy (the reference),
`differentiate` gives its derivatives as expressions, and `str` prints it. Each target has a table
from these primitives to its own code.

An expression is typed by its arguments: arithmetic keeps the type of its operands, comparisons give
`bool`, a plain Python number takes the type of what it meets. Casts are written out (`cast(x,
"f32")`). Types are the short names of `whet.dtypes`: bool, u8..u64, i8..i64, f16, bf16, f32, f64,
c64, c128.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import expressions
from .expressions import *  # noqa: F403
from .expressions import COMPARE, PARTS, REAL_OF, Expr, Scalar, arg, lift, make, types, walk, where
from .primitives import FIXED_BY_IEEE, PRIMITIVES, bell, series

__all__ = [
    "COMPARE", "FIXED_BY_IEEE", "PRIMITIVES", "Expr", "Scalar", "bell", "differentiate", "evaluate",
    "has_one_value", "series"]
__all__ += expressions.__all__


def simplify(op: str, *xs: Expr) -> Expr:
    """x*1, x+0 from differentiation (where nothing can be lost): keeps derived expressions
    short."""
    a, b = xs
    av, bv = (x.value if x.op == "const" else None for x in xs)
    if op == "mul":
        if av == 1:
            return b
        if bv == 1:
            return a
        if av == -1:
            return -b
        if bv == -1:
            return -a
    return make(op, a, b)


def _complex_slope(e: Expr, g: Expr, d: Expr) -> Expr:
    """The gradient that `g` of a complex expression sends to an operand: to what is conjugated its
    conjugate, to what an absolute value is taken of its real part in the operand's direction, and g
    * conj(d) through whatever has a complex derivative d."""
    if e.op == "conj":
        return make("conj", g)
    if e.op == "abs":
        x = e.args[0]
        return (g + make("conj", g)) * 0.5 * where(make("eq", x, 0), 0, x / e)
    return simplify("mul", g, d if d.op == "const" else make("conj", d))


def _of_parts(e: Expr, g: Expr) -> tuple[Expr, ...]:
    """The gradients that `g` of what takes numbers apart, or makes them of parts, sends to the
    operands."""
    if e.op == "from_parts":
        return make("real_part", g), make("imag_part", g)
    return (make("from_parts", *((g, 0) if e.op == "real_part" else (0, g))),)


def differentiate(root: Expr, g: Expr, wrt: Sequence[int],
                  complex: bool = False) -> list[Expr | None]:
    """For each argument in `wrt` the expression g * d root / d arg; None if the root does not
    depend on the argument.

    `g` is an expression (the incoming gradient). Parts that only pick (`where`) send the gradient
    through the pick, so that an infinity in the branch not taken cannot become a NaN. complex: of
    complex numbers, where the expression may conjugate.
    """
    order = walk(root)
    grads = {id(root): g}
    live = {id(e) for e in order if e.op == "arg" and e.value in wrt}
    for e in order:
        if any(id(a) in live for a in e.args):
            live.add(id(e))
    for e in reversed(order):
        g_e = grads.get(id(e))
        if g_e is None or id(e) not in live or e.op == "arg":
            continue
        parts: Sequence[Expr | None]
        if e.op == "select":
            c, a, b = e.args
            parts = (None, where(c, g_e, 0), where(c, 0, g_e))
        elif e.op == "cast":
            parts = (g_e,)
        elif e.op in PARTS:
            parts = _of_parts(e, g_e)
        else:
            rule = PRIMITIVES[e.op][1]
            if rule is None:
                continue
            slope = (functools.partial(_complex_slope, e) if complex else
                     functools.partial(simplify, "mul"))
            parts = [
                None if isinstance(d, int | float) and d == 0 else slope(g_e, lift(d))
                for d in rule(e, *e.args)]
        for a, p in zip(e.args, parts):
            if p is not None and id(a) in live:
                grads[id(a)] = p if id(a) not in grads else grads[id(a)] + p
    return [grads.get(id(arg(i))) if id(arg(i)) in live else None for i in wrt]


@functools.lru_cache(4096)
def _program(
    roots: tuple[Expr,
                 ...]) -> tuple[list[tuple[str, Any, tuple[tuple[int, bool], ...]]], list[int]]:
    """The expression as a flat list of NumPy steps; an operand that is a bare number is marked,
    to take the type of the others."""
    order = walk(*roots)
    at = {id(e): k for k, e in enumerate(order)}
    bare = set()
    for e in order:
        operands = e.args[1:] if e.op == "select" else e.args
        if (e.op not in COMPARE and e.op not in ("arg", "cast")
                and all(id(a) in bare for a in operands)):
            bare.add(id(e))
    return ([(e.op, e.value, tuple((at[id(a)], id(a) in bare) for a in e.args))
             for e in order], [at[id(r)] for r in roots])


def _is_half(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize == 2 and dtype.kind in "fV"


def evaluate(roots: Iterable[Expr], inputs: Sequence[Any],
             to_numpy_dtype: Callable[[str], Any]) -> list[Any]:
    """Run expressions with NumPy on arrays (or scalars of a NumPy type): slow and sure, the
    reference for every target.

    f16 and bf16 are computed in f32 and rounded where the expression casts and at its end, as every
    target does.
    """
    steps, at = _program(tuple(roots))
    vals: list[Any] = []
    halves: list[Any] = []
    with np.errstate(all="ignore"):
        for op, value, operands in steps:
            half = None
            if op == "arg":
                r = inputs[value]
                half = r.dtype if _is_half(r.dtype) else None
            elif op == "const":
                r = value
            elif op == "cast":
                r = np.asarray(vals[operands[0][0]]).astype(to_numpy_dtype(value))
                half = r.dtype if _is_half(r.dtype) else None
            elif op == "pick":
                raise NotImplementedError("what a kernel gathers has no form in NumPy")
            else:
                kept = operands[1:] if op == "select" else operands
                typed = [i for i, bare in kept if not bare]
                xs = [
                    np.asarray(vals[i]).astype(vals[typed[0]].dtype) if bare and typed else vals[i]
                    for i, bare in kept]
                half = halves[typed[0]] if typed and op not in COMPARE else None
                if op == "select":
                    r = np.where(vals[operands[0][0]], xs[0], xs[1])
                elif op == "nextafter" and half:
                    # the only function whose result depends on the spacing of its type
                    r = np.nextafter(*(x.astype(half) for x in xs))
                else:
                    r = PRIMITIVES[op][0](*xs)
            vals.append(r if half is None else r.astype(np.float32))
            halves.append(half)
        return [vals[i] if halves[i] is None else vals[i].astype(halves[i]) for i in at]


def has_one_value(roots: Iterable[Expr],
                  dtypes: Mapping[int, str | None] | Sequence[str | None]) -> bool:
    """Does every target give the bits of `evaluate`? Not where it calls functions of the machine's
    library on floats: those of the targets are others. Not of complex numbers, whose products NumPy
    rounds as its own loops do."""
    known = types(roots, dtypes)
    if any(t in REAL_OF for t in known.values()):
        return False

    def fixed(e: Expr) -> bool:
        if e.op == "cast":                   # what does not fit into an integer is not
            return not _is_whole(e.value) or _is_whole(known[id(e.args[0])])
        return e.op in FIXED_BY_IEEE or all(_is_whole(known[id(x)]) for x in (e, *e.args))
    return all(map(fixed, walk(*roots)))


def _is_whole(name: str | None) -> bool:
    """Is this the name of a type of integers or bool?"""
    return name is not None and (name == "bool" or name[0] in "iu")
