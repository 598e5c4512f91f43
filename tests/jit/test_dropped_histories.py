"""Steps that take tensors from outside their history (`state.detach_()`) are replayed; the tensors
are afterwards as an eager call leaves them."""
import gc
import weakref

import pytest
import whet
from whet import jit, nn
from whet.nn import functional as F

from tests.loops.harness import untimed


@pytest.fixture(autouse=True)
def _untimed():
    with untimed():
        yield


def replayed(f):
    return f.explain(data=True)["calls"]["replayed"]


def losses(trace, steps=12):
    """A recurrent network, whose state goes from step to step."""
    whet.manual_seed(3)
    net, head = nn.LSTM(4, 8), nn.Linear(8, 3)
    opt = whet.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)

    @trace
    def step(x, y, state):
        for s in state:
            s.detach_()
        out, state = net(x, state)
        loss = F.cross_entropy(head(out.reshape(-1, 8)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach(), state
    state, found = (whet.zeros(1, 2, 8), whet.zeros(1, 2, 8)), []
    for _ in range(steps):
        before = state
        loss, state = step(whet.randn(5, 2, 4), whet.randint(0, 3, (10,)), state)
        found.append((loss.item(), [(s.requires_grad, s.is_leaf, s._version) for s in before]))
    return found, step


def test_truncated_backpropagation_is_replayed():
    want, _ = losses(lambda f: f)
    found, step = losses(jit.trace)
    assert found == want
    assert replayed(step) >= 9


@pytest.mark.parametrize("twice", [False, True])
def test_the_old_graph_is_freed(twice):
    w = whet.ones(3, requires_grad=True)

    @jit.trace
    def f(h):
        h.detach_()
        if twice:
            h.detach_()
        return h * w
    for _ in range(4):
        first = w * 1
        h = first * 2
        freed = weakref.ref(h.grad_fn)
        y = f(h)
        gc.collect()
        assert freed() is None
        assert not h.requires_grad and h.is_leaf
        y.sum().backward()
    assert w.grad.tolist() == [8.0] * 3
    assert replayed(f) == 3
