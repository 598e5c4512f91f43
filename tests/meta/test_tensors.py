"""Tensors on `meta` as users see them. Texts and errors are PyTorch's."""
import copy
import io
import pickle

import numpy as np
import pytest
import whet
from whet import nn


def meta(*shape, **options):
    return whet.empty(*shape, device="meta", **options)


@pytest.mark.parametrize(("make", "like"), [
    (lambda d: whet.empty(2, 3, device=d), (2, 3)),
    (lambda d: whet.zeros(2, 3, dtype=whet.int32, device=d), (2, 3)),
    (lambda d: whet.ones(2, device=d, requires_grad=True), (2,)),
    (lambda d: whet.full((2, 3), 1.5, device=d), (2, 3)),
    (lambda d: whet.tensor([[1, 2], [3, 4]], device=d), (2, 2)),
    (lambda d: whet.as_tensor(np.ones(3), device=d), (3,)),
    (lambda d: whet.arange(1, 8, 2, device=d), (4,)),
    (lambda d: whet.linspace(0, 1, 5, device=d), (5,)),
    (lambda d: whet.logspace(0, 1, 5, device=d), (5,)),
    (lambda d: whet.eye(3, 4, device=d), (3, 4)),
    (lambda d: whet.rand(2, 3, device=d), (2, 3)),
    (lambda d: whet.randn(2, 3, dtype=whet.complex64, device=d), (2, 3)),
    (lambda d: whet.randint(0, 5, (3,), device=d), (3,)),
    (lambda d: whet.randperm(5, device=d), (5,)),
    (lambda d: whet.normal(0.0, 1.0, (3,), device=d), (3,)),
    (lambda d: whet.tril_indices(3, 3, device=d), (2, 6)),
    (lambda d: whet.empty_strided((2, 3), (1, 2), device=d), (2, 3)),
    (lambda d: whet.empty(2, 3, 4, 5, memory_format=whet.channels_last, device=d), (2, 3, 4, 5)),
    (lambda d: whet.empty_like(whet.ones(2, 3).T, device=d), (3, 2)),
    (lambda d: whet.ones(2).new_zeros(3, device=d), (3,)),
    (lambda d: whet.hann_window(8, device=d), (8,))])
def test_factories(make, like):
    t, real = make("meta"), make("cpu")
    assert t.is_meta and t.device == whet.device("meta") and t.shape == like
    assert (t.dtype, t.stride(), t.requires_grad) == (real.dtype, real.stride(), real.requires_grad)
    assert not real.is_meta and not t.is_cpu and not t.is_cuda and t.get_device() == -1


def test_a_tensor_takes_no_memory():
    t = meta(10**12)
    assert t.numel() == 10**12 and t.nbytes == 4 * 10**12 and t.data_ptr() == 0
    assert whet.arange(10**12, device="meta").shape == (10**12,)
    assert meta(10**18).shape == (10**18,)
    with pytest.raises(RuntimeError, match="overflow"):
        meta(10**18, 10**18)


def test_text():
    assert repr(meta(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(meta(2, dtype=whet.int64)).endswith("device='meta', size=(2,), dtype=whet.int64)")
    x = meta(2, requires_grad=True)
    assert repr(x) == "tensor(..., device='meta', size=(2,), requires_grad=True)"
    assert repr(x * 2) == "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"
    assert f"{meta(())}" == "tensor(..., device='meta', size=())"
    assert repr(nn.Parameter(meta(2))).endswith("device='meta', size=(2,), requires_grad=True)")


NO_DATA = "Cannot copy out of meta tensor; no data!"
NO_ITEM = r"Tensor.item\(\) cannot be called on meta tensors"


@pytest.mark.parametrize(("ask", "error", "text"), [
    (lambda t: t.sum().item(), RuntimeError, NO_ITEM),
    (lambda t: bool(t.any()), RuntimeError, NO_ITEM),
    (lambda t: int(t[0, 0]), RuntimeError, NO_ITEM),
    (lambda t: float(t[0, 0]), RuntimeError, NO_ITEM),
    (lambda t: 1.0 in t, RuntimeError, NO_ITEM),
    (lambda t: whet.allclose(t, t), RuntimeError, NO_ITEM),
    (lambda t: whet.full((2,), t[0, 0]), RuntimeError, NO_ITEM),
    (lambda t: t.tolist(), NotImplementedError, NO_DATA),
    (lambda t: t.cpu(), NotImplementedError, NO_DATA),
    (lambda t: t.to("cpu"), NotImplementedError, NO_DATA),
    (lambda t: whet.ones(2, 3).copy_(t), NotImplementedError, NO_DATA),
    (lambda t: whet.ones(2, 3).__setitem__(0, t[0]), NotImplementedError, NO_DATA),
    (lambda t: t.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
    (lambda t: np.asarray(t), TypeError, "can't convert meta device type tensor to numpy"),
    (lambda t: t.nonzero(), NotImplementedError, "nonzero"),
    (lambda t: t[t > 0], NotImplementedError, "nonzero"),
    (lambda t: whet.masked_select(t, t > 0), NotImplementedError, "nonzero"),
    (lambda t: t.unique(), NotImplementedError, "unique"),
    (lambda t: whet.bincount(t[0].long()), NotImplementedError, "bincount"),
    (lambda t: whet.repeat_interleave(t[0], t[0].long()), NotImplementedError,
     "without output_size"),
    (lambda t: t.untyped_storage().tolist(), NotImplementedError, "bytes of a storage"),
    (lambda t: t.share_memory_(), RuntimeError, "only memory of the CPU"),
    (lambda t: t.pin_memory(), RuntimeError, "cannot pin")])
def test_what_asks_for_numbers_is_an_error(ask, error, text):
    with pytest.raises(error, match=text):
        ask(meta(2, 3))


@pytest.mark.parametrize("call", [
    lambda t, x: t + x, lambda t, x: x + t, lambda t, x: t @ x.T, lambda t, x: whet.cat([t, x]),
    lambda t, x: whet.where(t > 0, t, x), lambda t, x: t == x, lambda t, x: x.add_(t),
    lambda t, x: t.add_(x), lambda t, x: nn.functional.linear(t, x),
    lambda t, x: nn.functional.layer_norm(t, (3,), x[0]), lambda t, x: whet.equal(t, x),
    lambda t, x: nn.functional.embedding(whet.tensor([1]), t),
    lambda t, x: t.index_select(0, whet.tensor([1]))])
def test_tensors_of_several_devices_are_an_error(call):
    with pytest.raises(RuntimeError, match="Tensor on device (cpu is not on the expected device "
                       "meta|meta is not on the expected device cpu)!"):
        call(meta(2, 3), whet.ones(2, 3))


def test_out_stays_on_its_device():
    x, t = whet.ones(3), meta(3)
    for one, other in ((x, t), (t, x)):
        with pytest.raises(RuntimeError, match="cross-device copies are not allowed"):
            whet.add(one, one, out=other)
    assert whet.add(t, t, out=t) is t
    assert whet.add(t, t, out=meta(0)).shape == (3,)


def test_numbers_of_the_cpu_may_stand_beside():
    t, one = meta(2, 3), whet.tensor(1.0, dtype=whet.float64)
    for made in (t + one, one * t, t.clone().mul_(one), whet.where(t > 0, t, one)):
        assert made.is_meta and made.dtype is whet.float32 and made.shape == (2, 3)


def test_indices_come_along():
    t = meta(4, 5)
    at = whet.tensor([0, 2])
    for index in (at, at.tolist(), at.numpy(), at.to("meta")):
        assert t[index].shape == (2, 5) and t[index].is_meta
        assert t[:, index].shape == (4, 2)
    assert t[whet.tensor(1)].shape == (5,)
    t[0], t[1], t[1:, [0, 2]], t[whet.tensor([1])] = 1.0, whet.ones(5), meta(2), 2.0
    t[t > 0] = 1.0
    assert t.is_meta and t._version > 3


def test_copies():
    x, t = whet.ones(2, 3, requires_grad=True), meta(2, 3)
    assert t.copy_(whet.ones(3)) is t
    with pytest.raises(RuntimeError, match="size of tensor"):
        t.copy_(whet.ones(4))
    moved = x.to("meta")
    assert moved.is_meta and moved.grad_fn is not None
    assert x.to(t).is_meta and moved.to("meta") is moved
    assert x.T.to("meta").stride() == (1, 3)
    assert whet.empty_like(t.T, device="cpu").stride() == (1, 3)


def test_reads_are_no_draws():
    before = whet.get_rng_state()
    t = meta(100)
    for draw in (t.normal_, t.uniform_, t.bernoulli_, t.exponential_, t.random_):
        assert draw() is t
    whet.randn(3, device="meta"), whet.randperm(9, device="meta"), nn.functional.dropout(t)
    assert (whet.bernoulli(t).shape, whet.multinomial(t, 2).shape) == ((100,), (2,))
    assert whet.equal(before, whet.get_rng_state())


def test_the_default_device():
    with whet.device("meta"):
        assert whet.ones(2).is_meta and whet.tensor([1.0]).is_meta
        assert nn.Linear(2, 3).weight.is_meta
        assert whet.ones(2, device="cpu").is_cpu
    assert whet.ones(2).is_cpu
    whet.set_default_device("meta")
    try:
        assert whet.zeros(2).is_meta and whet.arange(3).is_meta and whet.randn(2).is_meta
    finally:
        whet.set_default_device(None)
    assert whet.zeros(2).is_cpu


def test_history():
    x = meta(3, 4, requires_grad=True)
    y = meta(4, 4, requires_grad=True)
    z = (x @ y).relu()
    w = z.clone()
    w[0].mul_(2)
    w.sum().backward()
    assert x.grad.is_meta and x.grad.shape == (3, 4) and y.grad.shape == (4, 4)
    gx, = whet.autograd.grad((x**3).sum(), x, create_graph=True)
    assert whet.autograd.grad(gx.sum(), x)[0].shape == (3, 4)
    a = meta(3, requires_grad=True) * 2
    b = a.exp()
    b.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.sum().backward()
    seen = []
    x.register_hook(seen.append)
    (x * 2).sum().backward()
    assert seen[0].is_meta


def test_resize():
    t = meta(6)
    assert t.resize_(2, 2).shape == (2, 2) and t.untyped_storage().nbytes() == 24
    assert t.resize_(10).untyped_storage().nbytes() == 40 and t.resize_(0).numel() == 0


def test_copies_by_python():
    t = meta(3, 2, requires_grad=True)
    turned = meta(2, 3).T
    for made in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert made.is_meta and made.requires_grad and made.shape == (3, 2) and made is not t
    assert copy.deepcopy(turned).stride() == pickle.loads(pickle.dumps(turned)).stride() == (1, 3)


def test_files(tmp_path):
    path = tmp_path / "x"
    kept = {"a": meta(2, 3).T, "b": whet.arange(3.0), "p": nn.Parameter(meta(4))}
    whet.save(kept, path)
    got = whet.load(path)
    assert got["a"].is_meta and got["a"].stride() == (1, 3) and whet.equal(got["b"], kept["b"])
    assert isinstance(got["p"], nn.Parameter) and got["p"].is_meta and got["p"].requires_grad
    for where in ("meta", whet.device("meta"), {"cpu": "meta"}, lambda t, _: t.to("meta")):
        assert all(t.is_meta for t in whet.load(path, map_location=where).values())
    file = io.BytesIO()
    whet.save([whet.ones(2)], file)
    file.seek(0)
    assert whet.load(file, map_location="meta")[0].is_meta


def test_transforms():
    from whet import func
    t = meta(3, 4)
    assert func.vmap(lambda a: a.sum() * a)(t).shape == (3, 4)
    assert func.grad(lambda a: (a * a).sum())(t).shape == (3, 4)
    assert func.jacrev(whet.sin)(t[0]).shape == func.jacfwd(whet.sin)(t[0]).shape == (4, 4)
    assert func.hessian(lambda a: a.sin().sum())(t[0]).shape == (4, 4)


def test_what_is_made_of_tensors_is_asked_the_same():
    made = whet.nested.nested_tensor([whet.ones(2, 3), whet.ones(1, 3)])
    for t in (made, whet.eye(3).to_sparse()):
        assert t.is_cpu and not t.is_meta and not t.is_cuda


def test_other_devices_are_as_they_were():
    meta(2)
    x = whet.arange(6.0).reshape(2, 3).requires_grad_()
    y = (x[whet.tensor([1, 0])] * 2)[:, 1:]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 2.0]] * 2
    assert x.detach()[x.detach() > 2].tolist() == [3.0, 4.0, 5.0]
