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

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from whet.ir import scalar as S
from whet.ir.rows import BLOCK, HEAVY, IDENTITY, INDEXED, LANES, SUMS, Reduce, Store
from whet.passes.lower_llvm.builder import Val
from whet.passes.lower_llvm.rows.contiguous import Plan
from whet.passes.lower_llvm.scalar import is_float, is_signed

from . import scalar
from .builder import TYPE, Code, Module
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
             scalar.POINTER[o.dtype] if o.kind != "scalar" else scalar.POINTER[o.dtype][1:])
            for i, o in enumerate(program.operands) if o.kind != "index"]
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
            if o.kind == "row":
                self.known[i] = scalar.load(f, o.dtype, f"tl.load(x{i} + row, live)", f"a{i}")
            elif o.kind == "scalar":
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
        defined = [v[0] for v in self.program.values] + list(more)
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
            k: _reduction(self, k, s.kind, root) for k, root in zip(stages, roots, strict=True)
            if isinstance(s := program.stages[k], Reduce)}
        summed = {k: red for k, red in reduced.items() if isinstance(red, _Sum)}
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
        dtypes = [v[0] for v in self.program.values]
        self.uniform = [S.typeof(e, dtypes) for e in uniform]
        self.hoisted = dict(
            enumerate(self.expressions(uniform, self.known) if uniform else [], len(dtypes)))

    def finish(self, reduced: Mapping[int, _Reduction], shape: Sequence[int]) -> None:
        """The results of a walk are known."""
        for k, reduction in reduced.items():
            self.know(k, reduction.end(shape))

    def know(self, k: int, results: Sequence[Val | None]) -> None:
        """The results of a stage."""
        found = enumerate(results, self.program.results[k])
        self.known |= {at: x for at, x in found if x is not None}

    def in_lanes(self, step: Callable[[str], None], sums: Sequence[_Sum],
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
        ahead = 2 if self.heavy else UNROLLED      # (a heavy expression keeps units busy itself)
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
            dtype, kind = program.values[a]
            if kind == "index":
                values[a] = f.v(scalar.COMPUTE[dtype], f"{i}.to({TYPE[scalar.COMPUTE[dtype]]})")
            elif kind == "full":
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
    return [*(f"x{i}" for i, o in enumerate(program.operands) if o.kind == "full"),
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


# ---- reductions ----------------------------------------------------------------------------------
def _reduction(rows: _Rows, k: int, kind: str, root: Expr) -> _Reduction:
    if kind in SUMS:
        return _Sum(rows, k, kind, root)
    return (_Position if kind in INDEXED else _Extreme)(rows, k, kind, root)


class _Reduction:
    def __init__(self, rows: _Rows, k: int, kind: str, root: Expr) -> None:
        self.rows, self.f, self.k, self.kind, self.root = rows, rows.f, k, kind, root
        self.dtype = rows.program.values[rows.program.results[k]][0]
        self.ty, self.name = scalar.COMPUTE[self.dtype], f"r{rows.program.results[k]}"

    def start(self, shape: Sequence[int]) -> None:
        """The state of no elements."""
        raise NotImplementedError

    def step(self, x: Val, mask: str) -> None:
        """The state after more elements."""
        raise NotImplementedError

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        """The results, None for one that nobody wants."""
        raise NotImplementedError

    # ---- where rows are cut into parts
    @property
    def parts(self) -> list[tuple[str, str, float]]:
        """What is kept of a part: (name, type, what it is of no elements) of each number."""
        raise NotImplementedError

    def keep(self, shape: Sequence[int]) -> list[str]:
        """The numbers of a part that was walked."""
        raise NotImplementedError

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        """The results, of the numbers of all parts."""
        raise NotImplementedError


class _Sum(_Reduction):
    """sum, prod"""
    def __init__(self, rows: _Rows, k: int, kind: str, root: Expr) -> None:
        super().__init__(rows, k, kind, root)
        self.none = self.f.const(self.ty, IDENTITY[self.kind])

    def start(self, shape: Sequence[int]) -> None:
        self.f.line(f"{self.name} = tl.full({shape}, {self.none.value}, {TYPE[self.ty]})")

    def step(self, x: Val, mask: str) -> None:
        self.f.line(
            f"{self.name} {'+' if self.kind == 'sum' else '*'}= tl.where({mask}, {x.ref}, "
            f"{self.none.ref})")

    def two(self, x: str, shape: Sequence[int], axis: int) -> str:
        """Pairs along an axis of two, combined."""
        x = f"tl.reshape({x}, {shape})"
        if self.kind == "sum":
            return f"tl.sum({x}, {axis})"
        self.f.mod.helpers.setdefault("times", (self.ty, "def times(a, b):\n    return a * b\n"))
        return f"tl.reduce({x}, {axis}, times)"

    def fold(self) -> None:
        """Lanes by halves, then blocks in pairs."""
        f, t, h, total = self.f, self.rows.tile, LANES // 2, f"{self.name}_sum"
        f.line(f"{total} = {self.two(self.name, [t.rows, t.blocks, 2, h], 2)}")
        while h > 1:
            h //= 2
            f.line(f"{total} = {self.two(total, [t.rows, t.blocks, 2, h], 2)}")

        count = t.blocks
        while count > 1:
            count //= 2
            f.line(f"{total} = {self.two(total, [t.rows, count, 2], 2)}")
        f.line(f"{total} = tl.reshape({total}, [{t.rows}, 1, 1])")

    # ---- chunks: level l holds the result of 2^l of them, in the order of a binary counter
    @property
    def levels(self) -> list[str]:
        return [f"{self.name}_{l}" for l in range(self.rows.tile.chunks.bit_length())]

    def join(self, a: str, b: str) -> str:
        return f"{a} {'+' if self.kind == 'sum' else '*'} {b}"

    def start_chunks(self) -> None:
        for level in self.levels:
            self.f.line(
                f"{level} = tl.full([{self.rows.tile.rows}, 1, 1], {self.none.value}, "
                f"{TYPE[self.ty]})")

    def put_chunk(self) -> None:
        f, total = self.f, f"{self.name}_sum"
        for l, level in enumerate(self.levels):
            mask, free = (2 << l) - 1, (1 << l) - 1
            f.line(f"{level} = tl.where(chunk & {mask} == {free}, {total}, {level})")
            f.line(
                f"{total} = tl.where(chunk & {mask} == {mask}, {self.join(level, total)}, {total})")

    def fold_chunks(self) -> None:
        f, (total, *levels) = self.f, self.levels
        for l, level in enumerate(levels, 1):
            both = f.v(
                self.ty,
                f"tl.where(chunks & {(1 << l) - 1} != 0, {self.join(level, total)}, {level})").ref
            total = f.v(self.ty, f"tl.where(chunks & {1 << l} != 0, {both}, {total})").ref
        f.line(f"{self.name}_sum = {total}")

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        return [Val(self.f, f"{self.name}_sum", self.ty)]

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        return [(self.name, self.ty, self.none.value)]

    def keep(self, shape: Sequence[int]) -> list[str]:
        return [f"{self.name}_sum"]

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        (total,), (rows, _, count) = kept, shape
        while count > 1:
            count //= 2
            self.f.line(f"{self.name}_sum = {self.two(total, [rows, count, 2], 2)}")
            total = f"{self.name}_sum"
        return [self.f.v(self.ty, f"tl.reshape({total}, [{rows}, 1, 1])")]


class _Extreme(_Reduction):
    """max, min, any, all: of integers in the same order."""
    def __init__(self, rows: _Rows, k: int, kind: str, root: Expr) -> None:
        super().__init__(rows, k, kind, root)
        self.max = self.kind in ("max", "any", "max_index")
        self.int = "i64" if self.ty in ("double", "i64") else "i32"
        # to the order of the signed integers of its size
        self.flip = self.dtype in ("u32", "u64")
        self.top = -1 << int(self.int[1:]) - 1
        self.suffix = {"i1": "bool", "float": "f32", "double": "f64"}.get(self.ty, self.dtype)

    def key(self, x: Val) -> Val:
        """An integer for an element."""
        if not is_float(self.dtype):
            wide = self.f.conv("sext" if is_signed(self.dtype) else "zext", x, self.int)
            return wide ^ self.top if self.flip else wide
        side = "high" if self.max else "low"
        if self.kind in INDEXED:
            x = x + 0.0                                     # the zeros are equal
        return scalar.call(self.f,
                           f"order_{self.suffix}_nan_{side}",
                           partial(_order, nan=~self.top if self.max else self.top),
                           x)

    def value(self, x: Val) -> Val:
        if not is_float(self.dtype):
            x = x ^ self.top if self.flip else x
            return self.f.cmp("ne", x, 0) if self.ty == "i1" else self.f.conv("trunc", x, self.ty)
        return scalar.call(self.f, f"unorder_{self.suffix}", _unorder, x)

    @property
    def worst(self) -> int:
        """The key of the least (or greatest) number of the type."""
        if is_float(self.dtype):
            return _ordered_infinity(self.ty, self.max)
        low, high = _range(self.dtype)
        if self.flip:
            low, high = self.top, ~self.top
        return low if self.max else high

    def start(self, shape: Sequence[int]) -> None:
        self.f.line(f"{self.name} = tl.full({shape}, {self.worst}, {TYPE[self.int]})")

    def masked(self, x: Val, mask: str) -> Val:
        return self.f.sel(Val(self.f, mask, "i1"), self.key(x), self.worst)

    def step(self, x: Val, mask: str) -> None:
        self.f.line(
            f"{self.name} = tl.{'max' if self.max else 'min'}imum({self.name}, "
            f"{self.masked(x, mask).ref})")

    def best(self, x: str, shape: Sequence[int], least: bool = False) -> str:
        rows = shape[0]
        return (
            f"tl.reshape(tl.{'min' if least or not self.max else 'max'}(tl.reshape({x}, [{rows}, "
            f"{math.prod(shape[1:])}]), 1), [{rows}, 1, 1])")

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        return [self.value(self.f.v(self.int, self.best(self.name, shape)))]

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        return [(self.name, self.int, self.worst)]

    def keep(self, shape: Sequence[int]) -> list[str]:
        return [self.best(self.name, shape)]

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        return [self.value(self.f.v(self.int, self.best(kept[0], shape)))]


class _Position(_Extreme):
    """max_index, min_index: the best of each place in the tile and where it came first."""
    def start(self, shape: Sequence[int]) -> None:
        super().start(shape)
        self.f.line(
            f"{self.name}_at = tl.full({shape}, 0, "
            f"{'tl.int64' if self.rows.number == 'i64' else 'tl.int32'})")

    def step(self, x: Val, mask: str) -> None:
        f, key = self.f, self.masked(x, mask)
        better = f.v("i1", f"{key.ref} {'>' if self.max else '<'} {self.name}")
        f.line(f"{self.name} = tl.where({better.ref}, {key.ref}, {self.name})")
        f.line(f"{self.name}_at = tl.where({better.ref}, i, {self.name}_at)")

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        return [*super().parts, (f"{self.name}_at", self.rows.number, 0)]

    def keep(self, shape: Sequence[int]) -> list[str]:
        at = self.first_best(self.name, f"{self.name}_at", shape).ref
        return [f"{self.name}_best", at]

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        keys, spots = kept
        return self.found(self.first_best(keys, spots, shape))

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        return self.found(self.first_best(self.name, f"{self.name}_at", shape))

    def first_best(self, keys: str, spots: str, shape: Sequence[int]) -> Val:
        """Where the best of keys came first."""
        f, number = self.f, self.rows.number
        f.line(f"{self.name}_best = {self.best(keys, shape)}")
        none = f.const(number, (1 << int(number[1:]) - 1) - 1).ref
        f.line(f"{self.name}_spots = tl.where({keys} == {self.name}_best, {spots}, {none})")
        return f.v(number, self.best(f"{self.name}_spots", shape, least=True))

    def found(self, at: Val) -> list[Val | None]:
        """The results for a position."""
        f, rows = self.f, self.rows
        result = rows.program.results[self.k]
        wanted = any(result in S.uses(s.expr) for s in rows.program.stages)
        value = None
        if wanted:
            x = rows.element(self.root, at.ref)
            empty = (float("-inf" if self.max else "inf")
                     if is_float(self.dtype) else _range(self.dtype)[not self.max])
            value = f.sel(f.cmp("sgt", Val(f, "n", rows.number), 0), x, empty)
        return [value, f.v("i64", f"{at.ref}.to(tl.int64)")]


def _range(t: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    if t == "bool":
        return 0, 1
    bits = int(t[1:])
    return (-1 << bits - 1, (1 << bits - 1) - 1) if is_signed(t) else (0, (1 << bits) - 1)


def _order(f: Code, x: Val, nan: int) -> Val:
    """Bits as an integer that orders floats: negative ones turned, NaN at the end."""
    elem = {"float": "i32", "double": "i64"}[x.ty]
    bits = f.conv("bitcast", x, elem)
    key = bits ^ ((bits >> int(elem[1:]) - 1) & (1 << int(elem[1:]) - 1) - 1)
    return f.sel(f.cmp("uno", x, x), nan, key)


def _unorder(f: Code, key: Val) -> Val:
    bits = key ^ ((key >> int(key.ty[1:]) - 1) & (1 << int(key.ty[1:]) - 1) - 1)
    return f.conv("bitcast", bits, {"i32": "float", "i64": "double"}[key.ty])


def _ordered_infinity(ty: str, negative: bool) -> int:
    high = {"float": 0x7F800000, "double": 0x7FF0000000000000}[ty]
    return -high - 1 if negative else high
