"""Threads that share a traced function: what each of them does to recordings, trials, tables and
accounts leaves those whole."""
import collections
import gc
import math
import sys
import threading
import time
import traceback
import weakref

import pytest
import whet
from whet import jit
from whet.jit.capture.internal_errors import faults
from whet.jit.guards.outside_state import OutsideSearch
from whet.jit.policy import eviction, timing
from whet.jit.stand_ins.replace_stand_ins import reclaim
from whet.jit.stand_ins.state_during_a_run import Swapped
from whet.jit.stand_ins.streams_and_functions import Function, StandIn, real
from whet.jit.values.containers import elements

THREADS, SECONDS = 4, 1.5


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Threads take turns all the time, and so do trials, whose every call is one of a round."""
    monkeypatch.setattr(timing, "EARLY", 0)
    monkeypatch.setattr(timing, "GROWTH", 0)
    monkeypatch.setattr(timing, "COST", math.inf)
    monkeypatch.setattr(eviction, "LIMIT", 1 << 18)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Have threads do some work over and over, for a while; their errors."""
    errors, end = [], time.monotonic() + SECONDS

    def run(i):
        try:
            n = 0
            while time.monotonic() < end and not errors:
                work(i, n)
                n += 1
        except BaseException:
            errors.append(traceback.format_exc())
    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return errors


def whole(f):
    """Are the parts of a traced function in agreement?"""
    held = [r for rs in f._table.values() for r in rs]
    assert (set(map(id, held)) == set(map(id, f._policy.held))
            and f._policy.bytes == sum(r.size for r in held))
    assert (all(not math.isnan(x) for r in held for x in (*r.trial.seconds, r.trial.at))
            and not any(r.trial.lock.locked() for r in held))
    assert f._calls.attempts.lock.acquire(False) and f._drift is None
    f._calls.attempts.lock.release()


def test_one_kind():
    f, x = jit.trace(lambda x: (x * 2 + 1).tanh().sum(), verify="off"), whet.ones(5)
    want = f.fn(x).item()
    errors = together(lambda i, n: f(x).item() == want or pytest.fail("another value"))
    assert not errors, errors[0]
    whole(f)


def test_many_kinds_that_come_and_go():
    f = jit.trace(lambda x, k: (x * k + 1).exp(), verify="off")
    xs = [whet.ones(n) for n in range(2, 40)]
    want = [float(f.fn(whet.ones(2), k)[0].item()) for k in range(3)]

    def work(i, n):
        k = n % 2 + (n % 11 == 0)
        assert f(xs[(7 * i + n) % len(xs)], k)[0].item() == want[k]
    errors = together(work)
    assert not errors, errors[0]
    whole(f)


def test_gradients_flow_through():
    w = whet.ones(3)
    f = jit.trace(lambda x: (x * w).exp().sum(), verify="off")

    def work(i, n):
        x = whet.ones(2 + n % 5, 3, requires_grad=True)
        f(x).backward()
        assert x.grad[0, 0].item() == pytest.approx(math.e)
    errors = together(work)
    assert not errors, errors[0]
    whole(f)


def test_a_run_ends_while_another_thread_calls_a_stand_in_of_it():
    class Run:
        def live(self):
            lent = [x for x in gc.get_objects() if issubclass(type(x), StandIn)]
            reclaim([(weakref.ref(x), real(x)) for x in lent])
            return False

        def given(self, made):
            return made
    assert Function(len, Run(), None)("four") == 4


@pytest.mark.parametrize("part, name", [(OutsideSearch, "__init__"), (Swapped, "enter")])
def test_what_another_thread_upsets_before_a_run_leaves_that_eager(monkeypatch, part, name):
    monkeypatch.setattr(faults, "are_raised", False)
    real, calls = getattr(part, name), []

    def upset(self, *args, **kwargs):
        real(self, *args, **kwargs)
        calls.append(name)
        if len(calls) < 3:
            raise KeyError("gone meanwhile")
    monkeypatch.setattr(part, name, upset)
    state = {"n": 2.0}

    @jit.trace
    def f(x):
        state["n"] += 1.0
        return x * state["n"]
    for k in range(8):
        assert f(whet.ones(2)).tolist() == [3.0 + k] * 2
        assert type(state["n"]) is float and state["n"] == 3.0 + k
    assert len(calls) >= 3 and f.explain(data=True)["calls"]["replayed"]


def test_a_strict_function_is_told_before_its_run_as_well(monkeypatch):
    monkeypatch.setattr(faults, "are_raised", False)

    tag = {}

    @jit.trace(strict=True)
    def f(x):
        return x * float(tag["is"])
    with pytest.raises(jit.TraceError, match="each time something that it read was another") as e:
        for n in range(200):
            tag["is"] = f"{n}"
            f(whet.ones(2))
    assert "raised TraceError" not in str(e.value) and n > 2


def test_containers_change_while_others_look_at_them():
    held = {k: k for k in range(50)}, set(range(50)), collections.OrderedDict(a=1)

    def work(i, n):
        for x in held:
            if i % 2:
                elements(x)
            elif isinstance(x, set):
                x.add(n % 99)
                x.discard(n * 7 % 99)
            else:
                x[n % 99] = n
                x.pop(n * 7 % 99, None)
    errors = together(work)
    assert not errors, errors[0]
