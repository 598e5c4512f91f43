"""May code make generators of random numbers otherwise than by `default_rng`?

What it calls then is not noticed: classes, or what copies a generator. And methods of generators
take a stand-in for an array for something other than an array: `shuffle` would depend on its views
of rows, which change meanwhile. So a run of such code finds the arrays themselves."""
from __future__ import annotations

import copyreg
import pickle
from typing import TYPE_CHECKING

from ..stand_ins.outside_draws import is_generator
from .bytecode import names_only_in_isinstance
from .name_places import Attribute, Global

if TYPE_CHECKING:
    from .outside_walk import Walk

COPYING = frozenset(map(id, (copyreg.dispatch_table, pickle.load, pickle.loads)))


def note_made_generators(walk: Walk) -> None:
    """Note whether code within reach may make a generator by its class, or copy one."""
    met = [x for x in walk.seen.values() if issubclass(type(x), type) and is_generator(x)]
    has_one = any(map(is_generator, map(type, (*walk.seen.values(),
                                               *walk.stand_ins.of_kind(object)))))
    walk.facts.makes_generators = (
        bool(met) and _takes_one_of(walk, frozenset(map(id, met)))
        or has_one and (walk.facts.takes_classes or not COPYING.isdisjoint(walk.seen)))


def _takes_one_of(walk: Walk, classes: frozenset[int]) -> bool:
    """May code do more with one of these classes than to pass it to `isinstance`?"""
    names = set()
    for place in walk.places:
        for i, x in enumerate(place.objects):
            if id(x) in classes:
                if not isinstance(place, Attribute | Global):
                    return True
                names.add(place.name_of(i))
    return not classes.isdisjoint(walk.callables.in_no_place) or any(
        name in code.co_consts or name in (*code.co_names, *code.co_freevars)
        and name not in names_only_in_isinstance(code)
        for code in walk.met_code.all for name in names)
