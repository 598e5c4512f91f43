"""Tensors with a mask do what PyTorch's do, and let no gradient through where the mask does not
hold."""
import copy
import pickle
import warnings

import pytest
import whet
from whet.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

DATA = whet.arange(6.0).view(2, 3)
MASK = whet.tensor([[True, False, True], [False, False, False]])


def made():
    return masked_tensor(DATA, MASK)


def same(x, data, mask):
    """Is it masked so, with these numbers where the mask holds?"""
    mask = whet.tensor(mask)
    assert is_masked_tensor(x) and x.get_mask().equal(mask)
    assert x.to_tensor(-9).equal(whet.tensor(data, dtype=x.dtype).masked_fill(~mask, -9))


def test_it_copies_what_it_is_made_of():
    data, mask = DATA.clone(), MASK.clone()
    x = MaskedTensor(data, mask)
    data.zero_(), mask.zero_()
    same(x, DATA.tolist(), MASK.tolist())
    assert isinstance(x, whet.Tensor) and not isinstance(data, MaskedTensor)
    assert (x.shape, x.dtype, x.dim(), len(x), x.numel()) == ((2, 3), whet.float32, 2, 2, 6)
    assert not x.requires_grad and x.is_leaf and x.is_contiguous()


def test_text():
    assert repr(made()) == ("MaskedTensor(\n  [\n    [  0.0000,       --,   2.0000],\n"
                            "    [      --,       --,       --]\n  ]\n)")
    assert repr(made()[0, 0]) == "MaskedTensor(  0.0000, True)"
    assert repr(made()[0, 1]) == "MaskedTensor(--, False)"
    assert repr(made()[0].int()) == "MaskedTensor(\n  [0,       --, 2]\n)"


@pytest.mark.parametrize("call,row", [
    (lambda x: x + x, [0, 0, 4]), (lambda x: 1 - x, [1, 0, -1]), (lambda x: x * DATA, [0, 0, 4]),
    (lambda x: x / 2, [0, 0, 1]), (lambda x: -x, [0, 0, -2]), (lambda x: x.square(), [0, 0, 4]),
    (lambda x: x ** 2, [0, 0, 4]), (lambda x: whet.maximum(x, x * 2), [0, 0, 4]),
    (lambda x: x.clamp(max=1), [0, 0, 1]), (lambda x: x.add(DATA), [0, 0, 4]),
    (lambda x: whet.where(DATA > 2, x, -x), [0, 0, -2]), (lambda x: x > 1, [0, 0, 1]),
    (lambda x: x == x, [1, 0, 1]), (lambda x: x.double(), [0, 0, 2]),
    (lambda x: x.clone(), [0, 0, 2]),
    (lambda x: x.clone().add_(1), [1, 0, 3]), (lambda x: x.clone().sqrt_().square_(), [0, 0, 2])])
def test_functions_of_elements_keep_the_mask(call, row):
    x = call(made())
    assert x.get_mask().equal(MASK)
    assert x[0].to_tensor(0).float().round(decimals=4).tolist() == row


@pytest.mark.parametrize("move", [
    lambda x: x.t(), lambda x: x[0], lambda x: x[:, 1:], lambda x: x[whet.tensor([0, 0])],
    lambda x: x.view(3, 2), lambda x: x.reshape(-1), lambda x: x.unsqueeze(0),
    lambda x: x.flatten(), lambda x: whet.cat([x, x]), lambda x: whet.stack([x, x]),
    lambda x: x.expand(4, 2, 3), lambda x: x.chunk(2)[0], lambda x: x.split(1, 1)[2],
    lambda x: list(x)[1], lambda x: x.permute(1, 0)])
def test_movements_take_the_mask_along(move):
    x = move(made())
    same(x, move(DATA).tolist(), move(MASK).tolist())


def test_reductions_leave_out_what_is_masked():
    x = made()
    same(x.sum(), 2.0, True)
    same(whet.sum(x, 1, keepdim=True), [[2.0], [0.0]], [[True], [False]])
    same(x.mean(0), [0.0, 0.0, 2.0], [True, False, True])
    same(x.amax(1), [2.0, 0.0], [True, False])
    same(x.argmax(1), [2, 0], [True, False])
    same(x.prod(), 0.0, True)
    same(x.var(1), [2.0, 0.0], [True, False])
    same(x.all(), False, True)
    assert whet.allclose(x.softmax(1)[0].to_tensor(0), whet.tensor([0.1192, 0, 0.8808]), atol=1e-4)


def test_gradients():
    x = masked_tensor(DATA, MASK, requires_grad=True)
    (x * x).sum().backward()
    same(x.grad, [[0, 0, 4], [0, 0, 0]], MASK.tolist())
    y = whet.zeros(2, 3, requires_grad=True)
    # the gradient of what is left out is no number, and does not arrive
    whet.log(as_masked_tensor(y, MASK) - MASK.logical_not().float() + MASK).sum().backward()
    assert y.grad.equal(MASK.float())
    z = DATA.clone().requires_grad_()
    as_masked_tensor(z, MASK).mean(1).to_tensor(0).sum().backward()
    assert z.grad.tolist() == [[0.5, 0, 0.5], [0, 0, 0]]


def test_traced_calls_are_eager_ones():
    def f(d, m):
        x = as_masked_tensor(d, m)
        y = x.exp() + 1
        return y.sum(1), y.t()
    traced = whet.jit.trace(f)
    for _ in range(6):
        d = whet.randn(2, 3)
        for a, b in zip(traced(d, MASK), f(d, MASK)):
            assert a.get_mask().equal(b.get_mask()) and a.get_data().equal(b.get_data())
    g = whet.jit.trace(lambda x: x.mean(0) * 2)
    for _ in range(6):
        x = masked_tensor(whet.randn(2, 3), MASK)
        assert g(x).to_tensor(0).equal((x.mean(0) * 2).to_tensor(0))


def test_copies():
    for x in (copy.deepcopy(made()), pickle.loads(pickle.dumps(made()))):
        same(x, DATA.tolist(), MASK.tolist())
    x = copy.deepcopy(masked_tensor(DATA, MASK, requires_grad=True))
    assert x.requires_grad and x.is_leaf


def test_files_have_the_parts(tmp_path):
    with pytest.raises(TypeError, match="save: x is a masked tensor"):
        whet.save({"x": made()}, tmp_path / "x.whet")


@pytest.mark.parametrize("call,error", [
    (lambda: masked_tensor(DATA, MASK.float()), TypeError),
    (lambda: masked_tensor(DATA, MASK[0]), ValueError),
    (lambda: masked_tensor([1.0], MASK), TypeError),
    (lambda: masked_tensor(DATA.bfloat16(), MASK), TypeError),
    (lambda: masked_tensor(made(), MASK), TypeError),
    (lambda: made() + masked_tensor(DATA, ~MASK), ValueError),
    (lambda: made().relu(), TypeError), (lambda: made() @ made().t(), TypeError),
    (lambda: whet.cumsum(made(), 0), TypeError), (lambda: made()[0, 1].item(), ValueError),
    (lambda: made().numpy(), RuntimeError), (lambda: made().tolist(), RuntimeError)])
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_a_leaf_of_what_has_a_history_is_warned_of():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        masked_tensor(DATA.clone().requires_grad_(), MASK)
    assert "not recommended" in str(said[0].message)
