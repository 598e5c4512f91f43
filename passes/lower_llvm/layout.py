"""Rearranging values in registers."""
from .builder import parts


def transpose(f, rows):
    """n vectors of n lanes, n a power of two, as the n vectors of their columns."""
    n, s = len(rows), len(rows) // 2
    while s:
        out = [None] * n
        for i in range(n):
            if not i & s:
                a, b = rows[i], rows[i | s]
                out[i] = f.shuffle(a, b, [k if not k & s else n + (k ^ s) for k in range(n)])
                out[i | s] = f.shuffle(a, b, [k | s if not k & s else n + k for k in range(n)])
        rows, s = out, s // 2
    return rows


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
