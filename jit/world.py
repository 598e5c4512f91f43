"""What a function can read besides its arguments' numbers: found before a recording, compared before each replay.

The walk starts at the function (defaults, closure, the globals that its code names, its `self`) and at the arguments, and follows
containers, instances, classes and functions of the user's. What it meets is kept as *places*: a container or namespace with the very
objects that it held. A replay is right as long as every place holds the same objects (or equal numbers and strings). What cannot be
watched (an open file, a generator, a lock) makes the function run eagerly.
"""
import builtins
import collections
import contextvars
import dis
import enum
import functools
import itertools
import operator
import os
import sys
import types

import numpy as np
from whet import devices, dtypes
from whet.random import Generator
from whet.tensor import Size
from whet.tensor_base import Base

from .effects import SETTABLE, Slot, get

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
                 "chr ord format repr ascii bin hex oct __build_class__ id".split())
MODULES = frozenset(("math", "cmath", "operator", "_operator", "itertools", "_functools", "_collections", "_abc", "_struct", "_bisect", "_heapq"))
LOOKUPS = frozenset(("getattr", "hasattr", "setattr", "delattr", "__dict__", "attrgetter"))     # with names that may be made at run time
LIBRARY = os.path.dirname(os.__file__)
_same, _attribute = operator.is_, object.__getattribute__


class Unwatchable(Exception):
    """Something that a function can read and that cannot be compared later."""


def ours(code):
    """Is this code the framework's own?"""
    return _ours(code.co_filename)


@functools.lru_cache(4096)
def _ours(filename):
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


def standard(module):
    """Is a module (by name) Python's own, or NumPy, or ours: nothing that a user's function changes?"""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__" or top in ("numpy", "ml_dtypes", "whet")


def computes(module, name):
    """Is a function of C, by its module and name, one that only computes?"""
    return module == "builtins" and name in PURE or module in MODULES or module.partition(".")[0] in ("numpy", "whet")


def foreign(t):
    """Is a type neither the user's nor one of Python's containers?"""
    return standard(t.__module__) and t.__module__ not in ("builtins", "collections")


def hidden(t):
    """The base of a class that keeps state where nobody can look, or None."""
    for b in t.__mro__:
        if type(vars(b).get("__new__")) is types.BuiltinFunctionType and b not in OPEN and not b.__module__.startswith("whet"):
            return b


class World:
    """The places that a function reads from. `loose`: (id of owner, name) of places whose numbers or tensors may be any, and (id, None) of
    lists that only grow."""

    def __init__(self, fn, arguments=(), loose=frozenset()):
        self.holders = []                    # what has a dict, which may be exchanged for another
        self.places = []                     # (kind, owner, names or None, objects)
        self.loose, self.slots, self.growing = loose, [], {}
        self.tensors = {}                    # id -> tensor
        self.codes = set()                   # code that the walk has gone through
        self.seen = {}                       # id -> object, kept alive
        self.stack = [fn, *arguments]
        nn = sys.modules.get("whet.nn.module")
        if nn is not None:                   # hooks of all modules
            self.place("slot", nn.Module, "_hooks", (nn.Module._hooks,))
            self.stack.append(nn.hooks.for_all)
        self.modules, self.attributes = {}, set()    # module's id -> (module, names already looked up in it); what code names
        self.entire = {}                     # id -> module of which any name may be looked up
        self.grads = []                      # gradients of tensors: at the end those that nothing else leads to
        self.walk()
        self.grads = [g for g in self.grads if id(g) not in self.seen]
        self.stack += self.grads
        self.walk()
        self.stack = None
        self.arrange()

    # ---- the walk ----------------------------------------------------------------------------------------------------
    def walk(self):
        """Visit what is on the stack, and what that leads to."""
        again = True
        while again:
            while self.stack:
                self.visit(self.stack.pop())
            again = any([self.module(m, done) for m, done in list(self.modules.values())])

    def let_go(self, kept):
        """Forget gradients, other than these: who reads one finds it by the tensor whose it is, and it is soon another."""
        for g in self.grads:
            if not any(g is t for t in kept):
                self.tensors.pop(id(g), None)
                self.seen.pop(id(g), None)
        self.grads = []

    def visit(self, x):
        if type(x) in PLAIN or id(x) in self.seen or isinstance(x, CONSTANT) and type(x) is not np.void:
            return
        if len(self.seen) >= MOST:
            raise Unwatchable(f"it reaches more than {MOST} objects")
        self.seen[id(x)] = x
        t = type(x)
        if isinstance(x, Base):
            self.tensor(x)
        elif isinstance(x, list | tuple | collections.deque):
            self.place("items", x, None, tuple(x))
            if t not in (list, tuple, collections.deque):
                self.instance(x)
        elif isinstance(x, set | frozenset):
            if not all(type(e) in PLAIN for e in x):
                raise Unwatchable(f"it can read a set of {sorted({type(e).__name__ for e in x})}")
            self.place("set", x, None, tuple(x))
            if t not in (set, frozenset):
                self.instance(x)
        elif t in (types.BuiltinFunctionType, types.MethodWrapperType):
            if not isinstance(x.__self__, types.ModuleType | type) and not foreign(type(x.__self__)):
                self.stack.append(x.__self__)            # (calls of the methods of others are seen)
        elif isinstance(x, dict):
            self.namespace(x)
            if t not in (dict, collections.OrderedDict, collections.defaultdict):
                self.instance(x)
        elif t is types.MappingProxyType:
            self.namespace(x)
        elif t is types.FunctionType:
            self.function(x)
        elif t is types.MethodType:
            self.stack += [x.__func__, x.__self__]
        elif t is functools.partial:
            self.stack += [x.func, x.args, x.keywords]
            if type(x.func) is types.BuiltinFunctionType and (isinstance(x.func.__self__, types.ModuleType) or foreign(type(x.func.__self__))):
                self.passed_on(x.func)
        elif t in (staticmethod, classmethod):
            self.stack.append(x.__func__)
        elif t is property:
            self.stack += [f for f in (x.fget, x.fset, x.fdel) if f is not None]
        elif t is functools.cached_property:
            self.stack.append(x.func)
        elif t is types.CellType:
            self.cell(x)
        elif isinstance(x, types.ModuleType):
            self.modules[id(x)] = x, set()
        elif isinstance(x, type):
            self.klass(x)
        elif hasattr(t, "_traces"):
            self.stack.append(x.fn)          # a traced function is what it traces
        elif t is object or isinstance(x, enum.Enum) or isinstance(x, Generator):
            pass                             # (draws of random numbers are recorded)
        elif type(x) is np.ndarray and x.nbytes <= WATCHED and x.dtype.kind != "O":
            self.place("array", x, None, ((x.dtype, x.shape, x.strides), x.tobytes()))
        elif isinstance(x, np.ndarray | np.void):
            raise Unwatchable("it can read a large NumPy array, whose numbers may change unseen: make it a tensor")
        elif t is contextvars.ContextVar:
            self.place("context", x, None, (x.get(_look),))
        elif t is type(os.environ):
            self.namespace(x._data)
        elif isinstance(x, types.GeneratorType) or hasattr(t, "__next__"):
            raise Unwatchable(f"it can read a {t.__name__}, which moves on when it is read")
        elif t.__module__ == "builtins" or standard(t.__module__) and not self.known(x):
            raise Unwatchable(f"it can read a {t.__module__}.{t.__qualname__}")
        elif hidden(t) is not None:
            raise Unwatchable(f"it can read a {t.__qualname__}, which is a kind of {hidden(t).__qualname__}")
        else:
            self.instance(x)

    def known(self, x):
        """An instance of a class of ours is data, of the standard library mostly not."""
        return type(x).__module__.partition(".")[0] == "whet" or type(x) is types.SimpleNamespace or type(x).__module__ == "argparse" \
            and type(x).__name__ == "Namespace"

    def passed_on(self, f):
        """A function of C that is a value: others call it, and nobody sees that."""
        if not computes(f.__module__ or "", f.__name__):
            raise Unwatchable(f"it passes {f.__module__ or type(f.__self__).__name__}.{f.__name__} on")

    def module(self, m, done):
        """Look up what the code that has been seen names in a module; is there anything new?"""
        held = vars(m)
        new = [name for name in sorted(self.attributes - done) if name in held]
        done |= self.attributes
        for name in new:
            self.place("global", held, name, (held[name],))
        return bool(new)

    def place(self, kind, owner, names, objects):
        objects = list(objects)
        self.places.append((kind, owner, names, objects))
        found = objects[:-2] if kind == "vars" else objects          # (the last two of a class are no values of it)
        if self.loose and kind in SETTABLE:
            named = names[1] if kind == "some" else names if kind in ("dict", "vars") else \
                range(len(objects)) if kind == "items" else (names or "contents",)
            found = [x for i, (name, x) in enumerate(zip(named, found)) if not self.slot(kind, owner, name, objects, i)]
        self.stack += found

    def slot(self, kind, owner, name, objects, i):
        """Is this a place where anything may lie? Note it."""
        x = objects[i]
        if kind == "items" and not isinstance(owner, list):
            return False
        if type(x) is list and (id(x), None) in self.loose:
            self.growing.setdefault(id(x), (x, []))[1].append((kind, owner, name))
            return True
        if (id(owner), name) not in self.loose or not Slot.takes(x):
            return False
        for s in self.slots:
            if s.owner is owner and s.name == name:
                break
        else:
            s = Slot(kind, owner, name, x)
            self.slots.append(s)
        s.cells.append((objects, i))
        return True

    def entangled(self, leaves):
        """Are tensors of slots, or lists that grow, known by other names as well? Then they are no slots."""
        found = [get(s.kind, s.owner, s.name) for s in self.slots if not s.is_number]
        return any(id(t) in self.tensors or any(t is x for x in leaves) for t in found) or len({id(t) for t in found}) < len(found) \
            or any(i in self.seen for i in self.growing)

    def namespace(self, d):
        for k in d:
            if type(k) not in PLAIN:
                self.stack.append(k)
        self.place("dict", d, tuple(d), tuple(d.values()))

    def tensor(self, t):
        self.tensors[id(t)] = t
        if type(t) is not Base:
            self.namespace(vars(t))
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
        if not standard(t.__module__):
            self.stack.append(t)
        elif "forward" in vars(t):           # (a layer of ours that somebody gave another one)
            self.place("global", vars(t), "forward", (vars(t)["forward"],))
        if hasattr(x, "__dict__"):
            self.holders.append(x)
            skip = getattr(t, "_unwatched", None)
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

    def klass(self, c):
        """A class of the user's: what its body and those of its bases hold."""
        for b in c.__mro__:
            if not standard(b.__module__) and b is not object:
                self.seen[id(b)] = b
                names = tuple(k for k in vars(b) if k not in ("__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__",
                                                             "_abc_impl", "__annotations__", "__parameters__", "__orig_bases__",
                                                             "__dataclass_fields__", "__dataclass_params__", "__match_args__",
                                                             "__static_attributes__", "__firstlineno__"))
                values = tuple(vars(b)[k] for k in names)
                self.place("vars", b, names, (*values, len(vars(b)), b.__bases__))
                if not standard(type(b).__module__) and type(b) is not type:
                    self.stack.append(type(b))

    def function(self, fn):
        if ours(fn.__code__):                # a decorator of ours: what it wraps
            for cell in fn.__closure__ or ():
                try:
                    inner = cell.cell_contents
                except ValueError:
                    continue
                if isinstance(inner, types.FunctionType | types.MethodType | functools.partial):
                    self.stack.append(inner)
            return
        if standard(fn.__module__ or "") and fn.__module__ != "__main__":
            if fn is os.getenv:
                self.stack.append(os.environ)
            return                           # the purity watch looks at what it does
        self.place("function", fn, None, (fn.__code__, fn.__defaults__, fn.__kwdefaults__))
        self.stack += fn.__closure__ or ()
        if fn.__dict__:
            self.holders.append(fn)
        self.namespace(fn.__dict__)
        if not LOOKUPS.isdisjoint(fn.__code__.co_names):
            self.whole([c.cell_contents for c in fn.__closure__ or () if c != types.CellType()])
        self.code(fn.__code__, fn.__globals__)

    def code(self, code, names_of):
        """The globals that some code and the functions inside it name; what it names in modules comes at the end."""
        if code in self.codes:
            return
        self.codes.add(code)
        if not LOOKUPS.isdisjoint(code.co_names):
            self.whole([names_of[n] for n in code.co_names if n in names_of])
        constants = [None, None]             # the last two: of an import, its level and names
        for i in dis.get_instructions(code):
            if i.opname == "LOAD_CONST":
                constants = constants[-1], i.argval
            elif i.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                if i.argval in names_of:
                    self.place("global", names_of, i.argval, (names_of[i.argval],))
                else:
                    self.place("global", names_of, i.argval, ())
                    f = getattr(builtins, i.argval, None)
                    if i.opname == "LOAD_GLOBAL" and not i.arg & 1 and type(f) is types.BuiltinFunctionType:
                        self.passed_on(f)    # (not called here)
            elif i.opname == "IMPORT_NAME":
                name = _absolute(i.argval, constants[0], names_of)
                for n in {name, name.partition(".")[0]}:
                    if n in sys.modules:
                        self.place("global", sys.modules, n, (sys.modules[n],))
                self.attributes.add(i.argval)
            elif i.opname in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"):
                self.attributes.add(i.argval)
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                self.code(c, names_of)
            elif type(c) is str and len(c) < 100:
                self.attributes.update(c.split("."))     # (of getattr or attrgetter)

    def whole(self, objects):
        """Any name of the modules among some objects may be looked up."""
        self.entire.update({id(m): m for m in objects if isinstance(m, types.ModuleType) and not standard(m.__name__)})

    # ---- comparing ---------------------------------------------------------------------------------------------------
    def arrange(self):
        """The places by how they are compared fastest: what is as it was is found so at C's speed."""
        for m in self.entire.values():
            self.places.append(("dict", vars(m), tuple(vars(m)), tuple(vars(m).values())))
        others = [vars(m) for m, _ in self.modules.values() if not standard(m.__name__)]
        self.absent = [(d, frozenset(self.attributes - d.keys())) for d in others]       # names that the user's modules have not
        self.held = [object.__getattribute__(x, "__dict__") for x in self.holders]
        self.keyed = [(owner, names) for kind, owner, names, _ in self.places if kind == "dict" and any(type(k) is not str for k in names)]
        self.more = bool(self.holders or self.absent or self.keyed)
        self.empty = [owner for kind, owner, names, objects in self.places if kind == "dict" and not objects]
        self.names = [(owner, names, objects) for kind, owner, names, objects in self.places if kind == "global" and objects]
        self.cells = [(owner, objects) for kind, owner, names, objects in self.places if kind == "cell" and objects]
        self.arrays = [(owner, *objects) for kind, owner, names, objects in self.places if kind == "array"]
        self.dicts = [(owner, names, objects) for kind, owner, names, objects in self.places if kind == "dict" and objects]
        self.owners = [owner for kind, owner, *_ in self.places if kind == "class"]
        self.types = [objects[0] for kind, *_, objects in self.places if kind == "class"]
        self.rest = [p for p in self.places if p[0] not in ("dict", "global", "cell", "class", "array") or p[0] in ("global", "cell") and not p[3]]

    def same(self):
        """Is everything the very object that was found?"""
        for d, name, (x,) in self.names:
            if d.get(name, self) is not x:
                return False
        if any(self.empty):
            return False
        for d, names, objects in self.dicts:
            if len(d) != len(names) or not all(map(_same, d.values(), objects)) or tuple(d) != names:
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
            if (a.dtype, a.shape, a.strides) != layout or a.tobytes() != data:
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
        for kind, owner, names, objects in self.places:
            now = _look(kind, owner, names)
            if now is None or len(now) != len(objects) or not all(map(_same, now, objects)):
                _put(kind, owner, names, objects)
        return True

    def difference(self):
        """What is not as it was found, in words; None if all is."""
        if self.same():
            return None
        for kind, owner, _, _, _ in self.changes():
            return self.said(kind, owner)
        return None

    def said(self, kind, owner):
        """A change in words."""
        if kind == "holder":
            return f"the attributes of a {type(owner).__qualname__} were replaced"
        if kind == "absent":
            return f"the module {owner.get('__name__')} got a name"
        return next(_said(kind, owner, names) for k, o, names, _ in self.places if k == kind and o is owner)

    def changes(self):
        """What is not as it was found: (kind, owner, name, before, now); without a name where there is more or less of it."""
        out = []
        if self.same():
            return out
        out += [("holder", x, None, None, None) for x, d in zip(self.holders, self.held) if _attribute(x, "__dict__") is not d]
        out += [("absent", d, None, None, None) for d, names in self.absent if not d.keys().isdisjoint(names)]
        for kind, owner, names, objects in self.places:
            now = _look(kind, owner, names)
            if now is None or len(now) != len(objects):
                out.append((kind, owner, None, objects, now))
                continue
            for i, (a, b) in enumerate(zip(now, objects)):
                if a is not b and not _equal(a, b):
                    name = names[1][i] if kind == "some" else i if kind == "items" else names or "contents"
                    if kind in ("dict", "vars"):
                        name = names[i] if i < len(names) else None
                    if a is _look or b is _look:             # deleted, or not there before
                        name = None
                    if not any(o is owner and n == name for _, o, n, _, _ in out):
                        out.append((kind, owner, name, b, a))
        return out


def _absolute(name, level, names_of):
    """The module that an import names, relative ones from their package."""
    if not level:
        return name
    parts = (names_of.get("__package__") or "").split(".")
    return ".".join([*parts[:len(parts) - level + 1], *([name] if name else [])])


def _slots(c):
    names = c.__dict__.get("__slots__", ())
    names = (names,) if isinstance(names, str) else names
    return [n if not (n.startswith("__") and not n.endswith("__")) else f"_{c.__name__.lstrip('_')}{n}" for n in names
            if n not in ("__dict__", "__weakref__")]


def _look(kind, owner, names):
    """What a place holds now; None where its names are others."""
    if kind == "dict":
        same = tuple(owner) == names and all(a is b or type(a) is type(b) and (type(a) not in PLAIN or _equal(a, b)) for a, b in zip(owner, names))
        return tuple(owner.values()) if same else None
    if kind in ("items", "set"):
        return tuple(owner)
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
        return *(held.get(k, _look) for k in names), len(held), owner.__bases__
    if kind == "array":
        return (owner.dtype, owner.shape, owner.strides), owner.tobytes()
    if kind == "context":
        return (owner.get(_look),)
    return owner.__code__, owner.__defaults__, owner.__kwdefaults__


def _put(kind, owner, names, objects):
    """Let a place hold what it held."""
    if kind == "items" and not isinstance(owner, tuple) or kind == "set" and not isinstance(owner, frozenset):
        owner.clear()
        (owner.update if kind == "set" else owner.extend)(objects)
    elif kind == "dict" and not isinstance(owner, types.MappingProxyType):
        owner.clear()
        owner.update(zip(names, objects))
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
    elif kind == "slot":
        setattr(owner, names, *objects) if objects else delattr(owner, names)
    elif kind == "vars":
        for k, v in zip(names, objects):
            setattr(owner, k, v)
    elif kind == "function":
        owner.__code__, owner.__defaults__, owner.__kwdefaults__ = objects


def _equal(a, b):
    """Are two objects the same number or text? (Numbers to the bit.)"""
    if type(a) is not type(b):
        return False
    if type(a) in (float, complex):
        return repr(a) == repr(b)
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
    if kind == "vars":
        return f"the class `{owner.__qualname__}` changed"
    if kind in ("slot", "class"):
        return f"an attribute of a {type(owner).__qualname__} changed"
    return f"a {type(owner).__name__} changed" + (f" (one with {', '.join(map(_name, names[:3]))})" if kind == "dict" and names else "")
