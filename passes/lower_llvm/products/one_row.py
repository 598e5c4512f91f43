"""One row times a matrix (or a matrix times one column, whose transpose it is): an order of sums
that memory's speed allows in every layout.

The order of each output element: K in blocks of 4096; in a block CHAINS chains of fused
multiply-adds from +0, chain c over the steps c, c + CHAINS ... of the block; the blocks added left
to right, chain by chain; then the chains by halves: c and c + 8, c and c + 4, c and c + 2, c and c
+ 1. The one chain of `gemm` would keep a register busy with one output, where rows of K are
adjacent and a register wants to read many of their elements.

Kernel `one_row` is for a B whose n is adjacent, `one_col` for one whose k is, or for any strides.
Table and operands are those of `gemm`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Module, Val, vec
from . import pack
from .few_rows import Few
from .pack import size, widen

if TYPE_CHECKING:
    from whet.passes.lower_llvm.products.gemm import Epilogue

CHAINS = 16
BLOCK = 256 * CHAINS
DEPTH = 4               # rows of B that `one_row` adds to a chain at once
WINDOW = 4096           # bytes of each chain's sums that it works on at a time


class _One(Few):
    def __init__(self, mod: Module, symbol: str, dtype: str, dst: str | None,
                 epilogue: Epilogue | None) -> None:
        super().__init__(mod, symbol, dtype, 1, dst, epilogue)

    def begin(self) -> None:
        self.copy = self.f.alloca(self.ty, BLOCK)

    def side_by_side(self, a: Val, k0: Val, count: int | Val) -> Val:
        """The address of elements k0 ... of A, adjacent and widened: in place, or in a copy."""
        f, step = self.f, self.d["a_k"]
        source = f.bytes_at(a, k0 * step)

        def copied() -> list[Val]:
            f.loop(0, count, 1,
                   lambda i: f.store(self.element(f.bytes_at(source, i * step)),
                                     f.at(self.copy, i, self.ty)))
            return [self.copy]
        if self.dtype != self.wide:
            return copied()[0]
        return f.if_(f.cmp("eq", step, self.s), lambda: [source], copied)[0]

    def vectors(self, j0: Val, j1: Val, body: Callable[..., Any]) -> None:
        """body(j, load, mask) for each vector of columns from j0 up to j1."""
        f, everywhere = self.f, self.f.const(vec("i1", self.lanes), True)

        def some(j: Val) -> None:
            mask = f.lanes_below(j1 - j, self.lanes)
            body(j, lambda ty, p: f.mload(ty, p, mask), mask)
        if f.mod.brief:
            f.loop(j0, j1, self.lanes, some)
            return
        whole = j0 + ((j1 - j0) & -self.lanes)
        f.loop(j0, whole, self.lanes, lambda j: body(j, f.load, everywhere))
        f.if_(f.cmp("slt", whole, j1), lambda: some(whole))

    def halve(self, xs: Sequence[Val]) -> Val:
        """The sum of the chains."""
        while len(xs) > 1:
            h = len(xs) // 2
            xs = [x + y for x, y in zip(xs[:h], xs[h:], strict=True)]
        return xs[0]


class _OneRow(_One):
    """A window of columns at a time, B's rows pass by: each is added to the sums of its chain."""

    def begin(self) -> None:
        super().begin()
        self.window = WINDOW // size(self.wide)
        self.chains, self.totals = (self.f.alloca(self.ty, CHAINS * self.window) for _ in range(2))

    def columns(self, a: Val, b: Val, c: Val, j0: Val, j1: Val) -> None:
        f = self.f
        f.loop(
            j0, j1, self.window,
            lambda j: self.strip(a, f.bytes_at(b, j * self.s), c, j, f.imin(j1 - j, self.window)))

    def sums(self, of: Val, chain: int | Val, j: Val) -> Val:
        """Where the sums of a chain are from column j of the window on."""
        return self.f.at(of, j + chain * self.window, self.ty)

    def strip(self, a: Val, b: Val, c: Val, j0: Val, n: Val) -> None:
        """`n` columns from j0 on, where `b` points."""
        f, t, ty = self.f, self.t, vec(self.e, self.lanes)

        def rows(x: Val, b: Val, k: Val, chain: Val, depth: int) -> None:
            """Row k of a block that begins at `x` and `b`, and the next `depth` - 1 of its
            chain."""
            ks = [k + CHAINS * i for i in range(depth)]
            xs = [f.splat(f.load(self.ty, f.at(x, i, self.ty)), self.lanes) for i in ks]
            starts = [f.bytes_at(b, i * self.d["b_k"]) for i in ks]

            def vector(j: Val, load: Callable[..., Any], mask: Val) -> None:
                p = self.sums(self.chains, chain, j)
                acc = f.load(t, p)
                for x, start in zip(xs, starts, strict=True):
                    acc = self.multiply_add(
                        x, widen(f, load(ty, f.at(start, j, self.e)), self.dtype, self.wide), acc)
                f.store(acc, p)
            self.vectors(f.const("i64", 0), n, vector)

        def block(k0: Val) -> None:
            count = f.imin(self.d["k"] - k0, BLOCK)
            x, rows_at, step = (self.side_by_side(a, k0, count), f.bytes_at(b, k0 * self.d["b_k"]),
                                CHAINS * DEPTH)
            whole = count & -step

            def chains(body: Callable[..., Any]) -> None:
                """body(where) for each vector of sums of each chain"""
                f.loop(0, CHAINS, 1, lambda i: f.loop(0, n, self.lanes, lambda j: body(i, j)))
            chains(lambda i, j: f.store(f.const(t, 0), self.sums(self.chains, i, j)))
            if f.mod.brief:
                whole = f.const("i64", 0)
            else:
                f.loop(0, whole, step,
                       lambda k: f.loop(0, CHAINS, 1, lambda i: rows(x, rows_at, k + i, i, DEPTH)))
            f.loop(whole, count, 1, lambda k: rows(x, rows_at, k, k & (CHAINS - 1), 1))

            def add(i: Val, j: Val) -> None:
                x, p = f.load(t, self.sums(self.chains, i, j)), self.sums(self.totals, i, j)
                f.store(f.if_(f.cmp("eq", k0, 0), lambda: [x], lambda: [f.load(t, p) + x])[0], p)
            f.if_(many, lambda: chains(add))
        many = f.cmp("sgt", self.d["k"], BLOCK)
        f.loop(0, f.imax(self.d["k"], 1), BLOCK, block)
        found = f.sel(many, self.totals, self.chains)
        self.vectors(
            f.const("i64", 0), n, lambda j, load, mask: self.finish(
                self.halve([f.load(t, self.sums(found, i, j))
                            for i in range(CHAINS)]), c, 0, j0 + j, mask))


class _OneRowNear(_One):
    """Where K is one block and few rows or a small B cost nothing to visit in any order: the
    chains of some columns in registers."""

    def columns(self, a: Val, b: Val, c: Val, j0: Val, j1: Val) -> None:
        f, t, d, lanes, k, last = self.f, self.t, self.d, self.lanes, self.d["k"], self.d["k"] - 1
        x, whole = self.side_by_side(a, f.const("i64", 0), k), k & -CHAINS

        def part(j: Val, load: Callable[..., Any], mask: Val) -> None:
            p = f.at(b, j, self.e)

            def product(i: Val, acc: Val) -> Val:
                y = f.splat(f.load(self.ty, f.at(x, i, self.ty)), lanes)
                z = widen(f, load(vec(self.e, lanes), f.bytes_at(p, i * d["b_k"])), self.dtype,
                          self.wide)
                return self.multiply_add(y, z, acc)

            def rest(at: Val, some: Sequence[Val]) -> list[Val]:
                return [
                    f.sel(f.cmp("slt", at + q, k), product(f.imin(at + q, last), z), z)
                    for q, z in enumerate(some)]
            chains = [f.const(t, 0)] * CHAINS
            if f.mod.brief:
                chains = f.loop(0, k, CHAINS, lambda i, *acc: rest(i, acc), chains)
            else:
                chains = f.loop(0, whole, CHAINS,
                                lambda i, *acc: [product(i + q, z) for q, z in enumerate(acc)],
                                chains)
                for q in range(0, CHAINS, DEPTH):
                    at, some = whole + q, chains[q:q + DEPTH]
                    chains[q:q + DEPTH] = f.if_(f.cmp("slt", at, k), lambda at=at,
                                                some=some: rest(at, some), lambda some=some: some)
            self.finish(self.halve(chains), c, 0, j, mask)
        self.vectors(j0, j1, part)


class _OneCol(_One):
    """Some columns at a time, a vector of chains of each in a register; of few columns some
    blocks of K at once."""

    def __init__(
        self,
        mod: Module,
        symbol: str,
        dtype: str,
        dst: str | None,
        epilogue: Epilogue | None,
        count: int,
        adjacent: bool,
    ) -> None:
        self.count, self.adjacent = count, adjacent
        super().__init__(mod, symbol, dtype, dst, epilogue)

    def columns(self, a: Val, b: Val, c: Val, j0: Val, j1: Val) -> None:
        f, count, k = self.f, self.count, self.d["k"]
        self.first = self.side_by_side(a, f.const("i64", 0), f.imin(k, BLOCK))

        def some(j: Val) -> None:
            # the last columns may be some of those before; of too few, one again and again
            last = f.imax(j1 - count, j0)
            j = f.imin(j, last)
            columns = [f.bytes_at(b, f.imin(j + i, j1 - 1) * self.d["b_n"]) for i in range(count)]
            self.finish(self.across(self.some(a, columns)), c, 0, j,
                        f.lanes_below(f.imin(j1 - j, count), CHAINS))
        f.loop(j0, j1, count, some)

    def load_b(self, p: Val, k: Val, mask: Val | None = None) -> Val:
        """CHAINS elements of a column from step k on."""
        f, ty = self.f, vec(self.e, CHAINS)
        if self.adjacent:
            p = f.at(p, k, self.e)
            x = f.load(ty, p) if mask is None else f.mload(ty, p, mask)
        else:
            steps = (f.iota("i64", CHAINS) + f.splat(k, CHAINS)) * f.splat(self.d["b_k"], CHAINS)
            x = f.gather(
                ty, f.v(vec("ptr", CHAINS),
                        f"getelementptr i8, ptr {p.ref}, {steps.ty} {steps.ref}"), mask)
        return widen(f, x, self.dtype, self.wide)

    def some(self, a: Val, columns: Sequence[Val]) -> list[Val]:
        """The sums of the chains of each column."""
        f, k = self.f, self.d["k"]
        t, side = vec(self.ty, CHAINS), max(1, 4 // len(columns))
        # what adds nothing, not even a sign
        totals = [f.const(t, -0.0 if self.ty in ("float", "double") else 0)] * len(columns)
        if f.mod.brief:
            return f.loop(0, f.imax(k, 1), BLOCK, lambda k0, *acc: self.rest(a, columns, k0, acc),
                          totals)
        done = f.const("i64", 0)
        if side > 1 and self.dtype == self.wide:
            blocks = f.sel(f.cmp("eq", self.d["a_k"], self.s), f.sdiv(k, BLOCK * side), 0)
            totals = f.loop(
                0, blocks, 1, lambda q, *acc: self.blocks_of(
                    f.bytes_at(a, q * (BLOCK * side * self.s)), columns, q *
                    (BLOCK * side), side, acc), totals)
            done = blocks * (BLOCK * side)
        whole = k & -BLOCK
        totals = f.loop(done, whole, BLOCK, lambda k0,
                        *acc: self.blocks_of(self.side_by_side(a, k0, BLOCK), columns, k0, 1, acc),
                        totals)
        return f.if_(f.cmp("slt", whole, k) | f.cmp("eq", k, 0),
                     lambda: self.rest(a, columns, whole, totals), lambda: totals)

    def blocks_of(self, x: Val, columns: Sequence[Val], k0: Val, side: int,
                  totals: Sequence[Val]) -> Sequence[Val]:
        """The sums with `side` whole blocks from step k0 on added; A's elements of these are at
        `x`."""
        f, t, n = self.f, vec(self.ty, CHAINS), len(columns)

        def step(i: Val, *acc: Val) -> list[Val]:
            ys = [f.load(t, f.at(x, i + s * BLOCK, self.ty)) for s in range(side)]
            return [
                self.multiply_add(ys[q // n],
                                  self.load_b(columns[q % n], k0 + i + q // n * BLOCK),
                                  z) for q, z in enumerate(acc)]
        chains = f.loop(0, BLOCK, CHAINS, step, [f.const(t, 0)] * (n * side))
        for s in range(side):
            totals = [x + y for x, y in zip(totals, chains[s * n:s * n + n], strict=True)]
        return totals

    def rest(self, a: Val, columns: Sequence[Val], k0: Val, totals: Sequence[Val]) -> list[Val]:
        """The sums with a block added that may be less than a whole one."""
        f, t, count = self.f, vec(self.ty, CHAINS), self.d["k"] - k0
        if f.mod.brief:
            count = f.imin(count, BLOCK)
        # of more, the copy of the first may be overwritten
        one = f.cmp("sle", self.d["k"], BLOCK)
        x, = f.if_(one, lambda: [self.first], lambda: [self.side_by_side(a, k0, count)])

        def step(i: Val, *acc: Val) -> list[Val]:
            y = f.load(t, f.at(x, i, self.ty))
            return [
                self.multiply_add(y, self.load_b(p, k0 + i), z)
                for p, z in zip(columns, acc, strict=True)]

        def tail(i: Val, *acc: Val) -> list[Val]:
            mask = f.lanes_below(count - i, CHAINS)
            y = f.mload(t, f.at(x, i, self.ty), mask)
            return [
                f.sel(mask, self.multiply_add(y, self.load_b(p, k0 + i, mask), z), z)
                for p, z in zip(columns, acc, strict=True)]
        chains = [f.const(t, 0)] * len(columns)
        if f.mod.brief:
            chains = f.loop(0, count, CHAINS, tail, chains)
        else:
            whole = count & -CHAINS
            chains = f.loop(0, whole, CHAINS, step, chains)
            chains = f.if_(f.cmp("slt", whole, count), lambda: tail(whole, *chains), lambda: chains)
        return [x + y for x, y in zip(totals, chains, strict=True)]

    def across(self, sums: Sequence[Val]) -> Val:
        """A vector with, for each column, the sum of its chains."""
        f = self.f
        sums = [*sums, *[f.const(sums[0].ty, 0)] * (CHAINS - len(sums))]
        width = CHAINS
        while len(sums) > 1:
            h = len(sums) // 2
            low, high = ([
                pack.interleave(f, a, b, width // 2, width, side)
                for a, b in zip(sums[:h], sums[h:], strict=True)] for side in (0, 1))
            sums, width = [x + y for x, y in zip(low, high, strict=True)], width // 2
        return sums[0]


def one_row(mod: Module, symbol: str, dtype: str, near: bool = False, dst: str | None = None,
            epilogue: Epilogue | None = None) -> None:
    """Emit the kernel for a B whose columns are adjacent in memory. With `near`, it is for at most
    BLOCK steps of K, and for a B that fits into a near cache or has few rows."""
    (_OneRowNear if near else _OneRow)(mod, symbol, dtype, dst, epilogue)


def one_col(mod: Module, symbol: str, dtype: str, count: int, adjacent: bool = True,
            dst: str | None = None, epilogue: Epilogue | None = None) -> None:
    """Emit the kernel for a B whose k is adjacent, or of any strides, `count` (1, 2, 4 or 8)
    columns at a time."""
    _OneCol(mod, symbol, dtype, dst, epilogue, count, adjacent)
