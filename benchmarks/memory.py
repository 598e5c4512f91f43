"""Peak memory of a traced function's first calls and of later ones, beside eager whet's, and the
processor time of the first ones; each in a process of its own. (A training step is recorded at its
second call, as the first one makes the optimizer's state, and checked at a later one.)

A process is asked by `python -m benchmarks.memory PROGRAM HOW`, and answers with a line of JSON.
The peak is that of the resident memory over what the process had when the model and its data were
there: the kernel's own account of it, which later calls start anew.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from .harness import Table

# calls in which a program is recorded and checked; and others, before any is eager for comparison
FIRST, LATER = 4, 3
ROUNDS = 3                       # processes of each kind
KINDS = "eager", "whet"


# ---- the programs: each gives a function of no arguments, and what to trace ----------------------
def chain(whet):
    """100 operations on 8 MB."""
    x = whet.randn(1 << 21)

    def f(x):
        for _ in range(25):
            x = (x * 1.01 + 0.5).tanh() - 0.1
        return x
    return f, (x,)


def inference(whet):
    """ResNet-50, batch 8, without gradients."""
    model, x = whet.models.resnet50().eval(), whet.randn(8, 3, 224, 224)

    def f(x):
        with whet.no_grad():
            return model(x)
    return f, (x,)


def training(whet):
    """A step of ResNet-50, batch 8, with SGD and momentum."""
    model, x, y = whet.models.resnet50(), whet.randn(8, 3, 224, 224), whet.randint(1000, (8,))
    return (step(whet, model, whet.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
                 whet.nn.functional.cross_entropy), (x, y))


def step(whet, model, opt, loss_of):
    """A training step as most people write it."""
    def f(x, y):
        loss = loss_of(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    return f


def gpt(whet):
    """A step of a transformer block of GPT's kind: 384 wide, 8 sequences of 128, AdamW."""
    from .networks import GPTBlock
    model, x, y = GPTBlock(384, 6), whet.randn(8, 128, 384), whet.randn(8, 128, 384)
    return step(whet, model, whet.optim.AdamW(model.parameters(), lr=1e-3),
                whet.nn.functional.mse_loss), (x, y)


def residual(whet):
    """The first residual block of `blocks`, batch 8, without gradients."""
    from .blocks import STAGES, module, parameters
    c, m, size = STAGES["56x56"]
    block, x = (module(whet, parameters(np.random.default_rng(0), c,
                                        m)), whet.randn(8, c, size, size))

    def f(x):
        with whet.no_grad():
            return block(x)
    return f, (x,)


def hot(name):
    """The largest size of one of the functions of `traced`."""
    def made(whet):
        from .traced import FUNCTIONS, _array
        fn, sizes = FUNCTIONS[name]
        rng = np.random.default_rng(0)
        return (lambda *xs: fn(whet, *xs),
                tuple(whet.tensor(_array(rng, s, sizes[-1][0])) for s in sizes[-1]))
    made.__doc__ = f"{name}."
    return made


PROGRAMS = {
    "a chain of 100 operations on 8 MB": chain,
    "ResNet-50, batch 8, inference": inference,
    "ResNet-50, batch 8, a training step": training,
    "a GPT block, a training step": gpt,
    "a residual block, batch 8, inference": residual,
    **{
        name: hot(name)
        for name in ("pointwise chain", "attention, long", "stencil", "pairwise distances")}
}


# ---- measuring -----------------------------------------------------------------------------------
def resident(what):
    """The resident memory ("VmRSS"), or its peak ("VmHWM"), in bytes."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(what))


def again():
    """Let the peak start anew."""
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def measure(name, how):
    """What a program takes: peaks of the first calls and of later ones, and the processor's time
    of the first ones."""
    import whet
    import whet.jit
    import whet.nn
    import whet.optim
    whet.set_num_threads(1)
    f, xs = PROGRAMS[name](whet)
    # (what tracing and gradients import is no program's)
    small = whet.ones(3, requires_grad=True)
    whet.jit.trace(lambda x: (x * 2).sum())(small).backward()
    if how == "whet":
        f = whet.jit.trace(f)
    whet.memory.empty_cache()
    again()
    whet.memory.reset_peak()
    base, live, start = resident("VmRSS"), whet.memory.stats()["live"], time.process_time()
    for _ in range(FIRST):
        out = f(*xs)
        del out
    first, peak, took = (resident("VmHWM") - base, whet.memory.stats()["peak"] - live,
                         time.process_time() - start)
    whet.memory.empty_cache()
    again()
    whet.memory.reset_peak()
    for _ in range(LATER):
        out = f(*xs)
        del out
    later, calls = resident("VmHWM") - base, whet.memory.stats()["peak"] - live
    refused = f.explain(data=True)["refused"] if how == "whet" else None
    return {
        "first calls": first, "later calls": later, "seconds": took, "allocator, first": peak,
        "allocator, later": calls, "refused": refused}


def ask(name, how, compiled):
    """The same of a process of its own. `compiled` is a folder for the code of modules: to compile
    it takes Python more memory than some programs do."""
    env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPYCACHEPREFIX=compiled)
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    out = subprocess.run([sys.executable, "-m", "benchmarks.memory", name, how],
                         capture_output=True, text=True, check=True, env=env)
    return json.loads(out.stdout.splitlines()[-1])


def megabytes(n):
    """Bytes as text."""
    return f"{n / 2 ** 20:.1f} MB"


def main():
    """Measure and write the table."""
    table = Table("memory",
                  "Peak memory over the process's own, eager and traced", ["eager"],
                  megabytes)
    with tempfile.TemporaryDirectory() as compiled:
        for name in PROGRAMS:
            for how in KINDS:                # kernels and modules are on disk afterwards
                ask(name, how, compiled)
            got = {how: [] for how in KINDS}
            for _ in range(ROUNDS):
                for how in KINDS:
                    got[how].append(ask(name, how, compiled))
            median = lambda how, what: statistics.median(x[what] for x in got[how])
            took = f"{median('eager', 'seconds'):.2f} -> {median('whet', 'seconds'):.2f}"
            for what in ("first calls", "later calls"):
                notes = {"seconds of the first": took if what == "first calls" else ""}
                table.add(f"{name}: {what}", {how: median(how, what) for how in KINDS}, **notes)
    table.finish()


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
