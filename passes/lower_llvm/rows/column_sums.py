"""Sums of rows that run across memory: 32 interleaved partial sums a block, folded by halves,
blocks combined in pairs."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whet.ir.row_layout import ColumnWalk
from whet.ir.rows import BLOCK, LANES
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import SIZE, Pairwise, load, values
from whet.passes.lower_llvm.scalar import COMPUTE

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Val
    from whet.passes.lower_llvm.rows.column_panel import Elements

AHEAD = 2  # elements (of one lane) that are fetched before they are needed
DENSE = 8  # vectors of a line that are added up at once


class ColumnSums:
    """The sums of one walk over a panel of columns. The stages of `elements` are the sums, followed
    by what is stored on the way."""

    def __init__(self, elements: Elements, sums: Sequence[int], lo: Val, hi: Val) -> None:
        self.elements, self.panel = elements, elements.panel
        self.kernel, self.f = self.panel.kernel, self.panel.f
        self.sums, self.lo, self.hi = sums, lo, hi
        f, kernel, self.reds = self.f, self.kernel, elements.reductions
        self.vectors, self.W, self.program = kernel.vectors, kernel.W, kernel.program
        self.types = {k: vec(COMPUTE[self.reds[k].dtype], self.W) for k in sums}
        self.lanes = {
            k: kernel.memory(("lanes", k), self.types[k], LANES * self.vectors) for k in sums
        }
        self.elem = {k: SIZE[self.reds[k].dtype] for k in sums}
        self.one_block = kernel.mode is ColumnWalk.APART
        self.stacks = (
            {}
            if self.one_block
            else {
                k: Pairwise(
                    f,
                    self.reds[k],
                    self.W,
                    self.vectors,
                    functools.partial(kernel.memory, ("stack", k)),
                )
                for k in sums
            }
        )
        self.ahead = kernel.mode is ColumnWalk.LANES and self.panel.masks[0] is None

    def emit(self) -> None:
        """Block by block; then the results."""
        f = self.f
        if self.one_block:
            self.block(self.lo)
        else:
            f.loop(self.lo, self.hi, BLOCK, self.block)
        for k in self.sums:
            if not self.one_block:
                self.total(k)
            for v in range(self.vectors):
                self.panel.define(k, v, f.load(self.types[k], self.spot(k, 0, v)))

    def total(self, k: int) -> None:
        """The sums of all blocks, in the place of block results."""
        def one(x: Val, v: Val) -> Val:
            return self.stacks[k].total(self.f.sdiv(self.hi - self.lo + (BLOCK - 1), BLOCK), v)
        self.each_vector(k, one)

    def push(self, k: int, b: Val) -> None:
        """Combine the results of the block from b on with those of the other blocks."""
        def one(x: Val, v: Val) -> None:
            self.stacks[k].push(self.f.sdiv(b - self.lo, BLOCK), x, v)
        self.each_vector(k, one)

    def block(self, b: Val) -> None:
        """The elements from b on into the partial sums, and these into one."""
        f = self.f
        end = f.imin(b + BLOCK, self.hi)
        count = f.imin(end - b, LANES)
        ways = {ColumnWalk.DENSE: self.dense, ColumnWalk.SEQUENTIAL: self.in_memory_order,
                ColumnWalk.FOUR: self.four_lanes}
        left = ways.get(self.kernel.mode, self.lane_by_lane)(b, end, count)
        for k in self.sums:
            is_dense = self.kernel.mode is ColumnWalk.DENSE
            columns = self.kernel.columns if is_dense else self.vectors * self.W
            self.fold(k, left, columns)
            if not self.one_block:
                self.push(k, b)

    def spot(self, k: int, lane: int | Val, v: int) -> Val:
        """The place of a partial sum."""
        f = self.f
        return f.at(self.lanes[k], f.as_val(lane, "i64") * self.vectors + v, self.types[k])

    def start(self, k: int) -> Val:
        """A partial sum of nothing."""
        return self.reds[k].start(self.f, self.W)[0]

    def visit(self, i: Val, acc: dict[int, list[Val]]) -> None:
        """Element i into the accumulators (a list per sum); stores on the way."""
        got = [self.elements.at(i, v) for v in range(self.vectors)]
        for q, k in enumerate(self.elements.stages):
            for v in range(self.vectors):
                if k in acc:
                    acc[k][v] = self.reds[k].step(self.f, [acc[k][v]], got[v][q])[0]
                else:
                    self.panel.write(k, i, v, got[v][q])

    def with_element(self, i: Val, partial: Sequence[Val]) -> list[Val]:
        """A partial sum (a vector per sum and vector of columns) with element i."""
        n = self.vectors
        acc = {k: list(partial[q * n : (q + 1) * n]) for q, k in enumerate(self.sums)}
        self.visit(i, acc)
        return [x for k in self.sums for x in acc[k]]

    def nothing(self) -> list[Val]:
        """A partial sum of nothing."""
        return [self.start(k) for k in self.sums for _ in range(self.vectors)]

    def both(self, x: Sequence[Val], y: Sequence[Val]) -> list[Val]:
        """Two partial sums as one."""
        reds = [self.reds[k] for k in self.sums for _ in range(self.vectors)]
        return [red.merge(self.f, [a], [b])[0] for red, a, b in zip(reds, x, y, strict=True)]

    def put(self, lane: Val, partial: Sequence[Val]) -> None:
        """A partial sum into its place."""
        for q, k in enumerate(self.sums):
            for v in range(self.vectors):
                self.f.store(partial[q * self.vectors + v], self.spot(k, lane, v))

    def lane_by_lane(self, b: Val, end: Val, count: Val) -> Val:
        """LANES: the elements of one partial sum after the other's, in registers."""
        f = self.f

        def step(i: Val, *partial: Val) -> list[Val]:
            self.fetch(i)
            return self.with_element(i, partial)

        f.loop(0, count, 1,
               lambda l: self.put(l, f.loop(b + l, end, LANES, step, self.nothing())))
        return count

    def four_lanes(self, b: Val, end: Val, count: Val) -> Val:
        """FOUR: as LANES, with four partial sums at once: those that the folding would
        bring together first, so that only their sum is stored.

        Where a partial sum has no element, that of nothing is added, which changes no bit."""
        f, each = self.f, len(self.sums) * self.vectors
        lanes = f.while_(lambda n: f.cmp("slt", n * 4, count), lambda n: [n + n],
                         [f.const("i64", 1)])[0]
        size = lanes * 4
        whole = b + f.udiv(end - b, size) * size

        def quarters(partials: Sequence[Val]) -> list[Sequence[Val]]:
            return [partials[g * each : (g + 1) * each] for g in range(4)]

        def step(i: Val, *partials: Val) -> list[Val]:
            return [x for g, partial in enumerate(quarters(partials))
                    for x in self.with_element(i + lanes * g, partial)]

        def rest(i: Val, partial: Sequence[Val]) -> list[Val]:
            return f.if_(f.cmp("slt", i, end), lambda: self.with_element(i, partial),
                         lambda: partial)

        def lane(l: Val) -> None:
            full = quarters(f.loop(b + l, whole, size, step, self.nothing() * 4))
            q = [rest(whole + l + lanes * g, partial) for g, partial in enumerate(full)]
            self.put(l, self.both(self.both(q[0], q[2]), self.both(q[1], q[3])))

        f.loop(0, lanes, 1, lane)
        return lanes

    def fetch(self, i: Val) -> None:
        """Prefetch the elements that are read some steps later."""
        f, kernel = self.f, self.kernel
        for arg in self.elements.used if self.ahead else ():
            if (
                arg < len(self.program.operands)
                and self.program.operands[arg].is_full
                and arg not in kernel.still
            ):
                ahead = (i + AHEAD * LANES) * kernel.strides[arg][1]
                there = f.bytes_at(self.panel.base[arg], ahead)
                for v in range(self.vectors):
                    f.prefetch(f.bytes_at(there, v * self.W * SIZE[self.elements.dtypes[arg]]))

    def in_memory_order(self, b: Val, end: Val, count: Val) -> Val:
        """SEQUENTIAL: element after element, the partial sums in memory."""
        f, vectors = self.f, self.vectors

        def clear(l: Val) -> None:
            for k in self.sums:
                for v in range(vectors):
                    f.store(self.start(k), self.spot(k, l, v))

        f.loop(0, count, 1, clear)

        def step(i: Val) -> None:
            l = i & (LANES - 1)
            acc = {
                k: [f.load(self.types[k], self.spot(k, l, v)) for v in range(vectors)]
                for k in self.sums
            }
            self.visit(i, acc)
            for k in self.sums:
                for v in range(vectors):
                    f.store(acc[k][v], self.spot(k, l, v))

        f.loop(b, end, 1, step)
        return count

    def dense(self, b: Val, end: Val, count: Val) -> Val:
        """DENSE: add up long lines of 32 elements x columns, chunk by chunk in registers."""
        f, W, kernel = self.f, self.W, self.kernel
        (arg,) = self.elements.used
        start = f.bytes_at(self.panel.base[arg], b * kernel.strides[arg][1])
        lines = Lines(self, start, b, end, arg)
        whole = f.udiv(lines.line, DENSE * W) * (DENSE * W)
        f.loop(0, whole, DENSE * W, lambda c: lines.chunk(c, DENSE))
        f.loop(whole, lines.line, W, lambda c: lines.chunk(c, 1))
        return f.const("i64", LANES)

    def fold(self, k: int, count: Val, size: int | Val) -> None:
        """The first `count` lanes of `size` elements each into the first."""
        f, red, ty, lanes, elem = self.f, self.reds[k], self.types[k], self.lanes[k], self.elem[k]

        def level(h: Val, left: Val) -> list[Val]:
            half = h * size

            def add(i: Val) -> None:
                p = f.bytes_at(lanes, i * elem)
                x = red.merge(f, [f.load(ty, p)], [f.load(ty, f.bytes_at(p, half * elem))])[0]
                f.store(x, p)

            f.loop(0, f.imin(left - h, h) * size, self.W, add)
            return [h >> 1, f.imin(left, h)]

        f.while_(lambda h, left: f.cmp("sgt", h, 0), level, [f.const("i64", LANES // 2), count])

    def each_vector(self, k: int, body: Callable[[Val, Val], Val | None]) -> None:
        """body(result, v) for every vector of block results, in a loop; its return value replaces
        the result."""
        f, ty = self.f, self.types[k]

        def one(v: Val) -> None:
            p = f.at(self.lanes[k], v, ty)
            x = body(f.load(ty, p), v)
            if x is not None:
                f.store(x, p)

        f.loop(0, self.vectors, 1, one)


class Lines:
    """A block without gaps, as lines of 32 elements x columns; the last line may be shorter."""

    def __init__(self, sums: ColumnSums, start: Val, b: Val, end: Val, arg: int) -> None:
        self.sums, self.f, self.W, self.start, self.arg = sums, sums.f, sums.W, start, arg
        (self.k,) = sums.sums
        columns = sums.kernel.columns
        self.line, size = columns * LANES, (end - b) * columns
        self.lines = self.f.udiv(size, self.line)
        self.rest = size - self.lines * self.line

    def chunk(self, c: Val, many: int) -> None:
        """`many` vectors of all lines, from element c of each on."""
        f, sums = self.f, self.sums
        state = f.loop(
            0,
            self.lines,
            1,
            lambda g, *state: self.add(g, c, state, many == 1),
            [sums.start(self.k)] * many,
        )
        state = f.if_(
            f.cmp("sgt", self.rest, c),
            lambda: self.add(self.lines, c, state, last=True),
            lambda: state,
        )
        for v, x in enumerate(state):
            f.store(x, f.bytes_at(sums.lanes[self.k], (c + v * self.W) * sums.elem[self.k]))

    def add(self, g: Val, c: Val, state: Sequence[Val], masked: bool = False,
            last: bool = False) -> list[Val]:
        """The accumulators after line g. `masked`: the vector may extend beyond the line. `last`:
        the line may be shorter than the others."""
        f, W, kernel, elements = self.f, self.W, self.sums.kernel, self.sums.elements
        program = self.sums.program
        dtype, out = program.values[self.arg].dtype, []
        for v, x in enumerate(state):
            at = c + v * W
            mask = (
                f.lanes_below(self.rest - at, W)
                if last
                else f.lanes_below(self.line - at, W)
                if masked
                else None
            )
            p = f.bytes_at(self.start, (g * self.line + at) * SIZE[dtype])
            xs = [
                kernel.address[i] if o.is_scalar else None
                for i, o in enumerate(program.operands)
            ]
            xs[self.arg] = load(f, dtype, p, W, mask)
            found = values(f, elements.roots, xs, elements.dtypes, W)[0]
            out += self.sums.reds[self.k].step(f, [x], found, mask)
        return out
