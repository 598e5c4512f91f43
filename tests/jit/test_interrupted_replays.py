"""A replay that an interrupt ends leaves a state that eager mode could have left, and the calls
after it are eager's."""
import pytest
import whet
from whet import jit, memory
from whet.cpu import native
from whet.jit.program import launch_program

pytestmark = pytest.mark.skipif(not native.enabled(), reason="nothing is compiled in this process")
WIDE = 256                               # a gradient of its square has memory of the allocator's


class Interrupt(BaseException):
    """What no code catches."""


def step_of(w, count):
    """A step that asks a question, replaces the gradient of `w`, and writes to `count` at last."""
    def step(x):
        w.grad = None
        y = x @ w
        loss = y.square().sum() if y.sum() > 0 else y.sum() * 3
        loss.backward()
        count.add_(1)
        return loss.detach()
    return step


def traced_step():
    """(the traced step, its weights, its count, its latest recording)."""
    w, count = whet.ones(WIDE, WIDE, requires_grad=True), whet.zeros(3)
    step = jit.trace(step_of(w, count))
    for _ in range(4):
        step(whet.ones(4, WIDE))
    recordings = step._calls.recordings
    (r, *_), = [recordings.of(key) for key in recordings.by_key]
    return step, w, count, r


def interrupted(step, r, x, monkeypatch):
    """A replay in Python that is interrupted as soon as its list of launches is done."""
    real = launch_program.machine
    def run(*args):
        real()[1](*args)
        raise Interrupt
    given = step._calls.learned.key((x,), {})[1]
    with monkeypatch.context() as m:
        m.setattr(launch_program, "machine", lambda: (real()[0], run, real()[2]))
        with pytest.raises(Interrupt):
            r.call(given.leaves, given.boxes)


def test_what_a_check_said_before_an_interrupt_ends_no_later_call(monkeypatch):
    """It would be made twice: by the replay, and by eager mode after it."""
    step, w, count, r = traced_step()
    interrupted(step, r, -whet.ones(4, WIDE), monkeypatch)
    v, n = w.detach().requires_grad_(), count.clone()
    eager = step_of(v, n)
    w.grad, v.grad = (whet.ones(WIDE, WIDE) for _ in range(2))
    for sign in (1.0, 1.0, -1.0, 1.0):
        x = whet.full((4, WIDE), sign)
        given = step._calls.learned.key((x,), {})[1]
        out = r.call(given.leaves, given.boxes) if sign > 0 else step(x)
        assert out.item() == eager(x).item()
        assert w.grad.tolist() == v.grad.tolist()
        assert count.tolist() == n.tolist()


def test_what_was_written_before_an_interrupt_has_another_version(monkeypatch):
    step, w, count, r = traced_step()
    leaf = whet.ones(3, requires_grad=True)
    product = (leaf * count).sum()
    interrupted(step, r, whet.ones(4, WIDE), monkeypatch)
    with pytest.raises(RuntimeError, match="in-place|in place|modified"):
        product.backward()


def test_a_replay_that_finds_no_memory_leaves_the_call_to_eager_mode(monkeypatch):
    step, w, count, r = traced_step()
    v, n = w.detach().requires_grad_(), count.clone()
    x, empty = whet.ones(4, WIDE) * 2, memory.empty
    def full(*args):
        raise MemoryError("full")
    given = step._calls.learned.key((x,), {})[1]
    before = w.grad
    with monkeypatch.context() as m:
        m.setattr(launch_program, "template", full)
        m.setattr(launch_program.memory, "empty", full)
        assert r.call(given.leaves, given.boxes) is jit.machine_code.native_entry.MISSED
    assert launch_program.memory.empty is empty and w.grad is before
    assert count.tolist() == n.tolist()
    assert step(x).item() == step_of(v, n)(x).item()
