"""Copies that bring operands of a contraction into the order its register tiles read: widening,
transposing, padding.

The functions here emit internal helpers of a kernel. A source element may be narrower than the type
the kernel computes in (bfloat16, half, small integers); it is widened as it is copied, which is
exact. Strides are in bytes.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import scalar
from ..builder import BYTES, Fn, Module, Val, vec

LLVM = scalar.MEMORY
# the type a contraction computes in, where it is not the elements' own
WIDE = {
    "f16": "f32", "bf16": "f32", "i8": "i32", "u8": "i32", "i16": "i32", "u16": "i32", "u32": "i32",
    "u64": "i64"}


def size(dtype: str) -> int:
    """Bytes of an element."""
    return BYTES[LLVM[dtype]]


def widen(f: Fn, x: Val, dtype: str, wide: str) -> Val:
    """A loaded value (vector or scalar) of `dtype` in the type that the kernel computes in."""
    if dtype in scalar.HALF:
        return scalar.widen(f, x, dtype)
    return f.conv("zext" if dtype[0] == "u" else "sext", x, LLVM[wide])


def narrow(f: Fn, x: Val, dtype: str) -> Val:
    """A computed value rounded (to nearest even) or wrapped to `dtype`, as memory holds it."""
    return scalar.narrow(f, x, dtype) if dtype in scalar.HALF else f.conv("trunc", x, LLVM[dtype])


def interleave(f: Fn, a: Val, b: Val, chunk: int, group: int, high: int) -> Val:
    """Chunks of `a` and `b` alternating, taken from the lower or upper half of each group of
    lanes (unpcklps and kin)."""
    n, index = a.lanes, []
    for g in range(0, n, group):
        for c in range(g + group // 2 * high, g + group // 2 * (1 + high), chunk):
            index += [*range(c, c + chunk), *range(n + c, n + c + chunk)]
    return f.shuffle(a, b, index)


def transpose(f: Fn, rows: list[Val]) -> list[Val]:
    """L vectors of L lanes transposed: first inside the 128-bit groups, then the groups, one
    cheap shuffle a step."""
    n = rows[0].lanes
    group = min(n, 16 // BYTES[rows[0].elem])
    rows, chunk = list(rows), 1
    while chunk < group:
        for i in range(n):
            if not i & chunk:
                a, b = rows[i], rows[i + chunk]
                rows[i], rows[i + chunk] = (interleave(f, a, b, chunk, group, h) for h in (0, 1))
        chunk *= 2
    order = [
        int(format(i, f"0{group.bit_length() - 1}b")[::-1], 2) if group > 1 else 0
        for i in range(group)]
    out = list(rows)                         # each is written
    for c in range(group):
        # block q, lane group g: rows of q, column g*group + c
        blocks = [rows[q * group + order[c]] for q in range(n // group)]
        for g, v in enumerate(_transpose_groups(f, blocks, group)):
            out[g * group + c] = v
    return out


def _transpose_groups(f: Fn, blocks: Sequence[Val], group: int) -> list[Val]:
    """out[g] = lane group g of each block in turn; 1, 2 or 4 blocks of as many groups."""
    n = len(blocks) * group

    def pick(a: Val, b: Val, groups: Sequence[int]) -> Val:
        return f.shuffle(a, b, [g * group + i for g in groups for i in range(group)])
    if len(blocks) == 1:
        return list(blocks)
    if len(blocks) == 2:
        a, b = blocks
        return [pick(a, b, (g, 2 + g)) for g in range(2)]
    assert n == blocks[0].lanes and len(blocks) == 4
    halves = [
        [pick(blocks[q], blocks[q + 1], (s, s + 2, s + 4, s + 6)) for q in (0, 2)] for s in (0, 1)
    ]
    return [
        pick(halves[g % 2][0], halves[g % 2][1], [x + g // 2 for x in (0, 2, 4, 6)])
        for g in range(4)
    ]


def copy_rows(mod: Module, name: str, dtype: str, wide: str, lanes: int, vectors: int,
              linkage: str = "internal") -> None:
    """(src, src_step, steps, count, dst, dst_step): for each step, `count` adjacent elements;
    the rest of the `vectors` is zero."""
    f = mod.fn(name, [("ptr", "src"), ("i64", "src_step"), ("i64", "steps"), ("i64", "count"),
                      ("ptr", "dst"), ("i64", "dst_step")], linkage=linkage, attrs="noinline")
    src, src_step, steps, count, dst, dst_step = f.args
    t, narrow_size, wide_size = vec(LLVM[dtype], lanes), size(dtype), size(wide)

    def copies(load: Callable[..., Any]) -> None:
        def step(k: Val, s: Val, d: Val) -> tuple[Val, Val]:
            for j in range(vectors):
                x = load(f.bytes_at(s, j * lanes * narrow_size), j)
                f.store(widen(f, x, dtype, wide), f.bytes_at(d, j * lanes * wide_size))
            return f.bytes_at(s, src_step), f.bytes_at(d, dst_step)
        f.loop(0, steps, 1, step, (src, dst))
    masks = [f.lanes_below(count - j * lanes, lanes) for j in range(vectors)]
    f.if_(f.cmp("sge", count, vectors * lanes), lambda: copies(lambda p, j: f.load(t, p)),
          lambda: copies(lambda p, j: f.mload(t, p, masks[j])))


def copy_transposed(mod: Module, name: str, dtype: str, wide: str, lanes: int,
                    linkage: str = "internal") -> None:
    """(src, outer_step, inner_step, outer, inner, dst, dst_step): dst[i * dst_step + o] = src[o *
    outer_step + i * inner_step].

    Where the inner elements are adjacent, in squares of register transposes. `dst` has room for
    `outer` rounded up to whole vectors. What is there past `outer` is computed with, though
    never used, so it is written: memory may happen to hold numbers so small that each of them
    takes a processor a hundred times as long.
    """
    f = mod.fn(name, [("ptr", "src"), ("i64", "outer_step"),
                      ("i64", "inner_step"), ("i64", "outer"), ("i64", "inner"), ("ptr", "dst"),
                      ("i64", "dst_step")], linkage=linkage, attrs="noinline")
    src, outer_step, inner_step, outer, inner, dst, dst_step = f.args
    e, narrow_size, wide_size = LLVM[dtype], size(dtype), size(wide)

    def squares() -> None:
        def block(o: Val) -> None:
            rows = [f.bytes_at(src, f.imin(o + i, outer - 1) * outer_step) for i in range(lanes)]
            column = f.bytes_at(dst, o * wide_size)

            def square(i: Val) -> None:
                i = f.imin(i, inner - lanes)          # the last square overlaps the one before
                r = [
                    widen(f, f.load(vec(e, lanes), f.bytes_at(p, i * narrow_size)), dtype, wide)
                    for p in rows]
                at = f.bytes_at(column, i * dst_step)
                for x in transpose(f, r):
                    f.store(x, at)
                    at = f.bytes_at(at, dst_step)
            f.loop(0, inner, lanes, square)
        f.loop(0, outer, lanes, block)

    def one_by_one() -> None:
        def row(o: Val) -> None:
            def element(i: Val, s: Val, d: Val) -> tuple[Val, Val]:
                f.store(widen(f, f.load(e, s), dtype, wide), d)
                return f.bytes_at(s, inner_step), f.bytes_at(d, dst_step)

            f.loop(0, inner, 1, element,
                   (f.bytes_at(src, o * outer_step), f.bytes_at(dst, o * wide_size)))

        def padding(i: Val) -> None:
            f.store(f.const(vec(LLVM[wide], lanes), 0), f.bytes_at(last, i * dst_step))
        last = f.bytes_at(dst, (f.imax(outer - 1, 0) & -lanes) * wide_size)
        f.loop(0, inner, 1, padding)
        f.loop(0, outer, 1, row)
    adjacent = f.cmp("eq", inner_step, narrow_size) & f.cmp("sge", inner, lanes)
    f.if_(adjacent, squares, one_by_one)


def copy_matrix(mod: Module, name: str, dtype: str, wide: str, lanes: int,
                linkage: str = "internal") -> None:
    """(src, src_step, rows, count, dst, dst_step): rows of `count` adjacent elements; `dst` rows
    have room for whole vectors."""
    f = mod.fn(name, [("ptr", "src"), ("i64", "src_step"), ("i64", "rows"), ("i64", "count"),
                      ("ptr", "dst"), ("i64", "dst_step")], linkage=linkage, attrs="noinline")
    src, src_step, rows, count, dst, dst_step = f.args
    t, narrow_size, wide_size = vec(LLVM[dtype], lanes), size(dtype), size(wide)
    whole = count & -lanes

    def row(i: Val) -> None:
        s, d = f.bytes_at(src, i * src_step), f.bytes_at(dst, i * dst_step)

        def copy(j: Val, load: Callable[..., Any]) -> None:
            f.store(widen(f, load(f.bytes_at(s, j * narrow_size)), dtype, wide),
                    f.bytes_at(d, j * wide_size))
        f.loop(0, whole, lanes, lambda j: copy(j, lambda p: f.load(t, p)))
        f.loop(whole, count, lanes,
               lambda j: copy(j, lambda p: f.mload(t, p, f.lanes_below(count - j, lanes))))
    f.loop(0, rows, 1, row)
