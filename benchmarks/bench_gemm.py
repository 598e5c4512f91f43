"""Matrix multiplication beside NumPy and PyTorch, interleaved: GFLOP/s, the ratio to the better of them, and the part of the peak.

    python benchmarks/bench_gemm.py [--threads 1] [--dtype f32] [--torch PYTHON] [--rounds 7] [MxKxN ...]

A shape ending in `t` is x @ w.T; a leading `Bx` (four numbers) is a batch. `--torch` names an interpreter that has PyTorch, where
this one does not: it is measured in a process of its own, taking turns with this one.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from functools import partial

SHAPES = ("4x8x4 16x16x16 32x32x32 64x64x64 128x128x128 256x256x256 512x512x512 1024x1024x1024 2048x2048x2048 1000x1000x1000 "
          "1x1024x1024 1024x1024x1 8x4096x1024 3000x7x3000 77x131x53 64x576x3136 196x1024x256 100x3x100 1x64x10 4096x4096x1 "
          "4x8x4t 32x32x32t 1x1024x1024t 8x4096x1024t 64x1024x1024t 512x512x512t 1024x1024x1024t 77x131x53t 2048x16x2048t "
          "64x32x32x32 8x256x64x256 8x256x64x256t 1000x4x4x4").split()


CLOCK = {False: time.perf_counter, True: time.thread_time}       # on one thread, what other processes take does not count


def parse(shape):
    """`8x256x64x256t` -> ((8,), 256, 64, 256, True)"""
    *batch, m, k, n = (int(x) for x in re.findall(r"\d+", shape))
    return tuple(batch), m, k, n, shape.endswith("t")


def operands(np, shape, dtype):
    """Two random arrays that begin on a cache line, as those of all frameworks do."""
    batch, m, k, n, transposed = parse(shape)
    rng = np.random.default_rng(0)

    def array(*sizes):
        x = rng.standard_normal(sizes).astype(dtype)
        room = np.empty(x.nbytes + 64, np.uint8)
        start = -room.ctypes.data % 64
        y = room[start:start + x.nbytes].view(dtype).reshape(sizes)
        y[...] = x
        return y
    a, b = array(*batch, m, k), array(*batch, n, k) if transposed else array(*batch, k, n)
    return a, b.swapaxes(-1, -2) if transposed else b


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
from bench_gemm import CLOCK, operands, measure
torch.set_num_threads(int(sys.argv[2]))
for line in sys.stdin:
    shape, dtype, seconds = line.split()
    a, b = (torch.from_numpy(x) for x in operands(np, shape, dtype))
    with torch.inference_mode():
        print(measure(lambda: a @ b, float(seconds), CLOCK[int(sys.argv[2]) == 1]), flush=True)
"""


class Torch:
    """PyTorch in another process, measured when asked."""

    def __init__(self, python, threads):
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen([python, "-c", PEER, here, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, shape, dtype, seconds):
        self.process.stdin.write(f"{shape} {dtype} {seconds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def peak(np, dtype):
    """GFLOP/s of one core that does nothing but multiply-adds in registers."""
    from whet.cpu import native
    from whet.passes.lower_llvm import targets
    from whet.passes.lower_llvm.builder import vec
    lanes, elem = targets.current().lanes(np.dtype(dtype).itemsize), {"f4": "float", "f8": "double"}[dtype]

    def emit(mod, symbol):
        f = mod.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
        p = f.load("ptr", f.args[0])
        x, *sums = (f.load(vec(elem, lanes), f.at(p, i * lanes, elem)) for i in range(13))
        for i, total in enumerate(f.loop(0, f.args[2], 1, lambda i, *sums: [f.fma(x, x, s) for s in sums], sums)):
            f.store(total, f.at(p, (i + 1) * lanes, elem))
    kernel, data, n = native.kernel(f"bench/peak/{dtype}", emit), np.zeros(13 * lanes, dtype), 100_000
    return n * 12 * 2 * lanes / measure(lambda: native.launch(kernel, n, 1 << 40, data), 0.3, time.thread_time) / 1e9


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shapes", nargs="*", default=SHAPES)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--dtype", choices=("f4", "f8"), default="f4")
    p.add_argument("--torch", default=os.environ.get("WHET_TORCH_PYTHON"))
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.02, help="for each measurement")
    args = p.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    import numpy as np
    from whet.cpu import gemm, pool
    pool.set_num_threads(args.threads)
    if args.torch is None:
        try:
            import torch  # noqa: F401
            args.torch = sys.executable
        except ImportError:
            pass
    torch = Torch(args.torch, args.threads) if args.torch else None
    top = peak(np, args.dtype) * args.threads
    print(f"{args.dtype}, {args.threads} thread(s), peak {top:.0f} GFLOP/s, medians of {args.rounds} rounds; ratios of best times")
    print(f"{'shape':18}{'whet':>10}{'numpy':>10}{'torch':>10}{'of peak':>9}{'ratio':>8}{'us':>12}")
    worst, clock = [], CLOCK[args.threads == 1]
    for shape in args.shapes:
        batch, m, k, n, _ = parse(shape)
        a, b = operands(np, shape, args.dtype)
        calls = [partial(measure, partial(matmul, a, b), args.seconds, clock) for matmul in (gemm.matmul, np.matmul)]
        if torch:
            calls.append(partial(torch, shape, args.dtype, args.seconds))
        times = [[call() for call in calls] for _ in range(args.rounds)]
        flops = 2e-9 * m * k * n * int(np.prod(batch))
        medians = [flops / statistics.median(t) for t in zip(*times, strict=True)] + [float("nan")]
        best = [min(t) for t in zip(*times, strict=True)]
        ratio = min(best[1:]) / best[0]
        worst.append(ratio)
        line = f"{shape:18}{medians[0]:10.1f}{medians[1]:10.1f}{medians[2]:10.1f}{flops / best[0] / top:9.0%}{ratio:8.2f}"
        print(f"{line}{best[0] * 1e6:12.2f}", flush=True)
    print(f"least ratio {min(worst):.2f}, median {statistics.median(worst):.2f}")


if __name__ == "__main__":
    main()
