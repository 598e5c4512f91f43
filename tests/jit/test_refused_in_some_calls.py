"""A function that cannot be recorded in some of its calls, because it saves something now and then,
is recorded in others, also when these begin to go another way."""
import io

import pytest
import whet
from whet import jit

from tests.loops.harness import untimed


@pytest.fixture(autouse=True)
def _untimed():
    with untimed():
        yield


def made_before_and_after(saves):
    """How many calls are replayed before, and how many after they go another way."""
    kept = []

    @jit.trace
    def step(x, i):
        y = x * 2 if i < 40 else x * 3
        if saves(i):
            buffer = io.BytesIO()
            whet.save(y, buffer)
            kept.append(buffer.tell())
        return y

    def replayed():
        return step.explain(data=True)["calls"]["replayed"]
    found = []
    for calls in (range(40), range(40, 400)):
        before = replayed()
        for i in calls:
            assert step(whet.ones(2), i).tolist() == ([2.0, 2.0] if i < 40 else [3.0, 3.0])
        found.append(replayed() - before)
    return *found, step


def test_a_new_way_is_recorded_beside_calls_that_are_refused():
    with pytest.warns(jit.TraceWarning, match="runs eagerly in some calls: it saves something"):
        before, after, step = made_before_and_after(lambda i: i % 4 == 3)
    assert before >= 8
    assert after > 100


def test_what_is_refused_in_all_calls_is_given_up():
    with pytest.warns(jit.TraceWarning, match="runs eagerly: it saves something"):
        before, after, step = made_before_and_after(lambda i: True)
    assert before == after == 0
    assert step.explain(data=True)["calls"]["failed"] < 8
