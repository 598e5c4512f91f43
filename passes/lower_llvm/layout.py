"""Rearranging values in registers."""
from .builder import BYTES, parts


def transpose(f, rows):
    """n vectors of n lanes, n a power of two, as the n vectors of their columns.

    First within quarters of 128 bits (unpack), then the quarters themselves: shuffles that machines have, so that neither the
    code nor its generation is slow.
    """
    n, inner = len(rows), min(len(rows), 16 // BYTES[rows[0].elem])
    groups = [rows[i:i + inner] for i in range(0, n, inner)]
    width = 1
    while width < inner:                     # pairs of rows, then pairs of pairs
        groups = [_unpack(f, g, width, inner) for g in groups]
        width *= 2
    columns = [_quarters(f, [g[j] for g in groups], inner) for j in range(inner)]
    return [columns[i % inner][i // inner] for i in range(n)]


def _unpack(f, group, width, inner):
    """Interleave chunks of `width` lanes of the vectors `width` places apart, the low halves of each quarter, then the high."""
    n, out = group[0].lanes, []
    for i in range(0, len(group), 2 * width):
        for k in range(width):
            for half in (0, inner // 2):
                index = [q + half + c + w + v for q in range(0, n, inner) for c in range(0, inner // 2, width)
                         for v in (0, n) for w in range(width)]
                out.append(f.shuffle(group[i + k], group[i + k + width], index))
    return out


def _quarters(f, vectors, inner):
    """Transpose 4x4, 2x2 or 1x1 quarters."""
    n, m = vectors[0].lanes, len(vectors)

    def pick(a, b, quarters):
        return f.shuffle(a, b, [q * inner + k for q in quarters for k in range(inner)])
    if m == 1:
        return vectors
    if m == 2:
        a, b = vectors
        return [pick(a, b, (0, 2)), pick(a, b, (1, 3))]
    assert m == 4 and n == 4 * inner
    a, b, c, d = vectors
    even = [pick(a, b, (0, 2, 4, 6)), pick(c, d, (0, 2, 4, 6))]
    odd = [pick(a, b, (1, 3, 5, 7)), pick(c, d, (1, 3, 5, 7))]
    return [pick(*even, (0, 2, 4, 6)), pick(*odd, (0, 2, 4, 6)), pick(*even, (1, 3, 5, 7)), pick(*odd, (1, 3, 5, 7))]


def planes_to_pixels(f, ty, rows, low, high, to, load, change=None):
    """Turn elements low..high of n rows (pointers) into [element][row] at `to`, n at a time.

    `load(p, i, mask)` reads elements i.. of a row; `change(vectors, i, mask)` may alter them before they are turned. Fewer than n
    lines past the end are overwritten.
    """
    n, elem = parts(ty)

    def chunk(i):
        mask = f.lanes_below(high - i, n)
        vectors = [load(p, i, mask) for p in rows]
        line = f.at(to, (i - low) * n, elem)
        for k, v in enumerate(transpose(f, change(vectors, i, mask) if change else vectors)):
            f.store(v, f.at(line, k * n, elem))
    f.loop(low, high, n, chunk)
