"""Functions among what changes between calls, eager and traced: `python -m tests.fuzz_mutations`
goes on for longer.

WHET_FUZZ_SEED says which programs.
"""
import os
import types

from tests import fuzz_harness, fuzz_mutations
from tests.changing_parts import PARTS
from tests.fuzz_forms import Form
from tests.fuzz_mutations import Program, Side
from tests.observed import Raised

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 25
CALL = "call", "whet.ones(4), 1.5"


def test_random_changes_between_traced_calls():
    found = fuzz_harness.search(Program, SEED, MANY)
    assert not found.wrong, "\n\n".join(found.wrong)
    counts = found.counts
    assert found.programs == MANY and counts["replayed"] > counts["calls"] // 8, counts


def test_programs_are_those_of_their_seeds():
    texts = [str(Program.drawn(seed)) for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


def test_reads_and_changes_are_those_of_their_parts():
    """What cannot run would find nothing."""
    for part in PARTS:
        for read in part.reads:
            with fuzz_mutations.as_at_the_start():
                side = Side(Program((part,), [read], [CALL]), False)
                side.act(*CALL)
            assert not isinstance(side.results[0], Raised), (read, side.results)


def wrong_in(program):
    return fuzz_harness.compared(program, Form())["wrong"]


def test_a_change_that_is_missed_is_found_and_made_short(monkeypatch):
    def blind(side, what, text, act=Side.act):
        is_traced = type(side.f) is not types.FunctionType
        return act(side, what, "A.k = 1.0" if is_traced and what == "change" else text)
    monkeypatch.setattr(Side, "act", blind)
    part = next(p for p in PARTS if "A.k = 3.0" in p.changes)
    wrong = Program((part,), ["y = y * a.k", "y = y + 1"],
                    [CALL, CALL, ("change", "A.k = 3.0"), CALL, CALL])
    assert wrong_in(wrong).startswith("act 3")
    short = fuzz_harness.shortened(wrong, wrong_in)
    assert [what for what, _ in short.acts] == ["change", "call"]
    assert len(short.reads) <= 1
