"""What is public, called in a traced function with arguments of many kinds: `python -m
tests.sweep_traced` calls all of it.

WHET_FUZZ_SEED says which part of it.
"""
import os

import pytest
import whet

from tests import sweep_traced

SEED = int(os.environ.get("WHET_FUZZ_SEED", 0))
PARTS = 401


def test_a_part_of_what_is_public():
    count, wrong = sweep_traced.sweep(part=(SEED % PARTS, PARTS), most=2)
    assert not wrong, "\n\n".join(wrong)


def test_a_part_of_what_is_public_in_calls_of_many_sizes():
    count, wrong = sweep_traced.sweep(part=(SEED % PARTS, PARTS), most=2, sizes=True)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("name", [
    "Tensor.topk", "Tensor.kthvalue", "whet.full_like", "whet.linalg.solve", "whet.nn.LayerNorm"])
def test_what_sizes_decide_is_decided_anew(name):
    count, wrong = sweep_traced.sweep([name], most=4, sizes=True)
    assert not wrong, "\n\n".join(wrong)
    assert count["forms"]


@pytest.mark.parametrize("name", [
    "Tensor.add", "Tensor.mul_", "whet.nn.functional.gelu", "whet.nn.BatchNorm1d",
    "whet.optim.AdamW", "whet.optim.lr_scheduler.OneCycleLR", "whet.distributions.Gamma",
    "whet.linalg.qr", "whet.fft.rfft", "whet.func.vmap"])
def test_each_kind_of_what_is_public(name):
    count, wrong = sweep_traced.sweep([name], most=1)
    assert not wrong, "\n\n".join(wrong)
    assert count["forms"]


def test_wrong_results_are_found(monkeypatch):
    class Cheat:
        _calls = whet.jit.trace(lambda: None)._calls

        def __init__(self, f):
            self.f = f

        def __call__(self, *args):
            y = self.f(*args)
            return y.contiguous().as_strided(y.shape, y.stride()[::-1])
    monkeypatch.setattr(whet.jit, "trace", Cheat)
    _, wrong = sweep_traced.sweep(["Tensor.mul"], most=3)
    assert wrong and "Tensor.mul" in wrong[0]
