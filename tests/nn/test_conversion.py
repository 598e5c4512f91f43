"""Tensors that are swapped, and modules that are converted by swapping or with new parameters."""
import weakref

import pytest
import whet
from whet import nn
from whet.utils import swap_tensors


@pytest.fixture
def swaps():
    whet.__future__.set_swap_module_params_on_conversion(True)
    yield
    whet.__future__.set_swap_module_params_on_conversion(False)


@pytest.fixture
def overwrites():
    whet.__future__.set_overwrite_module_params_on_conversion(True)
    yield
    whet.__future__.set_overwrite_module_params_on_conversion(False)


def test_swapped_tensors_are_each_other():
    a, b = whet.arange(3.0), nn.Parameter(whet.ones(2, dtype=whet.float64))
    a.note, b.grad = "a", whet.full((2,), 5.0, dtype=whet.float64)
    swap_tensors(a, b)
    assert type(a) is nn.Parameter and type(b) is whet.Tensor and a.is_leaf
    assert a.requires_grad and not b.requires_grad and a.dtype is whet.float64
    assert a.tolist() == [1, 1] and b.tolist() == [0, 1, 2]
    assert a.grad.tolist() == [5, 5] and b.grad is None and b.note == "a"
    assert not hasattr(a, "note")
    (a * a).sum().backward()
    assert a.grad.tolist() == [7, 7]
    y = whet.ones(1, requires_grad=True)
    z = y * 3
    made = whet.zeros(1)
    swap_tensors(made, z)
    made.sum().backward()
    assert z.grad_fn is None and y.grad.item() == 3


def test_what_was_saved_is_not_read_from_another():
    x, w = whet.ones(2, requires_grad=True), whet.full((2,), 3.0)
    y = (x * w).sum()
    swap_tensors(w, whet.zeros(2))
    with pytest.raises(RuntimeError, match="swap_tensors"):
        y.backward()


@pytest.mark.parametrize("traced", [False, True])
def test_an_optimizer_goes_on_with_swapped_parameters(traced):
    def run(swaps):
        w, x = nn.Parameter(whet.ones(3)), whet.tensor([1.0, 2.0, 3.0])
        opt, seen = whet.optim.Adam([w], lr=0.1), []

        def step(x):
            opt.zero_grad()
            loss = (w * x).square().sum()
            loss.backward()
            opt.step()
            return loss
        f = whet.jit.trace(step) if traced else step
        for i in range(14):
            if swaps and i in (3, 6, 7, 11):
                swap_tensors(w, nn.Parameter(w.detach().clone()))
            y = (w * w).sum()
            seen += [f(x).item(), w.tolist()]
            with pytest.raises(RuntimeError, match="modified"):
                y.backward()
        return seen
    assert run(False) == run(True)


def test_writes_to_memory_that_moved_are_seen():
    a, b = whet.ones(2), whet.zeros(2)
    view, saved = b[:1], whet.ones(2, requires_grad=True)
    swap_tensors(a, b)
    y = (a * saved).sum()
    view.add_(1)
    assert a.tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="modified"):
        y.backward()


def test_what_cannot_be_swapped():
    class Slotted(whet.Tensor):
        __slots__ = ("slot",)
    x = whet.ones(2)
    held = weakref.ref(x)
    for a, b in ((x, whet.ones(2)), (whet.ones(2), x), (x.clone()[0], whet.ones(1)),
                 (whet.ones(2).as_subclass(Slotted), whet.ones(2))):
        with pytest.raises(RuntimeError, match="swap_tensors"):
            swap_tensors(a, b)
    assert held() is x


@pytest.mark.parametrize("traced", [False, True])
def test_modules_are_converted_by_swapping(swaps, traced):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    call = whet.jit.trace(model) if traced else model
    x, kept = whet.randn(4, 2), list(model.parameters())
    for _ in range(3):
        model.zero_grad(set_to_none=False)
        call(x).square().sum().backward()
    grads = [p.grad for p in kept]
    values = [p.detach().clone() for p in kept]
    model.double()
    assert all(map(lambda a, b: a is b, kept, model.parameters()))
    assert all(p.grad is g and g.dtype is p.dtype is whet.float64 for p, g in zip(kept, grads))
    assert all(map(whet.equal, values, [p.float() for p in kept]))
    assert call(x.double()).dtype is whet.float64
    state = {k: v * 2 for k, v in model.state_dict().items()}
    model.load_state_dict(state)
    assert all(map(lambda a, b: a is b, kept, model.parameters()))
    assert all(whet.equal(v, state[k]) for k, v in model.state_dict().items())
    assert whet.equal(call(x.double()), model(x.double()))
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    assert all(map(lambda a, b: a is b, kept, model.parameters()))
    assert isinstance(model[0].weight, nn.Parameter) and model[0].weight.requires_grad


@pytest.mark.parametrize("traced", [False, True])
def test_modules_are_converted_to_new_parameters(overwrites, traced):
    model = nn.Linear(2, 3)
    call = whet.jit.trace(model) if traced else model
    x, old = whet.randn(4, 2), list(model.parameters())
    for _ in range(3):
        call(x).sum().backward()
    model.double()
    assert [p.dtype for p in old] == [whet.float32] * 2
    new = list(model.parameters())
    assert all(type(p) is nn.Parameter and p.dtype is p.grad.dtype is whet.float64 for p in new)
    assert whet.equal(call(x.double()), model(x.double()))


def test_a_traced_function_sees_a_swap_between_calls():
    w, other = nn.Parameter(whet.ones(2)), nn.Parameter(whet.full((2,), 3.0))
    f = whet.jit.trace(lambda x: w * x)
    x = whet.ones(2)
    for i in range(12):
        if i % 3 == 2:
            swap_tensors(w, other)
        assert whet.equal(f(x), w * x)
        with whet.no_grad():
            other.add_(1)
            assert whet.equal(f(x), w * x)
