"""Training loops with the default policy: what tracing costs at its worst moment, and what share of
the late calls is replayed.

Each loop of `tests/loops` runs eagerly and traced, each in a process of its own, with nothing in
the cache of kernels, and then again with what the first runs left there. Times are those of the
calling thread's processor, call by call.

    python -m benchmarks.loops [--only ppo sac] [--warmer 2] [--times 60]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

ALLOWED, GRACE = 1.1, 0.05       # of eager's time, and seconds: what tracing may take at most
# calls that may be eager, and the share of the later ones that should be replayed
WARM, SHARE = 10, 0.95
GOOD = 18                                # loops that should


def once(name, how, times):
    """Run a loop here: (seconds of each call, which calls were replayed, warnings)."""
    import whet
    import whet.jit
    from whet.jit.policy import account
    limit = account.GRACE
    from tests.loops import harness
    account.GRACE = limit                    # tests lift it
    harness.TIMES = times
    whet.set_num_threads(1)
    build, clock = harness.loops()[name], time.thread_time
    depth, took, replays, order = [0], [], [], {}

    def trace(fn):
        t = whet.jit.trace(fn) if how == "traced" else fn

        def call(*args, **kwargs):
            before = t._policy.summary().replayed if how == "traced" else 0
            depth[0] += 1
            start = clock()
            try:
                return t(*args, **kwargs)
            finally:
                seconds = clock() - start
                depth[0] -= 1
                if not depth[0]:
                    took.append(seconds)
                count = order[call] = order.get(call, -1) + 1
                if how == "traced" and count >= WARM:
                    replays.append(t._policy.summary().replayed > before)
        return call
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        harness.run(build, trace)
    told = [str(w.message) for w in warned if issubclass(w.category, whet.jit.TraceWarning)]
    return took, replays, told


def apart(name, how, cache, times):
    """Run a loop in a process of its own."""
    env = {**os.environ, "WHET_CACHE_DIR": cache}
    command = [sys.executable, "-m", "benchmarks.loops", "--one", name, how, "--times", str(times)]
    out = subprocess.run(command, env=env, capture_output=True, text=True)
    if out.returncode:
        raise RuntimeError(out.stderr)
    return json.loads(out.stdout.splitlines()[-1])


def worst(eager, traced):
    """(seconds that tracing was at most beyond what it may take, after which call)."""
    lost, at, e, t = -GRACE, 0, 0.0, 0.0
    for i, (a, b) in enumerate(zip(eager, traced)):
        e, t = e + a, t + b
        if t - ALLOWED * e - GRACE > lost:
            lost, at = t - ALLOWED * e - GRACE, i
    return lost, at


def main(argv=()):
    """Measure and print a row for each loop."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--one", nargs=2)
    ask.add_argument("--only", nargs="*")
    ask.add_argument("--times", type=int, default=1, help="epochs, for each of a loop's own")
    ask.add_argument("--warmer", type=int, default=1, help="traced runs between cold and warm")
    ask = ask.parse_args(argv)
    if ask.one:
        print(json.dumps(once(*ask.one, ask.times)))
        return
    from tests.loops import harness
    each = "eager ms", "traced ms", "ms beyond, at worst", "after call", "replayed late"
    cold, warm = ([f"{when}: {x}" for x in each] for when in ("cold", "warm"))
    heads = ("loop", "calls", *cold, *warm, "warned")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    over, good = [0, 0], [0, 0]
    for name in ask.only or harness.loops():
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            facts = [name]
            for k in range(2):
                for _ in range(ask.warmer if k else 0):      # what was compiled beside is kept
                    apart(name, "traced", other, ask.times)
                eager = apart(name, "eager", one, ask.times)
                traced = apart(name, "traced", other, ask.times)
                lost, at = worst(eager[0], traced[0])
                share = traced[1].count(True) / max(len(traced[1]), 1)
                if not k:
                    facts.append(len(eager[0]))
                facts += [f"{sum(eager[0]) * 1e3:.0f}", f"{sum(traced[0]) * 1e3:.0f}",
                          f"**{lost * 1e3:.0f}**" if lost > 0 else f"{lost * 1e3:.0f}", at,
                          f"{share:.0%}"]
                over[k] += lost > 0
                good[k] += share >= SHARE
            row = *facts, "; ".join(traced[2])[:160]
            print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(f"\nBeyond what tracing may take: {over[0]} cold, {over[1]} warm. "
          f"Replayed: {good[0]} cold, {good[1]} warm; {GOOD} should be.")


if __name__ == "__main__":
    main(sys.argv[1:])
