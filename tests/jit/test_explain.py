"""What `explain` says: names of what is read, guards, reasons, and figures that are true."""
import gc
import math
import os
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn
from whet.cpu import memory, native, tiered_compilation
from whet.jit.policy import timing
from whet.jit.report import verbosity as ladder_of_trace

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code every step is Python's")
scale, table = 2.0, {"w": whet.ones(3)}


class Config:
    rate = 3

    def __init__(self):
        self.bias, self.parts = whet.zeros(3), [whet.ones(3), whet.ones(3)]


config = Config()


def path(f, k=0):
    return f.explain(data=True)["paths"][k]


def test_inputs_have_the_users_names():
    model, inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), whet.ones(3)

    def f(x, pair, *, extra):
        return model(x) + table["w"] * config.bias + config.parts[1] + inner + pair[1]["a"] + extra
    traced = jit.trace(f)
    for _ in range(2):
        with whet.no_grad():
            traced(whet.ones(3), (1, {"a": whet.ones(3)}), extra=whet.ones(3))
    assert {x.name: x.place for x in traced.recorded.inputs} == {
        "x": "argument 0", "pair[1]['a']": "argument 1", "extra": "argument 2",
        "model.0.weight": "outside", "model.0.bias": "outside", "table['w']": "outside",
        "config.bias": "outside", "config.parts[1]": "outside", "inner": "outside"}


def test_methods_and_gradients_have_names():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(whet.ones(3))

        @jit.trace
        def step(self, x):
            if self.w.grad is not None:
                self.w.grad.zero_()
            (x * self.w).sum().backward()
            return x * 2
    m = Model()
    for _ in range(3):
        m.step(whet.ones(3))
    g = Model.step.recorded
    assert ({(x.place, x.name) for x in g.inputs}
            == {("argument 0", "x"), ("outside", "self.w"), ("gradient of outside", "self.w.grad")})


def test_guards_say_what_and_where():
    def f(x):
        y = x * scale + config.rate
        if y.max().item() > 100:
            y = y - 1
        return F.embedding(whet.tensor([0]), y.reshape(1, 3))
    traced = jit.trace(f)
    for _ in range(2):
        traced(whet.ones(3))
    line = f.__code__.co_firstlineno
    found = {g["what"]: (g["is"], g["line"]) for g in path(traced)["guarded"]}
    assert found["x"] == ("f32[3]", "") and found["scale"] == ("2.0", f"test_explain.py:{line + 1}")
    value, = [v for k, v in found.items() if k.startswith("the value of %")]
    assert value == ("False", f"test_explain.py:{line + 2}")
    asked, = [v for k, v in found.items() if k.startswith("what _check_rows")]
    assert asked == ("None", f"test_explain.py:{line + 4}")
    assert f"scale is 2.0  # test_explain.py:{line + 1}" in traced.explain(full=True)


def test_kinds_of_calls_are_told_apart():
    def f(x, factor, flag=False):
        return x * factor + (1 if flag else 0)
    traced = jit.trace(f)
    calls = [(whet.ones(3), 2), (whet.ones(4), 2), (whet.ones(4), 3),
             (whet.ones(4, dtype=whet.float64), 3), (whet.ones(4), 3, True), (whet.ones(8)[::2], 3),
             (whet.ones(4, requires_grad=True), 3)]
    for args in calls:
        traced(*args)
    because = [p["because"] for p in traced.explain(data=True)["paths"]]
    assert because == [
        None, ["x is f32[4], not f32[3]"], ["factor is any int, not 2"],
        ["x is f64[4], not f32[4]"], ["flag is True, not left out"],
        ["x is f32[4], strides (8,), a view, not f32[4]"],
        ["x is f32[4], requires_grad, not f32[4]"]]
    with whet.no_grad():
        traced(whet.ones(3), 2)
    assert path(traced, -1)["because"][-1] == "the grad mode is another"


@pytest.mark.parametrize("f, reason",
                         [(lambda x: (x * 2).sum(0) * (x[0] + 1), None),
                          (lambda x: (x + 1) * (x[0] * 2), "their shapes differ: [4] and [3, 4]"),
                          (lambda x: ((y := x * 2), x[0].add_(x[1].sum()), y + 1)[2],
                           "a write comes between them (test_explain.py:"),
                          (lambda x: ((y := x * 2), y.bool().tolist(), y + 1)[2],
                           "a value that Python reads comes between them (test_explain.py:"),
                          (lambda x: (x.T * 2) + (x.reshape(4, 3) + 1),
                           "their elements are in other orders: f32[4,3] and f32[4,3]@(4,16)"),
                          (lambda x: (x * 1j).log() + 1,
                           "a function of complex numbers has no kernel"),
                          (lambda x: ((y := x * 2), (z := y.cumsum(0)), y + z.exp())[2], None)],
                         ids=range(7))
def test_what_is_not_fused_says_why(f, reason):
    traced = jit.trace(f)
    for _ in range(2):
        traced(whet.ones(3, 4))
    reasons = [why for _, _, why in path(traced)["unfused"]]
    if reason is None:
        assert not any("shapes differ" in r for r in reasons)
    else:
        assert any(r.startswith(reason) for r in reasons) and reason in traced.explain(full=True)


def test_odd_arguments_are_said_well():
    traced = jit.trace(lambda x, r, n: x * n + len(r))
    for args in ((range(3), np.float32(2)), (range(4), np.float32(2)), (range(4), np.float32(3))):
        traced(whet.ones(2), *args)
    assert [p["because"] for p in traced.explain(data=True)["paths"]] == [
        None, ["r is range(0, 4), not range(0, 3)"], ["n is any float32, not np.float32(2.0)"]]


def test_refusals_and_what_has_not_been_called():
    f = jit.trace(lambda x: x.numpy().fill(0))
    assert "no recording yet" in f.explain(full=True) and f.recorded is None and f.graph is None
    f(whet.ones(2))
    assert ("writes to a tensor's memory through NumPy" in f.explain(full=True)
            and f.explain(data=True)["why"])


def is_one_screen(said):
    lines = said.splitlines()
    return len(lines) <= 40 and max(map(len, lines)) <= 100


def test_a_screen_is_enough_for_a_training_step():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
    opt = whet.optim.AdamW(model.parameters())

    @jit.trace
    def step(x):
        loss = model(x).square().mean()
        opt.zero_grad(), loss.backward(), opt.step()
        return loss
    for _ in range(5):
        step(whet.ones(2, 4, 16))
    said = step.explain()
    assert is_one_screen(said) and len(step.explain(full=True).splitlines()) > 400
    assert [line[:14].strip() for line in said.splitlines()[1:] if line[2] != " "] == [
        "calls", "time", "kinds", "a replay", "memory", "most bytes", "not fused", "to do"]
    assert ("adam.py" not in said and " x linear  # test_explain.py:" in said
            and "needs one of them before" in said)


def test_a_screen_is_enough_for_what_goes_wrong_in_every_way():
    """Many kinds of arguments with long names and values, many misses, refusals with long
    reasons, steps in Python."""
    words = {f"a_rather_long_name_of_word_{i}": "one" for i in range(30)}

    @jit.trace
    def step(a_long_name_of_an_argument, another_one="", **more):
        x = a_long_name_of_an_argument
        for name in words:
            x = x * len(words[name]) if words[name] != "three" else x
        if len(more) == 3:
            return x.numpy().fill(0)
        return (x[:, None] - x).sum(0).cumsum(0).sort()[0] * (x + 1)
    for i in range(40):
        words[f"a_rather_long_name_of_word_{i % 30}"] += "two"
        for _ in range(3):
            step(whet.ones(2 + i % 7),
                 "some long text that is an argument " * (i % 2),
                 **{f"key_{k}": k for k in range(i % 4)})
    said = step.explain()
    assert (is_one_screen(said)
            and said.splitlines()[-1].startswith("              explain(full=True)")), said
    for label in ("calls", "kinds", "missed", "to do"):
        assert f"\n  {label}" in said


def test_traced_functions_say_what_they_are():
    @jit.trace
    def step(x):
        return x * 2
    place = f"step (test_explain.py:{step.__code__.co_firstlineno})"
    assert repr(step) == f"<traced {place}: no recording yet>"
    for _ in range(4):
        step(whet.ones(3))
    assert repr(step) == f"<traced {place}: 1 recording, 3 of 4 calls replayed>"
    f = jit.trace(lambda x: (os.getpid(), x)[1])
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(whet.ones(3))
    assert (repr(f).endswith(": runs eagerly>")
            and repr(jit.trace(nn.Linear(2, 3))) == repr(nn.Linear(2, 3)))


def test_a_decorated_function_is_named_by_its_own_line():
    @jit.trace
    @whet.no_grad()
    def sample(x):
        return x + 1
    line = test_a_decorated_function_is_named_by_its_own_line.__code__.co_firstlineno + 1
    assert repr(sample) == f"<traced sample (test_explain.py:{line}): no recording yet>"


# ---- memory --------------------------------------------------------------------------------------
@compiled
def test_a_recording_holds_no_memory_of_the_run():
    x = whet.ones(1 << 20)
    f = jit.trace(lambda x: ((x * 2).cumsum(0) + x).sum())
    gc.collect()
    before = memory.stats()["live"]
    f(x), f(x)
    assert path(f)["nodes"] == 4
    gc.collect()
    assert memory.stats()["live"] - before <= path(f)["memory"]["kept"] + 4096


# ---- the ladder ----------------------------------------------------------------------------------
LADDER = """
import os
import whet
@whet.jit.trace
def f(x, n):
    if n > 1:
        os.getpid()
    return (x * 2 + n).sum()
whet.ones(3) * 2
for n in (1, 1, 2):
    f(whet.ones(3), n)
"""


def ladder(level):
    env = {**os.environ, "WHET_SHOW": level, "WHET_CACHE": "0"}
    return subprocess.run([sys.executable, "-W", "ignore", "-c", LADDER], env=env,
                          capture_output=True, text=True, check=True).stderr


def test_the_ladder_shows_more_on_each_rung():
    said = [ladder(str(level)) for level in range(5)]
    assert said[0] == ""
    lines = said[1].splitlines()
    assert [line.split(" ms")[0].rsplit(" ", 1)[0] for line in lines] == [
        "whet: f (<string>:4): recorded in",
        "whet: f (<string>:4): replayed in",
        "whet: f (<string>:4): eager in"]
    assert ("it calls posix.getpid" in said[2] and "graph" not in said[2]
            and len(said[2].splitlines()) == 4)
    assert ('graph "f":' in said[3] and "fused" in said[3] and "mul(%0, 2)" in said[3]
            and "define" not in said[3])
    assert "define" in said[4] and said[4].count("define") > 1 and 'graph "f":' in said[4]


def test_the_ladder_tells_eager_calls_in_place_of_replays_from_replays(monkeypatch, capsys):
    f = ladder_of_trace.telling(jit.Traced)(lambda x: x * 2)
    for _ in range(3):
        f(whet.ones(3))
    for _, paths in f._table.items():
        for r in paths:
            r.slow, r.trial.at = True, 1 << 40               # as if eager calls had been shorter
    f._ready = None
    f(whet.ones(3))
    said = [
        line.rsplit(": ", 1)[1].split(" in ")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == ["recorded", "replayed", "replayed", "eager"]


def test_other_levels_are_refused():
    env = {**os.environ, "WHET_SHOW": "loud"}
    done = subprocess.run([sys.executable, "-c", "import whet; whet.jit.trace"],
                          env=env,
                          capture_output=True,
                          text=True)
    assert done.returncode and "WHET_SHOW is a number from 0 to 4, not 'loud'" in done.stderr


def test_nothing_is_on_the_way_when_it_is_off():
    assert type(jit.trace(len)) is jit.Traced and native.on_compile == []


def test_figures_are_said_in_words(monkeypatch):
    monkeypatch.setattr(timing, "EARLY", 0)
    monkeypatch.setattr(tiered_compilation, "among", lambda keys: [])
    f = jit.trace(lambda x, n: x + n)
    f(whet.ones(3), 0.5)
    said = f.explain(full=True)
    assert (
        ": 1 recording, 0 of " in said and
        "1 operation, run as 1 kernel launch and 0 steps in Python; used 0 times since; not timed "
        "yet"
        in said)
    assert "guard: n is 0.5\n" in said + "\n" and "strides" not in said
    for _ in range(timing.TURNS + 1):
        f(whet.ones(3), 0.5)
    assert (f"used {timing.TURNS + 1} times since; " in f.explain(full=True)
            and " us a replay, " in f.explain(full=True))
    assert all(t is not None for t in path(f)["microseconds"])
    f(whet.ones(4), 0.5)
    said = f.explain(full=True)
    assert (": 2 recordings, " in said and "\nrecording 2\n  1 operation, " in said
            and "recorded because x is f32[4], not f32[3]" in said)
    assert "inf" not in said and "(s)" not in said


def test_a_traced_module_is_called_self():
    m = jit.trace(nn.Linear(2, 3))
    m(whet.ones(1, 2))
    assert ([x.name for x in m.recorded.inputs] == ["input", "self.weight", "self.bias"]
            and "guard: self.training is True" in m.explain(full=True))


def test_modules_that_compute_what_they_lack_are_not_asked_for_code():
    settings = types.ModuleType("settings")
    settings.store = {"EPS": 2.0}
    # a KeyError, not an AttributeError
    settings.__getattr__ = lambda name: settings.store[name]
    traced = jit.trace(lambda x: x * settings.EPS)
    for _ in range(3):
        traced(whet.ones(2))
    assert "kernel" in traced.explain(full=True)


def test_nodes_of_very_many_operands_are_told_shortly():
    f = jit.trace(lambda x: whet.stack([x[i] * 2 for i in range(600)]).sum())
    for _ in range(2):
        f(whet.ones(600))
    path, = f.explain(data=True)["paths"]
    assert (0 < len(path["unfused"]) <= 40 and max(len(b) for _, b, _ in path["unfused"]) < 1000
            and "... 560 more" in path["unfused"][0][1])
    # the graph itself is whole
    assert path["graph"].count("%1199") and len(f.recorded.nodes) == 1202


def test_a_nan_of_numpy_among_the_arguments_is_said():
    """What does not pay is explained by the arguments that were others."""
    traced = jit.trace(lambda x, a: x * math.exp(a))
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        for k in range(30):
            a = np.float64(math.nan if k % 3 == 2 else k / 9)
            assert np.array_equal(traced(whet.ones(3), a).numpy(),
                                  (whet.ones(3) * math.exp(a)).numpy(), equal_nan=True)
    assert "nan" in traced.explain(full=True)
