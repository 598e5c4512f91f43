"""Results of spans combined in pairs, where the spans were computed by different threads."""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.ir.rows import LANES
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import SIZE, reduction
from whet.passes.lower_llvm.scalar import COMPUTE

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Module, Val


def emit_combine(mod: Module, symbol: str, kind: str, dtype: str, wide: bool) -> None:
    """Combine x[a, spans, columns] over spans, level by level and in place, into y[a, columns]; a
    unit of work is one a.

    Slots: x, y, spans, columns. `wide`: many columns, taken a vector at a time; else one after the
    other."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    x, y = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    spans, columns = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3))
    red, elem, size = reduction(kind, dtype), COMPUTE[dtype], SIZE[dtype]
    W = min(LANES, targets.current().lanes(size)) if wide else 0
    ty = vec(elem, W)

    def unit(a: Val) -> None:
        def column(c: Val) -> None:
            mask = f.lanes_below(columns - c, W) if wide else None
            first = f.bytes_at(x, (a * spans * columns + c) * size)

            def at(b: Val) -> Val:
                return f.bytes_at(first, b * columns * size)

            def get(b: Val) -> Val:
                return f.load(ty, at(b)) if mask is None else f.mload(ty, at(b), mask)

            def put(v: Val, p: Val) -> None:
                f.store(v, p) if mask is None else f.put(mask, (v, p))

            def level(left: Val) -> list[Val]:
                half = left >> 1
                f.loop(0, half, 1,
                       lambda b: put(red.merge(f, [get(b + b)], [get(b + b + 1)])[0], at(b)))
                f.if_(f.cmp("ne", left & 1, 0), lambda: put(get(left - 1), at(half)))
                return [left - half]
            f.while_(lambda left: f.cmp("sgt", left, 1), level, [spans])
            put(get(f.const("i64", 0)), f.bytes_at(y, (a * columns + c) * size))
        f.loop(0, columns, max(W, 1), column)
    f.loop(begin, end, 1, unit)
