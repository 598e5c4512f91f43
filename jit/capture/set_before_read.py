"""Whether a run sets an attribute before it reads it.

A trainer hands on by attributes what it computes, from method to method:

    def step(self, x):
        self.hidden = self.encode(x)
        self.losses = {}
        self.losses["norm"] = self.hidden.norm()

Their old values do not matter: see `guards/overwritten_attributes.py`. Code reads these
names, so the code does not show it. A run does: during it the class has a descriptor by that name,
which passes everything on to the object's own dict.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..guards.name_places import AttributesDict
from ..guards.overwritten_attributes import SetFirst, only_named, set_by_methods
from ..guards.places import ABSENT
from ..values.code_origin import users
from ..values.immutable_types import PLAIN
from ..values.instance_state import own_dict

if TYPE_CHECKING:
    from ..guards.outside_state import World

# CPython keeps no caches any more for a class that has been changed some hundred times.
MOST_CHANGES = 400
_changes: dict[type, int] = {}
_lock = threading.Lock()


class FirstUse:
    """How a run first uses an attribute. `key`: the object and the name."""
    __slots__ = ("key", "was_read", "was_set", "thread")

    def __init__(self, key: SetFirst) -> None:
        self.key, self.was_read, self.was_set = key, False, False
        self.thread = threading.get_ident()  # of the run: what others do is no part of it


class Noting:
    """A descriptor that is put into a class under an attribute's name and notes how the attribute
    is used."""

    def __init__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name
        self.own = vars(kind).get(name, ABSENT)
        self.default = _of_class(kind, name)
        self.uses: list[tuple[Any, FirstUse]] = []

    def uses_here(self, x: Any) -> Iterator[FirstUse]:
        """What is noted of an object's attribute by runs on this thread."""
        return (use for holder, use in self.uses
                if holder is x and use.thread == threading.get_ident())

    def __get__(self, x: Any, kind: Any = None) -> Any:
        if x is None:
            return self.found(self.default, kind)
        for use in self.uses_here(x):
            use.was_read |= not use.was_set
        return self.found(own_dict(x).get(self.name, self.default), type(x))

    def found(self, value: Any, kind: type) -> Any:
        """A value, if there is one; else AttributeError."""
        if value is ABSENT:
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{self.name}'")
        return value

    def __set__(self, x: Any, value: Any) -> None:
        for use in self.uses_here(x):
            use.was_set = True
        own_dict(x)[self.name] = value

    def __delete__(self, x: Any) -> None:
        for use in self.uses_here(x):
            use.was_read = True              # what is set again later comes last in the dict
        if own_dict(x).pop(self.name, ABSENT) is ABSENT:
            self.found(ABSENT, type(x))

    def install(self) -> None:
        """Put the descriptor into the class."""
        _changes[self.kind] = _changes.get(self.kind, 0) + 1
        type.__setattr__(self.kind, self.name, self)

    def lift(self) -> None:
        """Restore the class."""
        if vars(self.kind).get(self.name) is not self:
            return                           # an interrupt came before it lay there, or since
        if self.own is ABSENT:
            type.__delattr__(self.kind, self.name)
        else:
            type.__setattr__(self.kind, self.name, self.own)


class FirstUses:
    """How a run first uses the attributes that may be, or are known to be, set before they are
    read."""

    def __init__(self, world: World, suspected: Iterable[tuple[int, str]]) -> None:
        known = {p.key for p in world.overwritten if p.is_learned}
        wanted = {*suspected, *known}
        self.uses: dict[SetFirst, FirstUse] = {}
        self.holders: list[tuple[Any, FirstUse]] = []
        self.lying: list[tuple[Noting, FirstUse]] = []
        self.is_complete = True              # can all be seen that must be?
        for place in world.places if wanted else ():
            if type(place) is AttributesDict:
                owner = id(place.objects[0])
                for name in [name for at, name in wanted if at == owner]:
                    self.watch(place.owner, SetFirst(owner, name), (owner, name) in known)

    def watch(self, holder: Any, key: SetFirst, is_known: bool) -> None:
        """Watch how an attribute of an object is used."""
        if only_named(holder, key.name) and can_be_noted(type(holder), key.name):
            self.uses[key] = FirstUse(key)
            self.holders.append((holder, self.uses[key]))
        else:
            self.is_complete &= not is_known

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *exc: Any) -> None:
        self.leave()

    def enter(self) -> None:
        """Start watching."""
        for holder, use in self.holders:
            kind, name = type(holder), use.key.name
            with _lock:
                lying = vars(kind).get(name)
                noting = lying if type(lying) is Noting else Noting(kind, name)
                self.lying.append((noting, use))
                noting.uses.append((holder, use))
                if noting is not lying:
                    noting.install()

    def leave(self) -> None:
        """Stop watching."""
        while self.lying:
            noting, use = self.lying[-1]
            with _lock:
                noting.uses = [u for u in noting.uses if u[1] is not use]
                if not noting.uses:
                    noting.lift()
            self.lying.pop()

    def was_set(self, key: tuple[int, str]) -> bool | None:
        """Did the run set an attribute? None if it was not watched."""
        use = self.uses.get(SetFirst(*key))
        return None if use is None else use.was_set


def could_be_set_first(world: World) -> set[tuple[int, str]]:
    """The attributes that reachable code sets and that hold more than a number or a text, with
    their keys in `FirstUses`."""
    found = set()
    for place in world.places:
        if type(place) is AttributesDict and type(d := place.objects[0]) is dict:
            names = world.names_set & (d.keys() | set_by_methods(type(place.owner)))
            found |= {(id(d), name) for name in names if not name.startswith("__")
                      and not (type(d.get(name)) in PLAIN and d.get(name) is not None)}
    return found


def can_be_noted(kind: type, name: str) -> bool:
    """Can a descriptor be put into a class without any visible difference?"""
    default = _of_class(kind, name)
    return (users(kind) and (default is ABSENT or type(default) in PLAIN or type(default) is Noting)
            and _changes.get(kind, 0) < MOST_CHANGES)


def _of_class(kind: type, name: str) -> Any:
    """What a class or one of its bases holds under a name."""
    return next((vars(b)[name] for b in kind.__mro__ if name in vars(b)), ABSENT)
