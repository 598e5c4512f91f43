"""Functions in which data decides several sizes: a part of their programs for each, and what parts
share."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.ir.graph import Graph
from whet.jit.program import parts_builder, program_in_parts
from whet.jit.program.cut_at_counts import cut
from whet.jit.program.needed_values import Needs
from whet.jit.program.numbered_parts import NumberedPart, those_met_again

from .ledgers import calls_of

pytestmark = pytest.mark.usefixtures("whatever_it_costs")
CALLS = 60


def bits(xs):
    return [x.detach().numpy().tobytes() for x in xs]


class Experts(nn.Module):
    """Each token goes through the two experts that its scores choose. `asks`: are experts that no
    token chose left out?"""

    def __init__(self, experts=6, d=8, hidden=16, asks=False):
        super().__init__()
        self.asks = asks
        self.scores = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList([
            nn.Sequential(nn.Linear(d, hidden), nn.SiLU(), nn.Linear(hidden, d))
            for _ in range(experts)])

    def forward(self, x):
        weights, chosen = whet.topk(F.softmax(self.scores(x), dim=1), 2, dim=-1)
        mask = F.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        out = whet.zeros_like(x)
        for k, expert in enumerate(self.experts):
            place, row = whet.where(mask[k])
            if self.asks and row.shape[0] == 0:
                continue
            out.index_add_(0, row, expert(x[row]) * weights[row, place, None])
        return out


def tokens(rng, n):
    return whet.from_numpy(rng.standard_normal((n, 8)).astype("f"))


def parts_of(traced):
    """The later parts of the last program in parts."""
    programs = [r.program for r in traced._calls.policy.held if r.program.depends_on_counts]
    return programs[-1].later


@pytest.mark.parametrize("n", (1, 3, 12))
def test_experts_share_their_plans(n):
    whet.manual_seed(0)
    model = Experts()

    def through(x):
        with whet.no_grad():
            return model(x)
    rng, traced = np.random.default_rng(0), whet.jit.trace(through)
    for _ in range(CALLS):
        x = tokens(rng, n)
        assert bits([traced(x)]) == bits([through(x)])
    assert calls_of(traced)["replayed"] >= CALLS - 14
    placed = parts_of(traced)
    assert len(placed) >= 6 and len({id(p.shared) for p in placed}) <= len(placed) - 5


@pytest.mark.parametrize("asks", (False, True))
def test_steps_of_training(asks):
    results = []
    for trace in (False, True):
        whet.manual_seed(0)
        model, rng = Experts(asks=asks), np.random.default_rng(1)
        optimizer = whet.optim.SGD(model.parameters(), 0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad(set_to_none=False)
            loss = ((model(x) - x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss
        run = whet.jit.trace(step) if trace else step
        losses = [run(tokens(rng, 7)) for _ in range(CALLS)]
        results.append(bits([*losses, *model.parameters()]))
    assert results[0] == results[1]
    if not asks:
        assert calls_of(run)["replayed"] >= CALLS // 2


def test_a_step_that_writes_to_much_is_replayed():
    """What the run writes to is not copied at first, and the program is compared at the next call:
    of other counts each time, it never was."""
    whet.manual_seed(0)
    model, rng = Experts(hidden=3000), np.random.default_rng(1)
    optimizer = whet.optim.SGD(model.parameters(), 0.1)

    @whet.jit.trace
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
    for _ in range(24):
        step(tokens(rng, 24))
    assert calls_of(step)["replayed"] >= 8


def test_the_size_of_what_nobody_reads_is_asked():
    def by_their_number(x, m):
        y = x[m > 0].sum()
        found, = whet.where(x > 1)
        if found.shape[0] == 0:
            return x * 2 + y
        return x * 3 + y
    rng, traced = np.random.default_rng(0), whet.jit.trace(by_their_number)
    for _ in range(4 * CALLS):
        a = rng.uniform(-1, 1, 20).astype("f")
        a[:rng.integers(0, 3)] = 2
        x, m = whet.from_numpy(a), whet.from_numpy(rng.standard_normal(20).astype("f"))
        assert bits([traced(x, m)]) == bits([by_their_number(x, m)])
    assert calls_of(traced)["replayed"] >= 3 * CALLS


def test_parts_that_differ_in_a_number_are_others():
    def by_classes(x, k):
        return [x[k == i].sum() for i in range(6)]
    rng, traced = np.random.default_rng(0), whet.jit.trace(by_classes)
    for _ in range(CALLS):
        x, k = tokens(rng, 20), whet.from_numpy(rng.integers(0, 6, 20))
        assert bits(traced(x, k)) == bits(by_classes(x, k))
    assert calls_of(traced)["replayed"] >= CALLS // 2


def test_parts_are_split_once_they_have_many_ways(monkeypatch):
    def of_masks(x):
        a, b, c = (x[x[:, k] > 1.2] for k in range(3))
        return a.sum(0), (b * 2).exp().sum(0), c.cos().sum(0)
    rng, traced = np.random.default_rng(0), whet.jit.trace(of_masks)
    for _ in range(4 * CALLS):
        x = tokens(rng, 8)
        assert bits(traced(x)) == bits(of_masks(x))
    counts = [r.program.most_counts for r in traced._calls.policy.held
              if r.program.depends_on_counts]
    assert counts[0] == parts_builder.MOST_COUNTS and counts[-1] == 1
    assert calls_of(traced)["replayed"] >= 3 * CALLS


def program_of(function, n=9):
    """A program in parts of a function of tokens."""
    rng, traced = np.random.default_rng(0), whet.jit.trace(function)
    for _ in range(12):
        traced(tokens(rng, n))
    return next(r.program for r in traced._calls.policy.held if r.program.depends_on_counts)


def test_its_graphs_have_the_numbers_of_the_whole():
    whet.manual_seed(0)
    model = Experts()
    p = program_of(lambda x: model(x).detach())
    for nodes in (p.recorded, p.nodes):
        graph = Graph.of(nodes, p.arrays, [], [(n, "") for n in p.results])
        made = {o for node in graph.nodes for o in node.outs}
        read = {int(x) for node in graph.nodes for x in node.refs()}
        assert set(p.results) <= made | set(p.outside) and read <= made | set(p.outside)
        for node in graph.nodes:
            node.head()
            assert all(o in graph.types for o in node.outs)


def test_numbered_parts():
    whet.manual_seed(0)
    model = Experts()
    placed = program_of(lambda x: model(x).detach()).later
    parts = [p.shared.numbered for p in placed]
    assert len({id(p) for p in parts}) < len(parts)
    one = parts[0]
    assert one.of_whole[:one.given_count] != list(range(one.given_count))
    assert all(o >= one.given_count for node in one.nodes for o in node.outs)
    assert one.does_as(one) and those_met_again([one, one]) == [True, True]
    assert those_met_again([one]) == [False]
    other = NumberedPart(**{**vars(one), "nodes": one.nodes[:-1]})
    assert not one.does_as(other) and those_met_again([one, other]) == [False, False]


def test_lists_are_split_where_counts_change():
    whet.manual_seed(0)
    model = Experts()
    p = program_of(lambda x: model(x).detach())
    whole, apart = (cut(p.recorded, p.arrays, p.origin, p.results, set(), Needs(), most_counts)
                    for most_counts in (9, 1))
    assert len(whole) == 2 and len(apart) >= 7
    assert sum(len(part.counted) for part in apart) == sum(len(part.counted) for part in whole) == 6
    for part in apart[1:7]:
        assert len([n for n in part.given if n in p.counted]) == 1


def test_what_is_there_for_its_size_alone_is_learned():
    whet.manual_seed(0)
    model = Experts()

    def through(x):
        # where hooks run in the midst of gradients, these are not known to be of an op
        with whet.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = model(x)
            y.sum().backward()
        return y.detach()
    rng, traced = np.random.default_rng(0), whet.jit.trace(through)
    for _ in range(30):
        traced(tokens(rng, 9))
    placed = [p for p in parts_of(traced)
              if p.shared.numbered.read_count < p.shared.numbered.given_count]
    assert any(p.shared.unread for p in placed)
    assert calls_of(traced)["replayed"] >= 10
    assert program_in_parts.WAYS > max(len(p.shared.ways) for p in placed)


def test_gradients_are_given_the_counts_that_they_go_by(monkeypatch):
    monkeypatch.setattr(parts_builder, "LONG", 0)
    w = whet.randn(8, 4, requires_grad=True)

    def through(x):
        above, below = x[x[:, 0] > 0.5], x[x[:, 1] < 0]
        w.grad = None
        ((above @ w).sum() + (below @ w).exp().mean()).backward()
        return w.grad
    p = program_of(through)
    for placed in p.later:
        assert len(p.counted.intersection(placed.given)) <= 1
        assert not placed.shared.numbered.by_unread_sizes


def test_numbers_in_gradients_go_by_the_sizes_that_they_are_made_of(monkeypatch):
    """The mean's gradient is divided by how many there are, which two runs may have alike."""
    monkeypatch.setattr(parts_builder, "LONG", 0)
    w = whet.randn(8, 4, requires_grad=True)

    def through(x):
        above, below = x[x[:, 0] > 0.5], x[x[:, 1] > 0.5]
        w.grad = None
        ((above @ w).exp().sum() + (below @ w).mean()).backward()
        return w.grad
    rng, traced = np.random.default_rng(0), whet.jit.trace(through)
    for k in range(2 * CALLS):
        x = rng.standard_normal((14, 8)).astype("f")
        if k < 12:                           # other numbers of the one, as many of the other
            x[:, 1] = [1] * 5 + [0] * 9
        x = whet.from_numpy(x)
        assert bits([traced(x)]) == bits([through(x)]), k
    assert calls_of(traced)["replayed"] >= CALLS


def test_sizes_that_are_new_take_any_way_that_has_a_plan():
    def by_count(x):
        found, = whet.where(x[:, 0] > 1)
        return x[found].sum(0) if len(found) == 0 else (x[found] * 2).exp().sum(0) + x.mean(0)
    rng, traced = np.random.default_rng(0), whet.jit.trace(by_count)
    for n in [*range(20, 30)] * 12:
        x = tokens(rng, n)
        x[:, 0] = -x[:, 0].abs() if rng.random() < 0.5 else x[:, 0].abs() + 1
        assert bits([traced(x)]) == bits([by_count(x)])
    before = calls_of(traced)
    for n in range(30, 90):
        x = tokens(rng, n)
        x[:, 0] = -x[:, 0].abs() if n % 2 else x[:, 0].abs() + 1
        assert bits([traced(x)]) == bits([by_count(x)])
    after = calls_of(traced)
    assert after["replayed"] == before["replayed"] + 60
    assert after["recorded"] == before["recorded"]


def test_views_that_several_parts_read_come_behind_what_they_are_of():
    def overlap(boxes, scores):
        keep = scores > 0.3
        boxes, scores = boxes[keep], scores[keep]
        order = scores.argsort(descending=True)
        best = int(order[0])
        a, b = boxes[best:best + 1], boxes[order[1:]]
        area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
        return area[:, None] + whet.maximum(a[:, None, :2], b[:, :2])[:, :, 0]
    rng, traced = np.random.default_rng(0), whet.jit.trace(overlap)
    for k in range(14):
        n = 8 + 4 * (k % 2)
        args = [whet.from_numpy(rng.random(s).astype(np.float32)) for s in ((n, 4), (n,))]
        assert bits([traced(*args)]) == bits([overlap(*args)]), k


def test_places_that_go_by_numbers_among_the_arguments_and_by_counts():
    table, steps = whet.linspace(0.9, 0.1, 20), [5]

    def look_up(x, t):
        before = t - 20 // steps[0]
        return x * table[t] + t * 0.01 + (table[before] if before >= 0 else table[0] * 0)
    traced = whet.jit.trace(look_up)
    for n in (5, 10, 4):
        steps[0] = n
        for t in range(20 - 20 // n, -1, -20 // n):
            x = whet.ones(3)
            assert bits([traced(x, t)]) == bits([look_up(x, t)]), (n, t)


def divergence(x):
    logs = x.log_softmax(1)
    return F.kl_div(logs, logs.detach().exp().flip(1), reduction="batchmean")


@pytest.mark.parametrize("of_rows", [
    divergence, lambda x: whet.cov(x.T).square().sum(), lambda x: x.quantile(0.3, dim=0).sum(),
    lambda x: x.nanquantile(0.7, dim=0).sum(), lambda x: whet.cov(x.T, correction=3).sum()])
def test_numbers_that_functions_compute_of_sizes(monkeypatch, of_rows):
    """They may be alike in two runs in which another count was not."""
    monkeypatch.setattr(parts_builder, "LONG", 0)
    w = whet.randn(8, 4, requires_grad=True)

    def through(x):
        above, below = x[x[:, 0] > 0.5], x[x[:, 1] > 0.5]
        w.grad = None
        total = (above @ w).exp().sum() + of_rows(below @ w)
        total.backward()
        return total.detach(), w.grad
    rng, traced = np.random.default_rng(0), whet.jit.trace(through)
    for k in range(2 * CALLS):
        x = rng.standard_normal((14, 8)).astype("f")
        x[:, 1] = [1] * 5 + [0] * 9 if k < 12 else [1] * (k % 9 + 2) + [0] * (12 - k % 9)
        x = whet.from_numpy(x)
        assert bits(traced(x)) == bits(through(x)), k
    assert calls_of(traced)["replayed"] >= CALLS
