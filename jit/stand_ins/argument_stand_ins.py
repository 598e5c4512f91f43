"""The arguments of a recorded run, with stand-ins in place of NumPy arrays and of numbers that
vary."""
from __future__ import annotations

import collections
import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Set
from typing import Any

import numpy as np
from whet.tensor import Size

from ..values.instance_state import attribute, attributes, contents_of, set_attribute
from ..values.number_paths import Element, Path, is_record
from .replace_stand_ins import reclaim

UNHELD = 2                       # references to a tuple that only `forget` holds


class WithStandIns:
    """A list, a dict or an object that holds stand-ins. `replaced`: (step, the stand-in, what it
    replaced). `as_found`: everything that it held when the run began, if there is one place with
    all of it."""

    def __init__(self, owner: Any, put: Callable[[Any, Any], Any],
                 get: Callable[[Any], Any]) -> None:
        self.owner, self.put, self.get = owner, put, get
        self.replaced: list[tuple[Any, Any, Any]] = []
        self.as_found: list[Any] | None = None

    def begin(self) -> None:
        """Note the contents at the beginning of the run."""
        self.as_found = self.contents()

    def contents(self) -> list[Any] | None:
        """Everything that it holds, or None if there is no one place with all of it."""
        held = contents_of(self.owner)
        return [*held, *held.values()] if isinstance(held, dict) else held and list(held)

    def has(self, step: Any, new: Any) -> bool:
        """Is a stand-in still where it was put?"""
        with contextlib.suppress(LookupError, AttributeError):
            return self.get(step) is new
        return False

    def is_written(self) -> bool:
        """Does it hold something else than the run found in it?"""
        if self.as_found is None:
            return not all(self.has(k, new) for k, new, _ in self.replaced)
        now = self.contents() or []
        return len(now) != len(self.as_found) or not all(map(operator.is_, now, self.as_found))

    def end(self, numbers: dict[int, Any]) -> None:
        """Put back what the stand-ins replaced. Stand-ins of numbers stay if the container is
        described as a whole, because the run changed it: a plain number would become a constant of
        the recording."""
        numbers_stay = self.as_found is not None and self.is_written()
        for k, new, was in self.replaced:
            if self.has(k, new) and not (numbers_stay and id(new) in numbers):
                self.put(k, was)


class ArgumentStandIns:
    """Replaces numbers and arrays in arguments. `numbers`, by path, stand for numbers, and
    `array(x)` stands for a NumPy array. Lists, dicts and objects are changed in place, and restored
    by `end`. Tuples are copied; `tuples` has the real one by the id of the copy. `written`: what
    the run itself changed, even to an equal value."""

    def __init__(self, numbers: dict[Path, Any], array: Callable[[Any], Any] | None = None,
                 records: Set[type] = frozenset()) -> None:
        self.numbers, self.array, self.records = numbers, array, records
        self.ids = {id(x): x for x in numbers.values()}
        self.met: dict[int, Any] = {}
        self.held: list[WithStandIns] = []
        self.tuples: dict[int, tuple[Any, Any]] = {}
        # spots of Python's state with the copy of a tuple, and the real one
        self.in_spots: list[tuple[Any, Any, Any]] = []
        self.written: list[Any] = []

    def __call__(self, x: Any, path: Path) -> Any:
        """What the run finds in place of an argument, or of a part of one."""
        if path in self.numbers:
            return self.numbers[path]
        t = type(x)
        if t is np.ndarray or isinstance(x, np.floating):
            return x if self.array is None else self.array(x)
        if id(x) in self.met:
            return self.met[id(x)]
        self.met[id(x)] = x
        if isinstance(x, tuple) and t is not Size:
            parts = [self(y, (*path, i)) for i, y in enumerate(x)]
            if any(y is not z for y, z in zip(parts, x)):
                made: Any = t
                new = self.met[id(x)] = made(parts) if t is tuple else made._make(parts)
                if hasattr(x, "__dict__"):
                    vars(new).update(vars(x))
                self.tuples[id(new)] = new, x
                return new
        elif t is list:
            held = WithStandIns(x, x.__setitem__, x.__getitem__)
            self.within(held, path, [(i, Element(i), y) for i, y in enumerate(x)])
        elif t in (dict, collections.OrderedDict):
            held = WithStandIns(x, x.__setitem__, x.__getitem__)
            self.within(held, path, [(k, k, y) for k, y in x.items()])
        elif is_record(x, self.records):
            held = WithStandIns(x, functools.partial(set_attribute, x),
                                functools.partial(attribute, x))
            self.within(held, path, [(k, k, y) for k, y in attributes(x)])
        return x

    def in_state(self, spot: Any, x: Any, path: Path) -> None:
        """Put stand-ins into a container in a spot of Python's state."""
        new = self(x, path)
        if new is not x:
            spot.put(new)
            self.in_spots.append((spot, new, x))

    def within(self, held: WithStandIns, path: Path, parts: Iterable[tuple[Any, Any, Any]]) -> None:
        """Replace the parts of a mutable container, each given with its key and its step."""
        for k, step, y in parts:
            new = self(y, (*path, step))
            if new is not y:
                held.put(k, new)
                held.replaced.append((k, new, y))
        if held.replaced:
            self.held.append(held)
            held.begin()

    def given_back(self, x: Any, seen: tuple[Any, ...] = ()) -> Any:
        """The result of the run, with the real tuples in it."""
        if id(x) in self.tuples:
            return self.tuples[id(x)][1]
        if any(x is y for y in seen) or type(x) not in (list, dict, tuple):
            return x
        parts = {
            k: self.given_back(y, (*seen, x))
            for k, y in (x.items() if type(x) is dict else enumerate(x))}
        if type(x) is tuple:
            same = all(map(operator.is_, x, parts.values()))
            return x if same else tuple(parts.values())
        for k, y in parts.items():
            if x[k] is not y:
                x[k] = y
        return x

    def end(self) -> None:
        """Restore everything, except what the run itself replaced."""
        for held in self.held:
            if held.is_written():
                self.written.append(held.owner)
            held.end(self.ids)
        for spot, new, was in self.in_spots:
            if spot.found() is new:
                spot.put_back(was)
        self.in_spots = []

    def forget(self) -> None:
        """Drop all stand-ins. A tuple that somebody still holds is replaced there by the real
        one."""
        self.met.clear()
        self.held.clear()
        self.written.clear()
        new: Any = None
        for i in list(self.tuples):
            new, was = self.tuples.pop(i)
            if sys.getrefcount(new) > UNHELD:
                reclaim([(functools.partial(_same_object, new), was)])
        self.numbers, self.ids = {}, {}


def _same_object(x: Any) -> Any:
    return x
