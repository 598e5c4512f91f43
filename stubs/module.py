"""A stub file: imports, constants, functions and classes of one module."""
import builtins
import importlib
import inspect

from .classes import class_lines
from .names import PARTS, is_ours
from .results import ATTRIBUTES
from .signatures import UNKNOWN, WORD, function_lines

HEADER = (
    "# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.\n")
SOURCES = {
    "typing": "Any Callable Generic Iterable Iterator Literal NamedTuple overload ParamSpec Self "
              "SupportsIndex TypeVar",
    "collections.abc": "Sequence Mapping Sized",
    "contextlib": "AbstractContextManager",
    "types": "EllipsisType",
    "collections": "OrderedDict",
    "os": "PathLike",
    "whet.types": "Number Scalar Device Shape Dims Ints Index MemoryFormat Layout"}
SOURCE = {name: module for module, names in SOURCES.items() for name in names.split()}
VARIABLES = {
    "P": 'ParamSpec("P")', "R": 'TypeVar("R")', "S": 'TypeVar("S")',
    "F": 'TypeVar("F", bound=Callable[..., Any])', "T_co": 'TypeVar("T_co", covariant=True)',
    "M": 'TypeVar("M", bound=Module)'}


class Spelling:
    """How types are written in one file: what must be imported, and under which name where the
    plain one is taken."""

    def __init__(self, room, homes):
        self.room, self.homes, self.taken, self.inner = room, homes, set(), set()
        self.imports: set = set()           # (module, name, the name here)
        self.variables: set = set()

    def __call__(self, text):
        return WORD.sub(lambda m: self.word(m[0]), text)

    def word(self, name):
        if name in ("None", "np", "Literal") or name in VARIABLES:
            return self.special(name)
        if name in self.homes:
            source = self.homes[name]
        elif name in SOURCE:
            source = SOURCE[name]
        elif hasattr(builtins, name):
            source = "builtins"
        else:
            raise NameError(f"{self.room.name}: no type is called {name}")
        here = source == self.room.name
        clash = name in self.inner or name in self.taken and not here
        if here and not clash or source == "builtins" and not clash:
            return name
        spelled = f"_{name}" if clash else name
        self.imports.add((source, name, spelled))
        return spelled

    def special(self, name):
        if name == "np":
            self.imports.add(("numpy", "", "np"))
        elif name == "Literal":
            self.imports.add(("typing", "Literal", "Literal"))
        elif name in VARIABLES:
            self.variables.add(name)
        return name


def import_lines(spelling, room):
    """The imports of types, a line for each module."""
    lines, by_module = [], {}
    for module, name, spelled in sorted(spelling.imports):
        if not name:
            lines.append(f"import {module} as {spelled}")
        elif module == room.name:
            lines.append(f"{spelled} = {name}")
        else:
            by_module.setdefault(module,
                                 []).append(name if spelled == name else f"{name} as {spelled}")
    return (lines
            + [f"from {module} import {', '.join(names)}" for module, names in by_module.items()])


def constant_type(room, name, x, homes):
    """The type of a public value that is neither function nor class."""
    for key in (f"{room.short}.{name}", name):
        if key in ATTRIBUTES:
            return ATTRIBUTES[key]
    if x is None or type(x) in (int, float, str, bool, dict):
        return {"NoneType": "None",
                "dict": "dict[Any, Any]"}.get(type(x).__name__, type(x).__name__)
    named = next((c.__name__
                  for c in type(x).__mro__ if is_ours(c) and homes.get(c.__name__) == c.__module__),
                 None)
    if named:
        return named
    UNKNOWN.append(f"{room.name}.{name}: {type(x)}")
    return "Any"


def parts(room, homes):
    """What the file consists of: (re-exports, constants, functions, classes), by name."""
    exports, constants, functions, classes = {}, {}, {}, dict(room.classes)
    for name, x in room.shown.items():
        if isinstance(x, type) and is_ours(x):
            if room.classes.get(name) is not x:
                exports[name] = (homes.get(x.__name__, x.__module__), x.__name__)
        elif inspect.isroutine(x):
            functions[name] = x
        else:
            constants[name] = x
    return exports, constants, functions, classes


def stub(room, rooms):
    """The text of a stub."""
    homes = {n: r.name for r in rooms.values() for n in r.classes}
    exports, constants, functions, classes = parts(room, homes)
    spelling = Spelling(room, homes)
    spelling.taken = ({*constants, *functions, *(PARTS.get(room.name, ()))}
                      | {n for n, (m, o) in exports.items() if homes.get(n) != m})
    body = []
    # aliases are gone from the live module: its text is its stub
    if room.name == "whet.types":
        return (HEADER
                + inspect.getsource(importlib.import_module(room.name)).partition('\n"""\n')[2])
    for name, x in constants.items():
        body.append(f"{name}: {spelling(constant_type(room, name, x, homes))}")
    for name, fn in functions.items():
        body += function_lines(room, "", name, fn, spelling)
    for cls in ordered(classes):
        body += ["", *class_lines(room, cls, spelling, homes)]
    if room.name == "whet":
        body = ['__version__: _str', *body]
        spelling.imports.add(("builtins", "str", "_str"))
    if spelling.variables:
        spelling("TypeVar ParamSpec Callable Any"
                 + (" Module" if "M" in spelling.variables else ""))
    # other names of classes of this file
    for name, (module, own) in sorted(exports.items()):
        if module == room.name:
            body.append(f"{name} = {own}")
    exports = {name: place for name, place in exports.items() if place[0] != room.name}
    # what is offered here is imported once, as such
    for name, source in exports.items():
        spelling.imports.discard((*source, name))
    head = import_lines(spelling, room)
    head += [f"from {m} import {o} as {n}" for n, (m, o) in sorted(exports.items())]
    head += [
        f"from {room.name} import {p} as {p}" for p in PARTS.get(room.name, ()) if p != "backends"]
    head += ["", *(f"{v} = {VARIABLES[v]}" for v in sorted(spelling.variables))]
    return HEADER + "\n".join(line for line in [*head, "", *body, ""]).replace("\n\n\n\n", "\n\n")


def ordered(classes):
    """Classes, each after its bases."""
    done: list = []
    for cls in sorted(classes.values(), key=lambda c: (len(c.__mro__), c.__name__)):
        done.append(cls)
    return done
