"""What instances and values of other kinds lead to, on the walk over what a function can reach."""
from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import logging
import os
import pathlib
import random
import re
import types
import uuid
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.autograd import modes
from whet.random import Generator
from whet.utils.hooks import Hooks

from ..refusals.reasons import Calls, Draws, Reaches
from ..refusals.type_names import full_thing, thing
from ..stand_ins.streams_and_functions import StandIn
from ..values.code_origin import origin_of_class, users
from ..values.immutable_types import CONSTANT, PLAIN
from ..values.instance_state import base_with_hidden_state, has_dict, own_dict, slots_of
from . import allowed_calls as known
from .array_places import ArrayContents
from .context_places import ContextValue, default_of
from .name_places import Attribute, AttributesDict
from .object_places import TypeOf
from .unnamed_objects import attributes_named_by_few, attributes_to_hold_back
from .visitors import Unwatchable, Visitors
from .visitors_of_callables import class_of_instance

if TYPE_CHECKING:
    from .outside_walk import Walk

WATCHED = 1 << 16                # bytes of a NumPy array that are compared at each call
# of the standard library, what never changes: to use it is to call it, which is noticed
VALUES = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal,
          fractions.Fraction, pathlib.PurePath, re.Pattern, uuid.UUID)
# classes of the standard library that are data
DATA = frozenset((
    types.SimpleNamespace, collections.ChainMap, collections.UserDict, collections.UserList,
    contextlib.nullcontext, functools.partialmethod, functools.singledispatchmethod,
    dataclasses.InitVar, dataclasses.Field, type(dataclasses.MISSING), type(dataclasses.KW_ONLY),
    type(dataclasses._FIELD), type(dataclasses._HAS_DEFAULT_FACTORY)))  # type: ignore[attr-defined]
# what a Triton autotuner keeps for itself
NOTES_OF_TRITON = frozenset((
    "base_fn", "bench_time", "best_config", "cache", "configs_timings", "do_bench", "nargs",
    "restore_copies"))
NUMPY_FUNCTION = type(np.sum)
# a pointer that modules of C hand to each other, which Python cannot look into
CAPSULE = type(datetime.datetime_CAPI)


def _is_from(t: type, module: str) -> bool:
    origin = origin_of_class(t)
    return origin is not None and origin.module == module


LIGHT = Visitors()               # of what is not remembered: nothing else can be there
OBJECTS = Visitors()


# ---- what cannot be changed ----------------------------------------------------------------------
@LIGHT.of(types.GenericAlias, types.UnionType)
def alias(walk: Walk, x: Any) -> None:
    walk.stack += [getattr(x, "__origin__", None), *x.__args__]
    forget_type(walk, -1 - len(x.__args__))


@LIGHT.where(lambda t: issubclass(t, (np.ufunc, np.generic, NUMPY_FUNCTION))
             and not issubclass(t, np.void))
def number_or_function_of_numpy(walk: Walk, x: Any) -> None:
    walk.settings.add("numpy")
    # A function of texts has no types of this kind at all.
    if type(x) is np.ufunc and x.types and set("".join(x.types)) <= {"O", "-", ">"}:
        raise Unwatchable(Calls(f"the function behind numpy.{x.__name__}"))


@LIGHT.of_just(types.MethodDescriptorType, types.WrapperDescriptorType)
def method_of_c(walk: Walk, x: Any) -> None:
    """A method as its class has it, which takes just objects of that class."""
    walk.facts.notices_numbers |= issubclass(x.__objclass__, int | float)
    if not known.methods_compute(x.__objclass__):
        raise Unwatchable(Calls(x.__qualname__, holds=True))


@LIGHT.where(lambda t: issubclass(t, (*CONSTANT, StandIn, CAPSULE)) and not issubclass(t, np.void))
def constant(walk: Walk, x: Any) -> None:
    """It leads to nothing."""


@LIGHT.where(lambda t: _is_from(t, "triton.runtime.jit") or _is_from(t, "triton.language.core"))
def kernel_of_triton(walk: Walk, x: Any) -> None:
    """A kernel, or a type of its language. What it is made of was read when it was made."""


# ---- values --------------------------------------------------------------------------------------
@OBJECTS.where(lambda t: issubclass(t, int | float | complex | str | bytes)
               and not users(t) and not issubclass(t, enum.Enum))
def number_or_text_of_a_kind_of_its_own(walk: Walk, x: Any) -> None:
    walk.namespace(getattr(x, "__dict__", {}))


@OBJECTS.where(lambda t: _is_from(t, "typing"))
def annotation(walk: Walk, x: Any) -> None:
    if hasattr(x, "__dict__"):
        before = len(walk.stack)
        walk.named(x)
        forget_type(walk, before)


def forget_type(walk: Walk, before: int) -> None:
    """Leave `type` out of what an annotation leads to: in `type[...]` it is not called."""
    walk.stack[before:] = [x for x in walk.stack[before:] if x is not type]


@OBJECTS.where(lambda t: t is object or issubclass(t, Generator) or t is type(modes.state)
               or issubclass(t, enum.Enum) and not users(t))
def known_otherwise(walk: Walk, x: Any) -> None:
    """Draws of random numbers are recorded; the modes are a part of what tells calls apart."""


@OBJECTS.where(lambda t: issubclass(t, VALUES) and not users(t))
def value(walk: Walk, x: Any) -> None:
    if isinstance(x, decimal.Decimal):
        walk.settings.add("decimal")
    if isinstance(x, datetime.date | datetime.time):
        walk.of_c.dates = True
        walk.of_c.owners.append(x)


@OBJECTS.of(inspect.Signature)
def signature(walk: Walk, x: inspect.Signature) -> None:
    """It never changes, but what it holds may."""
    walk.lead_to(x.return_annotation, *(y for p in x.parameters.values()
                                        for y in (p.default, p.annotation)))


@OBJECTS.of(inspect.Parameter)
def parameter(walk: Walk, x: inspect.Parameter) -> None:
    """It never changes, but its default and annotation may."""
    walk.lead_to(x.default, x.annotation)


@OBJECTS.of(enum.Enum)
def member(walk: Walk, x: Any) -> None:
    """Its attributes and its value may be changed."""
    instance(walk, x)


# ---- arrays --------------------------------------------------------------------------------------
@OBJECTS.of(np.ndarray)
def numpy_array(walk: Walk, x: Any) -> None:
    if type(x) is not np.ndarray or x.nbytes > WATCHED or x.dtype.hasobject:
        what = f"a NumPy array of {x.nbytes} bytes, whose numbers may change unseen"
        walk.unread[id(x)] = Reaches(what, x, instead=Reaches.OF_ARRAYS)
        return
    walk.add(ArrayContents(x))
    walk.settings.add("numpy")


# ---- objects of the standard library -------------------------------------------------------------
@OBJECTS.of_just(random.Random)
def pythons_generator(walk: Walk, x: Any) -> None:
    """To use its numbers is to call it, which is seen."""
    walk.namespace(vars(x))
    walk.of_c.owners.append(x)


@OBJECTS.where(lambda t: issubclass(t, logging.Logger) and not users(t))
def logger(walk: Walk, x: logging.Logger) -> None:
    """Where no stand-in for it can be. To log is to call it, which is noticed."""
    held = {name: y for name, y in vars(x).items() if type(y) not in PLAIN}
    walk.held_back[id(x)] = walk.namespace(vars(x), held)


@OBJECTS.of_just(type(os.environ))
def environment(walk: Walk, x: Any) -> None:
    walk.namespace(x._data)


@OBJECTS.of_just(contextvars.ContextVar)
def context_variable(walk: Walk, x: Any) -> None:
    walk.add(ContextValue(x))
    walk.lead_to(*default_of(x))


@OBJECTS.of_just(weakref.ref)
def weak_reference(walk: Walk, x: Any) -> None:
    """Handles of hooks have those: what is held for it keeps no user object alive."""
    if x() is not None and not isinstance(x(), Hooks):
        walk.unread[id(x)] = Reaches(full_thing(type(x)), x)
        return
    walk.stack.append(x())


def _goes_on_in_python(t: type) -> bool:
    """Is `next` a method in Python of a user class? What it moves on is compared."""
    return users(t) and type(getattr(t, "__next__", None)) is types.FunctionType


@OBJECTS.where(lambda t: hasattr(t, "__next__") and not _goes_on_in_python(t))
def iterator(walk: Walk, x: Any) -> None:
    what = f"{thing(type(x))}, which moves on when it is read"
    walk.unread[id(x)] = Reaches(what, x, instead=Reaches.OF_ITERATORS)


def _is_data(t: type) -> bool:
    """An instance of a class of ours is data, of the standard library mostly not."""
    origin = origin_of_class(t)
    return origin is None or origin.is_ours or t in DATA \
        or origin.module == "argparse" and t.__name__ == "Namespace"


@OBJECTS.of(property, staticmethod, classmethod)
def descriptor(walk: Walk, x: Any) -> None:
    """One of another class than these: what it calls, and what it holds besides."""
    parts = ("fget", "fset", "fdel") if isinstance(x, property) else ("__func__",)
    base = next(b for b in (property, staticmethod, classmethod) if isinstance(x, b))
    walk.lead_to(*filter(None, (vars(base)[part].__get__(x) for part in parts)))
    instance(walk, x)


@OBJECTS.where(lambda t: _is_from(t, "triton.runtime.autotuner"))
def choice_of_triton(walk: Walk, x: Any) -> None:
    """How a kernel's constants are chosen: by what the user gave, and notes of earlier choices."""
    walk.places.append(TypeOf(x))
    walk.other_entries(own_dict(x), NOTES_OF_TRITON)


@OBJECTS.where(lambda t: not _is_data(t))
def unknown(walk: Walk, x: Any) -> None:
    draws = isinstance(x, np.random.RandomState | np.random.Generator)
    walk.unread[id(x)] = Reaches(
        full_thing(type(x)), x, instead=Draws.instead if draws else None)


# ---- instances -----------------------------------------------------------------------------------
@OBJECTS.where(lambda t: base_with_hidden_state(t) is not None)
def partly_of_c(walk: Walk, x: Any) -> None:
    base: Any = base_with_hidden_state(type(x))
    what = f"{full_thing(type(x))}, which is a kind of {base.__qualname__}"
    walk.unread[id(x)] = Reaches(what, x)


def _of_ours(t: type, name: str) -> Any:
    """What one of our own classes that a class is made of says for traces; None where none does."""
    return next((vars(b)[name] for b in t.__mro__ if name in vars(b)
                 and (origin := origin_of_class(b)) is not None and origin.is_ours), None)


@OBJECTS.of(object)
def instance(walk: Walk, x: Any) -> None:
    """An object by its attributes, and what its class does."""
    t = type(x)
    walk.places.append(TypeOf(x))
    class_of_instance(walk, t)
    walk.framework(t)
    if has_dict(x):
        walk.places.append(AttributesDict(x))
        sets_up, gathers = _of_ours(t, "_sets_up"), _of_ours(t, "_gathers")
        walk.later.sets_up |= sets_up is not None and sets_up(x)
        walk.later.gathers |= gathers is not None and gathers(x)
        skipped = _of_ours(t, "_unwatched")
        if skipped:                          # caches of our own classes
            held = walk.other_entries(own_dict(x), skipped, attributes_named_by_few(x))
        else:
            held = walk.namespace(own_dict(x), attributes_to_hold_back(x))
        if held:
            walk.held_back[id(x)] = held
    names = [name for c in t.__mro__ for name in slots_of(c)]
    if len(set(names)) < len(names):         # a name finds one of both only
        walk.unread[id(x)] = Reaches(f"{full_thing(t)}, which has two slots of one name", x)
    for name in names:
        walk.add(Attribute(x, name))
