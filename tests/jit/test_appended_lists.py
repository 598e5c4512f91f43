"""Lists that code only appends to now and then, and lists of which it only seems so."""
import collections
import types

import pytest
import whet
from whet import jit

from tests.loops.harness import untimed

STEPS = 60
WAYS = 2                         # through the function: with and without a number for the list


def as_variable(make):
    log, state = make(), {"step": 0}

    def step(x):
        state["step"] += 1
        y = (x * 2).tanh().sum()
        if state["step"] % 10 == 0:
            log.append(y.item())
        return y
    return step, log


def as_attribute(make):
    log, state = types.SimpleNamespace(history=make()), {"step": 0}

    def step(x):
        state["step"] += 1
        y = (x * 2).tanh().sum()
        if state["step"] % 10 == 0:
            log.history.extend([state["step"], y.item()])
        return y
    return step, log.history


def as_entry(make):
    log, state = {"losses": make(), "name": "run"}, {"step": 0}

    def step(x):
        state["step"] += 1
        y = (x * 2).tanh().sum()
        if state["step"] % 10 == 0:
            log["losses"].append(y.item())
        return y
    return step, log["losses"]


def in_a_helper(make):
    log, state = make(), {"step": 0}

    def note(y):
        if state["step"] % 10 == 0:
            log.append(y.item())

    def step(x):
        state["step"] += 1
        y = (x * 2).tanh().sum()
        note(y)
        return y
    return step, log


def run(form, make, traced):
    """The results and the list, and the traced function or the plain one."""
    step, log = form(make)
    f = jit.trace(step) if traced else step
    return [f(whet.ones(3) * k / 7).item() for k in range(STEPS)], [*log], f


@pytest.mark.parametrize("make", [list, collections.deque, lambda: collections.deque(maxlen=3)])
@pytest.mark.parametrize("form", [as_variable, as_attribute, as_entry, in_a_helper])
def test_a_list_that_is_only_appended_to_is_not_compared(form, make, unlimited):
    *want, _ = run(form, make, traced=False)
    with untimed():
        *got, f = run(form, make, traced=True)
    assert got == want
    calls = f._calls.policy.summary()
    assert calls.recorded == WAYS and calls.replayed > STEPS // 2


def reading_by_another_name():
    log, state = [], {"step": 0}
    other = types.SimpleNamespace(seen=log)

    def step(x):
        state["step"] += 1
        if state["step"] % 10 == 0:
            log.append(1.0)
        return x * len(other.seen)
    return step


def reading_through_an_argument():
    log = [1.0]

    def of(values):
        return sum(values)

    def step(x):
        log.append(0.5)
        return x * of(step.values)
    step.values = log
    return step


def returning_it():
    log = []

    def step(x):
        log.append(x.sum().item())
        return x * 2, step.log
    step.log = log
    return step


@pytest.mark.parametrize("make",
                         [reading_by_another_name, reading_through_an_argument, returning_it])
def test_a_list_that_is_read_by_another_name_counts(make, unlimited):
    def results(f):
        out = []
        for k in range(STEPS):
            y = f(whet.ones(2) * k)
            out.append([*map(str, y)] if type(y) is tuple else y.tolist())
        return out
    assert results(jit.trace(make())) == results(make())
