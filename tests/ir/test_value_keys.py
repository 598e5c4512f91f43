"""Keys of Python values: equal where the values are the same in type and to the bit."""
import math
import struct

import numpy as np
import pytest
from whet.ir.value_keys import TooLarge, layout_key, value_key

OTHER_NAN, = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))


def adder(n):
    return lambda x: x + n


@pytest.mark.parametrize("a, b", [
    (1, 1.0), (1, True), (0.0, -0.0), (complex(0.0, 0.0), complex(0.0, -0.0)),
    (math.nan, OTHER_NAN), ((1, 2), [1, 2]), (slice(0, 1), slice(0, True)), ("1", 1),
    (np.float32(0.0), np.float32(-0.0)), (np.float32(1), np.float64(1)), (np.float64(1), 1.0),
    (np.zeros(2), np.array([0.0, -0.0])), (np.zeros((2, 3)), np.zeros((3, 2)).T),
    (np.zeros(2), np.zeros(2, np.float32)), ({"a": 1}, {"a": 1.0}), (adder(1), adder(1.0)),
    ([1].append, [1].append),
])
def test_values_that_are_not_the_same_have_other_keys(a, b):
    assert value_key(a) != value_key(b)
    assert value_key([a]) != value_key([b])


@pytest.mark.parametrize("a, b", [
    (math.nan, float("nan")), ((1, [2.0]), (1, [2.0])), (slice(0, 1), slice(0, 1)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.arange(3), np.arange(3)), (adder(1), adder(1)),
])
def test_the_same_values_have_equal_keys(a, b):
    assert value_key(a) == value_key(b)
    assert hash(value_key(a)) == hash(value_key(b))


def test_large_arrays_are_not_read_where_nobody_wants_that():
    assert value_key((np.zeros(4),), largest=4) == value_key((np.zeros(4),))
    with pytest.raises(TooLarge):
        value_key({"x": (np.zeros(5),)}, largest=4)


def test_a_layout_is_shape_strides_and_type():
    a = np.zeros((2, 3), np.float32)
    assert layout_key(a) == layout_key(a + 1)
    assert layout_key(a) != layout_key(np.asfortranarray(a))
