"""Rearranging values in registers."""


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
