"""Digests of arrays: equal where the bits are, by the kernel that large ones have as by NumPy."""
import numpy as np
import pytest
from whet.jit.values import same_bits
from whet.jit.values.same_bits import digest

TYPES = ["f4", "f8", "f2", "c8", "i8", "i2", "u1", "?"]
SHAPES = [(300, 1000), (70000,), (1 << 16,), (3, 5), ((1 << 18) + 3,), (7, 100000), (14, 4608), ()]


def array(dtype, shape):
    made = np.random.default_rng(len(shape)).standard_normal(shape)
    return np.asarray(made * 50).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_ways_give_one_number(dtype, shape, monkeypatch):
    a = array(dtype, shape)
    by_kernel = digest(a)
    assert by_kernel == digest(a.copy(order="F"))
    monkeypatch.setattr(same_bits, "LARGE", 1 << 60)
    assert by_kernel == digest(a)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_bit_tells_arrays_apart(dtype, shape):
    a = array(dtype, shape)
    for at in {0, a.size // 3, a.size - 1}:
        b = a.copy()
        b.reshape(-1).view(np.uint8)[at * a.itemsize] ^= 1
        assert digest(a) != digest(b)


@pytest.mark.parametrize("size", [10, 100, 1 << 14, 70000, (1 << 18) + 3])
def test_all_nans_are_one(size):
    for at in (0, size // 2, size - 1):
        found = set()
        for bits in (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF):
            a = array("f4", (size,))
            a.view(np.uint32)[at] = bits
            found.add(digest(a))
        assert len(found) == 1 and digest(array("f4", (size,))) not in found
    a = array("f4", (size,))
    a[0] = np.inf
    b = a.copy()
    b[0] = np.nan
    assert digest(a) != digest(b)
