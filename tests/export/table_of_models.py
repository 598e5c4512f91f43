"""Do models of all kinds agree between eager mode, a trace, an archive, ONNX Runtime and a library,
at several batch sizes from one export?

    python -m tests.export.table_of_models [names] [--peers PYTHON]

Writes `benchmarks/results/export.md` where all models are tried. `--peers` is a Python that has
ONNX Runtime, at first that of `make peers`. Bits are compared, but for ONNX Runtime, which adds in
another order: there the largest difference is told, against the largest number of a result.
"""

import argparse
import importlib.util
import os
import platform
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np
import whet
from whet.cpu import thread_pool
from whet.jit.export.library import targets
from whet.passes.lower_llvm import targets as lowered

from tests.export import called_from_c, models, onnx_runtime
from tests.export.zoo import MODELS
from tests.export.zoo.entry import BATCHES

RESULTS = os.path.join(onnx_runtime.HERE, "benchmarks", "results", "export.md")
BOUND = 1e-4  # of ONNX Runtime's difference, against a result's largest number
SAME, MISSING = "same bits", "not there"
CALLS = 3  # of a traced function for each size: the first is recorded, later ones are replayed


class Row(NamedTuple):
    """What became of a model: words in each column, and the library's bytes."""

    name: str
    weights: int
    traced: str
    archive: str
    onnx: str
    library: str
    size: int
    seconds: float

    @property
    def agrees(self):
        """Is all as it is to be?"""
        bits = all(x == SAME for x in (self.traced, self.archive, self.library))
        return bits and (self.onnx == MISSING or self.onnx.startswith("within"))


class Trial:
    """A model and what is made of it, in a folder."""

    def __init__(self, entry, folder, runtime=None):
        self.folder, self.runtime = folder, runtime
        self.module = entry.module()
        self.cases = []
        with whet.no_grad():
            self.exported = whet.export(
                self.module, *entry.inputs(2), dynamic=entry.dynamic(self.module))
            for batch in BATCHES:
                given = entry.inputs(batch)
                self.cases.append((batch, given, several(self.module(*given))))

    def path(self, ending):
        return os.path.join(self.folder, f"model.{ending}")

    def each(self, make):
        """The first batch size at which something gives other bits, in words; what fails, too.
        `make()` gives a function from arguments to results."""
        try:
            fn = make()
            for batch, given, wanted in self.cases:
                if not models.same(wanted, several(fn(*given))):
                    return f"other bits at {batch}"
        except Exception as e:
            return said(e)
        return SAME

    def traced(self):
        """The traced module, each size some times."""
        fn = whet.jit.trace(self.module)

        def call(*given):
            with whet.no_grad():
                made = [several(fn(*given)) for _ in range(CALLS)]
            return made[0] if all(models.same(made[0], m) for m in made) else []

        return call

    def archive(self):
        """The exported function after saving and loading."""
        self.exported.save(self.path("whet"))
        return whet.load(self.path("whet"))

    def library(self):
        """The library for C, for the best level that this processor has: called from a program in
        C where there is a compiler, else from Python."""
        self.exported.compile(self.path("so"), threads=1, target=best_level())
        if called_from_c.compiler():
            program = called_from_c.Program(self.path("so"), 1)

            def run(arrays):
                return program(*arrays, sizes=[len(arrays[0])])
        else:
            model = caller().Model(self.path("so"))
            (name,) = [d.name for d in self.exported.sized.dims.dims]

            def run(arrays):
                return model(*arrays, sizes={name: len(arrays[0])})

        return lambda *given: [whet.from_numpy(y) for y in run([t.numpy() for t in given])]

    def onnx(self):
        """In words, how far ONNX Runtime's results are from eager mode's."""
        if self.runtime is None:
            return MISSING
        try:
            self.exported.to_onnx(self.path("onnx"))
            worst = 0.0
            for _, given, wanted in self.cases:
                arrays = [t.numpy() for t in given]
                made = self.runtime.run(self.path("onnx"), arrays, self.folder)
                worst = max([worst, *map(difference, made, wanted)])
        except Exception as e:
            return said(e)
        return f"within {worst:.0e}" if worst <= BOUND else f"beyond: {worst:.0e}"

    def row(self, name):
        """All of it."""
        start = time.perf_counter()
        weights = sum(t.numel() * t.element_size() for t in self.exported.constants.values())
        columns = [self.each(self.traced), self.each(self.archive), self.onnx(),
                   self.each(self.library)]
        size = os.path.getsize(self.path("so")) if os.path.exists(self.path("so")) else 0
        return Row(name, weights, *columns, size, time.perf_counter() - start)


def best_level():
    """The best level of processors that this one has."""
    have = lowered.current().name
    return next(k.name for s in targets.SYSTEMS for k in s.kinds if k.target == have)


def caller():
    """The example that calls a library from Python."""
    path = os.path.join(onnx_runtime.HERE, "examples", "library", "call.py")
    spec = importlib.util.spec_from_file_location("call", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def several(x):
    """The tensors of a result."""
    if isinstance(x, whet.Tensor):
        return [x.detach()]
    return [t for y in x for t in several(y)]


def said(e):
    """An error in a few words."""
    lines = str(e).strip().splitlines() or [repr(e)]
    return " ".join(x.strip() for x in lines[:3])[:300]


def difference(a, b):
    """The largest difference, against the largest number of what is wanted."""
    b = b.numpy()
    if a.shape != b.shape or a.dtype != b.dtype:
        return np.inf
    if b.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30))


def trial(name, runtime=None):
    """The row of a model."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return Trial(MODELS[name], folder, runtime).row(name)
        except Exception as e:
            return Row(name, 0, said(e), "", "", "", 0, 0.0)


def table(rows):
    """The page."""
    good = sum(r.agrees for r in rows)
    sizes = ", ".join(map(str, BATCHES))
    out = [
        "# Exported models", "",
        f"`python -m tests.export.table_of_models`: {good} of {len(rows)} models agree between "
        f"eager mode, a trace, an archive, ONNX Runtime and a library for C, at the batch sizes "
        f"{sizes}, each from one export of an example of 2. Bits are compared, but for ONNX "
        f"Runtime: there it is the largest difference against the largest number of a result, at "
        f"most {BOUND:.0e}. Libraries are for one level, {best_level()}, and are called from C, "
        f"each call in a process of its own; {platform.machine()}, "
        f"{thread_pool.get_num_threads()} threads.", "",
        "| model | weights | traced | archive | ONNX Runtime | library | its size |",
        "|---|---|---|---|---|---|---|"]
    for r in rows:
        out.append(f"| {r.name} | {r.weights / 1e6:.2f} MB | {r.traced} | {r.archive} | {r.onnx} | "
                   f"{r.library} | {r.size / 1e6:.1f} MB |")
    return "\n".join(out) + "\n"


def main():
    """Try all models, or those of some names; how many do not agree?"""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peers", default=onnx_runtime.PEERS)
    given = parser.parse_args()
    is_there = onnx_runtime.Runtime.is_there(given.peers)
    runtime = onnx_runtime.Runtime(given.peers) if is_there else None
    rows = []
    for name in given.names or MODELS:
        rows.append(trial(name, runtime))
        print(*[x if isinstance(x, str) else f"{x:,.1f}" for x in rows[-1]], sep=" | ", flush=True)
    if runtime is not None:
        runtime.close()
    if not given.names:
        with open(RESULTS, "w") as f:
            f.write(table(rows))
    return sum(not r.agrees for r in rows)


if __name__ == "__main__":
    sys.exit(bool(main()))
