"""Objects that cannot be compared, but that no code which runs can read.

A function that reads a lock, a queue, an open connection or a generator cannot be replayed. A
trainer holds such things beside what its step reads:

    self.model, self.lock = model, threading.Lock()

The walk over what a function can reach goes from object to object. So it finds the lock if some
code within reach names it. The lock is compared by identity, and the run is watched: if no code
that ran names the attribute, nothing has read the lock. The same holds for what the walk has held
back because only code of others names it (see `unnamed_objects.py`).
"""
from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Any

from ..refusals.reasons import Inspects, Reaches, Reason
from ..refusals.type_names import full_thing
from ..values.code_origin import is_our_class, users
from .bytecode import names_only_in_isinstance
from .container_places import Entries, OtherEntries
from .locks import MOST as MOST_LOCKS
from .locks import LocksWithinReach, is_lock
from .made_names import MadeName
from .name_places import Attribute, AttributesDict, Global
from .names_in_code import names_in
from .object_places import ClassBody
from .places import Place
from .unnamed_objects import TAKING_APART
from .visitors import Unwatchable
from .visitors_of_callables import codes_around, named_in, variables

if TYPE_CHECKING:
    from .outside_walk import Walk
    from .overwritten_attributes import Overwritten

# it takes an object's `__dict__` for what it holds by its own name
OF_ONE_NAME = functools.cached_property.__get__.__code__


class Unread:
    """What a run must not read. `names`: by attribute or global name, why its object must not be
    read. `of`: the same for single objects, by their ids. `of_others`: what just code of others
    must not read; it is noted when the user's code does."""

    def __init__(self, walk: Walk, overwritten: Iterable[Overwritten]) -> None:
        self.names: dict[str, Reason] = {}
        self.not_classes: set[str] = set()   # such of these as lead to other things than classes
        self.of: dict[int, dict[str, Reason]] = {}
        self.of_others: dict[int, dict[str, Reason]] = {}
        self.locks = LocksWithinReach()
        self.read: dict[types.CodeType, Reason | None] = {}
        # functions of others around the user's, that do not run, by their code
        self.wrappers: dict[types.CodeType, list[types.FunctionType]] = {}
        for fn in walk.met_code.wrappers:
            self.wrappers.setdefault(fn.__code__, []).append(fn)
        for i, held in walk.held_back.items():
            if held and not isinstance(walk.seen.get(i), type):
                self.of[i] = {name: Reaches(full_thing(type(x)), x) for name, x in held.items()}
        for place in overwritten:            # what they hold is not compared
            known = self.of_others if place.is_learned else self.of
            known.setdefault(id(place.holder), {})[place.name] = Inspects(
                f"code of others can read `{place.name}`, which the function only sets")
        if walk.unread:
            self.find(walk)

    def find(self, walk: Walk) -> None:
        """Find the names by which code can come to objects that cannot be compared. Raise
        Unwatchable if it can come to one in another way."""
        unread: dict[int, Reason] = walk.unread
        in_no_place = walk.callables.in_no_place
        owner_of = {id(p.objects[0]): p.owner for p in walk.places if type(p) is AttributesDict}
        placed = set()
        for place in walk.places:
            for i, x in enumerate(place.objects):
                if (reason := unread.get(id(x))) is not None:
                    name = place.name_of(i)
                    if id(x) in in_no_place or not _only_names_lead_to(place, name, owner_of):
                        self.found_by_any_code(x, reason.within(walk))
                        continue
                    owner = owner_of.get(id(place.owner), place.owner)
                    if not isinstance(x, type):
                        self.not_classes.add(name)
                    placed.add(id(x))
                    if is_lock(x):
                        self.locks.named.setdefault(name, []).append(x)
                        self.of_others.setdefault(id(owner), {})[name] = reason
                    else:
                        self.names[name] = self.of.setdefault(id(owner), {})[name] = reason
        for i in unread.keys() - placed:
            self.found_by_any_code(walk.seen[i], unread[i].within(walk))

    def found_by_any_code(self, x: Any, reason: Reason) -> None:
        """Code may come to an object without naming it."""
        if not is_lock(x) or len(self.locks.of_any_code) >= MOST_LOCKS:
            raise Unwatchable(reason)
        if not any(x is y for y in self.locks.of_any_code):
            self.locks.of_any_code.append(x)

    def __bool__(self) -> bool:
        return bool(self.of or self.of_others)

    def said_by(self, code: types.CodeType) -> set[str]:
        """The names in some code, and the words in its texts."""
        return {*code.co_names, *_texts(code.co_consts)}

    def run_by(self, frame: types.FrameType) -> set[types.CodeType]:
        """The user's code in a function that the walk took for one that does not run. Called when
        the function begins to run after all."""
        found = self.wrappers.get(frame.f_code, ())
        held = frame.f_locals if found else {}
        return {code for fn in found for code in codes_around(fn)
                if all(held.get(name) is x for name, x in variables(fn).items())}

    def read_by(self, frame: types.FrameType, walked: bool) -> Reason | None:
        """The reason why code that begins to run may not: it could read one of these objects. None
        if it cannot. `walked`: has the walk read the code?"""
        code = frame.f_code
        if walked:
            if code not in self.read:
                # Code that asks whether something is of a class does no more with it.
                asked = names_only_in_isinstance(code) - self.not_classes
                self.read[code] = _read_by(code, self.names, asked)
            return self.read[code] or self.read_by_made_name(frame)
        if code is OF_ONE_NAME:
            return None
        arguments = list(frame.f_locals.values())
        for x in arguments[:]:               # other arguments than those that have a name, too
            arguments += x if type(x) in (tuple, list) else x.values() if type(x) is dict else ()
        found = [known[id(x)] for x in arguments for known in (self.of, self.of_others)
                 if id(x) in known]
        made = names_in(code).made_names
        return next((reason for names in found
                     if (reason := _read_by(code, names) or _made(made, names))), None)

    def read_by_made_name(self, frame: types.FrameType) -> Reason | None:
        """The reason why code that begins to run may not: it could read one of these objects by a
        name that it makes."""
        names = names_in(frame.f_code).made_names
        if not names:
            return None
        first: Any = next(iter(frame.f_locals.values()), None)
        bases = first.__mro__ if issubclass(type(first), type) else ()
        of_first = [self.of[id(x)] for x in (first, *type(first).__mro__, *bases)
                    if id(x) in self.of]
        return _made({x for x in names if not x.of_first}, self.names) or next((
            reason for known in of_first if (reason := _made(names, known))), None)

    def read_by_ours(self, frame: types.FrameType) -> Reason | None:
        """The reason why a method of ours may not run, which reads what is held back of its
        object."""
        i = id(frame.f_locals.get("self"))
        return next((reason for known in (self.of, self.of_others)
                     for reason in known.get(i, {}).values()), None)

    def read_by_template(self, f: Any) -> Reason | None:
        """The reason why `text.format` may not run, whose text may be like `{0.name}`; `f` is that
        C function."""
        text = getattr(f, "__self__", None)
        if type(text) is not str or f.__name__ not in ("format", "format_map"):
            return None
        said = named_in(text)
        return next((names[name] for known in (self.of, self.of_others)
                     for names in known.values() for name in said & names.keys()), None)


def _read_by(code: types.CodeType, names: dict[str, Reason],
             harmless: Set[str] = frozenset()) -> Reason | None:
    """The reason for one of the names that some code could read, apart from `harmless` ones."""
    said = {*code.co_names, *_texts(code.co_consts)} - harmless
    if names_in(code).facts.looks_up_names or not TAKING_APART.isdisjoint(said):
        return next(iter(names.values()), None)
    return next((names[name] for name in said & names.keys()), None)


def _made(made: Set[MadeName], names: dict[str, Reason]) -> Reason | None:
    """The reason for one of the names that could be one which code makes."""
    return next((reason for name, reason in names.items() if any(x.could_be(name) for x in made)),
                None)


def _only_names_lead_to(place: Place, name: Any, owner_of: dict[int, Any]) -> bool:
    """Can only code that contains the name read this part of a place? Python itself asks for
    special names, and our own code for those that our classes have."""
    kind, owner = type(place), place.owner
    if kind in (Entries, OtherEntries):
        owner = owner_of.get(id(owner))
    if type(name) is not str or name.startswith("__") or owner is None:
        return False
    if kind is Global:
        return True
    if kind not in (Entries, OtherEntries, Attribute, ClassBody):
        return False
    t = owner if kind is ClassBody else type(owner)
    ours = list(filter(is_our_class, t.__mro__))
    # An object of Python's own may show all that it has.
    return (users(t) or t in ours) and not any(name in vars(b) for b in ours)


def _texts(constants: Iterable[Any]) -> Iterable[str]:
    for c in constants:
        if type(c) is str:
            yield from named_in(c)
        elif type(c) is tuple:
            yield from _texts(c)
