"""Where numbers are among the arguments of a call: paths into lists, tuples, dicts and objects that
hold nothing but data, and which of these numbers vary.

The first step of a path is an argument's position or name. The elements of a list vary together,
as a list holds things of one kind: rewards, losses, learning rates of groups. What a tuple or a
dict holds varies by its position or key.
"""
from __future__ import annotations

import collections
import dataclasses
import functools
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from typing import Any, NamedTuple, TypeAlias

from whet.composite import Composite

from .immutable_types import PLAIN
from .instance_state import attributes, not_of_c
from .varying_numbers import varies

Path: TypeAlias = tuple[Any, ...]


NOWHERE = object()               # the step to what no path leads to: its key may be any object


class Element(NamedTuple):
    """The step to an element of a list. In the path of all elements the class stands for it."""
    at: int


def shared_path(path: Path) -> Path:
    """The path that says whether a number varies: that of all elements, within lists.

    >>> from whet.jit.values.number_paths import Element, shared_path
    >>> shared_path((0, Element(3), "lr")) == (0, Element, "lr")
    True
    """
    return tuple([Element if type(step) is Element else step for step in path])


def is_record(x: Any, records: Set[type] = frozenset()) -> bool:
    """Is this an object that holds nothing but data, and is compared by it? `records`: classes that
    are known for it (see `data_objects.py`)."""
    t = type(x)
    return t in records or issubclass(t, Composite) or t is types.SimpleNamespace \
        or hasattr(t, "__dataclass_fields__") and _goes_by_fields(t) and not_of_c(t)


def _goes_by_fields(t: type) -> bool:
    """Are objects of a dataclass hashed by their fields, or not at all? A class may have its own
    `__hash__`."""
    if t.__hash__ is None or not dataclasses.is_dataclass(t):
        return t.__hash__ is None
    like = _frozen(tuple([(f.name, f.hash, f.compare) for f in dataclasses.fields(t)]))
    return all([_does_as(getattr(t, name), getattr(like, name)) for name in ("__hash__", "__eq__")])


@functools.lru_cache(256)
def _frozen(fields: tuple[tuple[str, bool | None, bool], ...]) -> type:
    """A frozen dataclass with these fields: their names, and whether they are hashed and
    compared."""
    return dataclasses.make_dataclass("Frozen", [
        (name, object, dataclasses.field(hash=is_hashed, compare=is_compared))
        for name, is_hashed, is_compared in fields], frozen=True)


def _does_as(f: Any, other: types.FunctionType) -> bool:
    """Is a method like another one that reads the same names?"""
    mine: Any = f.__code__ if type(f) is types.FunctionType else None
    return mine is not None and (mine.co_code, mine.co_names, mine.co_consts) == (
        other.__code__.co_code, other.__code__.co_names, other.__code__.co_consts)


def parts(x: Any, records: Set[type] = frozenset()) -> Iterable[tuple[Any, Any]]:
    """The steps from a container to what is in it, with that."""
    t = type(x)
    if t is list:
        return [(Element(i), y) for i, y in enumerate(x)]
    if t is tuple or issubclass(t, tuple) and hasattr(t, "_fields"):
        return enumerate(x)
    if t in (dict, collections.OrderedDict):
        return [(k if type(k) in PLAIN else NOWHERE, y) for k, y in x.items()]
    return attributes(x) if is_record(x, records) else ()


def numbers_within(named: Iterable[tuple[Any, Any]], records: Set[type] = frozenset(),
                   is_one: Callable[[Any], bool] = varies) -> dict[Path, list[float]]:
    """The numbers among arguments, by the paths of all elements. `is_one`: is something a number
    that may vary?"""
    found: dict[Path, list[float]] = {}
    met: set[int] = set()

    def visit(x: Any, path: Path) -> None:
        if is_one(x):
            found.setdefault(path, []).append(x)
        elif type(x) not in PLAIN and id(x) not in met:
            met.add(id(x))
            for step, y in parts(x, records):
                if step is not NOWHERE:
                    visit(y, (*path, Element if type(step) is Element else step))
    for place, x in named:
        visit(x, (place,))
    return found


class Branch:
    """What is known of an argument, or of a part of one: is it a number that varies, is that one
    which becomes a size, and in which of its parts are there such?"""
    __slots__ = ("is_number", "is_length", "parts")

    def __init__(self) -> None:
        self.is_number = self.is_length = False
        self.parts: dict[Any, Branch] = {}

    def part(self, step: Any) -> Branch | None:
        """What is known of a part; None where nothing in it varies."""
        return self.parts.get(Element if type(step) is Element else step)


def branches(paths: Iterable[Path], lengths: Collection[Path]) -> Branch:
    """What is known of all arguments, where the numbers at these paths vary, of which `lengths`
    become sizes."""
    root = Branch()
    for path in paths:
        branch = root
        for step in path:
            branch = branch.parts.setdefault(step, Branch())
        branch.is_number, branch.is_length = True, path in lengths
    return root


def positions(paths: Iterable[Path]) -> Iterator[int]:
    """The positions of arguments that are numbers themselves."""
    return (path[0] for path in paths if len(path) == 1 and type(path[0]) is int)
