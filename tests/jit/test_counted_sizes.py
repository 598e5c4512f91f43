"""Sizes that data decides (`x[mask]`, `nonzero`, `unique`): what follows them is replayed for any
of them, with eager's bits."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit.program.cut_at_counts import cut
from whet.jit.program.needed_values import Needs

from .ledgers import calls_of, served

pytestmark = pytest.mark.usefixtures("whatever_it_costs")
CALLS = 24
W = whet.tensor(np.random.default_rng(3).standard_normal((8, 8)).astype("f"))


def rows(rng, n, chosen=None):
    """Random rows; of so many the first number is positive."""
    x = rng.standard_normal((n, 8)).astype("f")
    if chosen is not None:
        x[:, 0] = np.where(rng.permutation(n) < chosen, 1, -1)
    return whet.tensor(x)


def chosen_of(x):
    return x[x[:, 0] > 0]


def mean(x):
    return x[x > 0].mean()


def masked_loss(x):
    loss = ((whet.relu(x @ W) - x) ** 2).mean(1)
    return loss[loss > loss.mean()].mean()


def by_their_number(x):
    s = chosen_of(x)
    return s.sum() / max(len(s), 1), s / s.numel(), (s * whet.arange(s.shape[0])[:, None]).sum()


def of_all_kinds(x):
    s = chosen_of(x)
    return (s.softmax(0), s.cumsum(0), s.sort(0)[0], s.max(0), s.std(0), s @ s.t(), s.t(), s[::2],
            s[-1], s.flip(0), whet.cat([s, x[:2]]), s.view(s.shape[0], -1, 2).mean(1), s.topk(2, 1))


def two_masks(x):
    m = x[:, 0] > 0
    return x[m].mean() - x[~m].mean(), whet.cat([x[m], x[~m]])


def one_of_another(x):
    s = chosen_of(x)
    k = s[s[:, 1] > -1]
    return s.sum(), k.sum(0), k


def places(x):
    i, j = whet.where(x > 0.5)
    return (x[i, j] * i).sum(), j.bincount(minlength=8)


def written(x):
    y = x.clone()
    y[x > 0] = 0
    y[x < -1] += 3
    return y


def numbers_put(x):
    i, y = (x[:, 0] > 0).nonzero()[:, 0], x.clone()
    y[i] = 0
    z = whet.zeros(len(x))
    z[i] = 1.5
    return y, z, x.index_put((i,), whet.tensor(2.0), accumulate=True)


def repeated(x):
    return whet.repeat_interleave(x, (x[:, 0].abs() * 2).long() + 1, dim=0).sum(0)


def distinct(x):
    values, inverse, counts = whet.unique((x * 9).round(), return_inverse=True, return_counts=True)
    return (values * counts).sum(), inverse, len(values)


def summed(x):
    out, i = whet.zeros(4, 8), (x[:, 0] > 0).nonzero().squeeze(-1)
    return out.index_add_(0, i % 4, x[i])


def of_experts(x):
    which, out = x[:, :4].argmax(1), whet.zeros_like(x)
    for k in range(4):
        i = whet.where(which == k)[0]
        out.index_add_(0, i, whet.tanh(x[i] @ W) * (k + 1))
    return out


FUNCTIONS = [mean, masked_loss, by_their_number, of_all_kinds, two_masks, one_of_another, places,
             written, numbers_put, repeated, distinct, summed, of_experts]


def bits(x):
    """All tensors in something, to the bit."""
    if whet.is_tensor(x):
        return x.dtype, x.shape, x.stride(), x.detach().numpy().tobytes()
    return tuple(map(bits, x)) if isinstance(x, tuple | list) else x


def replayed(function, most, calls):
    """How many calls of random rows, up to `most` more of them, are replayed; all are eager's."""
    rng, traced = np.random.default_rng(1), whet.jit.trace(function)
    for _ in range(calls):
        x = rows(rng, 60 + int(rng.integers(most + 1)))
        assert bits(traced(x)) == bits(function(x))
    return served(traced)


def few_and_all_are_eagers(function, n):
    """Calls in which none, one, few and all rows are chosen, of `n`, come to what eager ones do."""
    rng, traced = np.random.default_rng(1), whet.jit.trace(function)
    for chosen in (7, 9, 0, 8, 1, n, 2, 0, 1, n, 11, 3, 0):
        x = rows(rng, n, chosen)
        try:
            wanted = bits(function(x))
        except (RuntimeError, IndexError) as e:
            with pytest.raises(type(e)):
                traced(x)
        else:
            assert bits(traced(x)) == wanted


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("most", [0, 24], ids=["of one size", "of many sizes"])
def test_numbers_of_rows_that_no_run_had_are_replayed(function, most):
    assert replayed(function, most, CALLS) >= CALLS - 5


@pytest.mark.parametrize("function", FUNCTIONS)
def test_none_one_and_all_rows(function):
    few_and_all_are_eagers(function, 30)


def marked(x):
    i, j = whet.where(x > 0.5)
    out = whet.zeros_like(x)
    out[i, j] = 1.0
    return out


def weighed(x):
    return whet.where(x[:, 0] > 0.5)[0].sum().expand_as(x)


def sums_of_groups(x):
    u, group = whet.unique((x[:, 0] * 2).round(), return_inverse=True)
    return whet.zeros_like(u).index_add_(0, group, whet.ones_like(x[:, 0]))


def gradient_of_a_sum(x):
    w = x.detach().requires_grad_()
    (w.sum() * whet.where(x[:, 0] > 0.5)[0].sum()).backward()
    return w.grad


def of_rows_chosen_before(x):
    few = x[x[:, 0] > -0.5]
    return whet.zeros_like(few) + whet.where(x[:, 1] > 0.5)[0].sum()


@pytest.mark.parametrize("function", [marked, weighed, sums_of_groups, gradient_of_a_sum,
                                      of_rows_chosen_before])
@pytest.mark.parametrize("sizes", [
    (20, 21, 5, 20, 7, 50, 20, 1, 0, 20, 64, 13, 20, 9),
    (20, 21, 22, 23, 24, 25, 20, 21, 9, 10, 11),
    (20, 20, 20, 20, 20, 9, 8, 7, 6, 5)], ids=["two alternate", "they grow", "one, then others"])
def test_what_follows_may_go_by_sizes_of_what_it_does_not_read(function, sizes):
    """`zeros_like(x)` reads nothing of `x`, whose size is another than that of what is counted."""
    rng, traced = np.random.default_rng(0), whet.jit.trace(function)
    for n in sizes:
        x = rows(rng, n)
        assert bits(traced(x)) == bits(function(x))


def beside(x, y):
    return whet.where(x[:, 0] > 0.5)[0].sum() * whet.ones_like(y)


def beside_two(x, y):
    few = x[x[:, 0] > -0.5]
    fewer = few[few[:, 1] > 0]
    return fewer.sum().expand_as(few), fewer.mean() * whet.ones_like(y)


@pytest.mark.parametrize("function", [beside, beside_two])
def test_what_follows_may_go_by_sizes_of_an_argument_that_nothing_reads(function):
    rng, traced = np.random.default_rng(0), whet.jit.trace(function)
    for n in (10, 10, 10, 12, 12, 12, 10, 15, 9, 10, 10, 8, 8, 8, 25, 10, 10, 12, 9, 10, 7):
        x, y = rows(rng, 20), rows(rng, n)
        assert bits(traced(x, y)) == bits(function(x, y))
    assert served(traced) >= 12


def test_a_branch_by_their_number_is_taken_as_it_is_in_eager_mode():
    def halves(x):
        s = chosen_of(x)
        if len(s) > len(x) // 2:
            return s.sum()
        return s.sum() * 10 if s.numel() else x.sum()
    rng, traced = np.random.default_rng(0), whet.jit.trace(halves)
    for k in range(CALLS):
        x = rows(rng, 20, (3, 15, 12, 0, 5, 19, 11, 10)[k % 8])
        assert bits(traced(x)) == bits(halves(x))
    assert calls_of(traced)["replayed"] >= CALLS / 3


def test_texts_and_numbers_of_their_number_are_those_of_the_call():
    def told(x):
        s = chosen_of(x)
        return f"{s.shape[0]} of {len(x)}", {"rows": s, "number": len(s)}
    rng, traced = np.random.default_rng(0), whet.jit.trace(told)
    for k in range(CALLS):
        x = rows(rng, 20, k % 7 + 2)
        text, found = traced(x)
        assert text == f"{k % 7 + 2} of 20" and found["number"] == k % 7 + 2
        assert bits(found["rows"]) == bits(chosen_of(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 5)

    def forward(self, x):
        return self.last(F.gelu(self.norm(self.first(x))))


def test_a_step_of_training_on_labels_that_are_there():
    def trained(traces):
        whet.manual_seed(0)
        net = Net()
        optimizer = whet.optim.AdamW(net.parameters(), lr=1e-2)

        def step(x, y):
            known = y >= 0
            loss = F.cross_entropy(net(x)[known], y[known])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()
        run, rng, losses = whet.jit.trace(step) if traces else step, np.random.default_rng(0), []
        for _ in range(CALLS):
            x = rows(rng, 40)
            losses.append(float(run(x, whet.tensor(rng.integers(-3, 5, 40)))))
        return losses, bits([*net.parameters()]), run
    losses, parameters, _ = trained(False)
    found, others, run = trained(True)
    assert found == losses and others == parameters
    assert served(run) >= CALLS - 6


def test_what_is_written_before_they_are_counted_is_put_back():
    held = [whet.zeros(()), whet.zeros(8)]

    def counting(x):
        held[0].add_(1)
        s = chosen_of(x)
        held[1].add_(s.mean(0))
        return s.sum() * held[0]
    rng, traced = np.random.default_rng(0), whet.jit.trace(counting)
    for k in range(CALLS):
        x = rows(rng, 20, (5, 6, 9, 0, 1, 12)[k % 6])
        before = [t.clone() for t in held]
        wanted = bits(counting(x)), bits(held)
        for t, b in zip(held, before):
            t.copy_(b)
        assert (bits(traced(x)), bits(held)) == wanted
    assert calls_of(traced)["replayed"] >= CALLS / 2


def test_an_index_among_them_that_is_out_of_range_is_eagers_error():
    def gathered(x, table):
        return table[(chosen_of(x)[:, 1] * 10).long().abs()].sum(0)
    rng, traced, table = np.random.default_rng(0), whet.jit.trace(gathered), whet.randn(200, 3)
    for _ in range(CALLS):
        x = rows(rng, 20)
        assert bits(traced(x, table)) == bits(gathered(x, table))
    x[:, 1] = 30
    for fn in (gathered, traced):
        with pytest.raises(IndexError, match="index 300 is out of bounds"):
            fn(x, table)
    assert bits(traced(x / 9, table)) == bits(gathered(x / 9, table))


def test_random_numbers_are_drawn_for_them():
    def dropped(x):
        a, s = F.dropout(x, 0.2), F.dropout(chosen_of(x), 0.5)
        return a.sum() + s.sum(), whet.rand(3)
    rng, traced = np.random.default_rng(0), whet.jit.trace(dropped)
    for k in range(CALLS):
        x = rows(rng, 20, k % 9 + 2)
        whet.manual_seed(k)
        wanted = bits(dropped(x)), whet.get_rng_state().tolist()
        whet.manual_seed(k)
        assert (bits(traced(x)), whet.get_rng_state().tolist()) == wanted
    assert calls_of(traced)["replayed"] >= CALLS / 2


def test_a_function_that_puts_generators_back_is_not_replayed_in_parts():
    def dropped(x):
        before = whet.get_rng_state()
        s = F.dropout(chosen_of(x), 0.5)
        whet.set_rng_state(before)
        return s.sum(0)
    rng, traced = np.random.default_rng(0), whet.jit.trace(dropped)
    with pytest.warns(UserWarning, match="what nonzero gives has another shape"):
        for k in range(CALLS):
            x = rows(rng, 20, k % 9 + 2)
            assert bits(traced(x)) == bits(dropped(x))


def test_views_are_no_results_of_a_part():
    """A part that has a view of what another one made is given what that made."""
    def shown(x):
        y = x * 2
        v = y[1:]
        s = v[v[:, 0] > 0]
        y.add_(1)
        return s, v
    rng, traced = np.random.default_rng(0), whet.jit.trace(shown)
    for _ in range(CALLS):
        x = rows(rng, 20)
        assert bits(traced(x)) == bits(shown(x))
    recordings = traced._calls.recordings.by_key.values()
    recording = next(r for rs in recordings for r in rs if r.program.depends_on_counts)
    p = recording.program
    parts = cut(p.recorded, p.arrays, p.origin, p.results, set(), Needs(), 9)
    assert len(parts) == 2
    assert not any(n.is_view and o in parts[1].given for n in p.recorded for o in n.outs)
    assert calls_of(traced)["replayed"] >= CALLS - 6


def training_step():
    whet.manual_seed(0)
    net = nn.Linear(8, 3)
    opt = whet.optim.Adam(net.parameters(), lr=1e-2)

    def step(x, y):
        chosen = y > 0
        loss = F.cross_entropy(net(x)[chosen], y[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()
    return step


@pytest.mark.parametrize("are_new", [True, False])
def test_what_new_arguments_decide_is_no_size_of_a_recording(are_new):
    """The first call sets up the optimizer. At the second one it is known whether the arguments are
    others each time: then what these choose is no part of the one recording that there is."""
    rng, traced, eager = np.random.default_rng(1), whet.jit.trace(training_step()), training_step()
    for _ in range(6):
        if _ == 0 or are_new:
            x, y = rows(rng, 40), whet.tensor(rng.integers(-1, 3, 40))
        assert traced(x, y) == eager(x, y)
    first = traced._calls.policy.held[0]
    assert first.program.depends_on_counts == are_new
    assert calls_of(traced)["recorded"] == (2 if are_new else 1)


class Ring:
    """The last rows, each in the place of the oldest one."""

    def __init__(self):
        self.rows, self.at = whet.zeros(6, 8), 0

    def take(self, x, position):
        k = self.at % 6
        self.rows[k:k + 1] = x * W[position:position + 1]
        self.at += 1
        return self.rows.sum(0)


def test_a_number_that_became_a_size_may_come_to_what_data_decides():
    """`position` becomes a size. `k` is made of what lies in an attribute, and data decides it."""
    traced, eager = Ring(), Ring()
    take = whet.jit.trace(traced.take)
    for x in whet.split(rows(np.random.default_rng(2), CALLS), 1):
        position = eager.at % 8
        assert bits(take(x, position)) == bits(eager.take(x, position))
    assert not calls_of(take)["failed"]
