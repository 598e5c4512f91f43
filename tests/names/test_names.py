"""What the page of PyTorch's names says of whet is so."""
import pytest
import whet

from . import page
from .compare import ABSENT, OTHER, SAME
from .reasons import NOT_HERE
from .spaces import NAMESPACES, find

FOUND, TOLD = page.read(page.PAGE.read_text("utf-8"))


def test_the_page_has_every_namespace():
    assert list(FOUND) == NAMESPACES
    assert list(TOLD) == [*NAMESPACES, "all"]


@pytest.mark.parametrize("space", NAMESPACES)
def test_names_are_there_or_not_as_the_page_says(space):
    ours = find(whet, space)
    wrong = [f"{name}: {status}" for name, status in FOUND[space]
             if hasattr(ours, name) == (status == ABSENT)]
    assert not wrong, f"`python -m tests.names` with torch beside whet; {space}: {wrong}"


@pytest.mark.parametrize("space", NAMESPACES)
def test_the_page_counts_what_it_lists(space):
    statuses = [status for _, status in FOUND[space]]
    assert TOLD[space] == tuple(statuses.count(s) for s in (SAME, OTHER, ABSENT))


def test_little_is_not_here():
    assert TOLD["all"] == tuple(sum(TOLD[space][i] for space in NAMESPACES) for i in range(3))
    assert TOLD["all"][2] < 0.05 * sum(TOLD["all"])


def test_reasons_are_of_names_that_are_not_here():
    absent = {f"{space}.{name}" for space, rows in FOUND.items()
              for name, status in rows if status == ABSENT}
    assert not [path for path in NOT_HERE if not path.endswith("*") and path not in absent]
    assert not [path for path in NOT_HERE if path.endswith("*")
                and not any(name.startswith(path[:-1]) for name in absent)]
