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
from whet.passes.lower_llvm.rows.column_panel import Panel
from whet.passes.lower_llvm.rows.lanes import lanes_for, types_in
from whet.passes.lower_llvm.rows.row_kernel import Kernel, Plan

if TYPE_CHECKING:
    from whet.ir.rows import Program
    from whet.passes.lower_llvm.builder import Module, Val


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
            rest, part = u, None
            if self.partial:
                part, rest = f.urem(u, self.spans), f.udiv(u, self.spans)
            a = f.udiv(rest, panels)
            c = (rest - a * panels) * width
            masks: list[Val | None] = [None] * self.vectors
            if self.masked:
                masks = [f.lanes_below(self.columns - (c + v * self.W), self.W)
                         for v in range(self.vectors)]
            else:
                c = f.imin(c, self.columns - width)
            Panel(self, a, c, masks, part).emit()
        f.loop(f.args[1], f.args[2], 1, unit)

    def memory(self, what: tuple[str, int], ty: str, count: int) -> Val:
        """Scratch memory of this name, reserved once."""
        key = (what, ty, count)
        if key not in self.scratch:
            self.scratch[key] = self.f.alloca(ty, count)
        return self.scratch[key]
