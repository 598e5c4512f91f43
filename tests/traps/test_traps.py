"""Every trap, traced, does what it does eagerly; and the traps are programs that show it."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests import drawn
from tests.traps import harness, kinds_of_recording

TRAPS = harness.traps()
SELDOM = drawn.kinds_of_each(TRAPS, list(kinds_of_recording.SELDOM))


@pytest.mark.parametrize("name", TRAPS)
def test_traced_as_eager(name):
    """Recorded as for users, and in another way, which is drawn for each trap."""
    build = TRAPS[name]
    assert harness.calls_made(build) >= 4
    want = harness.run(build, harness.eager)
    for kind in ("usual", *SELDOM[name]):
        with kinds_of_recording.KINDS[kind]():
            problem = harness.difference(build, harness.traced([]), want)
        assert problem is None, f"recorded as {kind}: {problem}"


def test_without_native_calls():
    """Where machine code is for kernels alone, Python watches and replays. Another eighth of the
    traps every day: all of them take minutes (`WHET_NATIVE=0 python -m tests.traps`)."""
    done = subprocess.run([sys.executable, "-c", "from tests.traps import harness; "
                           f"harness.table(slice({(drawn.draw() or 0) % 8}, None, 8))"],
                          env=dict(os.environ, WHET_NATIVE="0"), capture_output=True, text=True)
    assert done.stdout.endswith(" 0 wrong\n"), done.stderr + "".join(
        x for x in done.stdout.splitlines(True) if not x.startswith("right"))


def test_there_are_as_many_as_the_promises_say():
    """More than the number that is told, and less than a hundred more."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "promises.md"
    said = re.search(r"holds more than ([\d,]+) programs", page.read_text())
    told = int(said[1].replace(",", ""))
    assert told < len(TRAPS) < told + 100
