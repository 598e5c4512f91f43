"""Random functions of several counts, eager and traced: `python -m tests.fuzz_counts` goes on for
longer.

WHET_FUZZ_SEED says which programs.
"""
import os

from tests import fuzz_harness
from tests.fuzz_counts import Program

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
MANY = 12


def test_random_counts_traced():
    found = fuzz_harness.search(Program, SEED, MANY)
    assert not found.wrong, "\n\n".join(found.wrong)
    assert found.programs == MANY and found.counts["replayed"] >= 3 * MANY


def test_programs_are_those_of_their_seeds():
    texts = [str(Program.drawn(seed)) for seed in (SEED, SEED, SEED + 1)]
    assert texts[0] == texts[1] != texts[2]


def test_smaller_programs_run():
    for seed in range(SEED, SEED + 4):
        for program in Program.drawn(seed).smaller():
            program.sizes = program.sizes[:1]
            outcomes, _ = program.seen(False)
            assert len(outcomes) == 1
