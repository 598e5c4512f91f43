"""Fourier transforms of a few numbers in registers, and the passes over memory that apply them.

A number is a pair of vectors, its real and its imaginary part. The order of a pass is the one that
is written here, lane by lane: which transforms share a vector changes no bit.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .. import targets
from ..builder import BYTES, Fn, Module, Val, vec

LONGEST = 8             # numbers of a pass whose code is not too long to be there twice

Complex = tuple[Val, Val]


def _plus(a: Complex, b: Complex) -> Complex:
    return a[0] + b[0], a[1] + b[1]


def _minus(a: Complex, b: Complex) -> Complex:
    return a[0] - b[0], a[1] - b[1]


def _minus_i(a: Complex) -> Callable[[Complex], tuple[Complex, Complex]]:
    """The function of b that returns (b - i a, b + i a)."""
    return lambda b: ((b[0] + a[1], b[1] - a[0]), (b[0] - a[1], b[1] + a[0]))


def _two(a: Sequence[Complex]) -> list[Complex]:
    return [_plus(*a), _minus(*a)]


def _four(a: Sequence[Complex]) -> list[Complex]:
    even, odd = _two(a[0::2]), _two(a[1::2])
    second, fourth = _minus_i(odd[1])(even[1])
    return [_plus(even[0], odd[0]), second, _minus(even[0], odd[0]), fourth]


def _eight(a: Sequence[Complex]) -> list[Complex]:
    half = [_two(pair) for pair in zip(a[:4], a[4:], strict=True)]
    (_, d0), (_, (x1, y1)), (_, (x2, y2)), (_, (x3, y3)) = half
    root = math.sqrt(0.5)
    turned = [d0, ((x1 + y1) * root, (y1 - x1) * root), (y2, -x2),
              ((y3 - x3) * root, (x3 + y3) * -root)]
    return [x for pair in zip(_four([s for s, _ in half]), _four(turned), strict=True)
            for x in pair]


def _odd(f: Fn, a: Sequence[Complex]) -> list[Complex]:
    """The transform of an odd number of elements, from sums and differences of elements i and n -
    i."""
    r = len(a)
    half = range(1, r // 2 + 1)
    sums, differences = ([make(a[j], a[r - j]) for j in half] for make in (_plus, _minus))
    whole = a[0]
    for s in sums:
        whole = _plus(whole, s)
    low: list[Complex] = []
    high: list[Complex] = []
    for k in half:
        c = a[0]
        sines: Complex | None = None
        for j, t, u in zip(half, sums, differences, strict=True):
            cosine, sine = (g(2 * math.pi * (j * k % r) / r) for g in (math.cos, math.sin))
            c = f.fma(t[0], cosine, c[0]), f.fma(t[1], cosine, c[1])
            sines = ((u[0] * sine, u[1] * sine) if sines is None
                     else (f.fma(u[0], sine, sines[0]), f.fma(u[1], sine, sines[1])))
        assert sines is not None
        first, last = _minus_i(sines)(c)
        low, high = [*low, first], [last, *high]
    return [whole, *low, *high]


def transform(f: Fn, a: Sequence[Complex]) -> list[Complex]:
    """The transform of a few numbers: 2, 4, 8 or an odd number of them."""
    known = {2: _two, 4: _four, 8: _eight}
    return known[len(a)](a) if len(a) in known else _odd(f, a)


def turned(f: Fn, a: Complex, cosine: Val, sine: Val) -> Complex:
    """Multiply a complex number by cosine + i sine."""
    x, y = a
    return f.fma(x, cosine, -(y * sine)), f.fma(x, sine, y * cosine)


def pass_of(m: Module, radix: int, elem: str) -> Val:
    """The helper that does a pass: of the numbers at x, into those at y. The numbers of a transform
    are in `groups` * `stride` * radix lines, two vectors each; `first`: how many numbers of a line
    its real part begins at. Each result is turned by what the table has for it. The angles of the
    first group are zero, and where its code is there apart, it turns nothing."""
    name = f"fourier_{radix}_{elem}"
    lanes = targets.current().lanes(BYTES[elem])
    ty = vec(elem, lanes)
    if name not in m.once:
        m.once.add(name)
        f = m.fn(name, [("ptr", "x"), ("ptr", "y"), ("ptr", "table"), ("i64", "groups"),
                        ("i64", "stride"), ("i64", "first")], linkage="internal")
        x, y, table, groups, stride, first = f.args
        parts = first, lanes - first

        def group(p: int | Val) -> None:
            angles = None if isinstance(p, int) else f.at(table, p * (2 * (radix - 1)), elem)

            def one(q: Val) -> None:
                def line(at: Val, start: Val, step: int | Val) -> list[list[Val]]:
                    begin = f.at(at, (q + stride * start) * (2 * lanes), elem)
                    return [[f.at(begin, stride * (step * (2 * lanes) * j) + part, elem)
                             for part in parts] for j in range(radix)]
                zero = f.as_val(0, "i64")
                sources = line(x, zero + p, groups)
                made = transform(f, [(f.load(ty, re), f.load(ty, im)) for re, im in sources])
                for j, (re, im) in enumerate(line(y, zero + p * radix, 1)):
                    z = made[j]
                    if angles is not None and j:
                        z = turned(f, z, *(
                            f.splat(f.load(elem, f.at(angles, 2 * (j - 1) + part, elem)), lanes)
                            for part in (0, 1)))
                    f.store(z[0], re)
                    f.store(z[1], im)
            f.loop(0, stride, 1, one)
        if radix <= LONGEST:
            group(0)
        f.loop(int(radix <= LONGEST), groups, 1, group)
    return Val(m.fns[-1], f"@{name}", "ptr")
