"""Attributes that are set before they are read.

A layer keeps what it computed, to be looked at later:

    self.last = h.detach()
    self.losses = {"mean": h.mean().detach()}

The old value does not matter to a run. So a replay only compares whether the attribute existed,
and the walk over what a function can reach does not visit its value. A replay sets the attribute
as the run did.

This holds where no code within reach asks for the name. It also holds where earlier runs have set
the attribute first; then each further run is watched for that (see `capture/set_before_read.py`).
"""
from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whet.tensor_base import is_strided

from ..machine_code.native_entry import MISSED
from ..values.code_origin import users
from ..values.immutable_types import PLAIN
from . import spots
from .container_places import Entries, OtherEntries
from .name_places import AttributesDict
from .names_in_code import NamesInCode, names_in
from .places import ABSENT, Change, Place
from .spots import Spot
from .unnamed_objects import is_member, names_that_others_use, only_set, takes_objects_apart

if TYPE_CHECKING:
    from .outside_walk import Walk

# A value of another type could be one that the run found elsewhere: a constant of its code, say.
NEVER_CONSTANT = frozenset((list, dict))
ANYTHING = object()              # the contents of a spot that may hold anything


@dataclass(frozen=True, slots=True)
class SetFirst:
    """The key of an attribute that runs set before they read it: the id of the dict that holds it,
    and its name."""
    owner: int
    name: str


class Overwritten(Place):
    """The entry `name` of the dict of the attributes of `holder`. What it holds is known while a
    function runs, and forgotten afterwards. `is_learned`: code asks for it, but not before it was
    set."""
    __slots__ = ("holder", "name", "is_learned", "is_compared", "holds")
    can_be_set = True

    def __init__(self, holder: Any, owner: dict[str, Any], name: str, is_learned: bool) -> None:
        super().__init__(owner, ())
        self.holder, self.name, self.is_learned = holder, name, is_learned
        self.is_compared = self.holds = False
        self.objects = self.look()

    @property
    def key(self) -> tuple[int, str]:
        """What tells it from others."""
        return id(self.owner), self.name

    @property
    def is_read(self) -> bool:               # type: ignore[override]
        return self.is_compared or self.objects[0] is ABSENT

    @property
    def position(self) -> int:
        """Which entry of the dict it is; -1 where it is none."""
        return [*self.owner].index(self.name) if self.name in self.owner else -1

    def begin(self) -> None:
        """A run begins: hold what is there."""
        if not self.is_compared:
            self.holds = True
            self.objects = self.look()

    def end(self) -> None:
        """End the run: the old value may now be anything, unless it is compared."""
        self.holds = self.is_compared
        if not self.holds and self.objects[0] is not ABSENT:
            self.objects = [ANYTHING]

    def look(self) -> list[Any]:
        x = self.owner.get(self.name, ABSENT)
        return [x if self.holds or x is ABSENT else ANYTHING]

    def changes(self) -> list[Change]:
        # It can be set even if there was nothing before.
        return [Change(self, None if x is ABSENT else 0, was, x)
                for x, was in zip(self.look(), self.objects) if x is not was]

    def name_of(self, i: int) -> str:
        return self.name

    def spot(self, i: int) -> Spot | None:
        return spots.Entry(self.owner, self.name)

    def restore(self) -> None:
        was, = self.objects
        if was is ABSENT:
            self.owner.pop(self.name, None)
        elif was is not ANYTHING:
            self.owner[self.name] = was

    def table(self, t: Any, objects: list[Any]) -> bool:
        was, = self.objects
        if was is not ANYTHING:              # the place of the whole dict compares its names
            t.name(self.owner, self.name, MISSED if was is ABSENT else was)
        return True


def is_set_first(walk: Walk, spot: Spot, x: Any) -> bool:
    """Do runs set a spot before they read it? Then the walk does not go on from it."""
    if type(spot) is not spots.Entry or type(spot.name) is not str:
        return False
    key = SetFirst(*spot.key)
    if key in walk.varying.loose:
        walk.set_first[key] = x
    return key in walk.set_first


def take_readable_attributes(walk: Walk) -> list[Any]:
    """Remove from `walk.set_first` the objects that code other than the user's may read. The walk
    has to go on from these: they are returned."""
    holders = {id(p.objects[0]): p.owner for p in walk.places if type(p) is AttributesDict}
    gone = [key for key in walk.set_first
            if key.owner not in holders or not only_named(holders[key.owner], key.name)]
    return [walk.set_first.pop(key) for key in gone]


def skip_overwritten(walk: Walk) -> list[Overwritten]:
    """The last step of a walk: replace the places of dicts by places that skip the attributes which
    runs set first."""
    learned, names = walk.set_first.keys(), only_set(walk)
    if takes_objects_apart(walk) or not (names or learned):
        return []
    at = {id(p.owner): k for k, p in enumerate(walk.places) if type(p) in (Entries, OtherEntries)}
    found: list[Overwritten] = []
    for place in [p for p in walk.places if type(p) is AttributesDict]:
        x, d = place.owner, place.objects[0]
        if id(d) not in at:
            continue
        mine, of_runs = names_of(x, d, names), {k.name for k in learned if k.owner == id(d)}
        mine -= walk.met_code.made_names.asked_of(x, mine)
        if mine or of_runs:
            mine |= of_runs
            _skip(walk, at[id(d)], mine)
            found += [Overwritten(x, d, name, name in of_runs) for name in sorted(mine)]
            held = walk.held_back.get(id(x), {})
            walk.held_back[id(x)] = {name: y for name, y in held.items() if name not in mine}
    walk.places += found
    return found


def names_of(x: Any, d: dict[str, Any], names: set[str]) -> frozenset[str]:
    """Which of these names an object has as attributes, or gets as attributes from methods of its
    class."""
    if type(d) is not dict:
        return frozenset()
    mine = names & (d.keys() | names_only_set_by_methods(type(x)))
    return frozenset(name for name in mine if only_named(x, name))


def only_named(x: Any, name: str) -> bool:
    """Can only the user's code read an attribute of an object, by naming it?"""
    known = names_that_others_use(type(x))
    return known is not None and name not in known and not is_member(x, name)


def names_only_set_by_methods(t: type) -> set[str]:
    """The names of attributes, of any object, that methods of a class set and never read."""
    return {name for names in _in_methods(t) for name in names.only_set}


def set_by_methods(t: type) -> set[str]:
    """The names of attributes, of any object, that methods of a class set."""
    return {name for names in _in_methods(t) for name in names.are_set}


def _in_methods(t: type) -> list[NamesInCode]:
    """The names in the methods of a user class."""
    methods = [f for b in t.__mro__ if users(b) for f in vars(b).values()
               if type(f) is types.FunctionType]
    return [names_in(f.__code__) for f in methods]


def _skip(walk: Walk, k: int, names: frozenset[str]) -> None:
    """Replace place `k` of a walk, that of a dict, by one that skips some names."""
    old = walk.places[k]
    skipped = names | frozenset(getattr(old, "skipped", ()))
    new = walk.places[k] = OtherEntries(old.owner, skipped)
    index = {name: i for i, name in enumerate(new.names)}
    for s in list(walk.varying.slots):
        s.cells = [(new, index[old.name_of(i)]) if place is old and old.name_of(i) in index
                   else (place, i) for place, i in s.cells
                   if not (place is old and old.name_of(i) in names)]
        if not s.cells:
            walk.varying.slots.remove(s)


def could_be_found_elsewhere(x: Any, known: Iterable[Any]) -> bool:
    """Could a run have put a value where it already was, after finding it elsewhere? `known`: the
    objects that the run could reach."""
    if type(x) in PLAIN or not (type(x) in NEVER_CONSTANT or is_strided(x)):
        return True
    return any(y is x for y in known)
