"""The modes that machine code goes by are those of the thread that calls it, whatever another
thread does meanwhile."""
import threading

import pytest
import whet
from whet import jit
from whet.autograd import modes

pytestmark = pytest.mark.skipif(whet.tensor_base.native_apply is None, reason="no machine code")


def elsewhere(work):
    """Let another thread work, to its end."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture
def taken_over(monkeypatch):
    """The copy of the modes is another thread's, which has no gradients, and is so again as soon as
    this one has told its own: Python may change threads there."""
    pass_on, here = modes.set_native_flags, threading.get_ident()

    def passed_on_and_changed(flags):
        held = pass_on(flags)
        if threading.get_ident() == here:
            elsewhere(lambda: pass_on(0))
        return held

    def begin():
        elsewhere(lambda: pass_on(0))
        monkeypatch.setattr(modes, "set_native_flags", passed_on_and_changed)
    yield begin
    monkeypatch.undo()
    pass_on(modes.state.flags)


def test_an_operation_is_recorded(taken_over):
    x, w = whet.ones(3, requires_grad=True), whet.ones(3)
    (x * w).sum()
    taken_over()
    assert (x * w).requires_grad


def test_a_view_may_be_recorded_later(taken_over):
    x, weight = whet.ones(4), whet.ones(3, requires_grad=True)
    taken_over()
    part = x.narrow(0, 0, 3)
    part.mul_(weight)
    assert part.requires_grad and x.requires_grad


def test_a_replay_has_gradients(taken_over):
    w = whet.ones(3)
    f = jit.trace(lambda x: (x * w).exp().sum(), verify="off")
    for _ in range(4):
        f(whet.ones(2, 3, requires_grad=True))
    taken_over()
    assert f(whet.ones(2, 3, requires_grad=True)).requires_grad
