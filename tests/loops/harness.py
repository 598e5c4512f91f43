"""Runs a loop eagerly and traced: equal bits of all that it gives, and how many calls after the
tenth were replayed.

A loop is a generator that takes `trace`, puts it on its step, and yields what can be seen after
each call of that.
"""
import contextlib
import importlib
import io
import math
import random
import warnings

import numpy as np
import whet
from whet.jit import TraceWarning
from whet.jit.policy import account
from whet.jit.policy.timing import Trial
from whet.jit.tables import sized_table

from tests.traps.harness import freeze

FILES = ("supervised", "reinforcement", "generative", "agents", "policies", "learners", "trainers",
         "min_gpt", "images", "texts", "representations")
LOOPS: dict = {}
WARM = 10                        # calls of which nobody asks whether they are replayed
SHARE = 0.95                     # of the later ones: what must be
TIMES = 1                        # as many times the epochs that loops over batches have


def loop(build):
    """Register a loop under its name."""
    assert build.__name__ not in LOOPS and build.__doc__, build.__name__
    LOOPS[build.__name__] = build
    return build


def loops():
    """All loops by name."""
    for name in FILES:
        importlib.import_module(f"tests.loops.{name}")
    return LOOPS


@contextlib.contextmanager
def untimed():
    """Time decides nothing: what can be recorded is, and no call is eager because that is
    faster."""
    wait, grace, soundings = Trial.wait, account.GRACE, sized_table.SOUNDINGS
    Trial.wait, account.GRACE = (lambda self, *xs: setattr(self, "at", math.inf) or True,
                                 math.inf)
    sized_table.SOUNDINGS = 1 << 30
    try:
        yield
    finally:
        Trial.wait, account.GRACE, sized_table.SOUNDINGS = wait, grace, soundings


def run(build, trace):
    """What a loop gives, as data that compares, and what it prints."""
    whet.manual_seed(5), random.seed(5), np.random.seed(5)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        seen = [freeze(x) for x in build(trace)]
    return seen, printed.getvalue()


def traced(build):
    """(what a loop gives where its step is traced, the share of calls after the tenth that were
    replayed, why others are not, the warnings)."""
    made, calls = [], []

    def trace(fn):
        t = whet.jit.trace(fn, verify="first")
        made.append(t)
        mine = []
        calls.append(mine)

        def call(*args, **kwargs):
            before = t._policy.summary().replayed
            out = t(*args, **kwargs)
            mine.append(t._policy.summary().replayed > before)
            return out
        return call
    with untimed(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        out = run(build, trace)
    late = [x for mine in calls for x in mine[WARM:]]
    why = [str(t._why) for t in made if t._why]
    return (out, late.count(True) / max(len(late), 1), why,
            [str(w.message) for w in warned if issubclass(w.category, TraceWarning)])


def table():
    """A line for each loop."""
    good = 0
    for name, build in loops().items():
        want = run(build, lambda fn: fn)
        try:
            got, share, why, warned = traced(build)
            same = want == got
        except Exception as e:
            share, why, warned, same = 0, [f"{type(e).__name__}: {e}"], [], False
        good += same and share >= SHARE
        print(
            f"{'same ' if same else 'OTHER'} {share:4.0%} {name:28s} "
            f"{'; '.join((*why, *warned))[:300]}")
    print(f"{good} of {len(LOOPS)}")


if __name__ == "__main__":
    from tests.loops import harness
    harness.table()
