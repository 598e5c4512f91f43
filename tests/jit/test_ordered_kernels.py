"""A recording whose kernels nobody has yet: they are compiled at once, or with later calls."""
import os
import random
import subprocess
import sys
import time

import pytest
import whet
from whet import jit
from whet.cpu import compile_time_estimates, native, ordered_kernels, tiered_compilation
from whet.jit.policy import account, pause
from whet.jit.policy.account import Policy
from whet.jit.values.same_bits import same_bits

draw = random.Random(os.urandom(8))      # no cache has kernels of such chains
STEPS = ("tanh", "sigmoid", "sin", "cos", "abs", "neg", "square", "relu")


NUMBERS = """
import whet
from whet import jit
from whet.cpu import native, pointwise
from whet.jit.policy import account

account.GRACE = float("inf")
made, reference = [], pointwise._Plan.reference
pointwise._Plan.reference = lambda plan, *xs: made.append(1) or reference(plan, *xs)
native.at_hand = lambda key: False
f = jit.trace(lambda x, lr: x * (lr * 3 + 1 - lr / 7))
for i in range(6):
    lr = 0.1 + i
    assert f(whet.ones(3), lr).tolist() == (whet.ones(3) * (lr * 3 + 1 - lr / 7)).tolist()
assert made and f.explain(data=True)["calls"]["replayed"]
"""


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


@pytest.fixture
def hurried(monkeypatch):
    """Nobody waits for a kernel, and no thread compiles."""
    monkeypatch.setattr(Policy, "affords_compiling", lambda self, seconds, begun: False)
    monkeypatch.setattr(tiered_compilation, "order", lambda emits: None)


def test_calls_are_eager_until_the_kernels_are_there(hurried, monkeypatch):
    f = chain(4)
    traced, x = jit.trace(f), whet.randn(5)
    assert traced(x).equal(f(x))
    tally = traced.explain(data=True)["calls"]
    assert tally["ordered"] == 1 and not tally["recorded"]
    assert "its kernels still to be compiled" in traced.explain()
    with monkeypatch.context() as m:
        m.setattr(Policy, "affords_kernel", lambda self, seconds: False)
        # on a busy machine asking may take so long that some calls are not asked
        m.setattr(pause, "WASTED", float("inf"))
        for _ in range(4):
            assert traced(x).equal(f(x))
        assert traced.explain(data=True)["calls"]["because"] == {"compiling": 4}
    for _ in range(40):
        assert traced(x).equal(f(x))
    tally = traced.explain(data=True)["calls"]
    assert tally["recorded"] == 1 and tally["replayed"] >= 2


def test_kernels_are_compiled_one_by_one_as_they_can_be_afforded(hurried, monkeypatch):
    first, second = chain(1), chain(1)
    traced, x, left = jit.trace(lambda x: second(first(x) @ x.t())), whet.randn(5, 3), [0]
    traced(x)
    monkeypatch.setattr(Policy, "affords_kernel", lambda self, seconds: left.pop() if left else 0)
    order = traced._calls.recordings.order
    before, spent = len(order), traced._policy.ledger.recording
    assert before > 1
    left[:] = [0, 1]                         # one more, and then none
    traced(x)
    assert len(order) == before - 1 and traced._policy.ledger.recording > spent


def test_kernels_are_compiled_beside_calls_that_cannot_pay_for_them(monkeypatch):
    for affords in ("affords_compiling", "affords_kernel"):
        monkeypatch.setattr(Policy, affords, lambda self, *seconds: False)
    f, end = chain(6), time.monotonic() + 30
    traced, x = jit.trace(f), whet.randn(5)
    while not traced.explain(data=True)["calls"]["replayed"] and time.monotonic() < end:
        assert traced(x).equal(f(x))
    tally = traced.explain(data=True)["calls"]
    assert tally["ordered"] == tally["recorded"] == 1 and tally["replayed"]


def test_of_kernels_that_are_compiled_together_each_is_given_that_has_a_form():
    from whet.passes.lower_llvm.scalar import Unsupported

    def none(module, symbol):
        raise Unsupported("nothing can do this")
    names = [f"test/{draw.random()}" for _ in range(3)]
    empty = lambda module, symbol: module.kernel(symbol)
    tiered_compilation.order(dict(zip(names, (empty, none, empty))))
    end = time.monotonic() + 30
    while tiered_compilation._ordered and time.monotonic() < end:
        time.sleep(0.01)
    with tiered_compilation.translating():                # not while they are being compiled
        assert [ordered_kernels.is_there(name) for name in names] == [True, False, True]


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
        for i in range(40):
            out.append(step(whet.ones(5, 4) * i / 27).item())
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


def test_kernels_are_compiled_well_from_what_replays_brought_in(monkeypatch):
    monkeypatch.setattr(account, "GRACE", 0.04)
    policy = Policy()
    # nothing is lost yet: a first one may be compiled at once, and much is left for recordings
    assert policy.affords_better(0.019) and not policy.affords_better(0.021)
    policy.improved(0.015)
    assert not policy.affords_better(0.01)
    policy.ledger.eager, policy.ledger.spent, policy.ledger.saved = 0.1, 0.128, 0.04
    assert not policy.affords_better(0.006)  # a half of what was saved, one more included
    policy.ledger.saved = 0.05
    assert policy.affords_better(0.006)


def test_llvm_is_part_of_the_price_until_it_is_there(monkeypatch):
    estimate = compile_time_estimates.Estimate(0.01, pays_llvm=True)
    other = compile_time_estimates.Estimate(0.01)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", sys)
    assert estimate.of() == 0.01 and estimate.of(3) == pytest.approx(0.03)
    monkeypatch.delitem(sys.modules, "llvmlite.binding")
    assert estimate.of(2) == compile_time_estimates.LOADING + 0.02 and estimate.of(0) == 0
    assert other.of(2) == 0.02


def test_what_has_no_compiled_form_is_found_out_when_it_is_asked_for(hurried):
    from whet.passes.lower_llvm.scalar import Unsupported

    def emit(module, symbol):
        raise Unsupported("nothing can do this")
    with ordered_kernels.ordering() as order, pytest.raises(ordered_kernels.NotYet):
        native.kernel("test/no form", emit)
    assert len(order) == 1 and order.seconds > 0
    order.fulfil()
    assert not order
    with pytest.raises(Unsupported):
        native.kernel("test/no form", emit)


def test_numbers_of_a_run_that_is_recorded_are_computed_without_new_kernels():
    """(Kernels of one element, in the form in which a program launches them, come later.) In a
    process of its own, where no op on numbers was run before."""
    subprocess.run([sys.executable, "-c", NUMBERS], check=True)
