"""Random steps of training, eager and traced: `python -m tests.fuzz_steps` goes on for longer.

WHET_FUZZ_SEED says which programs.
"""
import os

import pytest
from whet.jit.guards import name_places

from tests import fuzz_harness, fuzz_steps
from tests.fuzz_forms import Form
from tests.fuzz_steps import Call, Program

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 3
ALL = [p for parts in fuzz_steps.PARTS.values() for p in parts]


def program(*lines, calls=(Call("step", 3, 4),) * 6, is_documented=False):
    """A program of a linear layer, with these lines in its step."""
    setup = ("m = nn.Linear(4, 1)", "opt = torch.optim.SGD(m.parameters(), 0.1)")
    given = ("x = rng.standard_normal((b, n)).astype('f4')", "return torch.from_numpy(x),")
    step = ("S.n += 1", "x = x.clone()", *lines, "return m(x).sum()")
    return Program(setup, given, "x", step, ("return m(x)",), calls, is_documented=is_documented)


def wrong_in(program):
    return fuzz_harness.compared(program, Form())["wrong"]


def test_random_steps_traced():
    found = fuzz_harness.search(Program, SEED, MANY)
    assert not found.wrong, "\n\n".join(found.wrong)
    assert found.programs == MANY and not found.counts["not built"]


def test_programs_are_those_of_their_seeds():
    texts = [str(Program.drawn(seed)) for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("part", ALL, ids=lambda p: f"{p.slot}-{p.name}")
def test_parts_are_statements(part):
    assert part.kinds and set(part.kinds) <= set(fuzz_steps.INPUTS)
    assert any(part.statements(section) for section in ("setup", "step"))


def test_a_guard_that_is_missing_is_found(monkeypatch):
    """No global of the module is compared, neither by Python nor by machine code."""
    monkeypatch.setattr(name_places.Global, "check", classmethod(lambda cls, places: lambda: True))
    monkeypatch.setattr(name_places.Global, "table", lambda self, t, objects: True)
    calls = tuple(Call("step", 3, 4, before="opt = None" if k == 5 else "") for k in range(8))
    wrong = program("z = x + 1", "x = x * 2 if opt is None else x", calls=calls)
    assert wrong_in(wrong).startswith("call 5")
    short = fuzz_harness.shortened(wrong, wrong_in)
    assert "if opt is None" in short.source() and "z = x" not in short.source()
    assert len(short.calls) < 8


def test_a_step_that_could_be_replayed_and_is_not_is_found():
    calls = (Call("step", 3, 4),) * 30
    assert wrong_in(program(calls=calls, is_documented=True)) is None
    wrong = wrong_in(program("time.sleep(0)", calls=calls, is_documented=True))
    assert "replayed 0 of" in wrong
