"""Rearranging values in registers."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import targets
from .builder import BYTES, Fn, Val, parts


def transpose(f: Fn, rows: Sequence[Val]) -> list[Val]:
    """n vectors of n lanes, n a power of two, as the n vectors of their columns.

    First within quarters of 128 bits (unpack), then the quarters themselves: shuffles that machines
    have, so that neither the code nor its generation is slow.
    """
    n, inner = len(rows), min(len(rows), 16 // BYTES[rows[0].elem])
    groups = [rows[i:i + inner] for i in range(0, n, inner)]
    width = 1
    while width < inner:                     # pairs of rows, then pairs of pairs
        groups = [_unpack(f, g, width, inner) for g in groups]
        width *= 2
    columns = [_quarters(f, [g[j] for g in groups], inner) for j in range(inner)]
    return [columns[i % inner][i // inner] for i in range(n)]


def _unpack(f: Fn, group: Sequence[Val], width: int, inner: int) -> list[Val]:
    """Interleave chunks of `width` lanes of the vectors `width` places apart, the low halves of
    each quarter, then the high."""
    n, out = group[0].lanes, []
    for i in range(0, len(group), 2 * width):
        for k in range(width):
            for half in (0, inner // 2):
                index = [
                    q + half + c + w + v for q in range(0, n, inner)
                    for c in range(0, inner // 2, width) for v in (0, n) for w in range(width)]
                out.append(f.shuffle(group[i + k], group[i + k + width], index))
    return out


def _quarters(f: Fn, vectors: Sequence[Val], inner: int) -> list[Val]:
    """Transpose 4x4, 2x2 or 1x1 quarters."""
    n, m = vectors[0].lanes, len(vectors)

    def pick(a: Val, b: Val, quarters: tuple[int, ...]) -> Val:
        return f.shuffle(a, b, [q * inner + k for q in quarters for k in range(inner)])
    if m == 1:
        return list(vectors)
    if m == 2:
        a, b = vectors
        return [pick(a, b, (0, 2)), pick(a, b, (1, 3))]
    assert m == 4 and n == 4 * inner
    a, b, c, d = vectors
    low, high = (0, 2, 4, 6), (1, 3, 5, 7)
    p, q = pick(a, b, low), pick(c, d, low)
    r, s = pick(a, b, high), pick(c, d, high)
    return [pick(p, q, low), pick(r, s, low), pick(p, q, high), pick(r, s, high)]


def planes_to_pixels(f: Fn, ty: str, rows: Sequence[Val], low: Val, high: Val, to: Val,
                     load: Callable[..., Any], change: Callable[..., Any] | None = None) -> None:
    """Turn elements low..high of n rows (pointers) into [element][row] at `to`, n at a time.

    `load(p, i, mask)` reads elements i.. of a row; `change(vectors, i, mask)` may alter them before
    they are turned. Fewer than n lines past the end are overwritten.
    """
    n, elem = parts(ty)

    def chunk(i: Val) -> None:
        mask = f.lanes_below(high - i, n)
        vectors = [load(p, i, mask) for p in rows]
        line = f.at(to, (i - low) * n, elem)
        for k, v in enumerate(transpose(f, change(vectors, i, mask) if change else vectors)):
            f.store(v, f.at(line, k * n, elem))
    f.loop(low, high, n, chunk)


# ---- elements that lie k apart -------------------------------------------------------------------
def pick(f: Fn, vectors: Sequence[Val], spots: Sequence[tuple[int, int]]) -> Val:
    """A vector whose lanes come from several vectors: lane i is `spots[i]`, a pair (vector,
    lane)."""
    n = len(spots)
    if (len(vectors) > 2 and len({lane for _, lane in spots}) == n
            and targets.current().name != "avx512"):
        # blends, and one permutation: those that take two vectors are slow
        wanted = {lane: s for s, lane in spots}
        return f.shuffle(_blend(f, vectors, [wanted[lane] for lane in range(n)]),
                         None, [lane for _, lane in spots])
    first, *others = sorted({s for s, _ in spots})
    made = vectors[first]
    have: list[int | None] = [lane if at == first else None for at, lane in spots]
    for s in others:
        made = f.shuffle(made, vectors[s], [
            h if h is not None else n + lane if at == s else 0
            for h, (at, lane) in zip(have, spots, strict=True)])
        have = [
            i if h is not None or at == s else None
            for i, (h, (at, _)) in enumerate(zip(have, spots, strict=True))]
    return made if have == list(range(n)) else f.shuffle(made, None, have)


def _factor(k: int) -> int:
    return next(p for p in range(2, k + 1) if k % p == 0)


def columns(f: Fn, vectors: Sequence[Val]) -> list[Val]:
    """k vectors of consecutive elements as k vectors of elements that are k apart."""
    k, n = len(vectors), vectors[0].lanes
    if k == 1:
        return list(vectors)
    p = _factor(k)
    groups = [[
        pick(f, vectors[g:g + p], [divmod(r + p * t, n) for t in range(n)]) for r in range(p)]
              for g in range(0, k, p)]
    parts = [columns(f, [group[r] for group in groups]) for r in range(p)]
    return [parts[j % p][j // p] for j in range(k)]


def consecutive(f: Fn, vectors: Sequence[Val]) -> list[Val]:
    """The other way."""
    k, n = len(vectors), vectors[0].lanes
    if k == 1:
        return list(vectors)
    p = _factor(k)
    parts = [consecutive(f, vectors[r::p]) for r in range(p)]
    if p > 2 and targets.current().name != "avx512":         # each to its lanes, then blends
        for r, part in enumerate(parts):
            order = sorted(range(n), key=lambda t: (p * t + r) % n)
            parts[r] = [f.shuffle(x, None, order) for x in part]
        return [
            _blend(f, group, [(i + at) % p for i in range(n)])
            for group in zip(*parts, strict=True) for at in range(0, p * n, n)]
    return [pick(f, group, [((i + at) % p, (i + at) // p) for i in range(n)])
            for group in zip(*parts, strict=True) for at in range(0, p * n, n)]


def _blend(f: Fn, vectors: Any, which: Any) -> Any:
    """Lane i of vector which[i]."""
    made = vectors[0]
    for s, v in enumerate(vectors[1:], 1):
        made = f.shuffle(made, v, [i + len(which) * (at == s) for i, at in enumerate(which)])
    return made


def load_columns(f: Fn, ty: str, p: Val, k: int, m: int = 1) -> list[Val]:
    """The first m elements of as many rows, k elements apart, as a vector has lanes: a vector of
    each. Nothing behind the last is read."""
    n, elem = parts(ty)
    end, vectors = (n - 1) * k + m, []
    for at in range(0, n * k, n):
        q = f.bytes_at(p, at * BYTES[elem]) if at else p
        vectors.append(f.load(ty, q) if at + n <= end else f.const(ty, 0) if at >= end
                       else f.mload(ty, q, f.vector("i1", [at + i < end for i in range(n)])))
    return columns(f, vectors)[:m]


def store_apart(f: Fn, x: Val, p: Val, k: int) -> None:
    """Store the elements of a vector k elements apart, and nothing between them."""
    n = x.lanes
    for at in range(0, n * k, n):
        mine = [not (at + i) % k for i in range(n)]
        spread = f.shuffle(x, None, [(at + i) // k for i in range(n)])
        f.mstore(spread, f.bytes_at(p, at * BYTES[x.elem]) if at else p, f.vector("i1", mine))


def transposed(f: Fn, rows: list[Val]) -> list[Val]:
    """The columns of a square of vectors, by exchanging halves of ever smaller squares."""
    n = len(rows)
    half = n // 2
    while half:
        low = [i - half + n if i & half else i for i in range(n)]
        high = [i + n if i & half else i + half for i in range(n)]
        rows = list(rows)
        for r in range(n):
            if not r & half:
                a, b = rows[r], rows[r + half]
                rows[r], rows[r + half] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        half //= 2
    return rows
