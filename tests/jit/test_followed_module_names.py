"""Dicts in modules of which some code only asks whether they contain something."""
import importlib
import inspect
import operator
import sys
import types

import pytest
import whet

SETTINGS, OTHERS = types.ModuleType("settings"), types.ModuleType("others")
OTHERS.known = {"rate": 7.0}


def of(module):
    return module.known["rate"]


# how code comes to what a dict contains, beside code that only searches it
WAYS = [
    lambda m: SETTINGS.known["rate"],
    lambda m: of(SETTINGS),
    lambda m: m.known["rate"],
    lambda m: getattr(SETTINGS, "known")["rate"],     # noqa: B009
    lambda m: (OTHERS if m is None else SETTINGS).known["rate"],
    lambda m: (SETTINGS if m else OTHERS).known["rate"],
    lambda m: (None or SETTINGS).known["rate"],
    lambda m: (SETTINGS or OTHERS).known["rate"],
    lambda m: [SETTINGS][0].known["rate"],
    lambda m: vars(SETTINGS)["known"]["rate"],
    lambda m: sys.modules["settings"].known["rate"],
    lambda m: importlib.import_module("settings").known["rate"],
    lambda m: __import__("settings").known["rate"],
    lambda m: imported().known["rate"],
    lambda m: inspect.getmodule(OF_SETTINGS).known["rate"],
    lambda m: operator.attrgetter("known")(SETTINGS)["rate"],
    lambda m: SEVERAL.first.known["rate"]]


def imported():
    import settings
    return settings


def OF_SETTINGS():
    """Something of a module that is none."""


OF_SETTINGS.__module__ = "settings"
SEVERAL = types.SimpleNamespace(first=SETTINGS)


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setitem(sys.modules, "settings", SETTINGS)
    SETTINGS.known = {"rate": 1.0}
    return SETTINGS


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_what_a_searched_dict_holds_is_compared_where_it_is_read(number, settings):
    way = WAYS[number]
    f = whet.jit.trace(
        lambda x, m: x * way(m) if x.shape[0] > 1 and "rate" in SETTINGS.known else x)
    for rate in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 5.0):
        settings.known["rate"] = rate
        assert f(whet.ones(2), settings).tolist() == [rate, rate]
    settings.known = {}
    assert f(whet.ones(2), settings).tolist() == [1.0, 1.0]


def test_modules_of_a_layer_are_not_those_that_are_loaded(settings):
    """Among all that is loaded would be what does more than compute, and what changes."""
    def f(x, layer):
        doubles = x.shape[0] > 1 and "settings" in sys.modules
        return x * (2 if doubles else 3) + len(list(layer.modules()))
    f, layer = whet.jit.trace(f), whet.nn.Identity()
    for n in range(8):
        settings.modules = settings.shape = n
        assert f(whet.ones(2), layer).tolist() == [3.0, 3.0]
    assert f.explain(data=True)["calls"]["replayed"] == 7
    del sys.modules["settings"]
    assert f(whet.ones(2), layer).tolist() == [4.0, 4.0]


def test_parts_of_the_framework_that_are_loaded_later_are_no_change(monkeypatch):
    """What a recording compiles loads some, after the names in `sys.modules` were noted."""
    f = whet.jit.trace(lambda x, name: x * (2 if name in sys.modules else 3))
    for n in range(6):
        monkeypatch.setitem(sys.modules, f"whet.passes.of_a_test_{n}", SETTINGS)
        assert f(whet.ones(2), "somebody.elses").tolist() == [3.0, 3.0]
    assert f.explain(data=True)["calls"]["replayed"] == 5
    monkeypatch.setitem(sys.modules, "somebody.elses", SETTINGS)
    assert f(whet.ones(2), "somebody.elses").tolist() == [2.0, 2.0]
