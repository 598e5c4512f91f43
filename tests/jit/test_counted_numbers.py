"""Numbers that data decides and sizes are made of (`x[:int(lengths.max())]`): what follows is
replayed for any of them, with eager's bits."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn

from .ledgers import calls_of
from .test_counted_sizes import bits, few_and_all_are_eagers, replayed, rows

pytestmark = pytest.mark.usefixtures("whatever_it_costs")
CALLS = 30


def number_of(x):
    return int((x[:, 0] > 0).sum())


def first_rows(x):
    n = number_of(x)
    if n == 0:
        return x.sum()
    return x[:n].mean(), x[n:].sum(0), x[:-n].sum(), x[n - 1]


def made_of_it(x):
    n = (x[:, 0] > 0).sum().item()
    return whet.arange(n).sum() + whet.ones(n, 2).sum(), whet.eye(n), whet.linspace(0, 1, n), n


def grown_by_it(x):
    n = number_of(x)
    return F.pad(x, (0, 0, 0, n)).sum(0), x[0].expand(n, -1).sum(), x.repeat(n, 1).sum()


def parts_by_it(x):
    n = number_of(x)
    a, b = x.split([n, x.shape[0] - n])
    return a.sum() * 2 + b.sum(), x[:max(n // 2, 1)].softmax(0), x[:min(n, 5)]


def padded(x):
    lengths = ((x[:8, 0].abs() * 12).long() + 1).clamp(max=len(x))
    longest = int(lengths.max())
    mask = whet.arange(longest)[None] < lengths[:, None]
    return (x.t()[:, :longest] * mask).sum(1) / lengths


def written_to(x):
    n, y = number_of(x), x.clone()
    y[:n] = 0
    y[n:] += 1
    return y


def with_its_rows(x):
    n, s = number_of(x), x[x[:, 0] > 0]
    return s.sum(0) + x[:n].sum(0), s.view(n, -1).sum()


def at_a_tensor(x):
    n = (x[:, 0] > 0).sum().clamp(max=len(x) - 1)
    return x[n], x[n:].sum(0), x[:n].sum(0), x[n, x[0] > 0].sum(), x[n, [1, 2]], whet.ones(n).sum()


def written_at_a_tensor(x):
    n, y = (x[:, 0] > 0).sum().clamp(max=len(x) - 1).int(), x.clone()
    y[n] = 1
    y[n, x[0] > 0] = 2
    y[n, [1, 2]] += x[n, 0]
    return y


def counted_up(x):
    i = 0
    while i < 3 and x[i, 0].item() > 0:
        i += 1
    return x[:i + 1].sum()


FUNCTIONS = [first_rows, made_of_it, grown_by_it, parts_by_it, padded, written_to, with_its_rows,
             at_a_tensor, written_at_a_tensor]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("most", [0, 24], ids=["of one size", "of many sizes"])
def test_numbers_that_no_run_had_are_replayed(function, most):
    assert replayed(function, most, CALLS) >= CALLS - 8


@pytest.mark.parametrize("function", [*FUNCTIONS, counted_up])
def test_small_numbers(function):
    few_and_all_are_eagers(function, 20)


def test_a_step_of_training_on_padded_sequences():
    def trained(traces):
        whet.manual_seed(0)
        cell, head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 3)
        optimizer = whet.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)

        def step(x, lengths, y):
            out, _ = cell(x[:, :int(lengths.max())])
            last = out[whet.arange(len(x)), lengths - 1]
            loss = F.cross_entropy(head(last), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()
        run, rng, losses = whet.jit.trace(step) if traces else step, np.random.default_rng(0), []
        for _ in range(CALLS):
            x = whet.tensor(rng.standard_normal((6, 20, 4)).astype("f"))
            lengths = whet.tensor(rng.integers(2, rng.integers(4, 20), 6))
            losses.append(float(run(x, lengths, whet.tensor(rng.integers(0, 3, 6)))))
        return losses, run
    losses, _ = trained(False)
    found, run = trained(True)
    assert found == losses
    assert calls_of(run)["replayed"] >= CALLS / 2, calls_of(run)


def test_gradients_that_flow_out():
    weight = whet.randn(8, 8, requires_grad=True)

    def some(x):
        return (x[:number_of(x)] @ weight).square().mean()

    def gradients(function, x):
        x = x.clone().requires_grad_(True)
        return bits(whet.autograd.grad(function(x), [x, weight]))
    rng, traced = np.random.default_rng(1), whet.jit.trace(some)
    for _ in range(CALLS):
        x = rows(rng, 30)
        assert gradients(traced, x) == gradients(some, x)
    assert calls_of(traced)["replayed"] >= CALLS / 2


def test_a_number_that_is_no_size_is_compared():
    """What Python goes on from in another way than by sizes is eager's, whatever it is."""
    def told(x):
        n = number_of(x)
        return x.sum(n % 2), [x] * n, x[:n]
    rng, traced = np.random.default_rng(1), whet.jit.trace(told)
    for k in range(CALLS):
        x = rows(rng, 8, k % 5)
        assert bits(traced(x)) == bits(told(x))


def test_a_function_of_a_count_beside_a_number_that_varies():
    """The square root comes first, as what may miss does, but for what counts."""
    def root_of_how_many(named, x):
        return math.sqrt(x[x > 0.5].shape[0])
    rng, traced = np.random.default_rng(1), whet.jit.trace(root_of_how_many, strict=True)
    for k in range(CALLS):
        x = rows(rng, 8)
        assert traced({"step": k + 0.5}, x) == root_of_how_many({}, x)
    assert calls_of(traced)["replayed"] >= CALLS / 2
