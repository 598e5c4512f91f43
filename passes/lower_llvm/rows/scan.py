"""Running sums, products, extrema and log-sum-exps along rows, in one stated order.

**The order**, a function of the number of elements alone: blocks of 4096 elements, in them groups
of 16. In a group, for d = 1, 2, 4, 8 every element at d or beyond becomes (the one d before) +
(itself). A block's carry starts at the identity; an element's local result is carry + its own, and
the carry becomes carry + the last of the group. The base of the first block is the identity; a
result is base + local, and the next base is base + the last local result of the block. So 16
additions are under way at once, blocks can be computed apart, and the error grows with n / 4096,
not with n. For extrema (exact) the order does not matter. """
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from whet.ir.rows import BLOCK, SUMS
from whet.passes.lower_llvm import targets, vmath
from whet.passes.lower_llvm.builder import Val, vec
from whet.passes.lower_llvm.rows.lanes import SIZE, Extreme, load, store
from whet.passes.lower_llvm.scalar import COMPUTE, convert

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module

GROUP = 16
RESULTS = {"sum": 1, "prod": 1, "max": 2, "min": 2, "logsumexp": 1}


class Plain:
    """sum, prod"""

    def __init__(self, kind: str, dtype: str, acc: str) -> None:
        self.kind, self.dtype, self.acc = kind, dtype, acc

    def identity(self, f: Fn, lanes: int) -> list[Val]:
        return [f.const(vec(COMPUTE[self.acc], lanes), 0 if self.kind == "sum" else 1)]

    def element(self, f: Fn, x: Val, i: Val) -> list[Val]:
        return [convert(f, x, self.dtype, self.acc)]

    def join(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        return [a[0] + b[0] if self.kind == "sum" else a[0] * b[0]]

    def results(self, f: Fn, state: Sequence[Val], out: str) -> list[tuple[str, Val]]:
        return [(out, convert(f, state[0], self.acc, out))]


class Best(Extreme):
    """max, min with positions: the last of equals; a NaN wins, the last one."""

    def __init__(self, kind: str, dtype: str) -> None:
        super().__init__(kind, dtype)
        self.better = {"gt": "ge", "lt": "le"}[self.better[-2:]]
        self.better = ("o" if self.float else "u" if dtype[0] in "ub" else "s") + self.better

    def identity(self, f: Fn, lanes: int) -> list[Val]:
        return [f.const(vec(self.ty, lanes), self.worst), f.const(vec("i32", lanes), 0)]

    def element(self, f: Fn, x: Val, i: Val) -> list[Val]:
        return [x, i]

    def later(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> Val:
        """Does b, which comes after a, take its place?"""
        later = f.cmp(self.better, b[0], a[0])
        return ((later & f.cmp("ord", a[0], a[0]))
                | f.cmp("uno", b[0], b[0]) if self.float else later)

    def join(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        later = self.later(f, a, b)
        return [f.sel(later, y, x) for x, y in zip(a, b, strict=True)]

    def results(self, f: Fn, state: Sequence[Val], out: str) -> list[tuple[str, Val]]:
        return [(out, state[0]), ("i64", f.conv("sext", state[1], "i64"))]


class LogSumExp:
    """(m, s) stands for m + log(s), m being the greatest element so far."""

    def __init__(self, dtype: str, acc: str, functions: Mapping[str, Callable[..., Val]]) -> None:
        self.dtype, self.acc, self.functions = dtype, acc, functions

    def identity(self, f: Fn, lanes: int) -> list[Val]:
        ty = vec(COMPUTE[self.acc], lanes)
        return [f.const(ty, -math.inf), f.const(ty, 0.0)]

    def element(self, f: Fn, x: Val, i: Val) -> list[Val]:
        x = convert(f, x, self.dtype, self.acc)
        return [x, f.const(x.ty, 1.0)]

    def join(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        (m, s), (n, t) = a, b
        first = f.cmp("oge", m, n)
        top = f.sel(f.cmp("uno", m, n), math.nan, f.sel(first, m, n))
        low = f.sel(f.cmp("oeq", m, n), 0.0, -f.fabs(m - n))
        e = self.functions["exp"](f, low)
        return [top, f.sel(first, s + t * e, s * e + t)]

    def results(self, f: Fn, state: Sequence[Val], out: str) -> list[tuple[str, Val]]:
        return [(out, convert(f, state[0] + self.functions["log"](f, state[1]), self.acc, out))]


Operator: TypeAlias = Best | LogSumExp | Plain


def operator(kind: str, dtype: str, acc: str,
             functions: Mapping[str, Callable[..., Val]] = vmath.FUNCTIONS) -> Operator:
    """How elements are joined. `functions` has exp and log of the target's."""
    if kind in SUMS:
        return Plain(kind, dtype, acc)
    return LogSumExp(dtype, acc, functions) if kind == "logsumexp" else Best(kind, dtype)


def _slots(f: Fn, kind: str, sizes: int) -> tuple[Val, list[Val], list[Val]]:
    """The arguments of a kernel: the addresses of x and of the results, and this many sizes."""
    args, count = f.args[0], RESULTS[kind]
    x, *outs = (f.load("ptr", f.at(args, i, "i64")) for i in range(1 + count))
    return x, outs, [f.load("i64", f.at(args, 1 + count + j, "i64")) for j in range(sizes)]


def _lanes_joined(f: Fn, op: Operator, state: Sequence[Val]) -> Sequence[Val]:
    """The lanes of a group, each joined with those before it."""
    for d in (1, 2, 4, 8):
        before = [f.shuffle(s, None, [(l - d) % GROUP for l in range(GROUP)]) for s in state]
        late = Val(f,
                   "<" + ", ".join(f"i1 {int(l >= d)}" for l in range(GROUP)) + ">",
                   vec("i1", GROUP))
        joined = op.join(f, before, state)
        state = [f.sel(late, j, s) for j, s in zip(joined, state, strict=True)]
    return state


def emit_rows(mod: Module, symbol: str, kind: str, dtype: str, acc: str, out: str) -> None:
    """Along contiguous rows. Slots: x (rows, n), the results likewise, n; a unit of work is a
    row."""
    f = mod.kernel(symbol)
    _, begin, end, _ = f.args
    x, outs, (n,) = _slots(f, kind, 1)
    op = operator(kind, dtype, acc)
    one = op.identity(f, GROUP)

    def row(r: Val) -> None:
        src = f.bytes_at(x, r * n * SIZE[dtype])

        def block(b: Val, *base: Val) -> list[Val]:
            stop = f.imin(b + BLOCK, n)

            def group(i: Val, *carry: Val, tail: bool = False) -> list[Val]:
                mask = f.lanes_below(stop - i, GROUP) if tail else None
                position = f.splat(f.conv("trunc", i, "i32"), GROUP) + f.iota("i32", GROUP)
                state = op.element(f,
                                   load(f, dtype, f.bytes_at(src, i * SIZE[dtype]), GROUP, mask),
                                   position)
                if mask is not None:
                    state = [f.sel(mask, s, e) for s, e in zip(state, one, strict=True)]

                def whole() -> list[Val]:
                    joined = _lanes_joined(f, op, state)
                    local = op.join(f, carry, joined)
                    last = [f.shuffle(s, None, [GROUP - 1] * GROUP) for s in joined]
                    return [*local, *op.join(f, carry, last)]
                if isinstance(op, Best):              # most groups hold nothing new
                    both = f.if_(f.any(op.later(f, carry, state)), whole, lambda: [*carry, *carry])
                else:
                    both = whole()
                local, after = both[:len(one)], both[len(one):]
                for (t, y), p in zip(op.results(f, op.join(f, base, local), out), outs,
                                     strict=True):
                    store(f, t, y, f.bytes_at(p, (r * n + i) * SIZE[t]), mask)
                return after
            full = b + ((stop - b) & -GROUP)
            carry = f.loop(b, full, GROUP, group, one)
            f.loop(full, stop, GROUP, lambda i: group(i, *carry, tail=True) and None)
            return op.join(f, base, carry)
        f.loop(0, n, BLOCK, block, one)
    f.loop(begin, end, 1, row)


class _States:
    """Memory for a state of each vector of a panel."""

    def __init__(self, f: Fn, like: Sequence[Val], vectors: int) -> None:
        self.f, self.types = f, [s.ty for s in like]
        self.memory = [f.alloca(ty, vectors) for ty in self.types]

    def get(self, v: Val) -> list[Val]:
        f = self.f
        return [f.load(ty, f.at(p, v, ty)) for p, ty in zip(self.memory, self.types, strict=True)]

    def put(self, v: Val, state: Sequence[Val]) -> None:
        for p, s in zip(self.memory, state, strict=True):
            self.f.store(s, self.f.at(p, v, s.ty))


def _states_joined(f: Fn, op: Operator, states: Sequence[list[Val]]) -> Sequence[list[Val]]:
    """The elements of a group, each joined with those before it."""
    for d in (1, 2, 4, 8):
        states = [s if k < d else op.join(f, states[k - d], s) for k, s in enumerate(states)]
    return states


def emit_columns(mod: Module, symbol: str, kind: str, dtype: str, acc: str, out: str,
                 vectors: int = 4) -> None:
    """Across memory. Slots: x (a, n, columns), the results likewise, n, columns; a unit of work
    is a panel of columns of one a."""
    f = mod.kernel(symbol)
    _, begin, end, _ = f.args
    x, outs, (n, columns) = _slots(f, kind, 2)
    op = operator(kind, dtype, acc)
    W = panel_lanes()
    width = W * vectors
    one = op.identity(f, W)
    carries, bases = _States(f, one, vectors), _States(f, one, vectors)
    panels = f.sdiv(columns + (width - 1), width)

    def panel(u: Val) -> None:
        a = f.udiv(u, panels)
        c = (u - a * panels) * width
        used = f.sdiv(f.imin(columns - c, width) + (W - 1), W)
        f.loop(0, used, 1, lambda v: bases.put(v, one))

        def group(i: Val) -> None:
            """Elements i to i + 15 of all columns of the panel. Beyond the end the last element is
            read again; its result is stored before the real one, to the same place."""
            lines = [a * n + f.imin(i + k, n - 1) for k in range(GROUP)]

            def vector(v: Val) -> None:
                at = c + v * W
                mask = f.lanes_below(columns - at, W)

                def place(k: int, t: str) -> Val:
                    return (lines[k] * columns + at) * SIZE[t]

                def element(k: int) -> list[Val]:
                    x_k = load(f, dtype, f.bytes_at(x, place(k, dtype)), W, mask)
                    return op.element(f, x_k, f.splat(f.conv("trunc", i + k, "i32"), W))
                carry, base = carries.get(v), bases.get(v)
                states = _states_joined(f, op, [element(k) for k in range(GROUP)])
                for k in reversed(range(GROUP)):
                    state = op.join(f, base, op.join(f, carry, states[k]))
                    for (t, y), p in zip(op.results(f, state, out), outs, strict=True):
                        store(f, t, y, f.bytes_at(p, place(k, t)), mask)
                carries.put(v, op.join(f, carry, states[-1]))
            f.loop(0, used, 1, vector)

        def block(b: Val) -> None:
            f.loop(0, used, 1, lambda v: carries.put(v, one))
            f.loop(b, f.imin(b + BLOCK, n), GROUP, group)
            f.loop(0, used, 1, lambda v: bases.put(v, op.join(f, bases.get(v), carries.get(v))))
        f.loop(0, n, BLOCK, block)
    f.loop(begin, end, 1, panel)


def panel_lanes() -> int:
    return targets.current().lanes(4)
