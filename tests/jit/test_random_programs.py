"""Random functions and models, eager and traced: `python -m tests.fuzz_jit` and `tests.fuzz_models`
go on for longer.

WHET_FUZZ_ROUNDS and WHET_FUZZ_SEED say how many programs, and which.
"""
import os

import pytest
import whet
from whet import jit
from whet.ir import interpret
from whet.ir.graph import OpNode
from whet.passes import pipeline

from tests import (
    fuzz_forms,
    fuzz_harness,
    fuzz_jit,
    fuzz_models,
    fuzz_programs,
    fuzz_sides,
    fuzz_text,
)
from tests.fuzz_forms import Form

SEED, ROUNDS = (int(os.environ.get("WHET_FUZZ_SEED",
                                   0)), int(os.environ.get("WHET_FUZZ_ROUNDS", 30)))


def test_random_programs_traced(monkeypatch):
    """In processes of two kinds: what the others are would take long to compile all kernels."""
    warm, cold, *_ = fuzz_forms.environments()
    monkeypatch.setattr(fuzz_forms, "environments", lambda: [warm, warm, cold])
    found = fuzz_harness.search(fuzz_jit.Program, SEED, ROUNDS, here=False)
    assert not found.wrong, "\n\n".join(found.wrong)
    assert found.counts["compiled"] > 0.6 * found.programs, found
    assert found.counts["replayed"] > 0.5 * found.programs, found


def test_random_models_trained():
    found = fuzz_harness.search(fuzz_models.Program, SEED, 18)
    assert not found.wrong, "\n\n".join(found.wrong)


def test_programs_are_reproducible_and_readable():
    p = fuzz_programs.program(7)
    assert (fuzz_text.source(p) == fuzz_text.source(fuzz_programs.program(7)) != fuzz_text.source(
        fuzz_programs.program(8)))
    compile(fuzz_text.source(p), "program", "exec")


def test_programs_are_shortened():
    p = next(p for p in map(fuzz_programs.program, range(100))
             if any("softmax" in s["text"] for s in p["steps"]))
    short = fuzz_harness.shortened(
        fuzz_jit.Program(p), lambda q: "softmax" in fuzz_text.source(q.data)).data
    assert (["softmax" in s["text"] for s in short["steps"]] == [True] and not short["returns"]
            and not short["calls"])


def compared(p):
    """Where eager and traced differ, in words."""
    return fuzz_harness.compared(fuzz_jit.Program(p), Form())["wrong"]


def doubling(seed, calls=1):
    """A program that does little."""
    p = fuzz_programs.program(1)
    p.update(steps=[dict(text="{x} * 2", ops={"x": "x0"}, out="v0", mode=None)],
             returns=["v0"],
             inputs=[{**p["inputs"][0], "dtype": "float64"}],
             calls=[dict(changes=[], once=True, after={})] * calls,
             seed=seed)
    p["inputs"][0].update(grad=False, inner=False, layout="plain", special=False)
    return p


@pytest.mark.parametrize("cheat",
                         [
                             lambda f: lambda *xs: f(*xs[:-1], xs[-1] * 1.5), lambda f: lambda *xs:
                             (f(*xs), xs[0].add_(1))[0]])
def test_wrong_results_are_found(cheat):
    p = doubling(1)
    want, same, other = (fuzz_sides.Side(p).run(), fuzz_sides.Side(p).run(),
                         fuzz_sides.Side(p).run(cheat))
    assert (fuzz_sides.difference(want, same) is None
            and "call 0" in fuzz_sides.difference(want, other))


def test_programs_are_replayed_in_several_ways(monkeypatch):
    """What only the interpreter, or only a program without a pass, gets wrong is found."""
    assert [compared(doubling(seed, 3)) for seed in (1, 2)] == [None, None]

    def wrong(n, env, types, places, run=interpret.step):
        run(n, env, types, places)
        env[n.outs[0]] = env[n.outs[0]] + 1
    with monkeypatch.context() as m:
        m.setattr(interpret, "step", wrong)
        assert ("interpreted" in compared(doubling(1, 3))
                and compared(doubling(2, 3)) is None)
    for seed in range(20):
        with fuzz_sides.given_up(seed):
            f = jit.trace(lambda x: x * 2)
            f(whet.ones(1000))
        assert "addresses" in str(f._why)
    assert compared(doubling(8, 3)) is None
    name, one = pipeline.PASSES[1]

    def harmful(g):
        if name not in dict(pipeline.PASSES):
            return g.of([OpNode(n.op, (n.ins[0], 3), {}, n.outs, n.line) for n in g.nodes])
        return g
    monkeypatch.setattr(pipeline, "PASSES", [*pipeline.PASSES, ("harmful", harmful)])
    seed = next(s for s in range(0, 100, 2)
                if pipeline.names()[s // 2 % len(pipeline.names())] == name)
    why = compared(doubling(seed, 3))
    assert f"without {name}" in why and "Error" not in why
