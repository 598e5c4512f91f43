"""What is decided when a walk has met all that a function can reach: what is compared, and what has
a stand-in in the run. Raises `Unwatchable` where something was met that cannot be watched together
with the rest."""
import logging
from collections.abc import Iterable
from typing import Any

from ..refusals.reasons import Inspects
from ..stand_ins.caches import CACHED
from ..stand_ins.numpy_stand_in import stands_as_memory
from ..values.varying_numbers import METHODS
from .allowed_calls import tells_who_watches
from .array_places import ArrayLayout
from .data_in_modules import compare_modules
from .made_generators import note_made_generators
from .name_places import Attribute
from .noticed_types import drop_noticed
from .number_settings import SETTINGS
from .numbers_passed_to_c import calls_with_plain_numbers
from .object_places import Setting
from .outside_walk import Walk
from .overwritten_attributes import skip_overwritten, take_readable_attributes
from .self_descriptions import compare_self_descriptions
from .spots import Spot
from .visitors import Unwatchable

# names by which code reads variables of its callers
FRAMES = frozenset(("f_globals", "f_locals", "f_builtins", "f_back"))


class FinishedWalk:
    """`compares_arrays`: are the numbers of NumPy arrays compared? Otherwise the run has stand-ins
    for `arrays`, by id, and their memory layouts are compared. `overwritten`: attributes that code
    only sets."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        walk.go_on_to(take_readable_attributes(walk))
        walk.go_on_to(walk.tensors.only_gradients(walk.seen))
        compare_self_descriptions(walk)
        given_plain_numbers = self.note_who_notices_numbers()
        self.compare_loggers()
        note_made_generators(walk)
        self.compares_arrays = self.must_compare_arrays()
        self.arrays = self.compare_arrays()
        self.compare_bases()
        self.note_watchers()
        self.compare_settings()
        if walk.facts.looks_up_names:
            compare_modules(walk)
        for f, spot in (*walk.builtins.called(), *given_plain_numbers):
            if f is type or not walk.facts.notices_numbers:
                walk.stand_ins.add(f, spot)
        walk.stand_ins.drop_elsewhere()
        self.refuse()
        self.overwritten = skip_overwritten(walk)

    # ---- what has no stand-in --------------------------------------------------------------------
    def note_who_notices_numbers(self) -> list[tuple[Any, Spot]]:
        """Note whether code could notice a stand-in of a number. The calls of functions that must
        be given plain numbers instead."""
        walk = self.walk
        builtins, facts, attributes = walk.builtins, walk.facts, walk.met_code.attributes
        if builtins.see_types:
            facts.notices_numbers = facts.notices_types = True
        asks_types = bool(builtins.are_types or builtins.asking or "__class__" in attributes)
        calls = calls_with_plain_numbers(walk)
        facts.notices_numbers |= (
            calls is None or asks_types and bool(METHODS & attributes)
            # a cache that is called unseen would keep a Number
            or CACHED in set(map(type, walk.stand_ins.elsewhere.values())))
        return calls or []

    def compare_loggers(self) -> None:
        """Compare loggers if code would notice the types of stand-ins."""
        walk = self.walk
        while walk.facts.notices_types and (loggers := walk.stand_ins.of_kind(logging.Logger)):
            self.compare(loggers)

    def must_compare_arrays(self) -> bool:
        """Would code notice stand-ins of NumPy arrays? A cache would keep them."""
        facts = self.walk.facts
        return (facts.notices_numbers or bool(self.walk.stand_ins.of_kind(CACHED))
                or not stands_as_memory() or facts.makes_generators)

    def compare_arrays(self) -> dict[int, Any]:
        """Compare NumPy arrays. Gives those that have stand-ins, by id."""
        walk = self.walk
        found = walk.stand_ins.arrays()
        walk.settings.update(["numpy"] if found else [])
        if self.compares_arrays:
            self.compare(found)
            return {}
        walk.places += map(ArrayLayout, found)
        walk.walk()
        return {id(x): x for x in found}

    def compare(self, objects: Iterable[Any]) -> None:
        """Compare what is in objects that have no stand-ins."""
        for x in objects:
            self.walk.stand_ins.drop(x)
            self.walk.stack.append(x)
        self.walk.walk()

    # ---- what else is compared -------------------------------------------------------------------
    def compare_bases(self) -> None:
        """Compare which tensors are views, if code asks for that."""
        if "_base" in self.walk.met_code.attributes:
            self.walk.places += [Attribute(t, "_base") for t in self.walk.tensors.by_id.values()]

    def note_watchers(self) -> None:
        """Note by which names code could find functions that tell who watches."""
        watchers = self.walk.watchers
        watchers.names = {p.name_of(i) for p in self.walk.places if watchers.were_met
                          for i, x in enumerate(p.objects) if tells_who_watches(x)}
        if any(type(name) is not str for name in watchers.names):
            raise Unwatchable(Inspects("it asks what is alive, or who watches"))

    def compare_settings(self) -> None:
        """Compare settings of libraries on which results may depend."""
        walk = self.walk
        if "numpy" in walk.met_code.attributes:      # a tensor's method may give arrays
            walk.settings.add("numpy")
        walk.places += [Setting(name, SETTINGS[name]) for name in sorted(walk.settings)]

    # ---- what cannot be watched ------------------------------------------------------------------
    def refuse(self) -> None:
        """Raise where something was met that cannot be watched together with the rest."""
        walk = self.walk
        if walk.facts.notices_types:
            drop_noticed(walk)
        attributes, tensors = walk.met_code.attributes, walk.tensors.by_id.values()
        looks_up_names = walk.facts.looks_up_names or "getattr" in walk.builtins.names
        walk.of_c.check(walk.stand_ins.elsewhere, looks_up_names, walk.modules.only_named)
        if not FRAMES.isdisjoint(attributes):
            raise Unwatchable(Inspects("it looks at frames"))
        if walk.facts.sees_handled_error:
            raise Unwatchable(Inspects("it asks for the error that its caller handles"))
        if "_base" in attributes and any(t._base is not None for t in tensors):
            raise Unwatchable(Inspects("it asks for the `_base` of something, and reaches a view"))
