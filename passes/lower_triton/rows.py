"""Row programs (`ir.rows`) as Triton source, in the canonical order of their sums: bits are the
CPU's.

A program works on `rows` rows at once. A walk with sums or products holds a tile of (rows, blocks,
32 lanes) and takes one element of each lane at a step, 128 steps to a block of 4096; then lanes are
folded by halves and blocks in pairs. A row of more blocks than a tile has is taken chunk by chunk,
whose results are joined in pairs as they come. What is missing is the identity, which changes no
bit: a sum that began at +0 is never -0. Other walks take `width` elements of each row at a step.

Extrema are taken of integers of the same order (NaN at the end it counts for, +0 above -0),
positions as the least among equals.

The parameters are the operands (a pointer, or a number), the outputs, n and the number of rows;
then strides in elements as `Layout` says. Kept values are computed again.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whet.ir import scalar as S
from whet.ir.rows import BLOCK, HEAVY, LANES, Extent, Reduce, Store
from whet.passes.lower_llvm.builder import Val
from whet.passes.lower_llvm.rows.row_kernel import Plan

from . import scalar
from .builder import TYPE, Code, Module
from .reductions import Reduction, Sum, reduction
from .source import source

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Pass, Program

    from .source import Source

STEPS = BLOCK // LANES


@dataclass(frozen=True)
class Layout:
    """How full operands and full outputs lie in memory. Each has `rank` strides for its rows (with
    two of them, rows are counted through two dimensions, and the size of the inner one, `inner`,
    comes first; where rows lie `abreast` the last is 1 and is no parameter), then a stride from
    element to element unless those are `adjacent`, and with
    `pieces` (of `piece` elements) one from piece to piece. Row operands and row outputs lie side by
    side."""
    rank: int = 1
    adjacent: bool = True
    pieces: bool = False
    abreast: bool = False


@dataclass(frozen=True)
class Tile:
    """`rows` at once; of each `blocks` of 4096, in `chunks`; `width` elements where nothing is
    summed. All are powers of two."""
    rows: int
    blocks: int
    chunks: int
    width: int


# of a program; and how many elements each of them loads before it waits for the first
THREADS, UNROLLED = 128, 8
HEAVY_UNROLLED = 2                  # a heavy expression keeps units busy itself


def up(x: int) -> int:
    """The power of two from a number on."""
    return 1 << max(0, x - 1).bit_length()


def tile(rows: int, n: int, adjacent: bool = True) -> Tile:
    """The tile for so many rows of n elements. Where elements lie side by side, a warp takes a row,
    or several short ones; else rows do, and a warp takes one place of 32 of them."""
    blocks = min(up(-(-n // BLOCK)), 4 if adjacent else 1)
    chunks = up(-(-n // (blocks * BLOCK)))
    short = min(32, up(-(-1024 // max(n, 1))))
    many = min(max(4 // blocks, short) if adjacent else 32, up(rows))
    return Tile(many, blocks, chunks, max(LANES, min(up(n), 1024 // many)) if adjacent else LANES)


def lower(program: Program, layout: Layout, tile: Tile, wide: bool = False) -> Source:
    """The Source of a program."""
    return _Rows(program, layout, tile, wide).source()


class _Rows:
    def __init__(self, program: Program, layout: Layout, tile: Tile, wide: bool) -> None:
        for o in program.operands:
            if o.dtype not in scalar.COMPUTE:
                raise scalar.Unsupported(o.dtype)
        self.program, self.layout, self.tile = program, layout, tile
        self.number = "i64" if wide else "i32"
        self.plan = Plan(program, store=False)
        self.f, self.index = Code(Module()), "i"
        # the elements of a row that are walked
        self.first, self.end = "0", "n"

    def source(self) -> Source:
        self.line_up(f"tl.program_id(0){self.wide}")
        for p in self.plan.passes:
            self.walk(p)
            self.store_rows(p)
        return self.made("kernel", [], f"cdiv(rows, {self.tile.rows})")

    @property
    def wide(self) -> str:
        """What makes a number one of 64 bits, where places need them."""
        return ".to(tl.int64)" if self.number == "i64" else ""

    def made(self, what: str, more: Sequence[tuple[str, str]], grid: str) -> Source:
        """The Source of the lines that were written; `more` are parameters behind the outputs."""
        program = self.program
        parameters = [
            (f"x{i}",
             scalar.POINTER[o.dtype][1:] if o.is_scalar else scalar.POINTER[o.dtype])
            for i, o in enumerate(program.operands) if not o.is_position]
        parameters += [
            (f"y{j}", scalar.POINTER[dtype]) for j, (_, dtype) in enumerate(program.outputs)]
        parameters += [*more, *((n, self.number)
                                for n in ("n", "rows", *strides(program, self.layout)))]
        name = re.sub(r"\W", "_", program.name)
        return source(f"{name}_{what}", self.f.mod, parameters, self.f.lines, grid)

    def line_up(self, group: str) -> None:
        """The rows of a group, where they begin, and what is known of them."""
        f, t = self.f, self.tile
        f.line(f"row = ({group} * {t.rows} + tl.arange(0, {t.rows}))[:, None, None]")
        f.line("live = row < rows")
        if self.layout.rank == 2:
            f.line("outer = row // inner")
            f.line("rest = row % inner")
        for name in full(self.program):
            last = "row" if self.layout.rank == 1 else "rest"
            steps = [] if self.layout.rank == 1 else [f"outer * {name}_o"]
            steps += [last if self.layout.abreast else f"{last} * {name}_r"]
            f.line(f"{name}_row = {' + '.join([name, *steps])}")
        self.known: dict[int, Val] = {}
        for i, o in enumerate(self.program.operands):
            if o.is_row:
                self.known[i] = scalar.load(f, o.dtype, f"tl.load(x{i} + row, live)", f"a{i}")
            elif o.is_scalar:
                self.known[i] = Val(f, f"x{i}", scalar.COMPUTE[o.dtype])

    def store_rows(self, p: Pass) -> None:
        """The row outputs that are known when a walk is over."""
        for k in p.rows:
            y, = self.expressions([self.program.stages[k].expr], self.known)
            j = self.output(k)
            self.f.line(f"tl.store(y{j} + row, {scalar.stored(y, self.program.outputs[j][1])}, "
                        "live)")

    def output(self, k: int) -> int:
        return next(j for j, o in enumerate(self.program.outputs) if o[0] == k)

    def expressions(self, roots: Sequence[Expr], values: Mapping[int, Val],
                    more: Sequence[str] = ()) -> list[Val]:
        """Values of expressions, those of a half type rounded as if they had been stored."""
        defined = [v.dtype for v in self.program.values] + list(more)
        xs, types = scalar.compute(self.f, roots, [values.get(i) for i in range(len(defined))],
                                   defined)
        return [
            scalar.rounded(self.f, x, t) if t in scalar.HALF and r.op not in ("arg", "cast") else x
            for x, t, r in zip(xs, types, roots)]

    # ---- one walk
    def walk(self, p: Pass) -> None:
        f, program, t = self.f, self.program, self.tile
        stages = [k for k in p.stages if self.plan.work(k)]
        if not stages:
            return
        roots, uniform = self.plan.hoist([self.plan.expression(k) for k in stages])
        self.hoist(uniform)
        self.heavy = any(e.op in HEAVY for e in S.walk(*roots))
        reduced = {
            k: reduction(self, k, s.kind, root) for k, root in zip(stages, roots, strict=True)
            if isinstance(s := program.stages[k], Reduce)}
        summed = {k: red for k, red in reduced.items() if isinstance(red, Sum)}
        shape = [t.rows, t.blocks, LANES] if summed else [t.rows, 1, t.width]

        def step(mask: str) -> None:
            """What is done with the elements `i` of each row."""
            values = self.inputs(roots, mask)
            for k, x in zip(stages, self.expressions(roots, values, self.uniform), strict=True):
                if k in reduced:
                    reduced[k].step(x, mask)
                else:
                    j = self.output(k)
                    f.line(
                        f"tl.store(y{j}_row + {self.place(f'y{j}')}, "
                        f"{scalar.stored(x, program.outputs[j][1])}, {mask})")
        for k, red in reduced.items():
            if t.chunks == 1 or k not in summed:
                red.start(shape)
        if summed:
            self.in_lanes(step, [*summed.values()], shape)
        else:
            self.side_by_side(step)
        self.finish(reduced, shape)

    def hoist(self, uniform: Sequence[Expr]) -> None:
        """What depends on rows alone, computed once."""
        dtypes = [v.dtype for v in self.program.values]
        self.uniform = [S.typeof(e, dtypes) for e in uniform]
        self.hoisted = dict(
            enumerate(self.expressions(uniform, self.known) if uniform else [], len(dtypes)))

    def finish(self, reduced: Mapping[int, Reduction], shape: Sequence[int]) -> None:
        """The results of a walk are known."""
        for k, found in reduced.items():
            self.know(k, found.end(shape))

    def know(self, k: int, results: Sequence[Val | None]) -> None:
        """The results of a stage."""
        found = enumerate(results, self.program.results[k])
        self.known |= {at: x for at, x in found if x is not None}

    def in_lanes(self, step: Callable[[str], None], sums: Sequence[Sum],
                 shape: Sequence[int]) -> None:
        """The elements of rows in the order in which they are summed: some blocks at a time, all
        lanes of each at once; where there are more blocks, in chunks."""
        f, t = self.f, self.tile
        several = t.chunks > 1
        f.line(
            f"lane = tl.arange(0, {t.blocks})[None, :, None] * {BLOCK} + tl.arange(0, "
            f"{LANES})[None, None, :]")
        if several:
            for red in sums:
                red.start_chunks()
            f.line(f"chunks = tl.cdiv({self.length}, {t.blocks * BLOCK})")
            f.line("for chunk in range(0, chunks):")
            f.depth += 1
            for red in sums:
                red.start(shape)
        ahead = HEAVY_UNROLLED if self.heavy else UNROLLED
        unrolled = max(1, ahead * THREADS // (t.rows * t.blocks * LANES))
        f.line(f"for s in tl.range(0, tl.minimum(tl.cdiv({self.length}, {LANES}), {STEPS}), "
               f"loop_unroll_factor={unrolled}):")
        f.depth += 1
        begin = "" if self.first == "0" else f"{self.first} + "
        begin += f"chunk * {t.blocks * BLOCK} + " if several else ""
        f.line(f"i = {begin}s * {LANES} + lane")
        f.line(f"here = live & (i < {self.end})")
        step("here")
        f.depth -= 1
        for red in sums:
            red.fold()
        if several:
            for red in sums:
                red.put_chunk()
            f.depth -= 1
            for red in sums:
                red.fold_chunks()

    def side_by_side(self, step: Callable[[str], None]) -> None:
        """The elements of rows in the order in memory, where no order of sums asks for another."""
        f, t = self.f, self.tile
        f.line(f"for start in range({self.first}, {self.end}, {t.width}):")
        f.depth += 1
        f.line(f"i = start + tl.arange(0, {t.width})[None, None, :]")
        f.line(f"here = live & (i < {self.end})")
        step("here")
        f.depth -= 1

    @property
    def length(self) -> str:
        """How many elements are walked."""
        return self.end if self.first == "0" else f"{self.end} - {self.first}"

    def place(self, name: str) -> str:
        """Where element i is, counted from the beginning of its row."""
        i = self.index
        if self.layout.pieces:
            inside = f"{i} % piece" if self.layout.adjacent else f"{i} % piece * {name}_i"
            return f"{i} // piece * {name}_p + {inside}"
        return i if self.layout.adjacent else f"{i} * {name}_i"

    def inputs(self, roots: Sequence[Expr], mask: str) -> dict[int, Val]:
        """What expressions read, for the elements i."""
        f, program, i = self.f, self.program, self.index
        values = self.known | self.hoisted

        def name(a: int) -> str | None:
            return f"a{a}" if i == "i" else None
        for a in S.uses(*roots):
            if a in values:
                continue
            dtype, extent = program.values[a]
            if extent is Extent.POSITION:
                values[a] = f.v(scalar.COMPUTE[dtype], f"{i}.to({TYPE[scalar.COMPUTE[dtype]]})")
            elif extent is Extent.FULL:
                values[a] = scalar.load(f,
                                        dtype, f"tl.load(x{a}_row + {self.place(f'x{a}')}, {mask})",
                                        name(a))
            else:
                values[a] = scalar.load(f, dtype, f"tl.load(x{a} + {i}, {i} < n)", name(a))
        return values

    def element(self, root: Expr, at: str) -> Val:
        """The expression at one place of each row."""
        self.index = at
        x, = self.expressions([root], self.inputs([root], f"live & ({at} < n)"), self.uniform)
        self.index = "i"
        return x


def full(program: Program) -> list[str]:
    """The names of operands and outputs that have an element at every place."""
    stored = [j for j, (k, _) in enumerate(program.outputs) if isinstance(program.stages[k], Store)]
    return [*(f"x{i}" for i, o in enumerate(program.operands) if o.is_full),
            *(f"y{j}" for j in stored)]


def strides(program: Program, layout: Layout) -> list[str]:
    """The names of the parameters after n and rows."""
    out = (["inner"] if layout.rank == 2 else []) + (["piece"] if layout.pieces else [])
    for name in full(program):
        out += [f"{name}_o"] if layout.rank == 2 else []
        out += (([] if layout.abreast else [f"{name}_r"]) +
                ([] if layout.adjacent else [f"{name}_i"]) +
                ([f"{name}_p"] if layout.pieces else []))
    return out
