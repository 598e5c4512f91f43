"""Random Python around tensors, eager and traced: `python -m tests.fuzz_python` goes on for longer.

WHET_FUZZ_SEED says which programs.
"""
import os
import types

from tests import fuzz_harness, fuzz_python
from tests.fuzz_forms import Form as FormOfRuns
from tests.fuzz_python import Form, Program, block

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 20


def program(*lines):
    """A program of these lines and no others, called three times."""
    calls = [c for c in Program.drawn(SEED).calls[:3]]
    body = block([Form("statement", line) for line in lines])
    return Program(body, (Form("f", "x * 2"),), calls)


def test_random_python_traced():
    found = fuzz_harness.search(Program, SEED, MANY)
    assert not found.wrong, "\n\n".join(found.wrong)
    assert found.programs == MANY
    assert found.counts["programs that replayed"] > MANY // 8, found.counts


def test_programs_are_those_of_their_seeds():
    texts = [Program.drawn(seed).source() for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


def wrong_in(program):
    return fuzz_harness.compared(program, FormOfRuns())["wrong"]


def test_a_difference_is_found_and_made_short(monkeypatch):
    """Traced functions that come to something else, where a text is in the program."""
    def cheating(side, given, call=fuzz_python.Side.call):
        out = call(side, given)
        is_traced = type(side.f) is not types.FunctionType
        return ["other", out] if is_traced and "log.append" in side.text else out
    monkeypatch.setattr(fuzz_python.Side, "call", cheating)
    assert wrong_in(program("i += 1")) is None
    wrong = program("i += 1", "log.append(i)", "j = i")
    assert wrong_in(wrong).startswith("call 0")
    short = fuzz_harness.shortened(wrong, wrong_in)
    assert "log.append" in short.source() and "j = i" not in short.source()
    assert len(short.calls) == 1 and not short.results
