"""Random functions that keep containers in attributes, eager and traced: `python -m
tests.fuzz_state` goes on for longer.

WHET_FUZZ_SEED says which programs.
"""
import os

from tests import fuzz_harness
from tests.fuzz_state import Program

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 16


def test_random_state_traced():
    found = fuzz_harness.search(Program, SEED, MANY)
    assert not found.wrong, "\n\n".join(found.wrong)
    assert found.programs == MANY and found.counts["replayed"] >= 3 * MANY


def test_programs_are_those_of_their_seeds():
    texts = [str(Program.drawn(seed)) for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


def test_a_change_that_a_replay_leaves_out_is_found(monkeypatch):
    """Containers that a call writes to are left as they were."""
    from whet.jit.effects.write_back import Left
    monkeypatch.setattr(Left, "write", lambda *args: None)
    assert fuzz_harness.search(Program, SEED, MANY).wrong
