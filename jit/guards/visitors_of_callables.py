"""What functions and classes lead to, on the walk over what a function can reach."""
from __future__ import annotations

import abc
import builtins
import contextlib
import copy
import copyreg
import functools
import os
import random
import re
import types
from collections.abc import Set
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import declared_for_tracing
from whet.tensor_base import Base

from ..refusals.reasons import Calls, Inspects
from ..stand_ins.replaced_objects import stands
from ..values.code_origin import Origin, foreign, is_compiled_function, origin_of_what, users
from . import allowed_calls as known
from . import probed_functions as asked
from .annotation_readers import reads_annotations
from .called_by_name import why_never_recorded
from .container_places import entries
from .name_places import AttributesDict, Global
from .names_in_code import EXACT, NamesInCode, could_give_a_number
from .numbers_passed_to_c import constructor_wants_numbers
from .object_places import AbstractClasses, ClassBody, FunctionParts, PartialCall
from .unnamed_objects import ASKED_BY_NAME, Held, hold_back, may_be_held_back
from .visitors import Visitors

if TYPE_CHECKING:
    from .outside_walk import Walk

NUMBERS_AND_TEXTS = np.number, np.bool_, np.flexible, np.object_
# of which methods may be called, unlike those of other foreign ones
READABLE = Base, np.ndarray, np.void, ContextVar, random.Random, *known.LOCKS
DISPATCH = getattr(functools.singledispatch(len), "__code__")
DISPATCHING = "dispatch", "register", "_clear_cache"
HOLDING = "__defaults__", "__kwdefaults__", "__closure__"
WRAPPED = types.FunctionType, types.MethodType, functools.partial
TRACES = object()                # that a class says who makes traced functions
_words, _fields = re.compile(r"\w+").findall, re.compile(r"{(.*?)}").findall
CALLABLES = Visitors()


def named_in(text: str) -> set[str]:
    """The names that a text could stand for: of getattr, attrgetter, a pattern or format."""
    fields = _words(" ".join(_fields(text))) if "{" in text else ()
    return {*text.split("."), *fields}


def _note_from_table(walk: Walk, x: Any) -> Origin | None:
    """Note what the table says of a function or class, and what that is found to do; whose it
    is."""
    origin = origin_of_what(x)
    if origin is None:
        return None
    if not (known.may_get_numbers(x, origin) or stands(x)):
        if why_never_recorded(x, origin) is None:
            walk.facts.notices_numbers = True
        else:
            walk.callables.never_recorded[id(x)] = x
    walk.of_c.dates |= origin.top.lstrip("_") == "datetime"
    walk.builtins.are_types |= x is int or x is float
    setting = origin.top.lstrip("_")
    if setting in ("numpy", "decimal") and x is not np.ndarray:
        walk.settings.add(setting)
    if known.can_be_asked(x, origin):
        if asked.wants_pythons_numbers(x):
            walk.callables.want_numbers[id(x)] = x
        walk.facts.notices_lists |= asked.bypasses_list_methods(x)
        walk.facts.looks_up_names |= asked.looks_up_names(x)
        walk.facts.lists_names |= asked.lists_names(x)
    walk.watchers.were_met |= known.tells_who_watches(x)
    if isinstance(x, type) and issubclass(x, np.generic) and x is not np.generic \
            and not issubclass(x, NUMBERS_AND_TEXTS):
        walk.unread[id(x)] = Inspects("it asks NumPy for dates, of which some are the clock's")
    return origin


@CALLABLES.of_just(types.BuiltinFunctionType)
def function_of_c(walk: Walk, x: Any) -> None:
    if x is id:
        walk.unread[id(x)] = Inspects("it keeps the function `id`")
    _note_from_table(walk, x)
    bound(walk, x)


@CALLABLES.of_just(types.MethodWrapperType)
def operator_of_c(walk: Walk, x: Any) -> None:
    """Its calls are not noticed. One of a number takes just Python numbers."""
    walk.facts.notices_numbers |= isinstance(x.__self__, int | float)
    walk.stack.append(x.__self__)


def bound(walk: Walk, x: Any) -> None:
    """Calls of the methods of others are seen."""
    of = x.__self__
    if not isinstance(of, types.ModuleType | type) \
            and (not foreign(type(of)) or isinstance(of, READABLE)):
        walk.stack.append(of)


@CALLABLES.of_just(types.FunctionType)
def function(walk: Walk, fn: types.FunctionType) -> None:
    origin = _note_from_table(walk, fn)
    if origin is not None and origin.is_pythons:
        walk.callables.are_asked_for_names |= reads_annotations(fn)
        if known.looks_at_things(origin):
            walk.facts.looks_up_names |= asked.looks_up_names(fn)
            walk.facts.lists_names |= asked.lists_names(fn)
        asked_for = ASKED_BY_NAME.intersection(fn.__code__.co_consts)
        walk.met_code.attributes |= asked_for
        walk.met_code.asked_for |= asked_for
    if origin is not None and origin.is_ours:
        for inner in wrapped(fn):
            walk.stack.append(inner)
            walk.named(fn)
        if fn.__code__ in declared_for_tracing.READING_UNNAMED:      # it runs without being named
            walk.met_code.asked_for.add(fn.__name__)
    elif fn.__code__ is DISPATCH:            # its cases: what it found before is found again
        walk.namespace(fn.registry)          # type: ignore[attr-defined]
        walk.other_entries(vars(fn), DISPATCHING)
    elif fn is os.getenv:                    # the purity watch looks at what others do
        walk.stack.append(os.environ)
    elif origin is not None and _copies(fn) and id(copyreg.dispatch_table) not in walk.seen:
        walk.seen[id(copyreg.dispatch_table)] = copyreg.dispatch_table
        walk.places.append(entries(copyreg.dispatch_table))
        walk.stack += [f for f in copyreg.dispatch_table.values() if origin_of_what(f) is None]
    elif walk.met_code.leaves_out(*codes_around(fn)):
        unread_function(walk, fn)
    elif origin is None or any(map(users, wrapped(fn))):
        walk.add(FunctionParts(fn))
        walk.stack += fn.__closure__ or ()
        walk.named(fn)
        if origin is None:
            walk.code(fn.__code__, fn.__globals__, variables(fn))


def _copies(fn: types.FunctionType) -> bool:
    """Is this a function that copies objects, or one of a module that has such functions?"""
    names = fn.__globals__
    return names.get("dispatch_table") is copyreg.dispatch_table or names.get("copy") is copy


def unread_function(walk: Walk, fn: types.FunctionType) -> None:
    """A function that does not run. What it holds is read only by code that names it."""
    held = {name: x for name in HOLDING if (x := getattr(fn, name)) is not None}
    walk.add(FunctionParts(fn), held.values())
    if vars(fn):
        walk.places.append(AttributesDict(fn))
        held |= walk.namespace(vars(fn), vars(fn))
    walk.held_back[id(fn)] = held
    if origin_of_what(fn) is not None:
        walk.met_code.wrappers.append(fn)


def codes_around(fn: types.FunctionType) -> list[types.CodeType]:
    """The user code that a function runs if it is called. It is the function's own, or, if that is
    not the user's, that of the functions that it wraps. Empty if these are not known."""
    if origin_of_what(fn) is None:
        return [fn.__code__]
    inner = [x for x in wrapped(fn) if users(x)]
    known = all(type(x) is types.FunctionType for x in inner)
    return [x.__code__ for x in inner] if known else []


def variables(fn: types.FunctionType) -> dict[str, Any]:
    """The variables of enclosing functions that a function reads, as far as they are set."""
    found = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def wrapped(fn: types.FunctionType) -> list[Any]:
    """The functions that a wrapper calls, as far as its variables hold them."""
    return [x for x in variables(fn).values() if isinstance(x, WRAPPED)]


@CALLABLES.where(is_compiled_function)
def compiled_function(walk: Walk, x: Any) -> None:
    """Where a stand-in can be, which notices that it is called."""
    walk.unread[id(x)] = Calls(f"{x.__module__}.{x.__name__}", holds=True)


@CALLABLES.of_just(types.MethodType)
def method(walk: Walk, x: types.MethodType) -> None:
    walk.lead_to(x.__func__, x.__self__)


@CALLABLES.of_just(functools.partial)
def partial(walk: Walk, x: functools.partial[Any]) -> None:
    walk.add(PartialCall(x))


@CALLABLES.of_just(staticmethod, classmethod)
def method_of_a_class(walk: Walk, x: Any) -> None:
    walk.lead_to(x.__func__)
    walk.named(x)


@CALLABLES.of_just(property)
def property_(walk: Walk, x: property) -> None:
    walk.lead_to(*[f for f in (x.fget, x.fset, x.fdel) if f is not None])


@CALLABLES.of_just(functools.cached_property)
def cached_property(walk: Walk, x: Any) -> None:
    walk.lead_to(x.func)


@CALLABLES.of(type)
def class_(walk: Walk, c: type) -> None:
    """What its body and those of its bases hold, as far as they are the user's. Nobody sees a type
    of C being called."""
    if not known.only_makes_an_object(c):
        walk.unread[id(c)] = Calls(f"{c.__module__}.{c.__qualname__}", holds=True)
        return
    walk.facts.notices_numbers |= users(c) and constructor_wants_numbers(c)
    bodies(walk, c, frozenset())


def class_of_instance(walk: Walk, c: type) -> None:
    """The class of something that is there already: without the methods that no code names."""
    if id(c) not in walk.seen:
        bodies(walk, c, may_be_held_back(c) if users(c) else frozenset())
        walk.seen[id(c)] = c


def bodies(walk: Walk, c: type, aside: Set[str]) -> None:
    """What a class and its bases hold, the functions of these names aside."""
    _note_from_table(walk, c)
    if c is type:                            # by another name
        walk.facts.notices_numbers = walk.facts.notices_types = True
    if isinstance(c, abc.ABCMeta):           # register() makes subclasses
        abstract_classes(walk)
    for b in c.__mro__:
        if b is not object and users(b):
            walk.met_code.made_names.note_methods(b, map(code_of_method, vars(b).values()))
            is_met = id(b) in walk.seen and id(b) not in walk.classes.of_instances
            held = hold_back(b, frozenset() if is_met else aside) | _as_inherited(b)
            walk.held_back[id(b)] = held
            of_instances = walk.classes.of_instances
            (of_instances.add if aside and not is_met else of_instances.discard)(id(b))
            walk.add(ClassBody(b), held.values())
            walk.seen[id(b)] = b
            walk.facts.notices_numbers |= any(
                _gives_numbers(vars(b)[k]) for k in EXACT & vars(b).keys())
            if type(b) is not type and users(type(b)):
                walk.stack.append(type(b))
    walk.framework(c)


def _as_inherited(b: type) -> Held:
    """What the body of a user's class has from bases that are not the user's, as if by inheritance.
    A class of `enum.IntEnum` has `Enum.__new__` so, and `int.__repr__` as `__str__`."""
    bases = {id(x) for c in b.__mro__ if not users(c) for x in vars(c).values()}
    return {name: x for name, x in vars(b).items() if id(x) in bases and type(x) in (
        types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)}


def abstract_classes(walk: Walk) -> None:
    """What abstract classes know of others."""
    if not walk.classes.has_abstract:
        walk.classes.has_abstract = True
        walk.add(AbstractClasses())


def look_up_unnamed(walk: Walk, names: NamesInCode) -> None:
    """What code depends on without naming it: builtins that statements call, and what is registered
    as a sequence or a mapping."""
    walk.places += [Global(vars(builtins), name) for name in names.implied
                    if walk.builtins.first(name)]
    if names.matches:
        abstract_classes(walk)


def _gives_numbers(method: Any) -> bool:
    """Could what a class has for one of Python's own methods return a Number?"""
    code = code_of_method(method)
    return could_give_a_number(code) if code is not None else method is not None and users(method)


def code_of_method(x: Any) -> types.CodeType | None:
    """The code of what a class holds, if that gets an instance, or the class, as its first
    argument."""
    x = x.fget if type(x) is property else x.__func__ if type(x) is classmethod else x
    while getattr(type(x), "_traces", None) is TRACES or type(x) is types.FunctionType \
            and type(vars(x).get("__wrapped__")) is types.FunctionType:
        x = vars(x)["__wrapped__"] if type(x) is types.FunctionType else x.fn
    return x.__code__ if type(x) is types.FunctionType else None


@CALLABLES.where(lambda t: getattr(t, "_traces", None) is TRACES)
def traced(walk: Walk, x: Any) -> None:
    """A traced function is what it traces."""
    walk.stack.append(x.fn)
