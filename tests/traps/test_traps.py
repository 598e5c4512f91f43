"""Every trap, traced, does what it does eagerly; and the traps are programs that show it."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from whet.jit.capture import session
from whet.jit.capture.value_layouts import Values
from whet.jit.guards.outside_state import OutsideSearch
from whet.jit.guards.visitors import Unwatchable
from whet.jit.report.reasons import TooMuch

from tests.traps import harness

TRAPS = harness.traps()


@pytest.mark.parametrize("name", TRAPS)
def test_traced_as_eager(name):
    problem = harness.difference(TRAPS[name], harness.traced([]))
    assert problem is None, problem


@pytest.mark.parametrize("name", TRAPS)
def test_a_run_that_is_given_up_goes_on_as_eager(name, monkeypatch):
    """At the first thing that it computes: there are no addresses left for what stands for it."""
    def full(*_):
        raise MemoryError("no addresses")
    monkeypatch.setattr(Values, "made", full)
    problem = harness.difference(TRAPS[name], harness.traced([]))
    assert problem is None, problem


@pytest.mark.parametrize("name", TRAPS)
def test_where_only_code_that_ran_is_read(name, monkeypatch):
    """As where something within reach of each function cannot be compared."""
    def search(fn, others, loose, numpy, ran):
        if ran is None:
            raise Unwatchable(TooMuch("it reaches too much"))
        return OutsideSearch(fn, others, loose, numpy, ran)
    monkeypatch.setattr(session, "OutsideSearch", search)
    problem = harness.difference(TRAPS[name], harness.traced([]))
    assert problem is None, problem


def test_without_native_calls():
    """Where machine code is for kernels alone, Python watches and replays. Every fourth trap: all
    of them take minutes (`WHET_NATIVE=0 python -m tests.traps`)."""
    done = subprocess.run([sys.executable, "-c", "from tests.traps import harness; "
                           "harness.table(slice(0, None, 4))"],
                          env=dict(os.environ, WHET_NATIVE="0"), capture_output=True, text=True)
    assert done.stdout.endswith(" 0 wrong\n"), done.stderr + "".join(
        x for x in done.stdout.splitlines(True) if not x.startswith("right"))


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_calls_often_enough(name):
    assert harness.calls_made(TRAPS[name]) >= 4


def test_there_are_as_many_as_the_promises_say():
    """More than the number that is told, and less than a hundred more."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "promises.md"
    said = re.search(r"holds more than ([\d,]+) programs", page.read_text())
    told = int(said[1].replace(",", ""))
    assert told < len(TRAPS) < told + 100
