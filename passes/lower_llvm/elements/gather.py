"""Elements at given places along one dimension: out[o, j, i] = x[o, index[o, j, i], i], all
row-major, bounds checked.

Arguments: x, index (i64), out, bad (one i64, set to 1 where an index is out of range: nothing is
read there), the sizes O, N (of x) and J, I, whether the work units are the o (else they are the j).

And the way back: x[o, index[o, j, i], i] becomes source[o, j, i], or that and what is there, in the
order of j, with indices that were checked before.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import targets
from ..builder import Fn, Module, Val, vec

WHERE = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
UNROLL = 4
FEW = 2                 # so many elements are put one by one


def _prologue(
    module: Module, symbol: str
) -> tuple[Fn, list[Val], tuple[Val, Val, Val, Val], tuple[tuple[Val, Val], tuple[Val, Val]]]:
    """The function, its operands, and the ranges of o and j that a call does."""
    f = module.kernel(symbol)
    args, begin, end, _ = f.args
    pointers = [f.load("ptr", f.at(args, k, "i64"), 8) for k in range(4)]
    outer, n, along, inner, by_outer = (f.load("i64", f.at(args, k, "i64"), 8) for k in range(4, 9))
    rows, zero = f.cmp("ne", by_outer, 0), f.as_val(0, "i64")
    o_range, j_range = (f.sel(rows, begin, 0),
                        f.sel(rows, end, outer)), (f.sel(rows, zero, begin),
                                                   f.sel(rows, along, end))
    return f, pointers, (outer, n, along, inner), (o_range, j_range)


def _place(f: Fn, k: Val, n: Val, wrap: bool) -> tuple[Val, Val]:
    """(an index that is safe to read at, the index as an unsigned number, which is n or more if it
    was out of range)."""
    if wrap:
        k = f.sel(f.cmp("slt", k, 0), k + n, k)
    return f.intr("umin", k, n - 1), k


def _largest(f: Fn, worst: Val, found: list[Val], lanes: int) -> Val:
    """The largest of a number and of all lanes of some vectors."""
    for w in found:
        worst = f.intr("umax", worst, f.call(f"llvm.vector.reduce.umax.v{lanes}i64", "i64", w))
    return worst


def _report(f: Fn, worst: Val, n: Val, bad: Val) -> None:
    f.if_(f.cmp("uge", worst, n), lambda: f.store(f.as_val(1, "i64"), bad))


def emit(module: Module, symbol: str, itemsize: int, flat: bool, wrap: bool,
         one_index: bool = False) -> None:
    """The kernel for elements of `itemsize` bytes. `flat`: I is 1. `wrap`: negative indices count
    from the end. `one_index`: the index is a vector, the same for every o (and I is 1)."""
    target = targets.current()
    elem = WHERE[itemsize]
    # where gathers are quick
    lanes = target.lanes(8) if target.name == "avx512" and itemsize >= 4 else 0
    f, (x, index, out, bad), (_, n, along, inner), ((o0, o1), (j0, j1)) = _prologue(module, symbol)

    def one(row: Val, at: Val, column: Any, worst: Val, which: Val | None = None) -> Val:
        place, k = _place(f, f.load("i64", f.at(index, at if which is None else which, "i64")), n,
                          wrap)
        f.store(f.load(elem, f.at(row, place if flat else place * inner + column, elem)),
                f.at(out, at, elem))
        return f.intr("umax", worst, k)

    def each_row(o: Val, worst: Val) -> list[Val]:
        row = f.at(x, o * n * inner, elem)
        start = o * along
        if not flat:
            def each(j: Val, worst: Val) -> list[Val]:
                first = (start + j) * inner
                return f.loop(0, inner, 1, lambda i, worst: one(row, first + i, i, worst), [worst])
            return f.loop(j0, j1, 1, each, [worst])

        def single(j: Val, worst: Val) -> Val:
            return one(row, start + j, None, worst, j if one_index else None)

        def several(j: Val, *worst: Val) -> list[Val]:
            out_worst = []
            for u, w in enumerate(worst):
                at = start + j + u * lanes
                which = f.at(index, j + u * lanes if one_index else at, "i64")
                place, k = _place(f, f.load(vec("i64", lanes), which), n, wrap)
                places = f.v(vec("ptr", lanes),
                             f"getelementptr {elem}, ptr {row.ref}, {place.ty} {place.ref}")
                f.store(f.gather(vec(elem, lanes), places), f.at(out, at, elem))
                out_worst.append(f.intr("umax", w, k))
            return out_worst
        whole = j0
        if lanes:
            step = UNROLL * lanes
            whole = j0 + ((j1 - j0) & -step)
            found = f.loop(j0, whole, step, several, [f.const(vec("i64", lanes), 0)] * UNROLL)
            worst = _largest(f, worst, found, lanes)
        return f.loop(whole, j1, 1, single, [worst])
    worst, = f.loop(o0, o1, 1, each_row, [f.as_val(0, "i64")])
    _report(f, worst, n, bad)


def emit_rows(module: Module, symbol: str, lanes: int, wrap: bool) -> None:
    """Whole rows: out[o, j, :] = x[o, index[j], :], `I` counted in bytes; copied in vectors."""
    f, (x, index, out, bad), (_, n, along, size), ((o0, o1), (j0, j1)) = _prologue(module, symbol)
    ty = vec("i8", lanes)
    whole, rest = size & -lanes, size & (lanes - 1)

    def each(o: Val, j: Val, worst: Val) -> Val:
        place, k = _place(f, f.load("i64", f.at(index, j, "i64")), n, wrap)
        src, dst = f.bytes_at(x, (o * n + place) * size), f.bytes_at(out, (o * along + j) * size)
        f.loop(0, whole, lanes,
               lambda i: f.store(f.load(ty, f.bytes_at(src, i)), f.bytes_at(dst, i)))
        f.if_(
            f.cmp("ne", rest, 0),
            lambda: f.if_(f.cmp("ne", whole, 0), lambda: end(src, dst, lanes), lambda: short(
                src, dst, lanes // 2)) and None)
        return f.intr("umax", worst, k)

    def end(src: Val, dst: Val, width: int) -> None:
        """Copy the last `width` bytes (some of them again)."""
        ty = vec("i8", width) if width > 1 else "i8"
        f.store(f.load(ty, f.bytes_at(src, size - width)), f.bytes_at(dst, size - width))

    def short(src: Val, dst: Val, width: int) -> None:
        """Copy fewer than twice `width` bytes: the first and the last of the largest power of
        two that there are."""
        def both() -> None:
            ty = vec("i8", width)
            f.store(f.load(ty, src), dst)
            end(src, dst, width)
        if width == 1:
            end(src, dst, 1)
        else:
            f.if_(f.cmp("sge", size, width), both, lambda: short(src, dst, width // 2))

    worst, = f.loop(o0, o1, 1, lambda o, w: f.loop(j0, j1, 1, lambda j, w: each(o, j, w), [w]),
                    [f.as_val(0, "i64")])
    _report(f, worst, n, bad)


def emit_bounds(module: Module, symbol: str) -> None:
    """Are indices in range? Arguments: index, what is added to each, their bound after that, bad
    (set to 1 if one is out of range)."""
    f = module.kernel(symbol)
    args, begin, end, _ = f.args
    index, added, limit, bad = (f.load(ty, f.at(args, k, "i64"), 8)
                                for k, ty in enumerate(("ptr", "i64", "i64", "ptr")))
    lanes = targets.current().lanes(8)
    step = UNROLL * lanes

    def several(i: Val, *worst: Val) -> list[Val]:
        found = []
        for u, w in enumerate(worst):
            some = f.load(vec("i64", lanes), f.at(index, i + u * lanes, "i64"))
            found.append(f.intr("umax", w, some + added))
        return found
    whole = begin + ((end - begin) & -step)
    found = f.loop(begin, whole, step, several, [f.const(vec("i64", lanes), 0)] * UNROLL)
    worst = _largest(f, f.as_val(0, "i64"), found, lanes)
    worst, = f.loop(whole, end, 1,
                    lambda i, w: [f.intr("umax", w,
                                         f.load("i64", f.at(index, i, "i64")) + added)],
                    [worst])
    _report(f, worst, limit, bad)


def emit_put(module: Module, symbol: str, elem: str, lanes: int,
             combined: Callable[[Fn, Val, Val], Val] | None, each: bool, wrap: bool) -> None:
    """The way back, for elements of an LLVM type. `combined(f, x, y)` combines the old element with
    a new one; None: the new one replaces it. `each`: every element has its own index; otherwise a
    vector of indices names whole rows. `wrap`: negative indices count from the end. Arguments: x,
    index, source, O, N, J, I, and the number of i in a work unit (fewer in the last one); if that
    is 0, a unit is an o."""
    f = module.kernel(symbol)
    args, begin, end, _ = f.args
    x, index, source = (f.load("ptr", f.at(args, k, "i64"), 8) for k in range(3))
    outer, n, along, inner, piece = (f.load("i64", f.at(args, k, "i64"), 8) for k in range(3, 8))
    rows, zero = f.cmp("eq", piece, 0), f.as_val(0, "i64")
    o0, o1, i0, i1 = (f.sel(rows, begin, zero), f.sel(rows, end, outer), begin * piece,
                      f.sel(rows, inner, f.imin(end * piece, inner)))

    def place(at: Val) -> Val:
        k = f.load("i64", f.at(index, at, "i64"))
        return f.sel(f.cmp("slt", k, 0), k + n, k) if wrap else k

    def move(ty: str, to: Val, at: Val) -> None:
        v, p = f.load(ty, f.at(source, at, elem)), f.at(x, to, elem)
        f.store(v if combined is None else combined(f, f.load(ty, p), v), p)

    def step(o: Val, j: Val) -> None:
        first = (o * along + j) * inner
        if each:
            f.loop(i0,
                   i1,
                   1, lambda i: move(elem, (o * n + place(first + i)) * inner + i, first + i))
            return
        to = (o * n + place(j)) * inner
        whole = i0 + ((i1 - i0) & -lanes)
        f.loop(i0, whole, lanes, lambda i: move(vec(elem, lanes), to + i, first + i))
        f.if_(f.cmp("sgt", i1 - whole, FEW), lambda: rest(whole, to, first, lanes // 2),
              lambda: f.loop(whole, i1, 1, lambda i: move(elem, to + i, first + i)) and None)

    def rest(i: Val, to: Val, first: Val, width: int) -> None:
        """Fewer than twice `width` elements from number i on: half a vector, a quarter of one, and
        so on, as the bits of how many they are say."""
        def some() -> list[Val]:
            move(vec(elem, width) if width > 1 else elem, to + i, first + i)
            return [i + width]
        if width:
            done, = f.if_(f.cmp("ne", (i1 - i) & width, 0), some, lambda: [i])
            rest(done, to, first, width // 2)
    f.loop(o0, o1, 1, lambda o: f.loop(0, along, 1, lambda j: step(o, j)) and None)
