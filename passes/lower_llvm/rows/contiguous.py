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
from whet.passes.lower_llvm.rows.rows_in_pieces import Block, BlockInPieces, Pieces, Strip
from whet.passes.lower_llvm.scalar import COMPUTE

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Program
    from whet.passes.lower_llvm.builder import Module, Val

# bytes by which reading a long row for a reduction runs ahead: memory is farther than the machine
# looks
AHEAD = 8192


class RowKernel(Kernel):
    """One program over contiguous rows; a unit of work is a row. After n come the number of spans
    in a row (if partial) and, for rank 2, the size of the inner of two outer dimensions; then
    `rank` strides of each full or row operand and of each full output. Row outputs lie side by
    side. Results of spans are (rows, spans).

    With `in_pieces` (programs without positions) a row is made of pieces of equal length, anywhere:
    that length comes before the strides and each full operand or output has a last stride, from
    piece to piece."""
    spans: Val                          # spans of a row, if partial
    span: Val                           # elements of a span
    inner: Val                          # the size of the inner dimension, for rank 2
    pieces: Pieces | None

    def __init__(self, program: Program, rank: int, partial: bool = False,
                 in_pieces: bool = False) -> None:
        self.program, self.rank, self.partial, self.in_pieces = program, rank, partial, in_pieces
        self.plan = Plan(program, store=not in_pieces)

    def emit(self, mod: Module, symbol: str) -> None:
        self.start(mod, symbol)
        f, program = self.f, self.program
        if self.partial:
            self.spans, self.span = self.slot("i64"), self.slot("i64")
        if self.rank == 2:
            self.inner = self.slot("i64")
        piece = self.slot("i64") if self.in_pieces else None
        count = {Extent.FULL: self.rank + self.in_pieces, Extent.ROW: self.rank}
        self.strides = [[self.slot("i64") for _ in range(count.get(o.extent, 0))]
                        for o in program.operands]
        self.out_strides = [[self.slot("i64")
                             for _ in range(count[Extent.FULL])] if self.has_stride(k) else []
                            for k, _ in self.outs]
        self.pieces = None if piece is None else Pieces(
            f, piece, [(i, o.dtype) for i, o in enumerate(program.operands) if o.is_full],
            [(j, t) for j, (k, t) in enumerate(self.outs) if self.has_stride(k)])
        self.stacks = {
            k: Pairwise(f, reduction(s.kind, program.values[program.results[k]].dtype))
            for k, s in enumerate(program.stages) if isinstance(s, Reduce) and s.kind in SUMS}
        f.loop(f.args[1], f.args[2], 1, lambda unit: Row(self, unit).emit())


class Row:
    """One row, or a span of it: where its operands and outputs begin, and the row scalars that are
    known so far."""

    def __init__(self, kernel: RowKernel, unit: Val) -> None:
        self.kernel, self.unit = kernel, unit
        f = self.f = kernel.f
        self.number = f.udiv(unit, kernel.spans) if kernel.partial else unit
        if kernel.rank == 1:
            self.position = [self.number]
        else:
            outer = f.udiv(self.number, kernel.inner)
            self.position = [outer, self.number - outer * kernel.inner]
        self.base = {i: self.start_of(p, kernel.strides[i]) for i, p in kernel.address.items()}
        self.out_base = [
            self.start_of(p, st)
            for p, st in zip(kernel.out_address, kernel.out_strides, strict=True)]
        # row scalars by their number among the program's values
        self.known = {i: load(f, o.dtype, self.base[i], 0) if o.is_row else kernel.address[i]
                      for i, o in enumerate(kernel.program.operands) if o.is_row or o.is_scalar}

    def start_of(self, address: Val, strides: Sequence[Val]) -> Val:
        """Where this row of an operand begins."""
        if not strides:
            return address
        first, *others = [x * s for x, s in zip(self.position, strides)]
        return self.f.bytes_at(address, sum(others, first))

    def emit(self) -> None:
        """All walks over the row, each followed by the row outputs that are known then."""
        kernel = self.kernel
        for p in kernel.plan.passes:
            stages = [k for k in p.stages if kernel.plan.work(k)]
            if stages:
                Walk(self, stages).emit()
            for k in p.rows if not kernel.partial else ():
                x, = self.scalars([kernel.program.stages[k].expr])
                self.put(k, 0, x, self.number)

    def scalars(self, exprs: Sequence[Expr]) -> list[Val]:
        """The values of expressions of row scalars."""
        defined = self.kernel.program.values
        return (values(self.f, exprs, [self.known.get(i) for i in range(len(defined))],
                       [v.dtype for v in defined], 0) if exprs else [])

    def define(self, k: int, *xs: Val | None) -> None:
        """The results of stage k, without those that are not wanted."""
        found = {j: x for j, x in enumerate(xs) if x is not None}
        for j, x in found.items():
            if self.kernel.partial:
                self.put(k, j, x, self.unit)
            self.known[self.kernel.program.results[k] + j] = x

    def put(self, k: int, j: int, x: Val, at: Val) -> None:
        """Store result j of stage k as element `at` of its output."""
        out, dtype = self.kernel.out_of(k, j)
        store(self.f, dtype, x, self.f.bytes_at(self.kernel.out_address[out], at * SIZE[dtype]))


class Body:
    """What a walk computes for each element of a row, on vectors of `lanes` elements. `prefetches`:
    reads run ahead of the loop."""

    def __init__(self, row: Row, stages: Sequence[int]) -> None:
        self.row, self.f, self.program, self.stages = row, row.f, row.kernel.program, stages
        self.roots, uniform, self.dtypes = row.kernel.plan.roots(stages)
        self.lanes = lanes_for(types_in(self.roots, self.dtypes))
        self.used = sc.uses(*self.roots)
        self.hoisted = [self.f.splat(x, self.lanes) for x in row.scalars(uniform)]
        self.prefetches = any(isinstance(self.program.stages[k], Reduce) for k in stages)

    def inputs(self, i: Val, mask: Val | None, block: Block | None) -> list[Val | None]:
        """The vectors that the expressions read, for the elements from i on."""
        f, program, row = self.f, self.program, self.row
        xs: list[Val | None] = [*[None] * len(program.values), *self.hoisted]
        for a in self.used:
            if a >= len(program.values):
                continue
            dtype, extent = program.values[a]
            if extent is Extent.POSITION:
                xs[a] = (f.splat(f.conv("trunc", i, COMPUTE[dtype]), self.lanes)
                         + f.iota(COMPUTE[dtype], self.lanes))
            else:
                p = (row.out_base[row.kernel.plan.kept[a]] if extent is Extent.KEPT else
                     block.operands[a] if block and a in block.operands else row.base[a])
                p = f.bytes_at(p, i * SIZE[dtype])
                if self.prefetches and mask is None:
                    f.prefetch(f.bytes_at(p, AHEAD))
                xs[a] = load(f, dtype, p, self.lanes, mask)
        return xs

    def vectors(self, i: Val, mask: Val | None, block: Block) -> list[Val]:
        """What each stage computes, from element i on."""
        return values(self.f, self.roots, self.inputs(i, mask, block), self.dtypes, self.lanes)

    def vector_of(self, k: int, i: Val, mask: Val, block: Block | None) -> Val:
        """What stage k computes, from element i on."""
        root = self.roots[self.stages.index(k)]
        return values(self.f, [root], self.inputs(i, mask, block), self.dtypes, self.lanes)[0]

    def block(self, first: Val, end: Val) -> Block:
        """The elements `first` to `end`, ready to be read."""
        row, kernel, pieces = self.row, self.row.kernel, self.row.kernel.pieces
        if pieces is None:
            return Block(first, end)
        block = BlockInPieces(self.f, pieces.length, self.lanes, first, end, self.prefetches)
        block.read((a, Strip(row.base[a], kernel.strides[a][-1], self.program.operands[a].dtype,
                             pieces.operands[a])) for a in self.used if a in pieces.operands)
        outs = [kernel.out_of(k) for k in self.stages if kernel.has_stride(k)]
        block.write((j, Strip(row.out_base[j], kernel.out_strides[j][-1], dtype,
                              pieces.outputs[j])) for j, dtype in outs)
        return block


class Walk:
    """The loop of one walk over the blocks of a row. Exact reductions and positions are carried
    from block to block; sums have a stack. `chunks` vectors make a group of `group` elements."""

    def __init__(self, row: Row, stages: Sequence[int]) -> None:
        self.row, self.kernel, self.f = row, row.kernel, row.f
        self.body = Body(row, stages)
        program, lanes = self.kernel.program, self.body.lanes
        kinds = {k: s.kind for k in stages if isinstance(s := program.stages[k], Reduce)}
        self.whole, indexed, self.sums = (
            [k for k in kinds if kinds[k] in group] for group in (EXACT, INDEXED, SUMS))
        self.chunks = max(2, LANES // lanes if self.sums else 4 if kinds else 2)
        self.group = self.chunks * lanes
        self.reds = {
            k: group_of(kinds[k], program.values[program.results[k]].dtype, lanes, self.chunks)
            for k in self.whole + self.sums + indexed}
        self.indexed = {k: red for k, red in self.reds.items() if isinstance(red, IndexedGroup)}
        self.starts = {k: self.reds[k].start(self.f) for k in self.reds}
        self.is_light = len(sc.walk(*self.body.roots)) <= 3 and self.chunks <= 4

    def emit(self) -> None:
        """Emit the blocks, then the values that the walk defines."""
        f, kernel = self.f, self.kernel
        self.lo, self.hi = f.const("i64", 0), kernel.n
        if kernel.partial:
            self.lo = f.urem(self.row.unit, kernel.spans) * kernel.span
            self.hi = f.imin(self.lo + kernel.span, kernel.n)
        carry = [x for k in self.whole for x in self.starts[k]]
        for group in self.indexed.values():
            red = group.red
            carry += [f.const(red.ty, red.worst), f.const("i64", 0), f.const("i1", 0)]
        self.finish(list(self.blocks(carry)))

    def blocks(self, carry: Sequence[Val]) -> list[Val]:
        """All blocks. Without sums a row is one block; a row in pieces has a block for each piece,
        in place."""
        f, pieces = self.f, self.kernel.pieces
        if self.reds:
            return f.loop(self.lo, self.hi, BLOCK, self.block, carry)
        if pieces is None:
            return self.block(self.lo, end=self.hi)

        def piece(at: Val) -> list[Val]:
            end = pieces.end_of(at, self.hi)
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
        f, starts = self.f, self.starts
        block = self.body.block(b, f.imin(b + BLOCK, self.hi) if end is None else end)
        best, states = list(carried), dict(starts)
        for k in self.whole:
            states[k], best = best[:len(starts[k])], best[len(starts[k]):]
        states = self.split(self.groups(block, [x for k in self.reds for x in states[k]]))
        for k in self.sums:
            x, = self.reds[k].end(f, states[k])
            self.kernel.stacks[k].push(f.sdiv(b - self.lo, BLOCK), x)
        found = []
        for q, k in enumerate(self.indexed):
            found += self.find(k, block, self.reds[k].end(f, states[k]), best[3 * q:3 * q + 3])
        block.copy_back()
        return [x for k in self.whole for x in states[k]] + found

    def groups(self, block: Block, flat: Sequence[Val]) -> list[Val]:
        """The groups of a block: of light work several at a time, then single ones, then one
        that is partly filled."""
        f, size, end = self.f, self.group, block.end
        at = block.first
        for times in () if f.mod.brief else (4, 1) if self.is_light else (1,):
            to = block.first + f.binary("and", end - block.first, -size * times)
            flat = f.loop(at, to, size * times, self.steps(times, block), flat)
            at = to
        return f.loop(at, end, size, self.steps(1, block, is_filled=False), flat)

    def steps(self, times: int, block: Block,
              is_filled: bool = True) -> Callable[..., list[Val]]:
        """The body of a loop over `times` groups."""
        def step(i: Val, *acc: Val) -> list[Val]:
            now = self.split(acc)
            for t in range(times):
                self.group_at(i + t * self.group, now, block, is_filled)
            return [x for k in self.reds for x in now[k]]
        return step

    def group_at(self, i: Val, states: dict[int, list[Val]], block: Block,
                 is_filled: bool) -> None:
        """One group of elements through all stages."""
        f, body = self.f, self.body
        places = [i + c * body.lanes for c in range(self.chunks)]
        masks = [None if is_filled else f.lanes_below(block.end - at, body.lanes) for at in places]
        got = [body.vectors(at, mask, block) for at, mask in zip(places, masks, strict=True)]
        for q, k in enumerate(body.stages):
            xs = [x[q] for x in got]
            if k in self.reds:
                states[k] = self.reds[k].step(f, states[k], xs, masks, i - block.first)
                continue
            j, dtype = self.kernel.out_of(k)
            base = block.outputs.get(j, self.row.out_base[j])
            for at, x, mask in zip(places, xs, masks, strict=True):
                store(f, dtype, x, f.bytes_at(base, at * SIZE[dtype]), mask)

    def find(self, k: int, block: Block, found: Sequence[Val], best: Sequence[Val]) -> list[Val]:
        """After a block: (best, position, was there a NaN?) of all blocks so far. The position of a
        NaN is searched for when one comes."""
        f, red, lanes = self.f, self.indexed[k].red, self.body.lanes
        top, at, nan = found
        at = block.first + f.conv("zext", at, "i64")
        update = f.cmp(red.better, top, best[0]) | f.cmp("eq", block.first, self.lo)
        if not red.float:
            return [f.sel(update, top, best[0]), f.sel(update, at, best[1]), best[2]]
        at = f.sel(update & ~best[2], at, best[1])

        def search() -> list[Val]:
            def step(i: Val, hit: Val) -> list[Val]:
                mask = f.lanes_below(block.end - i, lanes)
                x = self.body.vector_of(k, i, mask, block)
                return [i + lanes, f.cmp("uno", x, x) & mask]

            i, hit = f.while_(lambda i, hit: f.cmp("slt", i, block.end) & ~f.any(hit), step,
                              [block.first, f.const(vec("i1", lanes), 0)])
            lane = first_lane(f, hit)
            return [i - lanes + (f.conv("zext", lane, "i64") if lanes < 64 else lane)]
        at, = f.if_(nan & ~best[2], search, lambda: [at])
        return [f.sel(update, top, best[0]), at, best[2] | nan]

    def element_at(self, k: int, i: Val) -> Val:
        """What stage k reduces, at element i; in an empty row the worst there is."""
        f, red, n = self.f, self.indexed[k].red, self.kernel.n
        x = self.body.vector_of(k, i, f.lanes_below(f.imin(n, 1), self.body.lanes), None)
        return f.sel(f.cmp("sgt", n, 0), f.extract(x, 0), red.worst)

    def finish(self, last: Sequence[Val]) -> None:
        """The results of the reductions, from the values that the last block carried on."""
        f, kernel, program = self.f, self.kernel, self.kernel.program
        for k in self.whole:
            size = len(self.starts[k])
            state, last = last[:size], last[size:]
            self.row.define(k, *self.reds[k].end(f, state))
        for q, k in enumerate(self.indexed):
            at = last[3 * q + 1]
            wanted = (kernel.partial
                      or any(program.results[k] in sc.uses(s.expr) for s in program.stages))
            self.row.define(k, self.element_at(k, at) if wanted else None, at)
        for k in self.sums:
            blocks = f.sdiv(self.hi - self.lo + (BLOCK - 1), BLOCK)
            self.row.define(k, kernel.stacks[k].total(blocks))
