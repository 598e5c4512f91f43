"""What a function can read besides its arguments' numbers: found before a recording, compared before each replay.

The walk starts at the function (defaults, closure, the globals that its code names, its `self`) and at the arguments, and follows
containers, instances, classes and functions of the user's. What it meets is kept as *places*: a container or namespace with the very
objects that it held. A replay is right as long as every place holds the same objects (or equal numbers and strings). What cannot be
watched (an open file, a generator, a lock) makes the function run eagerly.
"""
import abc
import array
import builtins
import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import logging
import operator
import os
import pathlib
import random
import re
import struct
import sys
import threading
import types
import uuid
import weakref

import numpy as np
from whet import devices, dtypes
from whet.autograd import modes
from whet.random import Generator
from whet.tensor import Size, Tensor
from whet.tensor_base import Base
from whet.utils.hooks import Hooks

from ..capture import numpy_arrays
from ..capture.containers import OWN, elements, fill, values
from ..capture.outside_calls import cached_by, stands
from ..capture.stand_ins import CACHED, StandIn
from ..capture.varying_numbers import TELLTALE
from ..effects.python_state import GROWING, SETTABLE, Slot, named
from ..report.reasons import Calls, Changed, Draws, Explained, Inspects, Reaches, TooMuch, full_thing, thing
from . import class_state
from .bytecode import instructions, second_is_constant

MOST = 20_000                    # things that are watched
WATCHED = 1 << 16                # bytes of a NumPy array that are compared at each call
PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented))
CONSTANT = (np.dtype, dtypes.dtype, devices.device, slice, range, np.generic, Size, types.MethodDescriptorType,
            types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
            np.ufunc, types.GenericAlias, types.UnionType, types.CodeType, type(np.sum), type(collections.namedtuple("Pair", "first").first))
OPEN = frozenset((*PLAIN, object, types.SimpleNamespace, list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict,
                  collections.defaultdict))      # types of C whose instances hold nothing but what the walk looks at
# functions of C that only compute: by name, and by module
PURE = frozenset("len isinstance issubclass getattr hasattr setattr delattr abs min max sum any all sorted iter next callable divmod pow round "
                 "chr ord format repr ascii bin hex oct __build_class__ id globals vars".split())
MODULES = frozenset(("math", "cmath", "operator", "_operator", "itertools", "_functools", "_collections", "_abc", "_struct", "_bisect", "_heapq"))
LOOKUPS = frozenset(("getattr", "hasattr", "setattr", "delattr", "__dict__", "attrgetter", "vars", "__getattribute__", "getmembers",
                     "getmembers_static", "getattr_static"))         # with names that may be made at run time
ASKED = frozenset(("getattr", "hasattr", "setattr", "delattr"))      # (of these, the second argument is the name)
# of the standard library, what nobody changes: to use it is to call it, which is seen
VALUES = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, pathlib.PurePath, re.Pattern,
          uuid.UUID)
# what functions and classes say of themselves; modules that ask for it in the name of others; and how one looks past all names
SAID = ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__dataclass_fields__", "__match_args__")
ASKING = frozenset(("dataclasses", "inspect", "typing"))
TEXTS = frozenset("str repr ascii format print __str__ __repr__ __format__".split())
FRAMES = frozenset(("f_globals", "f_locals", "f_builtins", "f_back"))
# methods that must give exactly a number of Python's; modules whose functions take numbers as they are, even if they are none of Python's
EXACT = frozenset(("__bool__", "__int__", "__float__", "__index__", "__hash__", "__complex__", "__length_hint__"))
LENIENT = frozenset("builtins logging warnings whet numpy math cmath operator _operator itertools _functools functools collections _collections "
                    "_collections_abc abc _abc typing types enum dataclasses contextlib contextvars copy copyreg _heapq _bisect _struct os "
                    "sys inspect weakref argparse numbers io _io string re _thread keyword random _random".split())
STRICT = frozenset(("ldexp", "seed", "Random"))          # what wants Python's own numbers nevertheless (as a deque does, for its length)
JOINING = frozenset(("concat", "iconcat"))   # what joins lists without asking them
# classes of the standard library that are data
DATA = frozenset((("types", "SimpleNamespace"), ("argparse", "Namespace"), ("collections", "ChainMap"), ("collections", "UserDict"),
                  ("collections", "UserList"), ("contextlib", "nullcontext"), ("dataclasses", "Field"), ("dataclasses", "_FIELD_BASE"),
                  ("dataclasses", "_MISSING_TYPE"), ("dataclasses", "_HAS_DEFAULT_FACTORY_CLASS"), ("dataclasses", "_KW_ONLY_TYPE")))
# what calls a function that it is given, and nobody sees that
HIGHER = frozenset("map filter sorted min max sort reduce accumulate starmap takewhile dropwhile filterfalse groupby partial partialmethod iter "
                   "defaultdict call methodcaller".split())
KEYED = frozenset(("sorted", "min", "max", "sort"))       # (these do so with a key)
LIBRARY = os.path.dirname(os.__file__)
HEAP = 1 << 9                    # a flag of types: made by a class statement
READABLE = Base, np.ndarray, np.void, contextvars.ContextVar, random.Random      # of which methods may be called, unlike those of other foreign ones
BY_IDENTITY = Base, type, types.FunctionType, types.BuiltinFunctionType      # what is compared so, to whom it is the same
UNNAMED = ("__builtins__", "__spec__", "__loader__")     # of a module, what globals() is not asked for
DISPATCH, DISPATCHING = functools.singledispatch(len).__code__, ("dispatch", "register", "_clear_cache")
ABSENT = object()                # what lies where nothing does
BY_NAME, CONVERTING = (type, getattr, setattr, vars), (float, int)
TRACES = object()                # that a class says who makes traced functions
_same, _attribute = operator.is_, object.__getattribute__
_WORDS, _FIELDS = re.compile(r"\w+").findall, re.compile(r"{(.*?)}").findall


_met: dict = {}


def _one(x):
    """The same object for whatever is equal."""
    return _met.setdefault(x, x)


def _decimals():
    """How decimal numbers are computed with."""
    c = decimal.getcontext()
    return _one((c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, *[yes for _, yes in c.traps.items()]))


_errors = getattr(np._core.umath, "_extobj_contextvar", None)         # what NumPy holds them by
_last: tuple = (None, None)


def _numpy_errors():
    """How NumPy takes errors in numbers."""
    global _last
    now = _errors and _errors.get()
    if now is None or now is not _last[0]:
        _last = now, _one(tuple(np.geterr().values()))
    return _last[1]


# what no object holds, and functions of C go by: each as one object for one way to be
SETTINGS = {"numpy": _numpy_errors, "decimal": _decimals}


class Unwatchable(Explained):
    """Something that a function can read and that cannot be compared later."""


def ours(code):
    """Is this code the framework's own?"""
    return our_file(code.co_filename)


@functools.lru_cache(4096)
def our_file(filename):
    if filename == "<whet>":
        return True
    path = os.path.abspath(filename)
    return any(path.startswith(f) for f in _folders())


@functools.lru_cache(None)
def _folders():
    import whet
    import whet.ir
    import whet.jit
    import whet.passes
    return tuple(os.path.dirname(os.path.abspath(m.__file__)) + os.sep for m in (whet, whet.ir, whet.jit, whet.passes))


def _is_ours(v):
    """Is what a class or module of ours holds really ours, or plain?"""
    f = v.fget if type(v) is property else getattr(v, "__func__", v) if type(v) in (staticmethod, classmethod) else v
    if type(f) is types.FunctionType:
        return ours(f.__code__) or f.__code__.co_filename.startswith("<")
    return type(f) is not functools.partial and (isinstance(f, type) or standard(_module(type(f))))


def _module(x):
    """The name of the module that a function or class is from. (Some classes of C keep something else there, for their instances.)"""
    m = getattr(x, "__module__", None)
    if type(m) is not str:
        return "builtins"
    if isinstance(x, type) and x.__flags__ & HEAP and standard(m) and not m.startswith("whet"):
        found = sys.modules.get(m)
        for name in x.__qualname__.split("."):
            found = getattr(found, name, None)
        return m if found is x else ""       # (anybody can write any name there)
    return m


def standard(module):
    """Is a module (by name) Python's own, or NumPy, or ours: nothing that a user's function changes?"""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__" or top in ("numpy", "ml_dtypes", "whet")


def computes(module, name):
    """Is a function of C, by its module and name, one that only computes?"""
    return module == "builtins" and name in PURE or module in MODULES or module.partition(".")[0] in ("numpy", "whet") and name != "fromfile"


def foreign(t):
    """Is a type neither the user's nor one of Python's containers?"""
    return standard(_module(t)) and t.__module__ not in ("builtins", "collections")


def hidden(t):
    """The base of a class that keeps state where nobody can look, or None."""
    for b in t.__mro__:
        if type(vars(b).get("__new__")) is types.BuiltinFunctionType and b not in OPEN and not b.__module__.startswith("whet"):
            return b


@functools.lru_cache(4096)
def _instructions(code):
    """What some code does with names: (what a World is to note of it, see there, the attributes that it takes, (each global name, is
    that not called there?), (each module that it imports, the level))."""
    notes, attributes, names, imports = set(), set(), {}, {}
    constants, last, before = (None, None), None, None       # the last two: of an import, its level and names
    if not STRICT.isdisjoint(code.co_names):
        notes.add("exact")
    if not JOINING.isdisjoint(code.co_names):
        notes.add("direct")
    if not TELLTALE.isdisjoint(code.co_names) or not TELLTALE.isdisjoint(x for x in code.co_consts if type(x) is str):
        notes.add("exact")
    if not TEXTS.isdisjoint((*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)):
        notes.add("shown")
    if not LOOKUPS.isdisjoint(code.co_names):
        found = list(instructions(code))
        asked = [i for i, (name, _, value) in enumerate(found) if name == "LOAD_GLOBAL" and value in ASKED]
        if not (LOOKUPS - ASKED).isdisjoint(code.co_names) or not asked or not all(second_is_constant(found, i) for i in asked):
            notes.add("looks up")
    for name, arg, value in instructions(code):
        if name in ("LOAD_ATTR", "LOAD_METHOD"):             # (a method of all numbers or lists, which takes just those)
            notes.update({"int": ("exact",), "float": ("exact",), "list": ("direct",)}.get(last, ()))
        if last == "type" and value != "self":
            notes.update(("exact", "typed"))
        maxlen = name in ("KW_NAMES", "LOAD_CONST") and code.co_consts[arg] == ("maxlen",) \
            or name in ("PRECALL", "CALL") and arg == 2 and before != "PRECALL" and "deque" in code.co_names
        if maxlen and before != "LOAD_CONST" and (before != "LOAD_FAST" or code.co_name != "__init__"):
            notes.add("exact")
        if name in ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC") or name == "LOAD_CONST" and type(value) is str and value in TEXTS:
            notes.add("shown")
        if last == "pow":                                    # (with three arguments)
            notes.add("exact")
        last, before = value if name == "LOAD_GLOBAL" else None, name
        if name == "LOAD_CONST":
            constants = constants[-1], value
        elif name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            names[value, name == "LOAD_GLOBAL" and not arg & 1] = None
        elif name == "IMPORT_NAME":
            imports[value, constants[0]] = None
            attributes.add(value)
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"):
            attributes.add(value)
    return notes, attributes, list(names), list(imports)


class World:
    """The places that a function reads from. `loose`: (id of owner, name) of places whose numbers or tensors may be any, and (id, None) of
    lists that only grow. One that `grows` keeps what is needed to go on from it, until `grown` is called."""

    def __init__(self, fn, arguments=(), loose=frozenset(), grows=False, skipped=frozenset(), numpy=False):
        self.holders = []                    # what has a dict, which may be exchanged for another
        self.places = []                     # (kind, owner, names or None, objects)
        self.loose, self.slots, self.growing = loose, [], {}
        self.passable = None                 # a function of C that does more than compute, which other functions of C may be given
        self.met = {}                        # what could have a stand-in, but lies where none can
        self.outward = {}                    # what has a stand-in during a run: id -> (object, places)
        self.tensors = {}                    # id -> tensor
        self.bare = []                       # those of them without attributes
        self.exact = False                   # would somebody notice a Number where a number of Python's should be?
        self.direct = False                  # could C work on a list without calling its methods?
        self.typed = False                   # would somebody notice a stand-in by its type?
        self.asking = False                  # could others ask functions and classes for their names?
        self.shown = False                   # could functions and classes become text?
        self.skipped = skipped               # ids of arrays that are looked after elsewhere
        self.solid = False                   # could somebody notice that an array is none of NumPy's?
        self.settings = {"numpy"} if numpy else set()        # names in SETTINGS that results may go by
        self.builtins = set()                # names of Python's own that were looked up
        self.called = {}                     # (id of globals, name) -> (these, a type that makes numbers, is it nothing but called there?)
        self.codes, self.read = set(), set()             # code that the walk has gone through, and with whose globals
        self.seen = {}                       # id -> object, kept alive
        self.stack = [fn, *arguments]
        self.frameworks, self.abstract = set(), False      # classes of ours that are watched; is what ABCs know of subclasses?
        self.framework(Tensor)
        nn = sys.modules.get("whet.nn.module")
        if nn is not None:                   # hooks of all modules
            self.place("slot", nn.Module, "_hooks", (nn.Module._hooks,))
            self.stack.append(nn.hooks.for_all)
        self.modules, self.attributes = {}, set()    # module's id -> (module, names already looked up in it); what code names
        self.looks_up = False                # could any name of a module be looked up?
        self.grads = []                      # gradients of tensors: at the end those that nothing else leads to
        self.walk()
        self.inputs = {}                     # NumPy arrays that are inputs, by id
        self.begun = self.copied() if grows and not loose else None
        self.finish()

    def copied(self):
        """This world as far as the walk has come, to go on from."""
        new = object.__new__(World)
        for name, x in vars(self).items():
            setattr(new, name, x.copy() if type(x) in (list, dict, set) else x)
        new.outward = {i: (x, places.copy()) for i, (x, places) in self.outward.items()}
        new.modules = {i: (m, done.copy()) for i, (m, done) in self.modules.items()}
        new.begun = None
        return new

    def grown(self, arguments, skipped=frozenset()):
        """The world of these arguments as well: as if searched anew, but nothing is looked at twice. (Only once: what it goes on from holds
        gradients, which are soon others.)"""
        new, self.begun = self.begun, None
        new.skipped = skipped
        new.stack += arguments
        new.walk()
        new.finish()
        return new

    def finish(self):
        """What the walk leads to besides; then how all is compared."""
        self.grads = [g for g in self.grads if id(g) not in self.seen]
        self.stack += self.grads
        self.walk()
        self.say_of_themselves()
        self.numpy_arrays()
        self.stack = None
        for name in sorted(self.settings):
            self.places.append(("setting", SETTINGS[name], name, [SETTINGS[name]()]))
        if self.looks_up:
            self.data([vars(m) for m, _ in self.modules.values() if not standard(m.__name__)])
        for names_of, f, only in self.called.values() if not self.exact else ():
            if only:
                self.outward.setdefault(id(f), (f, []))[1].append(("builtin", names_of, f.__name__))
        for i in self.met.keys() & self.outward.keys():      # also where no stand-in can be: it is the real one everywhere
            del self.outward[i]
        if self.typed and any(isinstance(x, io.IOBase | logging.Logger) for x, _ in self.outward.values()):
            raise Unwatchable(Inspects("it asks for types, and reaches a stream or a logger"))
        if self.passable is not None and self.hands_on():
            self.passed_on(self.passable)
        if "datetime64" in self.attributes:
            raise Unwatchable(Inspects("it asks NumPy for dates, of which some are the clock's"))
        if not FRAMES.isdisjoint(self.attributes):
            raise Unwatchable(Inspects("it looks at frames"))
        if "_base" in self.attributes:
            raise Unwatchable(Inspects("it asks for the `_base` of something, which is compared nowhere"))
        self.arrange()

    def numpy_arrays(self):
        """Those that a run finds stand-ins for are compared by how they lie in memory, others by their numbers."""
        self.solid = self.exact or not numpy_arrays.EXACT.isdisjoint(self.attributes | self.builtins)
        found = [x for i, (x, _) in self.outward.items() if type(x) is np.ndarray and i not in self.met]
        self.settings |= {"numpy"} if found else set()
        for x in found:
            if self.solid:
                del self.outward[id(x)]
                self.stack.append(x)
            else:
                self.places.append(("layout", x, None, [_one(numpy_arrays.layout(x))]))
        self.walk()
        self.inputs = {} if self.solid else {id(x): x for x in found}

    # ---- the walk ----------------------------------------------------------------------------------------------------
    def walk(self):
        """Visit what is on the stack, and what that leads to."""
        again = True
        while again:
            while self.stack:
                self.visit(self.stack.pop())
            again = any([self.module(m, done) for m, done in list(self.modules.values())])

    def say_of_themselves(self):
        """Watch what functions and classes say of themselves, as far as anybody asks for it."""
        names, done = (), set()
        while True:
            now = SAID if self.asking else tuple(n for n in SAID if n in self.attributes or self.shown and n in SAID[1:4:2])
            done = done if now == names else set()
            names = now
            found = [x for x in self.seen.values() if id(x) not in done and
                     (type(x) is types.FunctionType and not standard(x.__globals__.get("__name__") or "") or
                      isinstance(x, type) and x.__flags__ & HEAP and not standard(_module(x)))]
            for x in found:
                done.add(id(x))
                if names:
                    self.place("said", x, names, _look("said", x, names))
                if "__globals__" in self.attributes and isinstance(x, types.FunctionType):
                    held = x.__globals__
                    keys = tuple(k for k in held if k not in UNNAMED)
                    self.place("some", held, (UNNAMED, keys), tuple(held[k] for k in keys))
            if not found:
                return
            self.walk()

    def let_go(self, kept):
        """Forget gradients, other than these: who reads one finds it by the tensor whose it is, and it is soon another."""
        for g in self.grads:
            if not any(g is t for t in kept):
                self.tensors.pop(id(g), None)
                self.seen.pop(id(g), None)
        gone = set(map(id, self.grads)) - set(map(id, kept))
        self.bare, self.grads = [t for t in self.bare if id(t) not in gone], []

    def visit(self, x):
        if type(x) in PLAIN or id(x) in self.seen or id(x) in self.skipped:
            return
        if isinstance(x, types.GenericAlias | types.UnionType):
            self.stack += [getattr(x, "__origin__", None), *x.__args__]
            return
        if isinstance(x, CONSTANT) and type(x) is not np.void:
            if isinstance(x, np.ufunc | np.generic | type(np.sum)):
                self.settings.add("numpy")
            return
        if issubclass(type(x), StandIn) or x is vars(builtins):              # (of Python's own names those are compared that code looks up)
            return
        if len(self.seen) >= MOST:
            raise Unwatchable(TooMuch(f"it reaches more than {MOST} objects"))
        self.seen[id(x)] = x
        t = type(x)
        if x is type:                        # by another name
            self.exact = self.typed = True
        self.looks_up |= x in (getattr, setattr, vars) if t is types.BuiltinFunctionType else x is operator.attrgetter
        if isinstance(x, types.FunctionType | types.BuiltinFunctionType | type):
            module = _module(x).partition(".")[0]
            self.exact |= standard(module) and module not in LENIENT and not stands(x)
            self.asking |= module in ASKING and isinstance(x, types.FunctionType)
            if module.lstrip("_") in SETTINGS and x is not np.ndarray:
                self.settings.add(module.lstrip("_"))
            if isinstance(x, types.BuiltinFunctionType) and isinstance(x.__self__, types.ModuleType) and not computes(x.__module__ or "", x.__name__):
                self.passable = x            # (of a bound method, what it is bound to is looked at)
            self.direct |= x.__module__ == "_heapq"
            if x is id:
                raise Unwatchable(Inspects("it keeps the function `id`"))
        if stands(x):
            self.met[id(x)] = x
        if isinstance(x, Base):
            self.tensor(x)
        elif isinstance(x, list | tuple | collections.deque):
            self.place("items", x, None, elements(x))
            if t not in (list, tuple, collections.deque):
                self.instance(x)
        elif isinstance(x, set | frozenset):
            held = elements(x)
            if not all(type(e) in PLAIN or isinstance(e, BY_IDENTITY) for e in held):
                raise Unwatchable(Reaches(f"a set of {', '.join(sorted({type(e).__name__ for e in held}))}", x, self, Reaches.OF_SETS))
            self.place("set", x, None, held)
            if t not in (set, frozenset):
                self.instance(x)
        elif t in (types.BuiltinFunctionType, types.MethodWrapperType):
            if not isinstance(x.__self__, types.ModuleType | type) and (not foreign(type(x.__self__)) or isinstance(x.__self__, READABLE)):
                self.stack.append(x.__self__)            # (calls of the methods of others are seen)
        elif isinstance(x, dict):
            self.namespace(x)
            if isinstance(x, collections.defaultdict):
                self.place("slot", x, "default_factory", (x.default_factory,))
            if t not in (dict, collections.OrderedDict, collections.defaultdict):
                self.instance(x)
        elif t is types.MappingProxyType:
            self.namespace(x)
        elif t is types.FunctionType:
            self.function(x)
        elif t is types.MethodType:
            self.stack += [x.__func__, x.__self__]
        elif t is functools.partial:
            self.place("partial", x, None, (x.func, x.args, x.keywords))
            self.named(x)
            if type(x.func) is types.BuiltinFunctionType and (isinstance(x.func.__self__, types.ModuleType) or foreign(type(x.func.__self__))):
                self.passed_on(x.func)
        elif t in (staticmethod, classmethod):
            self.stack.append(x.__func__)
            self.named(x)
        elif t is property:
            self.stack += [f for f in (x.fget, x.fset, x.fdel) if f is not None]
        elif t is functools.cached_property:
            self.stack.append(x.func)
        elif t is types.CellType:
            self.cell(x)
        elif isinstance(x, types.ModuleType):
            self.modules[id(x)] = x, set()
            if t is not types.ModuleType:
                self.place("class", x, None, (t,))
                self.stack.append(t)
        elif isinstance(x, type):
            self.klass(x)
        elif getattr(t, "_traces", None) is TRACES:
            self.stack.append(x.fn)          # a traced function is what it traces
        elif isinstance(x, int | float | complex | str | bytes) and standard(_module(t)) and not isinstance(x, enum.Enum):
            self.namespace(getattr(x, "__dict__", {}))       # (a number or text of a kind of its own)
        elif _module(t) == "typing":
            self.named(x) if hasattr(x, "__dict__") else None
        elif t is object or isinstance(x, Generator) or isinstance(x, enum.Enum) and standard(_module(t)):
            pass                             # (draws of random numbers are recorded)
        elif x is modes.state or isinstance(x, VALUES) and standard(_module(t)):         # (the modes are a part of what tells calls apart)
            if isinstance(x, decimal.Decimal):
                self.settings.add("decimal")
        elif isinstance(x, enum.Enum):
            self.instance(x)                 # (its attributes and its value may be changed)
        elif t in (np.ndarray, np.void) and x.nbytes <= WATCHED and not x.dtype.hasobject or \
                t in (bytearray, array.array) and memoryview(x).nbytes <= WATCHED:
            self.place("array", x, None, _contents(x))
            self.settings.add("numpy")
        elif isinstance(x, np.ndarray | np.void):
            raise Unwatchable(Reaches(f"a NumPy array of {x.nbytes} bytes, whose numbers may change unseen", x, self, Reaches.OF_ARRAYS))
        elif t is contextvars.ContextVar:
            self.place("context", x, None, (x.get(ABSENT),))
        elif t is threading.local:           # (of the thread that asks)
            self.place("local", x, elements(vars(x)), values(vars(x)))
        elif t is random.Random:             # (to use its numbers is to call it, which is seen)
            self.namespace(vars(x))
            self.passable = x.getrandbits
        elif t.__name__ == "_NamespacePath" and t.__module__ == "_frozen_importlib_external":       # (of a package without __init__.py)
            self.place("path", x, None, (tuple(x),))
        elif t is type(os.environ):
            self.namespace(x._data)
        elif t is weakref.ref and (x() is None or isinstance(x(), Hooks)):
            self.stack.append(x())           # (handles of hooks have those: what is held for it keeps no object of the user's alive)
        elif isinstance(x, types.GeneratorType) or hasattr(t, "__next__"):
            raise Unwatchable(Reaches(f"{thing(t)}, which moves on when it is read", x, self, Reaches.OF_ITERATORS))
        elif _module(t) == "builtins" or standard(_module(t)) and not self.known(x):
            raise Unwatchable(Reaches(full_thing(t), x, self, Draws.instead if isinstance(x, np.random.RandomState | np.random.Generator) else None))
        elif hidden(t) is not None:
            raise Unwatchable(Reaches(f"{full_thing(t)}, which is a kind of {hidden(t).__qualname__}", x, self))
        else:
            self.instance(x)

    def hands_on(self):
        """Could some code give a function to one that calls it, and nobody sees that?"""
        own = KEYED - {"sort"} if id(builtins) not in self.modules else set()        # Python's own, unless they are asked of something
        named = self.builtins | self.attributes - own
        return not HIGHER.isdisjoint(named if "key" in self.attributes else named - KEYED)

    def known(self, x):
        """An instance of a class of ours is data, of the standard library mostly not."""
        return type(x).__module__.partition(".")[0] == "whet" or (type(x).__module__, type(x).__name__) in DATA

    def passed_on(self, f):
        """A function of C that is a value: others call it, and nobody sees that."""
        if not computes(f.__module__ or "", f.__name__):
            raise Unwatchable(Calls(f"{f.__module__ or type(f.__self__).__name__}.{f.__name__}", passes=True))

    def module(self, m, done):
        """Look up what the code that has been seen names in a module; is there anything new?"""
        held = vars(m)
        wanted = self.attributes | {"__getattr__"}           # (which gives what is not there)
        new = [name for name in sorted(wanted - done) if name in held]
        done |= wanted
        for name in new:
            self.place("global", held, name, (held[name],))
        return bool(new)

    def data(self, found):
        """Compare containers and objects that hold attributes, with those in them. (Of other things in them the use is noticed.)"""
        met = set()
        while found:
            x = found.pop()
            t = type(x)
            if id(x) in met or id(x) in self.seen or x is vars(builtins):
                continue
            met.add(id(x))
            if isinstance(x, tuple(OWN)):
                names, held = (elements(x), values(x)) if isinstance(x, dict | types.MappingProxyType) else (None, elements(x))
                self.places.append(("dict" if names is not None else "set" if isinstance(x, set | frozenset) else "items", x, names, [*held]))
                found += held
            elif not (isinstance(x, types.ModuleType) or callable(x) or standard(_module(t))) and isinstance(getattr(x, "__dict__", None), dict):
                found.append(x.__dict__)
            if len(found) > MOST:
                raise Unwatchable(TooMuch(f"it looks up names, and reaches more than {MOST} objects in modules"))

    def place(self, kind, owner, names, objects):
        objects = list(objects)
        self.places.append((kind, owner, names, objects))
        found = objects[:-2] if kind == "vars" else objects          # (the last two of a class are no values of it)
        outward = any(map(stands, found))
        if (self.loose or outward) and kind in SETTABLE and not (kind == "items" and isinstance(owner, tuple)):
            named = names[1] if kind == "some" else names if kind in ("dict", "vars", "local") else \
                range(len(objects)) if kind == "items" else (names or "contents",)
            if outward:
                for i, (name, x) in enumerate(zip(named, found)):
                    if stands(x) and not (type(x) is np.ndarray and self.slot(kind, owner, name, objects, i)):
                        if type(x) is CACHED:
                            self.exact = True            # (it would keep a Number)
                            held = [y for r in cached_by(x) for y in (r if type(r) is tuple else (r,))]
                            self.stack += [x.__wrapped__, *(y for y in held if isinstance(y, Base))]
                        self.outward.setdefault(id(x), (x, []))[1].append((kind, owner, name))
            found = [x for i, (name, x) in enumerate(zip(named, found)) if not self.slot(kind, owner, name, objects, i) and not stands(x)]
        self.stack += found

    def slot(self, kind, owner, name, objects, i):
        """Is this a place where anything may lie? Note it."""
        x = objects[i]
        if kind == "items" and not isinstance(owner, list | collections.deque) or kind == "dict" and type(owner) is types.MappingProxyType:
            return False
        if type(x) in GROWING and (id(x), None) in self.loose:
            self.growing.setdefault(id(x), (x, []))[1].append((kind, owner, name))
            return True
        if (id(owner), name) not in self.loose or not Slot.takes(x):
            return False
        there = [s for s in self.slots if s.owner is owner and _same_key(s.name, name)]
        if not there:
            there = Slot.at(kind, owner, name, x)
            self.slots += there
        for s in there:
            s.cells.append((objects, i))
        return True

    def entangled(self, leaves):
        """Are tensors of slots, or lists that grow, known by other names as well? Then they are no slots."""
        found = [s.there() for s in self.slots if not s.is_number]
        twice = len({id(t) for t in found}) < len(found)
        known = any(id(t) in self.tensors or id(t) in self.inputs or any(t is x or t is x._array for x in leaves) for t in found)
        return twice or known or any(i in self.seen for i in self.growing) or self.growing and self.direct

    def namespace(self, d):
        keys = elements(d)
        self.stack += [k for k in keys if type(k) not in PLAIN]
        self.place("dict", d, keys, values(d))

    def named(self, x):
        """The attributes of a function, or of what else is called."""
        if vars(x):
            self.holders.append(x)
        self.namespace(vars(x))

    def tensor(self, t):
        self.tensors[id(t)] = t
        if type(t) is not Base or named(t):
            self.holders.append(t)
            self.namespace(vars(t))
            self.framework(type(t))
        else:
            self.bare.append(t)
        if t._extra:                         # hooks
            self.stack.append(t._extra)
        if t._grad is not None:
            self.grads.append(t._grad)

    def cell(self, cell):
        try:
            self.place("cell", cell, None, (cell.cell_contents,))
        except ValueError:
            self.place("cell", cell, None, ())

    def instance(self, x):
        """An object by its attributes, and what its class does."""
        t = type(x)
        self.place("class", x, None, (t,))
        if not standard(_module(t)):
            self.stack.append(t)
        self.framework(t)
        if hasattr(x, "__dict__"):
            self.holders.append(x)
            skip = next((vars(b)["_unwatched"] for b in t.__mro__ if "_unwatched" in vars(b) and _module(b).startswith("whet")), None)
            if skip:                         # caches of our own classes
                names = tuple(k for k in x.__dict__ if k not in skip)
                self.place("some", x.__dict__, (skip, names), tuple(x.__dict__[k] for k in names))
            else:
                self.namespace(x.__dict__)
        for c in t.__mro__:
            for name in _slots(c):
                try:
                    self.place("slot", x, name, (getattr(x, name),))
                except AttributeError:
                    self.place("slot", x, name, ())

    def framework(self, t):
        """A class of ours, or one that is made from such: somebody may patch it, or the functions that layers are made of."""
        functional = sys.modules.get("whet.nn.functional")
        for b in t.__mro__:
            if b not in self.frameworks and b.__module__.partition(".")[0] == "whet":
                for x in (b,) if b is Tensor or functional in (None, *self.frameworks) else (b, functional):
                    self.frameworks.update(getattr(x, "__mro__", (x,)))
                    now = class_state.state(x)
                    self.places.append(("patched", x, None, [now]))
                    strange, containers = now.parts(_is_ours)
                    self.stack += strange + containers * (x is b)

    def klass(self, c):
        """A class of the user's: what its body and those of its bases hold."""
        if isinstance(c, abc.ABCMeta) and not self.abstract:
            self.abstract = True             # (register() makes subclasses)
            self.place("abstract", None, None, (abc.get_cache_token(),))
        for b in c.__mro__:
            if not standard(_module(b)) and b is not object:
                self.seen[id(b)] = b
                names = tuple(k for k in vars(b) if k not in ("__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__",
                                                             "_abc_impl", "__annotations__", "__parameters__", "__orig_bases__",
                                                             "__dataclass_fields__", "__dataclass_params__", "__match_args__",
                                                             "__static_attributes__", "__firstlineno__"))
                values = tuple(vars(b)[k] for k in names)
                self.place("vars", b, names, (*values, len(vars(b)), b.__bases__))
                if not standard(_module(type(b))) and type(b) is not type:
                    self.stack.append(type(b))
        self.framework(c)

    def function(self, fn):
        if ours(fn.__code__):                # a decorator of ours: what it wraps
            for cell in fn.__closure__ or ():
                try:
                    inner = cell.cell_contents
                except ValueError:
                    continue
                if isinstance(inner, types.FunctionType | types.MethodType | functools.partial):
                    self.stack.append(inner)
                    self.named(fn)
            return
        if fn.__code__ is DISPATCH:          # of functools.singledispatch: its cases (what it found before is found again)
            self.namespace(fn.registry)
            held = vars(fn)
            names = tuple(k for k in held if k not in DISPATCHING)
            self.place("some", held, (DISPATCHING, names), tuple(held[k] for k in names))
            return
        if standard(fn.__module__ or "") and fn.__module__ != "__main__" and standard(fn.__globals__.get("__name__", "")):
            if fn is os.getenv:
                self.stack.append(os.environ)
            return                           # the purity watch looks at what it does
        self.place("function", fn, None, (fn.__code__, fn.__defaults__, fn.__kwdefaults__))
        self.stack += fn.__closure__ or ()
        self.named(fn)
        if standard(fn.__globals__.get("__name__", "")):
            return                           # (a wrapper of the standard library's, such as a dataclass has: what it wraps is on the stack)
        self.code(fn.__code__, fn.__globals__)

    def code(self, code, names_of):
        """The globals that some code and the functions inside it name; what it names in modules comes at the end."""
        if (code, id(names_of)) in self.read:
            return
        self.read.add((code, id(names_of)))
        self.codes.add(code)
        self.exact |= code.co_name in EXACT and not code.co_filename.startswith("<")
        if "globals" in code.co_names:
            names = tuple(k for k in names_of if k not in UNNAMED)
            self.place("some", names_of, (UNNAMED, names), tuple(names_of[k] for k in names))
        notes, attributes, names, imports = _instructions(code)
        self.exact |= "exact" in notes
        self.direct |= "direct" in notes
        self.typed |= "typed" in notes
        self.shown |= "shown" in notes
        self.looks_up |= "looks up" in notes
        self.attributes.update(attributes)
        for name, not_called in names:
            if name in names_of:
                self.place("global", names_of, name, (names_of[name],))
            else:
                self.place("global", names_of, name, ())
                if names_of.get("__builtins__", builtins) not in (builtins, vars(builtins)):
                    raise Unwatchable(f"{code.co_name} has other builtins than Python's")
                f = getattr(builtins, name, None)
                if f in CONVERTING:          # (as a type it has no stand-in)
                    self.called[id(names_of), name] = names_of, f, not not_called and self.called.get((id(names_of), name), (0, 0, True))[2]
                if f is id:                  # (a stand-in for everybody would be asked all the time)
                    self.outward.setdefault(id(f), (f, []))[1].append(("builtin", names_of, "id"))
                    self.places.append(("global", vars(builtins), "id", [f]))
                elif f is not None and name not in self.builtins:
                    self.builtins.add(name)
                    self.place("global", vars(builtins), name, (f,))
                    if f in BY_NAME:         # (what is done with it by its own name is seen)
                        self.stack.pop()
                if not_called and type(f) is types.BuiltinFunctionType and not stands(f):
                    self.passed_on(f)
        for name, level in imports:
            name = _absolute(name, level, names_of)
            for n in {name, name.partition(".")[0]}:
                if n in sys.modules:
                    self.place("global", sys.modules, n, (sys.modules[n],))
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                self.code(c, names_of)
            for s in c if type(c) is tuple else (c,):
                if type(s) is str and len(s) < 100:
                    self.attributes.update(s.split("."))     # (of getattr, attrgetter or a pattern)
                    if "{" in s:             # (of format)
                        self.attributes.update(_WORDS(" ".join(_FIELDS(s))))

    def watch(self, objects):
        """Compare the attributes of some objects as well, which hold nothing but numbers."""
        for x in objects:
            if id(x) not in self.seen:
                self.seen[id(x)] = x
                self.places.append(("dict", vars(x), tuple(vars(x)), list(vars(x).values())))
        self.arrange()

    # ---- comparing ---------------------------------------------------------------------------------------------------
    def arrange(self):
        """The places by how they are compared fastest: what is as it was is found so at C's speed."""
        others = [vars(m) for m, _ in self.modules.values() if not standard(m.__name__)]
        self.absent = [(d, frozenset(self.attributes - d.keys())) for d in others]       # names that the user's modules have not
        self.held = [object.__getattribute__(x, "__dict__") for x in self.holders]
        self.keyed = [(owner, names) for kind, owner, names, _ in self.places
                      if kind == "dict" and type(owner) in OWN and any(type(k) is not str for k in names)]
        self.more = bool(self.holders or self.absent or self.keyed)
        own = [p for p in self.places if p[0] == "dict" and type(p[1]) in OWN]
        self.empty = [owner for _, owner, _, objects in own if not objects]
        self.names = [(owner, names, objects) for kind, owner, names, objects in self.places if kind == "global" and objects]
        self.cells = [(owner, objects) for kind, owner, names, objects in self.places if kind == "cell" and objects]
        self.arrays = [(owner, *objects) for kind, owner, names, objects in self.places if kind == "array"]
        self.dicts = [(owner, names, objects) for _, owner, names, objects in own if objects]
        self.owners = [owner for kind, owner, *_ in self.places if kind == "class"]
        self.types = [objects[0] for kind, *_, objects in self.places if kind == "class"]
        self.rest = [p for p in self.places if p[0] not in ("dict", "global", "cell", "class", "array") or p[0] in ("global", "cell") and not p[3]
                     or p[0] == "dict" and type(p[1]) not in OWN]

    def same(self):
        """Is everything the very object that was found?"""
        for d, name, (x,) in self.names:
            if d.get(name, self) is not x:
                return False
        if any(self.empty) or any(map(named, self.bare)):
            return False
        for d, names, objects in self.dicts:
            if len(d) != len(names) or not all(map(_same, d.values(), objects)) or not (all(map(_same, d, names)) or _keys(d, names)):
                return False
        if self.more and not (all(map(_same, map(_attribute, self.holders, itertools.repeat("__dict__")), self.held))
                              and all([d.keys().isdisjoint(names) for d, names in self.absent])
                              and all([all(map(_same, d, names)) for d, names in self.keyed])):
            return False
        try:
            for cell, (x,) in self.cells:
                if cell.cell_contents is not x:
                    return False
        except ValueError:
            return False
        if not all(map(_same, map(type, self.owners), self.types)):
            return False
        for a, layout, data in self.arrays:
            if _contents(a) != (layout, data):
                return False
        for kind, owner, names, objects in self.rest:
            now = _look(kind, owner, names)
            if now is None or len(now) != len(objects) or not all(map(_same, now, objects)):
                return False
        return True

    def restore(self):
        """Put back what is not as it was found; was there anything?"""
        if self.same():
            return False
        for t in self.bare:
            named(t).clear()
        for kind, owner, names, objects in self.places:
            now = _look(kind, owner, names)
            if now is None or len(now) != len(objects) or not all(map(_same, now, objects)):
                _put(kind, owner, names, objects)
        return True

    def difference(self):
        """The first thing that is not as it was found, as a reason; None if all is."""
        if self.same():
            return None
        for change in self.changes():
            return Changed(self, change)
        return None

    def said(self, kind, owner):
        """A change in words."""
        if kind == "holder":
            return f"the attributes of a {type(owner).__qualname__} were replaced"
        if kind == "absent":
            return f"the module {owner.get('__name__')} got a name"
        if kind == "bare":
            return f"a {type(owner).__qualname__} got attributes"
        return _said(kind, owner, next((names for k, o, names, _ in self.places if k == kind and o is owner), None))

    def changes(self):
        """What is not as it was found: (kind, owner, name, before, now); without a name where there is more or less of it."""
        out = []
        if self.same():
            return out
        out += [("holder", x, None, None, None) for x, d in zip(self.holders, self.held) if _attribute(x, "__dict__") is not d]
        out += [("absent", d, None, None, None) for d, names in self.absent if not d.keys().isdisjoint(names)]
        out += [("bare", t, None, None, None) for t in self.bare if named(t)]
        for kind, owner, names, objects in self.places:
            now = _look(kind, owner, names)
            if now is None or len(now) != len(objects):
                out.append((kind, owner, None, objects, now))
                continue
            for i, (a, b) in enumerate(zip(now, objects)):
                if a is not b and not _equal(a, b):
                    name = names[1][i] if kind == "some" else i if kind == "items" else names or "contents"
                    if kind in ("dict", "vars", "local"):
                        name = names[i] if i < len(names) else None
                    if a is ABSENT or b is ABSENT:             # deleted, or not there before
                        name = None
                    if not any(o is owner and _same_key(n, name) for _, o, n, _, _ in out):
                        out.append((kind, owner, name, b, a))
        return out


def _absolute(name, level, names_of):
    """The module that an import names, relative ones from their package."""
    if not level:
        return name
    parts = (names_of.get("__package__") or "").split(".")
    return ".".join([*parts[:len(parts) - level + 1], *([name] if name else [])])


def _slots(c):
    """The names of the slots of a class."""
    held = c.__dict__
    return [k for k, d in held.items() if type(d) is types.MemberDescriptorType] if "__slots__" in held else []


def not_of_c(t):
    """Do the instances of a class hold nothing but attributes?"""
    return all(b is object or b.__flags__ & HEAP for b in t.__mro__) and hidden(t) is None


def attributes(x):
    """The names and values of what such an instance holds."""
    held = [(n, getattr(x, n)) for c in type(x).__mro__ for n in _slots(c) if hasattr(x, n)]
    return [*getattr(x, "__dict__", {}).items(), *held]


def _keys(d, names):
    """Are the keys of a dict these, in this order? (Tensors are so by identity.)"""
    held = elements(d)
    return len(held) == len(names) and all(map(_same_key, held, names))


def _same_key(a, b):
    if a is b or type(a) is not type(b):
        return a is b
    return _equal(a, b) if type(a) in (*PLAIN, tuple) else not isinstance(a, Base) and a == b


def _contents(x):
    """How the numbers of an array lie in its memory, and their bytes."""
    if type(x) in (np.ndarray, np.void):
        return (x.dtype, x.shape, x.strides), x.tobytes()
    return (None, bytes(x)) if type(x) is bytearray else (x.typecode, x.tobytes())


def _fill(x, layout, data):
    """Put back what `_contents` found."""
    if type(x) is bytearray:
        x[:] = data
    elif type(x) is array.array:
        x[:] = array.array(layout, data)
    elif layout == (x.dtype, x.shape, x.strides):
        was = np.frombuffer(data, x.dtype).reshape(x.shape)
        for part in x.dtype.names if type(x) is np.void else (...,):
            x[part] = was[part]


def _look(kind, owner, names):
    """What a place holds now; None where its names are others."""
    if kind == "dict":
        return values(owner) if _keys(owner, names) else None
    if kind in ("items", "set"):
        return elements(owner)
    if kind == "some":
        skip, names = names
        return tuple(v for k, v in owner.items() if k not in skip) if tuple(k for k in owner if k not in skip) == names else None
    if kind == "global":
        return (owner[names],) if names in owner else ()
    if kind == "cell":
        try:
            return (owner.cell_contents,)
        except ValueError:
            return ()
    if kind == "class":
        return (type(owner),)
    if kind == "slot":
        try:
            return (getattr(owner, names),)
        except AttributeError:
            return ()
    if kind == "vars":
        held = vars(owner)
        return *(held.get(k, ABSENT) for k in names), len(held), owner.__bases__
    if kind == "array":
        return _contents(owner)
    if kind == "layout":
        return (_one(numpy_arrays.layout(owner)),)
    if kind == "path":
        return (tuple(owner),)
    if kind == "partial":
        return owner.func, owner.args, owner.keywords
    if kind == "context":
        return (owner.get(ABSENT),)
    if kind == "local":
        return _look("dict", vars(owner), names)
    if kind == "patched":
        return (class_state.state(owner),)
    if kind == "abstract":
        return (abc.get_cache_token(),)
    if kind == "setting":
        return (owner(),)
    if kind == "said":
        held = vars(owner) if isinstance(owner, type) else {}
        return tuple([held.get(n) if n not in SAID[:2] and isinstance(owner, type) else getattr(owner, n, None) for n in names])
    return owner.__code__, owner.__defaults__, owner.__kwdefaults__


def _put(kind, owner, names, objects):
    """Let a place hold what it held."""
    if kind == "items" and not isinstance(owner, tuple) or kind == "set" and not isinstance(owner, frozenset):
        fill(owner, objects)
    elif kind == "dict" and not isinstance(owner, types.MappingProxyType):
        fill(owner, zip(names, objects))
    elif kind == "some":
        skip, names = names
        for k in [k for k in owner if k not in skip]:
            del owner[k]
        owner.update(zip(names, objects))
    elif kind == "global" and objects:
        owner[names], = objects
    elif kind == "global":
        owner.pop(names, None)
    elif kind == "cell" and objects:
        owner.cell_contents, = objects
    elif kind == "cell":
        del owner.cell_contents
    elif kind == "class":
        owner.__class__, = objects
    elif kind == "context" and objects[0] is not ABSENT:
        owner.set(objects[0])
    elif kind == "local":
        fill(vars(owner), zip(names, objects))
    elif kind == "slot":
        setattr(owner, names, *objects) if objects else delattr(owner, names)
    elif kind == "vars":
        for k, v in zip(names, objects):
            setattr(owner, k, v)
    elif kind == "array":
        _fill(owner, *objects)
    elif kind == "function":
        owner.__code__, owner.__defaults__, owner.__kwdefaults__ = objects


def exact(x):
    """A float or complex number as text, to be compared: another one for other bits."""
    return repr(x) if x == x else f"{x!r} ({struct.pack('<2d', x.real, x.imag).hex()})"


def _equal(a, b):
    """Are two objects the same number or text? (Numbers to the bit.)"""
    if type(a) is not type(b):
        return False
    if type(a) in (float, complex):
        return exact(a) == exact(b)
    if type(a) in PLAIN:
        return a == b
    if type(a) is tuple:
        return len(a) == len(b) and all(x is y or _equal(x, y) for x, y in zip(a, b))
    return type(a) is types.MethodType and a.__func__ is b.__func__ and a.__self__ is b.__self__


def _name(k):
    return repr(k) if type(k) in PLAIN else f"a {type(k).__name__}"


def _said(kind, owner, names):
    if kind == "global":
        return f"the global `{names}` changed"
    if kind == "cell":
        return "a variable of an enclosing function changed"
    if kind == "function":
        return f"the function `{owner.__qualname__}` changed"
    if kind in ("vars", "patched"):
        return f"`{getattr(owner, '__qualname__', owner.__name__)}` changed"
    if kind == "setting":
        return f"a setting of {names} changed"
    if kind == "said":
        return f"what `{owner.__qualname__}` says of itself changed"
    if kind == "abstract":
        return "a class was registered as a subclass of an abstract one"
    if kind in ("slot", "class"):
        return f"an attribute of a {type(owner).__qualname__} changed"
    return f"a {type(owner).__name__} changed" + (f" (one with {', '.join(map(_name, names[:3]))})" if kind == "dict" and names else "")
