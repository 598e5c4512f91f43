"""Row programs as LLVM code, for rows of a few elements: points, boxes, colours, windows.

A vector holds the same element of neighbouring rows, as in `strided_rows.py`. The elements of
a row are so few that nothing is a loop. Where rows lie one after the other, several vectors are
read as they lie in memory, and their lanes are sorted into columns. Results are stored the other
way round. The bits are those of `contiguous.py`. """
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir import scalar as sc
from whet.ir.rows import INDEXED, LANES, SUMS, Extent, Keep, Reduce, Store
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.column_panel import Best
from whet.passes.lower_llvm.rows.lanes import SIZE, load, reduction, store, values
from whet.passes.lower_llvm.rows.row_kernel import Kernel
from whet.passes.lower_llvm.rows.short import ShortPlan
from whet.passes.lower_llvm.rows.strided_rows import panel_lanes
from whet.passes.lower_llvm.scalar import COMPUTE, MEMORY, narrow, widen
from whet.passes.lower_llvm.shuffles import consecutive, load_columns

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Pass, Program
    from whet.passes.lower_llvm.builder import Module, Val

# how an array's rows lie: all the same one; each element next to its neighbours'. Else how many
# elements apart
STILL, BESIDE = 0, -1


# ---- the kernel ----------------------------------------------------------------------------------
class NarrowKernel(Kernel):
    """One program over rows of `pieces` pieces of `size` elements each: outer index a, column c
    (one of as many neighbouring rows, a vector at least), piece and element; a unit of work is a
    vector of columns of one a, the last of which overlaps the one before it. `how` says for each
    full or row operand and each full output how its columns lie: STILL, BESIDE or k elements apart,
    those of a piece side by side.

    After n come the number of columns, then the strides of a, of an element and of a piece of each
    full operand, that of a of each row operand, and those three of each full output. Row outputs
    are a-major without gaps."""
    partial = False

    def __init__(self, program: Program, size: int, pieces: int, how: Sequence[int]) -> None:
        self.program, self.size, self.pieces, self.how = program, size, pieces, how
        self.plan = ShortPlan(program)
        self.W = panel_lanes(program)

    def emit(self, mod: Module, symbol: str) -> None:
        self.start(mod, symbol)
        f, program, W = self.f, self.program, self.W
        count = self.slot("i64")
        per_extent = {Extent.FULL: 3, Extent.ROW: 1}
        self.strides = [[self.slot("i64") for _ in range(per_extent.get(o.extent, 0))]
                        for o in program.operands]
        self.out_strides = [[self.slot("i64") for _ in range(3 * self.has_stride(k))]
                            for k, _ in self.outs]
        how = iter(self.how)
        self.at_operand = {i: next(how) for i, st in enumerate(self.strides) if st}
        self.at_out = [next(how) if st else BESIDE for st in self.out_strides]
        panels = f.udiv(count + (W - 1), W)
        first = f.udiv(f.args[1], panels)

        def unit(_: Val, a: Val, panel: Val) -> list[Val]:
            self.panel(a, f.imin(panel * W, count - W), count)
            last = f.cmp("eq", panel + 1, panels)
            return [f.sel(last, a + 1, a), f.sel(last, f.const("i64", 0), panel + 1)]
        f.loop(f.args[1], f.args[2], 1, unit, [first, f.args[1] - first * panels])

    def panel(self, a: Val, c: Val, count: Val) -> None:
        """All walks over a vector of columns."""
        f, program, W = self.f, self.program, self.W

        def begin(p: Val, how: int, strides: Sequence[Val], size: int) -> Val:
            apart = {STILL: 0, BESIDE: 1}.get(how, how) * size
            return f.bytes_at(p, a * strides[0] + c * apart)
        self.base = dict(self.address)
        for i, how in self.at_operand.items():
            self.base[i] = begin(
                self.address[i], how, self.strides[i], SIZE[program.operands[i].dtype])
        self.out_base = [
            begin(p, how, st or [count * SIZE[t]], SIZE[t]) for (_, t), p, how, st in zip(
                self.outs, self.out_address, self.at_out, self.out_strides, strict=True)]
        self.pieces_of: dict[tuple[int, int], list[Val]] = {}
        self.kept: dict[int, Sequence[Val]] = {}
        self.known: list[Val | None] = [None] * len(program.values)
        for i, o in enumerate(program.operands):
            if o.is_scalar:
                self.known[i] = self.address[i]
            elif o.is_row:
                self.known[i], = self.read(o.dtype, self.base[i], self.at_operand[i], 1)
        for p in self.plan.passes:
            self.walk(p)
            for k in p.rows:
                j, dtype = self.out_of(k)
                x, = self.of_rows([program.stages[k].expr])
                store(f, dtype, f.splat(x, W), self.out_base[j])

    def of_rows(self, exprs: Sequence[Expr]) -> list[Val]:
        return (values(self.f, exprs, self.known, [v.dtype for v in self.program.values], self.W)
                if exprs else [])

    # ---- elements
    def read(self, dtype: str, p: Val, how: int, m: int, step: int | Val = 0) -> list[Val]:
        """The first m elements of the rows from p on, as expressions see them."""
        f, W = self.f, self.W
        if how == STILL:
            return [
                f.splat(load(f, dtype, f.bytes_at(p, step * e) if e else p, 0), W)
                for e in range(m)]
        if how == BESIDE:
            return [load(f, dtype, f.bytes_at(p, step * e) if e else p, W) for e in range(m)]
        return [widen(f, x, dtype) for x in load_columns(f, vec(MEMORY[dtype], W), p, how, m)]

    def element(self, a: int, e: int) -> Val:
        """Element e of argument a of the program."""
        f = self.f
        dtype, extent = self.program.values[a]
        if extent is Extent.POSITION:
            return f.const(COMPUTE[dtype], e)
        if extent is Extent.COLUMN:
            return load(f, dtype, f.bytes_at(self.address[a], e * SIZE[dtype]), 0)
        if extent is Extent.KEPT:
            return self.kept[a][e]
        piece, e = divmod(e, self.size)
        if (a, piece) not in self.pieces_of:
            _, step, far = self.strides[a]
            p = f.bytes_at(self.base[a], far * piece) if piece else self.base[a]
            self.pieces_of[a, piece] = self.read(dtype, p, self.at_operand[a], self.size, step)
        return self.pieces_of[a, piece][e]

    def write(self, k: int, xs: Sequence[Val]) -> None:
        """All elements of output stage k."""
        f, W, size = self.f, self.W, self.size
        j, dtype = self.out_of(k)
        _, step, far = self.out_strides[j]
        for piece in range(self.pieces):
            p = f.bytes_at(self.out_base[j], far * piece) if piece else self.out_base[j]
            mine = [narrow(f, x, dtype) for x in xs[piece * size:(piece + 1) * size]]
            beside = self.at_out[j] == BESIDE
            for e, x in enumerate(mine if beside else consecutive(f, mine)):
                f.store(x, f.bytes_at(p, step * e if beside else e * W * SIZE[dtype]) if e else p)

    # ---- a walk
    def walk(self, p: Pass) -> None:
        f, program, W = self.f, self.program, self.W
        stages = [k for k in p.stages if self.plan.work(k)]
        if not stages:
            return
        roots, uniform, dtypes = self.plan.roots(stages)
        hoisted, got = self.of_rows(uniform), []
        used = [a for a in sc.uses(*roots) if a < len(program.values)]
        for e in range(self.size * self.pieces):
            xs = self.known + hoisted
            for a in used:
                if not program.values[a].extent.is_one_each_row:
                    xs[a] = self.element(a, e)
            got.append([f.splat(x, W) for x in values(f, roots, xs, dtypes, W)])
        for k, found in zip(stages, zip(*got, strict=True), strict=True):
            s, at = program.stages[k], program.results[k]
            if isinstance(s, Reduce):
                self.known[at:at + s.defined_count] = self.reduced(
                    s.kind, program.values[at].dtype, found)
            elif isinstance(s, Keep):
                self.kept[at] = found
            elif isinstance(s, Store):
                self.write(k, found)

    def reduced(self, kind: str, dtype: str, xs: Sequence[Val]) -> list[Val]:
        """A reduction's results: sums as `ir.rows` folds the lanes that have elements."""
        f = self.f
        if kind in INDEXED:
            best = Best(kind, dtype)
            state = best.start(f, self.W)
            for e, x in enumerate(xs):
                state = best.step_at(f, state, x, f.const("i32", e))
            return [state[0], f.conv("zext", state[1], "i64")]
        red = reduction(kind, dtype)
        states, half = [red.of(f, x) for x in xs], LANES // 2
        while half:
            states = [
                red.merge(f, states[l], states[l + half]) if l + half < len(states) else states[l]
                for l in range(min(half, len(states)))]
            half //= 2
        state, = states
        return [red.end(f, red.merge(f, red.start(f, self.W), state) if kind in SUMS else state)]
