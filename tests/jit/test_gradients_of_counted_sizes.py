"""Gradients that flow out of calls in which data decides sizes: eager's, to the bit, whatever the
sizes came to."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit.gradient.backward_by_counts import BackwardByCounts

from .ledgers import calls_of, served
from .test_counted_sizes import bits, rows

pytestmark = pytest.mark.usefixtures("whatever_it_costs")
CALLS = 30
whet.manual_seed(5)
NET = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 8))


def loss_of_some(x):
    m = x[:, 0] > 0
    return ((NET(x)[m] - x[m]) ** 2).mean()


def loss_of_the_worst(x):
    loss = (NET(x) - x).square().mean(1)
    return loss[loss > loss.mean()].mean()


def two_results(x):
    y = NET(x)
    return y[x > 0].mean(), y.sum()


def what_is_chosen(x):
    s = x[x[:, 0] > 0]
    h = NET(s)
    return h, h.sum() / len(s)


def of_experts(x):
    which, out = x[:, :3].argmax(1), whet.zeros_like(x)
    for k in range(3):
        i = (which == k).nonzero()[:, 0]
        out = out.index_add(0, i, NET[3](NET[0](x[i])) * (k + 1))
    return out


def of_what_is_there(x):
    s = x[x[:, 0] > 0]
    return F.cross_entropy(NET(s), (s[:, 1].abs() * 2).long().clamp(max=7))


def total(made):
    return sum(map(total, made)) if isinstance(made, tuple) else made.square().sum()


def first_order(function, x):
    total(function(x)).backward()
    return [p.grad for p in NET.parameters()] + [x.grad]


def second_order(function, x):
    g, = whet.autograd.grad(total(function(x)), x, create_graph=True)
    g.square().sum().backward()
    return [p.grad for p in NET.parameters()] + [x.grad]


def of_one(function, x):
    return whet.autograd.grad(total(function(x)), [NET[0].weight])


def of_a_hook(function, x):
    seen, made = [], function(x)
    first = made[0] if isinstance(made, tuple) else made
    first.register_hook(lambda g: seen.append(g * 2))
    total(made).backward()
    return [*seen, x.grad]


def found(way, function, x):
    x = x.clone().requires_grad_(True)
    NET.zero_grad()
    return bits([g for g in way(function, x) if g is not None])


FUNCTIONS = [loss_of_some, loss_of_the_worst, two_results, what_is_chosen, of_experts,
             of_what_is_there]
WAYS = [first_order, second_order, of_one, of_a_hook]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("most", [0, 24], ids=["of one size", "of many sizes"])
def test_gradients_are_eagers(function, most):
    rng, traced = np.random.default_rng(2), whet.jit.trace(function)
    for k in range(CALLS):
        x, way = rows(rng, 120 + int(rng.integers(most + 1))), WAYS[k % 4 if k > 8 else 0]
        assert found(way, traced, x) == found(way, function, x)
    assert served(traced) >= CALLS - 9, calls_of(traced)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_of_none_one_and_all_rows(function):
    rng, traced = np.random.default_rng(2), whet.jit.trace(function)
    for k, chosen in enumerate((7, 9, 0, 8, 1, 12, 20, 2, 1, 0, 20, 11, 3)):
        x, way = rows(rng, 20, chosen), WAYS[k % 4]
        assert found(way, traced, x) == found(way, function, x)


def test_what_is_planned_is_compared_with_a_run(monkeypatch):
    """A plan that gives other bits is not used, nor anything that shares it."""
    planned = BackwardByCounts.planned
    wrong = []

    def another(self, shapes):
        made = planned(self, shapes)
        if made is not None and not wrong:
            made.ways = {k: _Doubled(way) for k, way in made.ways.items()}
        return made
    monkeypatch.setattr(BackwardByCounts, "planned", another)
    rng, traced = np.random.default_rng(2), whet.jit.trace(loss_of_some)
    with pytest.warns(UserWarning, match="gives other bits"):
        for _ in range(12):
            x = rows(rng, 40)
            assert found(first_order, traced, x) == found(first_order, loss_of_some, x)


class _Doubled:
    """A backward program that gives twice the gradients."""

    def __init__(self, way):
        self.way = way

    def __getattr__(self, name):
        return getattr(self.way, name)

    def check(self, rec, run, saved):
        run.digests = {n: d + 1 for n, d in run.digests.items()}
        self.way.check(rec, run, saved)
