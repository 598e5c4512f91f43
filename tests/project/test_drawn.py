"""A run of the whole suite takes a part of some tests, and all of them in a few days."""
import pytest

from tests import drawn


class Case:
    """As much of a test as a choice asks for."""

    def __init__(self, nodeid, of=None):
        self.nodeid, self.of = nodeid, of

    def get_closest_marker(self, name):
        return pytest.mark.drawn(self.of).mark if self.of else None


CASES = [Case("a.py::one"), *(Case(f"a.py::many[{k}]", 3) for k in range(30)),
         *(Case(f"b.py::few[{k}]", 2) for k in range(3))]


def chosen_on(monkeypatch, day):
    monkeypatch.setenv("WHET_DRAW", str(day))
    return [case.nodeid for case in drawn.chosen(CASES)]


def test_days_that_follow_have_all_cases_once(monkeypatch):
    days = [chosen_on(monkeypatch, day) for day in (739951, 739952, 739953)]
    assert all(names[0] == "a.py::one" for names in days)
    many = [name for names in days for name in names if "many" in name]
    assert [len([n for n in names if "many" in n]) for names in days] == [10, 10, 10]
    assert len(set(many)) == 30
    assert {n for names in days[:2] for n in names if "few" in n} == {c.nodeid for c in CASES[31:]}


def test_cases_keep_their_order(monkeypatch):
    names = [case.nodeid for case in CASES]
    assert sorted(taken := chosen_on(monkeypatch, 5), key=names.index) == taken


@pytest.mark.parametrize("said", [None, "all"])
def test_all_is_run_where_nothing_was_decided(said, monkeypatch):
    monkeypatch.delenv("WHET_DRAW", raising=False)
    if said:
        monkeypatch.setenv("WHET_DRAW", said)
    assert drawn.chosen(CASES) == CASES
    assert drawn.kinds_of_each("ab", [1, 2]) == {"a": [1, 2], "b": [1, 2]}


def test_each_thing_meets_all_kinds(monkeypatch):
    met = {"a": [], "b": [], "c": []}
    for day in "78":
        monkeypatch.setenv("WHET_DRAW", day)
        for thing, kinds in drawn.kinds_of_each("abc", [1, 2]).items():
            met[thing] += kinds
    assert all(sorted(kinds) == [1, 2] for kinds in met.values())
