"""Matrix products from 16 to 2048 square and of skinny shapes, beside NumPy and PyTorch, with
the fraction of the machine's FMA peak."""
import time

import numpy as np

from .harness import Table, peer, threads, timings

SQUARE = (16, 32, 64, 128, 256, 512, 1024, 2048)
SHAPES = [(n, n, n) for n in SQUARE] + [(1, 1024, 1024), (1024, 1024, 1), (1, 65536, 1),
                                        (4, 65536, 1), (8, 4096, 1024), (3000, 7, 3000),
                                        (77, 131, 53), (64, 576, 3136), (196, 1024, 256),
                                        (1000, 1000, 1000)]
# x @ w.T, as in a Linear
TRANSPOSED = [(1, 1024, 1024), (8, 4096, 1024), (64, 1024, 1024), (512, 512, 512),
              (1024, 1024, 1024)]


def peak():
    """GFLOP/s of one core that does nothing but multiply-adds in registers."""
    from whet.cpu import native
    from whet.passes.lower_llvm import targets
    from whet.passes.lower_llvm.builder import vec
    lanes = targets.current().lanes()

    def emit(mod, symbol):
        f = mod.kernel(symbol)
        p = f.load("ptr", f.args[0])
        x, *sums = (f.load(vec("float", lanes), f.at(p, i * lanes)) for i in range(13))
        for i, total in enumerate(
                f.loop(0, f.args[2], 1, lambda i, *sums: [f.fma(x, x, s) for s in sums], sums)):
            f.store(total, f.at(p, (i + 1) * lanes))
    kernel, data, n = native.kernel("bench/peak/f32", emit), np.zeros(13 * lanes, "f4"), 200_000
    best = float("inf")
    for _ in range(20):
        t = time.perf_counter()
        native.launch(kernel, n, 1 << 40, data)
        best = min(best, time.perf_counter() - t)
    return n * 12 * 2 * lanes / best / 1e9


def main():
    """Measure and write the table."""
    import whet
    torch = peer("torch")
    whet.set_num_threads(threads())
    if torch:
        torch.set_num_threads(threads())
    top = peak() * threads()
    table = Table("products",
                  f"f32 matrix products, {threads()} thread(s), FMA peak {top:.0f} GFLOP/s",
                  ["numpy", "torch"])
    rng = np.random.default_rng(0)
    for transposed, shapes in ((False, SHAPES), (True, TRANSPOSED)):
        for m, k, n in shapes:
            a = rng.standard_normal((m, k)).astype("f4")
            b = rng.standard_normal((n, k) if transposed else (k, n)).astype("f4")

            def call(lib, x, w, transposed=transposed):
                return (lambda: lib.matmul(x, w.T)) if transposed else (lambda: lib.matmul(x, w))
            fns = {"whet": call(whet, whet.tensor(a), whet.tensor(b)), "numpy": call(np, a, b)}
            if torch:
                fns["torch"] = call(torch, torch.tensor(a), torch.tensor(b))
            times = timings(fns, 0.4 if m * k * n < 1 << 28 else 2.0)
            table.add(f"{m} x {k} x {n}{' transposed' if transposed else ''}", times,
                      of_peak=f"{2e-9 * m * k * n / times['whet'] / top:.0%}")
    table.finish()
