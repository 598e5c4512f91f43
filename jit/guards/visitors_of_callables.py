"""What functions and classes lead to, on the walk over what a function can reach."""
import abc
import functools
import operator
import os
import random
import re
import types
from contextvars import ContextVar
from typing import Any

import numpy as np
from whet.tensor_base import Base

from ..capture.outside_calls import stands
from ..report.reasons import Inspects
from .object_places import AbstractClasses, ClassBody, FunctionParts, PartialCall
from .origin import computes, foreign, module_of, ours, standard
from .visitors import Unwatchable, Visitors

# modules that ask functions and classes for what they say of themselves, in the name of others
ASKING = frozenset(("dataclasses", "inspect", "typing"))
# modules whose functions take numbers as they are, even if they are none of Python's
LENIENT = frozenset("""
    builtins logging warnings whet numpy math cmath operator _operator itertools _functools
    functools collections _collections _collections_abc abc _abc typing types enum dataclasses contextlib
    contextvars copy copyreg _heapq _bisect _struct os sys inspect weakref argparse numbers io _io
    string re _thread keyword random _random""".split())
# of which methods may be called, unlike those of other foreign ones
READABLE = Base, np.ndarray, np.void, ContextVar, random.Random
DISPATCH = functools.singledispatch(len).__code__
DISPATCHING = "dispatch", "register", "_clear_cache"
TRACES = object()                # that a class says who makes traced functions
_words, _fields = re.compile(r"\w+").findall, re.compile(r"{(.*?)}").findall
CALLABLES = Visitors()


def named_in(text: str) -> set[str]:
    """The names that a text could stand for: of getattr, attrgetter, a pattern or format."""
    fields = _words(" ".join(_fields(text))) if "{" in text else ()
    return {*text.split("."), *fields}


def _known_by_name(walk: Any, x: Any) -> None:
    """What is known of a function or class by where it is from."""
    module = module_of(x).partition(".")[0]
    walk.exact |= standard(module) and module not in LENIENT and not stands(x)
    setting = module.lstrip("_")
    if setting in ("numpy", "decimal") and x is not np.ndarray:
        walk.settings.add(setting)
    walk.direct |= x.__module__ == "_heapq"


@CALLABLES.of_just(types.BuiltinFunctionType)
def function_of_c(walk: Any, x: Any) -> None:
    if x is id:
        raise Unwatchable(Inspects("it keeps the function `id`"))
    _known_by_name(walk, x)
    walk.looks_up |= x in (getattr, setattr, vars)
    if isinstance(x.__self__, types.ModuleType) and not computes(x.__module__ or "", x.__name__):
        walk.passable = x                    # of a bound method, what it is bound to is looked at
    bound(walk, x)


@CALLABLES.of_just(types.MethodWrapperType)
def bound(walk: Any, x: Any) -> None:
    """Calls of the methods of others are seen."""
    of = x.__self__
    if not isinstance(of, types.ModuleType | type) \
            and (not foreign(type(of)) or isinstance(of, READABLE)):
        walk.stack.append(of)


@CALLABLES.of_just(types.FunctionType)
def function(walk: Any, fn: types.FunctionType) -> None:
    _known_by_name(walk, fn)
    walk.asking |= module_of(fn).partition(".")[0] in ASKING
    if ours(fn.__code__):
        wrapped_by_ours(walk, fn)
    elif fn.__code__ is DISPATCH:            # its cases: what it found before is found again
        walk.namespace(fn.registry)          # type: ignore[attr-defined]
        walk.other_entries(vars(fn), DISPATCHING)
    elif standard(fn.__module__ or "") and fn.__module__ != "__main__" \
            and standard(fn.__globals__.get("__name__", "")):
        if fn is os.getenv:                  # the purity watch looks at what others do
            walk.stack.append(os.environ)
    else:
        walk.add(FunctionParts(fn))
        walk.stack += fn.__closure__ or ()
        walk.named(fn)
        # what a wrapper of the standard library's wraps is on the stack
        if not standard(fn.__globals__.get("__name__", "")):
            walk.code(fn.__code__, fn.__globals__)


def wrapped_by_ours(walk: Any, fn: types.FunctionType) -> None:
    """A decorator of ours: what it wraps."""
    for cell in fn.__closure__ or ():
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        if isinstance(inner, types.FunctionType | types.MethodType | functools.partial):
            walk.stack.append(inner)
            walk.named(fn)


@CALLABLES.of_just(types.MethodType)
def method(walk: Any, x: types.MethodType) -> None:
    walk.stack += [x.__func__, x.__self__]


@CALLABLES.of_just(functools.partial)
def partial(walk: Any, x: "functools.partial[Any]") -> None:
    walk.add(PartialCall(x))
    walk.named(x)
    f = x.func
    if type(f) is types.BuiltinFunctionType \
            and (isinstance(f.__self__, types.ModuleType) or foreign(type(f.__self__))):
        walk.passed_on(f)


@CALLABLES.of_just(staticmethod, classmethod)
def method_of_a_class(walk: Any, x: Any) -> None:
    walk.stack.append(x.__func__)
    walk.named(x)


@CALLABLES.of_just(property)
def property_(walk: Any, x: property) -> None:
    walk.stack += [f for f in (x.fget, x.fset, x.fdel) if f is not None]


@CALLABLES.of_just(functools.cached_property)
def cached_property(walk: Any, x: Any) -> None:
    walk.stack.append(x.func)


@CALLABLES.of(type)
def class_(walk: Any, c: type) -> None:
    """A class of the user's: what its body and those of its bases hold."""
    _known_by_name(walk, c)
    walk.looks_up |= c is operator.attrgetter
    if c is type:                            # by another name
        walk.exact = walk.typed = True
    if isinstance(c, abc.ABCMeta) and not walk.abstract:
        walk.abstract = True                 # register() makes subclasses
        walk.add(AbstractClasses())
    for b in c.__mro__:
        if b is not object and not standard(module_of(b)):
            walk.seen[id(b)] = b
            walk.add(ClassBody(b))
            if type(b) is not type and not standard(module_of(type(b))):
                walk.stack.append(type(b))
    walk.framework(c)


@CALLABLES.where(lambda t: getattr(t, "_traces", None) is TRACES)
def traced(walk: Any, x: Any) -> None:
    """A traced function is what it traces."""
    walk.stack.append(x.fn)
