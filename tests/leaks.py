"""Functions that are traced, compiled, differentiated and dropped, over and over: what is left of
them?

    python -m tests.leaks --rounds 10000

Counts after the first rounds and at the end: objects that the collector knows, bytes in the
allocator's blocks, kernels, and the memory of the process. What the rounds leave behind once and
for all (kernels, plans, the interpreter's own caches) is there by then.
"""
import argparse
import gc
import sys

import whet
from whet import jit, nn
from whet.cpu import memory, native

# bytes a round that the process may grow by: the system's allocator does not give all of it back
ROOM = 256


def forward_and_backward():
    x = whet.ones(4, requires_grad=True)
    f = jit.trace(lambda x: (x * 2).exp().sum())
    for _ in range(3):
        f(x).backward()


def training_step():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = whet.optim.Adam(model.parameters())

    @jit.trace
    def step(x):
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        return loss
    for _ in range(4):
        step(whet.ones(3, 8))


def resident():
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def counts():
    """What there is now."""
    gc.collect()
    return {
        "objects": len(gc.get_objects()),
        "blocks": memory.stats()["live"],
        "kernels": len(native._found),
        "resident": resident()}


def grown(cycle, rounds):
    """By how much the counts are higher after as many rounds, the first tenth left out."""
    for _ in range(max(rounds // 10, 5)):
        cycle()
    before = counts()
    for _ in range(rounds):
        cycle()
    return {k: v - before[k] for k, v in counts().items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    rounds, bad = parser.parse_args().rounds, False
    for cycle, n in ((forward_and_backward, rounds), (training_step, rounds // 10)):
        more = grown(cycle, n)
        leaks = (more["objects"] > 100 or more["blocks"] > 0 or more["kernels"] > 0
                 or more["resident"] > max(ROOM * n, 4 << 20))
        print(f"{cycle.__name__}: {n} rounds: {more}{' LEAKS' * leaks}", flush=True)
        bad |= leaks
    sys.exit(bad)


if __name__ == "__main__":
    main()
