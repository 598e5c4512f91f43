"""Copies to columns: one kernel makes several, and no other copies."""
import numpy as np
import pytest
import whet
from whet.cpu.interleaved_moves import MOST, move_all, together


def columns(dtype, rows, count, width=1):
    out = np.zeros((rows, count * width), dtype)
    parts = [out[:, i * width:(i + 1) * width] for i in range(count)]
    return out, parts, [(np.arange(rows * width).reshape(rows, width) * (i + 3) % 120).astype(dtype)
                        for i in range(count)]


@pytest.mark.parametrize("dtype", ["u1", "f2", "i4", "f4", "f8", "c8", "?"])
@pytest.mark.parametrize("count", [2, 5, MOST + 3])
@pytest.mark.parametrize("width", [1, 3])
def test_columns_are_written_together(dtype, count, width):
    out, parts, xs = columns(dtype, 70, count, width)
    groups = together(list(zip(parts, xs)))
    assert [len(g) for g in groups] == ([count] if count <= MOST else [MOST, count - MOST])
    for group in groups:
        move_all(group)
    assert (out == np.concatenate(xs, 1)).all()


def test_other_copies_stay_apart():
    out, parts, xs = columns("f4", 40, 4)
    pairs = list(zip(parts, xs))
    rows = [(out[:20], out[:20] + 1), (out[20:], out[20:] + 1)]
    wide, narrow = np.zeros((40, 64), "f4"), xs[1].astype("f2")
    for apart in (rows, [pairs[0], pairs[0]], [pairs[0], (parts[1][::2], xs[1][::2])],
                  [pairs[0], (parts[1], narrow)],
                  [(wide[:, :32], wide[:, :32] + 1), (wide[:, 32:], wide[:, 32:] + 1)]):
        assert len(together(apart)) == 2


def test_a_repeated_stack_is_as_the_first():
    xs = [whet.randn(300) for _ in range(20)]
    want = np.stack([x.numpy() for x in xs], -1)
    for _ in range(4):
        assert (whet.stack(xs, -1).numpy() == want).all()
