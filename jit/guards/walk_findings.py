"""What a walk over all that a function can reach gathers, one class for each subject."""

import types
from collections.abc import Container, Iterator, Set
from typing import Any

import numpy as np

from ..values.immutable_types import same_key
from .container_places import GROWS
from .data_objects import holds_data
from .made_names import MadeNames
from .places import Place
from .slots import ByContents, GivenContainer, Slot
from .spots import BuiltinName, Spot
from .visitors import MOST_CODE


class MetTensors:
    """The tensors that were met, by id. `bare` are those without attributes, `gradients` those of
    others, as long as they may be soon others themselves."""

    def __init__(self) -> None:
        self.by_id: dict[int, Any] = {}
        self.bare: list[Any] = []
        self.gradients: list[Any] = []

    def only_gradients(self, seen: Container[int]) -> list[Any]:
        """Keep the gradients that nothing else has led to, and give them."""
        self.gradients = [g for g in self.gradients if id(g) not in seen]
        return self.gradients

    def copy(self) -> "MetTensors":
        new = MetTensors()
        new.by_id, new.bare = self.by_id.copy(), self.bare.copy()
        new.gradients = self.gradients.copy()
        return new


class VaryingSpots:
    """Spots that may hold any number or tensor, as calls have taught.

    `loose`: the keys of such spots, (id, None) of lists that only grow, and `ByContents` of spots
    with any container. Those that were met: `slots`, `containers`, and `growing`: the id of a list
    -> it, and the spots that hold it."""

    def __init__(self, loose: Set[Any]) -> None:
        self.loose = loose
        self.slots: list[Slot] = []
        self.containers: dict[ByContents, GivenContainer] = {}
        self.growing: dict[int, tuple[Any, list[Spot]]] = {}

    def copy(self) -> "VaryingSpots":
        new = VaryingSpots(self.loose)
        new.slots, new.growing = self.slots.copy(), self.growing.copy()
        new.containers = self.containers.copy()
        return new

    def takes(self, spot: Spot, place: Place, i: int, x: Any) -> bool:
        """May this hold anything? Note it. `x` is there now, as object `i` of `place`."""
        if type(x) in GROWS and (id(x), None) in self.loose:
            self.growing.setdefault(id(x), (x, []))[1].append(spot)
            return True
        by_contents = ByContents(spot.key)
        if by_contents in self.loose and holds_data(x):
            container = self.containers.setdefault(by_contents, GivenContainer(spot, x))
            container.cells.append((place, i))
            return True
        if spot.key not in self.loose or not Slot.takes(x):
            return False
        there = [s for s in self.slots
                 if s.spot.owner is spot.owner and same_key(s.spot.name, spot.name)]
        if not there:
            there = Slot.at(spot, x)
            self.slots += there
        for s in there:
            s.cells.append((place, i))
        return True


class StandInSpots:
    """Where a run finds stand-ins. `spots`: the id of an object -> it, and the spots that hold it.
    Objects that could have one, and are also where none can be, are `elsewhere`, by id."""

    def __init__(self) -> None:
        self.spots: dict[int, tuple[Any, list[Spot]]] = {}
        self.elsewhere: dict[int, Any] = {}

    def copy(self) -> "StandInSpots":
        new = StandInSpots()
        new.spots = {i: (x, spots.copy()) for i, (x, spots) in self.spots.items()}
        new.elsewhere = self.elsewhere.copy()
        return new

    def add(self, x: Any, spot: Spot) -> None:
        """A stand-in for an object will be in a spot."""
        self.spots.setdefault(id(x), (x, []))[1].append(spot)

    def of_kind(self, kind: Any) -> list[Any]:
        """The objects of a type, or of one of several."""
        return [x for x, _ in self.spots.values() if isinstance(x, kind)]

    def arrays(self) -> list[Any]:
        """The NumPy arrays that are nowhere else."""
        return [x for i, (x, _) in self.spots.items()
                if type(x) is np.ndarray and i not in self.elsewhere]

    def drop(self, x: Any) -> None:
        """An object has no stand-in."""
        del self.spots[id(x)]

    def drop_elsewhere(self) -> None:
        """What is also where no stand-in can be has none."""
        for i in self.elsewhere.keys() & self.spots.keys():
            del self.spots[i]


class MetCallables:
    """The functions and types that were met, by what must not happen to them. `want_numbers`: those
    of C that take plain numbers alone (see numbers_passed_to_c.py); `never_recorded`: those of
    which no call is recorded (see called_by_name.py). `in_no_place`: ids of those that are in no
    place that is compared, so that code may call them by any name. `are_asked_for_names`: could
    code other than the user's ask functions and classes for names?"""

    def __init__(self) -> None:
        self.want_numbers: dict[int, Any] = {}
        self.never_recorded: dict[int, Any] = {}
        self.in_no_place: set[int] = set()
        self.are_asked_for_names = False

    def copy(self) -> "MetCallables":
        new = MetCallables()
        new.want_numbers, new.never_recorded = self.want_numbers.copy(), self.never_recorded.copy()
        new.in_no_place = self.in_no_place.copy()
        new.are_asked_for_names = self.are_asked_for_names
        return new


class MetClasses:
    """The classes that were met. `frameworks`: those of whet, and its module of functions, which
    are compared as a whole. `of_instances`: ids of those that only instances have led to.
    `has_abstract`: is it compared which subclasses abstract classes know?"""

    def __init__(self) -> None:
        self.frameworks: set[type | types.ModuleType] = set()
        self.of_instances: set[int] = set()
        self.has_abstract = False

    def copy(self) -> "MetClasses":
        new = MetClasses()
        new.frameworks, new.of_instances = self.frameworks.copy(), self.of_instances.copy()
        new.has_abstract = self.has_abstract
        return new


class StateMadeLater:
    """`sets_up`: is there an object that makes its state when it is first used, as optimizers do?
    `gathers`: is there one that does so once it has its inputs, as an optimizer that waits
    for gradients?"""

    def __init__(self) -> None:
        self.sets_up = self.gathers = False

    def copy(self) -> "StateMadeLater":
        new = StateMadeLater()
        new.sets_up, new.gathers = self.sets_up, self.gathers
        return new


class QuestionsAboutWatchers:
    """Functions that tell code whether it is watched (`sys.gettrace`) or what is alive. `were_met`:
    was there such a function? `names`: the names under which code finds them."""

    def __init__(self) -> None:
        self.were_met = False
        self.names: set[str] = set()

    def copy(self) -> "QuestionsAboutWatchers":
        new = QuestionsAboutWatchers()
        new.were_met, new.names = self.were_met, self.names.copy()
        return new


class MetCode:
    """The code that was met. `ran`: the only code that is read, or None for all. `attributes`: the
    names of attributes in it. It sets those that `are_set`, and does not only set those
    `asked_for`. `made_names`: those that it makes at run time. `wrappers`: functions around the
    user's, which do not run."""

    def __init__(self, ran: Set[types.CodeType] | None) -> None:
        self.ran = ran
        self.all: set[types.CodeType] = set()
        self.read: set[tuple[types.CodeType, int]] = set()       # with whose globals, by id
        self.attributes: set[str] = set()
        self.are_set: set[str] = set()
        self.asked_for: set[str] = set()
        self.made_names = MadeNames()
        self.wrappers: list[types.FunctionType] = []

    def copy(self) -> "MetCode":
        new = MetCode(self.ran)
        new.all, new.read = self.all.copy(), self.read.copy()
        new.attributes, new.asked_for = self.attributes.copy(), self.asked_for.copy()
        new.are_set = self.are_set.copy()
        new.made_names, new.wrappers = self.made_names.copy(), self.wrappers.copy()
        return new

    def leaves_out(self, *codes: types.CodeType) -> bool:
        """Is none of this code read, as it does not run?"""
        return bool(codes) and self.ran is not None and self.ran.isdisjoint(codes)

    def is_method(self, code: types.CodeType) -> bool:
        """Is this the code of a method of a class that was met?"""
        return code in self.made_names.methods

    def begins(self, code: types.CodeType, names_of: dict[str, Any]) -> bool:
        """Was some code not read yet with these globals? It is from now on."""
        key = code, id(names_of)
        if key in self.read:
            return False
        self.read.add(key)
        self.all.add(code)
        return True

    @property
    def is_too_much(self) -> bool:
        """Is there more code than is read?"""
        return self.ran is None and len(self.all) > MOST_CODE


class MetBuiltins:
    """Python's own functions and types that code looks up. `names`: those that are compared;
    `are_types`: is `int` or `float` used for more than to be called? `asking`: the globals of code
    that asks for types by `type(x)`, by id."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.are_types = False
        self.asking: set[int] = set()
        # (id of globals, name) -> the globals, the builtin, and whether they never take it
        self.calls: dict[tuple[int, str], tuple[dict[str, Any], Any, bool]] = {}

    def copy(self) -> "MetBuiltins":
        new = MetBuiltins()
        new.names, new.are_types = self.names.copy(), self.are_types
        new.asking, new.calls = self.asking.copy(), self.calls.copy()
        return new

    def note_call(self, names_of: dict[str, Any], name: str, f: Any, only_called: bool,
                  never_taken: bool) -> None:
        """Code with these globals uses one that numbers are passed to. `never_taken`: it only calls
        it, or asks by `isinstance` for it."""
        key = id(names_of), name
        before = self.calls.get(key)
        self.calls[key] = names_of, f, never_taken and (before is None or before[2])
        self.are_types |= not only_called and f in (float, int)

    @property
    def see_types(self) -> bool:
        """Does code ask for types in a module where `type` is used for something else, too?"""
        return any(f is type and not only and id(names_of) in self.asking
                   for names_of, f, only in self.calls.values())

    def called(self) -> Iterator[tuple[Any, BuiltinName]]:
        """The builtins that modules never take, each with its name in the module."""
        for names_of, f, only in self.calls.values():
            if only and (f is not type or id(names_of) in self.asking):
                yield f, BuiltinName(names_of, f.__name__)

    def first(self, name: str) -> bool:
        """Is this name looked up for the first time?"""
        is_new = name not in self.names
        self.names.add(name)
        return is_new


ALL = (MetBuiltins, MetCallables, MetClasses, MetCode, MetTensors, QuestionsAboutWatchers,
       StandInSpots, StateMadeLater, VaryingSpots)
