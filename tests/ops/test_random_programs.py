"""A short run of the fuzzer: `python -m tests.fuzz` goes on for longer."""
import os

from tests import fuzz, fuzz_harness

SEED, MANY = int(os.environ.get("WHET_FUZZ_SEED", 0)), 10**6
SECONDS = float(os.environ.get("WHET_FUZZ_SECONDS", 10))


def test_random_programs():
    found = fuzz_harness.search(fuzz.Program, SEED, MANY, seconds=SECONDS)
    assert not found.wrong, "\n\n".join(found.wrong)


def test_programs_are_reproducible_and_shortened():
    steps = fuzz.program(7)
    assert steps == fuzz.program(7) != fuzz.program(8)
    steps = [*steps, ["zero_", [0], {}], *fuzz.program(9)[3:]]
    short = fuzz_harness.shortened(
        fuzz.Program(steps), lambda p: any(what == "zero_" for what, _, _ in p.steps))
    assert [what for what, _, _ in short.steps] == ["leaf", "zero_"]


def test_wrong_results_are_found():
    ways = {"one": lambda steps: [[1], [2]], "other": lambda steps: [[1], [3]]}
    assert "step 1" in fuzz.differ([], ways)
    ways = {"one": lambda steps: ["crashed with status -11"]}
    assert "crashed" in fuzz.differ([], ways)
    ways = {"one": lambda steps: [["sum: far from NumPy's result"]]}
    assert "far from" in fuzz.differ([], ways)
