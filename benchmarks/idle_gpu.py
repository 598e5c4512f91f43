"""What calls for a device take on the host, with a driver whose functions do nothing: this needs no
GPU, and what is measured is our side alone. Numbers that come back from the device mean nothing.

    python -m benchmarks.idle_gpu
"""
import statistics
import time

from .harness import Table

CALLS, ROUNDS, WARM = 200, 9, 60

def seconds(f):
    """The time of a call: the median of rounds of many."""
    for _ in range(WARM):
        f()
    found = []
    for _ in range(ROUNDS):
        t = time.perf_counter()
        for _ in range(CALLS):
            f()
        found.append((time.perf_counter() - t) / CALLS)
    return statistics.median(found)


def calls(whet):
    """{label: (a function, its arguments)}"""
    nn, f = whet.nn, whet.nn.functional

    def chain(x):
        for _ in range(50):
            x = (x @ w).relu()
        return x
    w, x = (whet.randn(64, 64, device="cuda") for _ in range(2))
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    deep = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(64, 64), nn.GELU())]).cuda()
    target = whet.zeros(64, dtype=whet.int64, device="cuda")

    def step(model):
        optimizer = whet.optim.AdamW(model.parameters(), lr=1e-3)

        def run(x, target):
            loss = f.cross_entropy(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss
        return run
    return {
        "x + 1": (lambda x: x + 1, (x,)),
        "50 products, 50 times relu": (chain, (x,)),
        "two layers": (lambda x: model(x), (x,)),
        "training step of two layers": (step(model), (x, target)),
        "training step of 12 layers": (step(deep), (x, target))}


def main():
    """Measure and write the table."""
    import whet
    from whet.cuda import device_state
    from whet.cuda.simulated.idle import IdleDriver
    table = Table("gpu_idle", "The host's time for a call, with a driver that does nothing",
                  ["eager"])
    with device_state.use(IdleDriver()):
        for label, (fn, args) in calls(whet).items():
            traced = whet.jit.trace(fn)
            table.add(label, {"whet": seconds(lambda: traced(*args)),
                              "eager": seconds(lambda: fn(*args))})
    table.finish()


if __name__ == "__main__":
    main()
