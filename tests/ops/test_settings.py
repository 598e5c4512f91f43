"""The settings of the environment: the same program with native entries off, for narrower
vectors, and with NumPy alone."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib, json, sys
import whet
import whet.nn.functional as F
from whet import nn, optim
whet.manual_seed(1)
x, y = whet.rand(8, 1, 8, 8), whet.arange(8) % 3
model = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(36, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
opt = optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
z = whet.cat([
    model(x).softmax(1).reshape(-1), x.cumsum(2).sum((0, 1))[0],
    x.reshape(8, -1).sort(1).values[:, 3], x.var(0).reshape(-1).tanh()])
made = [z.detach(), *model.state_dict().values()]
bits = hashlib.sha256(b"".join(p.numpy().tobytes() for p in made)).hexdigest()
print(json.dumps(dict(bits=bits, values=z.tolist(), llvm="llvmlite" in sys.modules)))
"""


def run(**settings):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **settings},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def usual():
    return run()


def test_native_entries_change_no_bit(usual):
    assert run(WHET_NATIVE="0")["bits"] == usual["bits"]


def test_vector_width_changes_no_bit(usual):
    features = Path("/proc/cpuinfo")
    if not features.exists() or "fma" not in features.read_text():
        pytest.skip("needs a machine with AVX2")
    assert run(WHET_CPU="avx2")["bits"] == usual["bits"]


def test_thread_count_changes_no_bit(usual):
    assert run(OMP_NUM_THREADS="1")["bits"] == usual["bits"] == run(OMP_NUM_THREADS="4")["bits"]


def test_numpy_alone_computes_the_same_numbers(usual):
    reference = run(WHET_CPU="numpy")
    assert not reference["llvm"]
    assert reference["values"] == pytest.approx(usual["values"], rel=2e-4, abs=2e-5)
