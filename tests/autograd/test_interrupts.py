"""Interrupts at some of the lines that a traced step runs: `python -m tests.interrupts` takes all."""
from tests import interrupts


def test_an_interrupt_leaves_nothing_behind():
    n, found = interrupts.explore(every=300, seed=5)
    assert n > 15
    assert not found, found


def test_what_is_left_behind_is_found(monkeypatch):
    from whet.jit.capture.session import Session
    monkeypatch.setattr(Session, "close", lambda self: None)
    _, wrong, _ = interrupts.run(0, at=10**9)
    assert "observers" in wrong
