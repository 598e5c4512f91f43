"""Objects whose stand-ins code could notice by their types.

Python gives the type of an object past whatever the object says of its class. `type(x)` by its own
name is answered by the run, other uses of `type` are not: `map(type, objects)`. Where code has
such a use, streams, loggers and generators have no stand-ins, nor do functions that code takes for
more than a call.
"""
from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

import numpy as np

from ..refusals.reasons import Inspects
from ..stand_ins.outside_draws import is_generator
from .spots import Attribute, BuiltinName, ClassAttribute, Entry, GlobalName, Spot

if TYPE_CHECKING:
    from .outside_walk import Walk

# spots whose names code has to say, to come to what is there
NAMED = Attribute, ClassAttribute, Entry


def drop_noticed(walk: Walk) -> None:
    """Leave these objects without stand-ins: code that reads one is not recorded."""
    for x, spots in list(walk.stand_ins.spots.values()):
        if is_generator(type(x)) or isinstance(x, io.IOBase | logging.Logger):
            what = "reads a stream, a logger or a generator"
        elif type(x) is not np.ndarray and any(_is_taken(walk, spot) for spot in spots):
            what = f"takes `{getattr(x, '__name__', 'a function')}` for more than a call"
        else:
            continue
        walk.stand_ins.drop(x)
        walk.unread[id(x)] = Inspects(f"it asks for types, and {what}")


def _is_taken(walk: Walk, spot: Spot) -> bool:
    """Could code take what is in a spot for more than a call?"""
    name, taken = spot.name, walk.of_c.taken
    if isinstance(spot, BuiltinName):        # of functions that are only called
        return False
    if isinstance(spot, GlobalName):
        modules = [id(m) for m in walk.modules if vars(m) is spot.owner]
        return (id(spot.owner), name) in walk.of_c.taken_globals or any(
            taken.has(i, name, walk.modules.only_named) for i in modules)
    return not isinstance(spot, NAMED) or type(name) is not str \
        or name in taken.of_anything or name in walk.of_c.texts \
        or name not in walk.met_code.attributes
