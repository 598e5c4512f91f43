"""Faults planted into the runtime of GPUs and its kernels, one at a time, in a copy of the sources:
the tests of simulated devices must find each.

    python -m tests.cuda.planted [numbers]          (also: make planted-gpu)

Each is one line that somebody could have written: a wait that is missing, memory that is used again
too early, a plan's key that forgets something, a mask, a stride, an order of sums.
"""
import argparse
import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path

from tests import planted
from tests.cuda.faults import FAULTS

TABLE = planted.TABLE.with_name("planted_gpu.md")
HEADER = """# Faults planted into the runtime of GPUs

Each was planted alone into a copy of the sources, and found on simulated devices by the test that
is named: the first that failed. Without a fault all of them pass. Written by `make planted-gpu`.

| file | fault | found by | with |
|---|---|---|---|"""


class Nothing:
    """No fault: all tests of some files pass."""
    file = "cuda/__init__.py"

    def __init__(self, family):
        self.family = family

    def plant(self, folder):
        """Leave the sources as they are."""


class Copy:
    """A copy of the sources, in which a fault is planted and taken out again."""

    def __init__(self, folder):
        self.folder = folder
        planted.copy(folder)
        self.env = {**os.environ, "PYTHONPATH": folder,
                    "PYTHONPYCACHEPREFIX": os.path.join(folder, "compiled"), "WHET_DRAW": "all"}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def fails(self, family):
        """The first test that fails, of some files or functions, and its error; None where all
        pass."""
        named = [name.partition("::") for name in family.split()]
        tests = [f"tests/cuda/test_{file}.py{colons}{test}" for file, colons, test in named]
        said = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=short",
             "--import-mode=importlib", "--rootdir", self.folder, *tests],
            cwd=self.folder, env=self.env, text=True, capture_output=True)
        if not said.returncode:
            return None
        found = re.search(r"^(?:FAILED|ERROR) \S*?test_(\w+)\.py::(\S+)(?: - (.*))?", said.stdout,
                          re.M)
        if found is None and said.returncode < 0:
            return f"a process of {family}", signal.Signals(-said.returncode).name
        if found is None:
            raise RuntimeError(said.stdout[-2000:] + said.stderr[-2000:])
        error = re.search(r"^E\s+(\w[\w.]*)", said.stdout, re.M)
        return f"{found[1]}: {found[2]}", error[1].split(".")[-1] if error else found[3] or ""

    @contextlib.contextmanager
    def with_fault(self, fault):
        """The copy has a fault for some time."""
        path = Path(self.folder, "whet", fault.file)
        text = path.read_text()
        fault.plant(self.folder)
        try:
            yield
        finally:
            path.write_text(text)


def head(fault):
    """Where a row of the table begins."""
    return f"| `{fault.file}` | {fault.what} |"


def row(fault, found):
    """A fault and what found it, as a row of the table."""
    test, error = found or ("NOT CAUGHT", "")
    return f"{head(fault)} {test.replace('|', '/')} | {error} |"


def write(rows):
    """The table, with these rows; those of other faults stay."""
    known = rows + (TABLE.read_text().splitlines() if TABLE.exists() else [])
    told = [next((r for r in known if r.startswith(head(f))), None) for f in FAULTS]
    TABLE.write_text("\n".join([HEADER, *filter(None, told)]) + "\n")


def found(fault, copies):
    """What finds a fault, in one of the copies that nobody uses."""
    copy = copies.get()
    try:
        with copy.with_fault(fault):
            return copy.fails(fault.family)
    finally:
        copies.put(copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    args = parser.parse_args()
    numbers = args.numbers or range(len(FAULTS))
    chosen = [FAULTS[k] for k in numbers]
    rows, copies = [], queue.SimpleQueue()
    # an error in one copy leaves others at work: their folders go when they can
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, \
            ThreadPool(args.jobs) as pool:
        for k in range(args.jobs):
            copies.put(Copy(os.path.join(folder, str(k))))
        for k, fault, how in zip(numbers, chosen,
                                 pool.imap(lambda f: found(f, copies), chosen), strict=True):
            rows.append(row(fault, how))
            print(k, rows[-1], flush=True)
        tests = sorted({name for f in chosen for name in f.family.split()})
        halves = [" ".join(tests[k::args.jobs]) for k in range(min(args.jobs, len(tests)))]
        for failed in pool.imap(lambda named: found(Nothing(named), copies), halves):
            assert failed is None, f"without a fault: {failed}"
    write(rows)
    return int(any("NOT CAUGHT" in r for r in rows))


if __name__ == "__main__":
    sys.exit(main())
