"""A fused multiply-add where the processor has no instruction for it: the C library's bits."""

import ctypes as C
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

N, ROOT = 4096, Path(__file__).parents[2]


def operands(kind, rng):
    """Three arrays: any bits, sums that nearly vanish, special numbers, halfway cases, tiny
    ones."""
    if kind == "any bits":
        return [rng.integers(0, 2**32, N, dtype=np.uint32).view("f4") for _ in range(3)]
    if kind == "special":
        numbers = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 2**-126, 3.4e38,
                   -3.4e38, 1 + 2**-23, 1 - 2**-24, 2**-24, 0.5]
        return [rng.choice(np.float32(numbers), N) for _ in range(3)]
    if kind == "halfway":
        a, b = (1 + rng.integers(0, 2**23, N) * 2.0**-23 for _ in range(2))
        c = rng.choice([-1, 1], N) * 2.0 ** rng.integers(-60, 60, N)
        return [np.float32(x) for x in (a, b, c)]
    a, b = (np.float32(rng.standard_normal(N)) for _ in range(2))
    if kind == "vanishing":
        return [a, b, -(a * b)]
    tiny = 2.0 ** rng.integers(-80, -60, N)
    return [np.float32(x) for x in (a * tiny, b * tiny, rng.integers(-40, 40, N) * 1e-45)]


def main():
    """In a process whose kernels are for the baseline."""
    from whet.cpu import native
    from whet.passes.lower_llvm.builder import Module

    m = Module()
    f = m.kernel("fma")
    *given, out = (f.load("ptr", f.at(f.args[0], i, "i64")) for i in range(4))

    def one(i):
        f.store(f.fma(*[f.load("<4 x float>", f.at(p, i)) for p in given]), f.at(out, i))

    f.loop(0, f.args[2], 4, one)
    text = m.text()
    assert "llvm.fma" not in text
    kernel, reference = native.build(text, ["fma"])["fma"], C.CDLL("libm.so.6").fmaf
    reference.restype, reference.argtypes = C.c_float, [C.c_float] * 3
    rng = np.random.default_rng(0)
    for kind in ("any bits", "vanishing", "special", "halfway", "tiny"):
        with np.errstate(all="ignore"):
            xs, made = operands(kind, rng), np.empty(N, np.float32)
        native.launch(kernel, N, N, *xs, made)
        wanted = np.array([reference(*map(float, x)) for x in zip(*xs)], np.float32)
        number = ~np.isnan(wanted)
        assert (np.isnan(made) == ~number).all(), kind
        assert made[number].tobytes() == wanted[number].tobytes(), kind


@pytest.mark.skipif(sys.platform != "linux", reason="the C library is found by its name on Linux")
def test_it_has_the_bits_of_the_c_library(monkeypatch):
    from whet.passes.lower_llvm import targets

    if targets.current().name == "neon":
        pytest.skip("there is no baseline")
    monkeypatch.setenv("WHET_CPU", "baseline")
    start = "from tests.kernels.test_fused_multiply_add import main; main()"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
