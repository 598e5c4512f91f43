"""Floats of one byte: converted, stored and moved as in PyTorch; nothing is computed in them."""
import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
import whet
from whet.dtypes import STORED_TYPES

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", STORED_TYPES, ids=str)
def test_every_byte_is_the_value_that_ml_dtypes_gives_it(dtype):
    every = np.arange(256, dtype=np.uint8)
    got = whet.from_numpy(every).view(dtype)
    want = every.view(getattr(ml_dtypes, dtype.name)).astype(np.float32)
    assert got.dtype is dtype
    np.testing.assert_array_equal(got.float().numpy(), want)
    np.testing.assert_array_equal(got.double().numpy(), want.astype(np.float64))
    sign = every[~np.isnan(want)]
    assert (got.float().to(dtype).view(whet.uint8).numpy()[~np.isnan(want)] == sign).all()


# what PyTorch 2.13 gives
VALUES = [0.0, -0.0, 1.06, 464.0, 465.0, 1e4, 61439.0, 65000.0, INF, -INF, NAN, -NAN, 1e-3, 1e-40,
          -3.3, 2.0**-127]
BYTES = {
    "float8_e4m3fn": [0, 128, 56, 126, 126, 126, 126, 126, 126, 254, 127, 255, 1, 0, 197, 0],
    "float8_e5m2": [0, 128, 60, 95, 95, 113, 123, 124, 124, 252, 127, 255, 20, 0, 195, 0],
    "float8_e4m3fnuz": [0, 0, 64, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1, 0, 205, 0],
    "float8_e5m2fnuz": [0, 0, 64, 99, 99, 117, 127, 128, 128, 128, 128, 128, 24, 0, 199, 0],
    "float8_e8m0fnu": [0, 0, 127, 136, 136, 140, 143, 143, 255, 255, 255, 255, 117, 0, 129, 0]}


@pytest.mark.parametrize("dtype", STORED_TYPES, ids=str)
@pytest.mark.parametrize("n", [1, 16, 4096])
def test_numbers_are_rounded_and_bounded_as_in_pytorch(dtype, n):
    x = whet.tensor(VALUES * (n // 16 or 1))[:n]
    want = (BYTES[dtype.name] * (n // 16 or 1))[:n]
    assert x.to(dtype).view(whet.uint8).tolist() == want
    assert x.double().to(dtype).view(whet.uint8).tolist() == want
    assert whet.empty(n, dtype=dtype).copy_(x).view(whet.uint8).tolist() == want


def test_limits():
    info = whet.finfo(whet.float8_e4m3fn)
    assert (info.max, info.eps, info.bits, info.resolution) == (448.0, 0.125, 8, 1.0)
    assert whet.finfo(whet.float8_e5m2).tiny == 2.0**-14
    assert not whet.float8_e8m0fnu.is_signed and whet.float8_e5m2.is_floating_point
    assert whet.can_cast(whet.float32, whet.float8_e5m2)
    assert not whet.can_cast(whet.complex64, whet.float8_e5m2)


F8 = whet.float8_e4m3fn
X = whet.tensor([[1.0, -2.0, 0.5], [448.0, 0.0, -0.25]])
MOVES = {
    "index": lambda x: x[0, 1:], "mask": lambda x: x[X > 0], "cat": lambda x: whet.cat([x, x], 1),
    "stack": lambda x: whet.stack([x, x]), "transposed": lambda x: x.t().contiguous(),
    "flip": lambda x: x.flip(0), "roll": lambda x: x.roll(1, 1), "clone": lambda x: x.clone(),
    "where": lambda x: whet.where(X > 0, x, x.roll(1, 1)), "pad": lambda x: whet.nn.functional.pad(
        x, (1, 0)), "repeat": lambda x: x.repeat(2, 1), "gather": lambda x: x.gather(
        1, whet.tensor([[2], [0]])), "index_select": lambda x: x.index_select(
        0, whet.tensor([1])), "filled": lambda x: x.clone().fill_(1.5),
    "written": lambda x: whet.zeros_like(x).copy_(x), "strided": lambda x: x.as_strided(
        (2, 2), (1, 2)), "expanded": lambda x: x[:, :1].expand(2, 3).contiguous()}


@pytest.mark.parametrize("name", MOVES)
def test_moves_are_those_of_float32(name):
    got = MOVES[name](X.to(F8))
    assert got.dtype is F8 and got.float().equal(MOVES[name](X))


def test_writes_to_places():
    x = X.to(F8)
    x[0] = 1.5
    x[1, 1:] = whet.tensor([3.0, 4.0]).to(F8)
    assert x.tolist() == [[1.5, 1.5, 1.5], [448.0, 3.0, 4.0]]
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(1e6)
    assert whet.tensor([1e6], dtype=F8).tolist() == [448.0]


def test_printing():
    assert repr(X.to(F8)[0]) == "tensor([ 1.0000, -2.0000,  0.5000], dtype=whet.float8_e4m3fn)"
    assert X.to(F8).type() == "whet.Float8_e4m3fnTensor"


@pytest.mark.parametrize("call", [
    lambda x: x + x, lambda x: x * 2, lambda x: -x, lambda x: x < x, lambda x: x.sum(),
    lambda x: x.exp(), lambda x: x.max(), lambda x: x.sort(), lambda x: x.cumsum(0),
    lambda x: x.relu(), lambda x: x.softmax(0), lambda x: x.argmax(), lambda x: whet.linalg.norm(x),
    lambda x: whet.rand(2, dtype=F8)])
def test_arithmetic_is_refused(call):
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e4m3fn'"):
        call(X.to(F8))


def test_products_are_refused():
    with pytest.raises(TypeError, match="float8_e4m3fn is not supported"):
        whet.mm(X.to(F8), X.t().to(F8))


def test_no_type_is_common_to_it_and_others():
    for other in (X, X.to(whet.float8_e5m2), X.to(whet.int32)):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            X.to(F8) + other


def test_gradients_are_rounded_as_the_values_are():
    x = X.clone().requires_grad_()
    y = x.to(F8)
    assert y.requires_grad
    (y.float() * 1.1).sum().backward()
    assert x.grad.tolist() == [[1.125] * 3] * 2 and x.grad.dtype is whet.float32


def test_traced_calls_have_the_bits_of_eager():
    def f(x, scale):
        q = (x / scale).to(F8)
        e = whet.empty(3, 2, dtype=F8).copy_(x.t())
        z = whet.where(x > 0, q, q.roll(1, 0))
        z[0] = 1.5
        return q, q.float() * scale, whet.cat([q, q], 1)[:, ::2].clone(), e, z
    traced = whet.jit.trace(f)
    for _ in range(6):
        x = whet.randn(2, 3) * 300
        for a, b in zip(traced(x, whet.tensor(0.3)), f(x, whet.tensor(0.3))):
            assert a.dtype is b.dtype and a.stride() == b.stride()
            assert a.contiguous().view(whet.uint8).equal(b.contiguous().view(whet.uint8))


@pytest.mark.parametrize("dtype", STORED_TYPES, ids=str)
@pytest.mark.parametrize("name", ["x.whet", "x.safetensors", "x.pt"])
def test_files(dtype, name, tmp_path):
    x = X.abs().to(dtype)
    whet.save({"x": x}, tmp_path / name)
    y = whet.load(tmp_path / name)["x"]
    assert y.dtype is dtype and y.view(whet.uint8).equal(x.view(whet.uint8))
    for z in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert z.dtype is dtype and z.view(whet.uint8).equal(x.view(whet.uint8))


def test_on_meta_and_in_batches():
    m = whet.empty(2, 3, device="meta").to(F8)
    assert m.dtype is F8 and m.half().dtype is whet.float16 and m.t().stride() == (1, 3)
    assert whet.vmap(lambda t: t.to(F8).float())(X).equal(X.to(F8).float())
