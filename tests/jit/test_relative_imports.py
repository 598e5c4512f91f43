"""Imports within traced functions that are relative to the package of their code."""
import importlib

import pytest
import whet

INNER = """
def by_flag(x):
    from . import DOUBLES
    return x * 2 if DOUBLES else x + 3

def by_module(x):
    from .other import times
    return x * times
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "package_of_a_test"
    folder.mkdir()
    for name, text in {"__init__": "DOUBLES = False", "inner": INNER, "other": "times = 5"}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("package_of_a_test")


@pytest.mark.parametrize("name,holder,attribute,new,expected", [
    ("by_flag", "package_of_a_test", "DOUBLES", True, (4.0, 2.0)),
    ("by_module", "package_of_a_test.other", "times", 7, (5.0, 7.0))])
def test_what_they_give_is_a_guard(package, name, holder, attribute, new, expected):
    f = getattr(importlib.import_module("package_of_a_test.inner"), name)
    traced, x = whet.jit.trace(f), whet.ones(2)
    for _ in range(5):
        assert traced(x).tolist() == [expected[0]] * 2
    assert "replayed" in repr(traced)
    setattr(importlib.import_module(holder), attribute, new)
    for _ in range(3):
        assert traced(x).tolist() == [expected[1]] * 2
