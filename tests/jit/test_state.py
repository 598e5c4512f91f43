"""Traced functions whose numbers vary and that leave something behind: the same results and the
same state as eagerly, and replayed."""
import collections
import dataclasses
import gc
import math
import types
import warnings
import weakref

import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.jit.dispatch import recordings
from whet.jit.policy import account
from whet.jit.program import writes_and_questions
from whet.jit.replay import families


def bits(x):
    """What can be compared of a result."""
    if isinstance(x, whet.Tensor):
        return x.dtype, tuple(x.shape), x.detach().numpy().tobytes()
    if isinstance(x, (list, tuple)):
        return type(x), [bits(y) for y in x]
    if isinstance(x, dict):
        return type(x), [(k, bits(v)) for k, v in x.items()]
    return type(x), repr(x)


def both(make, calls, replayed=True):
    """Run `calls(f, state)` for a function made afresh, eagerly and traced; the yielded values
    must be equal, types included."""
    outcomes = []
    for trace in (lambda f: f, whet.jit.trace):
        whet.manual_seed(0)
        f, state = make()
        t = trace(f)
        outcomes.append([bits(y) for y in calls(t, state)])
    assert outcomes[0] == outcomes[1]
    facts = t.explain(data=True)
    if replayed:
        assert (facts["refused"] is None
                and any(p["calls"] >= 3 for p in facts["paths"])), t.explain()
    return t


def test_a_float_argument_that_varies_is_an_input():
    def f(x, rate, scale=1.0): return x * rate + scale, rate * 2

    t = both(lambda: (f, None),
             lambda f, _: [f(whet.ones(3), 0.1 * i, scale=i / 7) for i in range(12)])
    assert len(t.explain(data=True)["paths"]) == 2


def test_a_number_that_decides_something_is_a_guard():
    def f(x, n): return x * n if n > 2.5 else x - n
    t = both(lambda: (f, None), lambda f, _: [f(whet.ones(3), float(i % 5)) for i in range(20)])
    # one as first seen, and one for each answer
    assert len(t.explain(data=True)["paths"]) <= 3


@pytest.mark.parametrize(
    "use",
    [
        lambda x, n: x * math.exp(n), lambda x, n: x * n ** 2, lambda x, n: x + round(n, 1),
        lambda x, n: x * float(f"{n:.2f}"), lambda x, n: x.sum(int(n)), lambda x, n: whet.full(
            (2,), n) + x[0, :2], lambda x, n: x[int(n):], lambda x, n: x + np.float64(n),
        lambda x, n: x * {0.0: 1, 1.0: 2}[n], lambda x, n: x + [1, 2, 3][int(n)]],
    ids=["exp", "pow", "round", "format", "dim", "full", "slice", "numpy", "key", "index"])
def test_numbers_that_python_computes_with_stay_right(use):
    both(lambda: (use, None), lambda f, _: [f(whet.ones(3, 3), float(i % 2)) for i in range(10)],
         replayed=False)


@pytest.mark.parametrize("use",
                         [
                             lambda n: (n + 1, n - 2, 3 - n, n * 4, -n, abs(n)), lambda n:
                             (n / 3, n // 3, n % 3, n * 0.5), lambda n:
                             (n + 0.5) * 2 - n / 7, lambda n: n * n - n, lambda n:
                             (n > 3, n == 2, n != 2, n <= 4, not n), lambda n: (n // -3, n % -3)],
                         ids=["whole", "divided", "mixed", "products", "compared", "negative"])
@pytest.mark.parametrize("start", [-4, -2.5])
def test_arithmetic_with_numbers_is_pythons(use, start):
    def f(x, n): return x * n, use(n)

    both(lambda: (f, None), lambda f, _: [f(whet.ones(2), start + i) for i in range(9)],
         replayed=False)


def test_a_large_whole_number_does_not_wrap():
    def f(x, n): return x + 1, n * n * n

    both(lambda: (f, None), lambda f, _: [f(whet.ones(2), 10 ** i) for i in range(12)],
         replayed=False)


def test_division_by_a_number_that_becomes_zero():
    def f(x, n): return x * (1 / n)
    def calls(f, _):
        for n in (1.0, 2.0, 3.0, 4.0, 0.0):
            try:
                yield f(whet.ones(2), n)
            except ZeroDivisionError as e:
                yield str(e)
    both(lambda: (f, None), calls, replayed=False)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_learning_rate_that_changes_at_each_step(optimizer):
    def make():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = getattr(whet.optim, optimizer)(model.parameters(), lr=0.1)
        schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, 30)

        def step(x):
            opt.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            opt.step()
            return loss.item()
        return step, (model, schedule)

    def calls(f, state):
        model, schedule = state
        for i in range(15):
            yield f(whet.ones(2, 4) * (i % 3)), schedule.get_last_lr(), list(model.parameters())
            schedule.step()
    both(make, calls)


def test_a_schedule_inside():
    def make():
        model = nn.Linear(3, 1)
        opt = whet.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        schedule = whet.optim.lr_scheduler.StepLR(opt, 3, gamma=0.5)

        def step(x):
            opt.zero_grad()
            model(x).square().sum().backward()
            opt.step()
            schedule.step()
            return schedule.get_last_lr()
        return step, (model, schedule)

    both(
        make, lambda f, s: [(f(whet.ones(2, 3)), list(s[0].parameters()), s[1].last_epoch, s[1].
                             state_dict()["_last_lr"]) for _ in range(24)])


def test_losses_are_appended_and_counted():
    def make():
        log = types.SimpleNamespace(losses=[], seen={"n": 0, "total": 0.0})

        def f(x):
            loss = x.square().sum()
            log.losses.append(loss.item())
            log.seen["n"] += 1
            log.seen["total"] += loss.item()
            return x * log.losses[-1]
        return f, log

    (both(
        make, lambda f, log: [
            (f(whet.ones(2) * i), list(log.losses), dict(log.seen)) for i in range(10)]))


def test_a_module_that_keeps_a_state():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.h, self.calls = nn.Linear(3, 3), whet.zeros(3), 0

        def forward(self, x):
            self.calls += 1
            self.h = (self.up(x) + self.h).tanh().detach()
            return self.h * self.calls
    def make():
        m = Cell()
        return m, m
    def calls(f, m):
        for i in range(12):
            if i == 8:
                m.h = whet.ones(3)
            yield f(whet.ones(3) * i), m.h, m.calls
    both(make, calls)


def test_a_counter_of_an_enclosing_function():
    def make():
        count = 0

        def f(x):
            nonlocal count
            count += 1
            return x * count if count % 3 else x
        return f, lambda: count
    both(make, lambda f, count: [(f(whet.ones(2)), count()) for _ in range(16)])


def test_containers_among_the_arguments_are_changed():
    def f(batch, log):
        batch["y"] = batch["x"] * 2
        log.append(batch["y"].sum())
        return batch, log
    def calls(f, _):
        for i in range(6):
            batch, log = {"x": whet.ones(2) * i}, ["start"]
            a, b = f(batch, log)
            yield a is batch, b is log, batch, log
    both(lambda: (f, None), calls)


def test_one_container_given_twice_is_not_two():
    def f(a, b):
        a.append(1)
        return len(b)
    def calls(f, _):
        for _ in range(4):
            a, b = [whet.ones(2)], [whet.ones(2)]
            yield f(a, b), f(a, a), len(a), len(b)
    both(lambda: (f, None), calls, replayed=False)


def test_a_list_returned_twice_is_one_list():
    def f(x):
        y = [x + 1]
        return y, y, (y,)
    def calls(f, _):
        for _ in range(5):
            a, b, (c,) = f(whet.ones(2))
            yield a is b, b is c, a
    both(lambda: (f, None), calls)


def test_a_numpy_array_from_outside_is_compared():
    def make():
        a = np.arange(3, dtype=np.float32)
        return (lambda x: x * whet.as_tensor(a) + whet.tensor(a)), a
    def calls(f, a):
        for i in range(8):
            a[0] = i // 4
            yield f(whet.ones(3))
    both(make, calls)


def test_hooks_of_leaves_run_inside_and_outside():
    def make():
        p = whet.ones(3, requires_grad=True)
        p.register_hook(lambda g: g * 3)
        return (lambda x: (p * x).sum()), p
    def calls(f, p):
        for i in range(6):
            p.grad = None
            f(whet.ones(3) * i).backward()
            yield p.grad
    both(make, calls)


def test_nothing_but_plain_numbers_is_left_behind():
    """Also where the function raises, and in objects of its own that outlive it."""
    class Holder:
        pass
    kept = []

    def f(x, n):
        h = Holder()
        h.n = n
        kept.append(h)
        if n > 4.5:
            raise ValueError(n)
        return x * n
    t = whet.jit.trace(f)
    for i in range(6):
        try:
            t(whet.ones(2), float(i))
        except ValueError as e:
            assert type(e.args[0]) is float
    assert [type(h.n) for h in kept] == [float] * 6


def test_sizes_that_never_come_again_are_not_recorded_and_others_are_kept(monkeypatch):
    # a recording for all sizes costs next to nothing
    monkeypatch.setattr(families, "grow", lambda *args: None)
    def f(x): return (x * 2 + 1).tanh()
    t = whet.jit.trace(f)
    for n in range(1, 200):
        x = whet.ones(n)
        assert bits(t(x)) == bits(f(x))
    # a venture is recorded where it would have paid with a plan for all sizes
    assert 8 <= len(t.explain(data=True)["paths"]) <= 8 + recordings.VENTURES
    assert t.explain(data=True)["refused"] is None
    for _ in range(2):
        for n in range(1, 200):
            assert bits(t(whet.ones(n))) == bits(f(whet.ones(n)))
    assert len(t.explain(data=True)["paths"]) == 199


def test_a_traced_module_is_a_part_of_another():
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = (whet.jit.trace(nn.Linear(3, 3)),
                                    nn.Sequential(whet.jit.trace(nn.Tanh()), nn.Linear(3, 1)))

        def forward(self, x):
            return self.head(self.body(x))
    m = Whole()
    assert ([n for n, _ in m.named_parameters()
             ] == ["body.weight", "body.bias", "head.1.weight", "head.1.bias"])
    assert (list(m.state_dict()) == [n for n, _ in m.named_parameters()]
            and isinstance(m.body, nn.Linear))
    m.load_state_dict(m.state_dict())
    m.eval()
    assert not m.body.training and not m.body.fn.training
    m.body.scale = 3
    assert m.body.fn.scale == 3
    m.body.weight = nn.Parameter(whet.zeros(3, 3))
    x = whet.ones(2, 3)
    for _ in range(5):
        assert bits(m(x)) == bits(m.head(m.body.bias.expand(2, 3)))
    m(x).sum().backward()
    assert m.body.fn.weight.grad is not None


COUNT = 2


@pytest.mark.parametrize("where", ["attribute", "entry", "global", "cell", "class"])
def test_what_is_stored_anew_is_stored_by_replays_too(where):
    """A place that was seen to vary holds, when the call is recorded, what the function stores
    there."""
    def make():
        global COUNT
        COUNT = 2

        class Box:
            k = 2
        box, entries, cell = Box(), {"k": 2}, 2
        if where == "attribute":
            box.k = 2

        def f(x):
            global COUNT
            nonlocal cell
            if where == "attribute":
                box.k = 7
            elif where == "entry":
                entries["k"] = 7
            elif where == "global":
                COUNT = 7
            elif where == "cell":
                cell = 7
            else:
                Box.k = 7
            return x * 2

        def change(to):
            global COUNT
            nonlocal cell
            box.__dict__.update({"k": to} if where == "attribute" else {})
            entries["k"], COUNT, cell, Box.k = to, to, to, to
        return f, change, lambda: (box.k, entries["k"], COUNT, cell, Box.k)
    seen = []
    for wrap in (lambda f: f, whet.jit.trace):
        f, change, look = make()
        f, found = wrap(f), []
        for i in range(8):
            if i in (2, 4, 5):
                change(i)
            assert f(whet.ones(2)).tolist() == [2, 2]
            found.append(look())
        seen.append(found)
    assert seen[0] == seen[1]


def test_a_dataclass_beside_functions_that_call_functions():
    @dataclasses.dataclass
    class Config:
        width: int = 3

    class Model(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config, self.layer = config, nn.Linear(4, config.width)

        def forward(self, x, k):
            return self.layer(x).topk(min(k, self.config.width), -1)[0]

    both(lambda: (Model(Config()), None),
         lambda f, _: [f(whet.arange(8.0).view(2, 4) + i, 2).detach() for i in range(6)])


def test_a_state_that_was_loaded_is_let_go_at_once():
    m = nn.Sequential(nn.Linear(2, 2))
    state = {k: v.clone() for k, v in m.state_dict().items()}
    refs = [weakref.ref(v) for v in state.values()]
    gc.disable()
    try:
        m.load_state_dict(state)
        del state
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


def test_a_namespace_is_told_by_what_it_holds():
    def make():
        return (lambda batch: (batch.x * batch.scale, batch.names)), None

    def calls(f, _):
        for i in range(6):
            yield f(types.SimpleNamespace(x=whet.ones(3) * i, scale=2.0, names=("a",)))
        batch = types.SimpleNamespace(x=whet.ones(3), scale=2.0, names=("a",))
        yield f(batch)
        batch.scale = 3.0
        yield f(batch)
    t = both(make, calls)
    assert len(t.explain(data=True)["paths"]) == 2
    f = whet.jit.trace(lambda a, b: a is b)
    one = types.SimpleNamespace(x=1)
    assert [f(one, one), f(one, types.SimpleNamespace(x=1)), f(one, one)] == [True, False, True]


def test_arguments_that_are_always_others_are_soon_left_alone():
    f = whet.jit.trace(lambda x, a: x + float(a[0]))
    for i in range(200):                     # each array has the address of one before it
        assert f(whet.ones(2), np.full(3, float(i))).tolist() == [1.0 + i] * 2
    assert len(f.explain(data=True)["paths"]) <= account.FREE
    same = np.full(3, 2.0)
    for _ in range(200):
        assert f(whet.ones(2), same).tolist() == [3.0, 3.0]
    assert any(p["calls"] > 50 for p in f.explain(data=True)["paths"])


def test_a_number_is_read_after_large_tensors_were_written(monkeypatch):
    monkeypatch.setattr(writes_and_questions, "LARGEST_COPY", 1000)

    def make():
        layer, total, right = nn.Linear(20, 20), 0.0, 0
        opt = whet.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

        def f(x):
            nonlocal total, right
            loss = layer(x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * x.size(0)
            right += whet.sum(x > 0)
            return total, right
        return f, None
    both(make, lambda f, _: [f(whet.randn(4, 20)) for _ in range(9)])


@pytest.mark.parametrize("read", [False, True])
def test_what_came_of_a_graph_that_is_used_up_is_laid_into_an_attribute(read):
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.weights = nn.Linear(3, 3), None

        def forward(self, x):
            before = self.weights
            self.weights = self.layer(x).softmax(-1)
            return self.weights @ x + (before.detach().sum() if read and before is not None else 0)

    def make():
        model = Attention()
        opt = whet.optim.SGD(model.parameters(), lr=0.1)

        def f(x):
            opt.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            opt.step()
            return loss.item()
        return f, model

    def calls(f, model):
        for i in range(9):
            yield f(whet.randn(
                3, 3)), model.weights, model.weights.requires_grad, model.weights.grad_fn is None
            if i == 5:
                model.weights = model.layer(whet.ones(3, 3))         # one whose graph is alive
            if i == 6:
                model.weights = whet.ones(3, 3)
        with pytest.raises(RuntimeError, match="a second time"):
            model.weights.sum().backward()
    both(make, calls, replayed=not read)


def test_phases_of_a_long_run_are_recorded_one_after_the_other():
    """The first recordings make place for others, if they have been worth it."""
    box = types.SimpleNamespace(mode="a")

    @jit.trace(verify="off")
    def f(x):
        for c in box.mode:
            x = x * ord(c)
        return x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in "abcdefghijklmnop":
            box.mode = mode
            for _ in range(60):
                assert f(whet.ones(3)).tolist() == [float(ord(mode))] * 3
    assert sum(r["calls"] for r in f.explain(data=True)["paths"]) > 400


def test_states_that_alternate_may_be_several():
    """Gradients that are there at every second call, and a best loss that is beaten at some: no
    recording fits at first."""
    def make():
        whet.manual_seed(3)
        w, state = whet.randn(4, 2, requires_grad=True), {"step": 0, "best": float("inf"), "bad": 0}
        opt = whet.optim.Adam([w], 1e-2)

        def f(x, k):
            loss = (x @ w).square().mean() / k
            loss.backward()
            state["step"] += 1
            if state["step"] % k == 0:
                opt.step()
                opt.zero_grad()
            if loss.item() < state["best"]:
                state["best"], state["bad"] = loss.item(), 0
            else:
                state["bad"] += 1
            return loss.item(), dict(state)
        return f
    data, eager, traced = whet.randn(24, 5, 4), make(), jit.trace(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [eager(x, 2) for x in data] == [traced(x, 2) for x in data]
    assert sum(r["calls"] for r in traced.explain(data=True)["paths"]) > 8


def test_records_are_made_and_taken():
    Pair = collections.namedtuple("Pair", "a b")
    f = jit.trace(lambda p: Pair(p.a * 2, p.b + 1.5), strict=True)
    for _ in range(4):
        p = Pair(whet.ones(2), 3.0)
        assert bits(f(p)) == bits(f.fn(p))
    assert sum(r["calls"] for r in f.explain(data=True)["paths"]) == 3
