"""Libraries of many small models, at each level that this machine has, with one thread and two: do
they give the bits of the exported functions?

    python -m tests.libraries [names]      some seconds each
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn, randn

from tests.export.test_library import CALL, levels


def aliases(x):
    """Results that share memory, with inputs and with each other."""
    y = x * 2
    return y, y.t(), x, y, y[0], x.t()


def cases():
    """name -> (what is exported, its arguments)"""
    whet.manual_seed(0)
    square = randn(7, 5).double()
    pointwise = nn.Conv1d(16, 32, 1)
    places = whet.tensor([[0, 1], [5, 2], [3, 3], [4, 0]])
    return {
        "aliases": (aliases, [randn(3, 4)]),
        "float64": (lambda x: (x @ square).softmax(-1), [randn(4, 7).double()]),
        "bfloat16": (lambda x: (x @ x.t()).relu(), [randn(9, 17).bfloat16()]),
        "float16": (lambda x: (x @ x.t()).tanh(), [randn(9, 17).half()]),
        "integers": (lambda x: (x * 3 + 1) // 2, [whet.arange(12)]),
        "truths": (lambda x: (x > 0, (x > 0).sum(), x.any()), [randn(4, 5)]),
        "places": (lambda x: (x.argmax(1), x.cumsum(1), x.max(1)), [randn(5, 40)]),
        "moments": (lambda x: (x.std(1), x.var(0), x.norm(), x.logsumexp(1)), [randn(6, 50)]),
        "gather": (lambda x, i: whet.where(x > 0, x, -x).gather(1, i), [randn(4, 6), places]),
        "moves": (lambda x: F.pad(x, (1, 2, 0, 1)).roll(1, 0).flip(1), [randn(4, 5)]),
        "nothing": (lambda x: (x[:0], x * 1.5), [randn(4, 5)]),
        "constants": (lambda x: (x * 0 + whet.arange(5.0), whet.arange(5.0)), [randn(5)]),
        "branch": (lambda x: x * 2 if float(x[0]) > 0 else x, [whet.ones(4)]),
        "conv1d": (nn.Sequential(nn.Conv1d(4, 8, 3, padding=1), nn.ReLU(), nn.AvgPool1d(2)),
                   [randn(2, 4, 16)]),
        "turned conv1d": (lambda x: pointwise(x.transpose(1, 2)), [randn(2, 9, 16)]),
        "depthwise": (nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.GroupNorm(2, 8),
                                    nn.SiLU(), nn.Conv2d(8, 16, 1)), [randn(2, 8, 14, 14)]),
        "conv3d": (nn.Conv3d(2, 3, 3), [randn(1, 2, 6, 6, 6)]),
        "winograd": (nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(),
                                   nn.Conv2d(64, 64, 3, padding=1), nn.MaxPool2d(2)),
                     [randn(1, 3, 32, 32)]),
        "winograd in volumes": (nn.Conv3d(16, 16, 3, padding=1), [randn(1, 16, 3, 6, 6)]),
        "gru": (nn.GRU(6, 8, batch_first=True), [randn(3, 20, 6)]),
        "lstm": (nn.LSTM(16, 32, 2), [randn(50, 2, 16)]),
        "products": (nn.Sequential(nn.Linear(300, 400), nn.GELU(), nn.Linear(400, 300),
                                   nn.LayerNorm(300)), [randn(130, 300)]),
        "one row": (nn.Sequential(nn.Linear(300, 400), nn.GELU(), nn.Linear(400, 30)),
                    [randn(1, 300)]),
        "attention": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), [randn(2, 11, 32)]),
        "einsum": (lambda a, b: whet.einsum("bij,bjk->bik", a, b),
                   [randn(3, 4, 5), randn(3, 5, 6)]),
        "resize": (lambda x: F.interpolate(x, scale_factor=2.0), [randn(1, 2, 5, 5)]),
    }


def differing(fn, args, folder):
    """The levels and numbers of threads whose bits are others."""
    exported = whet.export(fn.eval() if isinstance(fn, nn.Module) else fn, *args)
    path = Path(folder) / "model.so"
    exported.compile(path, threads=2)
    xs = [np.ascontiguousarray(t._array) for t in exported.signature.gather(args, {})]
    wanted = [np.ascontiguousarray(y).tobytes() for y in exported.run(xs)]
    found = []
    for level in levels():
        for threads in (1, 2):
            model = CALL.Model(path, level=level, threads=threads)
            if any([y.tobytes() for y in model(*xs)] != wanted for _ in range(2)):
                found.append((level, threads))
            model.close()
    return found


def main(names):
    """Try all of them, or those of some names; is any wrong?"""
    wrong = 0
    for name, (fn, args) in cases().items():
        if names and name not in names:
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = differing(fn, args, folder)
        wrong += bool(found)
        seconds = time.perf_counter() - start
        print(f"{name:12s}{seconds:6.1f} s  {found or 'the same bits'}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
