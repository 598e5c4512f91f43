"""Few rows times a matrix that is read once: the same order of sums as `gemm`, the same table and
operands.

Two kernels, by which of B's strides is the element's: `few_rows` (n adjacent) lets B's rows pass by
rows of sums; `few_cols` (k adjacent, as in x @ w.T) brings as many columns as a vector has lanes
side by side by register transposes. A matrix times a column is the same thing: its transpose is a
row times a matrix.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import targets
from ..builder import Module, Val, vec
from . import pack
from .gemm import DIMS, KC, Epilogue, load_operands
from .pack import LLVM, WIDE, narrow, size, widen

DEPTH = 4               # rows of B that `few_rows` reads side by side
STRIP = 4096            # columns that it sums at a time: they stay in the first-level cache
# vectors of columns that `few_cols` advances together, to hide the latency of their chains; one
# where
GROUPS = 2
# B has so many bytes that memory, slower than a chain, likes few places better
FAR = 1 << 23


class Few:
    """What kernels for few rows share: the operands, and the walk over units of `cols` columns."""

    def __init__(self, mod: Module, symbol: str, dtype: str, m: int, dst: str | None,
                 epilogue: Epilogue | None) -> None:
        self.dtype, self.wide, self.m, self.dst, self.epilogue = dtype, WIDE.get(
            dtype, dtype), m, dst or dtype, epilogue
        self.s, self.ty, self.e = size(dtype), LLVM[self.wide], LLVM[dtype]
        self.lanes = targets.current().lanes(size(self.wide))
        self.t = vec(self.ty, self.lanes)
        f = self.f = mod.kernel(symbol)
        args, begin, end, _ = f.args
        a, b, c, table = (f.load("ptr", f.at(args, i, "i64")) for i in range(4))
        d = self.d = {n: f.load("i64", f.at(table, i, "i64")) for i, n in enumerate(DIMS)}
        across = f.sdiv(d["n"] + d["cols"] - 1, d["cols"])
        operands = load_operands(f, args, table, epilogue)
        self.begin()

        def unit(u: Val) -> list[Val]:
            z, j = f.sdiv(u, across), f.srem(u, across)
            outer, inner = f.sdiv(z, d["inner"]), f.srem(z, d["inner"])
            at = [
                f.bytes_at(p, outer * d[f"{x}_outer"] + inner * d[f"{x}_inner"])
                for x, p in (("a", a), ("b", b), ("c", c))]
            self.extra = [
                (f.bytes_at(p, outer * p_o + inner * p_i), p_m) for p, p_m, p_o, p_i in operands]
            run = f.imin(end - u, across - j)
            source, other, to = at
            self.columns(source, other, to, j * d["cols"], f.imin((j + run) * d["cols"], d["n"]))
            return [u + run]
        f.while_(lambda u: f.cmp("slt", u, end), unit, [begin])

    def begin(self) -> None:
        """Emit the code before all units."""

    def columns(self, a: Val, b: Val, c: Val, j0: Val, j1: Val) -> None:
        """Emit the products of columns j0 ... j1 of the matrices at a, b and c."""
        raise NotImplementedError

    def multiply_add(self, x: Val, y: Val, acc: Val) -> Val:
        return self.f.fma(x, y, acc) if acc.is_float else x * y + acc

    def element(self, p: Val) -> Val:
        """One element, widened."""
        return widen(self.f, self.f.load(self.e, p), self.dtype, self.wide)

    def splat(self, p: Val) -> Val:
        return self.f.splat(self.element(p), self.lanes)

    def finish(self, x: Val, c: Val, row: int | Val, col: Val, mask: Val) -> None:
        """Store the sums `x` as the results in a row from column `col` on, in the lanes of the
        mask."""
        f = self.f
        x = narrow(f, x, self.dtype) if self.epilogue is None else self.epilogue.emit(
            f, x, self.dtype, self.extra, row, col, mask)
        f.put(mask, (x, f.bytes_at(f.bytes_at(c, row * self.d["c_m"]), col * size(self.dst))))


class _Rows(Few):
    """One chain for each row and column, in memory: the chains of the current block, and the sums
    of the blocks before it."""

    def room(self) -> int:
        """The elements of a row of chains."""
        raise NotImplementedError

    def begin(self) -> None:
        f, room, m = self.f, self.room(), self.m
        chains, sums = (f.alloca(self.ty, room * m) for _ in range(2))
        self.chains, self.sums = ([f.at(p, room * r, self.ty) for r in range(m)]
                                  for p in (chains, sums))
        self.square = f.alloca(self.ty, self.lanes**2)

    def a_at(self, a: Val, k: Val) -> list[Val]:
        """Where the rows' elements k are."""
        return [self.f.bytes_at(a, k * self.d["a_k"] + self.d["a_m"] * r) for r in range(self.m)]

    def clear(self, at: Val) -> None:
        for p in self.chains:
            self.f.store(self.f.const(self.t, 0), self.f.at(p, at, self.ty))

    def add_up(self, at: Val, first: Val) -> None:
        """The block is done: its chains go to the sums."""
        f, t = self.f, self.t
        for chain, total in zip(self.chains, self.sums, strict=True):
            acc, p = f.load(t, f.at(chain, at, self.ty)), f.at(total, at, self.ty)
            now, = f.if_(first, lambda: [acc], lambda: [f.load(t, p) + acc])
            f.store(now, p)

    def put(self, c: Val, col: Val, at: Val, mask: Val) -> None:
        """The sums at `at` are the results from column `col` on, in the lanes of the mask."""
        f = self.f

        def row(r: Val) -> None:
            self.finish(f.load(self.t, f.at(self.sums[0],
                                            r * self.room() + at, self.ty)), c, r, col, mask)
        f.loop(0, self.m, 1, row)

    def k_blocks(self, body: Callable[..., Any]) -> None:
        """body(k0, k1, first) for each block of K."""
        f = self.f
        blocks = f.imax(f.sdiv(self.d["k"] + (KC - 1), KC), 1)
        f.loop(0,
               blocks,
               1, lambda q: body(q * KC, f.imin(q * KC + KC, self.d["k"]), f.cmp("eq", q, 0)))


class _FewRows(_Rows):
    def room(self) -> int:
        return STRIP // (1 << (self.m - 1).bit_length()) + self.lanes

    def columns(self, a: Val, b: Val, c: Val, j0: Val, j1: Val) -> None:
        f, width = self.f, self.room() - self.lanes
        f.loop(j0, j1, width,
               lambda j: self.strip(a, f.bytes_at(b, j * self.s), c, j, f.imin(j1 - j, width)))

    def strip(self, a: Val, b: Val, c: Val, j0: Val, n: Val) -> None:
        """`n` columns from j0 on, where `b` points: DEPTH rows of B at a time go by the chains."""
        f, d, lanes, ty = self.f, self.d, self.lanes, vec(self.e, self.lanes)

        def block(k0: Val, k1: Val, first: Val) -> None:
            f.loop(0, n, lanes, self.clear)

            def rows(depth: int) -> Callable[..., Any]:
                def pass_(k: Val) -> None:
                    xs = [[self.splat(p) for p in self.a_at(a, k + i)] for i in range(depth)]
                    starts = [f.bytes_at(b, (k + i) * d["b_k"]) for i in range(depth)]

                    def vector(j: Val) -> None:
                        mask, ahead = f.lanes_below(n - j, lanes), j * self.s + d["b_k"] * depth
                        chains = [f.at(p, j, self.ty) for p in self.chains]
                        acc = [f.load(self.t, p) for p in chains]
                        for x, p in zip(xs, starts, strict=True):
                            y = widen(f, f.mload(ty, f.at(p, j, self.e), mask), self.dtype,
                                      self.wide)
                            acc = [self.multiply_add(x, y, z) for x, z in zip(x, acc, strict=True)]
                            if depth > 1:
                                f.prefetch(f.bytes_at(p, ahead), locality=2)
                        for z, p in zip(acc, chains, strict=True):
                            f.store(z, p)
                    f.loop(0, n, lanes, vector)
                return pass_
            deep = k0
            if not f.mod.brief:
                deep = k0 + ((k1 - k0) & -DEPTH)
                f.loop(k0, deep, DEPTH, rows(DEPTH))
            f.loop(deep, k1, 1, rows(1))
            f.loop(0, n, lanes, lambda j: self.add_up(j, first))
        self.k_blocks(block)

        f.loop(0, n, lanes, lambda j: self.put(c, j0 + j, j, f.lanes_below(n - j, lanes)))


class _FewCols(_Rows):
    def room(self) -> int:
        return GROUPS * self.lanes

    def columns(self, a: Val, b: Val, c: Val, j0: Val, j1: Val) -> None:
        f, lanes = self.f, self.lanes
        far = f.cmp("sgt", self.d["n"] * self.d["k"] * self.s, FAR)
        # a page apart, columns meet in one set of the first-level cache: lines that two steps share
        # would not stay
        shared = (f.cmp("eq", self.d["b_n"] & 4095, 0)
                  & f.cmp("ne",
                          f.v("i64", f"ptrtoint {b!r} to i64") & 63, 0))
        most = f.sel(far | shared, 1, f.const("i64", GROUPS))
        self.ahead = f.sel(far, 512, f.const("i64", 128))
        f.loop(j0, j1, most * lanes,
               lambda j: self.strip(a, b, c, j, f.imin(f.sdiv(j1 - j + (lanes - 1), lanes), most)))

    def strip(self, a: Val, b: Val, c: Val, j: Val, groups: Val) -> None:
        """`groups` vectors of columns from j on; the last one of all starts so early that it is
        whole."""
        f, lanes, n = self.f, self.lanes, self.d["n"]

        def each(body: Callable[..., Any]) -> None:
            """body(first column, where its chains are) for each group"""
            f.loop(0, groups, 1, lambda g: body(f.imin(j + g * lanes, n - lanes), g * lanes))

        def block(k0: Val, k1: Val, first: Val) -> None:
            whole = k0 if f.mod.brief else k0 + ((k1 - k0) & -lanes)
            each(lambda col, at: self.clear(at))
            if not f.mod.brief:
                f.loop(k0, whole, lanes,
                       lambda k: each(lambda col, at: self.square_steps(a, b, k, col, at)))

            def rest(k: Val) -> None:
                mask = f.lanes_below(k1 - k, lanes)
                each(lambda col, at: self.last_steps(a, b, (k, k1, mask), col, at))
            f.loop(whole, k1, lanes, rest)
            each(lambda col, at: self.add_up(at, first))
        self.k_blocks(block)
        each(lambda col, at: self.put(c, col, at, f.const(vec("i1", lanes), True)))

    def transposed(self, b: Val, col: Val, k: Val, load: Callable[..., Any],
                   fetch: bool = False) -> list[Val]:
        """A square of B from column `col` and row k on: a vector of columns for each row."""
        f, d = self.f, self.d
        rows, p = [], f.bytes_at(b, col * d["b_n"] + k * self.s)
        for _ in range(self.lanes):
            rows.append(widen(f, load(vec(self.e, self.lanes), p), self.dtype, self.wide))
            if fetch:
                f.prefetch(f.bytes_at(p, self.ahead))
            p = f.bytes_at(p, d["b_n"])
        return pack.transpose(f, rows)

    def square_steps(self, a: Val, b: Val, k: Val, col: Val, at: Val) -> None:
        """The chains of a vector of columns go on by the steps of a square, from k on."""
        f = self.f
        ys = self.transposed(b, col, k, f.load, fetch=True)
        for p, x in zip(self.chains, self.a_at(a, k), strict=True):
            acc: Val | None = None
            p = f.at(p, at, self.ty)
            for y in ys:
                acc = self.multiply_add(self.splat(x), y, f.load(self.t, p) if acc is None else acc)
                x = f.bytes_at(x, self.d["a_k"])
            assert acc is not None
            f.store(acc, p)

    def last_steps(self, a: Val, b: Val, steps: tuple[Val, Val, Val], col: Val, at: Val) -> None:
        """Continue the chains of a vector of columns with the last, incomplete square. `steps` are
        its first step, its end, and the mask of existing steps."""
        f, (k, end, mask), lanes = self.f, steps, self.lanes
        rows = self.transposed(b, col, k, lambda ty, p: f.mload(ty, p, mask))
        for i, y in enumerate(rows):
            f.store(y, f.at(self.square, i * lanes, self.ty))

        def one(i: Val, *acc: Val) -> list[Val]:
            y = f.load(self.t, f.at(self.square, i * lanes, self.ty))
            return [
                self.multiply_add(self.splat(x), y, z)
                for x, z in zip(self.a_at(a, k + i), acc, strict=True)]
        places = [f.at(p, at, self.ty) for p in self.chains]
        count = f.imin(end - k, lanes)
        for z, p in zip(f.loop(0, count, 1, one, [f.load(self.t, p) for p in places]), places,
                        strict=True):
            f.store(z, p)


def few_rows(mod: Module, symbol: str, dtype: str, m: int, dst: str | None = None,
             epilogue: Epilogue | None = None) -> None:
    """Emit the kernel for m rows and a B whose n is adjacent."""
    _FewRows(mod, symbol, dtype, m, dst, epilogue)


def few_cols(mod: Module, symbol: str, dtype: str, m: int, dst: str | None = None,
             epilogue: Epilogue | None = None) -> None:
    """Emit the kernel for m rows and a B whose k is adjacent and that has at least as many
    columns as a vector has lanes."""
    _FewCols(mod, symbol, dtype, m, dst, epilogue)
