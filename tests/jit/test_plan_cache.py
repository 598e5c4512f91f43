"""What passes made, kept for processes to come: a list that is found runs no pass, computes the
same bits, and is found by nothing else."""
import types

import numpy as np
import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.jit.program import plan_cache
from whet.nn import functional as F
from whet.passes import pipeline, repeat_for_sizes
from whet.passes.merge_repeats import meaning

from tests.together import bits as bits_of
from tests.together import each

X, Y, W = (whet.linspace(-2, 2, 96).reshape(8, 12) * k for k in (1.0, 0.7, -0.3))
INDEX = whet.tensor([3, 0, 7, 3])


def bits(results):
    """All that is compared of a result, or several."""
    return [bits_of(x) for x in each(results)]


@pytest.fixture
def disk(monkeypatch):
    """A cache that is a dictionary."""
    files = {}
    monkeypatch.setattr(native, "keeps", lambda: True)
    monkeypatch.setattr(native, "cached", files.get)
    monkeypatch.setattr(native, "keep", files.__setitem__)
    return files


@pytest.fixture
def no_passes(monkeypatch):
    """From its call on, to run passes is an error."""
    def begin():
        def optimize(*_):
            raise AssertionError("passes run")
        monkeypatch.setattr(pipeline, "optimize", optimize)
    return begin


def step():
    """Parameters, their state, and a training step on them."""
    model = whet.nn.Sequential(whet.nn.Linear(12, 6), whet.nn.BatchNorm1d(6), whet.nn.Tanh(),
                               whet.nn.Linear(6, 3))
    opt = whet.optim.Adam(model.parameters(), lr=0.01)

    def run(x):
        loss = F.cross_entropy(model(x), whet.arange(8) % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, *[p.detach().clone() for p in model.parameters()]
    return run


PROGRAMS = {
    "pointwise": lambda x, y: ((x * 2 + y).tanh(), x * y),
    "rows": lambda x, y: (x * y).softmax(1).sum(0),
    "a product and what follows": lambda x, y: F.gelu(x @ y.T + 1),
    "products in a row": lambda x, y: (x @ y.T).softmax(-1) @ x,
    "a convolution": lambda x, y: F.relu(
        F.conv2d(x.reshape(1, 1, 8, 12), y[:3, :3].reshape(1, 1, 3, 3)) * 2),
    "moves": lambda x, y: whet.cat([x.exp(), y], 1).roll(3, 1) + 1,
    "gathers": lambda x, y: F.embedding(INDEX, x) * y[:4],
    "constants": lambda x, y: x * (whet.arange(12) / 3 + 1) + whet.full((12,), 2.0),
    "a value that Python sees": lambda x, y: x + 1 if float(y.sum()) < 1e9 else y,
    "random numbers": lambda x, y: F.dropout(x, 0.5) + whet.rand(8, 12) * y,
    "writes": lambda x, y: x.clone().mul_(2).add_(y)[:, ::2].neg_(), }


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_found_runs_no_pass(name, disk, no_passes):
    fn, results = PROGRAMS[name], []
    for found in False, True:
        if found:
            assert disk
            no_passes()
        f = jit.trace(lambda x, y: fn(x, y), strict=True)
        whet.manual_seed(1)
        results.append([bits(f(X, Y)) for _ in range(3)])
    whet.manual_seed(1)
    assert results[0] == results[1] == [bits(fn(X, Y)) for _ in range(3)]


def cells():
    """The same of cells along rows: transposed parts of what they saw are products' operands."""
    cell, head = whet.nn.LSTMCell(1, 4), whet.nn.Linear(4, 1)
    opt = whet.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1, momentum=0.9)

    def run(x):
        state, out = (whet.zeros(8, 4), whet.zeros(8, 4)), []
        for column in x.split(1, 1):
            state = cell(column, state)
            out.append(head(state[0]))
        loss = (whet.cat(out, 1) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, *[p.detach().clone() for p in cell.parameters()]
    return run


def layer():
    """The same of a transformer's layer: gradients and the optimizer's state are laid out anew."""
    layer = whet.nn.TransformerEncoderLayer(12, 2, 8, dropout=0.0, batch_first=True)
    opt = whet.optim.AdamW(layer.parameters(), lr=0.01)

    def run(x):
        loss = layer(x[None]).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, *[p.detach().clone() for p in layer.parameters()]
    return run


@pytest.mark.parametrize("step", [step, cells, layer])
def test_a_training_step_is_found(disk, no_passes, step):
    runs = []
    for how in "eager", "passes", "found":
        whet.manual_seed(0)
        # its first call makes the optimizer's state, and is none for a replay
        f = step() if how == "eager" else jit.trace(step())
        if how == "found":
            no_passes()
        runs.append([bits(f(X)) for _ in range(5)])
        assert how == "eager" or f.explain(data=True)["paths"][0]["calls"]
    assert runs[0] == runs[1] == runs[2]


def test_a_loop_is_found(disk, monkeypatch):
    """(But not its body, whose nodes are groups already.)"""
    def fn(x, y):
        for _ in range(40):
            x = (x * 0.9 + y).tanh()
        return x
    want = bits(fn(X, Y))
    for _ in range(2):
        f = jit.trace(lambda x, y: fn(x, y), strict=True)
        assert [bits(f(X, Y)) for _ in range(3)] == [want] * 3


def test_what_is_found_serves_other_sizes(disk, no_passes):
    fn = lambda x: (x * 2).softmax(1) + x.sum()
    jit.trace(lambda x: fn(x))(X)
    no_passes()
    f = jit.trace(lambda x: fn(x), strict=True)
    for x in (X, X, X[:5].clone(), X[:, :7].clone()):
        assert bits(f(x)) == bits(fn(x))


def test_a_name_tells_all_that_passes_go_by(disk):
    x, y = X, X.to(whet.float64)
    programs = [
        lambda: x * 2, lambda: x * 2.0, lambda: x * True, lambda: x * 0.0, lambda: x * -0.0,
        lambda: x * float("nan"), lambda: y * 2, lambda: 2 * x, lambda: x[:4] * 2, lambda: x.T * 2,
        lambda: x.sum(0), lambda: x.sum(1), lambda: x.sum(1, keepdim=True), lambda: (x * 2, x),
        lambda: x * whet.tensor([2.0]), lambda: x * whet.tensor([3.0]), lambda: x[:, 1:5],
        lambda: x[:, 2:6], lambda: x.to(whet.float16), lambda: x.to(whet.bfloat16),
        lambda: x.add(x), lambda: whet.rand(3) + whet.rand(3), lambda: x.view(12, 8) + 1, ]
    names = []

    def name(plan, passes):
        names.append(real(plan, passes))
        return names[-1]
    real, plan_cache.name = plan_cache.name, name
    try:
        for program in programs:
            before = len(names)
            jit.trace(program)()
            assert len(names) == before + 1, program
    finally:
        plan_cache.name = real
    assert None not in names and len(set(names)) == len(names)


def test_what_is_not_ours_has_no_name(disk, monkeypatch):
    from whet.ops.registry import Op
    twice = Op("twice", lambda a: a * 2, register=False)
    f = jit.trace(lambda x: twice(x) + 1)
    assert bits(f(X)) == bits(X * 2 + 1) and not disk
    monkeypatch.setattr(pipeline,
                        "PASSES", [(n, (lambda *a, p=p: p(*a))) for n, p in pipeline.PASSES])
    f = jit.trace(lambda x: x * 2 + 1)
    assert bits(f(X)) == bits(X * 2 + 1) and not disk


def question(limit, names=None):
    """A question with the globals of a module, ours if none are given."""
    def ask(a):
        return bool((a < limit).all())
    own = vars(pipeline) if names is None else names
    return types.FunctionType(ask.__code__, own, "ask", None, ask.__closure__)


def test_a_question_goes_by_its_code_and_by_what_it_closed_over():
    other = types.FunctionType((lambda a: a).__code__, vars(pipeline), "ask")
    asked = [plan_cache._value(q) for q in (question(3), question(3), question(4), other)]
    assert asked[0] == asked[1] and all(asked[0] != q for q in asked[2:])


def test_a_question_is_ours_by_its_globals_whatever_it_says_of_itself():
    named = question(3, globals())
    named.__module__ = "whet.passes.pipeline"
    for q in object(), question(object()), lambda a: a, named:
        with pytest.raises(plan_cache.Unnamed):
            plan_cache._value(q)


def test_large_constants_are_not_looked_into():
    a = np.zeros(1 << 17, np.float32)
    assert plan_cache._value(a) == plan_cache._value(a + 1) != plan_cache._value(a[1:])


def test_another_process_finds_it(tmp_path):
    import os
    import subprocess
    import sys
    code = """
import sys, numpy, whet
from whet.passes import pipeline, repeat_for_sizes
from whet.passes.merge_repeats import meaning
ran = []
real = pipeline.optimize
pipeline.optimize = lambda *a: (ran.append(1), real(*a))[1]
f = whet.jit.trace(lambda x: (x * 2 + 1).softmax(1) @ x.T)
x = whet.arange(48.).reshape(6, 8)
print(len(ran), [f(x).sum().item() for _ in range(3)] and len(ran), f(x).numpy().tobytes().hex())
"""
    env = {**os.environ, "WHET_CACHE_DIR": str(tmp_path), "WHET_CACHE": "1"}
    seen = [
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True,
                       check=True).stdout.split() for _ in range(2)]
    if not any(tmp_path.iterdir()):
        pytest.skip("the sources are too new to be cached")
    assert [s[:2] for s in seen] == [["0", "1"], ["0", "0"]] and seen[0][2] == seen[1][2]


def test_a_plan_for_other_sizes_takes_as_long_as_it_has_nodes(monkeypatch):
    """What is merged with another operation is looked up, not searched for in the whole list."""
    def looks(count):
        def twice(x):
            out = 0
            for i in range(count):
                y = x * (i + 2.5)
                out = out + F.pad(y, (0, 0, 0, len(x))).exp() - F.pad(y, (0, 0, 0, len(x))).tanh()
            return out
        asked = []
        with monkeypatch.context() as patch:
            patch.setattr(repeat_for_sizes, "meaning", lambda *x: asked.append(x) or meaning(*x))
            f = whet.jit.trace(twice)
            for n in (6, 6, 9, 9):
                x = whet.randn(n, 3)
                assert whet.equal(f(x), twice(x))
        assert f.explain(data=True)["calls"]["resized"] == 1
        return len(asked)
    assert 0 < looks(24) < 2.5 * looks(12)
