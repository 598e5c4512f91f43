"""What is known of the standard library and of NumPy: one table, with a reason for each group.

What only computes is listed; all that is not listed is taken to act on the world or to read it.
Functions and classes are known as the objects that they are, whatever name leads to them. Modules
are known by names, for which the import system vouches: see `origin.py`.
"""
import _thread
import builtins
import collections
import contextvars
import datetime
import gc
import inspect
import math
import operator
import os
import random
import re
import sys
import threading
import types
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np
from whet.tensor_base import Base

from ..report.reasons import Calls, Draws, Reason
from .origin import Origin, origin_of_module, origin_of_what


class Objects:
    """Some objects, known by identity."""
    __slots__ = ("held",)

    def __init__(self, objects: Iterable[Any]) -> None:
        self.held = {id(x): x for x in objects}

    def __contains__(self, x: object) -> bool:
        return id(x) in self.held


def _objects(of: Any, names: str) -> list[Any]:
    """What a module or a class has under these names, as far as it has them."""
    return [vars(of)[name] for name in names.split() if name in vars(of)]


def _codes(functions: Iterable[Any]) -> frozenset[types.CodeType]:
    return frozenset(inspect.unwrap(f).__code__ for f in functions)


# ---- functions of C that only compute ------------------------------------------------------------
# They give a value of what they are given; those that change an object change what is compared.
COMPUTE = Objects(_objects(builtins, """
    len isinstance issubclass getattr hasattr setattr delattr abs min max sum any all sorted iter
    next callable divmod pow round chr ord format repr ascii bin hex oct __build_class__ id globals
    vars"""))
COMPUTING_MODULES = frozenset((
    "math", "cmath", "operator", "_operator", "itertools", "_functools", "_collections", "_abc",
    "_struct", "_bisect", "_heapq"))
READ_FILES = Objects((np.fromfile,))
# Methods of these types: what they change is compared, and they read nothing else.
OWNERS: tuple[type, ...] = (
    list, dict, set, frozenset, str, bytes, tuple, int, float, complex, bool, slice, range,
    type(None), types.MappingProxyType, type, collections.deque, collections.OrderedDict,
    collections.defaultdict, BaseException, types.CellType, Base, type({}.keys()),
    type({}.values()), type({}.items()), np.generic, np.ufunc, datetime.date, datetime.time,
    datetime.timedelta, re.Pattern, re.Match)
# Methods of dates that go by the clock, the place's time or its words.
OF_THE_PLACE = frozenset("timestamp astimezone strftime ctime timetuple utctimetuple".split())
# Methods of arrays that write files.
OF_FILES = frozenset(("tofile", "dump"))
# Methods of classes that make an object of what they are given.
MAKING = frozenset(("__new__", "fromkeys"))

# ---- functions of Python -------------------------------------------------------------------------
# They compute, and change only what they are given.
QUIET = frozenset("""
    contextlib functools dataclasses collections typing abc enum operator types copy numbers
    itertools keyword reprlib _collections_abc inspect bisect heapq statistics fractions string
    textwrap re _weakrefset weakref""".split())
# The environment is compared where it is read, and who sets a variable is seen.
_ENVIRONMENT = [
    os.getenv, *_objects(type(os.environ), "__getitem__ __setitem__ __delitem__"),
    *(f for f in vars(os.environ).values() if type(f) is types.FunctionType)]
OF_THE_ENVIRONMENT = _codes(_ENVIRONMENT)
# Parts of NumPy that compute, as far as the functions of C do that they call.
COMPUTING = ("numpy._core", "numpy.lib._", "numpy.linalg", "numpy.fft", "numpy.polynomial")
# What such code calls besides: hashes of text, and what keeps threads apart.
BENEATH = Objects((
    hash, sys.intern, os.fspath, threading.get_ident, _thread.allocate_lock))
OF_THREADS: tuple[type, ...] = (_thread.LockType, _thread.RLock)

# ---- what is done with what they are given -------------------------------------------------------
# They read or join lists past their methods, where a list that only grows would be asked.
PAST_METHODS = Objects((operator.concat, operator.iconcat))
MODULES_PAST_METHODS = frozenset(("_heapq",))
# They take a number of Python's own and nothing that looks like one, or tell one from another.
STRICT = Objects((math.ldexp, operator.is_, operator.is_not, pow, random.Random,
                  random.Random.seed))
# The functions of these take numbers of any kind: they compute with them by their operators, ask
# for a float or an index, which is noted, or only hold them.
LENIENT = frozenset("""
    builtins logging warnings whet numpy math cmath operator _operator itertools _functools
    functools collections _collections _collections_abc abc _abc typing types enum dataclasses
    contextlib contextvars copy copyreg _heapq _bisect _struct os sys inspect weakref argparse
    numbers io _io string re reprlib _thread keyword random _random""".split())
# They ask functions and classes for what these say of themselves, in the name of others.
ASKING = frozenset(("dataclasses", "inspect", "typing"))
# They look up names that are made at run time.
LOOK_UP = Objects((getattr, setattr, vars, operator.attrgetter))
# Names that they are asked for go by what nobody compares.
OF_THE_CLOCK = Objects((np.datetime64,))
# They tell who watches, what is alive, and when that ends. A collection alone tells nothing.
WATCHING = Objects((
    *_objects(sys, "getprofile setprofile getrefcount"),
    *(f for f in vars(gc).values() if callable(f) and f is not gc.collect),
    *_objects(weakref, """
        ref proxy finalize WeakSet WeakMethod WeakKeyDictionary WeakValueDictionary
        getweakrefcount getweakrefs""")))
WATCHING_MODULES = frozenset(("weakref", "cProfile"))


def only_computes(f: Any) -> bool:
    """Is a function of C one that only computes?

    >>> import math, os
    >>> from whet.jit.guards.standard_library import only_computes
    >>> only_computes(math.sin), only_computes(len), only_computes(os.remove), only_computes(print)
    (True, True, False, False)
    """
    if f in COMPUTE:
        return True
    origin = origin_of_what(f)
    return origin is not None and f not in READ_FILES and (
        origin.module in COMPUTING_MODULES or origin.top == "numpy" or origin.is_ours)


def problem_of_call(f: Any) -> Reason | None:
    """Why a call of a function or bound method of C can be no part of a recording, or None.

    >>> import os
    >>> from whet.jit.guards.standard_library import problem_of_call
    >>> problem_of_call([].append), problem_of_call(os.getpid).what
    (None, 'it calls posix.getpid')
    """
    owner = getattr(f, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = f.__module__ or getattr(owner, "__name__", None)
        return None if only_computes(f) else Calls(f"{module}.{f.__name__}")
    if isinstance(owner, type):
        return None if makes_an_object(f, owner) else Calls(f"{owner.__qualname__}.{f.__name__}")
    what = f"{type(owner).__qualname__}.{f.__name__}"
    # what a variable holds is compared; generators from outside are not let in
    if isinstance(owner, contextvars.ContextVar | types.GeneratorType):
        return None
    if isinstance(owner, np.ndarray):        # what else a method changes is compared
        return Calls(what) if f.__name__ in OF_FILES else None
    if isinstance(owner, random.Random):
        return Draws(f"it calls {what}")
    goes_by_the_place = f.__name__ in OF_THE_PLACE and isinstance(owner, datetime.date)
    return None if isinstance(owner, OWNERS) and not goes_by_the_place else Calls(what)


def problem_of_call_beneath(f: Any, code: types.CodeType) -> Reason | None:
    """The same of a call that code of a library makes, which itself is known to compute. Its
    variables of contexts are settings, which nobody compares."""
    owner = getattr(f, "__self__", None)
    if f in BENEATH or isinstance(owner, OF_THREADS) or code in OF_THE_ENVIRONMENT:
        return None
    if isinstance(owner, contextvars.ContextVar):
        return Calls(f"{type(owner).__qualname__}.{f.__name__}")
    return problem_of_call(f)


def code_only_computes(origin: Origin, code: types.CodeType) -> bool:
    """Does code of the standard library, or of a library that whet works with, only compute?"""
    if origin.is_pythons:
        return origin.top in QUIET or code in OF_THE_ENVIRONMENT
    return origin.module.startswith(COMPUTING)


def methods_compute(owner: type) -> bool:
    """Do methods of a class only compute, but for those that are named above?"""
    origin = origin_of_what(owner)
    return issubclass(owner, OWNERS) or owner is object or origin is not None and origin.is_ours


def makes_an_object(method: Any, owner: type) -> bool:
    """Is a method of a class one of NumPy's, of ours or of Python's own types, or one that only
    makes an object?"""
    origin = origin_of_what(owner)
    return method.__name__ in MAKING or origin is not None and (
        origin.module == "builtins" or origin.is_ours or origin.top == "numpy")


def tells_who_watches(x: Any) -> bool:
    """Is something, or a module, by what it holds, in the group of what tells who watches?"""
    if type(x) is not types.ModuleType:
        return x in WATCHING
    origin = origin_of_module(x)
    return origin is not None and origin.module in WATCHING_MODULES
