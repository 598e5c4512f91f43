"""Loads and stores of elements, and reductions over lanes: the parts of row kernels in both
orientations."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from whet.ir import scalar as sc
from whet.ir.rows import IDENTITY, INDEXED, LANES, SUMS
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.builder import BITS, BYTES, vec
from whet.passes.lower_llvm.scalar import (
    COMPUTE,
    HALF,
    MEMORY,
    compute,
    is_float,
    is_signed,
    narrow,
    widen,
)

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.passes.lower_llvm.builder import Fn, Val

Merge: TypeAlias = "Callable[[Fn, Sequence[Val], Sequence[Val]], list[Val]]"
SIZE = {t: BYTES[m] for t, m in MEMORY.items()}
LEVELS = 40                     # of pairs of blocks: more elements than memory can hold


def load(f: Fn, dtype: str, p: Val, lanes: int, mask: Val | None = None) -> Val:
    """Elements as expressions see them; lanes outside the mask are zero."""
    ty = vec(MEMORY[dtype], lanes)
    return widen(f, f.load(ty, p) if mask is None else f.mload(ty, p, mask), dtype)


def values(f: Fn, roots: Sequence[Expr], inputs: Sequence[Val | None], dtypes: Sequence[str],
           lanes: int) -> list[Val]:
    """The values of expressions; values of half types are rounded as if they had been stored."""
    xs, types = compute(f, roots, inputs, dtypes, lanes)
    rounded = [t in HALF and r.op not in ("arg", "cast") for t, r in zip(types, roots, strict=True)]
    return [
        widen(f, narrow(f, x, t), t) if again else x
        for x, t, again in zip(xs, types, rounded, strict=True)]


def store(f: Fn, dtype: str, x: Val, p: Val, mask: Val | None = None) -> None:
    x = narrow(f, x, dtype)
    f.store(x, p) if mask is None else f.put(mask, (x, p))


def scalar_slot(f: Fn, dtype: str, slot: Callable[[str], Val]) -> Val:
    """A number passed by value: a double or an i64 in its slot."""
    if is_float(dtype):
        return f.conv("fptrunc", slot("double"), COMPUTE[dtype])
    return f.conv("trunc", slot("i64"), COMPUTE[dtype])


def lanes_for(types: set[str]) -> int:
    """The number of elements to work on at once: a register of the narrowest type, or of 4-byte
    elements if wider types occur."""
    sizes = [SIZE[t] for t in types if t != "bool"] or [1]
    least = min(sizes)
    return min(LANES, targets.current().lanes(least if least == max(sizes) else max(least, 4)))


def types_in(roots: Sequence[Expr], dtypes: Sequence[str]) -> set[str]:
    """The types that occur in expressions."""
    return set(sc.types(roots, dtypes).values()) - {None}


# ---- reductions, lane by lane --------------------------------------------------------------------
class Reduction:
    """A reduction of elements of a type. Its state is a list of vectors, lane by lane."""
    dtype: str

    def start(self, f: Fn, lanes: int) -> list[Val]:
        """The state of no elements."""
        raise NotImplementedError

    def of(self, f: Fn, x: Val) -> list[Val]:
        """The state after one element."""
        raise NotImplementedError

    def step(self, f: Fn, state: Sequence[Val], x: Val, mask: Val | None = None) -> list[Val]:
        """The state after one more element, in the lanes of the mask."""
        raise NotImplementedError

    def merge(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        """The state of the elements of both."""
        raise NotImplementedError

    def end(self, f: Fn, state: Sequence[Val]) -> Val:
        """The result."""
        raise NotImplementedError


class Sum(Reduction):
    """sum, prod: one accumulator."""

    def __init__(self, kind: str, dtype: str) -> None:
        self.identity, self.dtype = IDENTITY[kind], dtype
        self.op = "add" if kind == "sum" else "mul"

    def start(self, f: Fn, lanes: int) -> list[Val]:
        return [f.const(vec(COMPUTE[self.dtype], lanes), self.identity)]

    def of(self, f: Fn, x: Val) -> list[Val]:
        return [x]

    def step(self, f: Fn, state: Sequence[Val], x: Val, mask: Val | None = None) -> list[Val]:
        return [self.merge(f, state, [x if mask is None else f.sel(mask, x, self.identity)])[0]]

    def merge(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        return [f.binary(self.op, a[0], b[0])]

    def end(self, f: Fn, state: Sequence[Val]) -> Val:
        return state[0]


class Truth(Sum):
    """any, all."""

    def __init__(self, kind: str, dtype: str) -> None:
        self.identity, self.dtype, self.op = IDENTITY[kind], dtype, "or" if kind == "any" else "and"


class Extreme(Reduction):
    """max, min: the greatest number so far; for floats also whether a NaN came by, and the signs
    that tell -0 from +0."""

    def __init__(self, kind: str, dtype: str) -> None:
        self.max, self.dtype, self.ty, self.float = kind.startswith(
            "max"), dtype, COMPUTE[dtype], is_float(dtype)
        bits = BITS[self.ty]
        self.bits = f"i{bits}"
        self.worst: float
        self.better = (("o" if self.float else "s" if is_signed(dtype) else "u") +
                       ("gt" if self.max else "lt"))
        if self.float:
            self.worst = float("-inf") if self.max else float("inf")
        elif is_signed(dtype):
            self.worst = -(1 << bits - 1) if self.max else (1 << bits - 1) - 1
        else:
            self.worst = 0 if self.max else (1 << bits) - 1

    def start(self, f: Fn, lanes: int) -> list[Val]:
        m = f.const(vec(self.ty, lanes), self.worst)
        if not self.float:
            return [m]
        return [
            m, f.const(vec("i1", lanes), 0), f.const(vec(self.bits, lanes), -1 if self.max else 0)]

    def of(self, f: Fn, x: Val) -> list[Val]:
        return [x, f.cmp("uno", x, x), f.bitcast(x, vec(self.bits, x.lanes))] if self.float else [x]

    def step(self, f: Fn, state: Sequence[Val], x: Val, mask: Val | None = None) -> list[Val]:
        return self.merge(f, state, self.of(f, x if mask is None else f.sel(mask, x, self.worst)))

    def merge(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        m = f.sel(f.cmp(self.better, a[0], b[0]), a[0], b[0])
        if not self.float:
            return [m]
        return [m, a[1] | b[1], f.binary("and" if self.max else "or", a[2], b[2])]

    def end(self, f: Fn, state: Sequence[Val]) -> Val:
        """NaN if there was one; a zero is -0 where all elements (max) or any element (min) had
        the sign."""
        m = state[0]
        if not self.float:
            return m
        zero = f.sel(f.cmp("slt", state[2], 0), -0.0, f.const(m.ty, 0.0))
        m = f.sel(f.cmp("oeq", m, 0.0), zero, m)
        return f.sel(state[1], float("nan"), m)


def reduction(kind: str, dtype: str) -> Sum | Extreme:
    """The reduction of this kind; for those of `INDEXED`, without the position."""
    if kind in SUMS:
        return Sum(kind, dtype)
    return Truth(kind, dtype) if kind in ("any", "all") else Extreme(kind, dtype)


def fold(f: Fn, merge: Merge, states: Sequence[list[Val]]) -> list[Val]:
    """The lanes of several chunks (a list of states) folded by halves to one scalar state."""
    while len(states) > 1:
        h = len(states) // 2
        states = [merge(f, a, b) for a, b in zip(states[:h], states[h:], strict=True)]
    state, lanes = states[0], states[0][0].lanes
    while lanes > 1:
        lanes //= 2
        low, high = range(lanes), range(lanes, 2 * lanes)
        state = merge(f, [f.shuffle(x, None, low) for x in state],
                      [f.shuffle(x, None, high) for x in state])
    return [f.extract(x, 0) for x in state]


class Group:
    """A reduction of groups of elements, several chunks of lanes at once: the state is a flat
    list of vectors."""

    def __init__(self, red: Reduction, lanes: int, chunks: int) -> None:
        self.red, self.lanes, self.chunks = red, lanes, chunks

    def start(self, f: Fn) -> list[Val]:
        return [x for _ in range(self.chunks) for x in self.red.start(f, self.lanes)]

    def step(self, f: Fn, state: Sequence[Val], xs: Sequence[Val], masks: Sequence[Val | None],
             i: Val) -> list[Val]:
        """The accumulators after one more group: `xs` are its chunks, which begin `i` elements
        after the start of the block."""
        return [self.red.step(f, [s], x, m)[0] for s, x, m in zip(state, xs, masks, strict=True)]

    def end(self, f: Fn, state: Sequence[Val]) -> list[Val]:
        return fold(f, self.red.merge, [[s] for s in state])


class ExtremeGroup(Group):
    """Extrema of floats, with one look for NaN and one at the signs for two chunks."""
    red: Extreme

    def start(self, f: Fn) -> list[Val]:
        m, nan, signs = self.red.start(f, self.lanes)
        return [m] * self.chunks + [nan, signs] * (self.chunks // 2)

    def step(self, f: Fn, state: Sequence[Val], xs: Sequence[Val], masks: Sequence[Val | None],
             i: Val) -> list[Val]:
        xs = [
            x if m is None else f.sel(m, x, self.red.worst) for x, m in zip(xs, masks, strict=True)]
        out = [f.sel(f.cmp(self.red.better, s, x), s, x) for s, x in zip(state, xs, strict=False)]
        op, bits = "and" if self.red.max else "or", vec(self.red.bits, self.lanes)
        for a, b, nan, signs in zip(xs[::2], xs[1::2], state[self.chunks::2],
                                    state[self.chunks + 1::2], strict=True):
            out += [
                nan | f.cmp("uno", a, b),
                f.binary(op, f.binary(op, signs, f.bitcast(a, bits)), f.bitcast(b, bits))]
        return out

    def end(self, f: Fn, state: Sequence[Val]) -> list[Val]:
        red, nans, signs = self.red, state[self.chunks::2], state[self.chunks + 1::2]

        def better(f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
            return [f.sel(f.cmp(red.better, a[0], b[0]), a[0], b[0])]
        m, = fold(f, better, [[s] for s in state[:self.chunks]])
        nan = f.any(functools.reduce(lambda a, b: a | b, nans))

        def zero() -> list[Val]:
            sign, = fold(f, lambda f, a, b: [f.binary("and" if red.max else "or", a[0], b[0])],
                         [[s] for s in signs])
            return [f.sel(f.cmp("slt", sign, 0), -0.0, f.const(m.ty, 0.0))]
        m, = f.if_(f.cmp("oeq", m, 0.0), zero, lambda: [m])
        return [f.sel(nan, float("nan"), m)]


class IndexedGroup(Group):
    """Extrema with the first position of each lane, counted from the start of the block; for
    floats also a look for NaN."""
    red: Extreme

    def start(self, f: Fn) -> list[Val]:
        m = f.const(vec(self.red.ty, self.lanes), self.red.worst)
        at, nan = f.const(vec("i32", self.lanes), 0), f.const(vec("i1", self.lanes), 0)
        return ([m] * self.chunks + [at] * self.chunks + [nan] *
                (self.chunks // 2 if self.red.float else 0))

    def step(self, f: Fn, state: Sequence[Val], xs: Sequence[Val], masks: Sequence[Val | None],
             i: Val) -> list[Val]:
        red, C = self.red, self.chunks
        xs = [x if m is None else f.sel(m, x, red.worst) for x, m in zip(xs, masks, strict=True)]
        here = f.splat(f.conv("trunc", i, "i32"), self.lanes)
        best = [f.sel(f.cmp(red.better, m, x), m, x) for m, x in zip(state, xs, strict=False)]
        at = [f.sel(f.cmp(red.better, x, m), here, p)
              for m, x, p in zip(state[:C], xs, state[C:2 * C], strict=True)]
        nans = [nan | f.cmp("uno", a, b)
                for a, b, nan in zip(xs[::2], xs[1::2], state[2 * C:], strict=False)]
        return [*best, *at, *nans]

    def end(self, f: Fn, state: Sequence[Val]) -> list[Val]:
        """(the best, its first position, is there a NaN?)"""
        red, C = self.red, self.chunks

        def better(f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
            return [f.sel(f.cmp(red.better, a[0], b[0]), a[0], b[0])]

        def least(f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
            return [f.imin(a[0], b[0])]
        m, = fold(f, better, [[s] for s in state[:C]])
        goal, none = f.splat(m, self.lanes), f.const(vec("i32", self.lanes), 2**31 - 1)
        lane = f.iota("i32", self.lanes)
        spots = [
            f.sel(f.cmp("oeq" if red.float else "eq", s, goal), p + c * self.lanes + lane, none)
            for c, (s, p) in enumerate(zip(state[:C], state[C:2 * C], strict=True))]
        at, = fold(f, least, [[p] for p in spots])
        if not red.float:
            return [m, at, f.const("i1", 0)]
        return [m, at, f.any(functools.reduce(lambda a, b: a | b, state[2 * C:]))]


def group_of(kind: str, dtype: str, lanes: int, chunks: int) -> Group:
    red = reduction(kind, dtype)
    if kind in INDEXED:
        return IndexedGroup(red, lanes, chunks)
    floats = isinstance(red, Extreme) and red.float
    return (ExtremeGroup if floats else Group)(red, lanes, chunks)


def count_zeros(f: Fn, which: str, x: Val) -> Val:
    f.mod.declare(f"llvm.{which}.i64", "i64", ["i64", "i1"])
    return f.v("i64", f"call i64 @llvm.{which}.i64(i64 {x.ref}, i1 false)")


class Pairwise:
    """Combines block results in pairs as they come: slot l of a small stack holds the result of
    2**l blocks. It holds `width` results; each call handles one of them, number v."""

    def __init__(self, f: Fn, red: Reduction, lanes: int = 0, width: int = 1,
                 memory: Callable[[str, int], Val] | None = None) -> None:
        self.f, self.red, self.width, self.lanes = f, red, width, lanes
        self.ty = vec(COMPUTE[red.dtype], lanes)
        self.stack = (memory or f.alloca)(self.ty, LEVELS * width)

    def slot(self, level: Val, v: int | Val) -> Val:
        return self.f.at(self.stack, self.f.as_val(level, "i64") * self.width + v, self.ty)

    def push(self, block: Val, x: Val, v: int | Val = 0) -> None:
        """Add the result of block number `block`."""
        f = self.f
        carries = count_zeros(f, "cttz", ~block)
        x, = f.loop(0, carries, 1,
                    lambda l, s: self.red.merge(f, [f.load(self.ty, self.slot(l, v))], [s])[0], [x])
        f.store(x, self.slot(carries, v))

    def total(self, blocks: Val, v: int | Val = 0) -> Val:
        """The combined result of `blocks` blocks; the identity of none."""
        f = self.f
        some = f.cmp("ne", blocks, 0)
        first = f.sel(some, count_zeros(f, "cttz", blocks), 0)
        end = 64 - count_zeros(f, "ctlz", blocks)

        def up(level: Val, s: Val) -> Val:
            has = f.cmp("ne", f.lshr(blocks, level) & 1, 0)
            return f.sel(has, self.red.merge(f, [f.load(self.ty, self.slot(level, v))], [s])[0], s)
        start = f.sel(some, f.load(self.ty, self.slot(first, v)), self.red.start(f, self.lanes)[0])
        return f.loop(first + 1, end, 1, up, [start])[0]


def first_lane(f: Fn, mask: Val) -> Val:
    """The number of the first lane that holds (one of them must)."""
    ty = f"i{mask.lanes}"
    f.mod.declare(f"llvm.cttz.{ty}", ty, [ty, "i1"])
    bits = f.bitcast(mask, ty)
    lane = f.v(ty, f"call {ty} @llvm.cttz.{ty}({ty} {bits.ref}, i1 true)")
    return f.conv("zext", lane, "i32") if mask.lanes < 32 else lane
