"""Import time, cold compile time of a kernel, and the warm start."""
import os
import statistics
import subprocess
import sys
import tempfile

from .harness import Table

IMPORT = (
    "import time; import numpy; t = time.perf_counter(); import whet; print(time.perf_counter() - "
    "t)")
USE = (
    "import time; import numpy; import whet; t = time.perf_counter(); "
    "x = whet.rand(300, 300); y = ((x @ x).exp().sum(1) + x.softmax(1)[0]).tanh();"
    " print(time.perf_counter() - t); import sys; assert {cold} or 'llvmlite' not in sys.modules")
COMPILE = """
import time, statistics, whet
seen = []
x = whet.rand(8, 8)
x + x       # what the first kernel of all loads (LLVM itself) is not a kernel's cost
for name in ("exp", "log", "sin", "tanh", "sigmoid", "erf", "sqrt", "abs", "floor", "neg",
             "square", "reciprocal", "expm1", "log1p", "cos"):
    t = time.perf_counter(); getattr(whet, name)(x); seen.append(time.perf_counter() - t)
print(statistics.median(seen))
"""
TRACE = """
import os, statistics, time
import numpy as np, whet, whet.jit
from benchmarks.traced import FUNCTIONS, _array
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
whet.set_num_threads(1)
whet.jit.trace(lambda x: x + 1)(whet.ones(3))
seen, rng = [], np.random.default_rng(0)
for fn, sizes in FUNCTIONS.values():
    for shapes in sizes:
        xs = [whet.tensor(_array(rng, s, shapes[0][0])) for s in shapes]
        f = whet.jit.trace(lambda *xs, fn=fn: fn(whet, *xs))
        t = time.perf_counter(); f(*xs); f(*xs); seen.append(time.perf_counter() - t)
whet.cpu.tiered_compilation.compile_well()
print(statistics.median(seen))
"""


def _run(code, cache):
    env = dict(os.environ, WHET_CACHE_DIR=cache)
    # as for a user: Python keeps what it has compiled
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return float(
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True,
                       check=True).stdout)


def main():
    """Measure and write the table."""
    table = Table("start", "Import, compile and warm start", [])
    with tempfile.TemporaryDirectory() as d:
        table.add("import whet after numpy, the very first time", {"whet": _run(IMPORT, d)})
        table.add("import whet after numpy",
                  {"whet": statistics.median(_run(IMPORT, d) for _ in range(7))})
        table.add("first use of a few kernels, cold", {"whet": _run(USE.format(cold=True), d)})
        _run(USE.format(cold=True), d)
        table.add("first use of the same kernels, warm",
                  {"whet": statistics.median(_run(USE.format(cold=False), d) for _ in range(7))})
    with tempfile.TemporaryDirectory() as d:
        table.add("one pointwise kernel, cold (median of 15)", {"whet": _run(COMPILE, d)})
    with tempfile.TemporaryDirectory() as d:
        table.add("first two calls of a traced function, cold (median of the hot functions)",
                  {"whet": _run(TRACE, d)})
        table.add("first two calls of a traced function, in the next process",
                  {"whet": statistics.median(_run(TRACE, d) for _ in range(5))})
    table.finish()
