"""The changes of Python's state that a replay can repeat: attributes, variables and entries that
are set, lists that grow."""
from __future__ import annotations

import collections
import operator
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whet import declared_for_tracing

from ..values import containers
from ..values.containers import elements
from ..values.varying_numbers import NUMBERS, Number, value_of
from . import numpy_stand_in
from . import streams_and_functions as stand_ins
from .replace_stand_ins import HOLDS, REAL_OF, reclaim, replace_stand_ins

if TYPE_CHECKING:
    from ..capture.outside_calls import Outward
    from ..capture.recorder import Recorder
    from ..guards.outside_state import World
    from ..guards.spots import Spot


class Growing(list):                     # type: ignore[type-arg]
    """What a run finds in place of a list that others only append to: whether it does more than
    that is noted. Whoever still holds it when the recording has ended gets at the real list:
    a run goes on where a recording ends before a call that fills a cache."""

    def __new__(cls, *items: Any) -> Any:
        """Code that makes another one of its type, by `type(x)(...)`, makes a list."""
        return list(*items)

    def __init__(self, real: list[Any]) -> None:
        super().__init__(real)
        self.real, self.read, self.before = real, False, len(real)
        self.has_ended = False
        self.added: list[Any] = []
        self.thread = threading.get_ident()

    __class__ = property(lambda self: list)

    def copied(self) -> list[Any]:
        """A list of what it holds."""
        return list(self.real) if self.has_ended else list(list.__iter__(self))

    def looked(self) -> None:
        """Somebody reads: the run, or another thread?"""
        self.read |= threading.get_ident() == self.thread

    def end(self) -> None:
        """The real list as the run has left it; `added` is what was appended."""
        self.added = list.__getitem__(self, slice(self.before, None))
        self.real[:] = list.__getitem__(self, slice(None))
        self.has_ended = True


class GrowingDeque(collections.deque):   # type: ignore[type-arg]
    """What a run finds in place of a deque that others only append to. Old elements may fall out of
    it."""

    def __new__(cls, *items: Any) -> Any:
        """Another one of its type is a deque."""
        return collections.deque(*items)

    def __init__(self, real: collections.deque[Any]) -> None:
        super().__init__(real, real.maxlen)
        self.real, self.read, self.has_ended = real, False, False
        self.added: list[Any] = []
        self.thread = threading.get_ident()

    __class__ = property(lambda self: collections.deque)
    looked = Growing.looked

    def copied(self) -> collections.deque[Any]:
        """A deque of what it holds."""
        return collections.deque(elements(self.real if self.has_ended else self), self.maxlen)

    def append(self, x: Any) -> None:
        """One more."""
        if self.has_ended:
            self.real.append(x)
            return
        collections.deque.append(self, x)
        self.added.append(x)

    def extend(self, xs: Iterable[Any]) -> None:
        """Several more."""
        for x in list(xs):
            self.append(x)

    def __iadd__(self, xs: Iterable[Any]) -> Any:
        self.extend(xs)
        return self.real if self.has_ended else self
    declared_for_tracing.goes_by_no_size(__iadd__)

    def end(self) -> None:
        """The real deque as the run has left it."""
        containers.fill(self.real, elements(self))
        self.has_ended = True


stand_ins.TYPES.update((Growing, GrowingDeque))


def _adding(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: Growing, *args: Any) -> Any:
        return plain(self.real if self.has_ended else self, *args)
    declared_for_tracing.goes_by_no_size(method)     # what `+=` gives back is not looked at
    return method


def _reading(name: str, kind: type = list) -> Callable[..., Any]:
    plain = getattr(kind, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.has_ended:
            return plain(self.real, *args, **kwargs)
        self.looked()
        return plain(self, *args, **kwargs)
    return method


def _item(self: Growing, i: Any) -> Any:
    """An element: those that the run appended are its own."""
    if self.has_ended:
        return self.real[i]
    if type(i) is not int or i >= 0 or -i > list.__len__(self) - self.before:
        self.looked()
    return list.__getitem__(self, i)


def _behind(self: Growing, other: Any) -> Any:
    """Another list and this one are joined: by Python's own, that would not ask."""
    if self.has_ended:
        return other + self.real
    self.looked()
    return NotImplemented


def _as_plain(self: Any, protocol: Any) -> Any:
    """What copies and pickles are made of: those of what it stands for."""
    self.looked()
    return self.copied().__reduce_ex__(protocol)


for _name, _method in (("__getitem__", _item), ("__radd__", _behind)):
    setattr(Growing, _name, _method)
for _name in ("__len__", "__iter__", "__contains__", "__reversed__", "__setitem__", "__delitem__",
              "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__mul__",
              "__rmul__", "__imul__", "__repr__", "pop", "insert", "remove", "clear", "sort",
              "reverse", "copy", "count", "index", "__sizeof__", "__format__",
              "__str__"):
    setattr(Growing, _name, _reading(_name))
for _name in ("append", "extend", "__iadd__"):
    setattr(Growing, _name, _adding(_name))
for _name in ("__len__", "__iter__", "__contains__", "__reversed__", "__getitem__", "__setitem__",
              "__delitem__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__",
              "__mul__", "__rmul__", "__imul__", "__repr__", "pop", "popleft", "appendleft",
              "extendleft", "rotate", "insert", "remove", "clear", "reverse", "copy", "__copy__",
              "count", "index", "__reduce__", "__sizeof__", "__format__",
              "__str__", "__bool__"):
    if hasattr(collections.deque, _name):
        setattr(GrowingDeque, _name, _reading(_name, collections.deque))
Growing.__reduce_ex__ = GrowingDeque.__reduce_ex__ = _as_plain    # type: ignore[method-assign]
GROWING: dict[type, type[Growing] | type[GrowingDeque]] = {
    list: Growing, collections.deque: GrowingDeque}
REAL_OF.update(dict.fromkeys(GROWING.values(), operator.attrgetter("real")))
HOLDS.update(GROWING.values())


def noting(real: list[Any] | collections.deque[Any]) -> Growing | GrowingDeque:
    """What notes the use of a list or a deque, in place of it."""
    kind = GROWING[type(real)]
    new: Any = type(real).__new__(kind)
    kind.__init__(new, real)                 # type: ignore[arg-type]
    return new                               # type: ignore[no-any-return]


class Swapped:
    """The state as a run finds it: Numbers in the slots of numbers, lists that note what is done to
    them, stand-ins for what acts outside of Python's state. Afterwards all is plain again."""

    def __init__(self, world: World, leaves: Sequence[Any], outward: Outward) -> None:
        self.world, self.leaves = world, leaves
        self.acting: list[tuple[Spot, Any, Any]] = [
            (spot, x, outward.stand_in(x))
            for x, spots in world.stand_ins.spots.values() for spot in spots]
        self.lists: list[tuple[Growing | GrowingDeque, list[Spot]]] = [
            (noting(real), holders) for real, holders in world.growing.values()]
        # lists that were replaced, weakly, and the real ones
        self.left: list[tuple[Callable[[], Any], Any]] = []
        # key of the spot of a tuple of numbers -> (it, that of Numbers which is there instead)
        self.tuples: dict[tuple[int, Any], tuple[Any, Any]] = {}

    def enter(self, recorder: Recorder) -> None:
        """Before the run; `leaves` are the tensors of the slots."""
        for s, t in zip(self.world.slots, self.leaves):
            if s.is_array:
                s.spot.put(recorder.stand_ins.arrays.stand_in_slot(s.current(), t))
            if s.is_number:
                n: Any = Number(s.current(), t, recorder)
                if s.item is not None:
                    real, there = self.tuples.get(s.spot.key) or [s.spot.get()] * 2
                    n = (*there[:s.item], n, *there[s.item + 1:])
                    self.tuples[s.spot.key] = real, n
                s.spot.put(n)
        for grown, holders in self.lists:
            for spot in holders:
                spot.put(grown)
        for spot, _, stand_in in self.acting:
            spot.put(stand_in)

    @contextmanager
    def plainly(self, whole: World, tuples: dict[int, tuple[Any, Any]]) -> Iterator[None]:
        """Have no stand-ins in the state for a while within the run. Those of numbers and lists
        stay away."""
        acting = [a for a in self.acting if a[0].found() is a[2]]
        self.leave()
        self.replace_stand_ins(whole, tuples)
        # A builtin name is in no module where it stands for what it is.
        plain = [spot.found() for spot, _, _ in acting]
        self.acting = acting
        try:
            yield
        finally:
            for (spot, _, stand_in), there in zip(self.acting, plain):
                if spot.found() is there:
                    spot.put(stand_in)

    def leave(self) -> None:
        """After the run, before anybody looks at the state."""
        for grown, holders in self.lists:
            for spot in holders:
                if spot.found() is grown:
                    spot.put_back(grown.real)
            grown.end()
        for spot, real, stand_in in self.acting:
            if spot.found() is stand_in:
                spot.put_back(real)
        self.acting = []

    def replace_stand_ins(self, whole: World, tuples: dict[int, tuple[Any, Any]]) -> None:
        """Plain numbers wherever the run left Numbers, and the real ones of the arguments' tuples.
        `replaced`: what was made in the place of what (each thing once)."""
        seen: dict[int, Any] = dict(tuples)
        self.replaced = seen
        for s in self.world.slots:
            v = s.spot.found()
            real, there = self.tuples.get(s.spot.key, (None, None))
            if there is not None and v is there:
                s.spot.put_back(real)
            elif type(v) in NUMBERS:
                s.spot.put_back(value_of(v))
            elif type(v) is numpy_stand_in.Array:
                s.spot.put_back(numpy_stand_in.real_of(v))
        # The real list is in the place of one that was replaced before.
        left: list[Any] = [grown for grown, _ in self.lists if type(grown) in GROWING.values()]
        for grown in left:
            replace_stand_ins(grown.real, seen)
            if type(grown) is GrowingDeque and any(type(x) in HOLDS for x in elements(grown.real)):
                found = [replace_stand_ins(x, seen) for x in elements(grown.real)]
                containers.fill(grown.real, found)
        # Weakly: most are gone with this, and their holders need not be found.
        self.left += [(weakref.ref(grown), grown.real) for grown in left]
        self.lists, left, grown = [], [], None
        reclaim(self.left)
        for c in whole.changes():
            if c.spot is not None and type(c.now) in HOLDS:
                c.spot.put_back(replace_stand_ins(c.now, seen))
            elif c.name is None and isinstance(c.owner, list | dict):
                replace_stand_ins(c.owner, seen)

    def forget(self) -> None:
        """Hold nothing of what stood for something else."""
        self.tuples.clear()
