"""A function that goes one way mostly, and many others now and then."""
import numpy as np
import pytest
import whet
from whet.jit.dispatch.recordings import PATHS

from .ledgers import calls_of

pytestmark = pytest.mark.usefixtures("whatever_it_costs")


def by_its_number(x):
    for _ in range(int(x[0].item())):
        x = x.sin() + 1
    return x.sum()


def called(traced, n):
    x = whet.from_numpy(np.array([n, *range(4000)], np.float32))
    assert traced(x).item() == by_its_number(x).item()


def test_the_way_of_most_calls_stays_however_many_others_there_are():
    traced = whet.jit.trace(by_its_number)
    for rare in range(1, 4 * PATHS):
        for n in (0, 0, rare):
            called(traced, n)
    before = calls_of(traced)
    for _ in range(50):
        called(traced, 0)
    assert calls_of(traced)["replayed"] == before["replayed"] + 50
    assert before["replayed"] >= 7 * PATHS and before["recorded"] <= 3 * PATHS


def test_what_is_of_least_use_makes_place():
    traced = whet.jit.trace(by_its_number)
    for n in range(PATHS):
        for _ in range(2 + n):
            called(traced, n)
    recordings = traced._calls.recordings
    key = traced._calls.policy.held[0].key
    least = min(recordings.of(key), key=lambda r: r.calls)
    assert len(recordings.of(key)) == PATHS and recordings.are_enough(key)
    for n in range(1, PATHS):                # an exchange is worth while once calls are many
        for _ in range(60):
            called(traced, n)
    assert not recordings.are_enough(key)
    called(traced, PATHS + 1)
    assert least not in recordings.of(key) and len(recordings.of(key)) == PATHS


def by_counts(x, state):
    found = [x[x > t] for t in (0.0, 0.5, 1.0)]
    state["sum"] = x.sum()
    return sum([(a * 2).exp().sum() + a.square().mean() for a in found])


def test_a_call_that_misses_in_the_midst_is_no_replay():
    rng, traced, state = np.random.default_rng(0), whet.jit.trace(by_counts), {"sum": whet.ones(())}
    for _ in range(60):
        x = whet.from_numpy(rng.standard_normal(4).astype("f"))
        assert traced(x, state).numpy().tobytes() == by_counts(x, {}).numpy().tobytes()
        assert state["sum"].item() == x.sum().item()
    made = calls_of(traced)
    assert made["missed"] and made["total"] == 60
