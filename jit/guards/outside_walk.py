"""The walk over what a function can reach, which finds the places that it reads from.

It starts at the function and at the arguments, and follows containers, instances, classes and
functions of the user's: `visitors_*.py` say for each type of object what it leads to. What cannot
be watched, such as an open file, a generator or a lock, raises `Unwatchable`.
"""
import builtins
import io
import logging
import sys
import types
from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np
from whet.tensor import Tensor

from ..capture.caches import CACHED, data_in
from ..capture.numpy_stand_in import stands_as_memory
from ..capture.outside_calls import stands
from ..capture.varying_numbers import METHODS
from ..report.reasons import Inspects, Reason, TooMuch
from .allowed_calls import tells_who_watches
from .array_places import ArrayLayout
from .container_places import GROWS, OtherEntries, entries
from .data_in_modules import compare_data
from .entered_names import EnteredNames, leave_out, look_into
from .functions_of_c import FunctionsOfC
from .immutable_types import PLAIN, same_key
from .name_places import Attribute, AttributesDict, Global
from .names_in_code import LOOKING_UP, CodeFacts, absolute, names_in
from .number_settings import SETTINGS
from .numbers_passed_to_c import may_get_stand_ins
from .object_places import ClassAttribute, FrameworkState, Setting
from .origin import is_as_it_was_made, origin_of, origin_of_class
from .overwritten import SetFirst, is_set_first, leave_alone, not_left_alone
from .places import Place
from .self_descriptions import UNNAMED, say_of_themselves
from .slots import Slot
from .spots import BuiltinName, Spot
from .unnamed import Held, let_through
from .visitors import MOST, MOST_CODE, Unwatchable
from .visitors_by_type import OF_LASTING_TYPES, UNSEEN, visitor_for
from .visitors_of_callables import class_, named_in

# how one looks past all names
FRAMES = frozenset(("f_globals", "f_locals", "f_builtins", "f_back"))
BY_NAME = (type, *(getattr(builtins, name) for name in LOOKING_UP))
STOOD_FOR = (float, int, len)        # of Python's own, in modules that do nothing but call them
COPIED = (list, dict, set, CodeFacts)            # what one walk has for itself


class Walk:
    """What was met so far, and what is still to be looked at.

    `loose`: keys of spots whose numbers or tensors may be any, and (id, None) of lists that only
    grow; `skipped`: ids of arrays that are looked after elsewhere; `ran`: the only code that is
    read, or None for all."""

    def __init__(self, fn: Any, arguments: Iterable[Any] = (), loose: Any = frozenset(),
                 skipped: Any = frozenset(), numpy: bool = False,
                 ran: Set[types.CodeType] | None = None) -> None:
        self.places: list[Any] = []
        self.loose, self.skipped = loose, skipped
        self.slots: list[Slot] = []
        self.growing: dict[int, tuple[Any, list[Spot]]] = {}
        self.of_c = FunctionsOfC()
        self.met: dict[int, Any] = {}        # what could have a stand-in, but lies where none can
        self.outward: dict[int, tuple[Any, list[Spot]]] = {}     # what has a stand-in during a run
        self.tensors: dict[int, Any] = {}
        self.bare: list[Any] = []            # tensors without attributes
        self.sets_up = False                 # does something make state of its own when first used?
        self.gathers = False                 # and will that be, as others gather what it needs?
        self.grads: list[Any] = []           # at the end those gradients that nothing else leads to
        # Code that is not read could tell what stands for something from that.
        self.ran, unread = ran, ran is not None
        self.facts = CodeFacts(notices_numbers=unread, notices_types=unread)     # of all code
        self.types_of_numbers = False        # is `int` or `float` used for more than to be called?
        self.methods: set[types.CodeType] = set()        # of classes that were met
        self.want_numbers: dict[int, Any] = {}           # see numbers_passed_to_c.py
        self.in_no_place: set[int] = set()   # ids of what may be called by any name
        self.watched_for = False             # was something met that tells who watches?
        self.watching: set[Any] = set()      # the names by which code finds such things
        self.asking = False                  # could others ask functions and classes for names?
        self.settings = {"numpy"} if numpy else set()    # of SETTINGS, that results may go by
        self.builtins: set[str] = set()      # names of Python's own that were looked up
        self.called: dict[Any, Any] = {}     # uses of those: are they only called?
        self.unread: dict[int, Reason] = {}  # what cannot be compared, by id
        self.codes: set[types.CodeType] = set()
        self.read: set[Any] = set()          # code that was gone through, and with whose globals
        self.attributes: set[str] = set()    # that code names
        self.asked_for: set[str] = set()     # those of them that it does not only set
        self.set_first: dict[SetFirst, Any] = {}         # see overwritten.py
        self.entered = EnteredNames()
        self.held_back: dict[int, Held] = {}             # see unnamed.py
        self.wrappers: list[types.FunctionType] = []     # around the user's, which do not run
        self.of_instances: set[int] = set()  # classes that only instances have led to
        self.modules: dict[int, Any] = {}    # (module, names already looked up in it), by id
        self.frameworks: set[Any] = set()    # classes of ours that are watched
        self.abstract = False                # is it watched what abstract classes know of others?
        self.seen: dict[int, Any] = {}       # by id, kept alive
        self.visitors = dict(OF_LASTING_TYPES)       # what visits objects of a type
        self.builtins_id = id(vars(builtins))            # those are compared that code looks up
        self.stack = [fn]
        self.lead_to(*arguments)
        self.frameworks_own()

    def frameworks_own(self) -> None:
        """What everything goes by: tensors, and the hooks of all modules."""
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
        new.of_c, new.entered = self.of_c.copy(), self.entered.copy()
        new.outward = {i: (x, spots.copy()) for i, (x, spots) in self.outward.items()}
        new.modules = {i: (m, done.copy()) for i, (m, done) in self.modules.items()}
        return new

    # ---- going on --------------------------------------------------------------------------------
    def walk(self) -> None:
        """Visit what is on the stack, and what that leads to."""
        again = True
        while again:
            while self.stack:
                self.visit(self.stack.pop())
            again = any([*(self.module(m, done) for m, done in list(self.modules.values())),
                         let_through(self)])

    def visit(self, x: Any) -> None:
        t, i = type(x), id(x)
        if t in PLAIN or i in self.skipped or i == self.builtins_id:
            return
        if i in self.seen:
            if i in self.of_instances:
                class_(self, x)
            return self.entered.only_named.discard(i)
        visitor = self.visitors.get(t) or self.visitors.setdefault(t, visitor_for(t))
        if visitor not in UNSEEN:
            if len(self.seen) >= MOST:
                raise Unwatchable(TooMuch(f"it reaches more than {MOST} objects"))
            self.seen[i] = x
            if stands(x):
                self.met[i] = x
        visitor(self, x)

    def add(self, place: Place, held_back: Iterable[Any] = ()) -> Sequence[Any]:
        """One more place, and what lies there but for what is held back; give what the run finds
        there, too."""
        self.places.append(place)
        found = place.found()
        if type(place) is not Global:        # those are looked at by their names
            self.of_c.met(found)
        outward = any(map(stands, found))
        if (self.loose or outward) and place.can_be_set:
            found = [x for i, x in enumerate(found) if not self.replaced(place, i, x)]
        aside = set(map(id, held_back))
        self.stack += [x for x in found if id(x) not in aside] if aside else found
        return found

    def lead_to(self, *found: Any) -> None:
        """What lies in no place that is compared: whoever holds it may call it."""
        self.of_c.met(found)
        self.in_no_place.update(map(id, found))
        self.stack += found

    def replaced(self, place: Place, i: int, x: Any) -> bool:
        """Does the run find something else in the place of this object? Note it."""
        outward = stands(x)
        if not outward and not self.loose:
            return False
        spot = place.spot(i)
        if spot is None:
            return bool(outward)
        if is_set_first(self, spot, x):
            return True
        slot = self.slot(spot, place, i, x)
        if outward and not (slot and type(x) is np.ndarray):
            self.stands_in(spot, x)
        return bool(slot or outward)

    def stands_in(self, spot: Spot, x: Any) -> None:
        """A stand-in will lie in a spot."""
        if type(x) is CACHED:
            self.facts.notices_numbers = True        # it would keep a Number
            self.stack += [x.__wrapped__, *data_in(x)]
        self.outward.setdefault(id(x), (x, []))[1].append(spot)

    def slot(self, spot: Spot, place: Place, i: int, x: Any) -> bool:
        """Is this a spot where anything may lie? Note it."""
        if type(x) in GROWS and (id(x), None) in self.loose:
            self.growing.setdefault(id(x), (x, []))[1].append(spot)
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

    # ---- what several visitors do ----------------------------------------------------------------
    def namespace(self, d: Any, held: Held | None = None) -> Held:
        """A dict, or a view of one: its keys, and its values but for those that are held back, as
        far as the run finds these there, too."""
        place, held = entries(d), held or {}
        self.stack += [k for k in place.names if type(k) not in PLAIN]
        there = set(map(id, self.add(place, held.values())))
        return {name: x for name, x in held.items() if id(x) in there}

    def named(self, x: Any) -> None:
        """The attributes of a function, or of what else is called."""
        if vars(x):
            self.places.append(AttributesDict(x))
        self.namespace(vars(x))

    def other_entries(self, d: dict[Any, Any], skipped: Iterable[Any]) -> None:
        """A dict but for some names."""
        self.add(OtherEntries(d, skipped))

    def module(self, m: types.ModuleType, done: set[str]) -> bool:
        """Look up what the code that has been seen names in a module; is there anything new?"""
        held = vars(m)
        # `__getattr__` gives what is not there
        there = self.attributes.intersection(held) | {"__getattr__"}.intersection(held)
        new = leave_out(self, m, there - done, done)
        done |= new
        for name in sorted(new):
            self.add(Global(held, name))
            self.of_c.lies_in_module(m, name, held[name])
        return bool(new)

    def framework(self, t: type) -> None:
        """A class of ours, or one that is made from such: somebody may patch it, or the functions
        that layers are made of."""
        functional = sys.modules.get("whet.nn.functional")
        for b in t.__mro__:
            origin = None if b in self.frameworks else origin_of_class(b)
            if origin is None or not origin.is_ours:
                continue
            watched = functional is None or functional in self.frameworks
            for x in (b,) if b is Tensor or watched else (b, functional):
                self.frameworks.update(getattr(x, "__mro__", (x,)))
                place = FrameworkState(x)
                self.places.append(place)
                strange, containers = place.objects[0].parts(is_as_it_was_made)
                self.stack += strange + containers * (x is b)

    def leaves_out(self, *codes: types.CodeType) -> bool:
        """Is none of this code read, as it does not run?"""
        return bool(codes) and self.ran is not None and self.ran.isdisjoint(codes)

    # ---- code ------------------------------------------------------------------------------------
    def code(self, code: types.CodeType, names_of: dict[str, Any],
             variables: dict[str, Any]) -> None:
        """The globals that some code and the functions inside it name. `variables`: those of
        enclosing functions, as far as they are known.

        What it names in modules comes at the end."""
        if self.leaves_out(code):
            return
        names, is_method = names_in(code), code in self.methods
        self.facts.notices_numbers |= names.tells_numbers_apart(names_of, variables, is_method)
        if (code, id(names_of)) in self.read:
            return
        self.read.add((code, id(names_of)))
        self.codes.add(code)
        if self.ran is None and len(self.codes) > MOST_CODE:
            raise Unwatchable(TooMuch(f"it reaches more than {MOST_CODE} functions"))
        if "globals" in code.co_names:
            self.other_entries(names_of, UNNAMED)
        self.facts.add(names.facts)
        if names.asks_type_of_first and not is_method:
            self.facts.notices_numbers = self.facts.notices_types = True
        self.attributes |= names.attributes
        self.asked_for |= names.attributes - names.only_set
        self.entered.note(names.entered, names.entered_of, names_of)
        self.of_c.named_in(names, names_of)
        for name, not_called in names.globals:
            self.add(Global(names_of, name))
            if name not in names.passed_on:
                look_into(self, names_of.get(name))
            if not_called:
                self.of_c.met((names_of.get(name, getattr(builtins, name, None)),))
            if name not in names_of:
                self.builtin(code, name, names_of, not_called)
        for name, level in names.imports:
            name = absolute(name, level, names_of)
            for n in {name, name.partition(".")[0]}:
                if n in sys.modules:
                    self.add(Global(sys.modules, n))
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                self.code(c, names_of, {})
            for s in c if type(c) is tuple else (c,):
                if type(s) is str and len(s) < 100:
                    for known in (self.attributes, self.asked_for, self.entered.of_anything,
                                  self.of_c.texts):
                        known |= named_in(s)

    def builtin(self, code: types.CodeType, name: str, names_of: dict[str, Any],
                not_called: bool) -> None:
        """A name that some code looks up among Python's own."""
        if names_of.get("__builtins__", builtins) not in (builtins, vars(builtins)):
            raise Unwatchable(f"{code.co_name} has other builtins than Python's")
        f = getattr(builtins, name, None)
        key = id(names_of), name
        if f in STOOD_FOR:                   # as a type, or a key to sort by, it has no stand-in
            only = not not_called and self.called.get(key, (0, 0, True))[2]
            self.called[key] = names_of, f, only
            self.types_of_numbers |= not_called and f is not len
        if f is id:                          # a stand-in for everybody would be asked all the time
            self.stand_in_for(f, names_of, "id")
            self.places.append(Global(vars(builtins), "id"))
        elif f is not None and name not in self.builtins:
            self.builtins.add(name)
            self.add(Global(vars(builtins), name))
            if f in BY_NAME:                 # what is done with it by its own name is seen
                self.stack.pop()

    def stand_in_for(self, f: Any, names_of: dict[str, Any], name: str) -> None:
        """A stand-in for one of Python's own functions, in one module alone."""
        self.outward.setdefault(id(f), (f, []))[1].append(BuiltinName(names_of, name))

    # ---- the end ---------------------------------------------------------------------------------
    def finish(self) -> None:
        """What the walk leads to besides."""
        self.stack += not_left_alone(self)
        self.walk()
        self.grads = [g for g in self.grads if id(g) not in self.seen]
        self.stack += self.grads
        self.walk()
        say_of_themselves(self)
        asks_types = self.types_of_numbers or "__class__" in self.attributes
        self.facts.notices_numbers |= (
            may_get_stand_ins(self) or asks_types and bool(METHODS & self.attributes))
        self.without_stand_ins()
        self.bases_and_watchers()
        for name in sorted(self.settings):
            self.places.append(Setting(name, SETTINGS[name]))
        if self.facts.looks_up_names:
            compare_data(self, [vars(m) for m, _ in self.modules.values()
                                if origin_of(vars(m)) is None])
        for names_of, f, only in self.called.values() if not self.facts.notices_numbers else ():
            if only:
                self.stand_in_for(f, names_of, f.__name__)
        for i in self.met.keys() & self.outward.keys():
            del self.outward[i]              # It also lies where no stand-in can be.
        self.refuse()
        self.overwritten = leave_alone(self)

    def bases_and_watchers(self) -> None:
        """What is known by what code names only: which tensors are views, and by what names code
        could find who watches."""
        if "_base" in self.attributes:
            self.places += [Attribute(t, "_base") for t in self.tensors.values()]
        self.watching = {p.name_of(i) for p in self.places if self.watched_for
                         for i, x in enumerate(p.objects) if tells_who_watches(x)}
        if any(type(name) is not str for name in self.watching):
            raise Unwatchable(Inspects("it asks what is alive, or who watches"))

    def refuse(self) -> None:
        """Raise where something was met that cannot be watched together with the rest."""
        for i, (x, _) in list(self.outward.items()) if self.facts.notices_types else ():
            if isinstance(x, io.IOBase | logging.Logger):    # A stand-in is told by its type.
                del self.outward[i]
                self.unread[i] = Inspects("it asks for types, and reads a stream or a logger")
        self.of_c.check(self.met, self.facts.looks_up_names or "getattr" in self.builtins,
                        self.entered.only_named)
        if not FRAMES.isdisjoint(self.attributes):
            raise Unwatchable(Inspects("it looks at frames"))
        if "_base" in self.attributes and any(t._base is not None for t in self.tensors.values()):
            raise Unwatchable(Inspects("it asks for the `_base` of something, and reaches a view"))

    def without_stand_ins(self) -> None:
        """Compare loggers where stand-ins would be told by their type, and NumPy arrays: those that
        a run has stand-ins for by how they lie in memory, others by value."""
        while self.facts.notices_types and (loggers := [
                x for x, _ in self.outward.values() if isinstance(x, logging.Logger)]):
            self.stack += [self.outward.pop(id(x))[0] for x in loggers]
            self.walk()
        self.solid = self.facts.notices_numbers or not stands_as_memory()
        found = [x for i, (x, _) in self.outward.items()
                 if type(x) is np.ndarray and i not in self.met]
        self.settings.update(["numpy"] if found else [])
        if self.solid:
            self.stack += [self.outward.pop(id(x))[0] for x in found]
        else:
            self.places += map(ArrayLayout, found)
        self.walk()
        self.inputs = {} if self.solid else {id(x): x for x in found}
