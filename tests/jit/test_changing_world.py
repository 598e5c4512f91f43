"""Functions among what changes between calls, eager and traced: `python -m tests.fuzz_mutations`
goes on for longer.

WHET_FUZZ_SEED says which programs.
"""
import os
import types

from tests import fuzz_mutations
from tests.changing_parts import PARTS
from tests.fuzz_mutations import Program
from tests.observed import Raised

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 25
CALL = "call", "whet.ones(4), 1.5"


def test_random_changes_between_traced_calls():
    done, count, wrong = fuzz_mutations.fuzz(SEED, float("inf"), MANY)
    assert not wrong, "\n\n".join(wrong)
    assert done == MANY and count["replayed"] > count["calls"] // 8, count


def test_programs_are_those_of_their_seeds():
    texts = [str(Program.drawn(seed)) for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


def test_reads_and_changes_are_those_of_their_parts():
    """What cannot run would find nothing."""
    for part in PARTS:
        for read in part.reads:
            _, side = fuzz_mutations.told(Program((part,), [read], [CALL]), False)
            assert not isinstance(side.results[0], Raised), (read, side.results)


def test_a_change_that_is_missed_is_found_and_made_short(monkeypatch):
    def blind(side, what, text, act=fuzz_mutations.Side.act):
        is_traced = type(side.f) is not types.FunctionType
        return act(side, what, "A.k = 1.0" if is_traced and what == "change" else text)
    monkeypatch.setattr(fuzz_mutations.Side, "act", blind)
    part = next(p for p in PARTS if "A.k = 3.0" in p.changes)
    with fuzz_mutations.generous():
        wrong = Program((part,), ["y = y * a.k", "y = y + 1"],
                        [CALL, CALL, ("change", "A.k = 3.0"), CALL, CALL])
        assert fuzz_mutations.compared(wrong)[0] == 3
        short = fuzz_mutations.shortened(wrong)
    assert [what for what, _ in short.acts] == ["change", "call"]
    assert len(short.reads) <= 1
