"""What replays and what does not: the programs of `replayed_programs/`, of which `docs/replays.md`
has the table.

    python -m tests.jit.test_replays        writes the table
"""
import pathlib
import random
import warnings

import numpy as np
import pytest
import whet

from .replayed_programs import ROWS
from .replayed_programs.row import CALLS

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "replays.md"
BEGIN, END = "<!-- the table is written by tests/jit/test_replays.py -->\n", "<!-- its end -->\n"
# the last calls of each program, which must be replayed, or be eager with a warning
LATE = 8


def fate(what):
    """(were the last calls of a program replayed, what the warnings said)."""
    from tests.loops.harness import untimed
    build, _ = ROWS[what]
    whet.manual_seed(0), np.random.seed(0), random.seed(0)
    eager, arguments = build()
    whet.manual_seed(0), np.random.seed(0), random.seed(0)
    t = whet.jit.trace(build()[0], verify="first")
    with untimed(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for i in range(CALLS):
            if i == CALLS - LATE:
                before = t._policy.summary().replayed
            generators = random.getstate(), np.random.get_state()
            want = eager(*arguments(i))
            random.setstate(generators[0]), np.random.set_state(generators[1])
            got = t(*arguments(i))
            assert repr(want) == repr(got), (what, i)
    said = [str(w.message) for w in warned if issubclass(w.category, whet.jit.TraceWarning)]
    return t._policy.summary().replayed - before == LATE, said


@pytest.mark.parametrize("what", ROWS)
def test_a_row_of_the_table(what):
    replayed, said = fate(what)
    refused = ROWS[what][1]
    assert replayed == (refused is None)
    if refused:
        assert refused in said[0] and ".py:" in said[0]


def table():
    """The table, from the programs above."""
    lines = ["| what | replays |", "|---|---|"]
    lines += [
        f"| {what} | {'yes' if refused is None else 'no'} |" for what, (_, refused) in ROWS.items()]
    return "\n".join(lines) + "\n"


def test_the_page_has_this_table():
    text = PAGE.read_text()
    assert text[text.index(BEGIN) + len(BEGIN):text.index(END)] == table()


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(text[:text.index(BEGIN) + len(BEGIN)] + table() + text[text.index(END):])
