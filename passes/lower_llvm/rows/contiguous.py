"""Row programs as LLVM code, for rows whose elements lie side by side: a row is walked in groups of
lanes, block by block.

One generator for every program: a walk's stages become one loop whose body is the stages'
expressions on vectors; what depends on row scalars only is computed once a row, before the loop.
`strided_rows.py` is the same for rows that run across memory. """
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whet.ir import scalar as sc
from whet.ir.rows import BLOCK, EXACT, INDEXED, LANES, SUMS, Extent, Reduce
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import (
    SIZE,
    IndexedGroup,
    Pairwise,
    first_lane,
    group_of,
    lanes_for,
    load,
    reduction,
    store,
    types_in,
    values,
)
from whet.passes.lower_llvm.rows.row_kernel import Kernel, Plan
from whet.passes.lower_llvm.scalar import COMPUTE, MEMORY

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Pass, Program
    from whet.passes.lower_llvm.builder import Module, Val

# bytes by which reading a long row for a reduction runs ahead: memory is farther than the machine
# looks
AHEAD = 8192


class RowKernel(Kernel):
    """One program over contiguous rows; a unit of work is a row. After n come the number of spans
    in a row (if partial) and, for rank 2, the size of the inner of two outer dimensions; then
    `rank` strides of each full or row operand and of each full output. Row outputs lie side by
    side. Results of spans are (rows, spans).

    With `pieces` (programs without positions) a row is made of pieces of equal length, anywhere:
    that length comes before the strides and each full operand or output has a last stride, from
    piece to piece. A block that lies in several pieces is first brought together."""
    spans: Val                          # spans of a row, if partial
    span: Val                           # elements of a span
    inner: Val                          # the size of the inner dimension, for rank 2
    piece: Val                          # elements of a piece, with `pieces`
    one_piece: Val | None               # does the block lie in one piece?

    def __init__(self, program: Program, rank: int, partial: bool = False,
                 pieces: bool = False) -> None:
        self.program, self.rank, self.partial, self.pieces = program, rank, partial, pieces
        self.plan = Plan(program, store=not pieces)

    def emit(self, mod: Module, symbol: str) -> None:
        self.start(mod, symbol)
        f, program = self.f, self.program
        if self.partial:
            self.spans, self.span = self.slot("i64"), self.slot("i64")
        if self.rank == 2:
            self.inner = self.slot("i64")
        if self.pieces:
            self.piece = self.slot("i64")
        count = {Extent.FULL: self.rank + self.pieces, Extent.ROW: self.rank}
        self.strides = [[self.slot("i64") for _ in range(count.get(o.extent, 0))]
                        for o in program.operands]
        self.out_strides = [[self.slot("i64")
                             for _ in range(count[Extent.FULL])] if self.has_stride(k) else []
                            for k, _ in self.outs]
        if self.pieces:
            self.together = {i: f.alloca(MEMORY[o.dtype], BLOCK + LANES)
                             for i, o in enumerate(program.operands) if o.is_full}
            self.out_together = {
                j: f.alloca(MEMORY[t], BLOCK + LANES) for j, (k, t) in enumerate(self.outs)
                if self.has_stride(k)}
        self.stacks = {
            k: Pairwise(f, reduction(s.kind, program.values[program.results[k]].dtype))
            for k, s in enumerate(program.stages) if isinstance(s, Reduce) and s.kind in SUMS}
        f.loop(f.args[1], f.args[2], 1, self.unit)

    def unit(self, u: Val) -> None:
        f = self.f
        self.row = f.udiv(u, self.spans) if self.partial else u
        self.unit_no = u
        if self.rank == 2:
            self.outer = f.udiv(self.row, self.inner)
            self.rest = self.row - self.outer * self.inner
        self.base = {i: self.start_of(p, self.strides[i]) for i, p in self.address.items()}
        self.out_base = [
            self.start_of(p, st) for p, st in zip(self.out_address, self.out_strides, strict=True)]
        self.known = {i: load(f, o.dtype, self.base[i], 0) if o.is_row else self.address[i]
                      for i, o in enumerate(self.program.operands) if o.is_row or o.is_scalar}
        for p in self.plan.passes:
            self.walk(p)
            for k in p.rows if not self.partial else ():
                j, dtype = self.out_of(k)
                x, = self.emit_scalars([self.program.stages[k].expr])
                store(f, dtype, x, f.bytes_at(self.out_address[j], self.row * SIZE[dtype]))

    def start_of(self, address: Val, strides: Sequence[Val]) -> Val:
        """Where this row of an operand begins."""
        if not strides:
            return address
        at = (self.row * strides[0] if self.rank == 1 else self.outer * strides[0]
              + self.rest * strides[1])
        return self.f.bytes_at(address, at)

    def emit_scalars(self, exprs: Sequence[Expr]) -> list[Val]:
        defined = self.program.values
        return (values(self.f, exprs, [self.known.get(i) for i in range(len(defined))],
                       [v.dtype for v in defined], 0) if exprs else [])

    def walk(self, p: Pass) -> None:
        """One walk: its stages become one loop, block by block."""
        stages = [k for k in p.stages if self.plan.work(k)]
        if stages:
            self.prepare(stages)
            Walk(self).emit()

    def prepare(self, stages: Sequence[int]) -> None:
        """What the loop reads and reduces."""
        program = self.program
        self.roots, uniform, self.dtypes = self.plan.roots(stages)
        self.W = lanes_for(types_in(self.roots, self.dtypes))
        self.used = sc.uses(*self.roots)
        self.hoisted = [self.f.splat(x, self.W) for x in self.emit_scalars(uniform)]
        kinds = {k: s.kind for k in stages if isinstance(s := program.stages[k], Reduce)}
        self.whole, indexed, self.sums = (
            [k for k in kinds if kinds[k] in group] for group in (EXACT, INDEXED, SUMS))
        self.chunks = max(2, LANES // self.W if self.sums else 4 if kinds else 2)
        self.group, self.stages = self.chunks * self.W, stages
        self.reds = {
            k: group_of(kinds[k], program.values[program.results[k]].dtype, self.W, self.chunks)
            for k in self.whole + self.sums + indexed}
        self.indexed = {k: red for k, red in self.reds.items() if isinstance(red, IndexedGroup)}

    def define(self, k: int, *xs: Val | None) -> None:
        """The results of stage k, without those that nobody wants."""
        found = {j: x for j, x in enumerate(xs) if x is not None}
        for j, x in found.items():
            if self.partial:
                self.put(k, j, x)
            self.known[self.program.results[k] + j] = x

    def put(self, k: int, j: int, x: Val) -> None:
        """A block's result to its place."""
        out, dtype = self.out_of(k, j)
        store(self.f, dtype, x, self.f.bytes_at(self.out_address[out], self.unit_no * SIZE[dtype]))

    def inputs(self, i: Val, mask: Val | None) -> list[Val | None]:
        """The vectors that expressions read, for the elements from i on."""
        f, program = self.f, self.program
        xs: list[Val | None] = [*[None] * len(program.values), *self.hoisted]
        for a in self.used:
            if a >= len(program.values):
                continue
            dtype, extent = program.values[a]
            if extent is Extent.POSITION:
                xs[a] = (f.splat(f.conv("trunc", i, COMPUTE[dtype]), self.W)
                         + f.iota(COMPUTE[dtype], self.W))
            else:
                p = (self.out_base[self.plan.kept[a]] if extent is Extent.KEPT else
                     self.at_block[a] if a in self.at_block else self.base[a])
                p = f.bytes_at(p, i * SIZE[dtype])
                if self.reds and mask is None:
                    f.prefetch(f.bytes_at(p, AHEAD))
                xs[a] = load(f, dtype, p, self.W, mask)
        return xs

    def bring_together(self, b: Val, end: Val) -> None:
        """Before a block: `at_block` and `out_block` say where rows would begin if this block's
        elements lay as in a row of one piece."""
        self.at_block: dict[int, Val] = {}
        self.out_block: dict[int, Val] = {}
        self.one_piece = None
        if not self.pieces:
            return
        f, operands = self.f, self.program.operands
        if self.reds:
            first = b - f.udiv(b, self.piece) * self.piece
            self.one_piece = f.cmp("sle", first + (end - b), self.piece)
        for a in self.used:
            if a in self.together:
                dtype, stride = operands[a].dtype, self.strides[a][-1]
                self.at_block[a] = self.begin(
                    self.base[a], stride, dtype, self.together[a], b, end, copy=True)
        for k in self.stages:
            if self.has_stride(k):
                j, dtype = self.out_of(k)
                self.out_block[j] = self.begin(self.out_base[j], self.out_strides[j][-1], dtype,
                                               self.out_together[j], b, end)

    def begin(self, base: Val, stride: Val, dtype: str, together: Val, b: Val, end: Val,
              copy: bool = False) -> Val:
        f, size = self.f, SIZE[dtype]

        def inside() -> list[Val]:
            number = f.udiv(b, self.piece)
            return [f.bytes_at(base, number * stride - number * self.piece * size)]

        def several() -> list[Val]:
            if copy:
                self.move(base, stride, dtype, together, b, end, lambda p, q: (p, q))
            return [f.bytes_at(together, 0 - b * size)]
        return (inside() if self.one_piece is None else f.if_(self.one_piece, inside, several))[0]

    def put_apart(self, b: Val, end: Val) -> None:
        """After a block: copy stored elements back to their pieces."""
        if self.one_piece is None:
            return
        for j in self.out_block:
            place = self.out_base[j], self.out_strides[j][-1], self.outs[j][1], self.out_together[j]
            self.f.if_(~self.one_piece, lambda: self.move(*place, b, end, lambda p, q: (q, p)))

    def move(self, base: Val, stride: Val, dtype: str, together: Val, b: Val, end: Val,
             ways: Callable[[Val, Val], tuple[Val, Val]]) -> None:
        """Elements b to end between pieces and the memory that brings them together;
        `ways(piece, memory)` is (from, to)."""
        f, size, ty = self.f, SIZE[dtype], vec(MEMORY[dtype], self.W)

        def piece(at: Val) -> list[Val]:
            number = f.udiv(at, self.piece)
            first = at - number * self.piece
            count = f.imin(self.piece - first, end - at)
            p, q = ways(f.bytes_at(base, number * stride + first * size),
                        f.bytes_at(together, (at - b) * size))
            whole = count & -self.W
            f.loop(0, whole, self.W,
                   lambda i: f.store(f.load(ty, f.bytes_at(p, i * size)), f.bytes_at(q, i * size)))

            def rest(i: Val) -> None:
                mask = f.lanes_below(count - i, self.W)
                f.put(mask, (f.mload(ty, f.bytes_at(p, i * size), mask), f.bytes_at(q, i * size)))
            f.loop(whole, count, self.W, rest)
            return [at + count]
        f.while_(lambda at: f.cmp("slt", at, end), piece, [b])

    def group_at(self, i: Val, states: dict[int, list[Val]], b: Val, end: Val | None) -> None:
        """One group of elements through all stages; `end` is given for the last, partly filled
        one."""
        f = self.f
        places = [i + c * self.W for c in range(self.chunks)]
        masks = [None if end is None else f.lanes_below(end - at, self.W) for at in places]
        got = [
            values(f, self.roots, self.inputs(at, mask), self.dtypes, self.W)
            for at, mask in zip(places, masks, strict=True)]
        for q, k in enumerate(self.stages):
            xs = [x[q] for x in got]
            if k in self.reds:
                states[k] = self.reds[k].step(f, states[k], xs, masks, i - b)
                continue
            j, dtype = self.out_of(k)
            for at, x, mask in zip(places, xs, masks, strict=True):
                store(f, dtype, x,
                      f.bytes_at(self.out_block.get(j, self.out_base[j]), at * SIZE[dtype]), mask)

    def root_at(self, k: int, i: Val, mask: Val) -> Val:
        """The vector that stage k reduces, from element i on."""
        return values(self.f, [self.roots[self.stages.index(k)]], self.inputs(i, mask), self.dtypes,
                      self.W)[0]

    def element_at(self, k: int, i: Val) -> Val:
        """What stage k reduces, at element i; in an empty row the worst there is."""
        f, red = self.f, self.indexed[k].red
        x = self.root_at(k, i, f.lanes_below(f.imin(self.n, 1), self.W))
        return f.sel(f.cmp("sgt", self.n, 0), f.extract(x, 0), red.worst)

    def find(self, k: int, lo: Val, b: Val, end: Val, found: Sequence[Val],
             best: Sequence[Val]) -> list[Val]:
        """After a block: (best, position, was there a NaN?) of all blocks so far. The position of a
        NaN is searched for when one comes."""
        f, red = self.f, self.indexed[k].red
        top, at, nan = found
        at = b + f.conv("zext", at, "i64")
        update = f.cmp(red.better, top, best[0]) | f.cmp("eq", b, lo)
        if not red.float:
            return [f.sel(update, top, best[0]), f.sel(update, at, best[1]), best[2]]
        at = f.sel(update & ~best[2], at, best[1])

        def search() -> list[Val]:
            def step(i: Val, hit: Val) -> list[Val]:
                mask = f.lanes_below(end - i, self.W)
                x = self.root_at(k, i, mask)
                return [i + self.W, f.cmp("uno", x, x) & mask]

            i, hit = f.while_(lambda i, hit: f.cmp("slt", i, end) & ~f.any(hit), step,
                              [b, f.const(vec("i1", self.W), 0)])
            lane = first_lane(f, hit)
            return [i - self.W + (f.conv("zext", lane, "i64") if self.W < 64 else lane)]
        at, = f.if_(nan & ~best[2], search, lambda: [at])
        return [f.sel(update, top, best[0]), at, best[2] | nan]


class Walk:
    """The loop of one walk over the blocks of a row. Exact reductions and positions are carried
    from block to block; sums have a stack."""

    def __init__(self, kernel: RowKernel) -> None:
        self.kernel, self.f = kernel, kernel.f
        self.reds, self.whole = kernel.reds, kernel.whole
        self.indexed, self.sums = kernel.indexed, kernel.sums
        self.starts = {k: self.reds[k].start(self.f) for k in self.reds}
        self.light = len(sc.walk(*kernel.roots)) <= 3 and kernel.chunks <= 4

    def emit(self) -> None:
        """Emit the blocks, then the values that the walk defines."""
        f, kernel = self.f, self.kernel
        self.lo, self.hi = f.const("i64", 0), kernel.n
        if kernel.partial:
            self.lo = f.urem(kernel.unit_no, kernel.spans) * kernel.span
            self.hi = f.imin(self.lo + kernel.span, kernel.n)
        carry = [x for k in self.whole for x in self.starts[k]]
        for group in self.indexed.values():
            red = group.red
            carry += [f.const(red.ty, red.worst), f.const("i64", 0), f.const("i1", 0)]
        self.finish(list(self.blocks(carry)))

    def blocks(self, carry: Sequence[Val]) -> list[Val]:
        """All blocks. Without sums a row is one block; a row in pieces has a block for each piece,
        in place."""
        f, kernel = self.f, self.kernel
        if self.reds:
            return f.loop(self.lo, self.hi, BLOCK, self.block, carry)
        if not kernel.pieces:
            return self.block(self.lo, end=self.hi)

        def piece(at: Val) -> list[Val]:
            left = kernel.piece - (at - f.udiv(at, kernel.piece) * kernel.piece)
            end = at + f.imin(left, self.hi - at)
            self.block(at, end=end)
            return [end]
        f.while_(lambda at: f.cmp("slt", at, self.hi), piece, [self.lo])
        return []

    def split(self, flat: Sequence[Val]) -> dict[int, list[Val]]:
        """A flat list of values as the states of the reductions."""
        flat, states = list(flat), {}
        for k in self.reds:
            size = len(self.starts[k])
            states[k], flat = flat[:size], flat[size:]
        return states

    def block(self, b: Val, *carried: Val, end: Val | None = None) -> list[Val]:
        """The elements from b on; returns the values carried on."""
        f, kernel, starts = self.f, self.kernel, self.starts
        end = f.imin(b + BLOCK, self.hi) if end is None else end
        kernel.bring_together(b, end)
        best, states = list(carried), dict(starts)
        for k in self.whole:
            states[k], best = best[:len(starts[k])], best[len(starts[k]):]
        states = self.split(self.groups(b, end, [x for k in self.reds for x in states[k]]))
        for k in self.sums:
            x, = self.reds[k].end(f, states[k])
            kernel.stacks[k].push(f.sdiv(b - self.lo, BLOCK), x)
        found = []
        for q, k in enumerate(self.indexed):
            found += kernel.find(k, self.lo, b, end, self.reds[k].end(f, states[k]),
                                 best[3 * q:3 * q + 3])
        kernel.put_apart(b, end)
        return [x for k in self.whole for x in states[k]] + found

    def groups(self, b: Val, end: Val, flat: Sequence[Val]) -> list[Val]:
        """The groups of a block: of light work several at a time, then single ones, then one
        that is partly filled."""
        f, size = self.f, self.kernel.group
        at = b
        for times in () if f.mod.brief else (4, 1) if self.light else (1,):
            to = b + f.binary("and", end - b, -size * times)
            flat = f.loop(at, to, size * times, self.steps(times, b), flat)
            at = to
        return f.loop(at, end, size, self.steps(1, b, end), flat)

    def steps(self, times: int, b: Val, end: Val | None = None) -> Callable[..., list[Val]]:
        """The body of a loop over `times` groups; `end` is given for partly filled ones."""
        kernel = self.kernel

        def step(i: Val, *acc: Val) -> list[Val]:
            now = self.split(acc)
            for t in range(times):
                kernel.group_at(i + t * kernel.group, now, b, end)
            return [x for k in self.reds for x in now[k]]
        return step

    def finish(self, last: Sequence[Val]) -> None:
        """The results of the reductions, from the values that the last block carried on."""
        f, kernel, program = self.f, self.kernel, self.kernel.program
        for k in self.whole:
            size = len(self.starts[k])
            state, last = last[:size], last[size:]
            kernel.define(k, *self.reds[k].end(f, state))
        for q, k in enumerate(self.indexed):
            at = last[3 * q + 1]
            wanted = (kernel.partial
                      or any(program.results[k] in sc.uses(s.expr) for s in program.stages))
            kernel.define(k, kernel.element_at(k, at) if wanted else None, at)
        for k in self.sums:
            kernel.define(k, kernel.stacks[k].total(f.sdiv(self.hi - self.lo + (BLOCK - 1), BLOCK)))
