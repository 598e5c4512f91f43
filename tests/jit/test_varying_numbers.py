"""Functions whose results go by values: a recording is replayed on other values, and gives what
eager does."""
import collections
import copy
import dataclasses
import inspect
import sys
import types
import warnings

import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn, optim, tensor
from whet.jit.machine_code import native_entry
from whet.jit.stand_ins import replace_stand_ins

from tests.traps.kinds_of_numbers import truths_by_identity

m, n = (tensor([[True, False, True],
                [False, True, False]]), tensor([[True, True, False], [False, False, False]]))
k = tensor([[1, 0, 2], [2, 1, 0]])
i, j = tensor([2, 0, 1]), tensor([0, 1, 2])
a, b = (tensor([[1.5, -2.0, 0.25], [4.0, 0.5, -1.0]]),
        tensor([[0.5, 3.0, -0.75], [2.0, -8.0, float("nan")]]))
z = [tensor(v, dtype=whet.float64) for v in (0.5, 2.0, -3.0, 1e30, 7.0)]


def into_source(mask):
    source = whet.ones(6, requires_grad=True)
    return whet.autograd.grad((whet.zeros(2, 3).masked_scatter(mask, source) * a).sum(), source)[0]


def repeated(n):
    x = whet.ones(3, 2, requires_grad=True)
    y = x.repeat_interleave(n, 0)
    return whet.autograd.grad((y * y * 3).sum(), x)[0]


def put(place, x):
    y = a.clone()
    y[place] = x.item()
    return y


# a function of one tensor, and that tensor at each call
CASES = {
    "nonzero_static": (lambda m: whet.nonzero_static(m, size=4, fill_value=-7), (m, n, ~m, ~n)),
    "masked_scatter": (into_source, (m, n, ~m, ~n)),
    "repeat_interleave": (lambda i: a.repeat_interleave(i, 1, output_size=3),
                          (i, j, tensor([1, 1, 1]))),
    "repeat_interleave back": (repeated, (i, j, tensor([1, 1, 1]))),
    "repeat_interleave list": (lambda x: repeated(tensor([2, 0, 1])) * x, (*z,)),
    "unique_all": (lambda k: tuple(whet.unique_all(k)), (k, k.flip(1), k.roll(1), k.flip(0))),
    "histc": (lambda a: whet.histc(a.nan_to_num(), 4), (a, a * 2, b, -a)),
    "histogram": (lambda a: tuple(whet.histogram(a.nan_to_num(), 4)), (a, a * 2, b, -a)),
    "histogramdd": (lambda a: whet.histogramdd(a.nan_to_num(), [2, 1, 2])[0], (a, a * 2, b, -a)),
    "linspace": (lambda x: whet.linspace(x, 1, 5), z),
    "linspace of a number": (lambda x: whet.linspace(0, x.item(), 5), z),
    "logspace": (lambda x: whet.logspace(x, 2, 5), z),
    "tensor": (lambda x: tensor([x.item(), 1]), z),
    "tensor of tensors": (lambda x: tensor([x, x * 2]), z),
    "tensor of a large number": (lambda x: tensor(x.item() * 1e300), z),
    "fill_": (lambda x: whet.ones(3).fill_(x.item()), z),
    "masked_fill": (lambda x: a.masked_fill(m, x.item()), z),
    "setitem": (lambda x: put((0, 1), x), z),
    "setitem by a mask": (lambda x: put(m, x), z),
    "setitem by a mask of rows": (lambda m: put(m.any(1), z[1]), (m, n, m & n, ~n, m & ~m)),
    "setitem by a mask of columns": (lambda m: put(
        (slice(None), m[0]), z[1]), (m, n, m & n, ~n, m & ~m)),
    "index_fill": (lambda x: a.index_fill(1, i, x.item()), z), }
PYTHON = {"complex": complex, "index": lambda x: [1, 2, 3][x:], "invert": lambda x: ~x}


def told(f, x):
    try:
        y = f(x)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return [(t.dtype, t.shape, t.stride(),
             t.nan_to_num(-77).numpy().tobytes()) if whet.is_tensor(t) else t
            for t in (y if type(y) is tuple else (y,))]


@pytest.mark.parametrize("name", CASES)
def test_other_values(name):
    f, given = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = whet.jit.trace(f)
        for x in (*given, *given, *given):
            assert told(traced, x) == told(f, x)
    paths = traced.explain(data=True)["paths"]
    assert 0 < len(paths) < 3 and sum(path["calls"] for path in paths) > len(given)


@pytest.mark.parametrize("name", PYTHON)
def test_what_python_makes_of_numbers(name):
    def f(x):
        return PYTHON[name](x.item())
    traced = whet.jit.trace(f)
    for x in z[:4]:
        assert told(traced, x) == told(f, x)


def reshaped(name, *args):
    def f(x):
        y, out = x * 1.5, whet.empty(0)
        row = y[0]
        getattr(y, name)(*args)
        row.mul_(3.0)
        whet.exp(x.detach(), out=out)
        return y, y * 2, row, out
    return f


SHAPES = {
    "t_": (), "transpose_": (0, 1), "unsqueeze_": (1,), "squeeze_": (),
    "as_strided_": ((2, 2), (1, 2))}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("grad", [False, True], ids=["", "grad"])
def test_new_tensors_get_another_shape(name, grad):
    f = reshaped(name, *SHAPES[name])

    def seen(call, k):
        x = (a * k).requires_grad_(grad)
        got = call(x)
        if grad:
            sum(y.sum() for y in got).backward()
        return [(y.shape, y.stride(), y._version, y._base is None, y.detach().numpy().tobytes())
                for y in (*got, *[x.grad] * grad)]
    traced = whet.jit.trace(f)
    assert [seen(traced, k) for k in range(4)] == [seen(f, k) for k in range(4)]
    assert [path["calls"] for path in traced.explain(data=True)["paths"]] == [3], traced._why


@pytest.mark.parametrize("aside", [lambda x: x.detach(), lambda x: x.data, lambda x: x.data.data])
def test_versions_count_shapes_that_change_beside_a_tensor(aside):
    def f(x):
        y = aside(x)
        y.t_()
        return y, x * 2

    def seen(call):
        for _ in range(4):
            x = whet.ones(2, 3)
            y, _ = call(x)
            yield y._version, x._version, x.data._version, y.shape
    traced = whet.jit.trace(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(seen(traced)) == list(seen(f))


# ---- numbers in tuples ---------------------------------------------------------------------------
class Box:
    pass


box = Box()


def by_branch(x):
    return x * box.range[1] if box.range[0] > 0.6 else x * box.range[0]


def exchanged(x):
    box.range = box.range[0] * 2, box.range[1]
    return x * box.range[0]


def kept(x):
    box.last = box.range
    return x + box.last[1]


def shown(x):
    return f"{box.range}", x * box.range[0]


RANGES = [(0.5, 2.0), (0.5, 2.0), (0.7, 1.0), (0.9, -1.0), (0.1, 3.0), (0.1, 3.0), (0.3, 0.25, 1.0),
          (1, 2), (0.5, 2.0), (float("nan"), 2.0)]


@pytest.mark.parametrize("fn", [
    lambda x: (x - box.range[0]) * box.range[1], lambda x: x.clamp(*box.range[:2]), lambda x:
    (x + sum(box.range), box.range), lambda x: x * len(box.range) + max(box.range), lambda x: x *
    (box.range == (0.7, 1.0)), lambda x: x * (0.7 in box.range),
    lambda x: whet.tensor(box.range).sum() + x, by_branch, exchanged, kept, shown])
def test_tuples_of_numbers_that_vary(fn):
    def seen(f):
        box.__dict__.clear()
        for r in RANGES:
            box.range = r
            yield repr(f(whet.arange(2.0))), repr(vars(box)), box.range is r
    traced = whet.jit.trace(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(seen(traced)) == list(seen(fn))


def test_a_schedule_of_momentum_is_one_recording():
    def train(trace):
        whet.manual_seed(0)
        model = whet.nn.Linear(4, 3)
        optimizer = whet.optim.AdamW(model.parameters(), lr=1e-3)
        schedule = whet.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=30)

        def step(x):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss
        f = trace(step)
        for _ in range(25):
            f(whet.randn(5, 4))
            schedule.step()
        return (f, [p.detach().numpy().tobytes()
                    for p in model.parameters()], optimizer.state_dict()["param_groups"])
    _, want, groups = train(lambda f: f)
    f, got, others = train(whet.jit.trace)
    assert got == want and groups == others
    assert f._why is None and sum(p["calls"] for p in f.explain(data=True)["paths"]) >= 20


def test_a_number_that_calls_of_another_kind_changed_is_known_to_vary():
    """A counter counts whatever kind of call comes: one look at any kind tells that it varies."""
    state = {"steps": 0}

    @whet.jit.trace(dynamic=False)
    def step(x):
        state["steps"] += 1
        return x * state["steps"]
    narrow, wide = whet.ones(2), whet.ones(3)
    for x in (narrow, wide, narrow, wide, narrow, wide, wide):
        assert step(x).tolist() == [float(state["steps"])] * len(x)
    calls = step.explain(data=True)["calls"]
    assert calls["set_up"] == 1 and calls["recorded"] == 2 and calls["replayed"] == 4, calls


def test_a_number_that_is_only_logged_is_taken_as_it_comes_from_the_first_recording_on():
    """A step that returns `loss.item()` is replayed from its third call on: the first one makes
    gradients, the second is what all others are."""
    model = nn.Linear(4, 3)
    opt = optim.SGD(model.parameters(), lr=0.1)

    @whet.jit.trace
    def step(x):
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()
    losses = [step(whet.full((2, 4), float(k))) for k in range(8)]
    assert len(set(losses)) == 8 and step._policy.summary().replayed == 6


def test_numbers_in_an_f_string_vary(capsys):
    """Where an f-string goes straight into print, a replay writes this call's numbers into it."""
    names = ["loss"]

    @whet.jit.trace
    def step(x):
        loss = x.square().mean()
        print(f"{loss.item():.3f} or {loss.item()}", names[0], end=";", flush=True)
        return loss
    for k in range(8):
        step(whet.full((2,), float(k)))
    assert capsys.readouterr().out == "".join(f"{k * k:.3f} or {float(k * k)} loss;"
                                              for k in range(8))
    assert step._policy.summary().replayed == 7


# ---- numbers in containers among the arguments ---------------------------------------------------
HYPER = collections.namedtuple("HYPER", "rate weight")
CONTAINERS = {
    "list": lambda a, b: [a, b], "tuple": lambda a, b: (a, b, 2),
    "dict": lambda a, b: dict(r=a, w=b), "named": HYPER,
    "nested": lambda a, b: {"r": [a, {"w": (b,)}]},
    "namespace": lambda a, b: types.SimpleNamespace(r=a, w=b)}


def flat(x):
    if isinstance(x, types.SimpleNamespace):
        x = vars(x)
    if isinstance(x, dict):
        x = x.values()
    return [x] if isinstance(x, int | float) else [z for y in x for z in flat(y)]


@pytest.mark.parametrize("kind", CONTAINERS)
def test_numbers_in_a_container_vary(kind):
    """All calls after the second are replays of one recording; what was given is as it was."""
    make = CONTAINERS[kind]

    @whet.jit.trace
    def step(x, given):
        a, b, *_ = flat(given)
        return x * a + b
    for k in range(8):
        given = make(k + 0.5, -0.25 * k)
        assert step(whet.ones(2), given).tolist() == [0.75 * k + 0.5] * 2
        assert repr(given) == repr(make(k + 0.5, -0.25 * k))
    assert step._policy.summary().replayed == 6


def test_machine_code_looks_at_numbers_in_containers():
    @whet.jit.trace
    def step(x, rewards, options, pair):
        return x * rewards[0] + rewards[1] * options["scale"] - pair[1]
    for k in range(12):
        step(whet.ones(2), [k + 0.5, k], {"scale": 0.5 * k, "name": "n"}, (1, float(k)))
    r = next(r for r in step._policy.held if r.calls)
    if native_entry.enter is not None:
        assert r.tables.ready is not None and not r.counts.by_python
    assert r.calls == 10


def test_lists_of_other_lengths_are_other_recordings_and_learn_from_each_other():
    @whet.jit.trace
    def step(x, rewards):
        return x * sum(rewards)
    for k in range(6):
        for n in (1, 2, 3):
            rewards = [n + k + 0.5 * i for i in range(n)]
            assert step(whet.ones(1), rewards).item() == sum(rewards)
    calls = step.explain(data=True)["calls"]
    assert calls["replayed"] >= 13, calls


def test_a_number_that_python_goes_on_from_is_a_constant_beside_ones_that_vary():
    @whet.jit.trace
    def step(x, options):
        for _ in range(options["steps"]):
            x = x - options["rate"] * x
        return x
    for k in range(12):
        step(whet.ones(2), {"rate": 0.01 * k, "steps": 2 + (k == 1)})
    calls = step.explain(data=True)["calls"]
    assert calls["replayed"] >= 7, calls


def test_numbers_vary_beside_a_deque_that_an_enclosing_function_imports():
    """Its length must be one of Python's numbers; code that reads it gives it none."""
    from collections import deque

    def returns(rewards):
        total, found = 0, deque()
        for r in rewards:
            total = r.item() + 0.5 * total
            found.appendleft(total)
        return tensor(found)

    traced = jit.trace(returns)
    for i in range(6):
        rewards = whet.arange(3.0) + i
        assert traced(rewards).equal(returns(rewards))
    calls = traced.explain(data=True)["calls"]
    assert calls["replayed"] == 5, calls


def test_numbers_vary_beside_a_dataclass_and_methods_that_nobody_calls():
    """What a dataclass writes compares classes: that runs no method of a model, say the one that
    makes its optimizer and asks for signatures, to which a number must be one of Python's."""
    @dataclasses.dataclass
    class Options:
        scale: float = 2.0

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.options, self.layer = Options(), nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x) * self.options.scale

        def make_optimizer(self):
            fused = "fused" in inspect.signature(optim.AdamW).parameters
            return optim.AdamW(self.parameters(), **({"fused": True} if fused else {}))

        def __repr__(self):
            return f"{self.__class__.__name__} of {type(self).__qualname__}"
    model = Model()
    f = jit.trace(lambda x, k: model(x) * (k + 1))
    for k in range(6):
        assert whet.equal(f(a[:, :2], k), model(a[:, :2]) * (k + 1))
    assert f._policy.summary().replayed == 4


def test_errors_name_what_numbers_and_arrays_stand_for():
    """Python's numbers and NumPy's: an op that wants a tensor says what it was given."""
    def f(x):
        said = []
        for given in (x.sum().item(), int(x.sum().item()), x.numpy().sum(), x.numpy()):
            for call in (F.elu, whet.clone, lambda y: F.linear(x, y), whet.argsort):
                try:
                    call(given)
                except TypeError as e:
                    said.append(str(e))
        return said
    traced = jit.trace(f)
    for k in range(4):
        assert traced(whet.full((2,), k + 0.5)) == f(whet.full((2,), k + 0.5))


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace came with Python 3.13")
@pytest.mark.parametrize("by_module", [True, False])
def test_copy_replace_is_within_reach_where_it_is_named(by_module):
    """It runs what a dataclass has for it, and its constructor."""
    @dataclasses.dataclass
    class Options:
        scale: float = 2.0
    options = Options()
    replace = getattr(copy, "replace", None)
    f = jit.trace((lambda x: x * copy.replace(options, scale=3.0).scale) if by_module else
                  (lambda x: x * replace(options, scale=3.0).scale))
    for _ in range(4):
        assert whet.equal(f(a), a * 3.0)
    assert f._policy.summary().replayed == 3


def test_nobody_searches_the_process_for_a_number_that_is_returned(monkeypatch):
    searched = []
    monkeypatch.setattr(replace_stand_ins, "gc", types.SimpleNamespace(
        get_referrers=lambda *xs: searched.extend(xs) or []))
    f = jit.trace(lambda x: (x * x).sum().item())
    for k in range(4):
        x = whet.full((3,), k + 1.0)
        assert f(x) == f.fn(x)
    assert f.explain(data=True)["calls"]["recorded"] == 1
    assert searched == []


@pytest.mark.parametrize("step", truths_by_identity(), ids=lambda f: f.__name__)
def test_code_that_asks_for_true_by_identity_takes_numbers_that_vary(step):
    """A comparison is a truth of Python's there, and a guard; the counter goes on to vary."""
    own, other = (types.SimpleNamespace(n=0, flag=None) for _ in range(2))

    def counted(o, x):
        o.n += 1
        return step(o, x)
    traced = jit.trace(lambda x: counted(own, x))
    for k in range(16):
        x = whet.full((3,), float(k % 5))
        assert repr(traced(x)) == repr(counted(other, x))
    assert traced.explain(data=True)["calls"]["replayed"] >= 9
