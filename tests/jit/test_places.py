"""Every kind of place says what it held, sees that it holds something else, and puts it back."""
import builtins
import collections.abc
import contextvars
import decimal
import functools
import os
import types

import numpy as np
import pytest
import whet
from whet import jit
from whet.jit.guards import array_places as A
from whet.jit.guards import container_places as C
from whet.jit.guards import context_places as X
from whet.jit.guards import name_places as N
from whet.jit.guards import object_places as O
from whet.jit.guards import places, spots
from whet.jit.guards.number_settings import SETTINGS
from whet.jit.guards.overwritten_attributes import Overwritten

from tests.together import bits


class Thing:
    __slots__ = ("a",)


class Plain:
    kind = 1


def of_a_thing():
    x = Thing()
    x.a = 1
    return x


def function(a=1):
    return a


def decimals(place):
    decimal.getcontext().prec = 9


def cell():
    return types.CellType(1)


def variable(*values):
    made = contextvars.ContextVar("variable", default=1)
    for x in values:
        made.set(x)
    return made


def changed(name, value):
    return lambda place: setattr(place.owner, name, value)


def filled(key, value):
    return lambda place: place.owner.__setitem__(key, value)


def of_a_run():
    place = Overwritten(Plain(), {"a": 1}, "a", False)
    place.begin()
    return place


# name -> (how it is made, what changes it, is it put back?)
KINDS = {
    "entries": (lambda: C.entries({"a": 1}), filled("a", 2), True),
    "more entries": (lambda: C.entries({"a": 1}), filled("b", 2), True),
    "environment": (lambda: C.entries(os.environ._data), lambda p: os.environ.update(WHET_A="1"),
                    True),
    "other entries": (lambda: C.OtherEntries({"a": 1, "b": 2}, ("b",)), filled("a", 3), True),
    "attribute that is set": (of_a_run, filled("a", 3), True),
    "names": (lambda: C.Names({"a": 1}), filled("b", 2), False),
    "loaded modules": (C.LoadedModules, filled("made_in_a_test", types), False),
    "elements": (lambda: C.Elements([1, 2]), filled(0, 3), True),
    "deque": (lambda: C.Elements(collections.deque([1], 1)), lambda p: p.owner.append(2), True),
    "members": (lambda: C.Members({1}), lambda p: p.owner.add(2), True),
    "global": (lambda: N.Global({"a": 1}, "a"), filled("a", 2), True),
    "missing global": (lambda: N.Global({}, "a"), filled("a", 2), True),
    "cell": (lambda: N.Cell(cell()), changed("cell_contents", 2), True),
    "empty cell": (lambda: N.Cell(types.CellType()), changed("cell_contents", 2), True),
    "attribute": (lambda: N.Attribute(of_a_thing(), "a"), changed("a", 2), True),
    "missing attribute": (lambda: N.Attribute(Thing(), "a"), changed("a", 2), True),
    "context variable": (lambda: X.ContextValue(variable(1)), lambda p: p.owner.set(2), True),
    "its default": (lambda: X.ContextValue(variable()), lambda p: p.owner.set(1), False),
    "dict of attributes": (lambda: N.AttributesDict(Plain()), changed("__dict__", {}), False),
    "absent names": (lambda: N.AbsentNames({}, frozenset("a")), filled("a", 1), False),
    "names of a library": (lambda: N.LibraryNames({"a": 1}), filled("a", 2), False),
    "part of a library": (
        lambda: N.LibraryNames({"__name__": "a", "b": types.ModuleType("a.b")}), filled("b", 1),
        False),
    "more names of a library": (lambda: N.LibraryNames({"a": 1}), filled("b", 1), False),
    "type": (lambda: O.TypeOf(Plain()), changed("__class__", type("Other", (), {})), True),
    "class": (lambda: O.ClassBody(type("Made", (), {"a": 1})), changed("a", 2), True),
    "attribute of a class": (lambda: O.ClassAttribute(Plain, "kind"), changed("kind", 2), True),
    "class of ours": (lambda: O.FrameworkState(whet.nn.Identity), changed("_added", 2), False),
    "abstract classes": (O.AbstractClasses, lambda p: collections.abc.Sized.register(type("A", (), {})), False),
    "description": (lambda: O.SelfDescription(function, ("__doc__",)), changed("__doc__", "other"), False),
    "function": (lambda: O.FunctionParts(function), changed("__defaults__", (2,)), True),
    "partial": (lambda: O.PartialCall(functools.partial(max, 1)),
                lambda p: p.owner.__setstate__((min, (2,), {}, {})), False),
    "setting": (lambda: O.Setting("decimal", SETTINGS["decimal"]), decimals, False),
    "array": (lambda: A.ArrayContents(np.zeros(2)), filled(0, 1.0), True),
    "layout": (lambda: A.ArrayLayout(np.zeros((2, 3))), changed("shape", (3, 2)), False),
    "bare tensors": (lambda: A.BareTensors([whet.ones(1)]),
                     lambda p: setattr(p.owner[0], "label", 1),
                     True), }


def kinds(c):
    return {c, *(k for sub in c.__subclasses__() for k in kinds(sub))}


@pytest.fixture
def steady():
    """Whatever is changed is as it was."""
    with decimal.localcontext():
        yield
    Plain.kind, function.__doc__, function.__defaults__ = 1, None, (1,)
    os.environ.pop("WHET_A", None)
    if "_added" in vars(whet.nn.Identity):
        del whet.nn.Identity._added


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("name", KINDS)
def test_a_place_sees_a_change_and_puts_it_back(name, steady):
    make, change, is_put_back = KINDS[name]
    place = make()
    assert place.same() and not place.changes() and type(place).check([place])()
    change(place)
    assert not place.same() and not type(place).check([place])()
    found = place.changes()
    assert found and all(place.say(c.owner) for c in found)
    if is_put_back:
        place.restore()
        assert place.same() and not place.changes()


def test_every_kind_of_place_is_tried():
    made = {type(make()) for make, _, _ in KINDS.values()}
    assert kinds(places.Place) - made == {places.Place, places.Single}


SPOTS = {
    "entry": lambda: spots.Entry({"a": 1}, "a"),
    "global": lambda: spots.GlobalName({"a": 1}, "a"),
    "element": lambda: spots.Element([1], 0),
    "variable": lambda: spots.Variable(cell()),
    "attribute": lambda: spots.Attribute(of_a_thing(), "a"),
    "attribute of a class": lambda: spots.ClassAttribute(type("Made", (), {"a": 1}), "a"),
    "context variable": lambda: spots.ContextValue(variable(1)),
}


@pytest.mark.parametrize("name", SPOTS)
def test_what_is_laid_in_a_spot_is_there(name):
    spot = SPOTS[name]()
    assert spot.get() == spot.found() == 1
    spot.put(2)
    assert spot.get() == 2


def test_a_name_of_pythons_own_goes_when_it_is_the_real_one_again():
    held = {}
    spot = spots.BuiltinName(held, "len")
    spot.put(max)
    assert spot.get() is max
    spot.put(builtins.len)
    assert not held


def test_globals_that_are_a_kind_of_dict_are_looked_at_before_each_replay():
    class Names(dict):
        pass
    held = Names(__builtins__=builtins)
    exec("def fn(x):\n    return x * len([1, 2])", held)
    f, x = jit.trace(held["fn"]), whet.ones(2)
    for _ in range(5):
        assert bits(f(x)) == bits(x * 2)
    held["len"] = lambda xs: 7
    for _ in range(3):
        assert bits(f(x)) == bits(x * 7)
