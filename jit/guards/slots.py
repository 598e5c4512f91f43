"""Slots: spots that hold another number, tensor or array at each call. A recording takes that as an
input, like an argument that no caller passes."""
from typing import Any, NamedTuple

import numpy as np
from whet.tensor import wants_gradient, wrap
from whet.tensor_base import is_strided

from ..values import array_facts
from ..values.tensor_facts import look, named
from ..values.varying_numbers import tensor_of, varies
from .spots import Spot


class Slot:
    """A spot whose contents vary. With `item` it is one number or tensor of the container in the
    spot: a tuple, or a list or dict that is a new one in each call. `container` is its type,
    `items` are the names of its parts. `is_array`: is it a NumPy array, or a NumPy number?"""
    __slots__ = ("spot", "item", "container", "items", "cells", "is_number", "is_array", "type",
                 "layout", "look")

    def __init__(self, spot: Spot, value: Any, item: Any = None) -> None:
        self.spot, self.item = spot, item
        self.cells: list[tuple[Any, int]] = []   # where a World holds it: places, with an index
        self.container: type | None = None
        self.items: tuple[Any, ...] = ()
        if item is not None:
            self.container, self.items, value = type(value), names_of_parts(value), value[item]
        self.type = type(value)
        self.is_array = self.type is np.ndarray or array_facts.is_number(value)
        self.is_number = not (self.is_array or is_strided(value))
        self.layout = array_facts.layout(value) if self.is_array else None
        self.look = None if self.is_number else look(
            wrap(np.asarray(value)) if self.is_array else value)

    @staticmethod
    def takes(value: Any) -> bool:
        """Can a slot, or holds_slots, hold such a value?"""
        if is_strided(value):
            return not (value._extra or named(value))
        return (varies(value) or array_facts.takes(value) or array_facts.is_number(value)
                or holds_slots(value))

    @staticmethod
    def at(spot: Spot, value: Any) -> "list[Slot]":
        """The slots of a spot."""
        parts = names_of_parts(value) if holds_slots(value) else (None,)
        return [Slot(spot, value, i) for i in parts]

    @property
    def key(self) -> tuple[Any, ...]:
        """A key for the slot."""
        return *self.spot.key, self.item, self.container, self.items

    def found(self) -> tuple[Any, Any]:
        """What the spot holds now, and the number, tensor or array of the slot in it. Nothing of
        that where the spot holds another kind of container."""
        there: Any = self.spot.found()
        if self.item is None:
            return there, there
        kind: type = type(there)
        if kind is not self.container or names_of_parts(there) != self.items:
            return there, None
        return there, there[self.item]

    def accept(self, there: Any) -> None:
        """Take what the spot holds now as what is expected there."""
        for place, i in self.cells:
            place.objects[i] = there

    def fetch(self, known: dict[int, Any], leaves: list[Any]) -> Any:
        """The tensor that is there now, or one that stands for the number. None if it is of another
        kind, or is known in another way, too."""
        there, v = self.found()
        t = None if v is None else self.tensor(v, known, leaves)
        if t is not None:
            self.accept(there)
        return t

    def tensor(self, v: Any, known: dict[int, Any], leaves: list[Any]) -> Any:
        """A value of the slot's kind as a tensor; None for others."""
        if type(v) is not self.type:
            return None
        if self.is_number:
            return tensor_of(v) if varies(v) else None
        if self.is_array:
            if array_facts.layout(v) != self.layout or any(v is x._array for x in leaves):
                return None
            if type(v) is np.ndarray:
                return wrap(v)
            return wrap(np.array(v)) if array_facts.is_number(v) else None
        if wants_gradient(v) is None or look(v) != self.look or named(v) or id(v) in known:
            return None                      # asking for the flag brings a view up to date
        return None if any(v is x for x in leaves) else v

    def current(self) -> Any:
        """The number, tensor or array in the slot."""
        v = self.spot.get()
        return v if self.item is None else v[self.item]

    @property
    def changeable(self) -> Any:
        """The list or dict that held the value when the run began; None where it was none."""
        if self.container is None or self.container is tuple:
            return None
        place, i = self.cells[0]
        return place.objects[i]

    @property
    def may_be_twin(self) -> bool:
        """May the tensor be an argument or another slot's, as long as it is so each time?"""
        return not (self.is_number or self.is_array)


class Twin:
    """A slot whose tensor is that of another slot, or an argument: leaf `leaf` of a call."""
    __slots__ = ("slot", "leaf")

    def __init__(self, slot: Slot, leaf: int) -> None:
        self.slot, self.leaf = slot, leaf

    @property
    def key(self) -> tuple[Any, ...]:
        """A key for the twin."""
        return *self.slot.key, self.leaf

    def fits(self, leaves: list[Any]) -> bool:
        """Is the slot's tensor the argument, or the other slot's tensor, once more?"""
        there, v = self.slot.found()
        if v is not leaves[self.leaf]:
            return False
        self.slot.accept(there)
        return True


class ByContents(NamedTuple):
    """The key of a spot whose container is described by the key of a call, with all that is in
    it."""
    spot: tuple[int, Any]


class GivenContainer:
    """A spot whose container is known by what it holds, as one among the arguments is: it is
    container `box` of a call."""
    __slots__ = ("spot", "value", "cells", "box")

    def __init__(self, spot: Spot, value: Any) -> None:
        self.spot, self.value, self.box = spot, value, 0
        self.cells: list[tuple[Any, int]] = []   # where a World holds it: places, with an index

    @property
    def key(self) -> ByContents:
        """A key for the container."""
        return ByContents(self.spot.key)

    def fits(self, boxes: Any) -> bool:
        """Is it the container of the call?"""
        there = self.spot.found()
        if self.box >= len(boxes) or there is not boxes[self.box]:
            return False
        for place, i in self.cells:
            place.objects[i] = there
        return True


def names_of_parts(value: Any) -> tuple[Any, ...]:
    """The names of a container's parts: positions or keys."""
    return tuple(value) if type(value) is dict else tuple(range(len(value)))


def holds_slots(value: Any) -> bool:
    """Can each part of a container have a slot of its own? The container is a tuple of numbers and
    tensors, or a list or dict of tensors."""
    kind = type(value)
    if kind is not tuple and kind is not list and kind is not dict or not value:
        return False
    if kind is dict and not all([type(key) is str for key in value]):
        return False
    parts = [*value.values()] if kind is dict else value
    return len(set(map(id, parts))) == len(parts) and all(
        [kind is tuple and varies(x) or is_strided(x) and Slot.takes(x) for x in parts])
