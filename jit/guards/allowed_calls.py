"""What code may call that is neither the user's nor ours: one table, with a reason for each row.

It says what is allowed. Anything else may act on the world or read it: a function that calls it
runs eagerly, with a warning. C functions and types in the table are probed
for what they do with numbers, lists and names (`probed_functions.py`). What a trace has to know of
one of them is found there, and listed nowhere. Modules are known by their names, for which the
import system vouches (`code_origin.py`). Functions and types are known as objects, whatever name
leads to them.
"""
import _thread
import builtins
import collections
import contextvars
import dataclasses
import datetime
import gc
import importlib
import inspect
import io
import os
import random
import re
import reprlib
import sys
import threading
import types
from collections.abc import Iterable
from enum import Flag, auto
from importlib.machinery import ModuleSpec
from typing import Any, NamedTuple

import numpy as np
from whet.tensor_base import Base

from ..refusals.reasons import Calls, Draws, Reason
from ..values.code_origin import Origin, origin_of_module, origin_of_what
from . import probed_functions as asked


class May(Flag):
    """What a row allows."""
    MAKE = auto()                # objects of its C types may be made
    C = auto()                   # its C functions may be called
    PYTHON = auto()              # its Python may be called, and calls what else is allowed beneath
    NUMBERS = auto()             # its Python takes what only looks like a number for one
    LOOK = auto()                # its Python looks at things by names, which it is asked about
    ALL = MAKE | C | PYTHON | NUMBERS


class Row(NamedTuple):
    """Modules by their names, with those in them; what they may, and why."""
    modules: str
    may: May
    why: str


# ---- modules -------------------------------------------------------------------------------------
TABLE = (
    Row("math cmath", May.ALL, "numbers go in, a number comes out"),
    Row("operator _operator", May.ALL, "Python's operators as functions"),
    Row("itertools", May.ALL, "iterators over what they are given"),
    Row("functools _functools", May.ALL,
        "they call what they are given, and caches have stand-ins"),
    Row("collections _collections _collections_abc", May.ALL,
        "containers, of which the contents are compared"),
    Row("heapq _heapq bisect _bisect", May.ALL,
        "they order what they are given, by its operators"),
    Row("struct _struct", May.ALL, "bytes of numbers, and numbers of bytes"),
    Row("abc _abc", May.ALL, "what abstract classes know of others is compared"),
    Row("types typing enum dataclasses contextlib numbers copy",
        May.MAKE | May.PYTHON | May.NUMBERS,
        "they hold, copy and call what they are given, and ask numbers for their class only"),
    Row("statistics fractions string textwrap re reprlib keyword", May.PYTHON,
        "they compute with numbers and text, and ask some for their type"),
    Row("inspect", May.PYTHON | May.LOOK | May.NUMBERS,
        "it looks at what it is given; who asks what is alive is refused before, and who takes "
        "apart what may be a number is in TAKE_APART"),
    Row("copyreg", May.PYTHON, "it takes objects apart, for copies of them"),
    Row("weakref _weakrefset", May.PYTHON,
        "they hold what they are given; who asks what is alive is refused before"),
    Row("datetime decimal contextvars", May.MAKE, "to make one only computes"),
    Row("_random", May.MAKE, "to draw from a generator is noticed, and to make one is no draw"),
    Row("numpy._core numpy.lib._ numpy.linalg numpy.fft numpy.polynomial", May.PYTHON,
        "they compute, as far as the C functions do that they call"),
    Row("numpy", May.MAKE | May.C | May.NUMBERS,
        "arrays and numbers; what opens a file or draws is noticed"),
    Row("triton", May.PYTHON, "it computes; a kernel is launched by one of whet's ops"),
    Row("whet", May.ALL, "ours: what acts says so"),
    Row("builtins", May.MAKE | May.NUMBERS, "Python's own types; of its functions, see below"),
    Row("logging warnings", May.NUMBERS, "they have stand-ins, which know of numbers"),
    Row("argparse os sys io _io", May.NUMBERS,
        "much code names them, and to call what acts in them is noticed"),
    Row("scipy", May.NUMBERS,
        "its functions of arrays have stand-ins, and to call anything else of it is noticed"),
)


def _names_that(may: May) -> tuple[str, ...]:
    return tuple(name for row in TABLE if may in row.may for name in row.modules.split())


_MAKE, _C, _PYTHON, _NUMBERS, _LOOK = map(_names_that, May)


def _is_in(module: str, names: tuple[str, ...]) -> bool:
    """Is a module one of these, or within one? A name that ends in _ is how several begin."""
    return any(module == name or module.startswith(name if name[-1] == "_" else name + ".")
               for name in names)


# ---- single functions ----------------------------------------------------------------------------
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


# They give a value of what they are given; those that change an object change what is compared.
# A lock that the call makes keeps no other thread out.
COMPUTE = Objects([_thread.allocate_lock, *_objects(builtins, """
    len isinstance issubclass getattr hasattr setattr delattr abs min max sum any all sorted iter
    next callable divmod pow round chr ord format repr ascii bin hex oct __build_class__ id globals
    vars""")])
# What libraries that compute call besides: hashes of text, which thread this is, and which error is
# being handled.
COMPUTE_BENEATH = Objects((
    hash, sys.intern, os.fspath, threading.get_ident, sys.exc_info, sys.getrecursionlimit))
# They list what an object has, and a number has other methods than what stands for it.
TAKE_APART = Objects(_objects(inspect, """
    getmembers getmembers_static getattr_static getdoc getmro classify_class_attrs"""))
# A collection alone tells nothing.
TELL_NOTHING = Objects((gc.collect,))
# The environment is compared where it is read, and who sets a variable is seen.
OF_THE_ENVIRONMENT = frozenset(inspect.unwrap(f).__code__ for f in (
    os.getenv, *vars(type(os.environ)).values(), *vars(os.environ).values())
    if isinstance(f, types.FunctionType))
# `from package import name` has it look whether the package has the name, and `from . import name`
# asks which package the code is in
OF_A_PACKAGE = frozenset((
    importlib._bootstrap._handle_fromlist.__code__,  # type: ignore[attr-defined]
    inspect.getattr_static(ModuleSpec, "parent").fget.__code__))
# `namedtuple` has the function that makes a tuple written of the names that it is given, and asks
# for the name of the module that it is called in, as `make_dataclass` does. `dataclass` has methods
# written of the fields.
_WRITER_OF_METHODS = getattr(dataclasses, "_create_fn", None) \
    or dataclasses._FuncBuilder.add_fns_to_class     # type: ignore[attr-defined]
WRITES_METHODS: types.CodeType = _WRITER_OF_METHODS.__code__
_NAME_OF_MODULE = _objects(sys, "_getframe _getframemodulename")
WRITE_FUNCTIONS = {
    collections.namedtuple.__code__: Objects((eval, *_NAME_OF_MODULE)),
    dataclasses.make_dataclass.__code__: Objects(_NAME_OF_MODULE),
    WRITES_METHODS: Objects((exec,))}
# What keeps `repr` of a dataclass from going round in circles hands its argument to what it wraps.
HANDING_ON = reprlib.recursive_repr()(repr).__code__

# ---- types ---------------------------------------------------------------------------------------
# Methods of these types: what they change is compared, and they read nothing else. Those of
# dates are not here: some go by the clock, the place's time or its words. A span of time goes by
# none of these.
TYPES: tuple[type, ...] = (
    list, dict, set, frozenset, str, bytes, tuple, int, float, complex, bool, slice, range,
    type(None), types.MappingProxyType, type, collections.deque, collections.OrderedDict,
    collections.defaultdict, BaseException, types.CellType, Base, type({}.keys()),
    type({}.values()), type({}.items()), np.generic, np.ufunc, re.Pattern, re.Match,
    datetime.timedelta)
# Those within reach are looked after (see `locks.py`), by all that these tell.
LOCKS = _thread.LockType, _thread.RLock
METHODS_OF_LOCKS = frozenset((
    "acquire", "release", "locked", "acquire_lock", "release_lock", "locked_lock", "__enter__",
    "__exit__"))
# Streams in memory, and what streams are kinds of: to make one opens nothing.
STREAMS = Objects((*io.StringIO.__mro__, *io.BytesIO.__mro__, *io.RawIOBase.__mro__))
# Methods of classes that make an object of what they are given, or do nothing as `object` has them.
MAKING = frozenset(("__new__", "fromkeys", "__init_subclass__", "__subclasshook__"))
# Methods that every object has: they read its attributes.
OF_ALL_OBJECTS = frozenset(
    name for name, f in vars(object).items() if type(f) is types.MethodDescriptorType)
# Modules by which Python tells who watches, what is alive, and when that ends; and those of which
# some C functions do.
OF_WATCHERS = ("weakref", "_weakref", "_weakrefset", "cProfile", "_lsprof")
OF_THE_INTERPRETER = ("sys", "gc")


# ---- what is asked of the table ------------------------------------------------------------------
def only_computes(f: Any) -> bool:
    """Is a C function one that only computes?

    >>> import math, os
    >>> from whet.jit.guards.allowed_calls import only_computes
    >>> only_computes(math.sin), only_computes(len), only_computes(os.remove), only_computes(print)
    (True, True, False, False)
    """
    if f in COMPUTE:
        return True
    origin = origin_of_what(f)
    if origin is None or not _is_in(origin.module, _C):
        return False
    # What it keeps to itself is not made to be asked, and its Python says what it opens.
    is_public = vars(np).get(f.__name__) is f
    return not (is_public and asked.opens_files(f))


def only_makes_an_object(t: type) -> bool:
    """Does a class only make an object, where code calls it? Python in it is seen when it runs.

    >>> import collections, mmap, pathlib
    >>> from whet.jit.guards.allowed_calls import only_makes_an_object
    >>> [only_makes_an_object(t) for t in (collections.deque, pathlib.Path, mmap.mmap)]
    [True, True, False]
    """
    return all(_is_allowed(made_by) for name in ("__new__", "__init__")
               if (made_by := _c_class_with_method(t, name)) is not None)


def _c_class_with_method(t: type, name: str) -> type | None:
    """The class of C that gives a class a method; None where it is Python."""
    found = next(c for c in t.__mro__ if name in vars(c))
    of_c = types.BuiltinFunctionType, types.WrapperDescriptorType
    return found if type(vars(found)[name]) in of_c else None


def _is_allowed(t: type) -> bool:
    origin = origin_of_what(t)
    return issubclass(t, TYPES) or t in STREAMS \
        or origin is not None and _is_in(origin.module, _MAKE)


def problem_of_call(f: Any) -> Reason | None:
    """Why a call of a function or bound method of C can be no part of a recording, or None.

    >>> import os
    >>> from whet.jit.guards.allowed_calls import problem_of_call
    >>> problem_of_call([].append), problem_of_call(os.getpid).what
    (None, 'it calls posix.getpid')
    """
    owner = getattr(f, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(f, "__module__", None) or getattr(owner, "__name__", None)
        return None if only_computes(f) else Calls(f"{module}.{f.__name__}")
    if isinstance(owner, type):
        return None if makes_an_object(f, owner) else Calls(f"{owner.__qualname__}.{f.__name__}")
    what = f"{type(owner).__qualname__}.{f.__name__}"
    # what a variable holds is compared; generators from outside are not let in
    if isinstance(owner, contextvars.ContextVar | types.GeneratorType):
        return None
    if isinstance(owner, LOCKS):
        return None if f.__name__ in METHODS_OF_LOCKS else Calls(what)
    if isinstance(owner, np.ndarray | np.generic):   # what else a method changes is compared
        return Calls(what) if asked.array_opens_files_by(f.__name__) else None
    if _is_array_helper(type(owner)):
        return None
    if f.__name__ in OF_ALL_OBJECTS and getattr(type(owner), f.__name__) is getattr(
            object, f.__name__):
        return None
    if isinstance(owner, random.Random):
        return Draws(f"it calls {what}")
    return None if isinstance(owner, TYPES) else Calls(what)


def _is_array_helper(t: type) -> bool:
    """Is it one of NumPy's types beside arrays: an iterator, a converter, a dtype? They see no more
    than the arrays that they are given, and what these hold is compared."""
    origin = origin_of_what(t)
    return origin is not None and (
        origin.module == "numpy" or _is_in(origin.module, ("numpy._core",)))


def problem_of_call_beneath(f: Any, code: types.CodeType) -> Reason | None:
    """Why a call may not be made by code of a library that is itself known to compute; None if it
    may. Such code's context variables are settings, which are not compared."""
    owner = getattr(f, "__self__", None)
    if f in COMPUTE_BENEATH or isinstance(owner, LOCKS) or code in OF_THE_ENVIRONMENT:
        return None
    if code in WRITE_FUNCTIONS and f in WRITE_FUNCTIONS[code]:
        return None
    if isinstance(owner, contextvars.ContextVar):
        return Calls(f"{type(owner).__qualname__}.{f.__name__}")
    return problem_of_call(f)


def code_only_computes(origin: Origin, code: types.CodeType) -> bool:
    """Does code of the standard library, or of a library that whet works with, only compute?"""
    return _is_in(origin.module, _PYTHON) or code in OF_THE_ENVIRONMENT or code in OF_A_PACKAGE


def methods_compute(owner: type) -> bool:
    """Do methods of a class only compute, but for those that are found to open files?"""
    origin = origin_of_what(owner)
    return issubclass(owner, TYPES) or owner is object or origin is not None and origin.is_ours


def makes_an_object(method: Any, owner: type) -> bool:
    """Does a method of a class only make an object, or is the class known to compute? Such classes
    are NumPy's, ours, Python's own types and those of modules that compute (as
    `itertools.chain.from_iterable`)."""
    origin = origin_of_what(owner)
    return method.__name__ in MAKING or origin is not None and (
        origin.module == "builtins" or origin.is_ours or origin.top == "numpy"
        or _is_in(origin.module, _C))


def may_get_numbers(x: Any, origin: Origin) -> bool:
    """May a function or class of a module get what only looks like a number? Of C it is asked
    besides, argument by argument."""
    return (_is_in(origin.module, _NUMBERS) and x not in TAKE_APART
            or getattr(x, "__code__", None) is HANDING_ON)


def looks_at_things(origin: Origin) -> bool:
    """Does the Python of a module look at what it is given, and do no more?"""
    return _is_in(origin.module, _LOOK)


def can_be_asked(x: Any, origin: Origin) -> bool:
    """Is it a C function or type, of Python's own, that only computes?"""
    if isinstance(x, type):
        return origin.is_pythons and _c_class_with_method(x, "__new__") not in (None, object) \
            and only_makes_an_object(x)
    return origin.is_pythons and type(x) is types.BuiltinFunctionType and only_computes(x)


def tells_who_watches(x: Any) -> bool:
    """Does something, or a module, by what it holds, tell who watches or what is alive?"""
    if type(x) is types.ModuleType:
        origin = origin_of_module(x)
        return origin is not None and origin.module in OF_WATCHERS
    if not issubclass(type(x), (types.BuiltinFunctionType, types.FunctionType, type)):
        return False
    origin = origin_of_what(x)
    return origin is not None and x not in TELL_NOTHING and (
        origin.module in OF_WATCHERS or origin.module in OF_THE_INTERPRETER
        and type(x) is types.BuiltinFunctionType and not only_computes(x))
