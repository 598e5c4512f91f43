"""A function among a world that changes between its calls: eager and traced must come to the same.

    python -m tests.fuzz_mutations --seconds 60 --seed 1

A program draws a few parts of tests/changing_parts.py, statements that go by them, and between
calls statements that change them: a class is patched, a name bound again, a default, a cell or a
hook exchanged, a parameter replaced. Its module runs twice, eagerly and traced, each time anew.
After each call its result or its error is compared with all that the module holds: bits, strides,
versions, histories, what shares memory, and the generators of random numbers.
"""
import contextlib
import dataclasses
import os
import random
import sys

import numpy as np

from tests import fuzz_harness
from tests.changing_parts import PARTS
from tests.observed import observed, outcome

MOST_READS, MOST_CHANGES, IN_A_ROW = 5, 8, (2, 5)
HEAD = """
import collections, dataclasses, enum, functools, math, os, random, sys, types

import numpy as np

import whet
import whet.nn.functional as F
from whet import nn, optim

n = 1.5
square = whet.arange(16.0).reshape(4, 4) * 0.1
w = whet.full((4,), 0.5, requires_grad=True)
stream = iter([1.0, 2.0, 3.0])
"""
ARGUMENTS = [
    "whet.tensor({values})", "whet.tensor({values})", "whet.tensor({values}, requires_grad=True)",
    "whet.tensor({values}).repeat_interleave(2)[::2]", "whet.tensor({values}).double()", "w",
    "square[1]", "square.detach()[:, 1]", "last_result()"]


@dataclasses.dataclass
class Program(fuzz_harness.TwoSided):
    """The parts that it draws from, the statements of the function, and what is done in order: the
    source of the arguments of a call, or a change."""
    parts: tuple
    reads: list
    acts: list

    @classmethod
    def drawn(cls, seed):
        """The program of a seed."""
        r = random.Random(seed)
        chosen = tuple(r.sample(PARTS, r.choice([1, 1, 2, 3])))
        texts = [t for p in chosen for t in p.reads]
        reads = [r.choice(texts) for _ in range(r.randint(1, MOST_READS))]
        changes = [t for p in chosen for t in p.changes]
        given, numbers = r.choice(ARGUMENTS), [r.choice(["1.5", "2", "0.25"])]
        varies = r.random() < 0.3
        acts = [*cls._calls(r, given, numbers, varies)]
        for _ in range(r.randint(1, MOST_CHANGES)):
            acts.append(("change", r.choice(changes)))
            given = r.choice(ARGUMENTS) if r.random() < 0.15 else given
            acts += cls._calls(r, given, numbers, varies)
        return cls(chosen, reads, acts)

    @staticmethod
    def _calls(r, given, numbers, varies):
        for _ in range(r.randint(*IN_A_ROW)):
            values = [round(r.uniform(-2, 2), 2) for _ in range(4)]
            number = str(round(r.uniform(0, 3), 2)) if varies else numbers[0]
            yield "call", f"{given.replace('{values}', str(values))}, {number}"

    def source(self):
        """The module of the function."""
        made = "".join(p.made for p in self.parts)
        space = {}
        exec(HEAD + made, space)
        names = ", ".join(k for k in space if k[0] != "_" and k not in "xyn")
        lines = [f"global {names}, last", "y = x * 1.0"]
        lines += [line for t in self.reads for line in t.replace("\\n", "\n").split("\n")]
        body = "\n".join(f"    {line}" for line in [*lines, "return y"])
        return f"{HEAD}\n{made}\ndef f(x, n):\n{body}\n"

    def smaller(self):
        """Programs that are a little smaller."""
        for k in range(len(self.reads)):
            yield dataclasses.replace(self, reads=self.reads[:k] + self.reads[k + 1:])
        for size in (8, 4, 2, 1):
            for k in range(0, len(self.acts), size):
                yield dataclasses.replace(self, acts=self.acts[:k] + self.acts[k + size:])
        for k in range(len(self.parts)):
            yield dataclasses.replace(self, parts=self.parts[:k] + self.parts[k + 1:])

    def seen(self, traced):
        with as_at_the_start():
            side = Side(self, traced)
            return [side.act(*a) for a in self.acts], side.f

    def place(self, k):
        return f"act {k}"

    def __str__(self):
        text = self.source().removeprefix(HEAD).strip()
        return "\n".join([text, "", *(t if what == "change" else f"f({t})"
                                      for what, t in self.acts)])


class Side:
    """One of the two ways to run a program, in a module of its own."""

    def __init__(self, program, traced):
        import whet
        self.results = []
        self.space = {"__name__": "program", "last_result": self.last_result}
        exec(compile(program.source(), "<program>", "exec"), self.space)
        self.f = whet.jit.trace(self.space["f"]) if traced else self.space["f"]
        self.names = [k for k in self.space if k[0] != "_" and k not in (
            "last_result", "f", *vars(whet), "whet", "nn", "optim", "F", "np", "sys", "os")]

    def last_result(self):
        """What the last call gave that gave a tensor; at first something else."""
        import whet
        given = [y for y in self.results if isinstance(y, whet.Tensor) and y.shape == (4,)]
        return given[-1].detach() if given else whet.ones(4)

    def act(self, what, text):
        """What comes of a call or a change, with what it leaves in the module."""
        if what == "change":
            return observed(outcome(lambda: exec(text.replace("\\n", "\n"), self.space)))
        given = outcome(lambda: eval(f"({text})", self.space))
        self.results.append(outcome(lambda: self.f(*given)))
        held = {k: self.space.get(k) for k in [*self.names, "last"]}
        return observed(self.results[-1], given, held, self.results[-3:]), world()


def world():
    """What belongs to everybody."""
    import whet
    state = np.random.get_state()
    return (whet.is_grad_enabled(), str(whet.get_default_dtype()), whet.get_rng_state().tolist(),
            hash(random.getstate()), state[1].tobytes(), state[2])


@contextlib.contextmanager
def as_at_the_start():
    """What belongs to everybody is as it is at the start, inside and afterwards."""
    import whet
    threads = whet.get_num_threads()

    def restored():
        whet.set_grad_enabled(True)
        whet.set_default_dtype(whet.float32)
        whet.set_printoptions(profile="default")
        whet.set_num_threads(threads)
        os.environ.pop("WHET_A_TEST_OF_CHANGES", None)
        whet.manual_seed(0), random.seed(0), np.random.seed(0)
        vars(whet.nn.Linear).get("extra") and delattr(whet.nn.Linear, "extra")
    restored()
    try:
        yield
    finally:
        restored()


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
