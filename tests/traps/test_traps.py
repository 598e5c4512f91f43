"""Every trap, traced, does what it does eagerly; and the traps are programs that show it."""
import pytest
from whet.jit import record

from tests.traps import harness

TRAPS = harness.traps()


@pytest.mark.parametrize("name", TRAPS)
def test_traced_as_eager(name):
    problem = harness.difference(TRAPS[name], harness.traced([]))
    assert problem is None, problem


@pytest.mark.parametrize("name", TRAPS)
def test_a_run_that_is_given_up_goes_on_as_eager(name, monkeypatch):
    """At the first thing that it computes: recording it would take too much."""
    monkeypatch.setattr(record, "_most", (0).__int__)
    problem = harness.difference(TRAPS[name], harness.traced([]))
    assert problem is None, problem


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_calls_often_enough(name):
    assert harness.calls_made(TRAPS[name]) >= 4


def test_there_are_enough():
    assert len(TRAPS) >= 150
