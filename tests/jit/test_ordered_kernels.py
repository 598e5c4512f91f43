"""A recording whose kernels nobody has yet: they are compiled at once, or in the background."""
import os
import random
import time

import pytest
import whet
from whet import jit
from whet.cpu import haste, native, orders
from whet.jit.policy import account
from whet.jit.policy.account import Policy
from whet.jit.verify.same_bits import same_bits

draw = random.Random(os.urandom(8))      # (no cache has kernels of such chains)
STEPS = ("tanh", "sigmoid", "sin", "cos", "abs", "neg", "square", "relu")


def chain(length):
    """A function of kernels that are new, as many as asked for: sums keep them apart."""
    parts = [draw.choices(STEPS, k=16) for _ in range(length)]

    def f(x):
        for names in parts:
            y = x
            for name in names:
                y = getattr(y, name)()
            x = y + x.sum()
        return x
    return f


def wait(traced):
    """Until the kernels of a traced function are there."""
    end = time.monotonic() + 60
    while traced._calls.recordings.are_ordered:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def hurried(monkeypatch):
    """Nobody waits for a kernel."""
    monkeypatch.setattr(Policy, "affords_compiling", lambda self, seconds, begun: False)


def test_calls_are_eager_until_the_kernels_are_there(hurried):
    f = chain(4)
    traced, x = jit.trace(f), whet.randn(5)
    assert traced(x).equal(f(x))
    tally = traced.explain(data=True)["calls"]
    assert tally["ordered"] == 1 and not tally["recorded"]
    assert "its kernels still to be compiled" in traced.explain()
    wait(traced)
    for _ in range(4):
        assert traced(x).equal(f(x))
    tally = traced.explain(data=True)["calls"]
    assert tally["recorded"] == 1 and tally["replayed"] >= 2


def test_meanwhile_no_call_is_recorded(hurried, monkeypatch):
    monkeypatch.setattr(haste, "soon", lambda task: None)        # it takes for ever
    monkeypatch.setattr(haste, "is_working", lambda: True)
    f = chain(2)
    traced, x = jit.trace(f), whet.randn(5)
    for _ in range(5):
        assert traced(x).equal(f(x))
    calls = traced.explain(data=True)["calls"]
    assert calls["ordered"] == 1 and calls["because"] == {"compiling": 4}


def test_a_process_that_has_no_thread_compiles_them_itself(hurried, monkeypatch):
    monkeypatch.setattr(haste, "soon", lambda task: None)
    monkeypatch.setattr(haste, "is_working", lambda: False)
    f = chain(2)
    traced, x = jit.trace(f), whet.randn(5)
    for _ in range(5):
        assert traced(x).equal(f(x))
    assert traced.explain(data=True)["calls"]["replayed"] >= 2


def test_a_training_step_waits_for_its_kernels_and_keeps_its_bits(hurried):
    f = chain(2)

    def trained(trace):
        whet.manual_seed(3)
        w = whet.randn(4, 3, requires_grad=True)
        optimizer = whet.optim.SGD([w], lr=0.01, momentum=0.9)

        @trace
        def step(x):
            loss = f(x @ w).tanh().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss
        out = []
        for i in range(12):
            out.append(step(whet.ones(5, 4) * i / 7).item())
            if i == 4 and trace is jit.trace:
                wait(step)
        return out, w, step
    eager, w, _ = trained(lambda f: f)
    traced, v, step = trained(jit.trace)
    assert str(eager) == str(traced) and same_bits(w.detach().numpy(), v.detach().numpy())
    assert step.explain(data=True)["calls"]["replayed"] >= 2


def test_what_fits_into_what_may_be_spent_is_compiled_at_once(monkeypatch):
    monkeypatch.setattr(account, "GRACE", 0.04)
    policy = Policy()
    policy.ledger.eager = policy.ledger.spent = 1.0
    left = policy.balance
    assert policy.affords_compiling(0.9 * left, 0.0)
    assert policy.affords_compiling(left - 0.011, 0.01)
    # the call takes longer than that if it is recorded again
    assert policy.affords_compiling(2 * left, 3 * left)


def test_what_has_no_compiled_form_is_found_out_when_it_is_asked_for(hurried):
    from whet.passes.lower_llvm.scalar import Unsupported

    def emit(module, symbol):
        raise Unsupported("nothing can do this")
    with orders.ordering() as order, pytest.raises(orders.NotYet):
        native.kernel("test/no form", emit)
    assert len(order) == 1 and order.seconds > 0
    order.fulfil()
    assert not order.is_waiting
    with pytest.raises(Unsupported):
        native.kernel("test/no form", emit)


def test_an_error_in_the_background_does_not_keep_calls_waiting(capfd):
    def emit(module, symbol):
        raise RuntimeError("broken")
    with orders.ordering() as order, pytest.raises(orders.NotYet):
        native.kernel("test/broken", emit)
    with pytest.raises(RuntimeError):
        order._deliver_in_background()
    assert not order.is_waiting


def test_numbers_of_a_run_that_is_recorded_are_computed_without_new_kernels(monkeypatch):
    """(Kernels of one element, in the form in which a program launches them, come later.)"""
    from whet.cpu import pointwise
    made, reference = [], pointwise._Plan.reference
    monkeypatch.setattr(pointwise._Plan, "reference",
                        lambda plan, *xs: made.append(1) or reference(plan, *xs))
    monkeypatch.setattr(native, "at_hand", lambda key: False)
    f = jit.trace(lambda x, lr: x * (lr * 3 + 1 - lr / 7))
    for i in range(6):
        lr = 0.1 + i
        assert f(whet.ones(3), lr).tolist() == (whet.ones(3) * (lr * 3 + 1 - lr / 7)).tolist()
    assert made and f.explain(data=True)["calls"]["replayed"]
