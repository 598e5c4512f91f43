"""Results of spans combined in pairs, where the spans were computed by different threads."""
from whet.ir.rows import LANES
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import SIZE, reduction
from whet.passes.lower_llvm.scalar import COMPUTE


def emit_combine(mod, symbol, kind, dtype, wide):
    """Combine x[a, spans, columns] over spans, level by level and in place, into y[a, columns]; a
    unit of work is one a.

    Slots: x, y, spans, columns. `wide`: many columns, taken a vector at a time; else one after the
    other."""
    f = mod.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, _ = f.args
    x, y = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    spans, columns = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3))
    red, elem, size = reduction(kind, dtype), COMPUTE[dtype], SIZE[dtype]
    W = min(LANES, targets.current().lanes(size)) if wide else 0
    ty = vec(elem, W)

    def unit(a):
        def column(c):
            mask = f.lanes_below(columns - c, W) if wide else None
            first = f.bytes_at(x, (a * spans * columns + c) * size)

            def at(b):
                return f.bytes_at(first, b * columns * size)

            def get(b):
                return f.mload(ty, at(b), mask) if wide else f.load(ty, at(b))

            def put(v, p):
                f.put(mask, (v, p)) if wide else f.store(v, p)

            def level(left):
                half = left >> 1
                f.loop(0, half, 1,
                       lambda b: put(red.merge(f, [get(b + b)], [get(b + b + 1)])[0], at(b)))
                f.if_(f.cmp("ne", left & 1, 0), lambda: put(get(left - 1), at(half)))
                return [left - half]
            f.while_(lambda left: f.cmp("sgt", left, 1), level, [spans])
            put(get(f.const("i64", 0)), f.bytes_at(y, (a * columns + c) * size))
        f.loop(0, columns, max(W, 1), column)
    f.loop(begin, end, 1, unit)
