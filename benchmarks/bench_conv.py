"""Convolutions (forward and both gradients) and pools beside PyTorch, taking turns: GFLOP/s and the ratio of times.

    python benchmarks/bench_conv.py [--threads 1] [--batch 1] [--torch PYTHON] [--only TEXT] [--what forward input weight pool]

Plain row-major tensors on both sides, so that changes of layout count. `--torch` names an interpreter that has PyTorch, where this
one does not: it is measured in a process of its own.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import time
from functools import partial

LAYERS = {  # name: channels, size, outputs, kernel, stride, groups
    "resnet stem": (3, 224, 64, 7, 2, 1),
    "resnet 3x3 64": (64, 56, 64, 3, 1, 1), "resnet 3x3 128": (128, 28, 128, 3, 1, 1),
    "resnet 3x3 256": (256, 14, 256, 3, 1, 1), "resnet 3x3 512": (512, 7, 512, 3, 1, 1),
    "resnet 3x3/2 128": (128, 56, 128, 3, 2, 1), "resnet 3x3/2 256": (256, 28, 256, 3, 2, 1),
    "resnet 3x3/2 512": (512, 14, 512, 3, 2, 1),
    "resnet 1x1 64-256": (64, 56, 256, 1, 1, 1), "resnet 1x1 256-64": (256, 56, 64, 1, 1, 1),
    "resnet 1x1 512-128": (512, 28, 128, 1, 1, 1), "resnet 1x1 1024-256": (1024, 14, 256, 1, 1, 1),
    "resnet 1x1 256-1024": (256, 14, 1024, 1, 1, 1), "resnet 1x1 2048-512": (2048, 7, 512, 1, 1, 1),
    "resnet 1x1/2 256-512": (256, 56, 512, 1, 2, 1),
    "vgg 3": (3, 224, 64, 3, 1, 1), "vgg 64": (64, 112, 64, 3, 1, 1), "vgg 256": (256, 56, 256, 3, 1, 1),
    "vgg 512": (512, 28, 512, 3, 1, 1), "vgg 512 late": (512, 14, 512, 3, 1, 1),
    "mobilenet stem": (3, 224, 32, 3, 2, 1), "mobilenet 32": (32, 112, 32, 3, 1, 32), "mobilenet 96/2": (96, 112, 96, 3, 2, 96),
    "mobilenet 144": (144, 56, 144, 3, 1, 144), "mobilenet 384": (384, 14, 384, 3, 1, 384),
    "mobilenet 960": (960, 7, 960, 3, 1, 960), "resnext": (128, 56, 128, 3, 1, 32),
    "digits 1-16": (1, 8, 16, 3, 1, 1), "digits 16-32": (16, 8, 32, 3, 1, 1), "digits 32-32": (32, 4, 32, 3, 1, 1),
}
POOLS = {"resnet max 3/2": (64, 112, 3, 2), "vgg max 2/2": (64, 224, 2, 2), "digits max 2/2": (16, 8, 2, 2)}
WHAT = ["forward", "input", "weight", "pool"]
DIGITS = 64                    # images in a batch of digits, whatever the batch of the others
CLOCK = {False: time.perf_counter, True: time.thread_time}       # on one thread, what other processes take does not count


def operands(np, name, batch):
    """x, w, bias, gy and the attributes of a layer."""
    c, size, o, k, stride, groups = LAYERS[name]
    rng = np.random.default_rng(0)
    n = DIGITS if name.startswith("digits") else batch
    out = (size + 2 * (k // 2) - k) // stride + 1
    shapes = (n, c, size, size), (o, c // groups, k, k), (o,), (n, o, out, out)
    return [rng.standard_normal(s).astype("f4") for s in shapes], ((stride,) * 2, (k // 2,) * 2, (1, 1), groups)


def pool_operand(np, name, batch):
    c, size, k, stride = POOLS[name]
    n = DIGITS if name.startswith("digits") else batch
    return np.random.default_rng(0).standard_normal((n, c, size, size)).astype("f4"), k, stride, (k - 1) // 2


def measure(call, seconds, clock=time.perf_counter):
    """Seconds per call, the least of a few batches of calls."""
    call()
    t = time.perf_counter()
    call()
    n = max(1, int(seconds / 4 / max(time.perf_counter() - t, 1e-8)))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        t = clock()
        for _ in range(n):
            call()
        best = min(best, (clock() - t) / n)
    return best


PEER = """
import sys, torch, numpy as np
sys.path.insert(0, sys.argv[1])
from bench_conv import CLOCK, measure, operands, pool_operand
import torch.nn.functional as F
torch.set_num_threads(int(sys.argv[2]))
torch.set_grad_enabled(False)
clock = CLOCK[int(sys.argv[2]) == 1]
back = torch.ops.aten.convolution_backward
for line in sys.stdin:
    what, batch, seconds, name = line.strip().split(" ", 3)
    if what == "pool":
        x, k, s, p = pool_operand(np, name, int(batch))
        x = torch.from_numpy(x)
        call = lambda: F.max_pool2d(x, k, s, p, return_indices=True)
    else:
        (x, w, b, g), (s, p, d, groups) = operands(np, name, int(batch))
        x, w, b, g = (torch.from_numpy(a) for a in (x, w, b, g))
        wanted = [what == "input", what == "weight", False]
        call = ((lambda: F.conv2d(x, w, b, s, p, d, groups)) if what == "forward" else
                (lambda: back(g, x, w, [0], s, p, d, False, [0, 0], groups, wanted)))
    print(measure(call, float(seconds), clock), flush=True)
"""


class Torch:
    """PyTorch in another process, measured when asked."""

    def __init__(self, python, threads):
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen([python, "-c", PEER, here, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, what, name, batch, seconds):
        self.process.stdin.write(f"{what} {batch} {seconds} {name}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--torch", default=os.environ.get("WHET_TORCH_PYTHON"))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.04, help="for each measurement")
    p.add_argument("--only", default="", help="layers whose name has this text")
    p.add_argument("--what", nargs="+", default=WHAT, choices=WHAT)
    args, _ = p.parse_known_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    import numpy as np
    from whet.cpu import conv, pool, pooling
    pool.set_num_threads(args.threads)
    if args.torch is None:
        try:
            import torch  # noqa: F401
            args.torch = sys.executable
        except ImportError:
            pass
    torch, clock = Torch(args.torch, args.threads) if args.torch else None, CLOCK[args.threads == 1]
    print(f"batch {args.batch} (digits {DIGITS}), {args.threads} thread(s); best of {args.rounds} rounds")
    print(f"{'':9}{'layer':24}{'whet us':>12}{'torch us':>12}{'whet GF/s':>12}{'torch':>9}{'time ratio':>12}")
    for what in args.what:
        ratios = []
        for name in POOLS if what == "pool" else LAYERS:
            if args.only not in name:
                continue
            if what == "pool":
                x, k, stride, padding = pool_operand(np, name, args.batch)
                call, flops = partial(pooling.max_pool, x, (k, k), (stride,) * 2, (padding,) * 2, (1, 1)), 0
            else:
                (x, w, b, gy), at = operands(np, name, args.batch)
                call = {"forward": partial(conv.conv, x, w, b, *at), "input": partial(conv.conv_input_grad, gy, w, x.shape, *at),
                        "weight": partial(conv.conv_weight_grad, gy, x, w.shape, *at)}[what]
                flops = 2e-9 * gy.size * math.prod(w.shape[1:])
            calls = [partial(measure, call, args.seconds, clock)]
            if torch:
                calls.append(partial(torch, what, name, args.batch, args.seconds))
            times = [[call() for call in calls] for _ in range(args.rounds)]
            best = [min(t) for t in zip(*times, strict=True)] + [math.nan] * (not torch)
            ratios.append(best[0] / best[1])
            print(f"{what:9}{name:24}{best[0] * 1e6:12.1f}{best[1] * 1e6:12.1f}{flops / best[0]:12.1f}{flops / best[1]:9.1f}"
                  f"{ratios[-1]:12.2f}", flush=True)
        if torch and ratios:
            print(f"{what}: worst {max(ratios):.2f}, geometric mean {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
