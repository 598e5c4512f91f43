"""The walk over what a function can reach, which finds the places that it reads from.

It starts at the function and at the arguments, and follows containers, instances, classes and
user functions: `visitors_*.py` say for each type of object what it leads to. What cannot
be watched, such as an open file, a generator or a lock, raises `Unwatchable`.
"""
import builtins
import sys
import types
from collections.abc import Container, Iterable, Sequence, Set
from typing import Any

import numpy as np
from whet.tensor import Tensor

from ..refusals.reasons import Reason, TooMuch
from ..stand_ins.caches import CACHED, data_in
from ..stand_ins.replaced_objects import stands
from ..values.code_origin import is_as_it_was_made, origin_of_class
from ..values.immutable_types import PLAIN
from . import walk_findings as findings
from .container_places import OtherEntries, entries
from .followed_module_names import MetModules, names_to_follow, visit_module_by_names
from .functions_of_c import FunctionsOfC
from .name_places import AttributesDict, Global
from .names_in_code import LOOKING_UP, CodeFacts, NamesInCode, absolute, names_in
from .object_places import ClassAttribute, FrameworkState
from .overwritten_attributes import SetFirst, is_set_first
from .places import Place
from .self_descriptions import UNNAMED
from .spots import BuiltinName, Spot
from .unnamed_objects import Held, release_held_back
from .visitors import BUILTINS, MOST, MOST_CODE, Unwatchable, Visit
from .visitors_by_type import OF_LASTING_TYPES, UNSEEN, visitor_for
from .visitors_of_callables import class_, look_up_unnamed, named_in

BY_NAME = (type, *(getattr(builtins, name) for name in LOOKING_UP))
# characters of a text that is no name, nor has names in it that code looks up
LONG_TEXT = 100
# of Python's own, in modules that only call them or ask by `isinstance` for them
STOOD_FOR = (float, int, len, type, min, max)
# what one walk has for itself
COPIED = list, dict, set, CodeFacts, FunctionsOfC, MetModules, *findings.ALL


class Walk:
    """What was met so far, and what is still to be looked at.

    `loose`: see `VaryingSpots`; `skipped`: ids of arrays that are looked after elsewhere; `ran`:
    the only code that is read, or None for all."""

    def __init__(self, fn: Any, arguments: Iterable[Any] = (), loose: Set[Any] = frozenset(),
                 skipped: Container[int] = frozenset(), numpy: bool = False,
                 ran: Set[types.CodeType] | None = None) -> None:
        self.places: list[Place] = []
        self.skipped = skipped
        self.varying, self.stand_ins = findings.VaryingSpots(loose), findings.StandInSpots()
        self.tensors, self.of_c = findings.MetTensors(), FunctionsOfC()
        self.met_code, self.builtins = findings.MetCode(ran), findings.MetBuiltins()
        self.classes, self.later = findings.MetClasses(), findings.StateMadeLater()
        self.watchers = findings.QuestionsAboutWatchers()
        unread = ran is not None             # it could tell what stands for something from that
        self.facts = CodeFacts(                          # of all code
            notices_numbers=unread, notices_truths=unread, notices_types=unread)
        self.callables, self.modules = findings.MetCallables(), MetModules()
        self.settings = {"numpy"} if numpy else set()    # of SETTINGS, that results may depend on
        self.unread: dict[int, Reason] = {}  # what cannot be compared, by id
        self.set_first: dict[SetFirst, Any] = {}         # see overwritten_attributes.py
        self.held_back: dict[int, Held] = {}             # see unnamed_objects.py
        self.seen: dict[int, Any] = {}       # by id, kept alive
        self.visitors: dict[type, Visit] = dict(OF_LASTING_TYPES)    # what visits objects of a type
        self.stack: list[Any] = [fn]
        self.lead_to(*arguments)
        self.frameworks_own()

    def frameworks_own(self) -> None:
        """What every function depends on: tensors, and the hooks of all modules."""
        self.framework(Tensor)
        nn = sys.modules.get("whet.nn.module")
        if nn is not None:
            self.add(ClassAttribute(nn.Module, "_hooks"))
            self.stack.append(nn.hooks.for_all)

    def copied(self) -> "Walk":
        """The walk as far as it has come, to go on from."""
        new = object.__new__(Walk)
        for name, x in vars(self).items():
            setattr(new, name, x.copy() if type(x) in COPIED else x)
        return new

    # ---- going on --------------------------------------------------------------------------------
    def walk(self) -> None:
        """Visit what is on the stack, and what that leads to."""
        again = True
        while again:
            while self.stack:
                self.visit(self.stack.pop())
            again = any([*(self.module(m, done) for m, done in list(self.modules.by_id.values())),
                         release_held_back(self)])

    def go_on_to(self, found: Iterable[Any]) -> None:
        """Visit these objects, and what they lead to."""
        self.stack += found
        self.walk()

    def visit(self, x: Any) -> None:
        t, i = type(x), id(x)
        if t in PLAIN or i in self.skipped or i == BUILTINS:
            return
        if i in self.seen:
            if i in self.classes.of_instances:
                class_(self, x)
            return self.modules.only_named.discard(i)
        visitor = self.visitors.get(t) or self.visitors.setdefault(t, visitor_for(t))
        if visitor not in UNSEEN:
            if len(self.seen) >= MOST:
                raise Unwatchable(TooMuch(f"it reaches more than {MOST} objects"))
            self.seen[i] = x
            if stands(x):
                self.stand_ins.elsewhere[i] = x
        visitor(self, x)

    def add(self, place: Place, held_back: Iterable[Any] = ()) -> Sequence[Any]:
        """One more place, and its contents but for what is held back. Returns the contents that
        get no stand-in in the run."""
        self.places.append(place)
        found = place.found()
        if type(place) is not Global:        # those are looked at by their names
            self.of_c.note_found(found)
        outward = any(map(stands, found))
        if (self.varying.loose or outward) and place.can_be_set:
            found = [x for i, x in enumerate(found) if not self.replaced(place, i, x)]
        aside = set(map(id, held_back))
        self.stack += [x for x in found if id(x) not in aside] if aside else found
        return found

    def lead_to(self, *found: Any) -> None:
        """An object in no place that is compared: any code that holds it may call it."""
        self.of_c.note_found(found)
        self.callables.in_no_place.update(map(id, found))
        self.stack += found

    def replaced(self, place: Place, i: int, x: Any) -> bool:
        """Does the run find something else in the place of this object? Note it."""
        outward = stands(x)
        if not outward and not self.varying.loose:
            return False
        spot = place.spot(i)
        if spot is None:
            return bool(outward)
        if is_set_first(self, spot, x):
            return True
        varies = self.varying.takes(spot, place, i, x)
        if outward and not (varies and type(x) is np.ndarray):
            self.stands_in(spot, x)
        return bool(varies or outward)

    def stands_in(self, spot: Spot, x: Any) -> None:
        """A stand-in will be in a spot."""
        if type(x) is CACHED:
            self.stack += [x.__wrapped__, *data_in(x)]
            # by the type of a Number, once the run is given up
            self.facts.notices_numbers |= x.cache_parameters()["typed"]
        self.stand_ins.add(x, spot)

    # ---- what several visitors do ----------------------------------------------------------------
    def namespace(self, d: Any, held: Held | None = None) -> Held:
        """A dict, or a view of one: its keys, and its values but for `held`, which are held back.
        Returns those of `held` that get no stand-in."""
        place = entries(d)
        self.stack += [k for k in place.names if type(k) not in PLAIN]
        return self.add_but_for(place, held or {})

    def add_but_for(self, place: Place, held: Held) -> Held:
        """One more place, but for what is held back. Returns what of this gets no stand-in."""
        there = set(map(id, self.add(place, held.values())))
        return {name: x for name, x in held.items() if id(x) in there}

    def named(self, x: Any) -> None:
        """The attributes of a function, or of what else is called."""
        if vars(x):
            self.places.append(AttributesDict(x))
        self.namespace(vars(x))

    def other_entries(self, d: dict[Any, Any], skipped: Iterable[Any],
                      held: Held | None = None) -> Held:
        """A dict but for some names, and its values but for those that are held back."""
        return self.add_but_for(OtherEntries(d, skipped), held or {})

    def module(self, m: types.ModuleType, done: set[str]) -> bool:
        """Look up what the code that has been seen names in a module; is there anything new?"""
        held = vars(m)
        # `__getattr__` gives what is not there
        named = self.modules.named.of_module(m)
        if id(m) not in self.modules.only_named or "__dict__" in named:
            named = self.met_code.attributes
        there = named.intersection(held) | {"__getattr__"}.intersection(held) \
            | self.met_code.made_names.asked_of_module(held)
        new = names_to_follow(self, m, there - done, done)
        done |= new
        for name in sorted(new):
            self.add(Global(held, name))
            self.of_c.note_in_module(m, name, held[name])
        return bool(new)

    def framework(self, t: type) -> None:
        """A class of ours, or one that is made from such: somebody may patch it, or the functions
        that layers are made of."""
        functional = sys.modules.get("whet.nn.functional")
        for b in t.__mro__:
            origin = None if b in self.classes.frameworks else origin_of_class(b)
            if origin is None or not origin.is_ours:
                continue
            watched = functional is None or functional in self.classes.frameworks
            classes: tuple[Any, ...] = (b,) if b is Tensor or watched else (b, functional)
            for x in classes:
                self.classes.frameworks.update(getattr(x, "__mro__", (x,)))
                place = FrameworkState(x)
                self.places.append(place)
                strange, containers = place.objects[0].parts(is_as_it_was_made)
                self.stack += strange + containers * (x is b)

    # ---- code ------------------------------------------------------------------------------------
    def code(self, code: types.CodeType, names_of: dict[str, Any],
             variables: dict[str, Any]) -> None:
        """The globals that some code and the functions inside it name. `variables`: those of
        enclosing functions, as far as they are known.

        What it names in modules comes at the end."""
        if self.met_code.leaves_out(code):
            return
        names, is_method = names_in(code), self.met_code.is_method(code)
        self.facts.notices_numbers |= names.tells_numbers_apart(names_of, variables, is_method)
        if not self.met_code.begins(code, names_of):
            return
        if self.met_code.is_too_much:
            raise Unwatchable(TooMuch(f"it reaches more than {MOST_CODE} functions"))
        if "globals" in code.co_names:
            self.other_entries(names_of, UNNAMED)
        self.met_code.made_names.note(code, names.made_names)
        self.note_names(names, names_of, is_method)
        look_up_unnamed(self, names)
        for name, not_called in names.globals:
            self.global_name(code, names, names_of, name, not_called)
        for name, level in names.imports:
            name = absolute(name, level, names_of)
            for n in {name, name.partition(".")[0]}:
                if n in sys.modules:
                    self.add(Global(sys.modules, n))
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                self.code(c, names_of, {})
            for s in c if type(c) is tuple else (c,):
                if type(s) is str and len(s) < LONG_TEXT:
                    self.text(s)

    def note_names(self, names: NamesInCode, names_of: dict[str, Any], is_method: bool) -> None:
        """Note what some code does with the names in it."""
        self.facts.add(names.facts)
        if names.asks_types or names.asks_type_of_first and not is_method:
            self.builtins.asking.add(id(names_of))
        self.met_code.attributes |= names.attributes
        self.met_code.are_set |= names.are_set
        self.met_code.asked_for |= names.attributes - names.only_set
        self.modules.note(names, names_of)
        self.of_c.named_in(names, names_of)

    def global_name(self, code: types.CodeType, names: NamesInCode, names_of: dict[str, Any],
                    name: str, not_called: bool) -> None:
        """A global that some code reads. `not_called`: does it more with it than call it?"""
        self.add(Global(names_of, name))
        if name not in names.passed_on:
            visit_module_by_names(self, names_of.get(name))
        if not_called:
            self.of_c.takes_global(names_of, name)
        if name not in names_of:
            self.builtin(code, name, names_of, not_called, name in names.never_taken)

    def text(self, s: str) -> None:
        """A text in code: names in it may be looked up."""
        named = named_in(s)
        for known in (self.met_code.attributes, self.met_code.asked_for,
                      self.modules.entered.of_anything, self.of_c.texts):
            known |= named

    def builtin(self, code: types.CodeType, name: str, names_of: dict[str, Any], not_called: bool,
                never_taken: bool) -> None:
        """A name that some code looks up among Python's own."""
        if names_of.get("__builtins__", builtins) not in (builtins, vars(builtins)):
            raise Unwatchable(f"{code.co_name} has other builtins than Python's")
        f = getattr(builtins, name, None)
        if f in STOOD_FOR:                   # as a type, or a key to sort by, it has no stand-in
            self.builtins.note_call(names_of, name, f, not not_called, never_taken)
        if f is id:                          # a stand-in for everybody would be asked all the time
            self.stand_ins.add(f, BuiltinName(names_of, "id"))
            self.places.append(Global(vars(builtins), "id"))
        elif self.builtins.first(name):
            self.add(Global(vars(builtins), name))
            if f in BY_NAME:                 # what is done with it by its own name is seen
                self.stack.pop()
