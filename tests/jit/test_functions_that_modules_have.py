"""C functions that act, in modules: code may take attributes named like them of others."""
import importlib
import inspect
import itertools
import operator
import os
import sys
import types

import pytest
import whet

DEVICES = types.ModuleType("devices_of_a_test")
VERSION = types.SimpleNamespace(major=3.0)
SEVERAL = types.SimpleNamespace(first=DEVICES)


def first_of(function):
    """What a function gives, which nobody sees being called."""
    return next(iter(function, None))


def of(module):
    return first_of(module.major)


def imported():
    import devices_of_a_test
    return devices_of_a_test


def taken():
    from devices_of_a_test import major
    return major


def OF_DEVICES():
    """Something of a module that is none."""


OF_DEVICES.__module__ = DEVICES.__name__

# how code comes to the function, beside code that takes `major` of something else
WAYS = [
    lambda m: first_of(DEVICES.major),
    lambda m: of(DEVICES),
    lambda m: of(m),
    lambda m: first_of(getattr(DEVICES, "major")),     # noqa: B009
    lambda m: first_of((None or DEVICES).major),
    lambda m: first_of((DEVICES if m else VERSION).major),
    lambda m: first_of((VERSION if m is None else DEVICES).major),
    lambda m: first_of([DEVICES][0].major),
    lambda m: first_of(vars(DEVICES)["major"]),
    lambda m: first_of(SEVERAL.first.major),
    lambda m: first_of(sys.modules["devices_of_a_test"].major),
    lambda m: first_of(importlib.import_module("devices_of_a_test").major),
    lambda m: first_of(imported().major),
    lambda m: first_of(taken()),
    lambda m: first_of(inspect.getmodule(OF_DEVICES).major),
    lambda m: first_of(operator.attrgetter("major")(DEVICES)),
    lambda m: DEVICES.major()]


@pytest.fixture
def devices(monkeypatch):
    """The module, whose function gives another number at each call."""
    monkeypatch.setitem(sys.modules, DEVICES.__name__, DEVICES)
    DEVICES.major, DEVICES.rate = itertools.count().__next__, 2.0
    return DEVICES


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_it_is_called_as_often_as_eagerly(number, devices):
    way = WAYS[number]
    f = whet.jit.trace(lambda x, m: x * way(m) + DEVICES.rate * VERSION.major)
    for n in range(6):
        assert f(whet.ones(2), devices).tolist() == [n + 6.0, n + 6.0]


def test_what_is_taken_of_something_else_is_no_reason_to_refuse():
    """`os.major` and `os.times` act, and lie in a module that the function reads."""
    version = types.SimpleNamespace(major=3.0, times=2.0)
    f = whet.jit.trace(lambda x: x * len(os.sep) * version.major * version.times)
    for _ in range(6):
        f(whet.ones(2))
    assert f.explain(data=True)["calls"]["replayed"] == 5
    version.major = 4.0
    assert f(whet.ones(2)).tolist() == [8.0, 8.0]


def test_what_is_taken_of_the_module_is_one():
    version = types.SimpleNamespace(times=2.0)
    f = whet.jit.trace(lambda x: x * version.times + len([*map(first_of, [os.times])]))
    for _ in range(3):
        assert f(whet.ones(2)).tolist() == [3.0, 3.0]
    assert "it holds posix.times" in str(f.explain())


def test_a_name_is_imported_from_a_package_inside():
    def f(x):
        from whet.nn import functional as F
        return F.relu(x)
    f = whet.jit.trace(f)
    for _ in range(6):
        assert f(whet.tensor([1.0, -1.0])).tolist() == [1.0, 0.0]
    assert f.explain(data=True)["calls"]["replayed"] >= 4


@pytest.mark.parametrize("lasting", (False, True))
def test_what_a_package_gives_by_a_name_is_asked_for_at_each_call(monkeypatch, lasting):
    package = types.ModuleType("package_of_a_test")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, package.__name__, package)
    numbers = itertools.count()

    def rate(name):
        if name != "rate":
            raise AttributeError(name)
        return next(numbers)

    def f(x):
        from package_of_a_test import rate
        return x * rate
    if lasting:
        package.rate = 0
    else:
        package.__getattr__ = rate
    f = whet.jit.trace(f)
    for n in range(6):
        if lasting:
            package.rate = n // 2
        got = f(whet.ones(2)).tolist()
        assert got == ([n // 2] * 2 if lasting else [next(numbers) - 1] * 2)
