"""The users' names for what a traced function reaches, and the lines where their code uses them."""
from __future__ import annotations

import dis
import functools
import os
import re
import types
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from whet import dtypes
from whet.tensor_base import REQUIRES_GRAD, is_strided

from ..values.code_origin import ours, users
from ..values.immutable_types import PLAIN
from ..values.instance_state import existing_dict
from .arguments_in_words import arguments
from .type_names import thing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ..guards.places import Change, Place
    from ..guards.signature import Key
    from ..guards.slots import Slot


class Found(Protocol):
    """What a function reaches, as far as that is known: a World, or the walk that makes one."""
    seen: dict[int, Any]
    places: list[Place]

    @property
    def stack(self) -> Collection[Any]:
        """What the walk has not come to."""


class Names:
    """How a function reaches what is outside. `found` has names by id, such as `model.weight` or
    `table['w']`; of several names the plainest. `cells` has variables by the id of their cell,
    `attributes` the id of an instance by that of its dict."""

    def __init__(self, world: Found, fn: Callable[..., Any], key: Key) -> None:
        met = world.seen.values()
        self.found = {d[1]: path for path, d in arguments(fn, key)
                      if type(d) is tuple and len(d) == 2 and d[0] not in PLAIN}
        self.found[id(fn)] = "self" if hasattr(fn, "forward") else ""
        owner = getattr(fn, "__self__", None)
        if owner is not None:
            self.found[id(owner)] = "self"
        functions = [
            x for x in (getattr(fn, "__func__", fn), *met)
            if type(x) is types.FunctionType]
        self.cells = {id(c): name for x in functions
                      for name, c in zip(x.__code__.co_freevars, x.__closure__ or ())}
        held = [(x, existing_dict(x)) for x in met if type(x) is not type]
        self.attributes = {id(d): id(x) for x, d in held if d and type(d) is dict}
        # a plainer name of an owner gives what is in it one, too
        for _ in range(4):
            before = dict(self.found)
            for place in world.places:
                for name, x in place.inside(self):
                    if type(x) not in PLAIN and self.is_plainer(name, x):
                        self.found[id(x)] = name
            if self.found == before:
                break

    def is_plainer(self, name: str, x: Any) -> bool:
        """Is a name of an object plainer than the one that is known?"""
        known = self.found.get(id(x))
        return known is None or _plainness(name) < _plainness(known)

    def of_object(self, x: Any) -> str:
        """The name of an object, or ""."""
        return self.found.get(id(x), "")

    def of(self, x: Any) -> str:
        """The name of an object, or of the instance whose dict it is, or ""."""
        return self.found.get(self.attributes.get(id(x), id(x)), "")

    def of_tensor(self, t: Any) -> str:
        """The name of a tensor, or of what is around the same array."""
        return self.of_object(t) or self.of_object(t._array)

    def knows(self, x: Any) -> bool:
        """Has it a name, even if that says nothing?"""
        return self.attributes.get(id(x), id(x)) in self.found

    def of_entry(self, d: Any, k: Any) -> str:
        """The name of what a dict holds."""
        if id(d) in self.attributes:
            return f"{self.of(d)}.{k}"
        said = repr(k) if type(k) in PLAIN else self.of_object(k) or type(k).__name__
        return f"{self.of(d)}[{said}]"

    def of_cell(self, cell: Any) -> str:
        """The variable that a cell is of."""
        return self.cells.get(id(cell), "a closed-over variable")


def _plainness(name: str) -> tuple[int, int]:
    return name.count("[") + name.count("'s "), len(name)


def slot_name(s: Slot, names: Names) -> str:
    """What the user calls a slot."""
    name = s.spot.called(names) or str(s.spot.name)
    return name if s.item is None else f"{name}[{s.item}]"


def type_of(t: Any) -> str:
    """A tensor's type."""
    return (f"{dtypes.FROM_NUMPY[t._array.dtype].short}[{','.join(map(str, t._array.shape))}]" +
            (", requires_grad" if t._rg & REQUIRES_GRAD else ""))


# ---- values and lines ----------------------------------------------------------------------------
METHODS = types.MethodType, types.BuiltinFunctionType
WRAPPED = types.MethodType, staticmethod, classmethod        # what has its function as `__func__`
SHORT = 40                               # letters of a value that a sentence holds


def value(x: Any) -> str:
    """A value in a few words, without an address."""
    if is_strided(x):
        return type_of(x)
    if issubclass(type(x), np.ndarray):
        return f"{x.dtype}{list(x.shape)} of NumPy"
    if type(x) in PLAIN:
        text = repr(x)
        return text if len(text) <= SHORT else text[:SHORT - 3] + "..."
    return thing(type(x))


@functools.lru_cache(4096)
def _lines(code: types.CodeType) -> list[tuple[str, bool, str]]:
    """What some code names: [(name, does it set it?, line)]."""
    out, line = [], code.co_firstlineno
    for op in dis.get_instructions(code):
        if op.starts_line:
            line = (getattr(op, "line_number", None)
                    or (op.starts_line if type(op.starts_line) is int else line))
        if type(op.argval) is str and op.opname.startswith(
            ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME", "STORE_GLOBAL",
             "STORE_DEREF", "STORE_ATTR", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_DEREF")):
            out.append((op.argval, not op.opname.startswith("LOAD"),
                        f"{os.path.basename(code.co_filename)}:{line}"))
    return out


def line_of(codes: Iterable[types.CodeType], name: str, reads: bool = True) -> str:
    """The first line of the user's code that reads (or else sets) a name, or that reads it where
    none does."""
    found = [(sets, line) for code in codes for n, sets, line in _lines(code) if n == name]
    return next((line for sets, line in found if sets != reads), found[0][1] if found else "")


def codes_of(world: Found, fn: Callable[..., Any]) -> list[types.CodeType]:
    """The code of what a World has met, also where its walk has not come to it yet; the
    function's own first."""
    out: dict[types.CodeType, None] = {}
    for x in (fn, getattr(fn, "forward", None), *world.seen.values(), *world.stack):
        for f in vars(x).values() if issubclass(type(x), type) and users(x) else (x,):
            code = _code_of(f)
            if code is not None:
                _nested(code, out)
    return list(out)


def _code_of(f: Any) -> types.CodeType | None:
    """The code of a user function or method, None of anything else: asking that for an
    attribute would run code of its own."""
    f = f.__func__ if type(f) in WRAPPED else f
    return f.__code__ if type(f) is types.FunctionType and not ours(f) else None


def _nested(code: types.CodeType, out: dict[types.CodeType, None]) -> None:
    if code not in out:
        out[code] = None
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                _nested(c, out)


def last_word(name: str) -> str:
    """The name that code has to say: `parts`, of `self.parts[3]`."""
    words = re.findall(r"[^\W\d]\w*", re.sub(r"\[[^]]*\]|'s default", "", name))
    return words[-1] if words else ""


def place_of(world: Found, fn: Callable[..., Any], key: Key, x: Any) -> tuple[str, str]:
    """What the user calls an object that a World has met, and the line that reads it. If only a
    method of the object has a name, it is that of the method."""
    names = Names(world, fn, key)
    methods = [m for m in world.seen.values() if type(m) in METHODS and m.__self__ is x]
    name = next((said for m in (x, *methods) if (said := names.of_object(m))), "").lstrip(".")
    return name, line_of(codes_of(world, fn), last_word(name))


def of_change(world: Found, fn: Callable[..., Any], key: Key, change: Change,
              reads: bool) -> tuple[str, str]:
    """What the user calls a place that holds something else, and the line that reads it, or the
    one that sets it."""
    names, place, spot = Names(world, fn, key), change.place, change.spot
    name = (place.called(names) if spot is None else spot.called(names)).lstrip(".")
    if not name or place.says_itself:
        return place.say(change.owner), ""
    return f"`{name}`", line_of(codes_of(world, fn), last_word(name), reads)
