"""Types of bytes that stand for several numbers, or for one of fewer bits."""
import copy
import io
import pickle

import pytest
import whet
from whet.dtypes import PACKED_TYPES


def held(dtype, *bytes_):
    return whet.tensor(bytes_, dtype=whet.uint8).view(dtype)


@pytest.mark.parametrize("dtype", PACKED_TYPES, ids=str)
def test_bytes_are_viewed_moved_and_copied(dtype):
    x = held(dtype, *range(1, 9))
    assert x.dtype is dtype is getattr(whet, dtype.name)
    assert x.element_size() == dtype.itemsize == {"bits16": 2, "complex32": 4}.get(dtype.name, 1)
    assert x.numel() * dtype.itemsize == 8
    assert x.clone().view(whet.uint8).tolist() == [*range(1, 9)]
    assert whet.cat([x, x.flip(0)]).view(whet.uint8).numel() == 16
    assert whet.stack([x, x]).t().contiguous()[0].view(whet.uint8).numel() == 2 * dtype.itemsize
    assert x.index_select(0, whet.tensor([1])).view(whet.uint8)[0] == 1 + dtype.itemsize
    assert whet.zeros(3, dtype=dtype).view(whet.uint8).tolist() == [0] * 3 * dtype.itemsize
    assert whet.empty(2, dtype=dtype, device="meta").dtype is dtype
    assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype
    assert repr(x).endswith(f"dtype={dtype})")


@pytest.mark.parametrize("dtype", PACKED_TYPES, ids=str)
def test_nothing_is_computed_in_them(dtype):
    x = whet.zeros(2, dtype=dtype)
    for f in (lambda: x + 1, lambda: x == x, lambda: x.sum(), lambda: x.to(whet.float32),
              lambda: whet.ones(2).to(dtype), lambda: whet.ones(2, dtype=dtype), lambda: x.tolist(),
              lambda: x[0].item(), lambda: whet.tensor([1], dtype=dtype), lambda: x.float(),
              lambda: whet.arange(3, dtype=dtype), lambda: x.copy_(whet.ones(2))):
        with pytest.raises(NotImplementedError, match=f"not implemented for '{dtype.letter}'"):
            f()
    with pytest.raises(RuntimeError, match="Promotion"):
        whet.promote_types(dtype, whet.float32)
    for refused in (whet.finfo, whet.iinfo, whet.set_default_dtype):
        with pytest.raises(TypeError):
            refused(dtype)
    if not dtype.has_gradients:
        with pytest.raises(RuntimeError, match="can require gradients"):
            whet.empty(2, dtype=dtype, requires_grad=True)
    with pytest.raises(NotImplementedError, match="view of its bytes"):
        whet.save({"x": x}, io.BytesIO())


def test_traced_functions_move_them():
    traced = whet.jit.trace(lambda x, i: whet.cat([x, x]).index_select(0, i).view(whet.uint8))
    for n in (0, 1, 2):
        assert traced(held(whet.int4, n, 5), whet.tensor([2, 1])).tolist() == [n, 5]


def test_unpacking_is_arithmetic_on_bytes():
    packed = held(whet.uint4, 0x21, 0x43)
    low, high = packed.view(whet.uint8) & 15, packed.view(whet.uint8) >> 4
    assert whet.stack([low, high], 1).flatten().tolist() == [1, 2, 3, 4]
