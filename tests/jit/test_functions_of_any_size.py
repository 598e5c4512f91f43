"""What people compute of sizes is replayed at sizes that no run had, with eager's bits."""
import math

import pytest
import whet
from whet import jit
from whet.ir.extent import Unsized
from whet.ir.graph import OpNode
from whet.jit.policy import account, many_sizes
from whet.jit.program.size_expressions import SizeExpressions, Sizes
from whet.jit.program.sized import SizedProgram
from whet.jit.program.told_numbers import ToldNumbers
from whet.ops.registry import REGISTRY

from .functions_of_any_size import FUNCTIONS

SIZES = range(41, 53)
# two recordings and a plan come first; ranges of sizes have plans of their own, and ways their own
LEAST = 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_that_no_run_had_are_replayed(name, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    fn, make = FUNCTIONS[name]
    traced = jit.trace(fn)
    with whet.no_grad():
        for n in SIZES:
            x = make(n)
            before = whet.get_rng_state()
            wanted = fn(x)
            whet.set_rng_state(before)
            assert traced(x).numpy().tobytes() == wanted.numpy().tobytes()
    ledger = traced._calls.policy.summary()
    assert ledger.unseen + ledger.sized >= LEAST, ledger


def running_mean(x):
    held = whet.zeros(8)
    held += 1
    mean = x[0] + (x - x[0]) / held
    return x - mean + mean.to(whet.float64).sum(0).float()


@pytest.mark.parametrize("name", [
    "running_mean", "unpack_size", "outer_rope", "sdpa", "ln_", "bn_eval", "knn", "ntxent", "unet"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_has_no_plan_for_unknown_sizes_is_done_by_eagers_code(name, which, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    launches = SizedProgram.launches

    def some(self, node):
        if isinstance(node, OpNode) and node.outs and node.outs[0] % 3 != which:
            raise Unsized("a plan wants the number")
        return launches(self, node)
    monkeypatch.setattr(SizedProgram, "launches", some)
    fn, make = {**FUNCTIONS, "running_mean": (running_mean, FUNCTIONS["knn"][1])}[name]
    traced = jit.trace(fn)
    with whet.no_grad():
        for n in (20, 21, 33, 40, 64, 21, 50):
            x = make(n)
            assert traced(x).numpy().tobytes() == fn(x).numpy().tobytes()


def test_a_size_that_was_the_same_in_both_lists_is_told_apart_from_a_number():
    sizes = SizeExpressions(Sizes([41, 44], [42, 45]), [41, 44])
    sizes.told = ToldNumbers([], {}, None, sizes.facts)
    sizes.met([sizes.facts.symbols[1] // 2])         # 22 in both lists
    node, other = (OpNode(REGISTRY["eye"], (), dict(n=n, m=3), [1], "") for n in (22, 22))
    with pytest.raises(Unsized, match="was the same in both lists"):
        sizes.attributes(node, other, ())
    node.attrs["n"] = other.attrs["n"] = 23
    assert sizes.attributes(node, other, ()) == dict(n=23, m=3)


def test_taps_go_by_the_names_of_what_they_are_made_of():
    """A graph that was read from a file may have them in another order."""
    at = dict(tap=1, dtype=whet.float32, mode="linear", n=5, out=8, scale=None, align_corners=False,
              antialias=False)
    for name in ("resized_places", "resized_weights"):
        forward = REGISTRY[name].forward
        assert forward(**at).tobytes() == forward(**dict(sorted(at.items()))).tobytes()
