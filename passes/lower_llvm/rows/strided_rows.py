"""Row programs as LLVM code, for rows that run across memory: neighbours in memory belong to
different rows.

A vector holds the same element of neighbouring rows, so row scalars are vectors and nothing is
folded across lanes; sums keep the 32 partial sums of `ir.rows` in memory. The bits are those of
`contiguous.py`. """
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir import scalar as sc
from whet.ir.row_layout import ColumnWalk
from whet.ir.rows import SUMS, Extent, Reduce
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.column_sums import ColumnSums
from whet.passes.lower_llvm.rows.lanes import (
    SIZE,
    Extreme,
    Reduction,
    lanes_for,
    load,
    reduction,
    store,
    types_in,
    values,
)
from whet.passes.lower_llvm.rows.row_kernel import Kernel, Plan
from whet.passes.lower_llvm.scalar import COMPUTE, MEMORY, narrow, widen

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Pass, Program
    from whet.passes.lower_llvm.builder import Fn, Module, Val


class Best(Extreme):
    """max_index, min_index with the position in a second vector; elements come in order, so the
    first of equals stays."""

    def start(self, f: Fn, lanes: int) -> list[Val]:
        return [f.const(vec(self.ty, lanes), self.worst), f.const(vec("i32", lanes), 0)]

    def step_at(self, f: Fn, state: Sequence[Val], x: Val, i: Val) -> list[Val]:
        up = f.cmp(self.better, x, state[0])
        if self.float:
            up = up | (f.cmp("uno", x, x) & f.cmp("ord", state[0], state[0]))
        return [f.sel(up, x, state[0]), f.sel(up, f.splat(i, x.lanes), state[1])]


def most_vectors(program: Program) -> int:
    """The largest number of vectors of columns in a panel: as many as the registers hold, and wide
    enough for memory to stream."""
    exprs = [s.expr for s in program.stages]
    weight = len(sc.walk(*exprs)) + 2 * sum(len(sc.walk(e)) > 6 for e in exprs)
    only_sums = all(s.kind in SUMS for s in program.stages if isinstance(s, Reduce))
    return (16 if only_sums else 8) if weight <= 6 else 4 if weight <= 12 else 2


def panel_lanes(program: Program) -> int:
    """Columns in a vector."""
    return lanes_for(types_in([s.expr for s in program.stages], [v.dtype for v in program.values]))


class ColKernel(Kernel):
    """One program over rows that are adjacent columns in memory: outer index a, element i, column
    c. A unit of work is a panel of `vectors` vectors of columns of one a. After n come the number
    of spans (if partial) and the number of columns. Then come the strides: of a and i for each full
    operand, of a for each row operand, of a and i for each full output. Row outputs are a-major
    without gaps. Results of spans are (a, span, column). `mode` says how memory is walked.

    `still`: the operands, full or of rows, that are the same in all columns of an a: one number is
    read for a vector. `masked`: the last panel may reach beyond the columns. Else there are columns
    enough for a panel, and the last one overlaps the one before it, which is right where nothing
    that is stored is read again."""
    spans: Val                          # spans of a row, if partial
    span: Val                           # elements of a span
    part: Val                           # which span a unit is

    def __init__(self, program: Program, vectors: int, mode: ColumnWalk = ColumnWalk.LANES,
                 masked: bool = False, partial: bool = False, still: Sequence[int] = ()) -> None:
        self.program, self.partial, self.mode = program, partial, mode
        self.masked, self.still = masked, still
        self.plan, self.vectors = Plan(program), vectors
        self.W = panel_lanes(program)

    def emit(self, mod: Module, symbol: str) -> None:
        self.start(mod, symbol)
        f, program = self.f, self.program
        if self.partial:
            self.spans, self.span = self.slot("i64"), self.slot("i64")
        self.columns = self.slot("i64")
        full = 3 if self.mode is ColumnWalk.APART else 2
        per_extent = {Extent.FULL: full, Extent.ROW: 1}
        self.strides = [[self.slot("i64") for _ in range(per_extent.get(o.extent, 0))]
                        for o in program.operands]
        self.out_strides = [[self.slot("i64") for _ in range(full)] if self.has_stride(k) else []
                            for k, _ in self.outs]
        self.scratch: dict[tuple[tuple[str, int], str, int], Val] = {}
        width = self.W * self.vectors
        panels = f.sdiv(self.columns + (width - 1), width)

        def unit(u: Val) -> None:
            rest = u
            if self.partial:
                self.part, rest = f.urem(u, self.spans), f.udiv(u, self.spans)
            a = f.udiv(rest, panels)
            c = (rest - a * panels) * width
            if self.masked:
                self.panel(a, c, [
                    f.lanes_below(self.columns - (c + v * self.W), self.W)
                    for v in range(self.vectors)])
            else:
                self.panel(a, f.imin(c, self.columns - width), [None] * self.vectors)
        f.loop(f.args[1], f.args[2], 1, unit)

    def memory(self, what: tuple[str, int], ty: str, count: int) -> Val:
        """Scratch memory of this name, reserved once."""
        key = (what, ty, count)
        if key not in self.scratch:
            self.scratch[key] = self.f.alloca(ty, count)
        return self.scratch[key]

    def panel(self, a: Val, c: Val, masks: Sequence[Val | None]) -> None:
        """All walks over the columns from c on."""
        f, program, W = self.f, self.program, self.W
        self.masks, self.a, self.c = masks, a, c
        apart = self.mode is ColumnWalk.APART

        def begin(p: Val, strides: Sequence[Val], size: int, full: bool) -> Val:
            return f.bytes_at(p, a * strides[0] + c * (strides[2] if full and apart else size))
        self.base = dict(self.address)
        for i, o in enumerate(program.operands):
            if self.strides[i]:
                self.base[i] = begin(self.address[i], self.strides[i],
                                     0 if i in self.still else SIZE[o.dtype], o.is_full)
        lines = a * self.spans + self.part if self.partial else a
        self.out_base = [
            begin(p, st, SIZE[t], True) if st else
            f.bytes_at(p, (lines * self.columns + c) * SIZE[t])
            for (_, t), p, st in zip(self.outs, self.out_address, self.out_strides, strict=True)]
        # from a column to those of a vector, of each full operand and output where they are apart
        self.hops, self.out_hops = ({
            i: f.splat(st[2], W) * f.iota("i64", W) for i, st in enumerate(strides) if len(st) == 3}
                                    for strides in (self.strides, self.out_strides))
        self.known = [{
            i: self.address[i]
            if o.is_scalar else self.one(o.dtype, self.base[i]) if i in self.still else load(
                f, o.dtype, f.bytes_at(self.base[i], v * W * SIZE[o.dtype]), W, mask)
            for i, o in enumerate(program.operands) if o.is_row or o.is_scalar}
                      for v, mask in enumerate(masks)]
        for p in self.plan.passes:
            self.walk(p)
            for k in p.rows if not self.partial else ():
                j, dtype = self.out_of(k)
                for v, mask in enumerate(masks):
                    x, = self.uniforms([program.stages[k].expr], v)
                    store(f, dtype, f.splat(x, W),
                          f.bytes_at(self.out_base[j], v * W * SIZE[dtype]), mask)

    def uniforms(self, exprs: Sequence[Expr], v: int) -> list[Val]:
        defined = self.program.values
        known = [self.known[v].get(i) for i in range(len(defined))]
        return values(self.f, exprs, known, [d.dtype for d in defined], self.W) if exprs else []

    def walk(self, p: Pass) -> None:
        f, program = self.f, self.program
        stages = [k for k in p.stages if self.plan.work(k)]
        kinds = {k: s.kind for k in stages if isinstance(s := program.stages[k], Reduce)}
        sums = [k for k in stages if kinds.get(k) in SUMS]
        others = [k for k in stages if k in kinds and k not in sums]
        writes = [k for k in stages if k not in kinds]
        lo, hi = f.const("i64", 0), self.n
        if self.partial:
            lo = self.part * self.span
            hi = f.imin(lo + self.span, self.n)
        if others or (writes and not sums):
            self.in_order(others + (writes if not sums else []), lo, hi)
        if sums:
            ColumnSums(self, sums + writes, sums, lo, hi).emit()

    def prepare(self, stages: Sequence[int]) -> dict[int, Reduction]:
        """What the loop over elements reads: expressions with row scalars taken out."""
        self.roots, uniform, self.dtypes = self.plan.roots(stages)
        self.used = sc.uses(*self.roots)
        self.hoisted = [self.uniforms(uniform, v) for v in range(self.vectors)]
        reds: dict[int, Reduction] = {}
        for k in stages:
            s = self.program.stages[k]
            if isinstance(s, Reduce):
                dtype, indexed = self.program.values[self.program.results[k]].dtype, s.has_position
                reds[k] = Best(s.kind, dtype) if indexed else reduction(s.kind, dtype)
        return reds

    def element(self, i: Val, v: int) -> list[Val]:
        """The stages' values for element i of the rows in vector v."""
        f, program = self.f, self.program
        xs: list[Val | None] = [*[None] * len(program.values), *self.hoisted[v]]
        for arg in self.used:
            if arg >= len(program.values):
                continue
            dtype, extent = program.values[arg]
            if extent is Extent.POSITION:
                xs[arg] = f.conv("trunc", i, COMPUTE[dtype])
            elif extent is Extent.COLUMN:
                xs[arg] = load(f, dtype, f.bytes_at(self.address[arg], i * SIZE[dtype]), 0)
            elif extent is Extent.KEPT:
                j = self.plan.kept[arg]
                xs[arg] = self.get(dtype, self.out_base[j], self.out_strides[j],
                                   self.out_hops.get(j), i, v)
            elif arg in self.still:
                xs[arg] = self.one(dtype, f.bytes_at(self.base[arg], i * self.strides[arg][1]))
            else:
                xs[arg] = self.get(dtype, self.base[arg], self.strides[arg], self.hops.get(arg),
                                   i, v)
        return [f.splat(x, self.W) for x in values(f, self.roots, xs, self.dtypes, self.W)]

    def spots(self, base: Val, strides: Sequence[Val], hops: Val, i: Val, v: int) -> Val:
        """The addresses of element i in the rows of vector v, where columns are apart."""
        f = self.f
        p = f.bytes_at(base, i * strides[1] + (v * self.W) * strides[2])
        return f.v(vec("ptr", self.W), f"getelementptr i8, ptr {p.ref}, {hops.ty} {hops.ref}")

    def one(self, dtype: str, p: Val) -> Val:
        """A number for all lanes."""
        return self.f.splat(load(self.f, dtype, p, 0), self.W)

    def get(self, dtype: str, base: Val, strides: Sequence[Val], hops: Val | None, i: Val,
            v: int) -> Val:
        f, W, mask = self.f, self.W, self.masks[v]
        if hops is None:
            return load(f, dtype, f.bytes_at(base, i * strides[1] + v * W * SIZE[dtype]), W, mask)
        spots = self.spots(base, strides, hops, i, v)
        return widen(f, f.gather(vec(MEMORY[dtype], W), spots, mask), dtype)

    def write(self, k: int, i: Val, v: int, x: Val) -> None:
        j, dtype = self.out_of(k)
        f, W, hops = self.f, self.W, self.out_hops.get(j)
        if hops is None:
            store(f, dtype, x,
                  f.bytes_at(self.out_base[j], i * self.out_strides[j][1] + v * W * SIZE[dtype]),
                  self.masks[v])
        else:
            f.scatter(narrow(f, x, dtype),
                      self.spots(self.out_base[j], self.out_strides[j], hops, i, v),
                      self.masks[v])

    def define(self, k: int, v: int, *xs: Val) -> None:
        f, program = self.f, self.program
        for j, x in enumerate(xs):
            a = program.results[k] + j
            self.known[v][a] = x
            if self.partial:
                out, dtype = self.out_of(k, j)
                store(f, dtype, x, f.bytes_at(self.out_base[out], v * self.W * SIZE[dtype]),
                      self.masks[v])

    def in_order(self, stages: Sequence[int], lo: Val, hi: Val) -> None:
        """Exact reductions, and stores: element after element."""
        f = self.f
        reds = self.prepare(stages)
        sizes = {k: len(reds[k].start(f, self.W)) for k in reds}

        def step(i: Val, *flat: Val) -> list[Val]:
            states = iter(flat)
            new: list[Val] = []
            got = [self.element(i, v) for v in range(self.vectors)]
            for q, k in enumerate(stages):
                for v in range(self.vectors):
                    x = got[v][q]
                    if k not in reds:
                        self.write(k, i, v, x)
                        continue
                    state = [next(states) for _ in range(sizes[k])]
                    red = reds[k]
                    new += (red.step_at(f, state, x, f.conv("trunc", i, "i32")) if isinstance(
                        red, Best) else red.step(f, state, x))
            return new
        flat = [x for k in reds for _ in range(self.vectors) for x in reds[k].start(f, self.W)]
        flat = f.loop(lo, hi, 1, step, flat)
        for k in reds:
            for v in range(self.vectors):
                state = [flat.pop(0) for _ in range(sizes[k])]
                if isinstance(reds[k], Best):
                    self.define(k, v, state[0], f.conv("zext", state[1], "i64"))
                else:
                    self.define(k, v, reds[k].end(f, state))
