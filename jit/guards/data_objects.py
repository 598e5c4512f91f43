"""Objects that are data: others come at each call, and what they hold is what counts.

    for batch in loader:                 # a new Batch(x, edge_index, y) each time
        step(batch)

An object is known by its identity as long as it is the same at each call, such as a trainer. Where
another one of its class comes in its place, calls are distinguished by what it holds, as with a
dataclass. So they are where a tensor that it holds has another size than at an earlier call:

    for token in prompt:             # a cache of keys and values, which grows at each call
        logits = step(token, cache)

Its identity must not matter then: a run in which somebody hashes or compares it is not
recorded so (see `capture/identity_uses.py`).
"""
from __future__ import annotations

import abc
import weakref
from collections.abc import Iterable, Set
from typing import Any

import numpy as np
from whet.declared_for_tracing import is_data
from whet.tensor import Tensor

from ..values.code_origin import users
from ..values.immutable_types import CONSTANT, PLAIN
from ..values.instance_state import attributes, has_dict, not_of_c, own_dict
from ..values.number_paths import Path, is_record, parts
from .places import Change

CONTAINERS = frozenset((list, tuple, dict))
MOST = 1 << 10                   # things in an object of data
# objects without tensors that may take turns, such as states of players
FEW = 3
# What a class of data leaves as `object` has it. A `__getattr__`, or a `__setattr__` that keeps
# elsewhere what is set, is code like any other: what an object holds is looked up past it.
OWN = ("__hash__", "__eq__", "__getattribute__")


def may_be_record(t: type) -> bool:
    """Are objects of a class nothing but attributes, as far as the class says?"""
    return (all(b in (object, abc.ABC) or users(b) or is_data(b) for b in t.__mro__)
            and type(t) in (type, abc.ABCMeta) and not_of_c(t)
            and all(getattr(t, name) is getattr(object, name) for name in OWN)
            and not hasattr(t, "__del__"))


class Contents:
    """What an object holds. `are_data`: is it nothing but tensors, arrays, numbers and texts, in
    containers or in objects that may be records? `has_arrays`: is there a tensor or an array?
    `owners`: the ids of these containers and objects, and of the dicts of their attributes,
    `kinds`: the classes of these objects."""

    def __init__(self, x: Any) -> None:
        self.are_data, self.has_arrays = True, False
        self.owners: set[int] = set()
        self.kinds: set[type] = set()
        met: set[int] = set()
        todo = [x]
        while todo and self.are_data:
            x = todo.pop()
            t = type(x)
            self.has_arrays |= t is Tensor or t is np.ndarray
            if t is Tensor or t in PLAIN or t is np.ndarray or id(x) in met \
                    or isinstance(x, (type, *CONSTANT)):
                continue
            met.add(id(x))
            self.are_data = len(met) <= MOST and (has_parts(x) or may_be_record(t))
            if self.are_data:
                self.take_in(x)
                todo += [y for _, y in (parts(x) if has_parts(x) else attributes(x))]
                todo += own_dict(x).values() if isinstance(x, tuple) else ()

    def take_in(self, x: Any) -> None:
        """Note a container or an object."""
        self.owners.add(id(x))
        if not has_parts(x):
            self.kinds.add(type(x))
        if has_dict(x):
            self.owners.add(id(own_dict(x)))


def holds_data(x: Any) -> bool:
    """Is it a container, or an object that may be a record, that holds nothing but data?"""
    t = type(x)
    return (has_parts(x) or t not in PLAIN and may_be_record(t)) and Contents(x).are_data


def has_parts(x: Any) -> bool:
    """Is it a container, or an object that is always taken by what it holds?"""
    t = type(x)
    return t in CONTAINERS or issubclass(t, tuple) and hasattr(t, "_fields") or is_record(x)


class SeenObjects:
    """The objects that calls were given, by where they are. `records`: the classes of which another
    object came with tensors in it, or more than a few without. `resized`: those that came with
    tensors of other sizes, which are records, too. `known`: those whose identity was of matter,
    which are none."""

    def __init__(self) -> None:
        self.records: set[type] = set()
        self.resized: set[type] = set()
        self.known: set[type] = set()
        self.seen: dict[Path, list[weakref.ref[Any]]] = {}

    def compare(self, named: Iterable[tuple[Any, Any]]) -> bool:
        """Compare the objects among the arguments of a call with those that came before. True where
        a class is new among the records."""
        before = len(self.records)
        for path, x, contents in objects_within(named, self.records):
            others = self.seen.setdefault(path, [])
            if not any(was() is x for was in others):
                if len(others) >= (1 if contents.has_arrays else FEW) \
                        and type(x) not in self.known:
                    self.records.add(type(x))
                others.append(weakref.ref(x))
        return len(self.records) > before

    def note_sizes(self, named: Iterable[tuple[Any, Any]], changes: Iterable[Change]) -> bool:
        """Note changes that were found before a call with these arguments. True where a class is
        new among the records."""
        owners = {id(c.owner) for c in changes if _has_another_size(c.before, c.now)}
        new: set[type] = set()
        for *_, contents in objects_within(named, self.records) if owners else ():
            if not owners.isdisjoint(contents.owners):
                new |= contents.kinds - self.records
        return bool(new) and self.resize(new)

    def resize(self, kinds: Set[type]) -> bool:
        """Objects of these classes came with other tensors in them: they are records, unless the
        identity of one is of matter."""
        if not kinds.isdisjoint(self.known):
            return False
        self.records |= kinds
        self.resized |= kinds
        return True

    def know(self, t: type) -> None:
        """The identity of an object of a class is of matter."""
        self.known.add(t)
        self.records.discard(t)


def objects_within(named: Iterable[tuple[Any, Any]],
                   records: Set[type]) -> list[tuple[Path, Any, Contents]]:
    """The objects among arguments that could be records: the path of each, with its class at the
    end, the object, and what it holds."""
    found: list[tuple[Path, Any, Contents]] = []
    met: set[int] = set()
    todo: list[tuple[Any, Path]] = [(x, (place,)) for place, x in named]
    while todo:
        x, path = todo.pop()
        if type(x) in PLAIN or id(x) in met:
            continue
        met.add(id(x))
        inner = list(parts(x, records))
        todo += [(y, (*path, step)) for step, y in inner]
        if (not inner and type(x) not in records and may_be_record(type(x))
                and type(x).__weakrefoffset__ and (contents := Contents(x)).are_data):
            found.append(((*path, type(x)), x, contents))
    return found


def _has_another_size(before: Any, now: Any) -> bool:
    """Are these two tensors that differ in sizes alone?"""
    return type(before) is Tensor and type(now) is Tensor \
        and before._array.dtype == now._array.dtype and before.ndim == now.ndim \
        and before._array.shape != now._array.shape
