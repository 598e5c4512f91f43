"""Gradients of a replay lie where those were that they replace, if nobody else can see those; and
sums of gradients do not wait for the end of a step."""
import gc

import pytest
import whet
from whet import jit, memory, nn
from whet.cpu import native
from whet.nn import functional as F

compiled = pytest.mark.skipif(not native.enabled(), reason="nothing is compiled in this process")
WIDE = 256                               # a gradient of its square has memory of the allocator's


def step_of(w, extra=None):
    """A step that replaces the gradient of `w`."""
    def step(x):
        w.grad = None
        loss = (x @ w).square().sum()
        loss.backward()
        return loss.detach() if extra is None else extra(w)
    return jit.trace(step)


def weights():
    whet.manual_seed(0)
    return whet.randn(WIDE, WIDE, requires_grad=True)


def address(t):
    return t._array.__array_interface__["data"][0]


@compiled
def test_a_new_gradient_lies_where_the_old_one_lay():
    w, x = weights(), whet.randn(4, WIDE)
    step = step_of(w)
    for _ in range(4):
        step(x)
    first, live = address(w.grad), memory.stats()["live"]
    memory.reset_peak()
    step(2 * x)
    assert address(w.grad) == first
    assert memory.stats()["peak"] - live < w.grad._array.nbytes
    v = w.detach().requires_grad_()
    (2 * x @ v).square().sum().backward()
    assert w.grad.tolist() == v.grad.tolist()


HOLDERS = {
    "tensor": lambda w: w.grad,
    "view": lambda w: w.grad[1:],
    "detached": lambda w: w.grad.detach(),
    "array": lambda w: w.grad.numpy(),
    "other leaf": lambda w: setattr(v := w.detach().requires_grad_(), "grad", w.grad) or v.grad,
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_a_gradient_that_somebody_holds_stays_as_it_is(hold):
    w, x = weights(), whet.randn(4, WIDE)
    step = step_of(w)
    for _ in range(4):
        step(x)
    held = hold(w)
    before = held.tolist()
    for k in range(3):
        step(k * x)
        assert held.tolist() == before


def test_a_gradient_that_the_call_gives_back_stays_as_it_is():
    w, x = weights(), whet.randn(4, WIDE)
    step = step_of(w, lambda w: w.grad)
    given = [step(x * k) for k in range(6)]
    expected = [(k * x).T @ (2 * (k * x @ w.detach())) for k in range(6)]
    for g, e in zip(given, expected):
        whet.testing.assert_close(g, e)


def test_a_call_that_misses_leaves_the_old_gradient():
    """The value that Python asks for is known after the gradient: when it is another one, eager
    goes on from the gradient that was there."""
    w, x = weights(), whet.ones(4, WIDE)

    def step(x, sign):
        g, = whet.autograd.grad((x @ w).square().sum(), w)
        if (g.sum() * sign).item() * g.sum().item() > 0:
            w.grad = g
        else:
            w.grad = w.grad + 1
    traced = jit.trace(step)
    one = whet.tensor(1.0)
    for _ in range(5):
        traced(x, one)
    before = w.grad.clone()
    traced(x, -one)
    assert w.grad.tolist() == (before + 1).tolist()


def held_aside(w, g):
    """Eager puts the old gradient back."""
    old = w.grad
    w.grad = None
    return lambda: setattr(w, "grad", old)


def let_go(w, g):
    """Nothing holds the old gradient."""
    w.grad = None
    return lambda: None


def seen_through_a_view(w, g):
    """A view of the old gradient outlives it."""
    old = w.grad.detach()[1:]
    w.grad = None
    return lambda: setattr(w, "grad", whet.cat([old, old[:1]]))


def not_yet_replaced(w, g):
    """The old gradient is there when the question comes."""
    return lambda: setattr(w, "grad", w.grad * 2)


@compiled
@pytest.mark.parametrize("before", [held_aside, let_go, seen_through_a_view, not_yet_replaced])
def test_a_call_that_misses_finds_the_old_gradient_where_the_run_held_it(before):
    """A question about the new gradient is answered otherwise, when that is written."""
    ones = whet.ones(4, WIDE)

    def step_for(w):
        def step(x, sign):
            g, = whet.autograd.grad((x @ w).square().sum(), w)
            other_way = before(w, g)
            if (g.sum() * sign).item() * g.sum().item() > 0:
                w.grad = g * 3
            else:
                other_way()
        return step
    w, v = weights(), weights()
    eager, traced = step_for(v), jit.trace(step_for(w))
    for k, sign in enumerate((1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0)):
        if w.grad is None:
            w.grad, v.grad = (whet.ones(WIDE, WIDE) for _ in range(2))
        for step in (eager, traced):
            step(ones * (k + 1), whet.tensor(sign))
        assert (w.grad is None) == (v.grad is None)
        assert w.grad is None or w.grad._array.tobytes() == v.grad._array.tobytes()


def clipped():
    """Clipping asks whether norms are within range, when the gradients are there."""
    model = nn.Sequential(nn.Linear(WIDE, 4 * WIDE), nn.GELU(), nn.Linear(4 * WIDE, WIDE))
    opt = whet.optim.AdamW(model.parameters(), lr=1e-3)

    def step(x, y):
        opt.zero_grad()
        F.mse_loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    return step, (whet.randn(WIDE, WIDE), whet.randn(WIDE, WIDE)), model


@compiled
def test_gradients_that_are_clipped_lie_where_the_old_ones_lay():
    step, args, model = clipped()
    step = jit.trace(step)
    for _ in range(4):
        step(*args)
    before = [address(p.grad) for p in model.parameters() if p.ndim == 2]
    step(*args)
    assert [address(p.grad) for p in model.parameters() if p.ndim == 2] == before


@compiled
def test_a_norm_out_of_range_is_clipped_as_in_eager_mode():
    results = []
    for trace in (lambda f: f, jit.trace):
        whet.manual_seed(0)
        step, (x, y), model = clipped()
        step = trace(step)
        for scale in (1.0, 1.0, 1.0, 1.0, 1e15, 1.0, 1e15):
            step(x, y * scale)
        results.append([t._array.tobytes() for p in model.parameters() for t in (p, p.grad)])
    assert results[0] == results[1]


def accumulation(terms):
    model = nn.Sequential(nn.Linear(WIDE, 4 * WIDE), nn.GELU(), nn.Linear(4 * WIDE, WIDE))
    opt = whet.optim.AdamW(model.parameters(), lr=1e-3)

    def step(x, y):
        opt.zero_grad()
        for i in range(terms):
            F.mse_loss(model(x[i]), y[i]).backward()
        opt.step()
    return step, (whet.randn(terms, 4, WIDE), whet.randn(terms, 4, WIDE))


def recurrence(terms):
    model = nn.LSTM(WIDE, WIDE, batch_first=True)
    opt = whet.optim.Adam(model.parameters(), lr=1e-3)

    def step(x):
        opt.zero_grad()
        model(x)[0].square().mean().backward()
        opt.step()
    return step, (whet.randn(2, terms, WIDE),)


def peak(step, args):
    """The bytes that a call adds at most to what is alive before it, old gradients included."""
    gc.collect()
    return memory.growth(lambda: step(*args))


@compiled
@pytest.mark.parametrize("case, bound", [(lambda: accumulation(4), 1.07),
                                         (lambda: clipped()[:2], 1.0)],
                         ids=["accumulation", "clipping"])
def test_a_step_holds_what_it_does_in_eager_mode(case, bound, one_thread):
    """Sums of gradients and what clipping scales lie in the place of the gradients. (Of the last
    term and the sum before it both wait for the optimizer's kernel.)"""
    eager, args = case()
    for _ in range(3):
        eager(*args)
    step, args = case()
    step = jit.trace(step)
    for _ in range(4):
        step(*args)
    # gradients and moments of two matrices are there before the call
    state = 3 * 2 * 4 * WIDE * WIDE * 4
    assert state + peak(step, args) <= bound * (state + peak(eager, args))


@compiled
@pytest.mark.parametrize("case", [accumulation, recurrence])
def test_sums_of_gradients_are_made_as_the_terms_come(case):
    """A kernel of all terms at the end of the step would hold all of them at once, a megabyte or
    two each."""
    few, many = 4, 12
    peaks = []
    for terms in (few, many):
        step, args = case(terms)
        step = jit.trace(step)
        for _ in range(4):
            step(*args)
        gc.collect()
        live = memory.stats()["live"]
        memory.reset_peak()
        step(*args)
        peaks.append(memory.stats()["peak"] - live)
        del step, args
    assert peaks[1] - peaks[0] < (many - few) << 18
