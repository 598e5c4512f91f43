"""Files, functions and lines stay short: what is longer is listed, and the list only shrinks."""
import pytest

from tests.project import code_sizes


@pytest.fixture(scope="module")
def sizes():
    return code_sizes.measured(), code_sizes.listed()


@pytest.mark.parametrize("kind", ["file lines", "function lines", "branches", "long lines"])
def test_nothing_grows_beyond_its_limit(sizes, kind):
    now, listed = (s[kind] for s in sizes)
    grown = {place: size for place, size in now.items() if size > listed.get(place, 0)}
    assert not grown, f"{kind}: split these, or break their lines"


def test_an_exception_that_is_not_needed_is_not_listed(sizes):
    now, listed = sizes
    spare = {place for kind, places in listed.items() for place in places.keys() - now[kind].keys()}
    assert not spare, "run `python -m tests.project.code_sizes --write`"


def test_branches_of_inner_functions_are_their_own():
    tree = code_sizes.ast.parse(
        "def f():\n if a:\n  def g():\n   for i in b: pass\n  return 1 if c else 2")
    found = {name: code_sizes.branches(f) for name, f in code_sizes.functions(tree)}
    assert found == {"f": 2, "f.g": 1}


def test_the_list_never_grows():
    now = {"long lines": {"a.py": 5, "b.py": 1, "c.py": 9}}
    before = {"long lines": {"a.py": 3, "b.py": 4, "gone.py": 2}}
    assert code_sizes.shortened(now, before) == {"long lines": {"a.py": 3, "b.py": 1}}
