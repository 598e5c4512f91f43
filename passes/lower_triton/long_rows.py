"""Row programs on few rows, whose elements are shared by many programs: the same bits.

Each walk is two kernels. The first walks parts of rows, each a whole number of blocks, and keeps
what reductions found in each part; the second joins these, in pairs as blocks are, and computes
what is stored for each row. What later walks need of a row goes through memory: the result of
argument a is `k{a}`. What is kept of parts is `s0`, `s1` ..., each part behind the other.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whet.ir.rows import BLOCK, Reduce

from . import scalar
from .reductions import Reduction, reduction
from .rows import Layout, Tile, _Rows, up

if TYPE_CHECKING:
    from whet.ir.rows import Pass, Program

    from .source import Source

MOST = 1 << 12                      # parts of a row
MEMORY = {"float": "*fp32", "double": "*fp64", "i1": "*i8", "i8": "*i8", "i16": "*i16",
          "i32": "*i32", "i64": "*i64"}


class Walk(NamedTuple):
    """The kernels of a walk; None where there is nothing to do."""
    part: Source | None
    join: Source | None


def cut(n: int, adjacent: bool = True) -> tuple[Tile, int]:
    """(the tile of a part of rows of n elements, how many parts a row has)"""
    blocks = 4 if adjacent else 1
    chunks = max(1, up(-(-n // (blocks * BLOCK * MOST))))
    made = Tile(1 if adjacent else 32, blocks, chunks, 1024 if adjacent else 32)
    return made, -(-n // (blocks * BLOCK * chunks))


def lower(program: Program, layout: Layout, tile: Tile, parts: int,
          wide: bool = False) -> list[Walk]:
    """The kernels of each walk, for rows of at most so many parts (a power of two)."""
    walks = []
    for p in _Rows(program, layout, tile, wide).plan.passes:
        part = _Part(program, layout, tile, wide, p)
        join = _Join(program, layout, Tile(1, 1, 1, parts), wide, p)
        walks.append(Walk(part.source() if part.stages else None,
                          join.source() if join.joins or p.rows else None))
    return walks


class _Parts(_Rows):
    """What both kernels of a walk have in common."""

    def __init__(self, program: Program, layout: Layout, tile: Tile, wide: bool, p: Pass) -> None:
        super().__init__(program, layout, tile, wide)
        self.p = p
        self.stages = [k for k in p.stages if self.plan.work(k)]
        self.joins = [k for k in self.stages if isinstance(program.stages[k], Reduce)]
        self.kept: list[tuple[str, str]] = []      # parameters for what is kept of parts
        before = self.plan.passes[:self.plan.passes.index(p)]
        self.earlier = [a for q in before for a in self.results(q)]

    def results(self, p: Pass) -> list[int]:
        """The arguments that a walk defines for each row."""
        stages = [(k, self.program.stages[k]) for k in p.stages]
        return [self.program.results[k] + i for k, s in stages if isinstance(s, Reduce)
                for i in range(s.defined_count)]

    def read_known(self) -> None:
        """What earlier walks found of the rows."""
        for a in self.earlier:
            t = self.program.values[a].dtype
            self.known[a] = scalar.load(self.f, t, f"tl.load(k{a} + row, live)", f"a{a}")

    def for_rows(self, results: Sequence[int]) -> list[tuple[str, str]]:
        """The parameters for results of rows and for parts."""
        known = [(f"k{a}", scalar.POINTER[self.program.values[a].dtype]) for a in results]
        return [*known, *self.kept, ("parts", self.number)]


class _Part(_Parts):
    def source(self) -> Source:
        f, t = self.f, self.tile
        f.line(f"program = tl.program_id(0){self.wide}")
        f.line("part = program % parts")
        self.line_up("(program // parts)")
        self.read_known()
        span = t.blocks * BLOCK * t.chunks
        f.line(f"first = part * {span}")
        f.line(f"end = tl.minimum(n, first + {span})")
        self.first, self.end = "first", "end"
        self.walk(self.p)
        return self.made("part", self.for_rows(self.earlier), f"cdiv(rows, {t.rows}) * parts")

    def finish(self, reduced: Mapping[int, Reduction], shape: Sequence[int]) -> None:
        for found in reduced.values():
            for (_, ty, _), x in zip(found.parts, found.keep(shape), strict=True):
                name = f"s{len(self.kept)}"
                self.kept.append((name, MEMORY[ty]))
                self.f.line(f"tl.store({name} + row * parts + part, {x}, live)")


class _Join(_Parts):
    def source(self) -> Source:
        f, program = self.f, self.program
        self.line_up(f"tl.program_id(0){self.wide}")
        self.read_known()
        f.line(f"c = tl.arange(0, {self.tile.width})[None, None, :]")
        f.line("here = live & (c < parts)")
        shape = [1, 1, self.tile.width]
        roots, uniform = self.plan.hoist([self.plan.expression(k) for k in self.stages])
        self.hoist(uniform)
        for k, root in zip(self.stages, roots, strict=True):
            stage = program.stages[k]
            if isinstance(stage, Reduce):
                found = reduction(self, k, stage.kind, root)
                kept = [self.kept_of(ty, none) for _, ty, none in found.parts]
                self.know(k, found.join_parts(kept, shape))
        self.store_rows(self.p)
        results = [a for a in self.results(self.p) if a in self.known]
        for a in results:                            # for later walks
            x = scalar.stored(self.known[a], program.values[a].dtype)
            f.line(f"tl.store(k{a} + row, {x}, live)")
        return self.made("join", self.for_rows([*self.earlier, *results]), "rows")

    def kept_of(self, ty: str, none: float) -> str:
        """The numbers of all parts."""
        name = f"s{len(self.kept)}"
        self.kept.append((name, MEMORY[ty]))
        none_of = self.f.const(ty, none).ref
        return self.f.v(ty, f"tl.load({name} + row * parts + c, here, other={none_of})").ref
