"""Functions and types that must not get what stands for a number, where code does nothing but call
them by a name of a module: under that name a run finds what hands on plain numbers.

A module of others keeps its types: what another thread pickles meanwhile says where its type is.
"""
from __future__ import annotations

import builtins
import collections
import types
from typing import TYPE_CHECKING, Any

from ..refusals.reasons import Calls, Reason
from ..values.code_origin import Origin, origin_of
from . import allowed_calls as known
from .bytecode import Instruction, instructions, is_called, isinstance_classes
from .bytecode_calls import reaches_its_call
from .name_places import Attribute, Global
from .names_in_code import TAKING
from .object_places import TypeOf

if TYPE_CHECKING:
    from .outside_walk import Walk
    from .spots import Spot

LOADING = TAKING | {"LOAD_GLOBAL", "LOAD_NAME"}


def spots_of_calls(walk: Walk, f: Any) -> list[Spot]:
    """The spots in which code finds a function or a type, if all code within reach only calls it.
    Empty if some code could do more with it, or if it cannot be replaced there during a run."""
    found = [(p, i) for p in walk.places for i, x in enumerate(p.objects) if x is f]
    named = {p.name_of(i) for p, i in found if type(p) is Global}
    if id(f) in walk.callables.in_no_place or not all(_may_lie_there(p, f) for p, _ in found) \
            or not named.isdisjoint(walk.of_c.texts) \
            or any(_is_taken(walk, code, name) for code in walk.met_code.all for name in named):
        return []
    spots = [p.spot(i) for p, i in found if type(p) is Global]
    return [s for s in spots if s is not None]


def calls_can_be_read(p: Any) -> bool:
    """Can code be read for all calls of what is in this place? It can for globals, for the
    factory of a defaultdict, and for the class of an object."""
    return type(p) in (Global, TypeOf) \
        or type(p) is Attribute and type(p.owner) is collections.defaultdict


def is_of_self(walk: Walk, code: types.CodeType, loaded: Instruction) -> bool:
    """Is this the first argument of a method, of which an attribute is asked for?"""
    return (walk.met_code.is_method(code)
            and loaded[0] == "LOAD_FAST" and loaded[2] == code.co_varnames[0])


def _may_lie_there(p: Any, f: Any) -> bool:
    """Can a function that passes plain numbers on replace this one here, or need it not?"""
    return calls_can_be_read(p) and (type(p) is not Global or p.owner is not vars(builtins) and (
        not isinstance(f, type) or origin_of(p.owner) is None))


def _is_taken(walk: Walk, code: types.CodeType, name: str) -> bool:
    """Does some code do more with what has this name than call it, or ask by `isinstance`?"""
    if name not in code.co_names:
        return False
    found = list(instructions(code))
    by_isinstance = isinstance_classes(found)
    return any(kind in LOADING and value == name and i not in by_isinstance
               and not is_of_self(walk, code, found[i - 1])
               and not (is_called(found, i) and reaches_its_call(found, i))
               for i, (kind, _, value) in enumerate(found))


def why_never_recorded(f: Any, origin: Origin) -> Reason | None:
    """Why a call of a function is no part of a recording, whatever it is given; None if it may be.

    >>> import json, math, statistics
    >>> from whet.jit.guards.called_by_name import why_never_recorded
    >>> from whet.jit.values.code_origin import origin_of_what
    >>> found = [why_never_recorded(f, origin_of_what(f))
    ...          for f in (json.dump, math.sin, statistics.mean)]
    >>> [reason and reason.what for reason in found]
    ['it calls json.dump', None, None]
    """
    if type(f) is types.FunctionType:
        return (None if known.code_only_computes(origin, f.__code__)
                else Calls(f"{origin.module}.{f.__code__.co_name}"))
    return known.problem_of_call(f) if type(f) is types.BuiltinFunctionType else None
