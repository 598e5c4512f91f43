"""Holds back from the walk what no code within reach names.

An instance leads the walk to its class, for its methods. But its `__init__` ran when it was made,
and a `reset` that only others call does not run in the traced function. What these draw, open or
write does not matter. The walk follows them after all where code could run them:

- it names one of them,
- it meets the class by another way than an instance,
- it looks up names,
- or it asks something for its class and does more with that than to compare or name it. Methods
  that dataclasses write do no more.

If such a method is called nevertheless, the watch over the run refuses the recording.

Objects in attributes are held back, too: a trainer holds its environment and its log beside the
model that its step trains. They are compared by identity, and not by what is in them. Where code
that the walk has not read could come to them, as `copy.copy` does, the watch refuses the recording:
see `incomparable_objects.py`. The state of an optimizer is held back where a function only drops
gradients by it, such as a closure that L-BFGS calls.
"""
from __future__ import annotations

import functools
import logging
import sys
import types
import weakref
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any

from whet.tensor import Tensor
from whet.tensor_base import is_strided

from ..values.code_origin import is_our_class, users
from ..values.immutable_types import PLAIN
from ..values.instance_state import own_dict
from .container_places import Entries
from .object_places import SelfDescription

if TYPE_CHECKING:
    from .outside_walk import Walk

Held = dict[str, Any]
# special names that an object which is there already is not asked for by syntax, but by functions,
# such as `copy.replace`: dataclasses have `__replace__` from Python 3.13 on
ASKED_BY_NAME = frozenset(("__init__", "__replace__"))
# how code takes an object apart without naming what it has
TAKING_APART = frozenset(("__dict__", "__getstate__", "__reduce__", "__reduce_ex__", "__slots__"))
# methods of `object` that depend on an object's address
IDENTITIES = frozenset(("__hash__", "__repr__", "__str__", "__format__", "__eq__", "__ne__"))


def may_be_held_back(c: type) -> set[str]:
    """The names of methods of a user's class that can be held back. Methods that bases of others
    have may be called by these, and special methods by Python."""
    own = {k for b in c.__mro__ if users(b) for k in vars(b)}
    others = {k for b in c.__mro__ if not users(b) for k in vars(b)}
    return {k for k in own - others
            if not (k.startswith("__") and k.endswith("__"))} | ASKED_BY_NAME


def hold_back(b: type, names: Set[str]) -> Held:
    """The plain functions that the body of a class has under these names."""
    return {k: f for k in names if type(f := vars(b).get(k)) is types.FunctionType}


def attributes_to_hold_back(x: Any) -> Held:
    """The attributes of an object that only the user's code can name and that lead to other
    objects. None of an object of Python's own, which may show all that it has."""
    known, attributes = names_that_others_use(type(x)), own_dict(x)
    if known is None:
        return {}
    found = {
        name: y for name, y in attributes.items()
        if type(y) not in PLAIN and type(name) is str and name not in known
        and not name.startswith("__")
        and (is_strided(y) and not is_member(x, name)
             or not any(map(is_our_class, type(y).__mro__)))}
    elsewhere = {id(y) for name, y in attributes.items() if name not in found}
    return {name: y for name, y in found.items() if id(y) not in elsewhere}


def attributes_named_by_few(x: Any) -> Held:
    """The attributes of an object of ours to which only a few names lead: their own, and those of
    methods that read them."""
    return {name: y for name in names_that_lead_to(x) if (y := vars(x).get(name)) is not None}


def names_that_lead_to(x: Any) -> dict[str, frozenset[str]]:
    """The names that lead to some attributes of an object of ours; of others nothing is known."""
    known: dict[str, frozenset[str]] = getattr(type(x), "_named_by", {}) if any(
        map(is_our_class, type(x).__mro__)) else {}
    return known


def ours_could_come_to(walk: Walk) -> bool:
    """Is there another object of ours within reach, as a trainer or a scaler of losses, whose code
    could have an optimizer take a step?"""
    return any("step" in names_in_module_of(t) for t in walk.classes.frameworks
               if isinstance(t, type)
               and t is not Tensor and not hasattr(t, "_named_by"))


_USED_BY_OTHERS: weakref.WeakKeyDictionary[type, frozenset[str] | None] = (
    weakref.WeakKeyDictionary())


def names_that_others_use(t: type) -> frozenset[str] | None:
    """The attributes of instances that code other than the user's may ask for; None if it may ask
    for all."""
    if t not in _USED_BY_OTHERS:
        others = [b for b in t.__mro__ if not users(b) and b.__module__ in sys.modules]
        _USED_BY_OTHERS[t] = frozenset[str]().union(
            *map(names_in_module_of, others), *map(vars, others)
        ) if users(t) or is_our_class(t) else None
    return _USED_BY_OTHERS[t]


@functools.cache
def names_in_module_of(c: type) -> frozenset[str]:
    """The names that code uses in the module of a class that is not the user's."""
    if c.__module__ == "builtins":
        return frozenset()
    return frozenset(name for code in _codes(vars(sys.modules[c.__module__])) for name in (
        *code.co_names, *(x for x in code.co_consts if type(x) is str)))


def _codes(names: Any) -> Iterator[types.CodeType]:
    for x in list(names.values()):
        if isinstance(x, type) and x.__module__ == names.get("__name__"):
            yield from _codes({**vars(x), "__name__": None})
        for f in (x, *(getattr(x, k, None) for k in ("fget", "fset", "__func__"))):
            if isinstance(f, types.FunctionType):
                yield from _nested(f.__code__)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _nested(c)


def is_member(x: Any, name: str) -> bool:
    """Is an attribute of an object a parameter, a buffer or a layer of it?"""
    members = sys.modules.get("whet.nn.attribute_names")
    return members is not None and members.is_member(x, name)


def only_set(walk: Walk) -> set[str]:
    """The names of attributes that code within reach sets, and never asks for."""
    return {k for k in walk.met_code.attributes - walk.met_code.asked_for if not k.startswith("__")}


def _any_method(walk: Walk) -> bool:
    """Could code run a method that it does not name?"""
    facts = walk.facts
    return bool(facts.looks_up_names or facts.takes_classes
                or walk.callables.are_asked_for_names)


def takes_objects_apart(walk: Walk) -> bool:
    """Could code come to attributes that it does not name?"""
    return _any_method(walk) or not TAKING_APART.isdisjoint(walk.met_code.attributes)


def tells_identities(walk: Walk) -> bool:
    """Could code find out the identity of an object past the methods of its class? It would need
    the name of a method of `object`, in code or in a text, or a list of all names."""
    met = walk.met_code
    is_named = walk.facts.lists_names or not IDENTITIES.isdisjoint(met.attributes)
    return is_named or (walk.facts.looks_up_names or met.made_names.could_be_any) and any(
        type(x) is str and x in IDENTITIES
        for p in walk.places if type(p) is not SelfDescription
        for x in (*p.objects, *(p.owner if type(p) is Entries else ())))


def release_held_back(walk: Walk) -> bool:
    """Let the walk follow what is held back but could be run or read after all. True if there was
    anything. Tensors come last, because code that is only met now may turn out to set theirs."""
    asked_for = walk.met_code.asked_for
    return _go_on(walk, asked_for) or _go_on(walk, asked_for, only_set(walk))


def _go_on(walk: Walk, named: Set[str], only_set: Set[str] | None = None) -> bool:
    """Let the walk follow what is held back under these names. With `only_set`, also tensors under
    other names than these, because a backward comes to them without a name."""
    any_method, anything = _any_method(walk), takes_objects_apart(walk)
    found = []
    for i, held in list(walk.held_back.items()):
        x = walk.seen.get(i)
        names: Set[str] = (held.keys() & named) | walk.met_code.made_names.asked_of(x, held)
        if not issubclass(type(x), type):
            names |= {k for k, by in names_that_lead_to(x).items() if k in held and (
                not by.isdisjoint(named) or ours_could_come_to(walk))}
        if type(x) is types.FunctionType:    # One that does not run: its variables are not read.
            names |= held.keys() - {"__closure__"} if walk.callables.are_asked_for_names else set()
        elif issubclass(type(x), logging.Logger):
            pass                             # such an object is not taken apart
        elif any_method if issubclass(type(x), type) else anything:
            names = held.keys()
        elif only_set is not None:
            names |= {k for k, y in held.items() if is_strided(y) and k not in only_set}
        if names:
            found += [held[k] for k in sorted(names)]
            walk.held_back[i] = {k: f for k, f in held.items() if k not in names}
    walk.stack += found
    return bool(found)
