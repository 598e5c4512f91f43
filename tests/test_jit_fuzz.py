"""Random functions, eager and traced: `python -m tests.fuzz_jit` goes on for longer. WHET_FUZZ_ROUNDS and WHET_FUZZ_SEED say how many, and which."""
import os

import pytest

from tests import fuzz_jit

SEED, ROUNDS = int(os.environ.get("WHET_FUZZ_SEED", 0)), int(os.environ.get("WHET_FUZZ_ROUNDS", 150))


def test_random_programs_traced():
    ways = fuzz_jit.workers()[:2]
    try:
        *found, (done, compiled, replayed) = fuzz_jit.rounds(SEED, ROUNDS, ways)
    finally:
        for w in ways:
            w.close()
    text = "\n".join(f"seed {seed}: {why}\n{fuzz_jit.show(p)}" for seed, why, p, _ in found[:3])
    assert not found, f"{text}\n{sorted(f[0] for f in found)} (python -m tests.fuzz_jit --rounds 1 --seed {found[0][0]} makes it shorter)"
    assert compiled > 0.6 * done and replayed > 0.5 * done, f"of {done} programs only {compiled} were compiled, {replayed} replayed"


def test_programs_are_reproducible_and_readable():
    p = fuzz_jit.program(7)
    assert fuzz_jit.source(p) == fuzz_jit.source(fuzz_jit.program(7)) != fuzz_jit.source(fuzz_jit.program(8))
    compile(fuzz_jit.source(p), "program", "exec")


def test_programs_are_shortened():
    p = next(p for p in map(fuzz_jit.program, range(100)) if any("softmax" in s["text"] for s in p["steps"]))
    short = fuzz_jit.shorten(p, lambda q: "softmax" in fuzz_jit.source(q))
    assert ["softmax" in s["text"] for s in short["steps"]] == [True] and not short["returns"] and not short["calls"]


@pytest.mark.parametrize("cheat", [lambda f: lambda *xs: f(*xs[:-1], xs[-1] * 1.5), lambda f: lambda *xs: (f(*xs), xs[0].add_(1))[0]])
def test_wrong_results_are_found(cheat):
    p = fuzz_jit.program(1)
    p.update(steps=[dict(text="{x} * 2", ops={"x": "x0"}, out="v0", mode=None)], returns=["v0"], inputs=[{**p["inputs"][0], "dtype": "float64"}],
             calls=[dict(changes=[], once=True, after={})])
    p["inputs"][0].update(grad=False, inner=False, layout="plain", special=False)
    want, same, other = fuzz_jit.Side(p).run(), fuzz_jit.Side(p).run(), fuzz_jit.Side(p).run(cheat)
    assert fuzz_jit.difference(want, same) is None and "call 0" in fuzz_jit.difference(want, other)
