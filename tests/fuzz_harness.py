"""What fuzzers of traced functions share: the loop, the comparison, the command line.

A fuzzer is a module with a class `Program`, a `fuzz_harness.Program` or a `TwoSided` one: it says
how a program is drawn from a seed, what can be seen of its run, and which programs are a little
smaller. Its last lines hand the rest to `main`. All fuzzers take the same options:

    python -m tests.fuzz_python --seconds 60 --seed 1 --jobs 2

Each program runs under the form of its seed (tests/fuzz_forms.py), in a process of that form. A
program of which two ways differ, or that ends its process, is made as short as possible and
printed. `--here` runs all programs in this process, for a debugger.
"""
import argparse
import collections
import contextlib
import dataclasses
import faulthandler
import importlib
import itertools
import json
import os
import sys
import threading
import time
import warnings
from concurrent import futures

import numpy as np

from tests.fuzz_forms import BLOCK, ROOT, Form, Process, packed, unpacked
from tests.observed import first_difference

OFTEN = 200                      # programs after which it is told how far it got


class Program:
    """A program that a fuzzer draws. `is_limited`: the policy decides as it does for users."""
    is_limited = False

    @classmethod
    def drawn(cls, seed):
        """The program of a seed."""
        raise NotImplementedError

    def compared(self, form, counts):
        """In which way two ways to run it differ, in words; None where they agree. `counts` is
        told what was compared."""
        raise NotImplementedError

    def smaller(self):
        """Programs that are a little smaller."""
        return ()


class TwoSided(Program):
    """A program that runs twice, eagerly and traced, and shows the same both times."""

    def seen(self, traced):
        """(what is seen, one thing after the other; the function)."""
        raise NotImplementedError

    def place(self, k):
        """Where in the program the k-th thing was seen, in words."""
        return f"call {k}"

    def compared(self, form, counts):
        if form.traced_first:
            got, f = self.traced(form)
        want, _ = self.seen(False)
        if not form.traced_first:
            got, f = self.traced(form)
        for k, (a, b) in enumerate(itertools.zip_longest(want, got)):
            if a != b:
                if self.seen(False)[0] != want:
                    return None              # eager differs from itself
                where, a, b = first_difference(a, b)
                return (f"{self.place(k)}, at {where or 'all of it'}:\n    eager  {str(a)[:500]}\n"
                        f"    traced {str(b)[:500]}")
        ledger = f._calls.policy.summary()
        counts["calls"] += ledger.calls
        counts["replayed"] += ledger.replayed
        counts["unseen sizes"] += ledger.unseen
        counts["programs that replayed"] += ledger.replayed > 0
        return None

    def traced(self, form):
        """What is seen of the traced run. Kernels in haste are exchanged for full ones after it,
        so that the eager run has those."""
        from whet.cpu import tiered_compilation
        with form.new_kernels():
            made = self.seen(True)
        tiered_compilation.compile_well()
        return made


def shortened(program, wrong):
    """The program without what it takes none of to be wrong. `wrong` says whether one still is;
    no program is asked about twice."""
    tried = {packed(program)}

    def still_wrong(p):
        text = packed(p)
        if text in tried:
            return False
        tried.add(text)
        return wrong(p)
    less = program
    while less is not None:
        program = less
        less = next((p for p in program.smaller() if still_wrong(p)), None)
    return program


@contextlib.contextmanager
def generous(is_limited=False):
    """All recordings are worth while and no call is timed, unless the policy `is_limited`. Nothing
    is said, and errors of the tracer's own are raised."""
    from whet.jit.capture.internal_errors import faults
    from whet.jit.policy import account, timing
    kept = account.GRACE, timing.EARLY, faults.are_raised
    faults.are_raised = True
    if not is_limited:
        account.GRACE, timing.EARLY = float("inf"), 10**9
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        account.GRACE, timing.EARLY, faults.are_raised = kept


def compared(program, form):
    """{"wrong": how two ways differ or None, "counts": what was compared}, in this process."""
    counts = collections.Counter()
    try:
        with generous(program.is_limited), form.of_threads():
            wrong = program.compared(form, counts)
    except Exception as e:
        wrong = f"the comparison raised {type(e).__name__}: {e}"[:1000]
    return dict(wrong=wrong, counts=counts)


class Here:
    """Compares programs in this process, as a `Process` does in its own."""

    def __call__(self, seed, program):
        return compared(program, Form.drawn(seed))

    def close(self):
        """There is no process to end."""


@dataclasses.dataclass
class Found:
    """What came of many programs."""
    programs: int = 0
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    wrong: list = dataclasses.field(default_factory=list)

    def __str__(self):
        counted = ", ".join(f"{n} {what}" for what, n in self.counts.items())
        return f"{self.programs} programs, {counted}, {len(self.wrong)} wrong"


class Search:
    """Goes through the programs of seeds, some at a time."""

    def __init__(self, kind, runner, raw=False):
        self.kind, self.runner, self.raw = kind, runner, raw
        self.found, self.lock = Found(), threading.Lock()

    def over(self, seeds, jobs=1, seconds=float("inf")):
        """What came of the programs of these seeds, as far as there was time."""
        end = time.time() + seconds
        with futures.ThreadPoolExecutor(jobs) as pool:
            waiting = collections.deque()
            for block in in_blocks(seeds):
                waiting.append(pool.submit(self.block, block, end))
                if len(waiting) > jobs:
                    waiting.popleft().result()
                if time.time() > end:
                    break
            for one in waiting:
                one.result()
        return self.found

    def block(self, seeds, end):
        """Compare the programs of some seeds, all in one process."""
        run = self.runner(seeds[0])
        try:
            for seed in seeds:
                if time.time() > end:
                    break
                with self.lock:              # drawing tries what it draws
                    program = self.kind.drawn(seed)
                self.note(seed, program, run(seed, program), run)
        finally:
            run.close()

    def note(self, seed, program, answer, run):
        """Count what came of a program; a wrong one is made short and printed."""
        with self.lock:
            self.found.programs += 1
            self.found.counts.update(answer["counts"])
            if self.found.programs % OFTEN == 0:
                print(f"{self.found} so far", file=sys.stderr, flush=True)
        if not answer["wrong"]:
            return
        why = answer["wrong"]
        if not self.raw:
            program = shortened(program, lambda p: run(seed, p)["wrong"])
            why = run(seed, program)["wrong"] or f"{why} (but not again)"
        with self.lock:
            self.found.wrong.append(f"seed {seed} ({Form.drawn(seed)}): {why}\n{program}")
            print(self.found.wrong[-1], flush=True)


def in_blocks(seeds):
    """A range of seeds, cut where another process takes over."""
    first = seeds.start
    while first < seeds.stop:
        last = min((first // BLOCK + 1) * BLOCK, seeds.stop)
        yield range(first, last)
        first = last


def search(kind, seed, count, here=True, jobs=1, seconds=float("inf"), raw=False):
    """What came of the programs of `count` seeds."""
    def process(first):
        return Process(Form.drawn(first).environment)
    runner = (lambda first: Here()) if here else process
    return Search(kind, runner, raw).over(range(seed, seed + count), jobs, seconds)


def serve():
    """Read programs, one a line; answer with what came of them. What programs print goes
    elsewhere."""
    faulthandler.enable()
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        seed, program = json.loads(line)
        print(json.dumps(compared(unpacked(program), Form.drawn(seed))), file=answers, flush=True)


def main(module):
    """The command line of a fuzzer."""
    faulthandler.enable()
    os.environ.setdefault("WHET_CACHE_DIR", os.path.join(ROOT, ".whet-cache"))
    fuzzer = importlib.import_module(module)
    a = argparse.ArgumentParser(description=fuzzer.__doc__.split("\n")[0])
    a.add_argument("--seconds", type=float, default=10, help="how long to go on")
    a.add_argument("--count", type=int, default=10**9, help="how many programs at most")
    a.add_argument("--seed", type=int, default=0, help="the seed of the first program")
    a.add_argument("--jobs", type=int, default=1, help="how many processes run at a time")
    a.add_argument("--raw", action="store_true", help="do not make wrong programs shorter")
    a.add_argument("--here", action="store_true", help="run the programs in this process")
    a = a.parse_args()
    found = search(fuzzer.Program, a.seed, a.count, a.here, a.jobs, a.seconds, a.raw)
    print(found)
    return int(bool(found.wrong))


if __name__ == "__main__":
    serve()
