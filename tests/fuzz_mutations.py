"""A function among a world that changes between its calls: eager and traced must come to the same.

    python -m tests.fuzz_mutations --seconds 60 --seed 1

A program draws a few parts of tests/changing_parts.py, statements that go by them, and between
calls statements that change them: a class is patched, a name bound again, a default, a cell or a
hook exchanged, a parameter replaced. Its module runs twice, eagerly and traced, each time anew.
After each call its result or its error is compared with all that the module holds: bits, strides,
versions, histories, what shares memory, and the generators of random numbers. A wrong program is
made as short as possible and printed.
"""
import argparse
import dataclasses
import faulthandler
import os
import random
import sys
import time

import numpy as np

from tests.changing_parts import PARTS
from tests.fuzz_python import generous
from tests.observed import first_difference, observed, outcome

OFTEN = 200                      # programs after which it is told how far it got
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
class Program:
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

    def __str__(self):
        text = self.source().removeprefix(HEAD).strip()
        return "\n".join([text, "", *(t if what == "change" else f"f({t})"
                                      for what, t in self.acts)])


class Side:
    """One of the two ways to run a program, in a module of its own."""

    def __init__(self, program, traced):
        import whet
        restored()
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


def restored():
    """Make what belongs to everybody as it was at the start."""
    import whet
    whet.set_grad_enabled(True)
    whet.set_default_dtype(whet.float32)
    whet.set_printoptions(profile="default")
    whet.set_num_threads(int(os.environ.get("WHET_FUZZ_THREADS", 1)))
    os.environ.pop("WHET_A_TEST_OF_CHANGES", None)
    whet.manual_seed(0), random.seed(0), np.random.seed(0)
    vars(whet.nn.Linear).get("extra") and delattr(whet.nn.Linear, "extra")


def told(program, traced):
    """(what comes of each act, the side that did them)."""
    side = Side(program, traced)
    try:
        return [side.act(*a) for a in program.acts], side
    finally:
        restored()


def compared(program, count=None):
    """(the first act that differs, where, eager, traced), or None where all agree."""
    want, _ = told(program, False)
    got, side = told(program, True)
    for k, (a, b) in enumerate(zip(want, got)):
        if a != b:
            return k, *first_difference(a, b)
    if count is not None:
        ledger = side.f._calls.policy.summary()
        count["calls"] += len(side.results)
        count["replayed"] += ledger.replayed
    return None


def shortened(program):
    """The program without what it takes none of to be wrong."""
    def wrong(p):
        try:
            return compared(p) is not None
        except Exception:
            return False
    less = program
    while less is not None:
        program = less
        less = next((p for p in program.smaller() if wrong(p)), None)
    return program


def fuzz(seed, seconds, most=10**9, short=True):
    """(programs, counts, what was wrong): drawn from a seed until the time is over."""
    end, wrong, done = time.time() + seconds, [], 0
    count = {"calls": 0, "replayed": 0}
    with generous():
        for s in range(seed, seed + most):
            if time.time() > end:
                break
            program, done = Program.drawn(s), done + 1
            found = compared(program, count)
            if found:
                program = shortened(program) if short else program
                k, where, want, got = compared(program) or found
                wrong.append(f"seed {s}, act {k}, at {where}:\n    eager  {str(want)[:500]}\n"
                             f"    traced {str(got)[:500]}\n{program}")
                print(wrong[-1], flush=True)
            if done % OFTEN == 0:
                print(f"{done} programs so far, {count}, {len(wrong)} wrong", flush=True)
    return done, count, wrong


def main():
    faulthandler.enable()
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--seconds", type=float, default=10)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--rounds", type=int, default=10**9)
    a.add_argument("--raw", action="store_true", help="do not make wrong programs shorter")
    a = a.parse_args()
    done, count, wrong = fuzz(a.seed, a.seconds, a.rounds, not a.raw)
    print(f"{done} programs, {count}, {len(wrong)} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    cache = os.path.join(os.path.dirname(__file__), "..", ".whet-cache")
    os.environ.setdefault("WHET_CACHE_DIR", cache)
    sys.exit(main())
