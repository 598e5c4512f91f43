"""The forms under which programs of fuzzers run, and the processes that run them.

A form says which target and which kernels a process has (none in its cache, or those on disk),
whether calls go by machine code, how buffers are guarded, and, for each program, how many threads
there are and how new kernels are written. All of it is drawn from the seed of the program. So a
seed alone says how its program ran.
"""
import base64
import contextlib
import dataclasses
import functools
import json
import os
import pickle
import random
import subprocess
import sys
import threading

from tests import sweep_kernels

BLOCK = 20                       # programs in a row that one process runs
PATIENCE = 600                   # seconds after which a process is taken to hang
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLD = dict(WHET_CACHE="0")


@dataclasses.dataclass(frozen=True)
class Form:
    """How a program runs: the environment of its process, its threads and its new kernels.
    `traced_first`: the traced function meets new kernels before the eager one does."""
    environment: tuple = ()
    threads: int | None = None
    kernels: str = "usual"
    traced_first: bool = False

    @classmethod
    def drawn(cls, seed):
        """The form of a seed. Seeds of one block share a process."""
        environment = random.Random(f"process of {seed // BLOCK}").choice(environments())
        r = random.Random(f"kernels of {seed}")
        return cls(tuple(environment.items()), r.choice([1, 1, 2, 3, 4]),
                   r.choice(["usual", "brief", "brief", "full"]), r.random() < 0.6)

    def __str__(self):
        named = " ".join(f"{k}={v}" for k, v in self.environment)
        first = "traced" if self.traced_first else "eager"
        return (f"{named or 'this process'}, {self.threads} threads, {self.kernels} kernels, "
                f"{first} first")

    @contextlib.contextmanager
    def of_threads(self):
        """As many threads as this form has."""
        import whet
        before = whet.get_num_threads()
        whet.set_num_threads(self.threads or before)
        try:
            yield
        finally:
            whet.set_num_threads(before)

    def new_kernels(self):
        """New kernels are written as this form has them."""
        from whet.cpu import tiered_compilation
        return tiered_compilation.form(self.kernels)


@functools.cache
def environments():
    """What the environment of a process can be: each target, native or plain, with kernels on disk
    or none."""
    first, *narrow = sweep_kernels.targets()
    return [dict(WHET_NATIVE="1"), dict(WHET_NATIVE="1", **COLD), dict(WHET_NATIVE="0"),
            dict(WHET_NATIVE="0", WHET_GUARD="begin", **COLD),
            dict(WHET_NATIVE="1", WHET_GUARD="end", WHET_CHECK="2", **COLD),
            *(dict(WHET_CPU=t, WHET_NATIVE="1", WHET_GUARD="end", **COLD) for t in narrow)]


class Process:
    """A process that compares programs, in the environment of a form. It is started when it is
    first asked, and anew after it has ended by itself."""

    def __init__(self, environment):
        self.environment, self.process = dict(environment), None

    def __call__(self, seed, program, patience=PATIENCE):
        """What came of a program under the form of a seed: {"wrong": text or None, "counts"}."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz_harness"], text=True, cwd=ROOT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=dict(os.environ, **self.environment))
        watch = threading.Timer(patience, self.process.kill)
        watch.start()
        try:
            print(json.dumps([seed, packed(program)]), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line:
            return json.loads(line)
        why = f"the process ended with status {self.process.wait()}"
        return dict(wrong=why, counts={})

    def close(self):
        """End the process."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()


def packed(program):
    """A program as text."""
    return base64.b64encode(pickle.dumps(program)).decode()


def unpacked(text):
    """The program of a text."""
    return pickle.loads(base64.b64decode(text))
