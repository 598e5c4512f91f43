"""Where code, functions and classes come from: whet, Python, a library that whet works with, or
the user.

A module is known by what the import system says of it: it is in `sys.modules` under the name in its
spec, and its file is where the packages of that name are. Code belongs to the module
whose globals it runs with, a class to the module that leads to it. What a file is called, or what a
function or a module says of itself, decides nothing.
"""
import _ctypes
import functools
import os
import sys
import types
from enum import Enum, auto
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec
from typing import Any

from whet import declared_for_tracing

from . import class_state

HEAP = 1 << 9                    # a flag of types: it was made at run time
IMMUTABLE = 1 << 8               # and another: it cannot change, so C has made it
# each has a folder of its own
OUR_PACKAGES = "whet", "whet.ir", "whet.jit", "whet.passes"
# what whet is installed with, or works with
LIBRARIES = frozenset((
    "numpy", "scipy", "ml_dtypes", "llvmlite", "networkx", "threadpoolctl", "triton"))
# what a subclass says is not asked
_own_dict: Any = vars(types.ModuleType)["__dict__"].__get__
_WHERE_EXTENSIONS_LIE = getattr(_ctypes, "__file__", None) or os.__file__
_STANDARD = tuple({os.path.dirname(file) + os.sep for file in (os.__file__, _WHERE_EXTENSIONS_LIE)})


class Maker(Enum):
    """Who wrote something that is not the user's."""
    WHET = auto()
    PYTHON = auto()
    LIBRARY = auto()


class Origin:
    """A module that is not the user's. `module`: its name, which the import system vouches for."""
    __slots__ = ("maker", "module", "names", "is_ours", "is_pythons", "is_of_a_library")

    def __init__(self, maker: Maker, module: str, names: dict[str, Any]) -> None:
        self.maker, self.module, self.names = maker, module, names
        self.is_ours = maker is Maker.WHET
        self.is_pythons = maker is Maker.PYTHON
        self.is_of_a_library = maker is Maker.LIBRARY

    @property
    def top(self) -> str:
        """The name of the package that it is in."""
        return self.module.partition(".")[0]

    @property
    def only_computes(self) -> bool:
        """Does the module, or its package, declare that it only computes? Code written at run time
        counts as declared."""
        package = sys.modules.get(self.names.get("__package__") or "")
        return id(self.names) in declared_for_tracing.COMPUTING \
            or id(self.names) in declared_for_tracing.GENERATED \
            or package is not None and id(_own_dict(package)) in declared_for_tracing.COMPUTING


_known: dict[int, Origin] = {}           # by the id of a namespace, which the origin keeps alive
_classes: dict[int, tuple[type, Origin]] = {}


def origin_of(names: dict[str, Any]) -> Origin | None:
    """Whose a namespace is; None for the user's.

    >>> import math
    >>> from whet.jit.values.code_origin import origin_of
    >>> origin_of(vars(math)).maker, origin_of({"__name__": "math"})
    (<Maker.PYTHON: 2>, None)
    """
    return _known.get(id(names)) or _look_up(names)


def _look_up(names: dict[str, Any]) -> Origin | None:
    if id(names) in declared_for_tracing.GENERATED:
        _known[id(names)] = origin = Origin(Maker.WHET, "whet", names)
        return origin
    spec = names.get("__spec__")
    if type(spec) is not ModuleSpec:
        return None
    module = sys.modules.get(spec.name)
    if not isinstance(module, types.ModuleType) or _own_dict(module) is not names:
        return None
    maker = _maker(spec)
    if maker is None:
        return None
    _known[id(names)] = origin = Origin(maker, spec.name, names)
    return origin


def _maker(spec: ModuleSpec) -> Maker | None:
    loader: Any = spec.loader
    if loader is BuiltinImporter or loader is FrozenImporter:
        return Maker.PYTHON if spec.name.partition(".")[0] in sys.stdlib_module_names else None
    return _maker_of_file(spec.name, spec.origin) if type(spec.origin) is str else None


@functools.lru_cache(4096)
def _maker_of_file(name: str, file: str) -> Maker | None:
    """Whose a module of this name is that was loaded from this file."""
    top = name.partition(".")[0]
    if top == "whet":
        return Maker.WHET if file.startswith(_our_folders()) else None
    if top in LIBRARIES:
        return Maker.LIBRARY if file.startswith(_folders(sys.modules[top])) else None
    lies_in = [file[len(f):].split(os.sep)[0] for f in _STANDARD if file.startswith(f)]
    # site-packages are in such a folder, too
    return Maker.PYTHON if top in [name.partition(".")[0] for name in lies_in] else None


@functools.cache
def _our_folders() -> tuple[str, ...]:
    packages = [sys.modules[name] for name in OUR_PACKAGES if name in sys.modules]
    return tuple(folder for package in packages for folder in _folders(package))


def _folders(package: types.ModuleType) -> tuple[str, ...]:
    return tuple(os.path.join(folder, "") for folder in getattr(package, "__path__", ()))


def origin_of_module(module: types.ModuleType) -> Origin | None:
    """Whose a module is; None for the user's."""
    return origin_of(_own_dict(module))


def origin_of_class(t: type) -> Origin | None:
    """Whose a class is; None for the user's. It is of the module that leads to it by its name:
    anybody can write any name into a class."""
    known = _classes.get(id(t))
    if known is not None:
        return known[1]
    said = t.__module__
    module = sys.modules.get(said if type(said) is str else "builtins")
    origin = origin_of_module(module) if isinstance(module, types.ModuleType) else None
    made_by_c = not t.__flags__ & HEAP or t.__flags__ & IMMUTABLE
    if origin is None or not (made_by_c or _leads_to(module, t) or _is_made_by(origin, t)):
        return None
    _classes[id(t)] = t, origin
    return origin


def _leads_to(module: Any, t: type) -> bool:
    found = module
    for name in t.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is t


def _is_made_by(origin: Origin, t: type) -> bool:
    """Did a function of ours make a class? Then nothing in its body is the user's."""
    own = [v for v in vars(t).values() if type(v) is types.FunctionType]
    return origin.is_ours and bool(own) and all(
        not users(f) or makes_a_tuple(f.__code__, f.__globals__) for f in own)


def origin_of_what(x: Any) -> Origin | None:
    """Whose a function or class is, or the class of something else; None for the user's."""
    if type(x) is types.FunctionType:
        return origin_of(x.__globals__)
    if isinstance(x, type):
        return origin_of_class(x)
    of = getattr(x, "__self__", None) if type(x) is types.BuiltinFunctionType else None
    if isinstance(of, types.ModuleType):
        return origin_of_module(of)
    return origin_of_class(of if isinstance(of, type) else type(x if of is None else of))


def ours(x: types.FunctionType | types.FrameType) -> bool:
    """Is this function, or the code that runs in a frame, the framework's own?"""
    names = x.__globals__ if isinstance(x, types.FunctionType) else x.f_globals
    origin = _known.get(id(names)) or _look_up(names)
    return origin is not None and origin.is_ours


def is_our_class(c: type) -> bool:
    """Is this class one of the framework's?"""
    origin = origin_of_class(c)
    return origin is not None and origin.is_ours


def users(x: Any) -> bool:
    """Is a function or class, or the class of something else, the user's?"""
    return origin_of_what(x) is None


def foreign(t: type) -> bool:
    """Is a type neither the user's nor one of Python's containers?"""
    origin = origin_of_class(t)
    return origin is not None and origin.module not in ("builtins", "collections")


def is_as_it_was_made(v: Any) -> bool:
    """Is what a class or module of ours holds really ours, or plain?"""
    f = v.fget if type(v) is property else getattr(v, "__func__", v) \
        if type(v) in (staticmethod, classmethod) else v
    if type(f) is types.FunctionType:
        origin = origin_of(f.__globals__)
        return origin is not None and origin.is_ours or makes_a_tuple(f.__code__, f.__globals__)
    return type(f) is not functools.partial \
        and (isinstance(f, type) or origin_of_class(type(f)) is not None)


def is_compiled_function(t: type) -> bool:
    """Is this the type of functions that a compiler for Python (Cython) has made? They name their
    globals as Python's functions do, and their calls are not noticed."""
    return t is not types.FunctionType and bool(t.__flags__ & IMMUTABLE) \
        and "__globals__" in t.__dict__


def calls_only_ours(x: Any) -> bool:
    """Is an object of a class that runs no user code, whichever of its methods is
    called?"""
    return not callable(x) and all(map(_is_intact, type(x).__mro__))


def _is_intact(t: type) -> bool:
    """Is this class not the user's, and has he put nothing of his into it?"""
    origin = origin_of_class(t)
    return origin is not None and (
        not origin.is_ours or not class_state.state(t).parts(is_as_it_was_made)[0])


def makes_a_tuple(code: types.CodeType, names: dict[str, Any]) -> bool:
    """Is this the function that named tuples are made by, which was written for one class, or the
    expression that makes this function?"""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    if code.co_names != (() if inner else ("_tuple_new",)):
        return False
    return all(c.co_names == ("_tuple_new",) for c in inner) \
        and names.get("_tuple_new") is tuple.__new__ and not names.get("__builtins__", True)
