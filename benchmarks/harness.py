"""Interleaved timing: every contender runs in every round, so that a machine that slows down
slows all of them."""
import importlib
import json
import os
import pathlib
import platform
import statistics
import time

RESULTS = pathlib.Path(__file__).parent / "results"
clock = time.perf_counter


def peer(name):
    """A peer's module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"({name} is not installed: left out)")
        return None


def begin(f, seconds=0.1):
    """Begin the turn of a function that uses several threads with calls that are not timed: others'
    threads spin on for up to 30 ms after their last work, twice that where they share a processor,
    and its own may have to part first."""
    end = clock() + seconds
    while clock() < end:
        f()


def often(f, seconds, clock=clock):
    """How many calls take so long, by the quickest of several tries: some calls wait for others,
    or compile something."""
    n = 1
    while True:
        tries = []
        for _ in range(3):
            t = clock()
            for _ in range(n):
                f()
            tries.append(max(clock() - t, 1e-8))
        if min(tries) >= seconds / 2 or n == 1 << 20:
            return max(1, int(n * seconds / min(tries)))
        n *= 4


def timings(fns, seconds=0.3, rounds=15, several=False, of=statistics.median, clock=clock):
    """Seconds per call of each of {name: function}, measured in turns: medians, or what `of` makes
    of all. With `several` threads (and calls that take some time) each call is timed: one that
    waits for a processor should not count for the others. `clock` gives the time."""
    loops = {}
    for k, f in fns.items():
        if several:
            begin(f)
        # (the third call of a traced function may compile something)
        for _ in range(3):
            f()
        loops[k] = often(f, seconds / rounds, clock)
    got = {k: [] for k in fns}
    for _ in range(rounds):
        for k, f in fns.items():
            if several:
                begin(f)
            n = 1 if several else loops[k]
            for _ in range(loops[k] // n):
                t = clock()
                for _ in range(n):
                    f()
                got[k].append((clock() - t) / n)
    return {k: of(v) for k, v in got.items()}


def statement(source, env):
    """A function that runs a statement over local names: what a user's line costs, without a
    lambda's call."""
    names = ", ".join(env)
    scope = {}
    exec(f"def make({names}):\n    def run():\n        {source}\n    return run", scope)
    return scope["make"](**env)


def geomean(xs):
    """The geometric mean."""
    return statistics.geometric_mean(xs) if xs else float("nan")


def threads():
    """How many threads each contender gets."""
    return int(os.environ.get("THREADS", "1"))


def machine():
    """What the figures were measured on, in a line."""
    told = open("/proc/cpuinfo") if os.path.exists("/proc/cpuinfo") else ()
    cpu = next((line.split(":")[1].strip() for line in told if line.startswith("model name")),
               platform.processor())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cpu}, {cores} cores, Python {platform.python_version()}"


class Table:
    """Rows of {contender: seconds}, or of what else `shown` makes text of; the ratio is whet /
    the best of `against`."""

    def __init__(self, name, title, against, shown=None, figures="medians"):
        self.name, self.title, self.against, self.rows = name, title, against, []
        self.figures = figures
        self.shown = shown or _human

    def add(self, label, times, **extra):
        """Add a row and print it."""
        best = min((times[k] for k in self.against if k in times), default=None)
        ratio = times["whet"] / best if best else None
        self.rows.append(dict(label=label, times=times, ratio=ratio, **extra))
        shown = "  ".join(f"{k} {self.shown(v)}" for k, v in times.items())
        print(f"{label:44s} {shown}" + (f"   ratio {ratio:.2f}" if ratio else "")
              + "".join(f"  {k} {v}" for k, v in extra.items()), flush=True)

    def finish(self):
        """Write the table (Markdown and JSON) and the plot."""
        RESULTS.mkdir(exist_ok=True)
        ratios = [r["ratio"] for r in self.rows if r["ratio"]]
        names = list(dict.fromkeys(k for r in self.rows for k in r["times"]))
        extras = list(
            dict.fromkeys(k for r in self.rows for k in r if k not in ("label", "times", "ratio")))
        head = ["", *names, "ratio", *extras]
        lines = [
            f"# {self.title}", "",
            machine() + f"; {self.figures}; ratio = whet / best of {', '.join(self.against)}.", "",
            "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for r in self.rows:
            lines.append("| " + " | ".join([
                r["label"],
                *(self.shown(r["times"][k]) if k in r["times"] else "" for k in names),
                f"{r['ratio']:.2f}" if r["ratio"] else "",
                *(str(r.get(k, "")) for k in extras)]) + " |")
        if ratios:
            lines += [
                "", f"Geometric mean of the ratios {geomean(ratios):.3f}, worst {max(ratios):.2f}."]
        text = "\n".join(lines) + "\n"
        (RESULTS / f"{self.name}.md").write_text(text)
        (RESULTS / f"{self.name}.json").write_text(
            json.dumps(dict(title=self.title, machine=machine(), rows=self.rows), indent=1) + "\n")
        print(lines[-1])
        self._plot()

    def _plot(self):
        rows = [r for r in self.rows if r["ratio"]]
        try:
            import matplotlib
        except ImportError:
            print("(matplotlib is not installed: no plot)")
            return
        if not rows:
            return
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        fig, ax = plt.subplots(figsize=(8, 0.24 * len(rows) + 1.2))
        values = [r["ratio"] for r in rows]
        ax.barh(range(len(rows)),
                values,
                color=["#2a7f62" if v <= 1 else "#c0563b" for v in values])
        ax.set_yticks(range(len(rows)), [r["label"] for r in rows], fontsize=7)
        ax.invert_yaxis()
        ax.set_xscale("log")
        ax.axvline(1, color="black", lw=0.8)
        ax.set_xlabel(f"whet / best of {', '.join(self.against)}   (left of 1: whet takes less)",
                      fontsize=8)
        ax.set_title(self.title, fontsize=9)
        fig.tight_layout()
        fig.savefig(RESULTS / f"{self.name}.png", dpi=130)
        plt.close(fig)


def _human(s):
    return (f"{s * 1e9:.0f} ns" if s < 1e-6 else
            f"{s * 1e6:.2f} us" if s < 1e-3 else f"{s * 1e3:.2f} ms" if s < 1 else f"{s:.2f} s")
