"""Traced functions that are called in a mode of the caller's: `autocast`, `inference_mode`,
`no_grad`."""
import contextlib
import math

import pytest
import whet
from whet import jit
from whet.autograd import modes
from whet.jit.policy import account, many_sizes


def replayed(traced):
    return traced.explain(data=True)["calls"]["replayed"]


@pytest.fixture
def net():
    whet.manual_seed(0)
    nn = whet.nn
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


X = whet.linspace(-1, 1, 48).reshape(6, 8)
MODES = {
    "bfloat16": lambda: whet.autocast("cpu", whet.bfloat16),
    "float16": lambda: whet.autocast("cpu", whet.float16),
    "switched off": lambda: whet.autocast("cpu", enabled=False),
    "inference": whet.inference_mode,
    "no grad": whet.no_grad,
    "none": contextlib.nullcontext,
}


@pytest.mark.parametrize("name", MODES)
def test_a_call_in_a_mode_is_replayed(name, net):
    traced = jit.trace(lambda x: net(x).softmax(-1))
    for k in range(20):
        x = X + k
        with MODES[name]():
            got, expected = traced(x), net(x).softmax(-1)
        assert got.dtype is expected.dtype and whet.equal(got, expected)
        assert got.is_inference() == expected.is_inference()
        assert got.requires_grad == expected.requires_grad
    assert replayed(traced) >= 15


def test_modes_in_turn_do_not_meet(net):
    traced = jit.trace(net)
    for k in range(60):
        mode = list(MODES.values())[k % len(MODES)]
        with mode():
            got, expected = traced(X + k), net(X + k)
        assert got.dtype is expected.dtype and whet.equal(got, expected)
        assert modes.state.autocast is None and modes.state.casts == 0
    assert replayed(traced) >= 40


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
def test_gradients_of_a_forward_under_autocast(net, inside):
    """The backward is made without casts, unless it runs where they are."""
    traced = jit.trace(lambda x: net(x).float().square().mean())
    for k in range(20):
        found = []
        for fn in (traced, lambda x: net(x).float().square().mean()):
            net.zero_grad()
            with whet.autocast("cpu"):
                loss = fn(X + k)
                if inside:
                    loss.backward()
            if not inside:
                loss.backward()
            found.append([p.grad.clone() for p in net.parameters()])
        assert all(map(whet.equal, *found))
    assert replayed(traced) >= 15


def test_a_run_that_leaves_autocast_on(net):
    def fn(x):
        whet.autocast("cpu").__enter__()
        return x @ x.t()
    traced = jit.trace(fn)
    for f in (fn, traced, traced, traced, traced):
        f(X)
        try:
            assert modes.state.autocast is whet.bfloat16
            assert (X @ X.t()).dtype is whet.bfloat16
        finally:
            modes.cast_products(None, "cpu")
        assert (X @ X.t()).dtype is whet.float32


def test_eager_calls_in_turn_under_autocast(net):
    """Recipes of products are not used where autocast makes these smaller."""
    a, b = whet.ones(3, 4), whet.ones(4, 3)
    for k in range(8):
        assert (a @ b).dtype is whet.float32
        with whet.autocast("cpu", (whet.bfloat16, whet.float16)[k % 2]):
            assert (a @ b).dtype is (whet.bfloat16, whet.float16)[k % 2]
            assert (a + a).dtype is whet.float32
            with whet.no_grad(), whet.autocast("cpu", enabled=False):
                assert whet.nn.functional.linear(a, b.t()).dtype is whet.float32
            assert whet.nn.functional.linear(a, b.t()).dtype is not whet.float32
        assert whet.nn.functional.linear(a, b.t()).dtype is whet.float32


@pytest.mark.parametrize("name, cast", [
    ("mm", True), ("bmm", True), ("matmul", True), ("addmm", True), ("baddbmm", True),
    ("mv", False), ("dot", False), ("addmv", False), ("outer", False)])
def test_which_products_autocast_makes_smaller(name, cast):
    """As PyTorch's: those of matrices."""
    m, v, b = whet.ones(3, 3), whet.ones(3), whet.ones(2, 3, 3)
    args = {"mm": (m, m), "bmm": (b, b), "matmul": (m, m), "addmm": (m, m, m),
            "baddbmm": (b, b, b), "mv": (m, v), "dot": (v, v), "addmv": (v, m, v),
            "outer": (v, v)}[name]
    for _ in range(4):
        with whet.autocast("cpu"):
            assert getattr(whet, name)(*args).dtype is (whet.bfloat16 if cast else whet.float32)
        assert getattr(whet, name)(*args).dtype is whet.float32


PLACES = whet.tensor([0, 2])
PARTS = {
    "sum": lambda x: x + x, "slice": lambda x: x[1:], "row": lambda x: x[0],
    "view": lambda x: x.view(-1), "select": lambda x: x.select(0, 1),
    "narrow": lambda x: x.narrow(1, 1, 2), "turned": lambda x: x.t(),
    "chunks": lambda x: x.chunk(2, 1)[1], "picked": lambda x: x[PLACES],
    "masked": lambda x: x[x > 0], "reduced": lambda x: x.amax(1), "several": lambda x: x.topk(2)[0],
    "detached": lambda x: x.detach(), "new": lambda x: whet.zeros_like(x),
    "product": lambda x: x @ x.t()}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("source", ["made inside", "made outside"])
def test_what_is_made_in_inference_mode_is_marked(name, source):
    """By machine code as by Python, which makes the first calls."""
    fn, outside = PARTS[name], whet.linspace(-1, 1, 20).reshape(5, 4)
    found = []
    for _ in range(6):
        with whet.inference_mode():
            x = outside * 1 if source == "made inside" else outside
            y = fn(x)
            found.append((y.is_inference(), y.requires_grad, y.tolist()))
    assert found == found[:1] * 6
    assert found[0][0] == (source == "made inside" or not y._is_view())
    later = fn(y.new_ones(5, 4)) if y.is_inference() else y
    assert not later.requires_grad
    w = whet.ones(y.shape, requires_grad=True)
    if y.is_inference() and y.is_floating_point():
        with pytest.raises(RuntimeError, match="[Ii]nference"):
            (w * y).sum().backward()


WATCHED = {
    "hooks": lambda: whet.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "anomaly": lambda: whet.autograd.set_detect_anomaly(True)}


@pytest.mark.parametrize("name", WATCHED)
def test_calls_that_something_watches_are_counted(name, net):
    traced = jit.trace(net)
    for k in range(12):
        with WATCHED[name]() if k % 2 else contextlib.nullcontext():
            assert whet.equal(traced(X), net(X))
    found = traced.explain(data=True)["calls"]
    assert found["because"] == {"watched": 6} and found["replayed"] == 5
    assert "6 hooks of saved tensors or anomaly mode see each operation" in traced.explain()


def test_a_traced_function_within_another_is_no_call_of_its_own(net):
    inner = jit.trace(net)
    outer = jit.trace(lambda x: inner(x) + 1)
    for _ in range(8):
        outer(X)
    assert inner.explain(data=True)["calls"]["total"] == 0 and replayed(outer) == 7


@pytest.mark.parametrize("decorator", [whet.no_grad(), whet.inference_mode()])
def test_what_a_decorated_function_closes_over_was_told_by_nobody(decorator, monkeypatch):
    """Arguments that our wrapper passes on are the user's, too."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)

    def made():
        cache, scale, name = whet.zeros(2, 40, 4), 2.5, "cache"

        def fn(x, *more, start):
            n = x.shape[1]
            cache[:, start:start + n] = x * scale if name else x
            return (x @ cache[:, :start + n].mT).sum(-1) + len(more)
        return decorator(fn)
    eager, traced = made(), whet.jit.trace(made())
    for k in range(24):
        x = whet.randn(2, 1 + k % 2, 4)
        assert whet.equal(eager(x, 7, start=k), traced(x, 7, start=k))
    assert traced._calls.policy.summary().replayed >= 12
