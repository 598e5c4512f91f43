"""Why a traced function runs eagerly: what was done, at which line, and what to write instead."""
import collections
import inspect
import json
import os
import random
import re
import textwrap
import warnings

import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.jit.refusals.reasons import Reason
from whet.jit.replay.counted_misses import CountedMisses

from tests.loops.harness import untimed


class Plain:
    pass


class Agent:
    def __init__(self):
        self.numbers = np.random.RandomState(0)

    def act(self, x):
        return x + self.numbers.get_state()[2]               # here: reads numbers


agent, keeper, one, factor = Agent(), Plain(), whet.ones(3), 2.0


class Square(whet.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g


def reads_a_generator(x):
    return agent.act(x)


def uses_what_numpy_made(x):
    # here: a foreign tensor
    made = whet.from_numpy(np.arange(3, dtype=np.float32)[::-1].copy() + len(os.fspath(".")))
    y = x * 2
    return y + made


def calls_the_system(x):
    os.getpid()                                              # here: calls getpid
    return x


def draws_elsewhere(x):
    return x * float(random.sample(["1", "2"], 2)[0])       # here: draws


def calls_what_calls_the_library(x):
    textwrap.dedent(json.dumps({"a": 1}))                    # here: not in the library
    return x


def reads_many_numbers(x):
    return sum(x.expand(100, 3).tolist()[0])                 # here: tolist


def leaves_an_object(x):
    keeper.part = object()                                   # here: sets part
    return x * 2


def returns_an_object(x):
    return object()


def keeps_a_tensor(x, hidden=[].append):                     # noqa: B006
    y = x * 3                                                # here: makes y
    hidden((y,))
    return x


def computes_each_in_python(x):
    return x.clone().apply_(lambda v: v + 1)                 # here: calls apply_


def differentiates_python(x):
    return Square.apply(x * one.requires_grad_())


watched = nn.Linear(3, 3)
watched.register_full_backward_hook(lambda *_: None)


def hooks_of_a_module(x):
    return watched(x)


def text(f, *args, calls=4):
    """What a traced function warns of."""
    traced = jit.trace(f)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(calls):
            traced(*args)
    return [str(w.message) for w in found if w.category is jit.TraceWarning], traced


def here(f):
    """The line of a function that says `here`."""
    f = Agent.act if f is reads_a_generator else f
    lines, first = inspect.getsourcelines(f)
    return next(
        (f"test_reasons.py:{first + i}" for i, line in enumerate(lines) if "# here" in line), None)


CASES = {
    reads_a_generator: ("it calls RandomState.get_state", "Draw before the call"),
    calls_the_system: ("it calls posix.getpid", "Call it outside of the traced function"),
    draws_elsewhere: ("it calls Random.sample", "Draw before the call"),
    calls_what_calls_the_library: ("it calls json.dumps", "Call it outside of the traced function"),
    reads_many_numbers: ("300 numbers of a tensor became Python's", "Return the tensor"),
    leaves_an_object: ("it changes Python's state: `keeper.part`, which becomes an object",
                       "Return it instead"),
    computes_each_in_python: ("apply_ calls a Python function for each element",
                              "Do this outside of the traced function"),
    returns_an_object: ("it returns an object", "Return tensors, numbers"),
    hooks_of_a_module: (
        "its gradients flow through full backward hooks of a module, whose backward is Python",
        "Trace the function that calls backward()"),
    differentiates_python: (
        "its gradients flow through Square, whose backward is Python",
        "Trace the function that calls backward()"), }


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_a_reason_says_what_where_and_what_instead(f):
    what, instead = CASES[f]
    (said,), traced = text(f, whet.ones(3))
    first, second = said.split("\n")
    at = here(f)
    assert (first.endswith(f" runs eagerly: {what}" + (f" ({at})." if at else "."))
            and second.startswith(f"  {instead}"))
    assert what in traced.explain() and traced.explain(data=True)["refused"].startswith(what)


def test_a_tensor_from_elsewhere_is_told_by_the_line_that_made_it():
    """Not by the line that uses it."""
    from whet.jit.capture.recorder import Recorder
    from whet.jit.capture.user_lines import where
    rec = Recorder([])
    array = np.frombuffer(b"123456789012", np.float32)       # memory that is no array's own
    before = whet.autograd.modes.state.observers
    whet.autograd.modes.state.observers = (rec,)
    try:
        made, line = whet.from_numpy(array), where()
    finally:
        whet.autograd.modes.state.observers = before
    with pytest.raises(
            Exception,
            match=re.escape(f"it uses a tensor of shape [3] that from_numpy made ({line})")):
        rec.value(made)


def test_no_reason_holds_an_address():
    f = jit.trace(lambda x, what: x * 2)
    for _ in range(3):
        f(one, Plain())
    assert ([p["because"] for p in f.explain(data=True)["paths"]
             ] == [None, ["what is another Plain"], ["what is another Plain"]])
    assert not re.search(r"\d{9}", f.explain())


def test_misses_are_told_by_the_guard_and_its_line():
    global factor
    f = jit.trace(lambda x: x * factor if x.sum().item() < 9 else x)         # the line
    line = f"test_reasons.py:{f.fn.__code__.co_firstlineno}"
    for x, factor in ((1, 2.0), (1, 2.0), (5, 2.0)):         # noqa: B007
        f(whet.full((3,), float(x)))
    missed = [m for p in f.explain(data=True)["paths"] for m in p["missed"]]
    assert missed == [(f"a number that Python goes on from is another ({line})", 1)]
    factor = "text"
    with pytest.raises(TypeError):
        f(whet.ones(3))
    missed = [m for p in f.explain(data=True)["paths"] for m in p["missed"]]
    assert (f"`factor` is 'text', not 2.0 ({line})", 1) in missed
    factor = 2.0


def test_a_tensor_that_is_replaced_is_named():
    held = {"w": whet.ones(3)}
    f = jit.trace(lambda x: x * held["w"])
    f(one), f(one)
    held["w"].data = whet.ones(1)
    f(one)
    (reason, n), = f.explain(data=True)["paths"][-1]["missed"]
    assert n == 1 and reason.startswith("`held['w']` is f32[1], not f32[3] (test_reasons.py:")


def test_advice_follows_what_goes_wrong():
    """What is missed, and what arguments differ in."""
    seen = []

    def grows(x):
        seen.append(1)
        return x * len(seen)
    shape, kinds = jit.trace(lambda x: put_back(x[x > 0])), jit.trace(lambda x, held: x * held["n"])
    def put_back(x):
        before = whet.get_rng_state()
        noise = whet.rand_like(x)
        whet.set_rng_state(before)
        return noise
    grows = jit.trace(grows)
    for i in range(12):
        shape(whet.arange(12.0) - i), kinds(one, {"n": np.int64(i)}), grows(one)
    for f, said in ((shape, "Keep the shape: multiply by a mask"),
                    (kinds, "pass numbers as tensors, and"), (grows, "Read what grows outside")):
        assert said in " ".join(f.explain().split())


def test_misses_are_counted_by_reason():
    found = CountedMisses()
    for text in ("a", "b", "a", "a"):
        found.add(text)
    assert ([(str(r), n) for r, n in found.named(None, None)] == [("a", 3), ("b", 1)]
            and str(found.last) == "a")
    for i in range(100):
        found.add(Reason("c", f"line {i}"))
    assert len(found.counts) == CountedMisses.MOST


def test_naming_what_was_reached_asks_modules_for_nothing():
    """Some modules warn of their own deprecation whatever they are asked for."""
    asked, noisy = [], type(os)("noisy")
    noisy.__getattr__ = asked.append
    keeper.module, keeper.draws = noisy, np.random.RandomState(0)

    @jit.trace
    def step(x):
        return x + keeper.module.__name__.count("n") + keeper.draws.randint(3)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        for _ in range(3):
            step(whet.ones(2))
    del keeper.module, keeper.draws
    assert asked == []


def test_a_fault_of_our_own_leaves_the_result_eagers(monkeypatch):
    """The run is over: its result and its effects stand, and later calls are eager."""
    from whet.jit.capture.internal_errors import faults
    from whet.jit.gradient import backward_program
    monkeypatch.setattr(faults, "are_raised", False)

    def fails(self, rec, run, saved):
        raise KeyError(13)
    monkeypatch.setattr(backward_program.BackwardProgram, "check", fails)
    f, w = jit.trace(lambda x, w: (x * w).sum()), whet.ones(3, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(8):
            f(whet.ones(3), w).backward()
    assert w.grad.tolist() == [8.0, 8.0, 8.0]
    message, = {str(w.message) for w in told}
    assert "making a recording of it raised KeyError: 13" in message and "report it" in message


def test_what_settles_is_recorded_after_a_pause():
    """A window of losses holds more at each call until it is full."""
    window = collections.deque(maxlen=24)

    def f(x):
        window.append((x * 2).sum().item())
        return sum(window) / len(window)
    traced, same = jit.trace(f), collections.deque(maxlen=24)
    with untimed(), pytest.warns(jit.TraceWarning, match="`window` holds more, or less"):
        for k in range(160):
            got = traced(whet.full((3,), float(k)))
            same.append(6.0 * k)
            assert got == sum(same) / len(same)
    facts = traced.explain(data=True)
    assert facts["calls"]["replayed"] > 120 and facts["refused"] is None


def test_a_graph_from_before_the_call_is_told_from_what_was_made_unseen():
    model = nn.Linear(4, 2)
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1)

    @jit.trace
    def step(loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with pytest.warns(jit.TraceWarning, match="(?s)of an older graph.*Trace what"):
        for _ in range(6):
            step(model(whet.randn(3, 4)).sum())
