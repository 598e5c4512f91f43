"""A panel of adjacent columns, each of which is a row of the program: all walks over it."""
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
    load,
    reduction,
    store,
    values,
)
from whet.passes.lower_llvm.scalar import COMPUTE, MEMORY, narrow, widen

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Pass
    from whet.passes.lower_llvm.builder import Fn, Val
    from whet.passes.lower_llvm.rows.strided_rows import ColKernel


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


class PanelMemory:
    """The memory of an operand or an output in a panel, which begins at `base`. `strides` has those
    of the outer index and of elements, and that of columns if columns are not adjacent. In that
    case `hops` has the offsets of a vector's columns from its first."""

    def __init__(self, panel: Panel, dtype: str, base: Val, strides: Sequence[Val],
                 hops: Val | None = None) -> None:
        self.panel, self.dtype, self.base, self.strides = panel, dtype, base, strides
        self.hops = hops

    def element(self, i: Val, v: int) -> Val:
        """The address of element i in the first column of vector v, where columns are adjacent."""
        offset = v * self.panel.kernel.W * SIZE[self.dtype]
        return self.panel.f.bytes_at(self.base, i * self.strides[1] + offset)

    def elements_apart(self, hops: Val, i: Val, v: int) -> Val:
        """The addresses of element i in the columns of vector v, where columns are apart."""
        f, W = self.panel.f, self.panel.kernel.W
        p = f.bytes_at(self.base, i * self.strides[1] + (v * W) * self.strides[2])
        return f.v(vec("ptr", W), f"getelementptr i8, ptr {p.ref}, {hops.ty} {hops.ref}")

    def get(self, i: Val, v: int) -> Val:
        """Element i in the columns of vector v."""
        f, W, mask = self.panel.f, self.panel.kernel.W, self.panel.masks[v]
        if self.hops is None:
            return load(f, self.dtype, self.element(i, v), W, mask)
        there = self.elements_apart(self.hops, i, v)
        return widen(f, f.gather(vec(MEMORY[self.dtype], W), there, mask), self.dtype)

    def put(self, i: Val, v: int, x: Val) -> None:
        """Write element i in the columns of vector v."""
        f, mask = self.panel.f, self.panel.masks[v]
        if self.hops is None:
            store(f, self.dtype, x, self.element(i, v), mask)
        else:
            f.scatter(narrow(f, x, self.dtype), self.elements_apart(self.hops, i, v), mask)


class Panel:
    """The panel that begins at column c of outer index a. Each vector of columns has a mask, which
    is None if all of its columns exist. If the kernel reduces a span of the rows, `part` is the
    number of the span."""

    def __init__(self, kernel: ColKernel, a: Val, c: Val, masks: Sequence[Val | None],
                 part: Val | None) -> None:
        self.kernel, self.f, self.program = kernel, kernel.f, kernel.program
        self.masks, self.part = masks, part
        f, W, program = self.f, kernel.W, self.program
        apart = kernel.mode is ColumnWalk.APART

        def begin(p: Val, strides: Sequence[Val], size: int, full: bool) -> Val:
            return f.bytes_at(p, a * strides[0] + c * (strides[2] if full and apart else size))
        self.base = dict(kernel.address)
        for i, o in enumerate(program.operands):
            if kernel.strides[i]:
                self.base[i] = begin(kernel.address[i], kernel.strides[i],
                                     0 if i in kernel.still else SIZE[o.dtype], o.is_full)
        lines = a * kernel.spans + part if part is not None else a
        out_base = [
            begin(p, st, SIZE[t], True) if st else
            f.bytes_at(p, (lines * kernel.columns + c) * SIZE[t])
            for (_, t), p, st in zip(kernel.outs, kernel.out_address, kernel.out_strides,
                                     strict=True)]
        hops, out_hops = ({
            i: f.splat(st[2], W) * f.iota("i64", W) for i, st in enumerate(strides) if len(st) == 3}
                          for strides in (kernel.strides, kernel.out_strides))
        self.operands = {
            i: PanelMemory(self, program.values[i].dtype, self.base[i], st, hops.get(i))
            for i, st in enumerate(kernel.strides) if i in self.base}
        self.outputs = [
            PanelMemory(self, t, base, st, out_hops.get(j)) for j, ((_, t), base, st) in enumerate(
                zip(kernel.outs, out_base, kernel.out_strides, strict=True))]
        # of each vector, the row scalars that are known so far
        self.known = [{
            i: kernel.address[i]
            if o.is_scalar else self.one(o.dtype, self.base[i]) if i in kernel.still else load(
                f, o.dtype, f.bytes_at(self.base[i], v * W * SIZE[o.dtype]), W, mask)
            for i, o in enumerate(program.operands) if o.is_row or o.is_scalar}
                      for v, mask in enumerate(masks)]

    def emit(self) -> None:
        """All walks, and after each the outputs that have one number a row."""
        kernel, f = self.kernel, self.f
        for p in kernel.plan.passes:
            self.walk(p)
            for k in p.rows if not kernel.partial else ():
                j, _ = kernel.out_of(k)
                for v in range(len(self.masks)):
                    x, = self.uniforms([self.program.stages[k].expr], v)
                    self.put_of_row(j, v, f.splat(x, kernel.W))

    def put_of_row(self, output: int, v: int, x: Val) -> None:
        """Write one number for each column of vector v."""
        memory = self.outputs[output]
        at = self.f.bytes_at(memory.base, v * self.kernel.W * SIZE[memory.dtype])
        store(self.f, memory.dtype, x, at, self.masks[v])

    def uniforms(self, exprs: Sequence[Expr], v: int) -> list[Val]:
        """The values of expressions of row scalars in vector v."""
        defined = self.program.values
        known = [self.known[v].get(i) for i in range(len(defined))]
        return values(self.f, exprs, known, [d.dtype for d in defined],
                      self.kernel.W) if exprs else []

    def walk(self, p: Pass) -> None:
        """One walk over the elements."""
        f, kernel = self.f, self.kernel
        stages = [k for k in p.stages if kernel.plan.work(k)]
        kinds = {k: s.kind for k in stages if isinstance(s := self.program.stages[k], Reduce)}
        sums = [k for k in stages if kinds.get(k) in SUMS]
        others = [k for k in stages if k in kinds and k not in sums]
        writes = [k for k in stages if k not in kinds]
        lo, hi = f.const("i64", 0), kernel.n
        if self.part is not None:
            lo = self.part * kernel.span
            hi = f.imin(lo + kernel.span, kernel.n)
        if others or (writes and not sums):
            self.in_order(others + (writes if not sums else []), lo, hi)
        if sums:
            ColumnSums(Elements(self, sums + writes), sums, lo, hi).emit()

    def one(self, dtype: str, p: Val) -> Val:
        """A number for all lanes."""
        return self.f.splat(load(self.f, dtype, p, 0), self.kernel.W)

    def write(self, k: int, i: Val, v: int, x: Val) -> None:
        """Store what stage k has for element i of the columns in vector v."""
        self.outputs[self.kernel.out_of(k)[0]].put(i, v, x)

    def define(self, k: int, v: int, *xs: Val) -> None:
        """The results of reduction k in vector v."""
        kernel = self.kernel
        for j, x in enumerate(xs):
            self.known[v][self.program.results[k] + j] = x
            if kernel.partial:
                self.put_of_row(kernel.out_of(k, j)[0], v, x)

    def in_order(self, stages: Sequence[int], lo: Val, hi: Val) -> None:
        """Exact reductions, and stores: element after element."""
        f, W, vectors = self.f, self.kernel.W, self.kernel.vectors
        elements = Elements(self, stages)
        reds = elements.reductions
        sizes = {k: len(reds[k].start(f, W)) for k in reds}

        def step(i: Val, *flat: Val) -> list[Val]:
            states = iter(flat)
            new: list[Val] = []
            got = [elements.at(i, v) for v in range(vectors)]
            for q, k in enumerate(stages):
                for v in range(vectors):
                    x = got[v][q]
                    if k not in reds:
                        self.write(k, i, v, x)
                        continue
                    state = [next(states) for _ in range(sizes[k])]
                    red = reds[k]
                    new += (red.step_at(f, state, x, f.conv("trunc", i, "i32")) if isinstance(
                        red, Best) else red.step(f, state, x))
            return new
        flat = [x for k in reds for _ in range(vectors) for x in reds[k].start(f, W)]
        flat = f.loop(lo, hi, 1, step, flat)
        for k in reds:
            for v in range(vectors):
                state = [flat.pop(0) for _ in range(sizes[k])]
                if isinstance(reds[k], Best):
                    self.define(k, v, state[0], f.conv("zext", state[1], "i64"))
                else:
                    self.define(k, v, reds[k].end(f, state))


class Elements:
    """The values of some stages at an element: what depends on row scalars alone is computed before
    the loop over elements, when this is made."""

    def __init__(self, panel: Panel, stages: Sequence[int]) -> None:
        self.panel, self.stages = panel, stages
        kernel, program = panel.kernel, panel.program
        self.roots, uniform, self.dtypes = kernel.plan.roots(stages)
        self.used = sc.uses(*self.roots)
        self.hoisted = [panel.uniforms(uniform, v) for v in range(kernel.vectors)]
        self.reductions: dict[int, Reduction] = {}
        for k in stages:
            s = program.stages[k]
            if isinstance(s, Reduce):
                dtype = program.values[program.results[k]].dtype
                self.reductions[k] = (Best(s.kind, dtype) if s.has_position
                                      else reduction(s.kind, dtype))

    def at(self, i: Val, v: int) -> list[Val]:
        """The stages' values for element i of the columns in vector v."""
        panel, f = self.panel, self.panel.f
        kernel, program = panel.kernel, panel.program
        xs: list[Val | None] = [*[None] * len(program.values), *self.hoisted[v]]
        for arg in self.used:
            if arg >= len(program.values):
                continue
            dtype, extent = program.values[arg]
            if extent is Extent.POSITION:
                xs[arg] = f.conv("trunc", i, COMPUTE[dtype])
            elif extent is Extent.COLUMN:
                xs[arg] = load(f, dtype, f.bytes_at(kernel.address[arg], i * SIZE[dtype]), 0)
            elif extent is Extent.KEPT:
                xs[arg] = panel.outputs[kernel.plan.kept[arg]].get(i, v)
            elif arg in kernel.still:
                xs[arg] = panel.one(
                    dtype, f.bytes_at(panel.base[arg], i * kernel.strides[arg][1]))
            else:
                xs[arg] = panel.operands[arg].get(i, v)
        return [f.splat(x, kernel.W) for x in values(f, self.roots, xs, self.dtypes, kernel.W)]
