"""Random expressions about tensors, eager and traced: `python -m tests.fuzz_expressions` goes on
for longer.

WHET_FUZZ_SEED says which programs.
"""
import os
import types

from tests import fuzz_expressions, fuzz_harness
from tests.fuzz_expressions import Program
from tests.fuzz_forms import Form

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 20


def test_random_expressions_traced():
    found = fuzz_harness.search(Program, SEED, MANY)
    assert not found.wrong, "\n\n".join(found.wrong)
    counts = found.counts
    assert found.programs == MANY and counts["replayed"] > counts["calls"] // 20, counts


def test_programs_are_those_of_their_seeds():
    texts = [str(Program.drawn(seed)) for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


def wrong_in(program):
    return fuzz_harness.compared(program, Form())["wrong"]


def test_another_version_is_found_and_made_short(monkeypatch):
    """A traced function that writes once more to an argument, and leaves its numbers as they
    are."""
    def cheating(call, outcome=fuzz_expressions.outcome):
        f = call.__closure__ and next(
            (c.cell_contents for c in call.__closure__ if callable(c.cell_contents)), None)
        if f is not None and type(f) is not types.FunctionType:
            given = next(c.cell_contents for c in call.__closure__
                         if isinstance(c.cell_contents, dict))
            given["y"].detach().add_(0)
        return outcome(call)
    monkeypatch.setattr(fuzz_expressions, "outcome", cheating)
    call = dict(x="whet.ones(3)", y="whet.zeros(2)", n="1", k="2", r="0.5", mode="'a'", on="True")
    wrong = Program(["v0 = x + n", "v1 = v0 * r"], [call] * 3)
    assert wrong_in(wrong).startswith("call 0")
    short = fuzz_harness.shortened(wrong, wrong_in)
    assert not short.lines and len(short.calls) == 1
