"""Calls on devices that came before are made by machine code and the op's plan: the same results,
histories, streams and errors."""
import sys

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import tensor_base
from whet.cuda import device_state, recipes
from whet.cuda.simulated.driver import SimulatedDriver

from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.skipif(tensor_base.native_apply is None,
                                               reason="there is no machine code")]
CALLS = {
    "an operator": (lambda x, y: x + y),
    "a number": (lambda x, y: 2.5 * x - 1),
    "a method": (lambda x, y: x.sigmoid()),
    "a sum": (lambda x, y: x.sum(0)),
    "a product": (lambda x, y: x @ y.T),
    "a function": (lambda x, y: F.layer_norm(x, (4,))),
    "several results": (lambda x, y: x.max(0)[1]),
    "a list of tensors": (lambda x, y: whet.cat([x, y])),
    "a view": (lambda x, y: x.T),
    "views": (lambda x, y: x.split(2)[1]),
    "a view of a view": (lambda x, y: x.view(2, 6)[1:].T),
    "in place": (lambda x, y: (x * 1).mul_(y)),
    "an op in both of its forms": (lambda x, y: (x * y).mul_(y)),
    "in place of a part": (lambda x, y: (x * 1)[1:].add_(y[1:])),
    "a condition": (lambda x, y: whet.where(x > y, x, y))}


def python_calls(f):
    """The names of Python's functions that run in a call."""
    names = []
    sys.setprofile(lambda frame, event, _: event == "call" and names.append(
        frame.f_code.co_name))
    try:
        f()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_same_at_each_call(gpus, no_host, name):
    f = CALLS[name]
    for _ in range(5):
        x, y = whet.randn(3, 4), whet.randn(3, 4)
        got, want = f(x.cuda(), y.cuda()), f(x, y)
        same(got, want)
        assert got.stride() == want.stride()
        assert (got._base is None) == (want._base is None)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_the_same_at_each_call(gpus, name):
    for _ in range(4):
        x, y = (whet.randn(3, 4, requires_grad=True) for _ in range(2))
        a, b = (t.detach().cuda().requires_grad_() for t in (x, y))
        got, want = CALLS[name](a, b), CALLS[name](x, y)
        assert got.requires_grad == want.requires_grad
        if want.requires_grad:
            got.sum().backward()
            want.sum().backward()
            for there, here in ((a, x), (b, y)):
                assert (there.grad is None) == (here.grad is None)
                if here.grad is not None:
                    same(there.grad, here.grad)


def test_the_third_call_goes_by_machine_code(gpus):
    x, y = whet.randn(3, 4).cuda(), whet.randn(3, 4).cuda()
    for f in (lambda: x + y, lambda: x.relu(), lambda: x.add_(y)):
        f(), f()
        assert "execute" not in python_calls(f) and "inplace_now" not in python_calls(f)


def test_numbers_of_another_type_or_value_are_told_apart(gpus, no_host):
    x = whet.tensor([[1.5, -2.0, 0.0]])
    there = x.cuda()
    for _ in range(4):
        for number in (2, 2.0, 3, 0.0, -0.0, True, 1, 1.0, 1 << 40, float("nan")):
            same(there * number, x * number)
            same(there.clamp(min=number), x.clamp(min=number))
            same(there ** number, x ** number)


def test_operands_that_share_memory_are_written_as_they_were_read(gpus, no_host):
    x, apart = whet.arange(6400.).view(80, 80), whet.ones(80, 80)     # for several programs
    there, other = x.cuda(), apart.cuda()
    for _ in range(4):
        same(there.add_(other.T), x.add_(apart.T))
        same(there[1:].mul_(other[:-1]), x[1:].mul_(apart[:-1]))
    for _ in range(4):
        same(there.add_(there.T), x.add_(x.T))
        same(there[1:].mul_(there[:-1]), x[1:].mul_(x[:-1]))


def test_versions_and_what_was_saved_are_looked_after(gpus, no_host):
    w = whet.randn(3, device="cuda", requires_grad=True)
    for _ in range(4):
        x = whet.randn(3).cuda()
        y = x * w
        before = x._version
        x.add_(1.0)
        assert x._version == before + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    for _ in range(4):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            w.add_(1.0)
        with whet.no_grad():
            w.add_(1.0)


def test_a_plan_runs_in_the_stream_that_is_chosen(gpus, no_host):
    x = whet.randn(3, 4)
    there = x.cuda()
    for _ in range(3):
        there.exp()
    side = whet.cuda.Stream()
    side.wait_stream(whet.cuda.current_stream())
    with whet.cuda.stream(side):
        made = there.exp()
    assert made._array.held.block.stream == side.cuda_stream
    whet.cuda.current_stream().wait_stream(side)
    same(made, x.exp())


def test_settings_that_plans_are_made_for_may_change(gpus, no_host):
    x = whet.arange(5)
    there = x.cuda()
    try:
        for dtype in (whet.float32, whet.float64, whet.float32):
            whet.set_default_dtype(dtype)
            for _ in range(4):
                same(there / 2, x / 2)
    finally:
        whet.set_default_dtype(whet.float32)
    a = whet.randn(64, 64, device="cuda")
    counts = []
    for allowed in (False, True, False):
        whet.backends.cuda.matmul.allow_tf32 = allowed
        for _ in range(4):
            a @ a
        counts.append(len(gpus.plans))
    assert counts == [counts[0], counts[0] + 1, counts[0] + 1]


def test_another_machine_has_plans_of_its_own(gpus):
    def calls():
        x = whet.ones(3, device="cuda")
        return [(x + x).tolist() for _ in range(4)]
    assert calls() == 4 * [[2.0, 2.0, 2.0]]
    with device_state.use(SimulatedDriver(seed=1, memory=1 << 27)):
        assert calls() == 4 * [[2.0, 2.0, 2.0]]
    assert calls() == 4 * [[2.0, 2.0, 2.0]]


def test_operands_of_two_devices_are_refused_at_each_call(gpus):
    for _ in range(4):
        x, y = whet.ones(3, device="cuda:0"), whet.ones(3, device="cuda:1")
        same(x + x, whet.full((3,), 2.0))
        same(y + y, whet.full((3,), 2.0))
        for other in (y, whet.ones(3)):
            with pytest.raises(RuntimeError, match="on the same device"):
                x + other


def test_modes_are_looked_at(gpus):
    w = whet.randn(3, device="cuda", requires_grad=True)
    for _ in range(4):
        assert (w * 2).requires_grad
        with whet.no_grad():
            assert not (w * 2).requires_grad
        with whet.inference_mode():
            assert (w * 2).is_inference()


def test_memory_runs_out_with_an_error_at_each_call(gpus_of):
    gpus_of(memory=1 << 24)
    x = whet.zeros(1 << 20, device="cuda")
    for _ in range(3):
        x + 1
    kept = []
    for _ in range(2):
        with pytest.raises(whet.cuda.OutOfMemoryError, match="out of memory"):
            while True:
                kept.append(x + 1)
        kept.clear()
    same(x + 1, whet.ones(1 << 20))


def test_where_the_kind_of_an_array_lies_is_found_out():
    at = recipes._kind_at()
    assert at % np.intp(0).itemsize == 0 and 16 <= at < recipes.DeviceArray.__basicsize__
