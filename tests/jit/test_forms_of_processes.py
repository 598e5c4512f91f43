"""Traced calls have eager's bits in every form that a process can have: without native entries,
and without kernels."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import whet
import whet.nn.functional as F
from whet import nn, optim


def powers_of_bools(x):
    return whet.exp(x ** x) + 0.5


def norms(x):
    return F.layer_norm(F.gelu(x) * 2 + 1, (x.shape[-1],)).softmax(-1)


def training(traced):
    whet.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3))
    opt = optim.Adam(model.parameters(), lr=1e-2)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    step = whet.jit.trace(step, verify="off") if traced else step
    x, y = whet.randn(8, 6), whet.randint(3, (8,))
    return [step(x, y).item().hex() for _ in range(5)]


def bits(t):
    return t.numpy().tobytes().hex()


for fn, x in ((powers_of_bools, whet.ones(5, 3, dtype=whet.bool)), (norms, whet.randn(4, 7))):
    traced = whet.jit.trace(fn, verify="off")
    want = bits(fn(x))
    assert [bits(traced(x)) for _ in range(4)] == [want] * 4, fn
    assert traced.explain(data=True)["calls"]["replayed"], fn
assert training(False) == training(True)
"""


@pytest.mark.parametrize("settings", [
    dict(WHET_NATIVE="0"), dict(WHET_NATIVE="0", WHET_CACHE="0"), dict(WHET_CPU="numpy")])
def test_traced_calls_have_eagers_bits(settings):
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM],
                          env={**os.environ, **settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SIZES = """
import math
import whet
import whet.nn.functional as F
from whet.cpu import tiered_compilation
from whet.jit.policy import account

account.GRACE = math.inf
whet.set_num_threads(1)
weight = whet.randn(16, 16)


def patches(x):
    x = (x @ weight).chunk(2, 1)[0].repeat(1, 2)
    x = x - x.mean(0)
    return F.unfold(x.view(1, 1, -1, 16), 3, padding=1).sum(1).view(-1, 16)


with tiered_compilation.form("full"):
    traced = whet.jit.trace(patches)
    for n in (8, 14, 129, 2, 5, 513, 513):
        x = whet.randn(n, 16)
        assert traced(x).equal(patches(x)), n
assert traced.explain(data=True)["calls"]["replayed"] >= 3
"""


@pytest.mark.parametrize("native", "01")
def test_sizes_that_want_kernels_which_nobody_has(native):
    """What was found of a node whose kernels are lacking is not kept where it lies elsewhere once
    they are there."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SIZES], capture_output=True, text=True,
        env={**os.environ, "WHET_NATIVE": native, "WHET_CACHE": "0"})
    assert done.returncode == 0, done.stderr
