"""A short run of the fuzzer: `python -m tests.fuzz` goes on for longer."""
import os
import time

from tests import fuzz

SECONDS = float(os.environ.get("WHET_FUZZ_SECONDS", 10))


def test_random_programs():
    ways, end, seed = (fuzz.workers(), time.time() + SECONDS,
                       int(os.environ.get("WHET_FUZZ_SEED", 0)))
    try:
        while time.time() < end:
            steps = fuzz.program(seed)
            why = fuzz.differ(steps, ways)
            assert (not why
                    ), f"seed {seed}: {why} (python -m tests.fuzz --seed {seed} makes it shorter)"
            seed += 1
    finally:
        for w in ways.values():
            w.close()


def test_programs_are_reproducible_and_shortened():
    steps = fuzz.program(7)
    assert steps == fuzz.program(7) != fuzz.program(8)
    steps = [*steps, ["zero_", [0], {}], *fuzz.program(9)[3:]]
    short = fuzz.shorten(steps, lambda s: any(what == "zero_" for what, _, _ in s))
    assert [what for what, _, _ in short] == ["leaf", "zero_"]


def test_wrong_results_are_found():
    ways = {"one": lambda steps: [[1], [2]], "other": lambda steps: [[1], [3]]}
    assert "step 1" in fuzz.differ([], ways)
    ways = {"one": lambda steps: ["crashed with status -11"]}
    assert "crashed" in fuzz.differ([], ways)
    ways = {"one": lambda steps: [["sum: far from NumPy's result"]]}
    assert "far from" in fuzz.differ([], ways)
