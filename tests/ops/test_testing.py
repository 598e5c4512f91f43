"""`whet.testing`: what is close to what, how differences are told, and tensors for tests."""
import collections
import re

import numpy as np
import pytest
import whet
from whet.testing import assert_close, make_tensor

x = whet.tensor([1.0, 2.0])
NAN = float("nan")


@pytest.mark.parametrize("a, b, how", [
    (1, 1.0, dict(check_dtype=False)), (NAN, NAN, dict(equal_nan=True)), (2**70, 2**70, {}),
    (np.float32(1), np.float64(1), {}), (np.ones(2), np.ones(2), {}), (True, np.True_, {}),
    ([x, x], (x, x), {}), (collections.deque([x]), [x], {}), (range(3), [0, 1, 2], {}),
    ({"a": [x, 1]}, collections.UserDict(a=[x, 1]), {}), (None, None, {}),
    (whet.nn.Parameter(x), x, {}), (x, x.double(), dict(check_dtype=False)),
    (whet.eye(2).to_sparse(), whet.eye(2).to_sparse(), {}),
    (whet.eye(2).to_sparse_csr(), whet.eye(2).to_sparse_csr(), {}),
    (whet.eye(2).to_sparse(), whet.eye(2), dict(check_layout=False))])
def test_what_is_close(a, b, how):
    assert_close(a, b, **how)
    with pytest.raises(AssertionError):
        assert_close([a, 1], [b, 2], **how)


@pytest.mark.parametrize("a, b, text", [
    (1, 1.0, "The (d)types do not match"), (True, False, "Booleans mismatch"), (NAN, NAN, "close"),
    (1, 2, "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\n"),
    (whet.tensor(1.0), whet.tensor(2.0), "Scalars are not close!"), (x, None, "None mismatch"),
    (x, x[:1], "'shape' do not match: whet.Size([2]) != whet.Size([1])"),
    (whet.tensor([1, 2]), whet.tensor([1, 3]), "Greatest absolute difference: 1 at index (1,)\n"),
    (whet.tensor([NAN, 1]), whet.tensor([2.0, 1]), "difference: nan at index (0,)"),
    (whet.eye(2).to_sparse(), whet.eye(2), "'layout' do not match"),
    (whet.eye(2).to_sparse(), 2 * whet.eye(2).to_sparse(), "Sparse COO values are not close!"),
    (whet.eye(2).to_sparse(), whet.ones(2, 2).to_sparse(), "number of specified values"),
    ([[x]], [[x + 1]], "for item [0][0]"), ({"a": x}, {"b": x}, "keys")])
def test_how_differences_are_told(a, b, text):
    with pytest.raises(AssertionError, match=re.escape(text)):
        assert_close(a, b)


def test_messages_of_the_user():
    for msg, said in ("hm", "hm"), (lambda s: f"<{s}>", "<Tensor-likes.*item \\[0\\]>"):
        with pytest.raises(AssertionError, match=f"(?s)^{said}$"):
            assert_close([x], [x + 1], msg=msg)


@pytest.mark.parametrize("a, b, how", [
    (1.0, whet.tensor(1.0), {}), ([1.0, 2.0], x, {}), (np.ones(2), whet.ones(2), {}),
    ("a", "a", {}), ({1}, {1}, {}), (whet.nn.Parameter(x), x, dict(allow_subclasses=False))])
def test_what_cannot_be_compared(a, b, how):
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(a, b, **how)


TYPES = [whet.bool, whet.uint8, whet.int8, whet.int16, whet.int64, whet.float16, whet.bfloat16,
         whet.float32, whet.float64, whet.complex64]


@pytest.mark.parametrize("dtype", TYPES)
def test_made_tensors_are_between_their_bounds(dtype):
    def bounds(**how):
        t = make_tensor(2000, dtype=dtype, **how)
        assert t.dtype is dtype
        t = whet.view_as_real(t) if dtype.is_complex else t
        t = t.double()
        assert t.isfinite().all()
        return t.min().item(), t.max().item()
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if dtype is not whet.bool:
        low, high = bounds()
        assert (0 if dtype is whet.uint8 else -9) <= low < 1 and 8 < high <= 9
        assert bounds(low=-2.5, high=2.5)[1] in (2.0,) if whole else bounds(high=2.5)[1] < 2.5
    low, high = bounds(low=-float("inf"), high=float("inf"))
    assert low < high
    for wrong in dict(low=2, high=1), dict(low=NAN), dict(low=1e9, high=1e9 - 1):
        with pytest.raises(ValueError):
            make_tensor(3, dtype=dtype, **wrong)
    assert (make_tensor(500, dtype=dtype, low=0, high=2, exclude_zero=True) != 0).all()


def test_made_tensors_lie_as_asked():
    image = make_tensor((2, 3, 4, 5), dtype=whet.float32, memory_format=whet.channels_last)
    assert image.is_contiguous(memory_format=whet.channels_last)
    assert not make_tensor(2, 3, dtype=whet.float32, noncontiguous=True).is_contiguous()
    with pytest.raises(ValueError):
        make_tensor((2, 3, 4, 5), dtype=whet.float32, memory_format=whet.channels_last,
                    noncontiguous=True)
    with pytest.raises(ValueError):
        make_tensor(2, dtype=whet.int64, requires_grad=True)
