"""A class as lines of a stub: its bases, attributes, properties and methods."""
import ast
import functools
import inspect
import pathlib
import sys

import whet

from .heads import DUNDERS, HEADS
from .names import is_ours
from .results import ATTRIBUTES, METHODS_HIDDEN
from .signatures import (
    UNKNOWN,
    function_lines,
    listed,
    lookup,
    parameters_of,
    parsed,
    result_of,
    summary,
    type_of,
)


def lineage(cls, homes):
    """(the class and its private bases, the names of its public bases)."""
    merged, bases = [cls], []
    pending = list(cls.__bases__)
    while pending:
        base = pending.pop(0)
        if base is object:
            continue
        if not is_ours(base) or homes.get(base.__name__) == base.__module__:
            bases.append(base)
        else:
            merged.append(base)
            pending = [*base.__bases__, *pending]
    nearest = [
        b for b in dict.fromkeys(bases) if not any(b is not c and issubclass(c, b) for c in bases)]
    return merged, [b.__name__ for b in nearest]


def members(merged):
    """The attributes of the merged classes, the nearest first."""
    found: dict = {}
    for cls in merged:
        for name, x in vars(cls).items():
            if not asks_override(name, x):
                found.setdefault(name, x)
    return found


def asks_override(name, x):
    """Is it what calls the class's `__torch_function__` in place of a member of `Tensor`?"""
    member = getattr(x, "member", getattr(x, "__wrapped__", None))
    return member is not None and member is vars(whet.Tensor).get(name)


@functools.cache
def file_classes(path):
    """The classes of a source file, by name, as trees."""
    return {
        node.name: node for node in ast.walk(ast.parse(pathlib.Path(path).read_text()))
        if isinstance(node, ast.ClassDef)}


def stored(node):
    """(name, type where it is said) of what a statement sets on `self`, registered parameters
    and buffers among it."""
    if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("register_parameter", "register_buffer")):
        name, value = node.args[:2] if len(node.args) > 1 else (None, None)
        if isinstance(name, ast.Constant):
            kind = "Parameter" if node.func.attr == "register_parameter" else "Tensor"
            yield name.value, kind if isinstance(value, ast.Call) else f"{kind} | None"
    targets = (node.targets if isinstance(node, ast.Assign) else
               [node.target] if isinstance(node, ast.AnnAssign) else [])
    for t in (t for target in targets for t in ast.walk(target)):
        if (isinstance(t, ast.Attribute) and isinstance(t.ctx, ast.Store)
                and isinstance(t.value, ast.Name) and t.value.id == "self"):
            made = (isinstance(node.value, ast.Call)
                    and getattr(node.value.func, "id", "") == "Parameter")
            yield t.attr, "Parameter" if made else None


@functools.cache
def set_by(cls):
    """The public attributes that the methods of a class set, with their types where these are
    said."""
    path = getattr(sys.modules[cls.__module__], "__file__", None)
    tree = file_classes(path).get(cls.__name__) if path else None
    found: dict = {}
    for node in ast.walk(tree) if tree else ():
        for name, kind in stored(node):
            if not name.startswith("_"):
                # the one with `| None`
                found[name] = max((kind, found.get(name)), key=lambda k: len(k or ""))
    return found


def assigned(merged):
    """The same of several classes, the nearest first."""
    return {name: kind for cls in reversed(merged) for name, kind in set_by(cls).items()}


def is_hidden(cls, name):
    """Is a name of a class, or of a class that it extends, not for users?"""
    return name.startswith("_") or name in METHODS_HIDDEN or any(
        f"{c.__name__}.{name}" in METHODS_HIDDEN for c in cls.__mro__)


def attribute_lines(room, cls, merged, spell, known):
    """Attributes of instances: those that methods set, with the type of the parameter of that
    name."""
    own = {**dict.fromkeys(inspect.get_annotations(cls)), **assigned(merged)}
    init = next((vars(c)["__init__"] for c in merged if "__init__" in vars(c)), None)
    parameters = inspect.signature(init).parameters if init else {}
    inherited = {n for c in cls.__mro__ if c not in merged and is_ours(c) for n in set_by(c)}
    lines = []
    for name, said in own.items():
        if name in known or name in inherited or is_hidden(cls, name):
            continue
        kind = lookup(ATTRIBUTES, (f"{cls.__name__}.{name}", f"{room.short}.{name}", name))
        if kind is None:
            kind = (said or (type_of(room, cls.__name__, "__init__", parameters[name])
                             if name in parameters else "Any"))
        lines.append(f"{name}: {spell(kind)}")
    return lines


def property_lines(room, cls, name, x, spell):
    kind = lookup(ATTRIBUTES, (f"{cls.__name__}.{name}", f"{room.short}.{name}", name))
    if kind is None:
        UNKNOWN.append(f"{cls.__name__}.{name}: property")
        kind = "Any"
    # some classes have a constant where others have a property
    if room.short.startswith("distributions"):
        return [f"{name}: {spell(kind)}"]
    settable = (getattr(x, "fset", None) is not None
                or not isinstance(x, property) and inspect.isgetsetdescriptor(x))
    doc = summary(x)
    lines = [
        "@property", f"def {name}(self) -> {spell(kind)}: " + (f'"""{doc}"""' if doc else "...")]
    if settable:
        lines += [f"@{name}.setter", f"def {name}(self, value: {spell(kind)}) -> None: ..."]
    return lines


def is_property(x):
    plain = callable(x) or isinstance(x, staticmethod | classmethod)
    return isinstance(x, property) or not plain and hasattr(type(x), "__get__")


def method_lines(room, cls, name, x, spell):
    """A method; of a static or class method with its decorator."""
    if isinstance(x, staticmethod):
        return static_lines(room, cls, name, x.__func__, spell)
    if isinstance(x, classmethod):
        return function_lines(room, cls.__name__, name, x.__func__, spell, "classmethod")
    return function_lines(room, cls.__name__, name, x, spell)


def static_lines(room, cls, name, fn, spell):
    own = parameters_of(room, "", f"{cls.__name__}.{name}", fn)
    return [
        "@staticmethod",
        f"def {name}({listed(own, spell)}) -> {spell(result_of(room, cls.__name__, name, fn))}: ..."
    ]


def call_lines(room, cls, found, spell):
    """`layer(x)` takes what its `forward` takes."""
    if "forward" not in found or cls.__name__ in ("Module", "Function"):
        return []
    return [
        line.replace("def forward(", "def __call__(")
        for line in function_lines(room, cls.__name__, "forward", found["forward"], spell)]


def tuple_lines(cls, spell):
    doc = summary(cls)
    lines = [
        f"class {cls.__name__}({spell('NamedTuple')}):",
        *([f'    """{doc}"""'] if doc and not doc.startswith(cls.__name__) else [])]
    for name in cls._fields:
        kind = lookup(ATTRIBUTES, (f"{cls.__name__}.{name}",)) or "Tensor"
        lines.append(f"    {name}: {spell(kind)}")
    return lines


def class_lines(room, cls, spell, homes):
    """The whole class."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple_lines(cls, spell)
    merged, bases = lineage(cls, homes)
    found = members(merged)
    public = {n: x for n, x in found.items() if not is_hidden(cls, n)}
    # names in a class hide those of the file from its annotations
    spell.inner = public.keys() | assigned(merged).keys()
    body: list = []
    doc = summary(cls)
    if doc:
        body.append(f'"""{doc}"""')
    body += attribute_lines(room, cls, merged, spell, public)
    maker = found.get("__init__")
    if "__new__" in found and (maker is None or cls.__name__ in ("Tensor", "Parameter", "Buffer")):
        maker = found["__new__"]
    if (maker is not None and inspect.isroutine(maker)
            and f"{cls.__name__}.__init__" not in METHODS_HIDDEN):
        maker = getattr(maker, "__func__", maker)
        body += function_lines(room, cls.__name__, "__init__", maker, spell)
    for name, x in sorted(public.items()):
        if isinstance(x, type):
            continue
        if is_property(x):
            body += property_lines(room, cls, name, x, spell)
        elif callable(x) or isinstance(x, staticmethod | classmethod):
            body += method_lines(room, cls, name, x, spell)
        elif (isinstance(x, bool | int | str | float)
              and not any(n == name for n in inspect.get_annotations(cls))):
            body.append(f"{name}: {spell(type(x).__name__)}")
    body += call_lines(room, cls, found, spell)
    for name, text in DUNDERS.get(cls.__name__, {}).items():
        variants = [text] if isinstance(text, str) else text
        for t in variants:
            own, result = parsed(t)
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            body += (([f"@{spell('overload')}"] if len(variants) > 1 else [])
                     + [f"def {name}({listed(own, spell)}) -> {spell(result)}: ...{ignore}"])
    spell.inner = set()
    head = HEADS.get(cls.__name__, ", ".join(bases))
    lines = [f"class {cls.__name__}({spell(head)}):" if head else f"class {cls.__name__}:"]
    return lines + ([f"    {line}" for line in body] or ["    ..."])
