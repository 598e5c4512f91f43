"""Interrupts at some of the lines that a traced step runs: `python -m tests.interrupts` takes
all."""
import pytest
import whet
from whet.autograd import modes

from tests import interrupts


def test_an_interrupt_leaves_nothing_behind():
    n, found = interrupts.explore(every=300, seed=5)
    assert n > 15
    assert not found, found


def test_what_is_left_behind_is_found(monkeypatch):
    from whet.jit.capture.session import Session
    monkeypatch.setattr(Session, "close", lambda self: None)
    _, wrong, _ = interrupts.run(1, at=10**9)
    assert "observers" in wrong


def test_an_interrupt_of_a_backward_leaves_no_mode(monkeypatch):
    """At each line that begins or ends a walk through the nodes."""
    monkeypatch.setattr(interrupts, "_is_ours", lambda name: name.endswith("autograd/engine.py"))
    interrupts.run(1)
    turns = interrupts.run(1)[0].turns
    places = sorted({
        n for (code, _), turn in turns.items() if code.co_name in ("run", "end") for n in turn})
    assert len(places) > 30
    assert [at for at in places if interrupts.run(1, at)[1]] == []


def test_an_interrupt_of_a_mode_that_begins_or_ends_leaves_the_one_before(monkeypatch):
    def interrupted(flags, set_native_flags=modes.set_native_flags):
        monkeypatch.setattr(modes, "set_native_flags", set_native_flags)
        raise interrupts.Interrupt
    before = modes.state.flags
    for mode in (whet.no_grad, whet.inference_mode):
        with pytest.raises(interrupts.Interrupt), mode():
            monkeypatch.setattr(modes, "set_native_flags", interrupted)
        assert modes.state.flags == before
        monkeypatch.setattr(modes, "set_native_flags", interrupted)
        with pytest.raises(interrupts.Interrupt), mode():
            pass
        assert modes.state.flags == before


def test_lines_up_to_the_first_call_of_an_end_are_left_out(tmp_path):
    """No interrupt that Python code can guard against comes at one of them."""
    file = tmp_path / "ends.py"
    file.write_text("class End:\n"
                    "    def __exit__(self, *error):\n"
                    "        if self.open:\n"
                    "            self.close()\n"
                    "        self.note()\n"
                    "try:\n"
                    "    work()\n"
                    "finally:\n"
                    "    done = True\n"
                    "    note()\n"
                    "    end()\n")
    assert interrupts._begins_of_ends(str(file)) == {3, 4, 9, 10}
